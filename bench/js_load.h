/* js_load.h: publishes, or requests about keys (of Redis: SETs and other commands), in a window, on
 * several connections, from one thread.  Each request is a copied template with its digits patched;
 * each answer is counted by its frame.
 */
#ifndef MAYFLY_BENCH_JS_LOAD_H
#define MAYFLY_BENCH_JS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JS_LOAD_CONNS 64

struct js_job {
    bool redis;
    const char *prefix; /* subjects are prefix + seven digits */
    /* A request to ask + subject instead of a publish: "$JS.API.DIRECT.GET.B."; of Redis, the
     * command: "GET".  Its body, or what comes behind the key, is `body`. */
    const char *ask, *redis_ask;
    const char *body, *redis_body; /* NULL: publishes have 128 bytes, requests nothing */
    unsigned size;                 /* bytes of a publish; 0: 128 */
    const char *head;              /* more lines of a publish's header, each with its end */
    unsigned keys;                 /* distinct subjects, in scattered order */
    unsigned ttl_s;                /* 0: no header */
    unsigned ttl_spread;           /* TTLs from ttl_s up, by key, so many different ones */
    /* ttl_s - whole seconds since the start: all die in one second.  Redis is told the time itself,
     * spread over that second. */
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
