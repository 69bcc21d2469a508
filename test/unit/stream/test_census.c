/* test_census.c: messages counted by subjects and groups, in steps, while the stream changes. */
#include "stream/ages_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"
#include "stream/stream_census.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"a", (char *)"a.>", (char *)"b.>"};
static const struct stream_config config = {
    .name = (char *)"S", .subjects = {subjects, 3}, .allow_msg_ttl = true};

void setUp(void)
{
    world_init(&w);
    world_open(&w, &config);
}

void tearDown(void)
{
    world_fini(&w);
}

/* ttl: seconds; 0: none, -1: never. */
static uint64_t put(const char *subject, int ttl, const char *payload)
{
    char line[40];
    struct world_ack a;

    snprintf(line, sizeof line, "Nats-TTL: %d\r\n", ttl);
    a = world_publish(&w, subject,
                      ttl == 0  ? NULL
                      : ttl < 0 ? "Nats-TTL: never\r\n"
                                : line,
                      payload);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static uint64_t put_numbered(const char *fmt, int i, int ttl, const char *payload)
{
    char subject[80];

    snprintf(subject, sizeof subject, fmt, i);
    return put(subject, ttl, payload);
}

static void read_times(struct stream_census *c)
{
    struct stream_msg m;
    uint64_t seq;

    while ((seq = stream_census_wants(c)) != 0) {
        TEST_ASSERT_EQUAL(0, stream_get(w.stream, seq, &m));
        stream_census_time(c, seq, m.ts_ns);
        stream_msg_end(&m);
    }
}

static void run(struct stream_census *c, size_t steps)
{
    int rc;

    while ((rc = stream_census_step(c, steps)) == MF_AGAIN)
        ;
    TEST_ASSERT_EQUAL(0, rc);
}

static struct stream_census *census(const char *filter, unsigned depth)
{
    struct stream_census *c = stream_census_new(w.stream, mf_str(filter), depth);

    TEST_ASSERT_NOT_NULL(c);
    read_times(c);
    return c;
}

/* "prefix items with without infinite p50 p99\n" of each group. */
static const char *groups_of(struct stream_census *c)
{
    static char text[1000];
    const struct stream_group *g;
    size_t n = stream_census_groups(c, &g), len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && len < sizeof text - 100; i++, g++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s %d %d %d %d %d %d\n", g->prefix,
                                (int)g->items, (int)g->with, (int)g->without, (int)g->infinite,
                                (int)g->age_p50_s, (int)g->age_p99_s);
    return text;
}

/* --- ages ------------------------------------------------------------------------------------- */

static void test_ages_are_exact_below_a_minute_and_close_above(void)
{
    static struct ages a;

    for (int i = 0; i < 60; i++)
        ages_add(&a, i);
    TEST_ASSERT_EQUAL_INT64(29, ages_at(&a, 0.5));
    TEST_ASSERT_EQUAL_INT64(59, ages_at(&a, 0.99));
    ages_clear(&a);
    TEST_ASSERT_EQUAL_INT64(0, ages_at(&a, 0.5));
    for (int64_t s = 64; s < (int64_t)1 << 36; s = s * 3 / 2 + 7) {
        ages_add(&a, s);
        int64_t got = ages_at(&a, 0.5);
        TEST_ASSERT_TRUE_MESSAGE(got <= s && s - got <= s / 32, "off by more than 1/32");
        ages_clear(&a);
    }
    ages_add(&a, INT64_MAX);
    ages_add(&a, -5); /* a clock that was set back */
    TEST_ASSERT_EQUAL_INT64(0, ages_at(&a, 0.5));
    TEST_ASSERT_GREATER_THAN_INT64((int64_t)1 << 35, ages_at(&a, 0.99));
    ages_clear(&a);
}

static void test_times_between_two_known_ones_lie_between_them(void)
{
    struct age_point at[] = {{10, 1000}, {20, 2000}, {30, 2000}, {1000, 9700}};
    struct age_table t = {at, 4, 4}, none = {NULL, 0, 0};

    TEST_ASSERT_EQUAL_INT64(0, age_table_time(&none, 5));
    TEST_ASSERT_EQUAL_INT64(1000, age_table_time(&t, 1));
    TEST_ASSERT_EQUAL_INT64(1000, age_table_time(&t, 10));
    TEST_ASSERT_EQUAL_INT64(1500, age_table_time(&t, 15));
    TEST_ASSERT_EQUAL_INT64(2000, age_table_time(&t, 25));
    TEST_ASSERT_EQUAL_INT64(9700, age_table_time(&t, 1000));
    TEST_ASSERT_EQUAL_INT64(9700, age_table_time(&t, UINT64_MAX));
}

/* --- counts ----------------------------------------------------------------------------------- */

