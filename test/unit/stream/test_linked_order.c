/* test_linked_order.c: links, and what happens at the same time: kills, histories, changes by hand.
 */
#include "stream/lifetime_impl.h"
#include "support/fault_io.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

#define RULES                                                                                      \
    "[{\"subject\":\"bucket.*\",\"header\":{\"Kind\":\"trial\"},\"ttl\":\"50s\"},"                 \
    "{\"subject\":\"bucket.*\",\"ttl\":\"100s\",\"permanent_if\":\"config.{{wildcard(1)}}\"},"     \
    "{\"subject\":\"wide.*.*\",\"ttl\":\"100s\",\"permanent_if\":\"config.{{wildcard(1)}}\"},"     \
    "{\"subject\":\"config.*\",\"header\":{\"Source\":\"sync\"},\"ttl\":\"200s\"},"                \
    "{\"subject\":\"config.*\",\"ttl\":\"never\"}]"
#define SYNC "Source: sync\r\n"

static struct world w;
static char *subjects[] = {(char *)"bucket.*", (char *)"config.*", (char *)"wide.*.*",
                           (char *)"fill"};
static struct json_pair keys[] = {{(char *)"mayfly.ttl.rules", (char *)RULES},
                                  {(char *)"mayfly.ttl.scope", (char *)"message"}};
static struct stream_config cfg;

/* depth: max_msgs_per_subject. */
static void begin(int64_t depth, bool scope_message)
{
    cfg = (struct stream_config){.name = (char *)"LIMITS",
                                 .subjects = {subjects, 4},
                                 .max_msgs_per_subject = depth,
                                 .allow_msg_ttl = true,
                                 .metadata = {keys, scope_message ? 2 : 1, true}};
    world_open(&w, &cfg);
}

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static uint64_t put(const char *subject, const char *lines)
{
    struct world_ack a = world_publish(&w, subject, lines, "x");

    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static struct stream_lifetime state(uint64_t seq)
{
    struct stream_lifetime l = {.deadline_ns = -1};

    (void)!stream_lifetime(w.stream, seq, &l);
    return l;
}

/* Until the job has looked at everything: reads are made by a worker. */
static void settle(void)
{
    for (int i = 0; i < 50; i++)
        world_turns(&w);
}

static void ends_in(int64_t s, uint64_t seq)
{
    TEST_ASSERT_EQUAL_INT64(s, (state(seq).deadline_ns - w.now_ns + CLOCK_S / 2) / CLOCK_S);
}

static void done(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

/* Removed, on disk, and killed: no job of the stream has run. */
static void remove_and_kill(uint64_t seq)
{
    struct stream_op op = {.done = done};

    stream_remove(w.stream, seq, false, &op);
    w.stream->closing = true;
    world_kill(&w);
    world_open(&w, &cfg);
    settle();
}

/* --- records with a history ------------------------------------------------------------------- */

static void test_a_record_that_a_removal_uncovers_is_followed_after_a_kill(void)
{
    begin(3, true);
    (void)put("config.a", NULL);
    uint64_t bucket = put("bucket.a", NULL), newest = put("config.a", SYNC);
    settle();
    ends_in(100, bucket);
    remove_and_kill(newest);
    TEST_ASSERT_TRUE(state(bucket).infinite);
    TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_LINK));
}

/* A deleted record is a tombstone without an end: when that is removed it is there again. */
static void test_a_record_below_a_tombstone_is_followed_after_a_kill(void)
{
    begin(3, false);
    (void)put("config.a", NULL);
    uint64_t bucket = put("bucket.a", NULL), newest = put("config.a", "KV-Operation: DEL\r\n");
    settle();
    ends_in(100, bucket);
    remove_and_kill(newest);
    TEST_ASSERT_TRUE(state(bucket).infinite);
}

/* The end of the newest record uncovers the one before it. */
static void test_a_record_that_an_expiry_uncovers_is_followed_after_a_kill(void)
{
    begin(3, true);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        (void)put("config.a", NULL);
        uint64_t bucket = put("bucket.a", NULL), newest = put("config.a", "Nats-TTL: 10\r\n");
        settle();
        ends_in(100, bucket);
        w.now_ns += 11 * CLOCK_S;
        if (by_hand)
            TEST_ASSERT_EQUAL_INT(0, expire_settle(w.stream, MF_LIT("config.a")));
        else
            (void)w.stream->expiry.task.run(&w.stream->expiry.task);
        TEST_ASSERT_EQUAL_INT64(-1, state(newest).deadline_ns);
        w.stream->closing = true;
        world_kill(&w);
        world_open(&w, &cfg);
        settle();
        TEST_ASSERT_TRUE(state(bucket).infinite);
        TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_LINK));
    }
}

