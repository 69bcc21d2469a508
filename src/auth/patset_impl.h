/* patset_impl.h: a set of subject patterns, each for all clients or for some queue names; all are
 * matched at once.
 *
 * A tree of tokens: a literal child is found by hash, '*' and a closing '>' have a pointer of their
 * own.  Matching costs O(tokens of the subject) and one more walk for each '*' it passes,
 * independent of the number of patterns. */
#ifndef MAYFLY_AUTH_PATSET_H
#define MAYFLY_AUTH_PATSET_H

#include "base/base.h"

struct patset;

MF_MUSTCHECK int patset_new(struct patset **out);
void patset_free(struct patset *s);
/* pattern must be valid; queue may be empty (all clients) or a pattern itself. */
MF_MUSTCHECK int patset_add(struct patset *s, struct mf_slice pattern, struct mf_slice queue);

struct patset_hit {
    bool plain;     /* some entry without a queue matches */
    bool queued;    /* some entry with a queue matches the subject */
    bool queue_hit; /* ... and the queue too */
};
/* How the last token is matched when the subject is itself a pattern that ends in '>'. */
enum patset_tail {
    PATSET_LITERAL, /* like any token: '*' matches it */
    PATSET_SUBSET,  /* only '>' covers it */
};
struct patset_hit patset_match(const struct patset *s, struct mf_slice subject,
                               struct mf_slice queue, enum patset_tail tail);

#endif
