/* test_policy_merge.c: the level whose value counts, and the view of a policy. */
#include "support/policy_world.h"

static struct policy_namespace entry;

void setUp(void)
{
    world_reset();
    entry = (struct policy_namespace){.keys = POLICY_KEYS_INIT};
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = &entry, .nnamespaces = 1};
}

void tearDown(void)
{
    world_fini();
}

static void check_origin(enum policy_key k, enum policy_origin want)
{
    TEST_ASSERT_EQUAL_MESSAGE(want, policy_view(world.p)->origin[k], policy_key_name(k));
}

/* --- precedence --------------------------------------------------------------------------------
 */

static void check_max(int64_t max, enum policy_origin from)
{
    world.s.stored = true;
    TEST_ASSERT_EQUAL_INT64(max, world_compile()->keys.max_ns);
    check_origin(POLICY_MAX, from);
}

static void test_the_smaller_max_holds(void)
{
    world_set("max", "2h");
    check_max(2 * H, POLICY_OF_STREAM);
    world.srv.keys.max_ns = 3 * H;
    check_max(2 * H, POLICY_OF_STREAM);
    world.srv.keys.max_ns = H;
    check_max(H, POLICY_OF_SERVER);
    entry.keys.max_ns = 90 * 60 * S; /* the entry's is the operator's, not the block's */
    check_max(90 * 60 * S, POLICY_OF_NAMESPACE);
    world_set("max", "");
    check_max(90 * 60 * S, POLICY_OF_NAMESPACE);
}

static void check_never(enum policy_never want, enum policy_origin from)
{
    world.s.stored = true;
    TEST_ASSERT_EQUAL(want, world_compile()->keys.never);
    check_origin(POLICY_NEVER, from);
}

static void test_deny_by_the_operator_wins(void)
{
    world_set("slide", "write");
    check_never(POLICY_NEVER_ALLOW, POLICY_BUILT_IN);
    world_set("default", "1h");
    check_never(POLICY_NEVER_DENY, POLICY_BUILT_IN);
    entry.keys.never = POLICY_NEVER_ALLOW;
    check_never(POLICY_NEVER_ALLOW, POLICY_OF_NAMESPACE);
    world_set("never", "deny");
    check_never(POLICY_NEVER_DENY, POLICY_OF_STREAM);
    world_set("never", "allow");
    world.srv.keys.never = POLICY_NEVER_DENY; /* the entry is asked before the block */
    check_never(POLICY_NEVER_ALLOW, POLICY_OF_STREAM);
    TEST_ASSERT_FALSE(policy_view(world.p)->operator_denies_never);
    entry.keys.never = POLICY_NEVER_UNSET;
    check_never(POLICY_NEVER_DENY, POLICY_OF_SERVER);
    TEST_ASSERT_TRUE(policy_view(world.p)->operator_denies_never);
    entry.keys.never = POLICY_NEVER_DENY;
    check_never(POLICY_NEVER_DENY, POLICY_OF_NAMESPACE);
}

static void check_enforce(enum policy_enforce want, enum policy_origin from)
{
    TEST_ASSERT_EQUAL(want, world_compile()->keys.enforce);
    check_origin(POLICY_ENFORCE, from);
}

static void test_enforce_of_the_entry_wins(void)
{
    world_set("default", "1h");
    check_enforce(POLICY_ENFORCE_ON, POLICY_BUILT_IN);
    world.srv.keys.enforce = POLICY_ENFORCE_AUDIT;
    check_enforce(POLICY_ENFORCE_AUDIT, POLICY_OF_SERVER);
    world_set("enforce", "off");
    check_enforce(POLICY_ENFORCE_OFF, POLICY_OF_STREAM);
    TEST_ASSERT_FALSE(policy_view(world.p)->active);
    TEST_ASSERT_FALSE(policy_view(world.p)->governed);
    entry.keys.enforce = POLICY_ENFORCE_ON;
    check_enforce(POLICY_ENFORCE_ON, POLICY_OF_NAMESPACE);
    TEST_ASSERT_TRUE(policy_view(world.p)->governed);
}

