/* natsc_stream.c: streams and buckets with nats.c: managed, written, read.  This nats.c knows
 * nothing of per-message TTLs; its headers and its raw requests do. */
#include "natsc.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS 1000000000LL

static jsErrCode why; /* of the last call that failed */

static jsCtx *start(void)
{
    char config[200];

    server_proc_folder(&natsc_server);
    (void)snprintf(config, sizeof config, "jetstream { store_dir: \"%s/js\" }", natsc_server.dir);
    server_proc_start(&natsc_server, config, 0);
    return natsc_jetstream(natsc_connect(NULL), NATSC_TIMEOUT_MS);
}

static void stop(jsCtx *js)
{
    jsCtx_Destroy(js);
    server_proc_stop(&natsc_server);
}

#define ASSERT_JS(expected, call)                                                                  \
    do {                                                                                           \
        why = 0;                                                                                   \
        (void)(call);                                                                              \
        TEST_ASSERT_EQUAL_INT_MESSAGE(expected, why, #call);                                       \
    } while (0)

static void add_stream(jsCtx *js, const char *name, const char *subject)
{
    const char *subjects[] = {subject};
    jsStreamConfig c;

    ASSERT_OK(jsStreamConfig_Init(&c));
    c.Name = name;
    c.Subjects = subjects;
    c.SubjectsLen = 1;
    c.AllowDirect = true;
    ASSERT_OK(js_AddStream(NULL, js, &c, NULL, &why));
}

/* Publishes with these options, any of them NULL or 0; the sequence. */
static uint64_t put(jsCtx *js, const char *subject, const char *text, jsPubOptions *o)
{
    jsPubAck *ack = NULL;
    uint64_t seq;

    ASSERT_OK(js_Publish(&ack, js, subject, text, (int)strlen(text), o, &why));
    seq = ack->Sequence;
    jsPubAck_Destroy(ack);
    return seq;
}

static uint64_t count(jsCtx *js, const char *name)
{
    jsStreamInfo *si = NULL;
    uint64_t n;

    ASSERT_OK(js_GetStreamInfo(&si, js, name, NULL, &why));
    n = si->State.Msgs;
    jsStreamInfo_Destroy(si);
    return n;
}

static void test_stream_is_added_updated_listed_and_deleted(void)
{
    const char *subjects[] = {"s.>", "t"};
    jsStreamNamesList *names = NULL;
    jsStreamInfoList *infos = NULL;
    jsStreamInfo *si = NULL;
    jsStreamConfig c;
    jsCtx *js = start();

    ASSERT_OK(jsStreamConfig_Init(&c));
    c.Name = "S";
    c.Description = "made by nats.c";
    c.Subjects = subjects;
    c.SubjectsLen = 2;
    c.MaxMsgs = 100;
    c.MaxAge = 3600 * SECOND_NS;
    c.Discard = js_DiscardNew;
    c.AllowRollup = true;
    ASSERT_OK(js_AddStream(&si, js, &c, NULL, &why));
    TEST_ASSERT_EQUAL_STRING("made by nats.c", si->Config->Description);
    TEST_ASSERT_EQUAL_INT64(3600 * SECOND_NS, si->Config->MaxAge);
    TEST_ASSERT_EQUAL_INT64(120 * SECOND_NS, si->Config->Duplicates);
    TEST_ASSERT_EQUAL_INT(js_DiscardNew, si->Config->Discard);
    TEST_ASSERT_GREATER_THAN_INT64(0, si->Created);
    jsStreamInfo_Destroy(si);
    ASSERT_OK(js_AddStream(NULL, js, &c, NULL, &why)); /* the same again is no mistake */
    c.MaxMsgs = 50;
    ASSERT_JS(JSStreamNameExistErr, js_AddStream(NULL, js, &c, NULL, &why));
    ASSERT_OK(js_UpdateStream(&si, js, &c, NULL, &why));
    TEST_ASSERT_EQUAL_INT64(50, si->Config->MaxMsgs);
    jsStreamInfo_Destroy(si);
    c.Storage = js_MemoryStorage;
    ASSERT_JS(JSStreamInvalidConfig, js_UpdateStream(NULL, js, &c, NULL, &why));

    ASSERT_OK(js_StreamNames(&names, js, NULL, &why));
    TEST_ASSERT_EQUAL_INT(1, names->Count);
    TEST_ASSERT_EQUAL_STRING("S", names->List[0]);
    jsStreamNamesList_Destroy(names);
    ASSERT_OK(js_Streams(&infos, js, NULL, &why));
    TEST_ASSERT_EQUAL_INT(1, infos->Count);
    TEST_ASSERT_EQUAL_INT(2, infos->List[0]->Config->SubjectsLen);
    jsStreamInfoList_Destroy(infos);
    ASSERT_OK(js_DeleteStream(js, "S", NULL, &why));
    ASSERT_JS(JSStreamNotFoundErr, js_DeleteStream(js, "S", NULL, &why));
    ASSERT_JS(JSStreamNotFoundErr, js_GetStreamInfo(&si, js, "S", NULL, &why));
    stop(js);
}

static void test_publish_options_are_obeyed(void)
{
    jsPubAck *ack = NULL;
    jsPubOptions o;
    jsCtx *js = start();

    add_stream(js, "P", "p.*");
    ASSERT_OK(jsPubOptions_Init(&o));
    o.MsgId = "one";
    TEST_ASSERT_EQUAL_UINT64(1, put(js, "p.a", "x", &o));
    ASSERT_OK(js_Publish(&ack, js, "p.a", "x", 1, &o, &why));
    TEST_ASSERT_TRUE(ack->Duplicate);
    TEST_ASSERT_EQUAL_UINT64(1, ack->Sequence);
    jsPubAck_Destroy(ack);

    ASSERT_OK(jsPubOptions_Init(&o));
    o.ExpectLastSeq = 7;
    ASSERT_JS(JSStreamWrongLastSequenceErr, js_Publish(NULL, js, "p.a", "x", 1, &o, &why));
    o.ExpectLastSeq = 1;
    TEST_ASSERT_EQUAL_UINT64(2, put(js, "p.a", "x", &o));
    ASSERT_OK(jsPubOptions_Init(&o));
    o.ExpectLastMsgId = "two";
    ASSERT_JS(JSStreamWrongLastMsgIDErr, js_Publish(NULL, js, "p.a", "x", 1, &o, &why));
    ASSERT_OK(jsPubOptions_Init(&o));
    o.ExpectStream = "OTHER";
    ASSERT_JS(JSStreamNotMatchErr, js_Publish(NULL, js, "p.a", "x", 1, &o, &why));
    ASSERT_OK(jsPubOptions_Init(&o));
    o.ExpectLastSubjectSeq = 2;
    TEST_ASSERT_EQUAL_UINT64(3, put(js, "p.a", "x", &o));
    ASSERT_OK(jsPubOptions_Init(&o));
    o.ExpectNoMessage = true;
    TEST_ASSERT_EQUAL_UINT64(4, put(js, "p.b", "x", &o));
    ASSERT_JS(JSStreamWrongLastSequenceErr, js_Publish(NULL, js, "p.b", "x", 1, &o, &why));
    ASSERT_NATS(NATS_NO_RESPONDERS, js_Publish(NULL, js, "nowhere", "x", 1, NULL, &why));
    stop(js);
}

static void test_asynchronous_publishes_are_all_stored(void)
{
    jsPubOptions o;
    jsCtx *js = start();

    add_stream(js, "A", "a");
    for (int i = 0; i < 2000; i++)
        ASSERT_OK(js_PublishAsync(js, "a", "text", 4, NULL));
    ASSERT_OK(jsPubOptions_Init(&o));
    o.MaxWait = NATSC_TIMEOUT_MS;
    ASSERT_OK(js_PublishAsyncComplete(js, &o));
    TEST_ASSERT_EQUAL_UINT64(2000, count(js, "A"));
    stop(js);
}

static void check_message(natsMsg *m, const char *subject, uint64_t seq, const char *text)
{
    const char *value = NULL;

    TEST_ASSERT_EQUAL_STRING(subject, natsMsg_GetSubject(m));
    TEST_ASSERT_EQUAL_UINT64(seq, natsMsg_GetSequence(m));
    TEST_ASSERT_EQUAL_STRING_LEN(text, natsMsg_GetData(m), strlen(text));
    TEST_ASSERT_GREATER_THAN_INT64(0, natsMsg_GetTime(m));
    ASSERT_OK(natsMsgHeader_Get(m, "Own", &value));
    TEST_ASSERT_EQUAL_STRING("header", value);
    natsMsg_Destroy(m);
}

static void put_with_header(jsCtx *js, const char *subject, const char *text)
{
    natsMsg *m = NULL;

    ASSERT_OK(natsMsg_Create(&m, subject, NULL, text, (int)strlen(text)));
    ASSERT_OK(natsMsgHeader_Set(m, "Own", "header"));
    ASSERT_OK(js_PublishMsg(NULL, js, m, NULL, &why));
    natsMsg_Destroy(m);
}

static void test_messages_are_read_by_sequence_and_subject(void)
{
    jsDirectGetMsgOptions d;
    natsMsg *m = NULL;
    jsCtx *js = start();

    add_stream(js, "G", "g.*");
    put_with_header(js, "g.a", "first");
    put_with_header(js, "g.b", "second");
    put_with_header(js, "g.a", "third");
    ASSERT_OK(js_GetMsg(&m, js, "G", 1, NULL, &why));
    check_message(m, "g.a", 1, "first");
    ASSERT_OK(js_GetLastMsg(&m, js, "G", "g.a", NULL, &why));
    check_message(m, "g.a", 3, "third");
    ASSERT_JS(JSNoMessageFoundErr, js_GetMsg(&m, js, "G", 9, NULL, &why));

    ASSERT_OK(jsDirectGetMsgOptions_Init(&d));
    d.Sequence = 2;
    ASSERT_OK(js_DirectGetMsg(&m, js, "G", NULL, &d));
    check_message(m, "g.b", 2, "second");
    d.NextBySubject = "g.a";
    ASSERT_OK(js_DirectGetMsg(&m, js, "G", NULL, &d));
    check_message(m, "g.a", 3, "third");
    ASSERT_OK(jsDirectGetMsgOptions_Init(&d));
    d.LastBySubject = "g.b";
    ASSERT_OK(js_DirectGetMsg(&m, js, "G", NULL, &d));
    check_message(m, "g.b", 2, "second");
    d.LastBySubject = "g.none";
    ASSERT_NATS(NATS_NOT_FOUND, js_DirectGetMsg(&m, js, "G", NULL, &d));
    stop(js);
}

static void test_messages_are_deleted_and_purged(void)
{
    jsStreamInfo *si = NULL;
    jsOptions o;
    jsCtx *js = start();

    add_stream(js, "D", "d.*");
    for (int i = 0; i < 10; i++)
        (void)put(js, i % 2 ? "d.odd" : "d.even", "x", NULL);
    ASSERT_OK(js_DeleteMsg(js, "D", 4, NULL, &why));
    ASSERT_OK(js_EraseMsg(js, "D", 5, NULL, &why));
    ASSERT_OK(jsOptions_Init(&o));
    o.Stream.Info.DeletedDetails = true;
    o.Stream.Info.SubjectsFilter = ">";
    ASSERT_OK(js_GetStreamInfo(&si, js, "D", &o, &why));
    TEST_ASSERT_EQUAL_INT(2, si->State.DeletedLen);
    TEST_ASSERT_EQUAL_UINT64(4, si->State.Deleted[0]);
    TEST_ASSERT_EQUAL_INT(2, si->State.Subjects->Count);
    TEST_ASSERT_EQUAL_UINT64(8, si->State.Msgs);
    jsStreamInfo_Destroy(si);

    ASSERT_OK(jsOptions_Init(&o));
    o.Stream.Purge.Subject = "d.odd";
    o.Stream.Purge.Keep = 1;
    ASSERT_OK(js_PurgeStream(js, "D", &o, &why));
    TEST_ASSERT_EQUAL_UINT64(5, count(js, "D"));
    ASSERT_OK(jsOptions_Init(&o));
    o.Stream.Purge.Sequence = 8;
    ASSERT_OK(js_PurgeStream(js, "D", &o, &why));
    TEST_ASSERT_EQUAL_UINT64(2, count(js, "D"));
    ASSERT_OK(js_PurgeStream(js, "D", NULL, &why));
    TEST_ASSERT_EQUAL_UINT64(0, count(js, "D"));
    TEST_ASSERT_EQUAL_UINT64(11, put(js, "d.next", "x", NULL));
    stop(js);
}

static bool marked(void *arg)
{
    natsMsg *m = NULL;
    const char *value = "";
    bool yes;

    if (js_GetLastMsg(&m, arg, "T", "t.key", NULL, NULL) != NATS_OK)
        return false;
    yes = natsMsgHeader_Get(m, "Nats-Marker-Reason", &value) == NATS_OK &&
          strcmp(value, "MaxAge") == 0 && natsMsg_GetDataLength(m) == 0;
    natsMsg_Destroy(m);
    return yes;
}

/* What this library has no words for passes through it unharmed. */
static void test_ttl_header_ends_a_message_with_a_marker(void)
{
    static const char *const config =
        "{\"name\":\"T\",\"subjects\":[\"t.*\"],\"allow_msg_ttl\":true,\"max_msgs_per_subject\":1,"
        "\"subject_delete_marker_ttl\":60000000000}";
    natsMsg *m = NULL, *reply = NULL;
    jsStreamInfo *si = NULL;
    jsStreamConfig c;
    jsCtx *js = start();

    ASSERT_OK(natsConnection_RequestString(&reply, natsc_connect(NULL), "$JS.API.STREAM.CREATE.T",
                                           config, NATSC_TIMEOUT_MS));
    natsMsg_Destroy(reply);
    ASSERT_OK(js_GetStreamInfo(&si, js, "T", NULL, &why));
    TEST_ASSERT_TRUE(si->Config->AllowRollup);
    jsStreamInfo_Destroy(si);
    ASSERT_OK(natsMsg_Create(&m, "t.key", NULL, "value", 5));
    ASSERT_OK(natsMsgHeader_Set(m, "Nats-TTL", "bad"));
    ASSERT_JS(10165, js_PublishMsg(NULL, js, m, NULL, &why));
    ASSERT_OK(natsMsgHeader_Set(m, "Nats-TTL", "1"));
    ASSERT_OK(js_PublishMsg(NULL, js, m, NULL, &why));
    natsMsg_Destroy(m);
    wait_until("the marker", marked, js);
    /* An update by someone who does not know the field would switch it off. */
    ASSERT_OK(jsStreamConfig_Init(&c));
    c.Name = "T";
    ASSERT_JS(JSStreamInvalidConfig, js_UpdateStream(NULL, js, &c, NULL, &why));
    stop(js);
}

static void test_bucket_keeps_the_last_value_of_a_key(void)
{
    kvStore *kv = NULL;
    kvEntry *e = NULL;
    kvConfig c;
    uint64_t rev = 0;
    jsCtx *js = start();

    ASSERT_OK(kvConfig_Init(&c));
    c.Bucket = "B";
    c.History = 5;
    ASSERT_OK(js_CreateKeyValue(&kv, js, &c));
    ASSERT_OK(kvStore_CreateString(&rev, kv, "key", "one"));
    TEST_ASSERT_EQUAL_UINT64(1, rev);
    ASSERT_NATS(NATS_ERR, kvStore_CreateString(NULL, kv, "key", "again"));
    ASSERT_OK(kvStore_UpdateString(&rev, kv, "key", "two", 1));
    ASSERT_NATS(NATS_ERR, kvStore_UpdateString(&rev, kv, "key", "late", 1));
    ASSERT_OK(kvStore_Get(&e, kv, "key"));
    TEST_ASSERT_EQUAL_STRING("two", kvEntry_ValueString(e));
    TEST_ASSERT_EQUAL_UINT64(2, kvEntry_Revision(e));
    kvEntry_Destroy(e);
    ASSERT_OK(kvStore_GetRevision(&e, kv, "key", 1));
    TEST_ASSERT_EQUAL_STRING("one", kvEntry_ValueString(e));
    kvEntry_Destroy(e);
    ASSERT_OK(kvStore_Delete(kv, "key"));
    ASSERT_NATS(NATS_NOT_FOUND, kvStore_Get(&e, kv, "key"));
    ASSERT_OK(kvStore_CreateString(&rev, kv, "key", "back"));
    ASSERT_OK(kvStore_Purge(kv, "key", NULL));
    TEST_ASSERT_EQUAL_UINT64(1, count(js, "KV_B"));
    kvStore_Destroy(kv);
    ASSERT_OK(js_DeleteKeyValue(js, "B"));
    stop(js);
}

static void test_account_tells_its_use(void)
{
    jsAccountInfo *ai = NULL;
    jsCtx *js = start();

    add_stream(js, "U", "u");
    (void)put(js, "u", "text", NULL);
    ASSERT_OK(js_GetAccountInfo(&ai, js, NULL, &why));
    TEST_ASSERT_EQUAL_INT64(1, ai->Streams);
    TEST_ASSERT_GREATER_THAN_UINT64(0, ai->Store);
    TEST_ASSERT_EQUAL_INT64(-1, ai->Limits.MaxStreams);
    jsAccountInfo_Destroy(ai);
    stop(js);
}

void run_stream_tests(void)
{
    RUN_TEST(test_stream_is_added_updated_listed_and_deleted);
    RUN_TEST(test_publish_options_are_obeyed);
    RUN_TEST(test_asynchronous_publishes_are_all_stored);
    RUN_TEST(test_messages_are_read_by_sequence_and_subject);
    RUN_TEST(test_messages_are_deleted_and_purged);
    RUN_TEST(test_ttl_header_ends_a_message_with_a_marker);
    RUN_TEST(test_bucket_keeps_the_last_value_of_a_key);
    RUN_TEST(test_account_tells_its_use);
}
