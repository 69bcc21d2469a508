/* test_server_check.c: how two pages become a report. */
#include "cli/server_check.h"

#include "unity.h"

#define VARZ                                                                                       \
    "{\"server_id\":\"NABC\",\"server_name\":\"heron\",\"version\":\"2.15.1\",\"uptime\":\"5s\","  \
    "\"connections\":3,\"max_connections\":65536,\"total_connections\":9,\"in_msgs\":7,"           \
    "\"in_bytes\":1536,\"out_msgs\":8,\"out_bytes\":5,\"slow_consumers\":0,\"mem\":5242880,"       \
    "\"cpu\":1.5,\"cores\":2}"

static struct mf_buf out;

void setUp(void)
{
}
void tearDown(void)
{
    mf_buf_fini(&out);
}

static void assert_shows(const char *text)
{
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(mf_buf_cstr(&out), text), mf_buf_cstr(&out));
}

static void test_healthy_server_makes_a_table(void)
{
    struct server_report r;

    TEST_ASSERT_EQUAL_INT(
        0, server_report_make(&r, 200, MF_LIT("{\"status\":\"ok\"}"), MF_LIT(VARZ), NULL));
    TEST_ASSERT_TRUE(r.healthy);
    server_report_table(&out, &r, "http://x");
    assert_shows("server          heron\n");
    assert_shows("health          ok\n");
    assert_shows("connections     3 of 65536, 9 since the start\n");
    assert_shows("in              7 messages, 1.5 KB\n");
    assert_shows("out             8 messages, 5 B\n");
    assert_shows("memory          5.0 MB\n");
}

static void test_unhealthy_server_says_why(void)
{
    struct server_report r;

    TEST_ASSERT_EQUAL_INT(
        0, server_report_make(&r, 503, MF_LIT("{\"status\":\"unavailable\",\"error\":\"disk\"}"),
                              MF_LIT(VARZ), NULL));
    TEST_ASSERT_FALSE(r.healthy);
    server_report_table(&out, &r, "http://x");
    assert_shows("health          unavailable: disk\n");
}

/* A proxy may answer 200 for a page that says otherwise, and the other way round. */
static void test_health_needs_status_and_text(void)
{
    struct server_report r;

    TEST_ASSERT_EQUAL_INT(
        0, server_report_make(&r, 200, MF_LIT("{\"status\":\"error\"}"), MF_LIT(VARZ), NULL));
    TEST_ASSERT_FALSE(r.healthy);
    TEST_ASSERT_EQUAL_INT(
        0, server_report_make(&r, 500, MF_LIT("{\"status\":\"ok\"}"), MF_LIT(VARZ), NULL));
    TEST_ASSERT_FALSE(r.healthy);
}

static void test_json_keeps_both_pages(void)
{
    struct server_report r;

    TEST_ASSERT_EQUAL_INT(
        0, server_report_make(&r, 200, MF_LIT("{\"status\":\"ok\"}"), MF_LIT(VARZ), NULL));
    server_report_json(&out, &r, "http://x");
    assert_shows("{\"url\":\"http://x\",\"healthy\":true,\"healthz\":{\"status\":\"ok\"},"
                 "\"varz\":{\"server_id\":\"NABC\"");
}

static void test_pages_that_are_something_else_are_refused(void)
{
    static const char *const bad[] = {"", "nonsense", "[]", "{}", "{\"status\":5}", "<html>"};
    struct server_report r;

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        TEST_ASSERT_EQUAL_INT(MF_PROTO,
                              server_report_make(&r, 200, mf_str(bad[i]), MF_LIT(VARZ), NULL));
        TEST_ASSERT_EQUAL_INT(MF_PROTO, server_report_make(&r, 200, MF_LIT("{\"status\":\"ok\"}"),
                                                           mf_str(bad[i]), NULL));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_healthy_server_makes_a_table);
    RUN_TEST(test_unhealthy_server_says_why);
    RUN_TEST(test_health_needs_status_and_text);
    RUN_TEST(test_json_keeps_both_pages);
    RUN_TEST(test_pages_that_are_something_else_are_refused);
    return UNITY_END();
}
