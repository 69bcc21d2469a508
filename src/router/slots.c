/* slots.c: the subscriptions at one node.
 *
 * An array, because a queue group needs the nth member at once, and because a wide fan-out reads
 * ahead in it.  Order means nothing, so removal moves the last one into the hole; except while a
 * publish is visiting the node (busy): then nothing may move, the slot becomes a tombstone, and the
 * last visitor to leave fills the holes.  Tombstones are chained through their slots, so that the
 * cost is one step per removal however many subscriptions there are. */
#include "router/trie_impl.h"

#include <assert.h>
#include <stdlib.h>

static struct router_sub *make_tomb(uint32_t link)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced, sub_alive() tells it apart */
    return (struct router_sub *)((uintptr_t)link << 1 | 1);
}

static uint32_t tomb_link(const struct router_sub *s)
{
    return (uint32_t)((uintptr_t)s >> 1);
}

static bool resize_slots(struct node *n, uint8_t cap_log)
{
    struct router_sub *one = n->cap_log == 0 && n->len > 0 ? n->subs.one : NULL;
    struct router_sub **old = n->cap_log == 0 ? NULL : n->subs.many;
    struct router_sub **many = realloc(old, sizeof(struct router_sub *) << cap_log);

    if (many == NULL)
        return false;
    if (one != NULL)
        many[0] = one;
    n->subs.many = many;
    n->cap_log = cap_log;
    return true;
}

int trie_add_sub(struct node *n, struct router_sub *s)
{
    if (n->len == 1u << n->cap_log && !resize_slots(n, n->cap_log == 0 ? 2 : n->cap_log + 1))
        return MF_NOMEM;
    s->pos = n->len;
    node_slots(n)[n->len++] = s;
    return 0;
}

static void trim_slots(struct node *n)
{
    uint8_t cap_log = n->cap_log;

    if (cap_log == 0)
        return;
    if (n->len == 0) {
        free(n->subs.many);
        n->cap_log = 0;
        n->subs.one = NULL;
        return;
    }
    while (cap_log > 2 && n->len <= 1u << cap_log >> 2)
        cap_log--;
    if (cap_log < n->cap_log)
        (void)resize_slots(n, cap_log); /* without memory the array stays large */
}

void trie_remove_sub(struct node *n, struct router_sub *s)
{
    struct router_sub **slot = node_slots(n);

    assert(slot[s->pos] == s);
    if (n->busy > 0) {
        slot[s->pos] = make_tomb(n->tomb);
        n->tomb = s->pos + 1;
        return;
    }
    slot[s->pos] = slot[--n->len];
    slot[s->pos]->pos = s->pos;
    trim_slots(n);
}

void trie_settle(struct node *n)
{
    struct router_sub **slot = node_slots(n);

    while (n->tomb != 0) {
        uint32_t hole = n->tomb - 1;
        n->tomb = tomb_link(slot[hole]);
        /* Those at the end need no filling; they are passed again later. */
        while (n->len > 0 && !sub_alive(slot[n->len - 1]))
            n->len--;
        if (hole < n->len) {
            slot[hole] = slot[--n->len];
            slot[hole]->pos = hole;
        }
    }
    trim_slots(n);
}
