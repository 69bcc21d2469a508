/* test_hour.c: the counts of the last hour, and looking ahead at the ends of messages. */
#include "stream/lifetime.h"
#include "support/stream_world.h"

#include "mayfly/clock.h"
#include "mayfly/stream_ahead.h"
#include "mayfly/stream_hour.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"s.>"};
static struct json_pair month = {(char *)"mayfly.ttl.enforce", (char *)"audit"};
static const struct stream_config config = {.name = (char *)"S",
                                            .subjects = {subjects, 1},
                                            .allow_msg_ttl = true,
                                            .metadata = {&month, 1, true}};

void setUp(void)
{
    world_init(&w);
    world_open(&w, &config);
}

void tearDown(void)
{
    world_fini(&w);
}

static uint64_t put(int seconds)
{
    char lines[40];
    struct world_ack a;

    snprintf(lines, sizeof lines, "Nats-TTL: %d\r\n", seconds);
    a = world_publish(&w, "s.a", seconds == 0 ? NULL : seconds < 0 ? "Nats-TTL: never\r\n" : lines,
                      "x");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static struct stream_hour hour(void)
{
    struct stream_hour h;

    stream_hour(w.stream, &h);
    return h;
}

static void test_R000_42_deaths_of_the_last_hour(void)
{
    for (int i = 0; i < 5; i++)
        (void)put(10);
    world_time(&w, w.now_ns + 20 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(5, hour().expired);
    w.now_ns += 59 * 60 * CLOCK_S;
    TEST_ASSERT_EQUAL_UINT64(5, hour().expired);
    w.now_ns += 2 * 60 * CLOCK_S;
    TEST_ASSERT_EQUAL_UINT64(0, hour().expired);
    w.now_ns += 1000 * 3600 * CLOCK_S; /* a long silence is not counted minute by minute */
    TEST_ASSERT_EQUAL_UINT64(0, hour().expired);
}

static void test_R000_03_bytes_that_ended_are_counted_exactly(void)
{
    struct stream_state before, after;

    (void)put(10);
    (void)put(10);
    stream_state(w.stream, &before);
    world_time(&w, w.now_ns + 20 * CLOCK_S);
    stream_state(w.stream, &after);
    TEST_ASSERT_EQUAL_UINT64(before.bytes - after.bytes, hour().expired_bytes_total);
    TEST_ASSERT_EQUAL_UINT64(before.bytes, hour().expired_bytes);
}

static void test_R000_60_messages_and_bytes_that_were_stored(void)
{
    struct stream_state st;

    for (int i = 0; i < 10; i++)
        (void)put(0);
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(10, hour().stored);
    TEST_ASSERT_EQUAL_UINT64(st.bytes, hour().stored_bytes);
    TEST_ASSERT_EQUAL_UINT64(0, hour().ttls);
}

static void test_lateness_is_told_by_bounds(void)
{
    uint64_t seq = put(10);
    struct stream_life l;

    TEST_ASSERT_TRUE(stream_life(w.stream, seq, &l));
    world_time(&w, l.deadline_ns + 3000000); /* 3 ms late */
    struct stream_hour h = hour();
    TEST_ASSERT_EQUAL_UINT64(1, h.late[3]);
    TEST_ASSERT_EQUAL_INT64(3000000, h.late_max_ns);
    TEST_ASSERT_EQUAL_INT64(3000000, h.late_p99_ns);
}

/* --- ahead ------------------------------------------------------------------------------------ */

static void test_R000_39_items_by_state(void)
{
    struct stream_lives l;

    for (int i = 0; i < 10; i++)
        (void)put(100);
    for (int i = 0; i < 3; i++)
        (void)put(0);
    for (int i = 0; i < 2; i++)
        (void)put(-1);
    stream_lives(w.stream, &l);
    TEST_ASSERT_EQUAL_UINT64(10, l.with);
    TEST_ASSERT_EQUAL_UINT64(3, l.without);
    TEST_ASSERT_EQUAL_UINT64(2, l.infinite);
    world_kill(&w);
    world_open(&w, &config);
    stream_lives(w.stream, &l);
    TEST_ASSERT_EQUAL_UINT64(2, l.infinite);
}

static struct store_tally_sum sum_of(struct stream_ahead *a)
{
    struct store_tally_sum sum = {0};

    while (!stream_ahead_step(a, 100))
        ;
    TEST_ASSERT_TRUE(stream_tally_sum(a, &sum));
    return sum;
}

static void test_R000_43_R000_44_R000_46_what_ends_within_an_hour_and_a_day(void)
{
    static const int minutes[] = {30, 59, 61, 23 * 60, 25 * 60};
    struct store_tally_opts o = {
        .from_ns = w.now_ns, .to_ns = w.now_ns + 86400 * CLOCK_S, .buckets = 24, .exact = 100000};
    struct stream_state st;

    for (size_t i = 0; i < MF_COUNT(minutes); i++)
        (void)put(minutes[i] * 60);
    stream_state(w.stream, &st);
    struct stream_ahead *a = stream_tally_new(w.stream, &o);
    struct store_tally_sum sum = sum_of(a);
    uint64_t msgs = 0, bytes = 0;
    for (unsigned i = 0; i < sum.buckets; i++) {
        msgs += sum.bucket[i].msgs;
        bytes += stream_bucket_bytes(w.stream, &sum.bucket[i]);
    }
    TEST_ASSERT_EQUAL_UINT64(2, sum.bucket[0].msgs);
    TEST_ASSERT_EQUAL_UINT64(4, msgs);
    TEST_ASSERT_EQUAL_UINT64(st.bytes * 4 / 5, bytes);
    stream_ahead_free(a);
}

/* A request that looks ahead may still be there when its stream is deleted. */
static void test_a_look_ahead_outlives_its_stream(void)
{
    (void)put(100);
    struct stream_ahead *a =
        stream_page_new(w.stream, (struct store_at){0, 0}, INT64_MAX, 10, MF_LIT("s.*"));
    const struct store_at *items;
    struct store_at next;
    bool more;

    world_close(&w);
    TEST_ASSERT_TRUE(stream_ahead_step(a, 100));
    TEST_ASSERT_EQUAL_size_t(0, stream_page_items(a, &items, &more, &next));
    stream_ahead_free(a);
    world_open(&w, &config);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R000_42_deaths_of_the_last_hour);
    RUN_TEST(test_R000_03_bytes_that_ended_are_counted_exactly);
    RUN_TEST(test_R000_60_messages_and_bytes_that_were_stored);
    RUN_TEST(test_lateness_is_told_by_bounds);
    RUN_TEST(test_R000_39_items_by_state);
    RUN_TEST(test_R000_43_R000_44_R000_46_what_ends_within_an_hour_and_a_day);
    RUN_TEST(test_a_look_ahead_outlives_its_stream);
    return UNITY_END();
}
