/* test_stream_nomem.c: memory runs out at every possible moment of what a stream is asked to do: it
 * is done as a whole or not at all, the answer says which, and the stream goes on. */
#include "stream/schedule_impl.h"
#include "stream/stream_impl.h"
#include "support/no_memory.h"
#include "support/stream_deeds.h"

#include "base/clock.h"

#include "unity.h"

#include <stdlib.h>

static struct world w;
static struct mf_buf before, after, now, last;

void setUp(void)
{
    before = after = now = last = (struct mf_buf)MF_BUF_INIT;
}

void tearDown(void)
{
    fail_at = 0;
    mf_buf_fini(&before);
    mf_buf_fini(&after);
    mf_buf_fini(&now);
    mf_buf_fini(&last);
}

static void assert_text(const struct mf_buf *want, const char *deed)
{
    world_text(&w, &now);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(mf_buf_cstr((struct mf_buf *)want), mf_buf_cstr(&now), deed);
}

/* Every line of a but those of markers is one of b's. */
static bool within(const struct mf_buf *a, struct mf_buf *b)
{
    char *line, *copy = mf_slice_dup(mf_buf_slice(a));
    bool all = true;

    for (char *at = copy; (line = strsep(&at, "\n")) != NULL;)
        all = all &&
              (strstr(line, "Nats-Marker-Reason") != NULL || strstr(mf_buf_cstr(b), line) != NULL);
    free(copy);
    return all;
}

static void check_result(const struct deed *d, int err_code)
{
    if (err_code == 0 && (d->loose & DEED_LATE) != 0) {
        /* It comes to its end by itself. */
        int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
        for (world_text(&w, &now);
             !mf_eq(mf_buf_slice(&now), mf_buf_slice(&after)) && clock_mono_ns() < give_up;
             world_text(&w, &now))
            loop_turn(w.loop);
        assert_text(&after, d->name);
    } else if (err_code != 0 && (d->loose & DEED_PART) != 0) {
        world_text(&w, &now);
        TEST_ASSERT_TRUE_MESSAGE(within(&after, &now) && within(&now, &before), d->name);
    } else if (err_code != 0 && (d->loose & DEED_UNSURE) != 0) {
        world_text(&w, &now);
        assert_text(mf_eq(mf_buf_slice(&now), mf_buf_slice(&after)) ? &after : &before, d->name);
    } else {
        assert_text(err_code == 0 ? &after : &before, d->name);
    }
}

/* The nth allocation of the deed and of all that follows from it fails; true: it came to that. */
static bool ask_failing(const struct deed *d, long n, struct deed_told *t)
{
    allocations = 0;
    fail_at = n;
    d->ask(&w, t);
    world_turns(&w);
    bool hit = allocations >= n;
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, t->calls, d->name);
    return hit;
}

static void all_or_nothing(const struct deed *d)
{
    struct deed_told t;
    bool hit = true;

    deed_expect(d, &before, &after);
    for (long n = 1; hit; n++) {
        deed_start(d, &w, NULL);
        hit = ask_failing(d, n, &t);
        check_result(d, t.err_code);
        if (t.err_code != 0 && d->loose == 0) { /* nothing stands in the way of another attempt */
            d->ask(&w, &t);
            world_turns(&w);
            TEST_ASSERT_EQUAL_INT_MESSAGE(0, t.err_code, d->name);
            assert_text(&after, d->name);
            t.err_code = -1;
        }
        struct world_ack a =
            world_publish(&w, "k.z", d->cfg.allow_msg_counter ? "Nats-Incr: 1\r\n" : NULL, "");
        TEST_ASSERT_EQUAL_STRING_MESSAGE("", a.text, d->name); /* it is not broken */
        world_text(&w, &last);
        world_kill(&w);
        world_open(&w, &d->cfg);
        assert_text(&last, d->name); /* and the same on disk */
        world_fini(&w);
    }
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, t.err_code, d->name);
}

