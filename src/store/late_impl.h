/* late_impl.h: counts of overdue messages: past their deadline and not yet taken by
 * store_expire().  Included by store_impl.h. */
#ifndef STORE_LATE_H
#define STORE_LATE_H

#include "store/log/image.h"

struct store;

/* Kept while requests for the state arrive. */
struct late {
    bool kept;         /* the sums are valid and updated */
    int64_t upto_ns;   /* sums include deadlines up to here */
    struct totals sum; /* of committed messages */
    uint64_t keys;     /* keys without a visible message */
    uint64_t steps;    /* messages visited; tests bound the work by it */
};

/* O(1) amortised over the messages, while few of a key are late at once. */
void late_sum(struct store *s, struct totals *sum, uint64_t *keys);
void late_forget(struct store *s);
bool late_counts(const struct store *s, uint32_t id); /* true: the sums include it */
/* A message of the sums is hidden now; dark_keys: number of keys that have no other. */
void late_hidden(struct store *s, struct totals t, size_t dark_keys);
void late_added(struct store *s, uint32_t id); /* a new message; only while late.kept */
void late_gone(struct store *s, uint32_t id);  /* not hidden, about to leave the index; likewise */
void late_moved(struct store *s, uint32_t id); /* its deadline was changed; likewise */

#endif
