/* fd_client.h: a small blocking NATS client on a connected socket, for tests of libmayfly.
 *
 * No call waits longer than a minute: a server that does not answer fails the test. */
#ifndef TEST_FD_CLIENT_H
#define TEST_FD_CLIENT_H

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fd_client {
    int fd;
    size_t len;
    char in[65536]; /* what was read and not yet taken */
};

static inline bool fd_send(struct fd_client *c, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(c->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

__attribute__((format(printf, 2, 3))) static inline bool fd_put(struct fd_client *c,
                                                                const char *fmt, ...)
{
    char text[8192];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return n >= 0 && (size_t)n < sizeof text && fd_send(c, text, (size_t)n);
}

/* More bytes; false: the end, or a minute passed. */
static inline bool fd_fill(struct fd_client *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    if (c->len + 1 >= sizeof c->in || poll(&p, 1, 60000) != 1)
        return false;
    ssize_t n = recv(c->fd, c->in + c->len, sizeof c->in - 1 - c->len, 0);
    if (n <= 0)
        return false;
    c->len += (size_t)n;
    return true;
}

/* Takes everything up to the end of the first line that holds `text`; false: it does not come. */
static inline bool fd_wait(struct fd_client *c, const char *text)
{
    for (;;) {
        c->in[c->len] = '\0';
        char *at = strstr(c->in, text), *end = at == NULL ? NULL : strstr(at, "\r\n");
        if (end != NULL) {
            size_t taken = (size_t)(end - c->in) + 2;
            memmove(c->in, c->in + taken, c->len - taken);
            c->len -= taken;
            return true;
        }
        if (at == NULL && c->len > sizeof c->in / 2) { /* keep the end: it may begin there */
            memmove(c->in, c->in + c->len - 256, 256);
            c->len = 256;
        }
        if (!fd_fill(c))
            return false;
    }
}

/* CONNECT, and the PONG behind it. */
static inline bool fd_login(struct fd_client *c, int fd)
{
    c->fd = fd;
    c->len = 0;
    return fd_put(c, "CONNECT "
                     "{\"verbose\":false,\"headers\":true,\"protocol\":1,\"lang\":\"test\"}"
                     "\r\nPING\r\n") &&
           fd_wait(c, "PONG");
}

/* Answers of requests arrive at _R; use once before fd_request(). */
static inline bool fd_listen(struct fd_client *c)
{
    return fd_put(c, "SUB _R 1\r\n");
}
/* True: the answer's line holds `expect`. */
static inline bool fd_request(struct fd_client *c, const char *subject, const char *body,
                              const char *expect)
{
    return fd_put(c, "PUB %s _R %zu\r\n%s\r\n", subject, strlen(body), body) &&
           fd_wait(c, "MSG _R") && fd_wait(c, expect);
}

/* A KV bucket whose keys may expire, and a key with a TTL in seconds. */
static inline bool fd_make_bucket(struct fd_client *c, const char *name)
{
    char subject[128], body[512];

    snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.KV_%s", name);
    snprintf(body, sizeof body,
             "{\"name\":\"KV_%s\",\"subjects\":[\"$KV.%s.>\"],\"max_msgs_per_subject\":1,"
             "\"allow_direct\":true,\"allow_rollup_hdrs\":true,\"allow_msg_ttl\":true,"
             "\"subject_delete_marker_ttl\":60000000000,\"discard\":\"new\"}",
             name, name);
    return fd_request(c, subject, body, "\"created\"");
}
static inline bool fd_put_key(struct fd_client *c, const char *bucket, const char *key,
                              const char *value, const char *ttl)
{
    char head[128];
    int n = snprintf(head, sizeof head, "NATS/1.0\r\nNats-TTL: %s\r\n\r\n", ttl);

    return fd_put(c, "HPUB $KV.%s.%s _R %d %zu\r\n%s%s\r\n", bucket, key, n,
                  (size_t)n + strlen(value), head, value) &&
           fd_wait(c, "MSG _R") && fd_wait(c, "\"seq\"");
}

#endif
