/* options_blocks.c: cluster, gateway and mqtt: every key is checked, ports are kept; the features
 * themselves are not active yet.  Leaf nodes are in options_leaf.c. */
#include "config/options_impl.h"
#include "config/options_leaf.h"

#define BLOCK(member) offsetof(struct options_block, member)

/* --- shared ----------------------------------------------------------------------------------- */

void opt_read_block_listen(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_block *b = block;
    char *host = NULL;
    if (opt_listen(c, v, &host, &b->port))
        b->host = host;
}

static void read_name(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_block *b = block;
    if (opt_string(c, v, &b->name) && strchr(b->name, ' ') != NULL)
        opt_error(c, v, "%s name cannot contain spaces",
                  b == &c->o->cluster ? "cluster" : "gateway");
}

void opt_read_unused_tls(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_tls tls;
    (void)block;
    opt_read_tls(c, v, &tls);
}

static void read_unused_tls_route(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_tls tls;
    (void)block;
    opt_read_tls_route(c, v, &tls);
}

void opt_read_unused_write_timeout(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    if (!opt_is_word(v, "default") && !opt_is_word(v, "close") && !opt_is_word(v, "retry"))
        opt_error(c, v, "write_timeout must be 'default', 'close' or 'retry'");
}

/* One URL; a secret in it is removed. */
bool opt_read_url(struct opt *c, const struct conf_value *v, const char *what,
                  struct options_list *out)
{
    char *safe;
    if (v->type != CONF_STRING) {
        opt_error(c, v, "expected a %s url as a string, got %s", what, conf_type_name(v->type));
        return false;
    }
    safe = opt_text_url_redacted(c->a, v->u.s);
    if (safe == NULL) {
        opt_error(c, v, "error parsing %s url: expected scheme://host:port", what);
        return false;
    }
    opt_list_add(c, out, safe);
    return true;
}

