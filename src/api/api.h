/* api.h: JetStream as clients see it: the JSON API on $JS.API.>, publishes into streams,
 * advisories, and what pages show of it. */
#ifndef MAYFLY_API_H
#define MAYFLY_API_H

#include "account/account.h"
#include "monitor/health.h"
#include "codec/jsonw.h"
#include "loop/loop.h"
#include "config/options.h"

struct api;
struct api_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options; /* must live until the next api_reload() or the end */
    const char *server_name, *server_id, *version; /* as nats-server's clients know them */
    unsigned level;
    /* Who sent this (router_msg.origin), as audit events show it; false: nobody to tell of. */
    bool (*client_info)(void *arg, const void *origin, struct mf_buf *json);
    void *arg;
};
/* Could api_open() use the store directory?  Changes nothing; for the check of a configuration. */
MF_MUSTCHECK int api_check(const struct options *o, struct mf_error *e);
/* Takes the store directory for this process.  Loads every stream of every account; blocks; before
 * anybody is served. */
MF_MUSTCHECK int api_open(struct api **out, const struct api_setup *setup, struct mf_error *e);
/* After accounts_reload(): accounts that gained or lost JetStream, new limits. */
void api_reload(struct api *a, const struct options *o);
/* About to stop, the clients are still there: waiting pull requests are told. */
void api_leaving(struct api *a);
/* Takes no more requests, closes all streams cleanly, frees, then closed(). */
void api_close(struct api *a, void (*closed)(void *arg), void *arg);

/* --- what operators see; O(streams), the documents in slices ---------------------------------- */

struct monitor;
struct doc;
void api_pages(struct api *a, struct monitor *m); /* adds /jsz and /ttlz */
/* Adds the steps of the same document (account NULL), or one account of it, for the system account;
 * options: the request's JSON.  MF_PROTO: the options are wrong; any other code: there is no
 * answer. */
MF_MUSTCHECK int api_jsz(struct api *a, struct mf_slice options, const char *account, struct doc *d,
                         const char *key, struct mf_error *e);
/* /ttlz: the TTL policies of all streams and their counts; as above. */
MF_MUSTCHECK int api_ttlz(struct api *a, struct mf_slice options, struct doc *d, const char *key,
                          struct mf_error *e);
/* Members of "jetstream" in /varz and STATSZ (config, stats, limits) into the open object.  paths:
 * where it stores, too. */
void api_write_varz(struct api *a, struct jsonw *w, bool paths);
void api_metrics(struct api *a, struct doc *d); /* adds the steps of Prometheus' text */
/* Tells of everything that is not well, at once or in steps that it adds to d; nothing told: all
 * is.  Strings of q are copied, arg must outlive the steps. */
void api_health(struct api *a, const struct health_query *q, struct doc *d, health_tell told,
                void *arg);
bool api_enabled(struct api *a, const struct account *acc); /* has this account JetStream? O(n) */
void api_log_start(struct api *a);                          /* what it runs with, into the log */

#endif
