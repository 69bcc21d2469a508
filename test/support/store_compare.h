/* store_compare.h: does a store answer as the model says? */
#ifndef TEST_STORE_COMPARE_H
#define TEST_STORE_COMPARE_H

#include "store_model.h"

#include "store/store.h"

#include <stdio.h>

/* state_sum() of what the store shows.  Every message must be readable. */
uint64_t compare_sum(struct store *s);
/* The store shows exactly `want` at now_ns, by everything there is to ask; ends the test otherwise.
 */
void compare_all(struct store *s, const struct model_state *want, int64_t now_ns);
/* Prints what differs; at most a few lines. */
void compare_explain(struct store *s, const struct model_state *want, int64_t now_ns, FILE *to);
/* The store shows the journal up to some batch in [lo, hi] (counts of batches) as it is at now_ns;
 * `base` is the state after lo.  Returns that count and leaves the state in `base`; ends the test
 * if there is none. */
size_t compare_prefix(struct store *s, const struct model *m, struct model_state *base, size_t lo,
                      size_t hi, int64_t now_ns);
/* One pattern: cursors of both kinds from `from`, and the walk over the keys. */
void compare_pattern(struct store *s, const struct model_state *want, int64_t now_ns,
                     const char *pattern, uint64_t from);
/* One message, by store_peek() and store_deadline(). */
void compare_msg(struct store *s, const struct model_state *want, int64_t now_ns, uint64_t seq);
void compare_key(struct store *s, const struct model_state *want, int64_t now_ns, const char *key);

#endif
