/* matrix.h: what the parts of the matrix share: which server runs, how much of everything, and
 * where the figures go.  A figure is (row, metric, setup, round, value); bench/rows.mjs says what
 * each row is called and what is asked of it, bench/report.mjs makes tables and plots. */
#ifndef MAYFLY_BENCH_MATRIX_H
#define MAYFLY_BENCH_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "js_load.h"
#include "js_server.h"

/* Both NATS servers with every acknowledgement on disk, and both without; Redis with. */
enum setup { NATS_SYNCED, NATS, MAYFLY, MAYFLY_RELAXED, REDIS, SETUPS };

struct sizes {
    double fans; /* share of the core rows' messages */
    unsigned requests, idle_conns;
    uint64_t async;       /* publishes of a row, or */
    double cap_s, sync_s; /* so many seconds */
    unsigned keys;        /* of a million's rows */
    uint64_t pull, replay, fan;
    uint64_t chunks;       /* of objects */
    unsigned hellos, subs; /* connections that begin, subscriptions of one */
    unsigned puts, watchers_few, watchers_many, consumers_each;
    unsigned expiring, expiring_s; /* keys, and seconds to load them */
    unsigned spread_rate, spread_s, spread_ttl_s;
    double settle_s;
    unsigned restart_keys;
    unsigned crash_keys, crash_kills;
    double crash_s;
    unsigned turns, asks; /* of streams that are compared, of a request that is timed: up to 64 */
    double turn_s;
    unsigned keys_many;        /* of ten million's rows */
    unsigned warned, warned_s; /* keys, and the seconds within which they are warned of */
    unsigned letters;          /* keys that leave one */
    unsigned trials;           /* of links */
    unsigned buckets;          /* of the part with many streams */
};
struct run {
    const struct sizes *sizes;
    struct js_kind kind;
    enum setup setup;
    int round;
    FILE *out;
    bool first;      /* no figure was written yet */
    unsigned failed; /* parts */
};

void emit(struct run *r, const char *row, const char *metric, double value);

/* What the server and this program spend between two moments. */
struct meter {
    const struct proc *proc;
    double start_s, cpu_s, own_s;
};
struct meter meter_start(const struct proc *p);
/* n things were done until end_s: rate, cpu_us (the server's, for each), rss_mb, and generator: the
 * share of one core that this program took. */
void meter_emit(struct run *r, const char *row, const struct meter *m, double end_s, uint64_t n);

/* Runs the load; emits as meter_emit() does, and the latencies of a window of one.  Answers that
 * are errors are said on stderr and spoil the part. */
bool measure_load(struct run *r, struct js_server *s, const char *row, const struct js_job *job);

/* Publishes n messages to 8 push consumers, in a stream F of its own. */
bool measure_push(struct run *r, struct js_server *s, const char *row, uint64_t n);

/* Deaths within one second (js_expiry.h) on a server of their own.  What loads too slowly is tried
 * again with twice the time: seconds and settle_s are filled in. */
struct js_burst;
struct js_deaths;
bool measure_burst(struct run *r, struct js_burst *b, struct js_deaths *out);

/* Each starts and stops the servers it needs.  false: said on stderr. */
bool part_core(struct run *r);
bool part_idle(struct run *r);
bool part_subs(struct run *r);
bool part_tls(struct run *r);
bool part_ws(struct run *r);
bool part_publish(struct run *r);
bool part_kv(struct run *r);
bool part_read(struct run *r);
bool part_objects(struct run *r);
bool part_watch(struct run *r);
bool part_make(struct run *r);
bool part_plain(struct run *r);
bool part_marked(struct run *r);
bool part_watched(struct run *r);
bool part_busy(struct run *r);
bool part_loaded(struct run *r);
bool part_spread(struct run *r);
bool part_restart(struct run *r);
bool part_crash(struct run *r);
bool part_policy(struct run *r);
bool part_scope(struct run *r);
bool part_slide(struct run *r);
bool part_after(struct run *r);
bool part_touch(struct run *r);
bool part_walks(struct run *r);
bool part_memory(struct run *r);
bool part_backfill(struct run *r);
bool part_warn(struct run *r);
bool part_letters(struct run *r);
bool part_link(struct run *r);
bool part_streams(struct run *r);

#endif
