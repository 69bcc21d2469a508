/* connect.c: outgoing connections.
 *
 * Happy path: the name is looked up by a worker, dial_next() connects to its first address,
 * net_dial_ready() finds it connected and calls connected().
 * Failure, or the time of the attempt is over: the next address; after the last, closed() with the
 * last error.
 * Close: net_dial_free() lets a lookup that cannot be stopped run out alone; the next dial to the
 * same place takes it over, so a resolver that does not answer has one question of each place at
 * most. */
#include "net/net_impl.h"

#include "base/rand.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct net_dial {
    struct net_conn *c;    /* NULL: closed while the lookup ran */
    struct mf_list orphan; /* in `orphans` then */
    const struct loop *loop;
    void (*connected)(void *arg);
    struct addrinfo *list, *next;
    struct loop_job *lookup; /* NULL: an address, no name */
    bool looking_up;
    int status;         /* the lookup's, of getaddrinfo() */
    int64_t until_ns;   /* the end of all attempts; 0: no limit */
    bool spread, named; /* named: errors tell where we dialled */
    int port;
    char *host, service[16]; /* its question; host is NULL without one */
    char text[320];          /* why it failed */
};

/* A loop and all on it belong to one thread. */
static _Thread_local struct mf_list orphans;

static void dial_next(struct net_conn *c);

/* "dial tcp host:port: connect: refused", or without the place. */
static void dial_fail(struct net_conn *c, const char *step, const char *what)
{
    struct net_dial *d = c->dial;
    bool v6 = strchr(c->ip, ':') != NULL;

    if (!d->named)
        snprintf(d->text, sizeof d->text, "connect: %s", what);
    else if (c->ip[0] == '\0')
        snprintf(d->text, sizeof d->text, "dial tcp: lookup %.200s: %s", d->host, what);
    else
        snprintf(d->text, sizeof d->text, "dial tcp %s%s%s:%d: %s%s", v6 ? "[" : "", c->ip,
                 v6 ? "]" : "", d->port, step, what);
}

static void dial_dispose(struct net_dial *d)
{
    if (d->list != NULL)
        freeaddrinfo(d->list);
    loop_job_free(d->lookup);
    free(d->host);
    free(d);
}

static void lookup_work(void *arg) /* on a worker */
{
    struct net_dial *d = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};

    d->status = getaddrinfo(d->host, d->service, &hints, &d->list);
    if (d->status != 0)
        d->list = NULL;
}

/* The same ring of addresses, begun anywhere. */
static struct addrinfo *turn_list(struct addrinfo *list)
{
    struct addrinfo *last = list, *cut = list;
    uint32_t n = 1, steps;

    if (list == NULL || list->ai_next == NULL)
        return list;
    for (; last->ai_next != NULL; last = last->ai_next)
        n++;
    steps = rand_below(n);
    if (steps == 0)
        return list;
    while (--steps > 0)
        cut = cut->ai_next;
    last->ai_next = list;
    list = cut->ai_next;
    cut->ai_next = NULL;
    return list;
}

static void lookup_done(void *arg)
{
    struct net_dial *d = arg;

    d->looking_up = false;
    if (d->spread)
        d->list = turn_list(d->list);
    d->next = d->list;
    if (d->c == NULL) {
        mf_list_del(&d->orphan);
        dial_dispose(d);
        return;
    }
    if (d->status != 0)
        dial_fail(d->c, "", gai_strerror(d->status));
    dial_next(d->c);
}

/* The handle of a failed attempt is closed: now it can watch another socket. */
static void on_retry(uv_handle_t *h)
{
    struct net_conn *c = mf_container(h, struct net_conn, poll);

    c->flags &= ~(unsigned)CONN_RETRYING;
    if (c->flags & CONN_CLOSING)
        net_conn_todo(c, TODO_CLOSE);
    else
        dial_next(c);
}

static void set_options(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* Whether an attempt is under way. */
static bool dial_at(struct net_conn *c, const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc;

    net_conn_set_peer(c, a->ai_addr);
    if (fd < 0) {
        dial_fail(c, "socket: ", strerror(errno));
        return false;
    }
    set_options(fd);
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
        dial_fail(c, "connect: ", strerror(errno));
        close(fd);
        return false;
    }
    rc = net_conn_attach(c, fd);
    if (rc != 0) {
        dial_fail(c, "connect: ", uv_strerror(rc));
        close(fd);
        return false;
    }
    net_conn_poll(c); /* writable: the attempt has ended */
    return true;
}

/* Gives the attempt its share of the time that is left. */
static void limit_attempt(struct net_conn *c)
{
    const struct net_dial *d = c->dial;
    int64_t now = loop_mono_ns(c->ctx->loop), left = d->until_ns - now, waiting = 1;

    if (d->until_ns == 0)
        return;
    for (const struct addrinfo *a = d->next; a != NULL; a = a->ai_next)
        waiting++;
    net_timed_set(c, now + (left > 0 ? left / waiting : 0));
}

static void dial_next(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    while (d->next != NULL) {
        const struct addrinfo *a = d->next;
        d->next = a->ai_next;
        if (dial_at(c, a)) {
            limit_attempt(c);
            return;
        }
    }
    net_conn_end(c, NET_CLOSED_RESET, 0, 0);
}

/* Ends this attempt; the next one begins when libuv is through with the handle. */
static void drop_attempt(struct net_conn *c)
{
    int fd = c->fd;

    c->flags &= ~(unsigned)CONN_POLLED;
    c->flags |= CONN_RETRYING;
    c->events = 0;
    c->fd = -1;
    uv_close((uv_handle_t *)&c->poll, on_retry);
    close(fd);
}

