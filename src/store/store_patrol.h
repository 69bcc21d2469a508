/* store_patrol.h: scrubs: reads the files of all stores again and again, at a limited rate, to
 * find damage before a reader does.
 *
 * One patrol for a server.  Stores join it (store_opts.patrol) and leave it by themselves.  It
 * reads one store after the other, each segment in pieces of at most 1 MiB, one piece at a time,
 * on an upkeep worker: commits and reads have workers of their own.  The pieces of all stores are
 * spread over the period, and one waits a moment while its store commits.  After a start the
 * first store is chosen at random, so that a server that restarts often does not read the same
 * files each time.
 *
 * Cost: one timer and one job for all stores, one list node in each.  A round of N pieces wakes
 * the loop 2 N times in a period; joining and leaving are O(1).  Pages of files that were not in
 * memory before do not stay there. */
#ifndef MAYFLY_STORE_PATROL_H
#define MAYFLY_STORE_PATROL_H

#include "loop/loop.h"

struct store_patrol;

struct store_patrol *store_patrol_new(struct loop *l); /* or NULL; at rest */
void store_patrol_free(struct store_patrol *p);        /* every store has left it; may be NULL */
/* Every segment is read about once in this time; 0: never. */
void store_patrol_period(struct store_patrol *p, int64_t ns);

struct store_patrol_stats {
    uint64_t bytes;       /* read and checked */
    uint64_t damaged;     /* damaged places, each counted once while the server runs */
    uint64_t rounds;      /* over all stores */
    int64_t round_end_ns; /* wall clock: end of the last one; 0: none yet */
};
void store_patrol_stats(const struct store_patrol *p, struct store_patrol_stats *out);

#endif
