/* msort.h: a merge sort in steps, for tasks that sort over several time slices.  Stable; O(n log
 * n) moves in all, and as much memory again as the array has. */
#ifndef MAYFLY_MSORT_H
#define MAYFLY_MSORT_H

#include "base/base.h"

struct msort {
    uint8_t *at, *spare;
    size_t n, size;
    int (*cmp)(const void *a, const void *b);
    size_t run;     /* pieces of this length are sorted */
    size_t lo;      /* where the pair begins that is merged now */
    size_t i, j, k; /* the next element of each piece, and its target */
};
/* Takes ownership of the malloc()ed array of n elements, even when it fails with MF_NOMEM. */
MF_MUSTCHECK int msort_init(struct msort *s, void *array, size_t n, size_t size,
                            int (*cmp)(const void *a, const void *b));
/* Does at most `moves` moves.  false: the array is sorted. */
bool msort_step(struct msort *s, unsigned moves);
/* Returns the array, which the caller owns again; sorted once msort_step() returned false. */
void *msort_take(struct msort *s);
void msort_fini(struct msort *s); /* a zeroed one is fine */

#endif
