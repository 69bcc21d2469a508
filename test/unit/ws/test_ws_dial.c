/* test_ws_dial.c: the client's side of WebSocket against our own server on the same loop, and
 * against servers and proxies of a few lines that do something else. */
#include "ws/ws_dial.h"

#include "base/clock.h"
#include "base/log.h"
#include "support/test_certs.h"
#include "unity.h"
#include "ws/ws.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUCH 300000u

static struct loop *loop;
static struct net_listener *listener;
static struct ws_options server_options;
static struct net_tls *server_tls, *client_tls;
static struct {
    struct net_conn *c;
    unsigned open; /* ends of connections on this loop */
    bool ready, failed, drop_masks;
    size_t want, got;
    struct ws_agreed agreed;
    enum net_why why;
    char text[300], greeting[200];
} client;

static void one_ended(void)
{
    if (--client.open == 0)
        loop_stop(loop);
}

/* --- our own server --------------------------------------------------------------------------- */

static size_t echo_bytes(void *arg, const uint8_t *p, size_t n)
{
    (void)net_write(arg, p, n);
    return n;
}

static void server_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg;
    (void)why;
    (void)text;
    one_ended();
}

static const struct net_handler echo = {.bytes = echo_bytes, .closed = server_closed};

static void upgraded(void *arg, struct net_conn *c, const struct ws_request *r)
{
    char line[200];

    (void)arg;
    client.open++;
    net_conn_set_handler(c, &echo, c);
    snprintf(line, sizeof line, "%s %s %s\n", r->path, r->host, r->no_masking ? "bare" : "masked");
    (void)net_write(c, line, strlen(line)); /* before the client said anything, as INFO is */
}

static void server_accepted(void *arg, struct net_conn *c)
{
    net_conn_start(c, &echo, c);
    if (server_tls != NULL)
        TEST_ASSERT_EQUAL(0, net_conn_secure(c, server_tls, NULL));
    ws_accept(c, loop, &server_options, upgraded, arg);
}

void setUp(void)
{
    struct log_options quiet = {.file = "/dev/null"};
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, log_open(&quiet, &e)); /* refusals are logged */
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    TEST_ASSERT_EQUAL(0, net_listen(&listener, loop, "127.0.0.1", 0, server_accepted, NULL, &e));
    server_options = (struct ws_options){.handshake_timeout_ns = 60 * CLOCK_S};
    memset(&client, 0, sizeof client);
    alarm(120);
}

void tearDown(void)
{
    alarm(0);
    net_listener_close(listener);
    ws_cancel(NULL); /* handshakes that their client gave up */
    for (int i = 0; i < 4; i++)
        loop_turn(loop);
    loop_free(loop);
    log_close();
}

/* --- the client ------------------------------------------------------------------------------- */

static uint8_t letter(size_t i)
{
    return (uint8_t)('a' + i / 7 % 23);
}

static size_t client_bytes(void *arg, const uint8_t *p, size_t n)
{
    size_t at = 0;

    (void)arg;
    if (client.greeting[0] == '\0') {
        const uint8_t *lf = memchr(p, '\n', n);
        if (lf == NULL)
            return 0;
        snprintf(client.greeting, sizeof client.greeting, "%.*s", (int)(lf - p), (const char *)p);
        at = (size_t)(lf - p) + 1;
    }
    for (; at < n; at++)
        TEST_ASSERT_EQUAL_HEX8(letter(client.got++), p[at]);
    if (client.got == client.want)
        net_close(client.c, 1000);
    return n;
}

static void client_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg;
    client.why = why;
    snprintf(client.text, sizeof client.text, "%s", text);
    one_ended();
}

static const struct net_handler talking = {.bytes = client_bytes, .closed = client_closed};

static void on_ready(void *arg, struct net_conn *c, const struct ws_agreed *a)
{
    static uint8_t text[MUCH];

    (void)arg;
    TEST_ASSERT_EQUAL_PTR(client.c, c);
    client.ready = true;
    client.agreed = *a;
    net_conn_set_handler(c, &talking, NULL);
    for (size_t i = 0; i < client.want; i++)
        text[i] = letter(i);
    (void)net_write(c, text, 5);
    (void)net_write(c, text + 5, client.want - 5);
}

static void on_failed(void *arg, enum net_why why, const char *text)
{
    TEST_ASSERT_FALSE(client.failed);
    client.failed = true;
    client_closed(arg, why, text);
}

static const struct ws_dial_handler dialling = {on_ready, on_failed};

static struct ws_target target(void)
{
    return (struct ws_target){.host = "127.0.0.1",
                              .port = net_listener_port(listener),
                              .path = "/a/leafnode",
                              .tls = client_tls,
                              .dial_ns = 60 * CLOCK_S,
                              .tls_ns = 60 * CLOCK_S,
                              .upgrade_ns = 60 * CLOCK_S,
                              .proxy_ns = 60 * CLOCK_S};
}

static void run(const struct ws_target *t, size_t want)
{
    struct mf_error e;

    client.open = 1;
    client.want = want;
    TEST_ASSERT_EQUAL_MESSAGE(0, ws_dial(&client.c, loop, t, &dialling, NULL, &e), e.text);
    loop_run(loop);
    TEST_ASSERT_TRUE(client.ready != client.failed);
}

