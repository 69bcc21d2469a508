/* test_clock_steps.c: steps of the wall clock are counted, and nothing that only looks like one. */
#include "base/clock_steps.h"
#include "base/clock.h"

#include "unity.h"

#define WALL (1790000000 * CLOCK_S)
#define BOOT (5000 * CLOCK_S)
#define HOUR (3600 * CLOCK_S)

static struct clock_steps s;

void setUp(void)
{
    s = (struct clock_steps){0};
}
void tearDown(void)
{
}

/* t after the start by the monotonic clock, `off` by which the wall clock was changed meanwhile. */
static bool look(int64_t t, int64_t off)
{
    return clock_steps_look(&s, BOOT + t - 100, WALL + t + off, BOOT + t);
}

static void check(uint64_t count, int64_t last_ns, int64_t at_ns)
{
    TEST_ASSERT_EQUAL_UINT64(count, s.count);
    TEST_ASSERT_EQUAL_INT64(last_ns, s.last_ns);
    TEST_ASSERT_EQUAL_INT64(at_ns, s.at_ns);
}

static void test_the_first_look_and_a_quiet_clock_make_no_step(void)
{
    for (int i = 0; i < 10; i++)
        TEST_ASSERT_FALSE(look(i * CLOCK_S, 0));
    check(0, 0, 0);
}

static void test_steps_forward_and_back_are_counted_with_size_and_time(void)
{
    look(0, 0);
    TEST_ASSERT_TRUE(look(CLOCK_S, HOUR));
    check(1, HOUR, WALL + CLOCK_S + HOUR);
    TEST_ASSERT_FALSE(look(2 * CLOCK_S, HOUR));
    TEST_ASSERT_TRUE(look(3 * CLOCK_S, -HOUR));
    check(2, -2 * HOUR, WALL + 3 * CLOCK_S - HOUR);
}

/* 500 ppm, the most that a kernel slews by: 0.5 ms in each second, 5 s in 10,000. */
static void test_a_slewed_clock_makes_no_step(void)
{
    for (int64_t i = 0; i < 10000; i++)
        TEST_ASSERT_FALSE(look(i * CLOCK_S, i * CLOCK_MS / 2));
    check(0, 0, 0);
}

/* Both clocks count the time in which the machine sleeps. */
static void test_a_suspended_machine_makes_no_step(void)
{
    look(0, 0);
    TEST_ASSERT_FALSE(look(8 * HOUR, 0));
    check(0, 0, 0);
}

/* The process may be stopped between two reads.  A step that hid in the pause shows at the next
 * look. */
static void test_a_pause_within_a_look_is_no_step_and_hides_none(void)
{
    look(0, 0);
    TEST_ASSERT_FALSE(clock_steps_look(&s, BOOT + CLOCK_S, WALL + CLOCK_S, BOOT + 5 * CLOCK_S));
    TEST_ASSERT_FALSE(look(6 * CLOCK_S, 0));
    TEST_ASSERT_FALSE(
        clock_steps_look(&s, BOOT + 7 * CLOCK_S, WALL + 7 * CLOCK_S + HOUR, BOOT + 9 * CLOCK_S));
    TEST_ASSERT_TRUE(look(10 * CLOCK_S, HOUR));
    check(1, HOUR, WALL + 10 * CLOCK_S + HOUR);
}

static void test_a_step_of_exactly_the_least_size_is_none(void)
{
    look(0, 0);
    TEST_ASSERT_FALSE(look(CLOCK_S, CLOCK_STEP_LEAST_NS));
    TEST_ASSERT_TRUE(look(2 * CLOCK_S, -1));
    check(1, -CLOCK_STEP_LEAST_NS - 1, WALL + 2 * CLOCK_S - 1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_first_look_and_a_quiet_clock_make_no_step);
    RUN_TEST(test_steps_forward_and_back_are_counted_with_size_and_time);
    RUN_TEST(test_a_slewed_clock_makes_no_step);
    RUN_TEST(test_a_suspended_machine_makes_no_step);
    RUN_TEST(test_a_pause_within_a_look_is_no_step_and_hides_none);
    RUN_TEST(test_a_step_of_exactly_the_least_size_is_none);
    return UNITY_END();
}
