/* ws.h: WebSocket (RFC 6455, framing by wslay) as a byte pipe on a net connection.  After the
 * upgrade the connection's handler sees plain bytes, as over TCP. */
#ifndef MAYFLY_WS_H
#define MAYFLY_WS_H

#include "net/net.h"

struct ws_options {
    bool compression;           /* permessage-deflate, no context takeover */
    bool same_origin;           /* the Origin must be the Host */
    const char *const *origins; /* allowed ones; none: any */
    size_t norigins;
    int64_t handshake_timeout_ns; /* 0: 2 s */
    size_t max_message;           /* bytes of one message after inflating; 0: 64 MB */
    bool tls;                     /* what scheme same_origin compares with */
    bool mqtt;                    /* paths ending in /mqtt are served; else they get a 404 */
    const char *headers;          /* more lines of the 101, "Name: value\r\n" each; or NULL */
};
struct ws_pipe; /* the framing inside an upgraded connection; lives as long as the connection */
struct ws_request {
    const char *path; /* "/" for clients, ends with "/leafnode" or "/mqtt" for them */
    const char *user_agent, *cookie, *origin, *host; /* NULL when not sent */
    const char *client_ip;                           /* X-Forwarded-For, first address, or NULL */
    const char *no_masking;                          /* Nats-No-Masking header, or NULL */
    struct ws_pipe *pipe;                            /* for ws_set_farewell() */
};
/* Takes a started connection; *o must stay valid until upgraded() or the close.  On a good
 * handshake upgraded() must call net_conn_set_handler() (or net_close()).  A bad one is answered
 * with the HTTP error nats-server gives and closed; nothing is called then. */
void ws_accept(struct net_conn *c, struct loop *l, const struct ws_options *o,
               void (*upgraded)(void *arg, struct net_conn *c, const struct ws_request *r),
               void *arg);
/* Closes every handshake under way that was accepted with this arg: its upgraded() is not called
 * and its options are not read any more. */
void ws_cancel(void *arg);

/* Status and text of the close frame that net_close() will send; without it 1001.  nats-server
 * sends 1000 when the client closed, 1001 on shutdown, stale connections and I/O errors, 1002 for
 * protocol errors, 1008 for refused or slow clients, 1009 for a too large payload, 1011 otherwise,
 * and the closed connection's reason as text. */
void ws_set_farewell(struct ws_pipe *w, unsigned status, const char *text);

/* A cookie's value in a Cookie header (the last of that name), without quotes; empty: none. */
struct mf_slice ws_cookie(const char *header, const char *name);

#endif
