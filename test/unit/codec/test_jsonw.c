/* test_jsonw.c: JSON, byte for byte as Go's encoding/json writes it. */
#include "codec/jsonw.h"

#include "base/clock.h"
#include "codec/json.h"

#include <math.h>
#include <stdlib.h>

#include "unity.h"

static struct mf_buf out;
static struct jsonw w;

void setUp(void)
{
    out = MF_BUF_INIT;
    jsonw_begin(&w, &out, JSONW_COMPACT);
}

void tearDown(void)
{
    mf_buf_fini(&out);
}

static void check(const char *expect)
{
    TEST_ASSERT_FALSE(mf_buf_failed(&out));
    TEST_ASSERT_EQUAL_STRING(expect, mf_buf_cstr(&out));
}

static void write_sample(void)
{
    jsonw_object(&w, NULL);
    jsonw_str(&w, "name", "x");
    jsonw_object(&w, "none");
    jsonw_end(&w);
    jsonw_array(&w, "empty");
    jsonw_end(&w);
    jsonw_array(&w, "list");
    jsonw_i64(&w, NULL, 1);
    jsonw_object(&w, NULL);
    jsonw_bool(&w, "yes", true);
    jsonw_null(&w, "no");
    jsonw_end(&w);
    jsonw_raw(&w, NULL, MF_LIT("[2]"));
    jsonw_end(&w);
    jsonw_bool(&w, "last", false);
    jsonw_end(&w);
}

static void test_compact_style_has_no_blanks(void)
{
    write_sample();
    check("{\"name\":\"x\",\"none\":{},\"empty\":[],\"list\":[1,{\"yes\":true,\"no\":null},[2]],"
          "\"last\":false}");
}

/* What MarshalIndent(v, "", "  ") gives; operators compare these pages with diff. */
static void test_pretty_style_indents_by_two_and_keeps_empty_levels_on_one_line(void)
{
    jsonw_begin(&w, &out, JSONW_PRETTY);
    write_sample();
    check("{\n"
          "  \"name\": \"x\",\n"
          "  \"none\": {},\n"
          "  \"empty\": [],\n"
          "  \"list\": [\n"
          "    1,\n"
          "    {\n"
          "      \"yes\": true,\n"
          "      \"no\": null\n"
          "    },\n"
          "    [2]\n"
          "  ],\n"
          "  \"last\": false\n"
          "}");
}

static void test_integers_reach_both_ends_of_64_bits(void)
{
    jsonw_array(&w, NULL);
    jsonw_i64(&w, NULL, INT64_MIN);
    jsonw_i64(&w, NULL, INT64_MAX);
    jsonw_u64(&w, NULL, UINT64_MAX);
    jsonw_u64(&w, NULL, 0);
    jsonw_end(&w);
    check("[-9223372036854775808,9223372036854775807,18446744073709551615,0]");
}

static void test_text_is_escaped_as_go_does(void)
{
    jsonw_slice(&w, NULL, MF_LIT("\"\\/\b\f\n\r\t\x01\x1f\x7f\0<>&z"));
    check("\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\\u003c\\u003e\\u0026z\"");
}

static void test_keys_are_escaped_too(void)
{
    jsonw_object(&w, NULL);
    jsonw_u64(&w, "a>\"b", 1);
    jsonw_end(&w);
    check("{\"a\\u003e\\\"b\":1}");
}

static void test_no_text_is_the_empty_string(void)
{
    jsonw_array(&w, NULL);
    jsonw_str(&w, NULL, NULL);
    jsonw_slice(&w, NULL, MF_SLICE_NONE);
    jsonw_end(&w);
    check("[\"\",\"\"]");
}

/* Valid sequences of 2, 3 and 4 bytes pass, U+FFFD itself included; JavaScript's line separators do
 * not. */
static void test_utf8_passes_but_line_separators_are_escaped(void)
{
    jsonw_str(&w, NULL,
              "\xc2\x80 \xc3\xa4 \xe2\x82\xac \xef\xbf\xbd \xf0\x9f\x90\x9d \xf4\x8f\xbf\xbf "
              "\xe2\x80\xa8\xe2\x80\xa9");
    check("\"\xc2\x80 \xc3\xa4 \xe2\x82\xac \xef\xbf\xbd \xf0\x9f\x90\x9d \xf4\x8f\xbf\xbf "
          "\\u2028\\u2029\"");
}

/* One replacement for each byte that begins no valid sequence. */
static void test_bytes_that_are_no_utf8_are_replaced_one_by_one(void)
{
#define R "\\ufffd"
    static const struct {
        const char *in, *expect;
    } cases[] = {
        {"a\xff"
         "b",
         "\"a" R "b\""},
        {"\x80", "\"" R "\""},                         /* continuation alone */
        {"\xc3", "\"" R "\""},                         /* cut short */
        {"\xe2\x82", "\"" R R "\""},                   /* cut short */
        {"\xf0\x9f\x90", "\"" R R R "\""},             /* cut short */
        {"\xe2\x82z", "\"" R R "z\""},                 /* broken off */
        {"\xc0\xaf", "\"" R R "\""},                   /* too long a form of '/' */
        {"\xe0\x80\xaf", "\"" R R R "\""},             /* too long */
        {"\xf0\x80\x80\xaf", "\"" R R R R "\""},       /* too long */
        {"\xed\xa0\x80", "\"" R R R "\""},             /* surrogate */
        {"\xf4\x90\x80\x80", "\"" R R R R "\""},       /* beyond U+10FFFF */
        {"\xf8\x88\x80\x80\x80", "\"" R R R R R "\""}, /* five bytes never were */
    };
#undef R

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        mf_buf_clear(&out);
        jsonw_begin(&w, &out, JSONW_COMPACT);
        jsonw_str(&w, NULL, cases[i].in);
        check(cases[i].expect);
    }
}

