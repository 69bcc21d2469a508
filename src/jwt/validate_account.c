/* validate_account.c: the contents of an account's claims, in nats-server's order and words. */
#include "jwt/claims_impl.h"

#include "subject/subject.h"

/* --- exports -----------------------------------------------------------------------------------
 */

static bool one_of(const char *s, const char *a, const char *b, const char *c)
{
    return strcmp(s, a) == 0 || strcmp(s, b) == 0 || strcmp(s, c) == 0;
}

static void check_response_type(struct jwt_check *c, const struct jwt_export *x)
{
    if (x->type == JWT_SHARE_SERVICE && x->response_type[0] != '\0' &&
        !one_of(x->response_type, "Singleton", "Stream", "Chunked"))
        jwt_issue(c, JWT_BLOCKING, "invalid response type for service: %s",
                  jwt_quote(c, x->response_type));
    if (x->type == JWT_SHARE_STREAM && x->response_type[0] != '\0')
        jwt_issue(c, JWT_BLOCKING, "invalid response type for stream: %s",
                  jwt_quote(c, x->response_type));
    if (x->type == JWT_SHARE_STREAM && x->allow_trace)
        jwt_issue(c, JWT_BLOCKING, "AllowTrace only valid for service export");
}

static void check_latency(struct jwt_check *c, const struct jwt_export *x)
{
    if (x->latency == NULL)
        return;
    if (x->type != JWT_SHARE_SERVICE)
        jwt_issue(c, JWT_BLOCKING, "latency tracking only permitted for services");
    if (x->latency->sampling < 0 || x->latency->sampling > 100)
        jwt_issue(c, JWT_BLOCKING, "sampling percentage needs to be between 1-100");
    jwt_check_subject(c, x->latency->results);
    if (subject_has_wildcard(mf_str(x->latency->results)))
        jwt_issue(c, JWT_BLOCKING, "results subject can not contain wildcards");
}

static void check_position(struct jwt_check *c, const struct jwt_export *x)
{
    struct mf_slice s = mf_str(x->subject);
    uint64_t at = x->account_token_position;

    if (at == 0)
        return;
    if (!subject_has_wildcard(s)) {
        jwt_issue(c, JWT_BLOCKING,
                  "Account Token Position can only be used with wildcard subjects: %s", x->subject);
        return;
    }
    struct mf_slice token =
        at > subject_tokens(s) ? MF_SLICE_NONE : subject_token(s, (unsigned)(at - 1));
    if (at > subject_tokens(s))
        jwt_issue(c, JWT_BLOCKING, "Account Token Position %llu exceeds length of subject '%s'",
                  (unsigned long long)at, x->subject);
    else if (!mf_eq_str(token, "*"))
        jwt_issue(c, JWT_BLOCKING,
                  "Account Token Position %llu matches '%.*s' but must match a * in: %s",
                  (unsigned long long)at, MF_FMT(token), x->subject);
}

static void check_export(struct jwt_check *c, const struct jwt_export *x)
{
    if (x == NULL) {
        jwt_issue(c, JWT_BLOCKING, "null export is not allowed");
        return;
    }
    if (x->type == JWT_SHARE_UNKNOWN)
        jwt_issue(c, JWT_BLOCKING, "invalid export type: \"unknown\"");
    check_response_type(c, x);
    check_latency(c, x);
    if (x->response_threshold_ns < 0)
        jwt_issue(c, JWT_BLOCKING, "negative response threshold is invalid");
    if (x->response_threshold_ns > 0 && x->type != JWT_SHARE_SERVICE)
        jwt_issue(c, JWT_BLOCKING, "response threshold only valid for services");
    jwt_check_subject(c, x->subject);
    check_position(c, x);
    jwt_check_info(c, x->description, x->info_url);
}

/* nats-server counts all that is no service to the streams. */
static bool same_side(const struct jwt_export *x, bool service)
{
    return x != NULL && (x->type == JWT_SHARE_SERVICE) == service;
}

/* The first other export of this side that lies inside the i-th; NULL: none. */
static const struct jwt_export *find_inside(const struct jwt_account *a, size_t i, bool service)
{
    for (size_t k = 0; k < a->nexports; k++)
        if (k != i && same_side(a->exports[k], service) &&
            jwt_subject_inside(a->exports[k]->subject, a->exports[i]->subject))
            return a->exports[k];
    return NULL;
}

