/* test_http_get.c: addresses and responses as the operator's tool reads them. */
#include "cli/http_get.h"

#include "unity.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

void setUp(void)
{
}
void tearDown(void)
{
}

static void test_address_is_split_into_its_parts(void)
{
    static const struct {
        const char *text, *host, *port, *base;
    } rows[] = {
        {"http://127.0.0.1:8222", "127.0.0.1", "8222", ""},
        {"http://example.test", "example.test", "8222", ""},
        {"http://example.test/", "example.test", "8222", ""},
        {"example.test:1", "example.test", "1", ""},
        {"http://example.test:65535/nats/", "example.test", "65535", "/nats"},
        {"http://[::1]:8222/a/b", "::1", "8222", "/a/b"},
        {"[::1]", "::1", "8222", ""},
        {"https://example.test:443/nats", "example.test", "443", "/nats"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct http_url u;

        TEST_ASSERT_EQUAL_INT_MESSAGE(0, http_url_parse(&u, rows[i].text, NULL), rows[i].text);
        TEST_ASSERT_EQUAL_STRING(rows[i].host, u.host);
        TEST_ASSERT_EQUAL_STRING(rows[i].port, u.port);
        TEST_ASSERT_EQUAL_STRING(rows[i].base, u.base);
    }
}

static void test_bad_address_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "http://",
        "http://:8222",
        "http://host:",
        "http://host:0",
        "http://host:65536",
        "http://host:80x",
        "http://[::1",
        "http://[::1]8222",
        "nats://host:4222",
        "ftp://host",
        "https://",
    };
    char longest[600];
    struct http_url u;

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_TRUE_MESSAGE(http_url_parse(&u, bad[i], NULL) < 0, bad[i]);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    TEST_ASSERT_EQUAL_INT(MF_INVAL, http_url_parse(&u, longest, NULL));
    longest[1] = '/';
    TEST_ASSERT_EQUAL_INT(MF_INVAL, http_url_parse(&u, longest, NULL));
}

static void test_response_is_split_at_its_empty_line(void)
{
    struct mf_slice body;
    int status;

    TEST_ASSERT_EQUAL_INT(0,
                          http_response_parse(MF_LIT("HTTP/1.1 503 No\r\nA: b\r\n\r\nbo\r\n\r\ndy"),
                                              &status, &body, NULL));
    TEST_ASSERT_EQUAL_INT(503, status);
    TEST_ASSERT_TRUE(mf_eq_str(body, "bo\r\n\r\ndy"));
    TEST_ASSERT_EQUAL_INT(
        0, http_response_parse(MF_LIT("HTTP/1.0 200\r\n\r\n"), &status, &body, NULL));
    TEST_ASSERT_EQUAL_INT(0, (int)body.len);
}

static void test_what_is_no_response_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "INFO {}\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 2x0\r\n\r\n",
        "HTTP/1.1 2\r\n\r\n",
    };
    struct mf_slice body;
    int status;

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(
            MF_PROTO, http_response_parse(mf_str(bad[i]), &status, &body, NULL), bad[i]);
}

/* --- a server that answers one request and hangs up ------------------------------------------- */

struct one_shot {
    int fd;
    const char *answer;
    char request[512];
};

static void *serve_one(void *arg)
{
    struct one_shot *s = arg;
    int c = accept(s->fd, NULL, NULL);
    ssize_t n = recv(c, s->request, sizeof s->request - 1, 0);

    if (n > 0 && send(c, s->answer, strlen(s->answer), MSG_NOSIGNAL) > 0)
        (void)shutdown(c, SHUT_WR);
    (void)close(c);
    return NULL;
}

static int listen_somewhere(struct http_url *u)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    TEST_ASSERT_EQUAL_INT(0, bind(fd, (struct sockaddr *)&at, sizeof at));
    TEST_ASSERT_EQUAL_INT(0, listen(fd, 1));
    TEST_ASSERT_EQUAL_INT(0, getsockname(fd, (struct sockaddr *)&at, &len));
    *u = (struct http_url){.host = "127.0.0.1"};
    (void)snprintf(u->port, sizeof u->port, "%d", ntohs(at.sin_port));
    return fd;
}

static void test_page_is_fetched_below_the_base_path(void)
{
    struct one_shot s = {.answer = "HTTP/1.0 200 OK\r\n\r\n{\"status\":\"ok\"}"};
    struct mf_buf raw = MF_BUF_INIT;
    struct mf_slice body;
    struct http_url u;
    pthread_t t;
    int status;

    s.fd = listen_somewhere(&u);
    (void)snprintf(u.base, sizeof u.base, "/nats");
    TEST_ASSERT_EQUAL_INT(0, pthread_create(&t, NULL, serve_one, &s));
    TEST_ASSERT_EQUAL_INT(0, http_get(&u, "/healthz", &raw, &status, &body, NULL));
    TEST_ASSERT_EQUAL_INT(0, pthread_join(t, NULL));
    TEST_ASSERT_EQUAL_INT(200, status);
    TEST_ASSERT_TRUE(mf_eq_str(body, "{\"status\":\"ok\"}"));
    TEST_ASSERT_EQUAL_STRING_LEN("GET /nats/healthz HTTP/1.0\r\n", s.request, 28);
    mf_buf_fini(&raw);
    (void)close(s.fd);
}

static void test_nobody_listening_is_told_with_the_reason(void)
{
    struct mf_buf raw = MF_BUF_INIT;
    struct mf_slice body;
    struct http_url u;
    struct mf_error e;
    int status;

    (void)close(listen_somewhere(&u)); /* a port that was free a moment ago */
    TEST_ASSERT_EQUAL_INT(MF_IO, http_get(&u, "/varz", &raw, &status, &body, &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "GET /varz"), e.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "refused"), e.text);
    mf_buf_fini(&raw);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_address_is_split_into_its_parts);
    RUN_TEST(test_bad_address_is_refused);
    RUN_TEST(test_response_is_split_at_its_empty_line);
    RUN_TEST(test_what_is_no_response_is_refused);
    RUN_TEST(test_page_is_fetched_below_the_base_path);
    RUN_TEST(test_nobody_listening_is_told_with_the_reason);
    return UNITY_END();
}
