/* store_cursor.h: messages of a store by patterns of their keys: walking them, counting them.  A
 * part of store.h. */
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
/* STORE_LAST_PER_KEY: of each key the newest message of those on disk when the cursor was made.  If
 * it is removed before its turn, the one before it may come in its place. */
enum store_cursor_kind { STORE_ALL, STORE_LAST_PER_KEY };
MF_MUSTCHECK int store_cursor_new(struct store_cursor **out, struct store *s,
                                  struct mf_slice pattern, enum store_cursor_kind kind,
                                  uint64_t from_seq);
/* The next sequence, 0: none now (a later message may come: ask again).  *more with 0: the bound of
 * this call was reached, ask again soon. */
uint64_t store_cursor_next(struct store_cursor *c, bool *more);
/* The same, and with *dead those past their deadline that store_expire() has not taken yet. */
uint64_t store_cursor_next_any(struct store_cursor *c, bool *more, bool *dead);
uint64_t store_cursor_steps(const struct store_cursor *c); /* messages and keys looked at so far */
void store_cursor_free(struct store_cursor *c);
/* STORE_LAST_PER_KEY: right after it was made: of those up to `upto`. */
void store_cursor_upto(struct store_cursor *c, uint64_t upto);
/* Counts committed messages of keys that match, with sequences in [first, last], that were not
 * taken by store_expire(): those store_watch() was not told of.  False: that would be many steps;
 * count with a cursor.  O(1) where the pattern covers all or nothing lies outside of the range,
 * else some thousand steps at most; and O(blocks) on the shorter side of the range. */
MF_MUSTCHECK bool store_count(struct store *s, struct mf_slice pattern, uint64_t first,
                              uint64_t last, uint64_t *out);
/* Those of them that are past their deadline.  O(all that are), in any key; of everything O(1), as
 * store_state(). */
uint64_t store_count_overdue(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last);
/* Counts as store_count() does, however many there are: MF_AGAIN: not ready, ask again, each call
 * looks at some thousand messages; MF_NOMEM.  The count is kept: when it is asked for again with
 * another range nearby, only the messages between the two ranges are looked at. */
MF_MUSTCHECK int store_tally(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last, uint64_t *out);
/* For a reader that counted from `first` on and goes forward: `seq` is the first message from there
 * on that matches and that readers see.  The kept count begins behind it now.  O(kept counts), and
 * the messages between the two where some are past their deadline. */
void store_tally_pass(struct store *s, struct mf_slice pattern, uint64_t first, uint64_t seq);
uint64_t store_tally_steps(const struct store *s); /* messages looked at for all counts so far */
/* The same for keys: those that have such a message with a sequence up to `last`. */
MF_MUSTCHECK bool store_count_keys(struct store *s, struct mf_slice pattern, uint64_t last,
                                   uint64_t *out);

#endif
