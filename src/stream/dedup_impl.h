/* dedup_impl.h: what dedup.c (the ids in memory) and dedup_store.c (the ids on disk) share.
 *
 * An id is kept as 128 bits of hash, made with a secret of the stream: two ids that meet by chance
 * are less likely than a disk that lies, and an attacker cannot search for two that do.  The ids
 * form a queue in the order of their sequences, which is that of their times:
 *
 *     head          base          open        fresh         tail      positions, counted for ever
 *      | in large     | in small    | in the    | in their    |
 *      | chunks       | chunks      | open one  | messages    |
 *
 * Chunks are blobs (dedup_store.c).  head <= base <= open <= fresh <= tail. */
#ifndef DEDUP_IMPL_H
#define DEDUP_IMPL_H

#include "stream/stream_impl.h"

struct id_entry {
    uint64_t hash[2];
    uint64_t seq;
    int64_t ts_ns;
};

#define BLOCK_IDS 128u

/* Open addressing, linear probing: at[] names positions in the queue (slot_of()); 0: free. */
struct id_slots {
    uint32_t *at;
    size_t cap, used;
};

/* A blob with ids: those from its first to last_seq, except ids that left the window before. */
struct id_chunk {
    uint64_t name, last_seq;
    uint32_t count;
};

struct dedup {
    uint64_t seed[2];
    struct id_entry **block; /* block[block_head + i]: positions from (first_block + i) * 128 */
    size_t blocks, block_head, block_cap;
    uint64_t first_block;
    uint64_t head, base, open, fresh, tail;
    /* An id is in exactly one of these.  `old` is being emptied into `now`, a few at each call, so
     * that no call pays for the growth of a large table. */
    struct id_slots now, old;
    size_t moved;
    struct id_chunk *chunk; /* in order; the first `large` hold CHUNK_IDS */
    size_t chunks, chunk_cap, large;
    uint64_t upto;    /* the chunks hold all ids of messages up to this sequence */
    int64_t retry_ns; /* after a failure: not before this */
    bool owed;        /* a message was removed whose id could not be written */
    struct mf_buf buf;
};

static inline struct id_entry *id_at(const struct dedup *d, uint64_t pos)
{
    return &d->block[d->block_head + (pos / BLOCK_IDS - d->first_block)][pos % BLOCK_IDS];
}
void id_hash(const struct dedup *d, struct mf_slice id, uint64_t hash[2]);
/* At the end of the queue; seq is larger than all there.  MF_NOMEM: nothing happened. */
MF_MUSTCHECK int id_push(struct dedup *d, const struct id_entry *e);
/* Drops at most max from the front, those with times up to until_ns. */
void id_drop(struct dedup *d, int64_t until_ns, size_t max);
/* The first position not before `from` with at least this sequence.  O(log ids). */
uint64_t id_lower(const struct dedup *d, uint64_t from, uint64_t seq);
/* Every id is found where it should be: for tests.  O(ids). */
bool dedup_check(const struct dedup *d);

#endif
