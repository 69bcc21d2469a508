/* keys.c: the set of keys: finding, adding and deleting them, and their text. */
#include "keys_impl.h"

#include <stdlib.h>

/* A key in two: everything up to and with the last separator, and the token after it. */
static struct keys_want split(const struct keys *k, struct mf_slice key)
{
    const uint8_t *end = key.len == 0 ? NULL : memrchr(key.ptr, k->separator, key.len);
    size_t n = end == NULL ? 0 : (size_t)(end - key.ptr) + 1;

    return (struct keys_want){.token = mf_slice(key.len == 0 ? NULL : key.ptr + n, key.len - n),
                              .prefix = mf_slice(key.ptr, n),
                              .parent = n == 0 ? ROOT : KEYS_NONE,
                              .inner = false};
}

/* The parent, if it is the one used last. */
static void recall(const struct keys *k, struct keys_want *w)
{
    if (k->recent.id != KEYS_NONE && k->recent.len == w->prefix.len &&
        memcmp(k->recent.text, w->prefix.ptr, w->prefix.len) == 0)
        w->parent = k->recent.id;
}

static void remember(struct keys *k, const struct keys_want *w, uint32_t parent)
{
    if (parent == k->recent.id || w->prefix.len > RECENT_MAX || parent == ROOT)
        return;
    k->recent.id = parent;
    k->recent.hash = inner_hash(node_at(k, parent));
    k->recent.len = (uint32_t)w->prefix.len;
    memcpy(k->recent.text, w->prefix.ptr, w->prefix.len);
}

/* The token at the start of a prefix, with its separator. */
static struct mf_slice first_token(const struct keys *k, struct mf_slice prefix)
{
    const uint8_t *end = memchr(prefix.ptr, k->separator, prefix.len);
    return mf_slice(prefix.ptr, (size_t)(end - prefix.ptr) + 1);
}

static struct mf_slice after(struct mf_slice text, struct mf_slice token)
{
    return mf_slice(text.ptr + token.len, text.len - token.len);
}

static uint64_t hash_wanted(const struct keys *k, const struct keys_want *w)
{
    uint64_t h = inner_hash(node_at(k, ROOT));
    struct mf_slice token;

    if (w->parent != KEYS_NONE && w->parent != ROOT) {
        h = k->recent.hash;
    } else {
        for (struct mf_slice rest = w->prefix; rest.len > 0; rest = after(rest, token)) {
            token = first_token(k, rest);
            h = hash_child(k, h, true, token);
        }
    }
    return hash_child(k, h, false, w->token);
}

uint64_t keys_hash(const struct keys *k, struct mf_slice key)
{
    struct keys_want w = split(k, key);

    recall(k, &w);
    return hash_wanted(k, &w);
}

void keys_prefetch(const struct keys *k, uint64_t hash)
{
    keys_table_prefetch(k, hash);
}

void keys_prefetch_node(const struct keys *k, uint64_t hash)
{
    keys_table_prefetch_node(k, hash);
}

uint32_t keys_find_hashed(const struct keys *k, struct mf_slice key, uint64_t hash)
{
    struct keys_want w = split(k, key);

    if (key.len > KEYS_MAX)
        return KEYS_NONE;
    recall(k, &w);
    return keys_table_find(k, hash, &w);
}

uint32_t keys_find(const struct keys *k, struct mf_slice key)
{
    struct keys_want w = split(k, key);

    if (key.len > KEYS_MAX)
        return KEYS_NONE;
    recall(k, &w);
    return keys_table_find(k, hash_wanted(k, &w), &w);
}

/* A new child, first of its siblings: walks that are under way have it behind them. */
static int node_new(struct keys *k, uint32_t parent, uint64_t hash, const struct keys_want *w,
                    uint32_t *id)
{
    struct keys_node *n, *up;

    if (keys_table_room(k) != 0 || keys_node_alloc(k, w->inner, w->token.len, id) != 0)
        return MF_NOMEM;
    n = node_at(k, *id);
    up = node_at(k, parent);
    *n = (struct keys_node){.parent = parent,
                            .next = up->a,
                            .prev = KEYS_NONE,
                            .a = KEYS_NONE,
                            .len = (uint16_t)w->token.len};
    if (w->inner)
        memcpy(n->bytes, &hash, sizeof hash);
    if (w->token.len > 0)
        memcpy((uint8_t *)n + (w->inner ? NODE_INNER : NODE_LEAF), w->token.ptr, w->token.len);
    if (keys_table_insert(k, hash, *id) != 0) {
        keys_node_free(k, *id);
        return MF_NOMEM;
    }
    if (up->a != KEYS_NONE)
        node_at(k, up->a)->prev = *id;
    up->a = *id;
    up->b++;
    return 0;
}

/* Takes a node without children out of everything; returns its parent. */
static uint32_t node_drop(struct keys *k, uint32_t id)
{
    struct keys_node *n = node_at(k, id), *up = node_at(k, n->parent);
    uint32_t parent = n->parent;

    keys_walks_leave(k, id);
    keys_table_remove(k, node_hash(k, id), id);
    if (n->next != KEYS_NONE)
        node_at(k, n->next)->prev = n->prev;
    if (n->prev != KEYS_NONE)
        node_at(k, n->prev)->next = n->next;
    else
        up->a = n->next;
    up->b--;
    if (k->recent.id == id)
        k->recent.id = KEYS_NONE;
    keys_node_free(k, id);
    keys_table_shrink(k);
    return parent;
}

