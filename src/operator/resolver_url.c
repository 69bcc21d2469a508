/* resolver_url.c: account JWTs behind a URL: GET <url><account>, over HTTP or HTTPS.
 *
 * Each look-up has a connection of its own, and URL_NS in all; those beyond URL_MOST wait for a
 * connection in that time, so that many look-ups of unknown accounts do not refuse others at once.
 * HTTP/1.0, so that the end of the connection is the end of the body and there are no chunks.
 * Redirects are not followed. Failure: "could not fetch <"url">: why", in nats-server's words. */
#include "operator/resolver_impl.h"

#include "base/buf.h"
#include "base/clock.h"
#include "codec/base64.h"
#include "http/http.h"
#include "jwt/jwt.h"
#include "net/net.h"
#include "session/tls_setup.h"

#include <stdio.h>
#include <stdlib.h>

#define URL_NS       (1900 * CLOCK_MS)
#define URL_HEAD_MAX (16u << 10)
#define URL_MOST     512  /* connections at a time */
#define URL_WAITING  4096 /* look-ups that wait for one */

struct url_resolver {
    struct resolver r;
    bool secure;
    char *host, *path, *login; /* path: with the slash, to which a key is added; login: base64 */
    int port;
    struct net_tls *tls;
    struct mf_list fetches, waiting; /* url_fetch.link: those with a connection, and the others */
    size_t nfetches, nwaiting;
    void (*closed)(void *arg);
    void *closed_arg;
};

struct url_fetch {
    struct mf_list link;
    struct url_resolver *u;
    struct resolver_lookup *q; /* NULL: cancelled, or answered */
    bool waits;                /* for a connection */
    struct net_conn *conn;     /* NULL: not connected, or closed */
    struct loop_timer *timer;
    struct mf_buf text; /* of the answer */
    size_t head;        /* its length; 0: not complete */
    size_t seen;
    uint64_t body;
    bool sized;
    char account[NKEY_TEXT];
};

/* --- the end of a look-up --------------------------------------------------------------------- */

static void show_url(const struct url_fetch *f, char *dst, size_t cap)
{
    const struct url_resolver *u = f->u;

    snprintf(dst, cap, "%s://%s:%d%s%s", u->secure ? "https" : "http", u->host, u->port, u->path,
             f->account);
}

static void fetch_free(struct url_fetch *f)
{
    mf_list_del(&f->link);
    if (f->waits)
        f->u->nwaiting--;
    else
        f->u->nfetches--;
    loop_timer_free(f->timer);
    mf_buf_fini(&f->text);
    free(f);
}

static void fetch_failed(struct url_fetch *f, int rc, const char *why)
{
    struct resolver_lookup *q = f->q;
    char url[1200], text[1600];

    f->q = NULL;
    loop_timer_stop(f->timer);
    if (f->conn != NULL)
        net_close(f->conn, 0);
    show_url(f, url, sizeof url);
    if (f->waits)
        fetch_free(f);
    if (q == NULL)
        return;
    snprintf(text, sizeof text, "could not fetch <\"%s\">: %s", url, why);
    resolver_finish(q, rc, MF_SLICE_NONE, text);
}

static void fetch_finish(struct url_fetch *f)
{
    struct resolver_lookup *q = f->q;
    struct mf_slice body = mf_slice(f->text.ptr + f->head, f->text.len - f->head);

    f->q = NULL;
    loop_timer_stop(f->timer);
    net_close(f->conn, 0);
    if (q != NULL)
        resolver_finish(q, 0, mf_trim(f->sized ? mf_slice(body.ptr, (size_t)f->body) : body), "");
}

static void fetch_late(void *arg)
{
    struct url_fetch *f = arg;

    fetch_failed(f, MF_TIMEOUT, "Client.Timeout exceeded while awaiting headers");
}

/* --- the answer ------------------------------------------------------------------------------- */

