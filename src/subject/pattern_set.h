/* pattern_set.h: overlaps between the patterns of one list, or of a list and a tree. */
#ifndef MAYFLY_PATTERN_SET_H
#define MAYFLY_PATTERN_SET_H

#include "subject/pattern_tree.h"

/* The patterns of one list.  Their texts are the caller's and must outlive the set. */
struct pattern_set {
    struct pattern_entry *at; /* n of them, in the order of the list */
    size_t n;
    struct pattern_tree tree;
};
/* Room for n; then each at[i].text is set; then pattern_set_ready().  MF_NOMEM. */
MF_MUSTCHECK int pattern_set_init(struct pattern_set *s, size_t n);
MF_MUSTCHECK int pattern_set_ready(struct pattern_set *s);
/* Both at once, for a list of strings; owner: of all of them, see pattern_tree.h.  NULL strings are
 * empty. */
MF_MUSTCHECK int pattern_set_strings(struct pattern_set *s, char *const *at, size_t n,
                                     const void *owner);
void pattern_set_fini(struct pattern_set *s);

/* The lowest i that overlaps another one behind it (OVERLAP), or lies within any other (WITHIN);
 * n: none.  As in nats-server an empty one overlaps only an empty one and ">", and lies within ">".
 * O(tokens) for usual lists; MF_LIMIT: it would take more than PATTERN_STEPS; MF_NOMEM. */
MF_MUSTCHECK int pattern_set_first(const struct pattern_set *s, enum pattern_relation how,
                                   size_t *first);
/* Does one of the set overlap one of the tree, those of `except` left out?  1, 0, MF_LIMIT,
 * MF_NOMEM. */
MF_MUSTCHECK int pattern_set_overlaps(const struct pattern_set *s, const struct pattern_tree *t,
                                      const void *except);

#endif