static void test_R000_61_kinds_of_data_are_groups_with_ages(void)
{
    for (int i = 0; i < 10; i++)
        (void)put_numbered("a.x.%d", i, 7200, "much more than others");
    world_time(&w, w.now_ns + 30 * CLOCK_S);
    for (int i = 0; i < 4; i++)
        (void)put_numbered("b.%d", i, i == 0 ? -1 : 0, "x");
    world_time(&w, w.now_ns + 10 * CLOCK_S);
    for (size_t steps = 1; steps < 100; steps += 33) {
        struct stream_census *c = census("", 1);
        run(c, steps);
        TEST_ASSERT_EQUAL_STRING("a 10 10 0 0 40 40\nb 4 0 3 1 10 10\n", groups_of(c));
        TEST_ASSERT_FALSE(stream_census_sampled(c));
        stream_census_free(c);
    }
}

static void test_sums_are_those_of_the_stream(void)
{
    struct stream_census_sum sum;
    struct stream_state st;

    for (int i = 0; i < 20; i++)
        (void)put_numbered("a.%d", i % 7, i % 3 == 0 ? 1800 * (i + 1) : i % 3 - 2, "some bytes");
    struct stream_census *c = census("", 0);
    run(c, 3);
    stream_census_sum(c, &sum);
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(7, sum.lives.with);
    TEST_ASSERT_EQUAL_UINT64(7, sum.lives.infinite);
    TEST_ASSERT_EQUAL_UINT64(6, sum.lives.without);
    TEST_ASSERT_EQUAL_UINT64(st.bytes, sum.bytes);
    TEST_ASSERT_EQUAL_UINT64(1, sum.ending[0]); /* 30 min, 2 h, 3.5 h, ... 9.5 h */
    TEST_ASSERT_EQUAL_UINT64(7, sum.ending[1]);
    TEST_ASSERT_EQUAL_UINT64(sum.with_bytes, sum.ending_bytes);
    TEST_ASSERT_EQUAL_INT64(w.now_ns + 1800 * CLOCK_S, sum.next_ns);
    stream_census_free(c);
    c = census("a.*", 8); /* deeper than any subject: each is a group of its own */
    run(c, 1000);
    const struct stream_group *g;
    TEST_ASSERT_EQUAL_size_t(7, stream_census_groups(c, &g));
    stream_census_free(c);
    c = census("b.>", 1);
    run(c, 1000);
    stream_census_sum(c, &sum);
    TEST_ASSERT_EQUAL_UINT64(0, sum.bytes);
    TEST_ASSERT_EQUAL_STRING("", groups_of(c));
    stream_census_free(c);
}

/* A prefix that is a subject, too, is one group: the tree has it in two places. */
static void test_a_prefix_that_is_a_subject_is_one_group(void)
{
    (void)put("a", 0, "x");
    (void)put("b.z", 0, "x");
    (void)put("a.b.c", 0, "x");
    (void)put("a.d", 0, "x");
    struct stream_census *c = census("", 1);
    run(c, 1);
    TEST_ASSERT_EQUAL_STRING("a 3 0 3 0 0 0\nb 1 0 1 0 0 0\n", groups_of(c));
    stream_census_free(c);
}

static void test_the_largest_hundred_of_many_groups_are_shown(void)
{
    const struct stream_group *g;
    char big[300];

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    for (int i = 0; i < 1500; i++) /* the largest are neither the first nor the last ones */
        (void)put_numbered("b.%04d", i, 0, i >= 700 && i < 800 ? big : big + 1 + i * 7 % 200);
    struct stream_census *c = census("", 2);
    run(c, 100);
    TEST_ASSERT_EQUAL_size_t(100, stream_census_groups(c, &g));
    for (int i = 0; i < 100; i++)
        TEST_ASSERT_EQUAL_MEMORY("b.07", g[i].prefix, 4);
    for (int i = 1; i < 100; i++)
        TEST_ASSERT_TRUE(g[i].bytes <= g[i - 1].bytes);
    stream_census_free(c);
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint64_t steps_of(const char *filter, unsigned depth)
{
    struct stream_census *c = census(filter, depth);
    uint64_t n;

    run(c, 64);
    n = stream_census_steps(c);
    stream_census_free(c);
    return n;
}

static void test_steps_grow_with_the_messages_that_match(void)
{
    for (int i = 0; i < 1000; i++)
        (void)put_numbered("a.%d", i, 0, "x");
    uint64_t small = steps_of("a.*", 1);
    for (int i = 0; i < 7000; i++)
        (void)put_numbered("b.%d", i, 0, "x");
    uint64_t large = steps_of("", 1);
    TEST_ASSERT_GREATER_THAN_UINT64(6 * small, large);
    TEST_ASSERT_LESS_THAN_UINT64(10 * small, large);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(small, steps_of("a.*", 0)); /* others cost nothing */
    TEST_ASSERT_LESS_THAN_UINT64(10, steps_of("b.77", 0));
    /* one call does not do more than it was told */
    struct stream_census *c = census("", 0);
    TEST_ASSERT_EQUAL(MF_AGAIN, stream_census_step(c, 100));
    TEST_ASSERT_LESS_THAN_UINT64(200, stream_census_steps(c));
    stream_census_free(c);
}

/* More messages than times: those between are close, and no more than these are read. */
static void test_R000_61_ages_of_many_messages_need_few_reads(void)
{
    struct stream_census *c;
    struct stream_msg m;
    const struct stream_group *g;
    uint64_t reads = 0, seq;

    for (int i = 0; i < 40000; i++) {
        (void)put(i % 2 == 0 ? "a.even" : "b.odd", 0, "x");
        w.now_ns += CLOCK_S;
    }
    c = stream_census_new(w.stream, MF_SLICE_NONE, 1);
    for (; (seq = stream_census_wants(c)) != 0; reads++) {
        int rc =
            reads % 3 == 0 ? MF_CORRUPT : stream_get(w.stream, seq, &m); /* some cannot be read */
        stream_census_time(c, seq, rc == 0 ? m.ts_ns : 0);
        if (rc == 0)
            stream_msg_end(&m);
    }
    TEST_ASSERT_TRUE(stream_census_sampled(c));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * STREAM_CENSUS_TIMES, reads);
    run(c, 1000);
    TEST_ASSERT_EQUAL_size_t(2, stream_census_groups(c, &g));
    TEST_ASSERT_INT64_WITHIN(20000 / 30, 20000, g[0].age_p50_s);
    TEST_ASSERT_INT64_WITHIN(39600 / 30, 39600, g[1].age_p99_s);
    stream_census_free(c);
}

