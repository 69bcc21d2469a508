/* auth.c: the table of users, built from the options, and lookups in it. */
#include "auth/auth_impl.h"

#include "base/clock.h"
#include "config/options_callout.h"
#include "codec/hash.h"

#include <sodium.h>
#include <stdlib.h>

#define ALL_KINDS                                                                                  \
    (1u << AUTH_STANDARD | 1u << AUTH_WEBSOCKET | 1u << AUTH_LEAFNODE | 1u << AUTH_MQTT)

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

static char *dup_text(const char *s)
{
    return mf_slice_dup(mf_str(s));
}

static void wipe_secret(char *secret)
{
    if (secret != NULL)
        sodium_memzero(secret, strlen(secret));
    free(secret);
}

/* --- building --------------------------------------------------------------------------------- */

static unsigned kinds_of(const struct options_list *types)
{
    static const struct {
        const char *name;
        enum auth_kind kind;
    } known[] = {{"STANDARD", AUTH_STANDARD},
                 {"WEBSOCKET", AUTH_WEBSOCKET},
                 {"LEAFNODE", AUTH_LEAFNODE},
                 {"MQTT", AUTH_MQTT}};
    unsigned kinds = 0;

    if (types->n == 0)
        return ALL_KINDS;
    for (size_t i = 0; i < types->n; i++) {
        for (size_t k = 0; k < MF_COUNT(known); k++) {
            if (mf_eq_nocase(mf_str(types->items[i]), known[k].name))
                kinds |= 1u << known[k].kind;
        }
    }
    return kinds;
}

static unsigned kinds_asked(const struct options *o, const char *name, const char *account)
{
    const struct options_callout *k = o->auth.callout;
    unsigned kinds = 0;

    if (k != NULL && options_callout_asks(k, name, account, false))
        kinds |= ALL_KINDS & ~(1u << AUTH_LEAFNODE);
    if (k != NULL && options_callout_asks(k, name, account, true))
        kinds |= 1u << AUTH_LEAFNODE;
    return kinds;
}

/* Requests to a callout's service come from the server alone, and only auth_users read them. */
static int user_perms(struct perms **out, const struct options *o, const char *name,
                      const char *account, const struct options_permissions *p, struct mf_error *e)
{
    const struct options_callout *k = o->auth.callout;

    if (k == NULL || strcmp(k->account, account) != 0)
        return perms_new(out, p, e);
    return perms_new_without(out, p, AUTH_CALLOUT_SUBJECT,
                             !options_callout_asks(k, name, account, true), e);
}

/* Fills the next slot of a->users, which is large enough. */
static int user_add(struct auth *a, const struct options *all, const struct options_user *o,
                    const char *account, const struct options_permissions *defaults,
                    struct mf_error *e)
{
    struct auth_user *u = &a->users[a->nusers];
    const char *name = is_text(o->nkey) ? o->nkey : o->user;
    uint8_t raw[32];
    int rc;

    if (!is_text(name))
        return mf_fail(e, MF_INVAL, "User entry requires a user");
    u->nkey = is_text(o->nkey);
    if (u->nkey && nkey_decode(mf_str(name), NKEY_USER, raw) != 0)
        return mf_fail(e, MF_INVAL, "Not a valid public nkey for a user");
    if (auth_find(a, name) != NULL)
        return mf_fail(e, MF_EXISTS, "Duplicate %s \"%s\" detected", u->nkey ? "nkey" : "user",
                       name);
    a->nusers++; /* from here auth_free() cleans up */
    u->name = dup_text(name);
    u->account = dup_text(account);
    u->password = o->password == NULL ? NULL : dup_text(o->password);
    u->kinds = kinds_of(&o->connection_types);
    u->deadline_ns = o->connection_deadline_s * CLOCK_S;
    u->proxied = o->proxy_required;
    u->asked = kinds_asked(all, name, account);
    if (u->name == NULL || u->account == NULL || (o->password != NULL && u->password == NULL) ||
        table_add(&a->names, &u->by_name, hash_slice(mf_str(name))) != 0)
        return mf_fail(e, MF_NOMEM, "users");
    rc = user_perms(&u->perms, all, name, account,
                    o->permissions != NULL ? o->permissions : defaults, e);
    if (rc != 0)
        return mf_wrap(e, "invalid permissions for %s \"%s\"", u->nkey ? "nkey" : "user", name);
    a->nnkeys += u->nkey;
    if (a->maps != 0 && !u->nkey) {
        rc = dn_parse(&u->dn, mf_str(name));
        if (rc == MF_NOMEM)
            return mf_fail(e, MF_NOMEM, "users");
        u->has_dn = rc == 0;
    }
    return 0;
}

