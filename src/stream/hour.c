/* hour.c: the last hour of a stream (stream_hour.h). */
#include "stream/lifetime_impl.h"

#include "base/clock.h"
#include "stream/stream_hour.h"

#include <stdlib.h>

#define MINUTES   60
#define MINUTE_NS (60 * CLOCK_S)

const int64_t stream_late_bounds_ns[STREAM_LATE_BUCKETS - 1] = {
    500000,   1000000,   2000000,   5000000,    10000000,
    50000000, 100000000, 500000000, 1000000000, 5000000000,
};

struct minute {
    uint64_t stored, stored_bytes, expired, expired_bytes, ttls;
    double ttl_sum_s;
};
struct hour {
    int64_t since_ns;
    int64_t now; /* the minute that is being filled */
    struct minute minutes[MINUTES];
    uint64_t expired_bytes_total, late[STREAM_LATE_BUCKETS];
    double late_sum_s;
    int64_t late_max_ns, ttl_max_s;
    uint64_t ttls[STREAM_TTL_SIZES];
};

void hour_start(struct stream *s)
{
    if (s->hour == NULL && (s->hour = calloc(1, sizeof *s->hour)) != NULL) {
        s->hour->since_ns = stream_now(s);
        s->hour->now = s->hour->since_ns / MINUTE_NS;
    }
}

void stream_hour_begin(struct stream *s)
{
    hour_start(s);
}

void hour_free(struct stream *s)
{
    free(s->hour);
    s->hour = NULL;
}

/* Minutes that nothing happened in are empty. */
static struct minute *minute_at(struct hour *h, int64_t now_ns)
{
    int64_t now = now_ns / MINUTE_NS;

    for (int i = 0; h->now < now; i++) {
        h->now = i < MINUTES ? h->now + 1 : now;
        h->minutes[(uint64_t)h->now % MINUTES] = (struct minute){0};
    }
    return &h->minutes[(uint64_t)h->now % MINUTES];
}

static size_t size_of(int64_t s)
{
    size_t n = 0;

    while (s > 1 && n + 1 < STREAM_TTL_SIZES) {
        s >>= 1;
        n++;
    }
    return n;
}

void hour_stored(struct stream *s, int64_t ts_ns, uint64_t bytes, int64_t deadline_ns)
{
    struct minute *m = minute_at(s->hour, ts_ns);
    int64_t ttl_s = (deadline_ns - ts_ns) / CLOCK_S;

    m->stored++;
    m->stored_bytes += bytes;
    if (deadline_ns == 0 || ttl_s < 0)
        return;
    m->ttls++;
    m->ttl_sum_s += (double)ttl_s;
    s->hour->ttls[size_of(ttl_s)]++;
    if (ttl_s > s->hour->ttl_max_s)
        s->hour->ttl_max_s = ttl_s;
}

void hour_expired(struct stream *s, int64_t now_ns, int64_t late_ns, uint64_t bytes)
{
    struct hour *h = s->hour;
    struct minute *m = minute_at(h, now_ns);
    size_t i = 0;

    m->expired++;
    m->expired_bytes += bytes;
    h->expired_bytes_total += bytes;
    while (i + 1 < STREAM_LATE_BUCKETS && late_ns > stream_late_bounds_ns[i])
        i++;
    h->late[i]++;
    h->late_sum_s += (double)late_ns / 1e9;
    if (late_ns > h->late_max_ns)
        h->late_max_ns = late_ns;
}

/* The bucket in which the q-th part of all lies; n: there are none. */
static size_t find_quantile(const uint64_t *counts, size_t n, double q)
{
    uint64_t all = 0, sum = 0;
    size_t i;

    for (i = 0; i < n; i++)
        all += counts[i];
    if (all == 0)
        return n;
    for (i = 0; i < n; i++) {
        sum += counts[i];
        if ((double)sum >= q * (double)all)
            return i;
    }
    return n - 1;
}

static int64_t late_at(const struct stream_hour *h, double q)
{
    size_t i = find_quantile(h->late, STREAM_LATE_BUCKETS, q);

    if (i == STREAM_LATE_BUCKETS)
        return 0;
    return i + 1 < STREAM_LATE_BUCKETS && stream_late_bounds_ns[i] < h->late_max_ns
               ? stream_late_bounds_ns[i]
               : h->late_max_ns;
}

