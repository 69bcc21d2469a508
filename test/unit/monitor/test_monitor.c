/* test_monitor.c: the HTTP server over real sockets, asked by raw clients. */
#include "monitor/monitor.h"

#include "base/clock.h"
#include "support/pages.h"
#include "unity.h"

#include <stdio.h>
#include <time.h>

void setUp(void)
{
}

void tearDown(void)
{
    pages_stop();
}

/* --- answers ---------------------------------------------------------------------------------- */
static void test_json_page_has_nats_servers_headers(void)
{
    char *date;

    pages_start((struct monitor_options){.base_path = ""});
    get("/varz", "");
    assert_body("{\"hello\":\"varz\"}");
    date = strstr(head, "Date: ");
    TEST_ASSERT_NOT_NULL(date);
    memset(date + 6, '_', 25);
    TEST_ASSERT_EQUAL_STRING("HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n"
                             "Content-Type: application/json\r\n"
                             "Date: _________________________ GMT\r\nContent-Length: 16\r\n\r\n",
                             head);
    get("/down", "");
    assert_in_head("HTTP/1.1 503 Service Unavailable\r\n");
    assert_body("{\"status\":\"unavailable\"}");
}

static void test_head_request_has_no_body(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "HEAD /varz HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, true));
    assert_in_head("Content-Length: 16\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_body("{\"hello\":\"root\"}");
    tcp_close(&c);
}

static void test_unknown_path_is_404(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    get("/nope", "");
    assert_in_head("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n");
    assert_in_head("X-Content-Type-Options: nosniff\r\n");
    assert_not_in_head("Access-Control");
    assert_body("404 page not found\n");
    get("/varz/", "");
    assert_in_head("HTTP/1.1 404 ");
    get("/varz%00", "");
    assert_in_head("HTTP/1.1 404 ");
    get("*", "");
    assert_in_head("HTTP/1.1 404 ");
    get("//var%7A", ""); /* decoded, and doubled slashes are one */
    assert_in_head("HTTP/1.1 200 ");
}

static void test_other_methods_are_405_and_their_body_is_skipped(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_puts(&c,
             "POST /varz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcdeGET / HTTP/1.1\r\n"
             "Host: x\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_in_head("HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\n");
    assert_body("Method Not Allowed\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_body("{\"hello\":\"root\"}");
    /* A body that never seems to end, or whose end we would have to search, ends the connection. */
    tcp_puts(&c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_in_head("Connection: close\r\n");
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
}

static void test_bad_requests_are_answered_and_closed(void)
{
    static const struct {
        const char *request, *answer;
    } rows[] = {
        {"hello\r\n\r\n", "400 Bad Request"},
        {"GET / HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"},
        {"GET / HTTP/2.0\r\n\r\n", "505 HTTP Version Not Supported: unsupported protocol version"},
        {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request"},
    };
    static char big[9000] = "GET / HTTP/1.1\r\nX: ";
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        tcp_dial(&c, pages_port());
        tcp_puts(&c, rows[i].request);
        TEST_ASSERT_TRUE(take_answer(&c, false));
        assert_in_head("Connection: close\r\n");
        assert_body(rows[i].answer);
        tcp_close(&c);
    }
    memset(big + strlen(big), 'x', sizeof big - strlen(big) - 1);
    tcp_dial(&c, pages_port());
    tcp_puts(&c, big);
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_body("431 Request Header Fields Too Large");
    tcp_close(&c);
}

static void test_base_path_is_required_and_shown(void)
{
    pages_start((struct monitor_options){.base_path = "/nats"});
    get("/nats/show?a=1", "");
    assert_body("/show|/nats|1|(none)|(none)");
    get("/nats", "");
    assert_body("{\"hello\":\"root\"}");
    get("/nats/", "");
    assert_body("{\"hello\":\"root\"}");
    get("/show", "");
    assert_in_head("HTTP/1.1 404 ");
    get("/natsshow", "");
    assert_in_head("HTTP/1.1 404 ");
}

/* --- connections ------------------------------------------------------------------------------ */
static void test_connection_stays_open_as_the_version_says(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    for (int i = 0; i < 3; i++) {
        tcp_puts(&c, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n");
        TEST_ASSERT_TRUE(take_answer(&c, false));
        assert_not_in_head("Connection:");
    }
    tcp_puts(&c, "GET /varz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_in_head("Connection: close\r\n");
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "GET /varz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_in_head("HTTP/1.0 200 OK\r\n");
    assert_in_head("Connection: keep-alive\r\n");
    tcp_puts(&c, "GET /varz HTTP/1.0\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
}

static void test_request_byte_by_byte_is_answered(void)
{
    struct tcp_client c;
    const char *request = "GET /show?a=b HTTP/1.1\r\nHost: x\r\n\r\n";

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_drip(&c, request, strlen(request));
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_body("/show||b|(none)|(none)");
    tcp_close(&c);
}

/* Many requests at once are answered in order; the last shows nothing was dropped. */
static void test_pipelined_requests_are_answered_in_order(void)
{
    struct mf_buf all = MF_BUF_INIT;
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    for (int i = 0; i < 500; i++)
        mf_buf_printf(&all, "GET /show?a=%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    tcp_dial(&c, pages_port());
    tcp_send(&c, all.ptr, all.len);
    for (int i = 0; i < 500; i++) {
        char want[64];
        TEST_ASSERT_TRUE(take_answer(&c, false));
        snprintf(want, sizeof want, "/show||%d|(none)|(none)", i);
        assert_body(want);
    }
    tcp_close(&c);
    mf_buf_fini(&all);
}

static void test_slow_request_and_idle_connection_are_closed(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){
        .base_path = "", .head_timeout_ns = 60 * CLOCK_MS, .idle_timeout_ns = 60 * CLOCK_MS});
    tcp_dial(&c, pages_port()); /* says nothing */
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
    tcp_dial(&c, pages_port()); /* stops in the middle */
    tcp_puts(&c, "GET /varz HTTP/1.1\r\nHost:");
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
    tcp_dial(&c, pages_port()); /* stays after an answer */
    tcp_puts(&c, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
}

/* Dripping must not push the deadline ahead. */
static void test_dripping_request_is_closed_too(void)
{
    struct tcp_client c;
    int sent = 0;

    pages_start((struct monitor_options){.base_path = "", .head_timeout_ns = 60 * CLOCK_MS});
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "GET / HTTP/1.1\r\nX: ");
    while (sent < 5000 && tcp_send(&c, "x", 1)) { /* fewer than a head may have */
        struct timespec pause = {.tv_nsec = (sent < 1000 ? 2 : 20) * CLOCK_MS};
        nanosleep(&pause, NULL); /* the drip itself, not a wait for something */
        sent++;
    }
    TEST_ASSERT_LESS_THAN(5000, sent);
    tcp_close(&c);
}

static void test_full_server_evicts_idle_connections_or_says_503(void)
{
    struct tcp_client idle, busy, third;

    pages_start((struct monitor_options){.base_path = "", .max_conns = 2});
    tcp_dial(&idle, pages_port());
    tcp_puts(&idle, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&idle, false));
    tcp_dial(&busy, pages_port());
    tcp_puts(&busy, "GET /varz HTTP/1.1\r\n"); /* in the middle of a request */
    get("/varz", "");                          /* the third: takes the idle one's place */
    TEST_ASSERT_TRUE(tcp_until_end(&idle));
    tcp_dial(&third, pages_port());
    tcp_puts(&third, "GET /varz HTTP/1.1\r\n");
    get("/varz", "");
    assert_in_head("HTTP/1.1 503 Service Unavailable\r\n");
    tcp_puts(&busy, "Host: x\r\n\r\n");
    TEST_ASSERT_TRUE(take_answer(&busy, false));
    assert_in_head("HTTP/1.1 200 OK\r\n");
    tcp_close(&idle);
    tcp_close(&busy);
    tcp_close(&third);
}

static void test_requests_are_counted_by_page(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    get("/varz", "");
    get("/varz?x=1", "");
    get("/nope", "");
    TEST_ASSERT_EQUAL_UINT64(2, pages_hits("/varz"));
    TEST_ASSERT_EQUAL_UINT64(0, pages_hits("/nope"));
}

/* --- parameters ------------------------------------------------------------------------------- */
static void test_parameters_are_decoded_as_in_go(void)
{
    static const struct {
        const char *query, *shown;
    } rows[] = {
        {"", "/show||(none)|(none)|(none)"},
        {"?", "/show||(none)|(none)|(none)"},
        {"?a=1&b=2&c=3", "/show||1|2|3"},
        {"?a=1&a=2", "/show||1|(none)|(none)"},
        {"?a&b=", "/show||||(none)"},
        {"?a=x+y%20z%2B", "/show||x y z+|(none)|(none)"},
        {"?%61=1", "/show||1|(none)|(none)"},
        {"?a=%zz&b=2", "/show||(none)|2|(none)"},
        {"?a=%00&b=2", "/show||(none)|2|(none)"},
        {"?a=1;b=2&c=3", "/show||(none)|(none)|3"},
        {"?a=b=c&&b=1", "/show||b=c|1|(none)"},
    };

    pages_start((struct monitor_options){.base_path = ""});
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char target[128];
        snprintf(target, sizeof target, "/show%s", rows[i].query);
        get(target, "");
        assert_body(rows[i].shown);
    }
}

static void test_more_parameters_than_the_table_holds_are_ignored(void)
{
    char target[1024] = "/show?a=first";

    pages_start((struct monitor_options){.base_path = ""});
    for (size_t i = 0, n = strlen(target); i < 80; i++, n += 4)
        memcpy(target + n, "&x=1", 5);
    memcpy(target + strlen(target), "&b=2", 5);
    get(target, "");
    assert_body("/show||first|(none)|(none)");
}

#define CID "Error decoding uint64 for 'cid': strconv.ParseUint: parsing "
#define LIM "Error decoding int for 'limit': strconv.Atoi: parsing "
#define AUT "Error decoding boolean for 'auth': strconv.ParseBool: parsing "

static void test_typed_parameters_answer_as_nats_server_does(void)
{
    static const struct {
        const char *query, *answer;
        bool good;
    } rows[] = {
        {"", "0 1024 0", true},
        {"auth=1&limit=-5&cid=18446744073709551615", "1 -5 18446744073709551615", true},
        {"auth=True&limit=%2B5", "1 5 0", true},
        {"auth=F&limit=&cid=", "0 1024 0", true},
        {"auth=x", AUT "\"x\": invalid syntax", false},
        {"auth=tRue", AUT "\"tRue\": invalid syntax", false},
        {"auth=%22a%0a%c3%a9%20+", AUT "\"\\\"a\\n\xc3\xa9  \": invalid syntax", false},
        {"auth=%ff%01", AUT "\"\\xff\\x01\": invalid syntax", false},
        {"limit=x", LIM "\"x\": invalid syntax", false},
        {"limit=1_0", LIM "\"1_0\": invalid syntax", false},
        {"limit=-", LIM "\"-\": invalid syntax", false},
        {"limit=99999999999999999999", LIM "\"99999999999999999999\": value out of range", false},
        {"cid=-1", CID "\"-1\": invalid syntax", false},
        {"cid=18446744073709551616", CID "\"18446744073709551616\": value out of range", false},
    };

    pages_start((struct monitor_options){.base_path = ""});
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char target[128];
        snprintf(target, sizeof target, "/typed?%s", rows[i].query);
        get(target, "");
        assert_body(rows[i].answer);
        assert_in_head(rows[i].good ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 400 Bad Request\r\n");
        assert_in_head(rows[i].good ? "application/json"
                                    : "Content-Type: text/plain; charset=utf-8");
    }
}

static void test_callback_wraps_json_and_only_a_name_is_accepted(void)
{
    static const char *const bad[] = {"1a",  "a(b", "alert(1)//", "a%20b", "a%3Bb",
                                      ".a",  "a.",  "a..b",       "a%3Cb", "a%0ab",
                                      "%27", "a-b", "%C3%A9"};

    pages_start((struct monitor_options){.base_path = ""});
    get("/varz?callback=my.$fn_1", "");
    assert_in_head("Content-Type: application/javascript\r\n");
    assert_in_head("X-Content-Type-Options: nosniff\r\n");
    assert_body("my.$fn_1({\"hello\":\"varz\"})");
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        char target[64];
        snprintf(target, sizeof target, "/varz?callback=%s", bad[i]);
        get(target, "");
        assert_in_head("HTTP/1.1 400 Bad Request\r\nAccess-Control-Allow-Origin: *\r\n"
                       "Content-Type: text/plain; charset=utf-8\r\n");
        assert_body("Invalid callback name\n");
    }
    get("/varz?callback=", "");
    assert_body("{\"hello\":\"varz\"}");
    get("/show?callback=f", ""); /* not JSON: left alone */
    assert_body("/show||(none)|(none)|(none)");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_json_page_has_nats_servers_headers);
    RUN_TEST(test_head_request_has_no_body);
    RUN_TEST(test_unknown_path_is_404);
    RUN_TEST(test_other_methods_are_405_and_their_body_is_skipped);
    RUN_TEST(test_bad_requests_are_answered_and_closed);
    RUN_TEST(test_base_path_is_required_and_shown);
    RUN_TEST(test_connection_stays_open_as_the_version_says);
    RUN_TEST(test_request_byte_by_byte_is_answered);
    RUN_TEST(test_pipelined_requests_are_answered_in_order);
    RUN_TEST(test_slow_request_and_idle_connection_are_closed);
    RUN_TEST(test_dripping_request_is_closed_too);
    RUN_TEST(test_full_server_evicts_idle_connections_or_says_503);
    RUN_TEST(test_requests_are_counted_by_page);
    RUN_TEST(test_parameters_are_decoded_as_in_go);
    RUN_TEST(test_more_parameters_than_the_table_holds_are_ignored);
    RUN_TEST(test_typed_parameters_answer_as_nats_server_does);
    RUN_TEST(test_callback_wraps_json_and_only_a_name_is_accepted);
    return UNITY_END();
}
