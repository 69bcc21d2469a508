/* test_ws_upgrade.c: which requests become WebSocket connections, and what they are answered. */
#include "ws/upgrade_impl.h"

#include "unity.h"

#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static struct ws_options options;
static struct ws_verdict verdict;
static struct http_request request;
static char text[2048]; /* the request's slices point here */

static void judge_text(void)
{
    const char *fault = "";
    ssize_t n = http_parse((uint8_t *)text, strlen(text), 0, 8192, &request, &fault);

    TEST_ASSERT_EQUAL_MESSAGE(strlen(text), n, fault);
    ws_judge(&request, &options, &verdict);
}

#define KEY  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define CORE "Upgrade: websocket\r\nConnection: Upgrade\r\n" KEY "Sec-WebSocket-Version: 13\r\n"

/* A good request but for these. */
static void judge(const char *host, const char *headers)
{
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n" CORE "%s\r\n", host, headers);
    judge_text();
}

static const char *answer(void)
{
    static struct mf_buf out;

    mf_buf_clear(&out);
    ws_answer(&request, &options, &verdict, 0, &out);
    snprintf(text, sizeof text, "%.*s", (int)out.len, (const char *)out.ptr);
    mf_buf_fini(&out);
    return text;
}

/* The key and answer of RFC 6455 1.3, the lines in nats-server's order. */
static void test_good_request_is_answered_as_nats_server_does(void)
{
    options = (struct ws_options){.headers = "X-Foo: bar\r\n"};
    judge("localhost", "Sec-WebSocket-Extensions: permessage-deflate\r\nNats-No-Masking: true\r\n");
    TEST_ASSERT_EQUAL(101, verdict.status);
    TEST_ASSERT_EQUAL_STRING("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                             "Connection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                             "Nats-No-Masking: true\r\nX-Foo: bar\r\n\r\n",
                             answer());
}

static void test_refused_request_gets_nats_servers_error(void)
{
    options = (struct ws_options){0};
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n");
    judge_text();
    TEST_ASSERT_EQUAL_STRING(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Sec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\n"
        "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 12\r\n"
        "Connection: close\r\n\r\nBad Request\n",
        answer());
}

#define UP  "Upgrade: websocket\r\n"
#define CON "Connection: Upgrade\r\n"
#define VER "Sec-WebSocket-Version: 13\r\n"
#define H   "Host: a\r\n"

static void test_requests_are_checked_in_nats_servers_order(void)
{
    static const struct {
        const char *text;
        int status;
        const char *reason;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 101, NULL},
        {"GET / HTTP/1.0\r\n" H UP CON KEY VER "\r\n", 101, NULL},
        {"GET /a/b?c HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 101, NULL},
        {"GET /leafnode HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 101, NULL},
        {"GET / HTTP/1.1\r\n" H "upgrade: h2, WebSocket\r\n" CON KEY VER "\r\n", 101, NULL},
        {"GET / HTTP/1.1\r\n" H UP "Connection: keep-alive, upgrade\r\n" KEY VER "\r\n", 101, NULL},
        {"GET / HTTP/1.1\r\n" H UP CON KEY "Sec-WebSocket-Version: 8, 13\r\n\r\n", 101, NULL},
        {"GET /mqtt HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 404,
         "mqtt websocket endpoint not enabled"},
        {"POST / HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 405, "request method must be GET"},
        {"get / HTTP/1.1\r\n" H UP CON KEY VER "\r\n", 405, "request method must be GET"},
        {"GET / HTTP/1.0\r\n" UP CON KEY VER "\r\n", 400, "'Host' missing in request"},
        {"GET / HTTP/1.1\r\nHost:\r\n" UP CON KEY VER "\r\n", 400, "'Host' missing in request"},
        {"GET / HTTP/1.1\r\n" H CON KEY VER "\r\n", 400, "invalid value for header 'Upgrade'"},
        {"GET / HTTP/1.1\r\n" H "Upgrade: web\r\n" CON KEY VER "\r\n", 400,
         "invalid value for header 'Upgrade'"},
        {"GET / HTTP/1.1\r\n" H UP KEY VER "\r\n", 400, "invalid value for header 'Connection'"},
        {"GET / HTTP/1.1\r\n" H UP "Connection: close\r\n" KEY VER "\r\n", 400,
         "invalid value for header 'Connection'"},
        {"GET / HTTP/1.1\r\n" H UP CON VER "\r\n", 400, "key missing"},
        {"GET / HTTP/1.1\r\n" H UP CON "Sec-WebSocket-Key: abc\r\n" VER "\r\n", 400,
         "invalid websocket key"},
        {"GET / HTTP/1.1\r\n" H UP CON "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n" VER "\r\n",
         400, "invalid websocket key"},
        {"GET / HTTP/1.1\r\n" H UP CON "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==x\r\n" VER
         "\r\n",
         400, "invalid websocket key"},
        {"GET / HTTP/1.1\r\n" H UP CON "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j*Q==\r\n" VER "\r\n",
         400, "invalid websocket key"},
        {"GET / HTTP/1.1\r\n" H UP CON KEY "\r\n", 400, "invalid version"},
        {"GET / HTTP/1.1\r\n" H UP CON KEY "Sec-WebSocket-Version: 12\r\n\r\n", 400,
         "invalid version"},
    };

    options = (struct ws_options){0};
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        snprintf(text, sizeof text, "%s", rows[i].text);
        judge_text();
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].status, verdict.status, rows[i].text);
        if (rows[i].reason != NULL)
            TEST_ASSERT_EQUAL_STRING(rows[i].reason, verdict.reason);
    }
}

