/* operator_admit.c: one user JWT against the claims of its account.
 *
 * Happy path: operator_admit() checks what needs no account, then loads the account;
 * account_loaded() checks the rest, and done() gets the rights of the user.
 * Failure: done() gets the reason; the account is not even looked up for a JWT that is no good by
 * itself.  The order of the checks (docs/checks.md, Login with a user JWT) is nats-server's, and so
 * are the texts for the log. */
#include "operator/operator_user_impl.h"

#include "base/clock.h"
#include "codec/base64.h"
#include "jwt/jwt_scope.h"
#include "operator/operator_impl.h"
#include "operator/user_rights.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* --- answers ---------------------------------------------------------------------------------- */

static bool is_skipped(const struct operator_admission *q, enum operator_check check)
{
    return (q->skip & OPERATOR_SKIP(check)) != 0;
}

/* Always MF_DENIED. */
static int __attribute__((format(printf, 3, 4)))
fail_check(struct operator_admission *q, enum operator_check check, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(q->why, sizeof q->why, fmt, args);
    va_end(args);
    q->failed = check;
    return MF_DENIED;
}

static void finish_admission(struct operator_admission *q, const struct login_result *r,
                             const struct login_refusal *no)
{
    jwt_free(q->user);
    q->user = NULL;
    q->op = NULL;
    q->done(q, r, no);
}

static void refuse_user(struct operator_admission *q)
{
    struct operator_user *u = operator_user_new(q->user, NULL, q->login, q->shows_jwt);
    struct login_refusal no = LOGIN_REFUSED(q->why);

    if (q->failed == OPERATOR_PROXY)
        no.reason = REASON_PROXY_REQUIRED;
    no.loud = q->failed == OPERATOR_SOURCE || q->failed == OPERATOR_TIMES;
    no.user = u == NULL ? NULL : &u->u;
    finish_admission(q, NULL, &no);
    if (u != NULL)
        login_user_release(&u->u);
}

static void refuse_later(struct loop_defer *d)
{
    refuse_user(mf_container(d, struct operator_admission, turn));
}

/* --- without the account ---------------------------------------------------------------------- */

static void list_issues(const struct jwt_issues *issues, char *dst, size_t cap)
{
    size_t n = 0;

    dst[0] = '\0';
    for (size_t i = 0; i < issues->n && n < cap; i++)
        n += (size_t)snprintf(dst + n, cap - n, "%s%s", i == 0 ? "" : " ", issues->at[i].text);
}

static int check_claims(struct operator_admission *q)
{
    struct jwt_issues issues = {0};
    char text[200];
    int rc = jwt_validate(q->user, operator_now_s(q->op), &issues);

    if (rc != 0) {
        rc = fail_check(q, OPERATOR_MEMORY, "out of memory");
    } else if (jwt_issues_any_but_warnings(&issues)) {
        list_issues(&issues, text, sizeof text);
        rc = fail_check(q, OPERATOR_VALID, "User JWT no longer valid: [%s]", text);
    }
    jwt_issues_fini(&issues);
    return rc;
}

static int check_proxy(struct operator_admission *q, const struct jwt_grant *g)
{
    if (!g->proxy_required || q->login->through_proxy || is_skipped(q, OPERATOR_PROXY))
        return 0;
    return fail_check(q, OPERATOR_PROXY, "User JWT requires a connection through a trusted proxy");
}

/* Also of bearers, who sign nothing: by its key a user is known, listed and revoked. */
static int check_key(struct operator_admission *q)
{
    enum nkey_kind kind;

    if (nkey_is_public(mf_str(q->user->sub), &kind) && (kind == NKEY_USER || kind == NKEY_ACCOUNT))
        return 0;
    return fail_check(q, OPERATOR_KEY, "User nkey not valid");
}

static int check_pinned(struct operator_admission *q)
{
    const char *account = jwt_user_account(q->user);

    if (is_skipped(q, OPERATOR_PINNED) || trust_admits_account(q->op->trust, account))
        return 0;
    q->op->pinned_fails++;
    return fail_check(q, OPERATOR_PINNED, "Account %s not listed as operator pinned account",
                      account);
}

