/* walk.c: the messages a consumer has not looked at yet, in order: one cursor for each filter,
 * merged; with many filters one cursor over all messages, each matched against the filters.  A
 * consumer that has looked at everything has no cursor; what comes later reaches it directly
 * (pump_direct). */
#include "consumer/consumer_impl.h"

#include <stdlib.h>

#define FIRST_CALLS 1   /* of cursors, to find the first message of a list */
#define SCAN        512 /* messages that are matched in one call */
#define MATCH_STEPS 2   /* what one of them counts for */

struct head {
    struct stream_cursor *cursor;
    uint64_t seq; /* 0: ask */
    bool dead;
};
struct walk {
    struct consumer *c;
    size_t n, last; /* last: where the last one came from */
    uint64_t taken; /* the last one */
    struct head at[];
};

void walk_end(struct walk *w)
{
    for (size_t i = 0; w != NULL && i < w->n; i++)
        stream_cursor_free(w->at[i].cursor);
    free(w);
}

void walk_free(struct consumer *c)
{
    walk_end(c->walk);
    c->walk = NULL;
}

struct walk *walk_new(struct consumer *c, bool list, uint64_t from)
{
    const struct filters *f = &c->filters;
    size_t count = f->trees != NULL ? 1 : f->n;
    struct walk *w = calloc(1, sizeof *w + count * sizeof w->at[0]);

    if (w == NULL)
        return NULL;
    w->c = c;
    for (; w->n < count; w->n++) {
        struct stream_cursor **cursor = &w->at[w->n].cursor;
        if (stream_cursor_new(cursor, c->group->stream,
                              f->trees != NULL ? MF_LIT(">") : f->subs[w->n].sub.pattern, list,
                              from) != 0) {
            walk_end(w);
            return NULL;
        }
        if (list)
            stream_cursor_upto(*cursor, c->list_upto);
    }
    return w;
}

/* The next message under a cursor that the consumer wants.  *more: only this call found none. */
static void head_next(struct consumer *c, struct head *h, bool *more, uint64_t *steps)
{
    uint64_t before = stream_cursor_steps(h->cursor);

    for (int i = 0; i < SCAN; i++) {
        h->seq = stream_cursor_next_any(h->cursor, more, &h->dead);
        if (h->seq == 0 || c->filters.trees == NULL ||
            filters_want(c, stream_subject_at(c->group->stream, h->seq)))
            break;
        *steps += MATCH_STEPS;
        *more = i + 1 == SCAN;
        h->seq = 0;
    }
    *steps += stream_cursor_steps(h->cursor) - before;
}

/* The lowest head; NULL: none now.  *more: a cursor only ran out of its budget.  A head that went
 * while it stood there was taken off the count then, or was never on it. */
static struct head *lowest(struct walk *w, bool *more, uint64_t *steps)
{
    struct head *best = NULL;

    for (size_t i = 0; i < w->n; i++) {
        struct head *h = &w->at[i];
        bool again = false;
        if (h->seq != 0 && !stream_present(w->c->group->stream, h->seq))
            h->seq = 0;
        if (h->seq == 0)
            head_next(w->c, h, &again, steps);
        *more = *more || again;
        if (h->seq != 0 && (best == NULL || h->seq < best->seq))
            best = h;
    }
    return *more ? NULL : best; /* a lower one may still come from there */
}

/* Other filters may match it, too: it comes once. */
static uint64_t take(struct walk *w, struct head *h, bool *dead)
{
    w->taken = h->seq;
    w->last = (size_t)(h - w->at);
    *dead = h->dead;
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].seq == w->taken)
            w->at[i].seq = 0;
    return w->taken;
}

uint64_t walk_step(struct walk *w, bool *more, bool *dead, uint64_t *steps)
{
    struct head *h = lowest(w, more, steps);

    return h == NULL ? 0 : take(w, h, dead);
}

/* --- last per subject ------------------------------------------------------------------------- */

void walk_list_end(struct consumer *c)
{
    c->listing = false;
    if (c->closed == NULL)
        return;
    mf_buf_fini(c->closed);
    free(c->closed);
    c->closed = NULL;
}

