/* write.c: from the owner's writes to the socket.
 *
 * Happy path: net_reserve() hands out room in the last chunk; net_commit() only moves `pos`.
 * Taking a chunk notes TODO_FLUSH, so at the end of the turn net_flush_now() counts what was
 * committed, passes it through filter and TLS, and writes it with one sendmsg(); the chunks go
 * back to the pool.
 * Failure: a socket that takes no more sets CONN_BLOCKED; writability brings us back.  A write
 * error ends the connection.
 * Invariant: after net_flush_now() there is no chunk to write to, or something is bound to flush
 * again (writability, the handshake, the connect); so the inline fast path need not note anything.
 */
#include "net/net_impl.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

#define IOVECS 32

/* A connection that wrote this much in one go probably will again. */
#define HOT_BYTES  (16u << 10)
#define COLD_BYTES (2u << 10)

void net_settle(struct net_conn *c)
{
    size_t n = (size_t)(c->tail.pos - c->tail.mark);

    if (n == 0)
        return;
    c->app.tail->end += (uint32_t)n;
    c->app.bytes += n;
    c->tail.sealed += n;
    c->tail.mark = c->tail.pos;
}

static void tail_none(struct net_conn *c)
{
    c->tail.pos = c->tail.end = c->tail.mark = NULL;
}

void net_app_drop(struct net_conn *c, size_t n)
{
    chunk_queue_drop(&c->app, &c->ctx->pool, n);
    if (c->app.tail == NULL)
        tail_none(c);
}

void net_app_splice(struct net_conn *c, struct chunk_queue *dst)
{
    net_settle(c);
    chunk_queue_splice(dst, &c->app);
    tail_none(c);
}

void net_queues_clear(struct net_conn *c)
{
    net_lent_forget(c);
    net_queue_end(c->ctx, &c->app);
    if (c->ext != NULL) {
        net_queue_end(c->ctx, &c->ext->mid);
        net_queue_end(c->ctx, &c->ext->send);
    }
    tail_none(c);
    c->tail.sealed = 0;
}

/* --- the owner's side ------------------------------------------------------------------------- */

uint8_t *net_reserve_slow(struct net_conn *c, size_t n)
{
    struct chunk *k;
    size_t hint;

    if (c->flags & CONN_CLOSING)
        return NULL;
    if (c->tail.pos != NULL && n <= (size_t)(c->tail.end - c->tail.pos))
        return c->tail.pos;
    net_settle(c);
    if (c->tail.sealed >= NET_FLUSH_EARLY) {
        net_flush_now(c);
        if (c->flags & CONN_CLOSING)
            return NULL;
    }
    net_conn_relieve(c);
    hint = (c->flags & CONN_HOT) && c->tail.sealed < HOT_BYTES / 2 ? HOT_BYTES : 2 * c->tail.sealed;
    k = chunk_get(&c->ctx->pool, n, hint);
    if (k == NULL) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return NULL;
    }
    chunk_queue_push(&c->app, k);
    c->tail.pos = c->tail.mark = k->data;
    c->tail.end = k->data + k->cap;
    net_conn_todo(c, TODO_FLUSH);
    return k->data;
}

int net_write_slow(struct net_conn *c, const void *p, size_t n)
{
    size_t room = (size_t)(c->tail.end - c->tail.pos);
    uint8_t *to;

    if (c->flags & CONN_CLOSING)
        return MF_CLOSED;
    if (n == 0)
        return 0;
    if (room > 0) {
        room = room < n ? room : n;
        memcpy(c->tail.pos, p, room);
        c->tail.pos += room;
        if (room == n)
            return 0;
    }
    to = net_reserve_slow(c, n - room);
    if (to == NULL)
        return c->why == NET_CLOSED_NOMEM ? MF_NOMEM : MF_CLOSED;
    memcpy(to, (const uint8_t *)p + room, n - room);
    c->tail.pos += n - room;
    return 0;
}

void net_want_drained(struct net_conn *c, size_t low_water)
{
    if (c->flags & CONN_CLOSING)
        return;
    c->low_water = low_water;
    c->flags |= CONN_WANT_DRAINED;
    net_conn_todo(c, TODO_FLUSH);
}

