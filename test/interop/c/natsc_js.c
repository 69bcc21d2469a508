/* natsc_js.c: nats.c's pull and push subscriptions and its KV stores. */
#include "natsc.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static jsCtx *js;
static natsConnection *nc;

/* A server with JetStream, stream S on s.>, and messages m1 to mN on s.a and s.b by turns. */
static void start(int messages)
{
    char config[256], data[16];
    jsStreamConfig sc;
    const char *subjects[] = {"s.>"};

    server_proc_folder(&natsc_server);
    (void)snprintf(config, sizeof config, "jetstream { store_dir: \"%s/js\" }", natsc_server.dir);
    server_proc_start(&natsc_server, config, 0);
    nc = natsc_connect(NULL);
    js = natsc_jetstream(nc, NATSC_TIMEOUT_MS);
    ASSERT_OK(jsStreamConfig_Init(&sc));
    sc.Name = "S";
    sc.Subjects = subjects;
    sc.SubjectsLen = 1;
    ASSERT_OK(js_AddStream(NULL, js, &sc, NULL, NULL));
    for (int i = 1; i <= messages; i++) {
        int len = snprintf(data, sizeof data, "m%d", i);

        ASSERT_OK(js_Publish(NULL, js, i % 2 != 0 ? "s.a" : "s.b", data, len, NULL, NULL));
    }
}

static void stop(void)
{
    jsCtx_Destroy(js);
    server_proc_stop(&natsc_server);
}

/* Stream sequence, deliveries and pending of a message. */
static void expect_place(natsMsg *m, uint64_t seq, uint64_t count, uint64_t pending)
{
    jsMsgMetaData *meta = NULL;

    ASSERT_OK(natsMsg_GetMetaData(&meta, m));
    TEST_ASSERT_EQUAL_UINT64(seq, meta->Sequence.Stream);
    TEST_ASSERT_EQUAL_UINT64(count, meta->NumDelivered);
    TEST_ASSERT_EQUAL_UINT64(pending, meta->NumPending);
    TEST_ASSERT_EQUAL_STRING("S", meta->Stream);
    jsMsgMetaData_Destroy(meta);
}

/* --- pull and push ------------------------------------------------------------------------- */

static void test_fetch_brings_a_batch_and_acks_hold(void)
{
    natsSubscription *sub = NULL;
    natsMsgList list;
    jsConsumerInfo *ci = NULL;

    start(10);
    ASSERT_OK(js_PullSubscribe(&sub, js, "s.>", "D", NULL, NULL, NULL));
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 4, NATSC_TIMEOUT_MS, NULL));
    TEST_ASSERT_EQUAL_INT(4, list.Count);
    for (int i = 0; i < list.Count; i++) {
        expect_place(list.Msgs[i], (uint64_t)i + 1, 1, 9 - (uint64_t)i);
        ASSERT_OK(natsMsg_AckSync(list.Msgs[i], NULL, NULL));
    }
    natsMsgList_Destroy(&list);
    ASSERT_OK(js_GetConsumerInfo(&ci, js, "S", "D", NULL, NULL));
    TEST_ASSERT_EQUAL_UINT64(4, ci->AckFloor.Stream);
    TEST_ASSERT_EQUAL_UINT64(6, ci->NumPending);
    TEST_ASSERT_EQUAL_INT64(0, ci->NumAckPending);
    jsConsumerInfo_Destroy(ci);
    /* A batch that is larger than what is there brings that. */
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 50, NATSC_TIMEOUT_MS, NULL));
    TEST_ASSERT_EQUAL_INT(6, list.Count);
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(sub);
    stop();
}

static void test_fetch_of_nothing_times_out(void)
{
    natsSubscription *sub = NULL;
    natsMsgList list = {0};

    start(0);
    ASSERT_OK(js_PullSubscribe(&sub, js, "s.>", "D", NULL, NULL, NULL));
    ASSERT_NATS(NATS_TIMEOUT, natsSubscription_Fetch(&list, sub, 1, 300, NULL));
    ASSERT_NATS(NATS_TIMEOUT, natsSubscription_Fetch(&list, sub, 5, 300, NULL));
    TEST_ASSERT_EQUAL_INT(0, list.Count);
    natsSubscription_Destroy(sub);
    stop();
}

static void test_fetch_by_request_honours_bytes_and_no_wait(void)
{
    natsSubscription *sub = NULL;
    jsFetchRequest request;
    natsMsgList list;

    start(3);
    ASSERT_OK(js_PullSubscribe(&sub, js, "s.>", "D", NULL, NULL, NULL));
    ASSERT_OK(jsFetchRequest_Init(&request));
    request.Batch = 10;
    request.NoWait = true;
    request.MaxBytes = 60; /* one of them with its reply, not two */
    request.Expires = (int64_t)NATSC_TIMEOUT_MS * 1000000;
    ASSERT_OK(natsSubscription_FetchRequest(&list, sub, &request));
    TEST_ASSERT_EQUAL_INT(1, list.Count);
    natsMsgList_Destroy(&list);
    request.MaxBytes = 0;
    ASSERT_OK(natsSubscription_FetchRequest(&list, sub, &request));
    TEST_ASSERT_EQUAL_INT(2, list.Count);
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(sub);
    stop();
}

