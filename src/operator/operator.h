/* operator.h: operator mode of one server: accounts by their JWTs.
 *
 * An account is loaded when somebody needs it: a login, an import, a leaf remote, or streams that
 * it has on disk.  Loading asks the resolver for the JWT (once, whoever asks meanwhile), checks
 * that a trusted key signed it and that it is valid, and makes the account of its claims.  A loaded
 * account stays until it is deleted; it follows new JWTs, and expires to the second.
 *
 * Cost: finding a loaded account is O(1); loading one is one look-up and O(bytes of its JWT), and
 * what accounts_put() costs; memory is O(bytes of the JWTs of loaded accounts).  Accounts that
 * nobody uses cost nothing here.  All calls are for the loop thread, and none may be made from
 * inside deliver() but operator_load() and operator_account_find(). */
#ifndef MAYFLY_OPERATOR_H
#define MAYFLY_OPERATOR_H

#include "account/account.h"
#include "auth/auth.h"
#include "jwt/jwt_account.h"
#include "operator/claims.h"

struct operator;
struct operator_account { /* a loaded account; lives until gone() returns */
    char key[NKEY_TEXT];
    struct account *account;
    /* Its claims, never NULL; another one after each change.  text is "" for the stand-in of a
     * system account that the resolver does not have yet: only its own key may sign users then. */
    const struct jwt *jwt;
    struct perms *defaults; /* of users without permissions of their own; NULL: everything */
    bool expired;           /* or deleted: its users are refused */
    int64_t updated_ns;     /* wall clock: when these claims came */
};

struct operator_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options;    /* until operator_reload() or the end */
    const struct jwt_key *server_key; /* its public half is the server's id; signs callouts */
    void *arg;
    /* NULL members are not called, but write_server. */
    void (*write_server)(void *arg, struct jsonw *w); /* the members of "server" in answers */
    /* New claims are in force; before, valid during the call, are the former ones; NULL: the first
     * load.  The clients of this account must be checked again. */
    void (*changed)(void *arg, struct operator_account *a, const struct jwt *before);
    /* It expired, or was deleted: its clients are to be closed.  a stays. */
    void (*ended)(void *arg, struct operator_account *a);
    /* A reload removed it: as server_observer.account_removed.  Not used any more afterwards. */
    void (*gone)(void *arg, struct operator_account *a);
};
/* Opens the resolver and loads the system account.  Blocks: it runs the loop, so nothing else may
 * be served yet.  Fails with nats-server's text, say without a system account in the preload. */
MF_MUSTCHECK int operator_open(struct operator** out, const struct operator_setup *s,
                               struct mf_error *e);
/* Loads the accounts that have a folder in this directory, of those that have streams.  Blocks
 * likewise; the log names those that cannot be loaded.  NULL is fine. */
void operator_load_folders(struct operator* op, const char *dir);
/* After accounts_reload().  MEM: loaded accounts follow the new preload; those that are not in it
 * any more are removed.  Another resolver is used after a restart.  O(loaded accounts). */
void operator_reload(struct operator* op, const struct options *o);
/* Requests that wait are cancelled first by their owners.  true: closed; false: closed() follows.
 * NULL is fine. */
bool operator_close(struct operator* op, void (*closed)(void *arg), void *arg);

const struct trust *operator_trust(const struct operator* op);
const struct jwt_key *operator_server_key(const struct operator* op);
struct loop *operator_loop(const struct operator* op);
const struct options *operator_options(const struct operator* op);
struct accounts *operator_accounts(const struct operator* op);

/* --- accounts ----------------------------------------------------------------------------------
 */

/* NULL: not loaded.  O(1). */
struct operator_account *operator_account_find(struct operator* op, const char *key);
/* Some import of it is not made. */
bool operator_account_incomplete(const struct operator_account *a);
/* No JWT yet: see jwt above. */
bool operator_account_stand_in(const struct operator_account *a);
size_t operator_count(const struct operator* op); /* loaded ones */
/* Logins that resolver_pinned_accounts refused. */
uint64_t operator_pinned_fails(const struct operator* op);

struct operator_load { /* the caller's; zeroed but for account, done and early */
    char account[NKEY_TEXT];
    /* NULL: it cannot be used, and why in nats-server's words ("account missing", "account
     * validation failed", "account expired"); an expired account is handed out all the same. */
    void (*done)(struct operator_load *q, struct operator_account *a, const char *why);
    bool early; /* does not wait for the accounts that it imports from */
    /* The operator's: */
    struct operator* op; /* NULL: finished */
    struct mf_list link;
    struct loop_defer turn;
};
/* done() is never called from inside. */
void operator_load(struct operator* op, struct operator_load *q);
void operator_load_cancel(struct operator_load *q); /* harmless when finished */

#endif
