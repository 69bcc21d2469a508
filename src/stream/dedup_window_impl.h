/* dedup_window_impl.h: message ids of the duplicate window (dedup.c, dedup_store.c). */
#ifndef STREAM_DEDUP_H
#define STREAM_DEDUP_H

#include "base/base.h"

struct dedup;
struct store;
struct stream;

/* Ids seen within the window, in memory: find and add O(1), dropping the old ones amortised O(1).
 * Kept across restarts: an id is in its message's header, and the id of a message is written to a
 * blob before its removal. */
struct dedup *dedup_new(void);
void dedup_free(struct dedup *d);
/* The sequence stored under this id within window_ns before now_ns; 0: none. */
uint64_t dedup_find(struct dedup *d, struct mf_slice id, int64_t now_ns, int64_t window_ns);
/* Memory for one more: the next dedup_add() cannot fail. */
MF_MUSTCHECK int dedup_reserve(struct dedup *d);
MF_MUSTCHECK int dedup_add(struct dedup *d, struct mf_slice id, uint64_t seq, int64_t ts_ns);
/* In the commit batch that removes [first, last], before the removal: writes ids that only their
 * messages still hold.  O(1) when there are none.  MF_NOMEM: the messages must not be removed yet.
 */
MF_MUSTCHECK int dedup_before_removal(struct dedup *d, struct store *st, uint64_t first,
                                      uint64_t last);
/* Forgets the ids from this sequence on: their messages were refused. */
void dedup_withdraw(struct dedup *d, uint64_t from_seq);
/* Now and then (after a message was stored and its id added): writes what has gathered, drops blobs
 * that are out of the window.  last_seq: every id up to there was added.  O(1), but every 4096 ids
 * O(those). */
void dedup_upkeep(struct dedup *d, struct store *st, uint64_t last_seq, int64_t now_ns,
                  int64_t window_ns);
/* At start: from the blobs, and from the messages behind them.  Blocks. */
MF_MUSTCHECK int dedup_load(struct dedup *d, struct stream *s, int64_t now_ns, int64_t window_ns);

#endif
