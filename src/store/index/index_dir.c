/* index_dir.c: the blocks in sequence order: finding, adding, and keeping them full enough.
 *
 * find: a guess by proportion (exact in a dense store), then a search that widens around it:
 * O(log blocks) at worst.  Adding and losing at the ends is O(1); in the middle the shorter side of
 * the directory moves by one, 12 bytes per block. */
#include "store/index/index_impl.h"

#include <stdlib.h>

size_t index_dir_find(const struct index *ix, uint64_t seq)
{
    size_t n = ix->dir.count, lo, hi, step = 1;

    if (n == 0) /* perhaps without a directory: not even an offset of 0 may be added then */
        return DIR_NONE;
    const uint64_t *base = ix->dir.base + ix->dir.head;
    if (seq < base[0])
        return DIR_NONE;
    if (seq >= base[n - 1])
        return n - 1;
    lo = (size_t)((double)(seq - base[0]) / (double)(base[n - 1] - base[0]) * (double)(n - 1));
    lo = lo < n - 1 ? lo : n - 2;
    if (base[lo] <= seq) {
        for (hi = lo + 1; base[hi] <= seq; step *= 2) {
            lo = hi;
            hi = n - 1 - hi > step * 2 ? hi + step * 2 : n - 1;
        }
    } else {
        for (hi = lo, lo--; base[lo] > seq; step *= 2) {
            hi = lo;
            lo = lo > step * 2 ? lo - step * 2 : 0;
        }
    }
    while (hi - lo > 1) { /* base[lo] <= seq < base[hi] */
        size_t mid = lo + (hi - lo) / 2;
        if (base[mid] <= seq)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void dir_move(struct directory *d, size_t to, size_t from, size_t n)
{
    if (n > 0) {
        memmove(d->base + to, d->base + from, n * sizeof d->base[0]);
        memmove(d->block + to, d->block + from, n * sizeof d->block[0]);
    }
}

/* Room for one more at the end. */
static int dir_reserve(struct directory *d)
{
    if (d->head + d->count < d->cap)
        return 0;
    if (d->head > d->cap / 2) {
        dir_move(d, 0, d->head, d->count);
        d->head = 0;
        return 0;
    }
    size_t cap = d->cap == 0 ? 4 : d->cap * 2;
    uint64_t *base = malloc(cap * (sizeof d->base[0] + sizeof d->block[0]));
    if (base == NULL)
        return MF_NOMEM;
    uint32_t *block = (uint32_t *)(base + cap);
    if (d->count > 0) {
        memcpy(base, d->base + d->head, d->count * sizeof d->base[0]);
        memcpy(block, d->block + d->head, d->count * sizeof d->block[0]);
    }
    free(d->base);
    *d = (struct directory){.base = base, .block = block, .count = d->count, .cap = cap};
    return 0;
}

struct block *index_dir_add(struct index *ix, size_t at, unsigned cap, uint64_t base)
{
    struct directory *d = &ix->dir;

    if (dir_reserve(d) != 0)
        return NULL;
    struct block *b = index_block_new(ix, cap, base);
    if (b == NULL)
        return NULL;
    if (d->head > 0 && at < d->count / 2) {
        dir_move(d, d->head - 1, d->head, at);
        d->head--;
    } else {
        dir_move(d, d->head + at + 1, d->head + at, d->count - at);
    }
    d->base[d->head + at] = base;
    d->block[d->head + at] = b->number;
    d->count++;
    return b;
}

void index_dir_drop(struct index *ix, size_t at, size_t n)
{
    struct directory *d = &ix->dir;

    for (size_t i = at; i < at + n; i++)
        index_block_free(ix, dir_block(ix, i));
    if (at < d->count - at - n) {
        dir_move(d, d->head + n, d->head, at);
        d->head += n;
    } else {
        dir_move(d, d->head + at, d->head + at + n, d->count - at - n);
    }
    d->count -= n;
    if (d->count == 0)
        index_dir_clear(ix);
}

/* A store that was large and is empty shall cost nothing; one that is filled and emptied all the
 * time shall not allocate all of this each time. */
void index_dir_clear(struct index *ix)
{
    for (size_t i = 0; i < ix->dir.count; i++)
        index_block_free(ix, dir_block(ix, i));
    ix->dir.head = ix->dir.count = 0;
    if (ix->page_cap <= 16 && ix->dir.cap <= 16)
        return;
    ix->block_bytes = 0;
    free(ix->page[0]);
    free(ix->page);
    free(ix->spare);
    free(ix->dir.base);
    ix->page = NULL;
    ix->spare = NULL;
    ix->pages = ix->page_cap = ix->spares = 0;
    ix->dir = (struct directory){0};
    if (ix->wheel != NULL)
        wheel_pages(ix->wheel, NULL);
}

int index_dir_append(struct index *ix, uint64_t seq, struct block **out, unsigned *slot)
{
    struct block *b = NULL;
    size_t n = ix->dir.count;
    unsigned cap = BLOCK_SMALL;

    if (n > 0) {
        b = dir_block(ix, n - 1);
        uint64_t delta = seq - b->base;
        /* The block is full, mostly of dead slots, as when each message replaces the one before.
         * The dead slots pay for the moves. */
        if (b->used == b->cap && b->count <= b->cap * BLOCK_MERGE / BLOCK_SLOTS)
            index_block_compact(ix, b);
        /* A jump that u16 cannot hold makes a block wide while it has few entries, and starts a
         * new one when it has many. */
        if (b->used == BLOCK_SLOTS || delta > UINT32_MAX ||
            (delta > UINT16_MAX && !b->wide && b->used > BLOCK_MERGE)) {
            cap = b->used == BLOCK_SLOTS ? BLOCK_SLOTS : BLOCK_SMALL;
            b = NULL;
        } else {
            b = index_block_fit(ix, b, b->used + 1u, delta);
            if (b == NULL)
                return MF_NOMEM;
        }
    }
    if (b == NULL)
        b = index_dir_add(ix, n, cap, seq);
    if (b == NULL)
        return MF_NOMEM;
    block_set_delta(b, b->used, (uint32_t)(seq - b->base));
    *slot = b->used++;
    *out = b;
    return 0;
}

void index_dir_unappend(struct index *ix, struct block *b)
{
    b->used--;
    if (b->used == 0)
        index_dir_drop(ix, ix->dir.count - 1, 1);
}

/* The blocks at `at` and behind it become one, if they fit and it needs no memory or gets it. */
static bool dir_merge(struct index *ix, size_t at)
{
    if (at + 1 >= ix->dir.count)
        return false;
    struct block *l = dir_block(ix, at), *r = dir_block(ix, at + 1);
    uint64_t delta = block_last_seq(r) - l->base;

    if (l->count + r->count > (int)BLOCK_MERGE || delta > UINT32_MAX)
        return false;
    l = index_block_fit(ix, l, l->count + r->count, delta);
    if (l == NULL)
        return false;
    index_block_absorb(ix, l, r);
    index_dir_drop(ix, at + 1, 1);
    return true;
}

void index_dir_after_loss(struct index *ix, struct block *b, unsigned before)
{
    unsigned count = b->count;

    /* Finding the neighbours costs a search, so they are visited only now and then. */
    if (count > 0 && (count > BLOCK_MERGE || (count / 16 == before / 16 && count != 4)))
        return;
    size_t at = index_dir_find(ix, b->base);
    if (count == 0) {
        index_dir_drop(ix, at, 1);
        return;
    }
    if ((at > 0 && dir_merge(ix, at - 1)) || dir_merge(ix, at))
        return;
    if (ix->dir.count == 1 && b->cap > BLOCK_SMALL && count <= b->cap / 16)
        index_block_shrink(ix, b, b->cap / 4);
}
