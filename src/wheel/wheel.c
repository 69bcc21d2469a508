/* wheel.c: hierarchical timer wheel: entries in chunked buckets, time moved by the caller. */
#include "wheel/wheel_impl.h"

#include <stdlib.h>

/* --- buckets ---------------------------------------------------------------------------------- */

/* An empty chunk as the bucket's newest; NONE: out of memory. */
static uint32_t bucket_grow(struct wheel *w, uint32_t b)
{
    struct bucket *k = &w->bucket[b];
    uint32_t no = wheel_pool_take(&w->pool);
    struct chunk *c;

    if (no == NONE)
        return NONE;
    c = chunk_at(w, no);
    c->bucket = (uint16_t)b;
    c->count = 0;
    c->head = 0;
    c->next = NONE;
    c->prev = k->last;
    if (k->last == NONE) {
        k->first = no;
        w->occupied[b / SLOTS][b % SLOTS / 64] |= UINT64_C(1) << (b % 64);
    } else {
        chunk_at(w, k->last)->next = no;
    }
    k->last = no;
    k->chunks++;
    wheel_cells_grow(w, b);
    return no;
}

/* Takes the chunk, the bucket's oldest or newest, out of its list. */
static void bucket_unlink(struct wheel *w, uint32_t no)
{
    const struct chunk *c = chunk_at(w, no);
    uint32_t b = c->bucket;
    struct bucket *k = &w->bucket[b];

    if (c->prev == NONE)
        k->first = c->next;
    else
        chunk_at(w, c->prev)->next = c->next;
    if (c->next == NONE)
        k->last = c->prev;
    else
        chunk_at(w, c->next)->prev = c->prev;
    k->chunks--;
    if (k->first == NONE)
        w->occupied[b / SLOTS][b % SLOTS / 64] &= ~(UINT64_C(1) << (b % 64));
    wheel_cells_shrink(w, b);
}

static inline int bucket_put(struct wheel *w, uint32_t b, uint32_t id, int64_t deadline)
{
    uint32_t no = w->bucket[b].last, slot;
    struct chunk *c;

    if (no == NONE || chunk_at(w, no)->count == CHUNK_ITEMS) {
        no = bucket_grow(w, b);
        if (no == NONE)
            return MF_NOMEM;
    }
    c = chunk_at(w, no);
    slot = c->count++;
    c->id[slot] = id;
    c->deadline[slot] = deadline;
    ref_set(w, id, no, slot);
    if (cells_at(w, b) != NULL)
        ++*cell_of(cells_at(w, b), b, deadline);
    return 0;
}

/* The bucket's last entry replaces the one that leaves. */
static void bucket_remove(struct wheel *w, uint32_t no, uint32_t slot)
{
    struct chunk *c = chunk_at(w, no);
    uint32_t last_no = w->bucket[c->bucket].last;
    struct chunk *l = chunk_at(w, last_no);
    uint32_t last = --l->count;

    if (cells_at(w, c->bucket) != NULL)
        --*cell_of(cells_at(w, c->bucket), c->bucket, c->deadline[slot]);
    if (last_no != no || last != slot) {
        c->id[slot] = l->id[last];
        c->deadline[slot] = l->deadline[last];
        ref_set(w, c->id[slot], no, slot);
    }
    if (last == 0) {
        wheel_scan_chunk_freed(w, last_no);
        bucket_unlink(w, last_no);
        wheel_pool_give(&w->pool, last_no);
    }
}

/* Where an entry belongs as the wheel stands. */
static inline int put_entry(struct wheel *w, uint32_t id, int64_t deadline)
{
    int64_t tick = deadline >> TICK_BITS;

    return tick <= w->tick ? wheel_due_add(w, id, deadline)
                           : bucket_put(w, bucket_of(w, tick), id, deadline);
}

/* The bucket with the earliest entries, the drained one aside; NONE when all are empty. */
static uint32_t first_bucket(const struct wheel *w)
{
    for (uint32_t l = 0; l < LEVELS; l++)
        for (uint32_t i = 0; i < SLOTS / 64; i++)
            if (w->occupied[l][i] != 0)
                return l * SLOTS + i * 64 + (uint32_t)__builtin_ctzll(w->occupied[l][i]);
    return NONE;
}

/* --- the owner's side ------------------------------------------------------------------------- */

struct wheel *wheel_new(const struct wheel_owner *o, int64_t now_ns)
{
    struct wheel *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->o = *o;
    w->id_mask = (uint32_t)((UINT64_C(1) << o->pages.bits) - 1);
    w->now = now_ns;
    w->tick = now_ns >> TICK_BITS;
    w->settled = true;
    w->drain = NONE;
    w->open = NONE;
    mf_list_init(&w->scans);
    for (uint32_t b = 0; b < BUCKETS; b++)
        w->bucket[b] = (struct bucket){NONE, NONE, 0};
    return w;
}

