/* test_http.c: request heads, good and bad, cut anywhere. */
#include "http/http.h"

#include "support/guard.h"
#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
    guard_free();
}

#define LIMIT 8192

static struct http_request request;
static const char *fault;

static ssize_t parse(const char *text)
{
    size_t n = strlen(text);

    fault = NULL;
    return http_parse(guard_copy(text, n), n, 0, LIMIT, &request, &fault);
}

static void assert_slice(const char *want, struct mf_slice is)
{
    TEST_ASSERT_EQUAL_size_t(strlen(want), is.len);
    TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(is, want), want);
}

static void test_whole_request_is_split_into_its_parts(void)
{
    const char *text =
        "GET /connz?subs=1&x=%20 HTTP/1.1\r\nHost: a.example:80\r\nAccept:  x ,y\t\r\n"
        "X-Empty:\r\n\r\nrest";
    struct mf_slice v;

    TEST_ASSERT_EQUAL(strlen(text) - 4, parse(text));
    assert_slice("GET", request.method);
    assert_slice("/connz", request.path);
    assert_slice("subs=1&x=%20", request.query);
    assert_slice("a.example:80", request.host);
    TEST_ASSERT_EQUAL(1, request.minor);
    TEST_ASSERT_TRUE(http_get(&request, "accept", &v));
    assert_slice("x ,y", v);
    TEST_ASSERT_TRUE(http_get(&request, "X-EMPTY", &v));
    TEST_ASSERT_EQUAL(0, v.len);
    TEST_ASSERT_FALSE(http_get(&request, "X-Emp", &v));
}

/* A read may end anywhere; nothing behind the input may be touched. */
static void test_head_cut_at_every_byte_is_incomplete(void)
{
    const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    for (size_t cut = 0; cut < strlen(text); cut++)
        TEST_ASSERT_EQUAL(0, http_parse(guard_copy(text, cut), cut, cut > 0 ? cut - 1 : 0, LIMIT,
                                        &request, &fault));
    for (size_t seen = 0; seen < strlen(text); seen++)
        TEST_ASSERT_EQUAL(strlen(text), http_parse(guard_copy(text, strlen(text)), strlen(text),
                                                   seen, LIMIT, &request, &fault));
}

static void test_bare_line_feeds_end_lines_too(void)
{
    TEST_ASSERT_EQUAL(24, parse("GET / HTTP/1.1\nHost: a\n\n"));
    assert_slice("a", request.host);
}

