/* keys_table.c: finds nodes of keys by hash: groups of twelve tags and ids in one cache line.
 *
 * An entry lies in the group of its hash or, where that is full, in the next with room.  Every
 * group counts the entries that were moved past it (over), so a search stops at the first group
 * with none, and a deletion leaves nothing behind.  At most 7/8 of the slots are used.
 *
 * Resizing (to twice, or down when three quarters are empty) moves MOVES groups with each insert
 * or delete.  Memory of the new side is allocated and memory of the old side is freed in chunks
 * as the move proceeds, so both together are little more than one of them. */
#include "store/keys/keys_impl.h"

#include <stdlib.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define MOVES      2u
#define AHEAD      (2 * MOVES) /* groups: their nodes arrive while another call does its own work */
#define GROUPS_TOP (1u << 30)

/* Bit i: tag[i] is this one. */
static inline uint32_t match_tag(const struct keys_group *g, uint8_t tag)
{
#ifdef __SSE2__
    __m128i tags = _mm_load_si128((const __m128i *)(const void *)g); /* `over` comes along */
    __m128i same = _mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag));
    return (uint32_t)_mm_movemask_epi8(same) & ((1u << GROUP_SLOTS) - 1);
#else
    uint32_t m = 0;
    for (uint32_t i = 0; i < GROUP_SLOTS; i++)
        m |= (uint32_t)(g->tag[i] == tag) << i;
    return m;
#endif
}

static inline const struct keys_side *side_of(const struct keys_table *t, uint64_t hash,
                                              uint32_t *home)
{
    if (MF_UNLIKELY(t->old.groups != 0)) {
        *home = table_home(hash, t->old.groups);
        if (*home >= t->moved)
            return &t->old;
    }
    *home = table_home(hash, t->now.groups);
    return &t->now;
}

/* Is this the text of the inner node?  Compared from its end, up the tree. */
static bool is_prefix(const struct keys *k, uint32_t id, struct mf_slice text)
{
    while (id != ROOT) {
        const struct keys_node *n = node_at(k, id);
        if (n->len > text.len)
            return false;
        text.len -= n->len;
        if (memcmp(text.ptr + text.len, node_token(n, true).ptr, n->len) != 0)
            return false;
        id = n->parent;
    }
    return text.len == 0;
}

static inline bool is_wanted(const struct keys *k, uint32_t id, const struct keys_want *w)
{
    const struct keys_page *p = page_of(k, id);
    const struct keys_node *n = node_in(p, id);

    if (page_inner(p) != w->inner || !mf_eq(node_token(n, w->inner), w->token))
        return false;
    return w->parent != KEYS_NONE ? n->parent == w->parent : is_prefix(k, n->parent, w->prefix);
}

uint32_t keys_table_find(const struct keys *k, uint64_t hash, const struct keys_want *w)
{
    uint32_t home, g;
    const struct keys_side *s = side_of(&k->table, hash, &home);

    if (s->groups == 0)
        return KEYS_NONE;
    g = home;
    do {
        const struct keys_group *group = side_group(s, g);
        if (group == NULL)
            return KEYS_NONE;
        for (uint32_t m = match_tag(group, table_tag(hash)); m != 0; m &= m - 1) {
            uint32_t id = group->id[__builtin_ctz(m)];
            if (is_wanted(k, id, w))
                return id;
        }
        if (group->over == 0)
            return KEYS_NONE;
        g = side_next(s, g);
    } while (g != home);
    return KEYS_NONE;
}

void keys_table_prefetch(const struct keys *k, uint64_t hash)
{
    uint32_t home;
    const struct keys_side *s = side_of(&k->table, hash, &home);
    const struct keys_group *group = s->groups == 0 ? NULL : side_group(s, home);

    if (group != NULL)
        __builtin_prefetch(group, 1);
}

void keys_table_prefetch_node(const struct keys *k, uint64_t hash)
{
    uint32_t home;
    const struct keys_side *s = side_of(&k->table, hash, &home);
    const struct keys_group *group = s->groups == 0 ? NULL : side_group(s, home);

    if (group == NULL)
        return;
    for (uint32_t m = match_tag(group, table_tag(hash)); m != 0; m &= m - 1)
        __builtin_prefetch(node_at(k, group->id[__builtin_ctz(m)]), 1);
}

