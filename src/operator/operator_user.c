/* operator_user.c: connected users of operator mode, and what new claims of their account mean for
 * them. */
#include "operator/operator_user_impl.h"

#include "base/buf.h"
#include "codec/hash.h"
#include "operator/operator_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* --- users ------------------------------------------------------------------------------------ */

static void user_free(struct login_user *u)
{
    struct operator_user *o = mf_container(u, struct operator_user, u);

    for (size_t i = 0; i < u->ntags; i++)
        free(u->tags[i]);
    free(u->tags);
    free(u->shown);
    free(u->key);
    free(u->name);
    free(u->issuer);
    free(u->account_name);
    free(u->jwt);
    perms_release(o->perms);
    free(o);
}

/* NULL for an empty text; *ok is false without memory. */
static char *copy_text(const char *text, bool *ok)
{
    char *copy = mf_has_text(text) ? mf_slice_dup(mf_str(text)) : NULL;

    *ok = *ok && (copy != NULL || !mf_has_text(text));
    return copy;
}

static bool copy_tags(struct login_user *u, const struct json_strs *tags)
{
    bool ok = true;

    if (tags->n == 0)
        return true;
    u->tags = calloc(tags->n, sizeof *u->tags);
    if (u->tags == NULL)
        return false;
    for (size_t i = 0; i < tags->n && ok; i++)
        u->tags[u->ntags++] = mf_slice_dup(mf_str(tags->at[i]));
    for (size_t i = 0; i < u->ntags; i++)
        ok = ok && u->tags[i] != NULL;
    return ok;
}

/* As nats-server shows it: the user name that came beside the JWT, which nobody checked. */
static const char *shown_name(const struct jwt *user, const struct login *login)
{
    const struct connect_opts *c = login->connect;

    return c != NULL && !mf_has_text(c->nkey) && mf_has_text(c->user) ? c->user : user->sub;
}

struct operator_user *operator_user_new(const struct jwt *user, const char *account_name,
                                        const struct login *login, bool keep_jwt)
{
    struct operator_user *o = calloc(1, sizeof *o);
    bool ok = true;

    if (o == NULL)
        return NULL;
    o->u.refs = 1;
    o->u.free = user_free;
    o->u.shown = copy_text(shown_name(user, login), &ok);
    o->u.key = copy_text(user->sub, &ok);
    o->u.name = copy_text(user->name, &ok);
    o->u.issuer = copy_text(user->iss, &ok);
    o->u.account_name = copy_text(account_name, &ok);
    o->u.jwt = copy_text(keep_jwt ? user->text : NULL, &ok);
    if (!ok || !copy_tags(&o->u, &user->tags)) {
        user_free(&o->u);
        return NULL;
    }
    snprintf(o->key, sizeof o->key, "%s", user->sub);
    snprintf(o->signer, sizeof o->signer, "%s", user->iss);
    o->issued_s = user->iat;
    return o;
}

/* --- signers ---------------------------------------------------------------------------------- */

bool operator_signer_known(const struct operator* op, const struct operator_account *a,
                           const char *key, const struct jwt_signing_key **signing)
{
    *signing = jwt_account_signing_key(a->jwt->account, key);
    if (*signing != NULL)
        return true;
    if (strcmp(key, a->key) != 0)
        return false;
    return operator_account_stand_in(a) || !trust_wants_signing_keys(op->trust, a->jwt->iss);
}

static void add_text(struct mf_buf *b, const char *text)
{
    mf_buf_printf(b, "%s\n", text == NULL ? "" : text);
}

static void add_list(struct mf_buf *b, const struct json_strs *l)
{
    mf_buf_printf(b, "%zu\n", l->n);
    for (size_t i = 0; i < l->n; i++)
        add_text(b, l->at[i]);
}

