/* place.c: users of an auth callout in configuration mode: signed by the issuer of the
 * configuration, placed in the account that the audience names. */
#include "callout/callout_impl.h"

#include "operator/user_rights.h"

#include <stdio.h>
#include <stdlib.h>

struct placed_user {
    struct login_user u;
    struct perms *perms;
    int64_t deadline_ns, max_subs, max_payload;
};

static const struct options_callout *callout_settings(const struct callout_login *l)
{
    return l->callout->setup.options->auth.callout;
}

bool place_signs(const void *login, const char *signer)
{
    return strcmp(callout_settings(login)->issuer, signer) == 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_allowed(const struct options_callout *k, const char *account)
{
    for (size_t i = 0; i < k->allowed.n; i++)
        if (strcmp(k->allowed.items[i], account) == 0)
            return true;
    return k->allowed.n == 0 || strcmp(k->account, account) == 0;
}

/* How, from where and when it connects. */
static int check_connection(const struct callout_login *l, const struct jwt *user,
                            int64_t *window_end_ns, struct mf_error *e)
{
    const struct jwt_grant *g = &user->user->grant;
    const char *account = callout_settings(l)->account;

    if (g->proxy_required && !l->q->through_proxy)
        return mf_fail(e, MF_DENIED, "Proxy connection required");
    if (user_rights_window(g, loop_wall_ns(l->callout->setup.loop), window_end_ns) != 0)
        return mf_fail(e, MF_DENIED,
                       "Authorized user on account \"%s\" outside of valid connect times", account);
    if (!user_rights_kind(g, l->q->kind))
        return mf_fail(e, MF_DENIED,
                       "Authorized user on account \"%s\" using invalid connection type", account);
    if (!user_rights_source(g, l->q->ip))
        return mf_fail(e, MF_DENIED, "Authorized user on account \"%s\" may not connect from %s",
                       account, l->q->ip);
    return 0;
}

static int find_target(const struct callout_login *l, const struct jwt *user, struct account **out,
                       struct mf_error *e)
{
    const struct options_callout *k = callout_settings(l);

    if (mf_has_text(user->user->issuer_account))
        return mf_fail(e, MF_DENIED,
                       "Error non operator mode account \"%s\": attempted to use issuer_account",
                       k->account);
    if (strcmp(user->iss, k->issuer) != 0)
        return mf_fail(e, MF_DENIED,
                       "Wrong issuer for auth callout response on account \"%s\", expected \"%s\" "
                       "got \"%s\"",
                       k->account, k->issuer, user->iss);
    *out = accounts_get(l->callout->setup.accounts, user->aud);
    if (*out == NULL)
        return mf_fail(e, MF_DENIED,
                       "No valid account \"%s\" for auth callout response on account \"%s\": "
                       "account missing",
                       user->aud, k->account);
    if (!is_allowed(k, user->aud))
        return mf_fail(e, MF_DENIED,
                       "Account \"%s\" not permitted as valid account option for auth callout for "
                       "account \"%s\"",
                       user->aud, k->account);
    return 0;
}

/* --- users ------------------------------------------------------------------------------------ */

static void free_user(struct login_user *u)
{
    struct placed_user *p = mf_container(u, struct placed_user, u);

    free(u->shown);
    perms_release(p->perms);
    free(p);
}

static int make_perms(struct perms **out, const struct jwt_permissions *p, bool asked_here,
                      struct mf_error *e)
{
    struct options_permissions o;

    user_rights_options(&o, p);
    if (asked_here)
        return perms_new_without(out, jwt_permissions_empty(p) ? NULL : &o, AUTH_CALLOUT_SUBJECT,
                                 false, e);
    return user_rights_perms(out, p, e);
}

static struct placed_user *new_user(const struct callout_login *l, const struct jwt *user,
                                    int64_t window_end_ns, struct mf_error *e)
{
    const struct jwt_grant *g = &user->user->grant;
    struct placed_user *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->u.refs = 1;
    p->u.free = free_user;
    p->u.shown = mf_slice_dup(mf_str(callout_shown(l, user->name)));
    p->deadline_ns = user_rights_deadline(user, window_end_ns);
    p->max_subs = callout_limit(g->subs);
    p->max_payload = callout_limit(g->payload);
    if (p->u.shown == NULL ||
        make_perms(&p->perms, &g->perms, strcmp(user->aud, callout_settings(l)->account) == 0, e) !=
            0) {
        free_user(&p->u);
        return NULL;
    }
    return p;
}

void place_renew(struct account *a, struct login_user *u, struct login_result *out)
{
    struct placed_user *p = mf_container(u, struct placed_user, u);

    *out = (struct login_result){.account = a,
                                 .perms = perms_retain(p->perms),
                                 .deadline_ns = p->deadline_ns,
                                 .max_subs = p->max_subs,
                                 .max_payload = p->max_payload,
                                 .user = login_user_retain(u)};
}

void place_user(struct callout_login *l, struct jwt *user)
{
    struct mf_error e = {.text = "No memory for an auth callout"};
    struct placed_user *p = NULL;
    struct account *target = NULL;
    struct login_result r;
    int64_t window_end_ns = 0;

    if (check_connection(l, user, &window_end_ns, &e) == 0 &&
        find_target(l, user, &target, &e) == 0)
        p = new_user(l, user, window_end_ns, &e);
    jwt_free(user);
    if (p == NULL) {
        callout_refuse(l, e.text);
        return;
    }
    place_renew(target, &p->u, &r);
    login_user_release(&p->u); /* the result has a reference of its own */
    callout_accept(l, &r);
}
