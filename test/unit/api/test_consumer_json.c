/* test_consumer_json.c: requests to create consumers, from their text to their answer: read, judged
 * and written as nats-server 2.15.1 did it.  Of the consumers themselves only what an info asks of
 * them is here. */
#include "api/api_impl.h"

#include "base/clock.h"

#include "consumer_config_pairs.h"
#include "consumer_json_cases.h"
#include "unity.h"

static struct consumer_request request;
static struct mf_buf text, out;
static struct mf_error error;
static struct js_error err;

void setUp(void)
{
    memset(&request, 0, sizeof request);
    text = out = MF_BUF_INIT;
    error = (struct mf_error){0, ""};
    memset(&err, 0, sizeof err);
}

void tearDown(void)
{
    consumer_config_fini(&request.config);
    mf_buf_fini(&text);
    mf_buf_fini(&out);
}

/* --- a consumer made of paper ----------------------------------------------------------------- */

static struct consumer_info paper_info;
static const struct consumer_config *paper_config;

void consumer_info(struct consumer *c, struct consumer_info *to)
{
    (void)c;
    *to = paper_info;
}
const char *consumer_name(const struct consumer *c)
{
    (void)c;
    return "C";
}
const struct consumer_config *consumer_config(const struct consumer *c)
{
    (void)c;
    return paper_config;
}
struct consumers *consumer_set_of(const struct consumer *c)
{
    (void)c;
    return NULL;
}
struct stream *consumers_stream(const struct consumers *g)
{
    (void)g;
    return NULL;
}
const char *stream_name(const struct stream *s)
{
    (void)s;
    return "S";
}

/* --- reading ---------------------------------------------------------------------------------- */

static int decode(const char *json)
{
    tearDown();
    setUp();
    return consumer_request_decode(mf_str(json), true, &request, &error);
}

/* Clients show these texts. */
static void test_wrong_values_get_the_words_of_nats_server(void)
{
    for (size_t i = 0; i < MF_COUNT(request_cases); i++) {
        const struct json_case *c = &request_cases[i];

        TEST_ASSERT_EQUAL_MESSAGE(c->error == NULL, decode(c->text) == 0, c->text);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(c->error == NULL ? "" : c->error, error.text, c->text);
    }
}

static void test_request_is_more_than_a_configuration(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"stream_name\":\"S\",\"action\":\"update\",\"pedantic\":true,"
                                "\"config\":{\"name\":\"C\",\"backoff\":[1,20]}}"));
    TEST_ASSERT_EQUAL_STRING("S", request.stream_name);
    TEST_ASSERT_EQUAL(ACTION_UPDATE, request.action);
    TEST_ASSERT_TRUE(request.pedantic);
    TEST_ASSERT_EQUAL_STRING("C", request.config.name);
    TEST_ASSERT_EQUAL(2, request.config.backoff.n);
    TEST_ASSERT_EQUAL_INT64(20, request.config.backoff.at[1]);
}

/* --- judging ---------------------------------------------------------------------------------- */

static struct stream_config streams[4];

static void make_streams(void)
{
    static char *subject = CR_T("s.>");

    for (size_t i = 0; i < MF_COUNT(streams); i++) {
        stream_config_init(&streams[i]);
        streams[i].subjects = (struct json_strs){&subject, 1};
        streams[i].replicas = 1;
        streams[i].max_consumers = -1;
    }
    streams[1].retention = RETENTION_WORKQUEUE;
    streams[2].retention = RETENTION_INTEREST;
    streams[3].consumer_limits = (struct stream_consumer_limits){10 * CR_S, 10};
}

static int judge(const struct stream_config *s)
{
    struct consumer_config_world w = {.stream = s, .pedantic = request.pedantic};
    int rc = consumer_config_stamp(&request.config);

    if (rc == 0)
        rc = consumer_config_check(&request.config, &w, &err);
    return rc == 0 ? consumer_config_admit(&request.config, false, &w, &err) : rc;
}

