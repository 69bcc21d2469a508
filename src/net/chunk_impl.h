/* chunk.h: queues of bytes waiting to be written, in pooled chunks of a few sizes. */
#ifndef NET_CHUNK_H
#define NET_CHUNK_H

#include "base/base.h"

#include <sys/uio.h>

#define CHUNK_CLASSES 4
/* What the pool keeps for reuse at most; beyond it chunks go back to malloc. */
#define POOL_MAX_BYTES ((size_t)8 << 20)

/* [0,start) sent, [start,end) queued, [end,cap) free. */
struct chunk {
    struct chunk *next;
    uint32_t start, end, cap;
    uint32_t cls; /* CHUNK_CLASSES: larger than any class, not pooled */
    uint8_t data[];
};

struct chunk_pool {
    struct chunk *free[CHUNK_CLASSES];
    size_t bytes;  /* in the free lists */
    size_t unused; /* the least `bytes` since the last trim: what the load does not need */
};

/* Room for at least n bytes, in the smallest class for both n and `hint` (which may exceed all
 * classes; n beyond them gets a chunk of its own size).  NULL: out of memory, or n beyond 4 GB.
 * O(1). */
struct chunk *chunk_get(struct chunk_pool *p, size_t n, size_t hint);
void chunk_put(struct chunk_pool *p, struct chunk *c);
/* Frees what was not needed since the last call. */
void chunk_pool_trim(struct chunk_pool *p);
void chunk_pool_fini(struct chunk_pool *p);

/* bytes = sum of end - start; head == NULL <=> tail == NULL.  Chunks without bytes may stand
 * anywhere. */
struct chunk_queue {
    struct chunk *head, *tail;
    size_t bytes;
};
void chunk_queue_push(struct chunk_queue *q, struct chunk *c);
/* Copies to the end; 0 or MF_NOMEM, which leaves a part of p behind: the queue is of no use then.
 */
MF_MUSTCHECK int chunk_queue_append(struct chunk_queue *q, struct chunk_pool *p, const void *data,
                                    size_t n);
/* The first n bytes are done; emptied chunks go back. */
void chunk_queue_drop(struct chunk_queue *q, struct chunk_pool *p, size_t n);
/* All of src to the end of dst. */
void chunk_queue_splice(struct chunk_queue *dst, struct chunk_queue *src);
/* At most max slices from the front; how many.  *total: their bytes. */
int chunk_queue_iov(const struct chunk_queue *q, struct iovec *iov, int max, size_t *total);
void chunk_queue_clear(struct chunk_queue *q, struct chunk_pool *p);
/* Frees the first `max` chunks, their pages back to the kernel: for queues far longer than what the
 * pool keeps, a piece at a time, because pages cost more than memory that stays.  Is it empty? */
bool chunk_queue_discard(struct chunk_queue *q, unsigned max);

#endif
