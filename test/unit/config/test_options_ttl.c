/* test_options_ttl.c: the server's ttl block: values, refusals, places, and the shipped include. */
#include "config/options.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static struct options *parse(const char *text)
{
    char what[2400];
    struct options *p = NULL;
    e = (struct mf_error){0, ""};
    int rc = options_parse(&p, mf_str(text), "t.conf", &e);
    snprintf(what, sizeof what, "%s\n  gave: %s", text, e.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, rc, what);
    return p;
}

static void load(const char *text)
{
    options_free(o);
    o = NULL;
    o = parse(text);
}

static void refused(const char *text, const char *want)
{
    struct options *p = NULL;
    char both[2400];
    e = (struct mf_error){0, ""};
    int rc = options_parse(&p, mf_str(text), "t.conf", &e);
    snprintf(both, sizeof both, "%s\n  gave: %s\n  want: %s", text, e.text, want);
    options_free(p);
    TEST_ASSERT_EQUAL_MESSAGE(MF_INVAL, rc, both);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, want), both);
}

static bool warned(const char *text)
{
    for (size_t i = 0; i < o->warnings.n; i++)
        if (strstr(o->warnings.items[i], text) != NULL)
            return true;
    return false;
}

/* --- values ----------------------------------------------------------------------------------- */

static void test_without_a_block_nothing_is_set(void)
{
    load("port: 4222");
    TEST_ASSERT_FALSE(o->ttl.set);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.keys.default_ttl);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.keys.warn_ns);
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.keys.max_ns);
    TEST_ASSERT_EQUAL(0, o->ttl.npatterns + o->ttl.nnamespaces);
}

static void test_values_of_the_block_are_read(void)
{
    load("ttl { default: 30d, warn: \"2h\", enforce: audit, never: deny, max: \"365d\" }");
    TEST_ASSERT_TRUE(o->ttl.set);
    TEST_ASSERT_EQUAL_INT64(30 * DAY, o->ttl.keys.default_ttl);
    TEST_ASSERT_EQUAL_INT64(7200 * CLOCK_S, o->ttl.keys.warn_ns);
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_AUDIT, o->ttl.keys.enforce);
    TEST_ASSERT_EQUAL(POLICY_NEVER_DENY, o->ttl.keys.never);
    TEST_ASSERT_EQUAL_INT64(365 * DAY, o->ttl.keys.max_ns);
}

/* The language itself makes booleans of on and off. */
static void test_on_and_off_are_words_of_enforce(void)
{
    load("ttl { enforce: on }");
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_ON, o->ttl.keys.enforce);
    load("ttl { enforce: off }");
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_OFF, o->ttl.keys.enforce);
    load("ttl { namespaces: [ { enforce: \"on\" } ] }");
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_ON, o->ttl.namespaces[0].keys.enforce);
}

static void test_zero_is_no_default_and_no_warning(void)
{
    load("ttl { default: 0, warn: 0 }");
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.keys.default_ttl);
    TEST_ASSERT_EQUAL_INT64(0, o->ttl.keys.warn_ns);
    load("ttl { default: \"0\", warn: \"0\" }");
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.keys.default_ttl);
    load("ttl { default: never }");
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, o->ttl.keys.default_ttl);
    load("ttl { default: none }");
    TEST_ASSERT_EQUAL_INT64(TTL_NONE, o->ttl.keys.default_ttl);
}

static void test_patterns_are_durations_never_or_none(void)
{
    int64_t ttl = 0;
    load("ttl { patterns { cache: \"10m\", invoices: 3650d, audit_log: never, q: none, s: 90 } }");
    TEST_ASSERT_EQUAL(5, o->ttl.npatterns);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "cache", &ttl)); /* redefined */
    TEST_ASSERT_EQUAL_INT64(600 * CLOCK_S, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "invoices", &ttl));
    TEST_ASSERT_EQUAL_INT64(3650 * DAY, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "audit_log", &ttl));
    TEST_ASSERT_EQUAL_INT64(TTL_NEVER, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "q", &ttl));
    TEST_ASSERT_EQUAL_INT64(TTL_NONE, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "s", &ttl));
    TEST_ASSERT_EQUAL_INT64(90 * CLOCK_S, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "session", &ttl)); /* built in, still there */
}