/* false: it failed. */
static bool read_head(struct url_fetch *f)
{
    struct http_request head;
    const char *fault = NULL;
    char why[200];
    int status;
    struct mf_slice length, coding;
    ssize_t n =
        http_parse_answer(f->text.ptr, f->text.len, f->seen, URL_HEAD_MAX, &head, &status, &fault);

    f->seen = f->text.len;
    if (n == 0)
        return true;
    if (n < 0) {
        snprintf(why, sizeof why, "malformed HTTP response: %s", fault == NULL ? "" : fault);
        fetch_failed(f, MF_PROTO, why);
        return false;
    }
    if (status != 200) {
        snprintf(why, sizeof why, "%d %s", status, http_status_text(status));
        fetch_failed(f, MF_NOTFOUND, why);
        return false;
    }
    f->head = (size_t)n;
    f->sized = http_get(&head, "Content-Length", &length);
    if (http_get(&head, "Transfer-Encoding", &coding) ||
        (f->sized && (mf_parse_u64(length, &f->body) != 0 || f->body > JWT_SIZE_MAX))) {
        fetch_failed(f, MF_PROTO, "no length that can be used");
        return false;
    }
    return true;
}

static size_t answer_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct url_fetch *f = arg;

    if (f->q == NULL)
        return n;
    mf_buf_append(&f->text, p, n);
    if (mf_buf_failed(&f->text) || f->text.len > JWT_SIZE_MAX + URL_HEAD_MAX)
        fetch_failed(f, MF_LIMIT, "too large");
    else if ((f->head > 0 || read_head(f)) && f->head > 0 && f->sized &&
             f->text.len - f->head >= f->body)
        fetch_finish(f);
    return n;
}

static void begin_waiting(struct url_resolver *u);

static void answer_closed(void *arg, enum net_why why, const char *text)
{
    struct url_fetch *f = arg;
    struct url_resolver *u = f->u;

    f->conn = NULL;
    if (f->q != NULL && f->head > 0 && !f->sized && why == NET_CLOSED_PEER) {
        struct resolver_lookup *q = f->q;
        f->q = NULL;
        resolver_finish(q, 0, mf_trim(mf_slice(f->text.ptr + f->head, f->text.len - f->head)), "");
    } else if (f->q != NULL) {
        fetch_failed(f, MF_IO, mf_has_text(text) ? text : "EOF");
    }
    fetch_free(f);
    begin_waiting(u);
    if (u->closed != NULL && mf_list_empty(&u->fetches)) {
        void (*closed)(void *closed_arg) = u->closed;
        void *closed_arg = u->closed_arg;
        net_tls_release(u->tls);
        free(u->host);
        free(u->path);
        free(u->login);
        free(u);
        closed(closed_arg);
    }
}

static void send_request(struct url_fetch *f)
{
    const struct url_resolver *u = f->u;
    struct mf_buf b = {0};

    mf_buf_printf(&b, "GET %s%s HTTP/1.0\r\nHost: %s:%d\r\nUser-Agent: mayflyd\r\n", u->path,
                  f->account, u->host, u->port);
    if (u->login != NULL)
        mf_buf_printf(&b, "Authorization: Basic %s\r\n", u->login);
    mf_buf_puts(&b, "Accept: */*\r\nConnection: close\r\n\r\n");
    if (mf_buf_failed(&b) || net_write(f->conn, b.ptr, b.len) != 0)
        fetch_failed(f, MF_NOMEM, "out of memory");
    mf_buf_fini(&b);
}

static void tls_ready(void *arg)
{
    struct url_fetch *f = arg;

    if (f->q != NULL)
        send_request(f);
}

static void begin_request(void *arg)
{
    struct url_fetch *f = arg;
    struct mf_error e;

    if (f->q == NULL)
        return;
    if (!f->u->secure)
        send_request(f);
    else if (net_conn_secure_client(f->conn, f->u->tls, f->u->host, &e) != 0)
        fetch_failed(f, e.code, e.text);
}

/* --- look-ups --------------------------------------------------------------------------------- */

static void lookup_refused(struct loop_defer *d)
{
    resolver_finish(mf_container(d, struct resolver_lookup, turn), MF_LIMIT, MF_SLICE_NONE,
                    "the account server cannot be asked now");
}

