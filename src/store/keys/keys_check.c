/* keys_check.c: tests every invariant of a set of keys.  For tests. */
#include "store/keys/keys_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "keys_check: line %d: %s\n", __LINE__, #cond);                         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The links between a node and its neighbours, its token, and that it is found. */
static void check_node(const struct keys *k, uint32_t id)
{
    const struct keys_page *p = page_of(k, id);
    const struct keys_node *n = node_in(p, id), *up = node_at(k, n->parent);
    bool inner = page_inner(p);
    struct mf_slice token = node_token(n, inner);
    struct keys_want w = {.token = token, .parent = n->parent, .inner = inner};
    const uint8_t *sep = token.len == 0 ? NULL : memchr(token.ptr, k->separator, token.len);

    CHECK(node_inner(k, n->parent));
    CHECK(n->prev == KEYS_NONE ? up->a == id : node_at(k, n->prev)->next == id);
    CHECK(n->next == KEYS_NONE || node_at(k, n->next)->prev == id);
    CHECK(inner ? sep != NULL && sep + 1 == token.ptr + token.len : sep == NULL);
    CHECK(!inner || (n->b > 0 && n->a != KEYS_NONE));
    CHECK(node_hash(k, id) == hash_child(k, inner_hash(up), inner, token));
    CHECK(keys_table_find(k, node_hash(k, id), &w) == id);
}

/* Every node once, in the order of the links; counts nodes without the root. */
static size_t check_tree(const struct keys *k)
{
    size_t nodes = 0, leaves = 0, children = 0;
    uint32_t id = node_at(k, ROOT)->a;

    children += node_at(k, ROOT)->b;
    while (id != KEYS_NONE) {
        const struct keys_node *n = node_at(k, id);
        bool inner = node_inner(k, id);
        check_node(k, id);
        nodes++;
        leaves += !inner;
        children += inner ? n->b : 0;
        CHECK(!inner || node_at(k, n->a)->parent == id);
        CHECK(n->next == KEYS_NONE || node_at(k, n->next)->parent == n->parent);
        if (inner) {
            id = n->a;
            continue;
        }
        while (n->next == KEYS_NONE && n->parent != ROOT)
            n = node_at(k, n->parent);
        id = n->next;
    }
    CHECK(leaves == k->leaves);
    CHECK(children == nodes);
    return nodes;
}

/* The number of children of each inner node: all together were right, now one by one. */
static void check_children(const struct keys *k, uint32_t id)
{
    uint32_t n = 0;

    for (uint32_t c = node_at(k, id)->a; c != KEYS_NONE; c = node_at(k, c)->next)
        n++;
    CHECK(n == node_at(k, id)->b);
}

/* The sums of an inner node are those of its children. */
static void check_sum(const struct keys *k, uint32_t id,
                      struct keys_sum (*leaf)(const void *arg, uint32_t id), const void *arg)
{
    struct keys_inner i = inner_get(node_at(k, id));
    struct keys_sum sum = {0, 0};
    uint32_t inners = 0;

    for (uint32_t c = node_at(k, id)->a; c != KEYS_NONE; c = node_at(k, c)->next) {
        bool inner = node_inner(k, c);
        struct keys_sum s = inner ? inner_get(node_at(k, c)).sum : leaf(arg, c);
        inners += inner;
        sum.msgs += s.msgs;
        sum.keys += s.keys;
    }
    CHECK(sum.msgs == i.sum.msgs && sum.keys == i.sum.keys && inners == i.inners);
}

/* Entries of one side; *bytes grows by its memory. */
static size_t check_side(const struct keys *k, const struct keys_side *s, size_t *bytes)
{
    size_t entries = 0, past = 0, over = 0;
    bool old = s == &k->table.old;

    for (uint32_t g = 0; g < s->groups; g++) {
        const struct keys_group *group = side_group(s, g);
        uint32_t n = s->groups - g;
        if (g % CHUNK_GROUPS == 0)
            *bytes += sizeof *s->chunk;
        if (group == NULL)
            continue;
        if (g % CHUNK_GROUPS == 0)
            *bytes += keys_block_size((n < CHUNK_GROUPS ? n : CHUNK_GROUPS) * sizeof *group);
        over += group->over;
        for (uint32_t i = 0; i < GROUP_SLOTS; i++) {
            uint64_t hash;
            uint32_t home;
            if (group->tag[i] == 0)
                continue;
            hash = node_hash(k, group->id[i]);
            home = table_home(hash, s->groups);
            CHECK(group->tag[i] == table_tag(hash));
            CHECK(k->table.old.groups == 0 ||
                  old == (table_home(hash, k->table.old.groups) >= k->table.moved));
            past += g >= home ? g - home : g + s->groups - home;
            entries++;
        }
    }
    CHECK(past == over);
    return entries;
}

