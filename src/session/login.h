/* login.h: logins that the table of users (src/auth) does not decide: user JWTs of operator mode,
 * and auth callouts.
 *
 * The server and the leaf links ask a table of functions, struct login_service; src/operator fills
 * it, and the wiring of the program hands it to both.  A login is asked with the options of CONNECT
 * and finishes once, later: the connection is paused meanwhile.  A service looks at the connection
 * that asks and at its account, never at other connections. */
#ifndef MAYFLY_SESSION_LOGIN_H
#define MAYFLY_SESSION_LOGIN_H

#include "session/connect.h"
#include "session/reason.h"

struct account;
struct net_conn;
struct perms;

/* How it connects; in a user's claims: allowed_connection_types. */
enum login_kind {
    LOGIN_STANDARD,
    LOGIN_WEBSOCKET,
    LOGIN_LEAFNODE,
    LOGIN_LEAFNODE_WS,
    LOGIN_IN_PROCESS,
};
const char *login_kind_text(enum login_kind k); /* "STANDARD" */

/* A user of a login service, counted.  Texts are NULL when absent; none of them is a secret. */
struct login_user {
    unsigned refs;
    void (*free)(struct login_user *u); /* by the service; called with the last reference */
    char *shown;        /* who is connected, for pages and events: the user's key, or a name that
                           a callout gave */
    char *key;          /* the user's public key; labels in the log: "jwt:U..." */
    char *name;         /* in the claims */
    char *issuer;       /* public key that signed the user: of the account, or a signing key */
    char *account_name; /* in the account's claims */
    char *jwt;          /* the token; NULL for bearer tokens: whoever has such a text is the user */
    char **tags;
    size_t ntags;
};
struct login_user *login_user_retain(struct login_user *u); /* NULL is fine, also below */
void login_user_release(struct login_user *u);

/* The rights of a user, as of now.  perms and user are retained for whom it is given to. */
struct login_result {
    struct account *account;
    struct perms *perms;           /* NULL: everything */
    int64_t deadline_ns;           /* wall clock: the connection is closed then; 0: never */
    int64_t max_subs, max_payload; /* of the user; -1: no limit.  0: none; empty messages alone */
    struct login_user *user;
};

struct login_refusal {
    const char *err; /* text of -ERR; NULL: the connection is closed without a word */
    enum reason reason;
    const char *why; /* for the log and events; NULL: the words of the reason */
    bool loud;       /* why is an error in the log; else it is for debugging */
    struct account
        *account; /* whose event says so; NULL: the event is the system account's alone */
    struct login_user *user; /* borrowed; NULL: the JWT was not readable, or there was none */
};
#define LOGIN_REFUSED(text)                                                                        \
    ((struct login_refusal){                                                                       \
        .err = "Authorization Violation", .reason = REASON_AUTH_FAILURE, .why = (text)})

/* A request of the connection's, zeroed but for the first part.  Its pointers stay valid
 * until done() or login_service.cancel(). */
struct login {
    const struct connect_opts *connect; /* jwt may come from a cookie */
    const char *nonce;                  /* sent in INFO; "": none */
    const char *ip;                     /* of the client, behind proxies too */
    int port;
    uint64_t cid;
    enum login_kind kind;
    bool through_proxy;          /* a trusted proxy signed the nonce; proxy_required asks for one */
    bool refused;                /* the users of the configuration refused it */
    const struct net_conn *conn; /* its TLS peer; NULL in tests */
    int64_t start_ns;            /* wall clock: since when it is connected */
    /* Once, never from inside start(): a result, or a refusal.  Both are borrowed for the call, but
     * for the references in *r, which are the receiver's. */
    void (*done)(struct login *q, const struct login_result *r, const struct login_refusal *no);
    void *state; /* the service's; NULL: not started, or finished */
};

struct login_service {
    void *arg;
    /* Nobody comes in without credentials: INFO says so and has a nonce, CONNECT must be first. */
    bool required;
    /* Whether the service decides about this login; else src/auth does, and asks again if it
     * refuses.  NULL: about none. */
    bool (*decides)(void *arg, const struct login *q);
    /* done() follows within bounded time: the service has time limits of its own.  MF_NOMEM: it
     * does not follow. */
    int (*start)(void *arg, struct login *q);
    void (*cancel)(void *arg, struct login *q); /* the connection ended; harmless when finished */
    /* A connected user, after the claims of its account or the configuration changed: 0 and what it
     * may do now, or MF_DENIED and the words for its end (texts are static).  O(its claims). */
    int (*renew)(void *arg, struct account *a, struct login_user *u, struct login_result *out,
                 struct login_refusal *no);
};
/* s may be NULL. */
static inline bool login_decided(const struct login_service *s, const struct login *q)
{
    return s != NULL && s->decides != NULL && s->decides(s->arg, q);
}
static inline bool login_required(const struct login_service *s)
{
    return s != NULL && s->decides != NULL && s->required;
}

#endif
