/* test_ttl.c: what a Nats-TTL means, here and in nats-server 2.15.1, value by value. */
#include "ttl/ttl.h"

#include "base/clock.h"
#include "support/guard.h"
#include "unity.h"

#include <stdio.h>

#define MS  CLOCK_MS
#define S   CLOCK_S
#define BAD INT64_MIN
#define NOW (1790000000 * S)

void setUp(void)
{
}

void tearDown(void)
{
    guard_free();
}

/* The value ends at an unmapped page. */
static int64_t parse(const char *value, bool strict)
{
    int64_t ns = 4711;
    size_t len = strlen(value);
    int rc = ttl_parse(mf_slice(guard_copy(value, len), len), strict, &ns);

    if (rc != 0) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(MF_INVAL, rc, value);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(4711, ns, value);
        return BAD;
    }
    return ns;
}

struct row {
    const char *value;
    int64_t strict, ours;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TEST_ASSERT_EQUAL_INT64_MESSAGE(rows[i].strict, parse(rows[i].value, true), rows[i].value);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(rows[i].ours, parse(rows[i].value, false), rows[i].value);
    }
}

/* The daily bread: both modes agree. */
static void test_plain_values_mean_the_same_in_both_modes(void)
{
    static const struct row rows[] = {
        {"1", S, S},
        {"90", 90 * S, 90 * S},
        {"007", 7 * S, 7 * S},
        {"1s", S, S},
        {"1000ms", S, S},
        {"+5s", 5 * S, 5 * S},
        {"1h30m", 5400 * S, 5400 * S},
        {"1m1m", 120 * S, 120 * S},
        {".5h", 1800 * S, 1800 * S},
        {"1us2h", 7200 * S, 7200 * S + MS}, /* ours rounds up to the millisecond */
        {"7000000000", 7000000000 * S, 7000000000 * S},
        {"never", TTL_NEVER, TTL_NEVER},
        {"NEVER", TTL_NEVER, TTL_NEVER},
        {"Never", TTL_NEVER, TTL_NEVER},
        {"", TTL_NONE, TTL_NONE},
        {"00", TTL_NONE, TTL_NONE},
        {"000", TTL_NONE, TTL_NONE},
    };
    check_rows(rows, MF_COUNT(rows));
}

/* A publisher who gets no error believes that its message will go. */
static void test_nonsense_is_refused_in_both_modes(void)
{
    static const char *const values[] = {
        "-1",         "-1s",  "+5",      "1.5",    "500ms", "999ms",  "999.999999ms",
        "1\xc2\xb5s", "5 ",   "5\t",     "never ", " 5",    "1d",     "1e3s",
        "1s1",        "0x10", "abc",     "nev",    "s",     ".s",     "+",
        "-",          ".",    "1_0",     "1h-1m",  "5S",    "never1", "1 s",
        "1,5s",       "0.1s", "0.9999s", "0.1ns",  "-0.1s", "1..5s",  "1sm",
        "\xff",
    };
    for (size_t i = 0; i < MF_COUNT(values); i++) {
        TEST_ASSERT_EQUAL_INT64_MESSAGE(BAD, parse(values[i], true), values[i]);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(BAD, parse(values[i], false), values[i]);
    }
}

/* The requirement says that zero is ignored; nats-server answers an error. */
static void test_zero_is_ignored_by_us_and_an_error_in_strict_mode(void)
{
    static const struct row rows[] = {
        {"0", BAD, TTL_NONE},    {"0s", BAD, TTL_NONE}, {"0h0m0s", BAD, TTL_NONE},
        {"0.0s", BAD, TTL_NONE}, {"+0", BAD, TTL_NONE}, {"-0s", BAD, TTL_NONE},
    };
    check_rows(rows, MF_COUNT(rows));
}

/* nats-server drops the fraction, so that the message dies early; we never do. */
static void test_fractions_are_kept_to_the_millisecond(void)
{
    static const struct row rows[] = {
        {"1.9s", S, 1900 * MS},
        {"1.0001s", S, 1001 * MS},
        {"1500ms", S, 1500 * MS},
        {"1s1ns", S, 1001 * MS},
        {"0.5m", 30 * S, 30 * S},
        {"90000000.999999999s", 90000001 * S, 90000001 * S}, /* Go's float rounds up there */
    };
    check_rows(rows, MF_COUNT(rows));
}

