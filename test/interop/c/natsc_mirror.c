/* natsc_mirror.c: mirrors and sources as nats.c makes them, and reading from them. */
#include "natsc.h"

#include <stdio.h>
#include <string.h>

static jsCtx *js;

static void add(jsStreamConfig *sc)
{
    jsErrCode err = 0;

    ASSERT_OK(js_AddStream(NULL, js, sc, NULL, &err));
    TEST_ASSERT_EQUAL_INT(0, err);
}

/* A stream NAME on SUBJECT with direct gets, and messages m1 to mN on it. */
static void stream(const char *name, const char *subject, int messages)
{
    jsStreamConfig sc;
    char data[16];

    ASSERT_OK(jsStreamConfig_Init(&sc));
    sc.Name = name;
    sc.Subjects = &subject;
    sc.SubjectsLen = 1;
    sc.AllowDirect = true;
    add(&sc);
    for (int i = 1; i <= messages; i++) {
        int len = snprintf(data, sizeof data, "m%d", i);

        ASSERT_OK(js_Publish(NULL, js, subject, data, len, NULL, NULL));
    }
}

static void start(void)
{
    char config[256];

    server_proc_folder(&natsc_server);
    (void)snprintf(config, sizeof config, "jetstream { store_dir: \"%s/js\" }", natsc_server.dir);
    server_proc_start(&natsc_server, config, 0);
    js = natsc_jetstream(natsc_connect(NULL), NATSC_TIMEOUT_MS);
}

static void stop(void)
{
    jsCtx_Destroy(js);
    server_proc_stop(&natsc_server);
}

/* A mirror NAME of stream S. */
static void mirror(const char *name, uint64_t from)
{
    jsStreamConfig sc;
    jsStreamSource m;

    ASSERT_OK(jsStreamSource_Init(&m));
    m.Name = "S";
    m.OptStartSeq = from;
    ASSERT_OK(jsStreamConfig_Init(&sc));
    sc.Name = name;
    sc.Mirror = &m;
    sc.AllowDirect = true;
    sc.MirrorDirect = true;
    add(&sc);
}

struct goal {
    const char *name;
    uint64_t messages;
    jsStreamInfo *si;
};

static bool there(void *arg)
{
    struct goal *g = arg;

    jsStreamInfo_Destroy(g->si);
    g->si = NULL;
    ASSERT_OK(js_GetStreamInfo(&g->si, js, g->name, NULL, NULL));
    return g->si->State.Msgs == g->messages;
}

/* Its info once it has this many messages; the caller's. */
static jsStreamInfo *reaches(const char *name, uint64_t messages)
{
    struct goal g = {.name = name, .messages = messages};

    wait_until(name, there, &g);
    return g.si;
}

static void expect_text(const natsMsg *m, const char *text)
{
    TEST_ASSERT_EQUAL_INT((int)strlen(text), natsMsg_GetDataLength(m));
    TEST_ASSERT_EQUAL_STRING_LEN(text, natsMsg_GetData(m), strlen(text));
}

static void expect_same(const char *a, const char *b, uint64_t seq)
{
    natsMsg *x = NULL, *y = NULL;

    ASSERT_OK(js_GetMsg(&x, js, a, seq, NULL, NULL));
    ASSERT_OK(js_GetMsg(&y, js, b, seq, NULL, NULL));
    TEST_ASSERT_EQUAL_STRING(natsMsg_GetSubject(x), natsMsg_GetSubject(y));
    TEST_ASSERT_EQUAL_INT(natsMsg_GetDataLength(x), natsMsg_GetDataLength(y));
    TEST_ASSERT_EQUAL_STRING_LEN(natsMsg_GetData(x), natsMsg_GetData(y), natsMsg_GetDataLength(x));
    TEST_ASSERT_EQUAL_UINT64(natsMsg_GetSequence(x), natsMsg_GetSequence(y));
    TEST_ASSERT_EQUAL_INT64(natsMsg_GetTime(x), natsMsg_GetTime(y));
    natsMsg_Destroy(x);
    natsMsg_Destroy(y);
}

static void test_a_mirror_holds_what_its_origin_does(void)
{
    jsStreamInfo *si;

    start();
    stream("S", "s", 5);
    mirror("M", 0);
    mirror("LATE", 4);
    ASSERT_OK(js_Publish(NULL, js, "s", "m6", 2, NULL, NULL));
    si = reaches("M", 6);
    TEST_ASSERT_EQUAL_STRING("S", si->Mirror->Name);
    TEST_ASSERT_EQUAL_STRING("S", si->Config->Mirror->Name);
    TEST_ASSERT_EQUAL_INT(0, si->Config->SubjectsLen);
    TEST_ASSERT_EQUAL_INT(0, si->SourcesLen);
    TEST_ASSERT_TRUE(si->Config->MirrorDirect);
    jsStreamInfo_Destroy(si);
    for (uint64_t seq = 1; seq <= 6; seq++)
        expect_same("S", "M", seq);
    si = reaches("LATE", 3);
    TEST_ASSERT_EQUAL_UINT64(4, si->State.FirstSeq);
    jsStreamInfo_Destroy(si);
    stop();
}