static void test_nak_and_term_decide_what_comes_again(void)
{
    natsSubscription *sub = NULL;
    natsMsgList list;

    start(2);
    ASSERT_OK(js_PullSubscribe(&sub, js, "s.>", "D", NULL, NULL, NULL));
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 2, NATSC_TIMEOUT_MS, NULL));
    TEST_ASSERT_EQUAL_INT(2, list.Count);
    ASSERT_OK(natsMsg_InProgress(list.Msgs[0], NULL));
    ASSERT_OK(natsMsg_Term(list.Msgs[0], NULL));
    ASSERT_OK(natsMsg_NakWithDelay(list.Msgs[1], 50, NULL));
    natsMsgList_Destroy(&list);
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 1, NATSC_TIMEOUT_MS, NULL));
    expect_place(list.Msgs[0], 2, 2, 0);
    ASSERT_OK(natsMsg_Nak(list.Msgs[0], NULL));
    natsMsgList_Destroy(&list);
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 1, NATSC_TIMEOUT_MS, NULL));
    expect_place(list.Msgs[0], 2, 3, 0);
    ASSERT_OK(natsMsg_AckSync(list.Msgs[0], NULL, NULL));
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(sub);
    stop();
}

static void test_push_subscription_gets_its_filter_in_order(void)
{
    natsSubscription *sub = NULL;
    natsMsg *m = NULL;

    start(6);
    ASSERT_OK(js_SubscribeSync(&sub, js, "s.b", NULL, NULL, NULL));
    for (uint64_t i = 1; i <= 3; i++) {
        ASSERT_OK(natsSubscription_NextMsg(&m, sub, NATSC_TIMEOUT_MS));
        expect_place(m, 2 * i, 1, 3 - i);
        TEST_ASSERT_EQUAL_STRING("s.b", natsMsg_GetSubject(m));
        ASSERT_OK(natsMsg_AckSync(m, NULL, NULL));
        natsMsg_Destroy(m);
    }
    natsSubscription_Destroy(sub);
    stop();
}

static atomic_uint_fast64_t heard, wrong;

static void in_order(natsConnection *c, natsSubscription *sub, natsMsg *m, void *arg)
{
    jsMsgMetaData *meta = NULL;

    (void)c;
    (void)sub;
    (void)arg;
    if (natsMsg_GetMetaData(&meta, m) != NATS_OK || meta->Sequence.Stream != heard + 1)
        wrong++;
    heard++;
    jsMsgMetaData_Destroy(meta);
    natsMsg_Destroy(m);
}

static bool heard_all(void *arg)
{
    return heard >= *(const uint64_t *)arg;
}

static void test_ordered_consumer_replays_everything(void)
{
    natsSubscription *sub = NULL;
    jsSubOptions so;
    uint64_t all = 500;

    heard = 0;
    wrong = 0;
    start((int)all);
    ASSERT_OK(jsSubOptions_Init(&so));
    so.Ordered = true;
    ASSERT_OK(js_Subscribe(&sub, js, "s.>", in_order, NULL, NULL, &so, NULL));
    wait_until("not all messages came", heard_all, &all);
    TEST_ASSERT_EQUAL_UINT64(0, wrong);
    natsSubscription_Destroy(sub);
    stop();
}

/* --- KV ------------------------------------------------------------------------------------ */

static kvStore *bucket(uint8_t history)
{
    kvStore *kv = NULL;
    kvConfig kc;

    start(0);
    ASSERT_OK(kvConfig_Init(&kc));
    kc.Bucket = "B";
    kc.History = history;
    ASSERT_OK(js_CreateKeyValue(&kv, js, &kc));
    return kv;
}

static void expect_entry(kvEntry *e, kvOperation op, const char *key, const char *value,
                         uint64_t revision)
{
    TEST_ASSERT_NOT_NULL(e);
    TEST_ASSERT_EQUAL_STRING(key, kvEntry_Key(e));
    TEST_ASSERT_EQUAL_INT(op, kvEntry_Operation(e));
    TEST_ASSERT_EQUAL_UINT64(revision, kvEntry_Revision(e));
    TEST_ASSERT_EQUAL_INT((int)strlen(value), kvEntry_ValueLen(e));
    if (value[0] != '\0')
        TEST_ASSERT_EQUAL_STRING_LEN(value, kvEntry_Value(e), strlen(value));
    kvEntry_Destroy(e);
}