static void test_every_key_of_an_entry_is_read(void)
{
    load("ttl { namespaces: [ { account: \"$G\", stream: \"a*b\", storage: memory, default: \"2h\","
         " pattern: cache, min: 60, max: \"3h\", bounds: reject, never: allow, scope: subject,"
         " slide: read, warn: \"5m\", on_expire: dead.letters, enforce: audit } ] }");
    const struct policy_namespace *n = &o->ttl.namespaces[0];
    TEST_ASSERT_EQUAL(1, o->ttl.nnamespaces);
    TEST_ASSERT_EQUAL_STRING("$G", n->account);
    TEST_ASSERT_EQUAL_STRING("a*b", n->stream);
    TEST_ASSERT_EQUAL(POLICY_STORAGE_MEMORY, n->storage);
    TEST_ASSERT_EQUAL_INT64(7200 * CLOCK_S, n->keys.default_ttl);
    TEST_ASSERT_EQUAL_STRING("cache", n->keys.pattern);
    TEST_ASSERT_EQUAL_INT64(60 * CLOCK_S, n->keys.min_ns);
    TEST_ASSERT_EQUAL_INT64(10800 * CLOCK_S, n->keys.max_ns);
    TEST_ASSERT_EQUAL(POLICY_BOUNDS_REJECT, n->keys.bounds);
    TEST_ASSERT_EQUAL(POLICY_NEVER_ALLOW, n->keys.never);
    TEST_ASSERT_EQUAL(POLICY_SCOPE_SUBJECT, n->keys.scope);
    TEST_ASSERT_EQUAL(POLICY_SLIDE_READ, n->keys.slide);
    TEST_ASSERT_EQUAL_INT64(300 * CLOCK_S, n->keys.warn_ns);
    TEST_ASSERT_EQUAL_STRING("dead.letters", n->keys.on_expire);
    TEST_ASSERT_EQUAL(POLICY_ENFORCE_AUDIT, n->keys.enforce);
}

static void test_an_empty_entry_matches_everything(void)
{
    load("ttl { namespaces: [ {} ] }");
    TEST_ASSERT_TRUE(policy_namespace_matches(&o->ttl.namespaces[0], "A", "S", true));
    TEST_ASSERT_EQUAL_INT64(POLICY_UNSET, o->ttl.namespaces[0].keys.default_ttl);
}

/* --- refusals ----------------------------------------------------------------------------------
 */

static void test_wrong_values_are_refused_where_they_stand(void)
{
    static const char *const b[][2] = {
        {"ttl: 5", "t.conf:1:1: Expected ttl to be a map: { default, warn, enforce"},
        {"ttl { bogus: 1 }", "unknown field \"bogus\""},
        {"ttl { defualt: 1 }", "unknown field \"defualt\"; did you mean \"default\"?"},
        {"ttl { min: 1 }", "unknown field \"min\""}, /* of entries only */
        {"ttl {\n  default: soon }",
         "t.conf:2:3: default: \"soon\" is not a duration of 1s to 36500d, never or none"},
        {"ttl { default: \"500ms\" }", "default: \"500ms\" is not a duration of 1s to 36500d"},
        {"ttl { default: -1 }", "default: \"-1\" is not a duration"},
        {"ttl { default: 1.5 }", "default: \"1.5\" is not a duration"},
        {"ttl { default: true }", "\"default\" expects a value such as in conf/mayfly.conf, got a "
                                  "boolean"},
        {"ttl { default: \"\" }", "an empty string; leave the key out instead"},
        {"ttl { default: [] }", "got an array"},
        {"ttl { max: never }", "max: \"never\" is not a duration of 1s to 36500d"},
        {"ttl { max: \"36501d\" }", "max: \"36501d\" is not a duration"},
        {"ttl { warn: soon }", "warn: \"soon\" is not a duration"},
        {"ttl { enforce: maybe }", "enforce: \"maybe\" is none of off, audit, on"},
        {"ttl { never: off }", "got a boolean"},
        {"ttl { never: maybe }", "never: \"maybe\" is none of allow, deny"},
    };
    for (size_t i = 0; i < MF_COUNT(b); i++)
        refused(b[i][0], b[i][1]);
}

/* The language reads 15m as fifteen million. */
static void test_a_duration_without_quotes_that_is_a_size_is_refused(void)
{
    static const char *const b[] = {"ttl { default: 15m }", "ttl { warn: 2M }", "ttl { max: 1k }",
                                    "ttl { patterns { a: 15m } }",
                                    "ttl { namespaces: [ { min: 5m } ] }"};
    for (size_t i = 0; i < MF_COUNT(b); i++)
        refused(b[i], "expects a duration such as \"15m\", \"24h\" or \"30d\", with quotes");
}

