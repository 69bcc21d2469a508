/* pump.c: delivers the next message.
 *
 * Happy path: redeliveries first, then the backlog; each message to the pull request whose turn it
 * is, or to the deliver subject.  A message that is not in memory is read by
 * a worker; the consumer waits for it and continues there (finish_load).  A slice in each turn of
 * the loop, so that a consumer with a long backlog does not keep others waiting. */
#include "consumer/consumer_impl.h"
#include "consumer/pull_groups_impl.h"

#include "base/log.h"
#include "stream/stream_ttl.h"

#define SLICE      512  /* messages of one consumer before the next one has its turn */
#define UNIT_BYTES 1024 /* so many bytes count as much as one message */
#define RETRY_NS   (100 * CLOCK_MS)

bool pump_paused(struct consumer *c)
{
    return c->cfg.pause_until_ns > 0 && c->cfg.pause_until_ns > consumers_wall(c->set);
}

static bool acks_full(const struct consumer *c)
{
    return c->cfg.ack_policy != ACK_NONE && c->cfg.max_ack_pending > 0 &&
           c->wait.count >= (size_t)c->cfg.max_ack_pending;
}

/* Is there a receiver? */
static bool has_receiver(struct consumer *c)
{
    return c->push != NULL ? c->push->active : c->pulls.count > 0;
}

/* --- one message --------------------------------------------------------------------------- */

static void put_number(struct mf_buf *b, uint64_t n)
{
    uint8_t text[21];
    size_t len = proto_put_u64(text + 1, n);

    text[0] = '.';
    mf_buf_append(b, text, len + 1);
}

/* $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending> */
static struct mf_slice reply_of(struct consumer *c, const struct stream_msg *m, uint64_t count,
                                struct mf_buf *b)
{
    mf_buf_puts(b, "$JS.ACK.");
    mf_buf_puts(b, stream_name(c->set->stream));
    mf_buf_byte(b, '.');
    mf_buf_puts(b, c->name);
    put_number(b, count);
    put_number(b, m->seq);
    put_number(b, c->delivered.dseq + 1);
    put_number(b, (uint64_t)m->ts_ns);
    put_number(b, c->todo.pending);
    return mf_buf_slice(b);
}

static void add_life(struct consumer *c, const struct stream_msg *m, struct mf_buf *b)
{
    char text[STREAM_LIFETIME_HEADERS];
    struct stream_lifetime room, *life = stream_lifetime_of(c->set->stream, m, &room);

    mf_buf_append(b, text, stream_put_lifetime(text, life, c->set->now_ns));
}

/* The stored headers, and what the consumer adds: then they are in *b. */
static struct mf_slice header_of(struct consumer *c, const struct stream_msg *m, bool pinned,
                                 struct mf_buf *b)
{
    uint8_t text[20];

    if ((c->cfg.direct || c->cfg.sourcing) && stream_export_header(c->set->stream, m, b))
        return mf_buf_slice(b);
    if (!c->adds_headers && !pinned)
        return m->hdr;
    if (m->hdr.len > 2)
        mf_buf_append(b, m->hdr.ptr, m->hdr.len - 2);
    else
        header_begin(b, NULL);
    if (c->cfg.headers_only)
        header_add(b, "Nats-Msg-Size", mf_slice(text, proto_put_u64(text, m->payload.len)));
    if (pinned)
        header_add(b, "Nats-Pin-Id", mf_str(c->pin.id));
    if (c->shows_ttl)
        add_life(c, m, b);
    header_end(b);
    return mf_buf_slice(b);
}

/* Bytes that count against a request's max_bytes: the message without the pin's header line. */
static size_t size_of(struct consumer *c, const struct stream_msg *m, uint64_t count)
{
    struct mf_buf *reply = lend_take(), *hdr = lend_take();
    size_t n = m->subject.len + (c->cfg.headers_only ? 0 : m->payload.len);

    if (reply != NULL && hdr != NULL) /* else send_message() will find no memory, too */
        n += reply_of(c, m, count, reply).len + header_of(c, m, false, hdr).len;
    lend_give(hdr);
    lend_give(reply);
    return n;
}

