/* client_enter_impl.h: from credentials to an account: what client_auth.c, client_login.c and
 * client_enter.c call of each other. */
#ifndef SERVER_CLIENT_ENTER_IMPL_H
#define SERVER_CLIENT_ENTER_IMPL_H

#include "server/server_impl.h"

/* A client whose credentials are good. */
struct client_entry {
    struct account *account;       /* NULL: there is none of that name */
    struct perms *perms;           /* retained, like user; client_enter() takes both */
    int64_t deadline_ns;           /* wall clock; 0: never */
    int64_t max_subs, max_payload; /* of the user; -1: no limit */
    const char *name;              /* of the user; NULL or "": none */
    struct login_user *user;       /* NULL: a user of the configuration */
};

/* --- client_enter.c --------------------------------------------------------------------------- */
/* Enters the account, and applies the options of CONNECT.  false: it is closing. */
bool client_enter(struct client *c, struct client_entry *e);
bool client_enter_table(struct client *c, const struct auth_identity *who); /* of src/auth */
bool client_finish_connect(struct client *c);
/* -ERR, the line in the log, the event, and the end.  NULL: Authorization Violation. */
void client_refuse(struct client *c, const struct login_refusal *no);
/* Limits of user, account and server, whichever is least.  false: it is closing, because it has as
 * many subscriptions as it may have, or more. */
bool client_apply_limits(struct client *c);
/* Replaces permissions and deadline. perms is taken; the end of the credentials is timed anew. */
void client_renew_perms(struct client *c, struct perms *perms, int64_t deadline_ns);

/* --- client_login.c --------------------------------------------------------------------------- */
/* Whether a login service decides about its CONNECT.  refused: src/auth did so and refused. */
bool client_login_decided(const struct client *c, bool refused);
/* Asks the service; the client waits with its input.  Always false. */
bool client_login_begin(struct client *c);
void client_login_abandon(struct client *c); /* harmless without a login under way */
/* After a reload, or new claims of its account: new permissions and limits, or its end. */
void client_login_renew(struct client *c);
int64_t client_login_patience(const struct client *c); /* how long a login may take */

/* --- renew.c ---------------------------------------------------------------------------------- */
void renewals_pass(struct client *c); /* it leaves account_sessions() */

#endif
