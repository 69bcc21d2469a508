/* natsc_core.c: messages with nats.c: subjects, queues, requests, headers, limits. */
#include "natsc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start(const char *config)
{
    server_proc_start(&natsc_server, config, 0);
}

static void test_published_messages_arrive_in_order(void)
{
    natsSubscription *sub = NULL;
    natsConnection *a, *b;
    char text[16];

    start("");
    a = natsc_connect(NULL);
    b = natsc_connect(NULL);
    ASSERT_OK(natsConnection_SubscribeSync(&sub, b, "seq.*"));
    ASSERT_OK(natsSubscription_SetPendingLimits(sub, -1, -1));
    ASSERT_OK(natsConnection_FlushTimeout(b, NATSC_TIMEOUT_MS));
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        ASSERT_OK(natsConnection_PublishString(a, i % 2 ? "seq.odd" : "seq.even", text));
    }
    ASSERT_OK(natsConnection_FlushTimeout(a, NATSC_TIMEOUT_MS));
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        natsc_expect(sub, text);
    }
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

static void test_wildcards_choose_their_subjects(void)
{
    static const char *const patterns[] = {"a.*.c", "a.>", "*", "a.b.c"};
    static const uint64_t expected[] = {1, 2, 1, 1};
    natsSubscription *subs[4] = {NULL};
    natsConnection *nc;

    start("");
    nc = natsc_connect(NULL);
    for (size_t i = 0; i < 4; i++)
        ASSERT_OK(natsConnection_SubscribeSync(&subs[i], nc, patterns[i]));
    ASSERT_OK(natsConnection_PublishString(nc, "a.b.c", "1"));
    ASSERT_OK(natsConnection_PublishString(nc, "a.x", "2"));
    ASSERT_OK(natsConnection_PublishString(nc, "top", "3"));
    ASSERT_OK(natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS));
    for (size_t i = 0; i < 4; i++) {
        uint64_t queued = 0;

        ASSERT_OK(natsSubscription_QueuedMsgs(subs[i], &queued));
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(expected[i], queued, patterns[i]);
        natsSubscription_Destroy(subs[i]);
    }
    server_proc_stop(&natsc_server);
}

static void answer(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)sub;
    (void)arg;
    (void)natsConnection_PublishString(nc, natsMsg_GetReply(m), "pong");
    natsMsg_Destroy(m);
}

static void test_request_gets_its_reply(void)
{
    natsSubscription *sub = NULL;
    natsConnection *a, *b;
    natsMsg *reply = NULL;

    start("");
    a = natsc_connect(NULL);
    b = natsc_connect(NULL);
    ASSERT_OK(natsConnection_Subscribe(&sub, b, "ping", answer, NULL));
    ASSERT_OK(natsConnection_FlushTimeout(b, NATSC_TIMEOUT_MS));
    for (int i = 0; i < 100; i++) {
        ASSERT_OK(natsConnection_RequestString(&reply, a, "ping", "?", NATSC_TIMEOUT_MS));
        TEST_ASSERT_EQUAL_STRING_LEN("pong", natsMsg_GetData(reply), 4);
        natsMsg_Destroy(reply);
    }
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

static void test_request_without_responder_fails_at_once(void)
{
    natsMsg *reply = NULL;

    start("");
    ASSERT_NATS(NATS_NO_RESPONDERS,
                natsConnection_RequestString(&reply, natsc_connect(NULL), "nobody", "?", 60000));
    server_proc_stop(&natsc_server);
}

static void test_queue_members_share_the_messages(void)
{
    natsSubscription *one = NULL, *two = NULL;
    uint64_t n1 = 0, n2 = 0;
    natsConnection *nc;

    start("");
    nc = natsc_connect(NULL);
    ASSERT_OK(natsConnection_QueueSubscribeSync(&one, nc, "jobs", "crew"));
    ASSERT_OK(natsConnection_QueueSubscribeSync(&two, nc, "jobs", "crew"));
    for (int i = 0; i < 400; i++)
        ASSERT_OK(natsConnection_PublishString(nc, "jobs", "x"));
    ASSERT_OK(natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsSubscription_QueuedMsgs(one, &n1));
    ASSERT_OK(natsSubscription_QueuedMsgs(two, &n2));
    TEST_ASSERT_EQUAL_UINT64(400, n1 + n2);
    TEST_ASSERT_GREATER_THAN_UINT64(100, n1); /* 200 expected */
    TEST_ASSERT_GREATER_THAN_UINT64(100, n2);
    natsSubscription_Destroy(one);
    natsSubscription_Destroy(two);
    server_proc_stop(&natsc_server);
}

static void test_headers_come_back_with_every_value(void)
{
    natsSubscription *sub = NULL;
    natsMsg *out = NULL, *in = NULL;
    const char **values = NULL, *value = NULL;
    natsConnection *nc;
    int count = 0;

    start("");
    nc = natsc_connect(NULL);
    ASSERT_OK(natsConnection_HasHeaderSupport(nc));
    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "h"));
    ASSERT_OK(natsMsg_Create(&out, "h", NULL, "body", 4));
    ASSERT_OK(natsMsgHeader_Set(out, "One", "1"));
    ASSERT_OK(natsMsgHeader_Add(out, "Many", "a"));
    ASSERT_OK(natsMsgHeader_Add(out, "Many", "b"));
    ASSERT_OK(natsConnection_PublishMsg(nc, out));
    ASSERT_OK(natsSubscription_NextMsg(&in, sub, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsMsgHeader_Get(in, "One", &value));
    TEST_ASSERT_EQUAL_STRING("1", value);
    ASSERT_OK(natsMsgHeader_Values(in, "Many", &values, &count));
    TEST_ASSERT_EQUAL_INT(2, count);
    TEST_ASSERT_EQUAL_STRING("b", values[1]);
    TEST_ASSERT_EQUAL_STRING_LEN("body", natsMsg_GetData(in), 4);
    free((void *)values);
    natsMsg_Destroy(in);
    natsMsg_Destroy(out);
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

static void test_largest_payload_passes_and_larger_is_refused(void)
{
    natsSubscription *sub = NULL;
    natsMsg *m = NULL;
    static const char big[2001];
    natsConnection *nc;

    start("max_payload: 2000");
    nc = natsc_connect(NULL);
    TEST_ASSERT_EQUAL_INT64(2000, natsConnection_GetMaxPayload(nc));
    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "big"));
    ASSERT_OK(natsConnection_Publish(nc, "big", big, 2000));
    ASSERT_OK(natsSubscription_NextMsg(&m, sub, NATSC_TIMEOUT_MS));
    TEST_ASSERT_EQUAL_INT(2000, natsMsg_GetDataLength(m));
    ASSERT_NATS(NATS_MAX_PAYLOAD, natsConnection_Publish(nc, "big", big, 2001));
    natsMsg_Destroy(m);
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