static int users_add(struct auth *a, const struct options *o, struct mf_error *e)
{
    size_t n = o->auth.nusers;

    for (size_t i = 0; i < o->naccounts; i++)
        n += o->accounts[i].nusers;
    a->users = calloc(n > 0 ? n : 1, sizeof *a->users);
    if (a->users == NULL)
        return mf_fail(e, MF_NOMEM, "users");
    for (size_t i = 0; i < o->auth.nusers; i++) {
        const struct options_user *u = &o->auth.users[i];
        const char *account = is_text(u->account) ? u->account : AUTH_GLOBAL;
        if (user_add(a, o, u, account, o->auth.default_permissions, e) != 0)
            return e->code;
        a->users[a->nusers - 1].proxied |= o->auth.proxy_required;
    }
    for (size_t i = 0; i < o->naccounts; i++) {
        const struct options_account *acc = &o->accounts[i];
        for (size_t k = 0; k < acc->nusers; k++) {
            if (user_add(a, o, &acc->users[k], acc->name, acc->default_permissions, e) != 0)
                return mf_wrap(e, "account %s", acc->name);
        }
    }
    return 0;
}

static int simple_copy(struct auth_simple *dst, const struct options_auth *o, struct mf_error *e)
{
    if (is_text(o->user))
        dst->user = dup_text(o->user);
    if (is_text(o->token))
        dst->token = dup_text(o->token);
    if (o->password != NULL)
        dst->password = dup_text(o->password);
    if ((is_text(o->user) && dst->user == NULL) || (is_text(o->token) && dst->token == NULL) ||
        (o->password != NULL && dst->password == NULL))
        return mf_fail(e, MF_NOMEM, "authorization");
    return 0;
}

static int callout_add(struct auth *a, const struct options *o, struct mf_error *e)
{
    const struct options_callout *k = o->auth.callout;

    if (k == NULL)
        return 0;
    a->asks = true;
    a->simple_asked =
        !is_text(o->auth.user) || options_callout_asks(k, o->auth.user, AUTH_GLOBAL, false);
    return user_perms(&a->global, o, o->auth.user, AUTH_GLOBAL, NULL, e);
}

/* A configuration that gives users to the system account alone does not lock all others out. */
static bool only_system_users(const struct options *o)
{
    const char *system = o->system_account != NULL ? o->system_account : "$SYS";

    return !o->no_system_account && !o->auth.set && !is_text(o->no_auth_user) &&
           o->naccounts == 1 && o->accounts[0].nusers > 0 &&
           strcmp(o->accounts[0].name, system) == 0;
}

int auth_new(struct auth **out, const struct options *o, struct mf_error *e)
{
    struct mf_error mine;
    struct auth *a = calloc(1, sizeof *a);

    if (e == NULL)
        e = &mine;
    if (a == NULL)
        return mf_fail(e, MF_NOMEM, "authorization");
    if (sodium_init() < 0) {
        free(a);
        return mf_fail(e, MF_IO, "libsodium cannot start");
    }
    if (o->tls.set && o->tls.verify_and_map)
        a->maps |= 1u << AUTH_STANDARD;
    if (o->websocket.set && o->websocket.tls.set && o->websocket.tls.verify_and_map)
        a->maps |= 1u << AUTH_WEBSOCKET;
    if (users_add(a, o, e) != 0 || simple_copy(&a->simple, &o->auth, e) != 0 ||
        simple_copy(&a->ws, &o->websocket.auth, e) != 0 || callout_add(a, o, e) != 0) {
        auth_free(a);
        return e->code;
    }
    /* JWTs would decide about every client: without them all are refused. */
    a->closed = o->operator_set;
    a->required =
        a->closed || a->asks || a->nusers > 0 || a->simple.user != NULL || a->simple.token != NULL;
    a->proxied = o->auth.proxy_required;
    a->anyone = a->proxied && !a->required;
    a->required |= a->proxied;
    a->ws_override = o->websocket.set && (a->ws.user != NULL || a->ws.token != NULL ||
                                          is_text(o->websocket.no_auth_user));
    a->open = only_system_users(o);
    *out = a;
    return 0;
}