static void expect(size_t stream, size_t answer)
{
    const char *json = mf_buf_cstr(&text), *start = strlen(json) > 400 ? "a long one" : json;

    memset(&err, 0, sizeof err);
    TEST_ASSERT_EQUAL_MESSAGE(0, consumer_request_decode(mf_str(json), true, &request, &error),
                              error.text);
    TEST_ASSERT_EQUAL_MESSAGE(answer == 0 ? 0 : MF_DENIED, judge(&streams[stream]), start);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(answers[answer].text, err.text, start);
    TEST_ASSERT_EQUAL_MESSAGE(answers[answer].code, err.code, start);
    TEST_ASSERT_EQUAL_MESSAGE(answers[answer].err_code, err.err_code, start);
    tearDown();
    setUp();
}

static void test_each_field_is_judged_as_by_nats_server(void)
{
    make_streams();
    for (size_t i = 0; i < MF_COUNT(singles); i++)
        for (size_t k = 0; k < MF_COUNT(singles[i].answer); k++) {
            mf_buf_printf(&text, "{\"config\":{%s},\"pedantic\":%s}", singles[i].text,
                          k < MF_COUNT(streams) ? "false" : "true");
            expect(k % MF_COUNT(streams), singles[i].answer[k]);
        }
}

/* 12,000 pairs: what counts is which of two violations is found first. */
static void test_two_fields_are_judged_in_the_order_of_nats_server(void)
{
    make_streams();
    for (size_t k = 0; k < MF_COUNT(pairs); k++)
        for (size_t i = 0; i < MF_COUNT(singles); i++)
            for (size_t j = 0; j < MF_COUNT(singles); j++) {
                if (pairs[k][i][j] == '-')
                    continue;
                mf_buf_printf(&text, "{\"config\":{%s,%s}}", singles[i].text, singles[j].text);
                expect(k, (size_t)(strchr(letters, pairs[k][i][j]) - letters));
            }
}

/* --- writing ---------------------------------------------------------------------------------- */

static const char *written(bool server_metadata)
{
    struct jsonw w;

    mf_buf_clear(&out);
    jsonw_begin(&w, &out, JSONW_COMPACT);
    consumer_config_json_write(&w, NULL, &request.config, server_metadata);
    return mf_buf_cstr(&out);
}

#define EVERYTHING                                                                                 \
    "{\"durable_name\":\"D\",\"name\":\"D\",\"description\":\"d\",\"deliver_policy\":"             \
    "\"by_start_time\",\"opt_start_seq\":1,\"opt_start_time\":\"2024-01-01T00:00:00.5Z\","         \
    "\"ack_policy\":\"explicit\",\"ack_wait\":2,\"max_deliver\":3,\"backoff\":[2,4],"              \
    "\"filter_subject\":\"f\",\"filter_subjects\":[\"a\",\"b\"],\"replay_policy\":\"original\","   \
    "\"rate_limit_bps\":18446744073709551615,\"sample_freq\":\"5%\",\"max_waiting\":6,"            \
    "\"max_ack_pending\":7,\"flow_control\":true,\"headers_only\":true,\"max_batch\":8,"           \
    "\"max_expires\":9,\"max_bytes\":10,\"deliver_subject\":\"q\",\"deliver_group\":\"g\","        \
    "\"idle_heartbeat\":11,\"inactive_threshold\":12,\"num_replicas\":1,\"mem_storage\":true,"     \
    "\"direct\":true,\"sourcing\":true,\"metadata\":{\"a\":\"b\"},\"pause_until\":"                \
    "\"2030-01-01T00:00:00Z\",\"priority_groups\":[\"g\"],\"priority_policy\":\"pinned_client\","  \
    "\"priority_timeout\":13}"

static void test_fields_are_written_in_the_order_of_nats_server(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"config\":" EVERYTHING "}"));
    TEST_ASSERT_EQUAL_STRING(EVERYTHING, written(false));
}

