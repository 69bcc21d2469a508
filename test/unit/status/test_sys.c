/* test_sys.c: options of $SYS requests: what Go's decoder would take, and which server is meant. */
#include "status/sys_impl.h"

#include "server/server_impl.h"

#include "unity.h"

static json_t *options;
static struct mf_error err;

void setUp(void)
{
    options = NULL;
}
void tearDown(void)
{
    json_decref(options);
}

static int parse(const char *text)
{
    json_decref(options);
    return sys_options_parse(mf_str(text), &options, &err);
}

/* --- the body --------------------------------------------------------------------------------- */

static void test_empty_body_and_null_mean_no_options(void)
{
    TEST_ASSERT_EQUAL_INT(0, parse(""));
    TEST_ASSERT_NULL(options);
    TEST_ASSERT_EQUAL_INT(0, parse(" null "));
    TEST_ASSERT_NULL(options);
    TEST_ASSERT_EQUAL_INT(0, parse(" {} "));
    TEST_ASSERT_NOT_NULL(options);
}

static void test_body_that_is_no_object_is_refused(void)
{
    static const char *const bad[] = {"{",   "[]",      "1",        "\"x\"",     "{bad", "{} x",
                                      "{,}", "{'a':1}", "{\"a\":}", "{\"a\" 1}", "tru",  "\xff"};

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(MF_PROTO, parse(bad[i]), bad[i]);
        TEST_ASSERT_NULL(options);
    }
}

/* --- single fields ---------------------------------------------------------------------------- */

static void test_names_match_in_any_case_but_the_exact_one_first(void)
{
    int64_t n = 0;

    parse("{\"LiMiT\":7}");
    TEST_ASSERT_EQUAL_INT(0, sys_option_i64(options, "limit", &n, &err));
    TEST_ASSERT_EQUAL_INT64(7, n);
    parse("{\"LIMIT\":1,\"limit\":2,\"Limit\":3}");
    TEST_ASSERT_EQUAL_INT(0, sys_option_i64(options, "limit", &n, &err));
    TEST_ASSERT_EQUAL_INT64(2, n);
}

static void test_absent_and_null_leave_the_value_alone(void)
{
    bool b = true;
    int64_t i = 5;
    uint64_t u = 6;
    const char *s = "kept";

    for (int round = 0; round < 2; round++) {
        parse(round == 0 ? "{\"other\":1}" : "{\"k\":null}");
        TEST_ASSERT_EQUAL_INT(0, sys_option_bool(options, "k", &b, &err));
        TEST_ASSERT_EQUAL_INT(0, sys_option_i64(options, "k", &i, &err));
        TEST_ASSERT_EQUAL_INT(0, sys_option_u64(options, "k", &u, &err));
        TEST_ASSERT_EQUAL_INT(0, sys_option_str(options, "k", &s, &err));
    }
    TEST_ASSERT_EQUAL_INT(0, sys_option_str(NULL, "k", &s, &err));
    TEST_ASSERT_TRUE(b);
    TEST_ASSERT_EQUAL_INT64(5, i);
    TEST_ASSERT_EQUAL_UINT64(6, u);
    TEST_ASSERT_EQUAL_STRING("kept", s);
}

static void test_value_of_another_type_is_refused_and_named(void)
{
    bool b = false;
    int64_t i = 0;
    uint64_t u = 0;
    const char *s = NULL;

    parse("{\"a\":1,\"b\":\"x\",\"c\":1.5,\"d\":-1,\"e\":true}");
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_option_bool(options, "a", &b, &err));
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_option_i64(options, "b", &i, &err));
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_option_i64(options, "c", &i, &err));
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_option_u64(options, "d", &u, &err));
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_option_str(options, "e", &s, &err));
    TEST_ASSERT_EQUAL_STRING("invalid JSON: e must be a string", err.text);
}

/* --- which server is meant -------------------------------------------------------------------- */

static bool excluded(const char *body)
{
    struct options *o = NULL;
    struct server srv = {.name = (char *)"owl"};
    struct status s = {.server = &srv};
    bool no = false;

    TEST_ASSERT_EQUAL_INT(0, options_parse(&o,
                                           MF_LIT("listen: \"127.0.0.1:1\"\n"
                                                  "server_tags: [\"az:1\", \"x\"]\n"
                                                  "cluster { name: CC, listen: \"127.0.0.1:-1\" }"),
                                           "test", &err));
    srv.opts = o;
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, parse(body), body);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, sys_options_filter(&s, options, &no, &err), body);
    options_free(o);
    return no;
}

static void test_filters_that_fit_do_not_exclude(void)
{
    static const char *const fit[] = {
        "",
        "{}",
        "{\"server_name\":\"\"}",
        "{\"server_name\":\"ow\"}",
        "{\"server_name\":\"owl\",\"exact_match\":true}",
        "{\"host\":\"0.0\",\"cluster\":\"C\"}",
        "{\"cluster\":\"CC\",\"host\":\"127.0.0.1\",\"exact_match\":true}",
        "{\"tags\":[]}",
        "{\"tags\":[\"AZ:1\",\"x\"]}",
    };

    for (size_t i = 0; i < MF_COUNT(fit); i++)
        TEST_ASSERT_FALSE_MESSAGE(excluded(fit[i]), fit[i]);
}

