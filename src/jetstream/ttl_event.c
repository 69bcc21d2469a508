/* ttl_event.c: events about lifetimes, written only if they have a subscriber. */
#include "jetstream/advisory.h"
#include "jetstream/event.h"
#include "jetstream/js_json.h"

#include "stream/backfill.h"
#include "base/clock.h"
#include "base/lend.h"
#include "stream/stream_ttl.h"

#include <stdio.h>

#define EXPIRING "$MAYFLY.EVENT.TTL.EXPIRING."

static void write_expiring(struct mf_buf *out, struct stream *s, const struct stream_expiring *e)
{
    struct jsonw w;
    char text[CLOCK_TEXT];

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "type", "io.mayfly.event.v1.ttl_expiring");
    jsonw_str(&w, "stream", stream_name(s));
    jsonw_slice(&w, "subject", e->subject);
    jsonw_u64(&w, "seq", e->seq);
    jsonw_time(&w, "expires", e->deadline_ns);
    jsonw_i64(&w, "left_ms", e->left_ns / CLOCK_MS);
    jsonw_str(&w, "warn", clock_duration(text, e->warn_ns));
    jsonw_end(&w);
}

bool advisory_ttl_expiring(void *arg, struct stream *s, const struct stream_expiring *e)
{
    struct js_account *ja = arg;
    struct mf_buf *subject = lend_take(), text = MF_BUF_INIT;
    bool sent = false;

    if (subject == NULL)
        return false;
    mf_buf_puts(subject, EXPIRING);
    mf_buf_puts(subject, stream_name(s));
    mf_buf_byte(subject, '.');
    mf_buf_append(subject, e->subject.ptr, e->subject.len);
    if (!mf_buf_failed(subject) &&
        router_has_interest(account_router(ja->account), mf_buf_slice(subject))) {
        write_expiring(&text, s, e);
        if ((sent = !mf_buf_failed(&text)))
            js_publish(ja, mf_buf_slice(subject), MF_SLICE_NONE, MF_SLICE_NONE,
                       mf_buf_slice(&text));
    }
    mf_buf_fini(&text);
    lend_give(subject);
    return sent;
}

/* --- summaries -------------------------------------------------------------------------------- */

static const struct {
    const char *subject, *type;
} kinds[STREAM_TTL_KINDS] = {
    [STREAM_TTL_EXPIRING] = {"EXPIRING", "expiring"},
    [STREAM_TTL_EXPIRED] = {"EXPIRED", "expired"},
    [STREAM_TTL_CLAMPED] = {"CLAMPED", "clamped"},
    [STREAM_TTL_REJECTED] = {"REJECTED", "rejected"},
    [STREAM_TTL_AUDIT] = {"AUDIT", "audit"},
    [STREAM_TTL_BACKFILL] = {"BACKFILL", "backfill"},
    [STREAM_TTL_POLICY] = {"POLICY", "policy"},
};

static void put_subject(char subject[640], struct stream *s, enum stream_ttl_kind kind)
{
    (void)snprintf(subject, 640, "$JS.EVENT.ADVISORY.STREAM.TTL.%s.%s", kinds[kind].subject,
                   stream_name(s));
}

bool advisory_ttl_heard(void *arg, struct stream *s, enum stream_ttl_kind kind)
{
    struct js_account *ja = arg;
    char subject[640];

    put_subject(subject, s, kind);
    return router_has_interest(account_router(ja->account), mf_str(subject));
}

static void write_mention(struct jsonw *w, const char *name, const struct stream_ttl_mention *m)
{
    jsonw_object(w, name);
    jsonw_slice(w, "subject", m->subject);
    if (m->seq != 0)
        jsonw_u64(w, "seq", m->seq);
    if (m->limit[0] != '\0') {
        jsonw_str(w, "asked", m->asked);
        jsonw_str(w, "limit", m->limit);
    }
    jsonw_end(w);
}

static void write_counts(struct jsonw *w, const struct stream_ttl_event *e)
{
    char text[CLOCK_TEXT];

    jsonw_u64(w, "count", e->count);
    if (e->kind == STREAM_TTL_EXPIRED)
        jsonw_u64(w, "bytes", e->bytes);
    if (e->kind == STREAM_TTL_AUDIT) {
        jsonw_u64(w, "would_set", e->would_set);
        jsonw_u64(w, "would_clamp", e->would_clamp);
        jsonw_u64(w, "would_reject", e->would_reject);
    }
    write_mention(w, "first", &e->first);
    write_mention(w, "last", &e->last);
    if (e->kind == STREAM_TTL_EXPIRED) {
        jsonw_u64(w, "markers", e->markers);
        jsonw_u64(w, "dead_letters", e->dead_letters);
        jsonw_f64(w, "late_max_ms", (double)e->late_max_ns / 1e6);
    }
    if (e->kind == STREAM_TTL_EXPIRING)
        jsonw_str(w, "warn", clock_duration(text, e->warn_ns));
}

void advisory_ttl_send(void *arg, struct stream *s, const struct stream_ttl_event *e)
{
    struct js_account *ja = arg;
    const struct backfill_status *job = backfill_status(s);
    struct event v;
    char type[64];

    put_subject(v.subject, s, e->kind);
    (void)snprintf(type, sizeof type, "io.mayfly.advisory.v1.ttl_%s", kinds[e->kind].type);
    if (!event_open_as(&v, ja, type))
        return;
    jsonw_str(&v.w, "stream", stream_name(s));
    event_domain(&v);
    if (e->kind == STREAM_TTL_POLICY)
        js_json_policy(&v.w, stream_policy(s), NULL);
    else if (e->kind != STREAM_TTL_BACKFILL)
        write_counts(&v.w, e);
    else if (job != NULL)
        js_json_job(&v.w, job, jetstream_now_ns(ja->js));
    event_send(&v);
}
