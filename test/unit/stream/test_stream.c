/* test_stream.c: a stream from publish to death, with the clock in the test's hand: who is told
 * what, what is there, and what is still so after a kill. */
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static struct stream_config with_ttl(int64_t marker_s)
{
    struct stream_config c = plain;

    c.allow_msg_ttl = true;
    c.subject_delete_marker_ttl_ns = marker_s * CLOCK_S;
    return c;
}

static uint64_t ok(struct world_ack a)
{
    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

/* --- publishing ------------------------------------------------------------------------------- */

static void test_publish_is_stored_and_answered_in_order(void)
{
    struct world_ack a[3];

    world_open(&w, &plain);
    for (int i = 0; i < 3; i++)
        world_send(&w, "k.a", "r", NULL, "x", &a[i]);
    TEST_ASSERT_FALSE(a[0].done); /* not before it is on disk */
    world_turns(&w);
    for (uint64_t i = 0; i < 3; i++)
        TEST_ASSERT_EQUAL_UINT64(i + 1, ok(a[i]));
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
}

/* A refusal must not overtake the acks of what was sent before. */
static void test_refusal_waits_for_what_came_before_it(void)
{
    struct world_ack first, second;

    world_open(&w, &plain);
    world_send(&w, "k.a", "r", NULL, "x", &first);
    world_send(&w, "k.a", "r", "Nats-Expected-Last-Sequence: 7\r\n", "x", &second);
    TEST_ASSERT_FALSE(second.done);
    world_turns(&w);
    TEST_ASSERT_TRUE(first.done);
    TEST_ASSERT_EQUAL_INT(10071, second.err_code);
    TEST_ASSERT_EQUAL_STRING("wrong last sequence: 1", second.text);
}

/* Checks go by what is accepted, not by what is on disk. */
static void test_expected_subject_sequence_counts_what_is_under_way(void)
{
    struct world_ack a, b;

    world_open(&w, &plain);
    world_send(&w, "k.a", "r", "Nats-Expected-Last-Subject-Sequence: 0\r\n", "1", &a);
    world_send(&w, "k.a", "r", "Nats-Expected-Last-Subject-Sequence: 0\r\n", "2", &b);
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(0, a.err_code);
    TEST_ASSERT_EQUAL_STRING("wrong last sequence: 1", b.text);
    ok(world_publish(&w, "k.b",
                     "Nats-Expected-Last-Subject-Sequence: 1\r\n"
                     "Nats-Expected-Last-Subject-Sequence-Subject: k.*\r\n",
                     "3"));
}

static void test_duplicate_is_answered_with_the_first_sequence_also_after_a_kill(void)
{
    world_open(&w, &plain);
    ok(world_publish(&w, "k.a", "Nats-Msg-Id: one\r\n", "x"));
    struct world_ack a = world_publish(&w, "k.a", "Nats-Msg-Id: one\r\n", "x");
    TEST_ASSERT_TRUE(a.duplicate);
    TEST_ASSERT_EQUAL_UINT64(1, a.seq);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1)); /* the id outlives its message */
    world_kill(&w);
    world_open(&w, &plain);
    a = world_publish(&w, "k.a", "Nats-Msg-Id: one\r\n", "x");
    TEST_ASSERT_TRUE(a.duplicate);
    world_time(&w, w.now_ns + 121 * CLOCK_S);
    TEST_ASSERT_FALSE(world_publish(&w, "k.a", "Nats-Msg-Id: one\r\n", "x").duplicate);
}

static void test_rollup_leaves_one_message(void)
{
    struct stream_config c = plain;

    c.allow_rollup = true;
    world_open(&w, &c);
    for (int i = 0; i < 5; i++)
        ok(world_publish(&w, i % 2 ? "k.a" : "k.b", NULL, "x"));
    ok(world_publish(&w, "k.a", "Nats-Rollup: sub\r\n", "y"));
    TEST_ASSERT_EQUAL_UINT64(4, world_count(&w));
    ok(world_publish(&w, "k.c", "Nats-Rollup: all\r\n", "z"));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.c|Nats-Rollup: all|z", world_message(&w, 7));
}

