/* operator_login.h: user JWTs are admitted, or refused, in operator mode.
 *
 * operator_admit() decides about one decoded user JWT: it loads the account that the user names,
 * and checks the user against the account's claims in nats-server's order.  struct operator_login
 * is the login service on top of it: it decodes the JWT of CONNECT.  An auth callout uses
 * operator_admit() for the JWT that its service returned.
 *
 * Cost: a login of a user of a loaded account is two signature checks (about 60 us each) and
 * O(bytes of its JWT) in a worker, and some microseconds of the loop.  A connected user keeps what
 * pages show of it and what operator_renew() needs: about 1.1 KB with its JWT, and its permissions.
 * All calls are for the loop thread. */
#ifndef MAYFLY_OPERATOR_LOGIN_H
#define MAYFLY_OPERATOR_LOGIN_H

#include "operator/operator.h"
#include "session/login.h"

/* --- one user JWT ------------------------------------------------------------------------------
 */

/* The check that refused a user, in the order of the checks. */
enum operator_check {
    OPERATOR_ADMITTED,
    OPERATOR_PROXY,      /* proxy_required, and it does not come through a trusted proxy */
    OPERATOR_VALID,      /* contents and times of the JWT */
    OPERATOR_KEY,        /* `sub` is no key of a user or an account */
    OPERATOR_PINNED,     /* resolver_pinned_accounts */
    OPERATOR_ACCOUNT,    /* the account cannot be used */
    OPERATOR_ISSUER,     /* the signer is not known to the account */
    OPERATOR_SCOPE,      /* against the template of its signing key */
    OPERATOR_EXPIRED,    /* the account is */
    OPERATOR_BEARER,     /* the account allows none */
    OPERATOR_CONNECTION, /* allowed_connection_types */
    OPERATOR_SIGNATURE,  /* of the nonce */
    OPERATOR_REVOKED,
    OPERATOR_SOURCE, /* src */
    OPERATOR_TIMES,
    OPERATOR_PERMISSIONS,
    OPERATOR_MEMORY
};
#define OPERATOR_SKIP(check) (1u << (check))

struct operator_admission {    /* the caller's; zeroed but for its first part */
    struct jwt *user;          /* JWT_USER; belongs to the operator from operator_admit() on, which
                                  frees it before done() returns, or when it is cancelled */
    const struct login *login; /* how it connects: until done() or cancel */
    unsigned skip;             /* OPERATOR_SKIP() of checks that are not asked */
    /* Once, never from inside operator_admit(): as login.done().  q->failed is the check that
     * refused; no->user then says who it claimed to be.  The user of a result has one reference:
     * the receiver may replace its texts (malloc) before it hands it on. */
    void (*done)(struct operator_admission *q, const struct login_result *r,
                 const struct login_refusal *no);
    enum operator_check failed;
    bool shows_jwt; /* no->user keeps its JWT: the signer is known, and it is not a bearer's */
    /* The operator's: */
    struct operator* op; /* NULL: finished */
    struct operator_load load;
    struct loop_defer turn;
    const char *signature; /* NULL: not looked at yet; "": it is good */
    char why[300];
};
void operator_admit(struct operator* op, struct operator_admission *q);
void operator_admit_cancel(struct operator_admission *q); /* harmless when finished */

/* login_service.renew() for users of operator_admit().  O(log n) of the account's signing keys and
 * revocations. */
MF_MUSTCHECK int operator_renew(struct operator* op, struct account *a, struct login_user *u,
                                struct login_result *out, struct login_refusal *no);

/* --- the login service -------------------------------------------------------------------------
 */

/* Decides about every login: without a JWT that can be read, the default sentinel is used or the
 * login is refused.  service is filled by operator_login_open(). */
struct operator_login {
    struct login_service service;
    struct operator* op;
    size_t checking; /* logins whose signatures are not checked yet */
};
void operator_login_open(struct operator_login *l, struct operator* op);
/* No login is under way any more. */
void operator_login_close(struct operator_login *l);

#endif
