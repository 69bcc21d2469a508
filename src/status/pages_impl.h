/* pages_impl.h: the documents behind HTTP pages and $SYS requests.  Each renderer writes one object
 * under `key` (NULL: the top), so that a $SYS reply can wrap it as "data".  Renderers with a doc
 * add steps to it; queries are copied, key must outlive the doc. */
#ifndef MAYFLY_STATUS_PAGES_IMPL_H
#define MAYFLY_STATUS_PAGES_IMPL_H

#include "status/status_impl.h"

#include "base/arena.h"
#include "monitor/doc.h"

struct jwt_export;
struct jwt_revocations;

enum connz_state { CONNZ_OPEN, CONNZ_CLOSED, CONNZ_ALL };
struct connz_query {
    const char *sort; /* NULL: by cid */
    bool auth, subs, subs_detail;
    int64_t offset, limit; /* limit 0: 1024 */
    uint64_t cid;          /* 0: all */
    enum connz_state state;
    const char *user, *account, *filter_subject, *mqtt_client;
};
struct subsz_query {
    bool subs;
    const char *account, *test;
    int64_t offset, limit;
};
struct leafz_query {
    bool subs;
    const char *account; /* NULL: all */
};
struct healthz_query {
    bool js_enabled_only, js_server_only, js_meta_only, details;
    const char *account, *stream, *consumer;
};

void page_varz(struct status *s, struct jsonw *w, const char *key);
/* MF_INVAL with nats-server's text for a bad query. */
MF_MUSTCHECK int page_connz(struct status *s, const struct connz_query *q, struct doc *d,
                            const char *key, struct mf_error *e);
MF_MUSTCHECK int page_subsz(struct status *s, const struct subsz_query *q, struct doc *d,
                            const char *key, struct mf_error *e);
/* account NULL: the list. */
MF_MUSTCHECK int page_accountz(struct status *s, const char *account, struct doc *d,
                               const char *key, struct mf_error *e);
/* only: names to show, none: those in use (or all with unused). */
void page_accstatz(struct status *s, const char *const *only, size_t nonly, bool unused,
                   struct doc *d, const char *key);
/* Whether any of them is in use. */
bool page_accstatz_any(struct status *s, const char *const *only, size_t nonly);
/* The member "proxy", if there is one. */
void page_proxy(struct jsonw *w, const char *key);
void page_routez(struct status *s, struct jsonw *w, const char *key);
void page_gatewayz(struct status *s, struct jsonw *w, const char *key);
MF_MUSTCHECK int page_leafz(struct status *s, const struct leafz_query *q, struct doc *d,
                            const char *key, struct mf_error *e);
void page_jsz(struct status *s, struct jsonw *w, const char *key);
/* *status (unless NULL): the HTTP status, set when the page is complete. */
void page_healthz(struct status *s, const struct healthz_query *q, struct doc *d, const char *key,
                  int *status);
/* Writes cmdline and memstats, Go's expvars, into the open object. */
void page_expvars(const struct status *s, struct jsonw *w);
void page_metrics(struct status *s, struct doc *d);
void page_stacksz(struct mf_buf *out);
/* The status page.  bare_base: the base path if it was asked for without a slash behind it, or
 * NULL. */
void page_root(const char *bare_base, struct mf_buf *out);
/* Adds "/" and the files of the status page.  MF_NOMEM. */
MF_MUSTCHECK int page_root_register(struct monitor *m);

/* Names of accounts, for pages in slices; zeroed at first.  Both MF_NOMEM. */
struct page_accounts {
    const char **name;
    size_t n, cap;
    struct arena mem;
};
MF_MUSTCHECK int page_accounts_add(struct page_accounts *l, const char *name);
MF_MUSTCHECK int page_accounts_init(struct page_accounts *l, struct status *s); /* adds all */
void page_accounts_fini(struct page_accounts *l);

/* Shared pieces. */
void page_begin(struct status *s, struct jsonw *w, const char *key); /* object, server_id, now */
void page_account_stat_fields(struct account *a, struct jsonw *w);   /* into an open object */
void page_account_detail(struct status *s, struct account *a, struct jsonw *w, const char *key);
/* Writes its mappings, exports and imports into an open object. */
void page_account_exports(struct status *s, struct account *a, struct jsonw *w);
/* Expected answers of its services: the first 1024. */
void page_account_responses(struct account *a, struct jsonw *w);
uint64_t page_subscriptions(struct status *s); /* in all accounts, the server's own too */
void page_router_stats(const struct router_stats *t, struct jsonw *w);

/* pages_identity.c: operator mode.  Fields of an open object.  name_tag: the name of the account in
 * events and lists, that of the user in descriptions of a request. */
void page_user_identity(struct jsonw *w, const struct client_info *i, const char *name_tag,
                        bool with_jwt);
void page_account_times(struct status *s, const struct account *a, struct jsonw *w);
void page_account_claims(struct status *s, const struct account *a, struct jsonw *w);
/* Beside the exports of account_options(); NULL: it has no claims. */
struct jwt_export *const *page_export_claims(struct status *s, const struct account *a);
void page_revocations(struct jsonw *w, const char *key, const struct jwt_revocations *r);
void page_operators(const struct status *s, struct jsonw *w);

void page_labels(const struct options *o, struct jsonw *w); /* tags and metadata */
void page_names(struct jsonw *w, const char *key,
                const struct options_list *l); /* none: left out */
size_t page_from(int64_t offset, size_t n);    /* index of the first item of a page */
/* A subscription in a list; account and its name for people NULL: left out. */
void page_sub_detail(struct jsonw *w, const char *account, const char *tag,
                     const struct client_sub *sub);

struct page_usage {
    uint64_t rss, vsize, max_fds, threads;
    uint64_t fds;                    /* 0: unknown */
    double cpu_seconds, cpu_percent; /* percent since the sample before */
};
void page_usage(struct status *s, struct page_usage *out);

#endif
