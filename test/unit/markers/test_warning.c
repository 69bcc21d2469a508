/* test_warning.c: which messages earn a warning before they expire. */
#include "markers/warning.h"

#include "base/clock.h"
#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* Streams may store the events: a warning of a warning would never end. */
static void test_only_values_with_a_deadline_earn_one(void)
{
    TEST_ASSERT_TRUE(warning_wanted(MF_LIT("a"), 1, false));
    TEST_ASSERT_FALSE(warning_wanted(MF_LIT("a"), 0, false));
    TEST_ASSERT_FALSE(warning_wanted(MF_LIT("a"), 1, true));
    TEST_ASSERT_FALSE(warning_wanted(MF_LIT("$MAYFLY.EVENT.TTL.EXPIRING.A"), 1, false));
}

static void test_ttl_up_to_the_warning_time_earns_none(void)
{
    TEST_ASSERT_FALSE(warning_in_time(100, 150, 50));
    TEST_ASSERT_TRUE(warning_in_time(100, 151, 50));
}

static void test_grain_is_a_64th_and_at_least_a_second(void)
{
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, warning_grain_ns(CLOCK_S));
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, warning_grain_ns(64 * CLOCK_S));
    TEST_ASSERT_EQUAL_INT64(2 * CLOCK_S, warning_grain_ns(128 * CLOCK_S));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_only_values_with_a_deadline_earn_one);
    RUN_TEST(test_ttl_up_to_the_warning_time_earns_none);
    RUN_TEST(test_grain_is_a_64th_and_at_least_a_second);
    return UNITY_END();
}
