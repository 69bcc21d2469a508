/* test_steady.c: the clock that judges deadlines, against everything a wall clock does. */
#include "base/steady.h"
#include "base/clock.h"

#include "unity.h"

#define WALL (1790000000 * CLOCK_S)
#define MONO (5000 * CLOCK_S)
#define HOUR (3600 * CLOCK_S)

static struct steady s;

void setUp(void)
{
    steady_init(&s, WALL, MONO, 0);
}
void tearDown(void)
{
}

/* t after the start by the monotonic clock, `off` by which the wall clock was changed meanwhile. */
static int64_t at(int64_t t, int64_t off)
{
    return steady_now(&s, WALL + t + off, MONO + t);
}

static void test_a_quiet_clock_is_followed_to_the_nanosecond(void)
{
    TEST_ASSERT_EQUAL_INT64(WALL, at(0, 0));
    TEST_ASSERT_EQUAL_INT64(WALL + 1, at(1, 0));
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR, at(HOUR, 0));
    TEST_ASSERT_EQUAL_INT64(0, steady_ahead_ns(&s, WALL + HOUR, MONO + HOUR));
}

/* Deadlines before the new time are due at once. */
static void test_a_step_forward_is_followed_at_once(void)
{
    TEST_ASSERT_EQUAL_INT64(0, steady_ahead_ns(&s, WALL + 10 * HOUR, MONO));
    TEST_ASSERT_EQUAL_INT64(WALL + 10 * HOUR, at(0, 10 * HOUR));
    TEST_ASSERT_EQUAL_INT64(WALL + 10 * HOUR + 1, at(1, 10 * HOUR));
    TEST_ASSERT_EQUAL_INT64(0, steady_ahead_ns(&s, WALL + 10 * HOUR + 1, MONO + 1));
}

/* An expired message stays expired, and a TTL of one second given now still lasts one second, not
 * hours. */
static void test_a_step_back_by_hours_neither_goes_back_nor_stands_still(void)
{
    int64_t deadline;

    at(CLOCK_S, 0);
    TEST_ASSERT_EQUAL_INT64(WALL + CLOCK_S, at(CLOCK_S, -3 * HOUR));
    deadline = at(2 * CLOCK_S, -3 * HOUR) + CLOCK_S;
    TEST_ASSERT_LESS_THAN_INT64(deadline, at(3 * CLOCK_S - 1, -3 * HOUR));
    TEST_ASSERT_EQUAL_INT64(deadline, at(3 * CLOCK_S, -3 * HOUR));
    TEST_ASSERT_EQUAL_INT64(3 * HOUR,
                            steady_ahead_ns(&s, WALL + 3 * CLOCK_S - 3 * HOUR, MONO + 3 * CLOCK_S));
}

/* Once the wall clock is set right again, nothing is left of the detour. */
static void test_a_step_back_and_forth_leaves_no_trace(void)
{
    at(1, -HOUR);
    at(2, -HOUR);
    TEST_ASSERT_EQUAL_INT64(WALL + 3, at(3, 0));
    TEST_ASSERT_EQUAL_INT64(0, steady_ahead_ns(&s, WALL + 3, MONO + 3));
    TEST_ASSERT_EQUAL_INT64(WALL + 4, at(4, 0));
}

/* A wall clock that is slewed runs a little faster until it is right. */
static void test_a_wall_clock_that_catches_up_slowly_is_met_without_a_jump(void)
{
    int64_t behind = -CLOCK_S, before = at(0, behind);

    for (int64_t t = CLOCK_MS; behind < CLOCK_MS; t += CLOCK_MS) {
        int64_t now, off = behind += CLOCK_MS / 100;
        now = at(t, off);
        TEST_ASSERT_EQUAL_INT64(before + CLOCK_MS + (off > 0 ? CLOCK_MS / 100 : 0), now);
        TEST_ASSERT_EQUAL_INT64(off < 0 ? -off : 0, steady_ahead_ns(&s, WALL + t + off, MONO + t));
        before = now;
    }
}

/* CLOCK_BOOTTIME counts the sleep, and so does the wall clock; TTLs run on while asleep. */
static void test_suspend_counts_as_time(void)
{
    TEST_ASSERT_EQUAL_INT64(WALL + 8 * HOUR, at(8 * HOUR, 0));
    /* Also when the wall clock was set back before, or loses the sleep. */
    at(8 * HOUR, -HOUR);
    TEST_ASSERT_EQUAL_INT64(WALL + 16 * HOUR, at(16 * HOUR, -9 * HOUR));
}

