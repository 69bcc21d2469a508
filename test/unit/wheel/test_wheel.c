/* test_wheel.c: the timer wheel's promises one by one: exact order, nothing early, bounded work,
 * memory that follows the load.  (Random operations against a model: test_wheel_model.c; failing
 * allocations: test_wheel_nomem.c.) */
#include "wheel/wheel.h"
#include "wheel/wheel_impl.h" /* the counter of moves */

#include <stdlib.h>

#include "support/wheel_pop.h"
#include "unity.h"

#define MS      1000000LL
#define S       (1000 * MS)
#define YEAR    (31556952 * S)
#define NOW     (1790000000 * S)
#define MILLION 1000000u

static uint32_t *refs;
static uint8_t *page[1];
static uint64_t asked; /* calls of order() */
static bool backwards; /* order(): the larger id first */
static uint32_t group; /* order(): so many ids in a row share one */
static struct wheel *w;

static uint64_t order(void *arg, uint32_t id)
{
    (void)arg;
    asked++;
    return backwards ? UINT32_MAX - id : id / group;
}

void setUp(void)
{
    struct wheel_owner o = {{page, 31, 0, sizeof(uint32_t)}, order, NULL};

    refs = malloc(MILLION * sizeof *refs);
    TEST_ASSERT_NOT_NULL(refs);
    memset(refs, 0xff, MILLION * sizeof *refs);
    page[0] = (uint8_t *)refs;
    backwards = false;
    group = 1;
    asked = 0;
    w = wheel_new(&o, NOW);
    TEST_ASSERT_NOT_NULL(w);
}
void tearDown(void)
{
    wheel_free(w);
    free(refs);
}

static void add(uint32_t id, int64_t deadline)
{
    TEST_ASSERT_EQUAL_INT(0, wheel_add(w, id, deadline));
}
static void advance(int64_t now)
{
    TEST_ASSERT_TRUE(wheel_advance(w, now, SIZE_MAX));
}
static void expect(uint32_t id, int64_t deadline)
{
    int64_t d = -1;

    TEST_ASSERT_EQUAL_UINT32(id, wheel_pop(w, &d));
    TEST_ASSERT_EQUAL_INT64(deadline, d);
    TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, refs[id]);
}
static void expect_nothing(void)
{
    int64_t d;

    TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, wheel_pop(w, &d));
}
static uint64_t scatter(uint64_t i) /* a fixed hash: the same test each time */
{
    i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
    return i ^ (i >> 31);
}

static void test_an_empty_wheel_has_nothing_to_say(void)
{
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, wheel_next(w));
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
    advance(INT64_MAX);
    expect_nothing();
    wheel_del(w, 7); /* not there: harmless */
    wheel_check(w);
}

/* A value must be readable up to its last nanosecond, from a nanosecond to centuries ahead. */
static void test_nothing_fires_a_nanosecond_early(void)
{
    for (unsigned bits = 0; bits < 62; bits++) {
        int64_t d = NOW + ((int64_t)1 << bits) + (int64_t)bits;
        add(bits, d);
    }
    for (unsigned bits = 0; bits < 62; bits++) {
        int64_t d = NOW + ((int64_t)1 << bits) + (int64_t)bits;
        advance(d - 1);
        expect_nothing();
        advance(d);
        expect(bits, d);
        wheel_check(w);
    }
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
}

/* The tick is a bucket, not a resolution. */
static void test_deadlines_within_one_tick_keep_their_nanoseconds(void)
{
    const int64_t t = (NOW >> 20 << 20) + 50 * WHEEL_TICK_NS;

    add(1, t + 500);
    add(2, t + 499);
    add(3, t + WHEEL_TICK_NS - 1);
    add(4, t);
    advance(t);
    expect(4, t);
    expect_nothing();
    advance(t + 499);
    TEST_ASSERT_EQUAL_size_t(3, wheel_due_count(w));
    expect(2, t + 499);
    expect_nothing();
    TEST_ASSERT_EQUAL_INT64(t + 500, wheel_next(w));
    advance(t + WHEEL_TICK_NS - 1);
    expect(1, t + 500);
    expect(3, t + WHEEL_TICK_NS - 1);
}