static size_t send_message(struct consumer *c, struct mf_slice route, const struct stream_msg *m,
                           uint64_t count, bool pinned, size_t *bytes)
{
    struct mf_buf *reply = lend_take(), *hdr = lend_take();
    size_t n = CONSUMER_LATER;

    if (reply != NULL && hdr != NULL) {
        struct mf_msg out = {.subject = m->subject,
                             .reply = reply_of(c, m, count, reply),
                             .hdr = header_of(c, m, pinned, hdr),
                             .payload = c->cfg.headers_only ? MF_SLICE_NONE : m->payload};
        *bytes = out.subject.len + out.reply.len + out.hdr.len + out.payload.len;
        c->set->spent += 1 + *bytes / UNIT_BYTES;
        if (!mf_buf_failed(reply) && !mf_buf_failed(hdr))
            n = c->set->host->deliver(c->set->host->arg, route, &out);
    }
    lend_give(hdr);
    lend_give(reply);
    return n;
}

bool replay_waits(struct consumer *c, const struct stream_msg *m)
{
    struct replay *r = &c->replay;

    if (c->cfg.replay_policy != REPLAY_ORIGINAL || m->seq > r->upto || r->ts == 0)
        return false;
    if (r->at_ns == 0 && m->ts_ns - r->ts > CLOCK_MS)
        r->at_ns = consumers_delay(c->set, m->ts_ns - r->ts);
    return r->at_ns > consumers_mono(c->set);
}

/* After a delivery: updates the sequences and the wait for the ack. */
static void record_delivery(struct consumer *c, const struct stream_msg *m, struct pend *e)
{
    int64_t now = c->set->now_ns;

    c->delivered.dseq++;
    c->replay.ts = m->ts_ns;
    c->replay.at_ns = 0;
    if (m->seq > c->delivered.sseq)
        c->delivered.sseq = m->seq;
    c->delivered.at_ns = now;
    if (c->cfg.ack_policy == ACK_NONE) {
        c->floor.dseq = c->delivered.dseq;
        c->floor.sseq = c->delivered.sseq;
        (void)retention_acked(c, m->seq);
    }
    if (e != NULL) {
        e->count += e->count < INT32_MAX;
        c->wait.redelivered += e->count == 2;
        e->sent_ns = now;
        if (pending_await(&c->wait, e, consumers_delay(c->set, ack_wait_of(c, e))) != 0)
            pending_requeue(&c->wait, e);
    }
    state_touch(c, e != NULL ? m->seq : 0);
    consumer_alive(c);
}

enum result { SENT, NOBODY, NOT_NOW };

/* Reserves the pending entry before the delivery: without it the message could not be redelivered.
 * false: no memory; it is tried again. */
static bool reserve_pending(struct consumer *c, uint64_t seq, struct pend **e)
{
    if (*e != NULL || c->cfg.ack_policy == ACK_NONE ||
        pending_add(&c->wait, seq, c->delivered.dseq + 1, e) == 0)
        return true;
    pump_later(c);
    return false;
}

static void release_pending(struct consumer *c, struct pend **e)
{
    if (*e == NULL || (*e)->count > 0)
        return; /* it is of an earlier delivery */
    pending_remove(&c->wait, *e);
    *e = NULL;
}

/* The message was not sent; the receiver may still be there. */
static enum result no_memory(struct consumer *c, struct pend **e)
{
    release_pending(c, e);
    pump_later(c);
    return NOT_NOW;
}

static enum result deliver_push(struct consumer *c, const struct stream_msg *m, struct pend *e)
{
    size_t bytes = 0, n;

    if (!push_bound(c))
        return NOBODY;
    if (!push_ready(c, m) || !reserve_pending(c, m->seq, &e))
        return NOT_NOW;
    n = send_message(c, mf_str(c->cfg.deliver_subject), m, e == NULL ? 1 : e->count + 1u, false,
                     &bytes);
    if (n == CONSUMER_LATER)
        return no_memory(c, &e);
    if (n == 0) {
        release_pending(c, &e);
        push_lost(c);
        return NOBODY;
    }
    push_sent(c, bytes);
    record_delivery(c, m, e);
    return SENT;
}

static enum result deliver_pull(struct consumer *c, const struct stream_msg *m, struct pend *e)
{
    struct request *r;
    size_t bytes = 0, passed = 0;

