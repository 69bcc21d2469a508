/* pool.h: a free list: spare objects kept for reuse, linked through a node inside each of them.
 *
 *     struct item { struct mf_spare spare; ... };
 *     static struct mf_pool items = MF_POOL_INIT(64);
 *     struct mf_spare *s = mf_pool_take(&items);
 *     struct item *i = s != NULL ? mf_container(s, struct item, spare) : malloc(sizeof *i);
 *     if (!mf_pool_give(&items, &i->spare))
 *         free(i);
 *
 * The pool never allocates or frees.  An owner frees its objects by taking them until NULL.  The
 * object that was given last is taken first, as it is most likely in the cache.  O(1); one thread.
 */
#ifndef MAYFLY_POOL_H
#define MAYFLY_POOL_H

#include "base/base.h"

struct mf_spare {
    struct mf_spare *next;
};
struct mf_pool {
    struct mf_spare *first;
    size_t n, max; /* kept; most that are kept */
};
#define MF_POOL_INIT(max)                                                                          \
    {                                                                                              \
        NULL, 0, (max)                                                                             \
    }

/* NULL: the pool is empty, and the caller allocates an object. */
static inline struct mf_spare *mf_pool_take(struct mf_pool *p)
{
    struct mf_spare *s = p->first;

    if (s == NULL)
        return NULL;
    p->first = s->next;
    p->n--;
    return s;
}
/* false: the pool is full, and the caller frees the object. */
static inline bool mf_pool_give(struct mf_pool *p, struct mf_spare *s)
{
    if (p->n >= p->max)
        return false;
    s->next = p->first;
    p->first = s;
    p->n++;
    return true;
}

#endif