static bool seen_before(const struct jwt_account *a, size_t i, bool service)
{
    for (size_t k = 0; k < i; k++)
        if (same_side(a->exports[k], service) &&
            strcmp(a->exports[k]->subject, a->exports[i]->subject) == 0)
            return true;
    return false;
}

static void check_overlaps(struct jwt_check *c, bool service)
{
    const struct jwt_account *a = c->j->account;

    for (size_t i = 0; i < a->nexports; i++) {
        if (!same_side(a->exports[i], service))
            continue;
        const struct jwt_export *in = find_inside(a, i, service);
        if (in != NULL && !seen_before(a, i, service))
            jwt_issue(c, JWT_BLOCKING, "%s export subject %s already exports %s",
                      service ? "service" : "stream", jwt_quote(c, a->exports[i]->subject),
                      jwt_quote(c, in->subject));
    }
}

void jwt_check_exports(struct jwt_check *c)
{
    const struct jwt_account *a = c->j->account;

    for (size_t i = 0; i < a->nexports; i++)
        check_export(c, a->exports[i]);
    if (a->nexports * a->nexports > JWT_PAIRS_MAX) {
        jwt_issue(c, JWT_BLOCKING, "the account contains more exports than can be compared");
        return;
    }
    check_overlaps(c, true);
    check_overlaps(c, false);
}

/* --- limits, mappings, callouts, traces --------------------------------------------------------
 */

static void check_mapping(struct jwt_check *c, const struct jwt_mapping *m)
{
    unsigned total = 0;

    jwt_check_subject(c, m->source);
    for (size_t i = 0; i < m->nto; i++) {
        const struct jwt_weighted *w = &m->to[i];
        unsigned own = 0;

        jwt_check_subject(c, w->subject);
        if (w->weight > 100)
            jwt_issue(c, JWT_BLOCKING, "Mapping %s has a weight %d that exceeds 100",
                      jwt_quote(c, m->source), w->weight);
        if (w->cluster[0] == '\0') {
            total += w->weight == 0 ? 100u : (unsigned)w->weight;
            continue;
        }
        for (size_t k = 0; k <= i && k < 4096; k++) /* the sum of its cluster so far */
            if (strcmp(m->to[k].cluster, w->cluster) == 0)
                own += m->to[k].weight == 0 ? 100u : (unsigned)m->to[k].weight;
        if (own > 100)
            jwt_issue(c, JWT_BLOCKING,
                      "Mapping %s in cluster %s exceeds 100%% among all of it's weighted to "
                      "mappings",
                      jwt_quote(c, m->source), jwt_quote(c, w->cluster));
    }
    if (total > 100)
        jwt_issue(c, JWT_BLOCKING,
                  "Mapping %s exceeds 100%% among all of it's weighted to mappings",
                  jwt_quote(c, m->source));
}

static void check_callout(struct jwt_check *c, const struct jwt_callout *k)
{
    if (k->allowed_accounts.n > 0 && k->auth_users.n == 0)
        jwt_issue(c, JWT_BLOCKING,
                  "External authorization cannot have accounts without users specified");
    for (size_t i = 0; i < k->auth_users.n; i++)
        if (!jwt_is_key(jwt_text(k->auth_users.at[i]), NKEY_USER))
            jwt_issue(c, JWT_BLOCKING, "AuthUser %s is not a valid user public key",
                      jwt_quote(c, jwt_text(k->auth_users.at[i])));
    for (size_t i = 0; i < k->allowed_accounts.n; i++) {
        const char *a = jwt_text(k->allowed_accounts.at[i]);

        if (strcmp(a, "*") == 0 && k->allowed_accounts.n > 1)
            jwt_issue(c, JWT_BLOCKING, "AllowedAccounts can only be a list of accounts or \"*\"");
        else if (strcmp(a, "*") != 0 && !jwt_is_key(a, NKEY_ACCOUNT))
            jwt_issue(c, JWT_BLOCKING, "Account %s is not a valid account public key",
                      jwt_quote(c, a));
    }
    if (k->xkey[0] != '\0' && !jwt_is_key(k->xkey, NKEY_CURVE))
        jwt_issue(c, JWT_BLOCKING, "XKey %s is not a valid public xkey", jwt_quote(c, k->xkey));
}

