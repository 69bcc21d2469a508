/* index_ring.c: the entries of one key, linked in sequence order; the key knows the newest. */
#include "store/index/index_impl.h"

int index_key_hold(struct index *ix, struct mf_slice key, uint64_t hash, uint32_t *id)
{
    int rc = keys_get_hashed(ix->keys, key, hash, id);

    if (rc != 0)
        return rc;
    struct keys_value v = keys_value(ix->keys, *id);
    v.count++;
    keys_set(ix->keys, *id, v);
    return 0;
}

void index_key_drop(struct index *ix, uint32_t key)
{
    struct keys_value v = keys_value(ix->keys, key);

    if (--v.count == 0)
        keys_del(ix->keys, key);
    else
        keys_set(ix->keys, key, v);
}

/* Are this entry and all older ones of its key hidden, but for `except`?  From the newest on: it is
 * usually the one that decides. */
static bool all_hidden_but(const struct index *ix, uint32_t newest, uint32_t except)
{
    for (uint32_t id = newest; id != INDEX_NONE; id = index_older(ix, id))
        if (id != except && !index_hidden(ix, id))
            return false;
    return true;
}

bool index_all_hidden(const struct index *ix, uint32_t newest)
{
    return all_hidden_but(ix, newest, INDEX_NONE);
}

/* The sums of the prefixes: entries that are not hidden, keys that have one. */
void index_ring_link(struct index *ix, uint32_t id)
{
    struct entry *e = index_entry(ix, id);
    struct keys_value v = keys_value(ix->keys, e->key);
    bool again = ix->hidden_keys > 0 && v.last != KEYS_NONE && index_all_hidden(ix, v.last);

    ix->hidden_keys -= again;
    keys_tally(ix->keys, e->key, 1, v.last == KEYS_NONE || again);
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

void index_ring_hidden(struct index *ix, uint32_t id)
{
    uint32_t key = index_entry(ix, id)->key;
    bool last = index_all_hidden(ix, index_key_last(ix, key));

    ix->hidden++;
    ix->hidden_keys += last;
    keys_tally(ix->keys, key, -1, last ? -1 : 0);
}

/* Takes the entry off the sums; it is still in its ring. */
static void ring_uncount(struct index *ix, uint32_t id)
{
    uint32_t key = index_entry(ix, id)->key;
    bool alone = index_key_count(ix, key) == 1;

    if (index_hidden(ix, id)) {
        ix->hidden--;
        ix->hidden_keys -= alone;
        return;
    }
    bool last = alone || (ix->hidden > 0 && all_hidden_but(ix, index_key_last(ix, key), id));
    ix->hidden_keys += last && !alone;
    keys_tally(ix->keys, key, -1, last ? -1 : 0);
}

void index_ring_unlink(struct index *ix, uint32_t id)
{
    const struct entry *e = index_entry(ix, id);
    struct keys_value v = keys_value(ix->keys, e->key);

    ring_uncount(ix, id);
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

void index_ring_moved(struct index *ix, uint32_t from, uint32_t to)
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
