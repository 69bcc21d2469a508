/* test_perms.c: what permissions allow.  The tables marked "asked" were put to nats-server 2.15.1
 * over a socket first; where we differ on purpose, the test says so. */
#include "auth/auth.h"

#include "base/clock.h"
#include "base/rand.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

#define MAX_LIST 8
static char *list_items[4][MAX_LIST];

/* "a|b c|d" as a list of entries. */
static struct options_list list(int slot, char *copy, size_t cap, const char *text)
{
    struct options_list l = {list_items[slot], 0};

    snprintf(copy, cap, "%s", text);
    for (char *save, *p = strtok_r(copy, "|", &save); p != NULL; p = strtok_r(NULL, "|", &save))
        l.items[l.n++] = p;
    return l;
}

static struct perms *sub_perms(const char *allow, const char *deny)
{
    char a[256], d[256];
    struct options_permissions o = {0};
    struct perms *p;

    if (allow != NULL) {
        o.subscribe.allow_set = true;
        o.subscribe.allow = list(0, a, sizeof a, allow);
    }
    if (deny != NULL)
        o.subscribe.deny = list(1, d, sizeof d, deny);
    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, NULL));
    return p; /* owns copies: a, d and o die here */
}

static struct perms *pub_perms(const char *allow, const char *deny, bool responses)
{
    char a[256], d[256];
    struct options_permissions o = {.responses_set = responses};
    struct perms *p;

    if (allow != NULL) {
        o.publish.allow_set = true;
        o.publish.allow = list(0, a, sizeof a, allow);
    }
    if (deny != NULL)
        o.publish.deny = list(1, d, sizeof d, deny);
    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, NULL));
    return p;
}

/* Asked.  "yes" and "no" are lists of "subject" or "subject queue". */
static const struct {
    const char *allow, *deny, *yes, *no;
} sub_table[] = {
    {"foo.>", NULL, "foo.>|foo.*|foo.*.b|foo.a", ">|foo|bar"},
    {"foo.*", NULL, "foo.*|foo.a|foo.*x|foo.>x", "foo.a.b|>|*.a|foo|*.*"},
    {"*", NULL, "*|a|a q", "a.b"},
    {">", NULL, ">|a.b|*", ""},
    {NULL, "foo.*", ">|*.a|*.*|foo.a.b|foo", "foo.>|foo.*|foo.a"},
    {NULL, "foo.>", ">|foo|*.>", "foo.>|foo.*|foo.a|foo.a.b"},
    {NULL, "foo.bar", "foo.>|foo.*|foo.a", "foo.bar|foo.bar q"},
    {"foo v1", NULL, "foo v1", "foo|foo v2"},
    {"foo  v1", NULL, "foo v1", "foo"},
    {"foo|foo v1", NULL, "foo|foo v1", "foo v2"},
    {"foo|foo v1|foo v2.*", NULL, "foo|foo v1|foo v2.x|foo v2.*", "foo v2|foo v2.x.y|foo v2.>"},
    {"foo *.prod", NULL, "foo v1.prod|foo *.prod", "foo v1.dev|foo >|foo"},
    {"foo.> *.dev|foo.bar v1", NULL, "foo.bar v1|foo.bar x.dev|foo.baz a.dev",
     "foo.bar v2|foo.baz v1"},
    {NULL, "foo v1", "foo|foo v2", "foo v1"},
    {NULL, "foo|foo v1", "bar", "foo|foo v1|foo v2"},
    {NULL, "foo *.prod", "foo v1.dev|foo|foo >", "foo v1.prod|foo *.prod"},
    {NULL, "foo >", "foo|bar v1", "foo v1"},
    {"foo.>", "foo.* q", "foo.a|foo.a r", "foo.a q|foo.* q|foo.> q"},
    {NULL, "x", "foo", "x"},
};