static void test_auto_unsubscribe_stops_after_its_number(void)
{
    natsSubscription *sub = NULL;
    natsMsg *m = NULL;
    natsConnection *nc;

    start("");
    nc = natsc_connect(NULL);
    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "n"));
    ASSERT_OK(natsSubscription_AutoUnsubscribe(sub, 3));
    for (int i = 0; i < 10; i++)
        ASSERT_OK(natsConnection_PublishString(nc, "n", "x"));
    ASSERT_OK(natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS));
    for (int i = 0; i < 3; i++)
        natsc_expect(sub, "x");
    ASSERT_NATS(NATS_MAX_DELIVERED_MSGS, natsSubscription_NextMsg(&m, sub, 100));
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

static void test_no_echo_keeps_own_messages_away(void)
{
    natsSubscription *mine = NULL, *theirs = NULL;
    natsOptions *quiet;
    natsConnection *a, *b;
    uint64_t queued = 1;

    start("");
    quiet = natsc_options();
    ASSERT_OK(natsOptions_SetNoEcho(quiet, true));
    a = natsc_connect(quiet);
    b = natsc_connect(NULL);
    ASSERT_OK(natsConnection_SubscribeSync(&mine, a, "e"));
    ASSERT_OK(natsConnection_FlushTimeout(a, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsConnection_SubscribeSync(&theirs, b, "e"));
    ASSERT_OK(natsConnection_FlushTimeout(b, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsConnection_PublishString(a, "e", "hello"));
    ASSERT_OK(natsConnection_FlushTimeout(a, NATSC_TIMEOUT_MS));
    natsc_expect(theirs, "hello");
    ASSERT_OK(natsSubscription_QueuedMsgs(mine, &queued));
    TEST_ASSERT_EQUAL_UINT64(0, queued);
    natsSubscription_Destroy(mine);
    natsSubscription_Destroy(theirs);
    server_proc_stop(&natsc_server);
}

static void test_verbose_and_pedantic_connections_work(void)
{
    natsOptions *o;

    start("");
    o = natsc_options();
    ASSERT_OK(natsOptions_SetVerbose(o, true));
    ASSERT_OK(natsOptions_SetPedantic(o, true));
    natsc_works(natsc_connect(o));
    server_proc_stop(&natsc_server);
}

static void test_draining_delivers_what_is_queued(void)
{
    natsSubscription *sub = NULL;
    natsConnection *nc;

    start("");
    nc = natsc_connect(NULL);
    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "d"));
    for (int i = 0; i < 50; i++)
        ASSERT_OK(natsConnection_PublishString(nc, "d", "x"));
    ASSERT_OK(natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsSubscription_Drain(sub));
    for (int i = 0; i < 50; i++)
        natsc_expect(sub, "x");
    ASSERT_OK(natsSubscription_WaitForDrainCompletion(sub, NATSC_TIMEOUT_MS));
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

void run_core_tests(void)
{
    RUN_TEST(test_published_messages_arrive_in_order);
    RUN_TEST(test_wildcards_choose_their_subjects);
    RUN_TEST(test_request_gets_its_reply);
    RUN_TEST(test_request_without_responder_fails_at_once);
    RUN_TEST(test_queue_members_share_the_messages);
    RUN_TEST(test_headers_come_back_with_every_value);
    RUN_TEST(test_largest_payload_passes_and_larger_is_refused);
    RUN_TEST(test_auto_unsubscribe_stops_after_its_number);
    RUN_TEST(test_no_echo_keeps_own_messages_away);
    RUN_TEST(test_verbose_and_pedantic_connections_work);
    RUN_TEST(test_draining_delivers_what_is_queued);
}