static void test_a_deed_without_memory_is_done_or_not(void)
{
    for (size_t i = 0; i < deed_count; i++)
        all_or_nothing(&deeds[i]);
}

/* --- opening -----------------------------------------------------------------------------------
 */

/* Ids, schedules and a sweep that is under way: all of it has to be read back. */
static char *two[] = {(char *)"S", (char *)"k.>"};
static const struct stream_config rich = {
    .name = (char *)"S",
    .subjects = {two, 2},
    .allow_msg_ttl = true,
    .allow_msg_schedules = true,
    .republish = &(struct stream_republish){(char *)">", (char *)"copy.>", false}};

static void leave_a_sweep(void)
{
    struct mf_slice sweep = mf_slice("\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);

    TEST_ASSERT_EQUAL_INT(0, store_blob_put(w.stream->store, MF_LIT(BLOB_REDEADLINE), sweep, NULL));
    world_turns(&w);
}

static void fill_rich(void)
{
    world_publish(&w, "S", "Nats-Msg-Id: 1\r\n", "one");
    world_publish(&w, "S", "Nats-Msg-Id: 2\r\n", "two");
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1)); /* its id is in a blob now */
    world_publish(&w, "S", "Nats-Msg-Id: 3\r\n", "three");
    struct world_ack a = world_publish(
        &w, "k.s", "Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n", "four");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    leave_a_sweep();
}

static void assert_rich(void)
{
    assert_text(&before, "opened");
    TEST_ASSERT_EQUAL_size_t(1, w.stream->schedules->table.count);
    for (int i = 1; i <= 3; i++) {
        char line[] = "Nats-Msg-Id: 0\r\n";
        line[13] = (char)('0' + i);
        TEST_ASSERT_TRUE(world_publish(&w, "S", line, "again").duplicate);
    }
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    struct mf_slice bytes;
    while (w.stream->redeadline != NULL && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_NULL(w.stream->redeadline); /* it came to its end */
    TEST_ASSERT_FALSE(store_blob_get(w.stream->store, MF_LIT(BLOB_REDEADLINE), &bytes));
}

/* What is refused leaves the store and the configuration with the caller, who may try again. */
static void test_opening_without_memory_can_be_tried_again(void)
{
    struct store_opts o = {.name = "S"};
    struct stream_config c = rich;
    struct js_error je;
    struct mf_error e;
    bool hit = true;

    world_init(&w);
    world_open(&w, &rich);
    fill_rich();
    world_text(&w, &before);
    world_kill(&w);
    TEST_ASSERT_EQUAL_INT(
        0, stream_config_check(&c,
                               &(struct stream_config_world){.max_stream_bytes_memory = -1,
                                                             .max_stream_bytes_file = -1},
                               &je));
    for (long n = 1; hit; n++) {
        struct store *st;
        struct stream_config moved;
        TEST_ASSERT_EQUAL_INT(0, store_open(&st, &o, w.io, &e));
        TEST_ASSERT_EQUAL_INT(0, store_attach(st, w.loop, &e));
        stream_config_init(&moved);
        TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&moved, &c));
        allocations = 0;
        fail_at = n;
        int rc = stream_new(&w.stream, &moved, 7, st, &w.host, &e);
        hit = allocations >= n;
        fail_at = 0;
        if (rc != 0) {
            TEST_ASSERT_EQUAL_INT_MESSAGE(MF_NOMEM, rc, e.text);
            TEST_ASSERT_EQUAL_STRING("S", moved.name);
            TEST_ASSERT_EQUAL_INT(0, stream_new(&w.stream, &moved, 7, st, &w.host, &e));
        }
        world_turns(&w);
        if (rc != 0 || !hit)
            assert_rich();
        TEST_ASSERT_EQUAL_INT64(7, stream_created_ns(w.stream));
        leave_a_sweep();
        world_kill(&w);
    }
    stream_config_fini(&c);
    world_fini(&w);
}

