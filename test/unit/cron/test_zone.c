/* test_zone.c: zone files: rules held against libc's, files of all shapes, and names that try to
 * leave the directory. */
#include "cron/zone_impl.h"

#include "support/guard.h"
#include "support/no_memory.h"
#include "support/zone_maker.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HOUR     3600
#define JAN_2026 1767225600
#define JUL_2026 1782864000

static struct mf_buf file;
static struct zone *zone;

void setUp(void)
{
    zone_dir_make();
}

void tearDown(void)
{
    zone_close(zone);
    zone = NULL;
    mf_buf_fini(&file);
    zone_dir_remove();
    guard_free();
    unsetenv("TZ");
    fail_at = 0;
}

static int open_name(const char *name)
{
    size_t len = strlen(name);

    zone_close(zone);
    zone = NULL;
    return zone_open(&zone, mf_slice(guard_copy(name, len), len));
}

/* The bytes end at an unmapped page. */
static int read_bytes(size_t len)
{
    zone_close(zone);
    zone = NULL;
    return zone_read(&zone, mf_slice(guard_copy(file.ptr, len), len));
}

static const char *const rules[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "IST-1GMT0,M10.5.0,M3.5.0/1",           /* Dublin: summer time is the standard */
    "AEST-10AEDT,M10.1.0,M4.1.0/3",         /* the southern half */
    "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", /* Lord Howe: half an hour */
    "<-04>4<-03>,M9.1.6/24,M4.1.6/24",      /* Santiago: at 24:00 */
    "EET-2EEST,M3.4.4/50,M10.4.4/50",       /* Gaza: on another day */
    "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",      /* Nuuk: before the day begins */
    "NST3:30NDT,M3.2.0,M11.1.0",
    "QQQ-2:00:07YYY,J60/2:30:15,J300",
    "QQQ8YYY,0,364/12",
    "QQQ3YYY",
};

/* libc is the second opinion, over 150 years, close to the changes too. */
static void test_rules_give_the_offsets_of_libc(void)
{
    for (size_t i = 0; i < MF_COUNT(rules); i++) {
        struct zone_rule r;
        int64_t t = 0;

        setenv("TZ", rules[i], 1);
        tzset();
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, zone_rule_parse(&r, mf_str(rules[i])), rules[i]);
        while (t < 150LL * 365 * 86400) {
            struct zone_span span = zone_rule_at(&r, t);
            time_t now = (time_t)t, last = (time_t)(span.end_s - 1);
            struct tm tm;

            localtime_r(&now, &tm);
            TEST_ASSERT_EQUAL_INT64_MESSAGE(tm.tm_gmtoff, span.offset_s, rules[i]);
            TEST_ASSERT_GREATER_THAN_INT64(t, span.end_s);
            if (span.end_s == ZONE_FOREVER)
                break;
            localtime_r(&last, &tm);
            TEST_ASSERT_EQUAL_INT64_MESSAGE(tm.tm_gmtoff, span.offset_s, rules[i]);
            t = span.end_s;
        }
    }
}

/* Written for a zone that keeps its summer time all the year. */
static void test_summer_time_that_ends_when_it_begins_never_ends(void)
{
    struct zone_rule r;

    TEST_ASSERT_EQUAL_INT(0, zone_rule_parse(&r, MF_LIT("QQQ5YYY4,0/0,J365/25")));
    for (int64_t t = JAN_2026 - 86400; t < JAN_2026 + 3 * 366 * 86400; t += HOUR / 2)
        TEST_ASSERT_EQUAL_INT32(-4 * HOUR, zone_rule_at(&r, t).offset_s);
}

static void test_broken_rules_are_refused(void)
{
    static const char *const bad[] = {
        "",
        "C",
        "CE-1",
        "CET",
        "CET-",
        "CET25",
        "CET-1:60",
        "CET-1CE",
        "<+0",
        "<+01>",
        "<ab>1",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,J0,J300",
        "CET-1CEST,J366,J300",
        "CET-1CEST,366,3",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET-1CEST,M3.5,M10.5.0",
        "CET-1CEST,M3.5.0/,M10.5.0",
        "CET-99999999999999999999",
    };
    struct zone_rule r;

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        size_t len = strlen(bad[i]);

        TEST_ASSERT_EQUAL_INT_MESSAGE(
            MF_INVAL, zone_rule_parse(&r, mf_slice(guard_copy(bad[i], len), len)), bad[i]);
    }
}

static const struct zone_made changes[] = {
    {0, -HOUR}, {JAN_2026, 2 * HOUR}, {JUL_2026, 3 * HOUR}, {1LL << 33, HOUR / 2}};

