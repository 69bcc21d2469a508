/* test_policy_bounds.c: bounds, refusals, and the floor of delete markers. */
#include "support/policy_world.h"

void setUp(void)
{
    world_reset();
    world.srv.set = true;
}

void tearDown(void)
{
    world_fini();
}

static void check_bound(enum policy_verdict verdict, int64_t ttl, int64_t asked)
{
    const struct policy_decision *d = world_message("s.a", NULL, NULL, asked);

    TEST_ASSERT_EQUAL(verdict, d->verdict);
    TEST_ASSERT_EQUAL_INT64(ttl, d->ttl);
    TEST_ASSERT_FALSE(d->rule_clamped);
    if (verdict != POLICY_OK)
        TEST_ASSERT_EQUAL_INT64(asked, d->asked);
}

static void check_refusal(const char *text)
{
    char dst[POLICY_REFUSAL];

    TEST_ASSERT_EQUAL_STRING(text, policy_refusal(dst, &world.d));
}

static void test_bounds_clamp_the_writer(void)
{
    world_set("min", "1m");
    world_set("max", "24h");
    world_compile();
    check_bound(POLICY_OK, 60 * S, 60 * S);
    check_bound(POLICY_OK, DAY, DAY);
    check_bound(POLICY_CLAMPED, DAY, 48 * H);
    TEST_ASSERT_EQUAL_INT64(DAY, world.d.limit);
    check_bound(POLICY_CLAMPED, 60 * S, S);
    TEST_ASSERT_EQUAL_INT64(60 * S, world.d.limit);
}

static void test_bounds_reject_the_writer(void)
{
    world_set("min", "1m");
    world_set("max", "24h");
    world_set("bounds", "reject");
    world_compile();
    check_bound(POLICY_OK, H, H);
    check_bound(POLICY_REJECTED, 48 * H, 48 * H);
    check_refusal("48h0m0s is above the maximum of 24h0m0s");
    check_bound(POLICY_REJECTED, 30 * S, 30 * S);
    check_refusal("30s is below the minimum of 1m0s");
    check_bound(POLICY_REJECTED, TTL_NEVER, TTL_NEVER);
    check_refusal("never is not allowed here");
}

static void test_values_of_the_policy_are_clamped_silently(void)
{
    world_set("max", "1h");
    world_set("bounds", "reject");
    world_set("pattern", "session");
    world_compile();
    world_gives(H, "pattern:session", "s.a", SAID);
    TEST_ASSERT_TRUE(world.d.rule_clamped);
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
    world_set("pattern", "graph");
    world_compile();
    world_gives(TTL_NEVER, "pattern:graph", "s.a", SAID);
    TEST_ASSERT_FALSE(world.d.rule_clamped);
}

static void check_copy(enum policy_verdict verdict, int64_t ttl, int64_t asked)
{
    struct policy_message m = {.subject = MF_LIT("s.a"), .client_ttl = asked, .copy = true};

    policy_resolve(world.p, &m, &world.d);
    TEST_ASSERT_EQUAL(verdict, world.d.verdict);
    TEST_ASSERT_EQUAL_INT64(ttl, world.d.ttl);
}

/* A refusal would stop the source. */
static void test_copies_are_clamped_not_refused(void)
{
    world_set("default", "1h");
    world_set("bounds", "reject");
    world_compile();
    check_copy(POLICY_CLAMPED, H, TTL_NEVER);
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, world.d.asked);
    world_set("max", "24h");
    world_set("min", "1m");
    world_compile();
    check_copy(POLICY_CLAMPED, DAY, TTL_NEVER);
    check_copy(POLICY_CLAMPED, DAY, 48 * H);
    check_copy(POLICY_CLAMPED, 60 * S, S);
    check_copy(POLICY_OK, 2 * H, 2 * H);
}

