/* view.c: the view of readers (committed, before the deadline by store_now()) and the view of
 * writers (accepted). */
#include "store/store_impl.h"

#include "store/text_room_impl.h"

/* An accepted removal leaves a message visible until the commit: the value that replaces it is
 * not visible before that either.  An expired message is hidden at once. */
bool view_visible(const struct store *s, uint32_t id)
{
    const struct index *ix = view_index(s);

    if (index_seq(ix, id) > s->log.committed_seq || index_hidden(ix, id))
        return false;
    return !view_overdue(s, ix, id);
}

bool view_present(const struct store *s, uint32_t id)
{
    return index_seq(view_index(s), id) <= s->log.committed_seq && !index_hidden(view_index(s), id);
}

bool view_overdue(const struct store *s, const struct index *ix, uint32_t id)
{
    int64_t deadline_ns = index_deadline(ix, id);

    return deadline_ns != 0 && deadline_ns <= s->now_ns;
}

bool view_accepted(const struct store *s, uint32_t id)
{
    return !index_removing(s->ix, id);
}

/* True if any message is overdue.  Usually none is, and then counts need no walk. */
static bool any_overdue(const struct store *s)
{
    uint64_t hidden = s->purge.ix != NULL ? s->purge.hidden.msgs : s->view.hidden.msgs;

    return hidden > 0 || index_next_deadline(view_index(s)) <= s->now_ns;
}

uint64_t store_committed(const struct store *s)
{
    return s->log.committed_seq;
}

static uint64_t next_visible(struct store *s, uint64_t from_seq)
{
    for (uint32_t id = index_next(view_index(s), from_seq); id != INDEX_NONE;) {
        uint64_t seq = index_seq(view_index(s), id);
        if (seq > s->log.committed_seq)
            return 0;
        if (view_visible(s, id))
            return seq;
        s->view.late.steps++;
        id = index_next(view_index(s), seq + 1);
    }
    return 0;
}

/* Time advances and new messages are appended: a message before the first visible one never
 * becomes visible, and is visited once. */
uint64_t store_next(struct store *s, uint64_t from_seq)
{
    if (from_seq > s->view.front_seq)
        return next_visible(s, from_seq);
    uint64_t seq = next_visible(s, s->view.front_seq);
    s->view.front_seq = seq != 0 ? seq : s->log.committed_seq + 1;
    return seq;
}

uint64_t store_prev(const struct store *s, uint64_t from_seq)
{
    if (from_seq > s->log.committed_seq)
        from_seq = s->log.committed_seq;
    for (uint32_t id = index_prev(view_index(s), from_seq); id != INDEX_NONE;) {
        uint64_t seq = index_seq(view_index(s), id);
        if (view_visible(s, id))
            return seq;
        id = seq == 0 ? INDEX_NONE : index_prev(view_index(s), seq - 1);
    }
    return 0;
}

/* --- one key -------------------------------------------------------------------------------- */

bool view_key(const struct store *s, uint32_t key, struct store_key *out)
{
    uint32_t last = index_key_last(view_index(s), key), first = index_key_first(view_index(s), key);
    uint64_t count = index_key_count(view_index(s), key);

    *out = (struct store_key){0};
    while (last != INDEX_NONE && !view_visible(s, last)) {
        count--;
        last = index_older(view_index(s), last);
    }
    if (last == INDEX_NONE)
        return false;
    while (!view_visible(s, first)) {
        count--;
        first = index_newer(view_index(s), first);
    }
    out->first_seq = index_seq(view_index(s), first);
    out->last_seq = index_seq(view_index(s), last);
    if (any_overdue(s)) /* some in between may be, too */
        for (uint32_t id = first; id != last; id = index_newer(view_index(s), id))
            count -= !view_visible(s, id);
    out->count = count;
    return true;
}

bool store_key(const struct store *s, struct mf_slice key, struct store_key *out)
{
    uint32_t k = keys_find(index_keys(view_index(s)), key);

    *out = (struct store_key){0};
    return k != KEYS_NONE && view_key(s, k, out);
}

