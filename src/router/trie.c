/* trie.c: nodes, their table and their texts.  Subscriptions of a node: slots.c; matching: match.c.
 */
#include "router/trie_impl.h"

#include "codec/hash.h"
#include "subject/subject.h"

#include <assert.h>
#include <stdlib.h>

#define BUCKETS_MIN 16
#define DEPTH_MIN   8

_Static_assert(sizeof(struct node) == 64, "a node is one cache line and its text");

/* --- table: linear hashing with chains ------------------------------------------------------- */

static uint32_t bucket_of(const struct trie *t, uint32_t hash)
{
    uint32_t i = hash & (2 * t->half - 1);

    return i < t->buckets ? i : i - t->half;
}

/* Adds one bucket and splits another into it.  Without memory the chains just get longer. */
static void table_grow(struct trie *t)
{
    if (t->buckets == t->cap) {
        struct node **b = realloc(t->bucket, 2 * (size_t)t->cap * sizeof(struct node *));
        if (b == NULL)
            return;
        t->bucket = b;
        t->cap *= 2;
    }
    struct node **from = &t->bucket[t->buckets - t->half], **to = &t->bucket[t->buckets];
    *to = NULL;
    while (*from != NULL) {
        struct node *n = *from;
        if ((n->hash & t->half) == 0) {
            from = &n->chain;
            continue;
        }
        *from = n->chain;
        n->chain = *to;
        *to = n;
    }
    if (++t->buckets == 2 * t->half)
        t->half = t->buckets;
}

static void table_shrink(struct trie *t)
{
    if (t->buckets == t->half)
        t->half /= 2;
    struct node *last = t->bucket[--t->buckets];
    struct node **end = &t->bucket[t->buckets - t->half];
    while (*end != NULL)
        end = &(*end)->chain;
    *end = last;
    if (t->buckets <= t->cap / 4) {
        struct node **b = realloc(t->bucket, t->cap / 2 * sizeof(struct node *));
        if (b == NULL)
            return;
        t->bucket = b;
        t->cap /= 2;
    }
}

static void table_insert(struct trie *t, struct node *n)
{
    struct node **b = &t->bucket[bucket_of(t, n->hash)];

    n->chain = *b;
    *b = n;
    if (++t->nodes > t->buckets)
        table_grow(t);
}

static void table_remove(struct trie *t, struct node *n)
{
    struct node **b = &t->bucket[bucket_of(t, n->hash)];

    while (*b != n)
        b = &(*b)->chain;
    *b = n->chain;
    t->nodes--;
    /* Four at a time, to be done when the nodes are. */
    for (int i = 0; i < 4 && t->buckets > BUCKETS_MIN && t->nodes < t->buckets / 4; i++)
        table_shrink(t);
}

/* --- nodes --------------------------------------------------------------------------------- */

static uint32_t path_hash(const struct node *parent, enum node_kind kind, uint64_t token_hash)
{
    uint64_t h = (token_hash ^ ((uint64_t)parent->hash << 2 | kind) * 0x9e3779b97f4a7c15u);

    return (uint32_t)(h * 0xd6e8feb86659fd93u >> 32);
}

static struct node *find_child(const struct trie *t, const struct node *parent, enum node_kind kind,
                               struct mf_slice token, uint64_t token_hash)
{
    uint32_t hash = path_hash(parent, kind, token_hash);

    for (struct node *n = t->bucket[bucket_of(t, hash)]; n != NULL; n = n->chain)
        if (n->hash == hash && n->parent == parent && n->kind == kind &&
            mf_eq(node_token(n), token))
            return n;
    return NULL;
}

struct node *trie_child(const struct trie *t, const struct node *parent, enum node_kind kind,
                        const struct trie_token *token)
{
    return find_child(t, parent, kind, token->text, token->hash);
}

struct node *trie_wild_child(const struct trie *t, const struct node *parent, enum node_kind kind)
{
    return find_child(t, parent, kind, kind == NODE_STAR ? MF_LIT("*") : MF_LIT(">"), 0);
}

/* Wildcards hash to a constant, so that matching need not hash them. */
static uint64_t token_hash(enum node_kind kind, struct mf_slice token)
{
    return kind == NODE_STAR || kind == NODE_TAIL ? 0 : hash_slice(token);
}

/* text ends with the token; it is longer when it is the whole pattern. */
static struct node *new_child(struct trie *t, struct node *parent, enum node_kind kind,
                              struct mf_slice text, size_t token_len, uint64_t hash)
{
    struct node *n = malloc(sizeof *n + text.len);

    if (n == NULL)
        return NULL;
    memset(n, 0, sizeof *n);
    memcpy(n->text, text.ptr, text.len);
    n->parent = parent;
    n->hash = path_hash(parent, kind, hash);
    n->token_len = (uint16_t)token_len;
    n->kind = (uint8_t)kind & 3;
    n->wild = parent->wild || kind == NODE_STAR || kind == NODE_TAIL;
    parent->kids++;
    if (kind == NODE_STAR)
        parent->has_star = 1;
    if (kind == NODE_TAIL)
        parent->has_tail = 1;
    table_insert(t, n);
    return n;
}

