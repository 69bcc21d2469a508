/* receive.c: deliveries of an upstream: messages, flow control, heartbeats.
 *
 * Happy path: the next message is published to the stream, which copies it; all messages of a turn
 * are committed together.  Flow control is answered after the commit of the messages before it: so
 * a slow disk slows the upstream, and an upstream that removes acknowledged messages removes none
 * that a crash could still lose.
 * Failure: a refused message is not skipped.  The follower unsubscribes, and creates a new consumer
 * from this message on after a delay.
 *
 * Nothing is sent from inside a delivery: sources.flush does that at the end of the turn. */
#include "source/source_impl.h"

#include "proto/header.h"
#include "proto/proto.h"

#include <stdlib.h>

#define POOL_MAX 16384

/* A message on its way to the disk. */
struct copy {
    struct stream_publish pub;
    struct follower *follower;
    struct copy *next; /* in the pool */
};

/* Of the loop thread. */
static _Thread_local struct copy *pool;
static _Thread_local size_t pooled;

static struct copy *copy_get(void)
{
    struct copy *c = pool;

    if (c == NULL)
        return malloc(sizeof *c);
    pool = c->next;
    pooled--;
    return c;
}

static void copy_put(struct copy *c)
{
    if (pooled >= POOL_MAX) {
        free(c);
        return;
    }
    c->next = pool;
    pool = c;
    pooled++;
}

void source_fini(void)
{
    while (pool != NULL) {
        struct copy *c = pool;
        pool = c->next;
        free(c);
    }
    pooled = 0;
}

/* --- at the end of the turn ------------------------------------------------------------------- */

void receive_queue(struct follower *l)
{
    struct sources *all = l->all;

    if (mf_list_empty(&l->work))
        mf_list_push(&all->work, &l->work);
    all->flush.fn = receive_flush;
    loop_defer(all->host->loop, &all->flush);
}

static void answer_flow(struct follower *l)
{
    struct mf_buf hdr = MF_BUF_INIT, to = l->flow;
    uint8_t text[20];

    l->flow = MF_BUF_INIT;
    if (l->flow_track.at > 0) {
        header_begin(&hdr, NULL);
        header_add(&hdr, "Nats-Last-Consumer",
                   mf_slice(text, proto_put_u64(text, l->flow_track.dseq)));
        header_add(&hdr, "Nats-Last-Stream", mf_slice(text, proto_put_u64(text, l->flow_track.at)));
        header_end(&hdr);
    }
    /* Without memory the upstream asks again, in its heartbeats. */
    if (!mf_buf_failed(&hdr))
        (void)follower_send(l, mf_buf_slice(&to), MF_SLICE_NONE, mf_buf_slice(&hdr), MF_SLICE_NONE);
    mf_buf_fini(&hdr);
    mf_buf_fini(&to);
}

void receive_flush(struct loop_defer *d)
{
    struct sources *all = mf_container(d, struct sources, flush);
    struct mf_list now, *n;

    mf_list_init(&now);
    mf_list_move(&now, &all->work);
    while ((n = mf_list_pop(&now)) != NULL) {
        struct follower *l = mf_container(n, struct follower, work);
        resume_write(l);
        if (l->flow.len > 0 && l->completed >= l->flow_at)
            answer_flow(l);
    }
}

/* --- one message ------------------------------------------------------------------------------ */

static void note_verdict(struct follower *l, const struct stream_ack *a)
{
    l->accepted--;
    if (a->error == NULL) /* it is here already, under its id */
        return;
    l->refused = true;
    l->error = *a->error;
}

static void on_stored(struct stream_publish *p, const struct stream_ack *a)
{
    struct copy *c = mf_container(p, struct copy, pub);
    struct follower *l = c->follower;

    copy_put(c);
    if (l->judging) {
        note_verdict(l, a);
        return;
    }
    l->completed++;
    if (l->all == NULL) {
        if (l->completed == l->accepted)
            follower_free(l);
    } else if (a->error != NULL && l->state == FOLLOWER_FOLLOWING) {
        follower_fail(l, a->error); /* the store accepts nothing any more */
    } else if (l->flow.len > 0 && l->completed >= l->flow_at) {
        receive_queue(l);
    }
}

static struct mf_slice map_subject(struct follower *l, struct mf_slice subject)
{
    for (size_t i = 0; i < l->nmaps; i++) {
        lend_unmark(l->all->subject, sizeof l->all->subject);
        ssize_t n = l->maps[i] == NULL ? 0
                                       : transform_apply(l->maps[i], subject, l->all->subject,
                                                         sizeof l->all->subject);
        if (n <= 0)
            continue;
        lend_mark(l->all->subject, (size_t)n);
        return mf_slice(l->all->subject, (size_t)n);
    }
    return subject;
}

