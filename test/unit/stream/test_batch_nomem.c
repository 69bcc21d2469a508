/* test_batch_nomem.c: memory runs out at every possible moment of a batch, a counter and a
 * schedule: the publisher is told, and what is stored is all or nothing. */
#include "stream/stream_impl.h"
#include "support/no_memory.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config atomic = {.name = (char *)"S",
                                            .subjects = {subjects, 1},
                                            .allow_atomic = true,
                                            .allow_batched = true,
                                            .allow_msg_schedules = true};
static const struct stream_config counting = {.name = (char *)"S",
                                              .subjects = {subjects, 1},
                                              .allow_atomic = true,
                                              .allow_msg_counter = true};

void setUp(void)
{
}
void tearDown(void)
{
    fail_at = 0;
}

static struct {
    struct stream_publish p;
    int calls, err_code;
    uint64_t seq;
} one;

static void answered(struct stream_publish *p, const struct stream_ack *a)
{
    (void)p;
    one.calls++;
    one.err_code = a->error == NULL ? 0 : a->error->err_code;
    one.seq = a->seq;
}

/* Publishes while the nth allocation fails; true: it came to that. */
static bool publish_failing(long n, const char *subject, const char *reply, const char *hdr)
{
    one.calls = 0;
    one.p = (struct stream_publish){
        .msg = {.subject = mf_str(subject), .reply = mf_str(reply), .hdr = mf_str(hdr)},
        .done = answered};
    allocations = 0;
    fail_at = n;
    stream_publish(w.stream, &one.p);
    bool hit = allocations >= n;
    fail_at = 0;
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(1, one.calls);
    return hit;
}

#define HEAD(seq)  "NATS/1.0\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: " seq "\r\n"
#define PLAIN(seq) "Nats-Batch-Id: i\r\nNats-Batch-Sequence: " seq "\r\n"

/* Readers see the whole batch or nothing of it, and the answer tells which. */
static void test_commit_without_memory_stores_all_or_nothing(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &atomic);
        world_publish(&w, "k.a", PLAIN("1"), "");
        world_publish(&w, "k.b", PLAIN("2"), "");
        hit = publish_failing(n, "k.c", "r", HEAD("3") "Nats-Batch-Commit: 1\r\n\r\n");
        TEST_ASSERT_EQUAL_UINT64(one.err_code == 0 ? 3 : 0, world_count(&w));
        TEST_ASSERT_EQUAL_UINT64(0, w.batches);
        world_fini(&w);
    }
    TEST_ASSERT_EQUAL_INT(0, one.err_code);
}

/* A batch is begun or not; either way the whole of it can be sent again. */
static void test_beginning_without_memory_leaves_a_batch_or_none(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &atomic);
        hit = publish_failing(n, "k.a", "r", HEAD("1") "Nats-Required-Api-Level: 1\r\n\r\n");
        TEST_ASSERT_EQUAL_UINT64(one.err_code == 0 ? 1 : 0, w.batches);
        TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
        if (one.err_code != 0)
            TEST_ASSERT_TRUE(world_publish(&w, "k.a", PLAIN("1"), "").empty);
        struct world_ack a = world_publish(&w, "k.b", PLAIN("2") "Nats-Batch-Commit: 1\r\n", "");
        TEST_ASSERT_EQUAL_STRING("", a.text);
        TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
        world_fini(&w);
    }
    TEST_ASSERT_EQUAL_INT(0, one.err_code);
}

/* Each message of a fast batch is stored or refused, and the batch ends all the same. */
static void test_fast_batch_goes_on_without_memory(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        struct world_ack a;
        world_init(&w);
        world_open(&w, &atomic);
        hit = publish_failing(n, "k.a", "r.i.1.ok.1.0.$FI",
                              "NATS/1.0\r\nNats-Required-Api-Level: 1\r\n\r\n");
        uint64_t stored = world_count(&w);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(1, stored);
        bool begun = w.fasts == 1;
        world_send(&w, "k.b", begun ? "r.i.1.ok.2.2.$FI" : "r.i.1.ok.1.2.$FI", NULL, "", &a);
        world_turns(&w);
        TEST_ASSERT_EQUAL_STRING("", a.text);
        TEST_ASSERT_EQUAL_UINT64(stored + 1, world_count(&w));
        TEST_ASSERT_EQUAL_UINT64(0, w.fasts);
        world_fini(&w);
    }
}

/* A value that was refused must not be counted later. */
static void test_counter_without_memory_counts_right_afterwards(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &counting);
        world_publish(&w, "k.a", "Nats-Incr: 5\r\n", "");
        world_publish(&w, "k.a", PLAIN("1") "Nats-Incr: 10\r\n", "");
        hit = publish_failing(n, "k.a", "r",
                              HEAD("2") "Nats-Batch-Commit: 1\r\nNats-Incr: 20\r\n\r\n");
        struct world_ack a = world_publish(&w, "k.a", "Nats-Incr: 1\r\n", "");
        TEST_ASSERT_EQUAL_STRING(one.err_code == 0 ? "36" : "6", a.val);
        world_fini(&w);
    }
    TEST_ASSERT_EQUAL_INT(0, one.err_code);
}

static void test_fast_batch_without_memory_is_answered(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &atomic);
        hit = publish_failing(n, "k.a", "r.i.1.fail.1.2.$FI", "");
        TEST_ASSERT_TRUE(one.err_code != 0 || world_count(&w) == 1);
        TEST_ASSERT_EQUAL_UINT64(0, w.fasts);
        world_fini(&w);
    }
    TEST_ASSERT_EQUAL_INT(0, one.err_code);
}

/* What fires is stored once, if need be at the next attempt. */
static void test_firing_without_memory_comes_later(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        world_init(&w);
        world_open(&w, &atomic);
        world_publish(&w, "k.s",
                      "Nats-Schedule: @at 2023-11-14T22:13:30Z\r\nNats-Schedule-Target: k.t\r\n",
                      "x");
        w.now_ns += 20 * CLOCK_S;
        allocations = 0;
        fail_at = n;
        schedule_run(w.stream);
        hit = allocations >= n;
        fail_at = 0;
        schedule_run(w.stream);
        world_turns(&w);
        struct stream_subject x = {0};
        TEST_ASSERT_TRUE(stream_subject(w.stream, MF_LIT("k.t"), &x));
        TEST_ASSERT_EQUAL_UINT64(1, x.count);
        world_fini(&w);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_commit_without_memory_stores_all_or_nothing);
    RUN_TEST(test_beginning_without_memory_leaves_a_batch_or_none);
    RUN_TEST(test_fast_batch_goes_on_without_memory);
    RUN_TEST(test_counter_without_memory_counts_right_afterwards);
    RUN_TEST(test_fast_batch_without_memory_is_answered);
    RUN_TEST(test_firing_without_memory_comes_later);
    return UNITY_END();
}