static void test_limits_push_out_the_oldest(void)
{
    struct stream_config c = plain;

    c.max_msgs = 3;
    c.max_msgs_per_subject = 2;
    world_open(&w, &c);
    for (int i = 0; i < 3; i++)
        ok(world_publish(&w, "k.a", NULL, "x"));
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    ok(world_publish(&w, "k.b", NULL, "x"));
    ok(world_publish(&w, "k.c", NULL, "x"));
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, 2));
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
}

static void test_discard_new_refuses_until_there_is_room(void)
{
    struct stream_config c = with_ttl(0);

    c.max_msgs = 1;
    c.discard = DISCARD_NEW;
    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "Nats-TTL: 1\r\n", "x"));
    TEST_ASSERT_EQUAL_STRING("maximum messages exceeded", world_publish(&w, "k.b", NULL, "x").text);
    w.now_ns += CLOCK_S; /* dead, though not yet swept */
    ok(world_publish(&w, "k.b", NULL, "x"));
}

/* --- death --------------------------------------------------------------------------------- */

static void test_message_is_there_until_its_deadline_and_not_a_moment_longer(void)
{
    struct stream_config c = with_ttl(0);
    struct stream_state t;

    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "Nats-TTL: 1.5s\r\n", "x"));
    int64_t born = w.now_ns;
    w.now_ns = born + 1500000000 - 1;
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-TTL: 1.5s|x", world_message(&w, 1));
    w.now_ns++; /* no turn of the loop: not swept */
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, 1));
    stream_state(w.stream, &t);
    TEST_ASSERT_EQUAL_UINT64(0, t.msgs);
    TEST_ASSERT_EQUAL_UINT64(2, t.first_seq);
    TEST_ASSERT_EQUAL_UINT64(0, stream_last_of(w.stream, MF_LIT("k.a")));
}

static void test_last_message_of_a_subject_leaves_one_marker(void)
{
    struct stream_config c = with_ttl(2);

    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "Nats-TTL: 5\r\n", "1"));
    ok(world_publish(&w, "k.a", "Nats-TTL: 5\r\n", "2"));
    ok(world_publish(&w, "k.b", "Nats-TTL: never\r\n", "3"));
    world_time(&w, w.now_ns + 6 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Marker-Reason: MaxAge,Nats-TTL: 2s,Nats-Rollup: sub|",
                             world_message(&w, 4));
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w)); /* not a second one */
    world_time(&w, w.now_ns + 3 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w)); /* it died silently */
}

/* The marker stands before the value that came after the death, swept or not. */
static void test_write_after_a_death_stands_behind_its_marker(void)
{
    struct stream_config c = with_ttl(60);

    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "Nats-TTL: 60\r\n", "1"));
    w.now_ns += 60 * CLOCK_S + 1000; /* beyond the timestamp, which may be a little ahead */
    struct world_ack a = world_publish(&w, "k.a", NULL, "2");
    TEST_ASSERT_EQUAL_UINT64(3, ok(a));
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Marker-Reason: MaxAge,Nats-TTL: 1m0s,Nats-Rollup: sub|",
                             world_message(&w, 2));
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

static void test_death_while_down_is_told_at_start(void)
{
    struct stream_config c = with_ttl(3);

    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "Nats-TTL: 5\r\n", "1"));
    world_kill(&w);
    w.now_ns += 100 * CLOCK_S;
    world_open(&w, &c);
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Marker-Reason: MaxAge,Nats-TTL: 3s,Nats-Rollup: sub|",
                             world_message(&w, 2));
}