/* Markers are written in the order of deaths: (deadline, sequence), whatever the order of adding.
 */
static void test_equal_deadlines_come_in_the_owners_order(void)
{
    backwards = true;
    for (uint32_t i = 0; i < 1000; i++)
        add((uint32_t)(i * 387 % 1000), NOW + S + (i % 2));
    advance(NOW + 2 * S);
    wheel_check(w);
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t last = UINT32_MAX;
        for (uint32_t i = 0; i < 500; i++) {
            int64_t d;
            uint32_t id = wheel_pop(w, &d);
            TEST_ASSERT_LESS_THAN_UINT32(last, id);
            TEST_ASSERT_EQUAL_INT64(NOW + S + half, d);
            last = id;
        }
    }
    expect_nothing();
}

/* Recovery adds what died while the server was down. */
static void test_late_ones_take_their_place_among_those_waiting(void)
{
    add(10, NOW + 10);
    add(30, NOW + 30);
    advance(NOW + S);
    add(20, NOW + 20);
    add(5, NOW - YEAR);
    add(0, 0);
    add(31, NOW + 30);
    add(29, NOW + 30);
    TEST_ASSERT_EQUAL_INT64(0, wheel_next(w));
    expect(0, 0);
    expect(5, NOW - YEAR);
    add(6, NOW - YEAR);
    expect(6, NOW - YEAR);
    expect(10, NOW + 10);
    wheel_check(w);
    expect(20, NOW + 20);
    expect(29, NOW + 30);
    expect(30, NOW + 30);
    expect(31, NOW + 30);
    expect_nothing();
}

static void test_time_going_back_changes_nothing(void)
{
    add(1, NOW + S);
    add(2, NOW + 3 * S);
    advance(NOW + 2 * S);
    advance(NOW - YEAR);
    advance(0);
    expect(1, NOW + S);
    expect_nothing();
    add(3, NOW + S); /* past by the time that was seen */
    expect(3, NOW + S);
    advance(NOW + 3 * S);
    expect(2, NOW + 3 * S);
}

/* Purged while waiting to be popped; moved by the owner while waiting. */
static void test_due_ones_can_still_be_deleted_and_renumbered(void)
{
    group = 3; /* one of three stays: its order is its own, and no other when it moves */
    for (uint32_t i = 0; i < 200; i++)
        add(i, NOW + S);
    advance(NOW + S);
    for (uint32_t i = 0; i < 200; i++)
        if (i % 3 != 1)
            wheel_del(w, i);
    wheel_check(w);
    wheel_renumber(w, 1, 2); /* the first of all */
    wheel_renumber(w, 100, 101);
    wheel_renumber(w, 0, 3); /* nothing there: harmless */
    TEST_ASSERT_EQUAL_INT64(NOW + S, wheel_deadline(w, 101));
    wheel_check(w);
    for (uint32_t i = 1; i < 200; i += 3)
        expect(i == 1 ? 2 : i == 100 ? 101 : i, NOW + S);
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
    wheel_check(w);
}

/* Runs leave the heap from anywhere in it, in any order. */
static void test_purging_among_many_runs_keeps_the_order(void)
{
    enum { RUNS = 300, N = RUNS * CHUNK_ITEMS };
    int64_t d, last = 0;

    for (uint32_t i = 0; i < N; i++)
        add(i, NOW + 100 * MS + (int64_t)(scatter(i) % WHEEL_TICK_NS / 16));
    advance(NOW + 200 * MS);
    for (uint32_t r = 0; r < RUNS; r++) {
        uint32_t run = r * 77 % RUNS;
        for (uint32_t i = 0; i < CHUNK_ITEMS && r < RUNS - 20; i++)
            wheel_del(w, run * CHUNK_ITEMS + i);
        wheel_check(w);
    }
    TEST_ASSERT_EQUAL_size_t((size_t)20 * CHUNK_ITEMS, wheel_count(w));
    while (wheel_pop(w, &d) != WHEEL_NONE) {
        TEST_ASSERT_GREATER_OR_EQUAL_INT64(last, d);
        last = d;
    }
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
}