static void test_mqtt_path_is_taken_when_enabled(void)
{
    options = (struct ws_options){.mqtt = true};
    snprintf(text, sizeof text, "GET /mqtt HTTP/1.1\r\nHost: a\r\n" CORE "\r\n");
    judge_text();
    TEST_ASSERT_EQUAL(101, verdict.status);
    TEST_ASSERT_NOT_NULL(strstr(answer(), "\r\nSec-WebSocket-Protocol: mqtt\r\n"));
}

static void test_compression_is_agreed_only_when_both_want_it(void)
{
    static const struct {
        bool on;
        const char *offer;
        bool agreed;
    } rows[] = {
        {true, "", false},
        {true, "Sec-WebSocket-Extensions: permessage-deflate\r\n", true},
        {false, "Sec-WebSocket-Extensions: permessage-deflate\r\n", false},
        {true, "Sec-WebSocket-Extensions: foo, Permessage-Deflate; client_max_window_bits\r\n",
         true},
        {true, "Sec-WebSocket-Extensions: x-webkit-deflate-frame\r\n", false},
        {true, "Sec-WebSocket-Extensions: foo; permessage-deflate\r\n", false},
        {true, "Sec-WebSocket-Extensions: foo\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
         true},
        {true, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10\r\n",
         false},
        {true, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=15\r\n", true},
        {true,
         "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10, "
         "permessage-deflate\r\n",
         true},
    };
    static const char line[] = "\r\nSec-WebSocket-Extensions: permessage-deflate; "
                               "server_no_context_takeover; client_no_context_takeover\r\n";

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        options = (struct ws_options){.compression = rows[i].on};
        judge("a", rows[i].offer);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].agreed, verdict.compress, rows[i].offer);
        TEST_ASSERT_EQUAL(rows[i].agreed, strstr(answer(), line) != NULL);
    }
}

static void test_browsers_and_safari_are_recognised(void)
{
    options = (struct ws_options){0};
    judge("a", "User-Agent: nats.js\r\n");
    TEST_ASSERT_FALSE(verdict.browser);
    judge("a", "User-Agent: Mozilla/5.0 (X11) AppleWebKit/537 Chrome/120.0 Safari/537.36\r\n");
    TEST_ASSERT_TRUE(verdict.browser);
    TEST_ASSERT_FALSE(verdict.whole_deflated);
    judge("a", "User-Agent: Mozilla/5.0 (Macintosh) AppleWebKit/605 Version/17.0 Safari/605\r\n");
    TEST_ASSERT_TRUE(verdict.browser);
    TEST_ASSERT_TRUE(verdict.whole_deflated);
}

static void test_masking_is_waived_only_by_the_exact_value(void)
{
    judge("a", "");
    TEST_ASSERT_FALSE(verdict.no_masking);
    judge("a", "Nats-No-Masking: True\r\n");
    TEST_ASSERT_FALSE(verdict.no_masking);
    judge("a", "Nats-No-Masking: true\r\n");
    TEST_ASSERT_TRUE(verdict.no_masking);
}

