/* config_json_cases.h: stream configurations that are JSON but not always what the fields want, and
 * what nats-server 2.15.1 answered to each (see json_cases.h).  Asked, not reasoned. */
#ifndef TEST_CONFIG_JSON_CASES_H
#define TEST_CONFIG_JSON_CASES_H

#include "support/json_cases.h"

static const struct json_case meaning_cases[] = {
    CASE("{\"name\":\"\177\177\"}", NULL),
    CASE("{\"\377\":1}", "json: unknown field \"\357\277\275\""),
    CASE("{\"a\377b\":\"\377\376\"}", "json: unknown field \"a\357\277\275b\""),
    CASE(" {} ", NULL),
    CASE("{ }", NULL),
    CASE("{ \"name\" : \"Y\" }", NULL),
    CASE("{\n\"name\"\n:\n\"Y\"\n,\n\"max_msgs\"\n:\n1\n}", NULL),
    CASE("{}", NULL),
    CASE("{\"bogus\":1}", "json: unknown field \"bogus\""),
    CASE("{\"\":1}", "json: unknown field \"\""),
    CASE("{\"template_owner\":\"x\"}", "json: unknown field \"template_owner\""),
    CASE("{\"name \":\"x\"}", "json: unknown field \"name \""),
    CASE("{\"na_me\":\"x\"}", "json: unknown field \"na_me\""),
    CASE("{\"max-msgs\":1}", "json: unknown field \"max-msgs\""),
    CASE("{\"maxmsgs\":1}", "json: unknown field \"maxmsgs\""),
    CASE("{\"bo\\\"g\":1}", "json: unknown field \"bo\\\"g\""),
    CASE("{\"bo\\\\g\":1}", "json: unknown field \"bo\\\\g\""),
    CASE("{\"bo\\u0001g\":1}", "json: unknown field \"bo\\x01g\""),
    CASE("{\"bo\\ng\":1}", "json: unknown field \"bo\\ng\""),
    CASE("{\"bo\\u00e9g\":1}", "json: unknown field \"bo\303\251g\""),
    CASE("{\"bo/g\":1}", "json: unknown field \"bo/g\""),
    CASE("{\"bo~g\":1}", "json: unknown field \"bo~g\""),
    CASE("{\"a~1b~0\":1}", "json: unknown field \"a~1b~0\""),
    CASE("{\"bo\\u2028g\":1}", "json: unknown field \"bo\\u2028g\""),
    CASE("{\"bo\\ud83d\\ude00g\":1}", "json: unknown field \"bo\360\237\230\200g\""),
    CASE("{\"bo\\ud83dg\":1}", "json: unknown field \"bo\357\277\275g\""),
    CASE("{\"bo<g>&\":1}", "json: unknown field \"bo<g>&\""),
    CASE("{\"bo\\u00a0g\":1}", "json: unknown field \"bo\\u00a0g\""),
    CASE("{\"bo\\u007fg\":1}", "json: unknown field \"bo\\x7fg\""),
    CASE("{\"bo\\u0080g\":1}", "json: unknown field \"bo\\u0080g\""),
    CASE("{\"\\u200b\\ufeff\":1}", "json: unknown field \"\\u200b\\ufeff\""),
    CASE("{\"bogus\":{\"x\":[1,{\"y\":null}]},\"name\":\"X\"}", "json: unknown field \"bogus\""),
    CASE("{\"mirror\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"sources\":[{\"name\":\"a\"},{\"bogus\":1}]}", "json: unknown field \"bogus\""),
    CASE("{\"placement\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"republish\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"subject_transform\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"consumer_limits\":{\"bogus\":1}}", "json: unknown field \"bogus\""),
    CASE("{\"mirror\":{\"external\":{\"bogus\":1}}}", "json: unknown field \"bogus\""),
    CASE("{\"mirror\":{\"consumer\":{\"bogus\":1}}}", "json: unknown field \"bogus\""),
    CASE("{\"sources\":[{\"subject_transforms\":[{\"bogus\":1}]}]}",
         "json: unknown field \"bogus\""),
    CASE("{\"Bogus\":1}", "json: unknown field \"Bogus\""),
    CASE("{\"bogus\":null}", "json: unknown field \"bogus\""),
    CASE("{\"\\u212a\":1}", "json: unknown field \"\342\204\252\""),
    CASE("{\"NAME\":1}", "json: cannot unmarshal number into Go struct field "
                         "StreamConfigRequest.NAME of type string"),
    CASE("{\"Name\":\"Y\"}", NULL),
    CASE("{\"mAx_MsGs\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                 "StreamConfigRequest.mAx_MsGs of type int64"),
    CASE("{\"\305\277ubjects\":1}", "json: cannot unmarshal number into Go struct field "
                                    "StreamConfigRequest.\305\277ubjects of type []string"),
    CASE("{\"\305\277UBJECTS\":[\"a\"]}", NULL),
    CASE("{\"no_ac\342\204\252\":1}", "json: cannot unmarshal number into Go struct field "
                                      "StreamConfigRequest.no_ac\342\204\252 of type bool"),
    CASE("{\"NO_ACK\":1}", "json: cannot unmarshal number into Go struct field "
                           "StreamConfigRequest.NO_ACK of type bool"),
    CASE("{\"\\u004eame\":1}", "json: cannot unmarshal number into Go struct field "
                               "StreamConfigRequest.Name of type string"),
    CASE("{\"name\":\"Y\",\"NAME\":1}", "json: cannot unmarshal number into Go struct field "
                                        "StreamConfigRequest.NAME of type string"),
    CASE("{\"name\":1}", "json: cannot unmarshal number into Go struct field "
                         "StreamConfigRequest.name of type string"),
    CASE("{\"name\":\"x\"}", NULL),
    CASE(
        "{\"name\":true}",
        "json: cannot unmarshal bool into Go struct field StreamConfigRequest.name of type string"),
    CASE("{\"name\":[]}", "json: cannot unmarshal array into Go struct field "
                          "StreamConfigRequest.name of type string"),
    CASE("{\"name\":{}}", "json: cannot unmarshal object into Go struct field "
                          "StreamConfigRequest.name of type string"),
    CASE("{\"name\":1.5}", "json: cannot unmarshal number into Go struct field "
                           "StreamConfigRequest.name of type string"),
    CASE("{\"name\":null}", NULL),
    CASE("{\"subjects\":1}", "json: cannot unmarshal number into Go struct field "
                             "StreamConfigRequest.subjects of type []string"),
    CASE("{\"subjects\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                 "StreamConfigRequest.subjects of type []string"),
    CASE("{\"subjects\":true}", "json: cannot unmarshal bool into Go struct field "
                                "StreamConfigRequest.subjects of type []string"),
    CASE("{\"subjects\":[]}", NULL),
    CASE("{\"subjects\":{}}", "json: cannot unmarshal object into Go struct field "
                              "StreamConfigRequest.subjects of type []string"),
    CASE("{\"subjects\":1.5}", "json: cannot unmarshal number into Go struct field "
                               "StreamConfigRequest.subjects of type []string"),
    CASE("{\"subjects\":null}", NULL),
    CASE("{\"max_consumers\":1}", NULL),
    CASE("{\"max_consumers\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                      "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_consumers\":true}", "json: cannot unmarshal bool into Go struct field "
                                     "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_consumers\":[]}", "json: cannot unmarshal array into Go struct field "
                                   "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_consumers\":{}}", "json: cannot unmarshal object into Go struct field "
                                   "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_consumers\":1.5}", "json: cannot unmarshal number 1.5 into Go struct field "
                                    "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_consumers\":null}", NULL),
    CASE("{\"max_msgs\":1}", NULL),
    CASE("{\"max_msgs\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                 "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"max_msgs\":true}", "json: cannot unmarshal bool into Go struct field "
                                "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"max_msgs\":[]}", "json: cannot unmarshal array into Go struct field "
                              "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"max_msgs\":{}}", "json: cannot unmarshal object into Go struct field "
                              "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"max_msgs\":1.5}", "json: cannot unmarshal number 1.5 into Go struct field "
                               "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"max_msgs\":null}", NULL),
    CASE("{\"max_age\":1}", NULL),
    CASE("{\"max_age\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_age\":true}", "json: cannot unmarshal bool into Go struct field "
                               "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_age\":[]}", "json: cannot unmarshal array into Go struct field "
                             "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_age\":{}}", "json: cannot unmarshal object into Go struct field "
                             "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_age\":1.5}", "json: cannot unmarshal number 1.5 into Go struct field "
                              "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_age\":null}", NULL),
    CASE("{\"max_msg_size\":1}", NULL),
    CASE("{\"max_msg_size\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                     "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_msg_size\":true}", "json: cannot unmarshal bool into Go struct field "
                                    "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_msg_size\":[]}", "json: cannot unmarshal array into Go struct field "
                                  "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_msg_size\":{}}", "json: cannot unmarshal object into Go struct field "
                                  "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_msg_size\":1.5}", "json: cannot unmarshal number 1.5 into Go struct field "
                                   "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_msg_size\":null}", NULL),
    CASE("{\"no_ack\":1}", "json: cannot unmarshal number into Go struct field "
                           "StreamConfigRequest.no_ack of type bool"),
    CASE("{\"no_ack\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                               "StreamConfigRequest.no_ack of type bool"),
    CASE("{\"no_ack\":true}", NULL),
    CASE("{\"no_ack\":[]}", "json: cannot unmarshal array into Go struct field "
                            "StreamConfigRequest.no_ack of type bool"),
    CASE("{\"no_ack\":{}}", "json: cannot unmarshal object into Go struct field "
                            "StreamConfigRequest.no_ack of type bool"),
    CASE("{\"no_ack\":1.5}", "json: cannot unmarshal number into Go struct field "
                             "StreamConfigRequest.no_ack of type bool"),
    CASE("{\"no_ack\":null}", NULL),
    CASE("{\"placement\":1}", "json: cannot unmarshal number into Go struct field "
                              "StreamConfigRequest.placement of type server.Placement"),
    CASE("{\"placement\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                  "StreamConfigRequest.placement of type server.Placement"),
    CASE("{\"placement\":true}", "json: cannot unmarshal bool into Go struct field "
                                 "StreamConfigRequest.placement of type server.Placement"),
    CASE("{\"placement\":[]}", "json: cannot unmarshal array into Go struct field "
                               "StreamConfigRequest.placement of type server.Placement"),
    CASE("{\"placement\":{}}", NULL),
    CASE("{\"placement\":1.5}", "json: cannot unmarshal number into Go struct field "
                                "StreamConfigRequest.placement of type server.Placement"),
    CASE("{\"placement\":null}", NULL),
    CASE("{\"mirror\":1}", "json: cannot unmarshal number into Go struct field "
                           "StreamConfigRequest.mirror of type server.StreamSource"),
    CASE("{\"mirror\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                               "StreamConfigRequest.mirror of type server.StreamSource"),
    CASE("{\"mirror\":true}", "json: cannot unmarshal bool into Go struct field "
                              "StreamConfigRequest.mirror of type server.StreamSource"),
    CASE("{\"mirror\":[]}", "json: cannot unmarshal array into Go struct field "
                            "StreamConfigRequest.mirror of type server.StreamSource"),
    CASE("{\"mirror\":{}}", NULL),
    CASE("{\"mirror\":1.5}", "json: cannot unmarshal number into Go struct field "
                             "StreamConfigRequest.mirror of type server.StreamSource"),
    CASE("{\"mirror\":null}", NULL),
    CASE("{\"sources\":1}", "json: cannot unmarshal number into Go struct field "
                            "StreamConfigRequest.sources of type []*server.StreamSource"),
    CASE("{\"sources\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                "StreamConfigRequest.sources of type []*server.StreamSource"),
    CASE("{\"sources\":true}", "json: cannot unmarshal bool into Go struct field "
                               "StreamConfigRequest.sources of type []*server.StreamSource"),
    CASE("{\"sources\":[]}", NULL),
    CASE("{\"sources\":{}}", "json: cannot unmarshal object into Go struct field "
                             "StreamConfigRequest.sources of type []*server.StreamSource"),
    CASE("{\"sources\":1.5}", "json: cannot unmarshal number into Go struct field "
                              "StreamConfigRequest.sources of type []*server.StreamSource"),
    CASE("{\"sources\":null}", NULL),
    CASE("{\"first_seq\":1}", NULL),
    CASE("{\"first_seq\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                  "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"first_seq\":true}", "json: cannot unmarshal bool into Go struct field "
                                 "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"first_seq\":[]}", "json: cannot unmarshal array into Go struct field "
                               "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"first_seq\":{}}", "json: cannot unmarshal object into Go struct field "
                               "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"first_seq\":1.5}", "json: cannot unmarshal number 1.5 into Go struct field "
                                "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"first_seq\":null}", NULL),
    CASE("{\"subject_transform\":1}",
         "json: cannot unmarshal number into Go struct field StreamConfigRequest.subject_transform "
         "of type server.SubjectTransformConfig"),
    CASE("{\"subject_transform\":\"x\"}",
         "json: cannot unmarshal string into Go struct field StreamConfigRequest.subject_transform "
         "of type server.SubjectTransformConfig"),
    CASE("{\"subject_transform\":true}",
         "json: cannot unmarshal bool into Go struct field StreamConfigRequest.subject_transform "
         "of type server.SubjectTransformConfig"),
    CASE("{\"subject_transform\":[]}",
         "json: cannot unmarshal array into Go struct field StreamConfigRequest.subject_transform "
         "of type server.SubjectTransformConfig"),
    CASE("{\"subject_transform\":{}}", NULL),
    CASE("{\"subject_transform\":1.5}",
         "json: cannot unmarshal number into Go struct field StreamConfigRequest.subject_transform "
         "of type server.SubjectTransformConfig"),
    CASE("{\"subject_transform\":null}", NULL),
    CASE("{\"republish\":1}", "json: cannot unmarshal number into Go struct field "
                              "StreamConfigRequest.republish of type server.RePublish"),
    CASE("{\"republish\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                  "StreamConfigRequest.republish of type server.RePublish"),
    CASE("{\"republish\":true}", "json: cannot unmarshal bool into Go struct field "
                                 "StreamConfigRequest.republish of type server.RePublish"),
    CASE("{\"republish\":[]}", "json: cannot unmarshal array into Go struct field "
                               "StreamConfigRequest.republish of type server.RePublish"),
    CASE("{\"republish\":{}}", NULL),
    CASE("{\"republish\":1.5}", "json: cannot unmarshal number into Go struct field "
                                "StreamConfigRequest.republish of type server.RePublish"),
    CASE("{\"republish\":null}", NULL),
    CASE("{\"consumer_limits\":1}",
         "json: cannot unmarshal number into Go struct field StreamConfigRequest.consumer_limits "
         "of type server.StreamConsumerLimits"),
    CASE("{\"consumer_limits\":\"x\"}",
         "json: cannot unmarshal string into Go struct field StreamConfigRequest.consumer_limits "
         "of type server.StreamConsumerLimits"),
    CASE("{\"consumer_limits\":true}",
         "json: cannot unmarshal bool into Go struct field StreamConfigRequest.consumer_limits of "
         "type server.StreamConsumerLimits"),
    CASE("{\"consumer_limits\":[]}",
         "json: cannot unmarshal array into Go struct field StreamConfigRequest.consumer_limits of "
         "type server.StreamConsumerLimits"),
    CASE("{\"consumer_limits\":{}}", NULL),
    CASE("{\"consumer_limits\":1.5}",
         "json: cannot unmarshal number into Go struct field StreamConfigRequest.consumer_limits "
         "of type server.StreamConsumerLimits"),
    CASE("{\"consumer_limits\":null}", NULL),
    CASE("{\"metadata\":1}", "json: cannot unmarshal number into Go struct field "
                             "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"metadata\":\"x\"}", "json: cannot unmarshal string into Go struct field "
                                 "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"metadata\":true}", "json: cannot unmarshal bool into Go struct field "
                                "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"metadata\":[]}", "json: cannot unmarshal array into Go struct field "
                              "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"metadata\":{}}", NULL),
    CASE("{\"metadata\":1.5}", "json: cannot unmarshal number into Go struct field "
                               "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"metadata\":null}", NULL),
    CASE("{\"retention\":1}", "can not unmarshal \"1\""),
    CASE("{\"retention\":\"x\"}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"retention\":true}", "can not unmarshal \"true\""),
    CASE("{\"retention\":[]}", "can not unmarshal \"[]\""),
    CASE("{\"retention\":{}}", "can not unmarshal \"{}\""),
    CASE("{\"retention\":1.5}", "can not unmarshal \"1.5\""),
    CASE("{\"retention\":null}", "can not unmarshal \"null\""),
    CASE("{\"storage\":1}", "can not unmarshal \"1\""),
    CASE("{\"storage\":\"x\"}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"storage\":true}", "can not unmarshal \"true\""),
    CASE("{\"storage\":[]}", "can not unmarshal \"[]\""),
    CASE("{\"storage\":{}}", "can not unmarshal \"{}\""),
    CASE("{\"storage\":1.5}", "can not unmarshal \"1.5\""),
    CASE("{\"storage\":null}", "can not unmarshal \"null\""),
    CASE("{\"discard\":1}", "can not unmarshal \"1\""),
    CASE("{\"discard\":\"x\"}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"discard\":true}", "can not unmarshal \"true\""),
    CASE("{\"discard\":[]}", "can not unmarshal \"[]\""),
    CASE("{\"discard\":{}}", "can not unmarshal \"{}\""),
    CASE("{\"discard\":1.5}", "can not unmarshal \"1.5\""),
    CASE("{\"discard\":null}", "can not unmarshal \"null\""),
    CASE("{\"compression\":1}", "json: cannot unmarshal number into Go value of type string"),
    CASE("{\"compression\":\"x\"}", "unknown compression algorithm"),
    CASE("{\"compression\":true}", "json: cannot unmarshal bool into Go value of type string"),
    CASE("{\"compression\":[]}", "json: cannot unmarshal array into Go value of type string"),
    CASE("{\"compression\":{}}", "json: cannot unmarshal object into Go value of type string"),
    CASE("{\"compression\":1.5}", "json: cannot unmarshal number into Go value of type string"),
    CASE("{\"compression\":null}", "unknown compression algorithm"),
    CASE("{\"persist_mode\":1}", "can not unmarshal \"1\""),
    CASE("{\"persist_mode\":\"x\"}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"persist_mode\":true}", "can not unmarshal \"true\""),
    CASE("{\"persist_mode\":[]}", "can not unmarshal \"[]\""),
    CASE("{\"persist_mode\":{}}", "can not unmarshal \"{}\""),
    CASE("{\"persist_mode\":1.5}", "can not unmarshal \"1.5\""),
    CASE("{\"persist_mode\":null}", "can not unmarshal \"null\""),
    CASE("{\"subjects\":[1]}",
         "json: cannot unmarshal number into StreamConfigRequest.subjects.0 of type string"),
    CASE("{\"subjects\":[\"a\",{}]}",
         "json: cannot unmarshal object into StreamConfigRequest.subjects.1 of type string"),
    CASE("{\"subjects\":[\"a\",null]}", NULL),
    CASE("{\"subjects\":[[]]}",
         "json: cannot unmarshal array into StreamConfigRequest.subjects.0 of type string"),
    CASE("{\"subjects\":[\"a\",\"b\",true]}",
         "json: cannot unmarshal bool into StreamConfigRequest.subjects.2 of type string"),
    CASE("{\"sources\":[1]}", "json: cannot unmarshal number into StreamConfigRequest.sources.0 of "
                              "type server.StreamSource"),
    CASE("{\"sources\":[null]}", NULL),
    CASE("{\"sources\":[{\"name\":1}]}", "json: cannot unmarshal number into Go struct field "
                                         "StreamConfigRequest.sources.0.name of type string"),
    CASE("{\"sources\":[{},{\"name\":[]}]}", "json: cannot unmarshal array into Go struct field "
                                             "StreamConfigRequest.sources.1.name of type string"),
    CASE("{\"sources\":[[]]}", "json: cannot unmarshal array into StreamConfigRequest.sources.0 of "
                               "type server.StreamSource"),
    CASE(
        "{\"sources\":[{\"subject_transforms\":1}]}",
        "json: cannot unmarshal number into Go struct field "
        "StreamConfigRequest.sources.0.subject_transforms of type []server.SubjectTransformConfig"),
    CASE("{\"sources\":[{\"subject_transforms\":[1]}]}",
         "json: cannot unmarshal number into StreamConfigRequest.sources.0.subject_transforms.0 of "
         "type server.SubjectTransformConfig"),
    CASE("{\"sources\":[{\"subject_transforms\":[null]}]}", NULL),
    CASE("{\"sources\":[{\"subject_transforms\":[{\"src\":1}]}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.subject_transforms.0.src of type string"),
    CASE("{\"sources\":[{\"subject_transforms\":[{\"dest\":{}}]}]}",
         "json: cannot unmarshal object into Go struct field "
         "StreamConfigRequest.sources.0.subject_transforms.0.dest of type string"),
    CASE("{\"sources\":[{\"external\":1}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.external of type server.ExternalStream"),
    CASE("{\"sources\":[{\"external\":{\"api\":1}}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.external.api of type string"),
    CASE("{\"sources\":[{\"external\":{\"deliver\":1}}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.external.deliver of type string"),
    CASE("{\"sources\":[{\"consumer\":\"x\"}]}",
         "json: cannot unmarshal string into Go struct field "
         "StreamConfigRequest.sources.0.consumer of type server.StreamConsumerSource"),
    CASE("{\"sources\":[{\"consumer\":{\"name\":1}}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.consumer.name of type string"),
    CASE("{\"sources\":[{\"consumer\":{\"deliver_subject\":1}}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.consumer.deliver_subject of type string"),
    CASE("{\"sources\":[{\"opt_start_seq\":\"1\"}]}",
         "json: cannot unmarshal string into Go struct field "
         "StreamConfigRequest.sources.0.opt_start_seq of type uint64"),
    CASE("{\"sources\":[{\"opt_start_seq\":-5}]}",
         "json: cannot unmarshal number -5 into Go struct field "
         "StreamConfigRequest.sources.0.opt_start_seq of type uint64"),
    CASE("{\"sources\":[{\"filter_subject\":1}]}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.sources.0.filter_subject of type string"),
    CASE("{\"mirror\":{\"name\":1}}", "json: cannot unmarshal number into Go struct field "
                                      "StreamConfigRequest.mirror.name of type string"),
    CASE("{\"placement\":{\"tags\":1}}", "json: cannot unmarshal number into Go struct field "
                                         "StreamConfigRequest.placement.tags of type []string"),
    CASE("{\"placement\":{\"tags\":[1]}}",
         "json: cannot unmarshal number into StreamConfigRequest.placement.tags.0 of type string"),
    CASE("{\"placement\":{\"cluster\":1}}", "json: cannot unmarshal number into Go struct field "
                                            "StreamConfigRequest.placement.cluster of type string"),
    CASE("{\"placement\":{\"preferred\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.placement.preferred of type string"),
    CASE("{\"republish\":{\"headers_only\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.republish.headers_only of type bool"),
    CASE("{\"republish\":{\"src\":1}}", "json: cannot unmarshal number into Go struct field "
                                        "StreamConfigRequest.republish.src of type string"),
    CASE("{\"consumer_limits\":{\"inactive_threshold\":\"1s\"}}",
         "json: cannot unmarshal string into Go struct field "
         "StreamConfigRequest.consumer_limits.inactive_threshold of type time.Duration"),
    CASE("{\"consumer_limits\":{\"inactive_threshold\":1.5}}",
         "json: cannot unmarshal number 1.5 into Go struct field "
         "StreamConfigRequest.consumer_limits.inactive_threshold of type time.Duration"),
    CASE("{\"consumer_limits\":{\"max_ack_pending\":1.5}}",
         "json: cannot unmarshal number 1.5 into Go struct field "
         "StreamConfigRequest.consumer_limits.max_ack_pending of type int"),
    CASE("{\"consumer_limits\":{\"max_ack_pending\":\"5\"}}",
         "json: cannot unmarshal string into Go struct field "
         "StreamConfigRequest.consumer_limits.max_ack_pending of type int"),
    CASE("{\"metadata\":{\"a\":1}}", "json: cannot unmarshal number into Go struct field "
                                     "StreamConfigRequest.metadata.a of type string"),
    CASE("{\"metadata\":{\"a\":null}}", NULL),
    CASE("{\"metadata\":{\"a\":\"b\",\"c\":{}}}",
         "json: cannot unmarshal object into Go struct field StreamConfigRequest.metadata.c of "
         "type string"),
    CASE("{\"metadata\":{\"1\":1}}",
         "json: cannot unmarshal number into StreamConfigRequest.metadata.1 of type string"),
    CASE("{\"metadata\":{\"\":1}}", "json: cannot unmarshal number into Go struct field "
                                    "StreamConfigRequest.metadata. of type string"),
    CASE("{\"metadata\":{\"a/b\":1}}", "json: cannot unmarshal number into Go struct field "
                                       "StreamConfigRequest.metadata.a~1b of type string"),
    CASE("{\"metadata\":{\"a~b\":1}}", "json: cannot unmarshal number into Go struct field "
                                       "StreamConfigRequest.metadata.a~0b of type string"),
    CASE("{\"metadata\":{\"a.b\":1}}", "json: cannot unmarshal number into Go struct field "
                                       "StreamConfigRequest.metadata.a.b of type string"),
    CASE("{\"metadata\":{\"a.5\":1}}",
         "json: cannot unmarshal number into StreamConfigRequest.metadata.a.5 of type string"),
    CASE("{\"metadata\":{\"a\\u0001\":1}}", "json: cannot unmarshal number into Go struct field "
                                            "StreamConfigRequest.metadata.a\001 of type string"),
    CASE("{\"metadata\":{\"\\ud800\":1}}",
         "json: cannot unmarshal number into Go struct field "
         "StreamConfigRequest.metadata.\357\277\275 of type string"),
    CASE("{\"metadata\":[\"a\"]}", "json: cannot unmarshal array into Go struct field "
                                   "StreamConfigRequest.metadata of type map[string]string"),
    CASE("{\"max_msgs\":9223372036854775807}", NULL),
    CASE("{\"first_seq\":9223372036854775807}", NULL),
    CASE("{\"max_msgs\":9223372036854775808}",
         "json: cannot unmarshal number 9223372036854775808 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":9223372036854775808}", NULL),
    CASE("{\"max_msgs\":-9223372036854775808}", NULL),
    CASE("{\"first_seq\":-9223372036854775808}",
         "json: cannot unmarshal number -9223372036854775808 into Go struct field "
         "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":-9223372036854775809}",
         "json: cannot unmarshal number -9223372036854775809 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":-9223372036854775809}",
         "json: cannot unmarshal number -9223372036854775809 into Go struct field "
         "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":18446744073709551615}",
         "json: cannot unmarshal number 18446744073709551615 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":18446744073709551615}", NULL),
    CASE("{\"max_msgs\":18446744073709551616}",
         "json: cannot unmarshal number 18446744073709551616 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":18446744073709551616}",
         "json: cannot unmarshal number 18446744073709551616 into Go struct field "
         "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field "
                               "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field "
                                "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":1.0}", "json: cannot unmarshal number 1.0 into Go struct field "
                               "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":1.0}", "json: cannot unmarshal number 1.0 into Go struct field "
                                "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":-0}", NULL),
    CASE("{\"first_seq\":-0}", "json: cannot unmarshal number -0 into Go struct field "
                               "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":0.0}", "json: cannot unmarshal number 0.0 into Go struct field "
                               "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":0.0}", "json: cannot unmarshal number 0.0 into Go struct field "
                                "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":1E400}", "json: cannot unmarshal number 1E400 into Go struct field "
                                 "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":1E400}", "json: cannot unmarshal number 1E400 into Go struct field "
                                  "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":-1}", NULL),
    CASE("{\"first_seq\":-1}", "json: cannot unmarshal number -1 into Go struct field "
                               "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":99999999999999999999999999}",
         "json: cannot unmarshal number 99999999999999999999999999 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":99999999999999999999999999}",
         "json: cannot unmarshal number 99999999999999999999999999 into Go struct field "
         "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msgs\":123456789012345678901234567890.5}",
         "json: cannot unmarshal number 123456789012345678901234567890.5 into Go struct field "
         "StreamConfigRequest.max_msgs of type int64"),
    CASE("{\"first_seq\":123456789012345678901234567890.5}",
         "json: cannot unmarshal number 123456789012345678901234567890.5 into Go struct field "
         "StreamConfigRequest.first_seq of type uint64"),
    CASE("{\"max_msg_size\":2147483647}", NULL),
    CASE("{\"max_consumers\":2147483647}", NULL),
    CASE("{\"max_age\":2147483647}", NULL),
    CASE("{\"max_msg_size\":2147483648}", "json: cannot unmarshal number 2147483648 into Go struct "
                                          "field StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_consumers\":2147483648}", NULL),
    CASE("{\"max_age\":2147483648}", NULL),
    CASE("{\"max_msg_size\":-2147483648}", NULL),
    CASE("{\"max_consumers\":-2147483648}", NULL),
    CASE("{\"max_age\":-2147483648}", NULL),
    CASE("{\"max_msg_size\":-2147483649}",
         "json: cannot unmarshal number -2147483649 into Go struct field "
         "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_consumers\":-2147483649}", NULL),
    CASE("{\"max_age\":-2147483649}", NULL),
    CASE("{\"max_msg_size\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field "
                                   "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_consumers\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field "
                                    "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_age\":1e3}", "json: cannot unmarshal number 1e3 into Go struct field "
                              "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"max_msg_size\":9999999999999999999999}",
         "json: cannot unmarshal number 9999999999999999999999 into Go struct field "
         "StreamConfigRequest.max_msg_size of type int32"),
    CASE("{\"max_consumers\":9999999999999999999999}",
         "json: cannot unmarshal number 9999999999999999999999 into Go struct field "
         "StreamConfigRequest.max_consumers of type int"),
    CASE("{\"max_age\":9999999999999999999999}",
         "json: cannot unmarshal number 9999999999999999999999 into Go struct field "
         "StreamConfigRequest.max_age of type time.Duration"),
    CASE("{\"retention\":\"limits\"}", NULL),
    CASE("{\"retention\":\"Limits\"}", "can not unmarshal \"\\\"Limits\\\"\""),
    CASE("{\"retention\":\"LIMITS\"}", "can not unmarshal \"\\\"LIMITS\\\"\""),
    CASE("{\"retention\":\"interest\"}", NULL),
    CASE("{\"retention\":\"workqueue\"}", NULL),
    CASE("{\"retention\":\"workQueue\"}", "can not unmarshal \"\\\"workQueue\\\"\""),
    CASE("{\"retention\":\"work_queue\"}", "can not unmarshal \"\\\"work_queue\\\"\""),
    CASE("{\"retention\":\"\"}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"retention\":\"foo\"}", "can not unmarshal \"\\\"foo\\\"\""),
    CASE("{\"retention\":\"lim\\u0069ts\"}", "can not unmarshal \"\\\"lim\\\\u0069ts\\\"\""),
    CASE("{\"retention\":\"limits \"}", "can not unmarshal \"\\\"limits \\\"\""),
    CASE("{\"retention\":\"\303\251\"}", "can not unmarshal \"\\\"\303\251\\\"\""),
    CASE("{\"discard\":\"old\"}", NULL),
    CASE("{\"discard\":\"OLD\"}", NULL),
    CASE("{\"discard\":\"New\"}", NULL),
    CASE("{\"discard\":\"nEw\"}", NULL),
    CASE("{\"discard\":\"\"}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"discard\":\"older\"}", "can not unmarshal \"\\\"older\\\"\""),
    CASE("{\"discard\":\"\\u006fld\"}", "can not unmarshal \"\\\"\\\\u006fld\\\"\""),
    CASE("{\"storage\":\"file\"}", NULL),
    CASE("{\"storage\":\"File\"}", "can not unmarshal \"\\\"File\\\"\""),
    CASE("{\"storage\":\"memory\"}", NULL),
    CASE("{\"storage\":\"mem\"}", "can not unmarshal \"\\\"mem\\\"\""),
    CASE("{\"storage\":\"\"}", "can not unmarshal \"\\\"\\\"\""),
    CASE("{\"storage\":\"FILE\"}", "can not unmarshal \"\\\"FILE\\\"\""),
    CASE("{\"compression\":\"none\"}", NULL),
    CASE("{\"compression\":\"s2\"}", NULL),
    CASE("{\"compression\":\"S2\"}", "unknown compression algorithm"),
    CASE("{\"compression\":\"\"}", "unknown compression algorithm"),
    CASE("{\"compression\":\"None\"}", "unknown compression algorithm"),
    CASE("{\"compression\":\"\\u0073\\u0032\"}", NULL),
    CASE("{\"compression\":\"lz4\"}", "unknown compression algorithm"),
    CASE("{\"persist_mode\":\"default\"}", NULL),
    CASE("{\"persist_mode\":\"async\"}", NULL),
    CASE("{\"persist_mode\":\"\"}", NULL),
    CASE("{\"persist_mode\":\"Async\"}", "can not unmarshal \"\\\"Async\\\"\""),
    CASE("{\"persist_mode\":\"DEFAULT\"}", "can not unmarshal \"\\\"DEFAULT\\\"\""),
    CASE("{\"retention\":{\"a\":\"b\"}}", "can not unmarshal \"{\\\"a\\\":\\\"b\\\"}\""),
    CASE("{\"retention\":[\"limits\"]}", "can not unmarshal \"[\\\"limits\\\"]\""),
    CASE("{\"retention\": \"limits\" }", NULL),
    CASE("{\"retention\":\"a\\\"b\"}", "can not unmarshal \"\\\"a\\\\\\\"b\\\"\""),
    CASE("{\"discard\":\"\\t\"}", "can not unmarshal \"\\\"\\\\t\\\"\""),
    CASE("{\"retention\":\"\377\"}", "can not unmarshal \"\\\"\\xff\\\"\""),
    CASE("{\"discard\":\"\377\342\202\254\"}", "can not unmarshal \"\\\"\\xff\342\202\254\\\"\""),
    CASE("{\"storage\":\"\342\200\250\"}", "can not unmarshal \"\\\"\\u2028\\\"\""),
    CASE("{\"compression\":{\"a\":1}}",
         "json: cannot unmarshal object into Go value of type string"),
    CASE("{\"persist_mode\":\"a\",\"bogus\":1}", "can not unmarshal \"\\\"a\\\"\""),
    CASE("{\"name\":1,\"bogus\":1}", "json: cannot unmarshal number into Go struct field "
                                     "StreamConfigRequest.name of type string"),
    CASE("{\"bogus\":1,\"name\":1}", "json: unknown field \"bogus\""),
    CASE("{\"name\":1,\"retention\":\"x\"}", "json: cannot unmarshal number into Go struct field "
                                             "StreamConfigRequest.name of type string"),
    CASE("{\"retention\":\"x\",\"name\":1}", "can not unmarshal \"\\\"x\\\"\""),
    CASE("{\"compression\":\"x\",\"retention\":\"x\"}", "unknown compression algorithm"),
    CASE("{\"name\":1,\"name\":2,\"subjects\":1}", "json: cannot unmarshal number into Go struct "
                                                   "field StreamConfigRequest.name of type string"),
    CASE("{\"subjects\":[1,2],\"name\":1}",
         "json: cannot unmarshal number into StreamConfigRequest.subjects.0 of type string"),
    CASE("{\"sources\":[{\"bogus\":1,\"name\":1}],\"x\":1}", "json: unknown field \"bogus\""),
    CASE("{\"metadata\":{\"a\":1,\"b\":2}}", "json: cannot unmarshal number into Go struct field "
                                             "StreamConfigRequest.metadata.a of type string"),
    CASE("{\"name\":\"a\\ud800\"}", NULL),
    CASE("{\"name\":\"\\ud83d\\ude00\"}", NULL),
    CASE("{\"name\":\"\\udc00\\ud800\"}", NULL),
    CASE("{\"name\":\"\\ud800\\u0041\"}", NULL),
    CASE("{\"name\":\"\\u0000\"}", NULL),
    CASE("{\"name\":\"\377\"}", NULL),
    CASE("{\"name\":\"\\/\\b\\f\\n\\r\\t\"}", NULL),
};

#endif
