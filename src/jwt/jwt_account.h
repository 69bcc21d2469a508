/* jwt_account.h: claims of an account. */
#ifndef MAYFLY_JWT_ACCOUNT_H
#define MAYFLY_JWT_ACCOUNT_H

#include "jwt/jwt_user.h"

struct jwt_js_limits {                 /* -1: no limit; absent is 0, see each */
    int64_t mem_storage, disk_storage; /* both 0: JetStream is off; one 0: none of that kind */
    int64_t streams, consumer;         /* 0: no limit, too */
    int64_t max_ack_pending, mem_max_stream_bytes, disk_max_stream_bytes; /* <= 0: no limit */
    bool max_bytes_required;
};
struct jwt_tier {
    char *name; /* "R1" */
    struct jwt_js_limits js;
};
struct jwt_account_limits {      /* -1: no limit; absent is 0: none */
    int64_t subs, data, payload; /* subs: of each connection */
    int64_t imports, exports;    /* asked about by validation only */
    int64_t conn, leaf;
    bool wildcards, disallow_bearer;
    struct jwt_js_limits js; /* all 0 if there are tiers */
    struct jwt_tier *tiers;
    size_t ntiers;
};
bool jwt_js_enabled(const struct jwt_account_limits *l);

/* Tokens issued at or before `at` are void.  Sorted by key; "*" counts for every key. */
struct jwt_revocation {
    char *key;
    int64_t at; /* seconds since 1970 */
};
struct jwt_revocations {
    struct jwt_revocation *at;
    size_t n;
};
/* O(log n). */
bool jwt_revoked(const struct jwt_revocations *r, const char *key, int64_t issued_at);

enum jwt_share { JWT_SHARE_UNKNOWN, JWT_SHARE_STREAM, JWT_SHARE_SERVICE };
struct jwt_latency {
    int sampling; /* 1..100 percent; 0: by header */
    char *results;
};
struct jwt_export {
    char *name, *subject; /* texts of exports and imports are "" if absent */
    enum jwt_share type;
    bool token_req;
    struct jwt_revocations revocations; /* by importing account */
    char *response_type;                /* "", Singleton, Stream, Chunked */
    int64_t response_threshold_ns;
    struct jwt_latency *latency; /* NULL: none */
    uint64_t account_token_position;
    bool advertise, allow_trace;
    char *description, *info_url;
};
struct jwt_import {
    char *name, *subject, *account, *token;
    char *to; /* deprecated: services: subject is the importer's, `to` the exporter's name; streams:
                 a prefix */
    char *local_subject;
    enum jwt_share type;
    bool share, allow_trace;
};

struct jwt_signing_key {
    char *key;
    bool scoped; /* its users have the template's permissions and limits, and none of their own */
    char *role, *description;
    struct jwt_grant template_grant;
};
struct jwt_weighted {
    char *subject, *cluster;
    int weight; /* 0 stands for 100 */
};
struct jwt_mapping {
    char *source;
    struct jwt_weighted *to;
    size_t nto;
};
struct jwt_callout { /* active if auth_users has entries */
    struct json_strs auth_users, allowed_accounts;
    char *xkey;
};
struct jwt_trace {
    char *dest;
    int64_t sampling; /* 0: 100 */
};

struct jwt_account {
    struct jwt_export **exports; /* NULL entries are possible: validation refuses them */
    size_t nexports;
    struct jwt_import **imports; /* the same */
    size_t nimports;
    struct jwt_account_limits limits;
    struct jwt_signing_key *signing_keys; /* sorted by key */
    size_t nsigning_keys;
    struct jwt_revocations revocations; /* of users */
    struct jwt_permissions default_permissions;
    struct jwt_mapping *mappings; /* sorted by source */
    size_t nmappings;
    struct jwt_callout authorization;
    struct jwt_trace *trace; /* NULL: none */
    char *cluster_traffic, *description, *info_url;
};
/* NULL: not one of its signing keys.  O(log n). */
const struct jwt_signing_key *jwt_account_signing_key(const struct jwt_account *a, const char *key);

#endif