static void test_floor_of_markers(void)
{
    world.s.marker_ttl_ns = 90 * S + 500 * CLOCK_MS; /* whole seconds count */
    world_set("default", "10s");
    world_compile();
    world_gives(90 * S, "default", "s.a", SAID);
    world_gives(90 * S, "client", "s.a", 20 * S);
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
    world_gives(91 * S, "client", "s.a", 91 * S);
    TEST_ASSERT_EQUAL_size_t(1, policy_view(world.p)->nnotes);
    world_set("never", "allow");
    world_compile();
    world_gives(TTL_NEVER, "client", "s.a", TTL_NEVER);
    world.s.max_msgs_per_subject = 1;
    world_compile();
    world_gives(10 * S, "default", "s.a", SAID);
    world_gives(20 * S, "client", "s.a", 20 * S);
    world.s.max_msgs_per_subject = 2;
    world.srv.keys.max_ns = 30 * S; /* the operator's: the floor wins, and is noted */
    const struct policy_view *v = world_compile();
    world_gives(90 * S, "default", "s.a", SAID);
    TEST_ASSERT_EQUAL_STRING("TTLs below 1m30s are raised: subject_delete_marker_ttl", v->notes[0]);
    TEST_ASSERT_EQUAL_STRING("max is below subject_delete_marker_ttl, which wins", v->notes[1]);
}

static void test_bounds_of_what_is_set_by_hand(void)
{
    world_set("max", "1h");
    world_compile();
    policy_bound(world.p, 2 * H, &world.d);
    TEST_ASSERT_EQUAL(POLICY_CLAMPED, world.d.verdict);
    TEST_ASSERT_EQUAL_INT64(H, world.d.ttl);
    policy_bound(world.p, TTL_NEVER, &world.d); /* `never: deny` of a stream binds writers only */
    TEST_ASSERT_EQUAL(POLICY_OK, world.d.verdict);
    world_set("bounds", "reject");
    world.srv.keys.never = POLICY_NEVER_DENY;
    world_compile();
    policy_bound(world.p, 2 * H, &world.d);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world.d.verdict);
    check_refusal("2h0m0s is above the maximum of 1h0m0s");
    policy_bound(world.p, TTL_NEVER, &world.d);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world.d.verdict);
    check_refusal("never is not allowed here by the server");
}

/* --- the operator's word, later ----------------------------------------------------------------
 */

static bool has_note(const char *text)
{
    const struct policy_view *v = policy_view(world.p);

    for (size_t i = 0; i < v->nnotes; i++)
        if (strcmp(v->notes[i], text) == 0)
            return true;
    return false;
}

/* The stream was accepted when `never` was allowed. */
static void deny_later(int64_t max_ns)
{
    world.s.stored = true;
    world.srv.set = true;
    world.srv.keys.never = POLICY_NEVER_DENY;
    world.srv.keys.max_ns = max_ns;
    world_compile();
}

static void test_a_default_of_never_falls_to_max(void)
{
    world_set("default", "never");
    deny_later(H);
    world_gives(H, "max", "s.a", SAID);
    TEST_ASSERT_TRUE(has_note("default never is not in force: the server denies it"));
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world_message("s.a", NULL, NULL, TTL_NEVER)->verdict);
}

static void test_a_default_of_never_falls_to_the_next_step(void)
{
    world_set("default", "never");
    world_set("pattern", "cache");
    deny_later(POLICY_UNSET);
    world_gives(900 * S, "pattern:cache", "s.a", SAID);
    world_set("pattern", "graph"); /* built in, and never as well */
    world_compile();
    world_gives(TTL_NONE, "none", "s.a", SAID);
    TEST_ASSERT_TRUE(has_note("pattern graph is not in force: the server denies never"));
    world.s.max_age_ns = DAY;
    world_compile();
    world_gives(TTL_NONE, "max_age", "s.a", SAID);
}

static void test_patterns_of_the_operator_may_still_give_never(void)
{
    static struct policy_pattern offer = {(char *)"graph", TTL_NEVER};

    world.srv.patterns = &offer;
    world.srv.npatterns = 1;
    world_set("pattern", "graph");
    deny_later(H);
    world_gives(TTL_NEVER, "pattern:graph", "s.a", SAID);
}