/* --- members with a history ------------------------------------------------------------------- */

/* scope: subject: an older one that is looked at before the newest would be cut to its end. */
static void test_a_kill_amid_an_upgrade_of_many_loses_no_history(void)
{
    char subject[40];

    begin(3, false);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 100; i++) {
            snprintf(subject, sizeof subject, "wide.a.%d", i);
            (void)put(subject, NULL);
        }
    struct world_ack a;
    world_send(&w, "config.a", NULL, NULL, "x", &a);
    w.stream->closing = true;
    world_kill(&w);
    world_open(&w, &cfg);
    settle();
    for (uint64_t seq = 1; seq <= 200; seq++)
        TEST_ASSERT_TRUE(state(seq).infinite);
}

/* Whenever it comes: the job is on its way from the newest to the oldest of a subject. */
static void test_a_removal_in_the_way_of_the_job(void)
{
    char subject[40], config[40];

    world_wrap(&w, fault_io_new);
    begin(4, false);
    for (int turns = 0; turns < 40; turns++) {
        struct stream_op op = {.done = done}, gone = {.done = done};
        snprintf(config, sizeof config, "config.r%d", turns);
        snprintf(subject, sizeof subject, "bucket.r%d", turns);
        uint64_t record = put(config, NULL), first = put(subject, NULL);
        uint64_t second = put(subject, NULL), third = put(subject, NULL);
        fault_io_cold(w.io, true);
        stream_remove(w.stream, record, false, &gone);
        for (int i = 0; i < turns; i++)
            loop_turn(w.loop);
        stream_remove(w.stream, second, false, &op);
        settle();
        fault_io_cold(w.io, false);
        ends_in(100, third);
        ends_in(100, first);
    }
}

/* --- a full disk ------------------------------------------------------------------------------ */

static bool fill(size_t bytes)
{
    static char text[40000];

    memset(text, 'x', bytes);
    text[bytes] = '\0';
    return world_publish(&w, "fill", NULL, text).err_code == 0;
}

/* Fills the disk but for less than some 600 bytes; `odd` moves the end by so many. */
static void fill_disk(size_t odd)
{
    fault_io_budget(w.io, fault_io_used(w.io));
    for (size_t bytes = 32000; bytes > 1000; bytes /= 8)
        while (fill(bytes))
            continue;
    (void)fill(odd);
    while (fill(500))
        continue;
}

static bool publish_record(uint64_t record)
{
    (void)record;
    return world_publish(&w, "config.a", NULL, "").err_code == 0;
}

static bool was_answered, was_changed;
static void changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    was_answered = true;
    was_changed = e == NULL && count == 1;
}

static bool set_record(uint64_t record)
{
    struct stream_op op = {.done = changed};
    struct stream_deadline_change c = {.seq = record, .infinite = true};

    was_answered = false;
    stream_change_deadlines(w.stream, STREAM_LIFE_PERSIST, &c, 1, &op);
    w.stream->closing = true; /* the job runs no more */
    for (int i = 0; i < 1000 && !was_answered; i++)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(was_answered);
    return was_changed;
}

/* Whatever still fits beside the change: it is refused, or those that link to the record follow,
 * also when the server is killed before there is room again. */
static void fill_change_and_kill(bool (*change)(uint64_t record))
{
    size_t accepted = 0;

    for (size_t odd = 1; odd <= 600; odd += 8) {
        world_fini(&w);
        world_init(&w);
        world_wrap(&w, fault_io_new);
        begin(-1, false);
        (void)put("bucket.z", NULL);
        (void)put("config.z", NULL); /* the segment may hold such changes from here on */
        uint64_t record = put("config.a", SYNC), bucket = put("bucket.a", NULL);
        settle();
        fill_disk(odd);
        bool stored = change(record);
        accepted += stored;
        w.stream->closing = true;
        world_kill(&w);
        fault_io_budget(w.io, UINT64_MAX);
        world_open(&w, &cfg);
        settle();
        TEST_ASSERT_EQUAL_MESSAGE(stored, state(bucket).infinite, "stored, and followed");
        TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_LINK));
    }
    TEST_ASSERT_GREATER_THAN(0, accepted);
}

static void test_a_record_stored_on_a_full_disk_loses_no_upgrade_in_a_kill(void)
{
    fill_change_and_kill(publish_record);
}

static void test_a_record_set_on_a_full_disk_loses_no_upgrade_in_a_kill(void)
{
    fill_change_and_kill(set_record);
}

/* --- other rules, other hands ----------------------------------------------------------------- */

