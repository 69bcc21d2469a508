/* announce.c: telling others what came to disk: observers, and who gets the republished copies.
 *
 * Everything above `announced` that is on disk is told at the end of the turn, in slices where it
 * is much; for observers nothing is kept per message, but for roll-ups. */
#include "stream/lifetime_impl.h"

#define SLICE   4096
#define ROLLUPS 64 /* in one go: each is looked at by all consumers */

static bool anybody(const struct stream *s)
{
    return s->republish != NULL || s->copies.len > 0 || !mf_list_empty(&s->observers);
}

/* --- observers ----------------------------------------------------------------------------- */

static void tell(struct stream *s, const struct stream_msg *m)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        o->stored(o, m);
    }
}

/* At most SLICE messages; timed: until the time of this slice is over.  false: there is more. */
static bool tell_news(struct stream *s, bool timed)
{
    uint64_t seq;
    size_t n = 0;

    while (!mf_list_empty(&s->observers) && (seq = stream_next(s, s->announced + 1)) != 0) {
        struct stream_msg m;
        s->announced = seq;
        /* It was written a moment ago: it is in memory, unless memory is very short. */
        if (stream_get_now(s, seq, &m) == 0) {
            tell(s, &m);
            stream_msg_end(&m);
        }
        if (++n == SLICE || (timed && work_spent_every(s->host->loop, 4)))
            return false;
    }
    return true;
}

/* --- purges and roll-ups -------------------------------------------------------------------- */

void announce_swept(struct stream *s, struct mf_slice filter)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        if (o->swept != NULL)
            o->swept(o, filter);
    }
}

struct rolled {
    uint64_t seq;
    size_t len;
};

void announce_note_rollup(struct stream *s, uint64_t seq, struct mf_slice subject)
{
    struct rolled r = {seq, subject.len};

    if (mf_list_empty(&s->observers))
        return;
    if (s->rolled_at > s->rolled.len / 2) { /* those were told */
        s->rolled.len -= s->rolled_at;
        memmove(s->rolled.ptr, s->rolled.ptr + s->rolled_at, s->rolled.len);
        s->rolled_at = 0;
    }
    mf_buf_append(&s->rolled, &r, sizeof r);
    mf_buf_append(&s->rolled, subject.ptr, subject.len);
    if (mf_buf_failed(&s->rolled)) { /* consumers then learn of each message alone */
        mf_buf_fini(&s->rolled);
        s->rolled = (struct mf_buf)MF_BUF_INIT;
        s->rolled_at = 0;
    }
}

/* At most ROLLUPS of those that are on disk, until the time is over.  true: there are more. */
static bool tell_rollups(struct stream *s)
{
    size_t n = 0;
    struct rolled r;

    while (s->rolled_at < s->rolled.len) {
        memcpy(&r, s->rolled.ptr + s->rolled_at, sizeof r);
        if (r.seq > s->rolled_upto)
            return false;
        if (n > 0 && (n == ROLLUPS || work_spent(s->host->loop)))
            return true;
        announce_swept(s, mf_slice(s->rolled.ptr + s->rolled_at + sizeof r, r.len));
        s->rolled_at += sizeof r + r.len;
        n++;
    }
    mf_buf_clear(&s->rolled);
    s->rolled_at = 0;
    return false;
}

void announce_rollups(struct stream *s, uint64_t upto)
{
    s->rolled_upto = upto;
    if (!s->announce_defer.queued && !work_queued(&s->announcing)) /* the first one of this turn */
        (void)tell_rollups(s);
}

/* --- in slices ------------------------------------------------------------------------------ */

/* true: there is more to do. */
static bool announce_slice(struct stream *s)
{
    if (s->closing)
        return false;
    if (tell_rollups(s)) /* before the news that came with them */
        return true;
    return (s->copies.len > 0 && republish_send(s, SLICE)) || !tell_news(s, true);
}

static bool announce_run(struct work_task *t)
{
    return announce_slice(mf_container(t, struct stream, announcing));
}

static void announce(struct loop_defer *d)
{
    struct stream *s = mf_container(d, struct stream, announce_defer);

    if (announce_slice(s))
        work_add(s->host->loop, s->owner, &s->announcing);
}

void announce_soon(struct stream *s)
{
    if (!anybody(s) || s->closing || work_queued(&s->announcing))
        return;
    s->announcing.run = announce_run;
    s->announcing.cause = s->announce_defer.cause = WORK_STORED;
    s->announce_defer.fn = announce;
    loop_defer(s->host->loop, &s->announce_defer);
}

void stream_announce(struct stream *s)
{
    if ((!s->announce_defer.queued && !work_queued(&s->announcing)) || s->closing)
        return;
    (void)tell_rollups(s);
    (void)tell_news(s, false);
}

static void poked(struct store_wait *w, int status)
{
    struct stream *s = mf_container(w, struct stream, poke);

    bool again = s->poke_again;

    s->poked = s->poke_again = false;
    s->inflight--;
    if (status != 0)
        return;
    announce_soon(s);
    if (again)
        announce_poke(s);
}

void announce_poke(struct stream *s)
{
    if (s->closing)
        return;
    if (s->poked) { /* that barrier may stand before what is written now */
        s->poke_again = true;
        return;
    }
    s->poke.done = poked;
    if (store_barrier(s->store, &s->poke) != 0)
        return;
    s->poked = true;
    s->inflight++;
}

void announce_from_here(struct stream *s)
{
    uint64_t last = store_last_seq(s->store);

    if (last > s->announced)
        s->announced = last;
}

/* The store's word for a message that nobody can see any more. */
static void gone(void *arg, uint64_t first, uint64_t last, struct mf_slice key)
{
    struct stream *s = arg;
    struct mf_list *pos, *next;

    if (s->linked != NULL)
        linked_gone(s, first == last ? key : MF_SLICE_NONE);
    mf_list_each_safe(pos, next, &s->observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        if (first != last || key.len == 0)
            o->purged(o, first, last);
        else
            o->gone(o, first, key);
    }
}

void announce_watch(struct stream *s)
{
    store_watch(s->store, gone, s);
}

void stream_observe(struct stream *s, struct stream_observer *o)
{
    if (mf_list_empty(&s->observers))
        announce_from_here(s); /* what came before is not news */
    mf_list_push(&s->observers, &o->node);
    store_watch(s->store, gone, s);
}

void stream_unobserve(struct stream_observer *o)
{
    mf_list_del(&o->node);
}

void stream_set_interest(struct stream *s, bool (*wanted)(void *arg, struct mf_slice subject),
                         void *arg)
{
    s->wanted = wanted;
    s->wanted_arg = arg;
}
