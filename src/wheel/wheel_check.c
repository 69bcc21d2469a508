/* wheel_check.c: the wheel's invariants, as code. */
#include "wheel/wheel_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(ok)                                                                                  \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            fprintf(stderr, "wheel_check: line %d: not so: %s\n", __LINE__, #ok);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct seen {
    size_t entries;
    uint32_t chunks;
};

static bool is_free(const struct wheel *w, uint32_t no)
{
    return (w->pool.free[no / PAGE_CHUNKS] >> (no % PAGE_CHUNKS) & 1) != 0;
}

static void check_entry(const struct wheel *w, uint32_t no, uint32_t slot)
{
    const struct chunk *c = chunk_at(w, no);
    int64_t tick = c->deadline[slot] >> TICK_BITS;

    CHECK(*ref_of(w, c->id[slot]) == (no << 6 | slot));
    if (c->bucket == BUCKET_DUE) {
        CHECK(tick <= w->tick || (!w->settled && tick <= w->now >> TICK_BITS));
    } else if (c->bucket == w->drain) {
        CHECK(tick >= bucket_start(w, w->drain) && tick <= bucket_end(w, w->drain));
    } else {
        CHECK(tick > w->tick);
        CHECK(bucket_of(w, tick) == c->bucket);
    }
}

static void check_bucket(const struct wheel *w, uint32_t b, struct seen *s)
{
    const struct bucket *k = &w->bucket[b];
    uint32_t prev = NONE, before = s->chunks;

    CHECK((k->first == NONE) == (k->last == NONE));
    CHECK((k->first != NONE) == ((w->occupied[b / SLOTS][b % SLOTS / 64] >> (b % 64) & 1) != 0));
    for (uint32_t no = k->first; no != NONE; no = chunk_at(w, no)->next) {
        const struct chunk *c = chunk_at(w, no);
        CHECK(!is_free(w, no));
        CHECK(c->bucket == b);
        CHECK(c->prev == prev);
        CHECK(c->count > 0 && (c->count == CHUNK_ITEMS || no == k->last));
        for (uint32_t i = 0; i < c->count; i++)
            check_entry(w, no, i);
        s->entries += c->count;
        s->chunks++;
        prev = no;
    }
    CHECK(k->last == prev);
    CHECK(s->chunks - before == k->chunks);
}

/* Compares the cells of a bucket with a new count. */
static void check_cells(const struct wheel *w, uint32_t b)
{
    const struct cells *c = cells_at(w, b);
    uint32_t count[4400] = {0};

    CHECK(c->n <= MF_COUNT(count) && b != w->drain && w->bucket[b].chunks > 0);
    CHECK(c->first == tick_ns(bucket_start(w, b)) / cell_width(b));
    CHECK(c->first + c->n - 1 == (tick_ns(bucket_end(w, b) + 1) - 1) / cell_width(b));
    for (uint32_t no = w->bucket[b].first; no != NONE; no = chunk_at(w, no)->next)
        for (uint32_t i = 0; i < chunk_at(w, no)->count; i++)
            count[chunk_at(w, no)->deadline[i] / cell_width(b) - c->first]++;
    CHECK(memcmp(c->count, count, c->n * sizeof count[0]) == 0);
}

static bool in_order(const struct wheel *w, int64_t da, uint32_t a, int64_t db, uint32_t b)
{
    return da != db ? da < db : w->o.order(w->o.arg, a) <= w->o.order(w->o.arg, b);
}

static void check_run(const struct wheel *w, uint32_t place, struct seen *s)
{
    const struct key *k = &w->heap[place], *up = &w->heap[place == 0 ? 0 : (place - 1) / 4];
    const struct chunk *c = chunk_at(w, k->chunk);
    bool dirty = w->dirty && w->open == k->chunk;
    uint32_t live = 0, last = c->head;

    CHECK(!is_free(w, k->chunk));
    CHECK(c->bucket == BUCKET_DUE && w->pool.place[k->chunk] == place);
    CHECK(c->head < c->count && c->count <= CHUNK_ITEMS);
    CHECK(c->id[c->head] != NONE && c->id[c->count - 1] != NONE);
    CHECK(k->id == c->id[c->head] && k->deadline == c->deadline[c->head]);
    CHECK(!k->known || k->order == w->o.order(w->o.arg, k->id));
    CHECK(in_order(w, up->deadline, up->id, k->deadline, k->id));
    for (uint32_t i = c->head; i < c->count; i++) {
        if (c->id[i] == NONE)
            continue;
        check_entry(w, k->chunk, i);
        CHECK(!dirty || c->deadline[i] >= w->open_min || c->deadline[i] >= k->deadline);
        CHECK(dirty || in_order(w, c->deadline[last], c->id[last], c->deadline[i], c->id[i]));
        last = i;
        live++;
    }
    CHECK(c->live == live && live > 0);
    s->entries += live;
    s->chunks++;
}

static void check_pool(const struct wheel *w)
{
    const struct pool *p = &w->pool;
    uint32_t pages = 0, free = 0;

    for (uint32_t i = 0; i < p->cap; i++) {
        bool mapped = (p->mapped[i / 64] >> (i % 64) & 1) != 0;
        bool room = (p->room[i / 64] >> (i % 64) & 1) != 0;
        CHECK(mapped == (p->mem[i] != NULL));
        CHECK(room == (p->free[i] != 0));
        CHECK(mapped || p->free[i] == 0);
        CHECK(!mapped || i / 64 <= p->high);
        CHECK(!room || i / 64 >= p->low);
        pages += mapped;
        free += (uint32_t)__builtin_popcountll(p->free[i]);
    }
    CHECK(p->pages == pages);
    CHECK(p->used == pages * PAGE_CHUNKS - free);
}

void wheel_check(const struct wheel *w)
{
    struct seen s = {0, 0};

    CHECK(w->tick <= w->now >> TICK_BITS);
    CHECK(!w->settled || (w->tick == w->now >> TICK_BITS && w->drain == NONE));
    check_pool(w);
    for (uint32_t b = 0; b < BUCKETS; b++)
        check_bucket(w, b, &s);
    uint32_t cells[LEVELS] = {0};
    for (uint32_t b = 0; b < BUCKETS; b++) {
        if (cells_at(w, b) == NULL)
            continue;
        check_cells(w, b);
        cells[b / SLOTS]++;
    }
    CHECK(memcmp(cells, w->cells_n, sizeof cells) == 0);
    for (uint32_t i = 0; i < w->heap_n; i++)
        check_run(w, i, &s);
    CHECK(w->heap_n <= w->heap_cap);
    CHECK(w->open == NONE || chunk_at(w, w->open)->bucket == BUCKET_DUE);
    CHECK(!w->dirty || w->open != NONE);
    CHECK(s.entries == w->count);
    CHECK(s.chunks == w->pool.used);
    s = (struct seen){0, 0};
    for (uint32_t i = 0; i < w->heap_n; i++)
        s.entries += chunk_at(w, w->heap[i].chunk)->live;
    CHECK(s.entries == w->due);
}
