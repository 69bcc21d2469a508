/* jwt_scope.h: users of scoped signing keys: their template, with its functions replaced. */
#ifndef MAYFLY_JWT_SCOPE_H
#define MAYFLY_JWT_SCOPE_H

#include "jwt/jwt_account.h"

#define JWT_SCOPE_MAX 4096 /* subjects that one entry of a template may become */

/* A user of a scoped key may have no permission and no limit of its own.  MF_DENIED: "scoped users
 * require no permissions or limits set". */
MF_MUSTCHECK int jwt_scope_check(const struct jwt_signing_key *k, const struct jwt *user,
                                 struct mf_error *e);
/* The grant of a user: *out is the template, with {{name()}}, {{subject()}}, {{account-name()}},
 * {{account-subject()}}, {{tag(k)}} and {{account-tag(k)}} replaced; several values of tags make
 * all combinations.  An allow entry without a value is dropped; if none is left, all is denied.  A
 * deny entry without a value, or an unknown function, is MF_DENIED: "generated invalid
 * permissions".  Also applies to a user's own permissions, whose functions nats-server leaves as
 * they are: pass scoped templates only.  New texts are in mem; the others are the template's. */
MF_MUSTCHECK int jwt_scope_expand(struct jwt_grant *out, const struct jwt_grant *template_grant,
                                  const struct jwt *user, const struct jwt *account,
                                  struct arena *mem, struct mf_error *e);

#endif