/* The deadline as an observer sees it: 0 never, or whether it is already due. */
static const char *fate(const char *value, bool strict)
{
    int64_t ns = parse(value, strict), at;

    if (ns == BAD)
        return "refused";
    at = ttl_deadline(NOW, ns, strict);
    return at == 0 ? "kept" : at <= NOW ? "due" : "later";
}

/* A client that writes "a very long time" must not lose its message at once. */
static void test_huge_values_are_kept_for_ever_and_due_at_once_in_strict_mode(void)
{
    static const char *const rows[][3] = {
        {"7000000000", "later", "later"},
        {"7500000000", "due", "kept"},
        {"9223372036", "due", "kept"},
        {"9223372037", "due", "kept"},
        {"9223372036854775807", "due", "kept"},
        {"9223372036854775808", "refused", "kept"},
        {"18446744073709551616", "kept", "kept"}, /* wraps to 0 there: no TTL */
        {"18446744073709551617", "later", "kept"},
        {"36028797018963968", "due", "kept"}, /* 2^55: the nanoseconds wrap to 0 */
        {"99999999999999999999999999999", "later", "kept"},
        {"2562047h47m16s", "due", "kept"},
        {"2562047h47m17s", "refused", "kept"},
        {"99999999999999999999h", "refused", "kept"},
        {"-99999999999999999999h", "refused", "refused"},
        {"1.99999999999999999999999s", "later", "later"},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i][1], fate(rows[i][0], true), rows[i][0]);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i][2], fate(rows[i][0], false), rows[i][0]);
    }
    TEST_ASSERT_EQUAL_INT64(S, parse("18446744073709551617", true));
    /* 2^64 ns are 18446744073.709551616 s: 0.29 s are left of the next second. */
    TEST_ASSERT_EQUAL_INT64(290448384, parse("18446744074", true));
}

static void test_deadline_is_timestamp_plus_ttl(void)
{
    TEST_ASSERT_EQUAL_INT64(NOW + 5 * S, ttl_deadline(NOW, 5 * S, true));
    TEST_ASSERT_EQUAL_INT64(NOW + 5 * S, ttl_deadline(NOW, 5 * S, false));
    TEST_ASSERT_EQUAL_INT64(NOW + 1900 * MS + 7, ttl_deadline(NOW + 7, 1900 * MS, false));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, ttl_deadline(NOW, INT64_MAX - NOW, false));
}

/* 0 is the word for never, so no real deadline may be 0, not even with a clock before 1970. */
static void test_no_ttl_has_no_deadline_and_a_ttl_always_has_one(void)
{
    for (int strict = 0; strict < 2; strict++) {
        TEST_ASSERT_EQUAL_INT64(0, ttl_deadline(NOW, TTL_NONE, strict));
        TEST_ASSERT_EQUAL_INT64(0, ttl_deadline(NOW, TTL_NEVER, strict));
        TEST_ASSERT_EQUAL_INT64(1, ttl_deadline(-5 * S, 5 * S, strict));
        TEST_ASSERT_EQUAL_INT64(1, ttl_deadline(-9 * S, 5 * S, strict));
    }
    TEST_ASSERT_EQUAL_INT64(0, ttl_deadline(NOW, INT64_MAX, false));
    TEST_ASSERT_EQUAL_INT64(1, ttl_deadline(NOW, INT64_MAX, true));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_plain_values_mean_the_same_in_both_modes);
    RUN_TEST(test_nonsense_is_refused_in_both_modes);
    RUN_TEST(test_zero_is_ignored_by_us_and_an_error_in_strict_mode);
    RUN_TEST(test_fractions_are_kept_to_the_millisecond);
    RUN_TEST(test_huge_values_are_kept_for_ever_and_due_at_once_in_strict_mode);
    RUN_TEST(test_deadline_is_timestamp_plus_ttl);
    RUN_TEST(test_no_ttl_has_no_deadline_and_a_ttl_always_has_one);
    return UNITY_END();
}
