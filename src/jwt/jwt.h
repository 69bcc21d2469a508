/* jwt.h: the tokens of operator mode and of auth callouts: decoded, verified, validated, signed.
 * Pure: knows no server, reads no clock, writes no log.
 *
 * A token is three parts in base64url without padding, joined by dots: header, claims, signature
 * (Ed25519 by the key in `iss`).  In version 2 the signature covers header and claims, in version 1
 * the claims alone.  Keys of the claims match in any case, unknown ones are skipped.
 *
 * Decoding checks form, signature and the kind of the signer; that the signer is trusted, that the
 * token is valid now and that its contents make sense are questions of the caller. O(bytes). */
#ifndef MAYFLY_JWT_H
#define MAYFLY_JWT_H

#include "base/buf.h"
#include "codec/json.h"
#include "codec/nkey.h"

#define JWT_SIZE_MAX (1u << 20) /* longer tokens are refused before anything is read */

enum jwt_kind {
    JWT_OPERATOR,
    JWT_ACCOUNT,
    JWT_USER,
    JWT_ACTIVATION,
    JWT_AUTH_REQUEST,
    JWT_AUTH_RESPONSE,
    JWT_GENERIC /* of any other type */
};

struct jwt {
    enum jwt_kind kind;
    int version; /* 1 or 2; what is below is the same for both */
    /* Texts are never NULL.  Seconds since 1970; 0: none. */
    char *text; /* the token without line ends: what to compare, keep and send on */
    char *aud, *jti, *iss, *name, *sub;
    int64_t iat, exp, nbf;
    struct json_strs tags;
    char *claims; /* the JSON text of all claims */
    union {       /* by kind; in the token's own memory */
        struct jwt_operator *operator_claims;
        struct jwt_account *account;
        struct jwt_user *user;
        struct jwt_activation *activation;
        struct jwt_auth_request *request;
        struct jwt_auth_response *response;
        struct json_strs *accounts; /* generic: nats.accounts, keys to delete; NULL: no such list */
    };
    struct arena mem;
};

/* Blanks around the text and line ends inside it are skipped.  MF_LIMIT: longer than JWT_SIZE_MAX;
 * MF_DENIED: signature or signer; MF_INVAL, MF_UNSUPPORTED, MF_NOMEM.  The error has nats-server's
 * text ("expected 3 chunks", "claim failed V2 signature verification"). */
MF_MUSTCHECK int jwt_decode(struct jwt **out, struct mf_slice text, struct mf_error *e);
/* Only this kind; another one is MF_INVAL: "not account claim". */
MF_MUSTCHECK int jwt_decode_as(struct jwt **out, enum jwt_kind kind, struct mf_slice text,
                               struct mf_error *e);
void jwt_free(struct jwt *j); /* overwrites the memory first; NULL is fine */

/* --- validation: what is wrong with the contents -----------------------------------------------
 */

enum jwt_severity {
    JWT_WARNING,
    JWT_TIME, /* expired, or not valid yet */
    JWT_BLOCKING
};
struct jwt_issue {
    enum jwt_severity severity;
    const char *text; /* nats-server's */
};
/* Start with {0}.  jwt_issues_fini() frees. */
struct jwt_issues {
    struct jwt_issue *at;
    size_t n;
    struct arena mem;
};
/* Appends what is wrong at the second now_s.  A token may stay used only without issues that its
 * use forbids: jwt_issues_blocking() (a resolver stores it), jwt_issues_any_but_warnings() (a
 * login, the use of an account), n > 0 (a callout's user).  O(bytes), and exports and imports are
 * compared in pairs, up to JWT_PAIRS_MAX of them; more are an issue.  At most JWT_ISSUES_MAX are
 * listed: the last one stands for all that follow, and is as severe as they are.  MF_NOMEM. */
#define JWT_PAIRS_MAX  (1u << 22)
#define JWT_ISSUES_MAX 256
MF_MUSTCHECK int jwt_validate(const struct jwt *j, int64_t now_s, struct jwt_issues *out);
bool jwt_issues_blocking(const struct jwt_issues *i);
bool jwt_issues_any_but_warnings(const struct jwt_issues *i);
/* "validation errors: [a b]": the blocking ones, or the times when nothing blocks; warnings are
 * left out.  The texts are cut where dst ends. */
const char *jwt_issues_text(const struct jwt_issues *i, char *dst, size_t size);
void jwt_issues_fini(struct jwt_issues *i);

/* --- signing -----------------------------------------------------------------------------------
 */

struct jwt_key { /* a secret: jwt_key_wipe() it */
    enum nkey_kind kind;
    char text[NKEY_TEXT]; /* its public half */
    uint8_t seed[32];
};
void jwt_key_random(struct jwt_key *k, enum nkey_kind kind); /* NKEY_CURVE: for jwt/xkey.h */
MF_MUSTCHECK int jwt_key_from_seed(struct jwt_key *k, struct mf_slice seed_text);
void jwt_key_wipe(struct jwt_key *k);

struct jwt_unsigned {
    const char *aud, *name, *sub; /* NULL: none */
    int64_t iat, exp, nbf;        /* 0: none */
    struct mf_slice nats;         /* the JSON object under "nats", with type and version */
};
/* Appends the token; `jti` is a hash of the common claims.  MF_NOMEM. */
MF_MUSTCHECK int jwt_sign(struct mf_buf *out, const struct jwt_unsigned *c,
                          const struct jwt_key *by);
/* Ed25519 over any bytes: for nonces of a server that logs in elsewhere. */
void jwt_key_sign(const struct jwt_key *k, struct mf_slice bytes, uint8_t sig[64]);

#endif
