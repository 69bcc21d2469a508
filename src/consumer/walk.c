/* walk.c: the messages a consumer has not looked at yet, in order: one cursor for each filter,
 * merged.  A consumer that has looked at everything has no cursor; what comes later reaches it
 * directly (pump_direct). */
#include "consumer_impl.h"

#include "mayfly/log.h"

#include <stdlib.h>

struct head {
    struct stream_cursor *cursor;
    uint64_t seq; /* 0: ask */
    bool dead;
};
struct walk {
    size_t n, last; /* last: where the last one came from */
    uint64_t taken; /* the last one */
    struct head at[];
};

void walk_free(struct consumer *c)
{
    for (size_t i = 0; c->walk != NULL && i < c->walk->n; i++)
        stream_cursor_free(c->walk->at[i].cursor);
    free(c->walk);
    c->walk = NULL;
}

static int walk_open(struct consumer *c)
{
    char *const *filter;
    size_t n = consumer_filters(&c->cfg, &filter), count = n == 0 ? 1 : n;
    struct walk *w = calloc(1, sizeof *w + count * sizeof w->at[0]);
    int rc = w == NULL ? MF_NOMEM : 0;

    c->walk = w;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = stream_cursor_new(&w->at[i].cursor, c->group->stream,
                               n == 0 ? MF_LIT(">") : mf_str(filter[i]), false, c->next);
        w->n = i + (rc == 0);
    }
    if (rc != 0)
        walk_free(c);
    return rc;
}

/* The lowest head; NULL: none now.  *more: a cursor only ran out of its budget.  A head that went
 * while it stood there was taken off the count then, or was never on it. */
static struct head *lowest(struct walk *w, struct stream *s, bool *more)
{
    struct head *best = NULL;

    for (size_t i = 0; i < w->n; i++) {
        struct head *h = &w->at[i];
        bool again = false;
        if (h->seq != 0 && !stream_present(s, h->seq))
            h->seq = 0;
        if (h->seq == 0)
            h->seq = stream_cursor_next_any(h->cursor, &again, &h->dead);
        *more = *more || again;
        if (h->seq != 0 && (best == NULL || h->seq < best->seq))
            best = h;
    }
    return *more ? NULL : best; /* a lower one may still come from there */
}

/* --- last per subject ------------------------------------------------------------------------- */

struct listing {
    uint64_t *at;
    size_t n, cap;
    uint64_t told;
    bool failed;
};

static bool list_subject(void *arg, const struct stream_subject *x)
{
    struct listing *l = arg;

    if (x->last_seq > l->told)
        return true; /* it comes with the news */
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 64 : 2 * l->cap;
        uint64_t *p = realloc(l->at, cap * sizeof *p);
        l->failed = p == NULL;
        if (l->failed)
            return false;
        l->at = p;
        l->cap = cap;
    }
    l->at[l->n++] = x->last_seq;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int walk_snapshot(struct consumer *c)
{
    char *const *filter;
    size_t n = consumer_filters(&c->cfg, &filter);
    struct listing l = {.told = c->group->told};

    for (size_t i = 0; !l.failed && i < (n == 0 ? 1 : n); i++)
        stream_each_subject(c->group->stream, n == 0 ? MF_LIT(">") : mf_str(filter[i]),
                            list_subject, &l);
    if (l.failed) {
        free(l.at);
        return MF_NOMEM;
    }
    if (l.n > 0)
        qsort(l.at, l.n, sizeof *l.at, by_number);
    free(c->snapshot);
    c->snapshot = l.at;
    c->snapshot_n = l.n;
    c->snapshot_at = 0;
    return 0;
}

int walk_snapshot_again(struct consumer *c)
{
    int rc = walk_snapshot(c);

    while (rc == 0 && c->snapshot_n > 0 && c->snapshot[c->snapshot_n - 1] >= c->next)
        c->snapshot_n--;
    while (rc == 0 && c->snapshot_at < c->snapshot_n && c->snapshot[c->snapshot_at] <= c->sseq)
        c->snapshot_at++;
    return rc;
}

