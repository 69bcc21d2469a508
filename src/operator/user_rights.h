/* user_rights.h: what the claims of a user mean for a connection: permissions, networks, hours and
 * kinds of connection.  Pure, but for reading the file of a time zone; for users of operator mode
 * and for those that an auth callout makes without it. */
#ifndef MAYFLY_OPERATOR_USER_RIGHTS_H
#define MAYFLY_OPERATOR_USER_RIGHTS_H

#include "auth/auth.h"
#include "jwt/jwt_user.h"
#include "session/login.h"

/* The same permissions as options; lists and texts are those of p, which must outlive *out. */
void user_rights_options(struct options_permissions *out, const struct jwt_permissions *p);
/* *out: compiled permissions; NULL: p is empty, so that everything is allowed, or the account's
 * defaults apply.  MF_INVAL: a subject is none.  O(subjects). */
MF_MUSTCHECK int user_rights_perms(struct perms **out, const struct jwt_permissions *p,
                                   struct mf_error *e);
/* Whether a user of this grant may connect from ip.  An entry that is no network admits nobody. */
bool user_rights_source(const struct jwt_grant *g, const char *ip);
/* Whether it may connect in this way.  Unknown kinds are ignored beside known ones. */
bool user_rights_kind(const struct jwt_grant *g, enum login_kind kind);
/* The end of the window of hours that now_ns is in: *end_ns, 0: none, at any hour.  A window whose
 * end is not later than its start goes on past midnight.  MF_DENIED: outside of all windows. */
MF_MUSTCHECK int user_rights_window(const struct jwt_grant *g, int64_t now_ns, int64_t *end_ns);
/* When the connection ends: the user expires, or its window does; 0: never. */
int64_t user_rights_deadline(const struct jwt *user, int64_t window_end_ns);

#endif
