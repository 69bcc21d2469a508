/* store_accepted.h: queries over accepted messages, committed or not: for checks before writing.
 * A part of store.h. */
#ifndef MAYFLY_STORE_ACCEPTED_H
#define MAYFLY_STORE_ACCEPTED_H

#include "base/base.h"

struct store;

/* The last and the first accepted message of a key; messages whose removal is accepted do not
 * count.  0: none. */
uint64_t store_key_last_accepted(const struct store *s, struct mf_slice key, uint64_t *count);
uint64_t store_key_first_accepted(const struct store *s, struct mf_slice key);
/* The next accepted message of the key behind `after`; the first of the key, if `after` was
 * removed. */
uint64_t store_key_next_accepted(const struct store *s, struct mf_slice key, uint64_t after);
uint64_t store_first_accepted(const struct store *s);
uint64_t store_next_accepted(const struct store *s, uint64_t from_seq); /* at or after; 0: none */
void store_accepted(const struct store *s, uint64_t *msgs, uint64_t *bytes, uint64_t *last_seq);
/* The newest message of all keys that match: accepted, or visible.  0: none.  O(messages behind
 * it) or O(keys that match), whichever is less. */
uint64_t store_pattern_last_accepted(struct store *s, struct mf_slice pattern);
uint64_t store_pattern_last(struct store *s, struct mf_slice pattern);
/* Calls visit() for each key that matches and has an accepted message; visit() may remove messages
 * of that key and must not call this function.  The key is valid in the call.  O(keys that match);
 * without memory O(messages), so it never fails. */
void store_accepted_keys(struct store *s, struct mf_slice pattern,
                         void (*visit)(void *arg, struct mf_slice key), void *arg);
/* Number of accepted removals that are not yet committed, without purges and expiry. */
uint64_t store_removing(const struct store *s);
/* Number of accepted messages with the lowest owner flag (0) or the second (1). */
uint64_t store_accepted_flagged(const struct store *s, unsigned flag);
/* The two low flags and STORE_BITS of an accepted message; false: no such message. */
bool store_flags(const struct store *s, uint64_t seq, uint16_t *flags);
/* The same and its deadline (0: none). */
bool store_life(const struct store *s, uint64_t seq, int64_t *deadline_ns, uint16_t *flags);
/* The accepted message of the same key before and behind this one; 0: none.  O(1), plus messages
 * in between whose removal is accepted. */
uint64_t store_older(const struct store *s, uint64_t seq);
uint64_t store_newer(const struct store *s, uint64_t seq);
/* Bytes of its key, head and body, and the same flags; 0: no such message. */
uint64_t store_length(const struct store *s, uint64_t seq, uint16_t *flags);
/* The first accepted message of this key behind `after` that is overdue by store_now(); 0: none.
 * O(messages of the key); O(1) when no message is overdue. */
uint64_t store_key_overdue(const struct store *s, struct mf_slice key, uint64_t after);

#endif
