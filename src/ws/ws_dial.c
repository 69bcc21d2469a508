/* ws_dial.c: from a server's name to an upgraded connection.
 *
 * Happy path: on_connected() > [CONNECT to the proxy, its 200] > [TLS] > GET, 101: the filter is
 * set, ready() gives the connection a new handler.
 * Failure: the reason is kept, the connection closes, failed() tells it.
 * Close: by the owner or the peer: on_closed() frees the dial. */
#include "ws/ws_dial.h"

#include "base/clock.h"
#include "base/rand.h"
#include "codec/base64.h"
#include "ws/pipe_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD_MAX      8192
#define DEFAULT_LIMIT (2 * CLOCK_S)
#define DEFLATE       "permessage-deflate"

enum step { STEP_CONNECT, STEP_TUNNEL, STEP_SECURE, STEP_UPGRADE };

struct ws_dial {
    struct net_conn *c;
    struct loop *loop;
    struct loop_timer *timer;
    const struct ws_dial_handler *handler;
    void *arg;
    enum step step;
    bool failed, offered;
    struct mf_buf tunnel; /* the request to the proxy; empty: none */
    struct mf_buf get;    /* the upgrade */
    char accept[WS_ACCEPT];
    struct net_tls *tls;
    char *tls_name;
    size_t max_message, seen;
    int64_t limits[STEP_UPGRADE + 1];
    char text[256]; /* why it failed */
};

static void dial_free(struct ws_dial *d)
{
    loop_timer_free(d->timer);
    net_tls_release(d->tls);
    free(d->tls_name);
    if (d->tunnel.ptr != NULL) /* it may hold a password */
        explicit_bzero(d->tunnel.ptr, d->tunnel.cap);
    mf_buf_fini(&d->tunnel);
    mf_buf_fini(&d->get);
    free(d);
}

static void dial_fail(struct ws_dial *d, const char *fmt, ...) MF_PRINTF(2, 3);
static void dial_fail(struct ws_dial *d, const char *fmt, ...)
{
    va_list ap;

    if (d->failed)
        return;
    va_start(ap, fmt);
    vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
    d->failed = true;
    net_close(d->c, 0);
}

static void enter_step(struct ws_dial *d, enum step step)
{
    d->step = step;
    d->seen = 0;
    loop_timer_arm(d->timer, loop_mono_ns(d->loop) + d->limits[step]);
}

/* --- requests --------------------------------------------------------------------------------- */