static void test_wrong_patterns_are_refused(void)
{
    refused("ttl { patterns: 5 }", "Expected patterns to be a map");
    refused("ttl { patterns { a: soon } }", "a: \"soon\" is not a duration");
    refused("ttl { patterns { \"a b\": 1h } }", "a pattern's name has 1 to 64 of A-Z");
    refused("ttl { patterns { \"a.b\": 1h } }", "\"a.b\"");
    refused("ttl { patterns {\n a: 1h\n b: 2h\n a: 3h } }",
            "t.conf:4:2: pattern \"a\" is defined twice, first on line 2; remove one");
}

static void test_wrong_entries_are_refused(void)
{
    static const char *const b[][2] = {
        {"ttl { namespaces: { stream: x } }", "Expected namespaces to be an array"},
        {"ttl { namespaces: [ 5 ] }", "Expected a namespace to be a map"},
        {"ttl { namespaces: [ { strem: x } ] }", "did you mean \"stream\"?"},
        {"ttl { namespaces: [ { stream: \"a.b\" } ] }", "no stream is called \"a.b\""},
        {"ttl { namespaces: [ { stream: \"\" } ] }", "expects a name of 1 to 255 bytes"},
        {"ttl { namespaces: [ { stream: 5 } ] }", "a string (put quotes around it)"},
        {"ttl { namespaces: [ { account: [] } ] }", "\"account\" expects a string"},
        {"ttl { namespaces: [ { storage: tape } ] }", "\"storage\" expects file or memory"},
        {"ttl { namespaces: [ { rules: [] } ] }", "set its metadata mayfly.ttl.rules"},
        {"ttl { namespaces: [ { default: 0 } ] }", "default: \"0\" is not a duration"},
        {"ttl { namespaces: [ { bounds: hard } ] }", "bounds: \"hard\" is none of clamp, reject"},
        {"ttl { namespaces: [ { scope: all } ] }", "scope: \"all\" is none of message, subject"},
        {"ttl { namespaces: [ { slide: off } ] }", "got a boolean"},
        {"ttl { namespaces: [ { slide: never } ] }", "slide: \"never\" is none of write, read"},
        {"ttl { namespaces: [ { on_expire: \"a.*\" } ] }", "on_expire: \"a.*\" is not a prefix"},
        {"ttl { namespaces: [ {},\n { pattern: foo } ] }",
         "t.conf:2:2: no pattern \"foo\"; known: cache, graph, keyvalue, object, pubsub"},
    };
    for (size_t i = 0; i < MF_COUNT(b); i++)
        refused(b[i][0], b[i][1]);
}

/* Each value is valid by itself; the combination is not. */
static void test_bounds_that_contradict_each_other_are_refused(void)
{
    refused("ttl { default: \"48h\", max: \"24h\" }",
            "t.conf:1:1: default 48h0m0s is above max 24h0m0s");
    refused("ttl { namespaces: [ { min: \"2h\", max: \"1h\" } ] }",
            "min 2h0m0s is above max 1h0m0s");
    refused("ttl { namespaces: [ { default: \"1h\", min: \"2h\" } ] }",
            "default 1h0m0s is below min 2h0m0s");
    refused("ttl { max: \"1h\", namespaces: [ { default: \"2h\" } ] }",
            "default 2h0m0s is above max of the ttl block, 1h0m0s");
    refused("ttl { max: \"1h\", namespaces: [ { min: \"2h\" } ] }",
            "min 2h0m0s is above max of the ttl block, 1h0m0s");
    load("ttl { max: \"1h\", namespaces: [ { stream: a, default: \"2h\", max: \"3h\" },"
         " { stream: b, default: never, min: 60 }, { default: none, min: 60 } ] }");
    TEST_ASSERT_EQUAL(3, o->ttl.nnamespaces);
}

static void test_a_pattern_of_the_block_may_stand_after_the_entry_that_names_it(void)
{
    load("ttl { namespaces: [ { pattern: mine } ], patterns { mine: \"1h\" } }");
    TEST_ASSERT_EQUAL_STRING("mine", o->ttl.namespaces[0].keys.pattern);
}

static char *many(const char *before, const char *each, int n, const char *after)
{
    char *text, *at;
    text = at = malloc(64 + (size_t)n * 32);
    TEST_ASSERT_NOT_NULL(text);
    at += snprintf(at, 32, "%s", before);
    for (int i = 0; i < n; i++)
        at += snprintf(at, 32, each, i);
    snprintf(at, 32, "%s", after);
    return text;
}

