/* tcp_client.h: a blocking socket to 127.0.0.1 that gives up after a minute: a machine may
 * stall. */
#ifndef TEST_TCP_CLIENT_H
#define TEST_TCP_CLIENT_H

#include "base/buf.h"

struct tcp_client {
    int fd;
    struct mf_buf in; /* received and not yet taken */
    bool ended;       /* the peer closed, or reset, or was silent for a minute */
    bool timed_out;
};

void tcp_dial(struct tcp_client *c, int port); /* aborts when refused */
void tcp_close(struct tcp_client *c);
/* False when the peer is gone. */
bool tcp_send(struct tcp_client *c, const void *p, size_t n);
bool tcp_puts(struct tcp_client *c, const char *text);
/* One byte a packet. */
bool tcp_drip(struct tcp_client *c, const void *p, size_t n);
/* Receives until n bytes are there; false when the peer ended before. */
bool tcp_fill(struct tcp_client *c, size_t n);
/* Receives until the text is there: how many bytes up to its end; 0: the peer ended before. */
size_t tcp_until(struct tcp_client *c, const char *text);
/* Receives until the peer closes; false when it did not. */
bool tcp_until_end(struct tcp_client *c);
void tcp_take(struct tcp_client *c, size_t n); /* drops received bytes */
const char *tcp_text(struct tcp_client *c);    /* what was received, NUL-terminated */

#endif