/* 23:59:59 happens twice: nothing comes due twice, and nothing waits a second longer. */
static void test_a_leap_second_is_not_lived_twice(void)
{
    int64_t before = at(0, 0);

    for (int64_t t = 0; t <= 3 * CLOCK_S; t += CLOCK_S / 8) {
        int64_t now = at(t, t >= CLOCK_S ? -CLOCK_S : 0);
        TEST_ASSERT_EQUAL_INT64(before + (t == 0 ? 0 : CLOCK_S / 8), now);
        before = now;
    }
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, steady_ahead_ns(&s, WALL + 2 * CLOCK_S, MONO + 3 * CLOCK_S));
}

/* After a restart with a clock set back, what the log says is past stays past. */
static void test_the_floor_from_the_log_holds_from_the_start(void)
{
    steady_init(&s, WALL, MONO, WALL + HOUR);
    TEST_ASSERT_EQUAL_INT64(HOUR, steady_ahead_ns(&s, WALL, MONO));
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR, at(0, 0));
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR + 5, at(5, 0));
    steady_init(&s, WALL, MONO, WALL - HOUR); /* long past: no matter */
    TEST_ASSERT_EQUAL_INT64(WALL, at(0, 0));
}

/* The floor is a bound, not a step: hours between two readings must not be added on top of it, or
 * things would expire early. */
static void test_raising_the_floor_lifts_to_it_and_no_further(void)
{
    steady_raise(&s, WALL + HOUR);
    steady_raise(&s, WALL + 5); /* never lowers */
    TEST_ASSERT_EQUAL_INT64(HOUR, steady_ahead_ns(&s, WALL, MONO));
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR, at(HOUR - 1, 0));
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR + 1, at(HOUR, 0));
    steady_raise(&s, WALL);
    TEST_ASSERT_EQUAL_INT64(WALL + HOUR + 1, at(HOUR, 0));
    TEST_ASSERT_EQUAL_INT64(WALL + 2 * HOUR + 1, at(2 * HOUR, 0));
}

static void test_a_monotonic_clock_that_fails_to_be_one_changes_nothing(void)
{
    at(CLOCK_S, 0);
    TEST_ASSERT_EQUAL_INT64(WALL + CLOCK_S, steady_now(&s, WALL, MONO - HOUR));
    TEST_ASSERT_EQUAL_INT64(WALL + 2 * CLOCK_S, steady_now(&s, WALL, MONO + 2 * CLOCK_S));
}

static void test_the_end_of_time_is_a_wall_not_a_wrap(void)
{
    steady_init(&s, INT64_MAX - 5, MONO, 0);
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, steady_now(&s, WALL, MONO + HOUR));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, steady_now(&s, WALL, MONO + 2 * HOUR));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, steady_now(&s, WALL, INT64_MAX));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX - WALL, steady_ahead_ns(&s, WALL, INT64_MAX));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, steady_ahead_ns(&s, INT64_MIN, INT64_MAX));
    steady_init(&s, INT64_MAX, INT64_MIN, INT64_MAX);
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, steady_now(&s, INT64_MIN, INT64_MAX));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_quiet_clock_is_followed_to_the_nanosecond);
    RUN_TEST(test_a_step_forward_is_followed_at_once);
    RUN_TEST(test_a_step_back_by_hours_neither_goes_back_nor_stands_still);
    RUN_TEST(test_a_step_back_and_forth_leaves_no_trace);
    RUN_TEST(test_a_wall_clock_that_catches_up_slowly_is_met_without_a_jump);
    RUN_TEST(test_suspend_counts_as_time);
    RUN_TEST(test_a_leap_second_is_not_lived_twice);
    RUN_TEST(test_the_floor_from_the_log_holds_from_the_start);
    RUN_TEST(test_raising_the_floor_lifts_to_it_and_no_further);
    RUN_TEST(test_a_monotonic_clock_that_fails_to_be_one_changes_nothing);
    RUN_TEST(test_the_end_of_time_is_a_wall_not_a_wrap);
    return UNITY_END();
}
