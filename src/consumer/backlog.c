/* backlog.c: the messages a consumer has not looked at yet, in order: one cursor for each filter,
 * merged; with many filters one cursor over all messages, each matched against the filters.  A
 * consumer that has looked at everything has no cursor; later messages are delivered to it directly
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
struct backlog {
    struct consumer *c;
    size_t n, last; /* last: where the last one came from */
    uint64_t taken; /* the last one */
    struct head at[];
};

void backlog_end(struct backlog *w)
{
    for (size_t i = 0; w != NULL && i < w->n; i++)
        stream_cursor_free(w->at[i].cursor);
    free(w);
}

void backlog_drop(struct consumer *c)
{
    backlog_end(c->todo.backlog);
    c->todo.backlog = NULL;
}

struct backlog *backlog_new(struct consumer *c, bool list, uint64_t from)
{
    const struct filters *f = &c->filters;
    size_t count = f->trees != NULL ? 1 : f->n;
    struct backlog *w = calloc(1, sizeof *w + count * sizeof w->at[0]);

    if (w == NULL)
        return NULL;
    w->c = c;
    for (; w->n < count; w->n++) {
        struct stream_cursor **cursor = &w->at[w->n].cursor;
        if (stream_cursor_new(cursor, c->set->stream,
                              f->trees != NULL ? MF_LIT(">") : f->subs[w->n].sub.pattern, list,
                              from) != 0) {
            backlog_end(w);
            return NULL;
        }
        if (list)
            stream_cursor_upto(*cursor, c->list.upto);
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
            filters_want(c, stream_subject_at(c->set->stream, h->seq)))
            break;
        *steps += MATCH_STEPS;
        *more = i + 1 == SCAN;
        h->seq = 0;
    }
    *steps += stream_cursor_steps(h->cursor) - before;
}

/* The lowest head; NULL: none now.  *more: a cursor only ran out of its budget.  A head that was
 * removed meanwhile was subtracted from the count then, or was never counted. */
static struct head *find_lowest(struct backlog *w, bool *more, uint64_t *steps)
{
    struct head *best = NULL;

    for (size_t i = 0; i < w->n; i++) {
        struct head *h = &w->at[i];
        bool again = false;
        if (h->seq != 0 && !stream_present(w->c->set->stream, h->seq))
            h->seq = 0;
        if (h->seq == 0)
            head_next(w->c, h, &again, steps);
        *more = *more || again;
        if (h->seq != 0 && (best == NULL || h->seq < best->seq))
            best = h;
    }
    return *more ? NULL : best; /* a lower one may still come from there */
}

/* Other filters may match the message, too: it is delivered once. */
static uint64_t consume_head(struct backlog *w, struct head *h, bool *dead)
{
    w->taken = h->seq;
    w->last = (size_t)(h - w->at);
    *dead = h->dead;
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].seq == w->taken)
            w->at[i].seq = 0;
    return w->taken;
}

uint64_t backlog_step(struct backlog *w, bool *more, bool *dead, uint64_t *steps)
{
    struct head *h = find_lowest(w, more, steps);

    return h == NULL ? 0 : consume_head(w, h, dead);
}

/* --- last per subject ------------------------------------------------------------------------- */

void backlog_end_list(struct consumer *c)
{
    c->list.active = false;
    if (c->list.closed == NULL)
        return;
    mf_buf_fini(c->list.closed);
    free(c->list.closed);
    c->list.closed = NULL;
}

