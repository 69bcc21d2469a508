/* test_policy.c: the TTL of a message by client, default, pattern, max_age, server and bounds. */
#include "support/policy_world.h"

void setUp(void)
{
    world_reset();
}

void tearDown(void)
{
    world_fini();
}

static void check_trace(const char *const *want, size_t n)
{
    for (size_t i = 0; i < n && i < world.ntrace; i++)
        TEST_ASSERT_EQUAL_STRING(want[i], world.trace[i]);
    TEST_ASSERT_EQUAL_size_t(n, world.ntrace);
}

static void R000_09_client_override_wins(void)
{
    world_set("default", "24h");
    world_compile();
    world_gives(60 * S, "client", "s.a", 60 * S);
    world_gives(DAY, "default", "s.a", SAID);
}

static void R000_10_defaults_by_backend(void)
{
    struct policy_namespace entry = {.storage = POLICY_STORAGE_MEMORY, .keys = POLICY_KEYS_INIT};

    entry.keys.default_ttl = 900 * S;
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = &entry, .nnamespaces = 1};
    world.s.memory = true;
    TEST_ASSERT_EQUAL(1, world_compile()->namespace_no);
    world_gives(900 * S, "default", "s.a", SAID);
    world.s.memory = false;
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
}

static void check_pattern(const char *name, int64_t ttl)
{
    char by[64];

    world_set("pattern", name);
    world_compile();
    snprintf(by, sizeof by, "pattern:%s", name);
    world_gives(ttl, by, "s.a", SAID);
}

static void R000_11_defaults_by_access_pattern(void)
{
    check_pattern("cache", 900 * S);
    world_unset_all();
    world.srv.set = true;
    world.srv.keys.default_ttl = 7 * DAY;
    world.s.name = "KV_users";
    TEST_ASSERT_EQUAL_STRING("keyvalue", world_compile()->inferred);
    world_gives(30 * DAY, "server", "s.a", SAID);
}

static void R000_14_cache_is_15_minutes(void)
{
    check_pattern("cache", 900 * S);
}

static void R000_15_session_is_24_hours(void)
{
    check_pattern("session", 86400 * S);
}

static void R000_16_pubsub_has_none_and_is_inferred_for_work_queues(void)
{
    check_pattern("pubsub", TTL_NONE);
    world_unset_all();
    world.srv.set = true;
    world.srv.keys.default_ttl = 30 * DAY;
    world.s.limits_retention = false;
    TEST_ASSERT_EQUAL_STRING("pubsub", world_compile()->inferred);
    world_gives(TTL_NONE, "server", "s.a", SAID);
    TEST_ASSERT_FALSE(policy_view(world.p)->governed);
}

static void R000_17_keyvalue_is_30_days(void)
{
    check_pattern("keyvalue", 2592000 * S);
}

static void R000_18_timeseries_is_90_days(void)
{
    check_pattern("timeseries", 7776000 * S);
}

static void R000_19_graph_never_ends(void)
{
    check_pattern("graph", TTL_NEVER);
}

static void R000_20_vector_is_90_days(void)
{
    check_pattern("vector", 7776000 * S);
}

static void R000_21_chunks_of_an_object_outlive_its_meta(void)
{
    world.s.name = "OBJ_files";
    world_subjects("$O.files.C.>", "$O.files.M.>");
    world.srv.set = true;
    world.srv.keys.default_ttl = 30 * DAY;
    TEST_ASSERT_EQUAL_STRING("object", world_compile()->inferred);
    world_gives(90 * DAY, "server", "$O.files.M.x", SAID);
    world_gives(90 * DAY + H, "server", "$O.files.C.x", SAID);
    world_set("max", "90d"); /* the hour is more than max, or a meta would lose its chunks */
    world_set("default", "90d");
    world_compile();
    world_gives(90 * DAY + H, "default", "$O.files.C.x", SAID);
    world_gives(60 * S, "client", "$O.files.C.x", 60 * S);
    world_set("default", "never");
    world_compile();
    world_gives(TTL_NEVER, "default", "$O.files.C.x", SAID);
    world_unset_all();
    world.s.name = "FILES"; /* by its pattern */
    world_set("pattern", "object");
    world_compile();
    world_gives(90 * DAY + H, "pattern:object", "$O.files.C.x", SAID);
    world_set("pattern", "vector");
    world_compile();
    world_gives(90 * DAY, "pattern:vector", "$O.files.C.x", SAID);
}

