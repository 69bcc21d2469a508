/* pattern_tree.c: adding patterns to a tree of tokens and taking them out of it. */
#include "subject/pattern_impl.h"

#include "codec/hash.h"

#include <stdlib.h>

#define BLOCK_MIN 16
#define BLOCK_MAX 1024

const char pattern_mixed[1];

/* --- memory -------------------------------------------------------------------------------- */

/* Nodes come in blocks, which are given back when the tree is empty. */
struct pattern_block {
    struct pattern_block *next;
    size_t cap, used;
    struct pattern_node at[];
};

static struct pattern_node *take_node(struct pattern_tree *t)
{
    struct pattern_block *b = t->blocks;
    struct pattern_node *n = t->spare;

    if (n != NULL) {
        t->spare = n->next;
    } else {
        if (b == NULL || b->used == b->cap) {
            size_t cap = b == NULL ? BLOCK_MIN : b->cap < BLOCK_MAX ? 2 * b->cap : BLOCK_MAX;
            struct pattern_block *fresh = malloc(sizeof *b + cap * sizeof b->at[0]);
            if (fresh == NULL)
                return NULL;
            fresh->next = b;
            fresh->cap = cap;
            fresh->used = 0;
            t->blocks = b = fresh;
        }
        n = &b->at[b->used++];
    }
    memset(n, 0, sizeof *n);
    n->low = n->below = PATTERN_NONE;
    t->nodes++;
    return n;
}

static void put_node(struct pattern_tree *t, struct pattern_node *n)
{
    n->next = t->spare;
    t->spare = n;
    t->nodes--;
}

void pattern_tree_fini(struct pattern_tree *t)
{
    while (t->blocks != NULL) {
        struct pattern_block *b = t->blocks;
        t->blocks = b->next;
        free(b);
    }
    table_fini(&t->edges);
    free(t->aside);
    memset(t, 0, sizeof *t);
}

/* --- edges --------------------------------------------------------------------------------- */