/* --- changes meanwhile ------------------------------------------------------------------------ */

static void test_messages_that_go_during_the_walk_end_nothing(void)
{
    struct stream_census_sum sum;

    for (int i = 0; i < 100; i++)
        (void)put("a.one", 0, "x");
    struct stream_census *c = census("", 1);
    TEST_ASSERT_EQUAL(MF_AGAIN, stream_census_step(c, 50));
    stream_census_sum(c, &sum);
    uint64_t seen = sum.lives.without;
    TEST_ASSERT_TRUE(seen > 10 && seen < 60);
    TEST_ASSERT_EQUAL(0, world_remove(&w, seen + 1)); /* the very one that is next */
    run(c, 7);
    stream_census_sum(c, &sum);
    TEST_ASSERT_EQUAL_UINT64(99, sum.lives.without);
    stream_census_free(c);
    c = census("", 1);
    TEST_ASSERT_EQUAL(MF_AGAIN, stream_census_step(c, 50));
    TEST_ASSERT_EQUAL(0, world_purge(&w, "", 0, 0, NULL));
    run(c, 7);
    stream_census_free(c);
}

/* Late messages are counted in the same steps: those of a subject that has others, and of subjects
 * that readers see nothing of. */
static void test_late_messages_are_counted_in_slices(void)
{
    struct stream_census_sum sum;
    struct stream_census *c;
    unsigned slices = 0;

    for (int i = 0; i < 5000; i++)
        (void)put_numbered(i % 2 == 0 ? "a.one" : "a.%d", i, 10, "x");
    (void)put("a.one", 100, "x");
    (void)put("b.late", 10, "x");
    w.now_ns += 11 * CLOCK_S; /* nothing has swept them yet */
    TEST_ASSERT_EQUAL_UINT64(5000, stream_overdue(w.stream, MF_LIT("a.>")));
    c = stream_census_new(w.stream, MF_LIT("a.>"), 0);
    for (uint64_t before = 0; stream_census_step(c, 64) == MF_AGAIN; slices++) {
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * 64, stream_census_steps(c) - before);
        before = stream_census_steps(c);
    }
    stream_census_sum(c, &sum);
    stream_census_free(c);
    TEST_ASSERT_EQUAL_UINT64(5000, sum.overdue);
    TEST_ASSERT_EQUAL_UINT64(1, sum.lives.with);
    TEST_ASSERT_GREATER_THAN_UINT(5000 / 128, slices);
}

static void test_a_census_may_be_freed_after_its_stream(void)
{
    (void)put("a.b", 0, "x");
    struct stream_census *c = census("", 1);

    world_close(&w);
    stream_census_free(c);
    world_open(&w, &config);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_ages_are_exact_below_a_minute_and_close_above);
    RUN_TEST(test_times_between_two_known_ones_lie_between_them);
    RUN_TEST(test_R000_61_kinds_of_data_are_groups_with_ages);
    RUN_TEST(test_sums_are_those_of_the_stream);
    RUN_TEST(test_a_prefix_that_is_a_subject_is_one_group);
    RUN_TEST(test_the_largest_hundred_of_many_groups_are_shown);
    RUN_TEST(test_steps_grow_with_the_messages_that_match);
    RUN_TEST(test_R000_61_ages_of_many_messages_need_few_reads);
    RUN_TEST(test_messages_that_go_during_the_walk_end_nothing);
    RUN_TEST(test_late_messages_are_counted_in_slices);
    RUN_TEST(test_a_census_may_be_freed_after_its_stream);
    return UNITY_END();
}
