/* pattern_impl.h: the nodes of a pattern tree.
 *
 *     a.b.c   a.b.*   a.b.c.>        root -- "a.b" --+-- "c" {ends, tails}
 *                                                    +-- "*" {ends}
 *
 * A node stands for the tokens from the root to the end of its label.  Invariants
 * (pattern_tree_check() walks them):
 *   - every text at or below a node begins with the same `to` bytes; its label is [from, to) of
 *     them, whole tokens, and never empty but at the root;
 *   - a last '>' is in no label: its pattern is in `tails` of the node before it;
 *   - a node other than the root has patterns of its own or at least two children;
 *   - the children of a node differ in their first token; `star` is the one that begins with '*'.
 */
#ifndef PATTERN_IMPL_H
#define PATTERN_IMPL_H

#include "subject/pattern_tree.h"

struct pattern_node {
    struct table_node edge; /* by parent and first token */
    struct pattern_node *parent, *kids, *star;
    struct pattern_node *next, **prev;  /* among the parent's kids */
    struct pattern_entry *ends, *tails; /* the first one was added first */
    const struct pattern_entry *sample; /* any one at or below */
    const void *owner;                  /* of all at and below, or PATTERN_MIXED: perhaps several */
    uint32_t from, to, first;           /* first: length of the label's first token */
    uint32_t low, below;                /* lowest index at or below; of tails and below */
    uint32_t nkids;
};

extern const char pattern_mixed[1];
#define PATTERN_MIXED ((const void *)pattern_mixed)

static inline const uint8_t *node_text(const struct pattern_node *n)
{
    return n->sample->text.ptr;
}
static inline struct mf_slice node_first(const struct pattern_node *n)
{
    return mf_slice(node_text(n) + n->from, n->first);
}
static inline bool token_is_star(struct mf_slice token)
{
    return token.len == 1 && token.ptr[0] == '*';
}
/* The token that begins at this byte; `end` is where the last one ends. */
static inline struct mf_slice token_from(const uint8_t *text, uint32_t at, uint32_t end)
{
    const uint8_t *dot = memchr(text + at, '.', end - at);

    return mf_slice(text + at, dot == NULL ? end - at : (size_t)(dot - (text + at)));
}
struct pattern_node *pattern_child(const struct pattern_tree *t, const struct pattern_node *parent,
                                   struct mf_slice token);

#endif