static void test_empty_configuration_shows_what_is_never_left_out(void)
{
    TEST_ASSERT_EQUAL_STRING("{\"deliver_policy\":\"all\",\"ack_policy\":\"none\","
                             "\"replay_policy\":\"instant\",\"num_replicas\":0}",
                             written(false));
    TEST_ASSERT_NOT_NULL(
        strstr(written(true), "\"metadata\":{\"_nats.level\":\"5\",\"_nats.ver\":\"2.15.1\"}}"));
}

/* An answer of nats-server, by the letter. */
static void test_defaults_are_shown_as_by_nats_server(void)
{
    make_streams();
    TEST_ASSERT_EQUAL(0, decode("{\"config\":{\"name\":\"G\",\"priority_groups\":[\"a\",\"b\"],"
                                "\"priority_policy\":\"pinned_client\"}}"));
    TEST_ASSERT_EQUAL(0, judge(&streams[0]));
    consumer_config_settle(&request.config, NULL);
    TEST_ASSERT_EQUAL_STRING(
        "{\"name\":\"G\",\"deliver_policy\":\"all\",\"ack_policy\":\"none\",\"max_deliver\":-1,"
        "\"replay_policy\":\"instant\",\"max_waiting\":512,\"inactive_threshold\":5000000000,"
        "\"num_replicas\":0,\"metadata\":{\"_nats.level\":\"5\",\"_nats.req.level\":\"1\","
        "\"_nats.ver\":\"2.15.1\"},\"priority_groups\":[\"a\",\"b\"],\"priority_policy\":"
        "\"pinned_client\",\"priority_timeout\":120000000000}",
        written(true));
}

static void test_zero_time_is_no_pause(void)
{
    TEST_ASSERT_EQUAL(0, decode("{\"config\":{\"pause_until\":\"0001-01-01T00:00:00Z\"}}"));
    TEST_ASSERT_EQUAL_INT64(0, request.config.pause_until_ns);
}

/* --- kept ------------------------------------------------------------------------------------- */

static void test_stored_configuration_comes_back(void)
{
    struct consumer_config c;

    TEST_ASSERT_EQUAL(0, decode("{\"config\":" EVERYTHING "}"));
    TEST_ASSERT_EQUAL(0, consumer_json_codec.encode(&request.config, &out));
    consumer_config_init(&c);
    TEST_ASSERT_EQUAL(0, consumer_json_codec.decode(mf_buf_slice(&out), &c, &error));
    TEST_ASSERT_TRUE(consumer_config_equal(&c, &request.config));
    consumer_config_fini(&c);
}

static void test_stored_configuration_of_a_later_version_is_not_supported(void)
{
    static const char *const later[] = {"{\"colour\":1}", "{\"ack_policy\":\"perhaps\"}",
                                        "{\"priority_policy\":\"new\"}"};
    struct consumer_config c;

    consumer_config_init(&c);
    for (size_t i = 0; i < MF_COUNT(later); i++)
        TEST_ASSERT_EQUAL(MF_UNSUPPORTED, consumer_json_codec.decode(mf_str(later[i]), &c, &error));
    TEST_ASSERT_EQUAL(MF_INVAL, consumer_json_codec.decode(MF_LIT("{\"name\":1}"), &c, &error));
    consumer_config_fini(&c);
}

/* --- info ------------------------------------------------------------------------------------- */