static void check_span(int64_t t, int32_t offset_s, int64_t end_s)
{
    struct zone_span s = zone_at(zone, t);

    TEST_ASSERT_EQUAL_INT32(offset_s, s.offset_s);
    TEST_ASSERT_EQUAL_INT64(end_s, s.end_s);
}

/* Off by one here would fire a schedule an hour early or late. */
static void test_spans_begin_and_end_with_the_changes_of_the_file(void)
{
    zone_made_file(&file, changes, MF_COUNT(changes), "");
    TEST_ASSERT_EQUAL_INT(0, read_bytes(file.len));
    check_span(-(1LL << 40), -HOUR, JAN_2026);
    check_span(JAN_2026 - 1, -HOUR, JAN_2026);
    check_span(JAN_2026, 2 * HOUR, JUL_2026);
    check_span(JUL_2026 - 1, 2 * HOUR, JUL_2026);
    check_span(JUL_2026, 3 * HOUR, 1LL << 33);
    check_span(1LL << 33, HOUR / 2, ZONE_FOREVER);
}

static void test_rule_takes_over_after_the_last_change(void)
{
    zone_made_file(&file, changes, 2, "CET-1CEST,M3.5.0,M10.5.0/3");
    TEST_ASSERT_EQUAL_INT(0, read_bytes(file.len));
    check_span(JAN_2026 - 1, -HOUR, JAN_2026);
    check_span(JAN_2026, HOUR, 1774746000);       /* 2026-03-29T01:00Z */
    check_span(1774746000, 2 * HOUR, 1792890000); /* 2026-10-25T01:00Z */
}

static void test_unreadable_footer_leaves_the_last_offset(void)
{
    zone_made_file(&file, changes, 2, "CET-1CE");
    TEST_ASSERT_EQUAL_INT(0, read_bytes(file.len));
    check_span(JAN_2026, 2 * HOUR, ZONE_FOREVER);
}

static void test_version_one_file_is_read_with_32_bits(void)
{
    zone_made_file_v1(&file, changes, 3);
    TEST_ASSERT_EQUAL_INT(0, read_bytes(file.len));
    check_span(0, -HOUR, JAN_2026);
    check_span(JUL_2026, 3 * HOUR, ZONE_FOREVER);
}

/* Files are not ours: half a file must be no zone, not a crash. */
static void test_file_cut_anywhere_before_its_footer_is_corrupt(void)
{
    zone_made_file(&file, changes, MF_COUNT(changes), "");
    for (size_t cut = 0; cut < file.len - 2; cut++)
        TEST_ASSERT_EQUAL_INT(MF_CORRUPT, read_bytes(cut));
    TEST_ASSERT_EQUAL_INT(0, read_bytes(file.len - 1));
}

static void test_file_with_any_byte_changed_is_read_or_refused(void)
{
    zone_made_file(&file, changes, MF_COUNT(changes), "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t i = 0; i < file.len; i++)
        for (int x = 1; x < 256; x <<= 1) {
            file.ptr[i] ^= (uint8_t)x;
            if (read_bytes(file.len) == 0)
                (void)zone_at(zone, JUL_2026);
            file.ptr[i] ^= (uint8_t)x;
        }
}

static void test_senseless_files_are_corrupt(void)
{
    static const struct zone_made back[] = {{0, 0}, {JUL_2026, 1}, {JAN_2026, 2}};
    static const struct zone_made far_off[] = {{0, 26 * HOUR}};

    zone_made_file(&file, back, MF_COUNT(back), "");
    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, read_bytes(file.len));
    mf_buf_clear(&file);
    zone_made_file(&file, far_off, 1, "");
    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, read_bytes(file.len));
    mf_buf_clear(&file);
    zone_made_file(&file, changes, 2, "");
    file.ptr[44 + 10 + 44 + 8] = 2; /* the only change: its type, of two */
    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, read_bytes(file.len));
}

/* The name comes from a client. */
static void test_names_cannot_leave_the_directory(void)
{
    static const char *const bad[] = {
        "",
        "/",
        "..",
        "../x",
        "Europe/../Real",
        "/etc/localtime",
        "Real/",
        "Europe//Real",
        "./Real",
        "Re al",
        "Real.",
        "Real\n",
        "R\xc3\xa9x",
        "Europe\\Real",
        ":Real",
        "~",
        "-1",
        "Europe",
        "Missing",
        "real",
    };
    char up[128], long_name[300];

    zone_dir_put_rule("Real", "CET-1");
    zone_dir_put_rule("Europe/Real", "CET-1");
    TEST_ASSERT_EQUAL_INT(0, open_name("Real"));
    TEST_ASSERT_EQUAL_INT(0, open_name("Europe/Real"));
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(MF_NOTFOUND, open_name(bad[i]), bad[i]);
    snprintf(up, sizeof up, "..%s/Real", strrchr(zone_dir(), '/'));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, open_name(up));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, zone_open(&zone, mf_slice("Real\0", 5)));
    memset(long_name, 'x', sizeof long_name);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, zone_open(&zone, mf_slice(long_name, ZONE_NAME_MAX)));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, zone_open(&zone, mf_slice(long_name, ZONE_NAME_MAX + 1)));
}

