/* test_backfill.c: the policy applied to messages that were there before it. */
#include "stream/lifetime_impl.h"
#include "support/stream_world.h"

#include "stream/backfill.h"
#include "base/clock.h"

#include "unity.h"

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static struct json_pair ten = {(char *)"mayfly.ttl.default", (char *)"100s"};
static const struct stream_config before = {
    .name = (char *)"S", .subjects = {subjects, 1}, .allow_msg_ttl = true};
static const struct stream_config governed = {.name = (char *)"S",
                                              .subjects = {subjects, 1},
                                              .allow_msg_ttl = true,
                                              .metadata = {&ten, 1, true}};

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static void put_many(int n)
{
    struct world_ack a;

    for (int i = 0; i < n; i++) {
        a = world_publish(&w, i % 2 == 0 ? "k.a" : "k.b", NULL, "x");
        TEST_ASSERT_EQUAL_STRING("", a.text);
    }
}

/* As an owner does it: the messages first, the policy later. */
static void govern(void)
{
    world_close(&w);
    world_open(&w, &governed);
}

static int told;
static void on_disk(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    told = e == NULL ? 0 : e->err_code;
}

static int start(struct backfill_opts o)
{
    static struct stream_op op;

    op = (struct stream_op){.done = on_disk};
    o.rate = BACKFILL_RATE_MAX;
    told = -1;
    return backfill_start(w.stream, &o, &op);
}

static const struct backfill_status *finish(void)
{
    for (int i = 0; i < 100000 && backfill_status(w.stream)->state == BACKFILL_RUNNING; i++) {
        loop_turn(w.loop);
        world_turns(&w);
    }
    TEST_ASSERT_EQUAL_INT(0, told);
    return backfill_status(w.stream);
}

static struct stream_lifetime state(uint64_t seq)
{
    struct stream_lifetime l = {.deadline_ns = -1};

    (void)!stream_lifetime(w.stream, seq, &l);
    return l;
}

static void test_R000_67_old_messages_get_the_ttl_of_the_policy(void)
{
    world_open(&w, &before);
    put_many(1200);
    govern();
    int64_t now = w.now_ns += 50 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){0}));
    const struct backfill_status *st = finish();
    TEST_ASSERT_EQUAL_INT(BACKFILL_DONE, st->state);
    TEST_ASSERT_EQUAL_UINT64(1200, st->set);
    TEST_ASSERT_EQUAL_UINT64(1200, st->decided[POLICY_BY_DEFAULT]);
    for (uint64_t seq = 1; seq <= 1200; seq++)
        TEST_ASSERT_EQUAL_INT64(now + 100 * CLOCK_S, state(seq).deadline_ns);
}

static void test_R000_85_a_dry_run_writes_nothing(void)
{
    struct store_stats a, b;

    world_open(&w, &before);
    put_many(700);
    govern();
    store_stats(w.stream->store, &a);
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.dry_run = true}));
    TEST_ASSERT_EQUAL_UINT64(700, finish()->set);
    store_stats(w.stream->store, &b);
    TEST_ASSERT_EQUAL_UINT64(a.bytes_written, b.bytes_written);
    TEST_ASSERT_EQUAL_INT64(0, state(1).deadline_ns);
}

/* Killed in the middle: the same base, so the same deadlines, whenever it goes on. */
static void test_a_restart_changes_no_result(void)
{
    world_open(&w, &before);
    put_many(3000);
    govern();
    int64_t base = w.now_ns;
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.spread_ns = CLOCK_S}));
    for (int i = 0; i < 10000000 && backfill_status(w.stream)->seen < 1000; i++)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(backfill_status(w.stream)->seen >= 1000);
    TEST_ASSERT_EQUAL_INT(BACKFILL_RUNNING, backfill_status(w.stream)->state);
    backfill_stop(w.stream); /* world_kill() lets jobs end: this one would begin the next slice */
    world_kill(&w);
    w.now_ns += 30 * CLOCK_S;
    world_open(&w, &governed);
    told = 0;
    const struct backfill_status *st = finish();
    TEST_ASSERT_EQUAL_UINT64(3000, st->seen);
    TEST_ASSERT_EQUAL_UINT64(3000, st->set);
    TEST_ASSERT_EQUAL_UINT64(0, st->unchanged);
    for (uint64_t seq = 1; seq <= 3000; seq++) {
        int64_t late = state(seq).deadline_ns - base - 100 * CLOCK_S;
        TEST_ASSERT_TRUE(late >= 0 && late < CLOCK_S);
        TEST_ASSERT_EQUAL_INT64(state(seq % 2 == 0 ? 2 : 1).deadline_ns, state(seq).deadline_ns);
    }
}

