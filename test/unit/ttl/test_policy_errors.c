/* test_policy_errors.c: every text with which a policy is refused, and their order. */
#include "support/policy_world.h"

void setUp(void)
{
    world_reset();
}

void tearDown(void)
{
    world_fini();
}

static void test_unknown_keys(void)
{
    static const struct {
        const char *key, *text;
    } rows[] = {
        {"defualt", "unknown TTL policy key \"mayfly.ttl.defualt\"; did you mean "
                    "\"mayfly.ttl.default\"?"},
        {"Max", "unknown TTL policy key \"mayfly.ttl.Max\"; did you mean \"mayfly.ttl.max\"?"},
        {"on-expire",
         "unknown TTL policy key \"mayfly.ttl.on-expire\"; did you mean \"mayfly.ttl.on_expire\"?"},
        {"maxx", "unknown TTL policy key \"mayfly.ttl.maxx\"; did you mean \"mayfly.ttl.max\"?"},
        {"mx", "unknown TTL policy key \"mayfly.ttl.mx\"; did you mean \"mayfly.ttl.max\"?"},
        {"x", "unknown TTL policy key \"mayfly.ttl.x\""},
        {"rule", "unknown TTL policy key \"mayfly.ttl.rule\"; did you mean \"mayfly.ttl.rules\"?"},
        {"size_tiers", "unknown TTL policy key \"mayfly.ttl.size_tiers\""},
        {"mayfly.ttl.", "unknown TTL policy key \"mayfly.ttl.\""},
        {"mayfly.ttl.a.b", "unknown TTL policy key \"mayfly.ttl.a.b\""},
        {"mayfly.ttl.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
         "unknown TTL policy key \"mayfly.ttl.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\""},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        world_unset_all();
        world_set(rows[i].key, "1h");
        world_refused(rows[i].text);
    }
    world_unset_all();
    world_set("mayfly.ttlx", "1h"); /* not ours */
    world_set("owner.team", "1h");
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
}

static void test_bad_durations(void)
{
    world_set("max", "1 day");
    world_refused("mayfly.ttl.max: \"1 day\" is not a duration of 1s to 36500d");
    world_unset_all();
    world_set("default", "1 day");
    world_refused("mayfly.ttl.default: \"1 day\" is not a duration of 1s to 36500d, never or none");
    world_unset_all();
    world_set("warn", "x");
    world_refused("mayfly.ttl.warn: \"x\" is not a duration of 1s to 36500d");
}

static void test_bad_words(void)
{
    world_set("never", "maybe");
    world_refused("mayfly.ttl.never: \"maybe\" is none of allow, deny");
    world_unset_all();
    world_set("enforce", "warn");
    world_refused("mayfly.ttl.enforce: \"warn\" is none of off, audit, on");
}

static void test_unknown_pattern(void)
{
    struct policy_pattern own = {"invoices", DAY};

    world_set("pattern", "foo");
    world_refused("mayfly.ttl.pattern: no pattern \"foo\"; known: cache, graph, keyvalue, object, "
                  "pubsub, session, timeseries, vector");
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .patterns = &own, .npatterns = 1};
    world_refused(
        "mayfly.ttl.pattern: no pattern \"foo\"; known: cache, graph, invoices, keyvalue, "
        "object, pubsub, session, timeseries, vector");
    /* Stored, and its pattern was taken out of the configuration since then. */
    world.s.stored = true;
    world_compile();
    world_gives(TTL_NONE, "none", "s.a", SAID);
    TEST_ASSERT_EQUAL_STRING("pattern foo is not defined any more", policy_view(world.p)->notes[0]);
}

static void test_bounds_in_the_wrong_order(void)
{
    world_set("min", "2h");
    world_set("max", "1h");
    world_refused("mayfly.ttl.min 2h0m0s is above mayfly.ttl.max 1h0m0s");
    world_set("min", "1h"); /* one TTL for all */
    world_compile();
    world_set("min", "");
    world_set("max", "24h");
    world_set("default", "48h");
    world_refused("mayfly.ttl.default 48h0m0s is above mayfly.ttl.max 24h0m0s");
    world_set("max", "");
    world_set("min", "72h");
    world_refused("mayfly.ttl.default 48h0m0s is below mayfly.ttl.min 72h0m0s");
    world_set("default", "never"); /* `never` has a key of its own */
    world_set("max", "100h");
    world_compile();
}

