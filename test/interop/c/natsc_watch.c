/* natsc_watch.c: nats.c's KV watchers while the server is killed and started again. */
#include "natsc.h"

#include <stdio.h>
#include <string.h>

/* Changes in each life.  No key outgrows HISTORY, so that nothing may be missing. */
enum { WATCHERS = 4, LIVES = 4, CHANGES = 150, KEYS = 25 };
#define HISTORY 64
/* A watcher's request that is lost with the server is sent again after this. */
#define LOST_MS (NATSC_TIMEOUT_MS / 4)

static char config[256];

static natsConnection *patient_client(void)
{
    natsOptions *o = natsc_options();

    ASSERT_OK(natsOptions_SetAllowReconnect(o, true));
    ASSERT_OK(natsOptions_SetMaxReconnect(o, 100000));
    ASSERT_OK(natsOptions_SetReconnectWait(o, 20));
    ASSERT_OK(natsOptions_SetReconnectJitter(o, 1, 1));
    return natsc_connect(o);
}

static kvStore *open_bucket(natsConnection *nc, jsCtx **js, int64_t ms)
{
    kvStore *kv = NULL;

    *js = natsc_jetstream(nc, ms);
    ASSERT_OK(js_KeyValue(&kv, *js, "B"));
    return kv;
}

static void make_bucket(void)
{
    kvStore *kv = NULL;
    jsCtx *js = natsc_jetstream(natsc_connect(NULL), NATSC_TIMEOUT_MS);
    kvConfig kc;

    ASSERT_OK(kvConfig_Init(&kc));
    kc.Bucket = "B";
    kc.History = HISTORY;
    ASSERT_OK(js_CreateKeyValue(&kv, js, &kc));
    kvStore_Destroy(kv);
    jsCtx_Destroy(js);
}

/* Change N, which becomes revision N: by turns puts, deletes, and purges of keys that hold nothing
 * else, because a purge takes away what a watcher may not have seen yet. */
static kvOperation operation(int n, char *key, size_t size)
{
    (void)snprintf(key, size, n % 10 == 9 ? "purged.%d" : "k.%d", n % 10 == 9 ? n : n * 7 % KEYS);
    return n % 10 == 9 ? kvOp_Purge : n % 5 == 3 ? kvOp_Delete : kvOp_Put;
}

static void change(kvStore *kv, int n)
{
    char key[32], value[16];
    uint64_t rev = (uint64_t)n;

    switch (operation(n, key, sizeof key)) {
    case kvOp_Delete:
        ASSERT_OK(kvStore_Delete(kv, key));
        break;
    case kvOp_Purge:
        ASSERT_OK(kvStore_Purge(kv, key, NULL));
        break;
    default:
        (void)snprintf(value, sizeof value, "v%d", n);
        ASSERT_OK(kvStore_PutString(&rev, kv, key, value));
    }
    TEST_ASSERT_EQUAL_UINT64((uint64_t)n, rev);
}

/* The next change that the watcher tells of is N; NULL tells that it has seen what was there at
 * first. */
static void expect_change(kvWatcher *w, int n)
{
    char key[32], value[16];
    kvEntry *e = NULL;
    kvOperation op = operation(n, key, sizeof key);
    int len = op == kvOp_Put ? snprintf(value, sizeof value, "v%d", n) : 0;

    while (e == NULL)
        ASSERT_OK(kvWatcher_Next(&e, w, NATSC_TIMEOUT_MS));
    TEST_ASSERT_EQUAL_UINT64((uint64_t)n, kvEntry_Revision(e));
    TEST_ASSERT_EQUAL_STRING(key, kvEntry_Key(e));
    TEST_ASSERT_EQUAL_INT(op, kvEntry_Operation(e));
    TEST_ASSERT_EQUAL_INT(len, kvEntry_ValueLen(e));
    if (len > 0)
        TEST_ASSERT_EQUAL_STRING_LEN(value, kvEntry_Value(e), (size_t)len);
    kvEntry_Destroy(e);
}

/* One life: changes, each acked; the last ones are on their way to the watchers when the server is
 * killed.  The writer's client ends with it: nothing is sent twice. */
static void live(int first)
{
    natsConnection *nc = NULL;
    natsOptions *o = NULL;
    jsCtx *js = NULL;
    kvStore *kv;

    ASSERT_OK(natsOptions_Create(&o));
    ASSERT_OK(natsOptions_SetURL(o, natsc_server.url));
    ASSERT_OK(natsOptions_SetAllowReconnect(o, false));
    ASSERT_OK(natsOptions_SetTimeout(o, NATSC_TIMEOUT_MS));
    ASSERT_OK(natsConnection_Connect(&nc, o));
    kv = open_bucket(nc, &js, NATSC_TIMEOUT_MS);
    for (int i = 0; i < CHANGES; i++)
        change(kv, first + i);
    server_proc_kill(&natsc_server);
    kvStore_Destroy(kv);
    jsCtx_Destroy(js);
    natsConnection_Destroy(nc);
    natsOptions_Destroy(o);
}

static void test_watchers_see_each_change_once_through_kills(void)
{
    kvWatcher *watchers[WATCHERS];
    kvStore *stores[WATCHERS];
    jsCtx *contexts[WATCHERS];
    int port;

    server_proc_folder(&natsc_server);
    (void)snprintf(config, sizeof config, "jetstream { store_dir: \"%s/js\" }", natsc_server.dir);
    server_proc_start(&natsc_server, config, 0);
    port = natsc_server.port;
    make_bucket();
    for (int i = 0; i < WATCHERS; i++) {
        stores[i] = open_bucket(patient_client(), &contexts[i], LOST_MS);
        ASSERT_OK(kvStore_WatchAll(&watchers[i], stores[i], NULL));
    }
    for (int i = 0; i < LIVES; i++) {
        live(i * CHANGES + 1);
        server_proc_start(&natsc_server, config, port);
    }
    for (int i = 0; i < WATCHERS; i++) {
        kvEntry *e = NULL;

        for (int n = 1; n <= LIVES * CHANGES; n++)
            expect_change(watchers[i], n);
        ASSERT_NATS(NATS_TIMEOUT, kvWatcher_Next(&e, watchers[i], 100));
        kvWatcher_Destroy(watchers[i]);
        kvStore_Destroy(stores[i]);
        jsCtx_Destroy(contexts[i]);
    }
    server_proc_stop(&natsc_server);
}

void run_watch_tests(void)
{
    RUN_TEST(test_watchers_see_each_change_once_through_kills);
}
