/* test_policy_rules.c: rules, their expressions, their links, and the errors of their text. */
#include "support/policy_world.h"

/* The rate limiter of the guide. */
static const char limiter[] =
    "[{\"id\":\"bucket\",\"subject\":\"bucket.*.*\",\"ttl\":\"fill(json(/limits))\","
    "\"permanent_if\":\"config.{{wildcard(1)}}.{{wildcard(2)}}\"},"
    "{\"id\":\"sync\",\"subject\":\"config.*.*\",\"header\":{\"Config-Source\":\"sync\"},"
    "\"ttl\":\"3 * header(Sync-Window)\"},"
    "{\"id\":\"operator\",\"subject\":\"config.*.*\",\"ttl\":\"never\"}]";
static const char bucket[] = BUCKET("[" LIMIT(1000, 10, 60) "]");

void setUp(void)
{
    world_reset();
}

void tearDown(void)
{
    world_fini();
}

static void use_limiter(void)
{
    world_subjects("bucket.*.*", "config.*.*");
    world_set("rules", limiter);
    world_compile();
}

/* --- what the requirements ask for -------------------------------------------------------------
 */

static void R000_38_a_rule_for_a_prefix(void)
{
    world_subjects("$KV.b.>", NULL);
    world_set("rules", "[{\"id\":\"default-ttl\",\"subject\":\"$KV.b.tmp.>\",\"ttl\":\"90d\"}]");
    world_compile();
    world_rule_gives(90 * DAY, "rule:default-ttl", "$KV.b.tmp.a", NULL, NULL);
    world_rule_gives(TTL_NONE, "none", "$KV.b.a", NULL, NULL);
}

static void R000_80_some_subjects_are_infinite(void)
{
    world_subjects("schema.>", "data.>");
    world_set("default", "24h");
    world_set("rules", "[{\"subject\":\"schema.>\",\"ttl\":\"never\"}]");
    world_compile();
    world_rule_gives(TTL_NEVER, "rule:1", "schema.users", NULL, NULL);
    world_rule_gives(DAY, "default", "data.users", NULL, NULL);
    /* The policy alone gives `never` there, so its writer may ask for it; elsewhere not. */
    TEST_ASSERT_EQUAL(POLICY_OK, world_message("schema.x", NULL, NULL, TTL_NEVER)->verdict);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world_message("data.x", NULL, NULL, TTL_NEVER)->verdict);
}

static void R001_01_buckets_on_default_limits_expire(void)
{
    use_limiter();
    world_rule_gives(42000 * S, "rule:bucket", "bucket.alice.gpt4", NULL, bucket);
}

static void R001_02_slow_buckets_live_as_long_as_they_need(void)
{
    world_json_gives(42000 * S, "fill(json(/limits))", bucket);
    world_header_gives(42000 * S, "fill(header(Limits))", "Limits: 1000/10/60\r\n");
}

static void R001_03_custom_limits_never_expire(void)
{
    world_set("rules", "[{\"header\":{\"Limits-Source\":\"entity\"},\"ttl\":\"never\"},"
                       "{\"ttl\":\"fill(json(/limits))\"}]");
    world_compile();
    world_rule_gives(TTL_NEVER, "rule:1", "s.a", "Limits-Source: entity\r\n", bucket);
}

static void R001_05_time_to_fill_times_seven(void)
{
    world_json_gives(2334 * S, "fill(json(/limits))", BUCKET("[" LIMIT(100, 3, 10) "]"));
    world_json_gives(2334 * S, "fill(json(/limits))", BUCKET(LIMIT(100, 3, 10)));
    world_header_gives(2334 * S, "fill(header(Limits))", "Limits: 100/3/10\r\n");
}

static void R001_06_maximum_over_all_limits(void)
{
    world_json_gives(42000 * S, "fill(json(/limits))",
                     BUCKET("[" LIMIT(1000, 10, 60) "," LIMIT(10, 10, 1) "]"));
    world_json_gives(42000 * S, "fill(json(/limits))",
                     BUCKET("[" LIMIT(10, 10, 1) "," LIMIT(1000, 10, 60) "]"));
    world_header_gives(42000 * S, "fill(header(Limits))", "Limits: 10/10/1,1000/10/60\r\n");
}