static void test_bounds_of_the_operator(void)
{
    world.srv.set = true;
    world.srv.keys.max_ns = DAY;
    world_set("max", "48h");
    world_refused("mayfly.ttl.max 48h0m0s is above the server's 24h0m0s");
    world.s.stored = true; /* accepted before: the smaller one holds */
    TEST_ASSERT_EQUAL_INT64(DAY, world_compile()->keys.max_ns);
    world.s.stored = false;
    world_set("max", "");
    world_set("min", "48h");
    world_refused("mayfly.ttl.min 48h0m0s is above the server's 24h0m0s");
    world_set("min", "");
    world_set("default", "48h");
    world_refused("mayfly.ttl.default 48h0m0s is above the server's 24h0m0s");
    world_set("default", "24h");
    world_compile();
}

static void check_never_refused(const char *key, const char *value, const char *text)
{
    world_unset_all();
    world_set(key, value);
    world.s.stored = false;
    world_refused(text);
    world.s.stored = true;
    world_compile();
}

static void test_never_denied_by_the_operator(void)
{
    static const char text[] = "never is not allowed here by the server";
    struct policy_pattern own = {"audit_log", TTL_NEVER};

    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .patterns = &own, .npatterns = 1};
    world.srv.keys.never = POLICY_NEVER_DENY;
    check_never_refused("never", "allow", text);
    check_never_refused("default", "never", text);
    check_never_refused("pattern", "graph", text);
    check_never_refused("rules", "[{\"ttl\":\"never\"}]",
                        "mayfly.ttl.rules[0].ttl: never is not allowed here by the server");
    check_never_refused(
        "rules", "[{\"subject\":\"s.*\",\"permanent_if\":\"s.c.$1\"}]",
        "mayfly.ttl.rules[0].permanent_if: never is not allowed here by the server");
    world_unset_all();
    world.s.stored = false;
    world_set("pattern", "audit_log"); /* the operator's own offer */
    world_compile();
    world_gives(TTL_NEVER, "pattern:audit_log", "s.a", SAID);
    world_set("never", "deny");
    world_compile();
    world_set("pattern", "cache");
    world_compile();
}

static void test_scope_subject_needs_a_bounded_history(void)
{
    static const char text[] =
        "mayfly.ttl.scope subject needs limits retention and max_msgs_per_subject of 1 to 256";

    world_set("scope", "subject");
    world_refused(text);
    world.s.max_msgs_per_subject = 1;
    world_compile();
    world.s.max_msgs_per_subject = 257;
    world_refused(text);
    world.s.max_msgs_per_subject = 256;
    world_compile();
    world.s.limits_retention = false;
    world_refused(text);
}

static void test_dead_letters_stay_in_the_stream(void)
{
    world_subjects("$KV.drafts.>", NULL);
    world_set("on_expire", "dead");
    world_refused(
        "mayfly.ttl.on_expire: \"dead.$KV.drafts.>\" is not within the stream's subjects");
    world_subjects("$KV.drafts.>", "dead.$KV.drafts.>");
    TEST_ASSERT_EQUAL_STRING("dead", world_compile()->keys.on_expire);
    world_subjects(">", NULL);
    world_compile();
    world_set("on_expire", "dead.>");
    world_refused(
        "mayfly.ttl.on_expire: \"dead.>\" is not a prefix of 1 to 8 tokens without wildcards");
}

static void test_max_below_the_floor_of_markers(void)
{
    world.s.marker_ttl_ns = 60 * S;
    world_set("max", "30s");
    world_refused("mayfly.ttl.max 30s is below subject_delete_marker_ttl 1m0s");
    world.s.max_msgs_per_subject = 1;
    world_compile();
}

static void test_counters_have_no_policy(void)
{
    world.s.counter = true;
    world_set("default", "1h");
    world_refused("counter stream cannot use message TTLs");
    world_set("enforce", "off");
    world_refused("counter stream cannot use message TTLs");
    world_set("default", "");
    TEST_ASSERT_FALSE(world_compile()->active);
    world_unset_all();
    world.srv.set = true;
    world.srv.keys.default_ttl = DAY;
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
}