/* A bucket's range ends with the last tick in it, not one before. */
static void test_the_last_tick_of_a_bucket_waits_for_its_time(void)
{
    for (unsigned level = 1; level < LEVELS - 1; level++) {
        const int64_t size = (int64_t)1 << (8 * level);
        const int64_t end = ((w->tick / size + 2) * size + size - 1) << TICK_BITS;
        add(1, end);
        add(2, end - 2 * WHEEL_TICK_NS);
        advance(end - 1);
        TEST_ASSERT_EQUAL_size_t(1, wheel_due_count(w));
        wheel_check(w);
        expect(2, end - 2 * WHEEL_TICK_NS);
        expect_nothing();
        advance(end);
        expect(1, end);
    }
}

/* The loop's timer may be set anew before the wheel has come to its end. */
static void test_next_is_right_while_time_is_half_way(void)
{
    for (uint32_t i = 0; i < 200; i++)
        add(i, NOW + 100 * MS);
    TEST_ASSERT_FALSE(wheel_advance(w, NOW + S, 1));
    wheel_check(w);
    add(200, NOW + 50 * MS);
    TEST_ASSERT_LESS_OR_EQUAL_INT64(NOW + 50 * MS, wheel_next(w));
    expect_nothing();
    advance(NOW + S);
    expect(200, NOW + 50 * MS);
    TEST_ASSERT_TRUE(wheel_advance(w, NOW + S, 0)); /* nothing to do costs nothing */
    for (uint32_t i = 0; i < 200; i++)
        expect(i, NOW + 100 * MS);
}

/* After years of suspend, or with a clock that was wrong at boot. */
static void test_centuries_are_crossed_in_a_few_steps(void)
{
    for (uint32_t i = 0; i < 200; i++)
        add(i, NOW + (int64_t)i * YEAR + i);
    advance(NOW + 100 * YEAR);
    TEST_ASSERT_EQUAL_size_t(101, wheel_due_count(w)); /* one of them within this tick */
    TEST_ASSERT_LESS_THAN_UINT64(400, w->moves);
    wheel_check(w);
    advance(INT64_MAX);
    for (uint32_t i = 0; i < 200; i++)
        expect(i, NOW + (int64_t)i * YEAR + i);
    add(9, INT64_MAX);
    expect(9, INT64_MAX);
}

/* The loop sleeps until wheel_next(): it may wake a few times on the way to a far deadline, never
 * too late, and not at all for nothing. */
static void test_next_leads_to_any_deadline_in_a_few_wakes(void)
{
    for (unsigned bits = 0; bits < 62; bits++) {
        int64_t d = w->now + ((int64_t)1 << bits) / 3 + 1;
        int wakes = 0;
        add(bits, d);
        while (wheel_due_count(w) == 0) {
            int64_t next = wheel_next(w);
            TEST_ASSERT_LESS_OR_EQUAL_INT64(d, next);
            TEST_ASSERT_LESS_OR_EQUAL_INT(LEVELS, ++wakes);
            advance(next);
        }
        TEST_ASSERT_EQUAL_INT64(d, wheel_next(w));
        wheel_del(w, bits);
        TEST_ASSERT_EQUAL_INT64(INT64_MAX, wheel_next(w));
    }
}

