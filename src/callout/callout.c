/* callout.c: the login service of auth callouts: which logins the service is asked about, and their
 * ends.
 *
 * Happy path: start_login(); in operator mode admit.c checks the user JWT first; ask.c asks the
 * service; answer.c reads its response; place.c or admit.c makes the user; callout_accept().
 * Failure: callout_refuse(), with a warning in the log.  Cancel: ask_drop(), nothing is called. */
#include "callout/callout_impl.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_leaf(const struct login *q)
{
    return q->kind == LOGIN_LEAFNODE || q->kind == LOGIN_LEAFNODE_WS;
}

static const struct options_user *find_nobody(const struct callout *c, const struct login *q)
{
    const struct connect_opts *k = q->connect;

    if (mf_has_text(k->nkey) || mf_has_text(k->user) || mf_has_text(k->pass) ||
        mf_has_text(k->token) || mf_has_text(k->jwt) || is_leaf(q))
        return NULL;
    return q->kind == LOGIN_WEBSOCKET && c->ws_nobody != NULL ? c->ws_nobody : c->nobody;
}

static const char *user_name(const struct options_user *u)
{
    return mf_has_text(u->nkey) ? u->nkey : u->user;
}

/* Whom CONNECT names in the file; a signature or a password is still to prove it. */
static const char *claimed_user(const struct callout *c, const struct login *q)
{
    const struct connect_opts *k = q->connect;
    const struct options_user *nobody = find_nobody(c, q);

    if (nobody != NULL)
        return user_name(nobody);
    return mf_has_text(k->nkey) ? k->nkey : k->user;
}

/* Users of accounts that are not in allowed_accounts are for src/auth, which refuses the others. */
static bool decides_login(void *arg, const struct login *q)
{
    const struct callout *c = arg;
    const struct options_callout *k = c->setup.options->auth.callout;

    if (c->setup.op != NULL)
        return login_decided(c->setup.operator_logins, q);
    return options_callout_asks(k, claimed_user(c, q), "", true) &&
           (q->refused || is_leaf(q) || k->allowed.n == 0);
}

/* --- ends ------------------------------------------------------------------------------------- */

static struct login *detach_login(struct callout_login *l)
{
    struct login *q = l->q;

    ask_drop(l);
    mf_list_del(&l->link);
    l->callout->nlogins--;
    q->state = NULL;
    return q;
}

static void free_login(struct callout_login *l)
{
    login_user_release(l->sentinel);
    account_release(l->account);
    free(l->xkey);
    ask_forget_response(l);
    free(l);
}

void callout_accept(struct callout_login *l, const struct login_result *r)
{
    struct login *q = detach_login(l);

    free_login(l);
    q->done(q, r, NULL);
}

void callout_refuse_as(struct callout_login *l, const struct login_refusal *no)
{
    struct login *q = detach_login(l);

    q->done(q, NULL, no);
    free_login(l);
}

void callout_refuse(struct callout_login *l, const char *why)
{
    struct login_refusal no = LOGIN_REFUSED(why);

    log_warn("%s", why);
    no.account = l->account;
    callout_refuse_as(l, &no);
}

const struct options_user *callout_nobody(const struct callout_login *l)
{
    return find_nobody(l->callout, l->q);
}

const char *callout_shown(const struct callout_login *l, const char *name)
{
    const struct connect_opts *k = l->q->connect;

    if (mf_has_text(name))
        return name;
    if (callout_nobody(l) != NULL)
        return user_name(callout_nobody(l));
    if (mf_has_text(k->nkey))
        return k->nkey;
    if (mf_has_text(k->user))
        return k->user;
    return mf_has_text(k->token) ? "[REDACTED]" : "";
}

int64_t callout_limit(int64_t claimed)
{
    return claimed > 0 ? claimed : -1;
}

/* --- the service ------------------------------------------------------------------------------ */

