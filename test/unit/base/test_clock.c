/* test_clock.c: clocks, and times and durations as Go writes and reads them. */
#include "base/clock.h"

#include "base/rand.h"

#include "unity.h"

static char text[CLOCK_TEXT];

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_monotonic_clock_never_steps_back(void)
{
    int64_t last = clock_mono_ns();

    for (int i = 0; i < 10000; i++) {
        int64_t now = clock_mono_ns();
        TEST_ASSERT_TRUE(now >= last);
        last = now;
    }
}

static void test_wall_clock_is_in_our_time(void)
{
    TEST_ASSERT_TRUE(clock_wall_ns() > 1767225600 * CLOCK_S); /* 2026 */
    TEST_ASSERT_TRUE(clock_wall_ns() < 4102444800 * CLOCK_S); /* 2100 */
}

static void test_instants_drop_the_zeros_at_the_end_of_the_fraction(void)
{
    static const struct {
        int64_t ns;
        const char *expect;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000000001Z"},
        {1767323045 * CLOCK_S, "2026-01-02T03:04:05Z"},
        {1767323045 * CLOCK_S + 600 * CLOCK_MS, "2026-01-02T03:04:05.6Z"},
        {1767323045 * CLOCK_S + 60 * CLOCK_MS, "2026-01-02T03:04:05.06Z"},
        {1767323045 * CLOCK_S + 123456789, "2026-01-02T03:04:05.123456789Z"},
        {1767323045 * CLOCK_S + 123456780, "2026-01-02T03:04:05.12345678Z"},
        {1709210096 * CLOCK_S, "2024-02-29T12:34:56Z"},
        {-1, "1969-12-31T23:59:59.999999999Z"},
        {-CLOCK_S, "1969-12-31T23:59:59Z"},
        {INT64_MAX, "2262-04-11T23:47:16.854775807Z"},
        {INT64_MIN + 1, "1677-09-21T00:12:43.145224193Z"},
        {CLOCK_ZERO, "0001-01-01T00:00:00Z"},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++)
        TEST_ASSERT_EQUAL_STRING(cases[i].expect, clock_rfc3339(text, cases[i].ns));
}

static const struct {
    int64_t ns;
    const char *text;
} durations[] = {
    {0, "0s"},
    {1, "1ns"},
    {999, "999ns"},
    {1100, "1.1\xc2\xb5s"},
    {250 * CLOCK_US, "250\xc2\xb5s"},
    {2200 * CLOCK_US, "2.2ms"},
    {1500 * CLOCK_US, "1.5ms"},
    {999999999, "999.999999ms"},
    {3300 * CLOCK_MS, "3.3s"},
    {5 * CLOCK_S, "5s"},
    {60 * CLOCK_S, "1m0s"},
    {4 * 60 * CLOCK_S + 5 * CLOCK_S, "4m5s"},
    {4 * 60 * CLOCK_S + 5001 * CLOCK_MS, "4m5.001s"},
    {3600 * CLOCK_S, "1h0m0s"},
    {3600 * CLOCK_S + 2 * 60 * CLOCK_S + 3500 * CLOCK_MS, "1h2m3.5s"},
    {5 * 3600 * CLOCK_S + 6 * 60 * CLOCK_S + 7001 * CLOCK_MS, "5h6m7.001s"},
    {8 * 60 * CLOCK_S + 1, "8m0.000000001s"},
    {720 * 3600 * CLOCK_S, "720h0m0s"},
    {-1, "-1ns"},
    {-90 * CLOCK_S, "-1m30s"},
    {INT64_MAX, "2562047h47m16.854775807s"},
    {INT64_MIN, "-2562047h47m16.854775808s"},
};

static void test_durations_are_written_as_go_does(void)
{
    for (size_t i = 0; i < MF_COUNT(durations); i++)
        TEST_ASSERT_EQUAL_STRING(durations[i].text, clock_duration(text, durations[i].ns));
}

static void test_uptime_shows_days_and_years_from_the_largest_unit_down(void)
{
    static const struct {
        int64_t s;
        const char *expect;
    } cases[] = {
        {0, "0s"},
        {5, "5s"},
        {59, "59s"},
        {60, "1m0s"},
        {759, "12m39s"},
        {3723, "1h2m3s"},
        {86400, "1d0h0m0s"},
        {3 * 86400 + 4 * 3600 + 5 * 60 + 6, "3d4h5m6s"},
        {364 * 86400, "364d0h0m0s"},
        {365 * 86400, "1y0d0h0m0s"},
        {367 * 86400 + 3 * 3600 + 4 * 60 + 5, "1y2d3h4m5s"},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++)
        TEST_ASSERT_EQUAL_STRING(cases[i].expect,
                                 clock_uptime(text, cases[i].s * CLOCK_S + 999999999));
}

static void check_parse(const char *s, int64_t expect)
{
    int64_t ns = 77;

    TEST_ASSERT_EQUAL_MESSAGE(0, clock_parse_duration(mf_str(s), &ns), s);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(expect, ns, s);
}

