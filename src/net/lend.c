/* lend.c: payloads sent straight from the read buffer.
 *
 * A message for many receivers would be copied into the queue of each, which soon is more than the
 * processor's cache holds; the kernel then reads it all from memory once more.  Instead each queue
 * notes where the payload lies in what the handler is being shown, and sendmsg() takes it from
 * there.
 *
 * Happy path: net_lend() between two writes; net_lent_send() by the flush, at the latest right
 * after bytes() returned, before that buffer is used again.
 * Failure: bytes that the socket does not take are copied into the queue, so nothing is lent
 * longer than that.  Without memory for the notes, to a connection that is blocked, encrypted or
 * filtered, or to one of very many: copied as ever.
 * Invariant: c->lent is in the context's list, or NULL. */
#include "net/net_impl.h"

#include <stdlib.h>

#define LENT_REFS  64
#define LENT_BYTES (256u << 10)
#define LENT_CONNS 256 /* each needs 2 KB of notes */
/* The first receivers get a copy: their queues fit in the cache, and one long iovec is less work
 * for the kernel than many short ones. */
#define COPIES   8
#define LENT_IOV (2 * LENT_REFS + 16)

struct net_lent {
    struct mf_list link; /* the context's list; next: the context's spare ones */
    struct net_conn *conn;
    size_t bytes;
    unsigned count;
    struct {
        size_t at; /* stands behind so many bytes of the app queue */
        struct mf_slice bytes;
    } ref[LENT_REFS];
};

/* --- notes ------------------------------------------------------------------------------------ */

static struct net_lent *lent_get(struct net_conn *c)
{
    struct net_ctx *x = c->ctx;
    struct mf_list *spare = mf_list_pop(&x->lent_spare);
    struct net_lent *l;

    if (spare == NULL && x->lents >= LENT_CONNS)
        return NULL;
    l = spare != NULL ? mf_container(spare, struct net_lent, link) : malloc(sizeof *l);
    if (l == NULL)
        return NULL;
    x->lents += spare == NULL;
    l->conn = c;
    l->bytes = l->count = 0;
    mf_list_push(&x->lent, &l->link);
    return l;
}

static void lent_put(struct net_conn *c)
{
    struct net_lent *l = c->lent;

    c->lent = NULL;
    mf_list_del(&l->link);
    mf_list_push(&c->ctx->lent_spare, &l->link);
}

void net_lent_trim(struct net_ctx *x)
{
    struct mf_list *p;

    while ((p = mf_list_pop(&x->lent_spare)) != NULL) {
        free(mf_container(p, struct net_lent, link));
        x->lents--;
    }
}

void net_lent_forget(struct net_conn *c)
{
    if (c->lent == NULL)
        return;
    c->tail.sealed -= c->lent->bytes;
    lent_put(c);
}

/* --- the queue with what is lent, in the order of the bytes ------------------------------------
 */

struct walk {
    const struct chunk *chunk;
    size_t off, pos; /* in the chunk; in the queue */
    unsigned ref;
};

static struct walk walk_begin(const struct net_conn *c)
{
    const struct chunk *k = c->app.head;

    return (struct walk){k, k != NULL ? k->start : 0, 0, 0};
}

static bool walk_next(const struct net_lent *l, struct walk *w, struct mf_slice *out)
{
    for (;;) {
        size_t until = w->ref < l->count ? l->ref[w->ref].at - w->pos : SIZE_MAX;
        if (until == 0) {
            *out = l->ref[w->ref++].bytes;
            return true;
        }
        if (w->chunk == NULL)
            return false;
        size_t left = w->chunk->end - w->off;
        if (left > 0) {
            *out = mf_slice(w->chunk->data + w->off, left < until ? left : until);
            w->off += out->len;
            w->pos += out->len;
            return true;
        }
        w->chunk = w->chunk->next;
        w->off = w->chunk != NULL ? w->chunk->start : 0;
    }
}

