/* test_policy_expr.c: TTL expressions and the values they read. */
#include "support/policy_world.h"

void setUp(void)
{
    world_reset();
}

void tearDown(void)
{
    world_fini();
}

static void test_durations_and_factors(void)
{
    static const struct {
        const char *text;
        int64_t ttl;
    } rows[] = {{"never", TTL_NEVER},
                {"90d", 90 * DAY},
                {"1h30m", 90 * 60 * S},
                {"1.5s", 1500 * CLOCK_MS},
                {"1.0001s", 1001 * CLOCK_MS},
                {"3600", H},
                {"2 * 1.5s", 3 * S},
                {"2*1h", 2 * H},
                {"1.1 * 1s", 2 * S}, /* up to whole seconds */
                {"1.9 * 10s", 19 * S},
                {"0.001 * 1s", S},
                {"1000 * 36500d", POLICY_TTL_MAX_NS},
                {"0.5 * 36500d", POLICY_TTL_MAX_NS / 2},
                {"1.000000 * 36500d", POLICY_TTL_MAX_NS}};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        world_use_ttl(rows[i].text);
        world_rule_gives(rows[i].ttl, "rule:1", "s.a", NULL, NULL);
    }
    world_use_ttl("none");
    world_rule_gives(TTL_NONE, "rule:1", "s.a", NULL, NULL);
    TEST_ASSERT_FALSE(policy_view(world.p)->governed);
}

static void test_what_is_no_expression(void)
{
    static const char *const bad[] = {
        "",
        "7 x fill",
        "7 x fill(json(/l))",
        "0 * 1h",
        "1001 * 1h",
        "0.0009 * 1h",
        "1.0000001 * 1h",
        "-1 * 1h",
        "* 1h",
        "2 *",
        "2 * never",
        "2 * none",
        "0.5s",
        "36501d",
        "Never",
        "1 h",
        "header()",
        "header(a b)",
        "header(a",
        "json(limits)",
        "json(/a~b)",
        "fill(1h)",
        "fill(json(/a)",
        "until()",
        ". * 1h",
        "1. * 1h",
        "2 * 3 * 1h",
        "fill(fill(json(/a)))",
        "1e3 * 1h",
        "json(/12345678901234567890123456789012345678901234567890123456789012345)",
        "fill",
        "header(a) * 2",
        " 1h",
        "99999999999999999999 * 1h"};
    char rules[256], want[256];

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        char shown[80];

        snprintf(shown, sizeof shown, strlen(bad[i]) > 64 ? "%.64s..." : "%s", bad[i]);
        snprintf(rules, sizeof rules, "[{\"ttl\":\"%s\"}]", bad[i]);
        snprintf(want, sizeof want, "mayfly.ttl.rules[0].ttl: \"%s\" is no TTL expression", shown);
        world_set("rules", rules);
        world_refused(want);
    }
}

static void test_a_source_alone_is_a_duration_or_seconds(void)
{
    world_header_gives(90 * S, "header(X)", "X: 90\r\n");
    world_header_gives(90 * 60 * S, "header(X)", "X: 1h30m\r\n");
    world_header_gives(30 * DAY, "header(X)", "X: 30d\r\n");
    world_header_gives(90500 * CLOCK_MS, "header(X)", "X: 90.5\r\n");
    world_header_gives(91 * S, "1 * header(X)", "X: 91\r\n");
    world_header_gives(S, "header(X)", "X: 0.25\r\n");
    world_header_gives(POLICY_TTL_MAX_NS, "header(X)", "X: 99999999999999999999999999\r\n");
    world_header_gives(POLICY_TTL_MAX_NS, "header(X)", "X: 40000d\r\n");
    world_json_gives(90 * S, "json(/a/b)", "{\"z\":[1,{\"b\":2}],\"a\":{\"b\":90}}");
    world_json_gives(90 * S, "json(/a)", "{\"a\" : \"90\"}");
    world_json_gives(24 * H, "json(/a)", "{\"a\":\"24h\"}");
    world_json_gives(90 * S, "json(/a/1)", "{\"a\":[5, 90 ]}");
    world_json_gives(90 * S, "json(/1)", "[5,90]");
    world_no_value("header(X)", NULL, NULL);
    world_no_value("header(X)", "X: \r\n", NULL);
    world_no_value("header(X)", "X: 0\r\n", NULL);
    world_no_value("header(X)", "X: -5\r\n", NULL);
    world_no_value("header(X)", "X: never\r\n", NULL);
    world_no_value("header(X)", "x: 90\r\n", NULL);
    world_no_value("header(X)", "X: 1h2\r\n", NULL);
    world_no_value("json(/a)", NULL, "{\"b\":90}");
    world_no_value("json(/a)", NULL, "{\"a\":null}");
    world_no_value("json(/a)", NULL, "{\"a\":[90]}");
    world_no_value("json(/a)", NULL, "{\"a\":\"9\\u0030\"}");
    world_no_value("json(/a)", NULL, "\"a\"");
    world_no_value("json(/a)", NULL, NULL);
}

