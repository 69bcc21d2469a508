/* test_ttl_doctor.c: facts about one stream in, findings out. */
#include "cli/ttl/ttl_doctor_impl.h"

#include <unity.h>

static struct doctor d;
static json_t *policy, *info, *config, *stats, *forecast, *infinite;

static json_t *load(const char *text)
{
    json_t *doc = json_loads(text, 0, NULL);

    TEST_ASSERT_NOT_NULL_MESSAGE(doc, text);
    return doc;
}

/* A healthy stream; each test breaks one thing. */
void setUp(void)
{
    d.findings = json_array();
    policy = load("{\"governed\":true,\"active\":true,\"valid\":true,\"max_age\":\"0s\","
                  "\"policy\":{\"default\":\"24h0m0s\",\"never\":\"deny\",\"scope\":\"subject\","
                  "\"enforce\":\"on\"}}");
    config = load("{\"retention\":\"limits\",\"max_msgs_per_subject\":5,\"allow_msg_ttl\":true,"
                  "\"subjects\":[\"s.>\",\"t.*\"]}");
    info = json_pack("{s:o}", "config", config);
    stats = load("{\"items_with_ttl\":3,\"items_without_ttl\":0,\"items_infinite_ttl\":0,"
                 "\"decided\":{\"default\":3},\"totals\":{},\"lateness_ms\":{\"p99\":2.5}}");
    forecast = load("{\"cliff\":false}");
    infinite = load("{\"items\":[]}");
}
void tearDown(void)
{
    json_decref(d.findings);
    json_decref(policy);
    json_decref(info);
    json_decref(stats);
    json_decref(forecast);
    json_decref(infinite);
}

static void set(json_t *doc, const char *text)
{
    json_t *more = load(text);

    TEST_ASSERT_EQUAL_INT(0, json_object_update(doc, more));
    json_decref(more);
}
static void set_key(const char *text)
{
    set(json_object_get(policy, "policy"), text);
}

static void check(void)
{
    struct doctor_facts f = {.stream = "S",
                             .policy = policy,
                             .info = info,
                             .stats = stats,
                             .forecast = forecast,
                             .infinite = infinite};

    doctor_check(&d, &f);
}

/* Exactly one finding, of this level, with this text in it. */
static void expect_text(const char *level, const char *text)
{
    const json_t *one = json_array_get(d.findings, 0);

    TEST_ASSERT_EQUAL_size_t(1, json_array_size(d.findings));
    TEST_ASSERT_EQUAL_STRING(level, request_text(one, "level"));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(request_text(one, "text"), text),
                                 request_text(one, "text"));
    TEST_ASSERT_NOT_EQUAL(0, strlen(request_text(one, "advice")));
}
static void expect_one(const char *level, const char *text)
{
    check();
    expect_text(level, text);
}
static void expect_none(void)
{
    check();
    TEST_ASSERT_EQUAL_size_t(0, json_array_size(d.findings));
}

static void test_a_healthy_stream_has_no_findings(void)
{
    expect_none();
}

static void test_messages_without_ttl_are_found_in_governed_streams_alone(void)
{
    set(stats, "{\"items_without_ttl\":1}");
    set_key("{\"enforce\":\"audit\"}");
    expect_none();
    set_key("{\"enforce\":\"on\"}");
    expect_one("WARN", "1 message without TTL (25.0 %)");
}

static void test_a_default_above_max_age_is_found(void)
{
    set(policy, "{\"max_age\":\"24h0m0s\"}");
    expect_none(); /* equal: both end together */
    set(policy, "{\"max_age\":\"1h0m0s\"}");
    expect_one("WARN", "default 1d, but max_age 1h wins");
}

static void test_history_with_scope_message_is_found(void)
{
    set_key("{\"scope\":\"message\"}");
    set(config, "{\"max_msgs_per_subject\":1}");
    expect_none();
    set(config, "{\"max_msgs_per_subject\":257}"); /* scope subject would be refused */
    expect_none();
    set(config, "{\"max_msgs_per_subject\":2}");
    expect_one("WARN", "history 2, scope message");
}