static void R001_07_multiplier_is_seven_by_default(void)
{
    world_json_gives(7 * S, "fill(json(/limits))", BUCKET(LIMIT(1, 1, 1)));
    world_json_gives(1 * S, "1 * fill(json(/limits))", BUCKET(LIMIT(1, 1, 1)));
}

static void R001_08_multiplier_is_configurable(void)
{
    world_json_gives(84000 * S, "14 * fill(json(/limits))", bucket);
    world_json_gives(9000 * S, "1.5 * fill(json(/limits))", bucket);
}

static void R001_09_entity_custom_has_no_ttl(void)
{
    use_limiter();
    world.permanent = "config.alice.gpt4";
    world_rule_gives(TTL_NEVER, "rule:bucket (linked)", "bucket.alice.gpt4", NULL, bucket);
    TEST_ASSERT_TRUE(world.d.linked);
}

static void R001_10_other_sources_have_a_ttl(void)
{
    static const char *const sources[] = {"Limits-Source: entity_default\r\n",
                                          "Limits-Source: resource\r\n",
                                          "Limits-Source: system\r\n"};

    world_set("rules", "[{\"header\":{\"Limits-Source\":\"entity\"},\"ttl\":\"never\"},"
                       "{\"ttl\":\"fill(json(/limits))\"}]");
    world_compile();
    for (size_t i = 0; i < MF_COUNT(sources); i++)
        world_rule_gives(42000 * S, "rule:2", "s.a", sources[i], bucket);
    /* A link names the exact resource: a default of the entity does not count. */
    use_limiter();
    world.permanent = "config.alice._default_";
    world_rule_gives(42000 * S, "rule:bucket", "bucket.alice.gpt4", NULL, bucket);
    TEST_ASSERT_EQUAL_STRING("config.alice.gpt4", world.asked);
}

static void R001_11_slow_buckets_have_seven_cycles(void)
{
    use_limiter();
    world_message("bucket.a.b", NULL, bucket, SAID);
    TEST_ASSERT_GREATER_OR_EQUAL_INT64((int64_t)7 * 1000 / 10 * 60 * S, world.d.ttl);
}

static void R001_14_each_write_resolves_anew(void)
{
    use_limiter();
    world.permanent = "config.alice.gpt4";
    world_rule_gives(TTL_NEVER, "rule:bucket (linked)", "bucket.alice.gpt4", NULL, bucket);
    world.permanent = NULL;
    world_rule_gives(42000 * S, "rule:bucket", "bucket.alice.gpt4", NULL, bucket);
}

static void R001_15_a_flat_day_can_be_said(void)
{
    world_json_gives(DAY, "24h", bucket);
}

static void R001_16_order_of_rules_spares_custom_buckets(void)
{
    world_set("rules", "[{\"subject\":\"s.custom.>\",\"ttl\":\"never\"},{\"ttl\":\"24h\"}]");
    world_compile();
    world_rule_gives(TTL_NEVER, "rule:1", "s.custom.a", NULL, NULL);
    world_rule_gives(DAY, "rule:2", "s.other", NULL, NULL);
}

static void R001_17_other_multipliers_are_possible(void)
{
    world_json_gives(18000 * S, "3 * fill(json(/limits))", bucket);
    world_json_gives(84000 * S, "14 * fill(json(/limits))", bucket);
}

static void R003_25_tiers_by_size_are_not_offered(void)
{
    world_set("rules", "[{\"size\":1024,\"ttl\":\"1h\"}]");
    world_refused("mayfly.ttl.rules[0]: unknown field \"size\"");
}

static void R004_03_a_synced_config_does_not_make_permanent(void)
{
    use_limiter();
    world.permanent = NULL; /* the config is there, with a deadline */
    world_rule_gives(42000 * S, "rule:bucket", "bucket.alice.gpt4", NULL, bucket);
    TEST_ASSERT_EQUAL(1, world.links);
}

