/* client_grant.c: allow_responses.  A client that may not publish to a subject may still answer the
 * requests it received: each delivery grants its reply subject, so often and so long as configured.
 * All grants of a client live equally long, so a list in order of birth is in order of death and
 * pruning costs O(expired). */
#include "server/server_impl.h"

#include "codec/hash.h"
#include "base/list.h"

#include <stdlib.h>

#define GRANTS_MAX 65536 /* per client; beyond, the oldest go */

static void grant_free(struct client *c, struct reply_grant *g)
{
    table_del(&c->grants, &g->node);
    mf_list_del(&g->link);
    free(g);
}

static struct reply_grant *grant_oldest(struct client *c)
{
    struct mf_list *n = mf_list_first(&c->grant_order);

    return n == NULL ? NULL : mf_container(n, struct reply_grant, link);
}

static void grants_prune(struct client *c)
{
    int64_t now = loop_mono_ns(c->srv->loop);
    struct reply_grant *g;

    while ((g = grant_oldest(c)) != NULL &&
           ((g->expires_mono_ns != 0 && g->expires_mono_ns <= now) || c->grants.count > GRANTS_MAX))
        grant_free(c, g);
}

static struct reply_grant *grant_find(struct client *c, struct mf_slice subject, uint64_t hash)
{
    for (struct table_node *n = table_first(&c->grants, hash); n != NULL; n = table_next(n)) {
        struct reply_grant *g = mf_container(n, struct reply_grant, node);
        if (mf_eq(mf_slice(g->subject, g->len), subject))
            return g;
    }
    return NULL;
}

/* Requests of the server's own services are no answers.  And no user grants itself, by a request of
 * its own, a subject that it is denied or that streams, the API or imports take. */
static bool grantable(struct client *c, const struct client *asker, struct mf_slice reply)
{
    if (mf_starts(reply, "$JS.API.") || mf_starts(reply, "$SYS.REQ.") ||
        mf_starts(reply, "$MAYFLY.TTL."))
        return false;
    return asker == NULL || asker->perms != c->perms ||
           !(perms_denies_publish(c->perms, reply) || client_reaches_server(c, reply));
}

void grant_reply(struct client *c, const struct client *asker, struct mf_slice reply)
{
    int64_t max, expires;
    uint64_t hash = hash_slice(reply);
    struct reply_grant *g;

    if (!perms_tracks_responses(c->perms, &max, &expires) || reply.len > UINT16_MAX ||
        perms_can_publish(c->perms, reply) || !grantable(c, asker, reply))
        return;
    grants_prune(c);
    g = grant_find(c, reply, hash);
    if (g != NULL)
        grant_free(c, g);
    g = malloc(sizeof *g + reply.len);
    if (g == NULL)
        return;
    g->expires_mono_ns = expires > 0 ? loop_mono_ns(c->srv->loop) + expires : 0;
    g->left = max;
    g->len = (uint16_t)reply.len;
    memcpy(g->subject, reply.ptr, reply.len);
    if (table_add(&c->grants, &g->node, hash) != 0) {
        free(g);
        return;
    }
    mf_list_push(&c->grant_order, &g->link);
}

bool grant_use(struct client *c, struct mf_slice subject)
{
    struct reply_grant *g;

    grants_prune(c);
    g = grant_find(c, subject, hash_slice(subject));
    if (g == NULL)
        return false;
    if (g->left > 0 && --g->left == 0)
        grant_free(c, g);
    return true;
}

void grants_renew(struct client *c)
{
    int64_t max, expires;

    if (!perms_tracks_responses(c->perms, &max, &expires))
        grants_free(c);
}

void grants_free(struct client *c)
{
    struct reply_grant *g;

    while ((g = grant_oldest(c)) != NULL)
        grant_free(c, g);
}
