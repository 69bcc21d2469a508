/* proxy.h: the PROXY protocol: the header, in versions 1 (text) and 2 (binary), with which a load
 * balancer names the client whose connection it passes on. */
#ifndef MAYFLY_SESSION_PROXY_H
#define MAYFLY_SESSION_PROXY_H

#include "base/base.h"

#define PROXY_IP 46 /* with the closing zero */

/* ip is "" if the header names no client: a check by the load balancer itself, or an address of an
 * unknown kind. */
struct proxy_peer {
    char ip[PROXY_IP];
    int port;
};

#define PROXY_MORE 0    /* more bytes are needed */
#define PROXY_NONE (-1) /* no header: the bytes are the client's own */
#define PROXY_BAD  (-2) /* e says why, in nats-server's words */

/* Reads the first bytes of a connection.  Returns the length of the header, or one of the above;
 * out is set with a length only.  A header has at most 107 bytes in version 1, 65,551 in version 2.
 * O(header). */
MF_MUSTCHECK ssize_t proxy_parse(const uint8_t *p, size_t n, struct proxy_peer *out,
                                 struct mf_error *e);

#endif
