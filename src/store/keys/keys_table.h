/* keys_table.h: the table that finds the nodes of a set of keys by hash.  Everything O(1). */
#ifndef STORE_KEYS_TABLE_H
#define STORE_KEYS_TABLE_H

#include "store/keys/keys.h"

#define GROUP_SLOTS 12u
#ifndef CHUNK_BITS     /* the model test has small ones */
#define CHUNK_BITS 10u /* groups of a chunk: 64 KB */
#endif
#define CHUNK_GROUPS (1u << CHUNK_BITS)

/* One cache line: a lookup that finds nothing, or the right one at once, touches one line here. */
struct keys_group {
    uint8_t tag[GROUP_SLOTS]; /* 0: empty */
    uint32_t over;            /* entries of this or an earlier group that lie behind this one */
    uint32_t id[GROUP_SLOTS];
};

struct keys_side {
    struct keys_group **chunk; /* NULL: empty, not allocated yet or given back already */
    uint32_t groups;           /* 0: no such side */
};

/* Group of a hash: its upper half as a fraction of the number of groups, so a larger (or smaller)
 * table has the same order, and moving to it walks both from the left.  Entries of groups [0,
 * moved) of `old` are in `now`, the rest is still in `old`; every key has one place. */
struct keys_table {
    struct keys_side now, old;
    uint32_t moved;
    uint32_t used;
    size_t bytes;
};

/* The search key: a token below this parent, or, when that is not known (KEYS_NONE), below the
 * prefix with this text. */
struct keys_want {
    struct mf_slice token, prefix;
    uint32_t parent;
    bool inner;
};
uint32_t keys_table_find(const struct keys *k, uint64_t hash, const struct keys_want *w);
/* Makes sure of room for one more and moves a little of a resize: before every insert. */
MF_MUSTCHECK int keys_table_room(struct keys *k);
MF_MUSTCHECK int keys_table_insert(struct keys *k, uint64_t hash, uint32_t id);
/* Inserts a leaf unless one with its text exists: *twin, else KEYS_NONE. */
MF_MUSTCHECK int keys_table_insert_new(struct keys *k, uint64_t hash, uint32_t id, uint32_t *twin);
/* Asks the memory for all that lies between two hashes. */
void keys_table_stream(const struct keys *k, uint64_t from, uint64_t to);
bool keys_table_remove(struct keys *k, uint64_t hash, uint32_t id); /* false: was not there */
void keys_table_shrink(struct keys *k); /* moves a little; after every delete */
/* Room for so many more, in any order, without a resize: O(entries) if there is none, at once. */
MF_MUSTCHECK int keys_table_room_for(struct keys *k, size_t more);
MF_MUSTCHECK int keys_table_reserve(struct keys *k, size_t count);
void keys_table_prefetch(const struct keys *k, uint64_t hash);
void keys_table_prefetch_node(const struct keys *k, uint64_t hash);
void keys_table_fini(struct keys *k);

static inline uint32_t table_home(uint64_t hash, uint32_t groups)
{
    return (uint32_t)(((hash >> 32) * groups) >> 32);
}
static inline uint8_t table_tag(uint64_t hash)
{
    uint8_t t = (uint8_t)hash;
    return t != 0 ? t : 1;
}
static inline struct keys_group *side_group(const struct keys_side *s, uint32_t g)
{
    struct keys_group *c = s->chunk[g >> CHUNK_BITS];
    return c == NULL ? NULL : &c[g & (CHUNK_GROUPS - 1)];
}
static inline uint32_t side_next(const struct keys_side *s, uint32_t g)
{
    return g + 1 == s->groups ? 0 : g + 1;
}

#endif
