/* lifetime_stored.c: the TTL of messages that are stored: by their header, else by the policy. */
#include "stream/lifetime_impl.h"

bool lifetime_is_audit(const struct policy *p)
{
    return policy_view(p)->keys.enforce == POLICY_ENFORCE_AUDIT;
}

bool lifetime_is_permanent(struct stream *s, struct mf_slice subject)
{
    uint64_t count, seq = store_key_last_accepted(s->store, subject, &count);
    uint16_t flags = 0;
    int64_t deadline_ns;

    return seq != 0 && store_life(s->store, seq, &deadline_ns, &flags) && deadline_ns == 0 &&
           (flags & MSG_TOMBSTONE) == 0;
}

static bool is_permanent(void *arg, struct mf_slice subject)
{
    return lifetime_is_permanent(arg, subject);
}

struct policy_message lifetime_message(struct stream *s, const struct intake *in,
                                       int64_t client_ttl)
{
    return (struct policy_message){.subject = in->subject,
                                   .hdr = in->hdr,
                                   .payload = in->payload,
                                   .ts_ns = in->ts_ns,
                                   .client_ttl = client_ttl,
                                   .permanent = is_permanent,
                                   .arg = s};
}

static int64_t header_ttl(const struct stream *s, struct mf_slice hdr)
{
    struct mf_slice value;
    int64_t ttl = TTL_NONE;

    if (!header_get(hdr, "Nats-TTL", &value) || ttl_parse(value, s->host->strict, &ttl) != 0)
        return TTL_NONE;
    return ttl;
}

static bool is_marker(struct mf_slice hdr)
{
    struct mf_slice value;

    return header_get(hdr, "Nats-Marker-Reason", &value);
}

/* A server's marker, and a plan of a schedule, have their own TTL alone. */
static bool is_exempt(struct mf_slice hdr)
{
    struct mf_slice value;

    return header_get(hdr, "Nats-Schedule", &value) || is_marker(hdr);
}

/* Bounds cut a TTL that was stored before they were set. */
static void decide_by(struct stream *s, const struct policy *p, const struct intake *in,
                      int64_t own, bool (*permanent)(void *arg, struct mf_slice subject),
                      struct policy_decision *d)
{
    *d = (struct policy_decision){.ttl = own,
                                  .by = own == TTL_NONE ? POLICY_BY_NONE : POLICY_BY_CLIENT};
    if (p == NULL || !policy_view(p)->active || lifetime_is_audit(p) || is_exempt(in->hdr))
        return;
    struct policy_message m = lifetime_message(s, in, own);
    m.copy = true;
    m.permanent = permanent;
    policy_resolve(p, &m, d);
}

bool stream_ttl_decide(struct stream *s, const struct stream_msg *m, int64_t from_ns,
                       struct policy_decision *d)
{
    struct intake in = {
        .subject = m->subject, .hdr = m->hdr, .payload = m->payload, .ts_ns = from_ns};

    decide_by(s, s->governor, &in, s->cfg.allow_msg_ttl ? header_ttl(s, m->hdr) : TTL_NONE,
              is_permanent, d);
    d->marker = d->ttl != TTL_NONE && is_marker(m->hdr);
    if (d->ttl == TTL_NONE && s->cfg.max_age_ns > 0)
        d->by = POLICY_BY_MAX_AGE;
    return d->ttl != TTL_NONE || s->cfg.max_age_ns > 0;
}

/* A body that cannot be read says nothing: the next rule is tried. */
static void decide_stored(struct stream *s, const struct store_rec *r, int64_t from_ns,
                          bool allow_msg_ttl, const struct policy *policy,
                          bool (*permanent)(void *arg, struct mf_slice subject),
                          struct policy_decision *d)
{
    struct intake in = {.subject = r->key, .hdr = r->head, .payload = r->body, .ts_ns = from_ns};
    struct mf_buf plain = MF_BUF_INIT;

    if (policy != NULL && (r->flags & MSG_COMPRESSED) != 0 &&
        compress_undo(r->body, &plain, &in.payload) != 0)
        in.payload = MF_SLICE_NONE;
    decide_by(s, policy, &in, allow_msg_ttl ? header_ttl(s, r->head) : TTL_NONE, permanent, d);
    mf_buf_fini(&plain);
}

int64_t lifetime_stored_ttl(struct stream *s, const struct store_rec *r, bool allow_msg_ttl,
                            const struct policy *policy)
{
    struct policy_decision d;

    decide_stored(s, r, r->ts_ns, allow_msg_ttl, policy, is_permanent, &d);
    return d.ttl;
}

void lifetime_stored_decide(struct stream *s, const struct policy *p, const struct store_rec *r,
                            int64_t from_ns, struct policy_decision *d)
{
    decide_stored(s, r, from_ns, s->cfg.allow_msg_ttl, p, is_permanent, d);
}

static bool accept_any(void *arg, struct mf_slice subject)
{
    (void)arg;
    (void)subject;
    return true;
}

bool lifetime_may_be_linked(struct stream *s, const struct store_rec *r)
{
    struct policy_decision d;

    decide_stored(s, r, r->ts_ns, s->cfg.allow_msg_ttl, s->governor, accept_any, &d);
    return d.link_denied || (d.by == POLICY_BY_RULE && d.linked);
}
