/* read.c: from the socket to the handler.
 *
 * Happy path: recv() into the shared buffer, the handler consumes all of it, nothing is copied.
 * A command cut by the end of the buffer leaves a rest; it is kept in the connection's carry.  Next
 * time a small rest is copied to the front of the shared buffer and read on behind it; a large one
 * (a big payload on its way) is read on behind in the carry itself, which grows by doubling.
 * Failure: the end or a reset of the connection, after all earlier bytes were shown. Inside
 * bytes() the owner may set another handler, a filter or TLS: then the rest is theirs. */
#include "net/net_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define CARRY_ROUND 128u

void net_carry_free(struct net_conn *c)
{
    free(c->carry.base);
    c->carry = (struct net_carry){NULL, 0, 0, 0};
}

static bool in_carry(const struct net_conn *c, const uint8_t *p)
{
    uintptr_t at = (uintptr_t)p, base = (uintptr_t)c->carry.base;
    return at >= base && at < base + c->carry.cap;
}

/* Keeps [p, p+n), which may lie in the carry itself.  n > 0. */
static void keep_rest(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_carry *k = &c->carry;
    bool inside = in_carry(c, p);

    if (inside && (k->cap <= NET_CARRY_COPY || n > k->cap / 4)) {
        k->off = (size_t)(p - k->base);
        k->len = n;
        return;
    }
    if (inside || n > k->cap || k->cap > NET_CARRY_COPY) {
        size_t cap = (n + CARRY_ROUND - 1) / CARRY_ROUND * CARRY_ROUND;
        uint8_t *base = malloc(cap);
        if (base == NULL) {
            net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
            return;
        }
        memcpy(base, p, n);
        free(k->base);
        *k = (struct net_carry){base, 0, n, cap};
        return;
    }
    memcpy(k->base, p, n);
    k->off = 0;
    k->len = n;
}

/* Makes room for `want` bytes behind those kept, at least doubling.  0 or MF_NOMEM. */
static int carry_grow(struct net_carry *k, size_t want)
{
    size_t cap = k->cap < CARRY_ROUND ? CARRY_ROUND : k->cap;
    uint8_t *base;

    if (k->cap - k->off - k->len >= want)
        return 0;
    if (k->off > 0) {
        memmove(k->base, k->base + k->off, k->len);
        k->off = 0;
    }
    while (cap - k->len < want) {
        if (cap > SIZE_MAX / 2)
            return MF_NOMEM;
        cap *= 2;
    }
    if (cap == k->cap)
        return 0;
    base = realloc(k->base, cap);
    if (base == NULL)
        return MF_NOMEM;
    k->base = base;
    k->cap = cap;
    return 0;
}

/* --- showing ---------------------------------------------------------------------------------- */

/* The handler left bytes that turned out to be TLS or the filter's. */
static void redirect_rest(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_carry old = {NULL, 0, 0, 0};
    int to = c->kept_for;

    c->kept_for = FOR_HANDLER;
    if (in_carry(c, p)) { /* a new rest may be kept while we still read this one */
        old = c->carry;
        c->carry = (struct net_carry){NULL, 0, 0, 0};
    } else {
        net_carry_free(c);
    }
    if (to == FOR_TLS)
        net_tls_input(c, p, n);
    else
        net_filter_input(c, p, n);
    free(old.base);
}

static void show_bytes(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_ctx *x = c->ctx;
    size_t done = 0;

    x->shown = p;
    x->shown_end = p + n;
    while (done < n && net_conn_listens(c) && c->kept_for == FOR_HANDLER) {
        c->flags &= ~(unsigned)CONN_SWAPPED;
        c->flags |= CONN_SHOWING;
        size_t k = c->handler->bytes(c->arg, p + done, n - done);
        c->flags &= ~(unsigned)CONN_SHOWING;
        assert(k <= n - done);
        done += k;
        if (!(c->flags & CONN_SWAPPED))
            break;
    }
    x->shown = x->shown_end = NULL;
    if (!mf_list_empty(&x->lent))
        net_lent_return(x);
    if (c->flags & CONN_CLOSING)
        return;
    if (done == n) {
        net_carry_free(c);
        c->kept_for = FOR_HANDLER;
    } else if (c->kept_for != FOR_HANDLER && net_conn_listens(c)) {
        redirect_rest(c, p + done, n - done);
    } else {
        keep_rest(c, p + done, n - done);
    }
}

