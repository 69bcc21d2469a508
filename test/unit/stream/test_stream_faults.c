/* test_stream_faults.c: the disk fails at every possible moment of what a stream is asked to do.
 * What was acknowledged is there after the next start; what was not is there as a whole or not at
 * all. */
#include "stream/stream_impl.h"
#include "support/fault_io.h"
#include "support/stream_deeds.h"

#include "base/clock.h"

#include "unity.h"

static struct world w;
static struct mf_buf before, after, now;

void setUp(void)
{
    before = after = now = (struct mf_buf)MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&before);
    mf_buf_fini(&after);
    mf_buf_fini(&now);
}

static void read_back(const struct deed *d)
{
    world_kill(&w);
    fault_io_disarm(w.io);
    fault_io_cold(w.io, false);
    world_open(&w, &d->cfg);
    world_text(&w, &now);
}

/* What is planned fails; true: it came to that. */
static bool done_or_not(const struct deed *d, const struct fault_plan *plan, bool cold)
{
    struct deed_told t;

    deed_start(d, &w, fault_io_new);
    fault_io_cold(w.io, cold);
    fault_io_arm(w.io, plan);
    d->ask(&w, &t);
    world_turns(&w);
    bool hit = fault_io_hit(w.io);
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, t.calls, d->name);
    if ((plan->kinds & FAULT_READ) == 0 && plan->code == MF_IO && t.err_code != 0)
        TEST_ASSERT_NOT_NULL_MESSAGE(stream_error(w.stream), d->name);
    read_back(d);
    if (t.err_code == 0 || !mf_eq(mf_buf_slice(&before), mf_buf_slice(&now)))
        TEST_ASSERT_EQUAL_STRING_MESSAGE(mf_buf_cstr(&after), mf_buf_cstr(&now), d->name);
    world_fini(&w);
    return hit;
}

/* The nth change of the files and all after it fail. */
static void test_a_deed_on_a_failing_disk_is_done_or_not(void)
{
    for (size_t i = 0; i < deed_count; i++) {
        struct fault_plan p = {.kinds = FAULT_MUTATING, .code = MF_IO, .forever = true};
        deed_expect(&deeds[i], &before, &after);
        for (p.nth = 1; done_or_not(&deeds[i], &p, false); p.nth++)
            ;
    }
}

/* Nothing is in memory any more: what has to be known is read, and comes to the same. */
static void test_a_deed_on_cold_files_is_done_all_the_same(void)
{
    struct deed_told t;

    for (size_t i = 0; i < deed_count; i++) {
        const struct deed *d = &deeds[i];
        deed_expect(d, &before, &after);
        deed_start(d, &w, fault_io_new);
        fault_io_cold(w.io, true);
        d->ask(&w, &t);
        world_turns(&w);
        TEST_ASSERT_EQUAL_INT_MESSAGE(1, t.calls, d->name);
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, t.err_code, d->name);
        read_back(d);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(mf_buf_cstr(&after), mf_buf_cstr(&now), d->name);
        world_fini(&w);
    }
}

/* Writes until there is no room; the last answer. */
static struct world_ack fill_up(const struct deed *d, unsigned most)
{
    static char body[2048];
    struct world_ack a = {0};

    memset(body, 'f', sizeof body - 1);
    for (unsigned i = 0; i < most && a.err_code == 0; i++)
        a = d->cfg.allow_msg_counter ? world_publish(&w, "k.f", "Nats-Incr: 1\r\n", "")
                                     : world_publish(&w, "k.f", NULL, body);
    return a;
}

static bool turn_until(const int *calls, int turns)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    for (int i = 0; *calls == 0 && i < turns && clock_mono_ns() < give_up; i++)
        loop_turn(w.loop);
    return *calls == 1;
}

/* The disk is full: what takes room is refused and nothing of it happens, or it waits; what frees
 * some is done.  When there is room again, the stream goes on without a restart. */
static void full_disk(const struct deed *d, unsigned *refused)
{
    struct deed_told t;

    deed_start(d, &w, fault_io_new);
    fault_io_budget(w.io, 0);
    TEST_ASSERT_EQUAL_INT_MESSAGE(10023, fill_up(d, 20000).err_code, d->name);
    world_text(&w, &before);
    d->ask(&w, &t);
    bool told = turn_until(&t.calls, 20);
    TEST_ASSERT_NULL_MESSAGE(stream_error(w.stream), d->name);
    *refused += told && t.err_code != 0;
    fault_io_budget(w.io, UINT64_MAX);
    TEST_ASSERT_TRUE_MESSAGE(turn_until(&t.calls, INT32_MAX), d->name);
    world_text(&w, &now);
    TEST_ASSERT_EQUAL_MESSAGE(t.err_code == 0, !mf_eq(mf_buf_slice(&before), mf_buf_slice(&now)),
                              d->name);
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    while (fill_up(d, 1).err_code != 0 && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, fill_up(d, 1).err_code, d->name);
    world_fini(&w);
}