/* O(1) and not O(log n): the moves of an entry are bounded by the levels, at any size. */
static void moves_per_entry(uint32_t n)
{
    uint64_t fired = 0, late = 0;
    int64_t d;

    for (uint32_t i = 0; i < n; i++)
        add(i, NOW + (int64_t)(scatter(i) % (uint64_t)(3600 * S)));
    for (int64_t now = NOW; now <= NOW + 3600 * S; now += 50 * MS) {
        advance(now);
        while (wheel_pop(w, &d) != WHEEL_NONE) {
            late += d <= now - 50 * MS;
            fired++;
        }
    }
    TEST_ASSERT_EQUAL_UINT64(n, fired);
    TEST_ASSERT_EQUAL_UINT64(0, late);
    TEST_ASSERT_LESS_THAN_UINT64(5 * n, w->moves); /* 2 of 3 levels, sorting, tidying */
}
static void test_a_thousand_entries_move_a_few_times_each(void)
{
    moves_per_entry(1000);
}
static void test_a_million_entries_move_no_more_often(void)
{
    moves_per_entry(MILLION);
}

/* Ten are due in an hour, among n that end in a year or later: the wakes before that and then the
 * ten.  What is looked at and moved does not depend on n. */
static void moves_for_ten(uint32_t n, uint64_t *idle, uint64_t *fire)
{
    int wakes = 0;

    for (uint32_t i = 10; i < n; i++)
        add(i, NOW + YEAR + (int64_t)(scatter(i) % (uint64_t)YEAR));
    for (uint32_t i = 0; i < 10; i++)
        add(i, NOW + 3600 * S + i);
    uint64_t before = w->moves;
    asked = 0;
    for (int64_t next; (next = wheel_next(w)) < NOW + 3600 * S - MS; wakes++)
        advance(next);
    TEST_ASSERT_LESS_OR_EQUAL_INT(LEVELS, wakes);
    *idle = w->moves - before + asked;
    before = w->moves;
    asked = 0;
    advance(NOW + 3601 * S);
    for (uint32_t i = 0; i < 10; i++)
        expect(i, NOW + 3600 * S + i);
    expect_nothing();
    *fire = w->moves - before + asked;
    TEST_ASSERT_EQUAL_size_t(n - 10, wheel_count(w));
}
static void test_R000_35_what_is_due_is_found_without_a_scan(void)
{
    uint64_t idle[2], fire[2];

    moves_for_ten(1000, &idle[0], &fire[0]);
    tearDown();
    setUp();
    moves_for_ten(MILLION, &idle[1], &fire[1]);
    TEST_ASSERT_EQUAL_UINT64(idle[0], idle[1]);
    TEST_ASSERT_EQUAL_UINT64(fire[0], fire[1]);
    TEST_ASSERT_LESS_THAN_UINT64(100, idle[1]);
    TEST_ASSERT_LESS_THAN_UINT64(200, fire[1]);
}

/* A million due at one nanosecond must not stop the loop: every single call is bounded. */
static void test_a_million_at_once_come_in_bounded_slices(void)
{
    const int64_t t = NOW + 1000 * S;
    uint64_t moves, calls = 0, fired = 0;
    int64_t d;
    bool done;

    for (uint32_t i = 0; i < MILLION; i++)
        add((uint32_t)((uint64_t)i * 7919 % MILLION), t);
    do {
        moves = w->moves;
        asked = 0;
        done = wheel_advance(w, t, 1000);
        TEST_ASSERT_LESS_THAN_UINT64(1000 + 3 * CHUNK_ITEMS, w->moves - moves);
        TEST_ASSERT_LESS_THAN_UINT64(3000, asked);
        if (!done)
            expect_nothing(); /* the first is not known yet */
        calls++;
    } while (!done);
    TEST_ASSERT_GREATER_THAN_UINT64(900, calls);
    TEST_ASSERT_EQUAL_size_t(MILLION, wheel_due_count(w));
    for (uint32_t want = 0; wheel_count(w) > 0; want++) {
        moves = w->moves;
        asked = 0;
        if (wheel_pop(w, &d) != want)
            TEST_FAIL_MESSAGE("out of order");
        if (w->moves - moves > CHUNK_ITEMS || asked > 4)
            TEST_FAIL_MESSAGE("a pop that does too much");
        fired++;
    }
    TEST_ASSERT_EQUAL_UINT64(MILLION, fired);
}