static int check_alone(struct operator_admission *q)
{
    const char *account = jwt_user_account(q->user);

    if (check_proxy(q, &q->user->user->grant) != 0 || check_claims(q) != 0 || check_key(q) != 0 ||
        check_pinned(q) != 0)
        return MF_DENIED;
    if (strlen(account) >= sizeof q->load.account)
        return fail_check(q, OPERATOR_ACCOUNT, "Account JWT lookup error: account missing");
    return 0;
}

/* --- the signature of the nonce --------------------------------------------------------------- */

static bool is_base64(const char *sig)
{
    struct mf_buf raw = MF_BUF_INIT;
    bool ok = base64_read(&raw, mf_str(sig), BASE64_URL) == 0 ||
              base64_read(&raw, mf_str(sig), BASE64_STANDARD) == 0;

    mf_buf_fini(&raw);
    return ok;
}

const char *operator_check_signature(const char *key, const char *nonce, const char *sig)
{
    enum nkey_kind kind;

    if (!mf_has_text(sig))
        return "Signature missing";
    if (!is_base64(sig))
        return "Signature not valid base64";
    if (!nkey_is_public(mf_str(key), &kind))
        return "User nkey not valid";
    return nkey_verify_any(mf_str(key), mf_str(nonce), mf_str(sig)) ? "" : "Signature not verified";
}

static int check_signature(struct operator_admission *q, const struct jwt_grant *g)
{
    const char *verdict = q->signature;

    if (g->bearer_token || is_skipped(q, OPERATOR_SIGNATURE))
        return 0;
    if (verdict == NULL)
        verdict = operator_check_signature(q->user->sub, q->login->nonce, q->login->connect->sig);
    return verdict[0] == '\0' ? 0 : fail_check(q, OPERATOR_SIGNATURE, "%s", verdict);
}

/* --- against the account ---------------------------------------------------------------------- */

/* *out: the user's own grant, or the template's for this user. */
static int find_grant(struct operator_admission *q, const struct operator_account *a,
                      const struct jwt_signing_key *signing, struct jwt_grant *out,
                      struct arena *mem)
{
    struct mf_error e;

    *out = q->user->user->grant;
    if (signing == NULL || !signing->scoped)
        return 0;
    if (jwt_scope_check(signing, q->user, &e) != 0)
        return fail_check(q, OPERATOR_SCOPE, "User JWT is not valid: %s", e.text);
    if (jwt_scope_expand(out, &signing->template_grant, q->user, a->jwt, mem, &e) != 0)
        return fail_check(q, OPERATOR_SCOPE, "User JWT generated invalid permissions: %s", e.text);
    return check_proxy(q, out);
}

static int check_grant(struct operator_admission *q, const struct operator_account *a,
                       const struct jwt_grant *g, int64_t *deadline_ns)
{
    const struct jwt_account *claims = a->jwt->account;
    int64_t now_ns = loop_wall_ns(q->op->setup.loop), end_ns = 0;

    if (a->expired)
        return fail_check(q, OPERATOR_EXPIRED, "Account JWT has expired");
    if (g->bearer_token && claims->limits.disallow_bearer && !is_skipped(q, OPERATOR_BEARER))
        return fail_check(q, OPERATOR_BEARER, "Account does not allow bearer tokens");
    if (!is_skipped(q, OPERATOR_CONNECTION) && !user_rights_kind(g, q->login->kind))
        return fail_check(q, OPERATOR_CONNECTION, "Connection type not allowed");
    if (check_signature(q, g) != 0)
        return MF_DENIED;
    if (jwt_revoked(&claims->revocations, q->user->sub, q->user->iat))
        return fail_check(q, OPERATOR_REVOKED, "User authentication revoked");
    if (!is_skipped(q, OPERATOR_SOURCE) && !user_rights_source(g, q->login->ip))
        return fail_check(q, OPERATOR_SOURCE, "Bad src Ip %s", q->login->ip);
    if (user_rights_window(g, now_ns, &end_ns) != 0 && !is_skipped(q, OPERATOR_TIMES))
        return fail_check(q, OPERATOR_TIMES, "Outside connect times");
    *deadline_ns = user_rights_deadline(q->user, end_ns);
    return 0;
}