static void check_page(const struct keys *k, uint32_t page)
{
    const struct keys_page *p = &k->pages[page];
    uint32_t n = 0;

    CHECK(p->used > 0 && p->used <= p->cap && p->fresh <= p->cap && p->used <= p->fresh);
    for (uint16_t slot = p->free; slot != SLOT_NONE; n++) {
        CHECK(slot < p->fresh && n < p->fresh);
        memcpy(&slot, p->mem + (size_t)slot * p->size, sizeof slot);
    }
    CHECK(n + p->used == p->fresh);
}

/* Slots in use. */
static size_t check_pages(const struct keys *k)
{
    size_t used = 0, bytes = 0, numbers = 0, room = 0, listed = 0;

    for (uint32_t i = 0; i < k->npages; i++) {
        const struct keys_page *p = &k->pages[i];
        if (p->mem == NULL) {
            numbers++;
            continue;
        }
        check_page(k, i);
        used += p->used;
        bytes += keys_block_size((size_t)p->cap * p->size);
        room += p->used < p->cap;
    }
    for (uint32_t c = 0; c < MF_COUNT(k->class); c++) {
        for (uint32_t i = k->class[c].room; i != KEYS_NONE; i = k->pages[i].next, listed++)
            CHECK(k->pages[i].class == c && k->pages[i].used < k->pages[i].cap);
    }
    for (uint32_t i = k->free_page; i != KEYS_NONE; i = k->pages[i].next, numbers--)
        CHECK(k->pages[i].mem == NULL && numbers > 0);
    CHECK(bytes == k->page_bytes && room == listed && numbers == 0);
    return used;
}

/* A walk stands on a node at the depth it believes, or nowhere. */
static void check_walk(const struct keys *k, const struct keys_walk *w)
{
    uint32_t depth = 0;

    CHECK(w->keys == k);
    if (w->next == KEYS_NONE)
        return;
    check_node(k, w->next);
    for (uint32_t i = node_at(k, w->next)->parent; i != ROOT; i = node_at(k, i)->parent)
        depth++;
    CHECK(depth == w->depth);
}

void keys_check(const struct keys *k)
{
    size_t nodes = check_tree(k), bytes = 0;
    const struct mf_list *l;

    CHECK(check_side(k, &k->table.now, &bytes) + check_side(k, &k->table.old, &bytes) == nodes);
    CHECK(bytes == k->table.bytes);
    CHECK(k->table.used == nodes);
    CHECK(check_pages(k) == nodes + 1);
    check_children(k, ROOT);
    for (uint32_t s = 0; s < 2; s++) {
        const struct keys_side *side = s == 0 ? &k->table.now : &k->table.old;
        for (uint32_t g = 0; g < side->groups; g++) {
            const struct keys_group *group = side_group(side, g);
            for (uint32_t i = 0; group != NULL && i < GROUP_SLOTS; i++)
                if (group->tag[i] != 0 && node_inner(k, group->id[i]))
                    check_children(k, group->id[i]);
        }
    }
    if (k->recent.id != KEYS_NONE)
        CHECK(node_inner(k, k->recent.id) &&
              inner_hash(node_at(k, k->recent.id)) == k->recent.hash);
    mf_list_each(l, &k->walks) check_walk(k, mf_container(l, struct keys_walk, in));
}

void keys_check_sums(const struct keys *k, struct keys_sum (*leaf)(const void *arg, uint32_t id),
                     const void *arg)
{
    check_sum(k, ROOT, leaf, arg);
    for (uint32_t s = 0; s < 2; s++) {
        const struct keys_side *side = s == 0 ? &k->table.now : &k->table.old;
        for (uint32_t g = 0; g < side->groups; g++) {
            const struct keys_group *group = side_group(side, g);
            for (uint32_t i = 0; group != NULL && i < GROUP_SLOTS; i++)
                if (group->tag[i] != 0 && node_inner(k, group->id[i]))
                    check_sum(k, group->id[i], leaf, arg);
        }
    }
}
