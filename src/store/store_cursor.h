/* store_cursor.h: walks and counts of messages by patterns of their keys.  A part of store.h. */
#ifndef MAYFLY_STORE_CURSOR_H
#define MAYFLY_STORE_CURSOR_H

#include "base/base.h"

struct store;

/* Messages of the keys that match a pattern, in sequence order.  A call takes some thousand steps
 * at most.  Cost: O(1) a message for one key and where all messages match; O(log keys) for a
 * pattern that matches at most STORE_CURSOR_KEYS keys and a small part of the messages; else a test
 * for every message passed. */
#define STORE_CURSOR_KEYS 16384
struct store_cursor;
/* STORE_LAST_PER_KEY: of each key the newest message that was committed when the cursor was made.
 * If it is removed before its turn, the one before it may be returned in its place. */
enum store_cursor_kind { STORE_ALL, STORE_LAST_PER_KEY };
MF_MUSTCHECK int store_cursor_new(struct store_cursor **out, struct store *s,
                                  struct mf_slice pattern, enum store_cursor_kind kind,
                                  uint64_t from_seq);
/* The next sequence, 0: none now (later messages may follow: ask again).  *more with 0: the bound
 * of this call was reached, ask again soon. */
uint64_t store_cursor_next(struct store_cursor *c, bool *more);
/* The same, and overdue messages too, with *dead set. */
uint64_t store_cursor_next_any(struct store_cursor *c, bool *more, bool *dead);
uint64_t store_cursor_steps(const struct store_cursor *c); /* messages and keys visited so far */
void store_cursor_free(struct store_cursor *c);
/* STORE_LAST_PER_KEY, right after store_cursor_new(): considers only messages up to `upto`. */
void store_cursor_upto(struct store_cursor *c, uint64_t upto);
/* Counts committed messages of keys that match, with sequences in [first, last], for which gone()
 * of store_watch() was not called yet.  False: too many steps; count with a cursor.  O(1) where
 * the pattern covers all or nothing lies outside of the range, else some thousand steps at most;
 * and O(blocks) on the shorter side of the range. */
MF_MUSTCHECK bool store_count(struct store *s, struct mf_slice pattern, uint64_t first,
                              uint64_t last, uint64_t *out);
/* Number of those that are overdue.  O(messages that match) where these are some thousand at most,
 * else O(overdue messages of any key); O(1) for the pattern of all keys, as store_state(). */
uint64_t store_count_overdue(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last);
/* Counts as store_count() does, however many there are.  MF_AGAIN: not ready, ask again; each
 * call visits some thousand messages.  MF_NOMEM.  The count is kept: a later call with another
 * range nearby visits only the messages between the two ranges. */
MF_MUSTCHECK int store_tally(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last, uint64_t *out);
/* For a reader that counted from `first` on and advances: `seq` is the first visible message from
 * there on that matches.  The kept count begins behind it now.  O(kept counts), plus the messages
 * between the two where some are overdue. */
void store_tally_pass(struct store *s, struct mf_slice pattern, uint64_t first, uint64_t seq);
uint64_t store_tally_steps(const struct store *s); /* messages visited for all counts so far */
/* Counts keys, as store_count(): those with such a message with a sequence up to `last`. */
MF_MUSTCHECK bool store_count_keys(struct store *s, struct mf_slice pattern, uint64_t last,
                                   uint64_t *out);

#endif
