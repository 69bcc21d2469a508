/* js_pipe.h: how the bytes of a connection travel: plain TCP, TLS, or WebSocket frames.  Blocking.
 * TLS begins before the server's INFO (handshake_first), with any certificate. */
#ifndef MAYFLY_BENCH_JS_PIPE_H
#define MAYFLY_BENCH_JS_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum js_way { JS_TCP, JS_TLS, JS_WS };
/* Of all connections that are opened from now on. */
void js_pipe_use(enum js_way way);

struct js_pipe {
    int fd;
    void *tls; /* SSL, or NULL */
    bool ws;
    uint64_t left;    /* bytes of the present WebSocket frame that were not read yet */
    uint8_t head[10]; /* its header, while incomplete */
    size_t nhead;
};
/* The handshake on a connected socket, which stays the caller's. */
bool js_pipe_open(struct js_pipe *p, int fd);
void js_pipe_close(struct js_pipe *p);
/* As recv() and send() of everything; what was received is in the kernel or in dst, never between.
 */
ssize_t js_pipe_recv(struct js_pipe *p, char *dst, size_t cap);
bool js_pipe_send(struct js_pipe *p, const char *src, size_t n);

/* A self-signed certificate and its key, as DIR/cert.pem and DIR/key.pem. */
bool js_pipe_make_cert(const char *dir);

#endif
