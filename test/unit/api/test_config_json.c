/* test_config_json.c: stream configurations in and out of JSON, compared with what nats-server
 * 2.15.1 said to the same texts. */
#include "api/api_impl.h"

#include "base/clock.h"

#include "config_json_cases.h"
#include "config_json_pairs.h"
#include "unity.h"

static struct stream_config config;
static struct mf_buf out;
static struct mf_error error;

void setUp(void)
{
    stream_config_init(&config);
    out = MF_BUF_INIT;
    error = (struct mf_error){0, ""};
}

void tearDown(void)
{
    stream_config_fini(&config);
    mf_buf_fini(&out);
}

static int decode(const char *text, bool strict)
{
    return config_json_decode(mf_str(text), strict, &config, &error);
}

static const char *written(bool server_metadata)
{
    struct jsonw w;

    mf_buf_clear(&out);
    jsonw_begin(&w, &out, JSONW_COMPACT);
    config_json_write(&w, NULL, &config, server_metadata);
    return mf_buf_cstr(&out);
}

/* Clients show these texts; the nats tool's own tests compare them. */
static void test_wrong_values_get_the_words_of_nats_server(void)
{
    for (size_t i = 0; i < MF_COUNT(meaning_cases); i++) {
        const struct json_case *c = &meaning_cases[i];

        int err = config_json_decode(mf_slice(c->text, c->len), true, &config, &error);
        TEST_ASSERT_EQUAL_MESSAGE(c->error == NULL, err == 0, c->text);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(c->error == NULL ? "" : c->error, error.text, c->text);
        tearDown();
        setUp();
    }
}

static void test_configurations_are_written_as_nats_server_writes_them(void)
{
    for (size_t i = 0; i < MF_COUNT(pairs); i++) {
        TEST_ASSERT_EQUAL_MESSAGE(0, decode(pairs[i].request, true), error.text);
        TEST_ASSERT_EQUAL_STRING(pairs[i].answer, written(true));
        tearDown();
        setUp();
    }
}

/* What a client reads, changes and sends back must be readable; _nats.ver is dropped later. */
static void test_what_is_written_is_read_back_the_same(void)
{
    for (size_t i = 0; i < MF_COUNT(pairs); i++) {
        TEST_ASSERT_EQUAL_MESSAGE(0, decode(pairs[i].answer, true), error.text);
        TEST_ASSERT_EQUAL_STRING(pairs[i].answer, written(false));
        TEST_ASSERT_EQUAL_STRING(pairs[i].answer, written(true)); /* the server's pairs win, once */
        tearDown();
        setUp();
    }
}

static void test_empty_configuration_shows_what_is_never_left_out(void)
{
    TEST_ASSERT_EQUAL_STRING(
        "{\"name\":\"\",\"retention\":\"limits\",\"max_consumers\":0,\"max_msgs\":0,\"max_bytes\":"
        "0,"
        "\"max_age\":0,\"max_msgs_per_subject\":0,\"discard\":\"old\",\"storage\":\"file\","
        "\"num_replicas\":0,\"compression\":\"none\",\"allow_direct\":false,\"mirror_direct\":"
        "false,"
        "\"sealed\":false,\"deny_delete\":false,\"deny_purge\":false,\"allow_rollup_hdrs\":false,"
        "\"consumer_limits\":{},\"allow_msg_ttl\":false}",
        written(false));
}

/* Responses to LIST and SNAPSHOT do not have them, those to CREATE, UPDATE and INFO do. */
static void test_server_metadata_is_sorted_among_the_others_only_when_asked_for(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"metadata\":{\"z\":\"1\",\"_nats.req.level\":\"0\",\"A\":\"2\","
                                "\"_nats.m\":\"3\"}}",
                                true));
    TEST_ASSERT_NOT_NULL(strstr(written(false), "\"metadata\":{\"A\":\"2\",\"_nats.m\":\"3\","
                                                "\"_nats.req.level\":\"0\",\"z\":\"1\"}}"));
    TEST_ASSERT_NOT_NULL(
        strstr(written(true), "\"metadata\":{\"A\":\"2\",\"_nats.level\":\"5\",\"_nats.m\":\"3\","
                              "\"_nats.req.level\":\"0\",\"_nats.ver\":\"2.15.1\",\"z\":\"1\"}}"));
}

static void test_start_time_of_a_source_is_kept(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"mirror\":{\"name\":\"O\",\"opt_start_time\":"
                                "\"2024-02-29T03:02:03.5+02:00\"}}",
                                true));
    TEST_ASSERT_TRUE(config.mirror->has_start_time);
    TEST_ASSERT_NOT_NULL(strstr(written(false), "\"opt_start_time\":\"2024-02-29T01:02:03.5Z\""));
    TEST_ASSERT_EQUAL(0,
                      decode("{\"mirror\":{\"opt_start_time\":\"0001-01-01T00:00:00Z\"}}", true));
    TEST_ASSERT_EQUAL_INT64(CLOCK_ZERO, config.mirror->opt_start_time_ns);
    TEST_ASSERT_NOT_NULL(strstr(written(false), "\"opt_start_time\":\"0001-01-01T00:00:00Z\""));
}

