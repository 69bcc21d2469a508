/* test_stream_rollups.c: observers are notified of roll-ups in order, in time slices. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};

#define STREAM .name = (char *)"S", .subjects = {subjects, 1}

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static unsigned rollups;
static struct mf_buf order;

static void rollup_seen(struct stream_observer *o, struct mf_slice filter)
{
    (void)o;
    rollups++;
    mf_buf_append(&order, filter.ptr, filter.len);
    mf_buf_byte(&order, ' ');
}
static void stored_seen(struct stream_observer *o, const struct stream_msg *m)
{
    (void)o, (void)m;
}
static void gone_seen(struct stream_observer *o, uint64_t seq, struct mf_slice key)
{
    (void)o, (void)seq, (void)key;
}
static void purged_seen(struct stream_observer *o, uint64_t first, uint64_t last)
{
    (void)o, (void)first, (void)last;
}

/* Thousands of roll-ups are committed together: observers are notified of each, in order, some in
 * each turn. */
static void test_observers_are_notified_of_many_roll_ups_in_time_slices(void)
{
    enum { MANY = 3000, MOST = 200 };
    static struct world_ack last;
    struct stream_observer o = {
        .stored = stored_seen, .gone = gone_seen, .purged = purged_seen, .purge_done = rollup_seen};
    struct world_ack *a = calloc(MANY, sizeof *a);
    struct mf_buf expected = MF_BUF_INIT;
    unsigned turns = 0;
    char subject[32];

    TEST_ASSERT_NOT_NULL(a);
    world_open(&w, &(struct stream_config){STREAM, .allow_rollup = true});
    stream_observe(w.stream, &o);
    rollups = 0;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(subject, sizeof subject, "k.%u", i);
        mf_buf_printf(&expected, "%s ", subject);
        world_send(&w, subject, i + 1 == MANY ? "r" : NULL, "Nats-Rollup: sub\r\n", "x",
                   i + 1 == MANY ? &last : &a[i]);
    }
    work_set_steps(w.loop, 10);
    for (; rollups < MANY && turns < 100000; turns++) {
        unsigned before = rollups;
        loop_turn(w.loop);
        TEST_ASSERT_LESS_OR_EQUAL_UINT(MOST, rollups - before);
    }
    work_set_steps(w.loop, 0);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT(MANY, rollups);
    TEST_ASSERT_EQUAL_STRING(mf_buf_cstr(&expected), mf_buf_cstr(&order));
    TEST_ASSERT_EQUAL_size_t(0, w.stream->notify.rollups.len);
    stream_unobserve(&o);
    mf_buf_fini(&expected);
    mf_buf_fini(&order);
    free(a);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_observers_are_notified_of_many_roll_ups_in_time_slices);
    return UNITY_END();
}
