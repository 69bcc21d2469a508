/* operator_user_impl.h: a connected user of operator mode: what is kept of its JWT.  Private to
 * operator. */
#ifndef MAYFLY_OPERATOR_OPERATOR_USER_IMPL_H
#define MAYFLY_OPERATOR_OPERATOR_USER_IMPL_H

#include "operator/operator_login.h"

struct operator_user {
    struct login_user u;
    char key[NKEY_TEXT]; /* the JWT's sub: u.key may be replaced */
    char signer[NKEY_TEXT];
    bool bearer;         /* and new claims of the account may end it */
    uint64_t scope;      /* operator_scope_hash() of the signing key; 0: signed by the account */
    struct perms *perms; /* NULL: none of its own */
    int64_t issued_s;    /* iat */
    int64_t deadline_ns, max_subs, max_payload;
};
/* NULL: no memory.  Without rights yet.  account_name may be NULL.  O(texts). */
struct operator_user *operator_user_new(const struct jwt *user, const char *account_name,
                                        const struct login *login, bool keep_jwt);
/* Whether `key` may sign users of this account; *signing is NULL for its own key. */
bool operator_signer_known(const struct operator* op, const struct operator_account *a,
                           const char *key, const struct jwt_signing_key **signing);
/* Of all that the claims say about this signing key, never 0. */
uint64_t operator_scope_hash(const struct operator_account *a, const struct jwt_signing_key *k);

/* "", or what is wrong with the signature of a nonce by this key. */
const char *operator_check_signature(const char *key, const char *nonce, const char *sig);

#endif