static void test_pedantic_is_of_the_request_only(void)
{
    struct mf_slice text = MF_LIT("{\"pedantic\":true}");

    TEST_ASSERT_EQUAL(0, config_json_decode(text, true, &config, &error));
    TEST_ASSERT_TRUE(config.pedantic);
    TEST_ASSERT_NULL(strstr(written(true), "pedantic"));
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, config_json_codec.decode(text, &config, &error));
}

/* jetstream { strict: false } */
static void test_lax_requests_may_have_unknown_fields(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"name\":\"X\",\"bogus\":{\"a\":[1]},\"max_msgs\":5}", false));
    TEST_ASSERT_EQUAL_STRING("X", config.name);
    TEST_ASSERT_EQUAL_INT64(5, config.max_msgs);
    TEST_ASSERT_EQUAL(MF_INVAL, decode("{\"bogus\":1,}", false));
    TEST_ASSERT_EQUAL_STRING("invalid character '}' looking for beginning of object key string",
                             error.text);
}

/* A stream written by a later version is not loaded half understood: it is offline. */
static void test_stored_configuration_of_a_later_version_is_not_supported(void)
{
    static const struct {
        const char *text, *error;
    } later[] = {
        {"{\"name\":\"X\",\"new_thing\":true}", "json: unknown field \"new_thing\""},
        {"{\"mirror\":{\"new\":1}}", "json: unknown field \"new\""},
        {"{\"compression\":\"zstd\"}", "unknown compression algorithm"},
        {"{\"storage\":\"tape\"}", "can not unmarshal \"\\\"tape\\\"\""},
    };

    for (size_t i = 0; i < MF_COUNT(later); i++) {
        TEST_ASSERT_EQUAL(MF_UNSUPPORTED,
                          config_json_codec.decode(mf_str(later[i].text), &config, &error));
        TEST_ASSERT_EQUAL(MF_UNSUPPORTED, error.code);
        TEST_ASSERT_EQUAL_STRING(later[i].error, error.text);
    }
    TEST_ASSERT_EQUAL(MF_INVAL, config_json_codec.decode(MF_LIT("{\"name\":"), &config, &error));
    TEST_ASSERT_EQUAL(MF_INVAL, config_json_codec.decode(MF_LIT("{\"name\":1}"), &config, &error));
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED,
                      config_json_codec.decode(mf_str(later[0].text), &config, NULL));
}

static void test_stored_configuration_comes_back(void)
{
    for (size_t i = 0; i < MF_COUNT(pairs); i++) {
        struct stream_config again;

        TEST_ASSERT_EQUAL(0, decode(pairs[i].request, true));
        mf_buf_clear(&out);
        TEST_ASSERT_EQUAL(0, config_json_codec.encode(&config, &out));
        stream_config_init(&again);
        TEST_ASSERT_EQUAL(0, config_json_codec.decode(mf_buf_slice(&out), &again, &error));
        TEST_ASSERT_TRUE(stream_config_equal(&config, &again));
        stream_config_fini(&again);
        tearDown();
        setUp();
    }
}

/* Earlier versions marked unfinished restores by a key that clients could set, too: it is taken
 * off, and nothing else follows from it. */
static void test_the_mark_of_an_old_restore_is_taken_off(void)
{
    TEST_ASSERT_EQUAL(
        0, config_json_codec.decode(MF_LIT("{\"name\":\"S\",\"metadata\":{\"_mayfly.restoring\":"
                                           "\"true\",\"a\":\"1\",\"z\":\"2\"}}"),
                                    &config, &error));
    TEST_ASSERT_EQUAL(2, config.metadata.n);
    TEST_ASSERT_EQUAL_STRING("a", config.metadata.at[0].key);
    TEST_ASSERT_EQUAL_STRING("z", config.metadata.at[1].key);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_wrong_values_get_the_words_of_nats_server);
    RUN_TEST(test_configurations_are_written_as_nats_server_writes_them);
    RUN_TEST(test_what_is_written_is_read_back_the_same);
    RUN_TEST(test_empty_configuration_shows_what_is_never_left_out);
    RUN_TEST(test_server_metadata_is_sorted_among_the_others_only_when_asked_for);
    RUN_TEST(test_start_time_of_a_source_is_kept);
    RUN_TEST(test_pedantic_is_of_the_request_only);
    RUN_TEST(test_lax_requests_may_have_unknown_fields);
    RUN_TEST(test_stored_configuration_of_a_later_version_is_not_supported);
    RUN_TEST(test_stored_configuration_comes_back);
    RUN_TEST(test_the_mark_of_an_old_restore_is_taken_off);
    return UNITY_END();
}
