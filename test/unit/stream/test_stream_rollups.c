/* test_stream_rollups.c: roll-ups of many messages, and many roll-ups, take time slices. */
#include "stream/schedule_impl.h"
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

static void send_many(unsigned n, unsigned each, const char *lines)
{
    struct world_ack *a = calloc(n, sizeof *a);
    char subject[32];

    TEST_ASSERT_NOT_NULL(a);
    for (unsigned i = 0; i < n; i++) {
        snprintf(subject, sizeof subject, "k.%u", i / each);
        world_send(&w, subject, "r", lines, "x", &a[i]);
    }
    world_turns(&w);
    for (unsigned i = 0; i < n; i++)
        TEST_ASSERT_TRUE(a[i].done && a[i].err_code == 0);
    free(a);
}

/* Publishes a roll-up and returns the most messages that a turn removed until its answer. */
static uint64_t roll_up_and_count(const char *subject, const char *hdr, struct world_ack *a)
{
    uint64_t before, now, bytes, last, most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    work_set_steps(w.loop, 1);
    store_accepted(w.stream->store, &before, &bytes, &last);
    world_send(&w, subject, "r", hdr, "sum", a);
    while (!a->done && clock_mono_ns() < give_up) {
        store_accepted(w.stream->store, &now, &bytes, &last);
        most = now < before && before - now > most ? before - now : most;
        before = now;
        loop_turn(w.loop);
    }
    TEST_ASSERT_TRUE(a->done && a->err_code == 0);
    return most;
}

/* Of very many messages of a subject the first go with the roll-up, in its batch; the publisher is
 * answered behind the last. */
static void test_a_roll_up_of_very_many_goes_on_in_slices(void)
{
    struct world_ack a, b;
    uint64_t before, now, bytes, last, most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    world_open(&w, &(struct stream_config){STREAM, .allow_rollup = true});
    send_many(12000, 6000, NULL);
    work_set_steps(w.loop, 1);
    store_accepted(w.stream->store, &before, &bytes, &last);
    world_send(&w, "k.0", "r", "Nats-Rollup: sub\r\n", "sum", &a);
    world_send(&w, "k.0", "r", NULL, "later", &b);
    while (!a.done && clock_mono_ns() < give_up) {
        store_accepted(w.stream->store, &now, &bytes, &last);
        most = now < before && before - now > most ? before - now : most;
        before = now;
        loop_turn(w.loop);
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2000, most);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_TRUE(b.done && b.err_code == 0);
    TEST_ASSERT_EQUAL_UINT64(6002, world_count(&w));
    world_kill(&w); /* what was answered is on disk */
    world_open(&w, &(struct stream_config){STREAM, .allow_rollup = true});
    TEST_ASSERT_EQUAL_UINT64(6002, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.0||later", world_message(&w, b.seq));
}

/* A member of an atomic batch rolls up as many as it likes: the batch is one commit, and the old
 * messages end in time slices before the answer. */
static void test_roll_ups_of_a_batch_go_on_in_slices(void)
{
    const struct stream_config c = {STREAM, .allow_rollup = true, .allow_atomic = true};
    struct world_ack a, first;

    world_open(&w, &c);
    send_many(12000, 4000, NULL);
    world_send(&w, "k.0", "r", "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\nNats-Rollup: sub\r\n",
               "one", &first);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(
        2000, roll_up_and_count("k.1",
                                "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 2\r\nNats-Rollup: sub\r\n"
                                "Nats-Batch-Commit: 1\r\n",
                                &a));
    TEST_ASSERT_EQUAL_UINT64(4002, world_count(&w));
    world_kill(&w); /* what was answered is on disk */
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_UINT64(4002, world_count(&w));
}

/* Of a subject with a wildcard: all subjects that match lose their messages, without markers. */
static void test_a_roll_up_of_a_wildcard_goes_on_in_slices(void)
{
    const struct stream_config c = {STREAM, .allow_rollup = true, .allow_msg_ttl = true,
                                    .subject_delete_marker_ttl_ns = 60 * CLOCK_S};
    struct world_ack a;

    world_open(&w, &c);
    send_many(12000, 4000, NULL);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2000, roll_up_and_count("k.*", "Nats-Rollup: sub\r\n", &a));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.*|Nats-Rollup: sub|sum", world_message(&w, a.seq));
}

