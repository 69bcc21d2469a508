/* table.c: hash table of embedded nodes. */
#include "mayfly/table.h"

#include <stdlib.h>

#define FIRST_CAP 8

static int resize(struct table *t, size_t cap)
{
    struct table_node **slot = calloc(cap, sizeof(*slot));

    if (slot == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        struct table_node *n = t->slot[i], *next;
        for (; n != NULL; n = next) {
            next = n->next;
            n->next = slot[n->hash & (cap - 1)];
            slot[n->hash & (cap - 1)] = n;
        }
    }
    free(t->slot);
    t->slot = slot;
    t->cap = cap;
    return 0;
}

int table_add(struct table *t, struct table_node *n, uint64_t hash)
{
    if (t->cap == 0 && resize(t, FIRST_CAP) != 0)
        return MF_NOMEM;
    if (t->count >= t->cap && resize(t, t->cap * 2) != 0) {
        /* Longer chains: slower, still right. */
    }
    n->hash = hash;
    n->next = t->slot[hash & (t->cap - 1)];
    t->slot[hash & (t->cap - 1)] = n;
    t->count++;
    return 0;
}

void table_del(struct table *t, struct table_node *n)
{
    struct table_node **at = &t->slot[n->hash & (t->cap - 1)];

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    n->next = NULL;
    t->count--;
    if (t->count == 0)
        table_fini(t);
    else if (t->cap > FIRST_CAP && t->count < t->cap / 8 && resize(t, t->cap / 2) != 0) {
        /* Keeps the larger one. */
    }
}

struct table_node *table_any(const struct table *t, size_t *start)
{
    for (; *start < t->cap; (*start)++)
        if (t->slot[*start] != NULL)
            return t->slot[*start];
    for (*start = 0; *start < t->cap; (*start)++)
        if (t->slot[*start] != NULL)
            return t->slot[*start];
    return NULL;
}

void table_fini(struct table *t)
{
    free(t->slot);
    *t = (struct table){NULL, 0, 0};
}
