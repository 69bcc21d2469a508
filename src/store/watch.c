/* watch.c: telling the owner which messages went, and counting those that did not. */
#include "store_impl.h"

#include "mayfly/lend.h"

void store_watch(struct store *s,
                 void (*gone)(void *arg, uint64_t first, uint64_t last, struct mf_slice key),
                 void *arg)
{
    s->gone = gone;
    s->gone_arg = arg;
}

bool store_present(const struct store *s, uint64_t seq)
{
    uint32_t id = index_find(seen(s), seq);

    return id != INDEX_NONE && present(s, id);
}

struct mf_slice store_key_at(const struct store *s, uint64_t seq)
{
    static _Thread_local uint8_t text[KEYS_MAX];
    uint32_t id = index_find(seen(s), seq);

    if (id == INDEX_NONE || !present(s, id))
        return MF_SLICE_NONE;
    lend_unmark(text, sizeof text);
    struct mf_slice key = keys_text(index_keys(seen(s)), index_key(seen(s), id), text);
    lend_mark(key.ptr, key.len);
    return key;
}

void watch_tell(struct store *s, const struct index *ix, uint32_t id)
{
    static _Thread_local uint8_t text[KEYS_MAX];
    uint64_t seq = index_seq(ix, id);

    lend_unmark(text, sizeof text);
    struct mf_slice key = keys_text(index_keys(ix), index_key(ix, id), text);
    lend_mark(key.ptr, key.len);
    s->gone(s->gone_arg, seq, seq, key);
}

/* --- counts ----------------------------------------------------------------------------------- */

static uint64_t hidden_seen(const struct store *s)
{
    return s->purge.ix != NULL ? s->purge.hidden.msgs : s->hidden.msgs;
}

static uint64_t count_range(const struct store *s, uint64_t first, uint64_t last)
{
    uint64_t n = 0;

    for (uint32_t id = index_next(seen(s), first); id != INDEX_NONE;) {
        uint64_t seq = index_seq(seen(s), id);
        if (seq > last)
            break;
        n += present(s, id);
        id = index_next(seen(s), seq + 1);
    }
    return n;
}

/* The shorter side is walked. */
static uint64_t count_all(const struct store *s, uint64_t from)
{
    uint64_t all = s->all.msgs - hidden_seen(s);
    uint32_t id = index_next(seen(s), 0);
    uint64_t first = id == INDEX_NONE ? s->committed_seq + 1 : index_seq(seen(s), id);

    if (from <= first)
        return all;
    if (from > s->committed_seq)
        return 0;
    if (from - first < s->committed_seq - from)
        return all - count_range(s, first, from - 1);
    return count_range(s, from, s->committed_seq);
}

static uint64_t count_key(const struct store *s, uint32_t key, uint64_t from)
{
    bool plain = hidden_seen(s) == 0 && s->last_seq == s->committed_seq;
    uint32_t id = index_key_last(seen(s), key);
    uint64_t n = 0;

    if (id == INDEX_NONE || index_seq(seen(s), id) < from)
        return 0;
    if (plain && index_seq(seen(s), index_key_first(seen(s), key)) >= from)
        return index_key_count(seen(s), key);
    for (; id != INDEX_NONE && index_seq(seen(s), id) >= from; id = index_older(seen(s), id))
        n += present(s, id);
    return n;
}

uint64_t store_count(struct store *s, struct mf_slice pattern, uint64_t from_seq)
{
    struct keys_walk *w;
    uint64_t n = 0;
    uint32_t key;

    if (mf_eq_str(pattern, ">"))
        return count_all(s, from_seq);
    w = keys_walk_new(index_keys(seen(s)), pattern);
    while (w != NULL && (key = keys_walk_next(w)) != KEYS_NONE)
        n += count_key(s, key, from_seq);
    return n;
}
