/* keys_impl.h: the parts of a set of keys: nodes in pages, the table that finds them, the walks.
 *
 * Node (native byte order, 4 byte aligned); the page's class says inner or leaf:
 *    0  u32  parent; KEYS_NONE for the root        16  u32  leaf: count; inner: children
 *    4  u32  next sibling                          20  u16  length of the token
 *    8  u32  previous sibling                      22  inner: u64 hash of the whole prefix
 *   12  u32  leaf: last; inner: first child        30  inner: struct keys_inner
 * The token follows.  The token of an inner node ends with the separator, no other byte is one.
 * An id is page << 12 | slot.  The root is the inner node 0 with an empty token; it is in no table.
 *
 * An inner node has the sums of what was passed to keys_tally() for all leaves below it, at any
 * depth.
 *
 * Hash of a node: that of its parent mixed with that of its token.  So a leaf is rehashed from its
 * own bytes and one hot word of its parent, a child is found from its parent, and a key with
 * thousands of tokens costs a linear pass.  Leaf "a." and prefix "a." have the same text, not the
 * same hash. */
#ifndef STORE_KEYS_IMPL_H
#define STORE_KEYS_IMPL_H

#include "store/keys/keys_table.h"

#include "codec/hash.h"
#include "base/list.h"

#ifndef PAGE_BYTES /* the model test has small ones */
#define PAGE_BYTES 65536u
#endif
#define SLOT_BITS    12u
#define SLOT_MASK    ((1u << SLOT_BITS) - 1)
#define PAGES_MAX    ((1u << (32 - SLOT_BITS)) - 1) /* the last one would hold KEYS_NONE */
#define ROOT         0u
#define SIZE_SMALL   128u   /* up to here a class every 4 bytes, then 8 in every octave */
#define SIZE_SHARED  16384u /* longer nodes have a page of their own */
#define SIZE_CLASSES 90u    /* 0 unused, 1..32 small, 33..88 in octaves, 89 a page of its own */
#define SIZE_ALONE   (SIZE_CLASSES - 1)
#define NODE_LEAF    22u /* bytes before the token */
#define NODE_INNER   42u
#define SLOT_NONE    UINT16_MAX
#define RECENT_MAX   128u
#define ROOT_HASH    0x9E3779B97F4A7C15u

struct keys_node {
    uint32_t parent, next, prev;
    uint32_t a, b; /* last and count, or first child and number of children */
    uint16_t len;
    uint8_t bytes[];
};

/* The numbers of an inner node, not aligned: copied in and out. */
struct keys_inner {
    struct keys_sum sum;
    uint32_t inners; /* children that are inner nodes */
};

/* Slots of one size.  mem NULL: the number is free.  Slots [0, fresh) were handed out at least
 * once; those given back form a list through their first two bytes.  next and prev: pages of the
 * class with room, or the free numbers. */
struct keys_page {
    uint8_t *mem;
    uint32_t size;
    uint32_t next, prev;
    uint16_t cap, used, fresh, free;
    uint16_t class; /* size class * 2 + inner */
};

struct keys_class {
    uint32_t room;  /* first page with room */
    uint32_t slots; /* of all its pages: the next page has as many, up to PAGE_BYTES */
};

struct keys {
    struct keys_page *pages;
    uint32_t npages, cap_pages, free_page;
    size_t leaves, page_bytes;
    struct keys_table table;
    /* The prefix used last: keys often come in runs under the same one.  id KEYS_NONE: none. */
    struct {
        uint64_t hash;
        uint32_t id;
        uint32_t len;
        uint8_t text[RECENT_MAX];
    } recent;
    struct mf_list walks;
    struct mf_list regions;       /* those with a free block */
    size_t region_bytes;          /* of their headers */
    uint32_t blocks, blocks_held; /* in use; free, with memory */
    struct keys_stock *stock;     /* NULL: no memory is allocated ahead */
    uint64_t hash_mask;           /* tests clear bits to make collisions */
    uint64_t touched;             /* nodes visited by walks, for tests */
    uint64_t changes;             /* leaves added and deleted */
    uint8_t separator;
    struct keys_class class[SIZE_CLASSES * 2];
};

/* next is the node to visit next, `depth` tokens below the root; KEYS_NONE with started: the end.
 * It always exists: keys_del() moves the walk on.  The ancestors give the rest of the walk, so
 * there is no stack. */