static void test_infinite_messages_under_deny_are_found_unless_by_hand_or_rule(void)
{
    set(infinite, "{\"items\":[{\"pinned\":true}]}");
    expect_none();
    set(infinite, "{\"items\":[{\"pinned\":true},{\"pinned\":false}]}");
    set_key("{\"rules\":[{\"ttl\":\"never\"}]}");
    set(stats, "{\"decided\":{\"rule\":1}}");
    expect_none();
    set_key("{\"rules\":[]}");
    expect_one("WARN", "1 infinite message,");
}

static void test_rules_that_never_decided_are_found(void)
{
    set_key("{\"rules\":[{\"ttl\":\"1h\",\"decided\":0}]}");
    set(policy, "{\"no_rule\":0}");
    expect_none(); /* nothing was stored since the last change of the policy, but 3 before it */
    set(policy, "{\"no_rule\":3}");
    expect_one("WARN", "none of its 1 rule decided on any of 3 messages");
}

static void test_one_rule_of_several_that_never_decided_is_found(void)
{
    set(policy, "{\"no_rule\":1}");
    set_key("{\"rules\":[{\"id\":\"a\",\"subject\":\"s.a\",\"ttl\":\"1h\",\"decided\":4},"
            "{\"id\":\"b\",\"subject\":\"s.b\",\"ttl\":\"1h\",\"decided\":1}]}");
    expect_none();
    set_key("{\"rules\":[{\"id\":\"a\",\"subject\":\"s.a\",\"ttl\":\"1h\",\"decided\":4},"
            "{\"id\":\"b\",\"subject\":\"s.b\",\"ttl\":\"1h\",\"decided\":0}]}");
    expect_one("WARN", "rule b decided on none of 5 messages since the start or the last change");
}

static void test_a_rule_for_subjects_that_the_stream_does_not_have_is_found(void)
{
    set(stats, "{\"decided\":{\"rule\":1}}");
    set_key("{\"rules\":[{\"id\":\"1\",\"subject\":\"s.a.>\",\"ttl\":\"1h\"},"
            "{\"id\":\"2\",\"subject\":\"*.b\",\"ttl\":\"1h\"},{\"id\":\"3\",\"ttl\":\"1h\"}]}");
    expect_none();
    set_key("{\"rules\":[{\"id\":\"odd\",\"subject\":\"t.a.b\",\"ttl\":\"1h\"}]}");
    expect_one("WARN", "rule odd: the stream has no subject like t.a.b");
    (void)json_array_clear(d.findings);
    set(config, "{\"sources\":[{\"name\":\"O\"}]}"); /* which may bring any subject */
    expect_none();
}

static void test_a_rule_behind_one_that_decides_always_is_found(void)
{
    set(stats, "{\"decided\":{\"rule\":1}}");
    set_key("{\"rules\":[{\"id\":\"1\",\"subject\":\"s.>\",\"ttl\":\"json(/life)\"},"
            "{\"id\":\"2\",\"subject\":\"s.>\",\"ttl\":\"1h\",\"header\":{\"A\":\"b\"}},"
            "{\"id\":\"3\",\"subject\":\"s.*\",\"ttl\":\"1h\"},"
            "{\"id\":\"4\",\"subject\":\"s.>\",\"ttl\":\"2h\"}]}");
    expect_none(); /* the first two may leave a message, the third is narrower */
    set_key("{\"rules\":[{\"id\":\"wide\",\"subject\":\"s.>\",\"ttl\":\"1h\"},"
            "{\"id\":\"tmp\",\"subject\":\"s.tmp.>\",\"ttl\":\"1m\"}]}");
    expect_one("WARN", "rule tmp never decides: rule wide comes first");
}

static void test_clocks_that_differ_are_found(void)
{
    int64_t second = 1000000000, now = 1000 * second;

    doctor_check_clock(&d, 0, now, now); /* no answer */
    doctor_check_clock(&d, now + 5 * second, now, now + 10 * second);
    doctor_check_clock(&d, now - second, now, now);
    TEST_ASSERT_EQUAL_size_t(0, json_array_size(d.findings));
    doctor_check_clock(&d, now + 3600 * second, now, now);
    doctor_check_clock(&d, now - 60 * second, now, now);
    TEST_ASSERT_EQUAL_size_t(2, json_array_size(d.findings));
    TEST_ASSERT_NOT_NULL(
        strstr(request_text(json_array_get(d.findings, 0), "text"), "1h ahead of this machine's"));
    TEST_ASSERT_NOT_NULL(
        strstr(request_text(json_array_get(d.findings, 1), "text"), "1m behind this machine's"));
}

