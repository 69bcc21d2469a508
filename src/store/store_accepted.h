/* store_accepted.h: what is accepted, on disk or not: for checks before writing.  A part of
 * store.h.
 */
#ifndef MAYFLY_STORE_ACCEPTED_H
#define MAYFLY_STORE_ACCEPTED_H

#include "base/base.h"

struct store;

/* For checks before writing: counts what is accepted but not on disk yet, and not what is already
 * condemned.  0: none. */
uint64_t store_key_last_accepted(const struct store *s, struct mf_slice key, uint64_t *count);
uint64_t store_key_first_accepted(const struct store *s, struct mf_slice key);
/* The next one behind `after`, which was one of this key; the first, if that is gone. */
uint64_t store_key_next_accepted(const struct store *s, struct mf_slice key, uint64_t after);
uint64_t store_first_accepted(const struct store *s);
uint64_t store_next_accepted(const struct store *s, uint64_t from_seq); /* at or after; 0: none */
void store_accepted(const struct store *s, uint64_t *msgs, uint64_t *bytes, uint64_t *last_seq);
/* The newest message of all keys that match: accepted, or for readers.  0: none.  O(messages behind
 * it) or O(keys that match), whatever is less. */
uint64_t store_pattern_last_accepted(struct store *s, struct mf_slice pattern);
uint64_t store_pattern_last(struct store *s, struct mf_slice pattern);
/* Calls visit() for each key that matches and has an accepted message; visit() may remove messages
 * of that key and must not call this function.  The key is valid in the call.  O(keys that match);
 * without memory O(messages), so it never fails. */
void store_accepted_keys(struct store *s, struct mf_slice pattern,
                         void (*visit)(void *arg, struct mf_slice key), void *arg);
/* Removals on their way to disk; those of everything at once, and of what expired, do not count. */
uint64_t store_removing(const struct store *s);
/* How many accepted messages have the lowest owner flag (0) or the second (1). */
uint64_t store_accepted_flagged(const struct store *s, unsigned flag);
/* The two low flags and STORE_BITS of a message that is accepted; false: it is not there. */
bool store_flags(const struct store *s, uint64_t seq, uint16_t *flags);
/* The same and its deadline (0: none). */
bool store_life(const struct store *s, uint64_t seq, int64_t *deadline_ns, uint16_t *flags);
/* The accepted message of the same key before and behind this one; 0: none.  O(1), and those
 * between that are on their way out. */
uint64_t store_older(const struct store *s, uint64_t seq);
uint64_t store_newer(const struct store *s, uint64_t seq);
/* Bytes of its key, head and body, and the same flags; 0: it is not there. */
uint64_t store_length(const struct store *s, uint64_t seq, uint16_t *flags);
/* The first accepted message of this key behind `after` that is past its deadline by store_now()
 * and was not yet taken by store_expire(); 0: none.  O(messages of the key); O(1) when nothing at
 * all is overdue. */
uint64_t store_key_overdue(const struct store *s, struct mf_slice key, uint64_t after);

#endif
