/* ws_dial.h: the client's side of WebSocket: an outgoing connection that is upgraded before its
 * owner sees it, through an HTTP proxy if need be. */
#ifndef MAYFLY_WS_DIAL_H
#define MAYFLY_WS_DIAL_H

#include "net/net.h"

struct ws_target {
    const char *host; /* of the server, also behind a proxy; the Host of the request */
    int port;
    const char *path;       /* "/leafnode" */
    struct net_tls *tls;    /* wss: retained; NULL: ws */
    const char *tls_name;   /* asked for and checked; NULL: host */
    bool compression;       /* offer permessage-deflate */
    bool no_masking;        /* ask to send without masks, as nats-server allows its leafs */
    bool spread;            /* as net_dial_to */
    size_t max_message;     /* as ws_options */
    int64_t dial_ns;        /* limit of the connection; 0: none */
    int64_t tls_ns;         /* of the TLS handshake; 0: 2 s */
    int64_t upgrade_ns;     /* of the answer to the upgrade; 0: 2 s */
    const char *proxy_host; /* NULL: none.  Then dial_ns is that of the proxy */
    int proxy_port;
    int64_t proxy_ns;                        /* of its answer; 0: 2 s */
    const char *proxy_user, *proxy_password; /* NULL: none */
};
struct ws_agreed {
    bool compression, no_masking; /* what the server granted */
};
struct ws_dial_handler {
    /* Must call net_conn_set_handler(), or net_close().  Bytes that came already follow. */
    void (*ready)(void *arg, struct net_conn *c, const struct ws_agreed *a);
    /* Instead of ready(), also after net_close(); the connection is freed afterwards. */
    void (*failed)(void *arg, enum net_why why, const char *text);
};

/* Copies what *t says.  As with net_connect(), nothing is called from inside. */
MF_MUSTCHECK int ws_dial(struct net_conn **out, struct loop *l, const struct ws_target *t,
                         const struct ws_dial_handler *h, void *arg, struct mf_error *e);

#endif
