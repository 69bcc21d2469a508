/* lifetime.c: applies the TTL policy to messages on their way into the store.
 *
 * lifetime_check() judges a TTL that the writer sent, at the place of nats-server's own TTL check.
 * lifetime_resolve() decides for the others inside the append, so that a member of an atomic batch
 * sees the linked records which earlier members stored.  Streams without an active policy pay one
 * comparison with NULL in each of them.
 *
 * enforce: audit stores what the writer said and counts what would have happened. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* --- the policy of a stream ----------------------------------------------------------------- */

int lifetime_compile(const struct stream_config *c, const struct stream_host *h,
                     struct policy **out)
{
    int rc = config_policy_stored(c, h->account, h->ttl, out);

    if (rc == 0 && *out != NULL && policy_view(*out)->invalid != NULL)
        log_warn("stream %s: its own TTL policy is not in force: %s", c->name,
                 policy_view(*out)->invalid);
    return rc;
}

/* The counts go on while the rules have the same effect. */
static void start_hits(struct stream *s, const struct policy *p)
{
    size_t n = p == NULL ? 0 : policy_view(p)->nrules;

    if (s->rule_hits != NULL && policy_equal(s->policy, p))
        return;
    free(s->rule_hits);
    s->rule_hits = n == 0 ? NULL : calloc(n + 1, sizeof *s->rule_hits);
}

void lifetime_use(struct stream *s, struct policy *p)
{
    bool opened = s->dedup != NULL; /* a stream that is being opened has no change to report */

    if (opened && !policy_equal(s->policy, p))
        summary_count_change(s, STREAM_TTL_POLICY);
    start_hits(s, p);
    policy_free(s->policy);
    s->policy = p;
    s->governor = p != NULL && policy_view(p)->active ? p : NULL;
    const struct policy_keys *k = s->governor == NULL ? NULL : &policy_view(p)->keys;
    bool acts = k != NULL && k->enforce == POLICY_ENFORCE_ON;
    s->slides = acts && k->slide == POLICY_SLIDE_READ;
    s->on_expire = acts ? k->on_expire : NULL;
    if (s->governor != NULL)
        hour_start(s);
}

bool stream_slides(const struct stream *s)
{
    return s->slides;
}

const struct policy *stream_policy(const struct stream *s)
{
    return s->policy;
}

int stream_policy_reload(struct stream *s)
{
    struct policy *next;
    int rc = lifetime_compile(&s->cfg, s->host, &next);

    if (rc != 0)
        return rc;
    if (policy_equal(s->policy, next)) {
        policy_free(next);
        return 0;
    }
    lifetime_use(s, next);
    if ((rc = linked_start(s)) != 0 || (rc = warn_start(s)) != 0)
        return rc;
    return 1;
}

const uint64_t *stream_rule_hits(const struct stream *s)
{
    return s->rule_hits;
}

const struct stream_ttl_stats *stream_ttl_stats(const struct stream *s)
{
    return &s->ttl_stats;
}

/* --- the facts ------------------------------------------------------------------------------ */

/* Markers are ours, and a schedule's plan lives until it is done. */
static bool is_exempt(const struct intake *in)
{
    return in->marker || in->restored || in->h.schedule.len > 0;
}

/* In a stream with a policy, in force or not, a backup's Nats-TTL is the deadline that the message
 * had there. */
static int64_t own_ttl(const struct stream *s, const struct intake *in)
{
    return s->cfg.allow_msg_ttl || (in->restored && s->policy != NULL) ? in->ttl_ns : TTL_NONE;
}

static void decide_lifetime(struct stream *s, const struct intake *in, int64_t client_ttl,
                            bool copy, struct policy_decision *d)
{
    struct policy_message m = lifetime_message(s, in, client_ttl);

    m.copy = copy;
    policy_resolve(s->governor, &m, d);
}

/* --- a TTL that the writer sent ------------------------------------------------------------- */

