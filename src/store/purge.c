/* purge.c: removal of all messages, however many, without stopping the loop.
 *
 * Happy path: purge_begin() puts the whole index aside and gives writers an empty one.  Readers
 * keep seeing the old one (view_index()) until the record of the removal is committed.  Then
 * purge_apply() subtracts its sums and a worker frees it.  Until then only two things change in
 * it: messages that readers must not see any more are hidden (purge_hide()), and copied messages
 * get their new places.  A roll-up removes everything but the messages of its own batch: these
 * are moved to the new index.
 * Failure: the store is read-only then, and readers keep seeing all committed messages.
 * Close: waits for the worker. */
#include "store/store_impl.h"

#include <stdlib.h>

#define LEAST 16u /* fewer are removed one by one */
#define STEPS 100000
#define LATER 2000u /* messages of a batch that change over, at most */
#define SMALL 4096u /* an index with no more is freed at once */

/* Messages of the open batch: they are the newest, and their places are still to be set. */
static size_t count_batched(const struct store *s)
{
    return s->batch.open ? s->batch.msg_count : 0;
}

/* True if all messages after `last` are of the open batch. */
static bool others_end_at(const struct store *s, uint64_t last)
{
    size_t n = count_batched(s);

    if (n == 0)
        return last >= s->log.last_seq;
    return n <= LATER && s->batch.msgs[0].seq == last + 1 && s->log.last_seq - last == n;
}

/* Do only the open batch's messages stay?  The messages before `first` may be in removal already;
 * only a few of them are looked at. */
static bool covers_everything(const struct store *s, uint64_t first, uint64_t last)
{
    uint32_t id = index_next(s->ix, 0);

    if (!others_end_at(s, last))
        return false;
    for (int i = 0; i < STEPS && id != INDEX_NONE; i++) {
        uint64_t seq = index_seq(s->ix, id);
        if (seq >= first)
            return true;
        if (view_accepted(s, id))
            return false;
        id = index_next(s->ix, seq + 1);
    }
    return false;
}

/* The open batch's messages, in the new index as in the old one. */
static int copy_later(const struct store *s, struct index *fresh)
{
    uint8_t text[KEYS_MAX];
    uint32_t copy;
    int rc = 0;

    for (size_t i = 0; i < count_batched(s) && rc == 0; i++) {
        uint64_t seq = s->batch.msgs[i].seq;
        uint32_t id = index_find(s->ix, seq);
        if (id == INDEX_NONE || index_removing(s->ix, id))
            return MF_NOTFOUND;
        struct mf_slice key = keys_text(index_keys(s->ix), index_key(s->ix, id), text);
        rc = index_add(fresh, seq, key, index_place(s->ix, id), index_deadline(s->ix, id), &copy);
        if (rc == 0)
            index_set_bits(fresh, copy, index_bits(s->ix, id));
    }
    return rc;
}

struct index *purge_prepare(struct store *s, uint64_t first, uint64_t last)
{
    if (s->purge.ix != NULL || index_count(s->ix) < LEAST || !covers_everything(s, first, last))
        return NULL;
    struct index *fresh = index_new(s->o.separator, s->now_ns);
    if (fresh != NULL && copy_later(s, fresh) != 0) {
        index_free(fresh);
        return NULL;
    }
    return fresh;
}

/* Removes the batch's messages from the old index and from *all.  Newest first: each removal
 * undoes its own insertion. */
static void drop_later(struct store *s, struct totals *all)
{
    for (size_t i = count_batched(s); i-- > 0;) {
        uint32_t id = index_find(s->ix, s->batch.msgs[i].seq);
        totals_sub(all, view_entry_totals(s, id));
        s->commit.filling.new_keys -= view_key_is_new(s, id);
        index_remove(s->ix, id);
    }
}

void purge_begin(struct store *s, struct index *fresh, uint64_t last)
{
    struct totals all = s->view.all;

    late_forget(s);
    totals_add(&all, s->commit.image.added);
    totals_add(&all, s->commit.filling.added);
    drop_later(s, &all);
    s->purge.ix = s->ix;
    s->purge.upto = last < s->log.last_seq ? last : s->log.last_seq;
    s->purge.all = all;
    s->purge.hidden = s->view.hidden;
    s->purge.new_keys = s->commit.filling.new_keys;
    s->commit.filling.new_keys = 0;
    s->ix = fresh;
    s->view.removing = all;
    s->view.hidden = (struct totals){0};
    removing_reset(s);
    for (size_t i = 0; i < count_batched(s); i++)
        view_key_shown(s, index_find(fresh, s->batch.msgs[i].seq));
    s->view.hidden_ranges.count = s->view.hidden_ranges.done = 0; /* purged with all the others */
    s->commit.filling.purge = true;
    for (size_t i = 0; i < s->segs.count; i++) {
        struct segment *seg = s->segs.at[s->segs.head + i];
        seg->purged_count = seg->live_count;
        seg->purged_bytes = seg->live_bytes;
    }
}

void purge_hide(struct store *s, struct range r)
{
    struct index *ix = s->purge.ix;

    for (uint32_t id = index_next(ix, r.first); id != INDEX_NONE; id = index_next(ix, r.first)) {
        uint64_t seq = index_seq(ix, id);
        if (seq > r.last || seq > s->log.committed_seq || seq == UINT64_MAX)
            return;
        r.first = seq + 1;
        if (!index_removing(ix, id) || index_hidden(ix, id))
            continue;
        totals_add(&s->purge.hidden, view_entry_totals_in(s, ix, id));
        superseded_lose(s, ix, id);
        index_hide(ix, id);
        if (s->tally.count > 0)
            tally_gone(s, ix, id);
        if (s->hooks.gone != NULL)
            watch_notify(s, ix, id);
    }
}

static void free_work(void *arg) /* on a worker */
{
    struct purge *p = arg;

    index_free(p->dead);
}

static void free_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, purge);

    s->purge.dead = NULL;
    s->purge.freeing = false;
    store_progress(s);
}

void purge_apply(struct store *s)
{
    struct index *old = s->purge.ix;

    late_forget(s);
    totals_sub(&s->view.all, s->purge.all);
    totals_sub(&s->view.removing, s->purge.all);
    for (size_t i = 0; i < s->segs.count; i++) {
        struct segment *seg = s->segs.at[s->segs.head + i];
        seg->live_count -= seg->purged_count;
        seg->live_bytes -= seg->purged_bytes;
        seg->purged_count = seg->purged_bytes = 0;
    }
    lengths_purge(s, s->purge.upto);
    s->purge.ix = NULL;
    tally_drop_all(s);
    s->superseded = (struct superseded){0, 0, 0};
    if (s->hooks.gone != NULL)
        s->hooks.gone(s->hooks.gone_arg, index_seq(old, index_next(old, 0)), s->purge.upto,
                      MF_SLICE_NONE);
    keys_walks_stop(index_keys(old));
    index_scans_stop(old);
    if (index_count(old) <= SMALL || s->purge.freeing) {
        index_free(old);
        return;
    }
    s->purge.dead = old;
    s->purge.freeing = true;
    loop_job_submit(s->purge.job);
}

int purge_init(struct store *s)
{
    s->purge.job = loop_job_new(s->loop, LOOP_UPKEEP, free_work, free_done, &s->purge);
    return s->purge.job == NULL ? MF_NOMEM : 0;
}

void purge_fini(struct store *s)
{
    if (s->loop != NULL)
        loop_job_free(s->purge.job);
    index_free(s->purge.ix);
}
