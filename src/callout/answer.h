/* answer.h: the response of an auth callout's service, checked.  Pure: no router, no clock. */
#ifndef MAYFLY_CALLOUT_ANSWER_H
#define MAYFLY_CALLOUT_ANSWER_H

#include "jwt/jwt_user.h"

struct answer_rules {
    const char *account;         /* where the service was asked; for texts */
    const char *server_id;       /* the audience of its response */
    const char *user_nkey;       /* of the request: the subject of response and user */
    const struct jwt_key *curve; /* ours: the request was sealed; NULL: it was not */
    const char *xkey;            /* the service's curve key */
    /* Whether a response in clear may have this signer.  A sealed one proves by its seal that the
     * service sent it, and may be signed by any account's key, as with nats-server. */
    bool (*signs)(const void *arg, const char *signer);
    const void *arg;
    int64_t now_s;
};
/* 0 and the user that the service names: decoded, valid now, and the one of this request.  Errors:
 * MF_DENIED and nats-server's words for log and event, or MF_NOMEM.  Two signatures; O(bytes). */
MF_MUSTCHECK int answer_read(struct jwt **user, const struct answer_rules *r, struct mf_slice body,
                             struct mf_error *e);

#endif