int lifetime_rewrite(struct stream *s, struct intake *in, int64_t ttl_ns)
{
    char text[24];
    struct mf_buf without = MF_BUF_INIT, out = MF_BUF_INIT;
    size_t n = proto_put_u64((uint8_t *)text, (uint64_t)(ttl_ns / CLOCK_S));
    int rc = MF_NOMEM;

    header_remove(&without, in->hdr, "Nats-TTL"); /* it moves to the end, as in nats-server */
    header_set(&out, mf_buf_slice(&without), "Nats-TTL", mf_slice(text, n));
    if (mf_buf_failed(&without))
        mf_buf_fini(&out);
    else
        rc = intake_replace(s, in, &out);
    mf_buf_fini(&without);
    if (rc == 0)
        in->ttl_ns = ttl_ns;
    return rc;
}

/* Whole seconds, as a header has them, on the allowed side of the bound. */
static int64_t whole_seconds(const struct policy_decision *d)
{
    bool raised = d->asked != TTL_NEVER && d->asked < d->ttl;
    int64_t seconds = (d->ttl + (raised ? CLOCK_S - 1 : 0)) / CLOCK_S;

    return (seconds > 0 ? seconds : 1) * CLOCK_S;
}

static int clamp_header(struct stream *s, struct intake *in, const struct policy_decision *d)
{
    if (d->ttl <= 0) { /* no rule gives a duration: the header is removed */
        struct mf_buf without = MF_BUF_INIT;
        header_remove(&without, in->hdr, "Nats-TTL");
        in->ttl_ns = TTL_NONE;
        return intake_replace(s, in, &without);
    }
    return lifetime_rewrite(s, in, whole_seconds(d));
}

static void count_audit(struct stream *s, const struct policy_decision *d)
{
    s->ttl_stats.would_clamp += d->verdict == POLICY_CLAMPED;
    s->ttl_stats.would_reject += d->verdict == POLICY_REJECTED;
}

int lifetime_judge(struct stream *s, struct intake *in, bool copy, struct js_error *e)
{
    struct policy_decision d;
    char why[POLICY_REFUSAL];
    int rc = 0;

    if (is_exempt(in) || own_ttl(s, in) == TTL_NONE)
        return 0;
    decide_lifetime(s, in, in->ttl_ns, copy, &d);
    if (lifetime_is_audit(s->governor)) {
        count_audit(s, &d);
        summary_add_decision(s, in->subject, &d);
        return 0;
    }
    if (d.verdict == POLICY_REJECTED) {
        s->ttl_stats.rejected++;
        summary_add_decision(s, in->subject, &d);
        return js_error_set_text(e, JS_MESSAGE_TTL_INVALID, "invalid per-message TTL: %s",
                                 policy_refusal(why, &d));
    }
    if (d.verdict == POLICY_CLAMPED) {
        rc = clamp_header(s, in, &d);
        in->clamped = rc == 0;
        s->ttl_stats.clamped += rc == 0;
        if (rc == 0)
            summary_add_decision(s, in->subject, &d);
    }
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

/* --- inside the append ---------------------------------------------------------------------- */

static int64_t resolve_ttl(struct stream *s, struct intake *in, int64_t own)
{
    struct policy_decision d = {.ttl = own, .by = POLICY_BY_CLIENT};

    if (own == TTL_NONE) {
        decide_lifetime(s, in, TTL_NONE, false, &d);
        if (s->rule_hits != NULL)
            s->rule_hits[d.matched ? d.rule : policy_view(s->governor)->nrules]++;
        if (lifetime_is_audit(s->governor)) {
            s->ttl_stats.would_set += d.ttl != TTL_NONE;
            if (d.ttl != TTL_NONE)
                summary_add_would_set(s, in->subject);
            d = (struct policy_decision){.ttl = TTL_NONE, .by = POLICY_BY_NONE};
        }
        s->ttl_stats.rule_clamped += d.rule_clamped;
    }
    s->ttl_stats.decided[d.by]++;
    in->decision = d;
    return d.ttl;
}

int64_t lifetime_resolve_by(struct stream *s, struct intake *in)
{
    int64_t own = own_ttl(s, in);

    return s->governor == NULL || is_exempt(in) ? own : resolve_ttl(s, in, own);
}

bool lifetime_show(struct stream *s, const struct intake *in, struct stream_ack_ttl *out)
{
    struct policy_decision d = in->decision;

    out->shown = mf_eq(in->h.show_ttl, MF_LIT("show"));
    if (!out->shown && !in->clamped)
        return false;
    if (s->governor == NULL || is_exempt(in)) {
        d.ttl = own_ttl(s, in);
        d.by = d.ttl != TTL_NONE       ? POLICY_BY_CLIENT
               : s->cfg.max_age_ns > 0 ? POLICY_BY_MAX_AGE
                                       : POLICY_BY_NONE;
    }
    out->deadline_ns = in->deadline_ns;
    policy_ttl_text(out->ttl, d.ttl);
    policy_by_text(out->decided_by, s->governor, &d);
    return true;
}

/* --- messages that are tried out ------------------------------------------------------------ */

int stream_policy_try(const struct stream *s, const struct json_map *keys, struct policy **out,
                      struct mf_error *e)
{
    const struct json_map *own = &s->cfg.metadata;
    struct stream_config c = s->cfg; /* borrowed; only the map is another */
    struct json_pair *at = calloc(own->n + keys->n + 1, sizeof *at);
    size_t n = 0;
    int rc;

    if (at == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < own->n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < keys->n && !replaced; k++)
            replaced = strcmp(own->at[i].key, keys->at[k].key) == 0;
        if (!replaced)
            at[n++] = own->at[i];
    }
    for (size_t k = 0; k < keys->n; k++)
        at[n++] = keys->at[k];
    c.metadata = (struct json_map){.at = at, .n = n, .set = true};
    rc = config_policy(&c, s->host->account, s->host->ttl, out, e);
    free(at);
    return rc;
}