/* Its header cannot be read when the record is stored: another rule gives it its end. */
static void test_a_message_of_another_rule_keeps_its_end(void)
{
    struct world_ack a, b;

    begin(1, false);
    world_send(&w, "bucket.a", NULL, "Kind: trial\r\n", "x", &a);
    world_send(&w, "config.a", NULL, NULL, "x", &b);
    settle();
    ends_in(50, a.seq);
}

static void test_a_message_of_another_rule_keeps_its_end_over_a_kill(void)
{
    struct world_ack a, b;

    begin(1, false);
    world_send(&w, "bucket.a", NULL, "Kind: trial\r\n", "x", &a);
    world_send(&w, "config.a", NULL, NULL, "x", &b);
    w.stream->closing = true;
    world_kill(&w);
    world_open(&w, &cfg);
    settle();
    ends_in(50, 1);
    TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_LINK));
}

static void test_a_message_of_another_rule_that_is_on_disk_only(void)
{
    world_wrap(&w, fault_io_new);
    begin(1, false);
    uint64_t trial = put("bucket.a", "Kind: trial\r\n"), own = put("bucket.b", "Nats-TTL: 30\r\n");
    struct stream_deadline_change c = {.seq = own, .deadline_ns = w.now_ns + 70 * CLOCK_S};
    struct stream_op op = {.done = done};
    stream_change_deadlines(w.stream, STREAM_LIFE_TOUCH, &c, 1, &op); /* its last renewal holds */
    settle();
    fault_io_cold(w.io, true);
    (void)put("config.a", NULL);
    (void)put("config.b", NULL);
    settle();
    fault_io_cold(w.io, false);
    ends_in(50, trial);
    ends_in(70, own);
}

/* The job reads from disk while somebody sets an end by hand: whenever it comes, that holds. */
static void test_an_end_that_is_set_while_the_job_reads(void)
{
    char subject[40], config[40];

    world_wrap(&w, fault_io_new);
    begin(1, false);
    for (int turns = 0; turns < 40; turns++) {
        struct stream_op op = {.done = done}, gone = {.done = done};
        snprintf(config, sizeof config, "config.s%d", turns);
        snprintf(subject, sizeof subject, "bucket.s%d", turns);
        uint64_t record = put(config, NULL), bucket = put(subject, NULL);
        struct stream_deadline_change c = {
            .seq = bucket, .deadline_ns = w.now_ns + 70 * CLOCK_S, .pinned = true};
        fault_io_cold(w.io, true);
        stream_remove(w.stream, record, false, &gone);
        for (int i = 0; i < turns; i++)
            loop_turn(w.loop);
        stream_change_deadlines(w.stream, STREAM_LIFE_SET, &c, 1, &op);
        settle();
        fault_io_cold(w.io, false);
        ends_in(70, bucket);
        TEST_ASSERT_TRUE(state(bucket).pinned);
    }
}

/* Decided while the record was permanent, written when it was not any more. */
static void test_a_touch_that_comes_too_late_to_be_permanent(void)
{
    struct stream_op op = {.done = done};

    begin(1, false);
    uint64_t record = put("config.a", NULL), bucket = put("bucket.a", NULL);
    struct stream_deadline_change c = {
        .seq = bucket, .deadline_ns = w.now_ns + 70 * CLOCK_S, .pinned = true};
    stream_change_deadlines(w.stream, STREAM_LIFE_SET, &c, 1, &op);
    settle();
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, record));
    settle();
    c = (struct stream_deadline_change){.seq = bucket, .infinite = true};
    stream_change_deadlines(w.stream, STREAM_LIFE_TOUCH, &c, 1, &op);
    settle();
    ends_in(100, bucket);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_record_that_a_removal_uncovers_is_followed_after_a_kill);
    RUN_TEST(test_a_record_below_a_tombstone_is_followed_after_a_kill);
    RUN_TEST(test_a_record_that_an_expiry_uncovers_is_followed_after_a_kill);
    RUN_TEST(test_a_kill_amid_an_upgrade_of_many_loses_no_history);
    RUN_TEST(test_a_removal_in_the_way_of_the_job);
    RUN_TEST(test_a_record_stored_on_a_full_disk_loses_no_upgrade_in_a_kill);
    RUN_TEST(test_a_record_set_on_a_full_disk_loses_no_upgrade_in_a_kill);
    RUN_TEST(test_a_message_of_another_rule_keeps_its_end);
    RUN_TEST(test_a_message_of_another_rule_keeps_its_end_over_a_kill);
    RUN_TEST(test_a_message_of_another_rule_that_is_on_disk_only);
    RUN_TEST(test_an_end_that_is_set_while_the_job_reads);
    RUN_TEST(test_a_touch_that_comes_too_late_to_be_permanent);
    return UNITY_END();
}