static void test_other_keys_of_the_stream_win(void)
{
    world_subjects(">", NULL);
    world.s.max_msgs_per_subject = 5;
    entry.keys = (struct policy_keys){.default_ttl = H,
                                      .min_ns = 2 * S,
                                      .warn_ns = 3 * S,
                                      .max_ns = POLICY_UNSET,
                                      .pattern = "cache",
                                      .on_expire = "gone",
                                      .bounds = POLICY_BOUNDS_REJECT,
                                      .scope = POLICY_SCOPE_SUBJECT,
                                      .slide = POLICY_SLIDE_READ};
    const struct policy_keys *k = &world_compile()->keys;
    TEST_ASSERT_EQUAL_INT64(H, k->default_ttl);
    TEST_ASSERT_EQUAL_INT64(2 * S, k->min_ns);
    TEST_ASSERT_EQUAL_INT64(3 * S, k->warn_ns);
    TEST_ASSERT_EQUAL_STRING("cache", k->pattern);
    TEST_ASSERT_EQUAL_STRING("gone", k->on_expire);
    TEST_ASSERT_EQUAL(POLICY_BOUNDS_REJECT, k->bounds);
    TEST_ASSERT_EQUAL(POLICY_SCOPE_SUBJECT, k->scope);
    TEST_ASSERT_EQUAL(POLICY_SLIDE_READ, k->slide);
    check_origin(POLICY_RULES, POLICY_BUILT_IN);
    check_origin(POLICY_DEFAULT, POLICY_OF_NAMESPACE);
    check_origin(POLICY_ON_EXPIRE, POLICY_OF_NAMESPACE);
    check_origin(POLICY_SLIDE, POLICY_OF_NAMESPACE);
    world_set("default", "2h");
    world_set("min", "4s");
    world_set("warn", "0");
    world_set("pattern", "session");
    world_set("on_expire", "dead");
    world_set("bounds", "clamp");
    world_set("scope", "message");
    world_set("slide", "write");
    k = &world_compile()->keys;
    TEST_ASSERT_EQUAL_INT64(2 * H, k->default_ttl);
    TEST_ASSERT_EQUAL_INT64(4 * S, k->min_ns);
    TEST_ASSERT_EQUAL_INT64(0, k->warn_ns);
    TEST_ASSERT_EQUAL_STRING("session", k->pattern);
    TEST_ASSERT_EQUAL_STRING("dead", k->on_expire);
    TEST_ASSERT_EQUAL(POLICY_BOUNDS_CLAMP, k->bounds);
    TEST_ASSERT_EQUAL(POLICY_SCOPE_MESSAGE, k->scope);
    TEST_ASSERT_EQUAL(POLICY_SLIDE_WRITE, k->slide);
    for (unsigned i = 0; i < POLICY_RULES; i++)
        if (i != POLICY_MAX && i != POLICY_NEVER && i != POLICY_ENFORCE)
            check_origin((enum policy_key)i, POLICY_OF_STREAM);
}

static void test_the_first_entry_that_matches_holds(void)
{
    struct policy_namespace n[] = {{"WEB", NULL, 0, POLICY_KEYS_INIT},
                                   {NULL, "T*", 0, POLICY_KEYS_INIT},
                                   {"APP", "S", 0, POLICY_KEYS_INIT},
                                   {NULL, "*", 0, POLICY_KEYS_INIT}};

    for (unsigned i = 0; i < MF_COUNT(n); i++)
        n[i].keys.default_ttl = (int64_t)(i + 1) * H;
    world.srv.namespaces = n;
    world.srv.nnamespaces = MF_COUNT(n);
    TEST_ASSERT_EQUAL(3, world_compile()->namespace_no);
    world_gives(3 * H, "default", "s.a", SAID);
}

