/* test_account_latency.c: reports on how long a service took.  Fields and their order as seen on
 * nats-server 2.15.1. */
#include "support/account_world.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct world w;
static struct listener in, service, reports;
static char report[1024];

static void keep(struct listener *l, const struct router_msg *m)
{
    (void)l;
    snprintf(report, sizeof report, "%.*s", MF_FMT(m->msg->payload));
}

static bool tell(void *arg, const void *origin, bool detailed, const char *via, struct mf_buf *json,
                 int64_t *rtt_ns)
{
    (void)arg;
    (void)via;
    mf_buf_printf(json, "{\"id\":%d%s}", *(const int *)origin, detailed ? ",\"all\":1" : "");
    *rtt_ns = *(const int *)origin;
    return true;
}

static void start(int percent)
{
    struct options_export *x;

    world_init(&w);
    world_account(&w, "B");
    world_account(&w, "A");
    x = world_export(&w, "B", true, "x");
    x->latency_subject = (char *)"lat";
    x->latency_percent = percent;
    x->threshold_ns = CLOCK_S;
    world_import(&w, "A", true, "B", "x", NULL);
    world_start(&w);
    accounts_set_request_info(w.as, tell, NULL);
    listen_to(&in, &w, "A", "in", "inbox", "");
    listen_to(&service, &w, "B", "b", "x", "");
    listen_to(&reports, &w, "B", "r", "lat", "");
    reports.on = keep;
    report[0] = '\0';
}

void setUp(void)
{
}

void tearDown(void)
{
    leave(&in);
    leave(&service);
    leave(&reports);
    world_fini(&w);
}

static void ask(const char *reply, const char *hdr)
{
    static const int requestor = 10;
    struct mf_msg msg = {.subject = MF_LIT("x"), .reply = mf_str(reply), .hdr = mf_str(hdr)};
    struct router_msg rm = {.route = msg.subject, .msg = &msg, .origin = &requestor};

    account_publish(world_get(&w, "A"), &rm);
}

static void expect(const char *part)
{
    if (strstr(report, part) == NULL)
        TEST_FAIL_MESSAGE(report[0] != '\0' ? report : "no report");
}

static void test_answer_is_measured_without_the_way_to_the_clients(void)
{
    static const int responder = 100;
    char reply[64];

    start(100);
    ask("inbox", "");
    TEST_ASSERT_EQUAL_STRING("", report);
    snprintf(reply, sizeof reply, "%s", last_reply(&w));
    w.now_ns += 5000;
    say_as(&w, "B", reply, "", "ans", &responder);
    expect("{\"type\":\"io.nats.server.metric.v1.service_latency\",\"id\":\"");
    expect("\"status\":200,\"requestor\":{\"id\":10},\"responder\":{\"id\":100,\"all\":1},"
           "\"start\":\"");
    expect("\"service\":4900,\"system\":0,\"total\":5010}");
    report[0] = '\0';
    say_as(&w, "B", reply, "", "ans", &responder);
    TEST_ASSERT_EQUAL_STRING("", report);
    TEST_ASSERT_EQUAL_size_t(1, reports.count);
}

static void test_request_without_reply_is_a_bad_one(void)
{
    start(100);
    ask("", "");
    expect("\"status\":400,\"description\":\"Bad Request\",\"requestor\":{\"id\":10},\"start\":");
    expect("\"service\":0,\"system\":0,\"total\":0}");
    TEST_ASSERT_EQUAL_size_t(1, service.count); /* served all the same */
}

static void test_nobody_there_is_unavailable(void)
{
    start(100);
    leave(&service);
    ask("inbox", "");
    expect("\"status\":503,\"description\":\"Service Unavailable\"");
}

static void test_no_answer_is_a_timeout(void)
{
    start(100);
    ask("inbox", "");
    accounts_expire(w.as, w.now_ns + CLOCK_S);
    expect("\"status\":504,\"description\":\"Service Timeout\"");
}

static void test_sampling_measures_about_as_many_as_wanted(void)
{
    start(30);
    for (int i = 0; i < 3000; i++) {
        ask("", "");
        heard(&w);
    }
    TEST_ASSERT_INT_WITHIN(150, 900, reports.count);
}

static void test_nothing_is_measured_when_only_headers_may_ask(void)
{
    start(-1);
    ask("", "");
    ask("", "NATS/1.0\r\nK: v\r\n\r\n");
    TEST_ASSERT_EQUAL_size_t(0, reports.count);
}

/* The forms tracing libraries use, and whether they ask for a sample. */
static void test_tracing_headers_decide(void)
{
    static const struct {
        const char *hdr;
        bool sampled;
        const char *shown;
    } rows[] = {
        {"X-B3-Sampled: 1\r\nX-B3-TraceId: abc", true,
         "\"header\":{\"X-B3-Sampled\":[\"1\"],\"X-B3-Traceid\":[\"abc\"]}"},
        {"X-B3-Sampled: 0\r\nX-B3-TraceId: abc", false, NULL},
        {"x-b3-traceid: abc", true, "\"header\":{\"X-B3-Traceid\":[\"abc\"]}"},
        {"B3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90", true,
         "\"B3\":"},
        {"B3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-0", false, NULL},
        {"B3: 0", false, NULL},
        {"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true,
         "\"Traceparent\":"},
        {"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false, NULL},
        {"Traceparent: 01", false, NULL},
        {"Uber-Trace-Id: 479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1", true,
         "\"Uber-Trace-Id\":"},
        {"Uber-Trace-Id: 479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:0", false, NULL},
        {"Uber-Trace-Id: 1:1", false, NULL},
    };

    start(-1);
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char hdr[256];
        snprintf(hdr, sizeof hdr, "NATS/1.0\r\n%s\r\n\r\n", rows[i].hdr);
        report[0] = '\0';
        ask("", hdr);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].sampled, report[0] != '\0', rows[i].hdr);
        if (rows[i].shown != NULL)
            expect(rows[i].shown);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_answer_is_measured_without_the_way_to_the_clients);
    RUN_TEST(test_request_without_reply_is_a_bad_one);
    RUN_TEST(test_nobody_there_is_unavailable);
    RUN_TEST(test_no_answer_is_a_timeout);
    RUN_TEST(test_sampling_measures_about_as_many_as_wanted);
    RUN_TEST(test_nothing_is_measured_when_only_headers_may_ask);
    RUN_TEST(test_tracing_headers_decide);
    return UNITY_END();
}
