/* js_status.h: JetStream as operators see it: pages, metrics, health and the log.
 *
 * Documents are written in slices: O(streams), O(consumers) if asked for. */
#ifndef STATUS_JS_STATUS_H
#define STATUS_JS_STATUS_H

#include "account/account.h"
#include "codec/jsonw.h"
#include "monitor/health.h"

struct api;
struct doc;
struct js_status;
struct monitor;

/* NULL: no memory. */
struct js_status *js_status_new(struct api *a);
/* Before api_close(): ends all work on streams. */
void js_status_stop(struct js_status *st);
/* After the last document was written.  NULL is fine. */
void js_status_free(struct js_status *st);

void js_status_pages(struct js_status *st, struct monitor *m); /* adds /jsz and /ttlz */
/* Adds the steps of /jsz (account NULL), or of one account of it, for the system account; options:
 * the request's JSON.  MF_PROTO: the options are wrong; any other code: there is no answer. */
MF_MUSTCHECK int js_status_jsz(struct js_status *st, struct mf_slice options, const char *account,
                               struct doc *d, const char *key, struct mf_error *e);
/* Adds the steps of /ttlz, the TTL policies of all streams and their counts; as above. */
MF_MUSTCHECK int js_status_ttlz(struct js_status *st, struct mf_slice options, struct doc *d,
                                const char *key, struct mf_error *e);
/* Members of "jetstream" in /varz and STATSZ (config, stats, limits) into the open object.  paths:
 * with the store directory. */
void js_status_varz(struct js_status *st, struct jsonw *w, bool paths);
void js_status_metrics(struct js_status *st, struct doc *d); /* adds the steps of /metrics */
/* Reports every problem, at once or in steps that it adds to d; no report: healthy.  Strings of q
 * are copied, arg must outlive the steps. */
void js_status_health(struct js_status *st, const struct health_query *q, struct doc *d,
                      health_report_fn told, void *arg);
/* True if the account has JetStream.  O(accounts). */
bool js_status_enabled(struct js_status *st, const struct account *acc);
struct js_totals {
    uint64_t streams, consumers, msgs, bytes;
};
void js_status_totals(const struct api *a, struct js_totals *out); /* O(streams) */
void js_status_log_start(const struct api *a); /* logs limits, directory and domain */
void js_status_log_recovered(const struct api *a,
                             int64_t took_ns); /* streams, messages.  O(streams) */

#endif