/* Same TTL for all, added as they came: found sorted, so the order is asked for once or twice each
 * and nothing is moved to sort. */
static void test_those_added_in_order_need_no_sorting(void)
{
    for (uint32_t i = 0; i < 100000; i++)
        add(i, NOW + S);
    advance(NOW + S);
    TEST_ASSERT_EQUAL_UINT64(0, w->moves);
    for (uint32_t i = 0; i < 100000; i++)
        expect(i, NOW + S);
    TEST_ASSERT_LESS_THAN_UINT64(300000, asked);
}

/* 12 bytes and little more, and it goes back when the load goes, wherever the gaps arise. */
static void test_memory_follows_the_load(void)
{
    size_t empty = wheel_memory(w), left = MILLION;

    for (uint32_t i = 0; i < MILLION; i++)
        add(i, NOW + (int64_t)(scatter(i) % (uint64_t)(3600 * S)));
    TEST_ASSERT_LESS_THAN_size_t(MILLION * 125 / 10, wheel_memory(w));
    for (int64_t now = NOW; left > 0; now += 60 * S) {
        int64_t d;
        advance(now);
        while (wheel_pop(w, &d) != WHEEL_NONE)
            left--;
        TEST_ASSERT_LESS_THAN_size_t(left * 20 + (3u << 20), wheel_memory(w));
    }
    TEST_ASSERT_LESS_THAN_size_t(empty + (1u << 17), wheel_memory(w));
    wheel_check(w);
    for (uint32_t i = 0; i < MILLION; i++)
        add(i, NOW + (int64_t)(scatter(i) % (uint64_t)(3600 * S)));
    for (uint32_t i = 0; i < MILLION; i++)
        wheel_del(w, (uint32_t)((uint64_t)i * 7919 % MILLION));
    TEST_ASSERT_LESS_THAN_size_t(empty + (1u << 17), wheel_memory(w));
    wheel_check(w);
}

/* A caller who advances for long before he pops does not pay a chunk for each tick. */
static void test_waiting_ones_stay_packed(void)
{
    for (uint32_t i = 0; i < 50000; i++)
        add(i, NOW + (int64_t)i * 2 * MS);
    for (int64_t now = NOW; now < NOW + 100 * S; now += MS)
        advance(now);
    TEST_ASSERT_EQUAL_size_t(50000, wheel_due_count(w));
    TEST_ASSERT_LESS_THAN_size_t(50000 * 20 + (1u << 18), wheel_memory(w));
    for (uint32_t i = 0; i < 50000; i++)
        expect(i, NOW + (int64_t)i * 2 * MS);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_empty_wheel_has_nothing_to_say);
    RUN_TEST(test_nothing_fires_a_nanosecond_early);
    RUN_TEST(test_deadlines_within_one_tick_keep_their_nanoseconds);
    RUN_TEST(test_equal_deadlines_come_in_the_owners_order);
    RUN_TEST(test_late_ones_take_their_place_among_those_waiting);
    RUN_TEST(test_time_going_back_changes_nothing);
    RUN_TEST(test_due_ones_can_still_be_deleted_and_renumbered);
    RUN_TEST(test_purging_among_many_runs_keeps_the_order);
    RUN_TEST(test_the_last_tick_of_a_bucket_waits_for_its_time);
    RUN_TEST(test_next_is_right_while_time_is_half_way);
    RUN_TEST(test_centuries_are_crossed_in_a_few_steps);
    RUN_TEST(test_next_leads_to_any_deadline_in_a_few_wakes);
    RUN_TEST(test_a_thousand_entries_move_a_few_times_each);
    RUN_TEST(test_a_million_entries_move_no_more_often);
    RUN_TEST(test_R000_35_what_is_due_is_found_without_a_scan);
    RUN_TEST(test_a_million_at_once_come_in_bounded_slices);
    RUN_TEST(test_those_added_in_order_need_no_sorting);
    RUN_TEST(test_memory_follows_the_load);
    RUN_TEST(test_waiting_ones_stay_packed);
    return UNITY_END();
}
