/* pattern_set.h: which subjects and patterns of one list meet. */
#ifndef MAYFLY_PATTERN_SET_H
#define MAYFLY_PATTERN_SET_H

#include "mayfly/arena.h"
#include "mayfly/table.h"

/* Patterns of one list, made ready to be asked which of them meet.  Literals are found by hash, so
 * that a long list of them is not compared pair by pair; only wildcards are.  All memory is the
 * caller's scratch. */
struct pattern_node {
    struct table_node node;
    size_t index;
};
struct pattern_set {
    struct mf_slice *at;
    size_t n;
    size_t *wild; /* indexes of those with wildcards, and of malformed ones; ascending */
    size_t nwild;
    struct pattern_node *literals; /* n of them */
    struct table table;
    bool *is_wild;
};
enum pattern_relation { PATTERN_OVERLAP, PATTERN_WITHIN }; /* WITHIN: one within the other */
MF_MUSTCHECK int pattern_set_init(struct pattern_set *s, struct arena *scratch, size_t n);
/* at[] is filled.  MF_NOMEM. */
MF_MUSTCHECK int pattern_set_ready(struct pattern_set *s);
void pattern_set_fini(struct pattern_set *s);
/* The lowest j > i that stands in this relation to i; n: none.  O(wildcards), O(n) for a wildcard.
 */
size_t pattern_set_meets(const struct pattern_set *s, size_t i, enum pattern_relation how);

#endif