static void test_short_ttl_is_raised_to_that_of_the_markers(void)
{
    struct stream_config c = with_ttl(10);

    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "X: 1\r\nNats-TTL: 2s\r\nY: 2\r\n", "1"));
    TEST_ASSERT_EQUAL_STRING("k.a|X: 1,Y: 2,Nats-TTL: 10|1", world_message(&w, 1));
    world_time(&w, w.now_ns + 9 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_max_age_kills_and_marks_but_never_is_never(void)
{
    struct stream_config c = with_ttl(1);

    c.max_age_ns = 10 * CLOCK_S;
    world_open(&w, &c);
    ok(world_publish(&w, "k.a", NULL, "1"));
    ok(world_publish(&w, "k.b", "Nats-TTL: never\r\n", "2"));
    ok(world_publish(&w, "k.c", "Nats-TTL: 1h\r\n", "3")); /* cannot outlive max_age */
    world_kill(&w);
    w.now_ns += 11 * CLOCK_S;
    world_open(&w, &c);
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_STRING("k.b|Nats-TTL: never|2", world_message(&w, 2));
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w)); /* b and two markers */
}

/* --- removal ------------------------------------------------------------------------------- */

static void test_removal_of_the_last_message_leaves_a_marker(void)
{
    struct stream_config c = with_ttl(1);
    static char *kv[] = {(char *)"$KV.b.>"};

    c.subjects.at = kv;
    world_open(&w, &c);
    ok(world_publish(&w, "$KV.b.x", NULL, "1"));
    ok(world_publish(&w, "$KV.b.x", NULL, "2"));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "Nats-Marker-Reason: Remove"));
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "KV-Operation: DEL"));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 3)); /* a tombstone earns none */
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_INT(10057, world_remove(&w, 99));
}

static void test_filtered_purge_marks_each_subject_it_empties(void)
{
    struct stream_config c = with_ttl(1);
    uint64_t purged;

    world_open(&w, &c);
    for (int i = 0; i < 3000; i++) { /* more than a slice */
        char subject[32];
        snprintf(subject, sizeof subject, "k.a.%d", i % 3);
        ok(world_publish(&w, subject, NULL, "x"));
    }
    ok(world_publish(&w, "k.b", NULL, "x"));
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.a.*", 0, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(3000, purged);
    TEST_ASSERT_EQUAL_UINT64(4, world_count(&w));
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3004), "Nats-Marker-Reason: Purge"));
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(4, purged);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w)); /* a whole purge places none */
}

static void test_purge_keeps_what_it_is_asked_to(void)
{
    uint64_t purged;
    struct stream_state t;

    world_open(&w, &plain);
    for (int i = 0; i < 10; i++)
        ok(world_publish(&w, i % 2 ? "k.a" : "k.b", NULL, "x"));
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 3, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(2, purged);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.*", 0, 5, &purged));
    TEST_ASSERT_EQUAL_UINT64(3, purged);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 2, &purged));
    TEST_ASSERT_EQUAL_UINT64(3, purged);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 100, 0, &purged));
    stream_state(w.stream, &t);
    TEST_ASSERT_EQUAL_UINT64(100, t.first_seq);
    TEST_ASSERT_EQUAL_UINT64(99, t.last_seq);
}

/* --- others -------------------------------------------------------------------------------- */

static void test_republished_copy_names_the_message_before_it(void)
{
    struct stream_republish r = {.src = (char *)"k.>", .dest = (char *)"copy.>"};
    struct stream_config c = plain;

    c.republish = &r;
    c.max_msgs_per_subject = 1;
    world_open(&w, &c);
    ok(world_publish(&w, "k.a", "X: 1\r\n", "one"));
    ok(world_publish(&w, "k.a", NULL, "two"));
    world_turns(&w);
    const char *said = mf_buf_cstr(&w.said);
    TEST_ASSERT_NOT_NULL(strstr(said, "copy.a|NATS/1.0\r\nX: 1\r\nNats-Stream: S\r\n"
                                      "Nats-Subject: k.a\r\nNats-Sequence: 1\r\n"));
    TEST_ASSERT_NOT_NULL(strstr(said, "Nats-Last-Sequence: 0\r\n\r\n|one\n"));
    TEST_ASSERT_NOT_NULL(strstr(said, "Nats-Last-Sequence: 1\r\n\r\n|two\n"));
}