void opt_read_urls(struct opt *c, const struct conf_value *v, const char *what,
                   struct options_list *out, struct options_list *whole)
{
    if (!opt_is_array(c, v, "an array of urls") || !opt_is_few(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        bool again = false;
        for (size_t k = 0; k < i && v->items[i]->type == CONF_STRING; k++)
            again = again || (v->items[k]->type == CONF_STRING &&
                              strcmp(v->items[k]->u.s, v->items[i]->u.s) == 0);
        if (again)
            opt_deprecated(c, v->items[i], "Duplicate %s entry detected", what);
        else if (opt_read_url(c, v->items[i], what, out) && whole != NULL)
            opt_list_add(c, whole, v->items[i]->u.s);
    }
}

static void read_unused_compression(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_compression unused = {0};
    (void)block;
    opt_read_compression(c, v, &unused);
}

/* --- cluster ---------------------------------------------------------------------------------- */

/* Routes have no queue groups to choose from. */
static void check_cluster_subjects(struct opt *c, const struct conf_value *v,
                                   const struct options_permissions *p)
{
    const struct options_list *lists[] = {&p->subscribe.allow, &p->subscribe.deny};
    static const char *const names[] = {"cluster export allow", "cluster export deny"};
    for (size_t k = 0; k < MF_COUNT(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            if (!opt_text_subject_valid(lists[k]->items[i]))
                opt_error(c, v, "%s: subject \"%s\" is not a valid subject", names[k],
                          lists[k]->items[i]);
}

static void check_single_auth(struct opt *c, const struct conf_value *v, const char *what)
{
    struct options_auth auth = {0};
    opt_read_auth_block(c, v, &auth);
    if (auth.users_set)
        opt_error(c, v, "%s authorization does not allow multiple users", what);
    else if (auth.token != NULL && auth.token[0] != '\0')
        opt_error(c, v, "%s authorization does not support tokens", what);
    else if (auth.callout != NULL)
        opt_error(c, v, "%s authorization does not support callouts", what);
    else if (auth.default_permissions != NULL && strcmp(what, "Cluster") == 0) {
        check_cluster_subjects(c, v, auth.default_permissions);
        opt_deprecated(c, v,
                       "invalid use of field \"%s\": setting \"permissions\" within cluster "
                       "authorization block is deprecated",
                       v->key);
    }
}

static void read_cluster_auth(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    check_single_auth(c, v, "Cluster");
}

static void read_gateway_auth(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    check_single_auth(c, v, "Gateway");
}

static void read_routes(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_block *b = block;
    opt_read_urls(c, v, "route", &b->remotes, NULL);
    b->nremotes = b->remotes.n;
}

static void read_cluster_permissions(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    struct options_permissions *p = opt_read_permissions(c, v);
    if (p != NULL && p->responses_set)
        opt_error(c, v, "Cluster permissions do not support dynamic responses");
    else if (p != NULL)
        check_cluster_subjects(c, v, p);
}

static void read_pool_size(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    opt_int(c, v, &c->o->impl->cluster_pool_size);
}

static void read_pinned_accounts(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_list *l = &c->o->impl->pinned_accounts;
    (void)block;
    if (!opt_is_few(c, v) || !opt_strings(c, v, l))
        return;
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l->items[i], l->items[k]) == 0)
                opt_error(c, v, "found duplicate account name \"%s\" in pinned accounts list",
                          l->items[i]);
}

static void read_cluster_ping(struct opt *c, const struct conf_value *v, void *block)
{
    int64_t ns;
    (void)block;
    if (opt_duration(c, v, &ns) && ns > 30 * CLOCK_S)
        opt_deprecated(c, v,
                       "Cluster 'ping_interval' will reset to 30s which is the max for routes");
}

static const struct opt_field cluster_fields[] = {
    {"name", OPT_FN, 0, read_name, 0, 0},
    {"listen", OPT_FN, 0, opt_read_block_listen, 0, 0},
    {"port", OPT_PORT, BLOCK(port), NULL, 0, 0},
    {"host net", OPT_STRING, BLOCK(host), NULL, 0, 0},
    {"authorization", OPT_FN, 0, read_cluster_auth, 0, 0},
    {"routes", OPT_FN, 0, read_routes, 0, 0},
    {"tls", OPT_FN, 0, read_unused_tls_route, 0, 0},
    {"advertise cluster_advertise", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"no_advertise", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"connect_retries", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"connect_backoff", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"permissions", OPT_FN, 0, read_cluster_permissions, 0, 0},
    {"pool_size", OPT_FN, 0, read_pool_size, 0, 0},
    {"accounts", OPT_FN, 0, read_pinned_accounts, 0, 0},
    {"compression", OPT_FN, 0, read_unused_compression, 0, 0},
    {"ping_interval", OPT_FN, 0, read_cluster_ping, 0, 0},
    {"ping_max", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"write_deadline", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"write_timeout", OPT_FN, 0, opt_read_unused_write_timeout, 0, 0},
};

void opt_finish_block(struct opt *c, const struct conf_value *v, struct options_block *b)
{
    b->set = true;
    b->listens = b->port != 0;
    opt_inactive(c, v, v->key);
}

void opt_read_cluster(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_block *b = &((struct options *)options)->cluster;
    if (!opt_is_map(c, v, "map to define cluster"))
        return;
    opt_map(c, v, OPT_BLOCK(cluster_fields), b);
    opt_finish_block(c, v, b);
}

/* --- gateway ---------------------------------------------------------------------------------- */

static void read_gateway_url(struct opt *c, const struct conf_value *v, void *remote)
{
    struct gateway_remote *g = remote;
    g->nurls += opt_read_url(c, v, "gateway", &c->o->gateway.remotes);
}

static void read_gateway_urls(struct opt *c, const struct conf_value *v, void *remote)
{
    struct gateway_remote *g = remote;
    size_t before = c->o->gateway.remotes.n;
    opt_read_urls(c, v, "gateway", &c->o->gateway.remotes, NULL);
    g->nurls += c->o->gateway.remotes.n - before;
}

static const struct opt_field remote_gateway_fields[] = {
    {"name", OPT_STRING, offsetof(struct gateway_remote, name), NULL, 0, 0},
    {"url", OPT_FN, 0, read_gateway_url, 0, 0},
    {"urls", OPT_FN, 0, read_gateway_urls, 0, 0},
    {"tls", OPT_FN, 0, read_unused_tls_route, 0, 0},
};

static void read_gateways(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_impl *impl = c->o->impl;
    if (!opt_is_array(c, v, "gateways field to be an array"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        struct gateway_remote g = {NULL, 0};
        if (!opt_is_map(c, v->items[i], "gateway entry to be a map/struct"))
            continue;
        opt_map(c, v->items[i], OPT_BLOCK(remote_gateway_fields), &g);
        struct gateway_remote *grown = arena_grow(c->a, impl->gateways, impl->ngateways, sizeof g);
        if (grown == NULL)
            return;
        impl->gateways = grown;
        grown[impl->ngateways++] = g;
    }
    ((struct options_block *)block)->nremotes = impl->ngateways;
}

static const struct opt_field gateway_fields[] = {
    {"name", OPT_FN, 0, read_name, 0, 0},
    {"listen", OPT_FN, 0, opt_read_block_listen, 0, 0},
    {"port", OPT_PORT, BLOCK(port), NULL, 0, 0},
    {"host net", OPT_STRING, BLOCK(host), NULL, 0, 0},
    {"authorization", OPT_FN, 0, read_gateway_auth, 0, 0},
    {"tls", OPT_FN, 0, read_unused_tls_route, 0, 0},
    {"advertise", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"connect_retries", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"connect_backoff", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"gateways", OPT_FN, 0, read_gateways, 0, 0},
    {"reject_unknown reject_unknown_cluster", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"write_deadline", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"write_timeout", OPT_FN, 0, opt_read_unused_write_timeout, 0, 0},
};

void opt_read_gateway(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_block *b = &((struct options *)options)->gateway;
    if (!opt_is_map(c, v, "gateway to be a map"))
        return;
    opt_map(c, v, OPT_BLOCK(gateway_fields), b);
    opt_finish_block(c, v, b);
}

/* --- mqtt ------------------------------------------------------------------------------------- */

static void read_mqtt_auth(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    opt_read_simple_auth(c, v, &c->o->impl->mqtt_auth);
}

static void read_mqtt_no_auth_user(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    opt_string(c, v, &c->o->impl->mqtt_no_auth_user);
}

static void read_mqtt_duration(struct opt *c, const struct conf_value *v, void *block)
{
    int64_t ns;
    (void)block;
    if (opt_duration(c, v, &ns) && ns < 0)
        opt_error(c, v, "%s must be a positive value", v->key);
}

static void read_consumer_replicas(struct opt *c, const struct conf_value *v, void *block)
{
    (void)block;
    opt_deprecated(c, v,
                   "invalid use of field \"%s\": consumer replicas setting ignored in this server "
                   "version",
                   v->key);
}

static const struct opt_field mqtt_fields[] = {
    {"listen", OPT_FN, 0, opt_read_block_listen, 0, 0},
    {"port", OPT_PORT, BLOCK(port), NULL, 0, 0},
    {"host net", OPT_STRING, BLOCK(host), NULL, 0, 0},
    {"tls", OPT_FN, 0, opt_read_unused_tls, 0, 0},
    {"authorization authentication", OPT_FN, 0, read_mqtt_auth, 0, 0},
    {"no_auth_user", OPT_FN, 0, read_mqtt_no_auth_user, 0, 0},
    {"ack_wait ackwait", OPT_FN, 0, read_mqtt_duration, 0, 0},
    {"js_api_timeout api_timeout", OPT_FN, 0, read_mqtt_duration, 0, 0},
    {"max_ack_pending max_pending max_inflight", OPT_INT, OPT_DROP, NULL, 0, 0xffff},
    {"js_domain", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"stream_replicas", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"consumer_replicas", OPT_FN, 0, read_consumer_replicas, 0, 0},
    {"consumer_memory_storage", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"consumer_inactive_threshold consumer_auto_cleanup", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"reject_qos2_publish", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"downgrade_qos2_subscribe", OPT_BOOL, OPT_DROP, NULL, 0, 0},
};

void opt_read_mqtt(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_block *b = &((struct options *)options)->mqtt;
    if (!opt_is_map(c, v, "mqtt to be a map"))
        return;
    opt_map(c, v, OPT_BLOCK(mqtt_fields), b);
    opt_finish_block(c, v, b);
}