uint64_t store_key_last_accepted(const struct store *s, struct mf_slice key, uint64_t *count)
{
    uint32_t k = keys_find(index_keys(s->ix), key);

    *count = 0;
    if (k == KEYS_NONE)
        return 0;
    *count = index_key_count(s->ix, k) - removing_of_key(s, k);
    for (uint32_t id = index_key_last(s->ix, k); id != INDEX_NONE; id = index_older(s->ix, id))
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

/* Messages in removal are usually the oldest: with many of them, counting from the newest is
 * shorter. */
uint64_t store_key_first_accepted(const struct store *s, struct mf_slice key)
{
    uint32_t k = keys_find(index_keys(s->ix), key);
    uint64_t seq = 0;

    if (k == KEYS_NONE)
        return 0;
    uint64_t removing = removing_of_key(s, k), left = index_key_count(s->ix, k) - removing;
    if (removing > left) {
        for (uint32_t id = index_key_last(s->ix, k); left > 0; id = index_older(s->ix, id))
            if (view_accepted(s, id)) {
                seq = index_seq(s->ix, id);
                left--;
            }
        return seq;
    }
    for (uint32_t id = index_key_first(s->ix, k); id != INDEX_NONE; id = index_newer(s->ix, id))
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

uint64_t store_key_next_accepted(const struct store *s, struct mf_slice key, uint64_t after)
{
    uint32_t k = keys_find(index_keys(s->ix), key), id = index_find(s->ix, after);

    if (k == KEYS_NONE || id == INDEX_NONE || index_key(s->ix, id) != k)
        return store_key_first_accepted(s, key);
    while ((id = index_newer(s->ix, id)) != INDEX_NONE)
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

/* --- all ------------------------------------------------------------------------------------ */

uint64_t store_first_accepted(const struct store *s)
{
    return store_next_accepted(s, 0);
}

uint64_t store_next_accepted(const struct store *s, uint64_t from_seq)
{
    for (uint32_t id = index_next(s->ix, from_seq); id != INDEX_NONE;
         id = index_next(s->ix, index_seq(s->ix, id) + 1))
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

void store_accepted(const struct store *s, uint64_t *msgs, uint64_t *bytes, uint64_t *last_seq)
{
    *msgs = s->view.all.msgs + s->commit.image.added.msgs + s->commit.filling.added.msgs -
            s->view.removing.msgs;
    *bytes = s->view.all.bytes + s->commit.image.added.bytes + s->commit.filling.added.bytes -
             s->view.removing.bytes;
    *last_seq = s->log.last_seq;
}

uint64_t store_removing(const struct store *s)
{
    uint64_t others = s->view.hidden.msgs + (s->purge.ix != NULL ? s->purge.all.msgs : 0);

    return s->view.removing.msgs > others ? s->view.removing.msgs - others : 0;
}

uint64_t store_accepted_flagged(const struct store *s, unsigned flag)
{
    return s->view.all.flagged[flag] + s->commit.image.added.flagged[flag] +
           s->commit.filling.added.flagged[flag] - s->view.removing.flagged[flag];
}

void store_lives(const struct store *s, struct store_lives *out)
{
    const struct totals *a = &s->view.all, *i = &s->commit.image.added,
                        *f = &s->commit.filling.added, *d = &s->view.removing;

    *out = (struct store_lives){.deadlines = a->timed + i->timed + f->timed - d->timed,
                                .infinite = a->infinite + i->infinite + f->infinite - d->infinite,
                                .pinned = a->pinned + i->pinned + f->pinned - d->pinned};
}

uint64_t store_pattern_last_accepted(struct store *s, struct mf_slice pattern)
{
    return count_newest(s, s->ix, pattern, view_accepted);
}

uint64_t store_pattern_last(struct store *s, struct mf_slice pattern)
{
    return count_newest(s, view_index(s), pattern, view_visible);
}

void store_accepted_keys(struct store *s, struct mf_slice pattern,
                         void (*visit)(void *arg, struct mf_slice key), void *arg)
{
    struct keys *keys = index_keys(s->ix);
    struct keys_walk *w = keys_walk_new(keys, pattern);
    uint8_t *text = text_room(TEXT_ACCEPTED); /* visit() does not call this function */
    bool walked = w != NULL;
    uint32_t key;

    while (w != NULL && (key = keys_walk_next(w)) != KEYS_NONE)
        if (index_key_count(s->ix, key) > removing_of_key(s, key))
            visit(arg, keys_text(keys, key, text));
    for (uint64_t seq = walked ? 0 : store_first_accepted(s); seq != 0;
         seq = store_next_accepted(s, seq + 1)) {
        key = index_key(s->ix, index_find(s->ix, seq));
        if (keys_matches(keys, key, pattern))
            visit(arg, keys_text(keys, key, text));
    }
}

bool store_flags(const struct store *s, uint64_t seq, uint16_t *flags)
{
    uint32_t id = index_find(s->ix, seq);

    if (id == INDEX_NONE || !view_accepted(s, id))
        return false;
    *flags = place_flags(index_place(s->ix, id)) | index_bits(s->ix, id);
    return true;
}

bool store_life(const struct store *s, uint64_t seq, int64_t *deadline_ns, uint16_t *flags)
{
    if (!store_flags(s, seq, flags))
        return false;
    *deadline_ns = index_deadline(s->ix, index_find(s->ix, seq));
    return true;
}

uint64_t store_older(const struct store *s, uint64_t seq)
{
    uint32_t id = index_find(s->ix, seq);

    while (id != INDEX_NONE && (id = index_older(s->ix, id)) != INDEX_NONE)
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

uint64_t store_newer(const struct store *s, uint64_t seq)
{
    uint32_t id = index_find(s->ix, seq);

    while (id != INDEX_NONE && (id = index_newer(s->ix, id)) != INDEX_NONE)
        if (view_accepted(s, id))
            return index_seq(s->ix, id);
    return 0;
}

uint64_t store_length(const struct store *s, uint64_t seq, uint16_t *flags)
{
    return store_flags(s, seq, flags) ? view_entry_bytes_in(s, s->ix, index_find(s->ix, seq)) : 0;
}

uint64_t store_key_overdue(const struct store *s, struct mf_slice key, uint64_t after)
{
    if (index_next_deadline(s->ix) > s->now_ns)
        return 0;
    uint32_t k = keys_find(index_keys(s->ix), key);
    if (k == KEYS_NONE)
        return 0;
    for (uint32_t id = index_key_first(s->ix, k); id != INDEX_NONE; id = index_newer(s->ix, id))
        if (index_seq(s->ix, id) > after && view_accepted(s, id) && view_overdue(s, s->ix, id))
            return index_seq(s->ix, id);
    return 0;
}

bool store_deadline(const struct store *s, uint64_t seq, int64_t *deadline_ns)
{
    uint32_t id = index_find(view_index(s), seq);

    if (id == INDEX_NONE || !view_visible(s, id))
        return false;
    *deadline_ns = index_deadline(view_index(s), id);
    return true;
}

bool store_facts(const struct store *s, uint64_t seq, struct store_facts *out)
{
    const struct index *ix = view_index(s);
    uint32_t id = index_find(ix, seq), newer;

    if (id == INDEX_NONE)
        return false;
    newer = index_newer(ix, id);
    *out = (struct store_facts){.shown = view_visible(s, id),
                                .late = view_present(s, id) && view_overdue(s, ix, id),
                                .deadline_ns = index_deadline(ix, id),
                                .flags = place_flags(index_place(ix, id)) | index_bits(ix, id),
                                .bytes = view_entry_bytes_in(s, ix, id),
                                .newer = newer == INDEX_NONE ? 0 : index_seq(ix, newer)};
    return true;
}

/* Number of keys of the readers' index whose messages are all not committed yet. */
static uint64_t new_keys(const struct store *s)
{
    if (s->purge.ix == NULL)
        return s->commit.image.new_keys + s->commit.filling.new_keys;
    return s->purge.new_keys + (s->commit.image.purge ? 0 : s->commit.image.new_keys);
}

void store_state(struct store *s, struct store_state *out)
{
    const struct index *ix = view_index(s);
    struct totals late, unseen;
    uint64_t dark_keys;

    late_sum(s, &late, &dark_keys);
    unseen = late;
    totals_add(&unseen, ix != s->ix ? s->purge.hidden : s->view.hidden);
    *out = (struct store_state){.first_seq = store_next(s, 0),
                                .last_seq = s->log.committed_seq,
                                .msgs = s->view.all.msgs - unseen.msgs,
                                .bytes = s->view.all.bytes - unseen.bytes,
                                .keys = keys_count(index_keys(ix)) - index_hidden_keys(ix) -
                                        dark_keys - new_keys(s),
                                .deadlines = s->view.all.timed - unseen.timed,
                                .infinite = s->view.all.infinite - unseen.infinite,
                                .pinned = s->view.all.pinned - unseen.pinned,
                                .overdue = late.timed,
                                .flagged = {s->view.all.flagged[0] - unseen.flagged[0],
                                            s->view.all.flagged[1] - unseen.flagged[1]},
                                .segments = s->segs.count,
                                .disk_bytes = store_disk_bytes(s)};
    if (out->first_seq == 0)
        out->first_seq = s->log.committed_seq + 1;
}

uint64_t store_last_seq(const struct store *s)
{
    return s->log.committed_seq;
}

uint64_t store_disk_bytes(const struct store *s)
{
    uint64_t n = s->spare.size + s->segs.ahead.size;

    for (size_t i = 0; i < s->segs.count; i++)
        n += s->segs.at[s->segs.head + i]->size;
    return n;
}

struct each {
    const struct index *ix;
    void (*visit)(void *arg, uint64_t seq, int64_t deadline_ns);
    void *arg;
};

static void each_deadline(void *arg, uint32_t id, int64_t deadline_ns)
{
    const struct each *e = arg;

    e->visit(e->arg, index_seq(e->ix, id), deadline_ns);
}

void store_each_deadline(const struct store *s, int64_t to_ns,
                         void (*visit)(void *arg, uint64_t seq, int64_t deadline_ns), void *arg)
{
    struct each e = {view_index(s), visit, arg};

    index_each_deadline(e.ix, to_ns, each_deadline, &e);
}
