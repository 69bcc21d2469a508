/* redeadline_plan.c: which stored messages have deadlines by which terms, and their deadlines by
 * new ones.
 *
 * A renewed deadline (TOUCH, a read that slides) is later than timestamp + TTL; the record does not
 * say when it was renewed.  That time is the deadline minus the TTL under the former terms, so the
 * former terms are kept until the job has passed the message. */
#include "stream/redeadline_plan_impl.h"

#include "base/le.h"

#define VERSION     2
#define UNKNOWN_AGE (-1) /* max_age of terms that are not known */

/* --- the plan ------------------------------------------------------------------------------- */

uint64_t redeadline_plan_end(const struct redeadline_plan *p)
{
    return p->n == 0 ? 0 : p->parts[p->n - 1].upto;
}

const struct redeadline_part *redeadline_plan_part(const struct redeadline_plan *p, uint64_t seq)
{
    size_t i = 0;

    while (i + 1 < p->n && p->parts[i].upto < seq)
        i++;
    return &p->parts[i];
}

static bool same_terms(const struct redeadline_terms *a, const struct redeadline_terms *b)
{
    return a->max_age_ns == b->max_age_ns && a->allow_msg_ttl == b->allow_msg_ttl;
}

static int add_part(struct redeadline_plan *p, uint64_t upto, const struct redeadline_terms *t)
{
    if (upto <= redeadline_plan_end(p))
        return 0;
    if (p->n > 0 && same_terms(&p->parts[p->n - 1].terms, t)) {
        p->parts[p->n - 1].upto = upto;
        return 0;
    }
    if (p->n == REDEADLINE_PARTS)
        return MF_AGAIN;
    p->parts[p->n++] = (struct redeadline_part){upto, *t};
    return 0;
}

int redeadline_plan_change(struct redeadline_plan *p, const struct redeadline_terms *before,
                           uint64_t last)
{
    struct redeadline_plan old = *p;
    int rc;

    *p = (struct redeadline_plan){.next = 1};
    rc = add_part(p, old.next - 1, before); /* these are done */
    for (size_t i = 0; i < old.n && rc == 0; i++)
        if (old.parts[i].upto >= old.next)
            rc = add_part(p, old.parts[i].upto, &old.parts[i].terms);
    if (rc == 0)
        rc = add_part(p, last, before);
    if (rc != 0)
        *p = old;
    return rc;
}

size_t redeadline_plan_write(const struct redeadline_plan *p, uint8_t out[REDEADLINE_PLAN_MAX])
{
    uint8_t *at = out + 10;

    out[0] = VERSION;
    le64_put(out + 1, p->next);
    out[9] = (uint8_t)p->n;
    for (size_t i = 0; i < p->n; i++, at += 17) {
        le64_put(at, p->parts[i].upto);
        le64_put(at + 8, (uint64_t)p->parts[i].terms.max_age_ns);
        at[16] = p->parts[i].terms.allow_msg_ttl;
    }
    return (size_t)(at - out);
}

void redeadline_plan_read(struct redeadline_plan *p, struct mf_slice bytes, uint64_t last)
{
    const uint8_t *at = bytes.ptr + 10;

    *p = (struct redeadline_plan){.next = 1, .n = 1, .parts = {{last, {UNKNOWN_AGE, false}}}};
    if (bytes.len < 10 || bytes.ptr[0] != VERSION || bytes.ptr[9] > REDEADLINE_PARTS ||
        bytes.len != 10 + (size_t)bytes.ptr[9] * 17)
        return;
    p->next = le64_get(bytes.ptr + 1);
    p->n = bytes.ptr[9];
    for (size_t i = 0; i < p->n; i++, at += 17)
        p->parts[i] =
            (struct redeadline_part){le64_get(at), {(int64_t)le64_get(at + 8), at[16] != 0}};
}

/* --- deadlines ------------------------------------------------------------------------------ */

int redeadline_policy(const struct stream *s, const struct redeadline_terms *t, struct policy **out)
{
    struct stream_config c = s->cfg; /* borrowed */

    *out = NULL;
    if (s->governor == NULL || t->max_age_ns == UNKNOWN_AGE)
        return 0;
    c.max_age_ns = t->max_age_ns;
    c.allow_msg_ttl = t->allow_msg_ttl;
    return config_policy_stored(&c, s->host->account, s->host->ttl, out);
}

/* The TTL of a stored message under some terms; TTL_NONE: it has no end. */
static int64_t ttl_under(struct stream *s, const struct store_rec *r, int64_t max_age_ns,
                         bool allow_msg_ttl, const struct policy *policy)
{
    int64_t ttl = lifetime_stored_ttl(s, r, allow_msg_ttl, policy);

    if (ttl == TTL_NEVER)
        return TTL_NONE;
    return max_age_ns > 0 && (ttl == TTL_NONE || ttl > max_age_ns) ? max_age_ns : ttl;
}

/* The time from which the TTL of the message counts: its timestamp or its renewal, never in the
 * future. */
static int64_t base_of(struct stream *s, const struct store_rec *r,
                       const struct redeadline_terms *before, const struct policy *policy,
                       int64_t now_ns)
{
    int64_t ttl, base;

    if (r->deadline_ns == 0 || before->max_age_ns == UNKNOWN_AGE)
        return r->ts_ns;
    ttl = ttl_under(s, r, before->max_age_ns, before->allow_msg_ttl, policy);
    base = ttl > 0 ? r->deadline_ns - ttl : r->ts_ns;
    base = base < now_ns ? base : now_ns;
    return base > r->ts_ns ? base : r->ts_ns;
}

int64_t redeadline_compute(struct stream *s, const struct store_rec *r,
                           const struct redeadline_terms *before, const struct policy *policy,
                           int64_t now_ns)
{
    /* A message that had no end keeps none by the policy: BACKFILL is how old messages follow. */
    const struct policy *governor = r->deadline_ns == 0 ? NULL : s->governor;
    int64_t ttl = ttl_under(s, r, s->cfg.max_age_ns, s->cfg.allow_msg_ttl, governor);

    /* Neither max_age gave it this end nor anybody who still speaks: a former policy did. */
    if (ttl == TTL_NONE && r->deadline_ns != 0 && before->max_age_ns == 0)
        return r->deadline_ns;
    return ttl == TTL_NONE
               ? 0
               : ttl_deadline(base_of(s, r, before, policy, now_ns), ttl, s->host->strict);
}