/* The keys of an entry for many streams may not fit one of them: the stream is still accepted. */
static void test_an_entry_that_does_not_fit_is_noted(void)
{
    entry.keys.scope = POLICY_SCOPE_SUBJECT;
    entry.keys.on_expire = "dead";
    entry.keys.pattern = "gone";
    entry.keys.min_ns = 2 * H;
    entry.keys.max_ns = 3 * H;
    world_set("max", "1h");
    const struct policy_view *v = world_compile();
    TEST_ASSERT_EQUAL(POLICY_SCOPE_MESSAGE, v->keys.scope);
    TEST_ASSERT_NULL(v->keys.on_expire);
    TEST_ASSERT_EQUAL_INT64(H, v->keys.min_ns);
    TEST_ASSERT_EQUAL_size_t(4, v->nnotes);
    TEST_ASSERT_EQUAL_STRING("min is lowered to max: they come from different levels", v->notes[0]);
    TEST_ASSERT_EQUAL_STRING("pattern gone is not defined any more", v->notes[1]);
    world_gives(H, "max", "s.a", SAID);
}

/* --- governed ----------------------------------------------------------------------------------
 */

static void test_no_policy_where_nobody_says_anything(void)
{
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
    world.srv.keys.warn_ns = H;
    world.srv.keys.enforce = POLICY_ENFORCE_AUDIT;
    world.srv.keys.default_ttl = TTL_NONE; /* default: 0 */
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
    world.srv.keys.default_ttl = DAY; /* does not reach a stream with max_age */
    world.s.max_age_ns = H;
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
    world.srv.set = false;
    world.s.max_age_ns = 0;
    TEST_ASSERT_EQUAL(0, world_try());
    TEST_ASSERT_NULL(world.p);
    TEST_ASSERT_EQUAL(0, policy_compile(&world.p, &world.s, NULL, &world.e));
    TEST_ASSERT_NULL(world.p);
}

/* Each key of an entry alone makes a policy. */
static void test_any_key_of_an_entry_makes_a_policy(void)
{
    static const struct policy_keys unset = POLICY_KEYS_INIT;
    static const struct {
        enum policy_key k;
        const char *value;
    } rows[] = {{POLICY_DEFAULT, "none"},   {POLICY_PATTERN, "cache"}, {POLICY_MIN, "1s"},
                {POLICY_MAX, "1s"},         {POLICY_BOUNDS, "clamp"},  {POLICY_NEVER, "allow"},
                {POLICY_SCOPE, "message"},  {POLICY_SLIDE, "write"},   {POLICY_WARN, "0"},
                {POLICY_ON_EXPIRE, "dead"}, {POLICY_ENFORCE, "off"}};
    struct arena mem = {0};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        entry.keys = unset;
        TEST_ASSERT_EQUAL(
            0, policy_key_read(&entry.keys, rows[i].k, "K", mf_str(rows[i].value), &mem, NULL));
        TEST_ASSERT_EQUAL(1, world_compile()->namespace_no);
        for (unsigned k = 0; k < POLICY_RULES; k++)
            if (k != rows[i].k)
                check_origin((enum policy_key)k, POLICY_BUILT_IN);
    }
    arena_fini(&mem);
}

static void test_governed_streams_have_other_defaults(void)
{
    world.s.max_msgs_per_subject = 10;
    world_set("default", "1h");
    const struct policy_view *v = world_compile();
    TEST_ASSERT_TRUE(v->governed);
    TEST_ASSERT_EQUAL(POLICY_SCOPE_SUBJECT, v->keys.scope);
    TEST_ASSERT_EQUAL_INT64(H, v->keys.warn_ns);
    TEST_ASSERT_EQUAL(POLICY_BOUNDS_CLAMP, v->keys.bounds);
    TEST_ASSERT_EQUAL(POLICY_SLIDE_WRITE, v->keys.slide);
    world.s.max_msgs_per_subject = -1;
    TEST_ASSERT_EQUAL(POLICY_SCOPE_MESSAGE, world_compile()->keys.scope);
    world.s.max_msgs_per_subject = 10;
    world_set("default", "none");
    v = world_compile();
    TEST_ASSERT_FALSE(v->governed);
    TEST_ASSERT_TRUE(v->active);
    TEST_ASSERT_EQUAL(POLICY_SCOPE_MESSAGE, v->keys.scope);
    TEST_ASSERT_EQUAL_INT64(0, v->keys.warn_ns);
    world_set("rules", "[{\"subject\":\"s.x\",\"ttl\":\"1h\"}]");
    TEST_ASSERT_TRUE(world_compile()->governed);
}

