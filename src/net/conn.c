/* conn.c: the life of a connection, from accept or connect to closed().
 *
 * Happy path: net_conn_start() watches for readability; on_event() calls net_read(), which shows
 * the bytes; writes of the owner note TODO_FLUSH and are sent at the end of the turn.
 * Failure: net_conn_end() keeps the reason and notes TODO_CLOSE, from any call.
 * Close: close_begin() sends the last bytes it can; with a linger time left it waits for
 * writability; close_finish() calls closed() and gives everything back but the struct, which
 * libuv's close callback frees. */
#include "net/net_impl.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* 10,000 idle connections should cost few megabytes: look twice before this grows. */
_Static_assert(sizeof(struct net_conn) <= 512, "struct net_conn has grown");

#define DISCARD_MAX (256u << 10)

static void notify_closed(struct net_conn *c);
static void close_finish(struct net_conn *c);
static void hear_out(struct net_conn *c);

struct net_conn *net_conn_new(struct net_ctx *x)
{
    struct net_conn *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->ctx = x;
    x->refs++;
    c->fd = -1;
    mf_list_init(&c->work);
    mf_list_init(&c->timed);
    mf_list_init(&c->ready);
    c->lane = x->lobby;
    return c;
}

/* --- what the socket says --------------------------------------------------------------------- */

/* Reads now if the turn has time and no connection of the lane waits. */
static void on_readable(struct net_conn *c)
{
    struct loop *l = c->ctx->loop;

    if (!mf_list_empty(&c->lane->readable) || work_turn_spent(l)) {
        net_lane_read(c);
        return;
    }
    net_read(c);
    work_lap(l, WORK_READ, NULL, c->lane->name);
}

static void on_event(uv_poll_t *h, int status, int events)
{
    struct net_conn *c = mf_container(h, struct net_conn, poll);

    if (status < 0) {
        /* libuv stopped watching because of an error on the socket; reading or writing names it,
         * and brings what arrived before it. */
        events = c->events;
        c->events = 0;
    }
    if (c->flags & CONN_HEARING) {
        hear_out(c);
        return;
    }
    if (c->flags & CONN_CONNECTING) {
        net_dial_ready(c);
        return;
    }
    if ((events & UV_READABLE) && net_conn_listens(c))
        on_readable(c);
    if ((events & UV_WRITABLE) && (c->flags & CONN_BLOCKED)) {
        c->flags &= ~(unsigned)CONN_BLOCKED;
        net_conn_todo(c, TODO_FLUSH);
    }
    if (status < 0)
        net_conn_poll(c);
}

int net_conn_attach(struct net_conn *c, int fd)
{
    int rc = uv_poll_init(loop_uv(c->ctx->loop), &c->poll, fd);

    if (rc != 0)
        return rc;
    c->fd = fd;
    c->flags |= CONN_POLLED;
    return 0;
}

void net_conn_poll(struct net_conn *c)
{
    int want = 0;

    if (!(c->flags & CONN_POLLED) || (c->flags & CONN_DONE))
        return;
    if (c->flags & CONN_CONNECTING)
        want = UV_WRITABLE;
    else if (c->flags & CONN_BLOCKED)
        want = UV_WRITABLE;
    if (!(c->flags & CONN_CONNECTING) && (net_conn_listens(c) || (c->flags & CONN_HEARING)))
        want |= UV_READABLE;
    if (want == c->events)
        return;
    c->events = (uint8_t)want;
    if (want == 0)
        uv_poll_stop(&c->poll);
    else if (uv_poll_start(&c->poll, want, on_event) != 0)
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
}

/* --- work noted for the end of the turn ------------------------------------------------------- */

void net_conn_todo(struct net_conn *c, unsigned what)
{
    c->todo |= (uint8_t)what;
    if (mf_list_empty(&c->work)) {
        mf_list_push(&c->ctx->work, &c->work);
        c->ctx->works++;
    }
    loop_defer(c->ctx->loop, &c->ctx->hook);
}

void net_conn_relieve(struct net_conn *c)
{
    struct net_ctx *x = c->ctx;
    struct net_conn *oldest;

    if (x->works <= x->works_max)
        return;
    oldest = mf_container(mf_list_pop(&x->work), struct net_conn, work);
    if (oldest == c || oldest->todo != TODO_FLUSH) {
        mf_list_push(&x->work, &oldest->work); /* not now; the next one who asks gets another */
        return;
    }
    x->works--;
    oldest->todo = 0;
    net_flush_now(oldest);
}

/* Reads and drops the peer's bytes; *ended: the peer closed its side. */
static size_t discard_input(struct net_conn *c, bool *ended)
{
    size_t total = 0;
    ssize_t n = 1;

    while (total < DISCARD_MAX &&
           (n = recv(c->fd, c->ctx->wire, NET_READ_BUFFER, MSG_DONTWAIT)) > 0)
        total += (size_t)n;
    *ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    return total;
}