static void expect_subs(const struct perms *p, const char *subs, bool expected)
{
    char copy[256], text[300];

    snprintf(copy, sizeof copy, "%s", subs);
    for (char *save, *s = strtok_r(copy, "|", &save); s != NULL; s = strtok_r(NULL, "|", &save)) {
        char *blank = strchr(s, ' ');
        struct mf_slice queue = blank != NULL ? mf_str(blank + 1) : MF_SLICE_NONE;
        struct mf_slice subject = mf_slice(s, blank != NULL ? (size_t)(blank - s) : strlen(s));
        snprintf(text, sizeof text, "%s", s);
        TEST_ASSERT_EQUAL_MESSAGE(expected, perms_can_subscribe(p, subject, queue), text);
    }
}

static void test_subscribe_table_of_the_real_server_holds(void)
{
    for (size_t i = 0; i < MF_COUNT(sub_table); i++) {
        struct perms *p = sub_perms(sub_table[i].allow, sub_table[i].deny);
        expect_subs(p, sub_table[i].yes, true);
        expect_subs(p, sub_table[i].no, false);
        perms_release(p);
    }
}

/* nats-server allows these, and then delivers what the list does not cover (asked: allow "*",
 * SUB > receives foo.a.b).  A hole is not a feature. */
static void test_star_does_not_cover_the_full_wildcard(void)
{
    struct perms *p = sub_perms("foo.*|bar", NULL);

    TEST_ASSERT_FALSE(perms_can_subscribe(p, MF_LIT("foo.>"), MF_SLICE_NONE));
    perms_release(p);
    p = sub_perms("*", NULL);
    TEST_ASSERT_FALSE(perms_can_subscribe(p, MF_LIT(">"), MF_SLICE_NONE));
    perms_release(p);
    p = sub_perms("foo.*|foo.>", NULL);
    TEST_ASSERT_TRUE(perms_can_subscribe(p, MF_LIT("foo.>"), MF_SLICE_NONE));
    perms_release(p);
}