void net_flush(struct net_conn *c)
{
    if (!(c->flags & CONN_CLOSING))
        net_flush_now(c);
}

/* --- the socket's side ------------------------------------------------------------------------ */

ssize_t net_send(int fd, struct iovec *iov, size_t count)
{
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;

    do {
        if (m.msg_iovlen == 1) /* most often; the kernel has less to do */
            n = send(fd, iov[0].iov_base, iov[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
        else
            n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t send_some(int fd, const struct chunk_queue *q, size_t *asked)
{
    struct iovec iov[IOVECS];

    return net_send(fd, iov, (size_t)chunk_queue_iov(q, iov, IOVECS, asked));
}

static void block_writing(struct net_conn *c, bool progress)
{
    c->flags |= CONN_BLOCKED;
    net_conn_poll(c);
    if (c->deadline_ns > 0 && !(c->flags & CONN_CLOSING) &&
        (progress || mf_list_empty(&c->timed))) {
        int64_t now = loop_mono_ns(c->ctx->loop);
        net_timed_set(c, c->deadline_ns < INT64_MAX - now ? now + c->deadline_ns : INT64_MAX - 1);
    }
}

static void unblock_writing(struct net_conn *c)
{
    net_conn_poll(c); /* no longer interested in writability */
    if (!(c->flags & CONN_CLOSING))
        net_timed_stop(c);
    if (c->app.head != NULL && c->app.bytes == 0)
        net_app_drop(c, 0); /* reserved, but nothing committed */
}

static void note_drained(struct net_conn *c)
{
    if ((c->flags & CONN_WANT_DRAINED) && c->tail.sealed <= c->low_water) {
        c->flags &= ~(unsigned)CONN_WANT_DRAINED;
        net_conn_todo(c, TODO_DRAINED);
    }
}

static void drop_sent(struct net_conn *c, size_t n)
{
    c->tail.sealed -= n;
    if (c->ext != NULL)
        chunk_queue_drop(&c->ext->send, &c->ctx->pool, n);
    else
        net_app_drop(c, n);
}

static void encode_queued(struct net_conn *c)
{
    c->flags |= CONN_PUMPING;
    if (c->ext->filter != NULL)
        net_filter_pump(c);
    if (c->ext->tls != NULL)
        net_tls_pump(c);
    c->flags &= ~(unsigned)CONN_PUMPING;
}

static void note_heat(struct net_conn *c)
{
    if (c->tail.sealed >= HOT_BYTES)
        c->flags |= CONN_HOT;
    else if (c->tail.sealed < COLD_BYTES)
        c->flags &= ~(unsigned)CONN_HOT;
}

void net_flush_now(struct net_conn *c)
{
    size_t budget = NET_WRITE_BUDGET, asked;
    bool progress = false;
    ssize_t n;

    net_settle(c);
    note_heat(c);
    while (!(c->flags & (CONN_BLOCKED | CONN_BROKEN | CONN_DONE | CONN_CONNECTING))) {
        if (c->ext != NULL) {
            encode_queued(c);
            if (c->flags & CONN_BROKEN)
                return;
        }
        const struct chunk_queue *q = c->ext != NULL ? &c->ext->send : &c->app;
        bool lent = c->lent != NULL;
        if (q->bytes == 0 && !lent) {
            unblock_writing(c);
            break;
        }
        if (budget == 0) {
            block_writing(c,
                          progress); /* others want to be served too; writability comes at once */
            break;
        }
        n = lent ? net_lent_send(c, &asked) : send_some(c->fd, q, &asked);
        if (n < 0 && n != -EAGAIN && n != -EWOULDBLOCK) {
            c->flags |= CONN_BROKEN;
            net_conn_end(c, NET_CLOSED_WRITE, 0, (int)-n);
            return;
        }
        if (n > 0) {
            if (!lent)
                drop_sent(c, (size_t)n);
            progress = true;
            budget -= (size_t)n < budget ? (size_t)n : budget;
        }
        if (n < 0 || (size_t)n < asked) {
            block_writing(c, progress);
            break;
        }
    }
    note_drained(c);
}
