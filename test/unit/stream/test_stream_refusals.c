/* test_stream_refusals.c: what a stream says no to, and that nothing of it happened: rare reasons
 * that clients hardly meet, and odd messages that are taken all the same. */
#include "stream/counter_impl.h"
#include "support/fault_io.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};

#define STREAM .name = (char *)"S", .subjects = {subjects, 1}

void setUp(void)
{
    world_init(&w);
    world_wrap(&w, fault_io_new);
}

void tearDown(void)
{
    world_fini(&w);
}

static bool want_b(void *arg, struct mf_slice subject)
{
    (void)arg;
    return mf_eq_str(subject, "k.b");
}

/* --- removing ------------------------------------------------------------------------------ */

static void test_what_may_not_be_removed_stays(void)
{
    static const struct {
        struct stream_config cfg;
        uint64_t seq;
        int remove, purge;
    } rows[] = {{{STREAM, .sealed = true}, 2, 10109, 10109},
                {{STREAM, .deny_delete = true}, 2, 10057, 0},
                {{STREAM, .deny_purge = true}, 2, 0, 10110},
                {{STREAM}, 0, 10057, 0},
                {{STREAM}, 9, 10057, 0},
                {{STREAM}, 3, 10043, 0}, /* a gap */
                {{STREAM, .storage = STORAGE_MEMORY}, 9, 10043, 0},
                {{STREAM, .storage = STORAGE_MEMORY}, 0, 10043, 0}};
    uint64_t purged;

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char row[16];
        snprintf(row, sizeof row, "row %zu", i);
        world_open(&w, &(struct stream_config){STREAM, .storage = rows[i].cfg.storage});
        for (int n = 0; n < 5; n++)
            world_publish(&w, "k.a", NULL, "x");
        uint64_t third = 5 * i + 3;
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, world_remove(&w, third), row);
        world_close(&w);
        world_open(&w, &rows[i].cfg);
        uint64_t seq =
            rows[i].seq == 0 || rows[i].seq == 9 ? rows[i].seq * 1000 : 5 * i + rows[i].seq;
        uint64_t count = world_count(&w);
        TEST_ASSERT_EQUAL_INT_MESSAGE(rows[i].remove, world_remove(&w, seq), row);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(count - (rows[i].remove == 0), world_count(&w), row);
        count = world_count(&w);
        TEST_ASSERT_EQUAL_INT_MESSAGE(rows[i].purge, world_purge(&w, "", 0, 0, &purged), row);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(rows[i].purge == 0 ? 0 : count, world_count(&w), row);
        world_close(&w);
        world_open(&w, &(struct stream_config){STREAM});
        (void)world_purge(&w, "", 0, 0, &purged);
        world_close(&w);
    }
}

static void dropped(struct store_wait *wait, int status)
{
    TEST_ASSERT_EQUAL_INT(0, status);
    wait->done = NULL;
}

/* What a consumer lets go: no permission is asked, no marker left, its id stays known. */
static void test_a_consumer_drops_what_nobody_may_delete(void)
{
    struct store_wait wait = {.done = dropped};

    world_open(&w, &(struct stream_config){STREAM, .deny_delete = true, .allow_msg_ttl = true,
                                           .allow_rollup = true,
                                           .subject_delete_marker_ttl_ns = 60 * CLOCK_S});
    world_publish(&w, "k.a", "Nats-Msg-Id: 1\r\n", "x");
    TEST_ASSERT_EQUAL_INT(0, stream_drop(w.stream, 1, &wait));
    world_turns(&w);
    TEST_ASSERT_NULL(wait.done);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, stream_drop(w.stream, 1, &wait));
    TEST_ASSERT_TRUE(world_publish(&w, "k.a", "Nats-Msg-Id: 1\r\n", "x").duplicate);
}

/* --- publishing ------------------------------------------------------------------------------ */

