/* test_schedule_faults.c: schedules when memory or the disk fails, and schedules nothing can be
 * made of: what is to come comes once, and nonsense harms nobody. */
#include "stream/schedule_impl.h"
#include "support/fault_io.h"
#include "support/no_memory.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config scheduling = {.name = (char *)"S",
                                                .subjects = {subjects, 1},
                                                .allow_msg_ttl = true,
                                                .allow_msg_schedules = true};
#define EVERY  "Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n"
#define SOURCE "Nats-Schedule-Source: k.a\r\nNats-Schedule-TTL: 2h\r\n"

void setUp(void)
{
    fail_at = 0;
    world_init(&w);
    world_wrap(&w, fault_io_new);
    world_open(&w, &scheduling);
}

void tearDown(void)
{
    fail_at = 0;
    world_fini(&w);
}

static size_t known(void)
{
    return w.stream->schedules == NULL ? 0 : w.stream->schedules->table.count;
}

static uint64_t produced(void)
{
    struct stream_subject x;

    return stream_subject(w.stream, MF_LIT("k.t"), &x) ? x.count : 0;
}

static void run(void)
{
    schedule_run(w.stream);
    world_turns(&w);
}

static void start_again(void)
{
    world_kill(&w);
    fault_io_disarm(w.io);
    fault_io_cold(w.io, false);
    world_open(&w, &scheduling);
}

static void fresh(void)
{
    world_fini(&w);
    setUp();
    world_publish(&w, "k.a", "From: source\r\n", "lent");
    TEST_ASSERT_EQUAL_INT(0, world_publish(&w, "k.s", EVERY SOURCE, "own").err_code);
    w.now_ns += 3600 * CLOCK_S;
}

static void assert_produced_once(void)
{
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_EQUAL_STRING("k.t|From: source,Nats-Scheduler: k.s,Nats-Schedule-Next: "
                             "2023-11-15T00:13:20Z,Nats-TTL: 2h|lent",
                             world_message(&w, 3));
}

/* From memory, and read from the disk by a worker. */
static void fires_once_without_memory(bool cold)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        fresh();
        fault_io_cold(w.io, cold);
        allocations = 0;
        fail_at = n;
        run();
        hit = allocations >= n;
        fail_at = 0;
        run(); /* if need be, at the next attempt */
        fault_io_cold(w.io, false);
        assert_produced_once();
        start_again();
        run();
        assert_produced_once();
        TEST_ASSERT_EQUAL_size_t(1, known());
    }
}

static void test_firing_without_memory_comes_once(void)
{
    fires_once_without_memory(false);
}

static void test_firing_from_disk_without_memory_comes_once(void)
{
    fires_once_without_memory(true);
}

static void test_firing_on_a_failing_disk_comes_once_after_the_restart(void)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        fresh();
        fault_io_arm(w.io, &(struct fault_plan){
                               .kinds = FAULT_MUTATING, .nth = n, .code = MF_IO, .forever = true});
        run();
        hit = fault_io_hit(w.io);
        start_again();
        run();
        assert_produced_once();
    }
}

/* A source that cannot be read: what the schedule itself carries is sent.  A schedule that cannot
 * be read is none any more. */
static void test_firing_goes_on_where_a_message_cannot_be_read(void)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        fresh();
        w.now_ns -= 3600 * CLOCK_S; /* or its timer may come first */
        start_again();
        w.now_ns += 3600 * CLOCK_S;
        fault_io_cold(w.io, true);
        fault_io_arm(w.io, &(struct fault_plan){
                               .kinds = FAULT_READ, .nth = nth, .code = MF_IO, .forever = true});
        run();
        TEST_ASSERT_TRUE(fault_io_hit(w.io));
        fault_io_disarm(w.io);
        fault_io_cold(w.io, false);
        run();
        TEST_ASSERT_EQUAL_UINT64(nth == 1 ? 0 : 1, produced());
        TEST_ASSERT_EQUAL_size_t(nth == 1 ? 0 : 1, known());
    }
    TEST_ASSERT_EQUAL_STRING("k.t|Nats-Scheduler: k.s,Nats-Schedule-Next: 2023-11-15T00:13:20Z,"
                             "Nats-TTL: 2h|own",
                             world_message(&w, 3));
}

