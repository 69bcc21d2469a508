/* test_cron.c: schedule patterns: what is one, and when it fires, with libc as second opinion. */
#include "cron/cron.h"

#include "base/clock.h"
#include "support/guard.h"
#include "support/no_memory.h"
#include "support/zone_maker.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define S CLOCK_S

static struct cron *cron;

static const struct {
    const char *name, *rule;
} zones[] = {
    {"Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"America/New_York", "EST5EDT,M3.2.0,M11.1.0"},
    {"America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24"}, /* changes at midnight */
    {"Asia/Beirut", "EET-2EEST,M3.5.0/0,M10.5.0/0"},         /* the same in the east */
    {"Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"},
    {"Asia/Kolkata", "IST-5:30"},
};

void setUp(void)
{
    zone_dir_make();
    for (size_t i = 0; i < MF_COUNT(zones); i++)
        zone_dir_put_rule(zones[i].name, zones[i].rule);
}

void tearDown(void)
{
    cron_free(cron);
    cron = NULL;
    fail_at = 0;
    zone_dir_remove();
    guard_free();
    unsetenv("TZ");
}

/* zone NULL: none.  The pattern ends at an unmapped page. */
static int parse(const char *pattern, const char *zone)
{
    size_t len = strlen(pattern);

    cron_free(cron);
    cron = NULL;
    return cron_parse(&cron, mf_slice(guard_copy(pattern, len), len), mf_str(zone));
}

/* RFC 3339, by way of @at, which has its own test. */
static int64_t when(const char *text)
{
    struct cron *at;
    char pattern[64];
    int64_t ns;

    snprintf(pattern, sizeof pattern, "@at %s", text);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, cron_parse(&at, mf_str(pattern), MF_SLICE_NONE), text);
    ns = cron_next(at, 0, 0);
    cron_free(at);
    return ns;
}

static void check_next(const char *want, int64_t after, int64_t now)
{
    char got[CLOCK_TEXT];

    TEST_ASSERT_EQUAL_STRING(want, clock_rfc3339(got, cron_next(cron, after, now)));
}

/* The first firings after a moment, one after the other. */
static void check_row(const char *pattern, const char *zone, const char *after,
                      const char *const *want, size_t n)
{
    int64_t t = when(after);

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, parse(pattern, zone), pattern);
    TEST_ASSERT_FALSE(cron_once(cron));
    for (size_t i = 0; i < n; i++) {
        check_next(want[i], t, t);
        t = cron_next(cron, t, t);
    }
}
#define CHECK_ROW(pattern, zone, after, ...)                                                       \
    check_row(pattern, zone, after, (const char *const[]){__VA_ARGS__},                            \
              MF_COUNT(((const char *const[]){__VA_ARGS__})))

static void test_good_patterns_are_taken(void)
{
    static const char *const good[] = {
        "@at 2026-01-02T03:04:05Z",
        "@every 1s",
        "@every 1m30s",
        "@every 1.5s",
        "@every +1h",
        "* * * * * *",
        "? ? ? ? ? ?",
        "0 30 14 * * *",
        "\t0  0 0 1 1 0 ",
        "*/5 * * * * *",
        "0-59/15 0 0 1-31 1-12 0-6",
        "5/10 * * * * *",
        "0,30,, * * * * *",
        "0 0 0 1 JAN Mon",
        "0 0 0 1 jan-mar mon-fri",
        "+5 05 * * * *",
        "*/99999999999 * * * * *",
        "*-5 * * * * *",
        "0 0 0 , * MON",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
    };
    for (size_t i = 0; i < MF_COUNT(good); i++) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, parse(good[i], NULL), good[i]);
        TEST_ASSERT_EQUAL(strncmp(good[i], "@at", 3) == 0, cron_once(cron));
    }
}