/* The disk is slow: beyond so many bytes the publisher is told to come again, and may. */
static void test_more_than_the_store_can_hold_back_is_refused_for_now(void)
{
    enum { N = 400, SIZE = 1 << 20 };
    struct world_ack *a = calloc(N, sizeof *a);
    char *body = malloc(SIZE);
    unsigned again = 0;

    TEST_ASSERT_TRUE(a != NULL && body != NULL);
    memset(body, 'x', SIZE - 1);
    body[SIZE - 1] = '\0';
    world_open(&w, &(struct stream_config){STREAM});
    for (unsigned i = 0; i < N && again == 0; i++) {
        world_send(&w, "k.a", "r", NULL, body, &a[i]); /* all in one turn of the loop */
        again = w.stream->stats.refused > 0;
    }
    TEST_ASSERT_EQUAL_UINT(1, again);
    world_turns(&w);
    for (unsigned i = 0; i < N && a[i].done; i++)
        if (a[i].err_code != 0)
            TEST_ASSERT_EQUAL_INT(10167, a[i].err_code);
    TEST_ASSERT_EQUAL_INT(0, world_publish(&w, "k.a", NULL, body).err_code);
    free(body);
    free(a);
}

struct pub {
    struct stream_publish p;
    int calls, err_code;
};

static void told(struct stream_publish *p, const struct stream_ack *a)
{
    struct pub *x = mf_container(p, struct pub, p);

    x->calls++;
    x->err_code = a->error == NULL ? 0 : a->error->err_code;
}

static void nothing(void *arg)
{
    ++*(int *)arg;
}

