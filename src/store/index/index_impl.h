/* index_impl.h: how the index lies in memory; shared by index*.c only.
 *
 *     directory (by sequence)      table (by number)       block
 *     base  1000 1256 1512 ...     page[0]  scratch        base; live, removing, hidden, kept bits
 *     block    3    1    4 ...     page[1]  --------->     e[cap]: place, key, ref, newer, older
 *                                  page[2]  free           delta[cap]: sequence - base, ascending
 *
 * Entries of a block are appended and never change their order; removing one clears its live bit
 * and leaves its delta, so that a slot is found by guess (delta == slot in a dense block) or by
 * binary search.  A block in the directory has at least one live entry. */
#ifndef STORE_INDEX_IMPL_H
#define STORE_INDEX_IMPL_H

#include "store/index/index.h"

#include "wheel/wheel.h"

#define BLOCK_BITS  8
#define BLOCK_SLOTS (1u << BLOCK_BITS)
#define BLOCK_SMALL 16u  /* size of the first block: most streams are tiny */
#define BLOCK_MERGE 160u /* two neighbours with no more live entries than this are merged */
#define BLOCK_WORDS (BLOCK_SLOTS / 64)
#define NUMBER_MAX  0xFFFFFEu /* block << 8 | slot is never INDEX_NONE */

struct entry {
    uint64_t place;
    uint32_t key;
    uint32_t wheel_ref;
    union {
        /* The ring of the key, closed: the newest one's `newer` is the oldest. */
        struct {
            uint32_t newer, older;
        };
        int64_t deadline_ns; /* while loading: there are no rings and no wheel yet */
    };
};

/* cap is 16, 64 or 256 (1: the scratch block).  Deltas are u16, or u32 in a `wide` block: one that
 * spans more than 65,535 sequences, as survivors of a busy stream do. */
struct block {
    uint64_t base;
    /* subsets: hidden of removing, removing of live */
    uint64_t live[BLOCK_WORDS], removing[BLOCK_WORDS], hidden[BLOCK_WORDS];
    uint64_t infinite[BLOCK_WORDS], pinned[BLOCK_WORDS]; /* parts of live */
    uint32_t number;
    uint16_t used, count, cap; /* slots used; live ones; all */
    bool wide;
    uint16_t timed, endless; /* entries in the wheel; infinite ones */
    struct entry e[];        /* cap; then the deltas */
};

/* Sorted by base.  Starts at `head`: losing the first block moves nothing. */
struct directory {
    uint64_t *base;
    uint32_t *block;
    size_t head, count, cap;
};

#define LOAD_QUEUE 16u
#define LOAD_KEY   128u /* longer keys are not queued */

/* A put whose key is being prefetched. */
struct load_item {
    uint64_t seq, place, hash;
    int64_t deadline_ns;
    uint32_t len;
    uint16_t flags;
    uint8_t key[LOAD_KEY];
};

/* Puts in ascending sequence wait here until their keys are in the cache.  Their sequences are
 * greater than all in the blocks. */
struct load {
    uint64_t top;    /* the greatest sequence so far; the first put needs none */
    bool any, known; /* known: the last one's key had messages already, the next one's may, too */
    unsigned head, count;
    struct index_bulk *bulk; /* NULL: not loading many */
    struct load_item item[LOAD_QUEUE];
};

struct index {
    struct keys *keys;
    struct wheel *wheel; /* NULL until the first deadline: it is large, and many stores have none */
    struct directory dir;
    struct block **page; /* by number; NULL: free.  0 is the scratch block */
    uint32_t *spare;     /* numbers that are free again; as large as page */
    size_t pages, page_cap, spares;
    size_t count, block_bytes;
    size_t hidden, hidden_keys; /* hidden entries; keys that have no others */
    size_t infinite, pinned;    /* entries with the bit */
    uint64_t moves;             /* entries that changed their id: tests bound the work by it */
    struct load *load;          /* NULL: not loading */
    int64_t now_ns;
    char separator;
};

static inline struct block *index_block(const struct index *ix, uint32_t id)
{
    return ix->page[id >> BLOCK_BITS];
}
static inline unsigned index_slot(uint32_t id)
{
    return id & (BLOCK_SLOTS - 1);
}
static inline struct entry *index_entry(const struct index *ix, uint32_t id)
{
    return &index_block(ix, id)->e[index_slot(id)];
}
static inline uint32_t block_id(const struct block *b, unsigned slot)
{
    return b->number << BLOCK_BITS | slot;
}

static inline bool bit_get(const uint64_t *bits, unsigned i)
{
    return bits[i / 64] >> (i % 64) & 1;
}
static inline void bit_put(uint64_t *bits, unsigned i, bool on)
{
    bits[i / 64] = (bits[i / 64] & ~(UINT64_C(1) << (i % 64))) | (uint64_t)on << (i % 64);
}