static size_t chunk_bytes(const struct keys_side *s, uint32_t chunk)
{
    uint32_t left = s->groups - (chunk << CHUNK_BITS);
    return (left < CHUNK_GROUPS ? left : CHUNK_GROUPS) * sizeof(struct keys_group);
}

/* The group, allocated with its chunk if need be; NULL: out of memory. */
static struct keys_group *group_need(struct keys *k, struct keys_side *s, uint32_t g)
{
    uint32_t c = g >> CHUNK_BITS;

    if (MF_UNLIKELY(s->chunk[c] == NULL)) {
        size_t n = chunk_bytes(s, c);
        s->chunk[c] = keys_block_alloc(k, n);
        if (s->chunk[c] == NULL)
            return NULL;
        memset(s->chunk[c], 0, n);
        k->table.bytes += keys_block_size(n);
    }
    return side_group(s, g);
}

static void chunk_drop(struct keys *k, struct keys_side *s, uint32_t c)
{
    if (s->chunk[c] == NULL)
        return;
    k->table.bytes -= keys_block_size(chunk_bytes(s, c));
    keys_block_free(k, s->chunk[c], chunk_bytes(s, c));
    s->chunk[c] = NULL;
}

static size_t side_chunks(const struct keys_side *s)
{
    return ((size_t)s->groups + CHUNK_GROUPS - 1) >> CHUNK_BITS;
}

static int side_init(struct keys *k, struct keys_side *s, uint32_t groups)
{
    *s = (struct keys_side){NULL, groups};
    s->chunk = calloc(side_chunks(s), sizeof *s->chunk);
    if (s->chunk == NULL)
        return MF_NOMEM;
    k->table.bytes += side_chunks(s) * sizeof *s->chunk;
    return 0;
}

static void side_fini(struct keys *k, struct keys_side *s)
{
    size_t n = side_chunks(s);

    for (uint32_t c = 0; c < n; c++)
        chunk_drop(k, s, c);
    k->table.bytes -= n * sizeof *s->chunk;
    free(s->chunk);
    *s = (struct keys_side){NULL, 0};
}

/* Looks for the place first: out of memory then has changed nothing. */
static int side_insert(struct keys *k, struct keys_side *s, uint64_t hash, uint32_t id)
{
    uint32_t home = table_home(hash, s->groups), g = home, empty, i;
    struct keys_group *group;

    for (;;) {
        group = group_need(k, s, g);
        if (group == NULL)
            return MF_NOMEM;
        empty = match_tag(group, 0);
        if (empty != 0)
            break;
        g = side_next(s, g);
        if (g == home)
            return MF_NOMEM; /* full: the sizes of keys_table_room() do not let that happen */
    }
    for (uint32_t p = home; p != g; p = side_next(s, p))
        side_group(s, p)->over++;
    i = (uint32_t)__builtin_ctz(empty);
    group->tag[i] = table_tag(hash);
    group->id[i] = id;
    return 0;
}

static bool side_remove(struct keys_side *s, uint64_t hash, uint32_t id)
{
    uint32_t home = table_home(hash, s->groups), g = home;

    do {
        struct keys_group *group = side_group(s, g);
        if (group == NULL)
            return false;
        for (uint32_t m = match_tag(group, table_tag(hash)); m != 0; m &= m - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(m);
            if (group->id[i] != id)
                continue;
            group->tag[i] = 0;
            for (uint32_t p = home; p != g; p = side_next(s, p))
                side_group(s, p)->over--;
            return true;
        }
        if (group->over == 0)
            return false;
        g = side_next(s, g);
    } while (g != home);
    return false;
}

int keys_table_insert(struct keys *k, uint64_t hash, uint32_t id)
{
    struct keys_table *t = &k->table;
    uint32_t home;
    bool old = side_of(t, hash, &home) == &t->old;

    if (side_insert(k, old ? &t->old : &t->now, hash, id) != 0)
        return MF_NOMEM;
    t->used++;
    return 0;
}

