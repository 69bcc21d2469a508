/* chunk.c: pooled chunks and the byte queues made of them. */
#include "net/chunk_impl.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sizes as malloc sees them, the head included.  The small one holds the bytes that a quiet client
 * gets in a turn, and there may be very many such clients; the large one keeps the iovecs of a
 * busy client few. */
static const size_t class_size[CHUNK_CLASSES] = {1024, 4096, 16384, 65536};

static unsigned class_of(size_t n, unsigned from)
{
    while (from < CHUNK_CLASSES && n > class_size[from] - sizeof(struct chunk))
        from++;
    return from;
}

struct chunk *chunk_get(struct chunk_pool *p, size_t n, size_t hint)
{
    unsigned wish = class_of(hint, 0);
    unsigned cls = class_of(n, wish < CHUNK_CLASSES ? wish : CHUNK_CLASSES - 1);
    size_t size;
    struct chunk *c;

    if (cls < CHUNK_CLASSES && p->free[cls] != NULL) {
        c = p->free[cls];
        p->free[cls] = c->next;
        p->bytes -= class_size[cls];
        if (p->bytes < p->unused)
            p->unused = p->bytes;
    } else {
        if (n > UINT32_MAX - sizeof *c)
            return NULL;
        size = cls < CHUNK_CLASSES ? class_size[cls] : n + sizeof *c;
        c = malloc(size);
        if (c == NULL)
            return NULL;
        c->cap = (uint32_t)(size - sizeof *c);
        c->cls = cls;
    }
    c->next = NULL;
    c->start = c->end = 0;
    return c;
}

void chunk_put(struct chunk_pool *p, struct chunk *c)
{
    if (c->cls == CHUNK_CLASSES || p->bytes + class_size[c->cls] > POOL_MAX_BYTES) {
        free(c);
        return;
    }
    c->next = p->free[c->cls];
    p->free[c->cls] = c;
    p->bytes += class_size[c->cls];
}

void chunk_pool_trim(struct chunk_pool *p)
{
    for (unsigned k = CHUNK_CLASSES; k-- > 0;) {
        while (p->free[k] != NULL && p->unused >= class_size[k]) {
            struct chunk *c = p->free[k];
            p->free[k] = c->next;
            p->bytes -= class_size[k];
            p->unused -= class_size[k];
            free(c);
        }
    }
    p->unused = p->bytes;
}

void chunk_pool_fini(struct chunk_pool *p)
{
    p->unused = p->bytes;
    chunk_pool_trim(p);
}

void chunk_queue_push(struct chunk_queue *q, struct chunk *c)
{
    if (q->tail == NULL)
        q->head = c;
    else
        q->tail->next = c;
    q->tail = c;
    q->bytes += c->end - c->start;
}

int chunk_queue_append(struct chunk_queue *q, struct chunk_pool *p, const void *data, size_t n)
{
    const uint8_t *from = data;

    while (n > 0) {
        struct chunk *c = q->tail;
        if (c == NULL || c->end == c->cap) {
            c = chunk_get(p, n, q->bytes + n);
            if (c == NULL)
                return MF_NOMEM;
            chunk_queue_push(q, c);
        }
        size_t k = c->cap - c->end < n ? c->cap - c->end : n;
        memcpy(c->data + c->end, from, k);
        c->end += (uint32_t)k;
        q->bytes += k;
        from += k;
        n -= k;
    }
    return 0;
}

void chunk_queue_drop(struct chunk_queue *q, struct chunk_pool *p, size_t n)
{
    q->bytes -= n;
    while (q->head != NULL) {
        struct chunk *c = q->head;
        size_t have = c->end - c->start;
        if (n < have) {
            c->start += (uint32_t)n;
            return;
        }
        n -= have;
        q->head = c->next;
        if (q->head == NULL)
            q->tail = NULL;
        chunk_put(p, c);
    }
}

void chunk_queue_splice(struct chunk_queue *dst, struct chunk_queue *src)
{
    if (src->head == NULL)
        return;
    if (dst->tail == NULL)
        dst->head = src->head;
    else
        dst->tail->next = src->head;
    dst->tail = src->tail;
    dst->bytes += src->bytes;
    *src = (struct chunk_queue){NULL, NULL, 0};
}

int chunk_queue_iov(const struct chunk_queue *q, struct iovec *iov, int max, size_t *total)
{
    int n = 0;

    *total = 0;
    for (struct chunk *c = q->head; c != NULL && n < max; c = c->next) {
        if (c->end == c->start)
            continue;
        iov[n].iov_base = c->data + c->start;
        iov[n].iov_len = c->end - c->start;
        *total += iov[n].iov_len;
        n++;
    }
    return n;
}

void chunk_queue_clear(struct chunk_queue *q, struct chunk_pool *p)
{
    chunk_queue_drop(q, p, q->bytes);
}

/* free() alone returns no pages: a small allocation made since nearly always lies behind the chunk
 * on the heap. */
static void chunk_discard(struct chunk *c, uintptr_t page)
{
    uintptr_t from = ((uintptr_t)c->data + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)c->data + c->cap) / page * page;

    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
    free(c);
}

bool chunk_queue_discard(struct chunk_queue *q, unsigned max)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (struct chunk *c; max > 0 && (c = q->head) != NULL; max--) {
        q->head = c->next;
        q->bytes -= c->end - c->start;
        chunk_discard(c, page);
    }
    if (q->head == NULL)
        q->tail = NULL;
    return q->head == NULL;
}
