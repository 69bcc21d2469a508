/* keys.c: the set of keys: lookup, insertion, deletion, and the text of a key. */
#include "store/keys/keys_impl.h"

#include <stdlib.h>

/* A key in two: everything up to and with the last separator, and the token after it. */
static struct keys_want split_key(const struct keys *k, struct mf_slice key)
{
    const uint8_t *end = key.len == 0 ? NULL : memrchr(key.ptr, k->separator, key.len);
    size_t n = end == NULL ? 0 : (size_t)(end - key.ptr) + 1;

    return (struct keys_want){.token = mf_slice(key.len == 0 ? NULL : key.ptr + n, key.len - n),
                              .prefix = mf_slice(key.ptr, n),
                              .parent = n == 0 ? ROOT : KEYS_NONE,
                              .inner = false};
}

/* The parent, if it is the one used last. */
static void recall_parent(const struct keys *k, struct keys_want *w)
{
    if (k->recent.id != KEYS_NONE && k->recent.len == w->prefix.len &&
        memcmp(k->recent.text, w->prefix.ptr, w->prefix.len) == 0)
        w->parent = k->recent.id;
}

static void remember_parent(struct keys *k, const struct keys_want *w, uint32_t parent)
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

static struct mf_slice text_after(struct mf_slice text, struct mf_slice token)
{
    return mf_slice(text.ptr + token.len, text.len - token.len);
}

static uint64_t hash_prefix(const struct keys *k, struct mf_slice prefix)
{
    uint64_t h = ROOT_HASH;
    struct mf_slice token;

    for (; prefix.len > 0; prefix = text_after(prefix, token)) {
        token = first_token(k, prefix);
        h = hash_child(k, h, true, token);
    }
    return h;
}

static uint64_t hash_wanted(const struct keys *k, const struct keys_want *w)
{
    bool recent = w->parent != KEYS_NONE && w->parent != ROOT;

    return hash_child(k, recent ? k->recent.hash : hash_prefix(k, w->prefix), false, w->token);
}

struct keys_hint keys_hash_apart(const struct keys *k, struct mf_slice key,
                                 struct keys_prefix *last)
{
    struct keys_want w = split_key(k, key);
    struct keys_hint hint = {.prefix = (uint16_t)w.prefix.len};

    if (w.prefix.len > KEYS_PREFIX) {
        last->len = KEYS_PREFIX + 1; /* none */
        hint.parent = hash_prefix(k, w.prefix);
        hint.hash = hash_child(k, hint.parent, false, w.token);
        return hint;
    }
    hint.same = last->hash != 0 && last->len == w.prefix.len &&
                (last->len == 0 || memcmp(last->text, w.prefix.ptr, last->len) == 0);
    if (!hint.same) {
        last->hash = hash_prefix(k, w.prefix);
        last->len = (uint32_t)w.prefix.len;
        if (last->len > 0)
            memcpy(last->text, w.prefix.ptr, last->len);
    }
    hint.parent = last->hash;
    hint.hash = hash_child(k, last->hash, false, w.token);
    return hint;
}