/* The last sequence ends with the bytes: reading one further is a fault under the sanitizer. */
static void test_sequence_cut_by_the_end_is_not_read_beyond_it(void)
{
    uint8_t *tail = malloc(3);

    TEST_ASSERT_NOT_NULL(tail);
    memcpy(tail, "a\xf0\x9f", 3);
    jsonw_slice(&w, NULL, mf_slice(tail, 3));
    free(tail);
    check("\"a\\ufffd\\ufffd\"");
}

static void check_f64(double v, const char *expect)
{
    mf_buf_clear(&out);
    jsonw_begin(&w, &out, JSONW_COMPACT);
    jsonw_f64(&w, NULL, v);
    check(expect);
}

static void test_numbers_are_written_in_their_shortest_form(void)
{
    check_f64(0, "0");
    check_f64(-0.0, "-0");
    check_f64(1, "1");
    check_f64(-1.5, "-1.5");
    check_f64(0.1, "0.1");
    check_f64(0.1 + 0.2, "0.30000000000000004");
    check_f64(100, "100");
    check_f64(123456.789, "123456.789");
    check_f64(1.0 / 3, "0.3333333333333333");
    check_f64(9007199254740993.0, "9007199254740992");
    check_f64(1e20, "100000000000000000000");
    check_f64(1e21, "1e+21");
    check_f64(1.5e300, "1.5e+300");
    check_f64(0.000001, "0.000001");
    check_f64(0.00000099, "9.9e-7");
    check_f64(1e-7, "1e-7");
    check_f64(1.7976931348623157e308, "1.7976931348623157e+308");
    check_f64(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_f64(5e-324, "5e-324");
    check_f64(ldexp(1, -44), "5.684341886080802e-14"); /* not the nearest of 16 digits */
    check_f64(9.5, "9.5");
    check_f64(0.999999999999999, "0.999999999999999");
    check_f64(NAN, "0");
    check_f64(-INFINITY, "0");
}

static void test_what_is_empty_is_left_out_with_its_key(void)
{
    jsonw_object(&w, NULL);
    jsonw_opt_str(&w, "a", NULL);
    jsonw_opt_str(&w, "b", "");
    jsonw_opt_i64(&w, "c", 0);
    jsonw_opt_u64(&w, "d", 0);
    jsonw_opt_bool(&w, "e", false);
    jsonw_opt_strs(&w, "f", &(struct json_strs){NULL, 0});
    jsonw_end(&w);
    check("{}");
}

static void test_what_is_not_empty_stands_as_if_it_had_to(void)
{
    char *at[] = {(char *)"", (char *)"x"};

    jsonw_object(&w, NULL);
    jsonw_opt_str(&w, "b", "\"");
    jsonw_opt_i64(&w, "c", -1);
    jsonw_opt_u64(&w, "d", UINT64_MAX);
    jsonw_opt_bool(&w, "e", true);
    jsonw_opt_strs(&w, "f", &(struct json_strs){at, 2});
    jsonw_end(&w);
    check("{\"b\":\"\\\"\",\"c\":-1,\"d\":18446744073709551615,\"e\":true,\"f\":[\"\",\"x\"]}");
}

static void test_times_are_rfc3339(void)
{
    jsonw_array(&w, NULL);
    jsonw_time(&w, NULL, 0);
    jsonw_time(&w, NULL, 1767323045678901000);
    jsonw_time(&w, NULL, CLOCK_ZERO);
    jsonw_end(&w);
    check("[\"1970-01-01T00:00:00Z\",\"2026-01-02T03:04:05.678901Z\",\"0001-01-01T00:00:00Z\"]");
}

static void test_all_levels_may_be_open(void)
{
    for (int i = 0; i < JSONW_MAX_DEPTH; i++)
        jsonw_array(&w, NULL);
    for (int i = 0; i < JSONW_MAX_DEPTH; i++)
        jsonw_end(&w);
    check("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_compact_style_has_no_blanks);
    RUN_TEST(test_pretty_style_indents_by_two_and_keeps_empty_levels_on_one_line);
    RUN_TEST(test_integers_reach_both_ends_of_64_bits);
    RUN_TEST(test_text_is_escaped_as_go_does);
    RUN_TEST(test_keys_are_escaped_too);
    RUN_TEST(test_no_text_is_the_empty_string);
    RUN_TEST(test_utf8_passes_but_line_separators_are_escaped);
    RUN_TEST(test_bytes_that_are_no_utf8_are_replaced_one_by_one);
    RUN_TEST(test_sequence_cut_by_the_end_is_not_read_beyond_it);
    RUN_TEST(test_numbers_are_written_in_their_shortest_form);
    RUN_TEST(test_what_is_empty_is_left_out_with_its_key);
    RUN_TEST(test_what_is_not_empty_stands_as_if_it_had_to);
    RUN_TEST(test_times_are_rfc3339);
    RUN_TEST(test_all_levels_may_be_open);
    return UNITY_END();
}
