/* msort.h: sorting in slices: a merge sort that stops and goes on.  Stable; O(n log n) moves in
 * all, and as much memory again as the array has. */
#ifndef MAYFLY_MSORT_H
#define MAYFLY_MSORT_H

#include "base/base.h"

struct msort {
    uint8_t *at, *spare;
    size_t n, size;
    int (*cmp)(const void *a, const void *b);
    size_t run;     /* pieces of this length are sorted */
    size_t lo;      /* where the pair begins that is merged now */
    size_t i, j, k; /* what is next of both, and where it goes */
};
/* Takes the malloc()ed array of n elements over, also when it fails: MF_NOMEM. */
MF_MUSTCHECK int msort_init(struct msort *s, void *array, size_t n, size_t size,
                            int (*cmp)(const void *a, const void *b));
/* At most so many moves.  false: it is sorted. */
bool msort_step(struct msort *s, unsigned moves);
/* The array, which is the caller's again; sorted after msort_step() said false. */
void *msort_take(struct msort *s);
void msort_fini(struct msort *s); /* a zeroed one is fine */

#endif