/* --- reading ------------------------------------------------------------------------------------
 */

static uint64_t loaded;

static void on_loaded(struct stream_load *l, int status)
{
    loaded = status == 0 && mf_eq_str(l->msg.payload, "three") ? l->seq : 0;
}

static uint64_t walk(bool last_per_subject)
{
    struct stream_cursor *c;
    uint64_t seq, digits = 0;
    bool more = false;

    if (stream_cursor_new(&c, w.stream, MF_LIT("k.*"), last_per_subject, 0) != 0)
        return UINT64_MAX;
    while ((seq = stream_cursor_next(c, &more)) != 0 || more)
        digits = seq == 0 ? digits : digits * 10 + seq;
    stream_cursor_free(c);
    return digits;
}

/* Readers get the truth or hear that there is no memory; 0 is never a lie about one message. */
static void test_reading_without_memory_tells_no_lies(void)
{
    static char *subjects[] = {(char *)"k.>"};
    static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};
    bool hit = true;

    world_init(&w);
    world_open(&w, &plain);
    world_publish(&w, "k.a", NULL, "one");
    world_publish(&w, "k.b", NULL, "two");
    world_publish(&w, "k.a", NULL, "three");
    for (long n = 1; hit; n++) {
        struct stream_load l = {.seq = 3, .done = on_loaded};
        allocations = 0;
        fail_at = n;
        uint64_t all = walk(false), newest = walk(true);
        int rc = stream_load(w.stream, &l);
        hit = allocations >= n;
        fail_at = 0;
        loaded = 0;
        world_turns(&w);
        TEST_ASSERT_TRUE(all == 123 || all == UINT64_MAX);
        TEST_ASSERT_TRUE(newest == 23 || newest == UINT64_MAX);
        TEST_ASSERT_TRUE(rc == 0 ? loaded == 3 : rc == MF_NOMEM && loaded == 0);
    }
    world_fini(&w);
}

static struct purging {
    struct stream_op op;
    unsigned calls, refused;
    uint64_t then; /* messages when the answer came */
} purging;

static void on_purged(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    purging.calls++;
    purging.refused += e != NULL;
    purging.then = world_count(&w);
}

/* The answer is the end of it: who reads after a refusal sees all that the purge has done. */
static void test_a_purge_that_is_refused_half_way_does_nothing_after_its_answer(void)
{
    static char *subjects[] = {(char *)"k.>"};
    static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};
    unsigned halves = 0;
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &plain);
        for (char k = 'a'; k < 'i'; k++)
            world_publish(&w, (const char[]){'k', '.', k, '\0'}, NULL, "value");
        purging = (struct purging){.op.done = on_purged};
        allocations = 0;
        fail_at = n;
        stream_purge(w.stream, MF_LIT("k.*"), 0, 0, &purging.op);
        bool at_once = purging.calls > 0;
        world_turns(&w);
        hit = allocations >= n;
        fail_at = 0;
        world_turns(&w);
        TEST_ASSERT_EQUAL_UINT(1, purging.calls);
        TEST_ASSERT_EQUAL_UINT64(purging.then, world_count(&w));
        TEST_ASSERT_TRUE(purging.refused != 0 || purging.then == 0);
        if (purging.refused != 0 && purging.then == 8)
            TEST_ASSERT_TRUE(at_once); /* nothing to wait for, which may take long */
        halves += purging.refused != 0 && purging.then > 0 && purging.then < 8;
        world_fini(&w);
    }
    TEST_ASSERT_GREATER_THAN_UINT(0, halves);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_deed_without_memory_is_done_or_not);
    RUN_TEST(test_opening_without_memory_can_be_tried_again);
    RUN_TEST(test_reading_without_memory_tells_no_lies);
    RUN_TEST(test_a_purge_that_is_refused_half_way_does_nothing_after_its_answer);
    return UNITY_END();
}