static void test_a_bound_is_not_evaded_by_saying_nothing(void)
{
    world.srv.keys.max_ns = DAY;
    TEST_ASSERT_TRUE(world_compile()->governed);
    world_gives(DAY, "max", "s.a", SAID);
    world.srv.keys.default_ttl = H;
    TEST_ASSERT_EQUAL_INT64(H, world_compile()->keys.default_ttl);
    check_origin(POLICY_DEFAULT, POLICY_OF_SERVER);
    world_set("default", "none"); /* explicit */
    world_compile();
    world_gives(TTL_NONE, "default", "s.a", SAID);
}

static void test_max_age_shields_from_the_default_of_the_server(void)
{
    world.srv.keys.default_ttl = 30 * DAY;
    world.s.max_age_ns = 60 * DAY;
    world_set("slide", "write");
    TEST_ASSERT_FALSE(world_compile()->governed);
    world_gives(TTL_NONE, "max_age", "s.a", SAID);
    world_set("max", "10d");
    TEST_ASSERT_TRUE(world_compile()->governed);
    world_gives(10 * DAY, "max", "s.a", SAID);
    world_set("max", "60d");
    world_compile();
    world_gives(TTL_NONE, "max_age", "s.a", SAID);
    world_set("default", "1d"); /* its own one is no matter of the server */
    world_compile();
    world_gives(DAY, "default", "s.a", SAID);
}

static void test_never_denied_by_the_block_alone(void)
{
    world.srv.keys.never = POLICY_NEVER_DENY;
    TEST_ASSERT_FALSE(world_compile()->governed);
    TEST_ASSERT_EQUAL(POLICY_REJECTED, world_message("s.a", NULL, NULL, TTL_NEVER)->verdict);
    world_gives(TTL_NONE, "none", "s.a", SAID);
    world_gives(H, "client", "s.a", H);
}

static void test_mirrors_are_shown_and_inactive(void)
{
    world.s.mirror = true;
    world.subjects.n = 0;
    world_set("default", "1h");
    const struct policy_view *v = world_compile();
    TEST_ASSERT_FALSE(v->active);
    TEST_ASSERT_FALSE(v->governed);
    TEST_ASSERT_EQUAL_STRING("a mirror follows its origin: this policy is inactive", v->notes[0]);
}

/* --- requirements of drafts --------------------------------------------------------------------
 */

static void R003_05_drafts_live_a_day(void)
{
    world_set("default", "86400");
    world_compile();
    world_gives(86400 * S, "default", "s.a", SAID);
}