static void expect_echo(size_t want)
{
    TEST_ASSERT_TRUE_MESSAGE(client.ready, client.text);
    TEST_ASSERT_EQUAL(want, client.got);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, client.why);
}

static void test_an_upgraded_connection_carries_bytes_both_ways(void)
{
    char expected[100];
    struct ws_target t = target();

    run(&t, MUCH);
    expect_echo(MUCH);
    TEST_ASSERT_FALSE(client.agreed.compression || client.agreed.no_masking);
    snprintf(expected, sizeof expected, "/a/leafnode 127.0.0.1:%d masked", t.port);
    TEST_ASSERT_EQUAL_STRING(expected, client.greeting);
}

static void test_masks_are_left_out_if_the_server_agrees(void)
{
    struct ws_target t = target();

    t.no_masking = true;
    run(&t, MUCH);
    expect_echo(MUCH);
    TEST_ASSERT_TRUE(client.agreed.no_masking);
    TEST_ASSERT_NOT_NULL(strstr(client.greeting, " bare"));
}

static void test_messages_are_deflated_if_both_want_it(void)
{
    struct ws_target t = target();

    server_options.compression = t.compression = true;
    run(&t, MUCH);
    expect_echo(MUCH);
    TEST_ASSERT_TRUE(client.agreed.compression);
}

static void test_compression_that_the_server_declines_is_not_used(void)
{
    struct ws_target t = target();

    t.compression = true;
    run(&t, 1000);
    expect_echo(1000);
    TEST_ASSERT_FALSE(client.agreed.compression);
}

static struct net_tls *make_tls(struct test_certs *own, struct test_certs *trusted)
{
    struct net_tls_pair pair;
    struct net_tls_options o = {0};
    struct net_tls *t = NULL;
    struct mf_error e;

    if (own != NULL) {
        pair = (struct net_tls_pair){test_certs_cert(own, "server"), test_certs_key(own, "server")};
        o.pairs = &pair;
        o.npairs = 1;
    }
    if (trusted != NULL)
        o.ca_file = test_certs_ca(trusted);
    TEST_ASSERT_EQUAL_MESSAGE(0, net_tls_new(&t, &o, &e), e.text);
    return t;
}

static void test_wss_checks_the_certificate_and_its_name(void)
{
    struct test_certs *certs = test_certs_new(), *others = test_certs_new();
    struct ws_target t;

    test_certs_make(
        certs, &(struct test_cert){.name = "server", .subject = "CN=hub", .san = "DNS:hub.test"});
    server_tls = make_tls(certs, NULL);
    client_tls = make_tls(NULL, certs);
    t = target();
    t.tls_name = "hub.test";
    run(&t, MUCH);
    expect_echo(MUCH);

    memset(&client, 0, sizeof client);
    t.tls_name = "other.test";
    run(&t, 10);
    TEST_ASSERT_TRUE(client.failed && client.why == NET_CLOSED_TLS);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(client.text, "ostname mismatch"), client.text);

    net_tls_release(client_tls);
    client_tls = make_tls(NULL, others);
    memset(&client, 0, sizeof client);
    t = target();
    t.tls_name = "hub.test";
    run(&t, 10);
    TEST_ASSERT_TRUE(client.failed && client.why == NET_CLOSED_TLS);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(client.text, "TLS handshake: "), client.text);

    net_tls_release(client_tls);
    net_tls_release(server_tls);
    client_tls = server_tls = NULL;
    test_certs_free(certs);
    test_certs_free(others);
}

/* --- servers and proxies of a few lines ---------------------------------------------------------
 */

/* Accepts one connection, reads a request, answers; then passes bytes to and from `relay`. */
static struct {
    int fd, port, relay; /* relay 0: closes when the peer does */
    const char *answer;  /* NULL: never */
    char request[2000];
    pthread_t thread;
} stub;

static void pass_bytes(int from)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)stub.relay)};
    struct pollfd p[2] = {{.fd = from, .events = POLLIN}, {.events = POLLIN}};
    char buf[4096];
    ssize_t n = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p[1].fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(p[1].fd, (struct sockaddr *)&at, sizeof at) != 0)
        n = 0;
    while (n > 0 && poll(p, 2, 60000) > 0)
        for (int i = 0; i < 2 && n > 0; i++)
            if (p[i].revents != 0 && (n = recv(p[i].fd, buf, sizeof buf, 0)) > 0)
                n = send(p[1 - i].fd, buf, (size_t)n, MSG_NOSIGNAL);
    close(p[1].fd);
}

static void *stub_main(void *arg)
{
    int fd = accept(stub.fd, NULL, NULL);
    size_t n = 0;
    ssize_t k;

    while (strstr(stub.request, "\r\n\r\n") == NULL &&
           (k = recv(fd, stub.request + n, sizeof stub.request - n - 1, 0)) > 0)
        n += (size_t)k;
    if (stub.answer != NULL)
        (void)!send(fd, stub.answer, strlen(stub.answer), MSG_NOSIGNAL);
    if (stub.relay != 0)
        pass_bytes(fd);
    else
        while (recv(fd, &k, 1, 0) > 0)
            ;
    close(fd);
    return arg;
}

