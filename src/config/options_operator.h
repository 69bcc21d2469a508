/* options_operator.h: operator mode as plain structs: who is trusted, and where account JWTs are.
 *
 * Strings belong to the options, durations are in nanoseconds, all defaults are filled in. No text
 * here is a secret but the sentinel, which may be a bearer token. */
#ifndef MAYFLY_OPTIONS_OPERATOR_H
#define MAYFLY_OPTIONS_OPERATOR_H

#include "config/options.h"
#include "jwt/jwt_operator.h"

enum options_resolver_kind {
    OPTIONS_RESOLVER_NONE, /* only without operators */
    OPTIONS_RESOLVER_MEM,
    OPTIONS_RESOLVER_URL,
    OPTIONS_RESOLVER_FULL,
    OPTIONS_RESOLVER_CACHE,
};
struct options_resolver {
    enum options_resolver_kind kind;
    char *url;                      /* URL: the account's key is appended */
    char *dir;                      /* FULL and CACHE */
    bool allow_delete, hard_delete; /* FULL */
    int64_t limit;                  /* accounts in the directory; 0: none.  CACHE: default 1000 */
    int64_t ttl_ns;                 /* CACHE: 0: none */
    int64_t interval_ns;            /* FULL: between merges with other servers; default 1 min */
    int64_t timeout_ns;             /* of a look-up elsewhere; default 1.9 s */
    struct options_tls tls;         /* resolver_tls, for URL */
};
struct options_operator {
    struct jwt **operators; /* JWT_OPERATOR, signatures checked, not whether they expired */
    size_t noperators;
    /* trusted_keys; with operators: their signing keys, and their own keys unless they are strict.
     */
    struct options_list trusted;
    struct options_resolver resolver;
    struct options_pairs preload; /* account key, JWT of that account */
    struct options_list pinned;   /* accounts whose users may connect; none: all */
    char *default_sentinel;       /* a user JWT; NULL: none */
};

#endif
