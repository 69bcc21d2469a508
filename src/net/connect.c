/* connect.c: outgoing connections.
 *
 * Happy path: the name is looked up by a worker, dial_next() connects to its first address,
 * net_dial_ready() finds it connected and calls connected().
 * Failure: the next address; after the last, closed() with the last error.
 * Close: net_dial_free() lets a lookup that cannot be stopped run out alone. */
#include "net/net_impl.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct net_dial {
    struct net_conn *c; /* NULL: closed while the lookup ran */
    void (*connected)(void *arg);
    struct addrinfo *list, *next;
    struct loop_job *lookup; /* NULL: an address, no name */
    bool looking_up;
    int status;              /* the lookup's, of getaddrinfo() */
    char *host, service[16]; /* its question; host is NULL without one */
    char text[320];          /* why it failed */
};

static void dial_next(struct net_conn *c);

static void dial_fail(struct net_conn *c, const char *what)
{
    snprintf(c->dial->text, sizeof c->dial->text, "connect: %s", what);
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

static void lookup_done(void *arg)
{
    struct net_dial *d = arg;

    d->looking_up = false;
    d->next = d->list;
    if (d->c == NULL) {
        dial_dispose(d);
        return;
    }
    if (d->status != 0)
        dial_fail(d->c, gai_strerror(d->status));
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

    if (fd < 0) {
        dial_fail(c, strerror(errno));
        return false;
    }
    set_options(fd);
    net_conn_set_peer(c, a->ai_addr);
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
        dial_fail(c, strerror(errno));
        close(fd);
        return false;
    }
    rc = net_conn_attach(c, fd);
    if (rc != 0) {
        dial_fail(c, uv_strerror(rc));
        close(fd);
        return false;
    }
    net_conn_poll(c); /* writable: the attempt has ended */
    return true;
}

static void dial_next(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    while (d->next != NULL) {
        const struct addrinfo *a = d->next;
        d->next = a->ai_next;
        if (dial_at(c, a))
            return;
    }
    net_conn_end(c, NET_CLOSED_RESET, 0, 0);
}

void net_dial_ready(struct net_conn *c)
{
    int error = 0, fd = c->fd;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0) {
        c->flags &= ~(unsigned)CONN_CONNECTING;
        net_conn_poll(c);
        net_conn_todo(c, TODO_CONNECTED | TODO_FLUSH);
        return;
    }
    dial_fail(c, strerror(error));
    c->flags &= ~(unsigned)CONN_POLLED;
    c->flags |= CONN_RETRYING;
    c->events = 0;
    c->fd = -1;
    uv_close((uv_handle_t *)&c->poll, on_retry);
    close(fd);
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
    if (!d->looking_up) /* else lookup_done() frees it */
        dial_dispose(d);
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
    d->lookup = loop_job_new(l, LOOP_OUTSIDE, lookup_work, lookup_done, d);
    if (d->host == NULL || d->lookup == NULL)
        return MF_NOMEM;
    d->looking_up = true;
    loop_job_submit(d->lookup);
    return 0;
}

int net_connect(struct net_conn **out, struct loop *l, const char *host, int port,
                void (*connected)(void *arg), const struct net_handler *h, void *arg,
                struct mf_error *e)
{
    struct net_dial *d = calloc(1, sizeof *d);
    struct net_ctx *x = net_ctx_get(l);
    struct net_conn *c = x == NULL ? NULL : net_conn_new(x);
    struct mf_error own;

    e = e != NULL ? e : &own;
    if (x != NULL)
        net_ctx_put(x); /* c holds it */
    if (d == NULL || c == NULL || look_up(d, l, host, port) != 0) {
        mf_fail(e, MF_NOMEM, "connect to %s:%d", host, port);
        goto err;
    }
    d->c = c;
    d->connected = connected;
    c->dial = d;
    c->flags |= CONN_CONNECTING;
    net_conn_start(c, h, arg);
    if (!d->looking_up)
        dial_next(c);
    *out = c;
    return 0;
err:
    if (d != NULL)
        dial_dispose(d);
    if (c != NULL)
        net_conn_end(c, NET_CLOSED_LOCAL, 0, 0); /* has no handler: closed() is not called */
    return e->code;
}
