/* test_civil.c: days since 1970 and the calendar, both ways. */
#include "base/civil.h"

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void assert_date(int64_t days, int64_t year, int month, int day)
{
    struct civil c = civil_of(days);

    TEST_ASSERT_EQUAL_INT64(days, civil_days(year, month, day));
    TEST_ASSERT_EQUAL_INT64(year, c.year);
    TEST_ASSERT_EQUAL_INT(month, c.month);
    TEST_ASSERT_EQUAL_INT(day, c.day);
}

static void test_known_days_have_their_dates(void)
{
    assert_date(0, 1970, 1, 1);
    assert_date(-1, 1969, 12, 31);
    assert_date(-719162, 1, 1, 1); /* Go's zero time */
    assert_date(11016, 2000, 2, 29);
    assert_date(20775, 2026, 11, 18);
    assert_date(2932896, 9999, 12, 31);
}

/* Every day of nine centuries is one after the day before, in the calendar too. */
static void test_each_day_follows_the_day_before(void)
{
    int64_t days = civil_days(1599, 12, 31);

    for (int64_t year = 1600; year < 2500; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= civil_month_days(year, month); day++)
                assert_date(++days, year, month, day);
}

static void test_leap_years_are_those_of_the_gregorian_calendar(void)
{
    TEST_ASSERT_TRUE(civil_leap(2000));
    TEST_ASSERT_TRUE(civil_leap(2024));
    TEST_ASSERT_FALSE(civil_leap(1900));
    TEST_ASSERT_FALSE(civil_leap(2026));
    TEST_ASSERT_EQUAL_INT(29, civil_month_days(2024, 2));
    TEST_ASSERT_EQUAL_INT(28, civil_month_days(1900, 2));
}

static void test_weekdays_are_right_on_both_sides_of_1970(void)
{
    TEST_ASSERT_EQUAL_INT(4, civil_weekday(0));     /* a Thursday */
    TEST_ASSERT_EQUAL_INT(3, civil_weekday(-1));    /* a Wednesday */
    TEST_ASSERT_EQUAL_INT(3, civil_weekday(20775)); /* a Wednesday */
}

static void test_a_quotient_is_rounded_down(void)
{
    TEST_ASSERT_EQUAL_INT64(1, civil_floor(7, 4));
    TEST_ASSERT_EQUAL_INT64(-2, civil_floor(-7, 4));
    TEST_ASSERT_EQUAL_INT64(-2, civil_floor(-8, 4));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_known_days_have_their_dates);
    RUN_TEST(test_each_day_follows_the_day_before);
    RUN_TEST(test_leap_years_are_those_of_the_gregorian_calendar);
    RUN_TEST(test_weekdays_are_right_on_both_sides_of_1970);
    RUN_TEST(test_a_quotient_is_rounded_down);
    return UNITY_END();
}
