/* consumer_metrics.c: consumers in Prometheus' text format.
 *
 * Happy path: consumer_metrics_add() for each consumer, then consumer_metrics_write() once and
 * consumer_metrics_write_series() for each metric.  Lines of one metric must follow each other, so
 * each metric has a buffer of its own: a consumer is looked at once and nothing of it is
 * remembered, so they may be added in different turns of the loop.
 * Failure: a buffer that found no memory is left out, with its head; sums are always there. */
#include "status/consumer_metrics_impl.h"

#include "monitor/prom.h"

static double value_pending(const struct consumer_info *i)
{
    return (double)i->pending;
}
static double value_ack_pending(const struct consumer_info *i)
{
    return (double)i->ack_pending;
}
static double value_redelivered(const struct consumer_info *i)
{
    return (double)i->redelivered;
}
static double value_waiting(const struct consumer_info *i)
{
    return (double)i->waiting;
}
static double value_lag(const struct consumer_info *i)
{
    return (double)(i->pending + i->ack_pending);
}
static double value_delivered(const struct consumer_info *i)
{
    return (double)i->delivered_sseq;
}
static double value_floor(const struct consumer_info *i)
{
    return (double)i->floor_sseq;
}
static double value_paused(const struct consumer_info *i)
{
    return i->paused ? 1 : 0;
}

static const struct consumer_series {
    const char *name, *help;
    double (*value)(const struct consumer_info *i);
    bool exact; /* only when its messages are counted */
} series[CONSUMER_METRICS] = {
    {"mayfly_consumer_pending", "Messages still to be delivered.", value_pending, true},
    {"mayfly_consumer_ack_pending", "Messages delivered that wait for an ack.", value_ack_pending,
     false},
    {"mayfly_consumer_redelivered", "Those of them delivered more than once.", value_redelivered,
     false},
    {"mayfly_consumer_lag", "Messages not finished: pending, or waiting for an ack.", value_lag,
     true},
    {"mayfly_consumer_waiting_pulls", "Pull requests that wait for messages.", value_waiting,
     false},
    {"mayfly_consumer_delivered_seq", "The last stream sequence delivered.", value_delivered,
     false},
    {"mayfly_consumer_ack_floor_seq", "All up to this stream sequence is acknowledged.",
     value_floor, false},
    {"mayfly_consumer_paused", "1: paused.", value_paused, false},
};

struct visit {
    struct consumer_metrics *m;
    const char *account, *stream;
};

static void write_series(const struct visit *v, struct consumer *c, const struct consumer_info *i)
{
    bool exact = consumer_counted(c);

    for (size_t k = 0; k < CONSUMER_METRICS; k++) {
        struct mf_buf *b = &v->m->lines[k];
        if (series[k].exact && !exact)
            continue;
        prom_label(b, series[k].name, '{', "account", v->account);
        prom_label(b, "", ',', "stream", v->stream);
        prom_label(b, "", ',', "consumer", consumer_name(c));
        prom_value(b, "}", series[k].value(i));
    }
}

void consumer_metrics_add(struct consumer_metrics *m, const char *account, const char *stream,
                          struct consumer *c)
{
    struct visit v = {m, account, stream};
    struct consumer_info i;

    if (consumer_config(c)->direct)
        return;
    consumer_info(c, &i);
    m->consumers++;
    m->pending += i.pending;
    m->ack_pending += i.ack_pending;
    m->redelivered += i.redelivered;
    m->waiting += i.waiting;
    if (m->shown < CONSUMERS_SHOWN) {
        m->shown++;
        write_series(&v, c, &i);
    }
}

void consumer_metrics_write(const struct consumer_metrics *m, struct mf_buf *b)
{
    prom_metric(b, "mayfly_jetstream_consumers", "gauge", "Consumers.", (double)m->consumers);
    prom_metric(b, "mayfly_jetstream_consumers_unlisted", "gauge",
                "Consumers without series of their own: there are too many.",
                (double)(m->consumers - m->shown));
    prom_metric(b, "mayfly_jetstream_consumers_pending", "gauge",
                "Messages all consumers still have to deliver.", (double)m->pending);
    prom_metric(b, "mayfly_jetstream_consumers_ack_pending", "gauge",
                "Messages that wait for an ack.", (double)m->ack_pending);
    prom_metric(b, "mayfly_jetstream_consumers_redelivered", "gauge",
                "Those of them delivered more than once.", (double)m->redelivered);
    prom_metric(b, "mayfly_jetstream_consumers_waiting_pulls", "gauge",
                "Pull requests that wait for messages.", (double)m->waiting);
}

void consumer_metrics_write_series(const struct consumer_metrics *m, size_t k, struct mf_buf *b)
{
    if (m->lines[k].len == 0 || mf_buf_failed(&m->lines[k]))
        return; /* a head without samples is no metric */
    prom_head(b, series[k].name, "gauge", series[k].help);
    mf_buf_append(b, m->lines[k].ptr, m->lines[k].len);
}

void consumer_metrics_fini(struct consumer_metrics *m)
{
    for (size_t k = 0; k < CONSUMER_METRICS; k++)
        mf_buf_fini(&m->lines[k]);
}
