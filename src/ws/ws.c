/* ws.c: the handshake, from the accepted connection to its new owner.
 *
 * Happy path: ws_accept() > on_bytes() until the request head is there > on_head(): 101, the filter
 * is set, upgraded() gives the connection a new handler.
 * Failure: a bad request is logged, answered and closed; so is a slow one, without an answer.
 * Close: ws_cancel(), or the peer closes: on_closed() frees the handshake. */
#include "ws/pipe_impl.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#include <arpa/inet.h>
#include <stdlib.h>

#define HEAD_MAX         8192
#define DEFAULT_TIMEOUT  (2 * CLOCK_S)
#define ANSWER_LINGER_MS 1000

/* In the list of handshakes until it is answered; h->timer is NULL afterwards. */
struct handshake {
    struct mf_list link;
    struct net_conn *c;
    struct loop *loop;
    const struct ws_options *o;
    void (*upgraded)(void *arg, struct net_conn *c, const struct ws_request *r);
    void *arg;
    struct loop_timer *timer;
    size_t seen; /* bytes of the head looked at */
    bool answered;
};

static _Thread_local struct mf_list handshake_list; /* the loop thread's */

static struct mf_list *get_handshakes(void)
{
    if (handshake_list.next == NULL)
        mf_list_init(&handshake_list);
    return &handshake_list;
}

static void handshake_free(struct handshake *h)
{
    mf_list_del(&h->link);
    loop_timer_free(h->timer);
    free(h);
}

/* --- a cancelled connection --------------------------------------------------------------------
 */
static size_t orphan_bytes(void *arg, const uint8_t *p, size_t n)
{
    (void)arg;
    (void)p;
    return n;
}

static void orphan_secured(void *arg)
{
    (void)arg;
}

static void orphan_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg;
    (void)why;
    (void)text;
}

static const struct net_handler orphan = {
    .bytes = orphan_bytes,
    .secured = orphan_secured,
    .closed = orphan_closed,
};

/* --- refusing --------------------------------------------------------------------------------- */
static void refuse_handshake(struct handshake *h, const char *reason, const struct mf_buf *answer)
{
    log_error("%s:%d - websocket handshake error: %s", net_conn_ip(h->c), net_conn_port(h->c),
              reason);
    h->answered = true;
    mf_list_del(&h->link);
    loop_timer_stop(h->timer);
    (void)net_write(h->c, answer->ptr, answer->len); /* it is closed either way */
    net_close(h->c, ANSWER_LINGER_MS);
}

/* Not even HTTP: the short answer that nats-server gives. */
static void refuse_head(struct handshake *h, const char *fault)
{
    struct mf_buf answer = MF_BUF_INIT;

    mf_buf_printf(&answer,
                  "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                  "Connection: close\r\n\r\n%s",
                  fault, fault);
    refuse_handshake(h, fault, &answer);
    mf_buf_fini(&answer);
}

/* --- handing over ----------------------------------------------------------------------------- */
/* The request's strings, each copied once into one block. */
struct strings {
    char *next;
};

static const char *keep_string(struct strings *s, struct mf_slice value)
{
    char *to = s->next;

    memcpy(to, value.ptr, value.len);
    to[value.len] = '\0';
    s->next += value.len + 1;
    return to;
}

static const char *keep_field(struct strings *s, const struct http_request *r, const char *name)
{
    struct mf_slice value;

    return http_get(r, name, &value) ? keep_string(s, value) : NULL;
}

/* Several Cookie fields mean the same as one. */
static const char *keep_cookies(struct strings *s, const struct http_request *r)
{
    char *begin = s->next;

    for (size_t i = 0; i < r->nfields; i++) {
        struct mf_slice v = r->field[i].value;
        if (!mf_eq_nocase(r->field[i].name, "Cookie"))
            continue;
        if (s->next != begin) {
            memcpy(s->next, "; ", 2);
            s->next += 2;
        }
        memcpy(s->next, v.ptr, v.len);
        s->next += v.len;
    }
    if (s->next == begin)
        return NULL;
    *s->next++ = '\0';
    return begin;
}

/* The first address of X-Forwarded-For, if it is one. */
static const char *keep_client_ip(struct strings *s, const struct http_request *r)
{
    struct mf_slice list, first;
    struct in6_addr binary;
    const char *ip;

    if (!http_get(r, "X-Forwarded-For", &list) || !http_next(&list, ',', &first))
        return NULL;
    ip = keep_string(s, first);
    if (inet_pton(AF_INET, ip, &binary) == 1 || inet_pton(AF_INET6, ip, &binary) == 1)
        return ip;
    return NULL;
}