static void R000_22_client_then_namespace_then_pattern_then_system(void)
{
    struct policy_namespace entry = {.keys = POLICY_KEYS_INIT};
    struct policy_pattern own = {"mine", 40 * S};

    entry.keys.default_ttl = 30 * S;
    world.srv = (struct policy_server){.set = true,
                                       .keys = POLICY_KEYS_INIT,
                                       .namespaces = &entry,
                                       .nnamespaces = 1,
                                       .patterns = &own,
                                       .npatterns = 1};
    world.srv.keys.default_ttl = 50 * S;
    world_set("rules", "[{\"ttl\":\"20s\"}]");
    world_set("pattern", "mine");
    world_compile();
    world_gives(10 * S, "client", "s.a", 10 * S);
    world_gives(20 * S, "rule:1", "s.a", SAID);
    world_set("rules", "");
    world_compile();
    world_gives(30 * S, "default", "s.a", SAID);
    world_set("default", "31s"); /* the stream's own before the entry's */
    world_compile();
    world_gives(31 * S, "default", "s.a", SAID);
    world_set("default", "");
    entry.keys.default_ttl = POLICY_UNSET;
    world_compile();
    world_gives(40 * S, "pattern:mine", "s.a", SAID);
    world_set("pattern", "");
    world_compile();
    world_gives(50 * S, "server", "s.a", SAID);
}

/* ttl.h parses the writer's TTL; a policy gets its value. */
static void R000_24_digits_are_seconds(void)
{
    int64_t ttl;

    TEST_ASSERT_EQUAL(0, ttl_parse(MF_LIT("3600"), false, &ttl));
    world_set("default", "24h");
    world_compile();
    world_gives(3600 * S, "client", "s.a", ttl);
}

static void R000_25_never_by_the_writer_where_allowed(void)
{
    int64_t ttl;

    TEST_ASSERT_EQUAL(0, ttl_parse(MF_LIT("never"), false, &ttl));
    world_set("default", "24h");
    world_set("never", "allow");
    world_compile();
    world_gives(TTL_NEVER, "client", "s.a", ttl);
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
}

static void R000_26_a_namespace_is_account_stream_storage_and_pattern(void)
{
    struct policy_namespace entry = {.account = "APP",
                                     .stream = "analytics-*",
                                     .storage = POLICY_STORAGE_FILE,
                                     .keys = POLICY_KEYS_INIT};

    entry.keys.pattern = "timeseries";
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = &entry, .nnamespaces = 1};
    world.s.name = "analytics-events";
    world_compile();
    world_gives(90 * DAY, "pattern:timeseries", "s.a", SAID);
    world.s.account = "WEB";
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
}

static void R000_27_default_in_plain_seconds(void)
{
    char text[POLICY_TEXT];

    world_set("default", "86400");
    TEST_ASSERT_EQUAL_STRING("24h0m0s", policy_ttl_text(text, world_compile()->keys.default_ttl));
    world_gives(DAY, "default", "s.a", SAID);
}

static void check_never_denied(void)
{
    char text[POLICY_REFUSAL];

    world_message("s.a", NULL, NULL, TTL_NEVER);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world.d.verdict);
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, world.d.ttl); /* what audit stores */
    TEST_ASSERT_EQUAL_STRING("never is not allowed here", policy_refusal(text, &world.d));
}

