/* test_hour.c: the counts of the last hour, and looking ahead at the ends of messages. */
#include "stream/lifetime_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"
#include "stream/stream_ahead.h"
#include "stream/stream_hour.h"

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
    a = world_publish(&w, "s.a",
                      seconds == 0  ? NULL
                      : seconds < 0 ? "Nats-TTL: never\r\n"
                                    : lines,
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
    struct stream_lifetime l;

    TEST_ASSERT_TRUE(stream_lifetime(w.stream, seq, &l));
    world_time(&w, l.deadline_ns + 3000000); /* 3 ms late */
    struct stream_hour h = hour();
    TEST_ASSERT_EQUAL_UINT64(1, h.late[3]);
    TEST_ASSERT_EQUAL_INT64(3000000, h.late_max_ns);
    TEST_ASSERT_EQUAL_INT64(3000000, h.late_p99_ns);
}

/* --- where it is heading ---------------------------------------------------------------------- */

static struct stream_steady steady(void)
{
    struct stream_hour h = hour();

    return stream_steady(&h);
}

/* After two minutes, and again when the first minutes left the ring. */
static void test_R003_11_one_message_a_second_that_lives_a_minute_makes_sixty(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, steady().msgs);
    for (int i = 0; i < 2 * 3600; i++) {
        (void)put(60);
        world_time(&w, w.now_ns + CLOCK_S);
        if (i % 600 == 119) {
            TEST_ASSERT_UINT64_WITHIN(3, 60, steady().msgs);
            TEST_ASSERT_INT64_WITHIN(50, 1000, (int64_t)(steady().per_second * 1000));
            TEST_ASSERT_EQUAL_INT64(60, (int64_t)steady().mean_ttl_s);
            TEST_ASSERT_INT64_WITHIN(60, i + 1 < 3600 ? i + 1 : 3600, (int64_t)steady().covered_s);
            TEST_ASSERT_UINT64_WITHIN(4, 60, world_count(&w)); /* and so many there are */
        }
    }
    uint64_t before = steady().msgs;
    w.now_ns += 1800 * CLOCK_S; /* half an hour of silence */
    TEST_ASSERT_UINT64_WITHIN(2, before / 2, steady().msgs);
}

static void test_hours_of_two_streams_are_added(void)
{
    struct stream_hour sum = {0}, h;

    for (int i = 0; i < 4; i++)
        (void)put(10);
    world_time(&w, w.now_ns + 20 * CLOCK_S);
    (void)put(1000);
    h = hour();
    stream_hour_add(&sum, &h);
    stream_hour_add(&sum, &h);
    stream_hour_quantiles(&sum);
    TEST_ASSERT_EQUAL_UINT64(2 * h.stored, sum.stored);
    TEST_ASSERT_EQUAL_UINT64(8, sum.expired);
    TEST_ASSERT_EQUAL_INT64(h.since_ns, sum.since_ns);
    TEST_ASSERT_EQUAL_INT64(h.late_p99_ns, sum.late_p99_ns);
    TEST_ASSERT_EQUAL_INT64(h.ttl_p50_s, sum.ttl_p50_s);
    TEST_ASSERT_EQUAL_INT64(1000, sum.ttl_max_s);
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

static struct store_forecast_sum sum_of(struct stream_ahead *a)
{
    struct store_forecast_sum sum = {0};

    while (!stream_ahead_step(a, 100))
        ;
    TEST_ASSERT_TRUE(stream_forecast_sum(a, &sum));
    return sum;
}

static void test_R000_43_R000_44_R000_46_what_ends_within_an_hour_and_a_day(void)
{
    static const int minutes[] = {30, 59, 61, 23 * 60, 25 * 60};
    struct store_forecast_opts o = {
        .from_ns = w.now_ns, .to_ns = w.now_ns + 86400 * CLOCK_S, .buckets = 24, .exact = 100000};
    struct stream_state st;

    for (size_t i = 0; i < MF_COUNT(minutes); i++)
        (void)put(minutes[i] * 60);
    stream_state(w.stream, &st);
    struct stream_ahead *a = stream_forecast_new(w.stream, &o, MF_SLICE_NONE);
    struct store_forecast_sum sum = sum_of(a);
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

static void test_removed_and_markers_and_overdue_are_counted(void)
{
    struct stream_stats st;
    struct stream_state state;
    struct stream_lives l;
    uint64_t seq = put(0);

    (void)put(10);
    (void)put(0);
    TEST_ASSERT_EQUAL(0, world_remove(&w, seq));
    (void)world_publish(&w, "s.a", "KV-Operation: DEL\r\n", "");
    stream_lives(w.stream, &l);
    TEST_ASSERT_EQUAL_UINT64(1, l.markers);
    w.now_ns += 11 * CLOCK_S; /* nothing has swept it yet */
    stream_state(w.stream, &state);
    TEST_ASSERT_EQUAL_UINT64(1, state.overdue);
    TEST_ASSERT_EQUAL_UINT64(1, stream_overdue(w.stream, MF_LIT("s.*")));
    TEST_ASSERT_EQUAL_UINT64(0, stream_overdue(w.stream, MF_LIT("t.*")));
    world_time(&w, w.now_ns + CLOCK_S);
    stream_state(w.stream, &state);
    TEST_ASSERT_EQUAL_UINT64(0, state.overdue);
    stream_stats(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(1, st.removed);
    TEST_ASSERT_EQUAL_UINT64(1, st.expired);
    TEST_ASSERT_EQUAL(0, world_purge(&w, "", 0, 0, NULL));
    stream_stats(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(3, st.removed);
    world_close(&w);
    world_open(&w, &config);
    stream_stats(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(0, st.removed);
}

static void test_a_forecast_of_some_subjects(void)
{
    struct store_forecast_opts o = {
        .from_ns = w.now_ns, .to_ns = w.now_ns + 86400 * CLOCK_S, .buckets = 24, .exact = 100000};
    struct stream_ahead *a;

    (void)put(1800);
    (void)world_publish(&w, "s.b", "Nats-TTL: 1800\r\n", "x");
    (void)world_publish(&w, "s.b", "Nats-TTL: 1800\r\n", "x");
    a = stream_forecast_new(w.stream, &o, MF_LIT("s.b"));
    TEST_ASSERT_EQUAL_UINT64(2, sum_of(a).bucket[0].msgs);
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
    RUN_TEST(test_R003_11_one_message_a_second_that_lives_a_minute_makes_sixty);
    RUN_TEST(test_hours_of_two_streams_are_added);
    RUN_TEST(test_removed_and_markers_and_overdue_are_counted);
    RUN_TEST(test_a_forecast_of_some_subjects);
    RUN_TEST(test_R000_39_items_by_state);
    RUN_TEST(test_R000_43_R000_44_R000_46_what_ends_within_an_hour_and_a_day);
    RUN_TEST(test_a_look_ahead_outlives_its_stream);
    return UNITY_END();
}