static void ask_configured(struct callout_login *l)
{
    const struct callout *c = l->callout;
    const struct options_callout *k = c->setup.options->auth.callout;
    struct account *a = accounts_get(c->setup.accounts, k->account);
    char why[256];

    if (a != NULL) {
        ask_service(l, a, k->xkey, k->issuer);
        return;
    }
    (void)snprintf(why, sizeof why,
                   "No valid account \"%.100s\" for auth callout request: account missing",
                   k->account);
    ask_refuse_later(l, why);
}

static int start_login(void *arg, struct login *q)
{
    struct callout *c = arg;
    struct callout_login *l;

    l = calloc(1, sizeof *l);
    if (l == NULL)
        return MF_NOMEM;
    l->callout = c;
    l->q = q;
    ask_prepare(l);
    q->state = l;
    mf_list_push(&c->logins, &l->link);
    c->nlogins++;
    if (c->setup.op == NULL)
        ask_configured(l);
    else if (admit_start(l) != 0) {
        (void)detach_login(l);
        free_login(l);
        return MF_NOMEM;
    }
    return 0;
}

static void cancel_login(void *arg, struct login *q)
{
    struct callout_login *l = q->state;

    (void)arg;
    if (l == NULL)
        return;
    (void)detach_login(l);
    free_login(l);
}

static int renew_user(void *arg, struct account *a, struct login_user *u, struct login_result *out,
                      struct login_refusal *no)
{
    struct callout *c = arg;

    if (c->setup.op != NULL)
        return admit_renew(c, a, u, out, no);
    place_renew(a, u, out);
    return 0;
}

static const struct options_user *find_user(const struct options *o, const char *name)
{
    const struct options_user *found = NULL;

    for (size_t a = 0; name != NULL && a <= o->naccounts; a++) {
        const struct options_user *u = a > 0 ? o->accounts[a - 1].users : o->auth.users;
        size_t n = a > 0 ? o->accounts[a - 1].nusers : o->auth.nusers;
        for (size_t i = 0; i < n && found == NULL; i++)
            found = strcmp(user_name(&u[i]), name) == 0 ? &u[i] : NULL;
    }
    return found;
}

static void use_options(struct callout *c, const struct options *o)
{
    c->setup.options = o;
    c->nobody = find_user(o, o->no_auth_user);
    c->ws_nobody = find_user(o, o->websocket.no_auth_user);
}

void callout_open(struct callout *c, const struct callout_setup *s)
{
    *c = (struct callout){.setup = *s, .work = {.name = "logins"}};
    mf_list_init(&c->logins);
    use_options(c, s->options);
    if (s->op == NULL && s->options->auth.callout == NULL)
        return;
    c->service = (struct login_service){.arg = c,
                                        .required = s->op != NULL,
                                        .decides = decides_login,
                                        .start = start_login,
                                        .cancel = cancel_login,
                                        .renew = renew_user};
}

void callout_account_gone(struct callout *c, const struct account *a)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->logins)
    {
        struct callout_login *l = mf_container(pos, struct callout_login, link);
        if (l->account == a)
            ask_refuse_later(l, "The account of the auth callout was removed");
    }
}

static void find_gone(void *arg, struct callout_login *l)
{
    const struct callout *c = arg;

    if (l->account != NULL &&
        accounts_get(c->setup.accounts, account_name(l->account)) != l->account)
        ask_refuse_later(l, "The account of the auth callout was removed");
}

void callout_reload(struct callout *c, const struct options *o)
{
    struct mf_list *pos;

    use_options(c, o);
    if (c->service.decides == NULL)
        return;
    mf_list_each(pos, &c->logins) find_gone(c, mf_container(pos, struct callout_login, link));
}

void callout_close(struct callout *c)
{
    struct mf_list *next;

    while (c->service.decides != NULL && (next = c->logins.next) != &c->logins)
        cancel_login(c, mf_container(next, struct callout_login, link)->q);
    c->service = (struct login_service){0};
}
