/* pages.c: the server side of the monitor tests, and a client that takes answers apart. */
#include "pages.h"

#include "loop_thread.h"
#include "unity.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the server and its pages ----------------------------------------------------------------- */
static struct {
    struct monitor_options options;
    struct monitor *m;
    int port;
    const char *asked;
    uint64_t hits;
} server;
static struct loop_thread *thread;

static void page_hello(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)q;
    mf_buf_printf(r->body, "{\"hello\":\"%s\"}", (const char *)arg);
}

/* Shows the request: path, base path, and the parameters a to c. */
static void page_show(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)arg;
    r->content_type = "text/plain";
    mf_buf_printf(r->body, "%s|%s", monitor_path(q), monitor_base_path(q));
    for (const char *name = "abc"; *name != '\0'; name++) {
        const char *value = monitor_param(q, (char[]){*name, '\0'});
        mf_buf_printf(r->body, "|%s", value == NULL ? "(none)" : value);
    }
}

static void page_typed(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    bool auth = false;
    int64_t limit = 1024;
    uint64_t cid = 0;

    (void)arg;
    if (monitor_param_bool(q, r, "auth", &auth) != 0 ||
        monitor_param_i64(q, r, "limit", &limit) != 0 || monitor_param_u64(q, r, "cid", &cid) != 0)
        return;
    mf_buf_printf(r->body, "%d %lld %llu", auth, (long long)limit, (unsigned long long)cid);
}

static void page_status(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)arg;
    (void)q;
    r->status = 503;
    mf_buf_puts(r->body, "{\"status\":\"unavailable\"}");
}

char pages_big_byte(uint64_t i)
{
    return (char)('a' + i * i % 23);
}

static void page_big(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    uint64_t n = 0;

    (void)arg;
    if (monitor_param_u64(q, r, "n", &n) != 0)
        return;
    for (uint64_t i = 0; i < n; i++)
        mf_buf_byte(r->body, (uint8_t)pages_big_byte(i));
}

/* n steps of one byte each; without n it never ends by itself. */
struct long_page {
    uint64_t i, n;
};
static atomic_uint long_pages;

static bool long_step(struct doc *d, void *state)
{
    struct long_page *p = state;

    if (p->n != 0 && p->i == p->n)
        return false;
    if (p->n != 0)
        mf_buf_byte(&d->body, (uint8_t)pages_big_byte(p->i++));
    return true;
}

static void long_free(void *state)
{
    free(state);
    long_pages--;
}

static void page_long(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    static const doc_step steps[] = {long_step, NULL};
    struct long_page *p = calloc(1, sizeof *p);

    (void)arg;
    long_pages += p != NULL;
    if (p == NULL || monitor_param_u64(q, r, "n", &p->n) != 0)
        abort();
    r->urgent = monitor_param(q, "urgent") != NULL;
    doc_add(r->doc, steps, p, long_free);
}

unsigned pages_long(void)
{
    return long_pages;
}

static void add_page(const char *path, monitor_page page, void *arg)
{
    if (monitor_add(server.m, path, page, arg) != 0)
        abort();
}

static void server_setup(void *arg, struct loop *l)
{
    static char root[] = "root", varz[] = "varz";
    struct mf_error e;

    (void)arg;
    if (monitor_open(&server.m, l, &server.options, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    server.port = monitor_port(server.m);
    add_page("/", page_hello, root);
    add_page("/varz", page_hello, varz);
    add_page("/show", page_show, NULL);
    add_page("/typed", page_typed, NULL);
    add_page("/down", page_status, NULL);
    add_page("/big", page_big, NULL);
    add_page("/long", page_long, NULL);
    if (monitor_add(server.m, "/varz", page_hello, NULL) != MF_EXISTS)
        abort();
}

static void server_teardown(void *arg)
{
    (void)arg;
    monitor_close(server.m);
}

void pages_start(struct monitor_options o)
{
    o.host = "127.0.0.1";
    o.port = -1;
    server.options = o;
    thread = loop_thread_start(server_setup, NULL);
}

void pages_stop(void)
{
    mf_buf_fini(&body);
    if (thread != NULL)
        loop_thread_stop(thread, server_teardown, NULL);
    thread = NULL;
}

int pages_port(void)
{
    return server.port;
}

static void read_hits(void *arg)
{
    server.hits = monitor_hits(server.m, server.asked);
    (void)arg;
}

uint64_t pages_hits(const char *path)
{
    server.asked = path;
    loop_thread_call(thread, read_hits, NULL);
    return server.hits;
}

/* --- asking ----------------------------------------------------------------------------------- */
char head[2048];
struct mf_buf body = {NULL, 0, 0, false};

bool take_answer(struct tcp_client *c, bool no_body)
{
    size_t n = tcp_until(c, "\r\n\r\n");
    const char *length;

    mf_buf_clear(&body);
    head[0] = '\0';
    if (n == 0)
        return false;
    snprintf(head, sizeof head, "%.*s", (int)n, tcp_text(c));
    tcp_take(c, n);
    length = strstr(head, "Content-Length: ");
    if (length == NULL)
        n = tcp_until_end(c) ? c->in.len : 0;
    else
        n = no_body ? 0 : (size_t)strtoul(length + 16, NULL, 10);
    if (!tcp_fill(c, n))
        return false;
    mf_buf_append(&body, c->in.ptr, n);
    tcp_take(c, n);
    return true;
}

void get(const char *target, const char *headers)
{
    struct tcp_client c;
    char request[1024];

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, headers);
    tcp_dial(&c, server.port);
    tcp_puts(&c, request);
    TEST_ASSERT_TRUE_MESSAGE(take_answer(&c, false), target);
    tcp_close(&c);
}

void assert_body(const char *want)
{
    TEST_ASSERT_EQUAL_STRING(want, mf_buf_cstr(&body));
}

void assert_in_head(const char *want)
{
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(head, want), head);
}

void assert_not_in_head(const char *what)
{
    TEST_ASSERT_NULL_MESSAGE(strstr(head, what), head);
}
