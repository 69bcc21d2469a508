/* watch.c: notifying the owner of messages that no reader can see any more. */
#include "store/store_impl.h"

#include "base/lend.h"
#include "store/text_room_impl.h"

void store_watch(struct store *s,
                 void (*gone)(void *arg, uint64_t first, uint64_t last, struct mf_slice key),
                 void *arg)
{
    s->hooks.gone = gone;
    s->hooks.gone_arg = arg;
}

bool store_present(const struct store *s, uint64_t seq)
{
    uint32_t id = index_find(view_index(s), seq);

    return id != INDEX_NONE && view_present(s, id);
}

bool store_newest_upto(const struct store *s, uint64_t seq, uint64_t last, uint64_t *older)
{
    const struct index *ix = view_index(s);
    uint32_t id = index_find(ix, seq), at = id;

    *older = 0;
    if (id == INDEX_NONE || seq > last)
        return false;
    while ((at = index_newer(ix, at)) != INDEX_NONE && index_seq(ix, at) <= last)
        if (view_present(s, at))
            return false;
    for (at = index_older(ix, id); at != INDEX_NONE && *older == 0; at = index_older(ix, at))
        if (view_present(s, at))
            *older = index_seq(ix, at);
    return true;
}

struct mf_slice store_key_at(const struct store *s, uint64_t seq)
{
    uint8_t *text = text_room(TEXT_AT);
    uint32_t id = index_find(view_index(s), seq);

    if (id == INDEX_NONE || !view_present(s, id))
        return MF_SLICE_NONE;
    lend_unmark(text, KEYS_MAX);
    struct mf_slice key = keys_text(index_keys(view_index(s)), index_key(view_index(s), id), text);
    lend_mark(key.ptr, key.len);
    return key;
}

void watch_notify(struct store *s, const struct index *ix, uint32_t id)
{
    uint8_t *text = text_room(TEXT_GONE);
    uint64_t seq = index_seq(ix, id);

    lend_unmark(text, KEYS_MAX);
    struct mf_slice key = keys_text(index_keys(ix), index_key(ix, id), text);
    lend_mark(key.ptr, key.len);
    s->hooks.gone(s->hooks.gone_arg, seq, seq, key);
}