/* An IPv6 address stands in brackets. */
static void put_host(struct mf_buf *b, const char *host, int port)
{
    bool v6 = strchr(host, ':') != NULL;

    mf_buf_printf(b, "%s%s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static void build_tunnel(struct mf_buf *b, const struct ws_target *t)
{
    struct mf_buf pair = MF_BUF_INIT;

    if (t->proxy_host == NULL)
        return;
    mf_buf_puts(b, "CONNECT ");
    put_host(b, t->host, t->port);
    mf_buf_puts(b, " HTTP/1.1\r\nHost: ");
    put_host(b, t->host, t->port);
    if (t->proxy_user != NULL && t->proxy_password != NULL) {
        mf_buf_printf(&pair, "%s:%s", t->proxy_user, t->proxy_password);
        mf_buf_puts(b, "\r\nProxy-Authorization: Basic ");
        base64_write(b, mf_buf_slice(&pair), BASE64_STANDARD);
        if (pair.ptr != NULL)
            explicit_bzero(pair.ptr, pair.cap);
        if (mf_buf_failed(&pair))
            b->failed = true;
        mf_buf_fini(&pair);
    }
    mf_buf_puts(b, "\r\n\r\n");
}

static void build_get(struct ws_dial *d, const struct ws_target *t)
{
    struct mf_buf key = MF_BUF_INIT;
    uint8_t random[16];

    rand_bytes(random, sizeof random);
    base64_write(&key, mf_slice(random, sizeof random), BASE64_STANDARD);
    if (mf_buf_failed(&key)) {
        d->get.failed = true;
        return;
    }
    ws_accept_key(d->accept, mf_buf_slice(&key));
    mf_buf_printf(&d->get, "GET %s HTTP/1.1\r\nHost: ", t->path[0] == '\0' ? "/" : t->path);
    put_host(&d->get, t->host, t->port);
    mf_buf_printf(&d->get,
                  "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %.*s\r\n"
                  "Sec-WebSocket-Version: 13\r\n",
                  MF_FMT(mf_buf_slice(&key)));
    if (t->compression)
        mf_buf_puts(&d->get, "Sec-WebSocket-Extensions: " DEFLATE
                             "; server_no_context_takeover; client_no_context_takeover\r\n");
    if (t->no_masking)
        mf_buf_puts(&d->get, "Nats-No-Masking: true\r\n");
    mf_buf_puts(&d->get, "\r\n");
    mf_buf_fini(&key);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void begin_upgrade(struct ws_dial *d)
{
    enter_step(d, STEP_UPGRADE);
    (void)net_write(d->c, d->get.ptr, d->get.len); /* it is closing then */
}

static void begin_tls(struct ws_dial *d)
{
    struct mf_error e;

    if (d->tls == NULL) {
        begin_upgrade(d);
        return;
    }
    enter_step(d, STEP_SECURE);
    if (net_conn_secure_client(d->c, d->tls, d->tls_name, &e) != 0)
        dial_fail(d, "%s", e.text);
}

static void on_connected(void *arg)
{
    struct ws_dial *d = arg;

    if (d->tunnel.len == 0) {
        begin_tls(d);
        return;
    }
    enter_step(d, STEP_TUNNEL);
    (void)net_write(d->c, d->tunnel.ptr, d->tunnel.len);
}

static void on_secured(void *arg)
{
    begin_upgrade(arg);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The server must keep no context between messages: we keep none either. */
static bool agreed_deflate(const struct http_request *r, bool *agreed)
{
    struct mf_slice v, name, param;
    bool alone = false;

    *agreed = http_get(r, "Sec-WebSocket-Extensions", &v);
    if (!*agreed)
        return true;
    if (!http_next(&v, ';', &name) || !mf_eq_nocase(name, DEFLATE))
        return false;
    while (http_next(&v, ';', &param))
        alone = alone || mf_eq_nocase(param, "server_no_context_takeover");
    return alone;
}

static bool check_upgrade(struct ws_dial *d, const struct http_request *r, int status,
                          struct ws_agreed *a)
{
    struct mf_slice v = MF_SLICE_NONE;

    *a = (struct ws_agreed){false, false};
    if (status != 101)
        dial_fail(d, "websocket: the server answers %d %s", status, http_status_text(status));
    else if (!http_has_token(r, "Upgrade", "websocket") ||
             !http_has_token(r, "Connection", "Upgrade"))
        dial_fail(d, "websocket: the server's answer is no upgrade");
    else if (!http_get(r, "Sec-WebSocket-Accept", &v) || !mf_eq_str(v, d->accept))
        dial_fail(d, "websocket: the server's answer has a wrong key");
    else if (!agreed_deflate(r, &a->compression) || (a->compression && !d->offered))
        dial_fail(d, "websocket: the server wants an extension that was not offered");
    a->no_masking = http_get(r, "Nats-No-Masking", &v) && mf_eq_str(v, "true");
    return !d->failed;
}

/* The connection has a new owner afterwards. */
static void hand_over(struct ws_dial *d, const struct ws_agreed *a)
{
    struct ws_verdict v = {.compress = a->compression, .no_masking = true};
    struct ws_pipe *pipe = ws_pipe_new(&v, d->max_message);
    const struct ws_dial_handler *h = d->handler;
    struct net_conn *c = d->c;
    void *arg = d->arg;

    if (pipe == NULL) {
        dial_fail(d, "%s", mf_err_text(MF_NOMEM));
        return;
    }
    pipe->masks = !a->no_masking;
    net_conn_set_filter(c, &ws_pipe_filter, pipe);
    if (net_closing(c))
        return; /* out of memory: on_closed() tells */
    dial_free(d);
    h->ready(arg, c, a);
}

static size_t on_head(struct ws_dial *d, const struct http_request *r, int status, size_t head)
{
    struct ws_agreed a;

    if (d->step == STEP_TUNNEL && status / 100 == 2) {
        begin_tls(d);
    } else if (d->step == STEP_TUNNEL) {
        dial_fail(d, "proxy: %d %s", status, http_status_text(status));
    } else if (check_upgrade(d, r, status, &a)) {
        hand_over(d, &a);
    }
    return head;
}

static size_t on_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct ws_dial *d = arg;
    struct http_request r;
    const char *fault;
    int status;
    ssize_t head;

    if (d->failed || (d->step != STEP_TUNNEL && d->step != STEP_UPGRADE))
        return n;
    head = http_parse_answer(p, n, d->seen, HEAD_MAX, &r, &status, &fault);
    d->seen = n;
    if (head == 0)
        return 0;
    if (head < 0) {
        dial_fail(d, "%s: %s", d->step == STEP_TUNNEL ? "proxy" : "websocket", fault);
        return n;
    }
    return on_head(d, &r, status, (size_t)head);
}

static void on_timeout(void *arg)
{
    static const char *const what[] = {
        [STEP_CONNECT] = "dial tcp: i/o timeout",
        [STEP_TUNNEL] = "proxy: no answer in time",
        [STEP_SECURE] = "TLS handshake timeout",
        [STEP_UPGRADE] = "websocket: no answer in time",
    };
    struct ws_dial *d = arg;

    dial_fail(d, "%s", what[d->step]);
}

static void on_closed(void *arg, enum net_why why, const char *text)
{
    struct ws_dial *d = arg;
    char copy[sizeof d->text];

    if (d->failed)
        snprintf(copy, sizeof copy, "%s", d->text);
    else if (d->step == STEP_TUNNEL || d->step == STEP_UPGRADE)
        snprintf(copy, sizeof copy, "%s: %.200s", d->step == STEP_TUNNEL ? "proxy" : "websocket",
                 text);
    else
        snprintf(copy, sizeof copy, "%.250s", text);
    d->handler->failed(d->arg, why, copy);
    dial_free(d);
}

static const struct net_handler handler = {
    .bytes = on_bytes,
    .secured = on_secured,
    .closed = on_closed,
};

/* --- beginning -------------------------------------------------------------------------------- */

static struct ws_dial *dial_new(struct loop *l, const struct ws_target *t)
{
    struct ws_dial *d = calloc(1, sizeof *d);
    const int64_t limits[] = {DEFAULT_LIMIT, t->proxy_ns, t->tls_ns, t->upgrade_ns};

    if (d == NULL)
        return NULL;
    d->loop = l;
    d->timer = loop_timer_new(l, on_timeout, d);
    build_tunnel(&d->tunnel, t);
    build_get(d, t);
    d->offered = t->compression;
    d->max_message = t->max_message;
    d->tls = t->tls == NULL ? NULL : net_tls_retain(t->tls);
    d->tls_name = mf_slice_dup(mf_str(t->tls_name != NULL ? t->tls_name : t->host));
    for (size_t i = 0; i < MF_COUNT(limits); i++)
        d->limits[i] = limits[i] > 0 ? limits[i] : DEFAULT_LIMIT;
    if (d->timer == NULL || d->tls_name == NULL || mf_buf_failed(&d->tunnel) ||
        mf_buf_failed(&d->get)) {
        dial_free(d);
        return NULL;
    }
    return d;
}

int ws_dial(struct net_conn **out, struct loop *l, const struct ws_target *t,
            const struct ws_dial_handler *h, void *arg, struct mf_error *e)
{
    const struct net_dial_to to = {
        .host = t->proxy_host != NULL ? t->proxy_host : t->host,
        .port = t->proxy_host != NULL ? t->proxy_port : t->port,
        .timeout_ns = t->dial_ns,
        .spread = t->spread,
    };
    struct ws_dial *d = dial_new(l, t);
    int rc;

    if (d == NULL)
        return mf_fail(e, MF_NOMEM, "websocket");
    d->handler = h;
    d->arg = arg;
    rc = net_dial(&d->c, l, &to, on_connected, &handler, d, e);
    if (rc != 0)
        dial_free(d);
    else
        *out = d->c;
    return rc;
}