static void simple_fini(struct auth_simple *s)
{
    free(s->user);
    wipe_secret(s->password);
    wipe_secret(s->token);
}

void auth_free(struct auth *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->nusers; i++) {
        struct auth_user *u = &a->users[i];
        free(u->name);
        free(u->account);
        wipe_secret(u->password);
        perms_release(u->perms);
        dn_fini(&u->dn);
    }
    table_fini(&a->names);
    free(a->users);
    simple_fini(&a->simple);
    simple_fini(&a->ws);
    perms_release(a->global);
    free(a);
}

/* --- lookups ---------------------------------------------------------------------------------- */

const struct auth_user *auth_find(const struct auth *a, const char *name)
{
    struct table_node *n = table_first(&a->names, hash_slice(mf_str(name)));

    for (; n != NULL; n = table_next(n)) {
        const struct auth_user *u = mf_container(n, struct auth_user, by_name);
        if (strcmp(u->name, name) == 0)
            return u;
    }
    return NULL;
}

bool auth_required(const struct auth *a)
{
    return a->required;
}

bool auth_required_kind(const struct auth *a, enum auth_kind kind)
{
    return a->required || (kind == AUTH_WEBSOCKET && a->ws_override);
}

bool auth_needs_nonce(const struct auth *a)
{
    return a->nnkeys > 0;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool simple_knows(const struct auth_simple *s, const char *name)
{
    return s->user != NULL && strcmp(s->user, name) == 0;
}

/* The secret behind a user name; false: the name is not known. */
static bool secret_of(const struct auth *a, const char *name, const char **secret,
                      const char **account)
{
    const struct auth_user *u = auth_find(a, name);

    *account = u != NULL ? u->account : AUTH_GLOBAL;
    if (u != NULL)
        *secret = u->password;
    else if (simple_knows(&a->simple, name))
        *secret = a->simple.password;
    else if (a->ws_override && simple_knows(&a->ws, name))
        *secret = a->ws.password;
    else
        return false;
    return true;
}

/* Clients without a name used a token, or no credentials were required. */
static bool nameless_may_stay(const struct auth *a, enum auth_kind kind)
{
    bool ws = kind == AUTH_WEBSOCKET && a->ws_override;

    return !auth_required_kind(a, kind) || (a->open && !ws) || (a->anyone && !ws) ||
           (ws ? a->ws.token : a->simple.token) != NULL;
}

bool auth_same(const struct auth *old, const struct auth *now, const struct auth_present *c)
{
    const char *before, *after, *was_in, *is_in;
    const struct auth_user *u = is_text(c->name) ? auth_find(now, c->name) : NULL;

    if (now->closed || (u == NULL && now->proxied && !c->through_proxy) ||
        (u != NULL && ((u->proxied && !c->through_proxy) || !(u->kinds >> c->kind & 1))))
        return false;
    if (!is_text(c->name))
        return nameless_may_stay(now, c->kind) && strcmp(c->account, AUTH_GLOBAL) == 0 &&
               same_text(old->simple.token, now->simple.token) &&
               same_text(old->ws.token, now->ws.token);
    return secret_of(old, c->name, &before, &was_in) && secret_of(now, c->name, &after, &is_in) &&
           same_text(before, after) && strcmp(is_in, c->account) == 0;
}

int auth_renew(const struct auth *a, const struct auth_present *c, struct auth_identity *out)
{
    const struct auth_user *u = is_text(c->name) ? auth_find(a, c->name) : NULL;
    const char *secret, *in = AUTH_GLOBAL;

    if (is_text(c->name) ? !secret_of(a, c->name, &secret, &in) : !nameless_may_stay(a, c->kind))
        return MF_NOTFOUND;
    if (strcmp(in, c->account) != 0)
        return MF_NOTFOUND;
    *out = (struct auth_identity){.account = in, .name = u != NULL ? u->name : ""};
    out->perms = perms_retain(u != NULL ? u->perms : a->global);
    if (u != NULL)
        out->deadline_ns = u->deadline_ns;
    return 0;
}
