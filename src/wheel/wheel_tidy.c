/* wheel_tidy.c: closes the gaps among the wheel's chunks, so that whole pages can be unmapped. */
#include "wheel/wheel_impl.h"

/* Replaces the number of a moved chunk wherever it is stored. */
static void relink_chunk(struct wheel *w, const struct chunk *c, uint32_t from, uint32_t to)
{
    struct bucket *b;

    if (c->bucket == BUCKET_DUE) {
        w->pool.place[to] = w->pool.place[from];
        w->heap[w->pool.place[to]].chunk = to;
        if (w->open == from)
            w->open = to;
        return;
    }
    wheel_scan_chunk_moved(w, from, to);
    b = &w->bucket[c->bucket];
    if (c->prev == NONE)
        b->first = to;
    else
        chunk_at(w, c->prev)->next = to;
    if (c->next == NONE)
        b->last = to;
    else
        chunk_at(w, c->next)->prev = to;
}

static void move_chunk(struct wheel *w, uint32_t from, uint32_t to)
{
    struct chunk *c = chunk_at(w, to);
    uint32_t first;

    memcpy(c, chunk_at(w, from), sizeof *c);
    relink_chunk(w, c, from, to);
    first = c->bucket == BUCKET_DUE ? c->head : 0;
    for (uint32_t i = first; i < c->count; i++)
        if (c->id[i] != NONE)
            __builtin_prefetch(ref_of(w, c->id[i]), 1);
    for (uint32_t i = first; i < c->count; i++)
        if (c->id[i] != NONE)
            ref_set(w, c->id[i], to, i);
    w->moves += c->count - first;
}

void wheel_tidy(struct wheel *w, size_t moves)
{
    struct pool *p = &w->pool;

    for (size_t done = 0; p->owed > 0 && done <= moves; done += CHUNK_ITEMS) {
        uint32_t page, from;
        if (!wheel_sparse(w)) {
            p->owed = 0;
            return;
        }
        while (p->mapped[p->high] == 0)
            p->high--;
        page = p->high * 64 + 63 - (uint32_t)__builtin_clzll(p->mapped[p->high]);
        if (p->free[page] == UINT64_MAX) {
            wheel_pool_unmap(p, page);
            p->owed--;
            continue;
        }
        /* Sparse means that more than two pages of chunks are free, so there is room below this
         * page. */
        from = page * PAGE_CHUNKS + 63 - (uint32_t)__builtin_clzll(~p->free[page]);
        move_chunk(w, from, wheel_pool_take(p));
        p->owed--;
        wheel_pool_give(p, from);
        p->owed--; /* what this freed pays for nothing */
    }
}
