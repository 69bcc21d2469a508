/* test_user_rights.c: what the claims of a user mean: networks, kinds of connection, hours,
 * permissions. */
#include "base/civil.h"
#include "base/clock.h"
#include "operator/user_rights.h"

#include <stdlib.h>
#include <unity.h>

static struct jwt_grant g;
static char *texts[8];
static struct jwt_times times[2];

void setUp(void)
{
    g = (struct jwt_grant){.subs = -1};
}

void tearDown(void)
{
}

static struct json_strs list(const char *a, const char *b)
{
    texts[0] = (char *)(uintptr_t)a;
    texts[1] = (char *)(uintptr_t)b;
    return (struct json_strs){texts, b == NULL ? 1 : 2};
}

/* --- networks --------------------------------------------------------------------------------- */

static void test_any_address_without_src(void)
{
    TEST_ASSERT_TRUE(user_rights_source(&g, "192.0.2.1"));
    TEST_ASSERT_TRUE(user_rights_source(&g, NULL));
}

static void test_addresses_inside_and_outside_of_networks(void)
{
    static const struct {
        const char *src, *ip;
        bool in;
    } cases[] = {
        {"10.0.0.0/8", "10.255.1.2", true},
        {"10.0.0.0/8", "11.0.0.1", false},
        {"192.0.2.128/25", "192.0.2.127", false},
        {"192.0.2.128/25", "192.0.2.128", true},
        {"192.0.2.7/32", "192.0.2.7", true},
        {"192.0.2.7/32", "192.0.2.6", false},
        {"0.0.0.0/0", "192.0.2.7", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "192.0.2.7", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"10.0.0.0/8", "::ffff:10.1.2.3", true}, /* an address of version 4 in its other form */
        {"::ffff:10.0.0.0/104", "10.1.2.3", true},
        {"::ffff:10.0.0.0/104", "11.1.2.3", false},
        {"10.0.0.0/33", "10.0.0.1", false},
        {"10.0.0.1", "10.0.0.1", false}, /* no network */
        {"10.0.0.0/8", "unix", false},
        {"10.0.0.0/8", "", false},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        g.src = list(cases[i].src, NULL);
        TEST_ASSERT_EQUAL_MESSAGE(cases[i].in, user_rights_source(&g, cases[i].ip), cases[i].src);
    }
}

static void test_one_of_several_networks_is_enough(void)
{
    g.src = list("10.0.0.0/8", "127.0.0.0/8");
    TEST_ASSERT_TRUE(user_rights_source(&g, "127.0.0.1"));
    TEST_ASSERT_FALSE(user_rights_source(&g, "128.0.0.1"));
    TEST_ASSERT_FALSE(user_rights_source(&g, NULL));
}

/* --- kinds of connection ---------------------------------------------------------------------- */

static void test_kinds_in_any_case_and_unknown_ones(void)
{
    TEST_ASSERT_TRUE(user_rights_kind(&g, LOGIN_LEAFNODE_WS));
    g.connection_types = list("pigeon", "Standard");
    TEST_ASSERT_TRUE(user_rights_kind(&g, LOGIN_STANDARD));
    TEST_ASSERT_FALSE(user_rights_kind(&g, LOGIN_WEBSOCKET));
    g.connection_types = list("pigeon", NULL);
    TEST_ASSERT_FALSE(user_rights_kind(&g, LOGIN_STANDARD));
    g.connection_types = list("MQTT", "LEAFNODE_WS");
    TEST_ASSERT_FALSE(user_rights_kind(&g, LOGIN_LEAFNODE));
    TEST_ASSERT_TRUE(user_rights_kind(&g, LOGIN_LEAFNODE_WS));
}

/* --- hours ------------------------------------------------------------------------------------ */

static int64_t at(int year, int month, int day, int hour, int minute, int second)
{
    return (civil_days(year, month, day) * CIVIL_DAY_S + hour * 3600 + minute * 60 + second) *
           CLOCK_S;
}

static void between(int i, const char *start, const char *end, const char *zone)
{
    times[i] = (struct jwt_times){(char *)(uintptr_t)start, (char *)(uintptr_t)end};
    g.times = (struct json_objects){times, (size_t)i + 1};
    g.times_location = (char *)(uintptr_t)zone;
}

static void inside(int64_t now_ns, int64_t end_ns)
{
    int64_t got = -1;

    TEST_ASSERT_EQUAL(0, user_rights_window(&g, now_ns, &got));
    TEST_ASSERT_EQUAL_INT64(end_ns / CLOCK_S, got / CLOCK_S);
}

static void outside(int64_t now_ns)
{
    int64_t got;

    TEST_ASSERT_EQUAL(MF_DENIED, user_rights_window(&g, now_ns, &got));
}

static void test_always_without_hours(void)
{
    inside(at(2026, 3, 1, 1, 2, 3), 0);
}

static void test_a_window_of_the_day(void)
{
    between(0, "08:00:00", "9:30:15", "UTC");
    outside(at(2026, 3, 1, 7, 59, 59));
    inside(at(2026, 3, 1, 8, 0, 0), at(2026, 3, 1, 9, 30, 15));
    inside(at(2026, 3, 1, 9, 30, 14), at(2026, 3, 1, 9, 30, 15));
    outside(at(2026, 3, 1, 9, 30, 15));
}

