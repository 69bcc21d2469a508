/* test_stream_throttle.c: how many removals one commit applies, by the number of consumers that are
 * notified of each. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

#define MESSAGES 6000u

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

struct watcher {
    struct stream_observer o;
    size_t consumers;
    unsigned gone, in_turn, most;
};

static void on_stored(struct stream_observer *o, const struct stream_msg *m)
{
    (void)o;
    (void)m;
}

static void on_gone(struct stream_observer *o, uint64_t seq, struct mf_slice subject)
{
    struct watcher *x = mf_container(o, struct watcher, o);

    (void)seq;
    (void)subject;
    x->gone++;
    if (++x->in_turn > x->most)
        x->most = x->in_turn;
}

static void on_purged(struct stream_observer *o, uint64_t first, uint64_t last)
{
    for (; first <= last; first++)
        on_gone(o, first, MF_SLICE_NONE);
}

static size_t count_consumers(const struct stream_observer *o)
{
    return mf_container(o, const struct watcher, o)->consumers;
}

static void answered(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    op->count = e == NULL ? count : 0;
    op->done = NULL;
}

static void send_messages(void)
{
    static struct world_ack acks[MESSAGES];
    char subject[32];

    for (unsigned i = 0; i < MESSAGES; i++) {
        snprintf(subject, sizeof subject, "k.%u", i % 3000);
        world_send(&w, subject, "r", NULL, "x", &acks[i]);
    }
    world_turns(&w);
    TEST_ASSERT_TRUE(acks[MESSAGES - 1].done && acks[MESSAGES - 1].err_code == 0);
}

/* As many slices in each turn as the purge wants to have. */
static void purge_all_of(struct mf_slice filter, uint64_t below, struct watcher *x)
{
    struct stream_op op = {.done = answered};
    struct work_task *t = &w.stream->purge.task;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    stream_purge(w.stream, filter, below, 0, &op);
    while (op.done != NULL && clock_mono_ns() < give_up) {
        for (int n = 0; n < 1000 && work_queued(t); n++) {
            work_cancel(w.loop, t);
            if (t->run(t))
                work_add(w.loop, w.stream->owner, t);
        }
        x->in_turn = 0;
        loop_turn(w.loop);
    }
    TEST_ASSERT_NULL(op.done);
    TEST_ASSERT_EQUAL_UINT64(MESSAGES - 1, op.count);
}

static void test_a_commit_applies_fewer_removals_the_more_consumers_there_are(void)
{
    static const struct {
        size_t consumers;
        unsigned least, most;
    } rows[] = {{0, 2000, 4500}, {1, 500, 1250}, {20, 32, 130}, {1000, 8, 32}};

    for (size_t i = 0; i < 2 * MF_COUNT(rows); i++) {
        struct watcher x = {.o = {.stored = on_stored,
                                  .gone = on_gone,
                                  .purged = on_purged,
                                  .count = count_consumers},
                            .consumers = rows[i / 2].consumers};
        char row[48];
        snprintf(row, sizeof row, "%zu consumers, %s", x.consumers, i % 2 ? "range" : "filter");
        world_open(&w, &(struct stream_config){STREAM});
        send_messages();
        stream_observe(w.stream, &x.o);
        purge_all_of(i % 2 ? MF_SLICE_NONE : MF_LIT("k.*"), MESSAGES, &x);
        stream_unobserve(&x.o);
        TEST_ASSERT_EQUAL_UINT_MESSAGE(MESSAGES - 1, x.gone, row);
        TEST_ASSERT_LESS_OR_EQUAL_UINT_MESSAGE(rows[i / 2].most, x.most, row);
        TEST_ASSERT_GREATER_OR_EQUAL_UINT_MESSAGE(rows[i / 2].least, x.most, row);
        world_fini(&w);
        world_init(&w);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_commit_applies_fewer_removals_the_more_consumers_there_are);
    return UNITY_END();
}
