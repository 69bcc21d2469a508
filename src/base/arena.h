/* arena.h: memory that is freed all at once.  A configuration has thousands of small parts and one
 * owner; freeing them one by one would only invite leaks. Every call is O(1) amortised.  Running
 * out of memory is sticky (arena_failed). */
#ifndef MAYFLY_ARENA_H
#define MAYFLY_ARENA_H

#include "base/base.h"

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks; /* the newest first; only it has room */
    size_t used, cap;           /* of the newest */
    bool failed;
};

void arena_fini(struct arena *a);
/* The same, and overwrites the bytes first: for secrets. */
void arena_wipe(struct arena *a);
/* Makes the next block exactly n bytes large: for owners that exist by the thousand and never
 * grow. false: out of memory. */
bool arena_reserve(struct arena *a, size_t n);
/* Zeroed, aligned for any type; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t n);
char *arena_dup(struct arena *a, struct mf_slice s);
char *arena_str(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_printf(struct arena *a, const char *fmt, ...) MF_PRINTF(2, 3);
/* Returns an array with room for one more than n elements. The array grows when n reaches a power
 * of two, so callers keep no capacity.  The old block stays in the arena.  NULL when out of
 * memory. */
void *arena_grow(struct arena *a, void *array, size_t n, size_t size);

#endif