/* Frees n and those parents that have no other use. */
static void prune_nodes(struct trie *t, struct node *n)
{
    while (n != t->root && n->len == 0 && n->kids == 0) {
        struct node *parent = n->parent;
        assert(n->busy == 0);
        table_remove(t, n);
        parent->kids--;
        if (n->kind == NODE_STAR)
            parent->has_star = 0;
        if (n->kind == NODE_TAIL)
            parent->has_tail = 0;
        free(n);
        n = parent;
    }
}

static void forget_pattern(struct node *n)
{
    if (n->len > 0 || n->groups != NULL || n->whole || n->pattern == NULL)
        return;
    free((void *)n->pattern);
    n->pattern = NULL;
    n->pattern_len = 0;
}

void trie_release(struct trie *t, struct node *n)
{
    if (n->len > 0)
        return;
    if (n->kind == NODE_GROUP) {
        struct node *pattern = n->parent;
        *n->prev_group = n->next_group;
        if (n->next_group != NULL)
            n->next_group->prev_group = n->prev_group;
        pattern->kids--;
        table_remove(t, n);
        free(n);
        n = pattern;
    }
    forget_pattern(n);
    prune_nodes(t, n);
}

static bool remember_pattern(struct node *n, struct mf_slice pattern)
{
    if (n->pattern != NULL)
        return true;
    uint8_t *copy = malloc(pattern.len);
    if (copy == NULL)
        return false;
    memcpy(copy, pattern.ptr, pattern.len);
    n->pattern = copy;
    n->pattern_len = (uint16_t)pattern.len;
    return true;
}

/* Matching needs room for as many tokens as the longest pattern has. */
static bool reserve_depth(struct trie *t, uint32_t tokens)
{
    uint32_t depth = t->depth;

    if (tokens <= t->depth)
        return true;
    while (depth < tokens)
        depth *= 2;
    struct trie_token *token = realloc(t->token, depth * sizeof *token);
    if (token == NULL)
        return false;
    t->token = token;
    struct trie_step *stack = realloc(t->stack, depth * sizeof *stack);
    if (stack == NULL)
        return false;
    t->stack = stack;
    t->depth = depth;
    return true;
}

struct node *trie_pattern(struct trie *t, struct mf_slice pattern)
{
    struct mf_slice rest = pattern, token;
    struct node *n = t->root;

    if (!reserve_depth(t, subject_tokens(pattern)))
        return NULL;
    while (subject_next_token(&rest, &token)) {
        enum node_kind kind = token_kind(token);
        uint64_t hash = token_hash(kind, token);
        struct node *child = find_child(t, n, kind, token, hash);
        if (child == NULL) {
            bool last = rest.ptr == NULL;
            child = new_child(t, n, kind, last ? pattern : token, token.len, hash);
            if (child == NULL) {
                prune_nodes(t, n);
                return NULL;
            }
            if (last) {
                child->whole = 1;
                child->pattern = child->text;
                child->pattern_len = (uint16_t)pattern.len;
            }
        }
        n = child;
    }
    if (remember_pattern(n, pattern))
        return n;
    prune_nodes(t, n);
    return NULL;
}

struct node *trie_group(struct trie *t, struct node *pattern, struct mf_slice queue)
{
    uint64_t hash = token_hash(NODE_GROUP, queue);
    struct node *n = find_child(t, pattern, NODE_GROUP, queue, hash);

    if (n != NULL)
        return n;
    n = new_child(t, pattern, NODE_GROUP, queue, queue.len, hash);
    if (n == NULL)
        return NULL;
    n->next_group = pattern->groups;
    n->prev_group = &pattern->groups;
    if (n->next_group != NULL)
        n->next_group->prev_group = &n->next_group;
    pattern->groups = n;
    return n;
}

/* --- the whole ----------------------------------------------------------------------------- */

int trie_init(struct trie *t)
{
    *t = (struct trie){
        .buckets = BUCKETS_MIN, .half = BUCKETS_MIN, .cap = BUCKETS_MIN, .depth = DEPTH_MIN};
    t->root = calloc(1, sizeof *t->root);
    t->bucket = calloc(t->cap, sizeof(struct node *));
    t->token = calloc(t->depth, sizeof *t->token);
    t->stack = calloc(t->depth, sizeof *t->stack);
    if (t->root != NULL && t->bucket != NULL && t->token != NULL && t->stack != NULL)
        return 0;
    trie_fini(t);
    return MF_NOMEM;
}

void trie_fini(struct trie *t)
{
    assert(t->nodes == 0);
    free(t->root);
    free(t->bucket);
    free(t->token);
    free(t->stack);
    free(t->found.v);
    free(t->groups.v);
}

void trie_each(const struct trie *t, void (*visit)(void *arg, struct node *n), void *arg)
{
    for (uint32_t i = 0; i < t->buckets; i++)
        for (struct node *n = t->bucket[i]; n != NULL; n = n->chain)
            visit(arg, n);
}