/* Closing a socket while the peer still sends resets the connection, and the last bytes sent may
 * be lost.  So with CONN_HEAR the peer's bytes are read and dropped within the linger time;
 * closed() is called before, so the owner need not wait. */
static void hear_out(struct net_conn *c)
{
    bool ended;

    (void)discard_input(c, &ended);
    if (ended)
        net_conn_todo(c, TODO_EXPIRED);
}

/* All bytes are sent. */
static void close_ready(struct net_conn *c)
{
    bool ended = false;

    if ((c->flags & CONN_BROKEN) || !(c->flags & CONN_HEAR)) {
        close_finish(c);
        return;
    }
    c->flags |= CONN_HEARING;
    notify_closed(c);
    (void)shutdown(c->fd, SHUT_WR);
    (void)discard_input(c, &ended);
    if (!ended)
        net_timed_set(c, loop_mono_ns(c->ctx->loop) + (int64_t)c->linger_ms * CLOCK_MS);
    if (ended ||
        (c->flags & CONN_BROKEN)) /* the peer closed its side, or there is no memory to wait with */
        close_finish(c);
    else
        net_conn_poll(c);
}

static void close_begin(struct net_conn *c)
{
    bool lost = c->why == NET_CLOSED_RESET || c->why == NET_CLOSED_WRITE ||
                c->why == NET_CLOSED_SLOW || c->why == NET_CLOSED_NOMEM;

    if (c->flags & CONN_RETRYING)
        return; /* comes again when libuv is through with the handle */
    if (lost || c->fd < 0 || (c->flags & CONN_CONNECTING))
        c->flags |= CONN_BROKEN;
    net_flush_now(c);
    if ((c->flags & CONN_BROKEN) || c->linger_ms == 0 || c->tail.sealed == 0) {
        close_ready(c);
        return;
    }
    c->flags |= CONN_FLUSHING;
    net_timed_set(c, loop_mono_ns(c->ctx->loop) + (int64_t)c->linger_ms * CLOCK_MS);
    if (c->flags & CONN_BROKEN) /* no memory to wait with */
        close_finish(c);
}

static void work_closing(struct net_conn *c, unsigned todo)
{
    if (todo & TODO_CLOSE) {
        close_begin(c);
        return;
    }
    if (c->flags & CONN_HEARING) {
        if ((todo & TODO_EXPIRED) || (c->flags & CONN_BROKEN))
            close_finish(c);
        return;
    }
    if (!(c->flags & CONN_FLUSHING))
        return; /* TODO_CLOSE came while we were at work: next round */
    net_flush_now(c);
    if ((c->flags & CONN_BROKEN) || (todo & TODO_EXPIRED))
        close_finish(c);
    else if (c->tail.sealed == 0)
        close_ready(c);
}

