/* test_policy_keys.c: values of keys, patterns and entries of the server's configuration. */
#include "ttl/policy_keys.h"

#include "base/clock.h"
#include "unity.h"

#define S   CLOCK_S
#define DAY (86400 * S)

static struct arena mem;
static struct policy_keys keys;
static struct mf_error e;

void setUp(void)
{
    keys = (struct policy_keys)POLICY_KEYS_INIT;
    e = (struct mf_error){0, ""};
}

void tearDown(void)
{
    arena_fini(&mem);
}

static int read_key(enum policy_key k, const char *value)
{
    return policy_key_read(&keys, k, "K", mf_str(value), &mem, &e);
}

static void check_duration(const char *text, int64_t ns)
{
    int64_t got = -7;

    TEST_ASSERT_EQUAL_MESSAGE(0, policy_parse_duration(mf_str(text), &got), text);
    TEST_ASSERT_EQUAL_INT64(ns, got);
}

static void test_durations_in_three_forms(void)
{
    check_duration("15m", 900 * S);
    check_duration("1h30m", 5400 * S);
    check_duration("1.5s", 1500 * CLOCK_MS);
    check_duration("1.0000001s", 1001 * CLOCK_MS); /* never early */
    check_duration("30d", 30 * DAY);
    check_duration("86400", DAY);
    check_duration("1", S);
    check_duration("36500d", POLICY_TTL_MAX_NS);
    check_duration("876000h", POLICY_TTL_MAX_NS);
}

static void test_what_is_no_duration(void)
{
    static const char *const bad[] = {"1 day",
                                      "",
                                      "0",
                                      "0.5s",
                                      "999ms",
                                      "36501d",
                                      "876001h",
                                      "-1h",
                                      "1.5d",
                                      "1d12h",
                                      "d",
                                      " 1h",
                                      "1h ",
                                      "never",
                                      "99999999999999999999",
                                      "99999999999999999999d",
                                      "1.5"};
    int64_t ns = 5;

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_NOT_EQUAL_MESSAGE(0, policy_parse_duration(mf_str(bad[i]), &ns), bad[i]);
    TEST_ASSERT_EQUAL_INT64(5, ns);
}

static void test_texts_of_ttls(void)
{
    char text[POLICY_TEXT];

    TEST_ASSERT_EQUAL_STRING("24h0m0s", policy_ttl_text(text, DAY));
    TEST_ASSERT_EQUAL_STRING("876000h0m0s", policy_ttl_text(text, POLICY_TTL_MAX_NS));
    TEST_ASSERT_EQUAL_STRING("never", policy_ttl_text(text, TTL_NEVER));
    TEST_ASSERT_EQUAL_STRING("none", policy_ttl_text(text, TTL_NONE));
    TEST_ASSERT_EQUAL_STRING("", policy_ttl_text(text, POLICY_UNSET));
}

static void test_values_are_read_into_their_field(void)
{
    TEST_ASSERT_EQUAL(0, read_key(POLICY_DEFAULT, "never"));
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, keys.default_ttl);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_DEFAULT, "none"));
    TEST_ASSERT_EQUAL_INT64(TTL_NONE, keys.default_ttl);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_DEFAULT, "24h"));
    TEST_ASSERT_EQUAL_INT64(DAY, keys.default_ttl);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_MIN, "1s"));
    TEST_ASSERT_EQUAL_INT64(S, keys.min_ns);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_MAX, "2s"));
    TEST_ASSERT_EQUAL_INT64(2 * S, keys.max_ns);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_WARN, "0"));
    TEST_ASSERT_EQUAL_INT64(0, keys.warn_ns);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_WARN, "3s"));
    TEST_ASSERT_EQUAL_INT64(3 * S, keys.warn_ns);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_PATTERN, "cache"));
    TEST_ASSERT_EQUAL_STRING("cache", keys.pattern);
    TEST_ASSERT_EQUAL(0, read_key(POLICY_ON_EXPIRE, "dead.letters"));
    TEST_ASSERT_EQUAL_STRING("dead.letters", keys.on_expire);
}

static void test_an_empty_value_unsets(void)
{
    test_values_are_read_into_their_field();
    for (unsigned k = 0; k < POLICY_RULES; k++)
        TEST_ASSERT_EQUAL(0, read_key((enum policy_key)k, ""));
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, keys.default_ttl);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, keys.min_ns);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, keys.max_ns);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, keys.warn_ns);
    TEST_ASSERT_NULL(keys.pattern);
    TEST_ASSERT_NULL(keys.on_expire);
}

static void test_words_are_read_and_shown(void)
{
    static const struct {
        enum policy_key k;
        const char *words[4];
    } rows[] = {{POLICY_BOUNDS, {"clamp", "reject"}},
                {POLICY_NEVER, {"allow", "deny"}},
                {POLICY_SCOPE, {"message", "subject"}},
                {POLICY_SLIDE, {"write", "read"}},
                {POLICY_ENFORCE, {"off", "audit", "on"}}};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        TEST_ASSERT_EQUAL_STRING("", policy_word(&keys, rows[i].k));
        for (size_t j = 0; rows[i].words[j] != NULL; j++) {
            TEST_ASSERT_EQUAL(0, read_key(rows[i].k, rows[i].words[j]));
            TEST_ASSERT_EQUAL_STRING(rows[i].words[j], policy_word(&keys, rows[i].k));
        }
    }
    TEST_ASSERT_EQUAL_STRING("", policy_word(&keys, POLICY_MAX));
}

static void check_refused(enum policy_key k, const char *value, const char *text)
{
    struct policy_keys before = keys;

    TEST_ASSERT_EQUAL(MF_INVAL, read_key(k, value));
    TEST_ASSERT_EQUAL_STRING(text, e.text);
    TEST_ASSERT_EQUAL_MEMORY(&before, &keys, sizeof keys);
}