    if (replay_waits(c, m))
        return NOT_NOW;
    while ((r = pull_next(c, &passed)) != NULL) {
        if (c->cfg.priority_policy == PRIORITY_PINNED && c->pin.id[0] == '\0' &&
            !pull_there(c, r)) {
            pull_drop(c, r); /* a disconnected client must not get the pin */
            continue;
        }
        bool fresh, pinned = groups_pin(c, r, &fresh);
        size_t size = r->has_bytes ? size_of(c, m, e == NULL ? 1 : e->count + 1u) : 0;
        if (size > r->bytes_left && r->has_bytes) {
            pull_status(c, r, "409 Message Size Exceeds MaxBytes", true);
            pull_drop(c, r);
            if (fresh)
                groups_unpin(c); /* it never learned its id */
            continue;
        }
        if (!reserve_pending(c, m->seq, &e))
            return NOT_NOW;
        size_t n = send_message(c, mf_slice(r->reply, r->reply_len), m,
                                e == NULL ? 1 : e->count + 1u, pinned, &bytes);
        if (n == CONSUMER_LATER)
            return no_memory(c, &e);
        if (n > 0) {
            record_delivery(c, m, e);
            pull_served(c, r, size);
            return SENT;
        }
        release_pending(c, &e);
        pull_drop(c, r); /* its client disconnected */
        if (fresh)
            groups_unpin(c);
    }
    pull_nobody(c);
    return NOBODY;
}

static enum result deliver_message(struct consumer *c, const struct stream_msg *m, struct pend *e)
{
    return c->push != NULL ? deliver_push(c, m, e) : deliver_pull(c, m, e);
}

bool pump_direct(struct consumer *c, const struct stream_msg *m)
{
    if (c->todo.pending != 1 || c->todo.backlog != NULL || c->list.active || c->read.busy ||
        c->deleted || c->held || count_runs(c) || !mf_list_empty(&c->wait.redeliver) ||
        acks_full(c) || !has_receiver(c) || pump_paused(c) || !mf_list_empty(&c->ready))
        return false;
    c->todo.pending = 0;
    c->todo.next = m->seq + 1;
    if (deliver_message(c, m, NULL) == SENT) {
        if (c->pulls.count > 0)
            pull_exhausted(c);
        pump_timer(c);
        return true;
    }
    backlog_return(c, m->seq);
    return false;
}

/* --- many ---------------------------------------------------------------------------------- */

/* true: go on with the next. */
static bool pump_message(struct consumer *c, const struct stream_msg *m, struct pend *e)
{
    if (deliver_message(c, m, e) == SENT)
        return true;
    if (e == NULL)
        backlog_return(c, m->seq);
    return false;
}

/* The message was removed or is damaged.  false: no memory; it is tried again. */
static bool pump_unreadable(struct consumer *c, uint64_t seq, struct pend *e, int status)
{
    if (status == MF_NOMEM) {
        pump_later(c);
        if (e == NULL)
            backlog_return(c, seq);
        return false;
    }
    if (status != MF_NOTFOUND)
        log_error("consumer %s: message %llu is damaged: passed over", c->name,
                  (unsigned long long)seq);
    if (e != NULL)
        ack_settled(c, e);
    return true;
}

static void finish_load(struct stream_load *l, int status)
{
    struct consumer *c = mf_container(l, struct consumer, read.load);
    uint64_t seq = l->seq;

    bool stale = c->read.stale;

    c->read.busy = c->read.stale = false;
    if (c->deleted) {
        if (!c->bury.queued)
            consumer_free_now(c);
        return;
    }
    struct pend *e = c->read.redelivery ? pending_find(&c->wait, seq) : NULL;
    bool on = true;
    consumers_tick(c->set);
    if (stale || (c->read.redelivery && e == NULL))
        ; /* acknowledged while it was read, or read again later */
    else if (status != 0)
        on = pump_unreadable(c, seq, e, status);
    else if (has_receiver(c) && !pump_paused(c) && !count_runs(c))
        on = pump_message(c, &l->msg, e);
    else if (e == NULL)
        backlog_return(c, seq);
    if (on)
        pump_soon(c);
    else
        pump_timer(c);
}

/* true: go on with the next. */
static bool pump_one(struct consumer *c, uint64_t seq, struct pend *e)
{
    struct stream_msg m;
    int rc = stream_get(c->set->stream, seq, &m);

    if (rc == 0) {
        bool on = pump_message(c, &m, e);
        stream_msg_end(&m);
        return on;
    }
    if (rc == MF_AGAIN) {
        c->read.load = (struct stream_load){.seq = seq, .done = finish_load};
        c->read.redelivery = e != NULL;
        rc = stream_load(c->set->stream, &c->read.load);
        c->read.busy = rc == 0;
        if (rc == 0)
            return false;
    }
    return pump_unreadable(c, seq, e, rc);
}

