/* test_options_namespaces.c: what the server's ttl block does to streams that say nothing
 * themselves: the example of the requirement, from the text of a configuration to the decision. */
#include "config/options.h"

#include "base/clock.h"
#include "ttl/policy.h"

#include "unity.h"

#define DAY (86400 * CLOCK_S)

static struct options *o;
static struct mf_error e;

void setUp(void)
{
    o = NULL;
    e = (struct mf_error){0, ""};
}
void tearDown(void)
{
    options_free(o);
    o = NULL;
}

static void load(const char *text)
{
    options_free(o);
    o = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t.conf", &e), e.text);
}

static const char example[] =
    "accounts { APP { jetstream: enabled } }\n"
    "ttl {\n"
    "    default: \"30d\", warn: \"1h\", max: \"365d\"\n"
    "    patterns { invoices: \"3650d\" }\n"
    "    namespaces: [\n"
    "        { account: APP, stream: \"KV_user-sessions\", pattern: cache, default: 86400,\n"
    "          never: deny }\n"
    "        { account: APP, stream: \"analytics-*\", storage: file, pattern: timeseries,\n"
    "          warn: \"24h\" }\n"
    "        { stream: \"permanent-records\", pattern: keyvalue, never: allow }\n"
    "        { stream: quiet, warn: 0 }\n"
    "        { stream: cached, storage: memory, default: \"15m\" }\n"
    "        { stream: \"*\", enforce: audit }\n"
    "    ]\n"
    "}\n";

static char subject_text[] = "s.>";
static char *subject_list[] = {subject_text};

/* The policy of a stream that says nothing itself. */
static struct policy *policy_of(const char *account, const char *name, bool memory)
{
    static const struct json_strs subjects = {.at = subject_list, .n = 1};
    static const struct json_map nothing;
    struct policy_stream s = {.account = account,
                              .name = name,
                              .subjects = &subjects,
                              .metadata = &nothing,
                              .memory = memory,
                              .limits_retention = true,
                              .max_msgs_per_subject = -1};
    struct policy *p = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(0, policy_compile(&p, &s, &o->ttl, &e), e.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(p, name);
    return p;
}

static struct policy_decision decide(const struct policy *p, int64_t client_ttl)
{
    struct policy_message m = {.subject = MF_LIT("s.a"), .client_ttl = client_ttl};
    struct policy_decision d;
    policy_resolve(p, &m, &d);
    return d;
}

static void test_R000_26_a_namespace_is_an_account_and_a_stream_with_storage_and_pattern(void)
{
    load(example);
    const struct policy_namespace *n = &o->ttl.namespaces[1];
    TEST_ASSERT_EQUAL_STRING("APP", n->account);
    TEST_ASSERT_EQUAL_STRING("timeseries", n->keys.pattern);
    TEST_ASSERT_TRUE(policy_namespace_matches(n, "APP", "analytics-events", false));
    TEST_ASSERT_FALSE(policy_namespace_matches(n, "APP", "analytics-events", true));
    TEST_ASSERT_FALSE(policy_namespace_matches(n, "$G", "analytics-events", false));
    TEST_ASSERT_FALSE(policy_namespace_matches(n, "APP", "events", false));
    TEST_ASSERT_EQUAL(0, o->warnings.n);
}

static void test_R000_27_a_default_of_plain_seconds(void)
{
    char text[POLICY_TEXT];
    load(example);
    TEST_ASSERT_EQUAL_STRING("24h0m0s",
                             policy_ttl_text(text, o->ttl.namespaces[0].keys.default_ttl));
}

static void test_R000_10_a_default_by_storage(void)
{
    load(example);
    struct policy *memory = policy_of("$G", "cached", true),
                  *file = policy_of("$G", "cached", false);
    TEST_ASSERT_EQUAL_INT64(900 * CLOCK_S, decide(memory, TTL_NONE).ttl);
    TEST_ASSERT_EQUAL_INT64(30 * DAY, decide(file, TTL_NONE).ttl); /* the next entry: audited */
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_AUDIT, policy_view(file)->keys.enforce);
    policy_free(memory);
    policy_free(file);
}