/* Drops the first `skip` bytes of the queue and copies the lent bytes of the rest. */
static int lent_copy(struct net_conn *c, size_t skip)
{
    struct chunk_queue rest = {NULL, NULL, 0};
    struct walk w = walk_begin(c);
    struct mf_slice s;
    int rc = 0;

    while (rc == 0 && walk_next(c->lent, &w, &s)) {
        size_t n = skip < s.len ? skip : s.len;
        skip -= n;
        rc = chunk_queue_append(&rest, &c->ctx->pool, s.ptr + n, s.len - n);
    }
    lent_put(c);
    net_app_drop(c, c->app.bytes);
    if (rc != 0) {
        chunk_queue_clear(&rest, &c->ctx->pool);
        c->tail.sealed = 0;
        c->flags |= CONN_BROKEN; /* a part of a message must not be followed by the next one */
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return rc;
    }
    c->tail.sealed = rest.bytes;
    chunk_queue_splice(&c->app, &rest);
    net_conn_todo(c, TODO_FLUSH);
    return 0;
}

ssize_t net_lent_send(struct net_conn *c, size_t *asked)
{
    struct iovec iov[LENT_IOV];
    struct walk w = walk_begin(c);
    struct mf_slice s;
    size_t count = 0;

    *asked = 0;
    while (count < LENT_IOV && walk_next(c->lent, &w, &s)) {
        iov[count++] = (struct iovec){(void *)(uintptr_t)s.ptr, s.len};
        *asked += s.len;
    }
    ssize_t n = net_send(c->fd, iov, count);
    if (n > 0 && (size_t)n == c->app.bytes + c->lent->bytes) {
        lent_put(c);
        net_app_drop(c, c->app.bytes);
        c->tail.sealed -= (size_t)n;
    } else if (lent_copy(c, n > 0 ? (size_t)n : 0) != 0) {
        return MF_NOMEM;
    }
    return n;
}

void net_lent_own(struct net_conn *c)
{
    if (c->lent == NULL)
        return;
    net_settle(c);
    (void)lent_copy(c, 0);
}

void net_lent_return(struct net_ctx *x)
{
    struct mf_list *p;

    while ((p = mf_list_first(&x->lent)) != NULL) {
        struct net_conn *c = mf_container(p, struct net_lent, link)->conn;
        net_flush_now(c);
        net_lent_own(c); /* it is broken or over, and nothing was sent */
    }
}

/* --- the owner's side ------------------------------------------------------------------------- */

static bool can_lend(const struct net_conn *c, const void *p, size_t n)
{
    const struct net_ctx *x = c->ctx;
    uintptr_t at = (uintptr_t)p;

    return at >= (uintptr_t)x->shown && at + n <= (uintptr_t)x->shown_end && c->ext == NULL &&
           !(c->flags & (CONN_BLOCKED | CONN_BROKEN | CONN_DONE | CONN_CONNECTING | CONN_CLOSING));
}

bool net_may_lend_(struct net_conn *c, const void *p, size_t n)
{
    struct net_ctx *x = c->ctx;

    if (x->copied != p) {
        x->copied = p;
        x->copies = 0;
    }
    return x->copies++ >= COPIES && can_lend(c, p, n);
}

int net_lend(struct net_conn *c, const void *p, size_t n)
{
    struct net_lent *l = c->lent;

    if (l != NULL && (l->count == LENT_REFS || l->bytes >= LENT_BYTES)) {
        net_flush_now(c);
        l = NULL;
    }
    if (!can_lend(c, p, n) || (l == NULL && (l = c->lent = lent_get(c)) == NULL))
        return net_write(c, p, n);
    net_settle(c);
    l->ref[l->count].at = c->app.bytes;
    l->ref[l->count++].bytes = mf_slice(p, n);
    l->bytes += n;
    c->tail.sealed += n;
    return 0;
}