static void expect_next(kvWatcher *w, kvOperation op, const char *key, const char *value,
                        uint64_t revision)
{
    kvEntry *e = NULL;

    ASSERT_OK(kvWatcher_Next(&e, w, NATSC_TIMEOUT_MS));
    expect_entry(e, op, key, value, revision);
}

static void test_kv_put_get_update_delete(void)
{
    kvStore *kv = bucket(5);
    kvEntry *e = NULL;
    uint64_t rev = 0;

    ASSERT_NATS(NATS_NOT_FOUND, kvStore_Get(&e, kv, "k"));
    ASSERT_OK(kvStore_CreateString(&rev, kv, "k", "one"));
    TEST_ASSERT_EQUAL_UINT64(1, rev);
    ASSERT_NATS(NATS_ERR, kvStore_CreateString(&rev, kv, "k", "two"));
    ASSERT_OK(kvStore_UpdateString(&rev, kv, "k", "two", 1));
    ASSERT_NATS(NATS_ERR, kvStore_UpdateString(&rev, kv, "k", "three", 1));
    ASSERT_OK(kvStore_Get(&e, kv, "k"));
    expect_entry(e, kvOp_Put, "k", "two", 2);
    ASSERT_OK(kvStore_GetRevision(&e, kv, "k", 1));
    expect_entry(e, kvOp_Put, "k", "one", 1);
    ASSERT_OK(kvStore_Delete(kv, "k"));
    ASSERT_NATS(NATS_NOT_FOUND, kvStore_Get(&e, kv, "k"));
    ASSERT_OK(kvStore_CreateString(&rev, kv, "k", "four"));
    TEST_ASSERT_EQUAL_UINT64(4, rev);
    kvStore_Destroy(kv);
    stop();
}

static void test_kv_keys_history_and_status(void)
{
    kvStore *kv = bucket(3);
    kvKeysList keys;
    kvEntryList list;
    kvStatus *st = NULL;
    uint64_t rev = 0;

    for (int i = 0; i < 5; i++)
        ASSERT_OK(kvStore_PutString(&rev, kv, "a", "v"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "b.c", "v"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "gone", "v"));
    ASSERT_OK(kvStore_Delete(kv, "gone"));
    ASSERT_OK(kvStore_Keys(&keys, kv, NULL));
    TEST_ASSERT_EQUAL_INT(2, keys.Count);
    kvKeysList_Destroy(&keys);
    ASSERT_OK(kvStore_History(&list, kv, "a", NULL));
    TEST_ASSERT_EQUAL_INT(3, list.Count);
    TEST_ASSERT_EQUAL_UINT64(3, kvEntry_Revision(list.Entries[0]));
    TEST_ASSERT_EQUAL_UINT64(5, kvEntry_Revision(list.Entries[2]));
    kvEntryList_Destroy(&list);
    ASSERT_OK(kvStore_Status(&st, kv));
    TEST_ASSERT_EQUAL_UINT64(6, kvStatus_Values(st));
    TEST_ASSERT_EQUAL_INT64(3, kvStatus_History(st));
    kvStatus_Destroy(st);
    kvStore_Destroy(kv);
    ASSERT_OK(js_DeleteKeyValue(js, "B"));
    stop();
}

static void test_kv_watcher_sees_each_change_once(void)
{
    kvStore *kv = bucket(10);
    kvWatcher *w = NULL;
    kvEntry *e = NULL;
    uint64_t rev = 0;

    ASSERT_OK(kvStore_PutString(&rev, kv, "a", "1"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "b", "2"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "a", "3"));
    ASSERT_OK(kvStore_WatchAll(&w, kv, NULL));
    expect_next(w, kvOp_Put, "b", "2", 2);
    expect_next(w, kvOp_Put, "a", "3", 3);
    ASSERT_OK(kvWatcher_Next(&e, w, NATSC_TIMEOUT_MS));
    TEST_ASSERT_NULL(e); /* this was all there is */
    ASSERT_OK(kvStore_PutString(&rev, kv, "a", "4"));
    ASSERT_OK(kvStore_Delete(kv, "a"));
    ASSERT_OK(kvStore_Purge(kv, "b", NULL));
    expect_next(w, kvOp_Put, "a", "4", 4);
    expect_next(w, kvOp_Delete, "a", "", 5);
    expect_next(w, kvOp_Purge, "b", "", 6);
    ASSERT_NATS(NATS_TIMEOUT, kvWatcher_Next(&e, w, 100));
    kvWatcher_Destroy(w);
    kvStore_Destroy(kv);
    stop();
}