static void test_a_window_over_midnight_holds_on_both_sides_of_it(void)
{
    between(0, "22:00:00", "06:00:00", "UTC");
    outside(at(2026, 2, 28, 21, 59, 59));
    inside(at(2026, 2, 28, 22, 0, 0), at(2026, 3, 1, 6, 0, 0));
    inside(at(2026, 3, 1, 0, 0, 0), at(2026, 3, 1, 6, 0, 0));
    inside(at(2026, 3, 1, 5, 59, 59), at(2026, 3, 1, 6, 0, 0));
    outside(at(2026, 3, 1, 6, 0, 0));
}

static void test_the_window_that_now_is_in_counts(void)
{
    between(0, "08:00:00", "09:00:00", "UTC");
    between(1, "12:00:00", "13:00:00", "UTC");
    inside(at(2026, 3, 1, 12, 30, 0), at(2026, 3, 1, 13, 0, 0));
    outside(at(2026, 3, 1, 10, 0, 0));
    between(1, "12:00:00", "12:00:00", "UTC"); /* empty */
    outside(at(2026, 3, 1, 12, 0, 0));
}

static void test_hours_are_those_of_the_zone(void)
{
    between(0, "08:00:00", "09:00:00", "America/New_York"); /* UTC-5 in winter */
    outside(at(2026, 1, 10, 8, 30, 0));
    inside(at(2026, 1, 10, 13, 30, 0), at(2026, 1, 10, 14, 0, 0));
    inside(at(2026, 7, 10, 12, 30, 0), at(2026, 7, 10, 13, 0, 0));
}

/* In Berlin the hour from 2 to 3 was skipped on 2026-03-29, at 01:00 UTC, and is repeated on
 * 2026-10-25, at 01:00 UTC. */
static void test_windows_end_right_on_days_when_clocks_change(void)
{
    between(0, "01:00:00", "04:00:00", "Europe/Berlin");
    inside(at(2026, 3, 29, 0, 30, 0), at(2026, 3, 29, 2, 0, 0));
    inside(at(2026, 10, 25, 0, 30, 0), at(2026, 10, 25, 3, 0, 0));
    between(0, "01:00:00", "02:30:00", "Europe/Berlin");
    inside(at(2026, 3, 29, 0, 30, 0), at(2026, 3, 29, 1, 0, 0));
}

static void test_a_zone_or_a_time_that_is_none_admits_nobody(void)
{
    between(0, "00:00:00", "23:59:59", "Nowhere/Atlantis");
    outside(at(2026, 3, 1, 12, 0, 0));
    between(0, "noon", "23:59:59", "UTC");
    outside(at(2026, 3, 1, 12, 0, 0));
}

static void test_the_deadline_is_what_comes_first(void)
{
    struct jwt user = {.exp = 100};

    TEST_ASSERT_EQUAL_INT64(100 * CLOCK_S, user_rights_deadline(&user, 0));
    TEST_ASSERT_EQUAL_INT64(99 * CLOCK_S, user_rights_deadline(&user, 99 * CLOCK_S));
    TEST_ASSERT_EQUAL_INT64(100 * CLOCK_S, user_rights_deadline(&user, 101 * CLOCK_S));
    user.exp = 0;
    TEST_ASSERT_EQUAL_INT64(0, user_rights_deadline(&user, 0));
    TEST_ASSERT_EQUAL_INT64(7, user_rights_deadline(&user, 7));
    user.exp = INT64_MAX;
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, user_rights_deadline(&user, 0));
}

/* --- permissions ------------------------------------------------------------------------------ */

static void test_answers_alone_may_be_published_where_only_answers_are_allowed(void)
{
    struct jwt_resp resp = {.max = 3, .ttl_ns = -1};
    struct perms *p;
    struct mf_error e;
    int64_t max, ttl_ns;

    TEST_ASSERT_EQUAL(0, user_rights_perms(&p, &g.perms, &e));
    TEST_ASSERT_NULL(p);
    g.perms.resp = &resp;
    TEST_ASSERT_EQUAL(0, user_rights_perms(&p, &g.perms, &e));
    TEST_ASSERT_FALSE(perms_can_publish(p, mf_str("a")));
    TEST_ASSERT_TRUE(perms_can_subscribe(p, mf_str("a"), MF_SLICE_NONE));
    TEST_ASSERT_TRUE(perms_tracks_responses(p, &max, &ttl_ns));
    TEST_ASSERT_EQUAL_INT64(3, max);
    TEST_ASSERT_EQUAL_INT64(-1, ttl_ns);
    perms_release(p);
    g.perms.resp = NULL;
    g.perms.pub.allow = list("a..b", NULL);
    TEST_ASSERT_EQUAL(MF_INVAL, user_rights_perms(&p, &g.perms, &e));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_any_address_without_src);
    RUN_TEST(test_addresses_inside_and_outside_of_networks);
    RUN_TEST(test_one_of_several_networks_is_enough);
    RUN_TEST(test_kinds_in_any_case_and_unknown_ones);
    RUN_TEST(test_always_without_hours);
    RUN_TEST(test_a_window_of_the_day);
    RUN_TEST(test_a_window_over_midnight_holds_on_both_sides_of_it);
    RUN_TEST(test_the_window_that_now_is_in_counts);
    RUN_TEST(test_hours_are_those_of_the_zone);
    RUN_TEST(test_windows_end_right_on_days_when_clocks_change);
    RUN_TEST(test_a_zone_or_a_time_that_is_none_admits_nobody);
    RUN_TEST(test_the_deadline_is_what_comes_first);
    RUN_TEST(test_answers_alone_may_be_published_where_only_answers_are_allowed);
    return UNITY_END();
}
