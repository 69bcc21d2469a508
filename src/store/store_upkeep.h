/* store_upkeep.h: checkpoints, scrubs, damage and statistics of a store.  A part of store.h. */
#ifndef MAYFLY_STORE_UPKEEP_H
#define MAYFLY_STORE_UPKEEP_H

#include "base/base.h"

struct store;
struct store_wait;

/* Requests a checkpoint now; w is called when it is complete. */
MF_MUSTCHECK int store_checkpoint(struct store *s, struct store_wait *w);
/* Reads all segments in the background; store_damage() has the damage afterwards. */
MF_MUSTCHECK int store_scrub(struct store *s, struct store_wait *w);

struct store_damage {
    char file[40];
    uint64_t offset, length;
    uint64_t first_seq, last_seq; /* sequences that may be lost; 0, 0: none or unknown */
    const char *what;             /* static text */
};
size_t store_damage_count(const struct store *s);
const struct store_damage *store_damage(const struct store *s, size_t i);
/* Number of damaged places that still matter: places found by recovery while their file is part
 * of the log, other places while an existing message lies in them.  *messages: how many are lost
 * or cannot be read.  O(messages). */
size_t store_damage_open(struct store *s, uint64_t *messages, bool *found_at_start);
/* The sequences of up to `max` existing messages that cannot be read. */
size_t store_damage_messages(struct store *s, uint64_t *dst, size_t max);
/* The reason why the store is read-only; NULL: it is not. */
const char *store_error(const struct store *s);
bool store_full(const struct store *s); /* appends are refused for want of disk space */

/* Memory of the index, without what a purge is freeing.  O(1). */
size_t store_index_bytes(const struct store *s);

struct store_stats {
    uint64_t appends, batches, groups, syncs, bytes_written;
    uint64_t expired, marks, copied_bytes, segments_freed, checkpoints;
    uint64_t wheel_entries, index_bytes;
    uint64_t recovered_records, recovered_from_checkpoint; /* at open */
    bool torn_tail;                                        /* at open */
    struct store_damage torn;                              /* where, if so */
};
void store_stats(const struct store *s, struct store_stats *out);

#endif