static void test_fill_skips_limits_that_are_none(void)
{
    world_json_gives(
        42000 * S, "fill(json(/l))",
        "{\"l\":[1,{},\"x\",{\"capacity\":9},{\"capacity\":\"9\",\"refill_amount\":1,"
        "\"refill_period_seconds\":1}," LIMIT(1e9, 0, 1) "," LIMIT(1e9, -1, 1) "," LIMIT(
            1e999, 1, 1) ",{\"x\":{\"y\":[1]},\"capacity\":1000,\"refill_amount\":10,"
                         "\"refill_period_seconds\":60.0}]}");
    world_json_gives(42000 * S, "fill(json())", LIMIT(1000, 10, 60));
    world_json_gives(42000 * S, "fill(json())", "[" LIMIT(1000, 10, 60) "]");
    world_header_gives(42000 * S, "fill(header(L))",
                       "L: 1/1,x/1/1,1/0/1, 1000 / 10 / 60 ,1/1/1/1\r\n");
    world_no_value("fill(json(/l))", NULL, "{\"l\":[]}");
    world_no_value("fill(json(/l))", NULL, "{\"l\":5}");
    world_no_value("fill(json(/l))", NULL, "{\"l\":{}}");
    world_no_value("fill(json(/l))", NULL, "{\"l\":[{\"capacity\":1]}");
    world_no_value("fill(header(L))", "L: \r\n", NULL);
    world_no_value("fill(header(L))", "L: 0x10/1/1\r\n", NULL);
    world_no_value("fill(header(L))", "L: inf/1/1\r\n", NULL);
    world_no_value("fill(header(L))", NULL, NULL);
}

/* Whole numbers below 2^53 are exact: no rounding may add or take a second. */
static void test_fill_is_exact_for_whole_numbers(void)
{
    world_json_gives(S, "49 * fill(json())", LIMIT(1, 49, 1));
    world_json_gives(3 * S, "1 * fill(json())", LIMIT(9007199254740990, 3002399751580330, 1));
    world_json_gives(4 * S, "1 * fill(json())", LIMIT(9007199254740991, 3002399751580330, 1));
    world_json_gives(333 * S, "0.333 * fill(json())", LIMIT(1000, 1, 1));
    world_json_gives(S, "fill(json())", LIMIT(1, 1000000, 1));
    world_json_gives(POLICY_TTL_MAX_NS, "1000 * fill(json())",
                     LIMIT(9007199254740991, 1, 9007199254740991));
    world_json_gives(POLICY_TTL_MAX_NS, "fill(json())", LIMIT(1e300, 1e-300, 1e300));
    world_json_gives(S, "fill(json())", LIMIT(1e-300, 1e300, 1e-300));
}

static void test_until_is_an_absolute_end(void)
{
    world_json_gives(100 * S, "until(json(/e))", "{\"e\":1790000100}");
    world_json_gives(109 * S, "until(json(/e))", "{\"e\":\"1790000109\"}");
    world_json_gives(101 * S, "until(json(/e))", "{\"e\":1790000100.25}");
    world_json_gives(S, "until(json(/e))", "{\"e\":1790000000}");
    world_json_gives(S, "until(json(/e))", "{\"e\":5}");
    world_json_gives(S, "until(json(/e))", "{\"e\":\"0001-01-01T00:00:00Z\"}");
    world_json_gives(POLICY_TTL_MAX_NS, "until(json(/e))",
                     "{\"e\":1790000100000}"); /* milliseconds */
    world_json_gives(POLICY_TTL_MAX_NS, "until(json(/e))", "{\"e\":\"9999-01-01T00:00:00Z\"}");
    world_header_gives(100 * S, "until(header(Expires-At))",
                       "Expires-At: 2026-09-21T16:15:00.000+02:00\r\n");
    world_no_value("until(json(/e))", NULL, "{\"e\":\"tomorrow\"}");
    world_no_value("until(json(/e))", NULL, "{\"e\":\"24h\"}");
    world_no_value("until(json(/e))", NULL, "{\"e\":-5}");
    world_no_value("until(json(/e))", NULL, "{\"e\":\"2026-13-01T00:00:00Z\"}");
    world_no_value("until(json(/e))", NULL, "{\"e\":\"\"}");
}

/* A header of more than 4 KB is not read for limits. */
static void test_long_headers_are_no_limits(void)
{
    static char big[5000];
    size_t n = (size_t)snprintf(big, sizeof big, "NATS/1.0\r\nL: 1000/10/60,");
    struct policy_message m = {.subject = MF_LIT("s.a"), .ts_ns = T0};

    world_use_ttl("fill(header(L))");
    for (unsigned extra = 0; extra < 2; extra++) {
        memset(big + n, ',', 4096 - 11 + extra); /* the value is 4096 bytes, then one more */
        snprintf(big + n + 4096 - 11 + extra, 8, "\r\n\r\n");
        m.hdr = mf_str(big);
        policy_resolve(world.p, &m, &world.d);
        TEST_ASSERT_EQUAL_INT64(extra == 0 ? 42000 * S : TTL_NONE, world.d.ttl);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_durations_and_factors);
    RUN_TEST(test_what_is_no_expression);
    RUN_TEST(test_a_source_alone_is_a_duration_or_seconds);
    RUN_TEST(test_fill_skips_limits_that_are_none);
    RUN_TEST(test_fill_is_exact_for_whole_numbers);
    RUN_TEST(test_until_is_an_absolute_end);
    RUN_TEST(test_long_headers_are_no_limits);
    return UNITY_END();
}