void wheel_free(struct wheel *w)
{
    if (w == NULL)
        return;
    wheel_scans_stop(w);
    wheel_pool_free(&w->pool);
    wheel_cells_free(w);
    free(w->heap);
    free(w);
}

void wheel_pages(struct wheel *w, uint8_t *const *page)
{
    w->o.pages.page = page;
}

int wheel_add(struct wheel *w, uint32_t id, int64_t deadline_ns)
{
    int rc = put_entry(w, id, deadline_ns);

    if (rc == 0)
        w->count++;
    return rc;
}

void wheel_del(struct wheel *w, uint32_t id)
{
    uint32_t *ref = ref_of(w, id), no = *ref >> 6, slot = *ref & 63;

    if (*ref == WHEEL_NONE)
        return;
    *ref = WHEEL_NONE;
    w->count--;
    if (chunk_at(w, no)->bucket == BUCKET_DUE)
        wheel_due_del(w, no, slot);
    else
        bucket_remove(w, no, slot);
    if (MF_UNLIKELY(w->pool.owed > 0))
        wheel_tidy(w, 0);
}

int64_t wheel_deadline(const struct wheel *w, uint32_t id)
{
    uint32_t ref = *ref_of(w, id);

    return chunk_at(w, ref >> 6)->deadline[ref & 63];
}

void wheel_renumber(struct wheel *w, uint32_t from, uint32_t to)
{
    uint32_t ref = *ref_of(w, from), slot = ref & 63;
    struct chunk *c;

    if (ref == WHEEL_NONE)
        return;
    c = chunk_at(w, ref >> 6);
    c->id[slot] = to;
    *ref_of(w, from) = WHEEL_NONE;
    *ref_of(w, to) = ref;
    if (c->bucket == BUCKET_DUE && slot == c->head)
        w->heap[w->pool.place[ref >> 6]].id = to;
}

/* --- time ------------------------------------------------------------------------------------- */

/* Refs lie scattered: asked for in time, they arrive together. */
static void prefetch_refs(const struct wheel *w, const struct chunk *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        __builtin_prefetch(ref_of(w, c->id[i]), 1);
}

/* The oldest chunk of bucket b, all of it past, becomes a run where it lies. */
static bool take_chunk(struct wheel *w, uint32_t b)
{
    uint32_t no = w->bucket[b].first;

    if (!wheel_due_reserve(w))
        return false;
    prefetch_refs(w, chunk_at(w, no));
    bucket_unlink(w, no);
    wheel_due_take(w, no);
    return true;
}

static bool all_past(const struct wheel *w, const struct chunk *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->deadline[i] >> TICK_BITS > w->tick)
            return false;
    return true;
}

/* The chunk to be drained after c, and the lines of the one after that. */
static const struct chunk *look_ahead(const struct wheel *w, const struct chunk *c)
{
    static const struct chunk nothing;
    const struct chunk *next = c->next == NONE ? &nothing : chunk_at(w, c->next);

    if (next != &nothing && next->next != NONE)
        for (size_t i = 0; i < sizeof *c; i += 64)
            __builtin_prefetch((const uint8_t *)chunk_at(w, next->next) + i);
    return next;
}

/* Moves the entries of the oldest chunk of the bucket being drained to where they belong.  When
 * memory runs out, entries already moved are removed from it and the rest stays. */
static bool drain_chunk(struct wheel *w)
{
    uint32_t no = w->bucket[w->drain].first, i;
    struct chunk *c = chunk_at(w, no);
    const struct chunk *next;

    if (all_past(w, c))
        return take_chunk(w, w->drain);
    next = look_ahead(w, c);
    for (i = 0; i < c->count; i++) {
        if (i < next->count)
            __builtin_prefetch(ref_of(w, next->id[i]), 1);
        if (put_entry(w, c->id[i], c->deadline[i]) != 0)
            break;
    }
    w->moves += i;
    if (i == c->count) {
        bucket_unlink(w, no);
        wheel_pool_give(&w->pool, no);
        return true;
    }
    while (i > 0) /* downwards: what fills a gap is never one that was moved */
        bucket_remove(w, no, --i);
    return false;
}

/* The next bucket to drain before the tick `target`; NONE: complete. */
static uint32_t work_left(struct wheel *w, int64_t target)
{
    uint32_t b;

    if (w->drain != NONE && w->bucket[w->drain].first != NONE)
        return w->drain;
    w->drain = NONE;
    b = first_bucket(w);
    return b != NONE && bucket_start(w, b) <= target ? b : NONE;
}

