/* js_consume.h: the receiving side of the consumer bench: connections that count messages, answer
 * flow control and acknowledge, and consumers created in a window of requests. */
#ifndef MAYFLY_BENCH_JS_CONSUME_H
#define MAYFLY_BENCH_JS_CONSUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "js_wire.h"

/* One connection that receives.  Answers are gathered in `out`, one write per read. */
struct js_taker {
    struct js_conn conn;
    char *out;
    size_t out_len;
    bool ack;         /* answer each message with +ACK */
    bool one_by_one;  /* a single consumer delivers here: stream sequences must follow each other */
    uint64_t got;     /* messages */
    uint64_t seq;     /* of the last one */
    uint64_t jumps;   /* not the successor of the one before */
    uint64_t flows;   /* flow control requests and stalled heartbeats answered */
    uint64_t strange; /* any other status, or a request that found nobody */
    char said[120];   /* the first strange one */
};
bool js_taker_open(struct js_taker *t, int port);
void js_taker_close(struct js_taker *t);
/* Subscribes to prefix + 0 .. n - 1, each with its own sid; seen by the server on return. */
bool js_taker_subscribe(struct js_taker *t, const char *prefix, unsigned n);

/* Reads until the takers have `want` messages among them, then what comes within `linger_s`.
 * False with a word on stderr when a connection ends or nothing comes for 15 s.  *done_s: when the
 * last wanted message was read. */
bool js_take(struct js_taker *t, unsigned n, uint64_t want, double linger_s, double *done_s);
/* Fetches `want` messages of a pull consumer, `batch` at a time, and acknowledges each. */
bool js_fetch(struct js_taker *t, const char *stream, const char *consumer, unsigned batch,
              uint64_t want);

/* Creates n consumers named w0, w1, ... which deliver to deliver_prefix + number.  rest: more
 * fields of the configuration, beginning with a comma, or "".  filter: "" for none. */
struct js_makes {
    const char *stream, *filter, *deliver_prefix, *rest;
    unsigned n, window;
};
bool js_make_consumers(int port, const struct js_makes *m, double *seconds);

#endif