/* The stream is closed while a message is read for a schedule. */
static void test_closing_while_a_schedule_is_read(void)
{
    fresh();
    fault_io_cold(w.io, true);
    schedule_run(w.stream);
    TEST_ASSERT_TRUE(w.stream->schedules->busy);
    world_close(&w);
    fault_io_cold(w.io, false);
    world_open(&w, &scheduling);
    run();
    assert_produced_once();
}

static int refused; /* err_code */

static void answered(struct stream_publish *p, const struct stream_ack *a)
{
    p->done = NULL;
    refused = a->error == NULL ? 0 : a->error->err_code;
}

/* Its nth allocation fails; true: it came to that.  The answer is in `refused`. */
static bool publish_failing(struct stream_publish *p, long n)
{
    allocations = 0;
    fail_at = n;
    stream_publish(w.stream, p);
    bool hit = allocations >= n;
    fail_at = 0;
    world_turns(&w);
    TEST_ASSERT_NULL(p->done);
    return hit;
}

/* Memory runs out at every moment of the publish of a schedule.  What is acknowledged is known: at
 * once or a little later, and after a kill in that moment.  others: schedules that were there. */
static void acknowledged_is_known(size_t others, bool killed)
{
    bool hit = true;
    unsigned accepted = 0;

    for (long n = 1; hit; n++) {
        struct stream_publish p = {
            .msg = {.subject = MF_LIT("k.s"), .hdr = MF_LIT("NATS/1.0\r\n" EVERY "\r\n")},
            .done = answered};
        world_fini(&w);
        setUp();
        if (others > 0)
            world_publish(&w, "k.x", EVERY, "");
        hit = publish_failing(&p, n);
        accepted += refused == 0;
        if (killed)
            start_again();
        int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
        while (known() != others + (refused == 0) && clock_mono_ns() < give_up)
            loop_turn(w.loop);
        TEST_ASSERT_EQUAL_size_t(others + (refused == 0), known());
        TEST_ASSERT_EQUAL_UINT64(known(), world_count(&w));
    }
    TEST_ASSERT_GREATER_THAN_UINT(1, accepted); /* one of them without memory for the table */
}

static void test_an_acknowledged_schedule_is_known_without_memory(void)
{
    acknowledged_is_known(0, false);
    acknowledged_is_known(1, false);
}

static void test_an_acknowledged_schedule_is_known_after_a_kill(void)
{
    acknowledged_is_known(0, true);
    acknowledged_is_known(1, true);
}

/* An atomic batch of schedules: all of them are known, or none has left anything. */
static void test_a_batch_without_memory_leaves_all_or_nothing(void)
{
#define MEMBER(n) "Nats-Batch-Id: b\r\nNats-Batch-Sequence: " #n "\r\n" EVERY
    struct stream_config cfg = scheduling;
    bool hit = true;
    unsigned refusals = 0;

    cfg.allow_atomic = true;
    for (long n = 1; hit; n++) {
        struct stream_publish p = {
            .msg = {.subject = MF_LIT("k.c"),
                    .hdr = MF_LIT("NATS/1.0\r\n" MEMBER(3) "Nats-Batch-Commit: 1\r\n\r\n")},
            .done = answered};
        world_fini(&w);
        world_init(&w);
        world_open(&w, &cfg);
        world_publish(&w, "k.a", MEMBER(1), "");
        world_publish(&w, "k.b", MEMBER(2), "");
        hit = publish_failing(&p, n);
        refusals += refused != 0;
        size_t blobs = world_blobs(&w, BLOB_SCHED);
        TEST_ASSERT_EQUAL_size_t(refused == 0 ? 3 : 0, blobs);
        world_kill(&w);
        world_open(&w, &cfg);
        TEST_ASSERT_EQUAL_size_t(blobs, known());
    }
    TEST_ASSERT_GREATER_THAN_UINT(3, refusals);
}