void net_show(struct net_conn *c)
{
    struct net_carry *k = &c->carry;

    if (!net_conn_listens(c) || k->len == 0)
        return;
    show_bytes(c, k->base + k->off, k->len);
}

int net_space_open(struct net_conn *c, uint8_t *shared, struct net_space *s)
{
    struct net_carry *k = &c->carry;

    if (k->len <= NET_CARRY_COPY) {
        if (k->len > 0)
            memcpy(shared, k->base + k->off, k->len);
        *s = (struct net_space){shared, k->len, NET_READ_BUFFER};
        return 0;
    }
    if (carry_grow(k, k->len / 4) != 0) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return MF_NOMEM;
    }
    *s = (struct net_space){k->base + k->off, k->len, k->cap - k->off};
    return 0;
}

void net_space_show(struct net_conn *c, const struct net_space *s, size_t added)
{
    if (in_carry(c, s->base))
        c->carry.len += added;
    else
        c->carry.len = 0; /* they are in the shared buffer now */
    show_bytes(c, s->base, s->have + added);
}

void net_carry_append(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_carry *k = &c->carry;

    if (carry_grow(k, n) != 0) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return;
    }
    memcpy(k->base + k->off + k->len, p, n);
    k->len += n;
    net_show(c);
}

void net_filter_plain(struct net_conn *c, const uint8_t *p, size_t n)
{
    if ((c->flags & CONN_CLOSING) || n == 0)
        return;
    if (!net_conn_listens(c) && c->kept_max != 0 && c->carry.len + n > c->kept_max) {
        net_conn_end(c, NET_CLOSED_FILTER, 0, 0);
        return;
    }
    if (c->carry.len == 0)
        show_bytes(c, p, n);
    else
        net_carry_append(c, p, n);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Bytes read, at most `limit`; 0: nothing more to be had now.  *full: all the room was used. */
static size_t read_some(struct net_conn *c, size_t limit, bool *full)
{
    struct net_space s = {c->ctx->wire, 0, NET_READ_BUFFER};
    size_t room;
    ssize_t n;

    if (c->ext == NULL && net_space_open(c, c->ctx->wire, &s) != 0)
        return 0;
    room = s.cap - s.have;
    room = room < limit ? room : limit;
    do {
        n = recv(c->fd, s.base + s.have, room, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            net_conn_end(c, NET_CLOSED_RESET, 0, errno);
        return 0;
    }
    if (n == 0) {
        if (c->ext != NULL && c->ext->tls != NULL)
            net_tls_eof(c);
        net_conn_end(c, NET_CLOSED_PEER, 0, 0);
        return 0;
    }
    *full = (size_t)n == room;
    if (c->ext == NULL)
        net_space_show(c, &s, (size_t)n);
    else if (c->ext->tls != NULL)
        net_tls_input(c, s.base, (size_t)n);
    else
        net_filter_input(c, s.base, (size_t)n);
    return (size_t)n;
}

void net_read(struct net_conn *c)
{
    size_t total = 0, n;
    bool full = true;

    while (full && total < NET_READ_BUDGET && net_conn_listens(c) && !(c->flags & CONN_MORE)) {
        if (c->todo & TODO_SHOW) { /* kept bytes come before those that follow */
            c->todo &= (uint8_t)~TODO_SHOW;
            net_show(c);
            if (!net_conn_listens(c))
                return;
        }
        n = read_some(c, NET_READ_BUDGET - total, &full);
        if (n == 0)
            return;
        total += n;
    }
}

void net_yield(struct net_conn *c)
{
    if (c->flags & (CONN_CLOSING | CONN_YIELDED))
        return;
    c->flags |= CONN_YIELDED;
    net_lane_read(c);
}

void net_read_turn(struct net_conn *c)
{
    bool yielded = (c->flags & CONN_YIELDED) != 0;

    if (yielded) {
        c->flags &= ~(unsigned)CONN_YIELDED;
        net_conn_poll(c); /* it may have stopped to watch for input */
        net_show(c);
    }
    if ((c->flags & CONN_MORE) && net_conn_listens(c)) {
        c->flags &= ~(unsigned)CONN_MORE;
        net_filter_input(c, NULL, 0);
    }
    if (net_conn_listens(c))
        net_read(c);
}