static void test_rules_that_give_never_fall_to_max(void)
{
    world_set("rules",
              "[{\"id\":\"a\",\"subject\":\"s.a\",\"ttl\":\"never\"},"
              "{\"id\":\"b\",\"subject\":\"s.b.*\",\"ttl\":\"1m\",\"permanent_if\":\"s.c.$1\"}]");
    world.permanent = "s.c.x";
    deny_later(H);
    world_gives(H, "max", "s.a", SAID);
    world_gives(H, "max", "s.b.x", SAID);
    TEST_ASSERT_TRUE(world.d.link_denied);
    TEST_ASSERT_FALSE(world.d.linked);
    world_gives(60 * S, "rule:b", "s.b.y", SAID);
    TEST_ASSERT_FALSE(world.d.link_denied);
    TEST_ASSERT_TRUE(has_note("never and permanent_if of rules are not in force: the server denies "
                              "never"));
}

static void test_rules_that_give_never_fall_to_the_next_step(void)
{
    world_set("rules",
              "[{\"id\":\"a\",\"subject\":\"s.a\",\"ttl\":\"never\"},"
              "{\"id\":\"b\",\"subject\":\"s.b.*\",\"ttl\":\"1m\",\"permanent_if\":\"s.c.$1\"},"
              "{\"id\":\"c\",\"subject\":\"s.*\",\"ttl\":\"2m\"}]");
    world.permanent = "s.c.x";
    deny_later(POLICY_UNSET);
    world_gives(120 * S, "rule:c", "s.a", SAID);
    world_gives(60 * S, "rule:b", "s.b.x", SAID);
    TEST_ASSERT_TRUE(world.d.link_denied);
    world.srv.keys.never = POLICY_NEVER_ALLOW;
    world_compile();
    world_gives(TTL_NEVER, "rule:a", "s.a", SAID);
    world_gives(TTL_NEVER, "rule:b (linked)", "s.b.x", SAID);
}

/* --- keys that are not understood ---------------------------------------------------------------
 */

static const struct policy_view *compile_stored(void)
{
    world_fini();
    world.s.stored = true;
    TEST_ASSERT_EQUAL(0, policy_compile_stored(&world.p, &world.s, &world.srv));
    return policy_view(world.p);
}

static void test_keys_that_are_not_understood_evade_no_bound(void)
{
    world_set("moon", "full");
    world_set("default", "never");
    world.srv.set = true;
    world.srv.keys.max_ns = H;
    world.srv.keys.never = POLICY_NEVER_DENY;
    const struct policy_view *v = compile_stored();
    TEST_ASSERT_EQUAL_STRING("unknown TTL policy key \"mayfly.ttl.moon\"", v->invalid);
    TEST_ASSERT_TRUE(v->active);
    TEST_ASSERT_TRUE(has_note("the stream's own keys are not understood: those of the server alone "
                              "are in force"));
    world_gives(H, "max", "s.a", SAID);
    world_gives(H, "client", "s.a", 2 * H);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world_message("s.a", NULL, NULL, TTL_NEVER)->verdict);
}

static void test_keys_that_are_not_understood_leave_nothing_without_a_server(void)
{
    world_set("moon", "full");
    TEST_ASSERT_FALSE(compile_stored()->active);
    TEST_ASSERT_NOT_NULL(policy_view(world.p)->invalid);
    world_gives(TTL_NONE, "none", "s.a", SAID);
    world_set("moon", "");
    world_unset_all();
    world_set("default", "1h");
    TEST_ASSERT_NULL(compile_stored()->invalid);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bounds_clamp_the_writer);
    RUN_TEST(test_bounds_reject_the_writer);
    RUN_TEST(test_values_of_the_policy_are_clamped_silently);
    RUN_TEST(test_copies_are_clamped_not_refused);
    RUN_TEST(test_floor_of_markers);
    RUN_TEST(test_bounds_of_what_is_set_by_hand);
    RUN_TEST(test_a_default_of_never_falls_to_max);
    RUN_TEST(test_a_default_of_never_falls_to_the_next_step);
    RUN_TEST(test_patterns_of_the_operator_may_still_give_never);
    RUN_TEST(test_rules_that_give_never_fall_to_max);
    RUN_TEST(test_rules_that_give_never_fall_to_the_next_step);
    RUN_TEST(test_keys_that_are_not_understood_evade_no_bound);
    RUN_TEST(test_keys_that_are_not_understood_leave_nothing_without_a_server);
    return UNITY_END();
}