void net_conn_work(struct net_conn *c)
{
    unsigned todo = c->todo;

    c->todo = 0;
    if (c->flags & CONN_DONE)
        return;
    if (c->flags & CONN_CLOSING) {
        work_closing(c, todo);
        return;
    }
    if ((todo & TODO_EXPIRED) && (c->flags & CONN_CONNECTING)) {
        net_dial_late(c);
        return;
    }
    if ((todo & TODO_EXPIRED) && (c->flags & CONN_BLOCKED) && mf_list_empty(&c->timed)) {
        net_conn_end(c, NET_CLOSED_SLOW, 0, 0);
        return;
    }
    if (todo & TODO_CONNECTED)
        net_dial_done(c);
    if (todo & TODO_SHOW)
        net_show(c);
    if (!(c->flags & CONN_CLOSING))
        net_flush_now(c); /* notes TODO_DRAINED */
    if (((todo | c->todo) & TODO_DRAINED) && !(c->flags & CONN_CLOSING)) {
        c->todo &= (uint8_t)~TODO_DRAINED;
        if ((c->flags & CONN_STARTED) && c->handler->drained != NULL)
            c->handler->drained(c->arg);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

void net_conn_end(struct net_conn *c, enum net_why why, unsigned linger_ms, int error)
{
    if (c->flags & CONN_CLOSING) {
        if (why == NET_CLOSED_WRITE || why == NET_CLOSED_NOMEM)
            c->flags |= CONN_BROKEN;
        return;
    }
    c->flags |= CONN_CLOSING;
    c->why = (uint8_t)why;
    c->error = error;
    c->linger_ms = linger_ms;
    net_settle(c);
    c->tail.pos = c->tail.end = c->tail.mark = NULL;
    net_timed_stop(c);
    net_conn_poll(c);
    net_conn_todo(c, TODO_CLOSE);
}

static void on_handle_closed(uv_handle_t *h)
{
    struct net_conn *c = mf_container(h, struct net_conn, poll);

    free(c->local_ip);
    free(c);
}

static const char *close_text(const struct net_conn *c)
{
    const char *text = NULL;

    if (c->why == NET_CLOSED_TLS)
        text = net_tls_text(c);
    else if (c->dial != NULL)
        text = net_dial_text(c);
    if (text != NULL)
        return text;
    if (c->error != 0)
        return strerror(c->error);
    switch ((enum net_why)c->why) {
    case NET_CLOSED_LOCAL:
        return "closed";
    case NET_CLOSED_PEER:
        return "closed by the peer";
    case NET_CLOSED_SLOW:
        return "the peer does not read";
    case NET_CLOSED_FILTER:
        return "framing violated";
    case NET_CLOSED_NOMEM:
        return mf_err_text(MF_NOMEM);
    case NET_CLOSED_RESET:
    case NET_CLOSED_WRITE:
    case NET_CLOSED_TLS:
        break;
    }
    return "connection lost";
}

/* Bytes in the kernel for a peer that does not read would stay there for minutes. */
static void forget_unsent(struct net_conn *c)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

static void ext_free(struct net_conn *c)
{
    struct net_ext *x = c->ext;

    if (x == NULL)
        return;
    if (x->filter != NULL && x->filter->free != NULL)
        x->filter->free(x->filter_state);
    net_tls_free(x->tls);
    free(x);
    c->ext = NULL;
}

/* Calls closed(); the connection has no owner afterwards. */
static void notify_closed(struct net_conn *c)
{
    if (c->flags & CONN_NOTIFIED)
        return;
    c->flags |= CONN_NOTIFIED;
    net_queues_clear(c);
    net_carry_free(c);
    if (c->flags & CONN_STARTED)
        c->handler->closed(c->arg, (enum net_why)c->why, close_text(c));
    net_dial_free(c);
    ext_free(c);
}

static void close_finish(struct net_conn *c)
{
    struct net_ctx *x = c->ctx;
    bool ended;

    c->flags |= CONN_DONE;
    net_timed_stop(c);
    mf_list_del(&c->ready);
    if (!mf_list_empty(&c->work)) { /* noted again while at work */
        mf_list_del(&c->work);
        x->works -= !(c->flags & CONN_LANED);
    }
    if (c->why == NET_CLOSED_SLOW)
        forget_unsent(c);
    else if (c->fd >= 0 && !(c->flags & (CONN_BROKEN | CONN_HEARING)))
        (void)discard_input(c, &ended);
    notify_closed(c);
    c->ctx = NULL;
    net_ctx_put(x);
    if (!(c->flags & CONN_POLLED)) {
        on_handle_closed((uv_handle_t *)&c->poll);
        return;
    }
    /* A loop that is being freed has closed the handle already; nobody tells when it is through, so
     * the memory is left. */
    bool ours = !uv_is_closing((uv_handle_t *)&c->poll);
    int fd = c->fd;
    if (ours)
        uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    close(fd); /* after uv_close(), which still names it to epoll */
}

void net_close_heard(struct net_conn *c, unsigned linger_ms)
{
    if (!(c->flags & CONN_CLOSING))
        c->flags |= CONN_HEAR;
    net_close(c, linger_ms);
}

void net_hangup(struct loop *l)
{
    struct net_ctx *x = net_ctx_get(l);
    struct mf_list *p, *tmp;

    if (x == NULL)
        return;
    mf_list_each_safe(p, tmp, &x->timed)
    {
        struct net_conn *c = mf_container(p, struct net_conn, timed);
        if (c->flags & CONN_HEARING)
            close_finish(c);
    }
    net_ctx_put(x);
}

void net_close(struct net_conn *c, unsigned linger_ms)
{
    net_conn_end(c, NET_CLOSED_LOCAL, linger_ms, 0);
}

bool net_closing(const struct net_conn *c)
{
    return (c->flags & CONN_CLOSING) != 0;
}

/* --- owner's calls ---------------------------------------------------------------------------- */

void net_conn_start(struct net_conn *c, const struct net_handler *h, void *arg)
{
    if (c->flags & CONN_CLOSING)
        return; /* closed before it had an owner */
    c->flags |= CONN_STARTED;
    net_conn_set_handler(c, h, arg);
    net_conn_poll(c);
}

void net_set_kept_max(struct net_conn *c, size_t bytes)
{
    c->kept_max = bytes;
}

void net_conn_set_handler(struct net_conn *c, const struct net_handler *h, void *arg)
{
    c->handler = h;
    c->arg = arg;
    net_conn_swapped(c, c->kept_for);
}

void net_conn_swapped(struct net_conn *c, int kept_for)
{
    c->flags |= CONN_SWAPPED;
    if ((c->flags & CONN_SHOWING) || c->carry.len > 0)
        c->kept_for = (uint8_t)kept_for; /* else nothing is kept */
    if (!(c->flags & (CONN_SHOWING | CONN_CLOSING)))
        net_conn_todo(c, TODO_SHOW);
}

void net_pause(struct net_conn *c)
{
    c->flags |= CONN_PAUSED;
    net_conn_poll(c);
}

void net_resume(struct net_conn *c)
{
    if (!(c->flags & CONN_PAUSED) || (c->flags & CONN_CLOSING))
        return;
    c->flags &= ~(unsigned)CONN_PAUSED;
    net_conn_poll(c);
    net_conn_todo(c, TODO_SHOW);
    if (c->flags & CONN_MORE)
        net_lane_read(c);
}

void net_set_write_deadline(struct net_conn *c, int64_t ns)
{
    c->deadline_ns = ns;
    if (!(c->flags & CONN_BLOCKED) || (c->flags & CONN_CLOSING))
        return;
    if (ns > 0)
        net_timed_set(c, loop_mono_ns(c->ctx->loop) + ns);
    else
        net_timed_stop(c);
}

int net_conn_need_ext(struct net_conn *c)
{
    net_lent_own(c); /* from now on all of it is encoded */
    if (c->ext == NULL)
        c->ext = calloc(1, sizeof *c->ext);
    return c->ext == NULL ? MF_NOMEM : 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

void net_addr_text(const struct sockaddr *sa, char ip[INET6_ADDRSTRLEN], uint16_t *port)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    ip[0] = '\0';
    *port = 0;
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
        inet_ntop(AF_INET, &in->sin_addr, ip, INET6_ADDRSTRLEN);
        *port = ntohs(in->sin_port);
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)sa;
        /* IPv4 through a socket that serves both shows as IPv4, as clients and logs expect it. */
        if (memcmp(&in->sin6_addr, mapped, sizeof mapped) == 0)
            inet_ntop(AF_INET, in->sin6_addr.s6_addr + 12, ip, INET6_ADDRSTRLEN);
        else
            inet_ntop(AF_INET6, &in->sin6_addr, ip, INET6_ADDRSTRLEN);
        *port = ntohs(in->sin6_port);
    }
}

