/* table.h: hash table of embedded nodes.  Find is O(1) on average, add and delete are O(1) on
 * average and never more than a few slots; adding never fails once the table exists: if it cannot
 * grow, its chains get longer.  Deleting all gives the memory back. */
#ifndef MAYFLY_TABLE_H
#define MAYFLY_TABLE_H

#include "base/base.h"

struct table_node {
    struct table_node *next;
    uint64_t hash;
};
/* Linear hashing: the table grows and shrinks by one slot at a time, so no call ever moves all
 * nodes.  half is a power of two, half <= cap < 2 * half (or cap == half), or all are 0 while the
 * table is empty.  Every node hangs in the slot that table_slot() names. */
struct table {
    struct table_node **slot;
    size_t cap, count; /* slots in use; nodes */
    size_t half, room; /* see above; slots that there is memory for */
};

static inline size_t table_slot(const struct table *t, uint64_t hash)
{
    size_t i = hash & (2 * t->half - 1);
    return i < t->cap ? i : i - t->half;
}
/* The first node with this hash, and then the next one: the caller compares keys. */
static inline struct table_node *table_first(const struct table *t, uint64_t hash)
{
    struct table_node *n = t->cap == 0 ? NULL : t->slot[table_slot(t, hash)];
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
/* Any node, or NULL when empty: to empty the table one by one.  O(cap) in all if each call passes
 * the same *start. */
struct table_node *table_any(const struct table *t, size_t *start);
void table_fini(struct table *t); /* frees the slots, not the nodes */

/* Visits all nodes in pieces, between which nodes may be added and deleted: a node that stays in
 * the table is visited exactly once.  A piece is what one slot held at the beginning.  visit may
 * not add or delete. */
struct table_scan {
    size_t cap, half, at; /* of the table as it was, and the next slot of that */
};
static inline void table_scan_begin(struct table_scan *s, const struct table *t)
{
    *s = (struct table_scan){t->cap, t->half, 0};
}
/* false: that was all, nothing was visited. */
bool table_scan(const struct table *t, struct table_scan *s,
                void (*visit)(void *arg, struct table_node *n), void *arg);

#endif