static int64_t ttl_at(const struct stream_hour *h, double q)
{
    size_t i = find_quantile(h->ttl_sizes, STREAM_TTL_SIZES, q);
    int64_t s = i == STREAM_TTL_SIZES ? 0 : (int64_t)1 << (i + 1);

    return s < h->ttl_max_s ? s : h->ttl_max_s;
}

void stream_hour_quantiles(struct stream_hour *h)
{
    h->late_p50_ns = late_at(h, 0.5);
    h->late_p99_ns = late_at(h, 0.99);
    h->ttl_p50_s = ttl_at(h, 0.5);
    h->ttl_p99_s = ttl_at(h, 0.99);
}

void stream_hour_add(struct stream_hour *sum, const struct stream_hour *h)
{
    if (h->since_ns != 0 && (sum->since_ns == 0 || h->since_ns < sum->since_ns))
        sum->since_ns = h->since_ns;
    sum->covered_ns = h->covered_ns > sum->covered_ns ? h->covered_ns : sum->covered_ns;
    sum->stored += h->stored;
    sum->stored_bytes += h->stored_bytes;
    sum->expired += h->expired;
    sum->expired_bytes += h->expired_bytes;
    sum->ttls += h->ttls;
    sum->ttl_sum_s += h->ttl_sum_s;
    sum->expired_bytes_total += h->expired_bytes_total;
    for (size_t i = 0; i < STREAM_LATE_BUCKETS; i++)
        sum->late[i] += h->late[i];
    sum->late_sum_s += h->late_sum_s;
    for (size_t i = 0; i < STREAM_TTL_SIZES; i++)
        sum->ttl_sizes[i] += h->ttl_sizes[i];
    sum->late_max_ns = h->late_max_ns > sum->late_max_ns ? h->late_max_ns : sum->late_max_ns;
    sum->ttl_max_s = h->ttl_max_s > sum->ttl_max_s ? h->ttl_max_s : sum->ttl_max_s;
}

struct stream_steady stream_steady_of(const struct stream_hour *h, double ttls, double ttl_sum_s)
{
    double seconds = h->covered_ns < CLOCK_S ? 1 : (double)h->covered_ns / 1e9;
    struct stream_steady y = {.per_second = ttls / seconds,
                              .mean_ttl_s = ttls > 0 ? ttl_sum_s / ttls : 0,
                              .covered_s = (double)h->covered_ns / 1e9};
    double msgs = y.per_second * y.mean_ttl_s;

    y.msgs = (uint64_t)(msgs + 0.5);
    if (h->stored > 0)
        y.bytes = (uint64_t)(msgs * (double)h->stored_bytes / (double)h->stored);
    return y;
}

static void add_minutes(struct hour *h, struct stream_hour *out)
{
    for (size_t i = 0; i < MINUTES; i++) {
        const struct minute *m = &h->minutes[i];
        out->stored += m->stored;
        out->stored_bytes += m->stored_bytes;
        out->expired += m->expired;
        out->expired_bytes += m->expired_bytes;
        out->ttls += m->ttls;
        out->ttl_sum_s += m->ttl_sum_s;
    }
}

/* The ring is 59 whole minutes and the one that is being filled. */
static int64_t covered_time(const struct hour *h, int64_t now_ns)
{
    int64_t first_ns = (h->now - (MINUTES - 1)) * MINUTE_NS;

    return now_ns - (h->since_ns > first_ns ? h->since_ns : first_ns);
}

void stream_hour(struct stream *s, struct stream_hour *out)
{
    struct hour *h = s->hour;
    int64_t now_ns;

    *out = (struct stream_hour){0};
    if (h == NULL)
        return;
    now_ns = stream_now(s);
    (void)minute_at(h, now_ns);
    add_minutes(h, out);
    out->since_ns = h->since_ns;
    out->covered_ns = covered_time(h, now_ns);
    out->expired_bytes_total = h->expired_bytes_total;
    memcpy(out->late, h->late, sizeof out->late);
    out->late_sum_s = h->late_sum_s;
    memcpy(out->ttl_sizes, h->ttls, sizeof out->ttl_sizes);
    out->late_max_ns = h->late_max_ns;
    out->ttl_max_s = h->ttl_max_s;
    stream_hour_quantiles(out);
}

void stream_late_add(const struct stream *s, struct stream_late *sum)
{
    if (s->hour == NULL)
        return;
    for (size_t i = 0; i < STREAM_LATE_BUCKETS; i++)
        sum->count[i] += s->hour->late[i];
    sum->sum_s += s->hour->late_sum_s;
}