static void test_lists_have_256_entries_at_most(void)
{
    char *text = many("ttl { patterns {", " p%d: 60\n", 256, "} }");
    load(text);
    TEST_ASSERT_EQUAL(256, o->ttl.npatterns);
    free(text);
    text = many("ttl { patterns {", " p%d: 60\n", 257, "} }");
    refused(text, "257 patterns, 256 allowed");
    free(text);
    text = many("ttl { namespaces: [", "{stream: s%d}\n", 256, "] }");
    load(text);
    TEST_ASSERT_EQUAL(256, o->ttl.nnamespaces);
    free(text);
    text = many("ttl { namespaces: [", "{stream: s%d}\n", 257, "] }");
    refused(text, "257 namespaces, 256 allowed");
    free(text);
}

/* --- warnings ----------------------------------------------------------------------------------
 */

static void test_an_entry_that_can_never_match_is_named_in_the_log(void)
{
    load("ttl { namespaces: [ { stream: \"*\" },\n { stream: S, default: \"1h\" } ] }");
    TEST_ASSERT_TRUE(warned("t.conf:2:2: ttl: namespace 2 is never used: entry 1 matches its "
                            "streams first"));
    load("ttl { namespaces: [ { stream: S, storage: file }, { stream: S } ] }");
    TEST_ASSERT_EQUAL(0, o->warnings.n);
    load("ttl { namespaces: [ { account: \"$G\" }, { stream: S } ] }");
    TEST_ASSERT_EQUAL(0, o->warnings.n);
    load("ttl { namespaces: [ { account: NOPE } ] }");
    TEST_ASSERT_TRUE(warned("t.conf:1:21: ttl: no account \"NOPE\" here, so namespace 1 matches"));
    load("ttl { namespaces: [ { account: APP } ] }\naccounts { APP {} }");
    TEST_ASSERT_EQUAL(0, o->warnings.n);
}

/* --- reload ------------------------------------------------------------------------------------
 */

#define WHOLE                                                                                      \
    "default: \"30d\", warn: \"1h\", patterns { a: \"1h\" }, namespaces: [ { stream: S, pattern: " \
    "a, min: 5, on_expire: dead } ]"

static void test_a_reload_finds_what_changed_in_the_block(void)
{
    static const char *const other[] = {
        "debug: false",
        "ttl {}",
        "ttl { " WHOLE ", max: \"90d\" }",
        "ttl { " WHOLE ", never: deny }",
        "ttl { " WHOLE ", enforce: audit }",
        "ttl { " WHOLE ", default: \"31d\" }",
        "ttl { " WHOLE ", warn: \"2h\" }",
        "ttl { " WHOLE ", patterns { a: \"2h\" } }",
        "ttl { " WHOLE ", patterns { a: \"1h\", b: \"1h\" } }",
        "ttl { " WHOLE ", namespaces: [] }",
        "ttl { " WHOLE ", namespaces: [ { stream: T, pattern: a, min: 5, on_expire: dead } ] }",
        "ttl { " WHOLE ", namespaces: [ { stream: S, pattern: cache, min: 5, on_expire: dead } ] }",
        "ttl { " WHOLE ", namespaces: [ { stream: S, pattern: a, min: 6, on_expire: dead } ] }",
        "ttl { " WHOLE ", namespaces: [ { stream: S, pattern: a, min: 5, on_expire: died } ] }",
        "ttl { " WHOLE ", namespaces: [ { stream: S, pattern: a, min: 5 } ] }",
        "ttl { " WHOLE ", namespaces: [ { stream: S, storage: file, pattern: a, min: 5, on_expire: "
        "dead } ] }",
    };
    static const char *const keys[] = {"account: A",    "default: 60",  "max: 60",
                                       "bounds: clamp", "never: deny",  "scope: message",
                                       "slide: write",  "warn: \"2h\"", "enforce: off"};
    load("ttl { " WHOLE " }");
    struct options *same = parse("ttl { " WHOLE " } # written again");
    TEST_ASSERT_TRUE(options_same_ttl(o, same));
    options_free(same);
    for (size_t i = 0; i < MF_COUNT(other); i++) {
        struct options *now = parse(other[i]);
        TEST_ASSERT_FALSE_MESSAGE(options_same_ttl(o, now), other[i]);
        TEST_ASSERT_NULL_MESSAGE(options_reload_refusal(o, now), other[i]);
        options_free(now);
    }
    load("ttl { namespaces: [ { stream: S } ] }");
    for (size_t i = 0; i < MF_COUNT(keys); i++) {
        char text[128];
        snprintf(text, sizeof text, "ttl { namespaces: [ { stream: S, %s } ] }", keys[i]);
        struct options *now = parse(text);
        TEST_ASSERT_FALSE_MESSAGE(options_same_ttl(o, now), text);
        options_free(now);
    }
}

/* --- files -------------------------------------------------------------------------------------
 */

