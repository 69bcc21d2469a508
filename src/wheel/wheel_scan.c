/* wheel_scan.c: scans ahead over the entries of the wheel, slot by slot, in pieces.
 *
 * Happy path: the due entries of the present tick in one go; then the buckets in the order of
 * time, each from its newest chunk to its oldest.  An entry that leaves a bucket is replaced by
 * the bucket's newest entry, which was visited by then, so nothing is missed.  The wheel notifies
 * scans of chunks that are freed or moved.
 * Otherwise: a bucket whose time is reached is split into shorter slots.  A scan in that bucket
 * starts the slot again; this happens at most once a level. */
#include "wheel/wheel_impl.h"

#define BACK (NONE - 1) /* wheel_scan.bucket: it was split */

void wheel_scan_begin(struct wheel *w, struct wheel_scan *s, int64_t from_ns, int64_t to_ns)
{
    *s = (struct wheel_scan){
        .wheel = w, .from_ns = from_ns, .to_ns = to_ns, .bucket = NONE, .chunk = NONE};
    mf_list_init(&s->node);
    if (w != NULL)
        mf_list_push(&w->scans, &s->node);
}

void wheel_scan_end(struct wheel_scan *s)
{
    mf_list_del(&s->node);
    s->wheel = NULL;
}

void wheel_scans_stop(struct wheel *w)
{
    struct mf_list *n;

    while ((n = mf_list_first(&w->scans)) != NULL)
        wheel_scan_end(mf_container(n, struct wheel_scan, node));
}

/* --- notifications of the wheel --------------------------------------------------------------- */

void wheel_scan_bucket_freed(struct wheel *w, uint32_t b)
{
    struct mf_list *n;

    mf_list_each(n, &w->scans)
    {
        struct wheel_scan *s = mf_container(n, struct wheel_scan, node);
        if (s->bucket == b)
            s->bucket = BACK;
    }
}

void wheel_scan_chunk_freed(struct wheel *w, uint32_t no)
{
    struct mf_list *n;

    mf_list_each(n, &w->scans)
    {
        struct wheel_scan *s = mf_container(n, struct wheel_scan, node);
        if (s->chunk == no)
            s->chunk = chunk_at(w, no)->prev;
    }
}

void wheel_scan_chunk_moved(struct wheel *w, uint32_t from, uint32_t to)
{
    struct mf_list *n;

    mf_list_each(n, &w->scans)
    {
        struct wheel_scan *s = mf_container(n, struct wheel_scan, node);
        if (s->chunk == from)
            s->chunk = to;
    }
}

/* --- one slot --------------------------------------------------------------------------------- */

/* Entries that are due within the present tick: visits each run, usually one. */
static void scan_due(struct wheel_scan *s, void (*visit)(void *arg, uint32_t id, int64_t deadline),
                     void *arg)
{
    const struct wheel *w = s->wheel;

    for (uint32_t r = 0; r < w->heap_n; r++) {
        const struct chunk *c = chunk_at(w, w->heap[r].chunk);
        s->steps++;
        /* A run is sorted, but for the open one. */
        if (w->heap[r].chunk != w->open && c->deadline[c->count - 1] < s->from_ns)
            continue;
        for (uint32_t i = c->head; i < c->count; i++) {
            s->steps++;
            if (c->id[i] != NONE && c->deadline[i] >= s->from_ns && c->deadline[i] < s->to_ns)
                visit(arg, c->id[i], c->deadline[i]);
        }
    }
}

