/* bench_hist.c: see bench_hist.h.
 *
 * Bucket of v: values below 16 have one each; above, the position of the highest bit and the four
 * bits behind it. */
#include "cli/ops/bench_hist.h"

static size_t find_bucket(uint64_t v)
{
    unsigned high;

    if (v < 16)
        return (size_t)v;
    high = 63u - (unsigned)__builtin_clzll(v);
    return (size_t)(high - 3) * 16 + (size_t)(v >> (high - 4) & 15);
}

/* The first value behind a bucket. */
static uint64_t bucket_end(size_t b)
{
    unsigned shift;

    if (b < 16)
        return b + 1;
    shift = (unsigned)(b / 16) - 1;
    return (uint64_t)(16 + b % 16 + 1) << shift;
}

void bench_hist_add(struct bench_hist *h, int64_t ns)
{
    int64_t v = ns < 0 ? 0 : ns;

    h->count[find_bucket((uint64_t)v)]++;
    if (h->n == 0 || v < h->least)
        h->least = v;
    if (h->n == 0 || v > h->worst)
        h->worst = v;
    h->n++;
}

void bench_hist_merge(struct bench_hist *h, const struct bench_hist *more)
{
    if (more->n == 0)
        return;
    for (size_t i = 0; i < BENCH_HIST_BUCKETS; i++)
        h->count[i] += more->count[i];
    if (h->n == 0 || more->least < h->least)
        h->least = more->least;
    if (h->n == 0 || more->worst > h->worst)
        h->worst = more->worst;
    h->n += more->n;
}

int64_t bench_hist_at(const struct bench_hist *h, double share)
{
    uint64_t need = (uint64_t)(share * (double)h->n + 0.999999), seen = 0;

    for (size_t i = 0; i < BENCH_HIST_BUCKETS; i++) {
        seen += h->count[i];
        if (seen >= need && seen > 0) {
            int64_t end = (int64_t)bucket_end(i) - 1;

            return end < h->worst ? end : h->worst;
        }
    }
    return h->worst;
}

uint64_t bench_hist_between(const struct bench_hist *h, int64_t from, int64_t upto)
{
    uint64_t n = 0;

    for (size_t i = 0; i < BENCH_HIST_BUCKETS; i++) {
        uint64_t end = bucket_end(i);

        n += end > (uint64_t)from && end <= (uint64_t)upto ? h->count[i] : 0;
    }
    return n;
}