static bool same_leaf(const struct keys *k, uint32_t a, uint32_t b)
{
    const struct keys_node *x = node_at(k, a), *y = node_at(k, b);

    return !node_inner(k, a) && x->parent == y->parent &&
           mf_eq(node_token(x, false), node_token(y, false));
}

int keys_table_insert_new(struct keys *k, uint64_t hash, uint32_t id, uint32_t *twin)
{
    uint32_t home, g;
    const struct keys_side *s = side_of(&k->table, hash, &home);
    struct keys_group *group = side_group(s, g = home);
    uint32_t empty = group == NULL ? 0 : match_tag(group, 0);

    *twin = KEYS_NONE;
    if (MF_LIKELY(empty != 0 && group->over == 0 && match_tag(group, table_tag(hash)) == 0)) {
        uint32_t i = (uint32_t)__builtin_ctz(empty); /* nearly always */
        group->tag[i] = table_tag(hash);
        group->id[i] = id;
        k->table.used++;
        return 0;
    }
    for (; group != NULL; group = side_group(s, g)) {
        for (uint32_t m = match_tag(group, table_tag(hash)); m != 0; m &= m - 1) {
            *twin = group->id[__builtin_ctz(m)];
            if (same_leaf(k, *twin, id))
                return 0;
        }
        g = side_next(s, g);
        if (group->over == 0 || g == home)
            break;
    }
    *twin = KEYS_NONE;
    return keys_table_insert(k, hash, id);
}

void keys_table_stream(const struct keys *k, uint64_t from, uint64_t to)
{
    const struct keys_side *s = &k->table.now;

    if (s->groups == 0)
        return;
    for (uint32_t g = table_home(from, s->groups); g <= table_home(to, s->groups); g++) {
        const struct keys_group *group = side_group(s, g);
        if (group != NULL)
            __builtin_prefetch(group, 1, 2);
    }
}

bool keys_table_remove(struct keys *k, uint64_t hash, uint32_t id)
{
    struct keys_table *t = &k->table;
    uint32_t home;
    bool old = side_of(t, hash, &home) == &t->old;

    if (!side_remove(old ? &t->old : &t->now, hash, id))
        return false;
    t->used--;
    return true;
}

/* Does something for every entry that belongs to group t->moved of the old side. */
enum visit { PUT_NOW, TAKE_NOW, TAKE_OLD };

static int home_visit(struct keys *k, enum visit what)
{
    struct keys_table *t = &k->table;
    uint32_t g = t->moved;

    do {
        const struct keys_group *group = side_group(&t->old, g);
        if (group == NULL)
            return 0;
        for (uint32_t i = 0; i < GROUP_SLOTS; i++) {
            uint64_t hash;
            uint32_t id = group->id[i];
            if (group->tag[i] == 0)
                continue;
            hash = node_hash(k, id);
            if (table_home(hash, t->old.groups) != t->moved)
                continue;
            if (what == TAKE_OLD)
                side_remove(&t->old, hash, id);
            else if (what == TAKE_NOW)
                side_remove(&t->now, hash, id);
            else if (side_insert(k, &t->now, hash, id) != 0)
                return MF_NOMEM;
        }
        if (group->over == 0)
            return 0;
        g = side_next(&t->old, g);
    } while (g != t->moved);
    return 0;
}

/* The move has passed a chunk.  Entries that wrap around from the end of the table may still be
 * in it, or probe through it; then it stays until the end. */
static void chunk_leave(struct keys *k, uint32_t c)
{
    struct keys_side *s = &k->table.old;
    size_t n = chunk_bytes(s, c) / sizeof(struct keys_group);

    for (size_t i = 0; s->chunk[c] != NULL && i < n; i++) {
        const struct keys_group *group = &s->chunk[c][i];
        if (group->over != 0 || match_tag(group, 0) != (1u << GROUP_SLOTS) - 1)
            return;
    }
    chunk_drop(k, s, c);
}