static void test_errors_of_values(void)
{
    check_refused(POLICY_MAX, "1 day", "K: \"1 day\" is not a duration of 1s to 36500d");
    check_refused(POLICY_MIN, "never", "K: \"never\" is not a duration of 1s to 36500d");
    check_refused(POLICY_WARN, "-1s", "K: \"-1s\" is not a duration of 1s to 36500d");
    check_refused(POLICY_DEFAULT, "1 day",
                  "K: \"1 day\" is not a duration of 1s to 36500d, never or none");
    check_refused(POLICY_DEFAULT, "0", "K: \"0\" is not a duration of 1s to 36500d, never or none");
    check_refused(POLICY_NEVER, "maybe", "K: \"maybe\" is none of allow, deny");
    check_refused(POLICY_BOUNDS, "CLAMP", "K: \"CLAMP\" is none of clamp, reject");
    check_refused(POLICY_SCOPE, "x", "K: \"x\" is none of message, subject");
    check_refused(POLICY_SLIDE, "x", "K: \"x\" is none of write, read");
    check_refused(POLICY_ENFORCE, "warn", "K: \"warn\" is none of off, audit, on");
    check_refused(POLICY_ON_EXPIRE, "dead.*",
                  "K: \"dead.*\" is not a prefix of 1 to 8 tokens without wildcards");
    check_refused(POLICY_ON_EXPIRE, "a.b.c.d.e.f.g.h.i",
                  "K: \"a.b.c.d.e.f.g.h.i\" is not a prefix of 1 to 8 tokens without wildcards");
    check_refused(POLICY_RULES, "[]", "K: rules belong into the metadata of a stream");
}

/* A long value is cut before a character, so that the rest of the sentence is kept. */
static void test_errors_cut_long_values(void)
{
    char value[200], want[200];

    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    memcpy(value + 63, "\xc3\xa4", 2);
    memset(want, 0, sizeof want);
    memcpy(want, "K: \"", 4);
    memset(want + 4, 'x', 63);
    strncat(want, "...\" is none of allow, deny", 40);
    check_refused(POLICY_NEVER, value, want);
}

static void test_patterns_by_name(void)
{
    struct policy_pattern own[] = {{"invoices", 3650 * DAY}, {"cache", 600 * S}};
    struct policy_server srv = {.set = true, .patterns = own, .npatterns = 2};
    int64_t ttl = 0;

    TEST_ASSERT_TRUE(policy_pattern_find(NULL, "cache", &ttl));
    TEST_ASSERT_EQUAL_INT64(900 * S, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&srv, "cache", &ttl));
    TEST_ASSERT_EQUAL_INT64(600 * S, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&srv, "invoices", &ttl));
    TEST_ASSERT_EQUAL_INT64(3650 * DAY, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&srv, "graph", &ttl));
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, ttl);
    TEST_ASSERT_FALSE(policy_pattern_find(&srv, "Cache", &ttl));
    TEST_ASSERT_EQUAL_STRING(
        "cache, graph, invoices, keyvalue, object, pubsub, session, timeseries, vector",
        policy_pattern_names(&srv, &mem));
    TEST_ASSERT_EQUAL_STRING("cache, graph, keyvalue, object, pubsub, session, timeseries, vector",
                             policy_pattern_names(NULL, &mem));
}

static void check_name(bool want, const char *pattern, const char *name)
{
    struct policy_namespace n = {.stream = pattern};

    TEST_ASSERT_EQUAL_MESSAGE(want, policy_namespace_matches(&n, "A", name, false), pattern);
}

static void test_names_of_streams_match_with_stars(void)
{
    check_name(true, NULL, "x");
    check_name(true, "*", "x");
    check_name(true, "x", "x");
    check_name(false, "x", "xy");
    check_name(false, "xy", "x");
    check_name(true, "a-*", "a-");
    check_name(true, "a-*", "a-b-c");
    check_name(false, "a-*", "a");
    check_name(true, "*-b", "a-b-b");
    check_name(true, "a*b*c", "axxbyyc");
    check_name(false, "a*b*c", "axxcyyb");
    check_name(true, "**", "q");
    check_name(false, "*x", "y");
}

static void test_entries_match_account_and_storage(void)
{
    struct policy_namespace n = {"APP", "S", POLICY_STORAGE_MEMORY, POLICY_KEYS_INIT};

    TEST_ASSERT_TRUE(policy_namespace_matches(&n, "APP", "S", true));
    TEST_ASSERT_FALSE(policy_namespace_matches(&n, "APP", "S", false));
    TEST_ASSERT_FALSE(policy_namespace_matches(&n, "app", "S", true));
    TEST_ASSERT_FALSE(policy_namespace_matches(&n, NULL, "S", true));
    n.storage = POLICY_STORAGE_FILE;
    TEST_ASSERT_TRUE(policy_namespace_matches(&n, "APP", "S", false));
    TEST_ASSERT_FALSE(policy_namespace_matches(&n, "APP", "S", true));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_durations_in_three_forms);
    RUN_TEST(test_what_is_no_duration);
    RUN_TEST(test_texts_of_ttls);
    RUN_TEST(test_values_are_read_into_their_field);
    RUN_TEST(test_an_empty_value_unsets);
    RUN_TEST(test_words_are_read_and_shown);
    RUN_TEST(test_errors_of_values);
    RUN_TEST(test_errors_cut_long_values);
    RUN_TEST(test_patterns_by_name);
    RUN_TEST(test_names_of_streams_match_with_stars);
    RUN_TEST(test_entries_match_account_and_storage);
    return UNITY_END();
}
