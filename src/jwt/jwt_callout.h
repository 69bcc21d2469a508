/* jwt_callout.h: claims of an auth callout: the server's request, the service's response. */
#ifndef MAYFLY_JWT_CALLOUT_H
#define MAYFLY_JWT_CALLOUT_H

#include "jwt/jwt.h"

struct jwt_server_id { /* absent texts are "" */
    const char *name, *host, *id, *version, *cluster, *xkey;
    struct json_strs tags;
};
struct jwt_client_info {
    const char *host, *user, *name, *name_tag, *kind, *type, *mqtt_id, *nonce;
    uint64_t id;
    struct json_strs tags;
};
struct jwt_connect_opts {
    const char *jwt, *nkey, *sig, *auth_token, *user, *pass, *name, *lang, *version;
    int64_t protocol;
};
struct jwt_client_tls {
    const char *version, *cipher;
    struct json_strs certs;          /* PEM, not verified */
    struct json_strs verified_chain; /* PEM, the client's first: verified_chains[0] */
};
struct jwt_auth_request {
    struct jwt_server_id server;
    const char *user_nkey;
    struct jwt_client_info client;
    struct jwt_connect_opts connect;
    struct jwt_client_tls *tls; /* NULL: no TLS */
};
struct jwt_auth_response {
    const char *jwt, *error, *issuer_account; /* absent ones are "" */
};

/* The JSON object under "nats" of a request, for jwt_sign().  NULL texts are left out like "". */
void jwt_auth_request_write(struct mf_buf *out, const struct jwt_auth_request *r);
/* The same of a response: services in C, and tests. */
void jwt_auth_response_write(struct mf_buf *out, const struct jwt_auth_response *r);

#endif
