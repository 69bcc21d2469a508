/* check.c: -t: builds everything that can fail from a configuration, then frees it. */
#include "server/server_impl.h"

static int64_t no_time(void *arg)
{
    (void)arg;
    return 0;
}

int server_check(const struct options *o, struct mf_error *e)
{
    struct accounts *accounts = NULL;
    struct auth *auth = NULL;
    struct net_tls *tls = NULL, *ws_tls = NULL;
    int rv = accounts_new(&accounts, o, no_time, NULL, e);

    if (rv == 0)
        rv = auth_new(&auth, o, e);
    if (rv == 0 && (rv = tls_setup(&tls, &o->tls, e)) != 0)
        mf_wrap(e, "tls");
    if (rv == 0 && (rv = tls_setup(&ws_tls, &o->websocket.tls, e)) != 0)
        mf_wrap(e, "websocket tls");
    net_tls_release(ws_tls);
    net_tls_release(tls);
    auth_free(auth);
    accounts_free(accounts);
    return rv;
}
