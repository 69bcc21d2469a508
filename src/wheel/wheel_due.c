/* wheel_due.c: the entries whose tick has come: sorted runs of at most 63, and a heap over their
 * heads.
 *
 * A run is the same chunk that lay in the bucket, sorted in place, so a million entries due at
 * once cost no sort in one piece and no memory.  Single entries (added late, or met while
 * draining) are collected in the *open* run, which is sorted again when the first entry is
 * requested. */
#include "wheel/wheel_impl.h"

#include <stdlib.h>

#define ARITY    4u
#define HEAP_MIN 16u

static uint64_t order_of(const struct wheel *w, struct key *k)
{
    if (!k->known) {
        k->order = w->o.order(w->o.arg, k->id);
        k->known = 1;
    }
    return k->order;
}
static bool is_before(const struct wheel *w, struct key *a, struct key *b)
{
    if (MF_LIKELY(a->deadline != b->deadline))
        return a->deadline < b->deadline;
    return order_of(w, a) < order_of(w, b);
}
static struct key key_at(const struct chunk *c, uint32_t no, uint32_t slot)
{
    return (struct key){.deadline = c->deadline[slot], .id = c->id[slot], .chunk = no};
}

/* --- the heap --------------------------------------------------------------------------------- */

static void place_key(struct wheel *w, uint32_t i, const struct key *k)
{
    w->heap[i] = *k;
    w->pool.place[k->chunk] = i;
}

static void sift_up(struct wheel *w, uint32_t i, struct key k)
{
    while (i > 0 && is_before(w, &k, &w->heap[(i - 1) / ARITY])) {
        place_key(w, i, &w->heap[(i - 1) / ARITY]);
        i = (i - 1) / ARITY;
    }
    place_key(w, i, &k);
}

static void sift_down(struct wheel *w, uint32_t i, struct key k)
{
    for (;;) {
        uint32_t child = i * ARITY + 1, end = child + ARITY, best = child;
        if (child >= w->heap_n)
            break;
        if (end > w->heap_n)
            end = w->heap_n;
        while (++child < end)
            if (is_before(w, &w->heap[child], &w->heap[best]))
                best = child;
        if (!is_before(w, &w->heap[best], &k))
            break;
        place_key(w, i, &w->heap[best]);
        i = best;
    }
    place_key(w, i, &k);
}

/* Puts k where it belongs, starting at i, whose old content no longer counts. */
static void sift_key(struct wheel *w, uint32_t i, struct key k)
{
    if (i > 0 && is_before(w, &k, &w->heap[(i - 1) / ARITY]))
        sift_up(w, i, k);
    else
        sift_down(w, i, k);
}

static void heap_remove(struct wheel *w, uint32_t i)
{
    uint32_t last = --w->heap_n;

    if (i != last)
        sift_key(w, i, w->heap[last]);
    if (w->heap_cap > HEAP_MIN && w->heap_n < w->heap_cap / 4) {
        struct key *smaller = realloc(w->heap, w->heap_cap / 2 * sizeof *smaller);
        if (smaller != NULL) {
            w->heap = smaller;
            w->heap_cap /= 2;
        }
    }
}

bool wheel_due_reserve(struct wheel *w)
{
    uint32_t cap = w->heap_cap == 0 ? HEAP_MIN : w->heap_cap * 2;
    struct key *larger;

    if (w->heap_n < w->heap_cap)
        return true;
    larger = realloc(w->heap, cap * sizeof *larger);
    if (larger == NULL)
        return false;
    w->heap = larger;
    w->heap_cap = cap;
    return true;
}

/* --- runs ------------------------------------------------------------------------------------- */

static void shell_sort(const struct wheel *w, struct key *k, uint32_t n)
{
    static const uint32_t gaps[] = {23, 10, 4, 1};

    for (size_t g = 0; g < MF_COUNT(gaps); g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < n; i++) {
            struct key x = k[i];
            uint32_t j = i;
            while (j >= gap && is_before(w, &x, &k[j - gap])) {
                k[j] = k[j - gap];
                j -= gap;
            }
            k[j] = x;
        }
    }
}

/* Sorts the run and closes its gaps.  Usually it finds it sorted and moves nothing. */
static void run_sort(struct wheel *w, uint32_t no)
{
    struct chunk *c = chunk_at(w, no);
    struct key k[CHUNK_ITEMS];
    uint32_t n = 0;
    bool sorted = true, gaps = c->head > 0;

    for (uint32_t i = c->head; i < c->count; i++) {
        if (c->id[i] == NONE) {
            gaps = true;
            continue;
        }
        k[n] = key_at(c, no, i);
        sorted = sorted && (n == 0 || !is_before(w, &k[n], &k[n - 1]));
        n++;
    }
    if (sorted && !gaps)
        return;
    if (!sorted)
        shell_sort(w, k, n);
    for (uint32_t i = 0; i < n; i++) {
        c->id[i] = k[i].id;
        c->deadline[i] = k[i].deadline;
        ref_set(w, k[i].id, no, i);
    }
    w->moves += n;
    c->head = 0;
    c->count = (uint8_t)n;
}

