/* ttl_api.c: the TTL API, $MAYFLY.TTL.>: its table, parts that all requests share, and GET.
 *
 * Permissions are publish permissions on these subjects.  The form with the key in the subject
 * exists for them: a user may be allowed to touch its own keys alone. */
#include "api/ttl_api_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

static const struct api_route routes[] = {
    {"GET.*", "ttl_get_response", ttl_get_handle, NULL, false, false},
    {"GET.*.>", "ttl_get_response", ttl_get_handle, NULL, false, false},
    {"SET.*", "ttl_set_response", ttl_set_handle, NULL, false, false},
    {"SET.*.>", "ttl_set_response", ttl_set_handle, NULL, false, false},
    {"TOUCH.*", "ttl_touch_response", ttl_touch_handle, NULL, false, false},
    {"TOUCH.*.>", "ttl_touch_response", ttl_touch_handle, NULL, false, false},
    {"PERSIST.*", "ttl_persist_response", ttl_persist_handle, NULL, false, false},
    {"PERSIST.*.>", "ttl_persist_response", ttl_persist_handle, NULL, false, false},
    {"POLICY.*", "ttl_policy_response", ttl_policy_handle, NULL, false, false},
    {"LIST.*", "ttl_list_response", ttl_list_handle, NULL, false, false},
    {"STATS.*", "ttl_stats_response", ttl_stats_handle, NULL, false, false},
    {"FORECAST.*", "ttl_forecast_response", ttl_forecast_handle, NULL, false, false},
    {"BACKFILL.*", "ttl_backfill_response", ttl_backfill_handle, NULL, false, false},
    {"POLICY", "ttl_policy_response", ttl_policies_handle, NULL, false, false},
    {"STATS", "ttl_stats_response", ttl_account_handle, NULL, false, false},
};

const struct api_service api_ttl = {MF_LIT("$MAYFLY.TTL."), "io.mayfly.api.v1.", routes,
                                    MF_COUNT(routes)};

void ttl_refuse(struct api_call *call, enum js_err id)
{
    struct js_error e;

    js_error_set(&e, id);
    api_reply_error(call, &e);
}

void ttl_refuse_own(struct api_call *call, enum ttl_error id, const char *text)
{
    struct js_error e = {.err_code = (uint16_t)id};

    e.code = id == TTL_BACKFILL_EXPIRES ? 400 : id == TTL_NO_BACKFILL ? 404 : 409;
    (void)snprintf(e.text, sizeof e.text, "%s", text);
    api_reply_error(call, &e);
}

void ttl_refuse_request(struct api_call *call, const char *why)
{
    struct js_error e;

    js_error_set_text(&e, JS_BAD_REQUEST, "bad request: %s", why);
    api_reply_error(call, &e);
}

bool ttl_read(struct api_call *call, const struct json_type *t, void *out)
{
    if (call->body.len <= TTL_BODY_MAX)
        return api_call_read(call, t, out);
    ttl_refuse_request(call, "the body has more than 65536 bytes");
    return false;
}

/* --- which message ---------------------------------------------------------------------------- */

/* The subject behind <OP>.<stream>., or empty. */
static struct mf_slice key_of(const struct api_call *call)
{
    struct mf_slice token = api_call_token(call, 1);

    if (token.len == 0)
        return MF_SLICE_NONE;
    size_t behind = (size_t)(token.ptr + token.len - call->rest.ptr) + 1;
    return behind >= call->rest.len ? MF_SLICE_NONE
                                    : mf_slice(call->rest.ptr + behind, call->rest.len - behind);
}

/* NULL: it is as it must be. */
static const char *target_mistake(const struct ttl_target *t, bool filters)
{
    if ((t->subject != NULL) + (t->filter != NULL) + t->has_seq != 1)
        return filters ? "give exactly one of subject, seq, filter"
                       : "give exactly one of subject, seq";
    if (t->subject != NULL && !subject_valid_literal(mf_str(t->subject)))
        return "subject must be one subject without wildcards and empty tokens";
    if (t->filter != NULL && !subject_valid(mf_str(t->filter)))
        return TTL_BAD_FILTER;
    return NULL;
}