static void test_bad_patterns_are_refused(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "* * * * *",
        "* * * * * * *",
        "60 * * * * *",
        "* 60 * * * *",
        "* * 24 * * *",
        "* * * 0 * *",
        "* * * 32 * *",
        "* * * * 0 *",
        "* * * * 13 *",
        "* * * * * 7",
        "5-1 * * * * *",
        "1-2-3 * * * * *",
        "*/0 * * * * *",
        "*/ * * * * *",
        "*/-1 * * * * *",
        "*/2/3 * * * * *",
        "1- * * * * *",
        "-1 * * * * *",
        "a * * * * *",
        "0 0 0 1 mon *",
        "0 0 0 1 january *",
        ", * * * * *",
        "* , * * * *",
        "* * , * * *",
        "* * * * , *",
        "70/5 * * * * *",
        "99999999999999999999 * * * * *",
        "@every",
        "@every ",
        "@every 999ms",
        "@every 0",
        "@every -1h",
        "@every 5",
        "@every  1s",
        "@at",
        "@at ",
        "@daily ",
        "@Daily",
        "@reboot",
        " @daily",
        "@every 1s ",
        "** * * * * *",
        "1,x * * * * *",
        "*+ * * * * *",
    };
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(CRON_BAD_PATTERN, parse(bad[i], NULL), bad[i]);
}

/* As Go reads RFC 3339: clients format in many ways. */
static void test_at_reads_rfc3339_with_offsets_and_fractions(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"2026-01-02T03:04:05Z", 1767323045 * S},
        {"2026-01-02T03:04:05.6Z", 1767323045 * S + 600000000},
        {"2026-01-02T03:04:05,6Z", 1767323045 * S + 600000000},
        {"2026-01-02T03:04:05.1234567899Z", 1767323045 * S + 123456789},
        {"2026-01-02T3:04:05Z", 1767323045 * S},
        {"2026-01-02T05:34:05+02:30", 1767323045 * S},
        {"2026-01-01T22:04:05-05:00", 1767323045 * S},
        {"2024-02-29T00:00:00Z", 1709164800 * S},
        {"1970-01-01T00:00:01Z", S},
        {"1970-01-01T00:00:00Z", 1}, /* 0 would mean never */
        {"0001-01-01T00:00:00Z", 1},
        {"9999-12-31T23:59:59Z", INT64_MAX},
    };
    static const char *const bad[] = {
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02 03:04:05Z",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05z",
        "2026-01-02T03:04:05",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:00Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05+2:30",
        "2026-01-02T03:04:05+0230",
        "2026-01-02T03:04:05+25:00",
        "2026-01-02T03:04:05+02:61",
        "2026-1-02T03:04:05Z",
        "26-01-02T03:04:05Z",
        "2026-01-02T03:04:05ZZ",
        "2026-01-02T03:4:05Z",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z ",
        "1790000000",
    };
    char pattern[64];

    for (size_t i = 0; i < MF_COUNT(good); i++)
        TEST_ASSERT_EQUAL_INT64_MESSAGE(good[i].ns, when(good[i].text), good[i].text);
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        snprintf(pattern, sizeof pattern, "@at %s", bad[i]);
        TEST_ASSERT_EQUAL_INT_MESSAGE(CRON_BAD_PATTERN, parse(pattern, NULL), pattern);
    }
}

/* A moment that has passed is due, not lost. */
static void test_at_keeps_its_moment_whatever_the_time(void)
{
    TEST_ASSERT_EQUAL_INT(0, parse("@at 2026-01-02T03:04:05Z", NULL));
    TEST_ASSERT_TRUE(cron_once(cron));
    TEST_ASSERT_EQUAL_INT64(1767323045 * S, cron_next(cron, 0, 0));
    TEST_ASSERT_EQUAL_INT64(1767323045 * S, cron_next(cron, 1800000000 * S, 1900000000 * S));
}