static void test_kv_watcher_takes_its_options(void)
{
    kvStore *kv = bucket(10);
    kvWatcher *w = NULL;
    kvWatchOptions wo;
    kvEntry *e = NULL;
    uint64_t rev = 0;

    ASSERT_OK(kvStore_PutString(&rev, kv, "a.1", "x"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "a.1", "yy"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "b.1", "z"));
    ASSERT_OK(kvStore_Delete(kv, "a.1"));
    ASSERT_OK(kvWatchOptions_Init(&wo));
    wo.IncludeHistory = true;
    wo.IgnoreDeletes = true;
    wo.MetaOnly = true;
    ASSERT_OK(kvStore_Watch(&w, kv, "a.*", &wo));
    expect_next(w, kvOp_Put, "a.1", "", 1);
    expect_next(w, kvOp_Put, "a.1", "", 2);
    ASSERT_OK(kvWatcher_Next(&e, w, NATSC_TIMEOUT_MS));
    TEST_ASSERT_NULL(e);
    kvWatcher_Destroy(w);
    kvStore_Destroy(kv);
    stop();
}

static void request(const char *subject, const char *body)
{
    natsMsg *reply = NULL;

    ASSERT_OK(natsConnection_RequestString(&reply, nc, subject, body, NATSC_TIMEOUT_MS));
    TEST_ASSERT_NULL_MESSAGE(strstr(natsMsg_GetData(reply), "\"error\""), natsMsg_GetData(reply));
    natsMsg_Destroy(reply);
}

/* This library is older than markers: it is told in its own words.  nats-server does not speak
 * them, and an expiry comes as a value. */
static void test_kv_watcher_is_told_how_a_key_ended(void)
{
    kvStore *kv = NULL;
    kvWatcher *w = NULL;
    natsMsg *m = NULL;
    kvEntry *e = NULL;
    uint64_t rev = 0, last = 2;

    start(0);
    request("$JS.API.STREAM.CREATE.KV_B",
            "{\"name\":\"KV_B\",\"subjects\":[\"$KV.B.>\"],\"max_msgs_per_subject\":1,"
            "\"allow_rollup_hdrs\":true,\"allow_direct\":true,\"allow_msg_ttl\":true,"
            "\"subject_delete_marker_ttl\":60000000000}");
    ASSERT_OK(js_KeyValue(&kv, js, "B"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "removed", "1"));
    ASSERT_OK(kvStore_PutString(&rev, kv, "purged", "2"));
    ASSERT_OK(kvStore_WatchAll(&w, kv, NULL));
    expect_next(w, kvOp_Put, "removed", "1", 1);
    expect_next(w, kvOp_Put, "purged", "2", 2);
    ASSERT_OK(kvWatcher_Next(&e, w, NATSC_TIMEOUT_MS));
    TEST_ASSERT_NULL(e);
    if (server_is_mayfly()) { /* nats-server tells nobody */
        request("$JS.API.STREAM.MSG.DELETE.KV_B", "{\"seq\":1}");
        expect_next(w, kvOp_Delete, "removed", "", ++last);
        request("$JS.API.STREAM.PURGE.KV_B", "{\"filter\":\"$KV.B.purged\"}");
        expect_next(w, kvOp_Purge, "purged", "", ++last);
    }
    ASSERT_OK(natsMsg_Create(&m, "$KV.B.short", NULL, "5", 1));
    ASSERT_OK(natsMsgHeader_Set(m, "Nats-TTL", "1s"));
    ASSERT_OK(js_PublishMsg(NULL, js, m, NULL, NULL));
    natsMsg_Destroy(m);
    expect_next(w, kvOp_Put, "short", "5", ++last);
    expect_next(w, server_is_mayfly() ? kvOp_Purge : kvOp_Put, "short", "", ++last);
    ASSERT_OK(kvStore_PutString(&rev, kv, "short", "again"));
    expect_next(w, kvOp_Put, "short", "again", ++last);
    kvWatcher_Destroy(w);
    kvStore_Destroy(kv);
    stop();
}

void run_js_tests(void)
{
    RUN_TEST(test_fetch_brings_a_batch_and_acks_hold);
    RUN_TEST(test_fetch_of_nothing_times_out);
    RUN_TEST(test_fetch_by_request_honours_bytes_and_no_wait);
    RUN_TEST(test_nak_and_term_decide_what_comes_again);
    RUN_TEST(test_push_subscription_gets_its_filter_in_order);
    RUN_TEST(test_ordered_consumer_replays_everything);
    RUN_TEST(test_kv_put_get_update_delete);
    RUN_TEST(test_kv_keys_history_and_status);
    RUN_TEST(test_kv_watcher_sees_each_change_once);
    RUN_TEST(test_kv_watcher_takes_its_options);
    RUN_TEST(test_kv_watcher_is_told_how_a_key_ended);
}
