/* js_pages_impl.h: shared by the pages about JetStream.
 *
 * js_pages.c: /varz, /healthz, the log.  jsz.c: /jsz.  js_metrics.c, consumer_metrics.c,
 * ttl_metrics.c: /metrics.  ttl_page.c: /ttlz.  js_walk.c: all streams in slices.  ttl_outlook.c:
 * the next expiries. */
#ifndef STATUS_JS_PAGES_IMPL_H
#define STATUS_JS_PAGES_IMPL_H

#include "api/call.h"
#include "api/limits.h"
#include "api/stream_json.h"
#include "monitor/doc.h"
#include "monitor/monitor.h"
#include "status/js_status.h"

struct ttl_outlook;
struct js_status {
    struct api *api;
    struct jetstream *js;        /* api->js */
    struct ttl_outlook *outlook; /* NULL: /metrics was not read yet */
};

#define JSZ_NAME 256 /* names of streams and consumers are shorter */

/* js_walk.c.  Accounts with JetStream, by name; the array is the caller's.  O(n log n). */
MF_MUSTCHECK int js_enabled_accounts(struct js_status *st, struct js_account ***out, size_t *n);

/* js_walk.c: all streams by account and name, for documents made in slices: it keeps only names
 * from one slice to the next.  Returned pointers are valid until the slice ends. */
struct js_walk {
    struct js_status *st;
    struct arena mem;
    const char **accounts;                     /* by name, as of js_walk_init() */
    size_t n, at;                              /* the account it is in */
    char stream[JSZ_NAME], consumer[JSZ_NAME]; /* the last ones visited; empty: none */
    int64_t created_ns;                        /* of that stream */
    uint64_t slice;                            /* in which ja and place were found */
    struct js_account *ja;
    size_t place; /* behind the last stream */
};
/* of NULL: all accounts with JetStream.  O(n log n) for n accounts.  MF_NOMEM. */
MF_MUSTCHECK int js_walk_init(struct js_walk *k, struct js_status *st, const char *of);
void js_walk_fini(struct js_walk *k);
void js_walk_rewind(struct js_walk *k, size_t account);
/* The current account; NULL: it was closed, or there are no more (at == n). */
struct js_account *js_walk_account(struct js_walk *k, const struct doc *d);
void js_walk_next_account(struct js_walk *k);
/* The next item of the account's catalog, streams that are offline too; false: no more.  O(1), and
 * O(log streams) for the first one of a slice. */
bool js_walk_item(struct js_walk *k, const struct doc *d, struct catalog_item *out);
/* The stream that was visited last; NULL: deleted.  O(log streams). */
struct stream *js_walk_stream(struct js_walk *k, const struct doc *d);
/* The next consumer of that stream; NULL: no more.  O(log consumers). */
struct consumer *js_walk_consumer(struct js_walk *k, struct stream *s);

/* jsz_lag.c: the `max` consumers with most messages to go, of an account and a stream (NULL or "":
 * of all), which must outlive it.  collect() from the first account on and then write() are called
 * until they return false. */
#define JSZ_LAG_MAX 100
struct jsz_lag;
struct jsz_lag *jsz_lag_new(struct js_walk *walk, const char *account, const char *stream,
                            size_t max); /* NULL: no memory */
bool jsz_lag_collect(struct jsz_lag *l, struct doc *d);
bool jsz_lag_write(struct jsz_lag *l, struct doc *d, int64_t now_ns);
void jsz_lag_free(struct jsz_lag *l); /* NULL is fine */

/* ttl_metrics.c: adds the lifetimes of all streams to /metrics. */
void ttl_metrics_add(struct js_status *st, struct doc *d);
/* ttl_outlook.c: messages that expire within an hour [0] and a day [1], as of the last look; a look
 * older than 15 s is started anew.  at: all accounts, by name.  The first 1000 streams. */
struct ttl_soon {
    char *account, *stream;
    int64_t created_ns;
    bool known; /* false: not counted yet, or deleted */
    uint64_t msgs[2], bytes[2];
};
const struct ttl_soon *ttl_outlook(struct js_status *st, struct js_account *const *at, size_t n,
                                   size_t *count);
void ttl_outlook_free(struct js_status *st); /* before streams are closed */
/* ttl_page.c: adds /ttlz. */
void ttl_pages(struct js_status *st, struct monitor *m);

/* js_pages.c. */

/* Members memory ... api of the open object. */
void js_stats_write(struct js_status *st, struct jsonw *w);
/* "config" and "limits".  paths: where it stores, too. */
void js_config_write(struct js_status *st, struct jsonw *w, bool paths);
void js_limits_write(struct js_status *st, struct jsonw *w);
/* "account", and "account_tag" where its name for people is another one.  O(1). */
void js_account_write(const struct js_status *st, struct jsonw *w, const char *name);

#endif
