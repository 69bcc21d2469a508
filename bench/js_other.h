/* js_other.h: another publisher: one synchronous publish after the other from a thread of its own,
 * while something else happens.  Each one's time is kept, so that phases can be compared. */
#ifndef MAYFLY_BENCH_JS_OTHER_H
#define MAYFLY_BENCH_JS_OTHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "js_server.h"

struct js_other {
    struct js_conn conn;
    pthread_t thread;
    const char *subject;
    atomic_bool stop;
    atomic_uint done;
    double *us; /* by publish */
    unsigned cap;
    bool failed; /* said on stderr */
};
bool js_other_start(struct js_other *o, const struct js_server *s, const char *subject);
/* How many it has made: where a phase begins or ends. */
unsigned js_other_done(struct js_other *o);
bool js_other_stop(struct js_other *o); /* false: a publish failed */
/* Of a stopped one: how long the share of the publishes from number `from` to `to` took at most; 0:
 * there are none.  Sorts them: phases must not overlap. */
double js_other_us(struct js_other *o, unsigned from, unsigned to, double share);
void js_other_fini(struct js_other *o);

#endif
