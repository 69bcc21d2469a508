/* ahead.c: pages of messages in the order of their deadlines; messages without a deadline in
 * sequence order.
 *
 * A page keeps the first `limit` candidates in a heap with the last of them on top while a scan
 * walks the wheel's slots (wheel.h).  The page is complete at the end of a slot with a full heap.
 * When the scan steps back, the candidates of its slot are dropped and found again. */
#include "store/store_impl.h"

#include "wheel/wheel.h"

#include <stdlib.h>

struct store_page {
    struct store *s;
    struct index *ix; /* alive while scan.wheel is */
    struct wheel_scan scan;
    struct store_at after;
    bool (*want)(void *arg, uint64_t seq);
    void *arg;
    size_t limit, count;
    bool over; /* something was left out */
    bool done, more;
    struct store_at next; /* behind which the next page begins */
    struct store_at at[];
};

static bool at_less(struct store_at a, struct store_at b)
{
    return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : a.seq < b.seq;
}

/* --- the heap --------------------------------------------------------------------------------- */

static void sift_down(struct store_page *p, size_t i)
{
    struct store_at x = p->at[i];

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= p->count)
            break;
        child += child + 1 < p->count && at_less(p->at[child], p->at[child + 1]);
        if (!at_less(x, p->at[child]))
            break;
        p->at[i] = p->at[child];
        i = child;
    }
    p->at[i] = x;
}

static void heap_push(struct store_page *p, struct store_at x)
{
    size_t i = p->count++;

    for (; i > 0 && at_less(p->at[(i - 1) / 2], x); i = (i - 1) / 2)
        p->at[i] = p->at[(i - 1) / 2];
    p->at[i] = x;
}

static void forget_from(struct store_page *p, int64_t from_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->count; i++)
        if (p->at[i].deadline_ns < from_ns)
            p->at[kept++] = p->at[i];
    p->count = kept;
    for (size_t i = kept / 2; i-- > 0;)
        sift_down(p, i);
    p->over = false;
}

/* --- a page ----------------------------------------------------------------------------------- */

static void page_visit(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct store_page *p = arg;
    bool full = p->count == p->limit;

    if (full && deadline_ns > p->at[0].deadline_ns) {
        p->over = true;
        return;
    }
    struct store_at x = {deadline_ns, index_seq(p->ix, id)};
    if (x.seq > p->s->log.committed_seq || !at_less(p->after, x))
        return;
    if (full && !at_less(x, p->at[0])) {
        p->over |= at_less(p->at[0], x);
        return;
    }
    if (p->want != NULL && !p->want(p->arg, x.seq))
        return;
    if (!full) {
        heap_push(p, x);
        return;
    }
    p->over = true;
    p->at[0] = x;
    sift_down(p, 0);
}

struct store_page *store_page_new(struct store *s, struct store_at after, int64_t to_ns,
                                  size_t limit, bool (*want)(void *arg, uint64_t seq), void *arg)
{
    struct store_page *p = NULL;

    if (limit > 0 && limit < SIZE_MAX / sizeof p->at[0] - sizeof *p)
        p = malloc(sizeof *p + limit * sizeof p->at[0]);
    if (p == NULL)
        return NULL;
    *p = (struct store_page){.s = s,
                             .ix = view_index(s),
                             .after = after,
                             .want = want,
                             .arg = arg,
                             .limit = limit,
                             .next = after};
    int64_t from = after.deadline_ns > s->now_ns ? after.deadline_ns : s->now_ns + 1;
    index_scan_begin(p->ix, &p->scan, from, to_ns);
    return p;
}

static int by_deadline(const void *a, const void *b)
{
    const struct store_at *x = a, *y = b;

    return at_less(*x, *y) ? -1 : at_less(*y, *x);
}

/* In order, each once. */
static void page_finish(struct store_page *p, bool more)
{
    size_t kept = 0;

    qsort(p->at, p->count, sizeof p->at[0], by_deadline);
    for (size_t i = 0; i < p->count; i++)
        if (i == 0 || at_less(p->at[i - 1], p->at[i]))
            p->at[kept++] = p->at[i];
    p->count = kept;
    if (kept > 0)
        p->next = p->at[kept - 1];
    p->more = more;
    p->done = true;
    wheel_scan_end(&p->scan);
}

bool ahead_ready(struct store *s, struct index *ix, struct wheel_scan *scan, size_t steps)
{
    if (scan->wheel == NULL || index_advance(ix, s->now_ns, steps))
        return true;
    scan->steps += steps;
    return false;
}

bool store_page_step(struct store_page *p, size_t steps)
{
    uint64_t stop = p->scan.steps + (steps > 0 ? steps : 1);

    if (!p->done && !ahead_ready(p->s, p->ix, &p->scan, steps))
        return false;
    while (!p->done && p->scan.steps < stop) {
        uint64_t before = p->scan.steps;
        switch (wheel_scan_step(&p->scan, (size_t)(stop - before), page_visit, p)) {
        case WHEEL_SCAN_END:
            page_finish(p, p->over);
            break;
        case WHEEL_SCAN_BACK:
            forget_from(p, p->scan.from_ns);
            break;
        case WHEEL_SCAN_SLOT:
            if (p->count == p->limit)
                page_finish(p, true);
            break;
        default:
            break;
        }
        p->scan.steps += p->scan.steps == before; /* going on to the next slot is one, too */
    }
    return p->done;
}

size_t store_page_items(struct store_page *p, const struct store_at **items, bool *more,
                        struct store_at *next)
{
    size_t kept = 0;

    for (size_t i = 0; p->done && i < p->count; i++) {
        int64_t deadline_ns;
        if (store_deadline(p->s, p->at[i].seq, &deadline_ns) && deadline_ns == p->at[i].deadline_ns)
            p->at[kept++] = p->at[i];
    }
    p->count = p->done ? kept : p->count;
    *items = p->at;
    *more = p->more;
    *next = p->next;
    return kept;
}

uint64_t store_page_steps(const struct store_page *p)
{
    return p->scan.steps;
}

void store_page_free(struct store_page *p)
{
    if (p == NULL)
        return;
    wheel_scan_end(&p->scan);
    free(p);
}

/* --- without a deadline ----------------------------------------------------------------------- */

uint64_t store_next_without_deadline(const struct store *s, bool infinite, uint64_t *from_seq,
                                     size_t *steps, bool *more)
{
    const struct index *ix = view_index(s);

    *more = false;
    for (;;) {
        uint32_t id = index_next_without_deadline(ix, infinite, from_seq, steps);
        if (id == INDEX_NONE) {
            *more = *steps == 0;
            return 0;
        }
        uint64_t seq = index_seq(ix, id);
        if (seq > s->log.committed_seq)
            return 0;
        *from_seq = seq;
        if (view_visible(s, id))
            return seq;
        *from_seq = seq + 1;
    }
}