static const char *info(void)
{
    struct jsonw w;

    mf_buf_clear(&out);
    jsonw_begin(&w, &out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    consumer_info_json_write(&w, NULL, 2 * CLOCK_S, false);
    jsonw_end(&w);
    return mf_buf_cstr(&out);
}

#define CONFIG                                                                                     \
    "\"config\":{\"deliver_policy\":\"all\",\"ack_policy\":\"none\",\"replay_policy\":"            \
    "\"instant\",\"num_replicas\":0"

static void test_info_leaves_out_what_is_not_so(void)
{
    const struct consumer_config c = {.name = NULL};

    paper_config = &c;
    paper_info = (struct consumer_info){.created_ns = CLOCK_S};
    TEST_ASSERT_EQUAL_STRING(
        "{\"stream_name\":\"S\",\"name\":\"C\",\"created\":\"1970-01-01T00:00:01Z\"," CONFIG
        "},\"delivered\":{\"consumer_seq\":0,\"stream_seq\":0},\"ack_floor\":{\"consumer_seq\":0,"
        "\"stream_seq\":0},\"num_ack_pending\":0,\"num_redelivered\":0,\"num_waiting\":0,"
        "\"num_pending\":0,\"ts\":\"1970-01-01T00:00:02Z\"}",
        info());
}

static void test_info_shows_everything_in_the_order_of_nats_server(void)
{
    const struct consumer_config c = {.priority_groups = CR_STRS("g", "h")};

    paper_config = &c;
    paper_info = (struct consumer_info){.created_ns = CLOCK_S,
                                        .delivered_cseq = 1,
                                        .delivered_sseq = 2,
                                        .floor_cseq = 3,
                                        .floor_sseq = 4,
                                        .delivered_at_ns = 5 * CLOCK_S,
                                        .acked_at_ns = 6 * CLOCK_S,
                                        .ack_pending = 7,
                                        .redelivered = 8,
                                        .waiting = 9,
                                        .pending = 10,
                                        .push_bound = true,
                                        .paused = true,
                                        .pause_remaining_ns = 11,
                                        .pinned_id = "PIN",
                                        .pinned_at_ns = 12 * CLOCK_S};
    TEST_ASSERT_EQUAL_STRING(
        "{\"stream_name\":\"S\",\"name\":\"C\",\"created\":\"1970-01-01T00:00:01Z\"," CONFIG
        ",\"priority_groups\":[\"g\",\"h\"]},\"delivered\":{\"consumer_seq\":1,\"stream_seq\":2,"
        "\"last_active\":\"1970-01-01T00:00:05Z\"},\"ack_floor\":{\"consumer_seq\":3,"
        "\"stream_seq\":4,\"last_active\":\"1970-01-01T00:00:06Z\"},\"num_ack_pending\":7,"
        "\"num_redelivered\":8,\"num_waiting\":9,\"num_pending\":10,\"push_bound\":true,"
        "\"paused\":true,\"pause_remaining\":11,\"ts\":\"1970-01-01T00:00:02Z\","
        "\"priority_groups\":[{\"group\":\"g\",\"pinned_client_id\":\"PIN\",\"pinned_ts\":"
        "\"1970-01-01T00:00:12Z\"}]}",
        info());
    paper_info.pinned_id = NULL;
    paper_info.pinned_at_ns = 0;
    TEST_ASSERT_NOT_NULL(
        strstr(info(), "[{\"group\":\"g\",\"pinned_ts\":\"0001-01-01T00:00:00Z\"}]"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_wrong_values_get_the_words_of_nats_server);
    RUN_TEST(test_request_is_more_than_a_configuration);
    RUN_TEST(test_each_field_is_judged_as_by_nats_server);
    RUN_TEST(test_two_fields_are_judged_in_the_order_of_nats_server);
    RUN_TEST(test_fields_are_written_in_the_order_of_nats_server);
    RUN_TEST(test_empty_configuration_shows_what_is_never_left_out);
    RUN_TEST(test_defaults_are_shown_as_by_nats_server);
    RUN_TEST(test_zero_time_is_no_pause);
    RUN_TEST(test_stored_configuration_comes_back);
    RUN_TEST(test_stored_configuration_of_a_later_version_is_not_supported);
    RUN_TEST(test_info_leaves_out_what_is_not_so);
    RUN_TEST(test_info_shows_everything_in_the_order_of_nats_server);
    return UNITY_END();
}