static void test_a_full_disk_refuses_deeds_and_is_left_behind(void)
{
    unsigned refused = 0;

    for (size_t i = 0; i < deed_count; i++)
        full_disk(&deeds[i], &refused);
    TEST_ASSERT_GREATER_THAN_UINT(0, refused);
}

/* --- reading what is not in memory --------------------------------------------------------------
 */

static char *subjects[] = {(char *)"k.>"};
static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};
static uint64_t sought;
static int loads, load_status;

static void on_sought(struct stream_seek *k, uint64_t seq)
{
    (void)k;
    sought = seq;
}

static void on_loaded(struct stream_load *l, int status)
{
    (void)l;
    loads++;
    load_status = status;
}

static uint64_t seek(int64_t ts_ns)
{
    struct stream_seek k = {.ts_ns = ts_ns, .done = on_sought};

    sought = UINT64_MAX;
    if (stream_seek(w.stream, &k, &sought))
        return sought;
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, sought); /* not from inside the call */
    world_turns(&w);
    return sought;
}

/* Message i of ten is from second i. */
static int64_t ten_messages(void)
{
    int64_t start = w.now_ns;

    for (int i = 1; i <= 10; i++) {
        w.now_ns = start + i * CLOCK_S;
        world_publish(&w, "k.a", NULL, "x");
    }
    return start;
}

static void test_cold_messages_are_read_without_stopping_the_loop(void)
{
    struct stream_load l = {.seq = 7, .done = on_loaded};
    struct stream_state t;
    struct stream_msg m;

    world_init(&w);
    world_wrap(&w, fault_io_new);
    world_open(&w, &plain);
    TEST_ASSERT_EQUAL_UINT64(0, seek(0)); /* nothing is there */
    int64_t start = ten_messages();
    world_close(&w);
    world_open(&w, &plain);
    fault_io_cold(w.io, true);
    TEST_ASSERT_EQUAL_INT(MF_AGAIN, stream_get(w.stream, 7, &m));
    loads = 0;
    TEST_ASSERT_EQUAL_INT(0, stream_load(w.stream, &l));
    TEST_ASSERT_EQUAL_INT(0, loads);
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(1, loads);
    TEST_ASSERT_EQUAL_INT(0, load_status);
    for (int i = 1; i <= 10; i++)
        TEST_ASSERT_EQUAL_UINT64(i, seek(start + i * CLOCK_S));
    TEST_ASSERT_EQUAL_UINT64(4, seek(start + 3 * CLOCK_S + 1));
    TEST_ASSERT_EQUAL_UINT64(0, seek(start + 11 * CLOCK_S));
    TEST_ASSERT_EQUAL_UINT64(7, stream_at_time(w.stream, start + 7 * CLOCK_S, 10));
    TEST_ASSERT_EQUAL_UINT64(0, stream_at_time(w.stream, start + 11 * CLOCK_S, 10));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    stream_state(w.stream, &t);
    TEST_ASSERT_EQUAL_INT64(start + 2 * CLOCK_S, t.first_ts_ns);
    world_fini(&w);
}

/* A sector that cannot be read hides its messages from nobody but those who ask for them. */
static void test_reads_that_fail_are_told_and_passed_over(void)
{
    struct stream_load l = {.seq = 7, .done = on_loaded};
    struct stream_state t;

    world_init(&w);
    world_wrap(&w, fault_io_new);
    world_open(&w, &plain);
    int64_t start = ten_messages();
    fault_io_cold(w.io, true);
    fault_io_arm(
        w.io, &(struct fault_plan){.kinds = FAULT_READ, .nth = 1, .code = MF_IO, .forever = true});
    loads = 0;
    TEST_ASSERT_EQUAL_INT(0, stream_load(w.stream, &l));
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(1, loads);
    TEST_ASSERT_NOT_EQUAL(0, load_status);
    TEST_ASSERT_EQUAL_UINT64(0, seek(start)); /* it ends */
    stream_state(w.stream, &t);
    TEST_ASSERT_EQUAL_UINT64(10, t.msgs);
    TEST_ASSERT_EQUAL_INT64(CLOCK_ZERO, t.first_ts_ns);
    fault_io_disarm(w.io);
    TEST_ASSERT_EQUAL_UINT64(5, seek(start + 5 * CLOCK_S));
    /* One that fails: its neighbour tells as well. */
    fault_io_arm(w.io, &(struct fault_plan){.kinds = FAULT_READ, .nth = 1, .code = MF_IO});
    TEST_ASSERT_EQUAL_UINT64(2, seek(start + 2 * CLOCK_S));
    TEST_ASSERT_TRUE(fault_io_hit(w.io));
    world_fini(&w);
}