static void test_absolute_target_gives_its_path(void)
{
    TEST_ASSERT_GREATER_THAN(0, parse("GET http://h:1/x?y HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_slice("/x", request.path);
    assert_slice("y", request.query);
    TEST_ASSERT_GREATER_THAN(0, parse("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_slice("/", request.path);
    TEST_ASSERT_GREATER_THAN(0, parse("GET https://h?q HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_slice("/", request.path);
    assert_slice("q", request.query);
    TEST_ASSERT_GREATER_THAN(0, parse("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"));
    assert_slice("*", request.path);
}

#define BAD "400 Bad Request"
#define H   "Host: a\r\n"

static void test_bad_heads_are_refused_with_nats_servers_texts(void)
{
    static const struct {
        const char *text, *fault;
        int code;
    } rows[] = {
        {"hello\r\n\r\n", BAD, MF_PROTO},
        {"\r\n\r\n", BAD, MF_PROTO},
        {"GET /\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET / FOO/1.1\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.x\r\n\r\n", BAD, MF_PROTO},
        {"GET  / HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET / x HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"G(T / HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {" / HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET foo HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET /%zz HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET /%2 HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET /\x01 HTTP/1.1\r\n" H "\r\n", BAD, MF_PROTO},
        {"GET / HTTP/2.0\r\n\r\n", "505 HTTP Version Not Supported: unsupported protocol version",
         MF_UNSUPPORTED},
        {"GET / HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header", MF_PROTO},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 Bad Request: malformed Host header", MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Host: b\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Foo bar\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H ": bar\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Foo : bar\r\n\r\n", "400 Bad Request: invalid header name",
         MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Foo: a\r\n b\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Foo: a\x01 b\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Foo: a\rb\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Content-Length: x\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n", BAD, MF_PROTO},
        {"GET / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", BAD, MF_PROTO},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].code, parse(rows[i].text), rows[i].text);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i].fault, fault, rows[i].text);
    }
}

/* 1.0 clients need not send it. */
static void test_host_may_be_missing_in_http_1_0(void)
{
    TEST_ASSERT_GREATER_THAN(0, parse("GET / HTTP/1.0\r\n\r\n"));
    TEST_ASSERT_EQUAL(0, request.host.len);
    TEST_ASSERT_EQUAL(0, request.minor);
}

static void test_head_beyond_the_limit_is_refused_before_it_ends(void)
{
    static char text[LIMIT + 64];

    memset(text, 'a', sizeof text);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    TEST_ASSERT_EQUAL(0, http_parse((uint8_t *)text, LIMIT - 1, 0, LIMIT, &request, &fault));
    TEST_ASSERT_EQUAL(MF_LIMIT, http_parse((uint8_t *)text, LIMIT, 0, LIMIT, &request, &fault));
    TEST_ASSERT_EQUAL_STRING("431 Request Header Fields Too Large", fault);
    memcpy(text + sizeof text - 5, "\r\n\r\n", 4);
    TEST_ASSERT_EQUAL(MF_LIMIT,
                      http_parse((uint8_t *)text, sizeof text, 0, LIMIT, &request, &fault));
}

static void test_more_fields_than_the_table_holds_are_refused(void)
{
    char text[HTTP_FIELDS * 8 + 64] = "GET / HTTP/1.0\r\n";
    size_t n = strlen(text);

    for (int i = 0; i < HTTP_FIELDS; i++, n += 6)
        memcpy(text + n, "a: b\r\n", 7);
    memcpy(text + n, "\r\n", 3);
    TEST_ASSERT_GREATER_THAN(0, parse(text));
    TEST_ASSERT_EQUAL(HTTP_FIELDS, request.nfields);
    memcpy(text + n, "a: b\r\n\r\n", 9);
    TEST_ASSERT_EQUAL(MF_LIMIT, parse(text));
}

static void test_tokens_are_found_over_lists_and_repeated_fields(void)
{
    parse("GET / HTTP/1.1\r\n" H "Connection: keep-alive , UPGRADE\r\nconnection: x\r\n\r\n");
    TEST_ASSERT_TRUE(http_has_token(&request, "Connection", "upgrade"));
    TEST_ASSERT_TRUE(http_has_token(&request, "Connection", "x"));
    TEST_ASSERT_FALSE(http_has_token(&request, "Connection", "keep"));
    TEST_ASSERT_FALSE(http_has_token(&request, "Upgrade", "x"));
}

static void test_keep_alive_follows_version_and_connection(void)
{
    static const struct {
        const char *text;
        bool keep;
    } rows[] = {
        {"GET / HTTP/1.1\r\n" H "\r\n", true},
        {"GET / HTTP/1.1\r\n" H "Connection: Close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        TEST_ASSERT_GREATER_THAN(0, parse(rows[i].text));
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].keep, http_keep_alive(&request), rows[i].text);
    }
}

static void test_accepted_codings_respect_quality(void)
{
    static const struct {
        const char *value;
        bool gzip;
    } rows[] = {
        {"gzip", true},
        {"deflate, GZIP;q=0.5", true},
        {"gzip;q=0", false},
        {"gzip; q=0.000", false},
        {"gzip;q=0.001", true},
        {"br", false},
        {"", false},
        {"xgzip", false},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char text[128];
        snprintf(text, sizeof text, "GET / HTTP/1.0\r\nAccept-Encoding: %s\r\n\r\n", rows[i].value);
        TEST_ASSERT_GREATER_THAN(0, parse(text));
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].gzip, http_accepts(&request, "gzip"), rows[i].value);
    }
}

static void test_escapes_are_decoded_or_refused(void)
{
    static const struct {
        const char *in, *out; /* NULL: refused */
        bool plus;
    } rows[] = {
        {"a%20b+c", "a b+c", false},  {"a%20b+c", "a b c", true},
        {"%C3%a9", "\xc3\xa9", true}, {"%", NULL, true},
        {"%4", NULL, true},           {"%4g", NULL, true},
        {"%00", NULL, true},          {"", "", true},
    };
    uint8_t dst[16];

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        size_t n = strlen(rows[i].in);
        ssize_t got = http_decode(dst, mf_slice(guard_copy(rows[i].in, n), n), rows[i].plus);
        if (rows[i].out == NULL)
            TEST_ASSERT_EQUAL_MESSAGE(MF_INVAL, got, rows[i].in);
        else
            TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(mf_slice(dst, (size_t)got), rows[i].out),
                                     rows[i].in);
    }
}

