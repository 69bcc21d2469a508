/* operator_impl.h: operator mode from inside: operator.c open and close, operator_load.c look-ups,
 * operator_claims.c and operator_share.c the claims of an account as options, operator_gate.c
 * activation tokens, operator_account.c accounts and their ends, operator_system.c the accounts
 * that a server needs by itself; operator_login.c, operator_admit.c and operator_user.c logins of
 * users and what new claims mean for them.  Private to operator. */
#ifndef MAYFLY_OPERATOR_OPERATOR_IMPL_H
#define MAYFLY_OPERATOR_OPERATOR_IMPL_H

#include "base/table.h"
#include "operator/operator.h"

struct operator_token { /* an activation; texts are never NULL if it is present */
    bool present;
    char *iss, *sub, *issuer_account, *subject;
    enum jwt_share kind;
    int64_t iat, exp, nbf;
};
/* The options of an account, made from its claims; texts are those of the token. */
struct operator_claims {
    struct jwt *jwt;
    struct options_account options;
    const struct jwt_export **exports;   /* beside options.exports */
    struct operator_token *tokens;       /* beside options.imports */
    struct options_permissions defaults; /* of users without permissions of their own */
    uint64_t *scopes; /* beside the signing keys of jwt: hashes of all that it says about each */
    struct arena mem;
};
/* Takes over j, also on failure. */
MF_MUSTCHECK int operator_claims_new(struct operator_claims **out, struct jwt *j,
                                     struct mf_error *e);
void operator_claims_free(struct operator_claims *c); /* NULL is fine */
MF_MUSTCHECK int operator_share_take(struct operator_claims *c);
MF_MUSTCHECK int operator_scopes_take(struct operator_claims *c);
void operator_gate_open(struct operator* op);
int64_t operator_gate_next(const struct operator_claims *c, int64_t now_s);

struct operator_need { /* an account that another one imports from */
    struct operator_load load;
    struct operator_entry *importer;
};
struct operator_entry { /* an account that is loaded, or is being loaded */
    struct operator_account a;
    struct operator* op;
    struct table_node node;
    struct operator_claims *claims; /* NULL: not loaded */
    bool deleted;                   /* its JWT was removed: only a new one helps */
    bool reloads;                   /* a look-up that finds nothing removes it */
    bool admitted;                  /* by resolver_pinned_accounts; during a reload */
    struct resolver_lookup lookup;
    char *found; /* by the look-up: taken in a turn of its own */
    struct loop_defer turn;
    int64_t asked_ns;       /* monotonic: the last look-up; 0: none */
    struct mf_list waiting; /* operator_load.link */
    const char *why;        /* the last look-up failed */
    struct operator_need *needs;
    size_t nneeds, needs_open;
    unsigned answering;       /* calls of operator_load_answer(): it is not freed */
    struct loop_timer *timer; /* the account or a token expires; NULL: none does */
};

struct operator
{
    struct operator_setup setup;
    struct trust *trust;
    struct resolver *resolver;
    struct claims *services;
    struct loop_timer *fetch; /* of the system account, which is a stand-in */
    struct table accounts;    /* operator_entry.node */
    size_t nloaded;
    uint64_t pinned_fails;                 /* logins into accounts that are not pinned */
    const struct operator_claims *putting; /* during accounts_put() */
    size_t opening;                        /* look-ups that operator_open() waits for */
    void (*closed)(void *arg);
    void *closed_arg;
};

/* operator_load.c */
struct operator_entry *operator_entry_find(const struct operator* op, const char *key);
struct operator_entry *operator_entry_new(struct operator* op,
                                          const char *key); /* NULL: no memory */
void operator_entry_free(struct operator_entry *en);
void operator_load_needs(struct operator_entry *en); /* of its imports, which it does not have */
void operator_load_needs_end(struct operator_entry *en);

/* Asks the resolver, unless that is under way. */
void operator_load_start(struct operator_entry *en);
void operator_load_answer(struct operator_entry *en); /* may free it */

/* operator_system.c */
MF_MUSTCHECK int operator_system_load(struct operator* op, struct mf_error *e);

/* operator_account.c */
/* The claims of this token are in force from now on, or e says why not.  The same token again
 * changes nothing. */
MF_MUSTCHECK int operator_account_apply(struct operator_entry *en, struct mf_slice jwt,
                                        struct mf_error *e);
/* Its JWT was removed. */
void operator_account_delete(struct operator_entry *en);
/* It is no account any more; frees it. */
void operator_account_drop(struct operator_entry *en);
/* Takes c over: its claims are in force. */
MF_MUSTCHECK int operator_account_replace(struct operator_entry *en, struct operator_claims *c,
                                          struct mf_error *e);
int64_t operator_now_s(const struct operator* op);

#endif
