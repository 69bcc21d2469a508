/* monitor_impl.h: the server, its connections and one request, for the files of this folder only.
 */
#ifndef MONITOR_IMPL_H
#define MONITOR_IMPL_H

#include "http/http.h"
#include "base/list.h"
#include "monitor/monitor.h"

#define MONITOR_HEAD_MAX 8192
#define MONITOR_PARAMS   64
/* Long pages that are rendered or sent at one time, which bounds their memory; and those that may
 * wait for a place.  A page that is complete after its first time slice needs no place. */
#define MONITOR_PLACES  4
#define MONITOR_WAITING 128

struct page {
    char *path;
    monitor_page render;
    void *arg;
    uint64_t hits;
};

/* Each connection is in exactly one list: `busy` from accept or a request's first byte until its
 * answer has left, `idle` between requests, the longest idle first. */
struct monitor {
    struct loop *loop;
    struct net_listener *listener;
    struct net_tls *tls;
    char *base_path;
    size_t max_conns, nconns;
    int64_t head_timeout_ns, idle_timeout_ns, write_timeout_ns;
    struct mf_list busy, idle;
    struct work_owner work; /* of pages that take more than one slice */
    struct mf_list waiting; /* rendering.link: for a place among those, the longest first */
    unsigned places, nwaiting;
    struct page *pages;
    size_t npages;
};

/* Names and values are NUL-terminated and live in text. */
struct monitor_request {
    const char *base_path;
    const char *path; /* decoded, without the base path */
    bool bare;        /* it is empty: the base path has no slash behind it */
    size_t nparams;
    struct {
        const char *name, *value;
    } param[MONITOR_PARAMS];
    char text[MONITOR_HEAD_MAX + 2 * MONITOR_PARAMS + 2];
};

/* query.c: 0, or MF_NOTFOUND when the path is not below the base path. */
MF_MUSTCHECK int monitor_request_init(struct monitor_request *q, const struct http_request *r,
                                      const char *base_path);

/* reply.c */
struct answer {
    int status;
    const char *content_type;
    bool open_to_all; /* Access-Control-Allow-Origin: * */
    bool nosniff;
    bool varies; /* with Accept-Encoding */
    bool gzip;
    bool keep_alive, http10;
    const char *allow;          /* for 405, or NULL */
    const char *etag, *headers; /* as in monitor_reply */
};
void monitor_answer_head(struct mf_buf *out, const struct answer *a, size_t length,
                         int64_t wall_ns);
bool monitor_callback_valid(const char *name);
/* Worth compressing? */
bool monitor_gzip_wanted(const char *content_type, size_t length);
/* Does a list of If-None-Match hold the tag? */
bool monitor_etag_known(struct mf_slice list, const char *etag);

/* conn.c */
struct conn;
void monitor_conn_accept(struct monitor *m, struct net_conn *net);
/* m is about to be freed; the connection ends by itself. */
void monitor_conn_abandon(struct mf_list *link);
/* Makes room for another one; false when every connection is busy. */
bool monitor_conn_evict(struct monitor *m);

/* conn.c: starts a page that waits for a place, after one was given back. */
void monitor_next_page(struct monitor *m);

struct page *monitor_find(struct monitor *m, const char *path);

#endif