static void test_what_is_no_zone_file_is_no_zone(void)
{
    zone_dir_put("Empty", MF_SLICE_NONE);
    zone_dir_put("Text", MF_LIT("# a table of countries, longer than the header of a zone file\n"));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, open_name("Empty"));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, open_name("Text"));
}

static void test_zone_in_use_is_shared_and_read_anew_after_the_last_close(void)
{
    struct zone *second, *third;

    zone_dir_put_rule("Real", "CET-1");
    TEST_ASSERT_EQUAL_INT(0, open_name("Real"));
    zone_dir_put_rule("Real", "CET-2");
    TEST_ASSERT_EQUAL_INT(0, zone_open(&second, MF_LIT("Real")));
    TEST_ASSERT_EQUAL_PTR(zone, second);
    zone_close(zone);
    TEST_ASSERT_EQUAL_INT32(HOUR, zone_at(second, 0).offset_s);
    zone_close(second);
    TEST_ASSERT_EQUAL_INT(0, zone_open(&third, MF_LIT("Real")));
    zone = third;
    TEST_ASSERT_EQUAL_INT32(2 * HOUR, zone_at(zone, 0).offset_s);
}

static void test_utc_needs_no_file(void)
{
    TEST_ASSERT_EQUAL_INT(0, open_name("UTC"));
    TEST_ASSERT_NULL(zone);
    check_span(JUL_2026, 0, ZONE_FOREVER);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, open_name("utc"));
}

static void test_local_is_what_tz_says_and_utc_when_that_is_nothing(void)
{
    char path[128];

    zone_dir_put_rule("Real", "CET-1");
    zone_dir_put_rule("Other", "CET-2");
    setenv("TZ", "Real", 1);
    TEST_ASSERT_EQUAL_INT(0, open_name("Local"));
    check_span(0, HOUR, ZONE_FOREVER);
    snprintf(path, sizeof path, ":%s/Other", zone_dir());
    setenv("TZ", path, 1);
    TEST_ASSERT_EQUAL_INT(0, open_name("Local"));
    check_span(0, 2 * HOUR, ZONE_FOREVER);
    setenv("TZ", "Missing", 1);
    TEST_ASSERT_EQUAL_INT(0, open_name("Local"));
    check_span(0, 0, ZONE_FOREVER);
    setenv("TZ", "", 1);
    TEST_ASSERT_EQUAL_INT(0, open_name("Local"));
    TEST_ASSERT_NULL(zone);
}

/* A client must hear of trouble on our side, not that its zone is wrong. */
static void test_without_memory_the_zone_is_not_called_unknown(void)
{
    int rc = MF_NOMEM, tries = 0;

    zone_dir_put_rule("Real", "CET-1");
    for (int n = 1; rc == MF_NOMEM && n < 10; n++, tries++) {
        allocations = 0;
        fail_at = n;
        rc = zone_open(&zone, MF_LIT("Real"));
    }
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT(0, rc);
    TEST_ASSERT_EQUAL_INT(3, tries); /* bytes, zone, and then none failed */
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_rules_give_the_offsets_of_libc);
    RUN_TEST(test_summer_time_that_ends_when_it_begins_never_ends);
    RUN_TEST(test_broken_rules_are_refused);
    RUN_TEST(test_spans_begin_and_end_with_the_changes_of_the_file);
    RUN_TEST(test_rule_takes_over_after_the_last_change);
    RUN_TEST(test_unreadable_footer_leaves_the_last_offset);
    RUN_TEST(test_version_one_file_is_read_with_32_bits);
    RUN_TEST(test_file_cut_anywhere_before_its_footer_is_corrupt);
    RUN_TEST(test_file_with_any_byte_changed_is_read_or_refused);
    RUN_TEST(test_senseless_files_are_corrupt);
    RUN_TEST(test_names_cannot_leave_the_directory);
    RUN_TEST(test_what_is_no_zone_file_is_no_zone);
    RUN_TEST(test_zone_in_use_is_shared_and_read_anew_after_the_last_close);
    RUN_TEST(test_utc_needs_no_file);
    RUN_TEST(test_local_is_what_tz_says_and_utc_when_that_is_nothing);
    RUN_TEST(test_without_memory_the_zone_is_not_called_unknown);
    return UNITY_END();
}