bool walk_snapshot_has(const struct consumer *c, uint64_t seq)
{
    size_t left = c->snapshot_n - c->snapshot_at;

    return left > 0 &&
           bsearch(&seq, c->snapshot + c->snapshot_at, left, sizeof seq, by_number) != NULL;
}

/* Those of the list that went meanwhile were taken off the count when they did. */
static uint64_t snapshot_next(struct consumer *c, bool *dead)
{
    while (c->snapshot_at < c->snapshot_n) {
        uint64_t seq = c->snapshot[c->snapshot_at++];
        if (stream_next(c->group->stream, seq) == seq) {
            c->pending -= c->pending > 0;
            *dead = false;
            return seq;
        }
        if (stream_present(c->group->stream, seq)) { /* past its deadline, not swept */
            c->pending -= c->pending > 0;
            *dead = true;
            return seq;
        }
    }
    free(c->snapshot);
    c->snapshot = NULL;
    c->snapshot_n = c->snapshot_at = 0;
    return 0;
}

/* --- next ---------------------------------------------------------------------------------- */

uint64_t walk_next(struct consumer *c, bool *dead)
{
    bool more = false;
    uint64_t seq;

    if (c->snapshot != NULL && (seq = snapshot_next(c, dead)) != 0)
        return seq;
    if (c->pending == 0 && c->walk == NULL)
        return 0;
    if (c->walk == NULL && walk_open(c) != 0) {
        pump_later(c);
        return 0;
    }
    struct head *h = lowest(c->walk, c->group->stream, &more);
    if (h == NULL || h->seq > c->group->told) {
        c->again = c->again || more;
        if (!more && c->pending > 0) /* none is left: what is counted is not there */
            consumer_recount(c);
        if (!more && h == NULL && c->pending == 0)
            walk_free(c); /* at the end: news come directly */
        return 0;
    }
    seq = h->seq;
    *dead = h->dead;
    h->seq = 0;
    c->walk->last = (size_t)(h - c->walk->at);
    c->walk->taken = seq;
    c->next = seq + 1;
    if (c->pending > 0)
        c->pending--;
    return seq;
}

uint64_t walk_last(const struct consumer *c)
{
    uint64_t last = c->pending == 0 && c->group->told > c->sseq ? c->group->told : c->next - 1;

    return c->snapshot != NULL || last < c->sseq ? c->sseq : last;
}

void walk_back(struct consumer *c, uint64_t seq)
{
    c->pending += stream_present(c->group->stream, seq); /* it may have gone while it was read */
    if (c->snapshot_at > 0 && c->snapshot[c->snapshot_at - 1] == seq) {
        c->snapshot_at--;
        return;
    }
    c->next = seq;
    if (c->walk == NULL)
        return;
    struct head *h = &c->walk->at[c->walk->last];
    if (c->walk->taken != seq || h->seq != 0) {
        walk_free(c);
        return;
    }
    h->seq = seq; /* cursors are dear: it stands there again */
    h->dead = false;
}

static bool same_filters(const struct consumer_config *a, const struct consumer_config *b)
{
    char *const *x, *const *y;
    size_t n = consumer_filters(a, &x);

    if (consumer_filters(b, &y) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(x[i], y[i]) != 0)
            return false;
    }
    return true;
}

/* What is being read is looked at again. */
bool walk_over(struct consumer *c, const struct consumer_config *old)
{
    if (same_filters(&c->cfg, old))
        return false;
    if (c->loading && !c->load_again && !c->load_stale) {
        c->load_stale = true;
        walk_back(c, c->load.seq);
    }
    walk_free(c);
    if (c->snapshot != NULL && walk_snapshot_again(c) != 0)
        log_error("consumer %s: no memory to list subjects: it keeps its old list", c->name);
    return true;
}