/* Those of an encrypted stream are opened: a slice ends after a megabyte. */
static void test_large_messages_make_slices_short(void)
{
    static char body[300000];

    memset(body, 'x', sizeof body - 1);
    world_open(&w, &before);
    for (int i = 0; i < 20; i++)
        TEST_ASSERT_EQUAL_STRING("", world_publish(&w, "k.a", NULL, body).text);
    govern();
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){0}));
    for (int i = 0; i < 10000000 && backfill_status(w.stream)->seen == 0; i++)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(backfill_status(w.stream)->seen > 0);
    TEST_ASSERT_TRUE(backfill_status(w.stream)->seen <= 4);
    TEST_ASSERT_EQUAL_UINT64(20, finish()->set);
}

/* What would end at once needs a number: nothing of the kind is touched without it. */
static void test_R000_78_immediate_deaths_need_a_confirmation(void)
{
    world_open(&w, &before);
    put_many(10);
    govern();
    w.now_ns += 200 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.written = true}));
    const struct backfill_status *st = finish();
    TEST_ASSERT_EQUAL_INT(BACKFILL_FAILED, st->state);
    TEST_ASSERT_NOT_NULL(st->error);
    TEST_ASSERT_EQUAL_UINT64(10, world_count(&w));
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.written = true, .expire_now = 10}));
    TEST_ASSERT_EQUAL_INT(BACKFILL_DONE, finish()->state);
    world_time(&w, w.now_ns + 1);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* An end that was set in the past is reached when it was set: no expiry was late. */
static void test_immediate_deaths_are_not_late(void)
{
    struct stream_op op = {.done = on_disk};

    world_open(&w, &before);
    put_many(3);
    govern();
    w.now_ns += 200 * CLOCK_S;
    struct stream_deadline_change c = {.seq = 3, .deadline_ns = w.now_ns - 100 * CLOCK_S};
    stream_change_deadlines(w.stream, STREAM_LIFE_SET, &c, 1, &op);
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.written = true, .expire_now = 10}));
    TEST_ASSERT_EQUAL_INT(BACKFILL_DONE, finish()->state);
    world_time(&w, w.now_ns + 1);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_LESS_THAN_INT64(2, expire_late_max(w.stream));
}

static void test_messages_that_were_set_by_hand_are_left_alone(void)
{
    struct stream_op op = {.done = on_disk};
    struct stream_deadline_change c = {.seq = 2, .infinite = true, .pinned = true};

    world_open(&w, &before);
    put_many(3);
    (void)world_publish(&w, "k.c", "Nats-TTL: 7\r\n", "x");
    (void)world_publish(&w, "k.d", "Nats-TTL: never\r\n", "x");
    stream_change_deadlines(w.stream, STREAM_LIFE_PERSIST, &c, 1, &op);
    world_turns(&w);
    govern();
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){.all = true}));
    const struct backfill_status *st = finish();
    TEST_ASSERT_EQUAL_UINT64(1, st->pinned);
    TEST_ASSERT_TRUE(state(2).infinite);
    TEST_ASSERT_EQUAL_UINT64(5, st->seen);
    TEST_ASSERT_EQUAL_INT64(w.now_ns + 7 * CLOCK_S, state(4).deadline_ns); /* the writer's own */
}

static void test_one_job_at_a_time(void)
{
    struct stream_op op = {.done = on_disk};

    world_open(&w, &before);
    put_many(2000);
    govern();
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, backfill_set_state(w.stream, BACKFILL_STOPPED, &op));
    TEST_ASSERT_EQUAL_INT(0, start((struct backfill_opts){0}));
    TEST_ASSERT_EQUAL_INT(MF_EXISTS,
                          backfill_start(w.stream, &(struct backfill_opts){.rate = 1}, &op));
    TEST_ASSERT_EQUAL_INT(0, backfill_set_state(w.stream, BACKFILL_PAUSED, &op));
    world_turns(&w);
    uint64_t seen = backfill_status(w.stream)->seen;
    for (int i = 0; i < 100; i++)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_UINT64(seen, backfill_status(w.stream)->seen);
    TEST_ASSERT_EQUAL_INT(0, backfill_set_state(w.stream, BACKFILL_RUNNING, &op));
    TEST_ASSERT_EQUAL_UINT64(2000, finish()->seen);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, backfill_set_state(w.stream, BACKFILL_PAUSED, &op));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R000_67_old_messages_get_the_ttl_of_the_policy);
    RUN_TEST(test_R000_85_a_dry_run_writes_nothing);
    RUN_TEST(test_a_restart_changes_no_result);
    RUN_TEST(test_large_messages_make_slices_short);
    RUN_TEST(test_R000_78_immediate_deaths_need_a_confirmation);
    RUN_TEST(test_immediate_deaths_are_not_late);
    RUN_TEST(test_messages_that_were_set_by_hand_are_left_alone);
    RUN_TEST(test_one_job_at_a_time);
    return UNITY_END();
}