static void test_a_closing_stream_takes_nothing(void)
{
    struct pub x = {.p = {.msg = {.subject = MF_LIT("k.a")}, .done = told}};
    int closed = 0;

    world_open(&w, &(struct stream_config){STREAM});
    stream_close(w.stream, nothing, &closed);
    stream_publish(w.stream, &x.p);
    TEST_ASSERT_EQUAL_INT(1, x.calls);
    TEST_ASSERT_EQUAL_INT(10059, x.err_code);
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    while (closed == 0 && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_INT(1, closed);
    w.stream = NULL;
}

/* Copies of another stream's messages: their numbers only grow, and nothing in them is checked. */
static void test_copies_keep_their_numbers_and_are_not_checked(void)
{
    struct pub x = {.p = {.msg = {.subject = MF_LIT("k.a"),
                                  .hdr = MF_LIT("NATS/1.0\r\nNats-Rollup: sub\r\n"
                                                "Nats-TTL: 5m\r\n\r\n"),
                                  .payload = MF_LIT("x")},
                          .replicated = true,
                          .done = told}};

    world_open(&w, &(struct stream_config){STREAM, .allow_rollup = true, .allow_msg_ttl = true});
    for (uint64_t seq = 5; seq <= 6; seq++) {
        x.p.seq = seq;
        stream_publish(w.stream, &x.p);
        world_turns(&w);
        TEST_ASSERT_EQUAL_INT(0, x.err_code);
        TEST_ASSERT_EQUAL_UINT64(1, world_count(&w)); /* a rollup it may do */
    }
    stream_publish(w.stream, &x.p); /* 6 again */
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(10077, x.err_code);
    x.p.msg.hdr = MF_LIT("NATS/1.0\r\nNats-Rollup: everything\r\n\r\n"); /* means nothing */
    x.p.seq = 0;
    stream_publish(w.stream, &x.p);
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(0, x.err_code);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_INT(4, x.calls);
    world_time(&w, w.now_ns + 301 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* --- batches ------------------------------------------------------------------------------- */

/* Interest retention: a number is used up for what nobody waits for, in batches too. */
static void test_members_of_a_batch_nobody_waits_for_are_passed_over(void)
{
    struct world_ack a;

    world_open(&w, &(struct stream_config){STREAM, .retention = RETENTION_INTEREST,
                                           .allow_atomic = true, .allow_batched = true});
    stream_set_interest(w.stream, want_b, NULL);
    world_publish(&w, "k.a", "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n", "one");
    a = world_publish(
        &w, "k.b", "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1\r\n", "two");
    TEST_ASSERT_EQUAL_UINT64(2, a.seq);
    TEST_ASSERT_EQUAL_UINT64(2, a.batch_count);
    world_send(&w, "k.a", "r.j.1.fail.1.0.$FI", NULL, "three", &a);
    world_send(&w, "k.b", "r.j.1.fail.2.2.$FI", NULL, "four", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(4, a.seq);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.b||four", world_message(&w, 4));
}

static void test_a_batch_too_large_for_its_subject_is_refused_as_a_whole(void)
{
    static const char *const member[] = {
        "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n",
        "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1\r\n"};
    struct world_ack a;

    world_open(&w, &(struct stream_config){STREAM, .allow_atomic = true, .allow_rollup = true,
                                           .discard = DISCARD_NEW, .discard_new_per_subject = true,
                                           .max_msgs_per_subject = 2});
    world_publish(&w, "k.a", NULL, "x");
    world_publish(&w, "k.a", member[0], "x");
    a = world_publish(&w, "k.a", member[1], "x");
    TEST_ASSERT_EQUAL_STRING("maximum messages per subject exceeded", a.text);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    /* A rollup makes its own room. */
    world_publish(&w, "k.b", member[0], "x");
    a = world_publish(&w, "k.a",
                      "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1\r\n"
                      "Nats-Rollup: sub\r\n",
                      "x");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

/* --- counters ------------------------------------------------------------------------------ */

static const struct stream_config counting = {STREAM, .allow_msg_counter = true};

/* The last message of the subject is no counter's: nothing can be added to it. */
static void test_a_broken_value_is_not_counted_on(void)
{
    static const char *const bodies[] = {"", "{\"val\":1}", "{\"val\":\"1\"", "nonsense"};
    struct pub x = {.p = {.msg = {.subject = MF_LIT("k.n")}, .replicated = true, .done = told}};

    world_open(&w, &counting);
    for (size_t i = 0; i < MF_COUNT(bodies); i++) {
        x.p.msg.payload = mf_str(bodies[i]);
        stream_publish(w.stream, &x.p);
        world_turns(&w);
        TEST_ASSERT_EQUAL_INT(10172, world_publish(&w, "k.n", "Nats-Incr: 1\r\n", "").err_code);
    }
    TEST_ASSERT_EQUAL_UINT64(MF_COUNT(bodies), world_count(&w));
}

/* Its value has to be read and cannot be: each attempt hears of it, and none is stored. */
static void test_a_value_that_cannot_be_read_is_refused_in_the_end(void)
{
    struct world_ack a, b;

    world_open(&w, &counting);
    world_publish(&w, "k.n", "Nats-Incr: 5\r\n", "");
    counter_free(w.stream);
    fault_io_cold(w.io, true);
    fault_io_arm(
        w.io, &(struct fault_plan){.kinds = FAULT_READ, .nth = 1, .code = MF_IO, .forever = true});
    world_send(&w, "k.n", "r", "Nats-Incr: 1\r\n", "", &a);
    world_send(&w, "k.n", "r", "Nats-Incr: 1\r\n", "", &b);
    world_turns(&w);
    TEST_ASSERT_TRUE(a.done && a.err_code != 0 && b.done && b.err_code != 0);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    fault_io_disarm(w.io);
    fault_io_cold(w.io, false);
    TEST_ASSERT_EQUAL_STRING("6", world_publish(&w, "k.n", "Nats-Incr: 1\r\n", "").val);
}

static void test_who_waits_for_a_value_is_told_when_the_stream_closes(void)
{
    struct world_ack a, b;

    world_open(&w, &counting);
    world_publish(&w, "k.n", "Nats-Incr: 5\r\n", "");
    counter_free(w.stream);
    fault_io_cold(w.io, true);
    world_send(&w, "k.n", "r", "Nats-Incr: 1\r\n", "", &a);
    world_send(&w, "k.m", "r", "Nats-Incr: 1\r\n", "", &b);
    TEST_ASSERT_FALSE(a.done || b.done);
    world_close(&w);
    TEST_ASSERT_TRUE(a.done && b.done);
    TEST_ASSERT_EQUAL_INT(10059, a.err_code);
    TEST_ASSERT_EQUAL_INT(10059, b.err_code);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_may_not_be_removed_stays);
    RUN_TEST(test_a_consumer_drops_what_nobody_may_delete);
    RUN_TEST(test_more_than_the_store_can_hold_back_is_refused_for_now);
    RUN_TEST(test_a_closing_stream_takes_nothing);
    RUN_TEST(test_copies_keep_their_numbers_and_are_not_checked);
    RUN_TEST(test_members_of_a_batch_nobody_waits_for_are_passed_over);
    RUN_TEST(test_a_batch_too_large_for_its_subject_is_refused_as_a_whole);
    RUN_TEST(test_a_broken_value_is_not_counted_on);
    RUN_TEST(test_a_value_that_cannot_be_read_is_refused_in_the_end);
    RUN_TEST(test_who_waits_for_a_value_is_told_when_the_stream_closes);
    return UNITY_END();
}