/* The oldest chunk of b, a bucket given by work_left(); false: out of memory. */
static bool work_chunk(struct wheel *w, uint32_t b, int64_t target)
{
    wheel_scan_bucket_freed(w, b);
    wheel_cells_drop(w, b);
    if (b != w->drain && bucket_end(w, b) > target) {
        /* All lower levels are empty by now: the wheel may stand in the middle of b. */
        w->tick = target;
        w->drain = b;
        prefetch_refs(w, chunk_at(w, w->bucket[b].first)); /* later ones: drain_chunk() */
    }
    return b == w->drain ? drain_chunk(w) : take_chunk(w, b);
}

bool wheel_advance(struct wheel *w, int64_t now_ns, size_t budget)
{
    size_t spent = 0;
    int64_t target;

    if (now_ns > w->now)
        w->now = now_ns;
    target = w->now >> TICK_BITS;
    w->settled = false;
    for (uint32_t b; (b = work_left(w, target)) != NONE;) {
        size_t entries = chunk_at(w, w->bucket[b].first)->count;
        uint64_t before = w->moves;
        if (spent >= budget || !work_chunk(w, b, target))
            return false;
        /* Looking costs as well; sorting may have moved more than there were. */
        spent += w->moves - before > entries ? w->moves - before : entries;
    }
    w->tick = target;
    wheel_due_settle(w);
    if (w->pool.owed > 0)
        wheel_tidy(w, spent < budget ? budget - spent : 0);
    w->settled = true;
    return true;
}

uint32_t wheel_peek(struct wheel *w, int64_t *deadline_ns)
{
    if (!w->settled)
        return WHEEL_NONE;
    wheel_due_settle(w);
    if (w->heap_n == 0 || w->heap[0].deadline > w->now)
        return WHEEL_NONE;
    *deadline_ns = w->heap[0].deadline;
    return w->heap[0].id;
}

int64_t wheel_next(const struct wheel *w)
{
    int64_t next = INT64_MAX, start;
    uint32_t b;

    if (w->count == 0)
        return next;
    if (w->heap_n > 0)
        next = w->heap[0].deadline;
    if (w->dirty && w->open_min < next)
        next = w->open_min;
    if (w->settled && w->heap_n > 0)
        return next; /* what lies in buckets is due later */
    b = w->drain != NONE ? w->drain : first_bucket(w);
    start = b == NONE ? INT64_MAX : bucket_start(w, b) << TICK_BITS;
    return start < next ? start : next;
}

size_t wheel_count(const struct wheel *w)
{
    return w->count;
}

size_t wheel_due_count(const struct wheel *w)
{
    return w->due;
}

size_t wheel_memory(const struct wheel *w)
{
    return sizeof *w + wheel_pool_memory(&w->pool) + w->heap_cap * sizeof *w->heap +
           wheel_cells_memory(w);
}

void wheel_each_due(const struct wheel *w, int64_t after_ns, int64_t to_ns,
                    void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg)
{
    for (uint32_t r = 0; r < w->heap_n; r++) {
        const struct chunk *c = chunk_at(w, w->heap[r].chunk);
        bool sorted = !w->dirty || w->heap[r].chunk != w->open;
        if (sorted && (c->deadline[c->count - 1] <= after_ns || c->deadline[c->head] > to_ns))
            continue;
        for (uint32_t i = c->head; i < c->count; i++)
            if (c->id[i] != NONE && c->deadline[i] > after_ns && c->deadline[i] <= to_ns)
                visit(arg, c->id[i], c->deadline[i]);
    }
}

void wheel_each(const struct wheel *w, int64_t to_ns,
                void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg)
{
    for (uint32_t r = 0; r < w->heap_n; r++) {
        const struct chunk *c = chunk_at(w, w->heap[r].chunk);
        for (uint32_t i = c->head; i < c->count; i++)
            if (c->id[i] != NONE && c->deadline[i] < to_ns)
                visit(arg, c->id[i], c->deadline[i]);
    }
    for (uint32_t b = 0; b < BUCKETS; b++) {
        if (w->bucket[b].first == NONE || bucket_start(w, b) << TICK_BITS >= to_ns)
            continue;
        for (uint32_t no = w->bucket[b].first; no != NONE; no = chunk_at(w, no)->next) {
            const struct chunk *c = chunk_at(w, no);
            for (uint32_t i = 0; i < c->count; i++)
                if (c->deadline[i] < to_ns)
                    visit(arg, c->id[i], c->deadline[i]);
        }
    }
}
