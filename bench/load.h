/* load.h: NATS load from one thread on raw sockets.  Cheap enough that the server is the limit:
 * publishes are written from one prepared block, deliveries all have the same length, so they are
 * counted by bytes and dropped inside the kernel (MSG_TRUNC). */
#ifndef MAYFLY_BENCH_LOAD_H
#define MAYFLY_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_result {
    double seconds;
    uint64_t published, delivered;
};
/* One publisher to `subs` subscribers of one subject, payload bytes each, `msgs` messages. */
bool load_fanout(int port, unsigned subs, size_t payload, uint64_t msgs, struct load_result *out);

struct load_latency {
    double p50_us, p99_us, max_us;
};
/* One requestor, one responder, one request at a time. */
bool load_request_reply(int port, unsigned requests, struct load_latency *out);

/* Opens n idle connections (CONNECT, PING, PONG seen) and keeps them; *fds is malloc'ed. */
bool load_idle(int port, unsigned n, int **fds);

#endif
