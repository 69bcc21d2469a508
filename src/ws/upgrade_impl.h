/* upgrade_impl.h: decides whether an HTTP request is a valid WebSocket handshake.  Pure. */
#ifndef MAYFLY_WS_UPGRADE_H
#define MAYFLY_WS_UPGRADE_H

#include "base/buf.h"
#include "http/http.h"
#include "ws/ws.h"

struct ws_verdict {
    int status;          /* 101, or the HTTP error nats-server answers */
    const char *reason;  /* for the log, when not 101 */
    bool compress;       /* permessage-deflate agreed on */
    bool no_masking;     /* the peer may send unmasked frames */
    bool browser;        /* wants small frames */
    bool whole_deflated; /* cannot read a compressed message in fragments (Safari) */
    bool mqtt;
};
void ws_judge(const struct http_request *r, const struct ws_options *o, struct ws_verdict *v);

/* Appends the 101 or error answer to out. */
void ws_answer(const struct http_request *r, const struct ws_options *o, const struct ws_verdict *v,
               int64_t wall_ns, struct mf_buf *out);

/* Whether the request's Origin may connect; without restrictions or without an Origin: yes. */
bool ws_origin_allowed(const struct http_request *r, const struct ws_options *o,
                       const char **reason);

#define WS_ACCEPT 29
/* Sec-WebSocket-Accept for a key: base64 of the SHA-1 of the key and the protocol's GUID. */
void ws_accept_key(char dst[WS_ACCEPT], struct mf_slice key);

#endif
