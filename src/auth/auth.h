/* auth.h: credentials and permissions of clients.  Pure: no sockets, no clock except `now`. */
#ifndef MAYFLY_AUTH_H
#define MAYFLY_AUTH_H

#include "codec/nkey.h"
#include "config/options.h"

/* --- permissions: compiled allow and deny lists, counted -------------------------------------- */
struct perms;
/* NULL *out for p == NULL: everything is allowed. */
MF_MUSTCHECK int perms_new(struct perms **out, const struct options_permissions *p,
                           struct mf_error *e);
/* As perms_new(), and nothing may be published to `subject`; nor, if !hears, received from it. */
MF_MUSTCHECK int perms_new_without(struct perms **out, const struct options_permissions *p,
                                   const char *subject, bool hears, struct mf_error *e);
struct perms *perms_retain(struct perms *p);
void perms_release(struct perms *p);
/* O(tokens of subject), independent of the length of the lists. p may be NULL. */
bool perms_can_publish(const struct perms *p, struct mf_slice subject);
/* Whether the deny list matches. (A subject missing in the allow list is not denied.) */
bool perms_denies_publish(const struct perms *p, struct mf_slice subject);
/* For a SUB: some entry allows all of it, and no entry denies all of it.  Entries "subject queue"
 * decide about queue subscriptions on that subject alone; wildcards in their queue count.  One
 * difference from nats-server is intended: there "foo.*" also allows SUB foo.>, which shows foo.a.b
 * to a user without permission; here only '>' covers '>'. */
bool perms_can_subscribe(const struct perms *p, struct mf_slice pattern, struct mf_slice queue);
/* A wildcard SUB overlaps a narrower deny: each delivery must be checked with the next one.  The
 * forms with a queue also mind entries that deny a queue name; a SUB with a queue needs them. */
bool perms_filter_needed(const struct perms *p, struct mf_slice pattern);
bool perms_can_deliver(const struct perms *p, struct mf_slice subject);
bool perms_filter_needed_queue(const struct perms *p, struct mf_slice pattern,
                               struct mf_slice queue);
bool perms_can_deliver_queue(const struct perms *p, struct mf_slice subject, struct mf_slice queue);
/* Whether it may answer requests it received: *max times (negative: no limit) for *expires_ns
 * (negative: always). */
bool perms_tracks_responses(const struct perms *p, int64_t *max, int64_t *expires_ns);
/* The options it was compiled from, for USER.INFO. */
const struct options_permissions *perms_options(const struct perms *p);

/* Where the service of an auth callout is asked: closed to the clients of its account, but
 * for auth_users, who may subscribe: requests hold passwords. */
#define AUTH_CALLOUT_SUBJECT "$SYS.REQ.USER.AUTH"

/* --- identities ------------------------------------------------------------------------------- */
enum auth_kind { AUTH_STANDARD, AUTH_WEBSOCKET, AUTH_LEAFNODE, AUTH_MQTT };
struct auth_request {                             /* the credentials in CONNECT */
    const char *user, *pass, *token, *nkey, *sig; /* NULL: absent */
    struct mf_slice nonce;
    enum auth_kind kind;
    /* verify_and_map: candidates in order: e-mail, DNS and URI names, the subject's DN last. */
    const char *const *cert_names;
    size_t ncert_names;
    bool has_subject;         /* the last of them is the certificate's subject */
    const char *no_auth_user; /* the user of a client without credentials; NULL: none */
    int64_t now_ns;
    bool through_proxy; /* a trusted one */
};
struct auth_identity {
    const char *account; /* name; "$G" by default.  Borrowed from the table */
    const char *name;    /* user name, nkey, or "" ; for logs: auth_display() */
    struct perms *perms; /* retained for the caller, or NULL */
    int64_t deadline_ns; /* close at this time; 0: never */
};
struct auth;
/* Compiles users of the authorization block and of all accounts.  Passwords are kept; they are
 * never printed. */
MF_MUSTCHECK int auth_new(struct auth **out, const struct options *o, struct mf_error *e);
void auth_free(struct auth *a);
/* Some credentials are configured.  (With no_auth_user a client may still come without any.) */
bool auth_required(const struct auth *a);
/* The same for one kind of connection: websocket {} may require credentials of its own. */
bool auth_required_kind(const struct auth *a, enum auth_kind kind);
bool auth_needs_nonce(const struct auth *a); /* some user is an nkey */
/* 0 and *who, or MF_DENIED; also MF_DENIED if an auth callout decides about this user. bcrypt is
 * slow on purpose: after auth_is_slow() the check belongs in a worker (auth_check reads the table
 * and touches no shared state). */
MF_MUSTCHECK int auth_check(const struct auth *a, const struct auth_request *r,
                            struct auth_identity *who);
bool auth_is_slow(const struct auth *a, const struct auth_request *r);
/* Whether it is refused because it must come through a trusted proxy. */
bool auth_wants_proxy(const struct auth *a, const struct auth_request *r);
/* A client that is connected when the configuration changes. */
struct auth_present {
    const char *name, *account; /* name "" or NULL: it gave none */
    enum auth_kind kind;
    bool through_proxy;
};
/* Whether a client keeps its connection after a reload: same account, same password, token or nkey,
 * kind of connection still allowed. (Its permissions may differ: auth_renew().) */
bool auth_same(const struct auth *old, const struct auth *now, const struct auth_present *c);
/* Its present permissions and deadline: perms retained for the caller (NULL: everything is
 * allowed).  MF_NOTFOUND. */
MF_MUSTCHECK int auth_renew(const struct auth *a, const struct auth_present *c,
                            struct auth_identity *out);

/* --- proxies that sign the nonce ----------------------------------------------------------------
 */
/* NONE: no proxy signed, or none is configured.  UNKNOWN: none of the trusted ones did. */
enum auth_proxy { AUTH_PROXY_NONE, AUTH_PROXY_TRUSTED, AUTH_PROXY_UNKNOWN };
/* *key: its public key, in the options; else NULL.  O(trusted proxies), one verification each. */
enum auth_proxy auth_proxy_check(const struct options *o, const char *sig, struct mf_slice nonce,
                                 const char **key);
bool auth_proxy_trusted(const struct options *o, const char *key);

/* --- nkeys ------------------------------------------------------------------------------------ */
/* Texts of keys: codec/nkey.h. */
/* sig: base64url without padding, or standard base64. */
bool nkey_verify(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig);
/* The same by a key of any kind, not a user's alone. */
bool nkey_verify_any(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig);
/* A fresh server identity: "N..." (the server id). */
void nkey_random(char dst[NKEY_TEXT], enum nkey_kind kind);

/* Passwords: bcrypt when it starts with $2a$ $2b$ $2x$ $2y$ and a cost; else constant-time plain.
 */
bool password_is_bcrypt(const char *stored);
bool password_matches(const char *stored, const char *given);

#endif
