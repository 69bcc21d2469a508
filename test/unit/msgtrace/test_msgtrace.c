/* test_msgtrace.c: which headers ask for a trace, and what a trace shows. */
#include "msgtrace/msgtrace.h"

#include "codec/jsonw.h"

#include "unity.h"

#include <stdio.h>

void setUp(void)
{
}
void tearDown(void)
{
}

#define BLOCK(lines) "NATS/1.0\r\n" lines "\r\n"

static bool reads(const char *block, struct msgtrace_request *q)
{
    bool yes = msgtrace_read(mf_str(block), q);

    TEST_ASSERT_TRUE_MESSAGE(!yes || msgtrace_asked(mf_str(block)), "the quick look misses it");
    return yes;
}

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"

static void test_headers_that_ask_for_a_trace(void)
{
    struct msgtrace_request q;

    TEST_ASSERT_TRUE(reads(BLOCK("A: b\r\nNats-Trace-Dest: \t t.a \r\n"), &q));
    TEST_ASSERT_TRUE(mf_eq_str(q.dest, "t.a"));
    TEST_ASSERT_FALSE(q.external || q.only || q.forged);
    TEST_ASSERT_EQUAL_INT(MSGTRACE_PLAIN, q.coding);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Only: tRUE\r\nNats-Trace-Dest:x\r\n"), &q));
    TEST_ASSERT_TRUE(q.only);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest:x\r\nNats-Trace-Only: yes\r\n"), &q));
    TEST_ASSERT_FALSE(q.only);
    TEST_ASSERT_TRUE(reads(BLOCK("TraceParent: " PARENT "01\r\nNats-Trace-Only: 1\r\n"), &q));
    TEST_ASSERT_TRUE(q.external && !q.only);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\ntraceparent: " PARENT "01\r\n"), &q));
    TEST_ASSERT_FALSE(q.external);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nNats-Trace-Origin-Account: A\r\n"), &q));
    TEST_ASSERT_TRUE(q.forged);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nNats-Trace-Hop: 1.2\r\n"), &q));
    TEST_ASSERT_TRUE(mf_eq_str(q.hop, "1.2"));
}

