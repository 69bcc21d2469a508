/* json_time_cases.h: times as a STREAM.CREATE request may carry them, and what nats-server 2.15.1
 * answered (see json_cases.h). */
#ifndef TEST_JSON_TIME_CASES_H
#define TEST_JSON_TIME_CASES_H

#include "support/json_cases.h"

static const struct json_case time_cases[] = {
    CASE("{\"mirror\":{\"opt_start_time\":\"\"}}",
         "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"x\"}}",
         "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024\"}}",
         "parsing time \"2024\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"-\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-\"}}",
         "parsing time \"2024-\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"01\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-1\"}}",
         "parsing time \"2024-1\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"1\" as \"01\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01\"}}",
         "parsing time \"2024-01\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"-\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-13-01T00:00:00Z\"}}",
         "parsing time \"2024-13-01T00:00:00Z\": month out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-00-01T00:00:00Z\"}}",
         "parsing time \"2024-00-01T00:00:00Z\": month out of range"),
    CASE(
        "{\"mirror\":{\"opt_start_time\":\"2024-01-01\"}}",
        "parsing time \"2024-01-01\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01 00:00:00Z\"}}",
         "parsing time \"2024-01-01 00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" "
         "00:00:00Z\" as \"T\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T\"}}",
         "parsing time \"2024-01-01T\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as "
         "\"15\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00\"}}",
         "parsing time \"2024-01-01T00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as "
         "\":\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T24:00:00Z\"}}",
         "parsing time \"2024-01-01T24:00:00Z\": hour out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T1:00:00Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:60:00Z\"}}",
         "parsing time \"2024-01-01T00:60:00Z\": minute out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:60Z\"}}",
         "parsing time \"2024-01-01T00:00:60Z\": second out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00\"}}",
         "parsing time \"2024-01-01T00:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" "
         "as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00z\"}}",
         "parsing time \"2024-01-01T00:00:00z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"z\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+01\"}}",
         "parsing time \"2024-01-01T00:00:00+01\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"+01\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+0100\"}}",
         "parsing time \"2024-01-01T00:00:00+0100\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"+0100\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+01:00\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+24:00\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+25:00\"}}",
         "parsing time \"2024-01-01T00:00:00+25:00\": time zone offset hour out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+01:60\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+01:61\"}}",
         "parsing time \"2024-01-01T00:00:00+01:61\": time zone offset minute out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00*01:00\"}}",
         "parsing time \"2024-01-01T00:00:00*01:00\" as \"2006-01-02T15:04:05Z07:00\": cannot "
         "parse \"*01:00\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00.Z\"}}",
         "parsing time \"2024-01-01T00:00:00.Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\".Z\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00.5Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00,5Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00.1234567891234Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00Zx\"}}",
         "parsing time \"2024-01-01T00:00:00Zx\": extra text: \"x\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00Z\\u00e9\"}}",
         "parsing time \"2024-01-01T00:00:00Z\\xc3\\xa9\": extra text: \"\\xc3\\xa9\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-02-30T00:00:00Z\"}}",
         "parsing time \"2024-02-30T00:00:00Z\": day out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2023-02-29T00:00:00Z\"}}",
         "parsing time \"2023-02-29T00:00:00Z\": day out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-02-29T00:00:00Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-00T00:00:00Z\"}}",
         "parsing time \"2024-01-00T00:00:00Z\": day out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-32T00:00:00Z\"}}",
         "parsing time \"2024-01-32T00:00:00Z\": day out of range"),
    CASE("{\"mirror\":{\"opt_start_time\":\"02024-01-01T00:00:00Z\"}}",
         "parsing time \"02024-01-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"4-01-01T00:00:00Z\" as \"-\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"-024-01-01T00:00:00Z\"}}",
         "parsing time \"-024-01-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"-024-01-01T00:00:00Z\" as \"2006\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"202x-01-01T00:00:00Z\"}}",
         "parsing time \"202x-01-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"202x-01-01T00:00:00Z\" as \"2006\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-1x-01T00:00:00Z\"}}",
         "parsing time \"2024-1x-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"1x-01T00:00:00Z\" as \"01\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-1xT00:00:00Z\"}}",
         "parsing time \"2024-01-1xT00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"1xT00:00:00Z\" as \"02\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:0x:00Z\"}}",
         "parsing time \"2024-01-01T00:0x:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"0x:00Z\" as \"04\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:0xZ\"}}",
         "parsing time \"2024-01-01T00:00:0xZ\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"0xZ\" as \"05\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"2024-01-01T00:00:00+1x:00\"}}",
         "parsing time \"2024-01-01T00:00:00+1x:00\" as \"2006-01-02T15:04:05Z07:00\": cannot "
         "parse \"+1x:00\" as \"Z07:00\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"a\\\"b\\\\c\\n\\u00e9\"}}",
         "parsing time \"a\\\"b\\\\c\\x0a\\xc3\\xa9\" as \"2006-01-02T15:04:05Z07:00\": cannot "
         "parse \"a\\\"b\\\\c\\x0a\\xc3\\xa9\" as \"2006\""),
    CASE("{\"mirror\":{\"opt_start_time\":\"9999-12-31T23:59:59Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"0000-01-01T00:00:00Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":\"0001-01-01T00:00:00Z\"}}", NULL),
    CASE("{\"mirror\":{\"opt_start_time\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.mirror.opt_start_time of type time.Time"),
    CASE("{\"mirror\":{\"opt_start_time\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "StreamConfigRequest.mirror.opt_start_time of type time.Time"),
    CASE("{\"mirror\":{\"opt_start_time\":{}}}",
         "json: cannot unmarshal object into Go struct field "
         "StreamConfigRequest.mirror.opt_start_time of type time.Time"),
    CASE("{\"mirror\":{\"opt_start_time\":[]}}",
         "json: cannot unmarshal array into Go struct field "
         "StreamConfigRequest.mirror.opt_start_time of type time.Time"),
    CASE("{\"mirror\":{\"opt_start_time\":null}}", NULL),
};

#endif
