/* http_get.h: fetches one page of a server's monitoring port; blocking, plain HTTP only. */
#ifndef CLI_HTTP_GET_H
#define CLI_HTTP_GET_H

#include "base/buf.h"

#define HTTP_GET_TIMEOUT_S 5
#define HTTP_GET_MAX_BYTES (64U * 1024 * 1024) /* a larger page is refused, not buffered */

/* http://HOST[:PORT][/BASE]; port 8222 unless given.  IPv6 addresses stand in brackets. */
struct http_url {
    char host[256];
    char port[8];
    char base[256]; /* "" or "/nats", no slash at the end */
};
MF_MUSTCHECK int http_url_parse(struct http_url *out, const char *text, struct mf_error *e);

/* Splits a whole response.  *body is a part of `raw`. */
MF_MUSTCHECK int http_response_parse(struct mf_slice raw, int *status, struct mf_slice *body,
                                     struct mf_error *e);

/* GET base + path.  *body is written on success and belongs to raw, the caller's to free. */
MF_MUSTCHECK int http_get(const struct http_url *url, const char *path, struct mf_buf *raw,
                          int *status, struct mf_slice *body, struct mf_error *e);

#endif
