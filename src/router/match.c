/* match.c: finds the nodes of the trie that a published subject reaches.
 *
 * From each node the literal child is followed and the '*' child is put aside; '>' matches all
 * remaining tokens.  The stack is explicit and as deep as the longest pattern, so that neither a
 * long subject nor a long pattern can exhaust the stack of the thread. */
#include "router/trie_impl.h"
#include "base/array.h"

#include "codec/hash.h"

#include <stdlib.h>

uint32_t trie_split(struct trie *t, struct mf_slice subject)
{
    const uint8_t *p = subject.ptr, *end = p + subject.len;
    uint32_t n = 0;

    if (subject.len == 0)
        return 0;
    for (;;) {
        const uint8_t *from = p;
        while (p < end && *p != '.')
            p++;
        if (p == from)
            return 0;
        if (n < t->depth) {
            t->token[n].text = mf_slice(from, (size_t)(p - from));
            t->token[n].hash = hash_bytes(from, (size_t)(p - from));
        }
        n++;
        if (p == end)
            return n;
        p++;
    }
}

static bool list_add(struct trie_list *l, uintptr_t item)
{
    if (l->n == l->cap && mf_array_reserve(&l->v, &l->cap, l->n + 1, sizeof *l->v) != 0)
        return false;
    l->v[l->n++] = item;
    return true;
}

static bool add_reached(struct trie *t, const struct node *n)
{
    if (n->len > 0 && !list_add(&t->found, (uintptr_t)n))
        return false;
    for (const struct node *g = n->groups; g != NULL; g = g->next_group)
        if (!list_add(&t->groups, (uintptr_t)g | ITEM_GROUP))
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    struct mf_slice x = node_token(item_node(*(const uintptr_t *)a));
    struct mf_slice y = node_token(item_node(*(const uintptr_t *)b));

    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    return memcmp(x.ptr, y.ptr, x.len);
}

/* Groups follow the plain ones; those of one name from several patterns stand together. */
static bool append_groups(struct trie *t)
{
    struct trie_list *g = &t->groups;
    const struct node *first = item_node(g->v[0])->parent,
                      *last = item_node(g->v[g->n - 1])->parent;

    if (first != last) /* within one pattern names are unique */
        qsort(g->v, g->n, sizeof *g->v, by_name);
    for (uint32_t i = 0; i < g->n; i++) {
        bool same = first != last && i > 0 && by_name(&g->v[i - 1], &g->v[i]) == 0;
        if (!list_add(&t->found, g->v[i] | (same ? ITEM_SAME : 0)))
            return false;
    }
    return true;
}

/* Follows the literal tokens from one place on. */
static bool follow_literals(struct trie *t, uint32_t n, struct trie_step at, uint32_t *aside)
{
    const struct node *node = at.node;

    for (uint32_t level = at.level; node != NULL; level++) {
        if (level == n)
            return add_reached(t, node);
        if (node->has_tail && !add_reached(t, trie_wild_child(t, node, NODE_TAIL)))
            return false;
        if (node->has_star)
            t->stack[(*aside)++] =
                (struct trie_step){trie_wild_child(t, node, NODE_STAR), level + 1};
        /* At the deepest level all children are queue groups, and token[level] is not there. */
        node = node->kids > 0 && level < t->depth
                   ? trie_child(t, node, NODE_LITERAL, &t->token[level])
                   : NULL;
    }
    return true;
}

bool trie_match(struct trie *t, uint32_t n)
{
    uint32_t aside = 0;

    t->found.n = t->groups.n = 0;
    if (n == 0)
        return true;
    if (!follow_literals(t, n, (struct trie_step){t->root, 0}, &aside))
        return false;
    while (aside > 0)
        if (!follow_literals(t, n, t->stack[--aside], &aside))
            return false;
    return t->groups.n == 0 || append_groups(t);
}