/* --- nothing can be made of it --------------------------------------------------------------- */

static void copied(struct stream_publish *p, const struct stream_ack *a)
{
    (void)a;
    p->done = NULL;
}

/* A copy of another stream's message is not checked. */
static void copy(const char *lines)
{
    char hdr[256];
    int n = snprintf(hdr, sizeof hdr, "NATS/1.0\r\n%s\r\n", lines);
    struct stream_publish p = {
        .msg = {.subject = MF_LIT("k.s"), .hdr = mf_slice(hdr, (size_t)n), .payload = MF_LIT("x")},
        .replicated = true,
        .done = copied};

    stream_publish(w.stream, &p);
    world_turns(&w);
    TEST_ASSERT_NULL(p.done);
}

static void test_copies_with_nonsense_are_messages_like_any_other(void)
{
    static const struct {
        const char *lines;
        size_t known; /* until it should fire */
    } rows[] = {{"Nats-Schedule: whenever\r\nNats-Schedule-Target: k.t\r\n", 0},
                {"Nats-Schedule: 0 0 0 30 2 *\r\nNats-Schedule-Target: k.t\r\n", 0}, /* never */
                {"Nats-Schedule: @every 1h\r\n", 1},
                {"Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n"
                 "Nats-Schedule-TTL: soon\r\n",
                 1}};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        copy(rows[i].lines);
        TEST_ASSERT_EQUAL_size_t(rows[i].known, known());
        w.now_ns += 3600 * CLOCK_S;
        run();
        TEST_ASSERT_EQUAL_size_t(0, known());
        TEST_ASSERT_EQUAL_UINT64(0, produced());
    }
    TEST_ASSERT_EQUAL_UINT64(MF_COUNT(rows), world_count(&w));
}

/* What it makes is larger than a message may be: it is said in the log, and the schedule is over.
 */
static void test_a_product_that_is_too_large_is_dropped(void)
{
    struct stream_config small = scheduling;
    char subject[90];

    small.max_msg_size = 120;
    world_close(&w);
    world_open(&w, &small);
    memset(subject, 'n', sizeof subject - 1);
    subject[sizeof subject - 1] = '\0';
    memcpy(subject, "k.", 2);
    TEST_ASSERT_EQUAL_INT(0, world_publish(&w, subject,
                                           "Nats-Schedule: @at 2023-11-14T22:13:30Z\r\n"
                                           "Nats-Schedule-Target: k.t\r\n",
                                           "x")
                                 .err_code);
    w.now_ns += 60 * CLOCK_S;
    run();
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_size_t(0, known());
}

/* A sealed stream stays as it is. */
static void test_nothing_fires_in_a_sealed_stream(void)
{
    struct stream_config sealed = scheduling;

    fresh();
    sealed.sealed = true;
    world_close(&w);
    world_open(&w, &sealed);
    run();
    TEST_ASSERT_EQUAL_UINT64(0, produced());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_firing_without_memory_comes_once);
    RUN_TEST(test_firing_from_disk_without_memory_comes_once);
    RUN_TEST(test_firing_on_a_failing_disk_comes_once_after_the_restart);
    RUN_TEST(test_firing_goes_on_where_a_message_cannot_be_read);
    RUN_TEST(test_closing_while_a_schedule_is_read);
    RUN_TEST(test_an_acknowledged_schedule_is_known_without_memory);
    RUN_TEST(test_an_acknowledged_schedule_is_known_after_a_kill);
    RUN_TEST(test_a_batch_without_memory_leaves_all_or_nothing);
    RUN_TEST(test_copies_with_nonsense_are_messages_like_any_other);
    RUN_TEST(test_a_product_that_is_too_large_is_dropped);
    RUN_TEST(test_nothing_fires_in_a_sealed_stream);
    return UNITY_END();
}