/* The server noticed them; both clocks may be right again. */
static void test_steps_of_the_servers_clock_are_found(void)
{
    json_t *answer = json_pack("{s:{s:i}}", "clock", "steps", 0);

    doctor_check_steps(&d, NULL);
    doctor_check_steps(&d, answer);
    TEST_ASSERT_EQUAL_size_t(0, json_array_size(d.findings));
    json_decref(answer);
    answer = json_pack("{s:{s:i,s:s,s:s}}", "clock", "steps", 2, "last_step", "-1h0m0s",
                       "last_step_at", "2026-11-18T03:00:00Z");
    doctor_check_steps(&d, answer);
    json_decref(answer);
    expect_text("WARN", "set 2 times since the start, last back by 1h at 2026-11-18 03:00:00Z");
    answer = json_pack("{s:{s:i,s:s,s:s}}", "clock", "steps", 1, "last_step", "1m0.5s",
                       "last_step_at", "2026-11-18T03:00:00Z");
    (void)json_array_clear(d.findings);
    doctor_check_steps(&d, answer);
    json_decref(answer);
    expect_text("WARN", "set 1 time since the start, last forward by 1m");
}

static void test_a_policy_that_is_not_valid_is_found(void)
{
    set(policy, "{\"valid\":false,\"invalid\":\"unknown TTL policy key\"}");
    expect_one("WARN", "unknown TTL policy key");
}

static void test_late_expiry_is_found(void)
{
    set(stats, "{\"lateness_ms\":{\"p99\":1000.5}}");
    expect_one("WARN", "p99 100");
}

static void test_a_cliff_is_found(void)
{
    set(forecast,
        "{\"cliff\":true,\"peak\":{\"at\":\"2026-11-18T03:00:00Z\",\"per_second\":412000}}");
    expect_one("WARN", "412,000 messages a second expire at 2026-11-18 03:00:00Z");
}

static void test_dropped_dead_letters_are_found(void)
{
    set(stats, "{\"totals\":{\"dead_letters_dropped\":2}}");
    expect_one("WARN", "2 dead letters were dropped");
}

static void test_refused_publishes_and_mirrors_are_notes(void)
{
    set(stats, "{\"totals\":{\"rejected\":4}}");
    expect_one("NOTE", "4 publishes were refused");
    (void)json_array_clear(d.findings);
    set(stats, "{\"totals\":{}}");
    set(config, "{\"mirror\":{\"name\":\"O\"}}");
    expect_one("NOTE", "mirror: follows its origin");
}

/* No permission for STATS, say: what is not known is no finding. */
static void test_missing_answers_are_no_findings(void)
{
    struct doctor_facts f = {.stream = "S", .policy = policy};

    doctor_check(&d, &f);
    TEST_ASSERT_EQUAL_size_t(0, json_array_size(d.findings));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_healthy_stream_has_no_findings);
    RUN_TEST(test_messages_without_ttl_are_found_in_governed_streams_alone);
    RUN_TEST(test_a_default_above_max_age_is_found);
    RUN_TEST(test_history_with_scope_message_is_found);
    RUN_TEST(test_infinite_messages_under_deny_are_found_unless_by_hand_or_rule);
    RUN_TEST(test_rules_that_never_decided_are_found);
    RUN_TEST(test_one_rule_of_several_that_never_decided_is_found);
    RUN_TEST(test_a_rule_for_subjects_that_the_stream_does_not_have_is_found);
    RUN_TEST(test_a_rule_behind_one_that_decides_always_is_found);
    RUN_TEST(test_clocks_that_differ_are_found);
    RUN_TEST(test_steps_of_the_servers_clock_are_found);
    RUN_TEST(test_a_policy_that_is_not_valid_is_found);
    RUN_TEST(test_late_expiry_is_found);
    RUN_TEST(test_a_cliff_is_found);
    RUN_TEST(test_dropped_dead_letters_are_found);
    RUN_TEST(test_refused_publishes_and_mirrors_are_notes);
    RUN_TEST(test_missing_answers_are_no_findings);
    return UNITY_END();
}
