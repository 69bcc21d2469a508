/* ttl_what_if.c: POLICY with `what_if`: keys that are not set, tried on all messages of a stream.
 *
 * Happy path: the policy is compiled; the messages are visited in slices, those that are not in
 * memory are read from disk in between; nothing is written.  The answer shows how many of them
 * BACKFILL would change, and the steady state of the stream.  O(messages).
 * Failure: if the stream is deleted or created anew meanwhile, the answer is 404. */
#include "api/ttl_api_impl.h"
#include "api/ttl_numbers.h"

#include "stream/backfill.h"
#include "base/clock.h"

#include <stdlib.h>

struct what_if {
    struct api_call *call;
    struct policy *policy; /* NULL: none */
    int64_t created_ns;    /* of its stream */
    uint64_t last;         /* messages stored meanwhile are not visited */
    struct stream_cursor *cursor;
    struct backfill_trial trial;
};

static void what_if_fini(void *state)
{
    struct what_if *x = state;

    stream_cursor_free(x->cursor);
    policy_free(x->policy);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void write_counts(struct jsonw *w, const char *from, const struct backfill_counts *n)
{
    jsonw_object(w, from);
    jsonw_u64(w, "change", n->set + n->infinite);
    jsonw_u64(w, "set", n->set);
    jsonw_u64(w, "infinite", n->infinite);
    jsonw_u64(w, "unchanged", n->unchanged);
    jsonw_u64(w, "expire_now", n->expire_now);
    jsonw_end(w);
}

static void write_backfill(struct jsonw *w, const struct backfill_trial *t)
{
    jsonw_object(w, "backfill");
    jsonw_str(w, "which", "all");
    jsonw_u64(w, "seen", t->seen);
    jsonw_u64(w, "pinned", t->pinned);
    write_counts(w, "from_now", &t->now);
    write_counts(w, "from_written", &t->written);
    jsonw_object(w, "decided");
    for (int by = 0; by < POLICY_BYS; by++)
        jsonw_opt_u64(w, policy_by_word((enum policy_by)by), t->decided[by]);
    jsonw_end(w);
    jsonw_end(w);
}

/* A stream without a policy has no counts per hour: its messages give the rate. */
static void complete_hour(const struct what_if *x, struct stream_hour *h)
{
    if (h->since_ns != 0)
        return;
    h->covered_ns = x->trial.now_ns - x->trial.recent_ns;
    h->stored = x->trial.recent;
    h->stored_bytes = x->trial.recent_bytes;
}

/* The messages of the last hour would have got these TTLs.  If none of them is left, the default
 * stands for all. */
static struct stream_steady steady_then(const struct what_if *x, const struct stream_hour *h)
{
    const struct backfill_trial *t = &x->trial;
    const struct policy_view *v = x->policy == NULL ? NULL : policy_view(x->policy);
    double stored = (double)h->stored;

    if (t->recent > 0)
        return stream_steady_of(h, stored * (double)t->recent_ttls / (double)t->recent,
                                stored * t->recent_ttl_sum_s / (double)t->recent);
    if (v == NULL || !v->active || v->keys.default_ttl <= 0)
        return stream_steady(h);
    return stream_steady_of(h, stored, stored * (double)v->keys.default_ttl / 1e9);
}

static void answer_request(struct what_if *x, struct stream *s)
{
    struct jsonw *w = api_reply_begin(x->call);
    struct stream_hour h;

    stream_hour(s, &h);
    struct stream_steady before = stream_steady(&h);
    complete_hour(x, &h);
    struct stream_steady then = steady_then(x, &h);
    ttl_json_policy(w, s, x->policy);
    write_backfill(w, &x->trial);
    ttl_json_steady(w, "steady", &then);
    ttl_json_steady(w, "steady_before", &before);
    api_reply_end_quietly(x->call);
}

/* --- slices ----------------------------------------------------------------------------------- */

static bool what_if_step(struct api_call *call);

static struct stream *stream_of(struct what_if *x)
{
    struct api_call *call = x->call;
    struct stream *s =
        call->ja->closing ? NULL : catalog_find(call->ja->catalog, api_call_token(call, 1));

    return s != NULL && stream_created_ns(s) == x->created_ns ? s : NULL;
}

static void finish_load(struct stream_load *l, int status)
{
    struct api_call *call = mf_container(l, struct api_call, load);
    struct what_if *x = call->state;
    struct stream *s = stream_of(x);

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return;
    }
    if (status == 0)
        backfill_try(s, &x->trial, &l->msg);
    api_call_slices(call, what_if_step);
}

/* False: it is being read. */
static bool look_at(struct what_if *x, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    if (rc == 0) {
        backfill_try(s, &x->trial, &m);
        stream_msg_end(&m);
    }
    if (rc != MF_AGAIN)
        return true; /* also if it was removed or is damaged */
    api_call_dequeue(x->call);
    x->call->load = (struct stream_load){.seq = seq, .done = finish_load};
    if (stream_load(s, &x->call->load) == 0)
        return false;
    api_call_slices(x->call, what_if_step);
    return true;
}

static bool what_if_step(struct api_call *call)
{
    struct what_if *x = call->state;
    struct stream *s = stream_of(x);
    bool more;

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    if (!api_call_heard(call)) /* the reply has no subscriber any more */
        return false;
    do {
        uint64_t seq = stream_cursor_next(x->cursor, &more);
        if ((seq == 0 && !more) || seq > x->last) {
            answer_request(x, s);
            return false;
        }
        if (seq != 0 && !look_at(x, s, seq))
            return false;
    } while (!js_slice_spent(call->ja, 1));
    return true;
}

/* --- the request ------------------------------------------------------------------------------ */

/* The time that the last hour of the stream covers. */
static int64_t recent_since(struct stream *s, int64_t now_ns)
{
    struct stream_hour h;
    int64_t hour_ago_ns = now_ns - 3600 * CLOCK_S;

    stream_hour(s, &h);
    if (h.since_ns != 0)
        return now_ns - h.covered_ns;
    return stream_created_ns(s) > hour_ago_ns ? stream_created_ns(s) : hour_ago_ns;
}

void ttl_what_if_start(struct api_call *call, struct stream *s, const struct json_map *keys)
{
    struct what_if *x = calloc(1, sizeof *x);
    int64_t now_ns = jetstream_now_ns(call->aa->api->js);

    api_call_set_state(call, x, what_if_fini);
    if (x == NULL) {
        api_reply_no_memory(call);
        return;
    }
    x->call = call;
    if (!ttl_policy_try(call, s, keys, &x->policy))
        return;
    x->created_ns = stream_created_ns(s);
    x->last = stream_last_accepted(s);
    x->trial = (struct backfill_trial){
        .policy = x->policy, .now_ns = now_ns, .recent_ns = recent_since(s, now_ns)};
    if (stream_cursor_new(&x->cursor, s, MF_LIT(">"), false, 1) != 0)
        api_reply_no_memory(call);
    else if (api_call_heard(call))
        api_call_slices(call, what_if_step);
}
