/* announce.c: telling others what came to disk: observers, and the republished copies.
 *
 * Everything above `announced` that is on disk is told in one go at the end of the turn; nothing is
 * kept per message. */
#include "stream_impl.h"

#include "mayfly/clock.h"

#define SLICE 4096

struct previous {
    uint64_t seq, before;
};

static bool anybody(const struct stream *s)
{
    return s->republish != NULL || !mf_list_empty(&s->observers);
}

void announce_note_previous(struct stream *s, uint64_t seq, uint64_t previous)
{
    struct previous p = {seq, previous};

    if (s->republish != NULL)
        mf_buf_append(&s->previous, &p, sizeof p);
}

/* Sequences are asked for in the order they were noted; what was passed is let go. */
static uint64_t previous_of(struct stream *s, uint64_t seq)
{
    struct previous p = {0, 0};

    while (s->previous_at < s->previous.len && p.seq < seq) {
        memcpy(&p, s->previous.ptr + s->previous_at, sizeof p);
        s->previous_at += p.seq <= seq ? sizeof p : 0;
        if (p.seq > seq)
            break;
    }
    if (2 * s->previous_at >= s->previous.len) { /* rarely, so that it costs little */
        mf_buf_consume(&s->previous, s->previous_at);
        s->previous_at = 0;
    }
    return p.seq == seq ? p.before : 0;
}

/* --- republish ----------------------------------------------------------------------------- */

static void add_number(struct mf_buf *b, const char *name, uint64_t n)
{
    uint8_t text[20];

    header_add(b, name, mf_slice(text, proto_put_u64(text, n)));
}

static void republish_write(struct stream *s, const struct stream_msg *m, uint64_t previous,
                            struct mf_buf *b)
{
    char time[CLOCK_TEXT];
    bool only = s->cfg.republish->headers_only;

    if (m->hdr.len > 2)
        mf_buf_append(b, m->hdr.ptr, m->hdr.len - 2); /* without the empty line */
    else
        header_begin(b, NULL);
    header_add(b, "Nats-Stream", mf_str(s->cfg.name));
    header_add(b, "Nats-Subject", m->subject);
    add_number(b, "Nats-Sequence", m->seq);
    header_add(b, "Nats-Time-Stamp", mf_slice(time, clock_put_rfc3339(time, m->ts_ns)));
    add_number(b, "Nats-Last-Sequence", previous);
    if (only)
        add_number(b, "Nats-Msg-Size", m->payload.len);
    header_end(b);
}

static void republish(struct stream *s, const struct stream_msg *m)
{
    char subject[4096];
    ssize_t n = transform_apply(s->republish, m->subject, subject, sizeof subject);
    struct mf_buf hdr = MF_BUF_INIT;
    uint64_t previous = previous_of(s, m->seq); /* also of what is not for others: it goes */

    if (n <= 0)
        return;
    republish_write(s, m, previous, &hdr);
    struct mf_msg out = {.subject = mf_slice(subject, (size_t)n),
                         .hdr = mf_buf_slice(&hdr),
                         .payload = s->cfg.republish->headers_only ? MF_SLICE_NONE : m->payload};
    if (!mf_buf_failed(&hdr))
        s->host->publish(s->host->arg, &out);
    mf_buf_fini(&hdr);
}

/* --- observers ----------------------------------------------------------------------------- */

static void tell(struct stream *s, const struct stream_msg *m)
{
    struct mf_list *pos, *next;

    if (s->republish != NULL)
        republish(s, m);
    mf_list_each_safe(pos, next, &s->observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        o->stored(o, m);
    }
}

static void announce(struct loop_defer *d)
{
    struct stream *s = mf_container(d, struct stream, announce_defer);
    uint64_t seq;
    size_t n = 0;

    if (s->closing)
        return;
    while (anybody(s) && (seq = stream_next(s, s->announced + 1)) != 0) {
        struct stream_msg m;
        s->announced = seq;
        /* It was written a moment ago: it is in memory, unless memory is very short. */
        if (stream_get_now(s, seq, &m) == 0)
            tell(s, &m);
        if (++n == SLICE) {
            loop_next(s->host->loop, &s->announce_defer);
            return;
        }
    }
}

void announce_soon(struct stream *s)
{
    if (!anybody(s) || s->closing)
        return;
    s->announce_defer.fn = announce;
    loop_defer(s->host->loop, &s->announce_defer);
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
    struct store_state t;

    store_state(s->store, &t);
    if (t.last_seq > s->announced)
        s->announced = t.last_seq;
}

void announce_note_request(struct stream *s, uint64_t seq)
{
    if (!mf_list_empty(&s->observers))
        mf_buf_append(&s->requested, &seq, sizeof seq);
}

/* There are as many as MSG.DELETE requests under way. */
static bool was_requested(struct stream *s, uint64_t seq)
{
    for (size_t at = 0; at < s->requested.len; at += sizeof seq) {
        if (memcmp(s->requested.ptr + at, &seq, sizeof seq) != 0)
            continue;
        s->requested.len -= sizeof seq;
        memmove(s->requested.ptr + at, s->requested.ptr + at + sizeof seq, s->requested.len - at);
        return true;
    }
    return false;
}

/* The store's word for a message that nobody can see any more. */
static void gone(void *arg, uint64_t first, uint64_t last, struct mf_slice key)
{
    struct stream *s = arg;
    struct mf_list *pos, *next;
    bool requested = was_requested(s, first);

    mf_list_each_safe(pos, next, &s->observers)
    {
        struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        if (first != last || key.len == 0)
            o->purged(o, first, last);
        else
            o->gone(o, first, key, requested);
    }
}

void stream_observe(struct stream *s, struct stream_observer *o)
{
    if (!anybody(s))
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