static int64_t limit_of(int64_t n)
{
    return n < 0 ? -1 : n;
}

static int make_user(struct operator_admission *q, const struct operator_account *a,
                     const struct jwt_signing_key *signing, const struct jwt_grant *g,
                     int64_t deadline_ns, struct operator_user **out)
{
    struct operator_user *u = operator_user_new(q->user, a->jwt->name, q->login, !g->bearer_token);
    struct mf_error e;

    if (u == NULL)
        return fail_check(q, OPERATOR_MEMORY, "out of memory");
    if (user_rights_perms(&u->perms, &g->perms, &e) != 0) {
        login_user_release(&u->u);
        return fail_check(q, OPERATOR_PERMISSIONS, "User JWT has invalid permissions: %s", e.text);
    }
    u->bearer = g->bearer_token && !is_skipped(q, OPERATOR_BEARER);
    u->scope = signing == NULL ? 0 : operator_scope_hash(a, signing);
    u->deadline_ns = deadline_ns;
    u->max_subs = limit_of(g->subs);
    u->max_payload = limit_of(g->payload);
    *out = u;
    return 0;
}

static int admit_user(struct operator_admission *q, const struct operator_account *a,
                      struct operator_user **out, struct arena *mem)
{
    const struct jwt_signing_key *signing;
    int64_t deadline_ns = 0;
    struct jwt_grant g;

    if (check_pinned(q) != 0) /* a reload may have come between */
        return MF_DENIED;
    if (!operator_signer_known(q->op, a, q->user->iss, &signing))
        return fail_check(q, OPERATOR_ISSUER, "User JWT issuer is not known");
    if (find_grant(q, a, signing, &g, mem) != 0)
        return MF_DENIED;
    q->shows_jwt = !g.bearer_token;
    if (check_grant(q, a, &g, &deadline_ns) != 0 ||
        make_user(q, a, signing, &g, deadline_ns, out) != 0)
        return MF_DENIED;
    return 0;
}

static void account_loaded(struct operator_load *load, struct operator_account *a, const char *why)
{
    struct operator_admission *q = mf_container(load, struct operator_admission, load);
    struct operator_user *u = NULL;
    struct arena mem = {0};

    if (a == NULL)
        (void)fail_check(q, OPERATOR_ACCOUNT, "Account JWT lookup error: %s", why);
    else if (admit_user(q, a, &u, &mem) != 0)
        u = NULL;
    arena_fini(&mem);
    if (a == NULL || u == NULL) {
        refuse_user(q);
        return;
    }
    struct login_result r = {.account = a->account,
                             .perms = perms_retain(u->perms != NULL ? u->perms : a->defaults),
                             .deadline_ns = u->deadline_ns,
                             .max_subs = u->max_subs,
                             .max_payload = u->max_payload,
                             .user = &u->u};
    finish_admission(q, &r, NULL);
}

/* --- requests --------------------------------------------------------------------------------- */

void operator_admit(struct operator* op, struct operator_admission *q)
{
    q->op = op;
    q->failed = OPERATOR_ADMITTED;
    q->shows_jwt = false;
    if (check_alone(q) != 0) {
        q->turn.fn = refuse_later;
        loop_defer(op->setup.loop, &q->turn);
        return;
    }
    q->load = (struct operator_load){.done = account_loaded};
    (void)snprintf(q->load.account, sizeof q->load.account, "%s", jwt_user_account(q->user));
    operator_load(op, &q->load);
}

void operator_admit_cancel(struct operator_admission *q)
{
    if (q->op == NULL)
        return;
    loop_defer_cancel(q->op->setup.loop, &q->turn);
    operator_load_cancel(&q->load);
    jwt_free(q->user);
    q->user = NULL;
    q->op = NULL;
}
