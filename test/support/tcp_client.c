/* tcp_client.c: blocking sends and receives with a deadline. */
#include "tcp_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

void tcp_dial(struct tcp_client *c, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval limit = {.tv_sec = 60};
    int one = 1;

    *c = (struct tcp_client){.in = MF_BUF_INIT};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) {
        perror("tcp_dial");
        abort();
    }
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void tcp_close(struct tcp_client *c)
{
    close(c->fd);
    mf_buf_fini(&c->in);
}

bool tcp_send(struct tcp_client *c, const void *p, size_t n)
{
    const uint8_t *at = p;

    while (n > 0) {
        ssize_t k = send(c->fd, at, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

bool tcp_puts(struct tcp_client *c, const char *text)
{
    return tcp_send(c, text, strlen(text));
}

bool tcp_drip(struct tcp_client *c, const void *p, size_t n)
{
    const uint8_t *at = p;

    for (size_t i = 0; i < n; i++)
        if (!tcp_send(c, at + i, 1))
            return false;
    return true;
}

static bool receive(struct tcp_client *c)
{
    uint8_t *to = mf_buf_reserve(&c->in, 65536);
    ssize_t n;

    if (to == NULL || c->ended)
        return false;
    do {
        n = recv(c->fd, to, 65536, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        c->ended = true;
        c->timed_out = n < 0;
        return false;
    }
    c->in.len += (size_t)n;
    return true;
}

bool tcp_fill(struct tcp_client *c, size_t n)
{
    while (c->in.len < n)
        if (!receive(c))
            return false;
    return true;
}

size_t tcp_until(struct tcp_client *c, const char *text)
{
    for (;;) {
        const uint8_t *at =
            c->in.len == 0 ? NULL : memmem(c->in.ptr, c->in.len, text, strlen(text));
        if (at != NULL)
            return (size_t)(at - c->in.ptr) + strlen(text);
        if (!receive(c))
            return 0;
    }
}

bool tcp_until_end(struct tcp_client *c)
{
    while (receive(c)) {
    }
    return c->ended && !c->timed_out;
}

void tcp_take(struct tcp_client *c, size_t n)
{
    mf_buf_consume(&c->in, n);
}

const char *tcp_text(struct tcp_client *c)
{
    return mf_buf_cstr(&c->in);
}