static void add_grant(struct mf_buf *b, const struct jwt_grant *g)
{
    const struct jwt_times *times = g->times.at;

    add_list(b, &g->perms.pub.allow);
    add_list(b, &g->perms.pub.deny);
    add_list(b, &g->perms.sub.allow);
    add_list(b, &g->perms.sub.deny);
    if (g->perms.resp != NULL)
        mf_buf_printf(b, "%lld %lld\n", (long long)g->perms.resp->max,
                      (long long)g->perms.resp->ttl_ns);
    add_list(b, &g->src);
    mf_buf_printf(b, "%zu\n", g->times.n);
    for (size_t i = 0; i < g->times.n; i++) {
        add_text(b, times[i].start);
        add_text(b, times[i].end);
    }
    add_text(b, g->times_location);
    mf_buf_printf(b, "%lld %lld %lld %d %d\n", (long long)g->subs, (long long)g->data,
                  (long long)g->payload, g->bearer_token, g->proxy_required);
    add_list(b, &g->connection_types);
}

static uint64_t hash_signing_key(const struct jwt_signing_key *k)
{
    struct mf_buf b = MF_BUF_INIT;
    uint64_t h;

    add_text(&b, k->key);
    if (k->scoped) {
        add_text(&b, k->role);
        add_text(&b, k->description);
        add_grant(&b, &k->template_grant);
    }
    h = hash_slice(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return h == 0 ? 1 : h;
}

int operator_scopes_take(struct operator_claims *c)
{
    const struct jwt_account *a = c->jwt->account;

    if (a->nsigning_keys == 0)
        return 0;
    c->scopes = arena_alloc(&c->mem, a->nsigning_keys * sizeof *c->scopes);
    if (c->scopes == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < a->nsigning_keys; i++)
        c->scopes[i] = hash_signing_key(&a->signing_keys[i]);
    return 0;
}

uint64_t operator_scope_hash(const struct operator_account *a, const struct jwt_signing_key *k)
{
    const struct operator_claims *c = mf_container(a, struct operator_entry, a)->claims;

    return c->scopes[k - c->jwt->account->signing_keys];
}

/* --- new claims of the account ---------------------------------------------------------------- */

static int refuse_renewal(struct login_refusal *no, const char *err, enum reason reason,
                          const char *why)
{
    *no = (struct login_refusal){.err = err, .reason = reason, .why = why};
    return MF_DENIED;
}

int operator_renew(struct operator* op, struct account *a, struct login_user *u,
                   struct login_result *out, struct login_refusal *no)
{
    const struct operator_user *o = mf_container(u, struct operator_user, u);
    const struct operator_account *oa = operator_account_find(op, account_name(a));
    const struct jwt_signing_key *signing;

    if (oa == NULL)
        return refuse_renewal(no, "Authorization Violation", REASON_AUTH_FAILURE,
                              "Account is gone");
    if (oa->expired)
        return refuse_renewal(no, "Account Authentication Expired", REASON_AUTH_EXPIRED,
                              "Account JWT has expired");
    if (!trust_admits_account(op->trust, oa->key))
        return refuse_renewal(no, "Authorization Violation", REASON_AUTH_FAILURE,
                              "Account not listed as operator pinned account");
    if (jwt_revoked(&oa->jwt->account->revocations, o->key, o->issued_s))
        return refuse_renewal(no, "User Authentication Revoked", REASON_REVOKED,
                              "User authentication revoked");
    if (o->scope != 0 && (!operator_signer_known(op, oa, o->signer, &signing) || signing == NULL ||
                          operator_scope_hash(oa, signing) != o->scope))
        return refuse_renewal(no, NULL, REASON_AUTH_FAILURE, "User JWT issuer is not known");
    if (o->bearer && oa->jwt->account->limits.disallow_bearer)
        return refuse_renewal(no, "Authorization Violation", REASON_AUTH_FAILURE,
                              "Account does not allow bearer tokens");
    *out = (struct login_result){.account = a,
                                 .perms = perms_retain(o->perms != NULL ? o->perms : oa->defaults),
                                 .deadline_ns = o->deadline_ns,
                                 .max_subs = o->max_subs,
                                 .max_payload = o->max_payload,
                                 .user = login_user_retain(u)};
    return 0;
}
