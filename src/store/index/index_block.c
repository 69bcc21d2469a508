/* index_block.c: one block of the index, and the table that finds it by number. */
#include "store/index/index_impl.h"
#include "store/log/record.h"

#include <stdlib.h>

static size_t block_size(unsigned cap, bool wide)
{
    return sizeof(struct block) + cap * sizeof(struct entry) +
           cap * (wide ? sizeof(uint32_t) : sizeof(uint16_t));
}

unsigned index_block_lower(const struct block *b, uint64_t delta)
{
    unsigned lo = 0, hi = b->used;

    /* Deltas ascend strictly, so delta[i] >= i: the slot is not after `delta`, and in a dense
     * block it is `delta`. */
    if (delta < hi) {
        hi = (unsigned)delta;
        if (block_delta(b, hi) == delta)
            return hi;
    }
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (block_delta(b, mid) < delta)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

unsigned index_block_next_live(const struct block *b, unsigned slot)
{
    if (slot >= BLOCK_SLOTS)
        return BLOCK_SLOTS;
    unsigned word = slot / 64;
    uint64_t bits = b->live[word] & ~UINT64_C(0) << (slot % 64);

    while (bits == 0) {
        if (++word == BLOCK_WORDS)
            return BLOCK_SLOTS;
        bits = b->live[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

unsigned index_block_prev_live(const struct block *b, unsigned slot)
{
    unsigned word = slot / 64;
    uint64_t bits = b->live[word] & ~UINT64_C(0) >> (63 - slot % 64);

    while (bits == 0) {
        if (word-- == 0)
            return BLOCK_SLOTS;
        bits = b->live[word];
    }
    return word * 64 + 63 - (unsigned)__builtin_clzll(bits);
}

void index_block_set_live(struct index *ix, struct block *b, unsigned slot)
{
    bit_put(b->live, slot, true);
    b->count++;
    ix->count++;
}

void index_block_set_bits(struct index *ix, struct block *b, unsigned slot, uint16_t flags,
                          int64_t deadline_ns)
{
    bool infinite = (flags & RECORD_INFINITE) != 0 && deadline_ns == 0;
    bool pinned = (flags & RECORD_PINNED) != 0;

    if (infinite != bit_get(b->infinite, slot)) {
        bit_put(b->infinite, slot, infinite);
        b->endless = (uint16_t)(b->endless + (infinite ? 1 : -1));
        ix->infinite += infinite ? 1 : SIZE_MAX;
    }
    if (pinned != bit_get(b->pinned, slot)) {
        bit_put(b->pinned, slot, pinned);
        ix->pinned += pinned ? 1 : SIZE_MAX;
    }
}

void index_block_set_dead(struct index *ix, struct block *b, unsigned slot)
{
    if ((ix->infinite | ix->pinned) != 0)
        index_block_set_bits(ix, b, slot, 0, 0);
    bit_put(b->live, slot, false);
    bit_put(b->removing, slot, false);
    bit_put(b->hidden, slot, false);
    b->count--;
    ix->count--;
}

static struct block *block_alloc(struct index *ix, unsigned cap, bool wide)
{
    struct block *b = malloc(block_size(cap, wide));

    if (b == NULL)
        return NULL;
    memset(b, 0, sizeof *b);
    b->cap = (uint16_t)cap;
    b->wide = wide;
    ix->block_bytes += block_size(cap, wide);
    return b;
}

static void block_release(struct index *ix, struct block *b)
{
    ix->block_bytes -= block_size(b->cap, b->wide);
    free(b);
}

/* Room for one more number.  The stack of spare numbers is as large as the table, so that freeing a
 * block never needs memory. */
static int table_reserve(struct index *ix)
{
    if (ix->spares > 0)
        return 0;
    if (ix->pages > NUMBER_MAX)
        return MF_NOMEM;
    if (ix->pages < ix->page_cap)
        return 0;
    size_t cap = ix->page_cap == 0 ? 4 : ix->page_cap * 2;
    struct block **page = realloc(ix->page, cap * sizeof(struct block *));
    if (page == NULL)
        return MF_NOMEM;
    ix->page = page;
    if (ix->wheel != NULL)
        wheel_pages(ix->wheel, (uint8_t *const *)(void *)page);
    uint32_t *spare = realloc(ix->spare, cap * sizeof *spare);
    if (spare == NULL)
        return MF_NOMEM; /* the larger table does no harm */
    ix->spare = spare;
    if (ix->pages == 0) {
        ix->page[0] = block_alloc(ix, 1, false);
        if (ix->page[0] == NULL)
            return MF_NOMEM; /* page_cap stays 0: as if nothing had been */
        ix->page[0]->e[0] = (struct entry){.wheel_ref = WHEEL_NONE};
        ix->page[0]->used = 1;
        block_set_delta(ix->page[0], 0, 0);
        ix->pages = 1;
    }
    ix->page_cap = cap;
    return 0;
}

struct block *index_block_new(struct index *ix, unsigned cap, uint64_t base)
{
    if (table_reserve(ix) != 0)
        return NULL;
    struct block *b = block_alloc(ix, cap, false);
    if (b == NULL)
        return NULL;
    b->base = base;
    b->number = ix->spares > 0 ? ix->spare[--ix->spares] : (uint32_t)ix->pages++;
    ix->page[b->number] = b;
    return b;
}

void index_block_free(struct index *ix, struct block *b)
{
    ix->page[b->number] = NULL;
    ix->spare[ix->spares++] = b->number;
    block_release(ix, b);
}

static struct block *block_reshape(struct index *ix, struct block *b, unsigned cap, bool wide)
{
    struct block *n = block_alloc(ix, cap, wide);

    if (n == NULL)
        return NULL;
    memcpy(n, b, sizeof *b + b->used * sizeof b->e[0]);
    n->cap = (uint16_t)cap;
    n->wide = wide;
    for (unsigned i = 0; i < b->used; i++)
        block_set_delta(n, i, block_delta(b, i));
    ix->page[n->number] = n;
    block_release(ix, b);
    return n;
}

struct block *index_block_fit(struct index *ix, struct block *b, unsigned cap, uint64_t delta)
{
    bool wide = b->wide || delta > UINT16_MAX;
    unsigned room = b->cap;

    while (room < cap)
        room *= 4;
    return room == b->cap && wide == b->wide ? b : block_reshape(ix, b, room, wide);
}

void index_block_shrink(struct index *ix, struct block *b, unsigned cap)
{
    index_block_compact(ix, b);
    (void)block_reshape(ix, b, cap, block_delta(b, b->used - 1u) > UINT16_MAX);
}

static void move_bits(struct block *from, unsigned i, struct block *to, unsigned j)
{
    bool infinite = bit_get(from->infinite, i);

    bit_put(to->infinite, j, infinite);
    bit_put(to->pinned, j, bit_get(from->pinned, i));
    bit_put(from->infinite, i, false);
    bit_put(from->pinned, i, false);
    from->endless = (uint16_t)(from->endless - infinite);
    to->endless = (uint16_t)(to->endless + infinite);
}

/* Deltas first, then links and wheel: the wheel may ask for the sequence of an id it knows. */
static void entry_move(struct index *ix, struct block *from, unsigned i, struct block *to,
                       unsigned j)
{
    block_set_delta(to, j, (uint32_t)(block_seq(from, i) - to->base));
    to->e[j] = from->e[i];
    bit_put(to->live, j, true);
    bit_put(to->removing, j, bit_get(from->removing, i));
    bit_put(to->hidden, j, bit_get(from->hidden, i));
    bit_put(from->live, i, false);
    bit_put(from->removing, i, false);
    bit_put(from->hidden, i, false);
    move_bits(from, i, to, j);
    ix->moves++;
    if (ix->load != NULL)
        return; /* no ids were given out yet */
    index_ring_moved(ix, block_id(from, i), block_id(to, j));
    if (from->e[i].wheel_ref != WHEEL_NONE) {
        to->e[j].wheel_ref = WHEEL_NONE;
        wheel_renumber(ix->wheel, block_id(from, i), block_id(to, j));
        from->timed--;
        to->timed++;
    }
}

void index_block_compact(struct index *ix, struct block *b)
{
    unsigned to = 0;

    if (b->used == b->count)
        return;
    for (unsigned i = index_block_next_live(b, 0); i < BLOCK_SLOTS;
         i = index_block_next_live(b, i + 1)) {
        if (i != to)
            entry_move(ix, b, i, b, to);
        to++;
    }
    b->used = (uint16_t)to;
}

void index_block_absorb(struct index *ix, struct block *l, struct block *r)
{
    index_block_compact(ix, l);
    for (unsigned i = index_block_next_live(r, 0); i < BLOCK_SLOTS;
         i = index_block_next_live(r, i + 1))
        entry_move(ix, r, i, l, l->used++);
    l->count = (uint16_t)(l->count + r->count);
    r->count = 0;
}