static void check_trace(struct jwt_check *c, const struct jwt_trace *t)
{
    struct jwt_issues own = {.at = NULL};
    struct jwt_check inner = {.out = &own, .j = c->j};

    jwt_check_subject(&inner, t->dest);
    if (own.n > 0)
        jwt_issue(c, JWT_BLOCKING, "the account Trace.Destination %s", own.at[0].text);
    jwt_issues_fini(&own);
    if (subject_has_wildcard(mf_str(t->dest)))
        jwt_issue(c, JWT_BLOCKING,
                  "the account Trace.Destination subject %s is not a valid publish subject",
                  jwt_quote(c, t->dest));
    if (t->sampling < 0 || t->sampling > 100)
        jwt_issue(c, JWT_BLOCKING,
                  "the account Trace.Sampling value '%lld' is not valid, should be in the range "
                  "[1..100]",
                  (long long)t->sampling);
}

static void check_limits(struct jwt_check *c)
{
    const struct jwt_account *a = c->j->account;
    const struct jwt_account_limits *l = &a->limits;

    if (l->imports != -1 && (l->imports < 0 || a->nimports > (uint64_t)l->imports))
        jwt_issue(c, JWT_BLOCKING,
                  "the account contains more imports than allowed by the operator");
    if (l->exports == -1)
        return;
    if (l->exports < 0 || a->nexports > (uint64_t)l->exports)
        jwt_issue(c, JWT_BLOCKING,
                  "the account contains more exports than allowed by the operator");
    for (size_t i = 0; i < a->nexports && !l->wildcards; i++)
        if (a->exports[i] != NULL && subject_has_wildcard(mf_str(a->exports[i]->subject)))
            jwt_issue(c, JWT_BLOCKING,
                      "the account contains wildcard exports that are not allowed by the operator");
}

static void check_tiers(struct jwt_check *c)
{
    const struct jwt_account_limits *l = &c->j->account->limits;

    for (size_t i = 0; i < l->ntiers; i++)
        if (l->tiers[i].name[0] == '\0')
            jwt_issue(c, JWT_BLOCKING,
                      "Tiered JetStream Limits can not contain a blank \"\" tier name");
}

static void check_signing_keys(struct jwt_check *c)
{
    const struct jwt_account *a = c->j->account;

    for (size_t i = 0; i < a->nsigning_keys; i++) {
        const struct jwt_signing_key *k = &a->signing_keys[i];

        if (jwt_is_key(k->key, NKEY_ACCOUNT))
            continue;
        if (k->scoped)
            jwt_issue(c, JWT_BLOCKING, "%s is not an account public key", k->key);
        else
            jwt_issue(c, JWT_BLOCKING, "%s is not a valid account signing key",
                      jwt_quote(c, k->key));
    }
}

static void check_traffic(struct jwt_check *c, const char *t)
{
    if (t[0] == '\0' || strcmp(t, "system") == 0 || strcmp(t, "owner") == 0)
        return;
    if (!mf_starts(mf_str(t), "account:"))
        jwt_issue(c, JWT_BLOCKING, "unknown cluster traffic option: %s", jwt_quote(c, t));
    else if (!jwt_is_key(t + strlen("account:"), NKEY_ACCOUNT))
        jwt_issue(c, JWT_BLOCKING, "cluster traffic is not a public account key");
}

static bool is_without_limits(const struct jwt_account_limits *l)
{
    static const struct jwt_js_limits none;

    return l->subs == 0 && l->data == 0 && l->payload == 0 && l->imports == 0 && l->exports == 0 &&
           l->conn == 0 && l->leaf == 0 && !l->wildcards && !l->disallow_bearer && l->ntiers == 0 &&
           l->js.mem_storage == none.mem_storage && l->js.disk_storage == none.disk_storage &&
           l->js.streams == 0 && l->js.consumer == 0 && l->js.max_ack_pending == 0 &&
           l->js.mem_max_stream_bytes == 0 && l->js.disk_max_stream_bytes == 0 &&
           !l->js.max_bytes_required;
}

void jwt_check_account(struct jwt_check *c)
{
    const struct jwt_account *a = c->j->account;

    jwt_check_imports(c);
    jwt_check_exports(c);
    check_tiers(c);
    jwt_check_permissions(c, &a->default_permissions);
    for (size_t i = 0; i < a->nmappings; i++)
        check_mapping(c, &a->mappings[i]);
    check_callout(c, &a->authorization);
    if (a->trace != NULL)
        check_trace(c, a->trace);
    check_limits(c);
    check_signing_keys(c);
    jwt_check_info(c, a->description, a->info_url);
    check_traffic(c, a->cluster_traffic);
    if (jwt_is_key(c->j->iss, NKEY_ACCOUNT) && !is_without_limits(&a->limits))
        jwt_issue(c, JWT_WARNING, "self-signed account JWTs shouldn't contain operator limits");
}
