/* chunk_impl.h: queues of bytes waiting to be written, in pooled chunks of a few sizes. */
#ifndef NET_CHUNK_H
#define NET_CHUNK_H

#include "base/base.h"

#include <sys/uio.h>

#define CHUNK_CLASSES 4
/* Most bytes that the pool keeps for reuse; further chunks are freed. */
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
/* Frees the chunks that were not needed since the last call. */
void chunk_pool_trim(struct chunk_pool *p);
void chunk_pool_fini(struct chunk_pool *p);

/* bytes = sum of end - start; head == NULL <=> tail == NULL.  Chunks without bytes may stand
 * anywhere. */
struct chunk_queue {
    struct chunk *head, *tail;
    size_t bytes;
};
void chunk_queue_push(struct chunk_queue *q, struct chunk *c);
/* Copies to the end; 0 or MF_NOMEM, after which a part of p is queued: the queue must be dropped.
 */
MF_MUSTCHECK int chunk_queue_append(struct chunk_queue *q, struct chunk_pool *p, const void *data,
                                    size_t n);
/* Removes the first n bytes; empty chunks return to the pool. */
void chunk_queue_drop(struct chunk_queue *q, struct chunk_pool *p, size_t n);
/* All of src to the end of dst. */
void chunk_queue_splice(struct chunk_queue *dst, struct chunk_queue *src);
/* At most max slices from the front; how many.  *total: their bytes. */
int chunk_queue_iov(const struct chunk_queue *q, struct iovec *iov, int max, size_t *total);
void chunk_queue_clear(struct chunk_queue *q, struct chunk_pool *p);
/* Frees the first `max` chunks and returns their pages to the kernel, for queues far longer than
 * the pool; in pieces, because returning pages is slow.  true: the queue is empty. */
bool chunk_queue_discard(struct chunk_queue *q, unsigned max);

#endif