static void R000_28_never_is_denied_in_governed_streams(void)
{
    world_set("default", "24h");
    TEST_ASSERT_EQUAL(POLICY_NEVER_DENY, world_compile()->keys.never);
    check_never_denied();
    world_set("never", "allow");
    world_compile();
    world_gives(TTL_NEVER, "client", "s.a", TTL_NEVER);
    world_unset_all();
    world_set("min", "1s"); /* bounds only: nothing is given, so the stream is not governed */
    TEST_ASSERT_FALSE(world_compile()->governed);
    world_gives(TTL_NEVER, "client", "s.a", TTL_NEVER);
}

static void R000_29_warnings_are_on_by_default(void)
{
    world_set("default", "2h");
    TEST_ASSERT_EQUAL_INT64(H, world_compile()->keys.warn_ns);
    world_set("warn", "0");
    TEST_ASSERT_EQUAL_INT64(0, world_compile()->keys.warn_ns);
    world_set("warn", "");
    world.srv.set = true;
    world.srv.keys.warn_ns = 600 * S;
    TEST_ASSERT_EQUAL_INT64(600 * S, world_compile()->keys.warn_ns);
    TEST_ASSERT_EQUAL(POLICY_OF_SERVER, policy_view(world.p)->origin[POLICY_WARN]);
    world_unset_all();
    world_set("min", "1s");
    TEST_ASSERT_EQUAL_INT64(0, world_compile()->keys.warn_ns);
}

/* The block of the worked example: three namespaces, and one for all others. */
static void set_example_block(struct policy_namespace n[4])
{
    static const struct policy_keys unset = POLICY_KEYS_INIT;

    n[0] = (struct policy_namespace){"APP", "KV_user-sessions", 0, unset};
    n[0].keys.pattern = "cache";
    n[0].keys.default_ttl = 86400 * S;
    n[0].keys.never = POLICY_NEVER_DENY;
    n[1] = (struct policy_namespace){"APP", "analytics-*", POLICY_STORAGE_FILE, unset};
    n[1].keys.pattern = "timeseries";
    n[1].keys.warn_ns = DAY;
    n[2] = (struct policy_namespace){NULL, "permanent-records", 0, unset};
    n[2].keys.pattern = "keyvalue";
    n[2].keys.never = POLICY_NEVER_ALLOW;
    n[3] = (struct policy_namespace){NULL, "*", 0, unset};
    n[3].keys.enforce = POLICY_ENFORCE_AUDIT;
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = n, .nnamespaces = 4};
    world.srv.keys.default_ttl = 30 * DAY;
    world.srv.keys.never = POLICY_NEVER_DENY;
}

static void R000_30_user_sessions_take_the_default_before_the_pattern(void)
{
    struct policy_namespace n[4];

    set_example_block(n);
    world.s.name = "KV_user-sessions";
    TEST_ASSERT_EQUAL(1, world_compile()->namespace_no);
    world_gives(H, "client", "s.a", H);
    world_gives(86400 * S, "default", "s.a", SAID);
    check_never_denied();
}

static void R000_31_analytics_events_live_90_days_with_warnings(void)
{
    struct policy_namespace n[4];

    set_example_block(n);
    world.s.name = "analytics-events";
    TEST_ASSERT_EQUAL_INT64(DAY, world_compile()->keys.warn_ns);
    TEST_ASSERT_EQUAL(POLICY_OF_NAMESPACE, policy_view(world.p)->origin[POLICY_WARN]);
    world_gives(7776000 * S, "pattern:timeseries", "s.a", SAID);
}

static void R000_32_permanent_records_may_be_infinite(void)
{
    struct policy_namespace n[4];

    set_example_block(n);
    world.s.name = "permanent-records";
    world_compile();
    world_gives(H, "client", "s.a", H);
    world_gives(30 * DAY, "pattern:keyvalue", "s.a", SAID);
    world_gives(TTL_NEVER, "client", "s.a", TTL_NEVER);
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
}