static void test_every_unit_sign_and_fraction_is_read(void)
{
    check_parse("0", 0);
    check_parse("+0", 0);
    check_parse("-0", 0);
    check_parse("5s", 5 * CLOCK_S);
    check_parse("30s", 30 * CLOCK_S);
    check_parse("1478s", 1478 * CLOCK_S);
    check_parse("-5s", -5 * CLOCK_S);
    check_parse("+5s", 5 * CLOCK_S);
    check_parse("5.0s", 5 * CLOCK_S);
    check_parse("5.6s", 5600 * CLOCK_MS);
    check_parse("5.s", 5 * CLOCK_S);
    check_parse(".5s", 500 * CLOCK_MS);
    check_parse("1.0s", CLOCK_S);
    check_parse("1.00s", CLOCK_S);
    check_parse("1.004s", 1004 * CLOCK_MS);
    check_parse("1.0040s", 1004 * CLOCK_MS);
    check_parse("100.00100s", 100001 * CLOCK_MS);
    check_parse("10ns", 10);
    check_parse("11us", 11 * CLOCK_US);
    check_parse("12\xc2\xb5s", 12 * CLOCK_US);
    check_parse("12\xce\xbcs", 12 * CLOCK_US);
    check_parse("13ms", 13 * CLOCK_MS);
    check_parse("14s", 14 * CLOCK_S);
    check_parse("15m", 15 * 60 * CLOCK_S);
    check_parse("16h", 16 * 3600 * CLOCK_S);
}

static void test_terms_add_up_in_any_order(void)
{
    check_parse("3h30m", 12600 * CLOCK_S);
    check_parse("10.5s4m", 250500 * CLOCK_MS);
    check_parse("-2m3.4s", -123400 * CLOCK_MS);
    check_parse("1h2m3s4ms5us6ns", 3723 * CLOCK_S + 4005006);
    check_parse("39h9m14.425s", 140954425 * CLOCK_MS);
    check_parse("1s1s1s", 3 * CLOCK_S);
    check_parse("0s", 0);
    check_parse("-0s", 0);
}

/* Digits that fit no number of 64 bits are read over, as long as they stand behind the point. */
static void test_precision_beyond_64_bits_is_cut_off(void)
{
    check_parse("52763797000ns", 52763797000);
    check_parse("0.3333333333333333333h", 20 * 60 * CLOCK_S);
    check_parse("9007199254740993ns", 9007199254740993);
    check_parse("0.100000000000000000000h", 6 * 60 * CLOCK_S);
    check_parse("0.830103483285477580700h", 49 * 60 * CLOCK_S + 48372539827);
    check_parse("0.9223372036854775807h", 3320413933267);
}

static void test_largest_magnitudes_are_read_and_one_more_is_refused(void)
{
    int64_t ns;

    check_parse("9223372036854775807ns", INT64_MAX);
    check_parse("9223372036854775.807us", INT64_MAX);
    check_parse("9223372036s854ms775us807ns", INT64_MAX);
    check_parse("-9223372036854775808ns", INT64_MIN);
    check_parse("-9223372036854775.808us", INT64_MIN);
    check_parse("-9223372036s854ms775us808ns", INT64_MIN);
    check_parse("-2562047h47m16.854775808s", INT64_MIN);
    TEST_ASSERT_EQUAL(MF_INVAL, clock_parse_duration(MF_LIT("9223372036854775808ns"), &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, clock_parse_duration(MF_LIT("-9223372036854775809ns"), &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, clock_parse_duration(MF_LIT("9223372036854775.808us"), &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, clock_parse_duration(MF_LIT("9223372036s854ms775us808ns"), &ns));
}

static void test_what_go_refuses_is_refused(void)
{
    static const char *const wrong[] = {
        "",
        "3",
        "-",
        "+",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1.5d",
        "1H",
        "1 h",
        " 1h",
        "1h ",
        "1h 2m",
        "--1s",
        "1s-2s",
        "1..5s",
        "1e3s",
        "00",
        "0.0",
        "1m3",
        "1\x85",
        "1.5.s",
        "3000000h",
        "9223372036854775.808us1ns",
        "1s2",
        "\xff\xff",
        "hello \xff",
        "9223372036854775808ns9223372036854775808ns",
        "-9223372036854775808ns9223372036854775808ns",
        "18446744073709551616s",
        "99999999999999999999999999h",
    };
    int64_t ns = 77;

    for (size_t i = 0; i < MF_COUNT(wrong); i++)
        TEST_ASSERT_EQUAL_MESSAGE(MF_INVAL, clock_parse_duration(mf_str(wrong[i]), &ns), wrong[i]);
    TEST_ASSERT_EQUAL(MF_INVAL, clock_parse_duration(MF_SLICE_NONE, &ns));
    TEST_ASSERT_EQUAL_INT64(77, ns); /* written on success only */
}

/* Go has the same test: seconds and a fraction may lose digits to the float, whole ns may not. */
static void test_what_is_written_is_read_back(void)
{
    for (size_t i = 0; i < MF_COUNT(durations); i++)
        check_parse(durations[i].text, durations[i].ns);
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(rand_fast() >> rand_below(64));
        check_parse(clock_duration(text, ns), ns);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_monotonic_clock_never_steps_back);
    RUN_TEST(test_wall_clock_is_in_our_time);
    RUN_TEST(test_instants_drop_the_zeros_at_the_end_of_the_fraction);
    RUN_TEST(test_durations_are_written_as_go_does);
    RUN_TEST(test_uptime_shows_days_and_years_from_the_largest_unit_down);
    RUN_TEST(test_every_unit_sign_and_fraction_is_read);
    RUN_TEST(test_terms_add_up_in_any_order);
    RUN_TEST(test_precision_beyond_64_bits_is_cut_off);
    RUN_TEST(test_largest_magnitudes_are_read_and_one_more_is_refused);
    RUN_TEST(test_what_go_refuses_is_refused);
    RUN_TEST(test_what_is_written_is_read_back);
    return UNITY_END();
}