/* The writer's TTL as a publish would read it.  False: refused. */
static bool try_ttl(struct stream *s, struct stream_try *t, int64_t *ttl)
{
    struct mf_slice value;

    *ttl = TTL_NONE;
    if (!header_get(t->hdr, "Nats-TTL", &value) || value.len == 0)
        return true;
    if (ttl_parse(value, s->host->strict, ttl) != 0)
        js_error_set(&t->error, JS_MESSAGE_TTL_INVALID);
    else if (*ttl != TTL_NONE && !s->cfg.allow_msg_ttl)
        js_error_set(&t->error, JS_MESSAGE_TTL_DISABLED);
    else
        return true;
    return false;
}

void stream_ttl_try(struct stream *s, const struct policy *p, int64_t now_ns, struct stream_try *t)
{
    struct intake in = {
        .subject = t->subject, .hdr = t->hdr, .payload = t->payload, .ts_ns = now_ns};
    struct policy_decision *d = &t->decision;
    char why[POLICY_REFUSAL];
    int64_t own;

    t->refused = !try_ttl(s, t, &own);
    *d = (struct policy_decision){.ttl = own,
                                  .by = own == TTL_NONE ? POLICY_BY_NONE : POLICY_BY_CLIENT};
    if (t->refused)
        return;
    if (p != NULL && (policy_view(p)->active || policy_view(p)->invalid == NULL)) {
        struct policy_message m = lifetime_message(s, &in, own);
        m.trace = t->trace;
        m.trace_arg = t->trace_arg;
        policy_resolve(p, &m, d);
    }
    if (d->verdict == POLICY_REJECTED) {
        t->refused = true;
        js_error_set_text(&t->error, JS_MESSAGE_TTL_INVALID, "invalid per-message TTL: %s",
                          policy_refusal(why, d));
        return;
    }
    t->deadline_ns = expire_deadline(s, now_ns, d->ttl);
}
