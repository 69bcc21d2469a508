/* ttl_backfill.c: BACKFILL: start, status, pause, resume and stop of the job that applies the
 * policy to stored messages (backfill.h). */
#include "api/ttl_api_impl.h"

#include "stream/backfill.h"
#include "base/clock.h"
#include "subject/subject.h"

#include <stdio.h>

struct backfill_request {
    char *action, *which, *filter, *from, *spread;
    bool dry_run;
    int64_t rate;
    uint64_t expire_now;
};
#define FIELD(json, sort, member)                                                                  \
    {                                                                                              \
        .name = (json), .kind = (sort), .offset = offsetof(struct backfill_request, member)        \
    }
static const struct json_field fields[] = {
    FIELD("action", JSON_STR, action), FIELD("which", JSON_STR, which),
    FIELD("filter", JSON_STR, filter), FIELD("from", JSON_STR, from),
    FIELD("spread", JSON_STR, spread), FIELD("dry_run", JSON_BOOL, dry_run),
    FIELD("rate", JSON_INT, rate),     FIELD("expire_now", JSON_U64, expire_now),
};
static const struct json_type type = {"TTLBackfillRequest", sizeof(struct backfill_request), fields,
                                      MF_COUNT(fields)};

static void answer_status(struct api_call *call, struct stream *s)
{
    struct jsonw *w = api_reply_begin(call);

    jsonw_str(w, "stream", stream_name(s));
    js_json_job(w, backfill_status(s), jetstream_now_ns(call->aa->api->js));
    api_reply_end(call);
}

static void on_disk(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct api_call *call = mf_container(op, struct api_call, sop);

    (void)count;
    if (e != NULL)
        api_reply_error(call, e);
    else if (backfill_status(op->stream) == NULL) /* the stream was closed meanwhile */
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
    else
        answer_status(call, op->stream);
}

/* --- start ------------------------------------------------------------------------------------ */

static bool is_word(const char *text, const char *usual, const char *other, bool *is_other)
{
    *is_other = text != NULL && strcmp(text, other) == 0;
    return text == NULL || *is_other || strcmp(text, usual) == 0;
}

static bool read_spread(const char *text, int64_t *ns)
{
    return text == NULL || text[0] == '\0' || strcmp(text, "0") == 0 || strcmp(text, "0s") == 0 ||
           policy_parse_duration(mf_str(text), ns) == 0;
}

/* NULL: *o is the request; else a text about the error. */
static const char *read_opts(const struct backfill_request *r, struct backfill_opts *o)
{
    *o = (struct backfill_opts){.dry_run = r->dry_run,
                                .rate = r->rate == 0 ? BACKFILL_RATE_DEFAULT : (uint64_t)r->rate,
                                .expire_now = r->expire_now};
    if (!is_word(r->which, "without", "all", &o->all))
        return "which must be without or all";
    if (!is_word(r->from, "now", "written", &o->written))
        return "from must be now or written";
    if (r->rate < 0 || o->rate > BACKFILL_RATE_MAX)
        return "rate must be 1 to 1000000";
    if (r->filter != NULL && r->filter[0] != '\0' && strcmp(r->filter, ">") != 0) {
        if (!subject_valid(mf_str(r->filter)) || strlen(r->filter) > 255)
            return "filter must be a valid subject filter of at most 255 bytes";
        o->filter = r->filter;
    }
    return read_spread(r->spread, &o->spread_ns) ? NULL
                                                 : "spread must be 0 or a duration of 1s to 36500d";
}

/* A dry run with the same words has counted how many would end at once. */
static bool is_confirmed(struct api_call *call, struct stream *s, const struct backfill_opts *o)
{
    const struct backfill_status *last = backfill_status(s);
    char text[120];

    if (o->dry_run || last == NULL || !last->opts.dry_run || last->state != BACKFILL_DONE ||
        last->opts.all != o->all || last->opts.written != o->written ||
        strcmp(last->opts.filter, o->filter == NULL ? "" : o->filter) != 0 ||
        last->expire_now <= o->expire_now)
        return true;
    (void)snprintf(text, sizeof text,
                   "backfill would expire %llu messages at once; confirm with \"expire_now\": %llu",
                   (unsigned long long)last->expire_now, (unsigned long long)last->expire_now);
    ttl_refuse_own(call, TTL_BACKFILL_EXPIRES, text);
    return false;
}

