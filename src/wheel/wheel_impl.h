/* wheel_impl.h: the insides of the wheel, shared by the files of this folder.
 *
 * A *tick* is deadline >> TICK_BITS, read as DIGITS base-256 digits.  Three places hold entries:
 *
 *   buckets  For an entry with tick > w->tick: L is the highest digit in which the two differ.
 *            The entry lies in bucket (L, digit L of its tick), and that digit is larger than
 *            digit L of w->tick.  So nothing wraps, and the first bucket of the lowest occupied
 *            level holds the earliest entries.
 *   drain    At most one bucket whose range holds w->tick itself: its entries are moved down,
 *            chunk by chunk, and no new entry is added to it.
 *   due      All entries with tick <= w->tick, in *runs*: chunks sorted by (deadline, order),
 *            and a 4-ary heap over the runs' first entries.
 *
 * A bucket is a list of chunks from the oldest to the newest; only the newest is partly filled.
 * It keeps the order of arrival, so that equal deadlines added in order need no sorting when due.
 * An entry's ref is chunk number << 6 | slot; slot 63 does not exist, so no ref is WHEEL_NONE. */
#ifndef MAYFLY_WHEEL_IMPL_H
#define MAYFLY_WHEEL_IMPL_H

#include "wheel/wheel.h"

#define TICK_BITS   20
#define LEVELS      6 /* 48 bits; a tick has 43 */
#define SLOTS       256u
#define BUCKETS     (LEVELS * SLOTS)
#define CHUNK_ITEMS 63u
#define PAGE_CHUNKS 64u
#define ASIDE_MAX   16u
#define NONE        UINT32_MAX /* no chunk, no bucket, no id */
#define BUCKET_DUE  UINT16_MAX /* chunk.bucket of a run */

/* In a run slots [head, count) are in use; an entry deleted from the middle leaves id NONE.  The
 * first and the last of them are alive. */
struct chunk {
    uint32_t next; /* bucket: the newer neighbour */
    union {
        uint32_t prev; /* bucket: the older neighbour */
        uint32_t live; /* run: entries not deleted, at least 1 */
    };
    uint16_t bucket;
    uint8_t count, head;
    uint32_t id[CHUNK_ITEMS];
    int64_t deadline[CHUNK_ITEMS];
};

/* Chunks are mapped and unmapped in pages of PAGE_CHUNKS.  The lowest free number is used first,
 * so that the high pages become empty. */
struct pool {
    struct chunk **mem; /* [cap] NULL: not mapped */
    uint64_t *free;     /* [cap] bit <=> chunk is free */
    uint64_t *room;     /* [(cap + 63) / 64] bit <=> page is mapped and has a free chunk */
    uint64_t *mapped;   /* likewise; bit <=> page is mapped */
    uint32_t *place;    /* [cap * PAGE_CHUNKS] a run's index in the heap; here and not in the chunk,
                           so that keeping the heap touches no chunk */
    uint32_t cap;       /* pages */
    uint32_t low;       /* no page of room[] before this word */
    uint32_t high;      /* no page of mapped[] after this word */
    uint32_t pages, used;
    uint32_t asides;
    uint8_t *aside[ASIDE_MAX]; /* empty pages that will be unmapped */
    uint32_t owed; /* chunks freed since, each of which pays for moving one (wheel_tidy) */
};

/* Sort key of due entries; order() is called only when deadlines are equal. */
struct key {
    int64_t deadline;
    uint64_t order;
    uint32_t id;
    uint32_t chunk : 31, known : 1;
};

struct bucket {
    uint32_t first, last, chunks;
};

/* Of a large bucket: how many of its entries lie in each part of its time (wheel_cells.c). */
struct cells {
    int64_t first; /* part i is number first + i of all parts of this length since 1970 */
    uint32_t n;
    uint32_t count[];
};

struct wheel {
    struct wheel_owner o;
    uint32_t id_mask;
    int64_t now, tick; /* tick == now >> TICK_BITS when settled, else maybe less */
    bool settled;      /* the last wheel_advance() was complete */
    bool dirty;        /* the open run is unsorted */
    uint32_t drain;    /* the bucket being drained, or NONE */
    uint32_t open;     /* the run for single entries, or NONE */
    int64_t open_min;  /* no entry of a dirty open run is due before */
    struct key *heap;  /* one per run; `chunk` is the run, the rest its first entry */
    uint32_t heap_n, heap_cap;
    size_t count, due;
    uint64_t moves;       /* entries moved from one place to another; tests bound the work by it */
    struct mf_list scans; /* wheel_scan.node */
    uint64_t counted;     /* entries looked at to make cells; likewise */
    struct cells **cells[LEVELS]; /* [SLOTS]; NULL: no bucket of the level has any */
    uint32_t cells_n[LEVELS];     /* buckets that have */
    struct pool pool;
    uint64_t occupied[LEVELS][SLOTS / 64]; /* bit <=> the bucket is not empty */
    struct bucket bucket[BUCKETS];
};

