/* load.c: see load.h. */
#include "load.h"

#include "js_load.h"
#include "js_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BLOCK  (256 * 1024)
#define WINDOW (8u << 20) /* bytes a subscriber may lag behind the publisher */

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd w = {fd, POLLOUT, 0};
            poll(&w, 1, 1000);
            continue;
        }
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* subject: what it subscribes to, as sid 1, or NULL. */
static int open_client(int port, const char *subject)
{
    struct js_conn c;

    if (!js_open(&c, port))
        return -1;
    if (subject == NULL || js_subscribe(&c, subject))
        return js_detach(&c);
    js_close(&c);
    return -1;
}

/* --- fan-out ---------------------------------------------------------------------------------- */

struct fanout {
    int epoll, pub;
    int *subs;
    uint64_t *got; /* bytes, by subscriber */
    unsigned nsubs;
    size_t pub_len, msg_len; /* bytes of one PUB and of one MSG on the wire */
    char *block;
    size_t block_len;      /* whole PUBs */
    uint64_t sent, target; /* bytes of PUBs */
    bool writable;
};

static bool subscribe(struct fanout *f, int port, unsigned i)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};

    f->subs[i] = open_client(port, "b.x");
    return f->subs[i] >= 0 && epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->subs[i], &ev) == 0;
}

static bool fanout_open(struct fanout *f, int port, unsigned subs, size_t payload, uint64_t msgs)
{
    char line[64];
    size_t n = (size_t)snprintf(line, sizeof line, "PUB b.x %zu\r\n", payload);
    struct epoll_event ev = {.events = EPOLLOUT | EPOLLET, .data.u32 = subs};

    f->nsubs = subs;
    f->subs = calloc(subs, sizeof *f->subs);
    f->got = calloc(subs, sizeof *f->got);
    f->pub_len = n + payload + 2;
    f->msg_len = (size_t)snprintf(NULL, 0, "MSG b.x 1 %zu\r\n", payload) + payload + 2;
    f->block_len = BLOCK / f->pub_len * f->pub_len;
    f->block = malloc(f->block_len);
    f->target = msgs * f->pub_len;
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (f->subs == NULL || f->got == NULL || f->block == NULL || f->epoll < 0)
        return false;
    memset(f->block, 'x', f->block_len);
    for (size_t at = 0; at < f->block_len; at += f->pub_len) {
        memcpy(f->block + at, line, n);
        memcpy(f->block + at + f->pub_len - 2, "\r\n", 2);
    }
    for (unsigned i = 0; i < subs; i++)
        if (!subscribe(f, port, i))
            return false;
    f->pub = open_client(port, NULL);
    return f->pub >= 0 && epoll_ctl(f->epoll, EPOLL_CTL_ADD, f->pub, &ev) == 0;
}

static void fanout_close(struct fanout *f)
{
    for (unsigned i = 0; i < f->nsubs && f->subs != NULL; i++)
        if (f->subs[i] > 0)
            close(f->subs[i]);
    close(f->pub);
    close(f->epoll);
    free(f->subs);
    free(f->got);
    free(f->block);
}

static uint64_t slowest(const struct fanout *f)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < f->nsubs; i++)
        least = f->got[i] < least ? f->got[i] : least;
    return least;
}

/* Writes as long as the socket takes it and no subscriber lags more than the window. */
static bool fanout_write(struct fanout *f)
{
    while (f->writable && f->sent < f->target) {
        uint64_t lag = f->sent / f->pub_len * f->msg_len - slowest(f);
        size_t at = f->sent % f->block_len, n = f->block_len - at;
        ssize_t sent;
        if ((int64_t)lag > (int64_t)WINDOW)
            return true;
        if (n > f->target - f->sent)
            n = f->target - f->sent;
        sent = send(f->pub, f->block + at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0)
            f->writable = false;
        else
            f->sent += (uint64_t)sent;
    }
    return true;
}

static bool fanout_read(struct fanout *f, unsigned i)
{
    for (;;) {
        ssize_t n = recv(f->subs[i], NULL, 4u << 20, MSG_TRUNC | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n <= 0)
            return false;
        f->got[i] += (uint64_t)n;
        if (n < 65536)
            return true;
    }
}

static bool fanout_run(struct fanout *f, uint64_t bytes_each, double deadline)
{
    struct epoll_event ev[128];

    f->writable = true;
    while (slowest(f) < bytes_each) {
        int n;
        if (!fanout_write(f))
            return false;
        n = epoll_wait(f->epoll, ev, 128, 1000);
        for (int i = 0; i < n; i++) {
            if (ev[i].data.u32 == f->nsubs)
                f->writable = true;
            else if (!fanout_read(f, ev[i].data.u32))
                return false;
        }
        if (js_now_s() > deadline)
            return false;
    }
    return true;
}

bool load_fanout(int port, unsigned subs, size_t payload, uint64_t msgs, struct load_result *out)
{
    struct fanout f = {.epoll = -1, .pub = -1};
    bool ok = fanout_open(&f, port, subs, payload, msgs);
    double start = js_now_s();

    ok = ok && fanout_run(&f, msgs * f.msg_len, start + 120);
    out->seconds = js_now_s() - start;
    out->published = msgs;
    out->delivered = msgs * subs;
    fanout_close(&f);
    return ok;
}

/* --- request and reply ------------------------------------------------------------------------ */

static bool recv_exact(int fd, size_t n)
{
    char text[512];

    while (n > 0) {
        ssize_t got = recv(fd, text, n < sizeof text ? n : sizeof text, 0);
        if (got <= 0)
            return false;
        n -= (size_t)got;
    }
    return true;
}

#define REQUEST      "PUB svc _INBOX.r 4\r\nping\r\n"
#define REQUEST_SEEN "MSG svc 1 _INBOX.r 4\r\nping\r\n"
#define ANSWER       "PUB _INBOX.r 4\r\npong\r\n"
#define ANSWER_SEEN  "MSG _INBOX.r 1 4\r\npong\r\n"

static bool request_once(int asks, int answers)
{
    return send_all(asks, REQUEST, strlen(REQUEST)) && recv_exact(answers, strlen(REQUEST_SEEN)) &&
           send_all(answers, ANSWER, strlen(ANSWER)) && recv_exact(asks, strlen(ANSWER_SEEN));
}

bool load_request_reply(int port, unsigned requests, struct load_latency *out)
{
    int asks = open_client(port, "_INBOX.r"), answers = open_client(port, "svc");
    double *us = calloc(requests, sizeof *us);
    bool ok = asks >= 0 && answers >= 0 && us != NULL;

    for (unsigned i = 0; ok && i < requests; i++) {
        double start = js_now_s();
        ok = request_once(asks, answers);
        us[i] = (js_now_s() - start) * 1e6;
    }
    if (ok) {
        *out = (struct load_latency){js_quantile(us, requests, 0.5),
                                     js_quantile(us, requests, 0.99), js_quantile(us, requests, 1)};
    }
    free(us);
    close(asks);
    close(answers);
    return ok;
}

bool load_idle(int port, unsigned n, int **fds)
{
    *fds = calloc(n, sizeof **fds);
    for (unsigned i = 0; *fds != NULL && i < n; i++)
        if (((*fds)[i] = open_client(port, NULL)) < 0) {
            fprintf(stderr, "bench: connection %u: %s\n", i, strerror(errno));
            return false;
        }
    return *fds != NULL;
}
