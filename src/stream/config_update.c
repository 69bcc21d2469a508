/* config_update.c: which configuration may replace which. */
#include "stream/config_impl.h"

/* Settings that a stream cannot revoke. */
static int check_promises(const struct stream_config *now, const struct stream_config *next,
                          struct js_error *e)
{
    if (now->sealed && !next->sealed)
        return config_invalid(e, "stream configuration update can not unseal a sealed stream");
    if (now->deny_delete && !next->deny_delete)
        return config_invalid(e, "stream configuration update can not cancel deny message deletes");
    if (now->deny_purge && !next->deny_purge)
        return config_invalid(e, "stream configuration update can not cancel deny purge");
    /* Taking the mirror away makes it a stream of its own, which is fine. */
    if (next->mirror != NULL && !config_source_equal(now->mirror, next->mirror))
        return js_error_set(e, JS_STREAM_MIRROR_NOT_UPDATABLE);
    if (now->allow_msg_ttl && !next->allow_msg_ttl)
        return config_invalid(e, "message TTL status can not be disabled");
    if (now->allow_msg_counter != next->allow_msg_counter)
        return config_invalid(e,
                              "stream configuration update can not change message counter setting");
    if (now->allow_msg_schedules && !next->allow_msg_schedules)
        return config_invalid(e, "message schedules can not be disabled");
    if (now->persist_mode != next->persist_mode)
        return config_invalid(e, "stream configuration update can not change persist mode");
    return 0;
}

static void seal_config(struct stream_config *c)
{
    c->max_age_ns = 0;
    c->discard = DISCARD_NEW;
    c->deny_delete = c->deny_purge = true;
    c->allow_rollup = false;
}

int stream_config_check_update(const struct stream_config *now, struct stream_config *next,
                               struct js_error *e)
{
    int rc;

    if (!config_same(now->name, next->name))
        return config_invalid(e, "stream configuration name must match original");
    if (next->replicas > 1)
        return js_error_set(e, JS_STREAM_REPLICAS_NOT_SUPPORTED);
    if (now->storage != next->storage)
        return config_invalid(e, "stream configuration update can not change storage type");
    if (now->retention != next->retention &&
        (now->retention == RETENTION_WORKQUEUE || next->retention == RETENTION_WORKQUEUE))
        return config_invalid(
            e, "stream configuration update can not change retention policy to/from workqueue");
    if ((rc = check_promises(now, next, e)) != 0)
        return rc;
    if (!next->strict) {
        /* Upstream accepts both and loses the stream at the next start. */
        if ((rc = config_check_filters(next, JS_STREAM_UPDATE, e)) != 0)
            return rc;
        next->first_seq = now->first_seq;
    }
    if (next->sealed)
        seal_config(next);
    return 0;
}
