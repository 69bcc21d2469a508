/* api.h: the JSON API of JetStream on $JS.API.> and $MAYFLY.TTL.>.  Read call.h next.
 *
 * struct api owns the struct jetstream below it: opening one opens the other. */
#ifndef API_API_H
#define API_API_H

#include "account/account.h"
#include "config/options.h"
#include "loop/loop.h"

struct api;
struct api_extension;
struct api_setup {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options; /* valid until the next api_reload() or the end */
    const char *server_name, *server_id, *version; /* as clients of nats-server expect them */
    unsigned level;                                /* of the JetStream API */
    /* Writes the sender of a message (router_msg.origin) as audit events show it.  False: none. */
    bool (*client_info)(void *arg, const void *origin, struct mf_buf *json);
    void *arg;
    const struct api_extension *extension; /* services of a layer above (call.h); NULL: none */
};
/* Locks the store directory and loads every stream of every account.  Blocks; to be called before
 * clients are served. */
MF_MUSTCHECK int api_open(struct api **out, const struct api_setup *setup, struct mf_error *e);
/* After accounts_reload(): opens and closes accounts, applies new limits and TTL policies. */
void api_reload(struct api *a, const struct options *o);
/* One account was put or dropped: opens or closes it, applies its limits. */
void api_account_changed(struct api *a, struct account *acc);
/* The server is about to stop and clients are still connected: answers waiting pull requests. */
void api_leaving(struct api *a);
/* Accepts no more requests, closes all streams, frees a, then calls closed (NULL: nobody). */
void api_close(struct api *a, void (*closed)(void *arg), void *arg);

#endif
