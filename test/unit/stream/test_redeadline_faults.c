/* test_redeadline_faults.c: new deadlines for all messages while memory or the disk fails: in the
 * end each has its own, the blob that remembers the job is gone, and a restart in between changes
 * nothing. */
#include "support/fault_io.h"
#include "support/no_memory.h"
#include "support/stream_world.h"

#include "stream/stream_impl.h"

#include "base/clock.h"

#include "unity.h"

#define MESSAGES 6

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};
static const struct stream_config aged = {
    .name = (char *)"S", .subjects = {subjects, 1}, .max_age_ns = 3600 * CLOCK_S};

void setUp(void)
{
    fail_at = 0;
    world_init(&w);
    world_wrap(&w, fault_io_new);
    world_open(&w, &plain);
    for (int i = 0; i < MESSAGES / 2; i++) {
        world_publish(&w, "k.a", NULL, "x");
        world_publish(&w, "k.b", NULL, "y");
    }
}

void tearDown(void)
{
    fail_at = 0;
    world_fini(&w);
}

static void fresh(void)
{
    world_fini(&w);
    setUp();
}

static int update_error;

static void updated(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)count;
    update_error = e == NULL ? 0 : e->err_code;
    op->done = NULL;
}

static void update(void)
{
    static struct stream_op op;
    struct stream_config next;

    stream_config_init(&next);
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&next, stream_config(w.stream)));
    next.max_age_ns = aged.max_age_ns;
    op = (struct stream_op){.done = updated};
    stream_update(w.stream, &next, MF_LIT("encoded"), &op);
    stream_config_fini(&next);
    world_turns(&w);
    TEST_ASSERT_NULL(op.done);
    TEST_ASSERT_EQUAL_INT(0, update_error);
}

static bool swept(void)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (w.stream->redeadline != NULL && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    world_turns(&w);
    return w.stream->redeadline == NULL;
}

static void assert_deadlines(uint64_t without)
{
    struct stream_state t;
    struct mf_slice bytes;

    stream_state(w.stream, &t);
    TEST_ASSERT_EQUAL_UINT64(t.msgs - without, t.with_ttl);
    TEST_ASSERT_FALSE(store_blob_get(w.stream->store, MF_LIT(BLOB_REDEADLINE), &bytes));
}

static void start_again(void)
{
    world_kill(&w);
    fault_io_disarm(w.io);
    fault_io_cold(w.io, false);
    world_open(&w, &aged);
}

/* The nth allocation after the update fails; what did not work is tried again. */
static void without_memory(bool cold)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        fresh();
        fault_io_cold(w.io, cold);
        update();
        allocations = 0;
        fail_at = n;
        bool done = swept();
        hit = allocations >= n;
        fail_at = 0;
        TEST_ASSERT_TRUE(done || swept());
        assert_deadlines(0);
        start_again();
        assert_deadlines(0);
    }
}

static void test_a_job_without_memory_reaches_its_end(void)
{
    without_memory(false);
}

static void test_a_job_of_cold_messages_without_memory_reaches_its_end(void)
{
    without_memory(true);
}

/* A message that cannot be read gets no deadline, and stops nobody. */
static void test_a_message_that_cannot_be_read_is_passed_over(void)
{
    fault_io_cold(w.io, true);
    update();
    fault_io_arm(w.io, &(struct fault_plan){.kinds = FAULT_READ, .nth = 3, .code = MF_IO});
    TEST_ASSERT_TRUE(swept());
    TEST_ASSERT_TRUE(fault_io_hit(w.io));
    fault_io_cold(w.io, false);
    assert_deadlines(1);
}

/* The disk fails at every possible moment: the next start goes on. */
static void test_a_job_on_a_failing_disk_goes_on_after_the_restart(void)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        fresh();
        update();
        fault_io_arm(w.io, &(struct fault_plan){
                               .kinds = FAULT_MUTATING, .nth = n, .code = MF_IO, .forever = true});
        int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
        while (w.stream->redeadline != NULL && stream_error(w.stream) == NULL &&
               clock_mono_ns() < give_up)
            loop_turn(w.loop);
        world_turns(&w);
        hit = fault_io_hit(w.io);
        start_again();
        TEST_ASSERT_TRUE(swept());
        assert_deadlines(0);
    }
}

/* Closed while a message is read: the reader finds nobody, and the next start goes on. */
static void test_a_stream_may_close_while_a_message_is_read(void)
{
    fault_io_cold(w.io, true);
    update();
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    while (w.stream->redeadline != NULL && store_idle(w.stream->store) && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    world_close(&w);
    fault_io_cold(w.io, false);
    world_open(&w, &aged);
    TEST_ASSERT_TRUE(swept());
    assert_deadlines(0);
}

/* A note of another version: all messages again, which is never wrong. */
static void test_a_note_of_another_version_starts_from_the_beginning(void)
{
    static const char *const notes[] = {"", "\2234567890abcdefg"};

    for (size_t i = 0; i < MF_COUNT(notes); i++) {
        fresh();
        TEST_ASSERT_EQUAL_INT(
            0, store_blob_put(w.stream->store, MF_LIT(BLOB_REDEADLINE), mf_str(notes[i]), NULL));
        world_turns(&w);
        start_again();
        TEST_ASSERT_TRUE(swept());
        assert_deadlines(0);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_job_without_memory_reaches_its_end);
    RUN_TEST(test_a_job_of_cold_messages_without_memory_reaches_its_end);
    RUN_TEST(test_a_message_that_cannot_be_read_is_passed_over);
    RUN_TEST(test_a_job_on_a_failing_disk_goes_on_after_the_restart);
    RUN_TEST(test_a_stream_may_close_while_a_message_is_read);
    RUN_TEST(test_a_note_of_another_version_starts_from_the_beginning);
    return UNITY_END();
}