void net_dial_ready(struct net_conn *c)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0) {
        c->flags &= ~(unsigned)CONN_CONNECTING;
        net_timed_stop(c);
        net_conn_poll(c);
        net_conn_todo(c, TODO_CONNECTED | TODO_FLUSH);
        return;
    }
    dial_fail(c, "connect: ", strerror(error));
    drop_attempt(c);
}

void net_dial_late(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    if (c->flags & CONN_RETRYING)
        return; /* that attempt has failed already */
    dial_fail(c, "", "i/o timeout");
    if (d->looking_up || d->next == NULL)
        net_conn_end(c, NET_CLOSED_RESET, 0, 0);
    else
        drop_attempt(c);
}

void net_dial_done(struct net_conn *c)
{
    struct net_dial *d = c->dial;
    void (*connected)(void *arg) = d->connected;

    net_dial_free(c);
    if (connected != NULL)
        connected(c->arg);
}

const char *net_dial_text(const struct net_conn *c)
{
    return c->why == NET_CLOSED_RESET && c->dial->text[0] != '\0' ? c->dial->text : NULL;
}

void net_dial_free(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    if (d == NULL)
        return;
    c->dial = NULL;
    d->c = NULL;
    if (d->looking_up) /* lookup_done() frees it, or another dial takes it */
        mf_list_push(&orphans, &d->orphan);
    else
        dial_dispose(d);
}

/* A lookup of the same place that nobody waits for any more; NULL: none. */
static struct net_dial *adopt_lookup(const struct loop *l, const struct net_dial_to *to)
{
    struct mf_list *p;

    if (orphans.next == NULL)
        mf_list_init(&orphans);
    mf_list_each(p, &orphans)
    {
        struct net_dial *d = mf_container(p, struct net_dial, orphan);
        if (d->loop != l || d->port != to->port || strcmp(d->host, to->host) != 0)
            continue;
        mf_list_del(&d->orphan);
        d->text[0] = '\0';
        d->until_ns = 0;
        return d;
    }
    return NULL;
}

/* An address needs no worker. */
static int look_up(struct net_dial *d, struct loop *l, const char *host, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};

    snprintf(d->service, sizeof d->service, "%d", port);
    if (getaddrinfo(host, d->service, &hints, &d->list) == 0) {
        d->next = d->list;
        return 0;
    }
    d->list = NULL;
    d->host = mf_slice_dup(mf_str(host));
    d->lookup = loop_job_new(l, LOOP_NAMES, lookup_work, lookup_done, d);
    if (d->host == NULL || d->lookup == NULL)
        return MF_NOMEM;
    d->looking_up = true;
    loop_job_submit(d->lookup);
    return 0;
}

static void dial_abandon(struct net_dial *d)
{
    if (d != NULL && d->looking_up)
        mf_list_push(&orphans, &d->orphan);
    else if (d != NULL)
        dial_dispose(d);
}

/* Looked up already, or while it runs; NULL: out of memory. */
static struct net_dial *dial_new(struct loop *l, const struct net_dial_to *to)
{
    struct net_dial *d = adopt_lookup(l, to);

    if (d != NULL)
        return d;
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    mf_list_init(&d->orphan);
    d->loop = l;
    d->port = to->port;
    if (look_up(d, l, to->host, to->port) == 0)
        return d;
    dial_dispose(d);
    return NULL;
}

static int begin_dial(struct net_conn **out, struct loop *l, const struct net_dial_to *to,
                      bool named, void (*connected)(void *arg), const struct net_handler *h,
                      void *arg, struct mf_error *e)
{
    struct net_dial *d = dial_new(l, to);
    struct net_ctx *x = net_ctx_get(l);
    struct net_conn *c = x == NULL ? NULL : net_conn_new(x);

    if (x != NULL)
        net_ctx_put(x); /* c holds it */
    if (d == NULL || c == NULL) {
        dial_abandon(d);
        if (c != NULL)
            net_conn_end(c, NET_CLOSED_LOCAL, 0, 0); /* without a handler: nothing is called */
        return mf_fail(e, MF_NOMEM, "connect to %s:%d", to->host, to->port);
    }
    d->c = c;
    d->connected = connected;
    d->named = named;
    d->spread = to->spread;
    c->dial = d;
    c->flags |= CONN_CONNECTING;
    net_conn_start(c, h, arg);
    if (to->timeout_ns > 0) {
        d->until_ns = loop_mono_ns(l) + to->timeout_ns;
        net_timed_set(c, d->until_ns);
    }
    if (!d->looking_up)
        dial_next(c);
    *out = c;
    return 0;
}

int net_connect(struct net_conn **out, struct loop *l, const char *host, int port,
                void (*connected)(void *arg), const struct net_handler *h, void *arg,
                struct mf_error *e)
{
    const struct net_dial_to to = {.host = host, .port = port};

    return begin_dial(out, l, &to, false, connected, h, arg, e);
}

int net_dial(struct net_conn **out, struct loop *l, const struct net_dial_to *to,
             void (*connected)(void *arg), const struct net_handler *h, void *arg,
             struct mf_error *e)
{
    return begin_dial(out, l, to, true, connected, h, arg, e);
}

void net_conn_keep_alive(struct net_conn *c, int idle_s, int interval_s, int count)
{
    unsigned ms = (unsigned)(idle_s + interval_s * count) * 1000u;

    if (c->fd < 0)
        return;
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}