struct keys_walk {
    struct mf_list in; /* keys->walks */
    struct keys *keys; /* NULL: the set was freed */
    uint32_t next, depth;
    uint32_t tokens;    /* of the pattern */
    bool started, tail; /* tail: the last token is ">" */
    uint32_t token[];   /* where each starts; one more at the end; then the text */
};

static inline struct keys_page *page_of(const struct keys *k, uint32_t id)
{
    return &k->pages[id >> SLOT_BITS];
}
static inline struct keys_node *node_in(const struct keys_page *p, uint32_t id)
{
    return (struct keys_node *)(void *)(p->mem + (size_t)(id & SLOT_MASK) * p->size);
}
static inline struct keys_node *node_at(const struct keys *k, uint32_t id)
{
    return node_in(page_of(k, id), id);
}
static inline bool page_inner(const struct keys_page *p)
{
    return (p->class & 1) != 0;
}
static inline bool node_inner(const struct keys *k, uint32_t id)
{
    return page_inner(page_of(k, id));
}
static inline struct mf_slice node_token(const struct keys_node *n, bool inner)
{
    return mf_slice((const uint8_t *)n + (inner ? NODE_INNER : NODE_LEAF), n->len);
}
static inline uint64_t inner_hash(const struct keys_node *n)
{
    uint64_t h;
    memcpy(&h, n->bytes, sizeof h);
    return h;
}

static inline struct keys_inner inner_get(const struct keys_node *n)
{
    struct keys_inner i;
    memcpy(&i, n->bytes + sizeof(uint64_t), sizeof i);
    return i;
}
static inline void inner_set(struct keys_node *n, struct keys_inner i)
{
    memcpy(n->bytes + sizeof(uint64_t), &i, sizeof i);
}

/* The halves of a product: every bit of both counts.  Both sides are seeded, see hash.h. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)(a ^ 0x2D358DCCAA6C78A5u) * (b ^ 0x8BB84B93962EACC9u);
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}
static inline uint64_t hash_child(const struct keys *k, uint64_t parent, bool inner,
                                  struct mf_slice token)
{
    return hash_mix(parent + inner, hash_slice(token)) & k->hash_mask;
}
static inline uint64_t node_hash(const struct keys *k, uint32_t id)
{
    const struct keys_page *p = page_of(k, id);
    const struct keys_node *n = node_in(p, id);

    if (page_inner(p))
        return inner_hash(n);
    return hash_child(k, inner_hash(node_at(k, n->parent)), false, node_token(n, false));
}

/* keys_block.c: on a cache line, not zeroed.  Free with the same n. */
void *keys_block_alloc(struct keys *k, size_t n);
void keys_block_free(struct keys *k, void *p, size_t n);
size_t keys_block_size(size_t n);              /* what it takes */
size_t keys_blocks_held(const struct keys *k); /* bytes that are free and not given back */

/* keys.c, for keys_bulk.c: a leaf with count 1 that is in the tree, not in the table. */
MF_MUSTCHECK int keys_parent_apart(struct keys *k, struct mf_slice prefix, uint64_t hash,
                                   uint32_t *parent);
struct keys_leaves;
MF_MUSTCHECK int keys_add_apart(struct keys *k, uint32_t parent, struct mf_slice token,
                                struct keys_leaves *from, uint32_t *id);
void keys_drop_apart(struct keys *k, uint32_t id);

/* keys_page.c: O(1).  *id stays valid until freed; a new node's fields are not set. */
MF_MUSTCHECK int keys_node_alloc(struct keys *k, bool inner, size_t len, uint32_t *id);
void keys_node_free(struct keys *k, uint32_t id);
/* All that is left of a page, for leaves with tokens of this length: ids that follow each other, to
 * be used from the first on, that one at once; what is left of them is given back. */
struct keys_leaves {
    uint32_t id, left;
};
MF_MUSTCHECK int keys_leaves_take(struct keys *k, size_t len, struct keys_leaves *l);
void keys_leaves_give(struct keys *k, struct keys_leaves l);
void keys_pages_fini(struct keys *k);
uint32_t keys_class_of(size_t bytes, uint32_t *size); /* size class, and the size of its slots */

/* keys_walk.c: the node is about to be freed. */
void keys_walks_leave(struct keys *k, uint32_t id);
#endif