static void test_same_origin_compares_scheme_host_and_port(void)
{
    static const struct {
        bool tls;
        const char *host, *origin;
        int status;
    } rows[] = {
        {false, "a.example", "http://a.example", 101},
        {false, "a.example", "http://A.Example:80", 101},
        {false, "a.example:80", "http://a.example", 101},
        {true, "a.example", "https://a.example", 101},
        {true, "a.example:443", "https://a.example", 101},
        {true, "a.example", "http://a.example", 403},
        {false, "a.example", "https://a.example", 403},
        {false, "a.example:8080", "http://a.example", 403},
        {false, "a.example:8080", "http://a.example:8080", 101},
        {false, "a.example", "http://b.example", 403},
        {false, "a.example", "http://a.example.evil", 403},
        {false, "a.example", "http://a.example@evil", 403},
        {false, "a.example", "http://user@a.example", 403},
        {false, "a.example", "http://a.example:80@evil", 403},
        {false, "a.example", "http://evil/a.example", 403},
        {false, "a.example", "null", 403},
        {false, "a.example", "a.example", 403},
        {false, "a.example", "://a.example", 403},
        {false, "a.example", "http://", 403},
        {false, "a.example", "http://a.example:x", 403},
        {false, "[::1]:80", "http://[::1]", 101},
        {false, "[::1]", "http://[::1]:80", 101},
        {false, "[::1]", "http://[::1", 403},
        {false, "[::1]", "http://[::1]x", 403},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char line[128];
        options = (struct ws_options){.same_origin = true, .tls = rows[i].tls};
        snprintf(line, sizeof line, "Origin: %s\r\n", rows[i].origin);
        judge(rows[i].host, line);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].status, verdict.status, rows[i].origin);
        snprintf(line, sizeof line, "Sec-WebSocket-Origin: %s\r\n", rows[i].origin);
        judge(rows[i].host, line);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].status, verdict.status, rows[i].origin);
    }
}

static void test_allowed_origins_are_compared_with_default_ports(void)
{
    static const char *const list[] = {"http://a.example", "https://b.example:8443",
                                       "https://c.example:443/"};
    static const struct {
        const char *origin;
        int status;
    } rows[] = {
        {"http://a.example", 101},     {"http://a.example:80", 101},
        {"https://a.example", 403},    {"https://b.example:8443", 101},
        {"https://b.example", 403},    {"https://c.example", 101},
        {"https://d.example", 403},    {"http://a.example:8080", 403},
        {"http://sub.a.example", 403},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char line[128];
        options = (struct ws_options){.origins = list, .norigins = MF_COUNT(list)};
        snprintf(line, sizeof line, "Origin: %s\r\n", rows[i].origin);
        judge("whatever", line);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].status, verdict.status, rows[i].origin);
    }
}

/* Both rules together: both must hold. */
static void test_same_origin_and_list_are_both_checked(void)
{
    static const char *const list[] = {"http://a.example"};

    options = (struct ws_options){.same_origin = true, .origins = list, .norigins = 1};
    judge("a.example", "Origin: http://a.example\r\n");
    TEST_ASSERT_EQUAL(101, verdict.status);
    judge("b.example", "Origin: http://a.example\r\n");
    TEST_ASSERT_EQUAL_STRING("origin not allowed: not same origin", verdict.reason);
    judge("b.example", "Origin: http://b.example\r\n");
    TEST_ASSERT_EQUAL_STRING("origin not allowed: not in the allowed list", verdict.reason);
}

static void test_request_without_origin_is_no_browser_and_allowed(void)
{
    options = (struct ws_options){.same_origin = true};
    judge("a", "");
    TEST_ASSERT_EQUAL(101, verdict.status);
    options = (struct ws_options){0};
    judge("a", "Origin: http://anything\r\n");
    TEST_ASSERT_EQUAL(101, verdict.status);
}

static void test_cookies_are_found_by_name(void)
{
    static const struct {
        const char *header, *name, *value;
    } rows[] = {
        {"a=1; jwt=abc.def; b=2", "jwt", "abc.def"},
        {"jwt=\"quoted\"", "jwt", "quoted"},
        {"jwt=1; jwt=2", "jwt", "2"},
        {"xjwt=1", "jwt", ""},
        {"jwt", "jwt", ""},
        {"jwt=a\"b", "jwt", ""},
        {" jwt = 1", "jwt", ""},
        {"", "jwt", ""},
        {NULL, "jwt", ""},
        {"t=a=b", "t", "a=b"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++)
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(ws_cookie(rows[i].header, rows[i].name), rows[i].value),
                                 rows[i].header == NULL ? "NULL" : rows[i].header);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_good_request_is_answered_as_nats_server_does);
    RUN_TEST(test_refused_request_gets_nats_servers_error);
    RUN_TEST(test_requests_are_checked_in_nats_servers_order);
    RUN_TEST(test_mqtt_path_is_taken_when_enabled);
    RUN_TEST(test_compression_is_agreed_only_when_both_want_it);
    RUN_TEST(test_browsers_and_safari_are_recognised);
    RUN_TEST(test_masking_is_waived_only_by_the_exact_value);
    RUN_TEST(test_same_origin_compares_scheme_host_and_port);
    RUN_TEST(test_allowed_origins_are_compared_with_default_ports);
    RUN_TEST(test_same_origin_and_list_are_both_checked);
    RUN_TEST(test_request_without_origin_is_no_browser_and_allowed);
    RUN_TEST(test_cookies_are_found_by_name);
    return UNITY_END();
}
