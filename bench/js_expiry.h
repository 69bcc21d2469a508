/* js_expiry.h: many deaths, and how late each is seen from outside.
 *
 * A stream republishes what it stores, so a watcher learns of each key once when it is written (its
 * time stamp plus its TTL is the deadline) and, with markers or dead letters, once more when it
 * dies.  Without them the stream's message count is polled: the k-th death is compared with the
 * k-th deadline.
 * Redis is told each deadline; its event of a key that expired stands for the marker.
 */
#ifndef MAYFLY_BENCH_JS_EXPIRY_H
#define MAYFLY_BENCH_JS_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "js_server.h"

struct js_deaths {
    double lag_p50_s, lag_p99_s, lag_max_s;
    double other_p50_ms, other_p99_ms, other_max_ms; /* a synchronous publisher, meanwhile */
    double cpu_s_per_million;                        /* without what the server cost just before */
    double disk_mb;                                  /* settle_s after the last death */
    uint64_t missing; /* not dead, or no marker, when patience ended */
};
/* n keys whose deadlines lie within one second.  seconds: how long the loading may take; false and
 * *late when it took longer.  settle_s: how long after the last death the work is seen to its end.
 */
enum js_notice { JS_NO_NOTICE, JS_MARKERS, JS_LETTERS /* Mayfly's */ };
struct js_burst {
    unsigned n, seconds;
    double settle_s;
    enum js_notice notice;
    const char *body; /* NULL: 128 bytes */
    bool alone;       /* without the other publisher: cpu_s_per_million; with it, all else */
};
bool js_burst(struct js_server *s, const struct js_burst *b, struct js_deaths *out, bool *late);
/* n keys with markers, which live ttl_s, written and so due at `rate` a second; only the lags are
 * filled in. */
bool js_spread(struct js_server *s, unsigned n, unsigned rate, unsigned ttl_s,
               struct js_deaths *out);

#endif
