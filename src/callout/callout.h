/* callout.h: auth callouts: a service behind an account decides who may log in.
 *
 * It is the login service (session/login.h) of a server with authorization { auth_callout }, which
 * asks about everybody but auth_users; and in operator mode a layer over operator_login.h, which
 * asks about the users of those accounts whose JWT names auth_users.
 *
 * A login becomes a request on $SYS.REQ.USER.AUTH in the callout account, a JWT that this server
 * signs, sealed if the service has a curve key.  The response must be signed, for this server and
 * for the user key that was made for this request; the first one counts.  It names a user, whose
 * claims say where it is placed and what it may do.  Without a response in authorization.timeout
 * the login is refused.
 *
 * Cost: a login is one signature, two checks of signatures (about 0.2 ms together, responses in
 * time slices) and the bytes of its JWTs; while it waits, about 1.6 KB.  At most CALLOUT_MOST
 * logins wait, and none of them waits for another's response. */
#ifndef MAYFLY_CALLOUT_H
#define MAYFLY_CALLOUT_H

#include "account/account.h"
#include "jwt/jwt_callout.h"
#include "loop/work.h"
#include "operator/operator_login.h"

#define CALLOUT_MOST 65536

struct callout_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options;     /* until callout_reload() */
    const struct jwt_key *key, *curve; /* the server's; key is its id */
    void *arg;
    /* Name, host and version of this server, for requests; texts are valid until the next call. */
    void (*identify)(void *arg, struct jwt_server_id *id);
    struct operator* op;                         /* NULL: not in operator mode */
    const struct login_service *operator_logins; /* with op */
};
struct callout {
    /* Decides nothing before callout_open(), after callout_close(), and without operator mode or an
     * auth_callout in the configuration. */
    struct login_service service;
    struct callout_setup setup;
    /* The users of the file for clients without credentials, over TCP and WebSocket, or NULL. */
    const struct options_user *nobody, *ws_nobody;
    struct mf_list logins; /* callout_login.link */
    size_t nlogins;
    struct work_owner work;
};
void callout_open(struct callout *c, const struct callout_setup *s);
/* After accounts_reload(); logins in an account that was removed are refused. */
void callout_reload(struct callout *c, const struct options *o);
/* Refuses the logins that wait for its service. */
void callout_account_gone(struct callout *c, const struct account *a);
void callout_close(struct callout *c); /* no login is under way any more */

#endif