static void R003_06_creation_counts_from_the_message(void)
{
    world_set("default", "24h");
    world_compile();
    world_message("s.a", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_INT64(T0 + 86400 * S, ttl_deadline(T0, world.d.ttl, false));
}

static void R003_07_an_update_is_resolved_on_its_own(void)
{
    world.s.max_msgs_per_subject = 5;
    world_set("default", "24h");
    TEST_ASSERT_EQUAL(POLICY_SCOPE_SUBJECT, world_compile()->keys.scope);
    world_message("s.a", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_INT64(T0 + 34 * H, ttl_deadline(T0 + 10 * H, world.d.ttl, false));
}

static void R003_24_another_default_is_one_key(void)
{
    world_set("default", "168h");
    world_compile();
    world_gives(7 * 86400 * S, "default", "s.a", SAID);
}

/* --- the rest ----------------------------------------------------------------------------------
 */

static void test_traces_of_never_and_max_age(void)
{
    world.tracing = true;
    world.s.max_age_ns = H;
    world_set("default", "24h");
    world_compile();
    world_message("s.a", NULL, NULL, TTL_NEVER);
    TEST_ASSERT_EQUAL_size_t(2, world.ntrace);
    TEST_ASSERT_EQUAL_STRING("client: never", world.trace[0]);
    TEST_ASSERT_EQUAL_STRING("never deny: rejected", world.trace[1]);
    world_set("never", "allow");
    world_compile();
    world_message("s.a", NULL, NULL, TTL_NEVER);
    TEST_ASSERT_EQUAL_STRING("max_age 1h0m0s: never is exempt", world.trace[1]);
    world_message("s.a", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_STRING("default: 24h0m0s", world.trace[1]);
    TEST_ASSERT_EQUAL_STRING("max_age 1h0m0s: earlier", world.trace[2]);
    world_message("s.a", NULL, NULL, H);
    TEST_ASSERT_EQUAL_STRING("max_age 1h0m0s: within", world.trace[1]);
    world_set("bounds", "reject");
    world_set("max", "25h");
    world_compile();
    world_message("s.a", NULL, NULL, 48 * H);
    TEST_ASSERT_EQUAL_STRING("max 25h0m0s: rejected", world.trace[1]);
    world_unset_all();
    world_set("slide", "write");
    world_compile();
    world_message("s.a", NULL, NULL, SAID);
    TEST_ASSERT_EQUAL_STRING("max_age 1h0m0s: holds", world.trace[3]);
}

static void test_words_of_deciders(void)
{
    static const char *const want[] = {"client", "rule", "default", "pattern",
                                       "server", "max",  "max_age", "none"};

    for (unsigned i = 0; i < POLICY_BYS; i++)
        TEST_ASSERT_EQUAL_STRING(want[i], policy_by_word((enum policy_by)i));
}

static void test_an_invalid_policy_remembers_why(void)
{
    struct policy *p;

    world.srv.set = false;
    world.s.stored = true;
    world_set("moon", "full");
    TEST_ASSERT_EQUAL(0, policy_compile_stored(&p, &world.s, &world.srv));
    TEST_ASSERT_EQUAL_STRING("unknown TTL policy key \"mayfly.ttl.moon\"", policy_view(p)->invalid);
    TEST_ASSERT_FALSE(policy_view(p)->active);
    TEST_ASSERT_FALSE(policy_has_links(p));
    world.p = p;
    world_gives(TTL_NONE, "none", "s.a", SAID);
}

static bool changed(const char *key, const char *value)
{
    struct policy *before;
    bool equal;

    world_compile();
    before = world.p;
    world.p = NULL;
    if (key != NULL)
        world_set(key, value);
    world_compile();
    equal = policy_equal(before, world.p);
    TEST_ASSERT_EQUAL(equal, policy_equal(world.p, before));
    policy_free(before);
    return !equal;
}

static void test_policies_are_equal_by_effect(void)
{
    world_subjects(">", NULL);
    world.s.max_msgs_per_subject = 3;
    world_set("default", "1h");
    world_set("rules", "[{\"ttl\":\"1h\",\"header\":{\"A\":\"1\"}}]");
    TEST_ASSERT_FALSE(changed(NULL, NULL));
    TEST_ASSERT_FALSE(changed("default", "60m"));
    TEST_ASSERT_FALSE(changed("scope", "subject")); /* as it was by default */
    TEST_ASSERT_TRUE(changed("default", "2h"));
    TEST_ASSERT_TRUE(changed("max", "3h"));
    TEST_ASSERT_TRUE(changed("min", "1m"));
    TEST_ASSERT_TRUE(changed("never", "allow"));
    TEST_ASSERT_TRUE(changed("scope", "message"));
    TEST_ASSERT_TRUE(changed("slide", "read"));
    TEST_ASSERT_TRUE(changed("warn", "5m"));
    TEST_ASSERT_TRUE(changed("on_expire", "dead"));
    TEST_ASSERT_TRUE(changed("enforce", "audit"));
    TEST_ASSERT_TRUE(changed("bounds", "reject"));
    TEST_ASSERT_TRUE(changed("rules", "[{\"ttl\":\"1h\",\"header\":{\"A\":\"2\"}}]"));
    TEST_ASSERT_TRUE(changed("rules", "[{\"ttl\":\"2h\",\"header\":{\"A\":\"2\"}}]"));
    TEST_ASSERT_TRUE(changed("rules", "[{\"id\":\"x\",\"ttl\":\"2h\",\"header\":{\"A\":\"2\"}}]"));
    TEST_ASSERT_TRUE(changed("rules", ""));
    TEST_ASSERT_TRUE(policy_equal(NULL, NULL));
    TEST_ASSERT_FALSE(policy_equal(world.p, NULL));
}

static void test_the_view_shows_rules(void)
{
    world_set("rules",
              "[{\"id\":\"a\",\"subject\":\"s.*\",\"ttl\":\"2 * 1h\",\"header\":{\"B\":\"2\","
              "\"A\":\"*\"},\"permanent_if\":\"s.c.$1\"},{\"ttl\":\"1h\"}]");
    const struct policy_view *v = world_compile();
    TEST_ASSERT_EQUAL_size_t(2, v->nrules);
    TEST_ASSERT_EQUAL_STRING("a", v->rules[0].id);
    TEST_ASSERT_EQUAL_STRING("s.*", v->rules[0].subject);
    TEST_ASSERT_EQUAL_STRING("2 * 1h", v->rules[0].ttl);
    TEST_ASSERT_EQUAL_STRING("s.c.$1", v->rules[0].permanent_if);
    TEST_ASSERT_EQUAL_size_t(2, v->rules[0].nheaders);
    TEST_ASSERT_EQUAL_STRING("A", v->rules[0].headers[0].key);
    TEST_ASSERT_EQUAL_STRING("2", v->rules[0].headers[1].value);
    TEST_ASSERT_EQUAL_STRING("2", v->rules[1].id);
    TEST_ASSERT_EQUAL_STRING(">", v->rules[1].subject);
    TEST_ASSERT_NULL(v->rules[1].permanent_if);
    check_origin(POLICY_RULES, POLICY_OF_STREAM);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_smaller_max_holds);
    RUN_TEST(test_deny_by_the_operator_wins);
    RUN_TEST(test_enforce_of_the_entry_wins);
    RUN_TEST(test_other_keys_of_the_stream_win);
    RUN_TEST(test_the_first_entry_that_matches_holds);
    RUN_TEST(test_an_entry_that_does_not_fit_is_noted);
    RUN_TEST(test_no_policy_where_nobody_says_anything);
    RUN_TEST(test_any_key_of_an_entry_makes_a_policy);
    RUN_TEST(test_governed_streams_have_other_defaults);
    RUN_TEST(test_a_bound_is_not_evaded_by_saying_nothing);
    RUN_TEST(test_max_age_shields_from_the_default_of_the_server);
    RUN_TEST(test_never_denied_by_the_block_alone);
    RUN_TEST(test_mirrors_are_shown_and_inactive);
    RUN_TEST(R003_05_drafts_live_a_day);
    RUN_TEST(R003_06_creation_counts_from_the_message);
    RUN_TEST(R003_07_an_update_is_resolved_on_its_own);
    RUN_TEST(R003_24_another_default_is_one_key);
    RUN_TEST(test_traces_of_never_and_max_age);
    RUN_TEST(test_words_of_deciders);
    RUN_TEST(test_an_invalid_policy_remembers_why);
    RUN_TEST(test_policies_are_equal_by_effect);
    RUN_TEST(test_the_view_shows_rules);
    return UNITY_END();
}