/* A key written many times in one moment keeps its last value; a listener hears of each. */
static void test_values_replaced_before_they_are_on_disk_are_republished_all(void)
{
    struct stream_republish r = {.src = (char *)"k.>", .dest = (char *)"copy.>"};
    struct stream_config c = plain;
    struct world_ack ack[9];
    char value[16], line[64];

    c.republish = &r;
    c.max_msgs_per_subject = 1;
    world_open(&w, &c);
    for (int i = 0; i < 9; i++) {
        snprintf(value, sizeof value, "v%d", i);
        world_send(&w, "k.a", "r", NULL, value, &ack[i]);
    }
    world_turns(&w);
    const char *said = mf_buf_cstr(&w.said);
    for (int i = 0; i < 9; i++) {
        snprintf(line, sizeof line, "Nats-Last-Sequence: %d\r\n\r\n|v%d\n", i, i);
        said = strstr(said, line);
        TEST_ASSERT_NOT_NULL_MESSAGE(said, line);
    }
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_interest_retention_without_interest_uses_up_the_sequence(void)
{
    struct stream_config c = plain;

    c.retention = RETENTION_INTEREST;
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_UINT64(1, ok(world_publish(&w, "k.a", NULL, "x")));
    TEST_ASSERT_EQUAL_UINT64(2, ok(world_publish(&w, "k.a", NULL, "x")));
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void seek_done(struct stream_seek *k, uint64_t seq)
{
    (void)k;
    (void)seq;
    TEST_FAIL_MESSAGE("what is found in memory is returned");
}

static void test_seek_finds_the_first_message_at_or_after_a_moment(void)
{
    int64_t start = w.now_ns;

    world_open(&w, &plain);
    for (int i = 0; i < 20; i++) {
        w.now_ns = start + i * CLOCK_S;
        ok(world_publish(&w, "k.a", NULL, "x"));
    }
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 8));
    for (int i = 0; i <= 20; i++) {
        struct stream_seek k = {.ts_ns = start + i * CLOCK_S, .done = seek_done};
        uint64_t seq = UINT64_MAX;
        TEST_ASSERT_TRUE(stream_seek(w.stream, &k, &seq));
        TEST_ASSERT_EQUAL_UINT64(i == 20 ? 0 : i == 7 ? 9 : i + 1, seq);
        TEST_ASSERT_EQUAL_UINT64(k.best, stream_at_time(w.stream, k.ts_ns, UINT64_MAX));
        TEST_ASSERT_EQUAL_UINT64(k.best > 10 ? 0 : k.best, stream_at_time(w.stream, k.ts_ns, 10));
        TEST_ASSERT_EQUAL_UINT64(0, stream_at_time(w.stream, k.ts_ns, 0));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_publish_is_stored_and_answered_in_order);
    RUN_TEST(test_refusal_waits_for_what_came_before_it);
    RUN_TEST(test_expected_subject_sequence_counts_what_is_under_way);
    RUN_TEST(test_duplicate_is_answered_with_the_first_sequence_also_after_a_kill);
    RUN_TEST(test_rollup_leaves_one_message);
    RUN_TEST(test_limits_push_out_the_oldest);
    RUN_TEST(test_discard_new_refuses_until_there_is_room);
    RUN_TEST(test_message_is_there_until_its_deadline_and_not_a_moment_longer);
    RUN_TEST(test_last_message_of_a_subject_leaves_one_marker);
    RUN_TEST(test_write_after_a_death_stands_behind_its_marker);
    RUN_TEST(test_death_while_down_is_told_at_start);
    RUN_TEST(test_short_ttl_is_raised_to_that_of_the_markers);
    RUN_TEST(test_max_age_kills_and_marks_but_never_is_never);
    RUN_TEST(test_removal_of_the_last_message_leaves_a_marker);
    RUN_TEST(test_filtered_purge_marks_each_subject_it_empties);
    RUN_TEST(test_purge_keeps_what_it_is_asked_to);
    RUN_TEST(test_republished_copy_names_the_message_before_it);
    RUN_TEST(test_values_replaced_before_they_are_on_disk_are_republished_all);
    RUN_TEST(test_interest_retention_without_interest_uses_up_the_sequence);
    RUN_TEST(test_seek_finds_the_first_message_at_or_after_a_moment);
    return UNITY_END();
}
