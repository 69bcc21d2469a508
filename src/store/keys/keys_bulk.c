/* keys_bulk.c: insertion of many keys, most of them new.
 *
 * A lookup of each key in the table would be one wait for memory after the other.  Instead each
 * key becomes a node at once, and its hash and id wait in one of PARTS by the hash.  When a part
 * is full, all parts are inserted into the table, each after its stretch of the table was
 * streamed into the cache.  Only then a key that existed already is found (a twin): its node is
 * marked (count 0, last: the real one) and dropped at the end. */
#include "store/keys/keys_impl.h"

#include "base/array.h"

#include <stdlib.h>

#define PARTS    256u
#define PART_MAX 16384u
#define FIRST    8192u /* so many wait before the first pass over the table; then twice as many... */

/* Of the hash, all that the table looks at: the part has bits 56 to 63, `hash` bits 32 to 55 and 0
 * to 7. */
struct pair {
    uint32_t hash, id;
};
static inline uint64_t pair_hash(uint32_t part, const struct pair *p)
{
    return (uint64_t)part << 56 | (uint64_t)(p->hash >> 8) << 32 | (p->hash & 0xFF);
}

struct keys_bulk {
    struct keys *k;
    uint32_t parent; /* of the key before; KEYS_NONE: find it */
    size_t twin_count, twin_cap;
    uint32_t *twins;
    size_t added, same; /* since when: keys_bulk_wasteful() */
    size_t waiting, limit;
    struct keys_leaves room[SIZE_CLASSES];
    uint32_t count[PARTS];
    struct pair part[PARTS][PART_MAX];
};

struct keys_bulk *keys_bulk_new(struct keys *k)
{
    struct keys_bulk *b = malloc(sizeof *b);

    if (b == NULL)
        return NULL;
    b->k = k;
    b->parent = KEYS_NONE;
    b->twin_count = b->twin_cap = b->added = b->same = 0;
    b->twins = NULL;
    b->waiting = 0;
    b->limit = FIRST;
    memset(b->room, 0, sizeof b->room);
    memset(b->count, 0, sizeof b->count);
    return b;
}

static int twin_note(struct keys_bulk *b, uint32_t id, uint32_t real)
{
    struct keys_node *n = node_at(b->k, id);

    if (mf_array_reserve(&b->twins, &b->twin_cap, b->twin_count + 1, sizeof *b->twins) != 0)
        return MF_NOMEM;
    b->twins[b->twin_count++] = id;
    b->same++;
    node_at(b->k, real)->b += n->b;
    n->a = real;
    n->b = 0;
    return 0;
}

static int flush_part(struct keys_bulk *b, uint32_t part)
{
    keys_table_stream(b->k, (uint64_t)part << 56, (uint64_t)part << 56 | (UINT64_MAX >> 8));
    for (uint32_t i = 0; i < b->count[part]; i++) {
        const struct pair *p = &b->part[part][i];
        uint32_t twin;
        if (keys_table_insert_new(b->k, pair_hash(part, p), p->id, &twin) != 0 ||
            (twin != KEYS_NONE && twin_note(b, p->id, twin) != 0))
            return MF_NOMEM;
    }
    b->count[part] = 0;
    return 0;
}

/* In the order of the hashes: a table that is short of room would overflow at its beginning, so it
 * grows before. */
int keys_bulk_flush(struct keys_bulk *b)
{
    int rc = keys_table_room_for(b->k, b->waiting);

    b->parent = KEYS_NONE; /* the next key may follow one that was not added here */
    b->waiting = 0;
    b->limit *= 2;
    for (uint32_t part = 0; part < PARTS && rc == 0; part++)
        rc = flush_part(b, part);
    return rc;
}

int keys_bulk_add(struct keys_bulk *b, struct mf_slice key, struct keys_hint hint, uint32_t *id)
{
    uint32_t part = (uint32_t)(hint.hash >> 56);
    uint32_t hash = (uint32_t)(hint.hash >> 24 & 0xFFFFFF00) | (uint32_t)(hint.hash & 0xFF);
    struct mf_slice token = mf_slice(key.ptr + hint.prefix, key.len - hint.prefix);
    uint32_t size, class = keys_class_of(NODE_LEAF + token.len, &size);

    if (!hint.same || b->parent == KEYS_NONE) {
        b->parent = KEYS_NONE;
        if (keys_parent_apart(b->k, mf_slice(key.ptr, hint.prefix), hint.parent, &b->parent) != 0)
            return MF_NOMEM;
    }
    if (keys_add_apart(b->k, b->parent, token, &b->room[class], id) != 0)
        return MF_NOMEM;
    b->added++;
    b->part[part][b->count[part]++] = (struct pair){hash, *id};
    return ++b->waiting == b->limit || b->count[part] == PART_MAX ? keys_bulk_flush(b) : 0;
}

bool keys_bulk_wasteful(struct keys_bulk *b)
{
    bool much = b->same > b->added / 8;

    if (b->added >= PART_MAX * PARTS) /* what was long ago counts no more */
        b->added = b->same = 0;
    return much;
}

size_t keys_bulk_twins(const struct keys_bulk *b)
{
    return b->twin_count;
}

void keys_bulk_forget(struct keys_bulk *b)
{
    b->twin_count = 0;
}

void keys_bulk_free(struct keys_bulk *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < SIZE_CLASSES; i++)
        keys_leaves_give(b->k, b->room[i]);
    for (size_t i = 0; i < b->twin_count; i++)
        keys_drop_apart(b->k, b->twins[i]);
    free(b->twins);
    free(b);
}
