/* consumer_json_cases.h: requests to create a consumer, not always what the fields want, and what
 * nats-server 2.15.1 answered to each (see json_cases.h).  Asked, not reasoned. */
#ifndef TEST_CONSUMER_JSON_CASES_H
#define TEST_CONSUMER_JSON_CASES_H

#include "support/json_cases.h"

static const struct json_case request_cases[] = {
    CASE("", NULL),
    CASE("{}", NULL),
    CASE(" ", NULL),
    CASE("{", "unexpected EOF"),
    CASE("[]", "json: cannot unmarshal array into Go value of type server.CreateConsumerRequest"),
    CASE("x", "invalid character 'x' looking for beginning of value at offset 1"),
    CASE("{\"config\":{}}", NULL),
    CASE("{\"bogus\":1}", "json: unknown field \"bogus\""),
    CASE("{\"config\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"config\":null}", NULL),
    CASE("{\"config\":1}", "json: cannot unmarshal number into Go struct field "
                           "CreateConsumerRequest.config of type server.ConsumerConfig"),
    CASE("{\"config\":[]}", "json: cannot unmarshal array into Go struct field "
                            "CreateConsumerRequest.config of type server.ConsumerConfig"),
    CASE("{\"stream_name\":1}", "json: cannot unmarshal number into Go struct field "
                                "CreateConsumerRequest.stream_name of type string"),
    CASE("{\"stream_name\":null}", NULL),
    CASE("{\"action\":\"zzz\"}", "unknown consumer action: \"zzz\""),
    CASE("{\"action\":\"\"}", NULL),
    CASE("{\"action\":1}", "unknown consumer action: 1"),
    CASE("{\"action\":null}", "unknown consumer action: null"),
    CASE("{\"action\":\"Create\"}", "unknown consumer action: \"Create\""),
    CASE("{\"action\":\"update\"}", NULL),
    CASE("{\"action\":\"create\"}", NULL),
    CASE("{\"action\":{\"a\":[1]}}", "unknown consumer action: {\"a\":[1]}"),
    CASE("{\"pedantic\":1}", "json: cannot unmarshal number into Go struct field "
                             "CreateConsumerRequest.pedantic of type bool"),
    CASE("{\"pedantic\":null}", NULL),
    CASE("{\"pedantic\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                 "CreateConsumerRequest.pedantic of type bool"),
    CASE("{\"Pedantic\":false}", NULL),
    CASE("{\"config\":{\"durable_name\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.durable_name of type string"),
    CASE("{\"config\":{\"durable_name\":\"x\"}}", NULL),
    CASE("{\"config\":{\"durable_name\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.durable_name of type string"),
    CASE("{\"config\":{\"durable_name\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.durable_name of type string"),
    CASE("{\"config\":{\"durable_name\":null}}", NULL),
    CASE("{\"config\":{\"durable_name\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.durable_name of type string"),
    CASE("{\"config\":{\"name\":1}}", "json: cannot unmarshal number into Go struct field "
                                      "CreateConsumerRequest.config.name of type string"),
    CASE("{\"config\":{\"name\":\"x\"}}", NULL),
    CASE("{\"config\":{\"name\":[1]}}", "json: cannot unmarshal array into Go struct field "
                                        "CreateConsumerRequest.config.name of type string"),
    CASE("{\"config\":{\"name\":{\"a\":1}}}", "json: cannot unmarshal object into Go struct field "
                                              "CreateConsumerRequest.config.name of type string"),
    CASE("{\"config\":{\"name\":null}}", NULL),
    CASE("{\"config\":{\"name\":true}}", "json: cannot unmarshal bool into Go struct field "
                                         "CreateConsumerRequest.config.name of type string"),
    CASE("{\"config\":{\"description\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.description of type string"),
    CASE("{\"config\":{\"description\":\"x\"}}", NULL),
    CASE("{\"config\":{\"description\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.description of type string"),
    CASE("{\"config\":{\"description\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.description of type string"),
    CASE("{\"config\":{\"description\":null}}", NULL),
    CASE("{\"config\":{\"description\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.description of type string"),
    CASE("{\"config\":{\"deliver_policy\":1}}", "can not unmarshal \"1\""),
    CASE("{\"config\":{\"deliver_policy\":\"x\"}}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"config\":{\"deliver_policy\":[1]}}", "can not unmarshal \"[1]\""),
    CASE("{\"config\":{\"deliver_policy\":{\"a\":1}}}", "can not unmarshal \"{\\\"a\\\":1}\""),
    CASE("{\"config\":{\"deliver_policy\":null}}", "can not unmarshal \"null\""),
    CASE("{\"config\":{\"deliver_policy\":true}}", "can not unmarshal \"true\""),
    CASE("{\"config\":{\"opt_start_seq\":1}}", NULL),
    CASE("{\"config\":{\"opt_start_seq\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"opt_start_seq\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"opt_start_seq\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"opt_start_seq\":null}}", NULL),
    CASE("{\"config\":{\"opt_start_seq\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"opt_start_time\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.opt_start_time of type time.Time"),
    CASE("{\"config\":{\"opt_start_time\":\"x\"}}",
         "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""),
    CASE("{\"config\":{\"opt_start_time\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.opt_start_time of type time.Time"),
    CASE("{\"config\":{\"opt_start_time\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.opt_start_time of type time.Time"),
    CASE("{\"config\":{\"opt_start_time\":null}}", NULL),
    CASE("{\"config\":{\"opt_start_time\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.opt_start_time of type time.Time"),
    CASE("{\"config\":{\"ack_policy\":1}}", "can not unmarshal \"1\""),
    CASE("{\"config\":{\"ack_policy\":\"x\"}}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"config\":{\"ack_policy\":[1]}}", "can not unmarshal \"[1]\""),
    CASE("{\"config\":{\"ack_policy\":{\"a\":1}}}", "can not unmarshal \"{\\\"a\\\":1}\""),
    CASE("{\"config\":{\"ack_policy\":null}}", "can not unmarshal \"null\""),
    CASE("{\"config\":{\"ack_policy\":true}}", "can not unmarshal \"true\""),
    CASE("{\"config\":{\"ack_wait\":1}}", NULL),
    CASE("{\"config\":{\"ack_wait\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field CreateConsumerRequest.config.ack_wait "
         "of type time.Duration"),
    CASE("{\"config\":{\"ack_wait\":[1]}}",
         "json: cannot unmarshal array into Go struct field CreateConsumerRequest.config.ack_wait "
         "of type time.Duration"),
    CASE("{\"config\":{\"ack_wait\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field CreateConsumerRequest.config.ack_wait "
         "of type time.Duration"),
    CASE("{\"config\":{\"ack_wait\":null}}", NULL),
    CASE("{\"config\":{\"ack_wait\":true}}",
         "json: cannot unmarshal bool into Go struct field CreateConsumerRequest.config.ack_wait "
         "of type time.Duration"),
    CASE("{\"config\":{\"max_deliver\":1}}", NULL),
    CASE("{\"config\":{\"max_deliver\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_deliver of type int"),
    CASE("{\"config\":{\"max_deliver\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.max_deliver of type int"),
    CASE("{\"config\":{\"max_deliver\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_deliver of type int"),
    CASE("{\"config\":{\"max_deliver\":null}}", NULL),
    CASE("{\"config\":{\"max_deliver\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.max_deliver of type int"),
    CASE("{\"config\":{\"backoff\":1}}",
         "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.backoff "
         "of type []time.Duration"),
    CASE("{\"config\":{\"backoff\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field CreateConsumerRequest.config.backoff "
         "of type []time.Duration"),
    CASE("{\"config\":{\"backoff\":[1]}}", NULL),
    CASE("{\"config\":{\"backoff\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field CreateConsumerRequest.config.backoff "
         "of type []time.Duration"),
    CASE("{\"config\":{\"backoff\":null}}", NULL),
    CASE("{\"config\":{\"backoff\":true}}",
         "json: cannot unmarshal bool into Go struct field CreateConsumerRequest.config.backoff of "
         "type []time.Duration"),
    CASE("{\"config\":{\"filter_subject\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.filter_subject of type string"),
    CASE("{\"config\":{\"filter_subject\":\"x\"}}", NULL),
    CASE("{\"config\":{\"filter_subject\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.filter_subject of type string"),
    CASE("{\"config\":{\"filter_subject\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.filter_subject of type string"),
    CASE("{\"config\":{\"filter_subject\":null}}", NULL),
    CASE("{\"config\":{\"filter_subject\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.filter_subject of type string"),
    CASE("{\"config\":{\"filter_subjects\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.filter_subjects of type []string"),
    CASE("{\"config\":{\"filter_subjects\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.filter_subjects of type []string"),
    CASE("{\"config\":{\"filter_subjects\":[1]}}",
         "json: cannot unmarshal number into CreateConsumerRequest.config.filter_subjects.0 of "
         "type string"),
    CASE("{\"config\":{\"filter_subjects\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.filter_subjects of type []string"),
    CASE("{\"config\":{\"filter_subjects\":null}}", NULL),
    CASE("{\"config\":{\"filter_subjects\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.filter_subjects of type []string"),
    CASE("{\"config\":{\"replay_policy\":1}}", "can not unmarshal \"1\""),
    CASE("{\"config\":{\"replay_policy\":\"x\"}}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"config\":{\"replay_policy\":[1]}}", "can not unmarshal \"[1]\""),
    CASE("{\"config\":{\"replay_policy\":{\"a\":1}}}", "can not unmarshal \"{\\\"a\\\":1}\""),
    CASE("{\"config\":{\"replay_policy\":null}}", "can not unmarshal \"null\""),
    CASE("{\"config\":{\"replay_policy\":true}}", "can not unmarshal \"true\""),
    CASE("{\"config\":{\"rate_limit_bps\":1}}", NULL),
    CASE("{\"config\":{\"rate_limit_bps\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.rate_limit_bps of type uint64"),
    CASE("{\"config\":{\"rate_limit_bps\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.rate_limit_bps of type uint64"),
    CASE("{\"config\":{\"rate_limit_bps\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.rate_limit_bps of type uint64"),
    CASE("{\"config\":{\"rate_limit_bps\":null}}", NULL),
    CASE("{\"config\":{\"rate_limit_bps\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.rate_limit_bps of type uint64"),
    CASE("{\"config\":{\"sample_freq\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.sample_freq of type string"),
    CASE("{\"config\":{\"sample_freq\":\"x\"}}", NULL),
    CASE("{\"config\":{\"sample_freq\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.sample_freq of type string"),
    CASE("{\"config\":{\"sample_freq\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.sample_freq of type string"),
    CASE("{\"config\":{\"sample_freq\":null}}", NULL),
    CASE("{\"config\":{\"sample_freq\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.sample_freq of type string"),
    CASE("{\"config\":{\"max_waiting\":1}}", NULL),
    CASE("{\"config\":{\"max_waiting\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_waiting of type int"),
    CASE("{\"config\":{\"max_waiting\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.max_waiting of type int"),
    CASE("{\"config\":{\"max_waiting\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_waiting of type int"),
    CASE("{\"config\":{\"max_waiting\":null}}", NULL),
    CASE("{\"config\":{\"max_waiting\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.max_waiting of type int"),
    CASE("{\"config\":{\"max_ack_pending\":1}}", NULL),
    CASE("{\"config\":{\"max_ack_pending\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_ack_pending of type int"),
    CASE("{\"config\":{\"max_ack_pending\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.max_ack_pending of type int"),
    CASE("{\"config\":{\"max_ack_pending\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_ack_pending of type int"),
    CASE("{\"config\":{\"max_ack_pending\":null}}", NULL),
    CASE("{\"config\":{\"max_ack_pending\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.max_ack_pending of type int"),
    CASE("{\"config\":{\"flow_control\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.flow_control of type bool"),
    CASE("{\"config\":{\"flow_control\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.flow_control of type bool"),
    CASE("{\"config\":{\"flow_control\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.flow_control of type bool"),
    CASE("{\"config\":{\"flow_control\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.flow_control of type bool"),
    CASE("{\"config\":{\"flow_control\":null}}", NULL),
    CASE("{\"config\":{\"flow_control\":true}}", NULL),
    CASE("{\"config\":{\"headers_only\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.headers_only of type bool"),
    CASE("{\"config\":{\"headers_only\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.headers_only of type bool"),
    CASE("{\"config\":{\"headers_only\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.headers_only of type bool"),
    CASE("{\"config\":{\"headers_only\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.headers_only of type bool"),
    CASE("{\"config\":{\"headers_only\":null}}", NULL),
    CASE("{\"config\":{\"headers_only\":true}}", NULL),
    CASE("{\"config\":{\"max_batch\":1}}", NULL),
    CASE("{\"config\":{\"max_batch\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_batch of type int"),
    CASE("{\"config\":{\"max_batch\":[1]}}", "json: cannot unmarshal array into Go struct field "
                                             "CreateConsumerRequest.config.max_batch of type int"),
    CASE("{\"config\":{\"max_batch\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_batch of type int"),
    CASE("{\"config\":{\"max_batch\":null}}", NULL),
    CASE("{\"config\":{\"max_batch\":true}}", "json: cannot unmarshal bool into Go struct field "
                                              "CreateConsumerRequest.config.max_batch of type int"),
    CASE("{\"config\":{\"max_expires\":1}}", NULL),
    CASE("{\"config\":{\"max_expires\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_expires of type time.Duration"),
    CASE("{\"config\":{\"max_expires\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.max_expires of type time.Duration"),
    CASE("{\"config\":{\"max_expires\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_expires of type time.Duration"),
    CASE("{\"config\":{\"max_expires\":null}}", NULL),
    CASE("{\"config\":{\"max_expires\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.max_expires of type time.Duration"),
    CASE("{\"config\":{\"max_bytes\":1}}", NULL),
    CASE("{\"config\":{\"max_bytes\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.max_bytes of type int"),
    CASE("{\"config\":{\"max_bytes\":[1]}}", "json: cannot unmarshal array into Go struct field "
                                             "CreateConsumerRequest.config.max_bytes of type int"),
    CASE("{\"config\":{\"max_bytes\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.max_bytes of type int"),
    CASE("{\"config\":{\"max_bytes\":null}}", NULL),
    CASE("{\"config\":{\"max_bytes\":true}}", "json: cannot unmarshal bool into Go struct field "
                                              "CreateConsumerRequest.config.max_bytes of type int"),
    CASE("{\"config\":{\"deliver_subject\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.deliver_subject of type string"),
    CASE("{\"config\":{\"deliver_subject\":\"x\"}}", NULL),
    CASE("{\"config\":{\"deliver_subject\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.deliver_subject of type string"),
    CASE("{\"config\":{\"deliver_subject\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.deliver_subject of type string"),
    CASE("{\"config\":{\"deliver_subject\":null}}", NULL),
    CASE("{\"config\":{\"deliver_subject\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.deliver_subject of type string"),
    CASE("{\"config\":{\"deliver_group\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.deliver_group of type string"),
    CASE("{\"config\":{\"deliver_group\":\"x\"}}", NULL),
    CASE("{\"config\":{\"deliver_group\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.deliver_group of type string"),
    CASE("{\"config\":{\"deliver_group\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.deliver_group of type string"),
    CASE("{\"config\":{\"deliver_group\":null}}", NULL),
    CASE("{\"config\":{\"deliver_group\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.deliver_group of type string"),
    CASE("{\"config\":{\"idle_heartbeat\":1}}", NULL),
    CASE("{\"config\":{\"idle_heartbeat\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.idle_heartbeat of type time.Duration"),
    CASE("{\"config\":{\"idle_heartbeat\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.idle_heartbeat of type time.Duration"),
    CASE("{\"config\":{\"idle_heartbeat\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.idle_heartbeat of type time.Duration"),
    CASE("{\"config\":{\"idle_heartbeat\":null}}", NULL),
    CASE("{\"config\":{\"idle_heartbeat\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.idle_heartbeat of type time.Duration"),
    CASE("{\"config\":{\"inactive_threshold\":1}}", NULL),
    CASE("{\"config\":{\"inactive_threshold\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.inactive_threshold of type time.Duration"),
    CASE("{\"config\":{\"inactive_threshold\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.inactive_threshold of type time.Duration"),
    CASE("{\"config\":{\"inactive_threshold\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.inactive_threshold of type time.Duration"),
    CASE("{\"config\":{\"inactive_threshold\":null}}", NULL),
    CASE("{\"config\":{\"inactive_threshold\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.inactive_threshold of type time.Duration"),
    CASE("{\"config\":{\"num_replicas\":1}}", NULL),
    CASE("{\"config\":{\"num_replicas\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.num_replicas of type int"),
    CASE("{\"config\":{\"num_replicas\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.num_replicas of type int"),
    CASE("{\"config\":{\"num_replicas\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.num_replicas of type int"),
    CASE("{\"config\":{\"num_replicas\":null}}", NULL),
    CASE("{\"config\":{\"num_replicas\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.num_replicas of type int"),
    CASE("{\"config\":{\"mem_storage\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.mem_storage of type bool"),
    CASE("{\"config\":{\"mem_storage\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.mem_storage of type bool"),
    CASE("{\"config\":{\"mem_storage\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.mem_storage of type bool"),
    CASE("{\"config\":{\"mem_storage\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.mem_storage of type bool"),
    CASE("{\"config\":{\"mem_storage\":null}}", NULL),
    CASE("{\"config\":{\"mem_storage\":true}}", NULL),
    CASE("{\"config\":{\"direct\":1}}", "json: cannot unmarshal number into Go struct field "
                                        "CreateConsumerRequest.config.direct of type bool"),
    CASE("{\"config\":{\"direct\":\"x\"}}", "json: cannot unmarshal string into Go struct field "
                                            "CreateConsumerRequest.config.direct of type bool"),
    CASE("{\"config\":{\"direct\":[1]}}", "json: cannot unmarshal array into Go struct field "
                                          "CreateConsumerRequest.config.direct of type bool"),
    CASE("{\"config\":{\"direct\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field CreateConsumerRequest.config.direct "
         "of type bool"),
    CASE("{\"config\":{\"direct\":null}}", NULL),
    CASE("{\"config\":{\"direct\":true}}", NULL),
    CASE("{\"config\":{\"sourcing\":1}}", "json: cannot unmarshal number into Go struct field "
                                          "CreateConsumerRequest.config.sourcing of type bool"),
    CASE("{\"config\":{\"sourcing\":\"x\"}}", "json: cannot unmarshal string into Go struct field "
                                              "CreateConsumerRequest.config.sourcing of type bool"),
    CASE("{\"config\":{\"sourcing\":[1]}}", "json: cannot unmarshal array into Go struct field "
                                            "CreateConsumerRequest.config.sourcing of type bool"),
    CASE("{\"config\":{\"sourcing\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field CreateConsumerRequest.config.sourcing "
         "of type bool"),
    CASE("{\"config\":{\"sourcing\":null}}", NULL),
    CASE("{\"config\":{\"sourcing\":true}}", NULL),
    CASE("{\"config\":{\"metadata\":1}}",
         "json: cannot unmarshal number into Go struct field CreateConsumerRequest.config.metadata "
         "of type map[string]string"),
    CASE("{\"config\":{\"metadata\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field CreateConsumerRequest.config.metadata "
         "of type map[string]string"),
    CASE("{\"config\":{\"metadata\":[1]}}",
         "json: cannot unmarshal array into Go struct field CreateConsumerRequest.config.metadata "
         "of type map[string]string"),
    CASE("{\"config\":{\"metadata\":{\"a\":1}}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.metadata.a of type string"),
    CASE("{\"config\":{\"metadata\":null}}", NULL),
    CASE("{\"config\":{\"metadata\":true}}",
         "json: cannot unmarshal bool into Go struct field CreateConsumerRequest.config.metadata "
         "of type map[string]string"),
    CASE("{\"config\":{\"pause_until\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.pause_until of type time.Time"),
    CASE("{\"config\":{\"pause_until\":\"x\"}}",
         "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""),
    CASE("{\"config\":{\"pause_until\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.pause_until of type time.Time"),
    CASE("{\"config\":{\"pause_until\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.pause_until of type time.Time"),
    CASE("{\"config\":{\"pause_until\":null}}", NULL),
    CASE("{\"config\":{\"pause_until\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.pause_until of type time.Time"),
    CASE("{\"config\":{\"priority_groups\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "CreateConsumerRequest.config.priority_groups of type []string"),
    CASE("{\"config\":{\"priority_groups\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.priority_groups of type []string"),
    CASE("{\"config\":{\"priority_groups\":[1]}}",
         "json: cannot unmarshal number into CreateConsumerRequest.config.priority_groups.0 of "
         "type string"),
    CASE("{\"config\":{\"priority_groups\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.priority_groups of type []string"),
    CASE("{\"config\":{\"priority_groups\":null}}", NULL),
    CASE("{\"config\":{\"priority_groups\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.priority_groups of type []string"),
    CASE("{\"config\":{\"priority_policy\":1}}", "unknown priority policy: 1"),
    CASE("{\"config\":{\"priority_policy\":\"x\"}}", "unknown priority policy: \"x\""),
    CASE("{\"config\":{\"priority_policy\":[1]}}", "unknown priority policy: [1]"),
    CASE("{\"config\":{\"priority_policy\":{\"a\":1}}}", "unknown priority policy: {\"a\":1}"),
    CASE("{\"config\":{\"priority_policy\":null}}", "unknown priority policy: null"),
    CASE("{\"config\":{\"priority_policy\":true}}", "unknown priority policy: true"),
    CASE("{\"config\":{\"priority_timeout\":1}}", NULL),
    CASE("{\"config\":{\"priority_timeout\":\"x\"}}",
         "json: cannot unmarshal string into Go struct field "
         "CreateConsumerRequest.config.priority_timeout of type time.Duration"),
    CASE("{\"config\":{\"priority_timeout\":[1]}}",
         "json: cannot unmarshal array into Go struct field "
         "CreateConsumerRequest.config.priority_timeout of type time.Duration"),
    CASE("{\"config\":{\"priority_timeout\":{\"a\":1}}}",
         "json: cannot unmarshal object into Go struct field "
         "CreateConsumerRequest.config.priority_timeout of type time.Duration"),
    CASE("{\"config\":{\"priority_timeout\":null}}", NULL),
    CASE("{\"config\":{\"priority_timeout\":true}}",
         "json: cannot unmarshal bool into Go struct field "
         "CreateConsumerRequest.config.priority_timeout of type time.Duration"),
    CASE("{\"config\":{\"backoff\":[1,null,\"x\"]}}",
         "json: cannot unmarshal string into CreateConsumerRequest.config.backoff.2 of type "
         "time.Duration"),
    CASE("{\"config\":{\"backoff\":[1.5]}}",
         "json: cannot unmarshal number 1.5 into CreateConsumerRequest.config.backoff.0 of type "
         "time.Duration"),
    CASE("{\"config\":{\"backoff\":[99999999999999999999]}}",
         "json: cannot unmarshal number 99999999999999999999 into "
         "CreateConsumerRequest.config.backoff.0 of type time.Duration"),
    CASE("{\"config\":{\"backoff\":[1],\"backoff\":[null,2]}}", NULL),
    CASE("{\"config\":{\"opt_start_seq\":-1}}",
         "json: cannot unmarshal number -1 into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"opt_start_seq\":18446744073709551615}}", NULL),
    CASE("{\"config\":{\"opt_start_seq\":18446744073709551616}}",
         "json: cannot unmarshal number 18446744073709551616 into Go struct field "
         "CreateConsumerRequest.config.opt_start_seq of type uint64"),
    CASE("{\"config\":{\"ack_wait\":1.5}}",
         "json: cannot unmarshal number 1.5 into Go struct field "
         "CreateConsumerRequest.config.ack_wait of type time.Duration"),
    CASE("{\"config\":{\"max_waiting\":1e3}}",
         "json: cannot unmarshal number 1e3 into Go struct field "
         "CreateConsumerRequest.config.max_waiting of type int"),
    CASE("{\"config\":{\"deliver_policy\":\"\"}}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"config\":{\"ack_policy\":\"\"}}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"config\":{\"ack_policy\":\"Explicit\"}}", "can not unmarshal \"\\\"Explicit\\\"\""),
    CASE("{\"config\":{\"priority_policy\":\"\"}}", "unknown priority policy: \"\""),
    CASE("{\"config\":{\"replay_policy\":\"\"}}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"config\":{\"metadata\":{\"a\":null}}}", NULL),
    CASE("{\"config\":{\"opt_start_time\":\"2024-13-01T00:00:00Z\"}}",
         "parsing time \"2024-13-01T00:00:00Z\": month out of range"),
    CASE("{\"config\":{\"pause_until\":\"now\"}}",
         "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\""),
    CASE("{\"config\":{}} x", "invalid character 'x' looking for beginning of value at offset 15"),
    CASE("{\"config\":{}}{\"bogus\":1}", "json: unknown field \"bogus\""),
    CASE("{\"config\":{\"Backoff\":[\"1\"]}}",
         "json: cannot unmarshal string into CreateConsumerRequest.config.Backoff.0 of type "
         "time.Duration"),
    CASE("{\"config\":{\"filter_subjects\":[null]}}", NULL),
    CASE("{\"config\":{\"deliver_policy\":\"\\u0061ll\"}}",
         "can not unmarshal \"\\\"\\\\u0061ll\\\"\""),
};

#endif
