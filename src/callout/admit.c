/* admit.c: auth callouts in operator mode: users of an account whose JWT names auth_users.
 *
 * Happy path: admit_start() checks the JWT of CONNECT as for every user; first_done() asks the
 * service of its account; admit_user() admits the user that the service names, in the account
 * itself or in one that the JWT allows; second_done().  Users of other accounts, and auth_users,
 * pass after the first check. */
#include "callout/callout_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* Auth callout claims of an account; NULL: it has none. */
static const struct jwt_callout *claims_of(const struct callout *c, const struct account *a)
{
    const struct operator_account *oa = operator_account_find(c->setup.op, account_name(a));

    return oa != NULL && oa->jwt->account->authorization.auth_users.n > 0
               ? &oa->jwt->account->authorization
               : NULL;
}

static bool is_listed(const struct json_strs *l, const char *text)
{
    for (size_t i = 0; text != NULL && i < l->n; i++)
        if (strcmp(l->at[i], text) == 0)
            return true;
    return false;
}

/* Requests come from the server alone: users of the account may not publish them, and only
 * auth_users read them. */
static int close_subject(struct login_result *r, const struct jwt_callout *k)
{
    bool hears = is_listed(&k->auth_users, r->user->key);
    struct perms *now;
    struct mf_error e;

    if (perms_new_without(&now, perms_options(r->perms), AUTH_CALLOUT_SUBJECT, hears, &e) != 0)
        return e.code;
    perms_release(r->perms);
    r->perms = now;
    return 0;
}

static void drop_result(struct login_result *r)
{
    perms_release(r->perms);
    login_user_release(r->user);
}

static void accept_result(struct callout_login *l, const struct login_result *given)
{
    const struct jwt_callout *k = claims_of(l->callout, given->account);
    struct login_result r = *given;

    if (k != NULL && close_subject(&r, k) != 0) {
        drop_result(&r);
        callout_refuse(l, "No memory for an auth callout");
        return;
    }
    callout_accept(l, &r);
}

/* --- the user of CONNECT ---------------------------------------------------------------------- */

static void first_done(struct login *q, const struct login_result *r,
                       const struct login_refusal *no)
{
    struct callout_login *l = mf_container(q, struct callout_login, first);
    const struct jwt_callout *k;

    if (r == NULL) {
        callout_refuse_as(l, no);
        return;
    }
    k = claims_of(l->callout, r->account);
    if (k == NULL || is_listed(&k->auth_users, r->user->key)) {
        accept_result(l, r);
        return;
    }
    l->sentinel = r->user;
    perms_release(r->perms);
    ask_service(l, r->account, k->xkey, account_name(r->account));
}

int admit_start(struct callout_login *l)
{
    const struct login_service *s = l->callout->setup.operator_logins;

    l->first = *l->q;
    l->first.state = NULL;
    l->first.done = first_done;
    return s->start(s->arg, &l->first);
}

void admit_cancel(struct callout_login *l)
{
    const struct login_service *s = l->callout->setup.operator_logins;

    if (l->first.state != NULL)
        s->cancel(s->arg, &l->first);
    operator_admit_cancel(&l->admission);
}

/* --- the user of the service ------------------------------------------------------------------ */

bool admit_signs(const void *login, const char *signer)
{
    const struct callout_login *l = login;
    const char *account = account_name(l->account);
    const struct operator_account *oa = operator_account_find(l->callout->setup.op, account);

    return oa != NULL && (strcmp(signer, account) == 0 ||
                          jwt_account_signing_key(oa->jwt->account, signer) != NULL);
}