/* --- deaths while a group waits -----------------------------------------------------------------
 */

static void turn_for(int64_t ns)
{
    int64_t end = clock_mono_ns() + ns;

    while (clock_mono_ns() < end)
        loop_turn(w.loop);
}

/* Up to the moment before k.mortal dies; from then on no write finds what it needs. */
static void wait_with_a_group(int code, struct world_ack *a)
{
    const struct stream_config marked = {.name = (char *)"S",
                                         .subjects = {subjects, 1},
                                         .max_msgs_per_subject = 1,
                                         .allow_msg_ttl = true,
                                         .allow_rollup = true,
                                         .subject_delete_marker_ttl_ns = 3600 * CLOCK_S};
    world_init(&w);
    world_wrap(&w, fault_io_new);
    world_open(&w, &marked);
    TEST_ASSERT_EQUAL_UINT64(1, world_publish(&w, "k.mortal", "Nats-TTL: 1s\r\n", "x").seq);
    w.now_ns += CLOCK_S - 20 * CLOCK_MS;
    stream_clock_stepped(w.stream);
    fault_io_arm(
        w.io, &(struct fault_plan){.kinds = FAULT_WRITE, .nth = 1, .code = code, .forever = true});
    world_send(&w, "k.waits", "reply", NULL, "y", a);
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    while (!store_full(w.stream->store) && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(store_full(w.stream->store));
}

/* Its moment comes while a group waits for memory or space, and nobody writes to the stream when
 * that is over: it has its marker all the same. */
static void test_who_dies_while_a_group_waits_is_swept_when_that_is_over(void)
{
    const int codes[] = {MF_NOMEM, MF_FULL};

    for (size_t i = 0; i < 2; i++) {
        struct world_ack a = {0};
        wait_with_a_group(codes[i], &a);
        w.now_ns += 40 * CLOCK_MS;
        turn_for(50 * CLOCK_MS);
        TEST_ASSERT_TRUE(store_full(w.stream->store));
        TEST_ASSERT_FALSE(a.done);
        fault_io_disarm(w.io);
        int64_t give_up = clock_mono_ns() + 3 * CLOCK_S;
        while (world_message(&w, 3)[0] == '\0' && clock_mono_ns() < give_up)
            loop_turn(w.loop);
        TEST_ASSERT_EQUAL_UINT64(2, a.seq);
        TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "k.mortal|Nats-Marker-Reason: MaxAge"));
        world_fini(&w);
    }
}

static void lives_changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct deed_told *t = mf_container(op, struct deed_told, op);

    (void)count;
    t->calls++;
    t->err_code = e == NULL ? 0 : e->err_code;
}

/* SET, TOUCH and PERSIST: who asked is told, and the message ends when it would have ended. */
static void test_a_new_deadline_on_a_failing_disk_is_refused(void)
{
    const struct deed *d = &deeds[1]; /* three messages, TTLs allowed */
    struct fault_plan p = {.kinds = FAULT_MUTATING, .code = MF_IO, .forever = true, .nth = 1};
    struct stream_deadline_change to = {.seq = 1, .infinite = true, .pinned = true};
    struct deed_told t = {.op.done = lives_changed};
    struct stream_lifetime life;

    deed_start(d, &w, fault_io_new);
    fault_io_arm(w.io, &p);
    stream_change_deadlines(w.stream, STREAM_LIFE_PERSIST, &to, 1, &t.op);
    TEST_ASSERT_TRUE(turn_until(&t.calls, INT32_MAX));
    TEST_ASSERT_EQUAL_INT(10077, t.err_code);
    t = (struct deed_told){.op.done = lives_changed}; /* and from then on */
    stream_change_deadlines(w.stream, STREAM_LIFE_PERSIST, &to, 1, &t.op);
    TEST_ASSERT_TRUE(turn_until(&t.calls, INT32_MAX));
    TEST_ASSERT_EQUAL_INT(10077, t.err_code);
    read_back(d);
    TEST_ASSERT_TRUE(stream_lifetime(w.stream, 1, &life));
    TEST_ASSERT_FALSE(life.infinite || life.pinned);
    world_fini(&w);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_deed_on_a_failing_disk_is_done_or_not);
    RUN_TEST(test_a_deed_on_cold_files_is_done_all_the_same);
    RUN_TEST(test_a_full_disk_refuses_deeds_and_is_left_behind);
    RUN_TEST(test_who_dies_while_a_group_waits_is_swept_when_that_is_over);
    RUN_TEST(test_a_new_deadline_on_a_failing_disk_is_refused);
    RUN_TEST(test_cold_messages_are_read_without_stopping_the_loop);
    RUN_TEST(test_reads_that_fail_are_told_and_passed_over);
    return UNITY_END();
}