/* Asked.  A wildcard SUB that only overlaps a deny is accepted; deliveries are sieved. */
static void test_wider_subscription_is_sieved_at_delivery(void)
{
    static const struct {
        const char *deny, *sub, *queue, *yes, *no;
    } rows[] = {
        {"foo.bar", "foo.>", "", "foo.a|foo.bar.x", "foo.bar"},
        {"foo.bar q", "foo.>", "q", "foo.a|foo.bar.x", "foo.bar"},
        {"foo.bar q", "foo.>", "r", "foo.a|foo.bar|foo.bar.x", ""},
        {"foo.bar *.q", "foo.>", "z.q", "foo.a|foo.bar.x", "foo.bar"},
        {"foo.*", ">", "", "foo.bar.x|foo", "foo.a|foo.bar"},
        {"foo.*|foo.*.x q", "*.>", "q", "foo.y.z", "foo.a|foo.bar|foo.bar.x"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct perms *p = sub_perms(NULL, rows[i].deny);
        struct mf_slice q = mf_str(rows[i].queue);
        TEST_ASSERT_TRUE(perms_can_subscribe(p, mf_str(rows[i].sub), q));
        TEST_ASSERT_TRUE(perms_filter_needed_queue(p, mf_str(rows[i].sub), q));
        for (int no = 0; no < 2; no++) {
            char copy[128];
            snprintf(copy, sizeof copy, "%s", no ? rows[i].no : rows[i].yes);
            for (char *save, *s = strtok_r(copy, "|", &save); s != NULL;
                 s = strtok_r(NULL, "|", &save))
                TEST_ASSERT_EQUAL_MESSAGE(!no, perms_can_deliver_queue(p, mf_str(s), q), s);
        }
        perms_release(p);
    }
}

/* The check costs something on each delivery, so it must not be asked for without need. */
static void test_sieve_is_not_needed_when_nothing_overlaps(void)
{
    struct perms *p = sub_perms("foo.>", "foo.bar|foo.q work");

    TEST_ASSERT_FALSE(perms_filter_needed(p, MF_LIT("foo.a.*")));
    TEST_ASSERT_FALSE(perms_filter_needed(p, MF_LIT("foo.a")));
    TEST_ASSERT_TRUE(perms_filter_needed(p, MF_LIT("foo.*")));
    TEST_ASSERT_FALSE(perms_filter_needed(p, MF_LIT("foo.q.>")));
    TEST_ASSERT_TRUE(perms_can_deliver(p, MF_LIT("foo.q")));
    TEST_ASSERT_FALSE(perms_can_deliver(p, MF_LIT("foo.bar")));
    perms_release(p);
    TEST_ASSERT_FALSE(perms_filter_needed(NULL, MF_LIT(">")));
    TEST_ASSERT_TRUE(perms_can_deliver(NULL, MF_LIT("x")));
}

/* Asked. */
static void test_publish_table_of_the_real_server_holds(void)
{
    static const struct {
        const char *allow, *deny;
        bool responses;
        const char *yes, *no;
    } rows[] = {
        {"foo.*", NULL, false, "foo.a|foo.*|foo.>", "foo.a.b|foo|bar"},
        {"foo.*", "foo.bar", false, "foo.a|foo.*|foo.>", "foo.bar"},
        {NULL, "foo.>", false, "foo|bar", "foo.a|foo.a.b"},
        {"foo.>|bar.*", NULL, false, "foo.a", "foo.|foo..x|bar."}, /* reaches nobody anyway */
        {NULL, "foo.>|bar.*", false, "foo.|foo..x|bar.|.foo", "foo.a"},
        {"foo", NULL, false, "foo", "bar|foo.|.foo"},
        {NULL, NULL, true, "", "foo|x"},
        {NULL, "x", true, "", "foo|x"},
        {"foo", NULL, true, "foo", "x"},
        {"a.*.c|a.b.>|*.b", NULL, false, "a.b.c|a.x.c|a.b.x.y|a.b|z.b", "a.x|a.x.d|z|z.b.c"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct perms *p = pub_perms(rows[i].allow, rows[i].deny, rows[i].responses);
        for (int no = 0; no < 2; no++) {
            char copy[128];
            snprintf(copy, sizeof copy, "%s", no ? rows[i].no : rows[i].yes);
            for (char *save, *s = strtok_r(copy, "|", &save); s != NULL;
                 s = strtok_r(NULL, "|", &save))
                TEST_ASSERT_EQUAL_MESSAGE(!no, perms_can_publish(p, mf_str(s)), s);
        }
        perms_release(p);
    }
}

/* Not allowed is not denied. */
static void test_only_the_deny_list_denies(void)
{
    struct perms *p = pub_perms("a.>", "a.no", true);

    TEST_ASSERT_TRUE(perms_denies_publish(p, MF_LIT("a.no")));
    TEST_ASSERT_FALSE(perms_denies_publish(p, MF_LIT("a.yes")));
    TEST_ASSERT_FALSE(perms_denies_publish(p, MF_LIT("b")));
    TEST_ASSERT_FALSE(perms_can_publish(p, MF_LIT("b")));
    TEST_ASSERT_FALSE(perms_denies_publish(NULL, MF_LIT("b")));
    perms_release(p);
}

static void test_no_permissions_allow_everything(void)
{
    struct perms *p = (struct perms *)&sub_table;
    int64_t max, expires;

    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, NULL, NULL));
    TEST_ASSERT_NULL(p);
    TEST_ASSERT_TRUE(perms_can_publish(p, MF_LIT("x")));
    TEST_ASSERT_TRUE(perms_can_subscribe(p, MF_LIT(">"), MF_SLICE_NONE));
    TEST_ASSERT_FALSE(perms_tracks_responses(p, &max, &expires));
    TEST_ASSERT_NULL(perms_options(p));
    TEST_ASSERT_NULL(perms_retain(p));
    perms_release(p);
}

static void test_empty_allow_list_allows_nothing(void)
{
    struct perms *p = pub_perms("", NULL, false);

    TEST_ASSERT_FALSE(perms_can_publish(p, MF_LIT("x")));
    perms_release(p);
}