static inline struct chunk *chunk_at(const struct wheel *w, uint32_t no)
{
    return w->pool.mem[no / PAGE_CHUNKS] + no % PAGE_CHUNKS;
}
static inline uint32_t *ref_of(const struct wheel *w, uint32_t id)
{
    const struct wheel_pages *p = &w->o.pages;

    return (uint32_t *)(void *)(p->page[id >> p->bits] + p->at +
                                (size_t)(id & w->id_mask) * p->stride);
}
static inline void ref_set(const struct wheel *w, uint32_t id, uint32_t no, uint32_t slot)
{
    *ref_of(w, id) = no << 6 | slot;
}
/* Bucket number and first tick of the bucket, given where the wheel stands. */
static inline uint32_t bucket_of(const struct wheel *w, int64_t tick)
{
    unsigned level = (63u - (unsigned)__builtin_clzll((uint64_t)(tick ^ w->tick))) / 8;

    return level * SLOTS + ((uint32_t)(tick >> (8 * level)) & (SLOTS - 1));
}
static inline int64_t bucket_start(const struct wheel *w, uint32_t b)
{
    unsigned shift = 8 * (b / SLOTS);

    return (w->tick >> (shift + 8) << (shift + 8)) | ((int64_t)(b % SLOTS) << shift);
}
static inline int64_t bucket_end(const struct wheel *w, uint32_t b) /* its last tick */
{
    return bucket_start(w, b) + ((int64_t)1 << (8 * (b / SLOTS))) - 1;
}
static inline int64_t tick_ns(int64_t tick) /* its first moment, or the last of all */
{
    return tick > INT64_MAX >> TICK_BITS ? INT64_MAX : tick << TICK_BITS;
}

/* wheel_pool.c: O(1), plus one word read per 4,096 chunks. */
uint32_t wheel_pool_take(struct pool *p); /* NONE: out of memory */
void wheel_pool_give(struct pool *p, uint32_t no);
void wheel_pool_unmap(struct pool *p, uint32_t page); /* a page all of whose chunks are free */
void wheel_pool_free(struct pool *p);
size_t wheel_pool_memory(const struct pool *p);

/* wheel_tidy.c: while more than a third of the chunks held are free, moves chunks from the last
 * page to the first free places, one for each chunk freed.  Memory stays within 1.5 times the
 * need, at less than one move per entry.  At most `moves` entries are touched (or one chunk). */
void wheel_tidy(struct wheel *w, size_t moves);
static inline bool wheel_sparse(const struct wheel *w)
{
    uint32_t held = w->pool.pages * PAGE_CHUNKS;

    return held - w->pool.used > w->pool.used / 2 + 2 * PAGE_CHUNKS;
}

/* The parts of a bucket are whole seconds, 4 s, 20 minutes, or 4 days: at most 4,400. */
#define CELL_S INT64_C(1000000000)
static inline int64_t cell_width(uint32_t b)
{
    static const int64_t width[LEVELS] = {CELL_S,     CELL_S,        CELL_S,
                                          4 * CELL_S, 1200 * CELL_S, 345600 * CELL_S};

    return width[b / SLOTS];
}
/* The number of the part; divisions by constants are multiplications. */
static inline int64_t cell_number(uint32_t b, int64_t deadline)
{
    switch (b / SLOTS) {
    case 3:
        return deadline / (4 * CELL_S);
    case 4:
        return deadline / (1200 * CELL_S);
    case 5:
        return deadline / (345600 * CELL_S);
    default:
        return deadline / CELL_S;
    }
}
static inline struct cells *cells_at(const struct wheel *w, uint32_t b) /* NULL: it has none */
{
    return w->cells[b / SLOTS] == NULL ? NULL : w->cells[b / SLOTS][b % SLOTS];
}
static inline uint32_t *cell_of(struct cells *c, uint32_t b, int64_t deadline)
{
    return &c->count[cell_number(b, deadline) - c->first];
}

/* wheel_cells.c: a chunk is new in its bucket, the newest; one left it. */
void wheel_cells_grow(struct wheel *w, uint32_t b);
void wheel_cells_shrink(struct wheel *w, uint32_t b);
void wheel_cells_drop(struct wheel *w, uint32_t b); /* the bucket is about to be taken apart */
void wheel_cells_free(struct wheel *w);
/* Shows the cells of a bucket that is not empty, without reading its entries. */
void wheel_cells_show(const struct wheel *w, uint32_t b, struct wheel_cells *out);
size_t wheel_cells_memory(const struct wheel *w);
/* Cells are made for a bucket of a level when it gets so many chunks; tests lower it. */
extern struct wheel_cells_from {
    uint32_t chunks[LEVELS];
} wheel_cells_from;

/* wheel_scan.c: called before a bucket is split, before its newest chunk is freed, and after a
 * chunk was moved. */
void wheel_scan_bucket_freed(struct wheel *w, uint32_t b);
void wheel_scan_chunk_freed(struct wheel *w, uint32_t no);
void wheel_scan_chunk_moved(struct wheel *w, uint32_t from, uint32_t to);

/* wheel_due.c */
MF_MUSTCHECK int wheel_due_add(struct wheel *w, uint32_t id, int64_t deadline);
/* Room in the heap for one more run; false: out of memory. */
MF_MUSTCHECK bool wheel_due_reserve(struct wheel *w);
/* The chunk, already out of its bucket, becomes a run; wheel_due_reserve() must have succeeded. */
void wheel_due_take(struct wheel *w, uint32_t no);
/* Removes the entry; the caller updates its ref. */
void wheel_due_del(struct wheel *w, uint32_t no, uint32_t slot);
/* Sorts the open run if need be: afterwards heap[0] is the first of all. */
void wheel_due_settle(struct wheel *w);

#endif
