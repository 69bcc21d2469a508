/* js_wire.h: one connection to a NATS server, or to Redis: whole frames out of a large buffer, and
 * requests that wait for their answer.  Blocking sockets; one thread per connection. */
#ifndef MAYFLY_BENCH_JS_WIRE_H
#define MAYFLY_BENCH_JS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "js_pipe.h"

struct js_conn {
    int fd;
    char *buf;
    size_t have;
    unsigned asked; /* requests so far */
    bool redis;
    struct js_pipe pipe;
};
/* A message as it stands in the buffer: valid until the callback returns.  Of Redis: one whole
 * answer, with its type and lengths, is the body. */
struct js_frame {
    const char *subject, *reply, *body; /* body: header block first */
    size_t subject_len, reply_len, head_len, len;
};
typedef void js_frame_fn(void *arg, const struct js_frame *f);

double js_now_s(void);    /* monotonic */
int64_t js_wall_ns(void); /* the servers' clock */
/* 2026-01-02T03:04:05.678901234Z, and something else behind it; 0: it is no time. */
int64_t js_time_ns(const char *s);
void js_pause(double s); /* lets time pass; never to wait for somebody */

bool js_open(struct js_conn *c, int port);
bool js_open_redis(struct js_conn *c, int port);
void js_close(struct js_conn *c);
int js_detach(struct js_conn *c); /* its socket, the caller's from now on; the rest is freed */
bool js_send(struct js_conn *c, const char *p, size_t n);
bool js_subscribe(struct js_conn *c, const char *subject); /* seen by the server on return */

/* One read, then each whole frame to fn; PINGs are answered.  The number of frames, -1 when the
 * connection ended or nothing came for 30 s.  O(bytes). */
int js_read(struct js_conn *c, js_frame_fn *fn, void *arg);

/* Asks and waits; the answer's body, NUL-terminated, is in dst.  The connection must have no other
 * subscription. */
bool js_request(struct js_conn *c, const char *subject, const char *body, char *dst, size_t cap);
/* Asks Redis, by a line without its end; the whole answer is in dst. */
bool js_redis_ask(struct js_conn *c, const char *line, char *dst, size_t cap);
/* The first number after "name": in text; dflt when there is none. */
uint64_t js_number(const char *text, const char *name, uint64_t dflt);

#endif