/* Messages that were accepted before a roll-up end with it, though no reader has seen them yet. */
static void test_a_roll_up_in_slices_removes_messages_on_their_way_to_the_disk(void)
{
    const struct stream_config c = {STREAM, .allow_rollup = true, .allow_atomic = true};
    struct world_ack a, before, member;

    world_open(&w, &c);
    send_many(3000, 1, NULL);
    world_send(&w, "k.new", "r", NULL, "x", &before);
    world_send(&w, "k.z", "r", "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 1\r\n", "x", &member);
    (void)roll_up_and_count("k.*",
                            "Nats-Batch-Id: b\r\nNats-Batch-Sequence: 2\r\nNats-Rollup: sub\r\n"
                            "Nats-Batch-Commit: 1\r\n",
                            &a);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* A fast batch is acknowledged after the last slice of its roll-ups. */
static void test_a_roll_up_of_a_fast_batch_goes_on_in_slices(void)
{
    const struct stream_config c = {STREAM, .allow_rollup = true, .allow_batched = true};
    uint64_t before, now, bytes, last, most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;
    struct world_ack a, b;

    world_open(&w, &c);
    send_many(12000, 6000, NULL);
    work_set_steps(w.loop, 1);
    store_accepted(w.stream->store, &before, &bytes, &last);
    world_send(&w, "k.0", "r.i.9.fail.1.0.$FI", "Nats-Rollup: sub\r\n", "sum", &a);
    world_send(&w, "k.2", "r.i.9.fail.2.2.$FI", NULL, "end", &b);
    while (!b.done && clock_mono_ns() < give_up) {
        store_accepted(w.stream->store, &now, &bytes, &last);
        most = now < before && before - now > most ? before - now : most;
        before = now;
        loop_turn(w.loop);
    }
    TEST_ASSERT_TRUE(b.done && b.err_code == 0);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2000, most);
    TEST_ASSERT_EQUAL_UINT64(6002, world_count(&w));
    world_kill(&w); /* what was answered is on disk */
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_UINT64(6002, world_count(&w));
}

/* A schedule rolls up its target: nobody waits for an answer. */
static void test_a_roll_up_of_a_schedule_goes_on_in_slices(void)
{
    const struct stream_config c = {STREAM, .allow_rollup = true, .allow_msg_ttl = true,
                                    .allow_msg_schedules = true};
    uint64_t before, now, bytes, last, most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;
    struct world_ack a;

    world_open(&w, &c);
    send_many(6000, 6000, NULL);
    a = world_publish(&w, "k.s",
                      "Nats-Schedule: @every 10s\r\nNats-Schedule-Target: k.0\r\n"
                      "Nats-Schedule-Rollup: sub\r\n",
                      "body");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    work_set_steps(w.loop, 1);
    store_accepted(w.stream->store, &before, &bytes, &last);
    world_time(&w, w.now_ns + 11 * CLOCK_S);
    schedule_run(w.stream);
    do {
        store_accepted(w.stream->store, &now, &bytes, &last);
        most = now < before && before - now > most ? before - now : most;
        before = now;
        loop_turn(w.loop);
    } while (now != 2 && clock_mono_ns() < give_up);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2000, most);
    world_turns(&w); /* the last removals become visible with their commit */
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

static void test_a_roll_up_under_way_is_told_when_the_stream_closes(void)
{
    struct world_ack a;

    world_open(&w, &(struct stream_config){STREAM, .allow_rollup = true});
    send_many(6000, 6000, NULL);
    work_set_steps(w.loop, 1);
    world_send(&w, "k.0", "r", "Nats-Rollup: sub\r\n", "sum", &a);
    loop_turn(w.loop);
    TEST_ASSERT_FALSE(a.done);
    world_close(&w);
    TEST_ASSERT_TRUE(a.done && a.err_code != 0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_observers_are_notified_of_many_roll_ups_in_time_slices);
    RUN_TEST(test_a_roll_up_of_very_many_goes_on_in_slices);
    RUN_TEST(test_roll_ups_of_a_batch_go_on_in_slices);
    RUN_TEST(test_a_roll_up_of_a_wildcard_goes_on_in_slices);
    RUN_TEST(test_a_roll_up_in_slices_removes_messages_on_their_way_to_the_disk);
    RUN_TEST(test_a_roll_up_of_a_fast_batch_goes_on_in_slices);
    RUN_TEST(test_a_roll_up_of_a_schedule_goes_on_in_slices);
    RUN_TEST(test_a_roll_up_under_way_is_told_when_the_stream_closes);
    return UNITY_END();
}