static bool pump_next(struct consumer *c)
{
    struct pend *e = pending_again(&c->wait);
    bool dead = false;
    uint64_t seq;

    if (e != NULL && c->push != NULL && !push_bound(c))
        return false; /* no subscriber is left: no message is given up */
    if (e != NULL)
        return ack_given_up(c, e) || pump_one(c, e->sseq, e);
    if (acks_full(c)) {
        push_ask_acks(c, false);
        return false;
    }
    seq = backlog_next(c, &dead);
    if (seq == 0) {
        if (c->pulls.count > 0)
            pull_exhausted(c);
        return false;
    }
    return dead || pump_one(c, seq, NULL);
}

/* Some messages get another deadline. */
static void move_on(struct consumer *c)
{
    if (ack_moves(c))
        pump_soon(c);
    pump_timer(c);
}

void pump(struct consumer *c, size_t budget)
{
    uint64_t stop = c->set->spent + budget;
    bool more = true;

    c->read.again = false;
    if (c->wait.moves != NULL && !c->deleted)
        move_on(c);
    if (c->deleted || c->read.busy || c->held)
        return;
    if (count_runs(c)) {
        count_again(c);
        return;
    }
    consumers_tick(c->set);
    while (more && c->set->spent < stop && has_receiver(c) && !pump_paused(c)) {
        c->set->spent++;
        more = pump_next(c);
    }
    if ((more && c->set->spent >= stop) || c->read.again)
        pump_soon(c);
    if (c->todo.pending == 0 &&
        !c->read.busy) { /* it has seen everything: cursors would only cost */
        backlog_drop(c);
        backlog_end_list(c);
    }
    pump_timer(c);
}

static bool run_ready(struct work_task *t)
{
    struct consumers *g = mf_container(t, struct consumers, run);
    struct mf_list *n;

    stream_notify_now(g->stream); /* stored and removed messages are counted first */
    g->running = true;
    while ((n = mf_list_pop(&g->ready)) != NULL) {
        pump(mf_container(n, struct consumer, ready), SLICE);
        if (work_spent(g->host->loop))
            break;
    }
    g->running = false;
    return !mf_list_empty(&g->ready);
}

void pump_soon(struct consumer *c)
{
    struct consumers *g = c->set;

    if (c->deleted || !mf_list_empty(&c->ready))
        return;
    mf_list_push(&g->ready, &c->ready);
    if (g->running)
        return; /* it runs in this slice or the next one */
    g->run.run = run_ready;
    g->run.cause = WORK_DELIVER;
    work_add(g->host->loop, stream_owner(g->stream), &g->run);
}

/* The running pump arms the timer. */
void pump_later(struct consumer *c)
{
    c->read.retry_ns = consumers_delay(c->set, RETRY_NS);
}

/* --- the timer ----------------------------------------------------------------------------- */

static int64_t pick_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fire_timer(void *arg)
{
    struct consumer *c = arg;
    int64_t now = consumers_mono(c->set);

    c->timers.at_ns = c->read.retry_ns = NEVER;
    if (c->deleted)
        return;
    ack_timeouts(c);
    if (c->push != NULL) {
        push_timeouts(c);
    } else {
        pull_timeouts(c);
        groups_timeout(c);
    }
    if (c->timers.pause_at_ns <= now) {
        c->timers.pause_at_ns = NEVER;
        pause_plan(c);
        if (c->timers.pause_at_ns == NEVER)
            consumer_send_event(c, CONSUMER_PAUSED, 0, 0, 0, MF_SLICE_NONE);
    }
    if (c->timers.idle_at_ns <= now && consumer_inactive(c))
        return; /* it was deleted */
    pump_soon(c);
    pump_timer(c);
}

void pump_timer(struct consumer *c)
{
    int64_t at = pick_earlier(pending_next(&c->wait),
                              pick_earlier(c->timers.idle_at_ns, c->timers.pause_at_ns));

    if (c->deleted || c->held)
        return;
    at = pick_earlier(at, c->read.retry_ns);
    if (c->replay.at_ns > consumers_mono(c->set))
        at = pick_earlier(at, c->replay.at_ns);
    at = pick_earlier(at, c->push != NULL ? push_next_time(c) : pull_next_time(c));
    if (at == NEVER || at >= c->timers.at_ns)
        return; /* it fires early enough, and looks again then */
    if (c->timers.timer == NULL &&
        (c->timers.timer = loop_timer_new(c->set->host->loop, fire_timer, c)) == NULL)
        return;
    c->timers.at_ns = at;
    loop_timer_arm(c->timers.timer, at);
}
