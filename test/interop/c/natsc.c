/* natsc.c: nats.c, the C client, against the server named by MAYFLYD. */
#include "natsc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct server_proc natsc_server;
static natsOptions *options[NATSC_MAX];
static natsConnection *connections[NATSC_MAX];
static size_t noptions, nconnections;

void setUp(void)
{
}

void tearDown(void)
{
    while (nconnections > 0)
        natsConnection_Destroy(connections[--nconnections]);
    while (noptions > 0)
        natsOptions_Destroy(options[--noptions]);
    server_proc_end(&natsc_server);
}

natsOptions *natsc_options(void)
{
    natsOptions *o = NULL;

    TEST_ASSERT_TRUE(noptions < NATSC_MAX);
    ASSERT_OK(natsOptions_Create(&o));
    options[noptions++] = o;
    ASSERT_OK(natsOptions_SetURL(o, natsc_server.url));
    ASSERT_OK(natsOptions_SetAllowReconnect(o, false));
    ASSERT_OK(natsOptions_SetTimeout(o, NATSC_TIMEOUT_MS));
    return o;
}

bool natsc_signature_lost;

natsConnection *natsc_connect(natsOptions *o)
{
    natsConnection *nc = NULL;
    natsStatus s;

    TEST_ASSERT_TRUE(nconnections < NATSC_MAX);
    if (o == NULL)
        o = natsc_options();
    s = natsConnection_Connect(&nc, o);
    if (s == NATS_CONNECTION_AUTH_FAILED && natsc_signature_lost)
        s = natsConnection_Connect(&nc, o);
    ASSERT_OK(s);
    connections[nconnections++] = nc;
    return nc;
}

jsCtx *natsc_jetstream(natsConnection *nc, int64_t ms)
{
    jsCtx *js = NULL;
    jsOptions o;

    ASSERT_OK(jsOptions_Init(&o));
    o.Wait = ms;
    ASSERT_OK(natsConnection_JetStream(&js, nc, &o));
    return js;
}

void natsc_refused(natsOptions *o, natsStatus why)
{
    natsConnection *nc = NULL;
    natsStatus got = natsConnection_Connect(&nc, o);

    natsConnection_Destroy(nc);
    TEST_ASSERT_EQUAL_STRING(natsStatus_GetText(why), natsStatus_GetText(got));
}

void natsc_expect(natsSubscription *sub, const char *expected)
{
    natsMsg *m = NULL;

    ASSERT_OK(natsSubscription_NextMsg(&m, sub, NATSC_TIMEOUT_MS));
    TEST_ASSERT_EQUAL_size_t(strlen(expected), (size_t)natsMsg_GetDataLength(m));
    TEST_ASSERT_EQUAL_STRING_LEN(expected, natsMsg_GetData(m), strlen(expected));
    natsMsg_Destroy(m);
}

void natsc_works(natsConnection *nc)
{
    natsSubscription *sub = NULL;

    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "works"));
    ASSERT_OK(natsConnection_PublishString(nc, "works", "yes"));
    natsc_expect(sub, "yes");
    natsSubscription_Destroy(sub);
}

int main(void)
{
    int failed;

    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a sanitizer ends the process without a flush */
    (void)signal(SIGPIPE, SIG_IGN);
    UNITY_BEGIN();
    run_core_tests();
    run_auth_tests();
    run_life_tests();
    run_js_tests();
    run_mirror_tests();
    run_stream_tests();
    run_watch_tests();
    failed = UNITY_END();
    /* A deadline: what a failed test left open must not hang the run. */
    return nats_CloseAndWait(NATSC_TIMEOUT_MS) != NATS_OK || failed;
}
