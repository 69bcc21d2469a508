/* js_watched.h: a KV bucket whose keys all die within a second, as its users see it: a watcher
 * (push consumer with flow control), a publisher at a steady pace, and somebody who asks for the
 * state of the stream all the time; alone on the machine, or with a process beside that is always
 * busy. */
#ifndef MAYFLY_BENCH_JS_WATCHED_H
#define MAYFLY_BENCH_JS_WATCHED_H

#include "js_expiry.h"

struct js_watched {
    unsigned n, seconds; /* keys; how long the loading may take */
    unsigned rate;       /* of the publisher, a second */
    double settle_s;
    bool busy; /* a process that computes without end runs beside */
};
/* other_*: the publisher's latency, from the moment its message was due to be sent.  false and
 * *late: the loading took longer. */
bool js_watched(struct js_server *s, const struct js_watched *b, struct js_deaths *out, bool *late);
/* The publisher alone, for `seconds` after n keys that do not expire were loaded. */
bool js_after_load(struct js_server *s, const struct js_watched *b, struct js_deaths *out);

#endif
