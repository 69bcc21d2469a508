/* array.h: arrays that grow.
 *
 *     struct list { struct item *items; size_t n, cap; };
 *     if (mf_array_reserve(&l->items, &l->cap, l->n + 1, sizeof *l->items) != 0)
 *         return MF_NOMEM;
 *     l->items[l->n++] = item;
 *
 * The owner keeps pointer, count and capacity, and frees the pointer with free(). */
#ifndef MAYFLY_ARRAY_H
#define MAYFLY_ARRAY_H

#include "base/base.h"

/* The slow path of mf_array_reserve(). */
MF_MUSTCHECK int mf_array_grow(void *items, size_t *cap, size_t need, size_t size);

/* Room for at least `need` items of `size` bytes in the array at *items (a T **; NULL with *cap 0
 * at first).  Capacity starts at 8 and doubles, so n appends cost O(n) together.  0, or MF_NOMEM:
 * the array is unchanged.  New items are not initialised; pointers into the array may move. */
MF_MUSTCHECK static inline int mf_array_reserve(void *items, size_t *cap, size_t need, size_t size)
{
    return MF_LIKELY(need <= *cap) ? 0 : mf_array_grow(items, cap, need, size);
}

#endif
