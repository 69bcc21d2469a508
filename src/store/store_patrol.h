/* store_patrol.h: reads the files of all stores again and again, at a pace, to find damage before a
 * reader does.
 *
 * One for a server.  Stores join it (store_opts.patrol) and leave it by themselves.  It reads one
 * store after the other, each segment in slices of at most 1 MiB, one slice at a time, on an upkeep
 * worker: commits and reads have workers of their own.  The slices of all stores are spread over
 * the period, and one waits a moment while its store commits.  After a start the first one is
 * chosen by chance, so that a server that is restarted often does not read the same files each
 * time.
 *
 * Cost: one timer and one job for all stores, one list node in each.  A round of N slices wakes the
 * loop 2 N times in a period; joining and leaving are O(1).  Pages of files that were not in memory
 * before do not stay there. */
#ifndef MAYFLY_STORE_PATROL_H
#define MAYFLY_STORE_PATROL_H

#include "loop/loop.h"

struct store_patrol;

struct store_patrol *store_patrol_new(struct loop *l); /* or NULL; at rest */
void store_patrol_free(struct store_patrol *p);        /* every store has left it; NULL is fine */
/* Every segment is read about once in this time; 0: never. */
void store_patrol_period(struct store_patrol *p, int64_t ns);

struct store_patrol_stats {
    uint64_t bytes;       /* read and checked */
    uint64_t damaged;     /* places found damaged, each once while the server runs */
    uint64_t rounds;      /* over all stores */
    int64_t round_end_ns; /* wall clock: when the last one ended; 0: none yet */
};
void store_patrol_stats(const struct store_patrol *p, struct store_patrol_stats *out);

#endif
