/* js_json.h: JSON members that events, publish acks and responses of the API share. */
#ifndef JETSTREAM_JS_JSON_H
#define JETSTREAM_JS_JSON_H

#include "codec/jsonw.h"

struct js_error;
struct policy;
struct policy_view;
struct backfill_status;
struct clock_steps;

/* "error": {code, err_code, description}. */
void js_json_error(struct jsonw *w, const struct js_error *e);
/* The view of a policy; p NULL: of a stream without any. */
const struct policy_view *js_policy_view(const struct policy *p);
/* "policy" and "origin" of a TTL policy; p may be NULL.  hits: of each rule; NULL: not shown. */
void js_json_policy(struct jsonw *w, const struct policy *p, const uint64_t *hits);
/* "clock": the steps of the wall clock since the start. */
void js_json_clock(struct jsonw *w, const struct clock_steps *c);
/* "job": a backfill of deadlines. */
void js_json_job(struct jsonw *w, const struct backfill_status *st, int64_t now_ns);

#endif