static void test_a_mirror_answers_direct_gets_when_its_origin_is_gone(void)
{
    jsDirectGetMsgOptions dgo;
    natsMsg *m = NULL;

    start();
    stream("S", "s", 3);
    mirror("M", 0);
    jsStreamInfo_Destroy(reaches("M", 3));
    ASSERT_OK(js_DeleteStream(js, "S", NULL, NULL));
    ASSERT_OK(jsDirectGetMsgOptions_Init(&dgo));
    dgo.LastBySubject = "s";
    ASSERT_OK(js_DirectGetMsg(&m, js, "S", NULL, &dgo));
    expect_text(m, "m3");
    TEST_ASSERT_EQUAL_UINT64(3, natsMsg_GetSequence(m));
    natsMsg_Destroy(m);
    stop();
}

static void test_a_sourcing_stream_takes_from_two_and_its_own_subjects(void)
{
    jsStreamConfig sc;
    jsStreamSource a, b;
    jsStreamSource *both[] = {&a, &b};
    const char *subject = "own";
    jsStreamInfo *si;
    natsMsg *m = NULL;
    const char *from = NULL;
    int first;

    start();
    stream("S", "s", 2);
    stream("T", "t.*", 0);
    ASSERT_OK(js_Publish(NULL, js, "t.no", "no", 2, NULL, NULL));
    ASSERT_OK(js_Publish(NULL, js, "t.yes", "yes", 3, NULL, NULL));
    ASSERT_OK(jsStreamSource_Init(&a));
    a.Name = "S";
    ASSERT_OK(jsStreamSource_Init(&b));
    b.Name = "T";
    b.FilterSubject = "t.yes";
    ASSERT_OK(jsStreamConfig_Init(&sc));
    sc.Name = "SUM";
    sc.Subjects = &subject;
    sc.SubjectsLen = 1;
    sc.Sources = both;
    sc.SourcesLen = 2;
    add(&sc);
    ASSERT_OK(js_Publish(NULL, js, "own", "own", 3, NULL, NULL));
    si = reaches("SUM", 4);
    TEST_ASSERT_EQUAL_INT(2, si->SourcesLen);
    first = strcmp(si->Sources[0]->Name, "S") == 0 ? 0 : 1; /* nats-server has no order there */
    TEST_ASSERT_EQUAL_STRING("S", si->Sources[first]->Name);
    TEST_ASSERT_EQUAL_STRING("T", si->Sources[1 - first]->Name);
    TEST_ASSERT_NULL(si->Mirror);
    jsStreamInfo_Destroy(si);
    ASSERT_OK(js_GetLastMsg(&m, js, "SUM", "t.yes", NULL, NULL));
    expect_text(m, "yes");
    ASSERT_OK(natsMsgHeader_Get(m, "Nats-Stream-Source", &from));
    TEST_ASSERT_EQUAL_STRING_LEN("T 2 t.yes > t.yes ", from, 18);
    natsMsg_Destroy(m);
    stop();
}

static void test_consumers_read_from_a_mirror(void)
{
    natsSubscription *sub = NULL;
    jsSubOptions so;
    natsMsgList list;

    start();
    stream("S", "s", 4);
    mirror("M", 0);
    jsStreamInfo_Destroy(reaches("M", 4));
    ASSERT_OK(jsSubOptions_Init(&so));
    so.Stream = "M";
    ASSERT_OK(js_PullSubscribe(&sub, js, "s", "D", NULL, &so, NULL));
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 4, NATSC_TIMEOUT_MS, NULL));
    TEST_ASSERT_EQUAL_INT(4, list.Count);
    for (int i = 0; i < list.Count; i++)
        ASSERT_OK(natsMsg_AckSync(list.Msgs[i], NULL, NULL));
    expect_text(list.Msgs[3], "m4");
    natsMsgList_Destroy(&list);
    ASSERT_OK(js_Publish(NULL, js, "s", "m5", 2, NULL, NULL));
    ASSERT_OK(natsSubscription_Fetch(&list, sub, 1, NATSC_TIMEOUT_MS, NULL));
    expect_text(list.Msgs[0], "m5");
    natsMsgList_Destroy(&list);
    natsSubscription_Destroy(sub);
    stop();
}

static void test_a_mirror_is_promoted_by_an_update(void)
{
    jsStreamConfig sc;
    jsPubAck *pa = NULL;
    const char *subject = "s";

    start();
    stream("S", "s", 3);
    mirror("M", 0);
    jsStreamInfo_Destroy(reaches("M", 3));
    ASSERT_OK(js_DeleteStream(js, "S", NULL, NULL));
    ASSERT_OK(jsStreamConfig_Init(&sc));
    sc.Name = "M";
    sc.Subjects = &subject;
    sc.SubjectsLen = 1;
    ASSERT_OK(js_UpdateStream(NULL, js, &sc, NULL, NULL));
    ASSERT_OK(js_Publish(&pa, js, "s", "m4", 2, NULL, NULL));
    TEST_ASSERT_EQUAL_STRING("M", pa->Stream);
    TEST_ASSERT_EQUAL_UINT64(4, pa->Sequence);
    jsPubAck_Destroy(pa);
    stop();
}

void run_mirror_tests(void)
{
    RUN_TEST(test_a_mirror_holds_what_its_origin_does);
    RUN_TEST(test_a_mirror_answers_direct_gets_when_its_origin_is_gone);
    RUN_TEST(test_a_sourcing_stream_takes_from_two_and_its_own_subjects);
    RUN_TEST(test_consumers_read_from_a_mirror);
    RUN_TEST(test_a_mirror_is_promoted_by_an_update);
}
