/* test_batch.c: atomic and fast batches: all or nothing, on disk before the answer, limits. */
#include "stream/stream_impl.h"
#include "support/store_watch.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config both = {.name = (char *)"S",
                                          .subjects = {subjects, 1},
                                          .allow_atomic = true,
                                          .allow_batched = true,
                                          .allow_rollup = true,
                                          .allow_msg_ttl = true};

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
    TEST_ASSERT_EQUAL_UINT64(0, w.batches); /* none is counted when its stream is gone */
    TEST_ASSERT_EQUAL_UINT64(0, w.fasts);
}

/* commit: "1", "eob" or NULL. */
static void send(const char *id, int seq, const char *commit, const char *subject, const char *more,
                 struct world_ack *a)
{
    char lines[512];

    snprintf(lines, sizeof lines, "Nats-Batch-Id: %s\r\nNats-Batch-Sequence: %d\r\n%s%s%s%s", id,
             seq, commit != NULL ? "Nats-Batch-Commit: " : "", commit != NULL ? commit : "",
             commit != NULL ? "\r\n" : "", more);
    world_send(&w, subject, "r", lines, "x", a);
}
static struct world_ack put(const char *id, int seq, const char *commit, const char *subject,
                            const char *more)
{
    struct world_ack a;

    send(id, seq, commit, subject, more, &a);
    world_turns(&w);
    TEST_ASSERT_TRUE(a.done);
    return a;
}
static const char *said(void)
{
    return mf_buf_cstr(&w.said);
}

/* --- atomic -------------------------------------------------------------------------------- */

/* A reader acts on what it sees: half a batch would be worse than none. */
static void test_batch_becomes_visible_in_one_step(void)
{
    struct world_ack a;

    world_open(&w, &both);
    for (int i = 1; i < 20; i++)
        TEST_ASSERT_TRUE(put("i", i, NULL, "k.a", "").empty);
    send("i", 20, "1", "k.a", "", &a);
    for (int i = 0; i < 1000 && !a.done; i++) {
        TEST_ASSERT_TRUE(world_count(&w) == 0 || world_count(&w) == 20);
        loop_turn(w.loop);
    }
    TEST_ASSERT_EQUAL_UINT64(20, a.seq);
    TEST_ASSERT_EQUAL_UINT64(20, a.batch_count);
    TEST_ASSERT_EQUAL_STRING("i", a.batch);
    TEST_ASSERT_EQUAL_UINT64(20, world_count(&w));
}

/* After a crash the store has whole batches of its own or nothing: so all must be in one. */
static void test_commit_is_one_batch_of_the_store(void)
{
    world_open(&w, &both);
    put("i", 1, NULL, "k.a", "");
    put("i", 2, NULL, "k.a", "");
    watch_reset();
    TEST_ASSERT_EQUAL_UINT64(3, put("i", 3, "1", "k.b", "Nats-Rollup: sub\r\n").seq);
    TEST_ASSERT_EQUAL_UINT(1, watch.batches);
    TEST_ASSERT_EQUAL_UINT(3, watch.inside);
    TEST_ASSERT_EQUAL_UINT(0, watch.loose);
}

static void test_committed_batch_survives_a_kill_and_one_under_way_does_not(void)
{
    world_open(&w, &both);
    put("i", 1, NULL, "k.a", "Nats-Msg-Id: m\r\n");
    TEST_ASSERT_EQUAL_UINT64(2, put("i", 2, "1", "k.b", "").seq);
    put("j", 1, NULL, "k.a", "");
    world_kill(&w);
    TEST_ASSERT_EQUAL_UINT64(0, w.batches);
    world_open(&w, &both);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_INT(10176, put("j", 2, "1", "k.a", "").err_code);
    TEST_ASSERT_EQUAL_INT(10201, put("i", 1, "1", "k.a", "Nats-Msg-Id: m\r\n").err_code);
}

