/* notify.c: notifies observers of committed messages, and sends republished copies.
 *
 * Committed messages above notify.upto are notified together at the end of the turn, in time slices
 * if there are many.  Nothing is kept per message for observers, except for roll-ups. */
#include "stream/lifetime_impl.h"

#define SLICE   4096
#define ROLLUPS 64 /* notified at once: each concerns all consumers */

static bool has_receivers(const struct stream *s)
{
    return s->republish != NULL || s->notify.copies.len > 0 || !mf_list_empty(&s->notify.observers);
}

/* --- observers ----------------------------------------------------------------------------- */

static void notify_message(struct stream *s, const struct stream_msg *m)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->notify.observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        o->stored(o, m);
    }
}

/* Notifies at most SLICE messages; timed: until the time slice is over.  false: more remain. */
static bool notify_stored(struct stream *s, bool timed)
{
    uint64_t seq;
    size_t n = 0;

    while (!mf_list_empty(&s->notify.observers) &&
           (seq = stream_next(s, s->notify.upto + 1)) != 0) {
        struct stream_msg m;
        s->notify.upto = seq;
        /* It was written a moment ago: it is in memory, unless memory is very short. */
        if (stream_get_now(s, seq, &m) == 0) {
            notify_message(s, &m);
            stream_msg_end(&m);
        }
        if (++n == SLICE || (timed && work_spent_every(s->host->loop, 4)))
            return false;
    }
    return true;
}

/* --- purges and roll-ups -------------------------------------------------------------------- */

void notify_purge(struct stream *s, struct mf_slice filter)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->notify.observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        if (o->purge_done != NULL)
            o->purge_done(o, filter);
    }
}

struct rolled {
    uint64_t seq;
    size_t len;
};

void notify_note_rollup(struct stream *s, uint64_t seq, struct mf_slice subject)
{
    struct mf_buf *b = &s->notify.rollups;
    struct rolled r = {seq, subject.len};

    if (mf_list_empty(&s->notify.observers))
        return;
    if (s->notify.rollups_at > b->len / 2) { /* observers were notified of those */
        b->len -= s->notify.rollups_at;
        memmove(b->ptr, b->ptr + s->notify.rollups_at, b->len);
        s->notify.rollups_at = 0;
    }
    mf_buf_append(b, &r, sizeof r);
    mf_buf_append(b, subject.ptr, subject.len);
    if (mf_buf_failed(b)) { /* consumers then learn of each message alone */
        mf_buf_fini(b);
        *b = (struct mf_buf)MF_BUF_INIT;
        s->notify.rollups_at = 0;
    }
}

/* Notifies at most ROLLUPS committed roll-ups, until the time slice is over.  true: more remain. */
static bool notify_some_rollups(struct stream *s)
{
    struct mf_buf *b = &s->notify.rollups;
    size_t n = 0;
    struct rolled r;

    while (s->notify.rollups_at < b->len) {
        memcpy(&r, b->ptr + s->notify.rollups_at, sizeof r);
        if (r.seq > s->notify.rollups_upto)
            return false;
        if (n > 0 && (n == ROLLUPS || work_spent(s->host->loop)))
            return true;
        notify_purge(s, mf_slice(b->ptr + s->notify.rollups_at + sizeof r, r.len));
        s->notify.rollups_at += sizeof r + r.len;
        n++;
    }
    mf_buf_clear(b);
    s->notify.rollups_at = 0;
    return false;
}

void notify_rollups(struct stream *s, uint64_t upto)
{
    s->notify.rollups_upto = upto;
    if (!s->notify.defer.queued && !work_queued(&s->notify.task)) /* the first one of this turn */
        (void)notify_some_rollups(s);
}

/* --- in time slices -------------------------------------------------------------------------- */

/* true: there is more to do. */
static bool notify_slice(struct stream *s)
{
    if (s->closing)
        return false;
    if (notify_some_rollups(s)) /* before the messages that were committed with them */
        return true;
    return (s->notify.copies.len > 0 && republish_send(s, SLICE)) || !notify_stored(s, true);
}

static bool run_notify(struct work_task *t)
{
    return notify_slice(mf_container(t, struct stream, notify.task));
}

static void notify_deferred(struct loop_defer *d)
{
    struct stream *s = mf_container(d, struct stream, notify.defer);

    if (notify_slice(s))
        work_add(s->host->loop, s->owner, &s->notify.task);
}

void notify_soon(struct stream *s)
{
    if (!has_receivers(s) || s->closing || work_queued(&s->notify.task))
        return;
    s->notify.task.run = run_notify;
    s->notify.task.cause = s->notify.defer.cause = WORK_STORED;
    s->notify.defer.fn = notify_deferred;
    loop_defer(s->host->loop, &s->notify.defer);
}

void stream_notify_now(struct stream *s)
{
    if ((!s->notify.defer.queued && !work_queued(&s->notify.task)) || s->closing)
        return;
    (void)notify_some_rollups(s);
    (void)notify_stored(s, false);
}

static void on_committed(struct store_wait *w, int status)
{
    struct stream *s = mf_container(w, struct stream, notify.wait);

    bool again = s->notify.again;

    s->notify.waits = s->notify.again = false;
    s->inflight--;
    if (status != 0)
        return;
    notify_soon(s);
    if (again)
        notify_after_commit(s);
}

void notify_after_commit(struct stream *s)
{
    if (s->closing)
        return;
    if (s->notify.waits) { /* that barrier may stand before what is written now */
        s->notify.again = true;
        return;
    }
    s->notify.wait.done = on_committed;
    if (store_barrier(s->store, &s->notify.wait) != 0)
        return;
    s->notify.waits = true;
    s->inflight++;
}

void notify_from_here(struct stream *s)
{
    uint64_t last = store_last_seq(s->store);

    if (last > s->notify.upto)
        s->notify.upto = last;
}

/* Called by the store for messages that no reader sees any more. */
static void notify_gone(void *arg, uint64_t first, uint64_t last, struct mf_slice key)
{
    struct stream *s = arg;
    struct mf_list *pos, *next;

    if (s->linked != NULL)
        linked_gone(s, first == last ? key : MF_SLICE_NONE);
    mf_list_each_safe(pos, next, &s->notify.observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        if (first != last || key.len == 0)
            o->purged(o, first, last);
        else
            o->gone(o, first, key);
    }
}

void notify_watch(struct stream *s)
{
    store_watch(s->store, notify_gone, s);
}

void stream_observe(struct stream *s, struct stream_observer *o)
{
    if (mf_list_empty(&s->notify.observers))
        notify_from_here(s); /* earlier messages are not news */
    mf_list_push(&s->notify.observers, &o->node);
    store_watch(s->store, notify_gone, s);
}

void stream_unobserve(struct stream_observer *o)
{
    mf_list_del(&o->node);
}

void stream_set_interest(struct stream *s, bool (*wanted)(void *arg, struct mf_slice subject),
                         void *arg)
{
    s->interest.wanted = wanted;
    s->interest.arg = arg;
}
