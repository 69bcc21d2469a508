/* js_expiry.h: many deaths, and how late each is seen from outside.
 *
 * A stream republishes what it stores, so a watcher learns of each key once when it is written (its
 * time stamp plus its TTL is the deadline) and, with markers, once more when it dies.  Without
 * markers the stream's message count is polled: the k-th death is compared with the k-th deadline.
 */
#ifndef MAYFLY_BENCH_JS_EXPIRY_H
#define MAYFLY_BENCH_JS_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

struct js_deaths {
    double lag_p50_s, lag_p99_s, lag_max_s;
    double other_p50_ms, other_p99_ms, other_max_ms; /* a synchronous publisher, meanwhile */
    double cpu_s_per_million; /* without what the other publisher cost just before */
    double disk_mb;           /* two seconds after the last death */
    uint64_t missing;         /* not dead, or no marker, when patience ended */
};
/* n keys whose deadlines lie within one second.  data: the server's storage folder. */
bool js_burst(const struct proc *p, const char *data, unsigned n, bool markers,
              struct js_deaths *out);
/* n keys with markers, written and so due at `rate` a second; only the lags are filled in. */
bool js_spread(const struct proc *p, unsigned n, unsigned rate, struct js_deaths *out);

double js_disk_mb(const char *dir); /* what its files occupy */

#endif