/* A value that the next message of the same batch replaces must not cost another one its life. */
static void test_batch_pushes_out_as_if_its_messages_had_come_one_by_one(void)
{
    for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
        struct stream_config c = both;

        c.max_msgs_per_subject = 1;
        if (by_bytes)
            c.max_bytes = 600; /* five of them, not six */
        else
            c.max_msgs = 5;
        world_open(&w, &c);
        for (int i = 0; i < 3; i++) /* as long as those of the batch */
            (void)put(i == 0   ? "x"
                      : i == 1 ? "y"
                               : "z",
                      1, "1",
                      i == 0   ? "k.b"
                      : i == 1 ? "k.c"
                               : "k.a",
                      "");
        put("i", 1, NULL, "k.d", "");
        put("i", 2, NULL, "k.a", "");
        TEST_ASSERT_EQUAL_UINT64(6, put("i", 3, "1", "k.a", "").seq);
        TEST_ASSERT_EQUAL_UINT64(4, world_count(&w));
        TEST_ASSERT_NOT_EQUAL(0, world_message(&w, 1)[0]);
        /* One that does need room takes the oldest, and no more. */
        put("j", 1, NULL, "k.e", "");
        put("j", 2, NULL, "k.f", "");
        TEST_ASSERT_EQUAL_UINT64(9, put("j", 3, "1", "k.f", "").seq);
        TEST_ASSERT_EQUAL_UINT64(5, world_count(&w));
        TEST_ASSERT_EQUAL_INT(0, world_message(&w, 1)[0]);
        world_close(&w);
        world_fini(&w);
        world_init(&w);
    }
}

/* What a schedule's last message ends is what was there before it, not what follows in its batch.
 */
static void test_schedule_that_ends_in_a_batch_takes_nothing_behind_it(void)
{
    struct stream_config c = both;
    char large[2000];

    c.allow_msg_schedules = true;
    c.allow_rollup = true;
    c.max_bytes = 1 << 20;
    world_open(&w, &c);
    for (int i = 1; i <= 5; i++)
        (void)world_publish(&w, "k.a", NULL, "x");
    snprintf(large, sizeof large, "Pad: %01500d\r\n", 1);
    put("i", 1, NULL, "k.b", "Nats-Schedule-Next: purge\r\nNats-Scheduler: k.x\r\n");
    TEST_ASSERT_EQUAL_UINT64(7, put("i", 2, "1", "k.x", "").seq);
    TEST_ASSERT_EQUAL_UINT64(7, world_count(&w));
    (void)world_publish(&w, "k.a", large, "x");
    TEST_ASSERT_EQUAL_UINT64(8, world_count(&w));
}

/* Refusals leave no trace: nothing stored, no id remembered, the batch gone. */
static void test_refused_batch_leaves_nothing(void)
{
    world_open(&w, &both);
    put("i", 1, NULL, "k.a", "Nats-Msg-Id: m\r\n");
    TEST_ASSERT_EQUAL_INT(10071,
                          put("i", 2, "1", "k.b", "Nats-Expected-Last-Sequence: 9\r\n").err_code);
    TEST_ASSERT_EQUAL_UINT64(0, w.batches);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(1, put("i", 1, "1", "k.a", "Nats-Msg-Id: m\r\n").seq);
}

/* The state before the batch decides, not what it will do itself. */
static void test_expectations_are_those_before_the_batch(void)
{
    world_open(&w, &both);
    world_publish(&w, "k.a", NULL, "x");
    put("i", 1, NULL, "k.a", "Nats-Expected-Last-Subject-Sequence: 1\r\n");
    TEST_ASSERT_EQUAL_INT(
        10164, put("i", 2, "1", "k.a", "Nats-Expected-Last-Subject-Sequence: 2\r\n").err_code);
    put("i", 1, NULL, "k.a", "Nats-Expected-Last-Sequence: 1\r\n");
    TEST_ASSERT_EQUAL_UINT64(
        3, put("i", 2, "1", "k.b", "Nats-Expected-Last-Subject-Sequence: 0\r\n").seq);
}

