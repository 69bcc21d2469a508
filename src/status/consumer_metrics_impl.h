/* consumer_metrics_impl.h: consumers at /metrics: sums over all, series for the first
 * CONSUMERS_SHOWN by account, stream and name, because clients must not make the page grow without
 * bound. */
#ifndef STATUS_CONSUMER_METRICS_IMPL_H
#define STATUS_CONSUMER_METRICS_IMPL_H

#include "base/buf.h"
#include "consumer/consumer.h"

#define CONSUMERS_SHOWN  1000u
#define CONSUMER_METRICS 8

struct consumer_metrics { /* all zero: nothing added yet */
    uint64_t consumers, shown, pending, ack_pending, redelivered, waiting;
    struct mf_buf lines[CONSUMER_METRICS];
};

/* Adds one consumer; keeps no pointer.  Consumers of mirrors and sources are not counted. */
void consumer_metrics_add(struct consumer_metrics *m, const char *account, const char *stream,
                          struct consumer *c);
/* Writes the sums. */
void consumer_metrics_write(const struct consumer_metrics *m, struct mf_buf *b);
/* The k-th of the CONSUMER_METRICS; at most about 120 KB. */
void consumer_metrics_write_series(const struct consumer_metrics *m, size_t k, struct mf_buf *b);
void consumer_metrics_fini(struct consumer_metrics *m);

#endif
