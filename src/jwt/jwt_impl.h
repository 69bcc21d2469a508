/* jwt_impl.h: shared by the files of src/jwt.  Private to it. */
#ifndef JWT_IMPL_H
#define JWT_IMPL_H

#include "jwt/jwt_activation.h"
#include "jwt/jwt_callout.h"
#include "jwt/jwt_operator.h"
#include "jwt/jwt_scope.h"

/* Claims of one kind, from the JSON object under "nats", into j's union.  The common claims are in
 * *j already.  Errors as jwt_decode(). */
struct jwt_reading {
    struct jwt *j;
    struct mf_slice nats;
    const char *v1_issuer_account; /* version 1: it stands at the top; "" */
    struct mf_error *e;
};
MF_MUSTCHECK int jwt_read_operator(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_account(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_user(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_activation(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_auth_request(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_auth_response(const struct jwt_reading *r);
MF_MUSTCHECK int jwt_read_generic(const struct jwt_reading *r);

/* A grant as it stands in a user's claims or in a template; numbers that are absent stay. */
MF_MUSTCHECK int jwt_read_grant(struct jwt_grant *g, struct mf_slice json, struct arena *mem,
                                struct mf_error *e);
/* The fields of publish, subscribe and response permissions, for tables of others. */
extern const struct json_type jwt_permissions_type;

/* --- validation --------------------------------------------------------------------------------
 */

struct jwt_check {
    struct jwt_issues *out;
    int64_t now_s;
    const struct jwt *j;
    bool failed; /* out of memory */
};
void jwt_issue(struct jwt_check *c, enum jwt_severity s, const char *fmt, ...) MF_PRINTF(3, 4);
/* "text" with quotes, as Go's %q shows it; in the memory of the issues. */
const char *jwt_quote(struct jwt_check *c, const char *text);

void jwt_check_times(struct jwt_check *c, const struct jwt *j);
void jwt_check_subject(struct jwt_check *c, const char *subject);
void jwt_check_permissions(struct jwt_check *c, const struct jwt_permissions *p);
void jwt_check_info(struct jwt_check *c, const char *description, const char *url);
void jwt_check_operator(struct jwt_check *c);
void jwt_check_account(struct jwt_check *c);
void jwt_check_exports(struct jwt_check *c);
void jwt_check_imports(struct jwt_check *c);
void jwt_check_user(struct jwt_check *c);
/* With times of the token only if asked for. */
void jwt_check_activation(struct jwt_check *c, const struct jwt *activation, bool times);

bool jwt_is_key(const char *text, enum nkey_kind kind);
/* Whether every subject of `inner` is one of `outer`, as nats-server compares them: token by token.
 */
bool jwt_subject_inside(const char *inner, const char *outer);
const char *jwt_share_word(enum jwt_share s);

#endif
