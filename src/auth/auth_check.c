/* auth_check.c: checks credentials, in nats-server's order: nkey, certificate, user of the table,
 * then the one token or user for all clients. */
#include "auth/auth_impl.h"

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

static bool kind_allowed(const struct auth_user *u, enum auth_kind kind)
{
    return (u->kinds >> kind & 1) != 0;
}

static bool maps_certs(const struct auth *a, enum auth_kind kind)
{
    return (a->maps >> kind & 1) != 0;
}

/* --- certificates ----------------------------------------------------------------------------- */

static const struct auth_user *literal_user(const struct auth *a, const struct auth_request *r,
                                            const char *name)
{
    const struct auth_user *u = auth_find(a, name);

    return u != NULL && !u->nkey && kind_allowed(u, r->kind) ? u : NULL;
}

enum dn_match { DN_ORDERED, DN_SORTED, DN_PLAIN };

static bool dn_matches(const struct dn *user, const struct dn *cert, enum dn_match how)
{
    switch (how) {
    case DN_ORDERED:
        return strcmp(user->ordered, cert->ordered) == 0;
    case DN_SORTED:
        return strcmp(user->sorted, cert->sorted) == 0;
    default: /* the user must name all attributes that Go shows, so a partial name matches nothing
              */
        return cert->plain[0] != '\0' && strcmp(user->sorted, cert->plain) == 0;
    }
}

static const struct auth_user *dn_user(const struct auth *a, const struct auth_request *r,
                                       const char *subject)
{
    const struct auth_user *found = NULL;
    struct dn cert;

    if (dn_parse(&cert, mf_str(subject)) != 0)
        return NULL;
    for (enum dn_match how = DN_ORDERED; how <= DN_PLAIN && found == NULL; how++) {
        for (size_t i = 0; i < a->nusers && found == NULL; i++) {
            const struct auth_user *u = &a->users[i];
            if (u->has_dn && kind_allowed(u, r->kind) && dn_matches(&u->dn, &cert, how))
                found = u;
        }
    }
    dn_fini(&cert);
    return found;
}

const struct auth_user *auth_cert_user(const struct auth *a, const struct auth_request *r)
{
    const struct auth_user *u;

    for (size_t i = 0; i < r->ncert_names; i++) {
        /* An alternative name that merely looks like a subject is not compared as one. */
        bool subject = r->has_subject && i + 1 == r->ncert_names;
        if (subject && (u = dn_user(a, r, r->cert_names[i])) != NULL)
            return u;
        if ((u = literal_user(a, r, r->cert_names[i])) != NULL)
            return u;
    }
    return NULL;
}

/* --- choosing the proof ----------------------------------------------------------------------- */

/* The secret that this client must prove: that of a user of the table, or the one for all clients.
 */
struct proof {
    enum { PROOF_DENIED, PROOF_NONE, PROOF_SIGNATURE, PROOF_PASSWORD, PROOF_TOKEN } what;
    const struct auth_user *user;
    const char *stored; /* password or token */
    const char *name;
};

static const struct proof denied = {.what = PROOF_DENIED};

/* A user known by certificate alone cannot log in without a password. */
static bool certificate_only(const struct auth *a, const struct auth_user *u, enum auth_kind kind)
{
    return !is_text(u->password) && !maps_certs(a, kind) && (a->maps & u->kinds) != 0;
}

static struct proof user_proof(const struct auth_user *u)
{
    return (struct proof){PROOF_PASSWORD, u, u->password != NULL ? u->password : "", u->name};
}

static struct proof simple_proof(const struct auth *a, const struct auth_request *r)
{
    bool ws = r->kind == AUTH_WEBSOCKET && a->ws_override;
    const struct auth_simple *s = ws ? &a->ws : &a->simple;

    if (s->token != NULL)
        return (struct proof){PROOF_TOKEN, NULL, s->token, ""};
    if (s->user != NULL && is_text(r->user) && strcmp(s->user, r->user) == 0)
        return (struct proof){PROOF_PASSWORD, NULL, s->password != NULL ? s->password : "",
                              s->user};
    return denied;
}

