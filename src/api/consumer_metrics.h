/* consumer_metrics.h: consumers at /metrics: sums over all, series for the first CONSUMERS_SHOWN by
 * account, stream and name: a page must not grow with what clients create. */
#ifndef API_CONSUMER_METRICS_H
#define API_CONSUMER_METRICS_H

#include "api_impl.h"

#include "mayfly/consumer.h"

#define CONSUMERS_SHOWN  1000u
#define CONSUMER_METRICS 8

struct consumer_metrics { /* all zero: nothing added yet */
    uint64_t consumers, shown, pending, ack_pending, redelivered, waiting;
    struct mf_buf lines[CONSUMER_METRICS];
};

/* The consumers of one stream.  O(those).  Keeps no pointer. */
void consumer_metrics_add(struct consumer_metrics *m, const char *account, struct stream *s);
/* All metrics of what was added; at most about 1 MB. */
void consumer_metrics_write(const struct consumer_metrics *m, struct mf_buf *b);
void consumer_metrics_fini(struct consumer_metrics *m);

#endif
