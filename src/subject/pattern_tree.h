/* pattern_tree.h: a set of patterns that can be compared with another set, or with itself, without
 * comparing each with each.
 *
 * The patterns hang in a tree of tokens; an edge carries as many tokens as nothing branches off, so
 * there are at most two nodes for each pattern.  Comparing two trees walks both at once, and only
 * where both have something: O(tokens) for usual sets.  Sets with wildcards in many places can make
 * that a product of both sizes; so each comparison has a limit of steps.
 *
 * The entries and their texts are the caller's and stay where they are while in the tree. */
#ifndef MAYFLY_PATTERN_TREE_H
#define MAYFLY_PATTERN_TREE_H

#include "base/table.h"

struct pattern_node;
struct pattern_block;

struct pattern_entry {
    struct mf_slice text; /* valid or not; with an empty token it is in no relation to any */
    const void *owner;    /* see pattern_query.except */
    uint32_t index;       /* see pattern_query.found; to be added in ascending order */
    /* The tree's: */
    struct pattern_node *node; /* NULL: not in the tree */
    struct pattern_entry *next, **prev;
};

/* Zeroed: an empty one. */
struct pattern_tree {
    struct pattern_node *root; /* NULL: empty */
    struct table edges;
    struct pattern_block *blocks;
    struct pattern_node *spare;
    size_t nodes;
    uint32_t tokens; /* of the longest pattern so far */
    struct pattern_branch *aside;
    uint32_t asides;
};

/* O(length).  MF_NOMEM changes nothing. */
MF_MUSTCHECK int pattern_tree_add(struct pattern_tree *t, struct pattern_entry *e);
/* O(length).  Harmless for one that is not in it. */
void pattern_tree_del(struct pattern_tree *t, struct pattern_entry *e);
/* Frees what is the tree's.  The entries must not be used with it any more. */
void pattern_tree_fini(struct pattern_tree *t);

/* WITHIN: a pattern of the first tree lies within one of the second. */
enum pattern_relation { PATTERN_OVERLAP, PATTERN_WITHIN };
#define PATTERN_NONE UINT32_MAX

struct pattern_query {
    enum pattern_relation how;
    bool any;           /* one pair is enough; else the lowest index is looked for */
    const void *except; /* patterns of the second tree with this owner do not count; NULL: all do */
    uint64_t most;      /* steps allowed */
    /* The answer: */
    uint64_t steps;
    uint32_t found; /* OVERLAP: the lowest index of a pair, WITHIN: of the inner one; or NONE */
};
/* The limit of steps for one request.  A step visits a node or a token and takes 10 to 20 ns. */
#define PATTERN_STEPS 1000000u

/* Two trees, or one with itself: then a pattern is not compared with itself, but with equal ones.
 * 0, MF_NOMEM, or MF_LIMIT: more steps would be needed, the answer is not known. */
MF_MUSTCHECK int pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                                   struct pattern_query *q);
/* Does one of the patterns match the subject, whose tokens are taken as they are?  1, 0, MF_NOMEM.
 * O(tokens), unless many patterns have wildcards in the same places. */
MF_MUSTCHECK int pattern_tree_match(struct pattern_tree *t, struct mf_slice subject);

/* For tests: NULL, or which invariant is broken.  O(everything). */
const char *pattern_tree_check(const struct pattern_tree *t);

#endif