static void test_R000_28_never_is_denied_in_a_governed_stream_unless_an_entry_allows_it(void)
{
    load(example);
    struct policy *denied = policy_of("APP", "KV_user-sessions", false);
    struct policy *allowed = policy_of("APP", "permanent-records", false);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, decide(denied, TTL_NEVER).verdict);
    TEST_ASSERT_EQUAL(POLICY_OK, decide(allowed, TTL_NEVER).verdict);
    policy_free(denied);
    policy_free(allowed);
    load("ttl { default: \"1h\" }");
    denied = policy_of("$G", "S", false);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, decide(denied, TTL_NEVER).verdict);
    policy_free(denied);
}

static void test_R000_29_warnings_are_on_unless_an_entry_says_0(void)
{
    load(example);
    struct policy *on = policy_of("APP", "permanent-records", false);
    struct policy *off = policy_of("APP", "quiet", false);
    TEST_ASSERT_EQUAL_INT64(3600 * CLOCK_S, policy_view(on)->keys.warn_ns);
    TEST_ASSERT_EQUAL_INT64(0, policy_view(off)->keys.warn_ns);
    policy_free(on);
    policy_free(off);
    load("ttl { default: \"30d\" }"); /* nobody says anything about warnings */
    on = policy_of("$G", "S", false);
    TEST_ASSERT_EQUAL_INT64(3600 * CLOCK_S, policy_view(on)->keys.warn_ns);
    policy_free(on);
}

static void test_R000_30_user_sessions_live_a_day_not_the_15_minutes_of_cache(void)
{
    load(example);
    struct policy *p = policy_of("APP", "KV_user-sessions", false);
    struct policy_decision d = decide(p, TTL_NONE);
    TEST_ASSERT_EQUAL_INT64(DAY, d.ttl);
    TEST_ASSERT_EQUAL(POLICY_BY_DEFAULT, d.by);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, decide(p, TTL_NEVER).verdict);
    TEST_ASSERT_EQUAL(1, policy_view(p)->namespace_no);
    policy_free(p);
}

static void test_R000_31_analytics_events_live_90_days_with_warnings(void)
{
    load(example);
    struct policy *p = policy_of("APP", "analytics-events", false);
    struct policy_decision d = decide(p, TTL_NONE);
    TEST_ASSERT_EQUAL_INT64(7776000 * CLOCK_S, d.ttl);
    TEST_ASSERT_EQUAL(POLICY_BY_PATTERN, d.by);
    TEST_ASSERT_EQUAL_INT64(DAY, policy_view(p)->keys.warn_ns);
    policy_free(p);
}

static void test_R000_32_permanent_records_live_30_days_or_for_ever_on_request(void)
{
    load(example);
    struct policy *p = policy_of("APP", "permanent-records", false);
    TEST_ASSERT_EQUAL_INT64(30 * DAY, decide(p, TTL_NONE).ttl);
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, decide(p, TTL_NEVER).ttl);
    policy_free(p);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R000_26_a_namespace_is_an_account_and_a_stream_with_storage_and_pattern);
    RUN_TEST(test_R000_27_a_default_of_plain_seconds);
    RUN_TEST(test_R000_10_a_default_by_storage);
    RUN_TEST(test_R000_28_never_is_denied_in_a_governed_stream_unless_an_entry_allows_it);
    RUN_TEST(test_R000_29_warnings_are_on_unless_an_entry_says_0);
    RUN_TEST(test_R000_30_user_sessions_live_a_day_not_the_15_minutes_of_cache);
    RUN_TEST(test_R000_31_analytics_events_live_90_days_with_warnings);
    RUN_TEST(test_R000_32_permanent_records_live_30_days_or_for_ever_on_request);
    return UNITY_END();
}
