/* consumer_advisory.c: events about consumers: $JS.EVENT.ADVISORY.CONSUMER.> and samples of
 * consumer acks under $JS.EVENT.METRIC.CONSUMER.ACK.>.  An event is written only if it has a
 * subscriber. */
#include "jetstream/advisory.h"
#include "jetstream/event.h"

#include "base/clock.h"

#include <stdio.h>

/* --- members ---------------------------------------------------------------------------------- */

static void write_action(struct event *v, const struct consumer_event *e)
{
    jsonw_str(&v->w, "action", e->kind == CONSUMER_CREATED ? "create" : "delete");
    event_domain(v);
}

static void write_pause(struct event *v, const struct consumer_event *e)
{
    int64_t until_ns = e->pause_until_ns == 0 ? CLOCK_ZERO : e->pause_until_ns;

    jsonw_bool(&v->w, "paused", e->pause_until_ns > jetstream_wall_ns(v->ja->js));
    jsonw_time(&v->w, "pause_until", until_ns);
    event_domain(v);
}

static void write_max_deliver(struct event *v, const struct consumer_event *e)
{
    jsonw_u64(&v->w, "stream_seq", e->stream_seq);
    jsonw_u64(&v->w, "deliveries", e->deliveries);
    event_domain(v);
}

/* Naked and terminated. */
static void write_message(struct event *v, const struct consumer_event *e)
{
    jsonw_u64(&v->w, "consumer_seq", e->consumer_seq);
    jsonw_u64(&v->w, "stream_seq", e->stream_seq);
    jsonw_u64(&v->w, "deliveries", e->deliveries);
    if (e->kind == CONSUMER_TERMINATED && e->reason.len > 0)
        jsonw_slice(&v->w, "reason", e->reason);
    event_domain(v);
}

static void write_sample(struct event *v, const struct consumer_event *e)
{
    jsonw_u64(&v->w, "consumer_seq", e->consumer_seq);
    jsonw_u64(&v->w, "stream_seq", e->stream_seq);
    jsonw_i64(&v->w, "ack_time", e->ack_time_ns);
    jsonw_u64(&v->w, "deliveries", e->deliveries);
    event_domain(v);
}

static void write_pin(struct event *v, const struct consumer_event *e)
{
    event_domain(v);
    jsonw_slice(&v->w, "group", e->group);
    if (e->kind == CONSUMER_PINNED)
        jsonw_slice(&v->w, "pinned_id", e->pinned_id);
    else
        jsonw_slice(&v->w, "reason", e->reason);
}

/* --- the table -------------------------------------------------------------------------------- */

#define ADVISORY "$JS.EVENT.ADVISORY.CONSUMER."

static const struct form {
    const char *subject, *type;
    void (*write)(struct event *v, const struct consumer_event *e);
    bool account; /* names the account */
} forms[] = {
    [CONSUMER_MAX_DELIVERIES] = {ADVISORY "MAX_DELIVERIES", "advisory.v1.max_deliver",
                                 write_max_deliver, false},
    [CONSUMER_TERMINATED] = {ADVISORY "MSG_TERMINATED", "advisory.v1.terminated", write_message,
                             false},
    [CONSUMER_NAKED] = {ADVISORY "MSG_NAKED", "advisory.v1.nak", write_message, false},
    [CONSUMER_PAUSED] = {ADVISORY "PAUSE", "advisory.v1.consumer_pause", write_pause, false},
    [CONSUMER_CREATED] = {ADVISORY "CREATED", "advisory.v1.consumer_action", write_action, false},
    [CONSUMER_DELETED] = {ADVISORY "DELETED", "advisory.v1.consumer_action", write_action, false},
    [CONSUMER_PINNED] = {ADVISORY "PINNED", "advisory.v1.consumer_group_pinned", write_pin, true},
    [CONSUMER_UNPINNED] = {ADVISORY "UNPINNED", "advisory.v1.consumer_group_unpinned", write_pin,
                           true},
    [CONSUMER_ACKED] = {"$JS.EVENT.METRIC.CONSUMER.ACK", "metric.v1.consumer_ack", write_sample,
                        false},
};

void consumer_advisory(void *arg, const struct consumer_event *e)
{
    struct js_account *ja = arg;
    const struct form *f = &forms[e->kind];
    const char *stream = stream_name(consumers_stream(consumer_set_of(e->consumer)));
    const char *name = consumer_name(e->consumer);
    struct event v;
    int n = snprintf(v.subject, sizeof v.subject, "%s.%s.%s", f->subject, stream, name);

    if (n < 0 || (size_t)n >= sizeof v.subject || !event_open(&v, ja, f->type))
        return;
    if (f->account)
        jsonw_str(&v.w, "account", account_name(ja->account));
    jsonw_str(&v.w, "stream", stream);
    jsonw_str(&v.w, "consumer", name);
    f->write(&v, e);
    event_send_later(&v);
}
