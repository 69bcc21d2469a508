/* natsc_life.c: nats.c when the server restarts, goes lame or drains. */
#include "natsc.h"

#include <signal.h>
#include <stdatomic.h>

/* Not on the stack: nats.c may call back once more while tearDown() closes the connection. */
static atomic_int left, back, told, closed, heard;

static void raise_flag(natsConnection *nc, void *arg)
{
    (void)nc;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static bool raised(void *arg)
{
    return atomic_load((atomic_int *)arg) > 0;
}

static natsOptions *stubborn(void)
{
    natsOptions *o = natsc_options();

    ASSERT_OK(natsOptions_SetAllowReconnect(o, true));
    ASSERT_OK(natsOptions_SetMaxReconnect(o, 1000));
    ASSERT_OK(natsOptions_SetReconnectWait(o, 20));
    ASSERT_OK(natsOptions_SetReconnectJitter(o, 1, 1));
    return o;
}

static void test_client_comes_back_after_a_restart(void)
{
    natsSubscription *sub = NULL;
    natsOptions *o;
    natsConnection *nc;
    int port;

    server_proc_start(&natsc_server, "", 0);
    o = stubborn();
    ASSERT_OK(natsOptions_SetDisconnectedCB(o, raise_flag, &left));
    ASSERT_OK(natsOptions_SetReconnectedCB(o, raise_flag, &back));
    nc = natsc_connect(o);
    ASSERT_OK(natsConnection_SubscribeSync(&sub, nc, "after"));
    ASSERT_OK(natsConnection_FlushTimeout(nc, NATSC_TIMEOUT_MS));
    port = natsc_server.port;
    server_proc_stop(&natsc_server);
    wait_until("the client did not notice", raised, &left);
    server_proc_start(&natsc_server, "", port);
    wait_until("the client did not come back", raised, &back);
    ASSERT_OK(natsConnection_PublishString(nc, "after", "hello"));
    natsc_expect(sub, "hello");
    natsSubscription_Destroy(sub);
    natsc_works(nc);
    server_proc_stop(&natsc_server);
}

static void test_lame_duck_is_announced(void)
{
    natsOptions *o;

    server_proc_start(&natsc_server, "lame_duck_duration: \"30s\", lame_duck_grace_period: \"10s\"",
                      0);
    o = natsc_options();
    ASSERT_OK(natsOptions_SetLameDuckModeCB(o, raise_flag, &told));
    natsc_works(natsc_connect(o));
    TEST_ASSERT_EQUAL_INT(0, kill(natsc_server.pid, SIGUSR2));
    wait_until("no lame duck notice", raised, &told);
}

static void count(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)sub;
    raise_flag(nc, arg);
    natsMsg_Destroy(m);
}

static void test_draining_a_connection_ends_it(void)
{
    natsSubscription *sub = NULL;
    natsOptions *o;
    natsConnection *nc;

    server_proc_start(&natsc_server, "", 0);
    o = natsc_options();
    ASSERT_OK(natsOptions_SetClosedCB(o, raise_flag, &closed));
    nc = natsc_connect(o);
    ASSERT_OK(natsConnection_Subscribe(&sub, nc, "d", count, &heard));
    for (int i = 0; i < 100; i++)
        ASSERT_OK(natsConnection_PublishString(nc, "d", "last words"));
    ASSERT_OK(natsConnection_Drain(nc));
    wait_until("the connection did not close", raised, &closed);
    TEST_ASSERT_EQUAL_INT(100, atomic_load(&heard));
    natsSubscription_Destroy(sub);
    server_proc_stop(&natsc_server);
}

void run_life_tests(void)
{
    RUN_TEST(test_client_comes_back_after_a_restart);
    RUN_TEST(test_lame_duck_is_announced);
    RUN_TEST(test_draining_a_connection_ends_it);
}
