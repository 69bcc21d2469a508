/* table.c: hash table of embedded nodes. */
#include "base/table.h"

#include <stdlib.h>

#define FIRST_CAP 8

/* Adds one slot and splits another into it. */
static void grow_slots(struct table *t)
{
    struct table_node **from, **to;

    if (t->cap == t->room) {
        struct table_node **slot = realloc(t->slot, 2 * t->room * sizeof(struct table_node *));
        if (slot == NULL)
            return; /* longer chains: slower, still right */
        t->slot = slot;
        t->room *= 2;
    }
    from = &t->slot[t->cap - t->half];
    to = &t->slot[t->cap];
    *to = NULL;
    while (*from != NULL) {
        struct table_node *n = *from;
        if ((n->hash & t->half) == 0) {
            from = &n->next;
            continue;
        }
        *from = n->next;
        n->next = *to;
        *to = n;
    }
    if (++t->cap == 2 * t->half)
        t->half = t->cap;
}

/* Joins the last slot with the one that it was split from. */
static void shrink_slots(struct table *t)
{
    struct table_node *last, **end;

    if (t->cap == t->half)
        t->half /= 2;
    last = t->slot[--t->cap];
    end = &t->slot[t->cap - t->half];
    while (*end != NULL)
        end = &(*end)->next;
    *end = last;
    if (t->cap <= t->room / 4) {
        struct table_node **slot = realloc(t->slot, t->room / 2 * sizeof(struct table_node *));
        if (slot == NULL)
            return; /* keeps the memory */
        t->slot = slot;
        t->room /= 2;
    }
}

int table_add(struct table *t, struct table_node *n, uint64_t hash)
{
    struct table_node **at;

    if (t->cap == 0) {
        t->slot = calloc(FIRST_CAP, sizeof(struct table_node *));
        if (t->slot == NULL)
            return MF_NOMEM;
        t->cap = t->half = t->room = FIRST_CAP;
    }
    at = &t->slot[table_slot(t, hash)];
    n->hash = hash;
    n->next = *at;
    *at = n;
    if (++t->count > t->cap)
        grow_slots(t);
    return 0;
}

void table_del(struct table *t, struct table_node *n)
{
    struct table_node **at = &t->slot[table_slot(t, n->hash)];

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    n->next = NULL;
    if (--t->count == 0) {
        table_fini(t);
        return;
    }
    /* Four at a time, to be done when the nodes are. */
    for (int i = 0; i < 4 && t->cap > FIRST_CAP && t->count < t->cap / 4; i++)
        shrink_slots(t);
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
    *t = (struct table){.slot = NULL};
}

/* --- in pieces -------------------------------------------------------------------------------- */

static void visit_slot(const struct table *t, size_t slot, uint64_t mask, uint64_t at,
                       void (*visit)(void *arg, struct table_node *n), void *arg)
{
    struct table_node *n = t->slot[slot], *next;

    for (; n != NULL; n = next) {
        next = n->next;
        if ((n->hash & mask) == at)
            visit(arg, n);
    }
}

/* At the beginning the slot held the hashes whose last bits, below `modulus`, are `at`.  Now they
 * share one slot with others or are spread over several. */
bool table_scan(const struct table *t, struct table_scan *s,
                void (*visit)(void *arg, struct table_node *n), void *arg)
{
    size_t at = s->at, modulus;

    if (at >= s->cap)
        return false;
    s->at++;
    modulus = at >= s->half || at + s->half < s->cap ? 2 * s->half : s->half;
    if (t->cap == 0)
        return true;
    if (modulus >= 2 * t->half)
        visit_slot(t, table_slot(t, at), modulus - 1, at, visit, arg);
    else
        for (size_t slot = at; slot < t->cap; slot += modulus)
            visit_slot(t, slot, modulus - 1, at, visit, arg);
    return true;
}
