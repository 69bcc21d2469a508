/* policy_resolve.c: the TTL of one message.
 *
 *     1 the writer's Nats-TTL  2 the first rule with a value  3 default  4 pattern  5 max_age
 *     6 the server's default   7 max
 *
 * Steps 3 to 7 are the same for every message of a stream: policy_merge.c computed them.  Then
 * come the bounds, the extra hour of an object's chunks, and the floor of delete markers. */
#include "ttl/policy_impl.h"

#include "base/clock.h"
#include "subject/subject.h"

#include <stdio.h>

#define CHUNK_NS   (3600 * CLOCK_S)
#define TRACE_LINE 192

/* --- trace ------------------------------------------------------------------------------------ */

static void trace_line(const struct policy_message *m, const char *fmt, ...) MF_PRINTF(2, 3);
static void trace_line(const struct policy_message *m, const char *fmt, ...)
{
    char line[TRACE_LINE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    m->trace(m->trace_arg, line);
}

/* "max 24h0m0s: within" */
static void trace_bound(const struct policy_message *m, const char *name, int64_t bound,
                        const char *verdict)
{
    char text[POLICY_TEXT];

    if (m->trace != NULL)
        trace_line(m, "%s %s: %s", name, policy_ttl_text(text, bound), verdict);
}

static void trace_rule(const struct policy_message *m, const struct rule *r, const char *what)
{
    if (m->trace != NULL)
        trace_line(m, "rule %s: %s", r->text.id, what);
}

static void trace_client(const struct policy_message *m)
{
    char text[POLICY_TEXT];

    if (m->trace != NULL)
        trace_line(m, "client: %s",
                   m->client_ttl == TTL_NONE ? "nothing" : policy_ttl_text(text, m->client_ttl));
}

static void trace_max_age(const struct policy *p, const struct policy_message *m, int64_t ttl)
{
    if (m->trace == NULL)
        return;
    if (p->max_age_ns == 0)
        trace_line(m, "max_age: none");
    else if (ttl == TTL_NEVER)
        trace_bound(m, "max_age", p->max_age_ns, "never is exempt");
    else
        trace_bound(m, "max_age", p->max_age_ns,
                    ttl == TTL_NONE || ttl > p->max_age_ns ? "earlier" : "within");
}

/* --- rules ------------------------------------------------------------------------------------ */

static bool begins_with(struct mf_slice subject, struct mf_slice head)
{
    return subject.len >= head.len && memcmp(subject.ptr, head.ptr, head.len) == 0;
}

/* Most rules of a stream differ in the text before their first wildcard. */
static bool subject_fits(const struct rule *r, struct mf_slice subject)
{
    if (r->all)
        return true;
    return begins_with(subject, r->head) && subject_match(r->subject, subject);
}

static bool headers_fit(const struct rule *r, struct facts *f)
{
    for (size_t i = 0; i < r->nwhen; i++) {
        struct mf_slice value;

        if (!policy_facts_header(f, r->when[i].header, &value) ||
            (!mf_eq_str(r->when[i].value, "*") && !mf_eq(r->when[i].value, value)))
            return false;
    }
    return true;
}

static bool is_linked(const struct rule *r, const struct policy_message *m)
{
    char dst[LINK_SUBJECT_MAX];
    struct mf_slice subject;

    if (r->link.n == 0 || m->permanent == NULL)
        return false;
    subject = policy_link_fill(&r->link, r->subject, m->subject, dst);
    return subject.len > 0 && m->permanent(m->arg, subject);
}

/* A rule gives `never`, and the operator denies it: max replaces it.  False: there is no max. */
static bool fall_to_max(const struct policy *p, const struct policy_message *m,
                        const struct rule *r, struct policy_decision *d)
{
    trace_rule(m, r, "never, which the server denies");
    if (p->max_ns == 0)
        return false;
    d->ttl = p->max_ns;
    d->by = POLICY_BY_MAX;
    return true;
}

/* Does this rule decide? */
static bool apply_rule(const struct policy *p, const struct rule *r, struct facts *f,
                       struct policy_decision *d)
{
    const struct policy_message *m = f->m;
    bool denied = p->view.operator_denies_never;
    char text[POLICY_TEXT];

    if (!subject_fits(r, m->subject)) {
        trace_rule(m, r, "subject does not match");
        return false;
    }
    if (!headers_fit(r, f)) {
        trace_rule(m, r, "headers do not match");
        return false;
    }
    d->linked = is_linked(r, m);
    if (d->linked && denied) {
        d->linked = false;
        d->link_denied = true;
        if (fall_to_max(p, m, r, d))
            return true;
    }
    if (d->linked) {
        d->ttl = TTL_NEVER;
        trace_rule(m, r, "linked record is permanent: never");
        return true;
    }
    if (!r->has_ttl || !policy_expr_value(&r->ttl, f, &d->ttl)) {
        trace_rule(m, r, "no value");
        return false;
    }
    if (d->ttl == TTL_NEVER && denied)
        return fall_to_max(p, m, r, d);
    trace_rule(m, r, m->trace == NULL ? "" : policy_ttl_text(text, d->ttl));
    return true;
}

static bool apply_rules(const struct policy *p, const struct policy_message *m,
                        struct policy_decision *d)
{
    struct facts f;
    bool decided = false;

    policy_facts_init(&f, &p->rules, m);
    for (unsigned i = 0; i < p->rules.n && !decided; i++) {
        d->rules_tried++;
        decided = apply_rule(p, &p->rules.at[i], &f, d);
        d->rule = i;
    }
    d->scanned = f.scanned;
    return decided;
}

/* Steps 2 to 7. */
static void resolve_unsaid(const struct policy *p, const struct policy_message *m,
                           struct policy_decision *d)
{
    if (p->rules.n > 0 && apply_rules(p, m, d)) {
        d->by = d->by == POLICY_BY_MAX ? POLICY_BY_MAX : POLICY_BY_RULE;
        d->matched = true;
        return;
    }
    d->linked = false;
    d->rule = 0;
    d->ttl = p->fallback;
    d->by = p->fallback_by;
    for (size_t i = 0; m->trace != NULL && i < p->nwhy; i++)
        trace_line(m, "%s", p->why[i]);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* The bound that a duration breaks, or 0. */
static int64_t broken_bound(const struct policy *p, int64_t ttl)
{
    if (ttl <= 0)
        return 0;
    if (p->max_ns > 0 && ttl > p->max_ns)
        return p->max_ns;
    return p->min_ns > 0 && ttl < p->min_ns ? p->min_ns : 0;
}

static void bound_client(const struct policy *p, bool clamp, struct policy_decision *d)
{
    int64_t limit = broken_bound(p, d->ttl);

    if (limit == 0)
        return;
    d->asked = d->ttl;
    d->limit = limit;
    d->verdict = clamp ? POLICY_CLAMPED : POLICY_REJECTED;
    if (clamp)
        d->ttl = limit;
}

static void trace_bounds(const struct policy *p, const struct policy_message *m, int64_t before,
                         const struct policy_decision *d)
{
    const char *broken = d->verdict == POLICY_REJECTED ? "rejected" : "clamped";
    int64_t limit = broken_bound(p, before);

    if (m->trace == NULL || before <= 0)
        return;
    if (p->min_ns > 0)
        trace_bound(m, "min", p->min_ns, limit == p->min_ns ? broken : "within");
    if (p->max_ns > 0)
        trace_bound(m, "max", p->max_ns, limit == p->max_ns && before > limit ? broken : "within");
}

/* The writer asked for `never`. */
static void judge_never(const struct policy *p, const struct policy_message *m,
                        struct policy_decision *d)
{
    struct policy_message silent = *m;
    struct policy_decision alone = {.ttl = TTL_NONE};

    if (!p->deny_never)
        return;
    silent.trace = NULL;
    resolve_unsaid(p, &silent, &alone);
    d->rules_tried = alone.rules_tried;
    d->scanned = alone.scanned;
    if (alone.ttl == TTL_NEVER)
        return;
    d->asked = d->limit = TTL_NEVER;
    d->verdict = m->copy ? POLICY_CLAMPED : POLICY_REJECTED;
    if (m->copy) { /* a refusal would stop the source */
        int64_t limit = broken_bound(p, alone.ttl);

        d->ttl = p->max_ns > 0 ? p->max_ns : limit > 0 ? limit : alone.ttl;
    }
}

static void judge_client(const struct policy *p, const struct policy_message *m,
                         struct policy_decision *d)
{
    d->by = POLICY_BY_CLIENT;
    d->ttl = m->client_ttl;
    if (d->ttl == TTL_NEVER) {
        judge_never(p, m, d);
        if (m->trace != NULL && p->deny_never)
            trace_line(m, "never deny: %s",
                       d->verdict == POLICY_OK         ? "the policy gives it"
                       : d->verdict == POLICY_REJECTED ? "rejected"
                                                       : "clamped");
        return;
    }
    bound_client(p, m->copy || !p->reject, d);
    trace_bounds(p, m, m->client_ttl, d);
}

static bool is_chunk(struct mf_slice subject)
{
    return subject_match(MF_LIT("$O.*.C.>"), subject);
}

static void judge_policy(const struct policy *p, const struct policy_message *m,
                         struct policy_decision *d)
{
    int64_t before, limit;

    resolve_unsaid(p, m, d);
    before = d->ttl;
    if ((limit = broken_bound(p, before)) > 0) {
        d->ttl = limit;
        d->rule_clamped = true;
    }
    trace_bounds(p, m, before, d);
    if (p->object && d->ttl > 0 && is_chunk(m->subject)) {
        d->ttl += CHUNK_NS; /* never a meta without its chunks, which are written first */
        if (m->trace != NULL)
            trace_line(m, "chunk of an object: 1h0m0s longer");
    }
}

static void raise_to_floor(const struct policy *p, const struct policy_message *m,
                           struct policy_decision *d)
{
    bool below = d->ttl > 0 && d->ttl < p->floor_ns;

    if (p->floor_ns == 0 || d->ttl <= 0)
        return;
    if (below)
        d->ttl = p->floor_ns;
    trace_bound(m, "marker floor", p->floor_ns, below ? "raised" : "within");
}

void policy_resolve(const struct policy *p, const struct policy_message *m,
                    struct policy_decision *d)
{
    *d = (struct policy_decision){.verdict = POLICY_OK};
    trace_client(m);
    if (m->client_ttl != TTL_NONE)
        judge_client(p, m, d);
    else
        judge_policy(p, m, d);
    if (d->verdict == POLICY_REJECTED)
        return;
    raise_to_floor(p, m, d);
    trace_max_age(p, m, d->ttl);
}

void policy_bound(const struct policy *p, int64_t ttl, struct policy_decision *d)
{
    *d = (struct policy_decision){.verdict = POLICY_OK, .ttl = ttl, .by = POLICY_BY_CLIENT};
    if (ttl != TTL_NEVER) {
        bound_client(p, !p->reject, d);
    } else if (p->view.operator_denies_never) {
        d->verdict = POLICY_REJECTED;
        d->asked = d->limit = TTL_NEVER;
        d->by_operator = true;
    }
}

/* --- words ------------------------------------------------------------------------------------ */

const char *policy_refusal(char dst[POLICY_REFUSAL], const struct policy_decision *d)
{
    char asked[POLICY_TEXT], limit[POLICY_TEXT];

    if (d->asked == TTL_NEVER)
        snprintf(dst, POLICY_REFUSAL, "never is not allowed here%s",
                 d->by_operator ? " by the server" : "");
    else
        snprintf(dst, POLICY_REFUSAL, "%s is %s of %s", policy_ttl_text(asked, d->asked),
                 d->asked > d->limit ? "above the maximum" : "below the minimum",
                 policy_ttl_text(limit, d->limit));
    return dst;
}

const char *policy_by_word(enum policy_by by)
{
    static const char *const words[POLICY_BYS] = {"client", "rule", "default", "pattern",
                                                  "server", "max",  "max_age", "none"};

    return words[by];
}

const char *policy_by_text(char dst[POLICY_BY_TEXT], const struct policy *p,
                           const struct policy_decision *d)
{
    const char *word = policy_by_word(d->by);

    if (d->marker)
        snprintf(dst, POLICY_BY_TEXT, "marker");
    else if (d->by == POLICY_BY_RULE)
        snprintf(dst, POLICY_BY_TEXT, "rule:%s%s", p->rules.at[d->rule].text.id,
                 d->linked ? " (linked)" : "");
    else if (d->by == POLICY_BY_PATTERN)
        snprintf(dst, POLICY_BY_TEXT, "pattern:%s", p->view.keys.pattern);
    else
        snprintf(dst, POLICY_BY_TEXT, "%s", word);
    return dst;
}

/* --- linked records --------------------------------------------------------------------------- */

bool policy_has_links(const struct policy *p)
{
    return p->rules.links;
}

bool policy_is_link(const struct policy *p, struct mf_slice subject)
{
    for (size_t i = 0; p->rules.links && i < p->rules.n; i++) {
        const struct link *l = &p->rules.at[i].link;

        if (l->n > 0 && begins_with(subject, l->head) && subject_match(mf_str(l->filter), subject))
            return true;
    }
    return false;
}

void policy_linked_by(const struct policy *p, struct mf_slice subject,
                      void (*visit)(void *arg, struct mf_slice filter), void *arg)
{
    char dst[LINK_SUBJECT_MAX];

    for (size_t i = 0; p->rules.links && i < p->rules.n; i++) {
        const struct rule *r = &p->rules.at[i];
        struct mf_slice filter;

        if (r->link.n > 0 && policy_link_reverse(&r->link, r->subject, subject, dst, &filter))
            visit(arg, filter);
    }
}