static void R004_05_operator_written_configs_stay(void)
{
    use_limiter();
    world_rule_gives(TTL_NEVER, "rule:operator", "config.alice.gpt4", NULL, NULL);
}

static void R004_06_synced_config_lives_three_windows(void)
{
    use_limiter();
    world_rule_gives(180 * S, "rule:sync", "config.alice.gpt4",
                     "Config-Source: sync\r\nSync-Window: 60\r\n", NULL);
    world_rule_gives(180 * S, "rule:sync", "config.alice.gpt4",
                     "Sync-Window: 1m\r\nConfig-Source: sync\r\n", NULL);
}

static void R004_08_config_without_ttl_makes_the_bucket_infinite(void)
{
    R001_09_entity_custom_has_no_ttl();
}

static void R004_09_config_with_ttl_leaves_the_bucket_its_ttl(void)
{
    R004_03_a_synced_config_does_not_make_permanent();
}

static void R004_10_no_config_leaves_the_bucket_its_ttl(void)
{
    use_limiter();
    world_rule_gives(42000 * S, "rule:bucket", "bucket.bob.gpt4", NULL, bucket);
    TEST_ASSERT_EQUAL_STRING("config.bob.gpt4", world.asked);
}

/* --- matching ----------------------------------------------------------------------------------
 */

static void test_the_first_rule_with_a_value_decides(void)
{
    world_set("default", "5h");
    world_set("rules", "[{\"ttl\":\"json(/ttl)\"},{\"subject\":\"s.*.x\",\"ttl\":\"2h\"},"
                       "{\"header\":{\"A\":\"1\",\"B\":\"*\"},\"ttl\":\"3h\"},"
                       "{\"subject\":\"*.q\",\"ttl\":\"4h\"}]");
    world_compile();
    world_rule_gives(60 * S, "rule:1", "s.a.x", NULL, "{\"ttl\":60}");
    world_rule_gives(2 * H, "rule:2", "s.a.x", NULL, "{}");
    TEST_ASSERT_EQUAL(2, world.d.rules_tried);
    world_rule_gives(3 * H, "rule:3", "s.a", "B: \r\nA: 1\r\n", NULL);
    world_rule_gives(5 * H, "default", "s.a", "A: 1\r\n", NULL);
    world_rule_gives(5 * H, "default", "s.a", "B: 1\r\nA: 11\r\n", NULL);
    world_rule_gives(5 * H, "default", "s.a", "A: 2\r\nA: 1\r\nB: 1\r\n", NULL); /* the first */
    world_rule_gives(4 * H, "rule:4", "s.q", NULL, NULL);
    TEST_ASSERT_EQUAL(4, world.d.rules_tried);
}

static void test_no_rule_is_asked_where_the_writer_spoke(void)
{
    use_limiter();
    world_message("bucket.a.b", NULL, bucket, 60 * S);
    TEST_ASSERT_EQUAL(0, world.d.rules_tried);
    TEST_ASSERT_EQUAL(0, world.d.scanned);
    TEST_ASSERT_EQUAL(0, world.links);
}

static void test_a_rule_may_have_a_link_only(void)
{
    world_set("default", "1h");
    world_set("rules", "[{\"subject\":\"s.b.*\",\"permanent_if\":\"s.c.$1\"}]");
    world_compile();
    world_rule_gives(H, "default", "s.b.x", NULL, NULL);
    world.permanent = "s.c.x";
    world_rule_gives(TTL_NEVER, "rule:1 (linked)", "s.b.x", NULL, NULL);
}