static struct proof nobody_proof(const struct auth *a, const struct auth_request *r)
{
    const struct auth_user *u = is_text(r->no_auth_user) ? auth_find(a, r->no_auth_user) : NULL;

    if (u != NULL)
        return kind_allowed(u, r->kind) ? (struct proof){PROOF_NONE, u, "", u->name} : denied;
    if (a->open)
        return (struct proof){PROOF_NONE, NULL, "", ""};
    return simple_proof(a, r);
}

static struct proof choose_proof(const struct auth *a, const struct auth_request *r)
{
    bool nothing = !is_text(r->user) && !is_text(r->pass) && !is_text(r->token);
    const struct auth_user *u;

    if (!auth_required_kind(a, r->kind) ||
        (a->anyone && !(r->kind == AUTH_WEBSOCKET && a->ws_override)))
        return (struct proof){PROOF_NONE, NULL, "", ""};
    if (a->nnkeys > 0 && is_text(r->nkey)) {
        u = auth_find(a, r->nkey);
        if (u == NULL || !u->nkey || !kind_allowed(u, r->kind))
            return denied;
        return (struct proof){PROOF_SIGNATURE, u, "", u->name};
    }
    if (a->nusers > a->nnkeys && maps_certs(a, r->kind)) {
        u = auth_cert_user(a, r);
        return u == NULL ? denied : user_proof(u);
    }
    if (nothing)
        return nobody_proof(a, r);
    if (is_text(r->user) && a->nusers > a->nnkeys) {
        u = auth_find(a, r->user);
        if (u == NULL || u->nkey || !kind_allowed(u, r->kind) || certificate_only(a, u, r->kind))
            return denied;
        return user_proof(u);
    }
    return simple_proof(a, r);
}

static bool is_proven(const struct proof *p, const struct auth_request *r)
{
    switch (p->what) {
    case PROOF_NONE:
        return true;
    case PROOF_SIGNATURE:
        return is_text(r->sig) && nkey_verify(mf_str(p->user->name), r->nonce, mf_str(r->sig));
    case PROOF_PASSWORD:
        return password_matches(p->stored, r->pass);
    case PROOF_TOKEN:
        return password_matches(p->stored, r->token);
    case PROOF_DENIED:
        break;
    }
    return false;
}

/* An auth callout decides, so this table must not. */
static bool is_asked(const struct auth *a, const struct auth_request *r, const struct proof *p)
{
    if (p->user != NULL)
        return (p->user->asked >> r->kind & 1) != 0;
    return a->asks && (a->simple_asked || p->what != PROOF_PASSWORD);
}

static bool lacks_proxy(const struct auth *a, const struct auth_request *r, const struct proof *p)
{
    return !r->through_proxy && (p->user != NULL ? p->user->proxied : a->proxied);
}

bool auth_wants_proxy(const struct auth *a, const struct auth_request *r)
{
    struct proof p = choose_proof(a, r);

    return !a->closed && lacks_proxy(a, r, &p);
}

int auth_check(const struct auth *a, const struct auth_request *r, struct auth_identity *who)
{
    struct proof p = choose_proof(a, r);

    if (a->closed || lacks_proxy(a, r, &p) || is_asked(a, r, &p) || !is_proven(&p, r))
        return MF_DENIED;
    *who = (struct auth_identity){.account = AUTH_GLOBAL, .name = p.name};
    if (p.user == NULL) {
        who->perms = perms_retain(a->global);
    } else {
        if (p.user->deadline_ns != 0 && r->now_ns >= p.user->deadline_ns)
            return MF_DENIED;
        who->account = p.user->account;
        who->deadline_ns = p.user->deadline_ns;
        who->perms = perms_retain(p.user->perms);
    }
    return 0;
}

bool auth_is_slow(const struct auth *a, const struct auth_request *r)
{
    struct proof p;

    /* Certificates' names are borrowed from the connection, so such a check stays on the loop. */
    if (auth_required_kind(a, r->kind) && maps_certs(a, r->kind))
        return false;
    p = choose_proof(a, r);
    if (is_asked(a, r, &p) || lacks_proxy(a, r, &p))
        return false;
    return (p.what == PROOF_PASSWORD || p.what == PROOF_TOKEN) && password_is_bcrypt(p.stored);
}