static void test_headers_that_ask_for_none(void)
{
    struct msgtrace_request q;

    TEST_ASSERT_FALSE(msgtrace_asked(MF_SLICE_NONE));
    TEST_ASSERT_FALSE(reads("", &q));
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest:x\r\n"), &q)); /* the shortest that asks */
    TEST_ASSERT_FALSE(reads(BLOCK("A: b\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("Nats-Trace-Dest: \r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("nats-trace-dest: x\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("XNats-Trace-Dest: x\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("Nats-Trace-Only: 1\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("Nats-Trace-Dest: trace disabled\r\n"), &q));
    TEST_ASSERT_FALSE(
        reads(BLOCK("Nats-Trace-Dest: trace disabled\r\ntraceparent: " PARENT "01\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("traceparent: " PARENT "00\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("traceparent: " PARENT "1\r\n"), &q));
    TEST_ASSERT_FALSE(reads(BLOCK("traceparent: " PARENT "ff\r\n"), &q)); /* Go: out of range */
    TEST_ASSERT_FALSE(reads(BLOCK("traceparent: a-01\r\n"), &q));
    TEST_ASSERT_FALSE(msgtrace_asked(mf_str(BLOCK("A: b\r\nTraceparents: x\r\n"))));
}

static void test_codings(void)
{
    struct msgtrace_request q;

    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nAccept-Encoding: gzip, Snappy\r\n"), &q));
    TEST_ASSERT_EQUAL_INT(MSGTRACE_SNAPPY, q.coding);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nAccept-Encoding: s2\r\n"), &q));
    TEST_ASSERT_EQUAL_INT(MSGTRACE_SNAPPY, q.coding);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nAccept-Encoding: br, GZIP\r\n"), &q));
    TEST_ASSERT_EQUAL_INT(MSGTRACE_GZIP, q.coding);
    TEST_ASSERT_TRUE(reads(BLOCK("Nats-Trace-Dest: x\r\nAccept-Encoding: br\r\n"), &q));
    TEST_ASSERT_EQUAL_INT(MSGTRACE_IDENTITY, q.coding);
}

static void test_a_destination_is_set_as_the_last_line(void)
{
    struct mf_buf out = MF_BUF_INIT;

    TEST_ASSERT_TRUE(
        msgtrace_set_dest(&out, mf_str(BLOCK("Nats-Trace-Dest: x\r\nA: b\r\n")), mf_str("y")));
    TEST_ASSERT_TRUE(mf_eq_str(mf_buf_slice(&out), BLOCK("A: b\r\nNats-Trace-Dest: y\r\n")));
    mf_buf_clear(&out);
    TEST_ASSERT_TRUE(msgtrace_set_dest(&out, mf_str(BLOCK("Nats-Trace-Dest: x\r\n")), mf_str("y")));
    TEST_ASSERT_TRUE(mf_eq_str(mf_buf_slice(&out), BLOCK("Nats-Trace-Dest: y\r\n")));
    mf_buf_fini(&out);
}

/* --- a trace ---------------------------------------------------------------------------------- */

static struct mf_buf shown = MF_BUF_INIT;
static int finished;
static size_t most = SIZE_MAX; /* bytes of the trace */

static void finish(void *arg, struct msgtrace *t)
{
    struct jsonw w;

    TEST_ASSERT_EQUAL_PTR(&finished, arg);
    finished++;
    jsonw_begin(&w, &shown, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    msgtrace_write(t, &w, most);
    jsonw_end(&w);
    msgtrace_free(t);
}

static struct msgtrace *begin(const char *block)
{
    struct msgtrace_peer from = {MSGTRACE_CLIENT, 7, "pub", "A"};
    struct mf_msg m = {.subject = MF_LIT("foo"), .hdr = mf_str(block), .payload = MF_LIT("hello")};
    struct msgtrace_request q;
    struct msgtrace *t;

    finished = 0;
    mf_buf_clear(&shown);
    TEST_ASSERT_TRUE(msgtrace_read(m.hdr, &q));
    t = msgtrace_new(&q, q.dest, &from, &m, finish, &finished);
    TEST_ASSERT_NOT_NULL(t);
    return t;
}

static bool shows(const char *text)
{
    return strstr(mf_buf_cstr(&shown), text) != NULL;
}

static void test_headers_are_shown_sorted_and_grouped(void)
{
    msgtrace_release(
        begin(BLOCK("b: 1\r\nNats-Trace-Dest: t\r\nA: 2\r\nb:  3 \r\nempty:\r\n\"q: <\r\n")));
    TEST_ASSERT_EQUAL_INT(1, finished);
    TEST_ASSERT_TRUE(shows("{\"request\":{\"header\":{\"\\\"q\":[\"\\u003c\"],\"A\":[\"2\"],"
                           "\"Nats-Trace-Dest\":[\"t\"],\"b\":[\"1\",\"3\"]},\"msgsize\":"));
    TEST_ASSERT_FALSE(shows("hops"));
    mf_buf_fini(&shown);
}

/* The publisher and each stream hold the trace: it is sent when the last of them has ended. */
static void test_a_trace_waits_for_its_streams(void)
{
    struct msgtrace *t = begin(BLOCK("Nats-Trace-Dest: t\r\nNats-Trace-Hop: 1\r\n"));
    struct msgtrace_peer to = {MSGTRACE_LEAF, 9, NULL, "B"};
    size_t event;

    msgtrace_mapped(t, MF_LIT("bar"));
    (void)msgtrace_retain(t);
    event = msgtrace_stream(t, "S");
    TEST_ASSERT_TRUE(mf_eq_str(msgtrace_next_hop(t), "1.1"));
    msgtrace_delivered(t, &to, MF_SLICE_NONE, MF_SLICE_NONE, NULL);
    to = (struct msgtrace_peer){MSGTRACE_CLIENT, 10, "n", "A"};
    msgtrace_delivered(t, &to, MF_LIT("ba*"), MF_LIT("q"), "no");
    msgtrace_release(t);
    TEST_ASSERT_EQUAL_INT(0, finished);
    msgtrace_stored(t, event, MF_LIT("bar"), true, NULL);
    msgtrace_release(t);
    TEST_ASSERT_EQUAL_INT(1, finished);
    TEST_ASSERT_TRUE(shows("\"hops\":1,\"events\":[{\"type\":\"in\""));
    TEST_ASSERT_TRUE(
        shows("\"kind\":0,\"cid\":7,\"name\":\"pub\",\"acc\":\"A\",\"subj\":\"foo\"}"));
    TEST_ASSERT_TRUE(shows("\"to\":\"bar\"}"));
    TEST_ASSERT_TRUE(shows("\"stream\":\"S\",\"subject\":\"bar\",\"nointerest\":true}"));
    TEST_ASSERT_TRUE(shows("\"kind\":4,\"cid\":9,\"hop\":\"1.1\",\"acc\":\"B\"}"));
    TEST_ASSERT_TRUE(shows("\"name\":\"n\",\"sub\":\"ba*\",\"queue\":\"q\",\"error\":\"no\"}"));
    mf_buf_fini(&shown);
}

static void test_a_trace_has_a_bounded_number_of_events(void)
{
    struct msgtrace *t = begin(BLOCK("Nats-Trace-Dest: t\r\n"));
    struct msgtrace_peer to = {MSGTRACE_CLIENT, 10, "n", "A"};
    size_t events = 0;

    for (int i = 0; i < MSGTRACE_EVENTS + 9; i++)
        msgtrace_delivered(t, &to, MF_LIT("foo"), MF_SLICE_NONE, NULL);
    msgtrace_stored(t, msgtrace_stream(t, "S"), MF_LIT("bar"), false, NULL);
    msgtrace_release(t);
    for (const char *p = mf_buf_cstr(&shown); (p = strstr(p, "\"type\"")) != NULL; p++)
        events++;
    TEST_ASSERT_EQUAL_size_t(MSGTRACE_EVENTS, events);
    TEST_ASSERT_TRUE(shows("],\"omitted\":11}"));
    mf_buf_fini(&shown);
}

static size_t count(const char *what)
{
    size_t n = 0;

    for (const char *p = mf_buf_cstr(&shown); (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static void test_events_beyond_the_largest_text_are_counted(void)
{
    struct msgtrace *t = begin(BLOCK("Nats-Trace-Dest: t\r\n"));
    struct msgtrace_peer to = {MSGTRACE_CLIENT, 10, "n", "A"};
    char subject[4001], omitted[40];

    memset(subject, 's', 4000);
    subject[4000] = '\0';
    for (int i = 0; i < 999; i++)
        msgtrace_delivered(t, &to, mf_str(subject), MF_SLICE_NONE, NULL);
    most = 100000;
    msgtrace_release(t);
    most = SIZE_MAX;
    TEST_ASSERT_TRUE(shown.len <= 100000 && shown.len > 95000);
    snprintf(omitted, sizeof omitted, "}],\"omitted\":%zu}", 1000 - count("\"type\""));
    TEST_ASSERT_TRUE(shows(omitted));
    mf_buf_fini(&shown);
}

/* Escapes make a block six times as long.  Small headers beside a large one are shown. */
static void test_headers_take_half_of_the_largest_text(void)
{
    struct mf_buf block = MF_BUF_INIT;

    mf_buf_puts(&block, "NATS/1.0\r\nNats-Trace-Dest: t\r\n");
    for (int i = 0; i < 5000; i++)
        mf_buf_puts(&block, i % 2 == 0 ? "A: <\r\n" : "B: 1\r\n");
    mf_buf_puts(&block, "Z: 1\r\n\r\n");
    most = 40000;
    msgtrace_release(begin(mf_buf_cstr(&block)));
    most = SIZE_MAX;
    TEST_ASSERT_TRUE(shown.len < 20000);
    TEST_ASSERT_TRUE(shows("{\"header\":{\"B\":[\"1\","));
    TEST_ASSERT_TRUE(shows("\"],\"Nats-Trace-Dest\":[\"t\"],\"Z\":[\"1\"]},\"omitted\":2500,"));
    TEST_ASSERT_EQUAL_size_t(1, count("\"type\""));
    mf_buf_fini(&shown);
    mf_buf_fini(&block);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_headers_that_ask_for_a_trace);
    RUN_TEST(test_headers_that_ask_for_none);
    RUN_TEST(test_codings);
    RUN_TEST(test_a_destination_is_set_as_the_last_line);
    RUN_TEST(test_headers_are_shown_sorted_and_grouped);
    RUN_TEST(test_a_trace_waits_for_its_streams);
    RUN_TEST(test_a_trace_has_a_bounded_number_of_events);
    RUN_TEST(test_events_beyond_the_largest_text_are_counted);
    RUN_TEST(test_headers_take_half_of_the_largest_text);
    return UNITY_END();
}
