/* stream_hour.h: messages stored and expired in a stream during the last hour, and how late.
 *
 * A ring of minutes per stream, made with its first policy or its first expiry: a stream without
 * either pays nothing.  Adding is O(1); a sum is O(60).  It begins empty at each start. */
#ifndef MAYFLY_STREAM_HOUR_H
#define MAYFLY_STREAM_HOUR_H

#include "stream/stream.h"

#define STREAM_TTL_SIZES    40 /* of TTLs: powers of two of seconds */
#define STREAM_LATE_BUCKETS 11 /* the last one: later than all bounds */
extern const int64_t stream_late_bounds_ns[STREAM_LATE_BUCKETS - 1];

struct stream_hour {
    int64_t since_ns; /* counts begin here; 0: nothing was counted yet */
    int64_t
        covered_ns; /* the time that "the last hour" covers so far: a minute of it is not over */
    uint64_t stored, stored_bytes, expired, expired_bytes; /* within the last hour */
    uint64_t ttls;    /* messages stored with a TTL within the last hour, */
    double ttl_sum_s; /* and their TTLs together */
    uint64_t expired_bytes_total;
    uint64_t late[STREAM_LATE_BUCKETS]; /* deaths by lateness, since the start */
    double late_sum_s;
    uint64_t ttl_sizes[STREAM_TTL_SIZES]; /* TTLs, since the start */
    int64_t late_p50_ns, late_p99_ns, late_max_ns;
    int64_t ttl_p50_s, ttl_p99_s, ttl_max_s; /* asked for by writers or given by the policy */
};
void stream_hour(struct stream *s, struct stream_hour *out);
/* Counting begins with the first policy, the first expiry, or this call. */
void stream_hour_begin(struct stream *s);
/* Of several streams together: adds those of one.  The quantiles of *sum are right again after
 * stream_hour_quantiles().  O(1). */
void stream_hour_add(struct stream_hour *sum, const struct stream_hour *h);
void stream_hour_quantiles(struct stream_hour *h);

/* Where a stream is heading: the rate of the last hour times the mean TTL given in it. */
struct stream_steady {
    double per_second, mean_ttl_s;
    double covered_s; /* the time that the rate was measured over */
    uint64_t msgs, bytes;
};
/* ttls messages with ttl_sum_s seconds together, out of those stored in the last hour. */
struct stream_steady stream_steady_of(const struct stream_hour *h, double ttls, double ttl_sum_s);
static inline struct stream_steady stream_steady(const struct stream_hour *h)
{
    return stream_steady_of(h, (double)h->ttls, h->ttl_sum_s);
}

/* Lateness alone, of several streams together: adds those of one.  O(1). */
struct stream_late {
    uint64_t count[STREAM_LATE_BUCKETS];
    double sum_s;
};
void stream_late_add(const struct stream *s, struct stream_late *sum);

#endif