static void test_discard_new_counts_the_whole_batch(void)
{
    struct stream_config c = both;

    c.discard = DISCARD_NEW;
    c.max_msgs = 3;
    world_open(&w, &c);
    world_publish(&w, "k.a", NULL, "x");
    put("i", 1, NULL, "k.a", "");
    put("i", 2, NULL, "k.a", "");
    TEST_ASSERT_EQUAL_STRING("maximum messages exceeded", put("i", 3, "1", "k.a", "").text);
    put("i", 1, NULL, "k.a", "");
    TEST_ASSERT_EQUAL_UINT64(3, put("i", 2, "1", "k.a", "").seq);
}

static void test_silence_ends_a_batch_and_an_advisory_tells(void)
{
    world_open(&w, &both);
    put("i", 1, NULL, "k.a", "");
    w.now_ns += 6 * CLOCK_S;
    put("j", 1, NULL, "k.a", "");
    put("i", 2, NULL, "k.a", ""); /* lives on */
    w.now_ns += 9 * CLOCK_S;
    batch_drop_silent(w.stream);
    TEST_ASSERT_EQUAL_STRING("", said());
    w.now_ns += CLOCK_S;
    batch_drop_silent(w.stream);
    TEST_ASSERT_EQUAL_STRING("abandoned|j|timeout\nabandoned|i|timeout\n", said());
    TEST_ASSERT_EQUAL_INT(10176, put("i", 3, "1", "k.a", "").err_code);
}

/* Staged copies are memory that a client could fill. */
static void test_too_many_bytes_end_a_batch(void)
{
    char *big = calloc(1, 8u << 20);
    struct world_ack a;
    char lines[128];
    int i;

    TEST_ASSERT_NOT_NULL(big);
    memset(big, 'x', (8u << 20) - 1);
    world_open(&w, &both);
    for (i = 1; i <= 8; i++) {
        snprintf(lines, sizeof lines, "Nats-Batch-Id: i\r\nNats-Batch-Sequence: %d\r\n", i);
        world_send(&w, "k.a", "r", lines, big, &a);
        world_turns(&w);
        if (a.err_code != 0)
            break;
    }
    free(big);
    TEST_ASSERT_EQUAL_INT(8, i);
    TEST_ASSERT_EQUAL_INT(10199, a.err_code);
    TEST_ASSERT_EQUAL_STRING("abandoned|i|large\n", said());
    TEST_ASSERT_EQUAL_UINT64(0, w.batches);
}

static void test_only_so_many_batches_at_a_time(void)
{
    w.host.batch_max_per_stream = 2;
    world_open(&w, &both);
    put("a", 1, NULL, "k.a", "");
    put("b", 1, NULL, "k.a", "");
    TEST_ASSERT_EQUAL_INT(10210, put("c", 1, NULL, "k.a", "").err_code);
    put("a", 2, "1", "k.a", "");
    TEST_ASSERT_TRUE(put("c", 1, NULL, "k.a", "").empty);
    w.host.batch_max_per_stream = 50;
    w.host.batch_max_total = 2;
    TEST_ASSERT_EQUAL_INT(10210, put("d", 1, NULL, "k.a", "").err_code);
}

static void test_rollup_in_a_batch_spares_the_batch(void)
{
    world_open(&w, &both);
    for (int i = 0; i < 3; i++)
        world_publish(&w, "k.a", NULL, "old");
    put("i", 1, NULL, "k.b", "Nats-Rollup: all\r\n");
    put("i", 2, NULL, "k.a", "");
    TEST_ASSERT_EQUAL_UINT64(6, put("i", 3, "1", "k.a", "").seq);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
}

/* --- fast ---------------------------------------------------------------------------------- */

static void fast(int seq, int op, const char *lines, struct world_ack *a)
{
    char reply[64];

    snprintf(reply, sizeof reply, "r.i.2.fail.%d.%d.$FI", seq, op);
    world_send(&w, "k.a", reply, lines, "x", a);
}