static void stub_start(const char *answer, int relay)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;

    memset(&stub, 0, sizeof stub);
    stub.answer = answer;
    stub.relay = relay;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    stub.fd = socket(AF_INET, SOCK_STREAM, 0);
    TEST_ASSERT_EQUAL(0, bind(stub.fd, (struct sockaddr *)&at, sizeof at));
    TEST_ASSERT_EQUAL(0, listen(stub.fd, 1));
    TEST_ASSERT_EQUAL(0, getsockname(stub.fd, (struct sockaddr *)&at, &len));
    stub.port = ntohs(at.sin_port);
    TEST_ASSERT_EQUAL(0, pthread_create(&stub.thread, NULL, stub_main, NULL));
}

static void stub_end(void)
{
    pthread_join(stub.thread, NULL);
    close(stub.fd);
}

/* What a server answers, and what the owner of the dial is told. */
static void test_answers_that_are_no_upgrade_are_named(void)
{
    static const char *const rows[][2] = {
        {"HTTP/1.1 404 Not Found\r\n\r\n", "websocket: the server answers 404 Not Found"},
        {"HTTP/1.1 101 X\r\n\r\n", "websocket: the server's answer is no upgrade"},
        {"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
         "websocket: the server's answer has a wrong key"},
        {"INFO {}\r\n\r\n", "websocket: the answer is not HTTP"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct ws_target t = target();
        memset(&client, 0, sizeof client);
        stub_start(rows[i][0], 0);
        t.port = stub.port;
        run(&t, 10);
        TEST_ASSERT_TRUE(client.failed);
        TEST_ASSERT_EQUAL_STRING(rows[i][1], client.text);
        stub_end();
    }
}

static void test_a_server_without_an_answer_is_left_in_time(void)
{
    struct ws_target t = target();

    stub_start(NULL, 0);
    t.port = stub.port;
    t.upgrade_ns = 30 * CLOCK_MS;
    run(&t, 10);
    TEST_ASSERT_TRUE(client.failed);
    TEST_ASSERT_EQUAL_STRING("websocket: no answer in time", client.text);
    stub_end();
}

static void through_stub(struct ws_target *t)
{
    t->proxy_host = "127.0.0.1";
    t->proxy_port = stub.port;
    t->proxy_user = "ann";
    t->proxy_password = "s3cret";
}

static void test_a_proxy_is_asked_for_a_tunnel(void)
{
    struct ws_target t = target();
    char expected[300];

    stub_start("HTTP/1.0 200 Connection established\r\n\r\n", t.port);
    through_stub(&t);
    run(&t, MUCH);
    expect_echo(MUCH);
    stub_end();
    snprintf(expected, sizeof expected,
             "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
             "Proxy-Authorization: Basic YW5uOnMzY3JldA==\r\n\r\n",
             t.port, t.port);
    TEST_ASSERT_EQUAL_STRING(expected, stub.request);
}

static void test_a_proxy_that_refuses_or_is_silent_is_named(void)
{
    struct ws_target t = target();

    stub_start("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 0);
    through_stub(&t);
    run(&t, 10);
    TEST_ASSERT_TRUE(client.failed);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(client.text, "proxy: 407"), client.text);
    TEST_ASSERT_NULL(strstr(client.text, "s3cret"));
    stub_end();
    memset(&client, 0, sizeof client);
    stub_start(NULL, 0);
    through_stub(&t);
    t.proxy_ns = 30 * CLOCK_MS;
    run(&t, 10);
    TEST_ASSERT_TRUE(client.failed);
    TEST_ASSERT_EQUAL_STRING("proxy: no answer in time", client.text);
    stub_end();
}

static void test_a_dial_that_its_owner_closes_fails_once(void)
{
    struct ws_target t = target();
    struct mf_error e;

    client.open = 1;
    TEST_ASSERT_EQUAL(0, ws_dial(&client.c, loop, &t, &dialling, NULL, &e));
    net_close(client.c, 0);
    loop_run(loop);
    TEST_ASSERT_TRUE(client.failed && client.why == NET_CLOSED_LOCAL);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_upgraded_connection_carries_bytes_both_ways);
    RUN_TEST(test_masks_are_left_out_if_the_server_agrees);
    RUN_TEST(test_messages_are_deflated_if_both_want_it);
    RUN_TEST(test_compression_that_the_server_declines_is_not_used);
    RUN_TEST(test_wss_checks_the_certificate_and_its_name);
    RUN_TEST(test_answers_that_are_no_upgrade_are_named);
    RUN_TEST(test_a_server_without_an_answer_is_left_in_time);
    RUN_TEST(test_a_proxy_is_asked_for_a_tunnel);
    RUN_TEST(test_a_proxy_that_refuses_or_is_silent_is_named);
    RUN_TEST(test_a_dial_that_its_owner_closes_fails_once);
    return UNITY_END();
}