static void test_responses_get_defaults_and_keep_what_was_said(void)
{
    struct options_permissions o = {.responses_set = true};
    struct perms *p;
    int64_t max, expires;

    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, NULL));
    TEST_ASSERT_TRUE(perms_tracks_responses(p, &max, &expires));
    TEST_ASSERT_EQUAL_INT64(1, max);
    TEST_ASSERT_EQUAL_INT64(120 * CLOCK_S, expires);
    perms_release(p);
    o.responses_max = -1;
    o.responses_expires_ns = 5 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, NULL));
    TEST_ASSERT_TRUE(perms_tracks_responses(p, &max, &expires));
    TEST_ASSERT_EQUAL_INT64(-1, max);
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, expires);
    TEST_ASSERT_EQUAL_INT64(-1, perms_options(p)->responses_max);
    perms_release(p);
}

static void test_bad_entry_is_refused_with_its_text(void)
{
    static const struct {
        bool subscribe;
        char *entry;
        const char *text;
    } rows[] = {
        {false, (char *)"foo q", "subject \"foo q\" is not a valid subject"},
        {false, (char *)"foo..bar", "subject \"foo..bar\" is not a valid subject"},
        {true, (char *)"foo bar baz", "subject \"foo bar baz\" is not a valid subject"},
        {true, (char *)"foo v..1", "queue \"v..1\" is not a valid queue"},
        {true, (char *)"", "subject \"\" is not a valid subject"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char *items[1] = {rows[i].entry};
        struct options_permissions o = {0};
        struct options_permission *side = rows[i].subscribe ? &o.subscribe : &o.publish;
        struct mf_error e;
        struct perms *p;
        side->deny = (struct options_list){items, 1};
        TEST_ASSERT_EQUAL_INT(MF_INVAL, perms_new(&p, &o, &e));
        TEST_ASSERT_EQUAL_STRING(rows[i].text, e.text);
    }
}

/* Against the definition: allowed if one entry matches, for random lists and subjects. */
static void test_random_lists_agree_with_matching_each_entry(void)
{
    static const char *const tokens[] = {"a", "b", "c", "*", ">"};
    char entries[6][16], *items[6], subject[16];

    for (int round = 0; round < 20000; round++) {
        struct options_permissions o = {.publish = {.allow_set = true}};
        struct perms *p;
        bool expected = false;
        for (size_t i = 0; i < MF_COUNT(entries); i++) {
            size_t n = 0, depth = 1 + rand_below(4);
            for (size_t k = 0; k < depth; k++) {
                const char *t = tokens[rand_below(k + 1 == depth ? 5 : 4)];
                n += (size_t)snprintf(entries[i] + n, sizeof entries[i] - n, "%s%s",
                                      k > 0 ? "." : "", t);
            }
            items[i] = entries[i];
        }
        size_t n = 0, depth = 1 + rand_below(4);
        for (size_t k = 0; k < depth; k++)
            n += (size_t)snprintf(subject + n, sizeof subject - n, "%s%s", k > 0 ? "." : "",
                                  tokens[rand_below(3)]);
        for (size_t i = 0; i < MF_COUNT(entries); i++)
            expected |= subject_match(mf_str(entries[i]), mf_str(subject));
        o.publish.allow = (struct options_list){items, MF_COUNT(entries)};
        TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, NULL));
        TEST_ASSERT_EQUAL_MESSAGE(expected, perms_can_publish(p, mf_str(subject)), subject);
        perms_release(p);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_subscribe_table_of_the_real_server_holds);
    RUN_TEST(test_star_does_not_cover_the_full_wildcard);
    RUN_TEST(test_wider_subscription_is_sieved_at_delivery);
    RUN_TEST(test_sieve_is_not_needed_when_nothing_overlaps);
    RUN_TEST(test_publish_table_of_the_real_server_holds);
    RUN_TEST(test_only_the_deny_list_denies);
    RUN_TEST(test_no_permissions_allow_everything);
    RUN_TEST(test_empty_allow_list_allows_nothing);
    RUN_TEST(test_responses_get_defaults_and_keep_what_was_said);
    RUN_TEST(test_bad_entry_is_refused_with_its_text);
    RUN_TEST(test_random_lists_agree_with_matching_each_entry);
    return UNITY_END();
}
