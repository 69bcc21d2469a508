/* table.h: hash table of embedded nodes.  Find, add and delete are O(1) on average; adding never
 * fails once the table exists: if it cannot grow, its chains get longer.  Deleting all gives the
 * memory back. */
#ifndef MAYFLY_TABLE_H
#define MAYFLY_TABLE_H

#include "mayfly/base.h"

struct table_node {
    struct table_node *next;
    uint64_t hash;
};
/* Every node hangs in slot[hash & (cap - 1)]; cap is a power of two, or 0 while empty. */
struct table {
    struct table_node **slot;
    size_t cap, count;
};

/* The first node with this hash, and then the next one: the caller compares keys. */
static inline struct table_node *table_first(const struct table *t, uint64_t hash)
{
    struct table_node *n = t->cap == 0 ? NULL : t->slot[hash & (t->cap - 1)];
    while (n != NULL && n->hash != hash)
        n = n->next;
    return n;
}
static inline struct table_node *table_next(const struct table_node *n)
{
    uint64_t hash = n->hash;
    do
        n = n->next;
    while (n != NULL && n->hash != hash);
    return (struct table_node *)n;
}
/* MF_NOMEM only for the very first node. */
MF_MUSTCHECK int table_add(struct table *t, struct table_node *n, uint64_t hash);
void table_del(struct table *t, struct table_node *n); /* must be in it */
/* Any node, or NULL when empty: to empty the table one by one.  O(cap) in all if start goes on
 * from call to call. */
struct table_node *table_any(const struct table *t, size_t *start);
void table_fini(struct table *t); /* frees the slots, not the nodes */

#endif