static void test_zone_is_judged_before_the_pattern(void)
{
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, parse("nonsense", "No/Where"));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_PATTERN, parse("nonsense", "Europe/Berlin"));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, parse("@hourly", "-1"));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, parse("@hourly", "../Europe/Berlin"));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, parse("@hourly", "")); /* there, but empty */
    TEST_ASSERT_EQUAL_INT(0, parse("@hourly", NULL));
    TEST_ASSERT_EQUAL_INT(0, parse("@hourly", "UTC"));
    TEST_ASSERT_EQUAL_INT(0, parse("@hourly", "Local"));
    TEST_ASSERT_EQUAL_INT(0, cron_check_zone(MF_SLICE_NONE));
    TEST_ASSERT_EQUAL_INT(0, cron_check_zone(MF_LIT("Asia/Kolkata")));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, cron_check_zone(MF_LIT("")));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_ZONE, cron_check_zone(MF_LIT("Asia")));
}

static void test_zone_with_at_or_every_is_a_bad_pattern(void)
{
    TEST_ASSERT_EQUAL_INT(CRON_BAD_PATTERN, parse("@at 2026-01-02T03:04:05Z", "UTC"));
    TEST_ASSERT_EQUAL_INT(CRON_BAD_PATTERN, parse("@every 1m", "Europe/Berlin"));
}

static void test_every_counts_from_the_rounded_second(void)
{
    int64_t t = 1790000000 * S;

    TEST_ASSERT_EQUAL_INT(0, parse("@every 5s", NULL));
    TEST_ASSERT_EQUAL_INT64(t + 5 * S, cron_next(cron, t, t));
    TEST_ASSERT_EQUAL_INT64(t + 5 * S, cron_next(cron, t + S / 2 - 1, t));
    TEST_ASSERT_EQUAL_INT64(t + 6 * S, cron_next(cron, t + S / 2, t));
    TEST_ASSERT_EQUAL_INT(0, parse("@every 1500ms", NULL));
    TEST_ASSERT_EQUAL_INT64(t + 3 * S / 2, cron_next(cron, t, t));
    TEST_ASSERT_EQUAL_INT64(t + 7 * S / 2, cron_next(cron, t + 3 * S / 2, t));
}

/* After a day of standstill one firing, not 17280. */
static void test_missed_firings_are_one(void)
{
    int64_t t = 1790000000 * S, now = t + 86400 * S + 400000000;

    TEST_ASSERT_EQUAL_INT(0, parse("@every 5s", NULL));
    TEST_ASSERT_EQUAL_INT64(t + 86405 * S, cron_next(cron, t, now));
    TEST_ASSERT_EQUAL_INT64(now,
                            cron_next(cron, now - 5 * S - 400000000, now - 400000000) + 400000000);
    TEST_ASSERT_EQUAL_INT(0, parse("* * * * * *", NULL));
    TEST_ASSERT_EQUAL_INT64(t + 86401 * S, cron_next(cron, t, now));
    /* nats-server rounds now: from half a second on one more is left out. */
    TEST_ASSERT_EQUAL_INT64(t + 86402 * S, cron_next(cron, t, now + 100000000));
}

static void test_extreme_times_never_overflow(void)
{
    static const char *const patterns[] = {"@every 2562047h", "@every 1s", "* * * * * *",
                                           "0 0 0 29 2 *", "@yearly"};
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};

    for (size_t i = 0; i < MF_COUNT(patterns); i++) {
        TEST_ASSERT_EQUAL_INT(0, parse(patterns[i], NULL));
        for (size_t a = 0; a < MF_COUNT(times); a++)
            for (size_t n = 0; n < MF_COUNT(times); n++)
                TEST_ASSERT_GREATER_OR_EQUAL_INT64(0, cron_next(cron, times[a], times[n]));
    }
}