/* Where seq stands in `closed`, or would. */
static size_t closed_place(const struct consumer *c, uint64_t seq)
{
    const uint64_t *at =
        c->list.closed == NULL ? NULL : (const uint64_t *)(const void *)c->list.closed->ptr;
    size_t low = 0, high = c->list.closed == NULL ? 0 : c->list.closed->len / sizeof *at;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool backlog_is_closed(const struct consumer *c, uint64_t seq)
{
    size_t i = closed_place(c, seq);

    return c->list.closed != NULL && i < c->list.closed->len / sizeof seq &&
           ((const uint64_t *)(const void *)c->list.closed->ptr)[i] == seq;
}

int backlog_close(struct consumer *c, uint64_t seq)
{
    if (c->list.closed == NULL && (c->list.closed = calloc(1, sizeof *c->list.closed)) == NULL)
        return MF_NOMEM;
    size_t at = closed_place(c, seq) * sizeof seq, behind = c->list.closed->len - at;
    if (mf_buf_reserve(c->list.closed, sizeof seq) == NULL)
        return MF_NOMEM;
    memmove(c->list.closed->ptr + at + sizeof seq, c->list.closed->ptr + at, behind);
    memcpy(c->list.closed->ptr + at, &seq, sizeof seq);
    c->list.closed->len += sizeof seq;
    return 0;
}

void backlog_reopen(struct consumer *c, uint64_t seq)
{
    size_t at = closed_place(c, seq) * sizeof seq;

    c->list.closed->len -= sizeof seq;
    memmove(c->list.closed->ptr + at, c->list.closed->ptr + at + sizeof seq,
            c->list.closed->len - at);
}

void backlog_begin_list(struct consumer *c, uint64_t from, uint64_t upto)
{
    backlog_drop(c);
    backlog_end_list(c);
    c->list.active = from <= upto;
    c->list.at = from;
    c->list.upto = upto;
}

/* The first message of the list; 0: none found in a few steps (*more: it may lie further on). */
static uint64_t find_first(struct consumer *c, bool *more)
{
    struct backlog *w = backlog_new(c, true, c->list.at);
    bool dead;
    uint64_t seq = 0, steps = 0;

    *more = true;
    for (int i = 0; w != NULL && seq == 0 && *more && i < FIRST_CALLS; i++) {
        *more = false;
        seq = backlog_step(w, more, &dead, &steps);
    }
    backlog_end(w);
    return seq;
}

uint64_t backlog_list_first(struct consumer *c)
{
    bool more;

    return find_first(c, &more);
}

bool backlog_restart_list(struct consumer *c, uint64_t from)
{
    bool more = false;

    backlog_drop(c);
    if (!c->list.active || (find_first(c, &more) == 0 && !more)) {
        backlog_end_list(c);
        return false;
    }
    c->list.at = from;
    c->list.fresh = false;
    return true;
}

bool backlog_lists(const struct consumer *c, uint64_t seq)
{
    uint64_t older;

    return c->list.active && seq >= c->list.at && seq <= c->list.upto &&
           !backlog_is_closed(c, seq) &&
           stream_newest_upto(c->set->stream, seq, c->list.upto, &older);
}

/* --- next ---------------------------------------------------------------------------------- */

/* The backlog is exhausted; returns 0. */
static uint64_t end_backlog(struct consumer *c, bool anything)
{
    if (c->todo.pending > 0 && !count_runs(c)) /* no message is left, so the count is wrong */
        consumer_recount(c);
    if (!anything && c->todo.pending == 0)
        backlog_drop(c); /* new messages are delivered directly */
    return 0;
}

uint64_t backlog_next(struct consumer *c, bool *dead)
{
    bool more = false;
    uint64_t seq, steps = 0;

    if (c->todo.pending == 0 && c->todo.backlog == NULL) {
        backlog_end_list(c);
        return 0;
    }
    if (c->todo.backlog == NULL) {
        c->todo.backlog =
            backlog_new(c, c->list.active, c->list.active ? c->list.at : c->todo.next);
        if (c->todo.backlog == NULL) {
            pump_later(c);
            return 0;
        }
    }
    struct head *h = find_lowest(c->todo.backlog, &more, &steps);
    c->set->spent += steps / PUMP_STEPS;
    c->read.again = c->read.again || more;
    if (more)
        return 0;
    if (c->list.active && h == NULL) {
        backlog_drop(c);
        backlog_end_list(c);
        return backlog_next(c, dead);
    }
    if (h == NULL || (!c->list.active && h->seq > c->set->told))
        return end_backlog(c, h != NULL);
    seq = consume_head(c->todo.backlog, h, dead);
    *(c->list.active ? &c->list.at : &c->todo.next) = seq + 1;
    if (c->list.active && backlog_is_closed(c, seq))
        *dead = true; /* and it is not counted */
    else if (c->todo.pending > 0)
        c->todo.pending--;
    return seq;
}

uint64_t backlog_last(const struct consumer *c)
{
    uint64_t last =
        c->todo.pending == 0 && c->set->told > c->delivered.sseq ? c->set->told : c->todo.next - 1;

    return c->list.active || last < c->delivered.sseq ? c->delivered.sseq : last;
}

void backlog_return(struct consumer *c, uint64_t seq)
{
    c->todo.pending += stream_present(c->set->stream, seq); /* it may be removed since */
    *(c->list.active ? &c->list.at : &c->todo.next) = seq;
    if (c->todo.backlog == NULL)
        return;
    struct head *h = &c->todo.backlog->at[c->todo.backlog->last];
    if (c->todo.backlog->taken != seq || h->seq != 0) {
        backlog_drop(c);
        return;
    }
    h->seq = seq; /* a new cursor would cost more */
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

/* A message that is being read is matched again with the new filters. */
bool backlog_refilter(struct consumer *c, const struct consumer_config *old)
{
    if (same_filters(&c->cfg, old))
        return false;
    if (c->read.busy && !c->read.redelivery && !c->read.stale) {
        c->read.stale = true;
        backlog_return(c, c->read.load.seq);
    }
    backlog_drop(c);
    return true;
}
