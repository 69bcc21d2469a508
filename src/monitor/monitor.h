/* monitor.h: a small HTTP/1.1 server for pages that others register.  Knows paths and queries, not
 * the content of pages.
 *
 * GET and HEAD, keep-alive, pipelining (the next request is read when the answer before it is
 * sent), gzip for clients that take it (large bodies on a worker thread).  A request is at most 8
 * KB. Beyond max_conns the connection that idles longest makes room, or one that has been sending
 * its request for more than a second; if there is none, the new one gets a 503. */
#ifndef MAYFLY_MONITOR_H
#define MAYFLY_MONITOR_H

#include "monitor/doc.h"
#include "net/net.h"

struct monitor;
struct monitor_request;
struct monitor_reply {
    int status;               /* 200 unless changed */
    const char *content_type; /* "application/json" unless changed */
    struct mf_buf *body;      /* that of doc */
    struct doc *doc;          /* for pages that take long: they add steps */
    bool urgent;      /* the answer is short: made without a place, however many long pages wait */
    const char *etag; /* of a file, with its quotes: a client that has it gets a 304; or NULL */
    const char *headers; /* further lines of the head, each with its CRLF; or NULL */
};
/* Renders one page, or adds steps that do: then strings of the request live until the document is
 * sent or dropped; JSONP (?callback=) is added by the monitor for application/json.  The strings
 * of the reply must outlive the call (usually literals). */
typedef void (*monitor_page)(void *arg, const struct monitor_request *q, struct monitor_reply *r);

struct monitor_options {
    const char *host;
    int port;                 /* -1: the kernel chooses */
    const char *base_path;    /* "" or "/prefix" */
    struct net_tls *tls;      /* NULL: plain; retained */
    size_t max_conns;         /* 0: 256 */
    int64_t head_timeout_ns;  /* from accept or a request's first byte to its last; 0: 5 s */
    int64_t idle_timeout_ns;  /* between requests; 0: 120 s */
    int64_t write_timeout_ns; /* without progress; 0: 30 s */
};
MF_MUSTCHECK int monitor_open(struct monitor **out, struct loop *l, const struct monitor_options *o,
                              struct mf_error *e);
/* path: "/varz"; exact; MF_EXISTS for a second one.  The page's request count is kept for /varz's
 * http_req_stats. */
MF_MUSTCHECK int monitor_add(struct monitor *m, const char *path, monitor_page page, void *arg);
int monitor_port(const struct monitor *m);
const char *monitor_host(const struct monitor *m);
uint64_t monitor_hits(const struct monitor *m, const char *path);
void monitor_set_tls(struct monitor *m, struct net_tls *tls); /* for new connections */
void monitor_close(struct monitor *m);                        /* NULL is fine */

const char *monitor_path(const struct monitor_request *q);
const char *monitor_base_path(const struct monitor_request *q); /* "" or "/prefix" */
/* The base path was asked for without a slash behind it: links relative to it lead elsewhere. */
bool monitor_path_is_bare(const struct monitor_request *q);
/* Decoded value of a query parameter, or NULL. */
const char *monitor_param(const struct monitor_request *q, const char *name);
/* Typed ones: 0 (and *out untouched when absent), or MF_INVAL after setting status 400 and the body
 * to nats-server's text. */
MF_MUSTCHECK int monitor_param_bool(const struct monitor_request *q, struct monitor_reply *r,
                                    const char *name, bool *out);
MF_MUSTCHECK int monitor_param_i64(const struct monitor_request *q, struct monitor_reply *r,
                                   const char *name, int64_t *out);
MF_MUSTCHECK int monitor_param_u64(const struct monitor_request *q, struct monitor_reply *r,
                                   const char *name, uint64_t *out);

/* Appends the compressed bytes.  Pure: a worker may run it.  0 or MF_NOMEM. */
MF_MUSTCHECK int monitor_gzip(struct mf_buf *out, struct mf_slice in);

#endif
