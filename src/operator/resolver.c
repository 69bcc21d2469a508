/* resolver.c: the kinds of resolvers behind one interface. */
#include "operator/resolver_impl.h"

#include <stdio.h>
#include <stdlib.h>

int resolver_open(struct resolver **out, const struct resolver_setup *s, struct mf_error *e)
{
    switch (s->options->operators->resolver.kind) {
    case OPTIONS_RESOLVER_URL:
        return resolver_url_open(out, s, e);
    case OPTIONS_RESOLVER_FULL:
    case OPTIONS_RESOLVER_CACHE:
        return resolver_dir_open(out, s, e);
    case OPTIONS_RESOLVER_MEM:
    case OPTIONS_RESOLVER_NONE:
        break;
    }
    return resolver_mem_open(out, s, e);
}

bool resolver_close(struct resolver *r, void (*closed)(void *arg), void *arg)
{
    return r == NULL || r->ops->close(r, closed, arg);
}

int resolver_reload(struct resolver *r, const struct options *o, struct mf_error *e)
{
    return r->ops->reload == NULL ? 0 : r->ops->reload(r, o, e);
}

enum options_resolver_kind resolver_kind(const struct resolver *r)
{
    return r->kind;
}

bool resolver_is_directory(const struct resolver *r)
{
    return r->kind == OPTIONS_RESOLVER_FULL || r->kind == OPTIONS_RESOLVER_CACHE;
}

void resolver_lookup(struct resolver *r, struct resolver_lookup *q)
{
    q->resolver = r;
    q->state = NULL;
    mf_list_init(&q->link);
    r->ops->lookup(r, q);
}

void resolver_cancel(struct resolver_lookup *q)
{
    struct resolver *r = q->resolver;

    if (r == NULL)
        return;
    q->resolver = NULL;
    loop_defer_cancel(r->loop, &q->turn);
    if (r->ops->cancel != NULL)
        r->ops->cancel(q);
    mf_list_del(&q->link);
}

void resolver_finish(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why)
{
    q->resolver = NULL;
    mf_list_del(&q->link);
    q->done(q, rc, jwt, why);
}

static void change_refused(struct loop_defer *d)
{
    struct resolver_change *q = mf_container(d, struct resolver_change, turn);

    free(q->text);
    q->text = NULL;
    q->done(q, q->rc, q->why);
}

static void start_change(struct resolver *r, struct resolver_change *q, int rc)
{
    q->rc = rc;
    q->why[0] = '\0';
    mf_list_init(&q->link);
    if (rc == 0) {
        r->ops->change(r, q);
        return;
    }
    snprintf(q->why, sizeof q->why, "%s", mf_err_text(rc));
    q->turn.fn = change_refused;
    loop_defer(r->loop, &q->turn);
}

void resolver_store(struct resolver *r, struct resolver_change *q, struct mf_slice jwt,
                    bool newer_only)
{
    q->newer_only = newer_only;
    q->text = r->ops->change == NULL ? NULL : mf_slice_dup(jwt);
    start_change(r, q, r->ops->change == NULL ? MF_UNSUPPORTED : q->text == NULL ? MF_NOMEM : 0);
}

void resolver_remove(struct resolver *r, struct resolver_change *q)
{
    q->newer_only = false;
    q->text = NULL;
    start_change(r, q, r->ops->change == NULL ? MF_UNSUPPORTED : 0);
}

void resolver_walk(struct resolver *r, struct resolver_walk *q)
{
    q->resolver = r;
    q->state = NULL;
    mf_list_init(&q->link);
    r->ops->walk(r, q);
}

void resolver_walk_cancel(struct resolver_walk *q)
{
    if (q->resolver != NULL)
        q->resolver->ops->walk_cancel(q);
    q->resolver = NULL;
}

bool resolver_hash(const struct resolver *r, uint8_t hash[32])
{
    return r->ops->hash != NULL && r->ops->hash(r, hash);
}

void resolver_ask_others(struct resolver *r, struct resolver_asking *asking)
{
    if (r->ops->ask_others != NULL)
        r->ops->ask_others(r, asking);
}

void resolver_found(struct resolver *r, uint64_t id, struct mf_slice jwt)
{
    if (r->ops->found != NULL)
        r->ops->found(r, id, jwt);
}

void resolver_missing(struct resolver *r, uint64_t id, int rc, const char *why)
{
    if (r->ops->missing != NULL)
        r->ops->missing(r, id, rc, why);
}
