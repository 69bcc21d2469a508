/* lifetime.c: applies the TTL policy to messages on their way into the store.
 *
 * lifetime_check() judges a TTL that the writer sent, at the place of nats-server's own TTL check.
 * lifetime_resolve() decides for the others inside the append, so that a member of an atomic batch
 * sees the linked records which earlier members stored.  Streams without an active policy pay one
 * comparison with NULL in each of them.
 *
 * enforce: audit stores what the writer said and counts what would have happened. */
#include "lifetime.h"

#include "mayfly/clock.h"
#include "mayfly/log.h"

/* --- the policy of a stream ----------------------------------------------------------------- */

int lifetime_compile(const struct stream_config *c, const struct stream_host *h,
                     struct policy **out)
{
    struct mf_error e;
    int rc = config_policy(c, h->account, h->ttl, out, &e);

    if (rc == 0 || rc == MF_NOMEM)
        return rc;
    log_warn("stream %s: the TTL policy is not in force: %s", c->name, e.text);
    *out = policy_invalid(e.text);
    return *out == NULL ? MF_NOMEM : 0;
}

void lifetime_use(struct stream *s, struct policy *p)
{
    policy_free(s->policy);
    s->policy = p;
    s->governor = p != NULL && policy_view(p)->active ? p : NULL;
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
    return 1;
}

const struct stream_ttl_stats *stream_ttl_stats(const struct stream *s)
{
    return &s->ttl_stats;
}

static bool is_audit(const struct stream *s)
{
    return policy_view(s->governor)->keys.enforce == POLICY_ENFORCE_AUDIT;
}

/* --- the facts ------------------------------------------------------------------------------ */

/* Markers are ours, and a schedule's plan lives until it is done. */
static bool is_exempt(const struct intake *in)
{
    return in->marker || in->restored || in->h.schedule.len > 0;
}

/* In a governed stream a backup's Nats-TTL is the deadline that the message had there. */
static int64_t own_ttl(const struct stream *s, const struct intake *in)
{
    return s->cfg.allow_msg_ttl || (in->restored && s->governor != NULL) ? in->ttl_ns : TTL_NONE;
}

/* A linked record: the last accepted message of its subject, no tombstone, without a deadline. */
static bool is_permanent(void *arg, struct mf_slice subject)
{
    struct stream *s = arg;
    uint64_t count, seq = store_key_last_accepted(s->store, subject, &count);
    uint16_t flags = 0;
    int64_t deadline_ns;

    return seq != 0 && store_flags(s->store, seq, &flags) && (flags & MSG_TOMBSTONE) == 0 &&
           !store_deadline(s->store, seq, &deadline_ns);
}

static void decide(struct stream *s, const struct intake *in, int64_t client_ttl, bool copy,
                   struct policy_decision *d)
{
    struct policy_message m = {.subject = in->subject,
                               .hdr = in->hdr,
                               .payload = in->payload,
                               .ts_ns = in->ts_ns,
                               .client_ttl = client_ttl,
                               .copy = copy,
                               .permanent = is_permanent,
                               .arg = s};

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

static int clamp(struct stream *s, struct intake *in, const struct policy_decision *d)
{
    if (d->ttl <= 0) { /* nobody says a duration: the header goes */
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
    decide(s, in, in->ttl_ns, copy, &d);
    if (is_audit(s)) {
        count_audit(s, &d);
        return 0;
    }
    if (d.verdict == POLICY_REJECTED) {
        s->ttl_stats.rejected++;
        return js_refuse_text(e, JS_MESSAGE_TTL_INVALID, "invalid per-message TTL: %s",
                              policy_refusal(why, &d));
    }
    if (d.verdict == POLICY_CLAMPED) {
        rc = clamp(s, in, &d);
        in->clamped = rc == 0;
        s->ttl_stats.clamped += rc == 0;
    }
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

/* --- inside the append ---------------------------------------------------------------------- */

static int64_t resolve(struct stream *s, struct intake *in, int64_t own)
{
    struct policy_decision d = {.ttl = own, .by = POLICY_BY_CLIENT};

    if (own == TTL_NONE) {
        decide(s, in, TTL_NONE, false, &d);
        if (is_audit(s)) {
            s->ttl_stats.would_set += d.ttl != TTL_NONE;
            d = (struct policy_decision){.ttl = TTL_NONE, .by = POLICY_BY_NONE};
        }
        s->ttl_stats.rule_clamped += d.rule_clamped;
    }
    s->ttl_stats.decided[d.by]++;
    in->decision = d;
    return d.ttl;
}

int64_t lifetime_resolve(struct stream *s, struct intake *in)
{
    int64_t own = own_ttl(s, in);

    return s->governor == NULL || is_exempt(in) ? own : resolve(s, in, own);
}

bool lifetime_show(struct stream *s, const struct intake *in, struct stream_ack_ttl *out)
{
    struct policy_decision d = in->decision;

    out->shown = mf_eq(in->h.show_ttl, MF_LIT("show"));
    if (!out->shown && !in->clamped)
        return false;
    if (s->governor == NULL || is_exempt(in)) {
        d.ttl = own_ttl(s, in);
        d.by = d.ttl != TTL_NONE      ? POLICY_BY_CLIENT
               : s->cfg.max_age_ns > 0 ? POLICY_BY_MAX_AGE
                                       : POLICY_BY_NONE;
    }
    out->deadline_ns = in->deadline_ns;
    policy_ttl_text(out->ttl, d.ttl);
    policy_by_text(out->decided_by, s->governor, &d);
    return true;
}

/* --- messages that are stored --------------------------------------------------------------- */

static int64_t header_ttl(const struct stream *s, struct mf_slice hdr)
{
    struct mf_slice value;
    int64_t ttl = TTL_NONE;

    if (!s->cfg.allow_msg_ttl || !header_get(hdr, "Nats-TTL", &value) ||
        ttl_parse(value, s->host->strict, &ttl) != 0)
        return TTL_NONE;
    return ttl;
}

bool stream_ttl_decide(struct stream *s, const struct stream_msg *m, int64_t from_ns,
                       struct policy_decision *d)
{
    struct intake in = {
        .subject = m->subject, .hdr = m->hdr, .payload = m->payload, .ts_ns = from_ns};
    int64_t own = header_ttl(s, m->hdr);

    *d = (struct policy_decision){.ttl = own,
                                  .by = own == TTL_NONE ? POLICY_BY_NONE : POLICY_BY_CLIENT};
    if (s->governor != NULL && !is_audit(s))
        decide(s, &in, own, true, d);
    if (d->ttl == TTL_NONE && s->cfg.max_age_ns > 0)
        d->by = POLICY_BY_MAX_AGE;
    return d->by != POLICY_BY_NONE;
}

int64_t stream_ttl_deadline(const struct stream *s, int64_t from_ns, int64_t ttl)
{
    return expire_deadline(s, from_ns, ttl);
}
