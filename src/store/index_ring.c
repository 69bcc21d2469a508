/* index_ring.c: the entries of one key, linked in sequence order; the key knows the newest. */
#include "index_impl.h"

int key_hold(struct index *ix, struct mf_slice key, uint64_t hash, uint32_t *id)
{
    int rc = keys_get_hashed(ix->keys, key, hash, id);

    if (rc != 0)
        return rc;
    struct keys_value v = keys_value(ix->keys, *id);
    v.count++;
    keys_set(ix->keys, *id, v);
    return 0;
}

void key_drop(struct index *ix, uint32_t key)
{
    struct keys_value v = keys_value(ix->keys, key);

    if (--v.count == 0)
        keys_del(ix->keys, key);
    else
        keys_set(ix->keys, key, v);
}

void ring_link(struct index *ix, uint32_t id)
{
    struct entry *e = index_entry(ix, id);
    struct keys_value v = keys_value(ix->keys, e->key);

    if (v.last == KEYS_NONE) {
        e->newer = e->older = id;
    } else {
        struct entry *last = index_entry(ix, v.last);
        e->older = v.last;
        e->newer = last->newer;
        index_entry(ix, e->newer)->older = id;
        last->newer = id;
    }
    v.last = id;
    keys_set(ix->keys, e->key, v);
}

void ring_unlink(struct index *ix, uint32_t id)
{
    const struct entry *e = index_entry(ix, id);
    struct keys_value v = keys_value(ix->keys, e->key);

    if (--v.count == 0) {
        keys_del(ix->keys, e->key);
        return;
    }
    index_entry(ix, e->newer)->older = e->older;
    index_entry(ix, e->older)->newer = e->newer;
    if (v.last == id)
        v.last = e->older;
    keys_set(ix->keys, e->key, v);
}

void ring_moved(struct index *ix, uint32_t from, uint32_t to)
{
    struct entry *e = index_entry(ix, to);
    struct keys_value v = keys_value(ix->keys, e->key);

    if (e->newer == from) {
        e->newer = e->older = to; /* alone */
    } else {
        index_entry(ix, e->newer)->older = to;
        index_entry(ix, e->older)->newer = to;
    }
    if (v.last == from) {
        v.last = to;
        keys_set(ix->keys, e->key, v);
    }
}
