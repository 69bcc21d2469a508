/* bench_impl.h: what the measurements share: requests by several clients, streams of their own,
 * reports. */
#ifndef CLI_OPS_BENCH_IMPL_H
#define CLI_OPS_BENCH_IMPL_H

#include "cli/ops/bench_hist.h"
#include "cli/request.h"

#define BENCH_CLIENTS_MAX 64
#define BENCH_COUNT_MAX   10000000
#define BENCH_NAME        32

/* One client's share of a load: `count` messages from number `first` on, at most `window` of them
 * without an answer; window 0: core NATS, nobody answers.  A thread of its own runs it. */
struct bench_load {
    struct cli *c;
    natsConnection *nc;
    uint64_t first, count;
    int64_t window;
    int64_t until_ns; /* on the monotonic clock */
    /* Makes message number i. */
    natsStatus (*make)(const struct bench_load *l, uint64_t i, const char *reply, natsMsg **m);
    const void *arg;
    /* Results: */
    struct bench_hist latency;
    uint64_t done, errors;
    char error[128]; /* the first one */
};

struct bench_result {
    const char *name; /* puts, gets */
    struct bench_hist latency;
    uint64_t done, errors;
    double seconds;
    uint64_t size; /* bytes of a message */
    char error[128];
};

/* Runs a load on --clients connections and adds them up.  0 or an exit code, printed. */
MF_MUSTCHECK int bench_run_load(struct cli *c, const struct bench_load *model, uint64_t count,
                                struct bench_result *out);

/* Numbers of flags in their bounds; false: printed. */
bool bench_read_number(struct cli *c, const char *flag, int64_t otherwise, int64_t least,
                       int64_t most, int64_t *out);

/* A stream of the measurement's own: name is bench_<random> or KV_bench_<random>. */
void bench_make_name(char dst[BENCH_NAME], const char *prefix);
MF_MUSTCHECK int bench_create(struct cli *c, const char *name, json_t *config);
void bench_remove(struct cli *c, const char *name); /* also after Ctrl-C */
json_t *bench_bucket_config(const char *name);      /* with TTLs and delete markers */

void bench_print_results(struct cli *c, const char *title, const struct bench_result *r, size_t n);
void bench_print_histogram(struct cli *c, const struct bench_hist *h);
/* 850us, 1.3ms, 2.41s: three digits count in a measurement. */
const char *bench_duration(char dst[32], int64_t ns);
json_t *bench_result_json(const struct bench_result *r);

#endif