/* All mistakes at once: they are told in the documented order, each once the former is gone. */
static void test_order_of_checks(void)
{
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        {"zzz", "1", "unknown TTL policy key \"mayfly.ttl.zzz\""},
        {"default", "1 day",
         "mayfly.ttl.default: \"1 day\" is not a duration of 1s to 36500d, never or none"},
        {"warn", "x", "mayfly.ttl.warn: \"x\" is not a duration of 1s to 36500d"},
        {"bounds", "x", "mayfly.ttl.bounds: \"x\" is none of clamp, reject"},
        {"pattern", "foo",
         "mayfly.ttl.pattern: no pattern \"foo\"; known: cache, graph, keyvalue, object, pubsub, "
         "session, timeseries, vector"},
        {"min", "48h", "mayfly.ttl.min 48h0m0s is above mayfly.ttl.max 36h0m0s"},
        {"max", "36h", "mayfly.ttl.max 36h0m0s is above the server's 24h0m0s"},
        {"never", "allow", "never is not allowed here by the server"},
        {"rules", "[", "mayfly.ttl.rules at byte 1: unexpected end of JSON input"},
        {"scope", "subject",
         "mayfly.ttl.scope subject needs limits retention and max_msgs_per_subject of 1 to 256"},
        {"on_expire", "dead",
         "mayfly.ttl.on_expire: \"dead.s.>\" is not within the stream's subjects"},
        {"slide", "read", "counter stream cannot use message TTLs"},
    };

    world.srv.set = true;
    world.srv.keys.max_ns = DAY;
    world.srv.keys.never = POLICY_NEVER_DENY;
    world.s.counter = true;
    for (size_t i = 0; i < MF_COUNT(rows); i++)
        world_set(rows[i].key, rows[i].value);
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        world_refused(rows[i].text);
        if (i == 0) { /* an unknown key is unknown also when it is empty */
            world_set("zzz", "");
            world_refused(rows[i].text);
            world.metadata.n--; /* the last of the sorted keys */
        } else {
            world_set(rows[i].key, "");
        }
    }
    TEST_ASSERT_EQUAL(0, world_try());
}

static void check_pedantic(const char *text)
{
    struct arena mem = {0};
    const char *got;

    TEST_ASSERT_EQUAL(0, world_try());
    got = policy_pedantic(&world.s, &world.srv, &mem);
    if (text == NULL)
        TEST_ASSERT_NULL(got);
    else
        TEST_ASSERT_EQUAL_STRING(text, got);
    arena_fini(&mem);
}

static void test_pedantic_requests_refuse_what_has_no_effect(void)
{
    check_pedantic(NULL);
    world_set("default", "48h");
    world_set("max", "72h");
    check_pedantic(NULL);
    world.s.max_age_ns = DAY;
    check_pedantic("mayfly.ttl.default 48h0m0s is above max_age 24h0m0s");
    world_set("default", "1h");
    check_pedantic("mayfly.ttl.max 72h0m0s is above max_age 24h0m0s");
    world_set("max", "24h");
    check_pedantic(NULL);
    world_set("warn", "24h");
    check_pedantic("mayfly.ttl.warn 24h0m0s is not below mayfly.ttl.max 24h0m0s");
    world_set("max", "");
    check_pedantic(NULL);
    world.s.mirror = true;
    check_pedantic("TTL policy keys have no effect on a mirror");
    world_set("max", "x"); /* policy_compile() has the words */
    TEST_ASSERT_NULL(policy_pedantic(&world.s, NULL, &(struct arena){0}));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_unknown_keys);
    RUN_TEST(test_bad_durations);
    RUN_TEST(test_bad_words);
    RUN_TEST(test_unknown_pattern);
    RUN_TEST(test_bounds_in_the_wrong_order);
    RUN_TEST(test_bounds_of_the_operator);
    RUN_TEST(test_never_denied_by_the_operator);
    RUN_TEST(test_scope_subject_needs_a_bounded_history);
    RUN_TEST(test_dead_letters_stay_in_the_stream);
    RUN_TEST(test_max_below_the_floor_of_markers);
    RUN_TEST(test_counters_have_no_policy);
    RUN_TEST(test_order_of_checks);
    RUN_TEST(test_pedantic_requests_refuse_what_has_no_effect);
    return UNITY_END();
}