bool ttl_target_check(struct api_call *call, struct ttl_target *t, bool filters)
{
    struct mf_slice key = key_of(call);

    if (key.len > 0) {
        t->subject = arena_dup(&call->mem, key);
        t->filter = NULL;
        t->has_seq = false;
        if (t->subject == NULL) {
            api_reply_no_memory(call);
            return false;
        }
    }
    t->subject = mf_has_text(t->subject) ? t->subject : NULL;
    t->filter = mf_has_text(t->filter) ? t->filter : NULL;
    const char *why = target_mistake(t, filters);
    if (why != NULL)
        ttl_refuse_request(call, why);
    return why == NULL;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

const char *ttl_state_word(const struct stream_lifetime *life)
{
    return life->deadline_ns != 0 ? "ttl" : life->infinite ? "infinite" : "none";
}

void ttl_json_life(struct jsonw *w, const struct stream_lifetime *life, int64_t now_ns)
{
    int64_t left_ms = (life->deadline_ns - now_ns) / CLOCK_MS;

    jsonw_str(w, "state", ttl_state_word(life));
    if (life->deadline_ns == 0)
        return;
    jsonw_time(w, "expires", life->deadline_ns);
    jsonw_i64(w, "left_ms", left_ms > 0 ? left_ms : 1);
}

/* --- GET -------------------------------------------------------------------------------------- */

static const struct json_field get_fields[] = {
    {.name = "subject", .kind = JSON_STR, .offset = offsetof(struct ttl_target, subject)},
    {.name = "seq",
     .kind = JSON_U64,
     .offset = offsetof(struct ttl_target, seq),
     .set_offset = offsetof(struct ttl_target, has_seq)},
};
static const struct json_type get_type = {"TTLGetRequest", sizeof(struct ttl_target), get_fields,
                                          MF_COUNT(get_fields)};

static void get_write(struct api_call *call, struct stream *s, const struct stream_msg *m)
{
    struct jsonw *w = api_reply_begin(call);
    struct stream_lifetime life = {.deadline_ns = m->deadline_ns};
    struct stream_subject subject = {.count = 0};
    struct policy_decision d;
    char text[POLICY_TEXT], by[POLICY_BY_TEXT];
    int64_t now = jetstream_now_ns(call->aa->api->js);

    (void)!stream_lifetime(s, m->seq, &life);
    (void)!stream_subject(s, m->subject, &subject);
    (void)!stream_ttl_decide(s, m, now, &d);
    jsonw_str(w, "stream", stream_name(s));
    jsonw_slice(w, "subject", m->subject);
    jsonw_u64(w, "seq", m->seq);
    jsonw_time(w, "time", m->ts_ns);
    ttl_json_life(w, &life, now);
    jsonw_str(w, "ttl", policy_ttl_text(text, d.ttl));
    jsonw_str(w, "decided_by", policy_by_text(by, stream_policy(s), &d));
    jsonw_bool(w, "pinned", life.pinned);
    jsonw_bool(w, "tombstone", life.tombstone);
    jsonw_u64(w, "history", subject.count);
    jsonw_u64(w, "size", stream_size_of(s, m->subject.len, m->hdr.len, m->payload.len));
}

static void get_loaded(struct stream_load *l, int status)
{
    struct api_call *call = mf_container(l, struct api_call, load);

    if (status != 0) {
        ttl_refuse(call, status == MF_NOMEM ? JS_INSUFFICIENT_RESOURCES : JS_NO_MESSAGE_FOUND);
        return;
    }
    get_write(call, l->stream, &l->msg);
    api_reply_end_quietly(call);
}

static void get_seq(struct api_call *call, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = seq == 0 ? MF_NOTFOUND : stream_get(s, seq, &m);

    if (rc == 0) {
        get_write(call, s, &m);
        stream_msg_end(&m);
        api_reply_end_quietly(call);
        return;
    }
    if (rc == MF_AGAIN) {
        call->load = (struct stream_load){.seq = seq, .done = get_loaded};
        if ((rc = stream_load(s, &call->load)) == 0)
            return;
    }
    ttl_refuse(call, rc == MF_NOMEM ? JS_INSUFFICIENT_RESOURCES : JS_NO_MESSAGE_FOUND);
}

void ttl_get_handle(struct api_call *call)
{
    struct ttl_target t = {0};
    struct stream *s;

    if (!ttl_read(call, &get_type, &t) || !ttl_target_check(call, &t, false))
        return;
    if ((s = api_call_stream(call, 1)) != NULL)
        get_seq(call, s, t.has_seq ? t.seq : stream_last_of(s, mf_str(t.subject)));
}