/* Where seq stands in `closed`, or would. */
static size_t closed_place(const struct consumer *c, uint64_t seq)
{
    const uint64_t *at = c->closed == NULL ? NULL : (const uint64_t *)(const void *)c->closed->ptr;
    size_t low = 0, high = c->closed == NULL ? 0 : c->closed->len / sizeof *at;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool walk_is_closed(const struct consumer *c, uint64_t seq)
{
    size_t i = closed_place(c, seq);

    return c->closed != NULL && i < c->closed->len / sizeof seq &&
           ((const uint64_t *)(const void *)c->closed->ptr)[i] == seq;
}

int walk_close(struct consumer *c, uint64_t seq)
{
    if (c->closed == NULL && (c->closed = calloc(1, sizeof *c->closed)) == NULL)
        return MF_NOMEM;
    size_t at = closed_place(c, seq) * sizeof seq, behind = c->closed->len - at;
    if (mf_buf_reserve(c->closed, sizeof seq) == NULL)
        return MF_NOMEM;
    memmove(c->closed->ptr + at + sizeof seq, c->closed->ptr + at, behind);
    memcpy(c->closed->ptr + at, &seq, sizeof seq);
    c->closed->len += sizeof seq;
    return 0;
}

void walk_unclose(struct consumer *c, uint64_t seq)
{
    size_t at = closed_place(c, seq) * sizeof seq;

    c->closed->len -= sizeof seq;
    memmove(c->closed->ptr + at, c->closed->ptr + at + sizeof seq, c->closed->len - at);
}

void walk_list(struct consumer *c, uint64_t from, uint64_t upto)
{
    walk_free(c);
    walk_list_end(c);
    c->listing = from <= upto;
    c->list_at = from;
    c->list_upto = upto;
}

/* *more: it may lie further on. */
static uint64_t list_first(struct consumer *c, bool *more)
{
    struct walk *w = walk_new(c, true, c->list_at);
    bool dead;
    uint64_t seq = 0, steps = 0;

    *more = true;
    for (int i = 0; w != NULL && seq == 0 && *more && i < FIRST_CALLS; i++) {
        *more = false;
        seq = walk_step(w, more, &dead, &steps);
    }
    walk_end(w);
    return seq;
}

uint64_t walk_list_first(struct consumer *c)
{
    bool more;

    return list_first(c, &more);
}

bool walk_list_again(struct consumer *c, uint64_t from)
{
    bool more = false;

    walk_free(c);
    if (!c->listing || (list_first(c, &more) == 0 && !more)) {
        walk_list_end(c);
        return false;
    }
    c->list_at = from;
    c->list_new = false;
    return true;
}

bool walk_lists(const struct consumer *c, uint64_t seq)
{
    uint64_t older;

    return c->listing && seq >= c->list_at && seq <= c->list_upto && !walk_is_closed(c, seq) &&
           stream_newest_upto(c->group->stream, seq, c->list_upto, &older);
}

/* --- next ---------------------------------------------------------------------------------- */

/* At the end of what there is: 0. */
static uint64_t ended(struct consumer *c, bool anything)
{
    if (c->pending > 0 && !count_runs(c)) /* none is left: what is counted is not there */
        consumer_recount(c);
    if (!anything && c->pending == 0)
        walk_free(c); /* at the end: news come directly */
    return 0;
}

uint64_t walk_next(struct consumer *c, bool *dead)
{
    bool more = false;
    uint64_t seq, steps = 0;

    if (c->pending == 0 && c->walk == NULL) {
        walk_list_end(c);
        return 0;
    }
    if (c->walk == NULL) {
        c->walk = walk_new(c, c->listing, c->listing ? c->list_at : c->next);
        if (c->walk == NULL) {
            pump_later(c);
            return 0;
        }
    }
    struct head *h = lowest(c->walk, &more, &steps);
    c->group->spent += steps / PUMP_STEPS;
    c->again = c->again || more;
    if (more)
        return 0;
    if (c->listing && h == NULL) {
        walk_free(c);
        walk_list_end(c);
        return walk_next(c, dead);
    }
    if (h == NULL || (!c->listing && h->seq > c->group->told))
        return ended(c, h != NULL);
    seq = take(c->walk, h, dead);
    *(c->listing ? &c->list_at : &c->next) = seq + 1;
    if (c->listing && walk_is_closed(c, seq))
        *dead = true; /* and it is not counted */
    else if (c->pending > 0)
        c->pending--;
    return seq;
}

uint64_t walk_last(const struct consumer *c)
{
    uint64_t last = c->pending == 0 && c->group->told > c->sseq ? c->group->told : c->next - 1;

    return c->listing || last < c->sseq ? c->sseq : last;
}

void walk_back(struct consumer *c, uint64_t seq)
{
    c->pending += stream_present(c->group->stream, seq); /* it may have gone while it was read */
    *(c->listing ? &c->list_at : &c->next) = seq;
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
    return true;
}