static void test_trace_of_rules(void)
{
    static const char *const want[] = {"client: nothing",
                                       "rule a: subject does not match",
                                       "rule b: headers do not match",
                                       "rule c: no value",
                                       "rule d: 1h0m0s",
                                       "min 2h0m0s: clamped",
                                       "max 3h0m0s: within",
                                       "max_age 1h30m0s: earlier"};

    world.tracing = true;
    world.s.max_age_ns = 90 * 60 * S;
    world_set("min", "2h");
    world_set("max", "3h");
    world_set("rules", "[{\"id\":\"a\",\"subject\":\"s.x\",\"ttl\":\"2h\"},"
                       "{\"id\":\"b\",\"header\":{\"A\":\"1\"},\"ttl\":\"2h\"},"
                       "{\"id\":\"c\",\"ttl\":\"header(A)\"},{\"id\":\"d\",\"ttl\":\"1h\"}]");
    world_compile();
    world_message("s.a", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_size_t(MF_COUNT(want), world.ntrace);
    for (size_t i = 0; i < MF_COUNT(want); i++)
        TEST_ASSERT_EQUAL_STRING(want[i], world.trace[i]);
    TEST_ASSERT_TRUE(world.d.rule_clamped);
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
}

/* --- links -------------------------------------------------------------------------------------
 */

static char visited[4][256];
static size_t nvisited;

static void visit(void *arg, struct mf_slice filter)
{
    (void)arg;
    snprintf(visited[nvisited++ % 4], sizeof visited[0], "%.*s", MF_FMT(filter));
}

static void check_linked_by(const char *subject, const char *filter)
{
    nvisited = 0;
    policy_linked_by(world.p, mf_str(subject), visit, NULL);
    TEST_ASSERT_EQUAL_size_t(filter == NULL ? 0 : 1, nvisited);
    if (filter != NULL)
        TEST_ASSERT_EQUAL_STRING(filter, visited[0]);
}

static void use_link(const char *subject, const char *template)
{
    static char rules[256];

    world_subjects("bucket.>", "config.>");
    snprintf(rules, sizeof rules, "[{\"subject\":\"%s\",\"ttl\":\"1h\",\"permanent_if\":\"%s\"}]",
             subject, template);
    world_set("rules", rules);
    world_compile();
    TEST_ASSERT_TRUE(policy_has_links(world.p));
}

static void test_the_messages_that_link_to_a_subject(void)
{
    use_link("bucket.*.*", "config.{{wildcard(1)}}.{{wildcard(2)}}");
    check_linked_by("config.alice.gpt4", "bucket.alice.gpt4");
    check_linked_by("config.alice", NULL);
    check_linked_by("bucket.alice.gpt4", NULL);
    check_linked_by("config.alice.gpt4.x", NULL);
    use_link("bucket.*.*", "config.{{wildcard(2)}}");
    check_linked_by("config.gpt4", "bucket.*.gpt4");
    use_link("bucket.*.>", "config.$1.$1");
    check_linked_by("config.alice.alice", "bucket.alice.>");
    check_linked_by("config.alice.bob", NULL);
    use_link("bucket.>", "config.all");
    check_linked_by("config.all", "bucket.>");
    use_link("bucket.*", "config.x1.1"); /* literals */
    check_linked_by("config.x1.1", "bucket.*");
}

static void test_links_are_filled_from_the_subject(void)
{
    use_link("bucket.*.x.*", "config.{{wildcard(2)}}.y.{{wildcard(1)}}");
    world_message("bucket.a.x.b", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_STRING("config.b.y.a", world.asked);
}

/* A subject longer than the room for a link: not linked, and the way back widens. */
static void test_links_that_do_not_fit(void)
{
    static char subject[5000];

    use_link("bucket.*", "config.{{wildcard(1)}}");
    memset(subject, 'x', sizeof subject - 1);
    memcpy(subject, "bucket.", 7);
    subject[4097] = '\0';
    world_message(subject, NULL, NULL, SAID);
    TEST_ASSERT_EQUAL(0, world.links);
    subject[4096] = '\0';
    world_message(subject, NULL, NULL, SAID);
    TEST_ASSERT_EQUAL(1, world.links);
    memset(subject, 'x', sizeof subject - 1);
    memcpy(subject, "config.", 7);
    check_linked_by(subject, "bucket.*");
}

/* --- errors of the text ------------------------------------------------------------------------
 */

static void check_rules(const char *rules, const char *error)
{
    world_set("rules", rules);
    world_refused(error);
}

static void test_errors_of_json(void)
{
    check_rules("[{\"ttl\": \"1h\"},,]",
                "mayfly.ttl.rules at byte 16: invalid character ',' looking "
                "for beginning of value");
    check_rules("[{\"ttl\":", "mayfly.ttl.rules at byte 8: unexpected end of JSON input");
    check_rules("[] []", "mayfly.ttl.rules at byte 4: invalid character '[' after top-level value");
    check_rules("{}", "mayfly.ttl.rules: not an array of rules");
    check_rules("\"x\"", "mayfly.ttl.rules: not an array of rules");
    check_rules("[{\"ttl\":\"1h\"},null]", "mayfly.ttl.rules[1]: not an object");
    check_rules("[{\"ttl\":24}]", "mayfly.ttl.rules[0]: cannot unmarshal number into Go struct "
                                  "field rule.ttl of type string");
}

static void test_errors_of_fields(void)
{
    check_rules("[{\"ttl\":\"1h\"},{}]", "mayfly.ttl.rules[1]: neither ttl nor permanent_if");
    check_rules("[{\"ttl\":\"1h\",\"id\":\"a b\"}]",
                "mayfly.ttl.rules[0].id: \"a b\" is not 1 to 32 of A-Z, a-z, 0-9, _ and -");
    check_rules("[{\"ttl\":\"1h\",\"id\":\"\"}]",
                "mayfly.ttl.rules[0].id: \"\" is not 1 to 32 of A-Z, a-z, 0-9, _ and -");
    check_rules("[{\"ttl\":\"1h\",\"id\":\"2\"},{\"ttl\":\"1h\"}]",
                "mayfly.ttl.rules[1].id: \"2\" is the id of rules[0], too");
    check_rules("[{\"ttl\":\"1h\",\"subject\":\"s..a\"}]",
                "mayfly.ttl.rules[0].subject: \"s..a\" is no subject filter");
    check_rules("[{\"ttl\":\"1h\",\"subject\":\"t.>\"}]",
                "mayfly.ttl.rules[0].subject: \"t.>\" does not overlap the stream's subjects");
    check_rules("[{\"ttl\":\"1h\",\"header\":{\"a b\":\"1\"}}]",
                "mayfly.ttl.rules[0].header: \"a b\" is no header name");
    check_rules("[{\"ttl\":\"1h\",\"header\":{\"a:b\":\"1\"}}]",
                "mayfly.ttl.rules[0].header: \"a:b\" is no header name");
    check_rules(
        "[{\"ttl\":\"1h\",\"header\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\"}}]",
        "mayfly.ttl.rules[0].header: 5 headers, 4 allowed");
    check_rules("[{\"ttl\":\"json(/a)\"},{\"ttl\":\"json(/b)\"},{\"ttl\":\"json(/c)\"},"
                "{\"ttl\":\"json(/d)\"},{\"ttl\":\"until(json(/d))\"},{\"ttl\":\"json(/e)\"}]",
                "mayfly.ttl.rules[5].ttl: more than 4 JSON pointers");
}

static void test_errors_of_links(void)
{
    check_rules("[{\"subject\":\"s.b.*\",\"permanent_if\":\"s.c.{{wildcard(2)}}\"}]",
                "mayfly.ttl.rules[0].permanent_if: there is no wildcard 2 in \"s.b.*\"");
    check_rules("[{\"subject\":\"s.b.*\",\"permanent_if\":\"s.{{partition(3)}}\"}]",
                "mayfly.ttl.rules[0].permanent_if: \"{{partition(3)}}\" is neither a literal token "
                "nor {{wildcard(n)}}");
    check_rules("[{\"subject\":\"s.b.*\",\"permanent_if\":\"s.*\"}]",
                "mayfly.ttl.rules[0].permanent_if: \"*\" is neither a literal token nor "
                "{{wildcard(n)}}");
    check_rules("[{\"subject\":\"s.b.*\",\"permanent_if\":\"\"}]",
                "mayfly.ttl.rules[0].permanent_if: an empty template");
    check_rules("[{\"subject\":\"s.*\",\"permanent_if\":\"s.{{wildcard(1)}}\"}]",
                "mayfly.ttl.rules[0].permanent_if: a linked subject can not have a link itself");
    check_rules("[{\"subject\":\"s.a.*\",\"permanent_if\":\"s.b.{{wildcard(1)}}\"},"
                "{\"subject\":\"s.b.*\",\"permanent_if\":\"s.c.{{wildcard(1)}}\"}]",
                "mayfly.ttl.rules[0].permanent_if: a linked subject can not have a link itself");
}

static char big[70000];

/* n rules of this text, which may hold one %zu. */
static void fill_rules(size_t n, const char *before, const char *after)
{
    size_t len = 1;

    big[0] = '[';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(big + len, sizeof big - len, "%s%s%zu%s", i > 0 ? "," : "", before,
                                i, after);
    snprintf(big + len, sizeof big - len, "]");
}

static void test_limits_of_rules(void)
{
    fill_rules(64, "{\"subject\":\"s.", "\",\"ttl\":\"1h\"}");
    world_set("rules", big);
    TEST_ASSERT_EQUAL_size_t(64, world_compile()->nrules);
    fill_rules(65, "{\"subject\":\"s.", "\",\"ttl\":\"1h\"}");
    check_rules(big, "mayfly.ttl.rules: 65 rules, 64 allowed");
    memset(big, ' ', 16385);
    memcpy(big, "[]", 2);
    big[16384] = '\0';
    world_set("rules", big);
    TEST_ASSERT_EQUAL_size_t(0, world_compile()->nrules);
    big[16384] = ' ';
    big[16385] = '\0';
    check_rules(big, "mayfly.ttl.rules: 16385 bytes, 16384 allowed");
    fill_rules(64, "{\"ttl\":\"header(H", ")\"}");
    world_set("rules", big);
    world_compile();
    fill_rules(33, "{\"header\":{\"X\":\"1\",\"Y\":\"2\"},\"ttl\":\"header(H", ")\"}");
    world_set("rules", big);
    world_compile();
    fill_rules(64, "{\"header\":{\"X\":\"1\"},\"ttl\":\"header(H", ")\"}");
    check_rules(big, "mayfly.ttl.rules[63].ttl: more than 64 header names");
}

/* The cost within a publish, in what is looked at; the bench has it in time. */
static void R000_87_a_default_looks_at_nothing_of_the_message(void)
{
    world_set("default", "24h");
    world_compile();
    world.links = 0;
    world_rule_gives(86400 * S, "default", "bucket.alice.gpt4", "Limits: 1/1/1\r\n", bucket);
    TEST_ASSERT_EQUAL(0, world.d.rules_tried);
    TEST_ASSERT_EQUAL(0, world.d.scanned);
    TEST_ASSERT_EQUAL(0, world.links);
}

/* A bucket looks up its configuration, once.  Only what can be one is watched as such. */
static void R004_15_a_bucket_looks_up_one_record(void)
{
    use_limiter();
    world.links = 0;
    world_rule_gives(42000 * S, "rule:bucket", "bucket.alice.gpt4", NULL, bucket);
    TEST_ASSERT_EQUAL(1, world.links);
    world_message("config.alice.gpt4", NULL, bucket, SAID);
    TEST_ASSERT_EQUAL(1, world.links);
    TEST_ASSERT_TRUE(policy_is_link(world.p, mf_str("config.alice.gpt4")));
    TEST_ASSERT_FALSE(policy_is_link(world.p, mf_str("config.alice")));
    TEST_ASSERT_FALSE(policy_is_link(world.p, mf_str("config.alice.gpt4.x")));
    TEST_ASSERT_FALSE(policy_is_link(world.p, mf_str("bucket.alice.gpt4")));
    world_set("rules", "[{\"ttl\":\"1h\"}]");
    world_compile();
    TEST_ASSERT_FALSE(policy_is_link(world.p, mf_str("config.alice.gpt4")));
}

/* Costs: 64 rules at most are looked at, and a payload is read once for each pointer. */
static void test_costs_of_rules_are_bounded(void)
{
    static char payload[40000];
    size_t n = (size_t)snprintf(payload, sizeof payload, "{\"x\":\"");

    fill_rules(64, "{\"ttl\":\"fill(json(/none))\",\"id\":\"", "\"}");
    world_set("rules", big);
    world_compile();
    memset(payload + n, 'y', sizeof payload - 1 - n);
    world_rule_gives(TTL_NONE, "none", "s.a", NULL, payload);
    TEST_ASSERT_EQUAL(64, world.d.rules_tried);
    TEST_ASSERT_EQUAL(16384, world.d.scanned);
    fill_rules(64, "{\"ttl\":\"json(/none)\",\"id\":\"", "\"}");
    world_set("rules", big);
    world_compile();
    world_rule_gives(TTL_NONE, "none", "s.a", NULL, payload);
    TEST_ASSERT_EQUAL(16384, world.d.scanned);
    /* A value that is there, and is no limit: it is looked at once, not 64 times. */
    fill_rules(64, "{\"ttl\":\"fill(json(/x))\",\"id\":\"", "\"}");
    world_set("rules", big);
    world_compile();
    n = (size_t)snprintf(payload, sizeof payload, "{\"x\":[");
    for (; n < 16000; n += 3)
        memcpy(payload + n, "{},", 3);
    snprintf(payload + n, sizeof payload - n, "{}]}");
    world_rule_gives(TTL_NONE, "none", "s.a", NULL, payload);
    TEST_ASSERT_GREATER_THAN(16000, world.d.scanned);
    TEST_ASSERT_LESS_OR_EQUAL(16384, world.d.scanned);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(R000_38_a_rule_for_a_prefix);
    RUN_TEST(R000_80_some_subjects_are_infinite);
    RUN_TEST(R001_01_buckets_on_default_limits_expire);
    RUN_TEST(R001_02_slow_buckets_live_as_long_as_they_need);
    RUN_TEST(R001_03_custom_limits_never_expire);
    RUN_TEST(R001_05_time_to_fill_times_seven);
    RUN_TEST(R001_06_maximum_over_all_limits);
    RUN_TEST(R001_07_multiplier_is_seven_by_default);
    RUN_TEST(R001_08_multiplier_is_configurable);
    RUN_TEST(R001_09_entity_custom_has_no_ttl);
    RUN_TEST(R001_10_other_sources_have_a_ttl);
    RUN_TEST(R001_11_slow_buckets_have_seven_cycles);
    RUN_TEST(R001_14_each_write_resolves_anew);
    RUN_TEST(R001_15_a_flat_day_can_be_said);
    RUN_TEST(R001_16_order_of_rules_spares_custom_buckets);
    RUN_TEST(R001_17_other_multipliers_are_possible);
    RUN_TEST(R003_25_tiers_by_size_are_not_offered);
    RUN_TEST(R004_03_a_synced_config_does_not_make_permanent);
    RUN_TEST(R004_05_operator_written_configs_stay);
    RUN_TEST(R004_06_synced_config_lives_three_windows);
    RUN_TEST(R004_08_config_without_ttl_makes_the_bucket_infinite);
    RUN_TEST(R004_09_config_with_ttl_leaves_the_bucket_its_ttl);
    RUN_TEST(R004_10_no_config_leaves_the_bucket_its_ttl);
    RUN_TEST(test_the_first_rule_with_a_value_decides);
    RUN_TEST(test_no_rule_is_asked_where_the_writer_spoke);
    RUN_TEST(test_a_rule_may_have_a_link_only);
    RUN_TEST(test_trace_of_rules);
    RUN_TEST(test_the_messages_that_link_to_a_subject);
    RUN_TEST(test_links_are_filled_from_the_subject);
    RUN_TEST(test_links_that_do_not_fit);
    RUN_TEST(test_errors_of_json);
    RUN_TEST(test_errors_of_fields);
    RUN_TEST(test_errors_of_links);
    RUN_TEST(test_limits_of_rules);
    RUN_TEST(R000_87_a_default_looks_at_nothing_of_the_message);
    RUN_TEST(R004_15_a_bucket_looks_up_one_record);
    RUN_TEST(test_costs_of_rules_are_bounded);
    return UNITY_END();
}