/* A flow message acknowledges: it may not go out before the disk has what it speaks of. */
static void test_flow_messages_wait_for_the_disk(void)
{
    struct world_ack a[4];

    world_open(&w, &both);
    fast(1, 0, NULL, &a[0]);
    TEST_ASSERT_TRUE(a[0].done && a[0].silent);
    fast(2, 1, NULL, &a[1]);
    fast(3, 1, NULL, &a[2]);
    fast(4, 2, NULL, &a[3]);
    TEST_ASSERT_NULL(strstr(said(), "\"seq\":2"));
    TEST_ASSERT_FALSE(a[3].done);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("r.i.2.fail.1.0.$FI||{\"type\":\"ack\",\"seq\":0,\"msgs\":2}\n"
                             "r.i.2.fail.2.1.$FI||{\"type\":\"ack\",\"seq\":2,\"msgs\":2}\n",
                             said());
    TEST_ASSERT_EQUAL_UINT64(4, a[3].seq);
    TEST_ASSERT_EQUAL_UINT64(4, a[3].batch_count);
    TEST_ASSERT_EQUAL_UINT64(0, w.fasts);
}

static void test_fast_batch_is_forgotten_in_silence(void)
{
    struct world_ack a;

    world_open(&w, &both);
    fast(1, 0, NULL, &a);
    w.now_ns += 11 * CLOCK_S;
    fast_drop_silent(w.stream);
    TEST_ASSERT_EQUAL_UINT64(0, w.fasts);
    fast(2, 1, NULL, &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(10208, a.err_code);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_error_ends_a_fast_batch_with_what_is_stored(void)
{
    struct world_ack a, b;

    world_open(&w, &both);
    fast(1, 0, NULL, &a);
    fast(2, 1, "Nats-Expected-Last-Sequence: 9\r\n", &b);
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(said(), "r.i.2.fail.2.1.$FI||{\"type\":\"err\",\"seq\":2,\"error\":"
                                        "{\"code\":400,\"err_code\":10071,\"description\":"
                                        "\"wrong last sequence: 1\"}}\n"));
    TEST_ASSERT_EQUAL_UINT64(1, b.seq);
    TEST_ASSERT_EQUAL_UINT64(1, b.batch_count);
}

/* Reply subjects are the client's: whatever they hold, an answer comes and nothing is stored. */
static void test_nonsense_in_the_reply_subject_is_refused(void)
{
    static const char *const bad[] = {"a.$FI",
                                      ".$FI",
                                      "i.2.fail.1.0.$FI",
                                      "r.i.2.fail.18446744073709551615.1.$FI",
                                      "r.i.2.fail.0.0.$FI",
                                      "r.i.2.fail.-1.0.$FI",
                                      "r.i.2.maybe.1.0.$FI",
                                      "......$FI"};
    struct world_ack a;

    world_open(&w, &both);
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        if (strlen(bad[i]) <= 4)
            continue;
        world_send(&w, "k.a", bad[i], NULL, "x", &a);
        world_turns(&w);
        TEST_ASSERT_EQUAL_INT_MESSAGE(10206, a.err_code, bad[i]);
    }
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_batch_becomes_visible_in_one_step);
    RUN_TEST(test_commit_is_one_batch_of_the_store);
    RUN_TEST(test_committed_batch_survives_a_kill_and_one_under_way_does_not);
    RUN_TEST(test_batch_pushes_out_as_if_its_messages_had_come_one_by_one);
    RUN_TEST(test_schedule_that_ends_in_a_batch_takes_nothing_behind_it);
    RUN_TEST(test_refused_batch_leaves_nothing);
    RUN_TEST(test_expectations_are_those_before_the_batch);
    RUN_TEST(test_discard_new_counts_the_whole_batch);
    RUN_TEST(test_silence_ends_a_batch_and_an_advisory_tells);
    RUN_TEST(test_too_many_bytes_end_a_batch);
    RUN_TEST(test_only_so_many_batches_at_a_time);
    RUN_TEST(test_rollup_in_a_batch_spares_the_batch);
    RUN_TEST(test_flow_messages_wait_for_the_disk);
    RUN_TEST(test_fast_batch_is_forgotten_in_silence);
    RUN_TEST(test_error_ends_a_fast_batch_with_what_is_stored);
    RUN_TEST(test_nonsense_in_the_reply_subject_is_refused);
    return UNITY_END();
}