static void R000_33_client_or_namespace_or_15_minutes(void)
{
    struct policy_namespace entry = {.stream = "N", .keys = POLICY_KEYS_INIT};

    entry.keys.default_ttl = H;
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = &entry, .nnamespaces = 1};
    world.srv.keys.default_ttl = 900 * S;
    world.s.name = "N";
    world_compile();
    world_gives(5 * S, "client", "s.a", 5 * S);
    world_gives(H, "default", "s.a", SAID);
    world.s.name = "OTHER";
    world_compile();
    world_gives(900 * S, "server", "s.a", SAID);
}

static void R000_79_the_trace_lists_each_level_and_why(void)
{
    static const char *const client[] = {"client: 1000h0m0s", "max 2160h0m0s: within",
                                         "marker floor 1m0s: within", "max_age: none"};
    static const char *const all[] = {"client: nothing",
                                      "rule tmp: subject does not match",
                                      "default: not set",
                                      "pattern: not set",
                                      "server, pattern keyvalue: 720h0m0s",
                                      "max 480h0m0s: clamped",
                                      "marker floor 1m0s: within",
                                      "max_age: none"};

    world.tracing = true;
    world.s.marker_ttl_ns = 60 * S;
    world_set("max", "90d");
    world_compile();
    world_message("s.a", NULL, NULL, 1000 * H);
    check_trace(client, MF_COUNT(client));
    world_set("max", "20d");
    world_set("rules", "[{\"id\":\"tmp\",\"subject\":\"s.tmp.>\",\"ttl\":\"90d\"}]");
    world.srv.set = true;
    world.srv.keys.default_ttl = 7 * DAY;
    world.s.name = "KV_s";
    world_compile();
    world_message("s.a", NULL, NULL, SAID);
    check_trace(all, MF_COUNT(all));
}

static void R000_82_infinite_only_by_explicit_configuration(void)
{
    world.srv.set = true;
    world.srv.keys.default_ttl = 30 * DAY;
    world_compile();
    check_never_denied();
    world_set("never", "allow");
    world_compile();
    world_gives(TTL_NEVER, "client", "s.a", TTL_NEVER);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(R000_09_client_override_wins);
    RUN_TEST(R000_10_defaults_by_backend);
    RUN_TEST(R000_11_defaults_by_access_pattern);
    RUN_TEST(R000_14_cache_is_15_minutes);
    RUN_TEST(R000_15_session_is_24_hours);
    RUN_TEST(R000_16_pubsub_has_none_and_is_inferred_for_work_queues);
    RUN_TEST(R000_17_keyvalue_is_30_days);
    RUN_TEST(R000_18_timeseries_is_90_days);
    RUN_TEST(R000_19_graph_never_ends);
    RUN_TEST(R000_20_vector_is_90_days);
    RUN_TEST(R000_21_chunks_of_an_object_outlive_its_meta);
    RUN_TEST(R000_22_client_then_namespace_then_pattern_then_system);
    RUN_TEST(R000_24_digits_are_seconds);
    RUN_TEST(R000_25_never_by_the_writer_where_allowed);
    RUN_TEST(R000_26_a_namespace_is_account_stream_storage_and_pattern);
    RUN_TEST(R000_27_default_in_plain_seconds);
    RUN_TEST(R000_28_never_is_denied_in_governed_streams);
    RUN_TEST(R000_29_warnings_are_on_by_default);
    RUN_TEST(R000_30_user_sessions_take_the_default_before_the_pattern);
    RUN_TEST(R000_31_analytics_events_live_90_days_with_warnings);
    RUN_TEST(R000_32_permanent_records_may_be_infinite);
    RUN_TEST(R000_33_client_or_namespace_or_15_minutes);
    RUN_TEST(R000_79_the_trace_lists_each_level_and_why);
    RUN_TEST(R000_82_infinite_only_by_explicit_configuration);
    return UNITY_END();
}
