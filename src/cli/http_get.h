/* http_get.h: fetches one page of a server's monitoring port; blocking, http or https. */
#ifndef CLI_HTTP_GET_H
#define CLI_HTTP_GET_H

#include "base/buf.h"

#define HTTP_GET_DEFAULT    "http://127.0.0.1:8222"
#define HTTP_GET_TIMEOUT_MS 5000
#define HTTP_GET_MAX_BYTES  (64U * 1024 * 1024) /* a larger page is refused, not buffered */

/* Files for https, each may be NULL.  Without `ca` the system's authorities are trusted. */
struct http_tls {
    const char *ca, *cert, *key;
};

/* http://HOST[:PORT][/BASE] or https://...; port 8222 unless given.  IPv6 addresses stand in
 * brackets. */
struct http_url {
    bool secure;         /* https: the certificate of the server is verified */
    struct http_tls tls; /* the caller's to set */
    int64_t timeout_ms;  /* of the whole request, the caller's to set; 0: HTTP_GET_TIMEOUT_MS */
    char host[256];
    char port[8];
    char base[256]; /* "" or "/nats", no slash at the end */
};
MF_MUSTCHECK int http_url_parse(struct http_url *out, const char *text, struct mf_error *e);

/* Opens a TCP connection whose calls wait for `ms` at most.  *fd is the caller's to close, -1 on
 * failure. */
MF_MUSTCHECK int http_dial(const char *host, const char *port, int64_t ms, int *fd,
                           struct mf_error *e);
/* Splits a whole response.  *body is a part of `raw`. */
MF_MUSTCHECK int http_response_parse(struct mf_slice raw, int *status, struct mf_slice *body,
                                     struct mf_error *e);

/* GET base + path.  Ctrl-C ends the wait (cli_interrupted()).  *body is written on success and
 * belongs to raw, the caller's to free. */
MF_MUSTCHECK int http_get(const struct http_url *url, const char *path, struct mf_buf *raw,
                          int *status, struct mf_slice *body, struct mf_error *e);

#endif