/* An inner node without children goes, and so on upwards. */
static void drop_empty(struct keys *k, uint32_t id)
{
    while (id != ROOT && node_at(k, id)->b == 0)
        id = node_drop(k, id);
}

/* The inner node of a prefix, made with those above it as need be. */
static int prefix_get(struct keys *k, struct mf_slice prefix, uint32_t *id)
{
    uint32_t at = ROOT;
    uint64_t hash = inner_hash(node_at(k, ROOT));
    struct keys_want w = {.inner = true};

    for (; prefix.len > 0; prefix = after(prefix, w.token)) {
        w.parent = at;
        w.token = first_token(k, prefix);
        hash = hash_child(k, hash, true, w.token);
        at = keys_table_find(k, hash, &w);
        if (at == KEYS_NONE && node_new(k, w.parent, hash, &w, &at) != 0) {
            drop_empty(k, w.parent);
            return MF_NOMEM;
        }
    }
    *id = at;
    return 0;
}

int keys_get_hashed(struct keys *k, struct mf_slice key, uint64_t hash, uint32_t *id)
{
    struct keys_want w = split(k, key);
    uint32_t found, parent;

    if (key.len > KEYS_MAX)
        return MF_INVAL;
    recall(k, &w);
    found = keys_table_find(k, hash, &w);
    if (found != KEYS_NONE) {
        remember(k, &w, node_at(k, found)->parent);
        *id = found;
        return 0;
    }
    parent = w.parent;
    if (parent == KEYS_NONE && prefix_get(k, w.prefix, &parent) != 0)
        return MF_NOMEM;
    if (node_new(k, parent, hash, &w, &found) != 0) {
        drop_empty(k, parent);
        return MF_NOMEM;
    }
    remember(k, &w, parent);
    k->leaves++;
    *id = found;
    return 0;
}

int keys_get(struct keys *k, struct mf_slice key, uint32_t *id)
{
    return keys_get_hashed(k, key, keys_hash(k, key), id);
}

void keys_del(struct keys *k, uint32_t id)
{
    k->leaves--;
    drop_empty(k, node_drop(k, id));
}

struct keys_value keys_value(const struct keys *k, uint32_t id)
{
    const struct keys_node *n = node_at(k, id);
    return (struct keys_value){n->a, n->b};
}

void keys_set(struct keys *k, uint32_t id, struct keys_value v)
{
    struct keys_node *n = node_at(k, id);
    n->a = v.last;
    n->b = v.count;
}

void keys_prefetch_id(const struct keys *k, uint32_t id)
{
    __builtin_prefetch(node_at(k, id), 1);
}

void keys_prefetch_del(const struct keys *k, uint32_t id)
{
    keys_table_prefetch(k, node_hash(k, id));
}

int keys_reserve(struct keys *k, size_t count)
{
    return keys_table_reserve(k, count);
}

struct mf_slice keys_text(const struct keys *k, uint32_t id, uint8_t dst[KEYS_MAX])
{
    uint8_t *p = dst + KEYS_MAX; /* from the end: parents come last */

    for (bool inner = false; id != ROOT; inner = true) {
        const struct keys_node *n = node_at(k, id);
        p -= n->len;
        memcpy(p, node_token(n, inner).ptr, n->len);
        id = n->parent;
    }
    return mf_slice(p, (size_t)(dst + KEYS_MAX - p));
}

size_t keys_count(const struct keys *k)
{
    return k->leaves;
}

size_t keys_memory(const struct keys *k)
{
    return sizeof *k + k->region_bytes + k->page_bytes + k->cap_pages * sizeof *k->pages +
           k->table.bytes;
}

struct keys *keys_new(char separator)
{
    struct keys *k = calloc(1, sizeof *k);
    uint64_t hash = 0x9E3779B97F4A7C15u;
    uint32_t root;

    if (k == NULL)
        return NULL;
    k->separator = (uint8_t)separator;
    k->free_page = k->recent.id = KEYS_NONE;
    k->hash_mask = UINT64_MAX;
    mf_list_init(&k->walks);
    mf_list_init(&k->regions);
    for (uint32_t i = 0; i < MF_COUNT(k->class); i++)
        k->class[i].room = KEYS_NONE;
    if (keys_node_alloc(k, true, 0, &root) != 0) {
        keys_free(k);
        return NULL;
    }
    *node_at(k, root) = (struct keys_node){
        .parent = KEYS_NONE, .next = KEYS_NONE, .prev = KEYS_NONE, .a = KEYS_NONE};
    memcpy(node_at(k, root)->bytes, &hash, sizeof hash);
    return k;
}

void keys_free(struct keys *k)
{
    if (k == NULL)
        return;
    keys_walks_fini(k);
    keys_table_fini(k);
    keys_pages_fini(k);
    free(k);
}