void net_conn_set_peer(struct net_conn *c, const struct sockaddr *sa)
{
    if (sa->sa_family == AF_UNIX) {
        c->flags |= CONN_LOCAL;
        memcpy(c->ip, "unix", sizeof "unix");
        return;
    }
    net_addr_text(sa, c->ip, &c->port);
}

bool net_conn_is_local(const struct net_conn *c)
{
    return (c->flags & CONN_LOCAL) != 0;
}

int net_adopt(struct net_conn **out, struct loop *l, int fd, const char *name, struct mf_error *e)
{
    struct net_ctx *x = net_ctx_get(l);
    struct net_conn *c = x == NULL ? NULL : net_conn_new(x);
    int rc = c == NULL ? UV_ENOMEM : net_conn_attach(c, fd);

    if (x != NULL)
        net_ctx_put(x); /* c holds it */
    if (rc == 0) {
        c->flags |= CONN_LOCAL;
        snprintf(c->ip, sizeof c->ip, "%s", name);
        *out = c;
        return 0;
    }
    close(fd);
    if (c != NULL)
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
    return mf_fail(e, rc == UV_ENOMEM ? MF_NOMEM : MF_IO, "connection: %s", uv_strerror(rc));
}

static void look_up_local(const struct net_conn *conn)
{
    struct net_conn *c = (struct net_conn *)(uintptr_t)conn; /* remembers; nothing else changes */
    struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof ss;
    char ip[INET6_ADDRSTRLEN] = "";

    if (c->local_ip != NULL || c->fd < 0 || (c->flags & CONN_DONE))
        return;
    if (getsockname(c->fd, (struct sockaddr *)&ss, &len) == 0)
        net_addr_text((struct sockaddr *)&ss, ip, &c->local_port);
    c->local_ip = mf_slice_dup(mf_str(ip));
}

const char *net_conn_ip(const struct net_conn *c)
{
    return c->ip;
}

int net_conn_port(const struct net_conn *c)
{
    return c->port;
}

const char *net_conn_local_ip(const struct net_conn *c)
{
    look_up_local(c);
    return c->local_ip == NULL ? "" : c->local_ip;
}

int net_conn_local_port(const struct net_conn *c)
{
    look_up_local(c);
    return c->local_port;
}
