/* auth.h: who may come in and what they may do.  Pure: no sockets, no clock but `now`. */
#ifndef MAYFLY_AUTH_H
#define MAYFLY_AUTH_H

#include "config/options.h"

/* --- permissions: compiled allow and deny lists, counted -------------------------------------- */
struct perms;
/* NULL *out for p == NULL: everything is allowed. */
MF_MUSTCHECK int perms_new(struct perms **out, const struct options_permissions *p,
                           struct mf_error *e);
struct perms *perms_retain(struct perms *p);
void perms_release(struct perms *p);
/* O(tokens of subject), whatever the length of the lists.  p may be NULL. */
bool perms_can_publish(const struct perms *p, struct mf_slice subject);
/* Is it in the deny list?  (Not: missing in the allow list.) */
bool perms_denies_publish(const struct perms *p, struct mf_slice subject);
/* For a SUB: some entry allows all of it, and no entry denies it wholly.  Entries "subject queue"
 * decide about queue subscriptions on that subject alone; wildcards in their queue count.
 * One thing differs from nats-server on purpose: there "foo.*" also allows SUB foo.>, and so shows
 * foo.a.b to somebody who may not see it; here only '>' covers '>'. */
bool perms_can_subscribe(const struct perms *p, struct mf_slice pattern, struct mf_slice queue);
/* A wildcard SUB overlaps a narrower deny: each delivery must be checked with the next one.  The
 * forms with a queue also mind entries that deny a queue name; a SUB with a queue needs them. */
bool perms_filter_needed(const struct perms *p, struct mf_slice pattern);
bool perms_can_deliver(const struct perms *p, struct mf_slice subject);
bool perms_filter_needed_queue(const struct perms *p, struct mf_slice pattern,
                               struct mf_slice queue);
bool perms_can_deliver_queue(const struct perms *p, struct mf_slice subject, struct mf_slice queue);
/* May answer what it receives: *max times (negative: no limit) for *expires_ns (negative: always).
 */
bool perms_tracks_responses(const struct perms *p, int64_t *max, int64_t *expires_ns);
/* What to show in USER.INFO; the options it was made from. */
const struct options_permissions *perms_options(const struct perms *p);

/* --- identities ------------------------------------------------------------------------------- */
enum auth_kind { AUTH_STANDARD, AUTH_WEBSOCKET, AUTH_LEAFNODE, AUTH_MQTT };
struct auth_request {                             /* what the client said in CONNECT */
    const char *user, *pass, *token, *nkey, *sig; /* NULL: absent */
    struct mf_slice nonce;
    enum auth_kind kind;
    /* verify_and_map: candidates in order: e-mail, DNS and URI names, the subject's DN last. */
    const char *const *cert_names;
    size_t ncert_names;
    bool has_subject;         /* the last of them is the certificate's subject */
    const char *no_auth_user; /* who a client without credentials becomes; NULL: nobody */
    int64_t now_ns;
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
/* The same for one kind of connection: websocket {} may ask for credentials of its own. */
bool auth_required_kind(const struct auth *a, enum auth_kind kind);
bool auth_needs_nonce(const struct auth *a); /* some user is an nkey */
/* 0 and *who, or MF_DENIED.  bcrypt is slow on purpose: auth_is_slow() tells to run it in a worker
 * (auth_check touches no shared state but reads the table). */
MF_MUSTCHECK int auth_check(const struct auth *a, const struct auth_request *r,
                            struct auth_identity *who);
bool auth_is_slow(const struct auth *a, const struct auth_request *r);
/* A client that is inside when the configuration changes. */
struct auth_present {
    const char *name, *account; /* name "" or NULL: it gave none */
    enum auth_kind kind;
};
/* Is it still welcome after a reload: same account, same password, token or nkey, kind of
 * connection still allowed?  (Its permissions may differ: auth_renew() tells the new ones.) */
bool auth_same(const struct auth *old, const struct auth *now, const struct auth_present *c);
/* What it may do and until when, now: perms retained for the caller (NULL: all).  MF_NOTFOUND. */
MF_MUSTCHECK int auth_renew(const struct auth *a, const struct auth_present *c,
                            struct auth_identity *out);

/* --- nkeys ------------------------------------------------------------------------------------ */
#define NKEY_TEXT 57
enum nkey_kind {
    NKEY_USER = 20 << 3,
    NKEY_ACCOUNT = 0,
    NKEY_SERVER = 13 << 3,
    NKEY_CURVE = 23 << 3
};
/* 0 and the raw key if text is a well-formed public key of this kind (checksum included). */
MF_MUSTCHECK int nkey_decode(struct mf_slice text, enum nkey_kind kind, uint8_t raw[32]);
void nkey_encode(char dst[NKEY_TEXT], enum nkey_kind kind, const uint8_t raw[32]);
/* sig: base64url without padding, or standard base64. */
bool nkey_verify(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig);
/* A fresh server identity: "N..." (the server id). */
void nkey_random(char dst[NKEY_TEXT], enum nkey_kind kind);

/* Passwords: bcrypt when it starts with $2a$ $2b$ $2x$ $2y$ and a cost; else constant-time plain.
 */
bool password_is_bcrypt(const char *stored);
bool password_matches(const char *stored, const char *given);

#endif
