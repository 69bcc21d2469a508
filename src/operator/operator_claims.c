/* operator_claims.c: what the claims of an account say, as the options of an account. */
#include "operator/operator_impl.h"
#include "operator/user_rights.h"

#include <stdlib.h>

static int64_t limit_of(int64_t n)
{
    return n < 0 ? -1 : n;
}

/* Where 0 stands for no limit, too. */
static int64_t optional_limit(int64_t n)
{
    return n <= 0 ? -1 : n;
}

/* In the counts 0 stands for no limit, too, and is shown as it is. */
static struct options_js_limits js_limits(const struct jwt_js_limits *l)
{
    return (struct options_js_limits){
        .enabled = l->mem_storage != 0 || l->disk_storage != 0,
        .max_memory = limit_of(l->mem_storage),
        .max_store = limit_of(l->disk_storage),
        .max_streams = limit_of(l->streams),
        .max_consumers = limit_of(l->consumer),
        .max_ack_pending = optional_limit(l->max_ack_pending),
        .mem_max_stream_bytes = optional_limit(l->mem_max_stream_bytes),
        .disk_max_stream_bytes = optional_limit(l->disk_max_stream_bytes),
        .max_bytes_required = l->max_bytes_required};
}

static void take_limits(struct options_account *o, const struct jwt_account_limits *l)
{
    o->max_connections = limit_of(l->conn);
    o->max_subscriptions = limit_of(l->subs);
    o->max_payload = limit_of(l->payload);
    o->max_leafnodes = limit_of(l->leaf);
    o->js = js_limits(&l->js);
}

/* This server's streams have one replica, so their tier is R1. */
static int take_tiers(struct operator_claims *c, const struct jwt_account_limits *l)
{
    struct options_account *o = &c->options;

    if (l->ntiers == 0)
        return 0;
    o->js_tiers = arena_alloc(&c->mem, l->ntiers * sizeof *o->js_tiers);
    if (o->js_tiers == NULL)
        return MF_NOMEM;
    o->js = (struct options_js_limits){.none = true};
    for (size_t i = 0; i < l->ntiers; i++) {
        struct options_js_tier *t = &o->js_tiers[o->njs_tiers++];
        *t = (struct options_js_tier){l->tiers[i].name, js_limits(&l->tiers[i].js)};
        if (strcmp(t->name, "R1") == 0)
            o->js = t->limits;
    }
    o->js.enabled = jwt_js_enabled(l);
    return 0;
}

int operator_claims_new(struct operator_claims **out, struct jwt *j, struct mf_error *e)
{
    struct operator_claims *c = calloc(1, sizeof *c);

    if (c == NULL) {
        jwt_free(j);
        return mf_fail(e, MF_NOMEM, "account");
    }
    c->jwt = j;
    c->options.name = j->sub;
    c->options.tag = j->name[0] != '\0' ? j->name : NULL;
    take_limits(&c->options, &j->account->limits);
    if (!jwt_permissions_empty(&j->account->default_permissions)) {
        user_rights_options(&c->defaults, &j->account->default_permissions);
        c->options.default_permissions = &c->defaults;
    }
    if (j->account->trace != NULL && j->account->trace->dest != NULL) {
        c->options.trace_dest = j->account->trace->dest;
        c->options.trace_sampling =
            j->account->trace->sampling > 0 ? (int)j->account->trace->sampling : 100;
    }
    if (take_tiers(c, &j->account->limits) != 0 || operator_share_take(c) != 0 ||
        operator_scopes_take(c) != 0) {
        operator_claims_free(c);
        return mf_fail(e, MF_NOMEM, "account");
    }
    *out = c;
    return 0;
}

void operator_claims_free(struct operator_claims *c)
{
    if (c == NULL)
        return;
    arena_fini(&c->mem);
    jwt_free(c->jwt);
    free(c);
}
