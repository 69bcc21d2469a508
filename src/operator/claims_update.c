/* claims_update.c: the requests that change account JWTs: UPDATE and DELETE. */
#include "operator/claims_impl.h"

#include "base/clock.h"
#include "jwt/jwt_account.h"

#include <stdio.h>

/* --- UPDATE ----------------------------------------------------------------------------------- */

/* The words of each kind of resolver. */
struct words {
    const char *updated, *skipped, *failed, *invalid;
};
static const struct words directory_words = {
    "jwt updated", "jwt update skipped", "jwt update resulted in error", "jwt validation failed"};
static const struct words cache_words = {"jwt updated cache", "jwt update cache skipped",
                                         "jwt update cache resulted in error",
                                         "jwt update cache validation failed"};

static const struct words *words_of(const struct claims *c)
{
    return c->kind == OPTIONS_RESOLVER_CACHE ? &cache_words : &directory_words;
}

/* 0, or MF_DENIED with nats-server's reason; MF_INVAL: blocking errors in the contents. */
static int check_claims(const struct claims *c, const struct jwt *j, const char *account,
                        struct mf_error *e)
{
    struct jwt_issues issues = {0};
    int rc;

    if (account[0] != '\0' && strcmp(j->sub, account) != 0)
        return mf_fail(e, MF_DENIED, "subject does not match jwt content");
    if (!trust_signs_accounts(c->trust, j->iss))
        return trust_wants_signing_keys(c->trust, j->iss)
                   ? mf_fail(e, MF_DENIED, "operator requires issuer to be a signing key")
                   : mf_fail(e, MF_DENIED,
                             "account validation failed: %s is not a trusted operator key", j->iss);
    rc = jwt_validate(j, loop_wall_ns(c->setup.loop) / CLOCK_S, &issues);
    if (rc != 0) {
        mf_fail(e, rc, "validation");
    } else if (jwt_issues_blocking(&issues)) {
        char text[400];
        rc = mf_fail(e, MF_INVAL, "%s", jwt_issues_text(&issues, text, sizeof text));
    }
    jwt_issues_fini(&issues);
    return rc;
}

int claims_check(const struct claims *c, const char *account, struct mf_slice text,
                 struct mf_error *e)
{
    struct jwt *j;
    int rc;

    if (jwt_decode_as(&j, JWT_ACCOUNT, text, e) != 0)
        return e->code;
    rc = c->trust == NULL ? 0 : check_claims(c, j, account, e);
    jwt_free(j);
    return rc;
}

static void apply_loaded(struct claims_request *q)
{
    struct claims *c = q->claims;
    struct mf_error e;
    int rc = c->setup.apply(c->setup.arg, q->account, mf_str(q->jwt->text), &e);

    if (rc == MF_NOTFOUND && !resolver_is_directory(c->resolver))
        claims_answer(q, q->account, words_of(c)->skipped);
    else if (rc != 0 && rc != MF_NOTFOUND)
        claims_refuse(q, q->account, words_of(c)->failed, e.text);
    else
        claims_answer(q, q->account, words_of(c)->updated);
}

static void apply_later(struct loop_defer *d)
{
    apply_loaded(mf_container(d, struct claims_request, turn));
}

static void update_stored(struct resolver_change *change, int rc, const char *why)
{
    struct claims_request *q = mf_container(change, struct claims_request, change);

    if (q->claims->stopped)
        claims_request_end(q);
    else if (rc != 0)
        claims_refuse(q, q->account, words_of(q->claims)->failed, why);
    else
        apply_loaded(q);
}

void claims_run_update(struct claims_request *q)
{
    struct claims *c = q->claims;
    const struct words *say = words_of(c);
    struct mf_error e;
    int rc;

    if (q->body.len == 0 && !resolver_is_directory(c->resolver)) {
        claims_refuse(q, q->account, "jwt update error", "request body is empty");
        return;
    }
    if (jwt_decode_as(&q->jwt, JWT_ACCOUNT, q->body, &e) != 0) {
        q->jwt = NULL;
        claims_refuse(q, "n/a", say->failed, e.text);
        return;
    }
    rc = check_claims(c, q->jwt, q->account, &e);
    if (rc != 0) {
        claims_refuse(q, q->account[0] != '\0' ? q->account : q->jwt->sub,
                      rc == MF_INVAL ? say->invalid : say->failed, e.text);
        return;
    }
    snprintf(q->account, sizeof q->account, "%s", q->jwt->sub);
    if (!resolver_is_directory(c->resolver)) {
        q->turn.fn = apply_later;
        loop_defer(c->setup.loop, &q->turn);
    } else if (c->kind == OPTIONS_RESOLVER_CACHE && !c->setup.loaded(c->setup.arg, q->account)) {
        claims_answer(q, q->account, say->skipped);
    } else {
        memcpy(q->change.account, q->account, sizeof q->change.account);
        q->change.done = update_stored;
        resolver_store(c->resolver, &q->change, mf_str(q->jwt->text), false);
    }
}

/* --- DELETE ----------------------------------------------------------------------------------- */

static const char *check_delete(const struct claims *c, const struct jwt *j)
{
    const char *system = trust_system_account(c->trust);
    uint8_t raw[32];

    if (!c->allow_delete)
        return "delete must be enabled in server config";
    if (strcmp(j->sub, j->iss) != 0)
        return "not self signed";
    if (!trust_is_operator(c->trust, j->sub))
        return "not trusted";
    if (j->kind != JWT_GENERIC || j->accounts == NULL)
        return "malformed request";
    for (size_t i = 0; i < j->accounts->n; i++) {
        if (nkey_decode(mf_str(j->accounts->at[i]), NKEY_ACCOUNT, raw) != 0)
            return "malformed request";
        if (system != NULL && strcmp(j->accounts->at[i], system) == 0)
            return "not allowed to delete system account";
    }
    return NULL;
}

static void delete_next(struct claims_request *q);

static void delete_done(struct resolver_change *change, int rc, const char *why)
{
    struct claims_request *q = mf_container(change, struct claims_request, change);
    struct claims *c = q->claims;
    char what[160];

    if (c->stopped) {
        claims_request_end(q);
        return;
    }
    if (rc != 0) {
        snprintf(what, sizeof what, "delete accounts request by %s failed", q->jwt->sub);
        claims_refuse(q, change->account, what, why);
        return;
    }
    c->setup.removed(c->setup.arg, change->account);
    q->done++;
    delete_next(q);
}

static void delete_next(struct claims_request *q)
{
    char text[64];

    if (q->done == q->n) {
        snprintf(text, sizeof text, "deleted %zu accounts", q->n);
        claims_answer(q, "", text);
        return;
    }
    q->change = (struct resolver_change){.done = delete_done};
    snprintf(q->change.account, sizeof q->change.account, "%s", q->jwt->accounts->at[q->done]);
    resolver_remove(q->claims->resolver, &q->change);
}

void claims_run_delete(struct claims_request *q)
{
    char what[160];
    struct mf_error e;
    const char *why;

    if (jwt_decode(&q->jwt, q->body, &e) != 0) {
        q->jwt = NULL;
        claims_refuse(q, "", "delete accounts request by  failed", e.text);
        return;
    }
    why = check_delete(q->claims, q->jwt);
    if (why != NULL) {
        snprintf(what, sizeof what, "delete accounts request by %s failed", q->jwt->sub);
        claims_refuse(q, "", what, why);
        return;
    }
    q->n = q->jwt->accounts->n;
    delete_next(q);
}