/* The nodes a later move will rehash.  Inline by force: gcc takes a function that only prefetches
 * for one without effect, and drops the call. */
__attribute__((always_inline)) static inline void prefetch_moves(const struct keys *k, uint32_t g)
{
    const struct keys_side *s = &k->table.old;
    const struct keys_group *group = g < s->groups ? side_group(s, g) : NULL;

    for (uint32_t i = 0; group != NULL && i < GROUP_SLOTS; i++)
        if (group->tag[i] != 0)
            __builtin_prefetch(node_at(k, group->id[i]));
}

static int move_some(struct keys *k)
{
    struct keys_table *t = &k->table;

    for (uint32_t i = 0; i < MOVES && t->moved < t->old.groups; i++) {
        prefetch_moves(k, t->moved + AHEAD);
        if (home_visit(k, PUT_NOW) != 0) {
            (void)!home_visit(k, TAKE_NOW); /* removing cannot fail */
            return MF_NOMEM;
        }
        (void)!home_visit(k, TAKE_OLD);
        if ((++t->moved & (CHUNK_GROUPS - 1)) == 0)
            chunk_leave(k, (t->moved >> CHUNK_BITS) - 1);
    }
    if (t->moved == t->old.groups)
        side_fini(k, &t->old);
    return 0;
}

static int resize_table(struct keys *k, uint32_t groups)
{
    struct keys_table *t = &k->table;
    struct keys_side side;

    if (groups > GROUPS_TOP || side_init(k, &side, groups) != 0)
        return MF_NOMEM;
    if (t->used == 0) { /* nothing to move */
        side_fini(k, &t->now);
        t->now = side;
        return 0;
    }
    t->old = t->now;
    t->now = side;
    t->moved = 0;
    return 0;
}

/* Growing ends long before the next one is due: it needs groups / MOVES inserts. */
int keys_table_room(struct keys *k)
{
    struct keys_table *t = &k->table;
    uint32_t n = t->now.groups;

    if (t->old.groups == 0) {
        if (t->used < (uint64_t)n * GROUP_SLOTS * 7 / 8)
            return 0;
        if (resize_table(k, n == 0 ? 1 : n * 2) != 0)
            return MF_NOMEM;
    }
    return t->old.groups == 0 ? 0 : move_some(k);
}

int keys_table_room_for(struct keys *k, size_t more)
{
    struct keys_table *t = &k->table;
    uint64_t want = (uint64_t)t->used + more, groups = want / 10 + 1;

    while (t->old.groups != 0)
        if (move_some(k) != 0)
            return MF_NOMEM;
    if (want < (uint64_t)t->now.groups * GROUP_SLOTS * 7 / 8)
        return 0;
    if (groups < 2 * (uint64_t)t->now.groups)
        groups = 2 * (uint64_t)t->now.groups;
    if (groups > GROUPS_TOP || resize_table(k, (uint32_t)groups) != 0)
        return MF_NOMEM;
    while (t->old.groups != 0)
        if (move_some(k) != 0)
            return MF_NOMEM;
    return 0;
}

/* Leaves room for what may be added while the move lasts. */
void keys_table_shrink(struct keys *k)
{
    struct keys_table *t = &k->table;

    if (t->old.groups != 0)
        (void)!move_some(k); /* out of memory: another time */
    else if (t->now.groups > 1 && t->used < (uint64_t)t->now.groups * GROUP_SLOTS / 4)
        (void)!resize_table(k, (uint32_t)(((uint64_t)t->used + t->now.groups / MOVES) / 8 + 1));
}

int keys_table_reserve(struct keys *k, size_t count)
{
    struct keys_table *t = &k->table;
    size_t groups = count / 10 + 1;

    if (groups > GROUPS_TOP)
        return MF_NOMEM;
    if (groups <= t->now.groups || t->old.groups != 0)
        return 0;
    return resize_table(k, (uint32_t)groups);
}

void keys_table_fini(struct keys *k)
{
    side_fini(k, &k->table.old);
    side_fini(k, &k->table.now);
}