/* index.c */
MF_MUSTCHECK int index_wheel_add(struct index *ix, uint32_t id, int64_t deadline_ns);

/* index_block.c: one block. */
static inline uint32_t block_delta(const struct block *b, unsigned slot)
{
    const void *deltas = b->e + b->cap;

    return b->wide ? ((const uint32_t *)deltas)[slot] : ((const uint16_t *)deltas)[slot];
}
static inline void block_set_delta(struct block *b, unsigned slot, uint32_t delta)
{
    void *deltas = b->e + b->cap;

    if (b->wide)
        ((uint32_t *)deltas)[slot] = delta;
    else
        ((uint16_t *)deltas)[slot] = (uint16_t)delta;
}
static inline uint64_t block_seq(const struct block *b, unsigned slot)
{
    return b->base + block_delta(b, slot);
}
static inline uint64_t block_last_seq(const struct block *b) /* dead ones included */
{
    return block_seq(b, b->used - 1u);
}
/* The first used slot with a delta of at least `delta`; b->used: none. */
unsigned index_block_lower(const struct block *b, uint64_t delta);
/* The first live slot at or after, the last one at or before; BLOCK_SLOTS: none. */
unsigned index_block_next_live(const struct block *b, unsigned slot);
unsigned index_block_prev_live(const struct block *b, unsigned slot);
void index_block_set_live(struct index *ix, struct block *b, unsigned slot);
void index_block_set_dead(struct index *ix, struct block *b, unsigned slot);
/* Sets the two bits of a live slot; `infinite` only without a deadline. */
void index_block_set_bits(struct index *ix, struct block *b, unsigned slot, uint16_t flags,
                          int64_t deadline_ns);
/* A block in the table, not yet in the directory; NULL: out of memory. */
struct block *index_block_new(struct index *ix, unsigned cap, uint64_t base);
void index_block_free(struct index *ix, struct block *b);
/* The same block with the same ids, with room for `cap` entries and deltas up to `delta`: b
 * itself if it has that, or a new address, or NULL (out of memory; b stays). */
struct block *index_block_fit(struct index *ix, struct block *b, unsigned cap, uint64_t delta);
void index_block_shrink(struct index *ix, struct block *b, unsigned cap); /* if memory can be had */
/* Drops the dead slots.  Ids change. */
void index_block_compact(struct index *ix, struct block *b);
/* Moves all live entries of r, which follows l and fits, to the end of l.  Ids change. */
void index_block_absorb(struct index *ix, struct block *l, struct block *r);

/* index_dir.c: the directory, and what needs neighbours. */
#define DIR_NONE SIZE_MAX
static inline uint64_t dir_base(const struct index *ix, size_t at)
{
    return ix->dir.base[ix->dir.head + at];
}
static inline struct block *dir_block(const struct index *ix, size_t at)
{
    return ix->page[ix->dir.block[ix->dir.head + at]];
}
/* Position of the last block with base <= seq; DIR_NONE: seq is before all blocks. */
size_t index_dir_find(const struct index *ix, uint64_t seq);
/* Makes a block at this position; NULL: out of memory, nothing changed. */
struct block *index_dir_add(struct index *ix, size_t at, unsigned cap, uint64_t base);
/* Removes n blocks and frees them. */
void index_dir_drop(struct index *ix, size_t at, size_t n);
void index_dir_clear(struct index *ix);
/* Reserves a slot for a sequence greater than all: *b and *slot, used but not live.  MF_NOMEM
 * changes nothing visible. */
MF_MUSTCHECK int index_dir_append(struct index *ix, uint64_t seq, struct block **b, unsigned *slot);
/* Releases the slot that index_dir_append() just reserved. */
void index_dir_unappend(struct index *ix, struct block *b);
/* b has fewer live entries than `before`: it may be freed, merged or made smaller. */
void index_dir_after_loss(struct index *ix, struct block *b, unsigned before);

/* index_ring.c: the entries of a key. */
void index_ring_link(struct index *ix, uint32_t id); /* as the newest; its key counts it already */
void index_ring_unlink(struct index *ix, uint32_t id);
void index_ring_hidden(struct index *ix, uint32_t id); /* it was hidden just now */
void index_ring_moved(struct index *ix, uint32_t from,
                      uint32_t to); /* entry `to` is a copy of `from` */
MF_MUSTCHECK int index_key_hold(struct index *ix, struct mf_slice key, uint64_t hash, uint32_t *id);
void index_key_drop(struct index *ix, uint32_t key);

/* index_load.c: flush adds the first n queued messages to the blocks. entry adds one, greater
 * than all, of a key that counts it already; on failure the key still does. */
MF_MUSTCHECK int index_load_flush(struct index *ix, unsigned n);
MF_MUSTCHECK int index_load_entry(struct index *ix, uint64_t seq, uint32_t key, uint64_t place,
                                  int64_t deadline_ns, uint16_t flags);

#endif