static void test_any_filter_that_does_not_fit_excludes(void)
{
    static const char *const other[] = {
        "{\"server_name\":\"eagle\"}", "{\"server_name\":\"ow\",\"exact_match\":true}",
        "{\"host\":\"10.\"}",          "{\"host\":\"127\",\"exact_match\":true}",
        "{\"cluster\":\"D\"}",         "{\"tags\":[\"az:1\",\"az:2\"]}",
        "{\"domain\":\"d\"}",          "{\"server_name\":\"owl\",\"cluster\":\"D\"}",
    };

    for (size_t i = 0; i < MF_COUNT(other); i++)
        TEST_ASSERT_TRUE_MESSAGE(excluded(other[i]), other[i]);
}

/* --- options of pages ------------------------------------------------------------------------- */

static void test_connz_options_are_read_into_the_query(void)
{
    struct connz_query q = {0};

    parse("{\"sort\":\"subs\",\"auth\":true,\"subscriptions\":true,\"subscriptions_detail\":true,"
          "\"offset\":3,\"limit\":4,\"cid\":5,\"state\":2,\"user\":\"u\",\"acc\":\"A\","
          "\"filter_subject\":\"f\",\"mqtt_client\":\"m\"}");
    TEST_ASSERT_EQUAL_INT(0, sys_options_connz(options, &q, &err));
    TEST_ASSERT_EQUAL_STRING("subs", q.sort);
    TEST_ASSERT_TRUE(q.auth && q.subs && q.subs_detail);
    TEST_ASSERT_EQUAL_INT64(3, q.offset);
    TEST_ASSERT_EQUAL_INT64(4, q.limit);
    TEST_ASSERT_EQUAL_UINT64(5, q.cid);
    TEST_ASSERT_EQUAL_INT(CONNZ_ALL, q.state);
    TEST_ASSERT_EQUAL_STRING("u", q.user);
    TEST_ASSERT_EQUAL_STRING("A", q.account);
    TEST_ASSERT_EQUAL_STRING("f", q.filter_subject);
    TEST_ASSERT_EQUAL_STRING("m", q.mqtt_client);
    parse("{\"state\":1}");
    TEST_ASSERT_EQUAL_INT(0, sys_options_connz(options, &q, &err));
    TEST_ASSERT_EQUAL_INT(CONNZ_CLOSED, q.state);
    parse("{\"state\":\"closed\"}"); /* a number on the wire, whatever HTTP says */
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_options_connz(options, &q, &err));
}

static void test_statz_names_are_bounded(void)
{
    const char *names[2];
    bool unused = false;
    size_t n = 9;

    parse("{\"accounts\":[\"A\",\"B\",\"C\"],\"include_unused\":true}");
    TEST_ASSERT_EQUAL_INT(0, sys_options_accstatz(options, names, 2, &n, &unused, &err));
    TEST_ASSERT_EQUAL_size_t(2, n);
    TEST_ASSERT_EQUAL_STRING("B", names[1]);
    TEST_ASSERT_TRUE(unused);
    parse("{\"accounts\":[\"A\",1]}");
    TEST_ASSERT_EQUAL_INT(MF_PROTO, sys_options_accstatz(options, names, 2, &n, &unused, &err));
    TEST_ASSERT_EQUAL_INT(0, sys_options_accstatz(NULL, names, 2, &n, &unused, &err));
    TEST_ASSERT_EQUAL_size_t(0, n);
}

static void test_other_pages_read_their_options(void)
{
    struct subsz_query s = {0};
    struct healthz_query h = {0};

    parse("{\"subscriptions\":true,\"account\":\"A\",\"test\":\"t\",\"offset\":1,\"limit\":2}");
    TEST_ASSERT_EQUAL_INT(0, sys_options_subsz(options, &s, &err));
    TEST_ASSERT_TRUE(s.subs && s.offset == 1 && s.limit == 2);
    TEST_ASSERT_EQUAL_STRING("A", s.account);
    TEST_ASSERT_EQUAL_STRING("t", s.test);
    parse(
        "{\"js-enabled-only\":true,\"js-server-only\":true,\"js-meta-only\":true,\"details\":true,"
        "\"account\":\"A\",\"stream\":\"S\",\"consumer\":\"C\"}");
    TEST_ASSERT_EQUAL_INT(0, sys_options_healthz(options, &h, &err));
    TEST_ASSERT_TRUE(h.js_enabled_only && h.js_server_only && h.js_meta_only && h.details);
    TEST_ASSERT_EQUAL_STRING("C", h.consumer);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_body_and_null_mean_no_options);
    RUN_TEST(test_body_that_is_no_object_is_refused);
    RUN_TEST(test_names_match_in_any_case_but_the_exact_one_first);
    RUN_TEST(test_absent_and_null_leave_the_value_alone);
    RUN_TEST(test_value_of_another_type_is_refused_and_named);
    RUN_TEST(test_filters_that_fit_do_not_exclude);
    RUN_TEST(test_any_filter_that_does_not_fit_excludes);
    RUN_TEST(test_connz_options_are_read_into_the_query);
    RUN_TEST(test_statz_names_are_bounded);
    RUN_TEST(test_other_pages_read_their_options);
    return UNITY_END();
}