/* The store's trouble; as a publisher hears of it. */
static void refuse_store(struct api_call *call, struct stream *s, int rc)
{
    const char *why = stream_error(s);
    struct js_error e;

    if (rc == MF_NOMEM || rc == MF_FULL)
        js_error_set(&e, JS_INSUFFICIENT_RESOURCES);
    else
        js_error_set_text(&e, JS_STREAM_STORE_FAILED, "%s", why != NULL ? why : mf_err_text(rc));
    api_reply_error(call, &e);
}

static void refuse_state(struct api_call *call, struct stream *s, int rc)
{
    if (rc == MF_EXISTS)
        ttl_refuse_own(call, TTL_BACKFILL_RUNNING, "a backfill of this stream is running");
    else if (rc == MF_NOTFOUND)
        ttl_refuse_own(call, TTL_NO_BACKFILL, "there is no backfill of this stream");
    else
        refuse_store(call, s, rc);
}

static void start_backfill(struct api_call *call, struct stream *s,
                           const struct backfill_request *r)
{
    const struct policy *p = stream_policy(s);
    struct backfill_opts o;
    const char *why = read_opts(r, &o);
    int rc;

    if (why != NULL) {
        ttl_refuse_request(call, why);
    } else if (p == NULL || !policy_view(p)->active ||
               policy_view(p)->keys.enforce != POLICY_ENFORCE_ON) {
        ttl_refuse_own(call, TTL_NO_POLICY, "the stream has no TTL policy");
    } else if (is_confirmed(call, s, &o)) {
        call->sop.done = on_disk;
        if ((rc = backfill_start(s, &o, &call->sop)) != 0)
            refuse_state(call, s, rc);
    }
}

static void set_state(struct api_call *call, struct stream *s, enum backfill_state state)
{
    int rc;

    call->sop.done = on_disk;
    if ((rc = backfill_set_state(s, state, &call->sop)) != 0)
        refuse_state(call, s, rc);
}

static void run_action(struct api_call *call, struct stream *s, const struct backfill_request *r)
{
    const char *action = r->action == NULL ? "" : r->action;

    if (strcmp(action, "start") == 0)
        start_backfill(call, s, r);
    else if (strcmp(action, "pause") == 0)
        set_state(call, s, BACKFILL_PAUSED);
    else if (strcmp(action, "resume") == 0)
        set_state(call, s, BACKFILL_RUNNING);
    else if (strcmp(action, "stop") == 0)
        set_state(call, s, BACKFILL_STOPPED);
    else if (strcmp(action, "status") != 0)
        ttl_refuse_request(call, "action must be start, status, pause, resume or stop");
    else if (backfill_status(s) == NULL)
        refuse_state(call, s, MF_NOTFOUND);
    else
        answer_status(call, s);
}

/* A job that was running when its stream was sealed can still be looked at and ended. */
static bool is_start(const struct backfill_request *r)
{
    return r->action != NULL &&
           (strcmp(r->action, "start") == 0 || strcmp(r->action, "resume") == 0);
}

void ttl_backfill_handle(struct api_call *call)
{
    struct backfill_request r = {0};
    struct stream *s;

    if (!ttl_read(call, &type, &r) || (s = api_call_stream(call, 1)) == NULL)
        return;
    if (stream_config(s)->mirror != NULL)
        ttl_refuse_own(call, TTL_MIRROR, "a mirror follows its origin");
    else if (stream_config(s)->sealed && is_start(&r))
        ttl_refuse(call, JS_STREAM_SEALED);
    else
        run_action(call, s, &r);
}
