/* push.c: push consumers: interest, flow control, rate limit, idle heartbeats. */
#include "consumer/consumer_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW_MAX   (32u << 20)
#define WINDOW_START (WINDOW_MAX / 16)
#define RATE_MAX_NS  (365LL * 24 * 3600 * CLOCK_S)

int push_init(struct consumer *c)
{
    struct push *p = calloc(1, sizeof *p);

    if (p == NULL)
        return MF_NOMEM;
    p->beat_ns = NEVER;
    p->rate_ns = INT64_MIN / 2; /* long rested */
    p->window = WINDOW_START;
    c->push = p;
    return 0;
}

static void beat_later(struct consumer *c)
{
    c->push->beat_ns = c->cfg.idle_heartbeat_ns > 0 && c->push->active
                           ? consumers_delay(c->set, c->cfg.idle_heartbeat_ns)
                           : NEVER;
}

/* --- interest ------------------------------------------------------------------------------ */

static bool is_bound(struct consumer *c)
{
    const struct consumer_host *h = c->set->host;

    c->push->departures = h->departures(h->arg);
    return h->bound(h->arg, mf_str(c->cfg.deliver_subject), mf_str(c->cfg.deliver_group));
}

static void set_active(struct consumer *c, bool on)
{
    const struct consumer_host *h = c->set->host;

    c->push->active = on;
    h->await_interest(h->arg, c, !on);
    if (on) {
        /* A new listener starts with an open window. */
        c->push->window = WINDOW_START;
        c->push->in_flight = 0;
        c->push->flow[0] = '\0';
    }
    beat_later(c);
    consumer_alive(c);
    if (on)
        pump_soon(c);
}

void push_look(struct consumer *c)
{
    bool there = is_bound(c);

    if (there != c->push->active)
        set_active(c, there);
    else if (!there)
        c->set->host->await_interest(c->set->host->arg, c, true);
}

/* Checked before each delivery: other subscriptions on patterns or in other groups would get
 * messages meant for the next subscriber. */
bool push_bound(struct consumer *c)
{
    const struct consumer_host *h = c->set->host;

    if (c->push->departures == h->departures(h->arg) || is_bound(c))
        return true;
    push_lost(c);
    return false;
}

void push_lost(struct consumer *c)
{
    if (c->push->active)
        set_active(c, false);
}

void consumer_interest_gained(struct consumer *c)
{
    if (c->push != NULL && !c->push->active && !c->deleted && is_bound(c))
        set_active(c, true);
}

/* --- pace ---------------------------------------------------------------------------------- */

/* No answer is awaited if nothing was sent: push_ready() asks again. */
static void ask_flow(struct consumer *c)
{
    struct mf_buf *reply = lend_take();
    char id[RAND_NUID + 1];
    struct mf_slice subject = mf_str(c->cfg.deliver_subject);

    rand_nuid(id);
    snprintf(c->push->flow, sizeof c->push->flow, "%.4s", id + RAND_NUID - 4);
    if (reply != NULL)
        mf_buf_printf(reply, "$JS.FC.%s.%s.%s", stream_name(c->set->stream), c->name,
                      c->push->flow);
    struct mf_msg m = {.subject = subject,
                       .reply = reply == NULL ? MF_SLICE_NONE : mf_buf_slice(reply),
                       .hdr = MF_LIT("NATS/1.0 100 FlowControl Request\r\n\r\n")};
    if (reply == NULL || mf_buf_failed(reply) ||
        c->set->host->deliver(c->set->host->arg, subject, &m) == CONSUMER_LATER)
        c->push->flow[0] = '\0';
    lend_give(reply);
}

static void ask_in_flight(struct consumer *c)
{
    c->push->flow_bytes = c->push->in_flight;
    ask_flow(c);
}

/* Acks arrive only with answers to flow control, so a waiting consumer asks for one: once, and
 * again with each heartbeat.  A client with useless answers is not asked more often. */
void push_ask_acks(struct consumer *c, bool again)
{
    struct push *p = c->push;

    if (p == NULL || !p->active || c->cfg.ack_policy != ACK_FLOW_CONTROL || c->wait.count == 0 ||
        p->flow[0] != '\0' || (p->asked == c->delivered.dseq && !again))
        return;
    p->asked = c->delivered.dseq;
    ask_in_flight(c);
}

