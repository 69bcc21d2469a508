/* test_consumer_config_update.c: which configuration may replace which.  The rows were answered by
 * nats-server 2.15.1: CREATE of the first, CREATE again with the second. */
#include "consumer/consumer_config.h"

#include "support/config_rows.h"
#include "unity.h"

static struct stream_config stream;
static struct js_error err;

void setUp(void)
{
    stream_config_init(&stream);
    stream.replicas = 1;
}

void tearDown(void)
{
}

#define PUSH           .deliver_subject = CR_T("q")
#define NOT_UPDATED(x) 500, 10012, x " can not be updated"
#define REFUSED(...)   500, 10012, __VA_ARGS__
#define ACCEPTED       0, 0, NULL

static const struct row {
    struct consumer_config now, next;
    uint16_t code, err_code;
    const char *text;
    bool bound;
} rows[] = {
    {{.name = NULL}, {.deliver_policy = DELIVER_NEW}, NOT_UPDATED("deliver policy"), false},
    {{.name = NULL}, {.mem_storage = true}, NOT_UPDATED("storage type"), false},
    {{PUSH}, {PUSH, .direct = true}, NOT_UPDATED("direct"), false},
    {{.name = NULL}, {.sourcing = true}, NOT_UPDATED("sourcing"), false},
    {{.deliver_policy = DELIVER_BY_SEQUENCE, .opt_start_seq = 5},
     {.deliver_policy = DELIVER_BY_SEQUENCE, .opt_start_seq = 6},
     NOT_UPDATED("start sequence"),
     false},
    {{.deliver_policy = DELIVER_BY_TIME, .has_start_time = true, .opt_start_time_ns = 5},
     {.deliver_policy = DELIVER_BY_TIME, .has_start_time = true, .opt_start_time_ns = 6},
     NOT_UPDATED("start time"),
     false},
    {{.name = NULL}, {.ack_policy = ACK_ALL}, NOT_UPDATED("ack policy"), false},
    {{.name = NULL}, {.replay_policy = REPLAY_ORIGINAL}, NOT_UPDATED("replay policy"), false},
    {{PUSH}, {PUSH, .idle_heartbeat_ns = CR_S}, NOT_UPDATED("heart beats"), false},
    {{PUSH, .idle_heartbeat_ns = CR_S},
     {PUSH, .idle_heartbeat_ns = CR_S, .flow_control = true},
     NOT_UPDATED("flow control"),
     false},
    {{.name = NULL}, {PUSH}, REFUSED("can not update pull consumer to push based"), false},
    {{PUSH}, {.name = NULL}, REFUSED("can not update push consumer to pull based"), false},
    {{.name = NULL}, {.max_waiting = 5}, NOT_UPDATED("max waiting"), false},
    /* Somebody listens where it delivers to. */
    {{PUSH}, {.deliver_subject = CR_T("q2")}, 400, 10013, "consumer name already in use", true},
    {{PUSH}, {.deliver_subject = CR_T("q2")}, ACCEPTED, false},
    {{PUSH}, {PUSH, .description = CR_T("d")}, ACCEPTED, true},
    /* The first that is found. */
    {{.name = NULL},
     {.ack_policy = ACK_ALL, .max_waiting = 5, .deliver_policy = DELIVER_NEW},
     NOT_UPDATED("deliver policy"),
     false},
    {{.name = NULL},
     {.ack_policy = ACK_ALL, .mem_storage = true},
     NOT_UPDATED("storage type"),
     false},
    {{.name = NULL}, {PUSH, .ack_policy = ACK_ALL}, NOT_UPDATED("ack policy"), false},
    {{.name = NULL},
     {PUSH, .idle_heartbeat_ns = CR_S, .flow_control = true},
     NOT_UPDATED("heart beats"),
     false},
    /* All the rest may change. */
    {{.ack_policy = ACK_EXPLICIT},
     {.ack_policy = ACK_EXPLICIT,
      .description = CR_T("d"),
      .ack_wait_ns = CR_S,
      .max_deliver = 3,
      .filter_subject = CR_T("f"),
      .sample_freq = CR_T("5"),
      .max_ack_pending = 7,
      .headers_only = true,
      .max_batch = 1,
      .max_expires_ns = CR_S,
      .max_bytes = 1,
      .inactive_threshold_ns = CR_S,
      .metadata = CR_META("a", "b"),
      .priority_groups = CR_STRS("g"),
      .priority_policy = PRIORITY_OVERFLOW},
     ACCEPTED,
     false},
    {{.durable_name = CR_T("D")}, {.name = CR_T("D")}, ACCEPTED, false},
    {{PUSH, .rate_limit_bps = 5}, {PUSH, .deliver_group = CR_T("g")}, ACCEPTED, false},
};

static void make(struct consumer_config *c, const struct consumer_config *from)
{
    struct consumer_config_world world = {.stream = &stream};

    TEST_ASSERT_EQUAL(0, consumer_config_copy(c, from));
    TEST_ASSERT_EQUAL_MESSAGE(0, consumer_config_check(c, &world, &err), err.text);
}

static void test_updates_are_judged_as_by_nats_server(void)
{
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        const struct row *r = &rows[i];
        struct consumer_config now, next;

        make(&now, &r->now);
        make(&next, &r->next);
        memset(&err, 0, sizeof err);
        TEST_ASSERT_EQUAL(r->text == NULL ? 0 : MF_DENIED,
                          consumer_config_check_update(&now, &next, r->bound, &err));
        TEST_ASSERT_EQUAL_STRING(r->text == NULL ? "" : r->text, err.text);
        TEST_ASSERT_EQUAL(r->code, err.code);
        TEST_ASSERT_EQUAL(r->err_code, err.err_code);
        consumer_config_fini(&now);
        consumer_config_fini(&next);
    }
}

/* What it was decides whether it is an ephemeral, not what it is asked to become. */
static void test_ephemerals_end_after_five_seconds_if_nobody_says_more(void)
{
    static const struct {
        bool durable_now, durable_next;
        int64_t now_s, next_s, want_s; /* now_s -1: there is none */
    } cases[] = {
        {false, false, -1, 0, 5}, {false, true, -1, 0, 0},  {false, false, -1, 9, 9},
        {false, false, 5, 0, 5},  {false, false, 60, 0, 5}, {false, true, 60, 0, 5},
        {true, true, 60, 0, 0},   {true, false, 0, 0, 0},   {true, false, 60, 0, 0},
        {false, false, 0, 0, 0},  {false, false, 60, 7, 7},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        struct consumer_config now = {.durable_name = CR_T(cases[i].durable_now ? "D" : ""),
                                      .inactive_threshold_ns = cases[i].now_s * CR_S};
        struct consumer_config next = {.durable_name = CR_T(cases[i].durable_next ? "D" : NULL),
                                       .inactive_threshold_ns = cases[i].next_s * CR_S};

        consumer_config_settle(&next, cases[i].now_s < 0 ? NULL : &now);
        TEST_ASSERT_EQUAL_INT64(cases[i].want_s * CR_S, next.inactive_threshold_ns);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_updates_are_judged_as_by_nats_server);
    RUN_TEST(test_ephemerals_end_after_five_seconds_if_nobody_says_more);
    return UNITY_END();
}
