/* trie_impl.h: the patterns of a router as a trie of tokens, all of its edges in one hash table.
 *
 *     foo.*      root --foo--> node --*--> node {plain: a, b}
 *     foo.bar q        \                     \--group q--> node {members: c}
 *                        --bar--> ...
 *
 * A node's children are found by hash (parent, kind, token) in the one table of the trie, so a node
 * costs 64 bytes, its text and a bucket, whatever the shape of the trie.  The table grows and
 * shrinks by one bucket at a time (linear hashing): no operation ever moves all nodes.
 *
 * A queue group is a child of the pattern's node, of its own kind, with the queue's name as token.
 *
 * Invariants (router_check() walks them):
 *   - a node other than the root has subscriptions or children, except inside one call of ours;
 *   - kids counts the nodes whose parent is this one; has_star and has_tail tell whether there is a
 *     '*' and a '>' among them; `groups` lists those of kind NODE_GROUP;
 *   - a node with subscriptions or groups knows its whole pattern;
 *   - slot i of a node holds the subscription whose pos is i, or a tombstone; tombstones exist only
 *     while the node is busy, and a busy node has len > 0. */
#ifndef MAYFLY_ROUTER_TRIE_H
#define MAYFLY_ROUTER_TRIE_H

#include "router/router.h"

enum node_kind { NODE_LITERAL, NODE_STAR, NODE_TAIL, NODE_GROUP };

struct node {
    struct node *chain; /* in its bucket */
    struct node *parent;
    union {
        struct router_sub *one;   /* cap_log 0: room for one */
        struct router_sub **many; /* room for 1 << cap_log */
    } subs;
    union {
        struct node *groups;     /* of a pattern: the first of its queue groups */
        struct node *next_group; /* of a group */
    };
    union {
        const uint8_t *pattern;   /* of a pattern; NULL while nobody subscribed to it */
        struct node **prev_group; /* of a group */
    };
    uint32_t hash; /* of the whole path */
    uint32_t kids;
    uint32_t len;  /* slots in use, tombstones included */
    uint32_t tomb; /* 1 + index of the latest tombstone; 0: none */
    uint16_t token_len, pattern_len;
    uint16_t busy; /* publishes that are visiting it: slots must not move */
    uint8_t kind : 2, has_star : 1, has_tail : 1;
    uint8_t wild : 1;  /* a wildcard in the path */
    uint8_t whole : 1; /* text is the whole pattern, its end the token; else just the token */
    uint8_t cap_log;
    uint8_t text[];
};

/* One token of the subject or pattern at hand. */
struct trie_token {
    struct mf_slice text;
    uint64_t hash;
};

/* An item to visit: the plain subscriptions of a pattern, or a group.  Items of one queue name
 * follow each other, all but the first marked ITEM_SAME. */
#define ITEM_GROUP ((uintptr_t)1)
#define ITEM_SAME  ((uintptr_t)2)
static inline struct node *item_node(uintptr_t item)
{
    return (struct node *)(item &
                           ~(ITEM_GROUP | ITEM_SAME)); /* NOLINT(performance-no-int-to-ptr) */
}

struct trie_list {
    uintptr_t *v;
    uint32_t n;
    size_t cap;
};

struct trie_step {
    const struct node *node;
    uint32_t level;
};

struct trie {
    struct node *root;
    struct node **bucket;
    uint32_t nodes;   /* in the table, so without the root */
    uint32_t buckets; /* half <= buckets < 2 * half; half is a power of two */
    uint32_t half, cap;
    /* Room for matching, kept so that a publish allocates nothing; depth is at least the tokens of
     * the longest pattern ever held, and 2. */
    uint32_t depth;
    struct trie_token *token;
    struct trie_step *stack;
    struct trie_list found, groups;
};

#define TRIE_TEXT_MAX 65535

MF_MUSTCHECK int trie_init(struct trie *t);
void trie_fini(struct trie *t);

/* The node of a valid pattern, made if need be, with its pattern text; NULL: out of memory. */
struct node *trie_pattern(struct trie *t, struct mf_slice pattern);
/* The same for a queue group of it. */
struct node *trie_group(struct trie *t, struct node *pattern, struct mf_slice queue);
/* Called when n has no subscription any more: frees nodes without use. */
void trie_release(struct trie *t, struct node *n);

MF_MUSTCHECK int trie_add_sub(struct node *n, struct router_sub *s); /* sets s->pos */
/* A busy node keeps its length and gets a tombstone. */
void trie_remove_sub(struct node *n, struct router_sub *s);
void trie_settle(struct node *n); /* not busy any more: no tombstones after it */

/* Splits subject into t->token (the first `depth` ones).  Returns their number, 0 if one is empty.
 */
uint32_t trie_split(struct trie *t, struct mf_slice subject);
/* All items for the subject just split into n tokens, in t->found.  false: out of memory. */
bool trie_match(struct trie *t, uint32_t n);

/* Lookups of match.c in the table.  A '*' or '>' child is looked up only where one exists. */
struct node *trie_child(const struct trie *t, const struct node *parent, enum node_kind kind,
                        const struct trie_token *token);
struct node *trie_wild_child(const struct trie *t, const struct node *parent, enum node_kind kind);

void trie_each(const struct trie *t, void (*visit)(void *arg, struct node *n), void *arg);

static inline struct router_sub **node_slots(struct node *n)
{
    return n->cap_log == 0 ? &n->subs.one : n->subs.many;
}
static inline bool sub_alive(const struct router_sub *s)
{
    return ((uintptr_t)s & 1) == 0;
}
static inline struct node *node_of_pattern(struct node *n)
{
    return n->kind == NODE_GROUP ? n->parent : n;
}
static inline struct mf_slice node_token(const struct node *n)
{
    return mf_slice(n->text + (n->whole ? n->pattern_len - n->token_len : 0), n->token_len);
}
static inline struct mf_slice node_pattern(const struct node *n)
{
    return mf_slice(n->pattern, n->pattern_len);
}
static inline enum node_kind token_kind(struct mf_slice token)
{
    if (token.len == 1 && token.ptr[0] == '*')
        return NODE_STAR;
    return token.len == 1 && token.ptr[0] == '>' ? NODE_TAIL : NODE_LITERAL;
}

#endif
