/* config_policy.c: the TTL policy among the rules of a configuration. */
#include "stream/config_impl.h"
#include "stream/lifetime_impl.h"

static struct policy_stream facts_of(const struct stream_config *c, const char *account,
                                     bool stored)
{
    return (struct policy_stream){
        .account = account,
        .name = c->name,
        .subjects = &c->subjects,
        .metadata = &c->metadata,
        .stored = stored,
        .memory = c->storage == STORAGE_MEMORY,
        .limits_retention = c->retention == RETENTION_LIMITS,
        .counter = c->allow_msg_counter,
        .mirror = c->mirror != NULL,
        .max_age_ns = c->max_age_ns,
        .marker_ttl_ns = c->subject_delete_marker_ttl_ns,
        .max_msgs_per_subject = c->max_msgs_per_subject,
    };
}

int config_policy(const struct stream_config *c, const char *account,
                  const struct policy_server *srv, struct policy **out, struct mf_error *e)
{
    struct policy_stream facts = facts_of(c, account, false);

    return policy_compile(out, &facts, srv, e);
}

int config_policy_stored(const struct stream_config *c, const char *account,
                         const struct policy_server *srv, struct policy **out)
{
    struct policy_stream facts = facts_of(c, account, true);

    return policy_compile_stored(out, &facts, srv);
}

int config_check_policy(struct stream_config *c, const struct stream_config_world *w,
                        struct js_error *e)
{
    struct policy_stream facts = facts_of(c, w->account, w->restored);
    struct policy *p;
    struct mf_error why;
    int rc = policy_compile(&p, &facts, w->ttl, &why);

    if (rc == MF_NOMEM)
        return rc;
    if (rc != 0 && w->restored)
        return 0; /* lifetime_compile() reports it */
    if (rc != 0)
        return config_invalid(e, "%s", why.text);
    policy_free(p);
    const char *vain = c->pedantic ? policy_pedantic(&facts, w->ttl, &c->mem) : NULL;
    return vain == NULL ? 0 : js_error_set(e, JS_PEDANTIC, vain);
}