uint64_t keys_hash(const struct keys *k, struct mf_slice key)
{
    struct keys_want w = split_key(k, key);

    recall_parent(k, &w);
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

uint32_t keys_find(const struct keys *k, struct mf_slice key)
{
    struct keys_want w = split_key(k, key);

    if (key.len > KEYS_MAX)
        return KEYS_NONE;
    recall_parent(k, &w);
    return keys_table_find(k, hash_wanted(k, &w), &w);
}

/* A new child, that its parent does not know yet. */
static void node_fill(struct keys *k, uint32_t id, uint32_t parent, uint64_t hash,
                      const struct keys_want *w)
{
    struct keys_node *n = node_at(k, id);

    *n = (struct keys_node){.parent = parent,
                            .next = node_at(k, parent)->a,
                            .prev = KEYS_NONE,
                            .a = KEYS_NONE,
                            .len = (uint16_t)w->token.len};
    if (w->inner) {
        memcpy(n->bytes, &hash, sizeof hash);
        inner_set(n, (struct keys_inner){.inners = 0});
    }
    if (w->token.len > 0)
        memcpy((uint8_t *)n + (w->inner ? NODE_INNER : NODE_LEAF), w->token.ptr, w->token.len);
}

static void count_inner(struct keys_node *up, uint32_t change)
{
    struct keys_inner i = inner_get(up);

    i.inners += change;
    inner_set(up, i);
}

/* As the first of its siblings: walks that are under way have it behind them. */
static void node_link(struct keys *k, uint32_t parent, uint32_t id)
{
    struct keys_node *up = node_at(k, parent);

    if (node_inner(k, id))
        count_inner(up, 1);
    else
        k->changes++;

    if (up->a != KEYS_NONE)
        node_at(k, up->a)->prev = id;
    up->a = id;
    up->b++;
}

static int node_new(struct keys *k, uint32_t parent, uint64_t hash, const struct keys_want *w,
                    uint32_t *id)
{
    if (keys_table_room(k) != 0 || keys_node_alloc(k, w->inner, w->token.len, id) != 0)
        return MF_NOMEM;
    node_fill(k, *id, parent, hash, w);
    if (keys_table_insert(k, hash, *id) != 0) {
        keys_node_free(k, *id);
        return MF_NOMEM;
    }
    node_link(k, parent, *id);
    return 0;
}

/* Takes a node without children out of the tree; returns its parent. */
static uint32_t node_unlink(struct keys *k, uint32_t id)
{
    struct keys_node *n = node_at(k, id), *up = node_at(k, n->parent);
    uint32_t parent = n->parent;

    keys_walks_leave(k, id);
    if (node_inner(k, id))
        count_inner(up, UINT32_MAX);
    else
        k->changes++;
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
    return parent;
}

static uint32_t node_drop(struct keys *k, uint32_t id)
{
    uint32_t parent;

    keys_table_remove(k, node_hash(k, id), id);
    parent = node_unlink(k, id);
    keys_table_shrink(k);
    return parent;
}

/* Frees an inner node without children, then its parent, and so on. */
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

    for (; prefix.len > 0; prefix = text_after(prefix, w.token)) {
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
    struct keys_want w = split_key(k, key);
    uint32_t found, parent;

    if (key.len > KEYS_MAX)
        return MF_INVAL;
    recall_parent(k, &w);
    found = keys_table_find(k, hash, &w);
    if (found != KEYS_NONE) {
        remember_parent(k, &w, node_at(k, found)->parent);
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
    remember_parent(k, &w, parent);
    k->leaves++;
    *id = found;
    return 0;
}

/* One look-up for the whole key, by its hash; only a new key is added token by token. */
int keys_parent_apart(struct keys *k, struct mf_slice prefix, uint64_t hash, uint32_t *parent)
{
    const uint8_t *sep;
    struct keys_want w = {.inner = true, .parent = ROOT};
    size_t n;

    *parent = ROOT;
    if (prefix.len == 0)
        return 0;
    sep = memrchr(prefix.ptr, k->separator, prefix.len - 1);
    n = sep == NULL ? 0 : (size_t)(sep - prefix.ptr) + 1;
    if (n > 0)
        w.parent = KEYS_NONE;
    w.prefix = mf_slice(prefix.ptr, n);
    w.token = mf_slice(prefix.ptr + n, prefix.len - n);
    *parent = keys_table_find(k, hash, &w);
    return *parent != KEYS_NONE ? 0 : prefix_get(k, prefix, parent);
}

int keys_add_apart(struct keys *k, uint32_t parent, struct mf_slice token, struct keys_leaves *from,
                   uint32_t *id)
{
    struct keys_want w = {.token = token};

    if (from->left == 0 && keys_leaves_take(k, token.len, from) != 0)
        return MF_NOMEM;
    from->left--;
    *id = from->id++;
    node_fill(k, *id, parent, 0, &w);
    node_at(k, *id)->b = 1;
    node_link(k, parent, *id);
    k->leaves++;
    return 0;
}

void keys_drop_apart(struct keys *k, uint32_t id)
{
    k->leaves--;
    drop_empty(k, node_unlink(k, id));
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

void keys_tally(struct keys *k, uint32_t id, int msgs, int keys)
{
    while (id != ROOT) {
        id = node_at(k, id)->parent;
        struct keys_inner i = inner_get(node_at(k, id));
        i.sum.msgs += (uint32_t)msgs;
        i.sum.keys += (uint32_t)keys;
        inner_set(node_at(k, id), i);
    }
}

struct keys_sum keys_total(const struct keys *k)
{
    return inner_get(node_at(k, ROOT)).sum;
}

uint64_t keys_changes(const struct keys *k)
{
    return k->changes;
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
    return sizeof *k + k->region_bytes + keys_blocks_held(k) + k->page_bytes +
           k->cap_pages * sizeof *k->pages + k->table.bytes;
}

/* Sets that are made one after the other at the same address differ in keys_changes(). */
static uint64_t first_change(void)
{
    static _Atomic uint64_t sets;

    return ++sets << 40;
}

struct keys *keys_new(char separator)
{
    struct keys *k = calloc(1, sizeof *k);
    uint64_t hash = ROOT_HASH;
    uint32_t root;

    if (k == NULL)
        return NULL;
    k->separator = (uint8_t)separator;
    k->free_page = k->recent.id = KEYS_NONE;
    k->hash_mask = UINT64_MAX;
    k->changes = first_change();
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
    inner_set(node_at(k, root), (struct keys_inner){.inners = 0});
    return k;
}

void keys_free(struct keys *k)
{
    if (k == NULL)
        return;
    keys_walks_stop(k);
    keys_table_fini(k);
    keys_pages_fini(k);
    free(k);
}
