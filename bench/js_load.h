/* js_load.h: publishes (or direct gets; SETs and GETs of Redis) in a window, on several
 * connections, from one thread. Each request is a copied template with its digits patched; each
 * answer is counted by its frame.
 */
#ifndef MAYFLY_BENCH_JS_LOAD_H
#define MAYFLY_BENCH_JS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JS_LOAD_CONNS 64

struct js_job {
    bool redis;
    const char *prefix;   /* subjects are prefix + seven digits */
    const char *get_from; /* a stream: direct gets from it instead of publishes */
    unsigned keys;        /* distinct subjects, in scattered order */
    unsigned ttl_s;       /* 0: no header */
    /* ttl_s - whole seconds since the start (two digits): all die in one second.  Redis is told the
     * time itself, spread over that second. */
    bool due_together;
    int64_t *deadline_ns;   /* by key, Redis only: filled in, and told to the server to the ms */
    unsigned conns, window; /* at most JS_LOAD_CONNS; window is each connection's */
    unsigned rate;          /* per second, 0: as fast as it goes */
    uint64_t count;         /* stop after so many, */
    double cap_s;           /* or so long; 0: no cap */
};
struct js_stats {
    double seconds;
    uint64_t done, errors;
    double p50_us, p99_us, max_us; /* window 1 only */
    char error[160];               /* the first */
    bool late; /* failed: the load took longer than due_together leaves, with 2 s to spare */
};
/* false: a connection failed (said on stderr).  Answers that are errors are counted, not fatal. */
bool js_load(int port, const struct js_job *job, struct js_stats *out);

/* Sorts v; the value below which the share lies. */
double js_quantile(double *v, size_t n, double share);

#endif