static int connect_fetch(struct url_fetch *f, struct mf_error *e)
{
    static const struct net_handler handler = {
        .bytes = answer_bytes, .secured = tls_ready, .closed = answer_closed};
    struct net_dial_to to = {.host = f->u->host, .port = f->u->port, .timeout_ns = URL_NS};

    return net_dial(&f->conn, f->u->r.loop, &to, begin_request, &handler, f, e);
}

/* Connections ended: the first ones that wait get theirs. */
static void begin_waiting(struct url_resolver *u)
{
    struct mf_list *n;
    struct mf_error e;

    while (u->nfetches < URL_MOST && (n = mf_list_first(&u->waiting)) != NULL) {
        struct url_fetch *f = mf_container(n, struct url_fetch, link);
        if (connect_fetch(f, &e) != 0) {
            fetch_failed(f, e.code, e.text);
            continue;
        }
        mf_list_del(n);
        f->waits = false;
        u->nwaiting--;
        mf_list_push(&u->fetches, n);
        u->nfetches++;
    }
}

static int start_fetch(struct url_resolver *u, struct resolver_lookup *q, struct mf_error *e)
{
    bool waits = u->nfetches >= URL_MOST;
    struct url_fetch *f = waits && u->nwaiting >= URL_WAITING ? NULL : calloc(1, sizeof *f);

    if (f == NULL)
        return mf_fail(e, MF_LIMIT, "too many accounts are being fetched");
    mf_list_init(&f->link);
    f->u = u;
    f->q = q;
    f->waits = waits;
    memcpy(f->account, q->account, sizeof f->account);
    mf_list_push(waits ? &u->waiting : &u->fetches, &f->link);
    *(waits ? &u->nwaiting : &u->nfetches) += 1;
    f->timer = loop_timer_new(u->r.loop, fetch_late, f);
    if (f->timer == NULL || (!waits && connect_fetch(f, e) != 0)) {
        fetch_free(f);
        return MF_NOMEM;
    }
    loop_timer_arm(f->timer, loop_mono_ns(u->r.loop) + URL_NS);
    q->state = f;
    return 0;
}

static void url_lookup(struct resolver *r, struct resolver_lookup *q)
{
    struct mf_error e;

    if (start_fetch((struct url_resolver *)r, q, &e) == 0)
        return;
    q->turn.fn = lookup_refused;
    loop_defer(r->loop, &q->turn);
}

static void url_cancel(struct resolver_lookup *q)
{
    struct url_fetch *f = q->state;

    if (f == NULL)
        return;
    f->q = NULL;
    q->state = NULL;
    loop_timer_stop(f->timer);
    if (f->conn != NULL)
        net_close(f->conn, 0);
    else if (f->waits)
        fetch_free(f);
}

/* --- start and stop --------------------------------------------------------------------------- */

static bool url_close(struct resolver *r, void (*closed)(void *arg), void *arg)
{
    struct url_resolver *u = (struct url_resolver *)r;

    if (!mf_list_empty(&u->fetches)) {
        u->closed = closed;
        u->closed_arg = arg;
        return false;
    }
    net_tls_release(u->tls);
    free(u->host);
    free(u->path);
    free(u->login);
    free(u);
    return true;
}

static const struct resolver_ops url_ops = {
    .close = url_close, .lookup = url_lookup, .cancel = url_cancel};

/* host, host:port, [v6], [v6]:port */
static int split_place(struct url_resolver *u, struct mf_slice place)
{
    const uint8_t *end = place.ptr + place.len, *colon;
    struct mf_slice host = place;
    uint64_t port = u->secure ? 443 : 80;

    if (place.len > 0 && place.ptr[0] == '[') {
        const uint8_t *close = memchr(place.ptr, ']', place.len);
        if (close == NULL)
            return MF_INVAL;
        host = mf_slice(place.ptr + 1, (size_t)(close - place.ptr - 1));
        colon = close + 1 < end && close[1] == ':' ? close + 1 : NULL;
    } else {
        colon = place.len == 0 ? NULL : memchr(place.ptr, ':', place.len);
        if (colon != NULL)
            host.len = (size_t)(colon - place.ptr);
    }
    if (host.len == 0 ||
        (colon != NULL &&
         (mf_parse_u64(mf_slice(colon + 1, (size_t)(end - colon - 1)), &port) != 0 || port == 0 ||
          port > 65535)))
        return MF_INVAL;
    u->port = (int)port;
    u->host = mf_slice_dup(host);
    return u->host == NULL ? MF_NOMEM : 0;
}