static uint32_t first_set(const uint64_t bits[SLOTS / 64], uint32_t from)
{
    for (uint32_t i = from / 64; i < SLOTS / 64; i++) {
        uint64_t word = bits[i];
        if (i == from / 64)
            word &= UINT64_MAX << (from % 64);
        if (word != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return NONE;
}

/* The first bucket in time that ends at or after this tick; NONE: none. */
static uint32_t bucket_after(const struct wheel *w, int64_t tick)
{
    for (uint32_t l = 0; l < LEVELS; l++) {
        uint32_t from = 0;
        if (bucket_end(w, l * SLOTS + SLOTS - 1) < tick)
            continue; /* all of this level is before */
        if (bucket_start(w, l * SLOTS) < tick)
            from = (uint32_t)(tick >> (8 * l)) & (SLOTS - 1);
        uint32_t slot = first_set(w->occupied[l], from);
        if (slot != NONE)
            return l * SLOTS + slot;
    }
    return NONE;
}

static void scan_chunk(struct wheel_scan *s,
                       void (*visit)(void *arg, uint32_t id, int64_t deadline), void *arg)
{
    const struct chunk *c = chunk_at(s->wheel, s->chunk);

    for (uint32_t i = 0; i < c->count; i++)
        if (c->deadline[i] >= s->from_ns && c->deadline[i] < s->to_ns)
            visit(arg, c->id[i], c->deadline[i]);
    s->steps += c->count;
    s->chunk = c->prev;
}

static enum wheel_scanned slot_done(struct wheel_scan *s)
{
    s->bucket = s->chunk = NONE;
    s->from_ns = s->end_ns;
    return s->from_ns >= s->to_ns ? WHEEL_SCAN_END : WHEEL_SCAN_SLOT;
}

/* The next slot; false: none before to_ns. */
static bool slot_begin(struct wheel_scan *s)
{
    struct wheel *w = s->wheel;
    uint32_t b = bucket_after(w, s->from_ns >> TICK_BITS);

    if (b == NONE || tick_ns(bucket_start(w, b)) >= s->to_ns)
        return false;
    s->bucket = b;
    s->chunk = w->bucket[b].last;
    s->begin_ns = tick_ns(bucket_start(w, b));
    if (s->begin_ns < s->from_ns)
        s->begin_ns = s->from_ns;
    s->end_ns = tick_ns(bucket_end(w, b) + 1);
    return true;
}

/* Offers the counts of the current slot; true: they were used, and nothing is left to visit. */
static bool slot_sum(struct wheel_scan *s, void *arg)
{
    struct wheel_cells c;

    if (s->sum == NULL)
        return false;
    wheel_cells_show(s->wheel, s->bucket, &c);
    if (!s->sum(arg, &c))
        return false;
    s->steps += 1 + c.n / 8;
    return true;
}

enum wheel_scanned wheel_scan_step(struct wheel_scan *s, size_t budget,
                                   void (*visit)(void *arg, uint32_t id, int64_t deadline_ns),
                                   void *arg)
{
    struct wheel *w = s->wheel;
    uint64_t stop = s->steps + (budget > 0 ? budget : 1);

    if (w == NULL || s->from_ns >= s->to_ns)
        return WHEEL_SCAN_END;
    if (!w->settled && !wheel_advance(w, w->now, budget)) {
        s->steps = stop;
        return WHEEL_SCAN_MORE;
    }
    if (s->bucket == BACK) {
        s->bucket = s->chunk = NONE;
        return WHEEL_SCAN_BACK;
    }
    if (s->bucket == NONE && s->from_ns >> TICK_BITS <= w->tick) {
        s->begin_ns = s->from_ns;
        s->end_ns = tick_ns(w->tick + 1);
        scan_due(s, visit, arg);
        return slot_done(s);
    }
    if (s->bucket == NONE) {
        if (!slot_begin(s))
            return WHEEL_SCAN_END;
        if (slot_sum(s, arg))
            return slot_done(s);
    }
    while (s->chunk != NONE) {
        if (s->steps >= stop)
            return WHEEL_SCAN_MORE;
        scan_chunk(s, visit, arg);
    }
    return slot_done(s);
}

/* --- without a scan --------------------------------------------------------------------------- */

static uint64_t cells_between(const struct wheel_cells *c, int64_t from_ns, int64_t to_ns,
                              uint64_t *steps)
{
    uint64_t sum = 0;

    if (c->count == NULL || (c->from_ns >= from_ns && c->end_ns <= to_ns))
        return c->entries;
    *steps += c->n / 8;
    for (uint32_t i = 0; i < c->n; i++) {
        int64_t at_ns, end_ns;
        wheel_part(c, i, &at_ns, &end_ns);
        if (at_ns < to_ns && end_ns > from_ns)
            sum += c->count[i];
    }
    return sum;
}

uint64_t wheel_between(const struct wheel *w, int64_t from_ns, int64_t to_ns, uint64_t enough,
                       uint64_t *steps)
{
    uint64_t sum = w->due, slots = 0;
    int64_t tick = from_ns >> TICK_BITS;

    for (uint32_t b; sum < enough && (b = bucket_after(w, tick)) != NONE;) {
        struct wheel_cells c;
        if (tick_ns(bucket_start(w, b)) >= to_ns)
            break;
        wheel_cells_show(w, b, &c);
        sum += cells_between(&c, from_ns, to_ns, steps);
        *steps += slots++ % 8 == 7;
        tick = bucket_end(w, b) + 1;
    }
    return sum;
}

bool wheel_probe(const struct wheel *w, uint32_t i, uint32_t of, uint32_t *id, int64_t *deadline_ns)
{
    const struct pool *p = &w->pool;
    uint32_t pages = (p->high + 1) * 64 < p->cap ? (p->high + 1) * 64 : p->cap;
    uint64_t place = (uint64_t)pages * PAGE_CHUNKS * CHUNK_ITEMS / of;
    uint32_t no, slot;

    /* Not always the same slot of a chunk where the distance is a multiple of its size. */
    place = place * i + (place > 0 ? i * UINT64_C(2654435761) % place : 0);
    no = (uint32_t)(place / CHUNK_ITEMS);
    slot = (uint32_t)(place % CHUNK_ITEMS);
    if (no / PAGE_CHUNKS >= pages || p->mem[no / PAGE_CHUNKS] == NULL ||
        (p->free[no / PAGE_CHUNKS] >> (no % PAGE_CHUNKS) & 1) != 0)
        return false;
    const struct chunk *c = chunk_at(w, no);
    if (c->bucket == BUCKET_DUE || slot >= c->count)
        return false;
    *id = c->id[slot];
    *deadline_ns = c->deadline[slot];
    return true;
}
