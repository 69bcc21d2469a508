/* client_grant.c: deliveries that allow a client to answer (allow_responses). */
#include "server/server_impl.h"

/* Reply subjects of the server's own services are not granted.  And no user grants itself, by a
 * request of its own, a subject that it is denied or that streams, the API or imports receive. */
static bool is_grantable(struct client *c, const struct client *asker, struct mf_slice reply)
{
    if (mf_starts(reply, "$JS.API.") || mf_starts(reply, "$SYS.REQ.") ||
        mf_starts(reply, "$MAYFLY.TTL."))
        return false;
    return asker == NULL || asker->perms != c->perms ||
           !(perms_denies_publish(c->perms, reply) || client_reaches_server(c, reply));
}

void client_grant_reply(struct client *c, const struct client *asker, struct mf_slice reply)
{
    int64_t max, expires;

    if (!perms_tracks_responses(c->perms, &max, &expires) || reply.len > UINT16_MAX ||
        perms_can_publish(c->perms, reply) || !is_grantable(c, asker, reply))
        return;
    grants_add(&c->grants, reply, max, expires, loop_mono_ns(c->srv->loop));
}

bool client_use_grant(struct client *c, struct mf_slice subject)
{
    return grants_use(&c->grants, subject, loop_mono_ns(c->srv->loop));
}

void client_recheck_grants(struct client *c)
{
    int64_t max, expires;

    if (!perms_tracks_responses(c->perms, &max, &expires))
        grants_fini(&c->grants);
}