static void test_date_is_rfc_1123(void)
{
    char text[HTTP_DATE];

    TEST_ASSERT_EQUAL_STRING("Sun, 06 Nov 1994 08:49:37 GMT",
                             http_date(text, 784111777LL * 1000000000));
    TEST_ASSERT_EQUAL_STRING("Thu, 01 Jan 1970 00:00:00 GMT", http_date(text, 0));
}

static void test_heads_of_answers(void)
{
    static const char *const bad[] = {
        "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",      "HTTP/1.1 99\r\n\r\n",
        "200 OK\r\n\r\n",          "HTTP/1.1 200 OK\r\nx\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    };
    static const char good[] = "HTTP/1.1 101 Switching Protocols\r\nA: b\r\n\r\nrest";
    struct http_request r;
    struct mf_slice v;
    int status;

    for (size_t i = 0; i < sizeof good - 5; i++)
        TEST_ASSERT_EQUAL(0, http_parse_answer((const uint8_t *)good, i, i > 0 ? i - 1 : 0, 100, &r,
                                               &status, &fault));
    TEST_ASSERT_EQUAL(sizeof good - 5, http_parse_answer((const uint8_t *)good, sizeof good - 1, 0,
                                                         100, &r, &status, &fault));
    TEST_ASSERT_EQUAL(101, status);
    TEST_ASSERT_TRUE(http_get(&r, "a", &v) && mf_eq_str(v, "b"));
    TEST_ASSERT_EQUAL(MF_LIMIT,
                      http_parse_answer((const uint8_t *)good, 40, 0, 40, &r, &status, &fault));
    TEST_ASSERT_GREATER_THAN(
        0, http_parse_answer((const uint8_t *)"HTTP/1.0 200\n\n", 14, 0, 100, &r, &status, &fault));
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_LESS_THAN_MESSAGE(
            0,
            http_parse_answer((const uint8_t *)bad[i], strlen(bad[i]), 0, 100, &r, &status, &fault),
            bad[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_whole_request_is_split_into_its_parts);
    RUN_TEST(test_head_cut_at_every_byte_is_incomplete);
    RUN_TEST(test_bare_line_feeds_end_lines_too);
    RUN_TEST(test_absolute_target_gives_its_path);
    RUN_TEST(test_bad_heads_are_refused_with_nats_servers_texts);
    RUN_TEST(test_host_may_be_missing_in_http_1_0);
    RUN_TEST(test_head_beyond_the_limit_is_refused_before_it_ends);
    RUN_TEST(test_more_fields_than_the_table_holds_are_refused);
    RUN_TEST(test_tokens_are_found_over_lists_and_repeated_fields);
    RUN_TEST(test_keep_alive_follows_version_and_connection);
    RUN_TEST(test_accepted_codings_respect_quality);
    RUN_TEST(test_escapes_are_decoded_or_refused);
    RUN_TEST(test_date_is_rfc_1123);
    RUN_TEST(test_heads_of_answers);
    return UNITY_END();
}