static char dir[] = "/tmp/mayfly-options-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "we");
    TEST_ASSERT_NOT_NULL(f);
    fputs(text, f);
    fclose(f);
}

static int load_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    char program[] = "mayflyd", check[] = "-t", conf[] = "-c";
    char *argv[] = {program, check, conf, path, NULL};
    options_free(o);
    o = NULL;
    e = (struct mf_error){0, ""};
    return options_load(&o, 4, argv, &e);
}

/* The appendix of the requirement, through the real include. */
static void test_R000_88_the_suggested_lifetimes_are_patterns_of_the_shipped_include(void)
{
    static const struct {
        const char *name;
        int64_t s;
    } want[] = {
        {"http_session", 86400},
        {"api_cache", 900},
        {"user_preferences", -1},
        {"upload_token", 3600},
        {"observability_metrics", 7776000},
        {"application_logs", 2592000},
        {"feature_vectors", 7776000},
        {"profile_cache", 3600},
        {"rate_counters", 60},
        {"uploaded_files", 7776000},
        {"build_artifacts", 2592000},
    };
    write_file("a.conf", "ttl { patterns { include \"" SHIPPED_PATTERNS "\" } }");
    TEST_ASSERT_EQUAL_MESSAGE(0, load_file("a.conf"), e.text);
    TEST_ASSERT_EQUAL(MF_COUNT(want), o->ttl.npatterns);
    for (size_t i = 0; i < MF_COUNT(want); i++) {
        int64_t ttl = 0;
        TEST_ASSERT_TRUE_MESSAGE(policy_pattern_find(&o->ttl, want[i].name, &ttl), want[i].name);
        TEST_ASSERT_EQUAL_INT64_MESSAGE(want[i].s < 0 ? TTL_NEVER : want[i].s * CLOCK_S, ttl,
                                        want[i].name);
    }
}

static void test_a_file_may_redefine_a_pattern_that_it_includes(void)
{
    int64_t ttl = 0;
    write_file("b.conf", "ttl { patterns {\n include \"" SHIPPED_PATTERNS
                         "\"\n http_session: \"12h\"\n mine: \"1h\"\n} }");
    TEST_ASSERT_EQUAL_MESSAGE(0, load_file("b.conf"), e.text);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "http_session", &ttl));
    TEST_ASSERT_EQUAL_INT64(12 * 3600 * CLOCK_S, ttl);
    TEST_ASSERT_TRUE(policy_pattern_find(&o->ttl, "mine", &ttl));
}

static void test_mistakes_in_an_included_file_name_that_file(void)
{
    char want[128];
    write_file("bad.conf", "one: \"1h\"\n two: soon\n");
    write_file("c.conf", "ttl { patterns { include \"bad.conf\" } }");
    TEST_ASSERT_EQUAL(MF_INVAL, load_file("c.conf"));
    snprintf(want, sizeof want, "%s/bad.conf:2:2: two: \"soon\" is not a duration", dir);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, want), e.text);
}

static void remove_files(void)
{
    static const char *const names[] = {"a.conf", "b.conf", "c.conf", "bad.conf"};
    char path[128];
    for (size_t i = 0; i < MF_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_without_a_block_nothing_is_set);
    RUN_TEST(test_values_of_the_block_are_read);
    RUN_TEST(test_on_and_off_are_words_of_enforce);
    RUN_TEST(test_zero_is_no_default_and_no_warning);
    RUN_TEST(test_patterns_are_durations_never_or_none);
    RUN_TEST(test_every_key_of_an_entry_is_read);
    RUN_TEST(test_an_empty_entry_matches_everything);
    RUN_TEST(test_wrong_values_are_refused_where_they_stand);
    RUN_TEST(test_a_duration_without_quotes_that_is_a_size_is_refused);
    RUN_TEST(test_wrong_patterns_are_refused);
    RUN_TEST(test_wrong_entries_are_refused);
    RUN_TEST(test_bounds_that_contradict_each_other_are_refused);
    RUN_TEST(test_a_pattern_of_the_block_may_stand_after_the_entry_that_names_it);
    RUN_TEST(test_lists_have_256_entries_at_most);
    RUN_TEST(test_an_entry_that_can_never_match_is_named_in_the_log);
    RUN_TEST(test_a_reload_finds_what_changed_in_the_block);
    if (mkdtemp(dir) == NULL)
        return 1;
    RUN_TEST(test_R000_88_the_suggested_lifetimes_are_patterns_of_the_shipped_include);
    RUN_TEST(test_a_file_may_redefine_a_pattern_that_it_includes);
    RUN_TEST(test_mistakes_in_an_included_file_name_that_file);
    remove_files();
    return UNITY_END();
}