static void say_why(struct callout_login *l, const struct login_refusal *no)
{
    const char *why = no->why != NULL ? no->why : "";
    const char *cause = strstr(why, ": ");

    switch (l->admission.failed) {
    case OPERATOR_PROXY:
        (void)snprintf(l->why, sizeof l->why, "Proxy connection required");
        break;
    case OPERATOR_ACCOUNT:
        (void)snprintf(l->why, sizeof l->why,
                       "No valid account \"%s\" for auth callout response on account \"%s\": %s",
                       l->target, account_name(l->account), cause != NULL ? cause + 2 : why);
        break;
    case OPERATOR_ISSUER:
        (void)snprintf(l->why, sizeof l->why, "User JWT issuer \"%s\" is not known", l->issuer);
        break;
    case OPERATOR_CONNECTION:
        (void)snprintf(l->why, sizeof l->why,
                       "Authorized user on account \"%s\" using invalid connection type",
                       account_name(l->account));
        break;
    case OPERATOR_SOURCE:
        (void)snprintf(l->why, sizeof l->why,
                       "Authorized user on account \"%s\" may not connect from %s",
                       account_name(l->account), l->q->ip);
        break;
    case OPERATOR_TIMES:
        (void)snprintf(l->why, sizeof l->why,
                       "Authorized user on account \"%s\" outside of valid connect times",
                       account_name(l->account));
        break;
    default:
        (void)snprintf(l->why, sizeof l->why, "%s", why);
    }
}

/* Replaces an owned text.  "" and NULL become NULL. */
static bool set_text(char **at, const char *text)
{
    free(*at);
    *at = mf_has_text(text) ? mf_slice_dup(mf_str(text)) : NULL;
    return *at != NULL || !mf_has_text(text);
}

/* Pages show whom the service named; USER.INFO also the user of CONNECT.  Without a key of its own
 * it is known as a callout's user. */
static bool rename_user(const struct callout_login *l, struct login_user *u)
{
    return set_text(&u->shown, callout_shown(l, u->name)) &&
           set_text(&u->name, l->sentinel->name) && set_text(&u->key, NULL) &&
           set_text(&u->jwt, NULL);
}

static void second_done(struct operator_admission *q, const struct login_result *given,
                        const struct login_refusal *no)
{
    struct callout_login *l = mf_container(q, struct callout_login, admission);
    struct login_result r;

    if (given == NULL) {
        say_why(l, no);
        callout_refuse(l, l->why);
        return;
    }
    r = *given;
    r.max_subs = callout_limit(r.max_subs);
    r.max_payload = callout_limit(r.max_payload);
    if (rename_user(l, r.user)) {
        accept_result(l, &r);
        return;
    }
    drop_result(&r);
    callout_refuse(l, "No memory for an auth callout");
}

static bool may_place(const struct callout_login *l, const char *target)
{
    const struct jwt_callout *k = claims_of(l->callout, l->account);

    if (strcmp(target, account_name(l->account)) == 0)
        return true;
    return k != NULL && (is_listed(&k->allowed_accounts, target) ||
                         (k->allowed_accounts.n == 1 && is_listed(&k->allowed_accounts, "*")));
}

void admit_user(struct callout_login *l, struct jwt *user)
{
    const char *target = jwt_user_account(user);

    (void)snprintf(l->issuer, sizeof l->issuer, "%s", user->iss);
    (void)snprintf(l->target, sizeof l->target, "%s", target);
    if (!may_place(l, target)) {
        (void)snprintf(l->why, sizeof l->why,
                       "Account \"%s\" not permitted as valid account option for auth callout for "
                       "account \"%s\"",
                       l->issuer, account_name(l->account));
        jwt_free(user);
        callout_refuse(l, l->why);
        return;
    }
    l->running = false; /* the task is over, and the login goes on */
    l->admission = (struct operator_admission){.user = user,
                                               .login = l->q,
                                               .skip = OPERATOR_SKIP(OPERATOR_SIGNATURE) |
                                                       OPERATOR_SKIP(OPERATOR_BEARER),
                                               .done = second_done};
    operator_admit(l->callout->setup.op, &l->admission);
}

int admit_renew(struct callout *c, struct account *a, struct login_user *u,
                struct login_result *out, struct login_refusal *no)
{
    const struct login_service *s = c->setup.operator_logins;
    const struct jwt_callout *k = claims_of(c, a);
    int rc = s->renew(s->arg, a, u, out, no);

    if (rc != 0)
        return rc;
    if (u->key == NULL) {
        out->max_subs = callout_limit(out->max_subs);
        out->max_payload = callout_limit(out->max_payload);
    }
    if (k == NULL || close_subject(out, k) == 0)
        return 0;
    drop_result(out);
    *no = LOGIN_REFUSED("No memory for an auth callout");
    return MF_DENIED;
}