static uint64_t edge_hash(const struct pattern_node *parent, struct mf_slice token)
{
    return hash_slice(token) ^ (uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u;
}

struct pattern_node *pattern_child(const struct pattern_tree *t, const struct pattern_node *parent,
                                   struct mf_slice token)
{
    if (parent->nkids == 0)
        return NULL;
    for (struct table_node *e = table_first(&t->edges, edge_hash(parent, token)); e != NULL;
         e = table_next(e)) {
        struct pattern_node *n = mf_container(e, struct pattern_node, edge);
        if (n->parent == parent && mf_eq(node_first(n), token))
            return n;
    }
    return NULL;
}

/* n knows its label and sample.  MF_NOMEM only while the table is empty. */
static int link_child(struct pattern_tree *t, struct pattern_node *parent, struct pattern_node *n)
{
    if (table_add(&t->edges, &n->edge, edge_hash(parent, node_first(n))) != 0)
        return MF_NOMEM;
    n->parent = parent;
    n->next = parent->kids;
    n->prev = &parent->kids;
    if (n->next != NULL)
        n->next->prev = &n->next;
    parent->kids = n;
    parent->nkids++;
    if (token_is_star(node_first(n)))
        parent->star = n;
    return 0;
}

static void unlink_child(struct pattern_tree *t, struct pattern_node *n)
{
    *n->prev = n->next;
    if (n->next != NULL)
        n->next->prev = n->prev;
    n->parent->nkids--;
    if (n->parent->star == n)
        n->parent->star = NULL;
    table_del(&t->edges, &n->edge);
}

/* Where a label and a text stop to have the same tokens. */
static uint32_t shared_end(const struct pattern_node *n, const uint8_t *text, uint32_t end)
{
    const uint8_t *label = node_text(n);
    uint32_t limit = n->to < end ? n->to : end, at = n->from, last = n->from + n->first;

    for (; at < limit && label[at] == text[at]; at++)
        if (label[at] == '.')
            last = at;
    if (at == limit && (at == n->to || label[at] == '.') && (at == end || text[at] == '.'))
        return at;
    return last;
}

/* Cuts the label of n at `to`; the rest becomes a child.  Returns the upper part. */
static struct pattern_node *split_node(struct pattern_tree *t, struct pattern_node *n, uint32_t to)
{
    struct pattern_node *upper = take_node(t), *parent = n->parent;

    if (upper == NULL)
        return NULL;
    upper->sample = n->sample;
    upper->owner = n->owner;
    upper->from = n->from;
    upper->to = to;
    upper->first = n->first;
    upper->low = upper->below = n->low;
    if (link_child(t, parent, upper) != 0) { /* n is in the table, so there is one */
        put_node(t, upper);
        return NULL;
    }
    unlink_child(t, n);
    n->from = to + 1;
    n->first = (uint32_t)token_from(node_text(n), n->from, n->to).len;
    (void)!link_child(t, upper, n); /* the same */
    return upper;
}

/* n has one child and no pattern: the child takes its place and label. */
static struct pattern_node *merge_node(struct pattern_tree *t, struct pattern_node *n)
{
    struct pattern_node *kid = n->kids, *parent = n->parent;

    unlink_child(t, kid); /* n is still in the table */
    kid->from = n->from;
    kid->first = n->first;
    (void)!link_child(t, parent, kid);
    unlink_child(t, n);
    put_node(t, n);
    return kid;
}

/* --- adding -------------------------------------------------------------------------------- */

/* false: it has an empty token.  end: where its last token ends, a last '>' left out. */
static bool measure_pattern(struct mf_slice s, uint32_t *end, bool *tail, uint32_t *tokens)
{
    size_t at = 0;

    *tokens = 0;
    if (s.len == 0 || s.len >= UINT32_MAX)
        return false;
    for (;; at++) {
        const uint8_t *dot = memchr(s.ptr + at, '.', s.len - at);
        size_t next = dot == NULL ? s.len : (size_t)(dot - s.ptr);
        if (next == at)
            return false;
        ++*tokens;
        if (dot == NULL)
            break;
        at = next;
        if (at + 1 == s.len)
            return false;
    }
    *tail = s.ptr[s.len - 1] == '>' && (s.len == 1 || s.ptr[s.len - 2] == '.');
    *end = (uint32_t)(!*tail ? s.len : s.len == 1 ? 0 : s.len - 2);
    return true;
}

static struct pattern_node *add_leaf(struct pattern_tree *t, struct pattern_node *parent,
                                     const struct pattern_entry *e, uint32_t at, uint32_t end)
{
    struct pattern_node *n = take_node(t);

    if (n == NULL)
        return NULL;
    n->sample = e;
    n->owner = e->owner;
    n->from = at;
    n->to = end;
    n->first = (uint32_t)token_from(e->text.ptr, at, end).len;
    if (link_child(t, parent, n) == 0)
        return n;
    put_node(t, n);
    return NULL;
}

/* The node at the end of this text, made if it was not there; NULL: out of memory. */
static struct pattern_node *reach_node(struct pattern_tree *t, const struct pattern_entry *e,
                                       uint32_t end)
{
    struct pattern_node *n = t->root;

    for (uint32_t at = 0; at < end; at = n->to + 1) {
        struct pattern_node *kid = pattern_child(t, n, token_from(e->text.ptr, at, end));
        uint32_t to = kid == NULL ? end : shared_end(kid, e->text.ptr, end);
        if (kid == NULL)
            kid = add_leaf(t, n, e, at, end);
        else if (to < kid->to)
            kid = split_node(t, kid, to);
        if (kid == NULL) {
            if (n != t->root && n->ends == NULL && n->tails == NULL && n->nkids == 1)
                (void)merge_node(t, n); /* it was split for this one */
            return NULL;
        }
        n = kid;
    }
    return n;
}

/* The first one stays in front: it has the lowest index. */
static void put_entry(struct pattern_entry **list, struct pattern_entry *e)
{
    struct pattern_entry **at = *list == NULL ? list : &(*list)->next;

    e->next = *at;
    e->prev = at;
    if (e->next != NULL)
        e->next->prev = &e->next;
    *at = e;
}

int pattern_tree_add(struct pattern_tree *t, struct pattern_entry *e)
{
    uint32_t end, tokens;
    bool tail;
    struct pattern_node *n;

    e->node = NULL;
    if (!measure_pattern(e->text, &end, &tail, &tokens))
        return 0;
    if (t->root == NULL && (t->root = take_node(t)) == NULL)
        return MF_NOMEM;
    n = reach_node(t, e, end);
    if (n == NULL) {
        if (t->nodes == 1 && t->root->ends == NULL && t->root->tails == NULL)
            pattern_tree_fini(t);
        return MF_NOMEM;
    }
    put_entry(tail ? &n->tails : &n->ends, e);
    e->node = n;
    t->tokens = tokens > t->tokens ? tokens : t->tokens;
    for (struct pattern_node *m = n; m != NULL; m = m->parent) {
        if (m->sample == NULL || m->owner != e->owner)
            m->owner = m->sample == NULL ? e->owner : PATTERN_MIXED;
        m->sample = m->sample == NULL ? e : m->sample;
        m->low = e->index < m->low ? e->index : m->low;
        if (m != n || tail)
            m->below = e->index < m->below ? e->index : m->below;
    }
    return 0;
}

/* --- taking out ---------------------------------------------------------------------------- */

static const struct pattern_entry *any_below(const struct pattern_node *n)
{
    while (n->ends == NULL && n->tails == NULL)
        n = n->kids;
    return n->ends != NULL ? n->ends : n->tails;
}

void pattern_tree_del(struct pattern_tree *t, struct pattern_entry *e)
{
    struct pattern_node *n = e->node;

    if (n == NULL)
        return;
    e->node = NULL;
    *e->prev = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    while (n->parent != NULL && n->ends == NULL && n->tails == NULL && n->nkids == 0) {
        struct pattern_node *parent = n->parent;
        unlink_child(t, n);
        put_node(t, n);
        n = parent;
    }
    if (n->ends == NULL && n->tails == NULL && n->nkids == 0) { /* the root */
        pattern_tree_fini(t);
        return;
    }
    if (n->parent != NULL && n->ends == NULL && n->tails == NULL && n->nkids == 1)
        n = merge_node(t, n);
    const struct pattern_entry *other = any_below(n); /* it is below all of n's parents, too */
    for (; n != NULL; n = n->parent)
        n->sample = n->sample == e ? other : n->sample;
}

/* --- checking ------------------------------------------------------------------------------ */

static const char *check_node(const struct pattern_tree *t, const struct pattern_node *n)
{
    uint32_t kids = 0;

    for (const struct pattern_node *k = n->kids; k != NULL; k = k->next, kids++) {
        uint32_t from = n->parent == NULL ? 0 : n->to + 1;
        if (k->parent != n || k->from != from || k->to <= k->from)
            return "a label does not follow its parent's";
        if (memcmp(node_text(k), node_text(n), n->to) != 0)
            return "a child has another beginning";
        if (k->first != token_from(node_text(k), k->from, k->to).len)
            return "the first token has another length";
        if (pattern_child(t, n, node_first(k)) != k)
            return "a child is not found";
        if (token_is_star(node_first(k)) != (n->star == k))
            return "the star is another";
        if (n->owner != PATTERN_MIXED && k->owner != n->owner)
            return "a child has another owner";
    }
    if (kids != n->nkids)
        return "the children are not as many as counted";
    if (n->parent != NULL && n->ends == NULL && n->tails == NULL && kids < 2)
        return "a node has no reason to be there";
    if (n->sample == NULL || n->sample->node == NULL)
        return "the sample is not in the tree";
    return NULL;
}

const char *pattern_tree_check(const struct pattern_tree *t)
{
    const struct pattern_node *n = t->root;
    size_t nodes = 0;

    while (n != NULL) {
        const char *wrong = check_node(t, n);
        if (wrong != NULL)
            return wrong;
        nodes++;
        if (n->kids != NULL) {
            n = n->kids;
            continue;
        }
        while (n != NULL && n->next == NULL)
            n = n->parent;
        n = n == NULL ? NULL : n->next;
    }
    return nodes == t->nodes ? NULL : "nodes are lost";
}