static int split_login(struct url_resolver *u, struct mf_slice info)
{
    uint8_t *plain = malloc(info.len + 1);
    struct mf_buf b = {0};
    ssize_t n = plain == NULL ? -1 : http_decode(plain, info, false);

    if (n >= 0) {
        base64_write(&b, mf_slice(plain, (size_t)n), BASE64_STANDARD);
        u->login = mf_slice_dup(mf_buf_slice(&b));
    }
    mf_buf_fini(&b);
    free(plain);
    return u->login == NULL ? MF_INVAL : 0;
}

static int split_url(struct url_resolver *u, const char *url, struct mf_error *e)
{
    const char *place = strstr(url, "://"), *path, *at = NULL;
    int rc = 0;

    place = place == NULL ? url : place + 3;
    u->secure = mf_starts(mf_str(url), "https") || mf_starts(mf_str(url), "HTTPS");
    path = place + strcspn(place, "/?#");
    for (const char *s = place; s < path; s++)
        at = *s == '@' ? s : at;
    if (at != NULL)
        rc = split_login(u, mf_slice(place, (size_t)(at - place)));
    if (at != NULL)
        place = at + 1;
    if (rc == 0)
        rc = split_place(u, mf_slice(place, (size_t)(path - place)));
    for (const char *s = path; *s != '\0' && rc == 0; s++)
        rc = *s <= ' ' || *s == '#' || *s == 127 ? MF_INVAL : 0;
    u->path = mf_slice_dup(mf_str(*path == '/' ? path : "/"));
    if (rc == 0 && u->path == NULL)
        rc = MF_NOMEM;
    return rc == 0 ? 0 : mf_fail(e, rc, "account resolver: not a URL of an account server");
}

struct probe {
    struct resolver_lookup q;
    struct loop *loop;
    struct mf_error e;
    bool done;
};

static void probe_answered(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why)
{
    struct probe *p = mf_container(q, struct probe, q);

    (void)jwt;
    p->done = true;
    if (rc != 0)
        mf_fail(&p->e, rc, "%s", why);
    loop_stop(p->loop);
}

/* The server is asked once at the start, without a key, as nats-server does. */
static int probe_server(struct resolver *r, struct mf_error *e)
{
    struct probe p = {.q.done = probe_answered, .loop = r->loop};

    resolver_lookup(r, &p.q);
    loop_run(r->loop);
    resolver_cancel(&p.q);
    if (p.e.code != 0)
        return mf_fail(e, p.e.code, "%s", p.e.text);
    return p.done ? 0 : mf_fail(e, MF_CLOSED, "account resolver");
}

static void closed_again(void *arg)
{
    loop_stop(arg);
}

int resolver_url_open(struct resolver **out, const struct resolver_setup *s, struct mf_error *e)
{
    const struct options_resolver *o = &s->options->operators->resolver;
    struct url_resolver *u = calloc(1, sizeof *u);
    struct options_tls block = o->tls;

    if (u == NULL)
        return mf_fail(e, MF_NOMEM, "resolver");
    u->r = (struct resolver){&url_ops, OPTIONS_RESOLVER_URL, s->loop};
    mf_list_init(&u->fetches);
    mf_list_init(&u->waiting);
    block.set = true;
    if (split_url(u, o->url, e) == 0 && (!u->secure || tls_setup(&u->tls, &block, e) == 0) &&
        probe_server(&u->r, e) == 0) {
        *out = &u->r;
        return 0;
    }
    if (!resolver_close(&u->r, closed_again, s->loop))
        loop_run(s->loop);
    return e->code;
}
