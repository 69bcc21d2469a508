/* bench_hist.h: durations counted in buckets that are at most 1/16 wide; no memory per sample.
 * Pure. */
#ifndef CLI_OPS_BENCH_HIST_H
#define CLI_OPS_BENCH_HIST_H

#include "base/base.h"

#define BENCH_HIST_BUCKETS (64 * 16)

struct bench_hist {
    uint64_t count[BENCH_HIST_BUCKETS];
    uint64_t n;
    int64_t least, worst; /* exact */
};

void bench_hist_add(struct bench_hist *h, int64_t ns); /* negative counts as 0 */
void bench_hist_merge(struct bench_hist *h, const struct bench_hist *more);
/* The duration that `share` (0..1) of the samples do not exceed, rounded up to its bucket's end; 0
 * without samples. */
int64_t bench_hist_at(const struct bench_hist *h, double share);
/* Samples of [from, upto). Both are powers of two or 0. */
uint64_t bench_hist_between(const struct bench_hist *h, int64_t from, int64_t upto);

#endif