/* false: the stream, or memory, has no room for it; l->error says why. */
static bool hand_over(struct follower *l, const struct mf_msg *m, const struct upstream_reply *r)
{
    struct sources *all = l->all;
    struct mf_slice hdr;
    struct copy *c;

    lend_clear(&all->mark);
    lend_clear(&all->hdr);
    if (!l->mirror)
        upstream_mark(&all->mark, mf_str(l->index), r->sseq, m->subject, l->ident);
    hdr = upstream_header(&all->hdr, m->hdr, lend_slice(&all->mark));
    (void)lend_slice(&all->hdr);
    if (mf_buf_failed(&all->mark) || mf_buf_failed(&all->hdr) || (c = copy_get()) == NULL) {
        js_error_set(&l->error, JS_INSUFFICIENT_RESOURCES);
        return false;
    }
    c->follower = l;
    c->pub = (struct stream_publish){
        .msg = {.subject = map_subject(l, m->subject), .hdr = hdr, .payload = m->payload},
        .done = on_stored,
        .replicated = true,
        .followed = true,
        .seq = l->mirror ? r->sseq : 0,
        .ts_ns = l->mirror ? r->ts_ns : 0,
    };
    l->accepted++;
    l->refused = false;
    l->judging = true;
    stream_publish(all->stream, &c->pub);
    l->judging = false;
    return !l->refused;
}

void receive_pending(struct follower *l, uint64_t pending)
{
    const struct source_host *h = l->all->host;

    if (!l->mirror || l->near || pending >= TRACK_NEAR)
        return;
    l->near = true;
    h->caught_up(h->arg, l->all->stream);
}

static void receive_message(struct follower *l, const struct mf_msg *m,
                            const struct upstream_reply *r)
{
    struct track before = l->track;
    uint64_t accepted = l->accepted, seen = l->seen;

    switch (track_message(&l->track, l->mirror, r)) {
    case TRACK_IGNORE:
        return;
    case TRACK_LOST:
        follower_fail(l, NULL);
        return;
    case TRACK_NEXT:
        break;
    }
    l->dirty = !l->mirror;
    if (l->dirty)
        receive_queue(l); /* before the stream hears of it: its group is not on its way yet */
    l->seen = r->sseq;    /* before the group is written: the place holds it */
    if (!hand_over(l, m, r)) {
        struct js_error e = l->error;
        l->track = before;
        l->seen = seen;
        follower_fail(l, &e);
        return;
    }
    l->fails = 0;
    if (l->accepted == accepted)
        l->seen = seen; /* a duplicate */
    l->lag = track_lag(r->pending);
    receive_pending(l, r->pending);
}

/* --- control ---------------------------------------------------------------------------------- */

static uint64_t header_number(struct mf_slice hdr, const char *name)
{
    struct mf_slice text;
    uint64_t n;

    return header_get(hdr, name, &text) && mf_parse_u64(text, &n) == 0 ? n : 0;
}

static void note_flow(struct follower *l, struct mf_slice reply)
{
    if (mf_eq(mf_buf_slice(&l->flow), reply))
        return; /* it will be answered when it is true */
    mf_buf_clear(&l->flow);
    mf_buf_append(&l->flow, reply.ptr, reply.len);
    if (mf_buf_failed(&l->flow))
        mf_buf_clear(&l->flow);
    l->flow_at = l->accepted;
    l->flow_track = l->track;
    if (l->completed >= l->flow_at)
        receive_queue(l);
}

static void handle_control(struct follower *l, const struct mf_msg *m)
{
    struct mf_slice stalled;

    if (m->reply.len > 0)
        note_flow(l, m->reply);
    else if (track_beat(&l->track, header_number(m->hdr, "Nats-Last-Consumer")) == TRACK_LOST)
        follower_fail(l, NULL);
    else if (header_get(m->hdr, "Nats-Consumer-Stalled", &stalled) && stalled.len > 0)
        note_flow(l, stalled);
}

bool receive_delivery(struct router_sub *sub, const struct router_msg *m)
{
    struct follower *l = mf_container(sub, struct follower, deliver_sub);
    const struct mf_msg *msg = m->msg;
    struct upstream_reply r;

    l->heard_ns = loop_mono_ns(l->all->host->loop);
    if (msg->payload.len == 0 && mf_starts(msg->hdr, "NATS/1.0 100 "))
        handle_control(l, msg);
    else if (upstream_reply_read(msg->reply, &r) && mf_eq_str(r.consumer, l->name))
        receive_message(l, msg, &r);
    return true;
}
