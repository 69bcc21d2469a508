/* js_watcher.h: a subscriber with a thread of its own that notes when each key died.
 *
 * It learns of each key once when it is written (time stamp plus TTL is the deadline) and once more
 * when it dies.  Three ways: the copies that a stream republishes; a push consumer with flow
 * control, as KV watchers have; the events of Redis, which is told each deadline by the loader. */
#ifndef MAYFLY_BENCH_JS_WATCHER_H
#define MAYFLY_BENCH_JS_WATCHER_H

#include <pthread.h>
#include <stdatomic.h>

#include "js_expiry.h"

struct js_watcher {
    struct js_conn conn;
    pthread_t thread;
    unsigned n;
    bool redis;
    int64_t *deadline_ns; /* by key, 0: not seen */
    double *lag_s;        /* by death that gives notice */
    int64_t now_ns;       /* when this batch of frames arrived */
    atomic_uint born, died;
};
/* consumer: the request that creates the consumer whose deliver subject is `watcher`; its stream is
 * `KV_E`.  NULL: copies republished to rp.>.  Ignored for Redis. */
bool js_watcher_start(struct js_watcher *w, const struct js_server *s, unsigned n,
                      const char *consumer);
void js_watcher_stop(struct js_watcher *w); /* its figures stay, */
void js_watcher_fini(struct js_watcher *w); /* until here */
/* The lags of the first `dead` deaths. */
void js_watcher_lags(struct js_watcher *w, unsigned dead, struct js_deaths *out);

#endif
