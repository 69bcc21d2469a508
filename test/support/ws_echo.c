/* ws_echo.c: the server side of the WebSocket tests. */
#include "ws_echo.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the server ------------------------------------------------------------------------------- */
struct echo {
    struct mf_list link;
    struct net_conn *c;
    struct ws_pipe *pipe;
};
static struct {
    struct loop *loop;
    struct net_listener *listener;
    struct ws_options options;
    struct net_tls *tls;
    struct mf_list echoes;
    int port;
} server;
static struct loop_thread *thread;

static void echo_big(struct echo *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)(i % 251);
        (void)net_write(e->c, &byte, 1);
    }
}

static void echo_command(struct echo *e, const char *line)
{
    char *text;

    if (strncmp(line, "!big ", 5) == 0) {
        echo_big(e, (size_t)strtoul(line + 5, NULL, 10));
    } else if (strncmp(line, "!bye", 4) == 0) {
        unsigned long status = strtoul(line + 4, &text, 10);
        if (status > 0)
            ws_set_farewell(e->pipe, (unsigned)status, text + 1);
        (void)net_write(e->c, "last", 4);
        net_close(e->c, 1000);
    }
}

static size_t echo_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct echo *e = arg;
    char line[256];

    if (p[0] != '!') {
        (void)net_write(e->c, p, n);
        return n;
    }
    const uint8_t *lf = memchr(p, '\n', n);
    if (lf == NULL)
        return 0;
    snprintf(line, sizeof line, "%.*s", (int)(lf - p), (const char *)p);
    echo_command(e, line);
    return (size_t)(lf - p) + 1;
}

static void echo_closed(void *arg, enum net_why why, const char *text)
{
    struct echo *e = arg;

    (void)why;
    (void)text;
    mf_list_del(&e->link);
    free(e);
}

static const struct net_handler echo_handler = {.bytes = echo_bytes, .closed = echo_closed};

static const char *shown(const char *s)
{
    return s == NULL ? "-" : s;
}

static void upgraded(void *arg, struct net_conn *c, const struct ws_request *r)
{
    struct echo *e = calloc(1, sizeof *e);
    char greeting[1024];

    (void)arg;
    if (strcmp(r->path, "/refuse") == 0 || e == NULL) {
        free(e);
        net_close(c, 1000);
        return;
    }
    e->c = c;
    e->pipe = r->pipe;
    mf_list_push(&server.echoes, &e->link);
    net_conn_set_handler(c, &echo_handler, e);
    if (strcmp(r->path, "/silent") == 0 || strcmp(r->path, "/") == 0)
        return;
    snprintf(greeting, sizeof greeting, "%s|%s|%s|%s|%s|%s|%s\n", r->path, shown(r->host),
             shown(r->user_agent), shown(r->cookie), shown(r->origin), shown(r->client_ip),
             shown(r->no_masking));
    (void)net_write(c, greeting, strlen(greeting));
}

static size_t started_bytes(void *arg, const uint8_t *p, size_t n)
{
    (void)arg;
    (void)p;
    return n;
}

static void started_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg;
    (void)why;
    (void)text;
}

static const struct net_handler started = {.bytes = started_bytes, .closed = started_closed};

static void accepted(void *arg, struct net_conn *c)
{
    net_conn_start(c, &started, NULL);
    if (server.tls != NULL && net_conn_secure(c, server.tls, NULL) != 0)
        abort();
    ws_accept(c, server.loop, &server.options, upgraded, arg);
}

static void server_setup(void *arg, struct loop *l)
{
    struct mf_error e;

    (void)arg;
    server.loop = l;
    mf_list_init(&server.echoes);
    if (net_listen(&server.listener, l, "127.0.0.1", 0, accepted, &server, &e) != 0)
        abort();
    server.port = net_listener_port(server.listener);
}

static void server_teardown(void *arg)
{
    struct mf_list *pos;

    (void)arg;
    net_listener_close(server.listener);
    ws_cancel(&server);
    mf_list_each(pos, &server.echoes)
    {
        struct echo *e = mf_container(pos, struct echo, link);
        net_close(e->c, 0);
    }
}

void ws_echo_start_tls(const struct ws_options *o, struct net_tls *tls)
{
    struct log_options quiet = {.file = "/dev/null"};
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, log_open(&quiet, &e)); /* refusals are logged */
    server.options = *o;
    if (o->handshake_timeout_ns == 0) /* two seconds are little on a busy machine */
        server.options.handshake_timeout_ns = 60 * CLOCK_S;
    server.tls = tls;
    thread = loop_thread_start(server_setup, NULL);
}

void ws_echo_start(const struct ws_options *o)
{
    ws_echo_start_tls(o, NULL);
}

void ws_echo_stop(void)
{
    if (thread == NULL)
        return;
    loop_thread_stop(thread, server_teardown, NULL);
    thread = NULL;
    log_close();
}

int ws_echo_port(void)
{
    return server.port;
}

static void cancel_all(void *arg)
{
    ws_cancel(arg);
}

void ws_echo_cancel_handshakes(void)
{
    loop_thread_call(thread, cancel_all, &server);
}

void ws_echo_pattern(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = i % 251 == '!' ? '?' : (uint8_t)(i % 251);
}

/* --- assertions ------------------------------------------------------------------------------- */
void expect_frame(struct tcp_client *c, uint8_t first, const char *payload)
{
    struct ws_frame f;

    TEST_ASSERT_TRUE_MESSAGE(ws_next(c, &f), payload);
    TEST_ASSERT_EQUAL_HEX8(first, f.first);
    TEST_ASSERT_FALSE(f.masked);
    TEST_ASSERT_EQUAL_STRING(payload, (char *)f.payload);
    free(f.payload);
}

void expect_close(struct tcp_client *c, unsigned status, const char *text)
{
    struct ws_frame f;

    TEST_ASSERT_TRUE_MESSAGE(ws_next(c, &f), text);
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_CLOSE, f.first);
    if (status == 0) {
        TEST_ASSERT_EQUAL(0, f.length);
    } else {
        TEST_ASSERT_GREATER_OR_EQUAL(2, f.length);
        TEST_ASSERT_EQUAL_MESSAGE(status, f.payload[0] << 8 | f.payload[1], text);
        TEST_ASSERT_EQUAL_STRING(text, (char *)f.payload + 2);
    }
    free(f.payload);
    TEST_ASSERT_TRUE(tcp_until_end(c));
    TEST_ASSERT_EQUAL(0, c->in.len);
}

void expect_echo(struct tcp_client *c, const void *p, size_t n)
{
    struct mf_buf got = MF_BUF_INIT;

    TEST_ASSERT_TRUE_MESSAGE(ws_collect(c, &got, n), c->timed_out ? "timed out" : "ended");
    TEST_ASSERT_EQUAL_size_t(n, got.len);
    TEST_ASSERT_EQUAL_MEMORY(p, got.ptr, n);
    mf_buf_fini(&got);
}