static void hand_over(struct handshake *h, const struct http_request *r, char *block,
                      struct ws_pipe *pipe)
{
    struct strings s = {block};
    struct ws_request q = {
        .path = keep_string(&s, r->path),
        .host = keep_string(&s, r->host),
        .user_agent = keep_field(&s, r, "User-Agent"),
        .origin = keep_field(&s, r, "Origin"),
        .no_masking = keep_field(&s, r, "Nats-No-Masking"),
        .cookie = keep_cookies(&s, r),
        .client_ip = keep_client_ip(&s, r),
        .pipe = pipe,
    };
    struct net_conn *c = h->c;
    void (*upgraded)(void *, struct net_conn *, const struct ws_request *) = h->upgraded;
    void *arg = h->arg;

    /* upgraded() may close the connection instead of taking it: then the orphan sees it end. */
    net_conn_set_handler(c, &orphan, NULL);
    handshake_free(h);
    upgraded(arg, c, &q);
}

/* Every kept value comes from the head, except separators and NULs. */
#define BLOCK_EXTRA (2 * HTTP_FIELDS + 16)

static void accept_request(struct handshake *h, const struct http_request *r, size_t head,
                           const struct ws_verdict *v, const struct mf_buf *answer)
{
    struct ws_pipe *pipe = ws_pipe_new(v, h->o->max_message);
    char *block = malloc(head + BLOCK_EXTRA);

    if (pipe == NULL || block == NULL || net_write(h->c, answer->ptr, answer->len) != 0) {
        if (pipe != NULL)
            ws_pipe_filter.free(pipe);
        net_close(h->c, 0);
    } else {
        net_conn_set_filter(h->c, &ws_pipe_filter, pipe);
        if (!net_closing(h->c)) /* else out of memory, and the pipe is gone */
            hand_over(h, r, block, pipe);
    }
    free(block);
}

/* --- the handshake's events, in the order they come ------------------------------------------- */
static void on_head(struct handshake *h, const struct http_request *r, size_t head, bool early)
{
    struct mf_buf answer = MF_BUF_INIT;
    struct ws_verdict v;

    ws_judge(r, h->o, &v);
    if (v.status == 101 && early) {
        /* A client must wait for us; what it pushed could be a request smuggled past a proxy. */
        v.status = 400;
        v.reason = "client sent data before handshake is complete";
    }
    ws_answer(r, h->o, &v, loop_wall_ns(h->loop), &answer);
    if (mf_buf_failed(&answer))
        net_close(h->c, 0);
    else if (v.status != 101)
        refuse_handshake(h, v.reason, &answer);
    else
        accept_request(h, r, head, &v, &answer);
    mf_buf_fini(&answer);
}

static size_t on_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct handshake *h = arg;
    struct http_request r;
    const char *fault;
    ssize_t head;

    if (h->answered)
        return n;
    head = http_parse(p, n, h->seen, HEAD_MAX, &r, &fault);
    h->seen = n;
    if (head == 0)
        return 0;
    if (head < 0)
        refuse_head(h, fault);
    else
        on_head(h, &r, (size_t)head, (size_t)head < n);
    return n;
}

static void on_secured(void *arg)
{
    (void)arg; /* the client speaks first */
}

static void on_timeout(void *arg)
{
    struct handshake *h = arg;

    net_close(h->c, 0);
}

static void on_closed(void *arg, enum net_why why, const char *text)
{
    (void)why;
    (void)text;
    handshake_free(arg);
}

static const struct net_handler handler = {
    .bytes = on_bytes,
    .secured = on_secured,
    .closed = on_closed,
};

void ws_accept(struct net_conn *c, struct loop *l, const struct ws_options *o,
               void (*upgraded)(void *arg, struct net_conn *c, const struct ws_request *r),
               void *arg)
{
    struct handshake *h = calloc(1, sizeof *h);
    int64_t timeout_ns = o->handshake_timeout_ns > 0 ? o->handshake_timeout_ns : DEFAULT_TIMEOUT;

    if (h != NULL)
        h->timer = loop_timer_new(l, on_timeout, h);
    if (h == NULL || h->timer == NULL) {
        free(h);
        net_conn_set_handler(c, &orphan, NULL);
        net_close(c, 0);
        return;
    }
    h->c = c;
    h->loop = l;
    h->o = o;
    h->upgraded = upgraded;
    h->arg = arg;
    mf_list_push(get_handshakes(), &h->link);
    net_conn_set_handler(c, &handler, h);
    loop_timer_arm(h->timer, loop_mono_ns(l) + timeout_ns);
}

void ws_cancel(void *arg)
{
    struct mf_list *pos, *tmp, *handshakes = get_handshakes();

    mf_list_each_safe(pos, tmp, handshakes)
    {
        struct handshake *h = mf_container(pos, struct handshake, link);
        if (h->arg != arg)
            continue;
        h->answered = true;
        mf_list_del(&h->link);
        loop_timer_stop(h->timer);
        net_close(h->c, 0);
    }
}
