/* claims.h: requests on the system account about account JWTs: update, look up, list, delete, pack;
 * and the questions of this server to others.
 *
 *   $SYS.REQ.ACCOUNT.<account>.CLAIMS.UPDATE, $SYS.ACCOUNT.<account>.CLAIMS.UPDATE   every resolver
 *   $SYS.REQ.CLAIMS.UPDATE, .LIST, .DELETE                                           FULL, CACHE
 *   $SYS.REQ.ACCOUNT.<account>.CLAIMS.LOOKUP, $SYS.REQ.CLAIMS.PACK                   FULL
 *
 * A JWT is stored only if a trusted key signed it.  Answers follow when files are durable.  At most
 * CLAIMS_MOST requests wait; further ones get an error.  Cost of a request: one token; of LIST and
 * PACK: O(accounts), in time slices. */
#ifndef MAYFLY_CLAIMS_H
#define MAYFLY_CLAIMS_H

#include "account/account.h"
#include "codec/jsonw.h"
#include "operator/resolver.h"
#include "operator/trust.h"

#define CLAIMS_MOST 4096

struct claims;
struct claims_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options; /* for the time of claims_open() */
    const struct trust *trust;     /* until it is closed, like the resolver */
    struct resolver *resolver;
    void *arg;
    void (*write_server)(void *arg, struct jsonw *w); /* the members of "server" in answers */
    /* Loaded accounts. apply: 0, MF_NOTFOUND: not loaded; else the reason is in e. */
    bool (*loaded)(void *arg, const char *account);
    int (*apply)(void *arg, const char *account, struct mf_slice jwt, struct mf_error *e);
    void (*removed)(void *arg, const char *account);
};
/* From now on the resolver asks other servers, too. */
MF_MUSTCHECK int claims_open(struct claims **out, const struct claims_setup *s, struct mf_error *e);
/* No more requests; those under way get no answer.  true: closed; false: closed() follows, when the
 * last of them is stored.  NULL is fine. */
bool claims_close(struct claims *c, void (*closed)(void *arg), void *arg);

#endif