static void open_sort(struct wheel *w)
{
    struct chunk *c = chunk_at(w, w->open);

    run_sort(w, w->open);
    w->dirty = false;
    sift_key(w, w->pool.place[w->open], key_at(c, w->open, c->head));
}

void wheel_due_settle(struct wheel *w)
{
    if (w->dirty)
        open_sort(w);
}

/* The chunk, of bucket BUCKET_DUE and with `count` entries in order, becomes a run. */
static void run_begin(struct wheel *w, uint32_t no)
{
    struct chunk *c = chunk_at(w, no);

    sift_up(w, w->heap_n++, key_at(c, no, c->head));
    if (c->count == CHUNK_ITEMS)
        return;
    if (w->open == NONE || chunk_at(w, w->open)->count > c->count) {
        wheel_due_settle(w);
        w->open = no;
    }
}

/* The open run has room. */
static void open_append(struct wheel *w, uint32_t id, int64_t deadline)
{
    struct chunk *c = chunk_at(w, w->open);
    uint32_t slot = c->count++;

    c->id[slot] = id;
    c->deadline[slot] = deadline;
    ref_set(w, id, w->open, slot);
    c->live++;
    w->due++;
    if (!w->dirty) {
        struct key a = key_at(c, w->open, slot), b = key_at(c, w->open, slot - 1);
        if (!is_before(w, &a, &b))
            return;
        w->dirty = true;
        w->open_min = deadline;
    }
    if (deadline < w->open_min)
        w->open_min = deadline;
}

int wheel_due_add(struct wheel *w, uint32_t id, int64_t deadline)
{
    struct chunk *c;
    uint32_t no;

    if (w->open != NONE && chunk_at(w, w->open)->count < CHUNK_ITEMS) {
        open_append(w, id, deadline);
        return 0;
    }
    if (!wheel_due_reserve(w) || (no = wheel_pool_take(&w->pool)) == NONE)
        return MF_NOMEM;
    c = chunk_at(w, no);
    c->bucket = BUCKET_DUE;
    c->head = 0;
    c->count = 1;
    c->live = 1;
    c->id[0] = id;
    c->deadline[0] = deadline;
    ref_set(w, id, no, 0);
    w->due++;
    run_begin(w, no);
    return 0;
}

void wheel_due_take(struct wheel *w, uint32_t no)
{
    struct chunk *c = chunk_at(w, no);

    /* Small ones join the open run, so that a caller who advances without deleting does not pile up
     * nearly empty chunks. */
    if (w->open != NONE && c->count <= CHUNK_ITEMS / 2 &&
        chunk_at(w, w->open)->count + c->count <= CHUNK_ITEMS) {
        for (uint32_t i = 0; i < c->count; i++)
            open_append(w, c->id[i], c->deadline[i]);
        w->moves += c->count;
        wheel_pool_give(&w->pool, no);
        return;
    }
    c->bucket = BUCKET_DUE;
    c->head = 0;
    c->live = c->count;
    w->due += c->count;
    run_sort(w, no);
    run_begin(w, no);
}

void wheel_due_del(struct wheel *w, uint32_t no, uint32_t slot)
{
    struct chunk *c = chunk_at(w, no);

    c->id[slot] = NONE;
    w->due--;
    if (--c->live == 0) {
        heap_remove(w, w->pool.place[no]);
        if (w->open == no) {
            w->open = NONE;
            w->dirty = false;
        }
        wheel_pool_give(&w->pool, no);
        return;
    }
    while (c->id[c->count - 1] == NONE)
        c->count--;
    if (slot != c->head)
        return;
    if (w->dirty && w->open == no) {
        open_sort(w); /* now: the heap must not ask for the order of a removed id */
        return;
    }
    while (c->id[c->head] == NONE)
        c->head++;
    if (c->head + 8u < c->count && c->id[c->head + 8] != NONE)
        __builtin_prefetch(ref_of(w, c->id[c->head + 8]), 1);
    sift_down(w, w->pool.place[no], key_at(c, no, c->head));
    /* One of these is the next but one to be deleted.  Runs that interleave are used up evenly, so
     * its head is likely near this one's; without this half the time is spent waiting for it. */
    for (uint32_t i = 1; i <= ARITY && i < w->heap_n; i++) {
        const struct chunk *next = chunk_at(w, w->heap[i].chunk);
        __builtin_prefetch(next);
        __builtin_prefetch(&next->id[c->head]);
        __builtin_prefetch(&next->deadline[c->head]);
    }
}
