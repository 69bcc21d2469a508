/* ttl_api_impl.h: shared by the files of the TTL API: $MAYFLY.TTL.<OP>.<stream>[.<subject>]. */
#ifndef API_TTL_API_IMPL_H
#define API_TTL_API_IMPL_H

#include "api/api_impl.h"
#include "api/ttl_numbers.h"

#include "stream/stream_ttl.h"

/* Mayfly's own error codes, outside the range of NATS. */
enum ttl_error {
    TTL_BACKFILL_RUNNING = 21001,
    TTL_NO_BACKFILL = 21002,
    TTL_BACKFILL_EXPIRES = 21003,
    TTL_NO_POLICY = 21004,
    TTL_MIRROR = 21005,
};
/* Answers with an error of JetStream's table, or with one of ours. */
void ttl_refuse(struct api_call *call, enum js_err id);
void ttl_refuse_own(struct api_call *call, enum ttl_error id, const char *text);
/* JS_BAD_REQUEST, "bad request: <why>"; why names a valid request: "limit must be 1 to 1000". */
void ttl_refuse_request(struct api_call *call, const char *why);
#define TTL_BAD_FILTER "filter is no valid subject filter"

/* As api_call_read(); a body of more than TTL_BODY_MAX bytes is refused: JS_BAD_REQUEST. */
#define TTL_BODY_MAX 65536u
MF_MUSTCHECK bool ttl_read(struct api_call *call, const struct json_type *t, void *out);

/* One message or many: exactly one of subject, seq and filter. */
struct ttl_target {
    char *subject, *filter;
    uint64_t seq;
    bool has_seq;
};
/* A subject after the stream's name in the request's subject replaces that of the body.  False:
 * JS_BAD_REQUEST was answered, because not exactly one is set or a subject has a wildcard. */
MF_MUSTCHECK bool ttl_target_check(struct api_call *call, struct ttl_target *t, bool filters);

/* "state", and with a deadline "expires" and "left_ms".  now_ns: the steady clock. */
void ttl_json_life(struct jsonw *w, const struct stream_lifetime *life, int64_t now_ns);
const char *ttl_state_word(const struct stream_lifetime *life); /* ttl, infinite, none */

void ttl_get_handle(struct api_call *call);
void ttl_set_handle(struct api_call *call);
void ttl_touch_handle(struct api_call *call);
void ttl_persist_handle(struct api_call *call);
void ttl_policy_handle(struct api_call *call);
void ttl_policies_handle(struct api_call *call);
void ttl_list_handle(struct api_call *call);
void ttl_stats_handle(struct api_call *call);
void ttl_account_handle(struct api_call *call);
void ttl_forecast_handle(struct api_call *call);
void ttl_backfill_handle(struct api_call *call);
/* The policy with these keys in place of the stream's own; *out may be NULL.  False: answered. */
MF_MUSTCHECK bool ttl_policy_try(struct api_call *call, struct stream *s,
                                 const struct json_map *keys, struct policy **out);
/* ttl_what_if.c: walks all messages in slices, then answers. */
void ttl_what_if_start(struct api_call *call, struct stream *s, const struct json_map *keys);
/* ttl_reload.c: after a start, and after a reload of accounts: logs policies, applies new ones.
 * O(streams). */
void ttl_policies_opened(struct api *a);
void ttl_policies_reload(struct api *a);

#endif