static void test_fields_choose_their_times(void)
{
    CHECK_ROW("0 30 14 * * *", NULL, "2026-01-02T14:29:59.5Z", "2026-01-02T14:30:00Z",
              "2026-01-03T14:30:00Z");
    CHECK_ROW("*/20 * * * * *", NULL, "2026-12-31T23:59:30Z", "2026-12-31T23:59:40Z",
              "2027-01-01T00:00:00Z", "2027-01-01T00:00:20Z");
    CHECK_ROW("10 5/25 8-9 * * *", NULL, "2026-01-02T08:30:10Z", "2026-01-02T08:55:10Z",
              "2026-01-02T09:05:10Z", "2026-01-02T09:30:10Z", "2026-01-02T09:55:10Z",
              "2026-01-03T08:05:10Z");
    /* A later minute or hour begins with the first second again. */
    CHECK_ROW("10,50 30 8 * * *", NULL, "2026-01-02T08:00:30Z", "2026-01-02T08:30:10Z",
              "2026-01-02T08:30:50Z", "2026-01-03T08:30:10Z");
    CHECK_ROW("0 0 0 31 * *", NULL, "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z",
              "2026-05-31T00:00:00Z");
    CHECK_ROW("0 0 0 29 feb *", NULL, "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z",
              "2032-02-29T00:00:00Z");
    CHECK_ROW("@weekly", NULL, "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z",
              "2026-01-11T00:00:00Z");
    CHECK_ROW("@monthly", NULL, "2026-11-16T00:00:00Z", "2026-12-01T00:00:00Z",
              "2027-01-01T00:00:00Z");
    CHECK_ROW("@yearly", NULL, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    CHECK_ROW("@hourly", NULL, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
}

/* Cron's old rule, and its exception for the star. */
static void test_day_and_weekday_are_alternatives_unless_one_is_a_star(void)
{
    CHECK_ROW("0 0 0 13 * fri", NULL, "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z",
              "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z",
              "2026-03-06T00:00:00Z", "2026-03-13T00:00:00Z");
    CHECK_ROW("0 0 0 13 * *", NULL, "2026-02-01T00:00:00Z", "2026-02-13T00:00:00Z",
              "2026-03-13T00:00:00Z");
    CHECK_ROW("0 0 0 */1 * fri", NULL, "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z",
              "2026-02-13T00:00:00Z");
    CHECK_ROW("0 0 0 */10 * fri", NULL, "2026-02-01T00:00:00Z", "2026-02-06T00:00:00Z",
              "2026-02-11T00:00:00Z"); /* a step restricts */
}

/* At publish this is the error for a bad pattern. */
static void test_pattern_without_a_date_within_five_years_never_fires(void)
{
    int64_t t = when("2026-06-01T00:00:00Z");

    TEST_ASSERT_EQUAL_INT(0, parse("0 0 0 30 2 *", NULL));
    TEST_ASSERT_EQUAL_INT64(0, cron_next(cron, t, t));
    TEST_ASSERT_EQUAL_INT(0, parse("0 0 0 30 2 *", "Europe/Berlin"));
    TEST_ASSERT_EQUAL_INT64(0, cron_next(cron, t, t));
    TEST_ASSERT_EQUAL_INT(0, parse("0 0 0 , * *", NULL));
    TEST_ASSERT_EQUAL_INT64(0, cron_next(cron, t, t));
    TEST_ASSERT_EQUAL_INT(0, parse("0 0 0 29 2 *", NULL));
    TEST_ASSERT_EQUAL_INT64(0, cron_next(cron, when("2097-01-01T00:00:00Z"), 0)); /* then 2104 */
}

/* Skipped local times do not come, repeated ones come twice, as in nats-server. */
static void test_summer_time_skips_and_repeats(void)
{
    CHECK_ROW("0 30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-28T01:30:00Z",
              "2026-03-30T00:30:00Z");
    CHECK_ROW("0 30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z",
              "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z");
    CHECK_ROW("0 0 9 * * *", "America/New_York", "2026-03-07T00:00:00Z", "2026-03-07T14:00:00Z",
              "2026-03-08T13:00:00Z");
    CHECK_ROW("0 0 0 * * *", "Asia/Kolkata", "2026-03-07T00:00:00Z", "2026-03-07T18:30:00Z");
    CHECK_ROW("0 0 2 * * *", "Australia/Lord_Howe", "2026-04-03T16:00:00Z", "2026-04-04T15:30:00Z",
              "2026-04-05T15:30:00Z");
    /* The day has no midnight; nats-server loses all of it. */
    CHECK_ROW("0 30 14 6 9 *", "America/Santiago", "2026-09-01T00:00:00Z", "2026-09-06T17:30:00Z");
    CHECK_ROW("@daily", "America/Santiago", "2026-09-05T00:00:00Z", "2026-09-05T04:00:00Z",
              "2026-09-07T03:00:00Z");
}

static bool fits(const struct tm *tm, int minute_step, int hour, int weekday)
{
    return tm->tm_sec == 0 && tm->tm_min % minute_step == 0 && tm->tm_hour == hour &&
           (weekday == 7 || tm->tm_wday == weekday);
}

/* Every minute around each change of a year, found by asking libc for its local time. */
static void test_firings_are_exactly_the_minutes_whose_local_time_fits(void)
{
    static const char *const around[] = {"2026-03-08T00:00:00Z", "2026-03-29T00:00:00Z",
                                         "2026-04-05T00:00:00Z", "2026-09-06T00:00:00Z",
                                         "2026-10-04T00:00:00Z", "2026-10-25T00:00:00Z"};
    static const int hours[] = {0, 1, 2, 23};

    for (size_t z = 0; z < MF_COUNT(zones); z++) {
        setenv("TZ", zones[z].rule, 1);
        tzset();
        for (size_t i = 0; i < MF_COUNT(around) * MF_COUNT(hours); i++) {
            int64_t t = when(around[i / MF_COUNT(hours)]) / S - 86400, end = t + 2 * 86400;
            int hour = hours[i % MF_COUNT(hours)], weekday = i % 3 == 0 ? 0 : 7;
            char pattern[64];
            int64_t next;

            snprintf(pattern, sizeof pattern, "0 */15 %d * * %s", hour, weekday == 0 ? "0" : "*");
            TEST_ASSERT_EQUAL_INT(0, parse(pattern, zones[z].name));
            next = cron_next(cron, (t - 1) * S, 0) / S;
            for (; t < end; t += 60) {
                time_t now = (time_t)t;
                struct tm tm;

                localtime_r(&now, &tm);
                TEST_ASSERT_EQUAL_MESSAGE(fits(&tm, 15, hour, weekday), next == t, pattern);
                if (next == t)
                    next = cron_next(cron, t * S, 0) / S;
            }
        }
    }
}

static void test_without_memory_nothing_is_kept(void)
{
    int rc = CRON_NO_MEMORY, tries = 0;

    for (int n = 1; rc == CRON_NO_MEMORY && n < 10; n++, tries++) {
        allocations = 0;
        fail_at = n;
        rc = cron_parse(&cron, MF_LIT("@hourly"), MF_LIT("Europe/Berlin"));
    }
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT(0, rc);
    TEST_ASSERT_EQUAL_INT(4, tries); /* file, zone, cron, and then none failed */
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_good_patterns_are_taken);
    RUN_TEST(test_bad_patterns_are_refused);
    RUN_TEST(test_at_reads_rfc3339_with_offsets_and_fractions);
    RUN_TEST(test_at_keeps_its_moment_whatever_the_time);
    RUN_TEST(test_zone_is_judged_before_the_pattern);
    RUN_TEST(test_zone_with_at_or_every_is_a_bad_pattern);
    RUN_TEST(test_every_counts_from_the_rounded_second);
    RUN_TEST(test_missed_firings_are_one);
    RUN_TEST(test_extreme_times_never_overflow);
    RUN_TEST(test_fields_choose_their_times);
    RUN_TEST(test_day_and_weekday_are_alternatives_unless_one_is_a_star);
    RUN_TEST(test_pattern_without_a_date_within_five_years_never_fires);
    RUN_TEST(test_summer_time_skips_and_repeats);
    RUN_TEST(test_firings_are_exactly_the_minutes_whose_local_time_fits);
    RUN_TEST(test_without_memory_nothing_is_kept);
    return UNITY_END();
}