bool push_ready(struct consumer *c, const struct stream_msg *m)
{
    struct push *p = c->push;

    if (c->cfg.flow_control && p->in_flight > p->window) {
        if (p->flow[0] == '\0')
            ask_in_flight(c);
        if (p->flow[0] == '\0')
            pump_later(c);
        return false;
    }
    if (c->cfg.rate_limit_bps > 0 && p->rate_ns > consumers_mono(c->set))
        return false;
    return !replay_waits(c, m);
}

/* Bytes that may be sent at once after a pause: those of the largest message. */
static size_t rate_burst(const struct consumer *c)
{
    int64_t most = stream_config(c->set->stream)->max_msg_size;

    return most > 0 ? (size_t)most : c->set->host->largest(c->set->host->arg);
}

static int64_t rate_cost(const struct consumer *c, size_t bytes)
{
    double ns = (double)bytes * 8e9 / (double)c->cfg.rate_limit_bps;

    return ns < (double)RATE_MAX_NS ? (int64_t)ns : RATE_MAX_NS;
}

void push_sent(struct consumer *c, size_t bytes)
{
    struct push *p = c->push;
    int64_t now = consumers_mono(c->set);

    if (c->cfg.rate_limit_bps > 0) {
        int64_t from = now - rate_cost(c, rate_burst(c));
        p->rate_ns = (p->rate_ns > from ? p->rate_ns : from) + rate_cost(c, bytes);
    }
    if (c->cfg.flow_control) {
        p->in_flight += bytes;
        if (p->flow[0] == '\0' && p->in_flight > p->window / 2)
            ask_in_flight(c);
    }
    beat_later(c);
}

static bool header_number(struct mf_slice hdr, const char *name, uint64_t *n)
{
    struct mf_slice v;

    return header_get(hdr, name, &v) && mf_parse_u64(v, n) == 0;
}

void consumer_flow(struct consumer *c, struct mf_slice token, struct mf_slice hdr)
{
    struct push *p = c->push;
    uint64_t dseq, sseq;

    if (p == NULL || p->flow[0] == '\0' || !mf_eq_str(token, p->flow))
        return;
    p->flow[0] = '\0';
    p->in_flight -= p->flow_bytes < p->in_flight ? p->flow_bytes : p->in_flight;
    if (p->window < WINDOW_MAX)
        p->window *= 2;
    if (p->in_flight > p->window)
        ask_in_flight(c); /* large messages were sent after that request */
    if (c->cfg.ack_policy == ACK_FLOW_CONTROL && header_number(hdr, "Nats-Last-Consumer", &dseq) &&
        header_number(hdr, "Nats-Last-Stream", &sseq))
        ack_flow(c, sseq, dseq);
    consumer_alive(c);
    pump_soon(c);
}

/* --- silence ------------------------------------------------------------------------------- */

static void send_heartbeat(struct consumer *c)
{
    struct mf_buf *b = lend_take();
    uint8_t text[20];
    struct mf_slice subject = mf_str(c->cfg.deliver_subject);
    char flow[600];

    if (b == NULL)
        return;
    header_begin(b, "100 Idle Heartbeat");
    header_add(b, "Nats-Last-Consumer", mf_slice(text, proto_put_u64(text, c->delivered.dseq)));
    header_add(b, "Nats-Last-Stream", mf_slice(text, proto_put_u64(text, backlog_last(c))));
    if (c->push->flow[0] != '\0' && c->push->in_flight > c->push->window) {
        snprintf(flow, sizeof flow, "$JS.FC.%s.%s.%s", stream_name(c->set->stream), c->name,
                 c->push->flow);
        header_add(b, "Nats-Consumer-Stalled", mf_str(flow));
    }
    header_end(b);
    struct mf_msg m = {.subject = subject, .hdr = mf_buf_slice(b)};
    if (!mf_buf_failed(b) && c->set->host->deliver(c->set->host->arg, subject, &m) == 0)
        push_lost(c);
    lend_give(b);
}

void push_timeouts(struct consumer *c)
{
    if (c->push->beat_ns > consumers_mono(c->set))
        return;
    if (push_bound(c))
        send_heartbeat(c);
    push_ask_acks(c, true);
    beat_later(c);
}

int64_t push_next_time(const struct consumer *c)
{
    const struct push *p = c->push;
    int64_t at = p->beat_ns, now = consumers_mono(c->set);

    if (c->cfg.rate_limit_bps > 0 && p->rate_ns > now && p->rate_ns < at)
        at = p->rate_ns;
    return at;
}
