/* jwt_user.h: claims of a user, and what a user may do: the same fields stand in the templates of
 * scoped signing keys. */
#ifndef MAYFLY_JWT_USER_H
#define MAYFLY_JWT_USER_H

#include "jwt/jwt.h"

struct jwt_permission {
    struct json_strs allow, deny; /* subscribe entries may be "subject queue" */
};
struct jwt_resp {
    int64_t max;    /* 0: 1; negative: no limit */
    int64_t ttl_ns; /* 0: two minutes; negative: no limit */
};
struct jwt_permissions {
    struct jwt_permission pub, sub;
    struct jwt_resp *resp; /* NULL: absent */
};
/* Neither publish, nor subscribe, nor responses: then the account's defaults apply. */
bool jwt_permissions_empty(const struct jwt_permissions *p);

struct jwt_times {
    char *start, *end; /* HH:MM:SS */
};
/* A missing number in a user's claims is 0: nothing allowed. In a template it is -1: no limit. */
struct jwt_grant {
    struct jwt_permissions perms;
    struct json_strs src;      /* CIDRs; none: from anywhere */
    struct json_objects times; /* of struct jwt_times; none: always */
    char *times_location;      /* IANA name; NULL or "": the server's zone */
    int64_t subs, data, payload;
    bool bearer_token, proxy_required;
    struct json_strs connection_types; /* as written; none: all */
};
struct jwt_user {
    struct jwt_grant grant;
    char *issuer_account; /* NULL or "": the signer is the account */
};
/* The account that the user belongs to: issuer_account, or the signer. */
const char *jwt_user_account(const struct jwt *user);

#endif
