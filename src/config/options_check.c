/* options_check.c: combinations of values: defaults that depend on others, and settings that
 * exclude each other.  nats-server finds most of these when it starts; so does `-t` here. */
#include "config/options_callout.h"
#include "config/options_impl.h"
#include "config/options_leaf.h"

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

/* --- defaults --------------------------------------------------------------------------------- */

static void default_i64(int64_t *v, int64_t value)
{
    if (*v == 0)
        *v = value;
}

/* With TLS the client also gets the time of the handshake. */
static int64_t auth_timeout(const struct options_tls *t)
{
    return t->set ? t->timeout_ns + CLOCK_S : 2 * CLOCK_S;
}

/* "" or "/x", no slash at the end. */
static char *base_path(struct opt *c, const char *given)
{
    if (given == NULL)
        given = "";
    char *p = arena_printf(c->a, "%s%s", given[0] == '\0' || given[0] == '/' ? "" : "/", given);
    for (size_t n = p == NULL ? 0 : strlen(p); n > 0 && p[n - 1] == '/'; n--)
        p[n - 1] = '\0';
    return p;
}

static void fill_defaults(struct opt *c)
{
    struct options *o = c->o;
    bool asked = is_text(o->host) || !o->embedded;
    if (o->port == 0 && (o->unix_socket.alone || !asked))
        o->dont_listen = true;
    if (!is_text(o->host))
        o->host = arena_str(c->a, o->embedded ? "127.0.0.1" : "0.0.0.0");
    if (!is_text(o->http_host))
        o->http_host = o->host;
    if (o->port == 0)
        o->port = 4222;
    o->http_base_path = base_path(c, o->http_base_path);
    default_i64(&o->max_payload, 1 << 20);
    default_i64(&o->max_control_line, 4096);
    default_i64(&o->max_pending, 64 << 20);
    if (o->max_payload < 0) /* no limit of its own */
        o->max_payload = o->max_pending < INT32_MAX ? o->max_pending : INT32_MAX;
    default_i64(&o->max_closed_clients, 10000);
    int64_t *none_if_negative[] = {&o->log_size_limit, &o->log_max_num, &o->max_traced_msg_len};
    for (size_t i = 0; i < MF_COUNT(none_if_negative); i++)
        if (*none_if_negative[i] < 0)
            *none_if_negative[i] = 0;
    default_i64(&o->ping_max, 2);
    default_i64(&o->connect_error_reports, 3600);
    default_i64(&o->reconnect_error_reports, 1);
    default_i64(&o->tls.timeout_ns, 2 * CLOCK_S);
    default_i64(&o->auth.timeout_ns, auth_timeout(&o->tls));
    default_i64(&o->websocket.auth.timeout_ns,
                o->websocket.tls.set ? auth_timeout(&o->websocket.tls) : o->auth.timeout_ns);
    default_i64(&o->websocket.handshake_timeout_ns, 2 * CLOCK_S);
    if (o->jetstream.request_queue_limit <= 0)
        o->jetstream.request_queue_limit = 10000;
    struct options_block *blocks[] = {&o->leafnodes, &o->cluster, &o->gateway, &o->mqtt};
    for (size_t i = 0; i < MF_COUNT(blocks); i++)
        if (blocks[i]->listens && !is_text(blocks[i]->host))
            blocks[i]->host = arena_str(c->a, "0.0.0.0");
    opt_finish_leaf(c);
    if (o->websocket.set && !is_text(o->websocket.host))
        o->websocket.host = arena_str(c->a, "0.0.0.0");
}

/* --- accounts --------------------------------------------------------------------------------- */

static bool account_known(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->naccounts; i++)
        if (strcmp(o->accounts[i].name, name) == 0)
            return true;
    return false;
}

static void check_system_account(struct opt *c)
{
    struct options *o = c->o;
    if (!is_text(o->system_account)) {
        o->system_account = o->no_system_account ? NULL : arena_str(c->a, "$SYS");
        return;
    }
    if (o->operator_set) /* a public key, resolved later */
        return;
    if (!account_known(o, o->system_account) && strcmp(o->system_account, "$SYS") != 0 &&
        strcmp(o->system_account, "$G") != 0)
        opt_error(c, opt_place(c->o, "system_account"),
                  "error resolving system account: account missing: \"%s\" is not in accounts",
                  o->system_account);
}

static bool has_users(const struct options *o)
{
    bool any = o->auth.nusers > 0;
    for (size_t i = 0; i < o->naccounts; i++)
        any = any || o->accounts[i].nusers > 0;
    return any;
}

static bool user_known(const struct options_user *users, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if ((users[i].user != NULL && strcmp(users[i].user, name) == 0) ||
            (users[i].nkey != NULL && strcmp(users[i].nkey, name) == 0))
            return true;
    return false;
}

/* key: where the name stands. */
static void check_no_auth_user(struct opt *c, const char *name, const char *key)
{
    const struct options *o = c->o;
    const struct conf_value *at = opt_place(o, key);
    if (!is_text(name))
        return;
    bool known = user_known(o->auth.users, o->auth.nusers, name);
    for (size_t i = 0; i < o->naccounts; i++)
        known = known || user_known(o->accounts[i].users, o->accounts[i].nusers, name);
    if (o->impl->operators_named > 0)
        opt_error(c, at, "no_auth_user not compatible with Trusted Operator");
    else if (!has_users(o))
        opt_error(c, at, "no_auth_user: \"%s\" present, but users/nkeys are not defined", name);
    else if (!known)
        opt_error(c, at,
                  "no_auth_user: \"%s\" not present as user or nkey in authorization block or "
                  "account configuration",
                  name);
}

static void check_callout(struct opt *c)
{
    const struct options_callout *k = c->o->auth.callout;
    if (k == NULL || c->o->impl->operators_named > 0)
        return;
    if (c->o->operator_set) {
        opt_error(c, opt_place(c->o, "authorization"),
                  "trusted_keys do not allow authorization callouts to be configured directly: the "
                  "accounts' JWTs name theirs");
        return;
    }
    const struct options_list *l = &k->allowed;
    for (size_t i = 0; i < l->n; i++)
        if (!account_known(c->o, l->items[i]))
            opt_error(c, opt_place(c->o, "authorization"),
                      "auth_callout allowed account \"%s\" not found in configured accounts",
                      l->items[i]);
    if (!account_known(c->o, k->account) && strcmp(k->account, "$G") != 0 &&
        (c->o->system_account == NULL || strcmp(k->account, c->o->system_account) != 0))
        opt_warn(
            c, opt_place(c->o, "authorization"),
            "auth_callout account \"%s\" is not in accounts: nobody can be asked, so nobody but "
            "auth_users can connect",
            k->account);
}

/* --- jetstream -------------------------------------------------------------------------------- */

static void check_domain(struct opt *c, const char *domain)
{
    if (!is_text(domain))
        return;
    if (strpbrk(domain, " \t\r\n\f") != NULL)
        opt_error(c, opt_place(c->o, "jetstream.domain"),
                  "invalid domain name: derived \"$JS.%s.API.>\" is not a valid subject", domain);
    else if (strpbrk(domain, ".*>") != NULL)
        opt_error(c, opt_place(c->o, "jetstream.domain"),
                  "invalid domain name: may not contain ., * or >");
}

static void check_default_domain(struct opt *c, const struct options_pair *d)
{
    const struct options *o = c->o;
    if (o->impl->operators_named > 0) {
        if (!opt_text_nkey_valid(d->key, 'A'))
            opt_error(c, opt_place(c->o, "default_js_domain"),
                      "default_js_domain contains account name \"%s\", which is not a valid public "
                      "account nkey",
                      d->key);
        return;
    }
    if (o->system_account != NULL && strcmp(d->key, o->system_account) == 0) {
        opt_error(c, opt_place(c->o, "default_js_domain"),
                  "system account \"%s\" can not be in default_js_domain", d->key);
        return;
    }
    if (strcmp(d->key, "$G") != 0 && !account_known(o, d->key))
        opt_error(c, opt_place(c->o, "default_js_domain"),
                  "in non operator mode, `default_js_domain` references non existing account "
                  "\"%s\"",
                  d->key);
    for (size_t i = 0; i < o->naccounts; i++)
        if (strcmp(o->accounts[i].name, d->key) == 0 && o->accounts[i].js.enabled &&
            is_text(d->value))
            opt_error(c, opt_place(c->o, "default_js_domain"),
                      "default_js_domain contains account name \"%s\" with enabled JetStream",
                      d->key);
    check_domain(c, d->value);
}

/* A warning is not enough: the operator would believe that the files are encrypted. */
static void check_encryption(struct opt *c)
{
    const struct options_jetstream *js = &c->o->jetstream;

    if (!js->enabled)
        return;
    if (js->tpm)
        opt_error(c, opt_place(c->o, "jetstream"),
                  "jetstream encryption by \"tpm\" is not available: streams would be on disk in "
                  "the clear; set \"key\", for example to an environment variable");
    else if (is_text(js->prev_key) && !is_text(js->key))
        opt_error(c, opt_place(c->o, "jetstream"),
                  "jetstream \"prev_key\" is the key before \"key\", which is missing");
}

static void check_jetstream(struct opt *c)
{
    const struct options *o = c->o;
    check_domain(c, o->jetstream.domain);
    for (size_t i = 0; i < o->default_js_domains.n; i++)
        check_default_domain(c, &o->default_js_domains.items[i]);
    if (o->impl->max_catchup < 0)
        opt_error(c, opt_place(c->o, "jetstream"), "jetstream max catchup cannot be negative");
    check_encryption(c);
    if (!o->jetstream.enabled || !o->cluster.listens)
        return;
    if (!is_text(o->server_name))
        opt_error(c, opt_place(c->o, "jetstream"),
                  "jetstream cluster requires `server_name` to be set");
    else if (!is_text(o->cluster.name))
        opt_error(c, opt_place(c->o, "jetstream"),
                  "jetstream cluster requires `cluster.name` to be set");
}

/* --- listeners -------------------------------------------------------------------------------- */

static void check_websocket(struct opt *c)
{
    const struct options *o = c->o;
    const struct options_websocket *w = &o->websocket;
    if (!w->set)
        return;
    if (!w->tls.set && !w->no_tls)
        opt_error(c, opt_place(c->o, "websocket"),
                  "websocket requires TLS configuration (or no_tls: true)");
    check_no_auth_user(c, w->no_auth_user, "websocket.no_auth_user");
    if (has_users(o) && is_text(w->auth.user))
        opt_error(c, opt_place(c->o, "websocket"),
                  "websocket authentication username not compatible with presence of users/nkeys");
    if (has_users(o) && is_text(w->auth.token))
        opt_error(c, opt_place(c->o, "websocket"),
                  "websocket authentication token not compatible with presence of users/nkeys");
    if (is_text(w->jwt_cookie) && !o->operator_set)
        opt_error(c, opt_place(c->o, "websocket"),
                  "trusted operators or trusted keys configuration is required for JWT "
                  "authentication via cookie \"%s\"",
                  w->jwt_cookie);
}

static void check_mqtt(struct opt *c)
{
    const struct options *o = c->o;
    if (!o->mqtt.listens)
        return;
    if (!is_text(o->server_name) && (o->cluster.listens || o->gateway.listens))
        opt_error(c, opt_place(c->o, "mqtt"), "mqtt requires server name to be explicitly set");
    check_no_auth_user(c, o->impl->mqtt_no_auth_user, "mqtt.no_auth_user");
    if (has_users(o) && is_text(o->impl->mqtt_auth.user))
        opt_error(c, opt_place(c->o, "mqtt"),
                  "mqtt authentication username not compatible with presence of users/nkeys");
    if (has_users(o) && is_text(o->impl->mqtt_auth.token))
        opt_error(c, opt_place(c->o, "mqtt"),
                  "mqtt authentication token not compatible with presence of users/nkeys");
    if (!o->jetstream.enabled && !o->cluster.listens && !o->gateway.listens &&
        !o->leafnodes.listens && o->leafnodes.nremotes == 0)
        opt_error(c, opt_place(c->o, "mqtt"),
                  "mqtt requires JetStream to be enabled if running in standalone mode");
}

static void check_leafnodes(struct opt *c)
{
    const struct options *o = c->o;
    const struct options_list *l = &o->impl->leaf_accounts;
    for (size_t i = 0; i < o->leaf->nremotes && o->impl->operators_named > 0; i++)
        if (!opt_text_nkey_valid(o->leaf->remotes[i].account, 'A')) {
            opt_error(
                c, opt_place(c->o, "leafnodes"),
                "operator mode requires account nkeys in remotes. Please add an `account` key "
                "to each remote in your `leafnodes` section, to assign it to an account. Each "
                "account value should be a 56 character public key, starting with the letter "
                "'A'");
            break;
        }
    for (size_t i = 0; i < l->n && o->impl->operators_named == 0; i++)
        if (is_text(l->items[i]) && strcmp(l->items[i], "$G") != 0 &&
            !account_known(o, l->items[i]) &&
            (o->system_account == NULL || strcmp(l->items[i], o->system_account) != 0))
            opt_error(c, opt_place(c->o, "leafnodes"),
                      "cannot find local account \"%s\" specified in leafnode", l->items[i]);
}

static void check_gateway(struct opt *c)
{
    const struct options *o = c->o;
    const struct options_impl *impl = o->impl;
    if (!o->gateway.set || (!is_text(o->gateway.name) && o->gateway.port == 0))
        return;
    if (!is_text(o->gateway.name))
        opt_error(c, opt_place(c->o, "gateway"), "gateway has no name");
    else if (o->gateway.port == 0)
        opt_error(c, opt_place(c->o, "gateway"),
                  "gateway \"%s\" has no port specified (select -1 for random port)",
                  o->gateway.name);
    for (size_t i = 0; i < impl->ngateways; i++) {
        if (!is_text(impl->gateways[i].name))
            opt_error(c, opt_place(c->o, "gateway"), "gateway in the list %zu has no name", i);
        else if (impl->gateways[i].nurls == 0)
            opt_error(c, opt_place(c->o, "gateway"), "gateway \"%s\" has no URL",
                      impl->gateways[i].name);
    }
    if (is_text(o->gateway.name) && is_text(o->cluster.name) &&
        strcmp(o->gateway.name, o->cluster.name) != 0)
        opt_error(c, opt_place(c->o, "gateway"),
                  "cluster name conflicts between cluster and gateway definitions");
}

static void check_cluster(struct opt *c)
{
    const struct options_impl *impl = c->o->impl;
    if (impl->pinned_accounts.n > 0 && impl->cluster_pool_size < 0)
        opt_error(c, opt_place(c->o, "cluster"),
                  "pool_size cannot be negative if pinned accounts are specified");
}

/* An account that only other servers have is no mistake: the same file may serve them all. */
static void check_ttl(struct opt *c)
{
    const struct options *o = c->o;
    for (size_t i = 0; i < o->ttl.nnamespaces; i++) {
        const char *name = o->ttl.namespaces[i].account;
        if (name != NULL && strcmp(name, "$G") != 0 && !account_known(o, name))
            opt_warn(c, &o->impl->ttl_places[i],
                     "ttl: no account \"%s\" here, so namespace %zu matches nothing", name, i + 1);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_limits(struct opt *c)
{
    const struct options *o = c->o;
    char grace[CLOCK_TEXT], duration[CLOCK_TEXT];
    const struct conf_value *https = opt_place(o, "https_port");
    if (https == NULL)
        https = opt_place(o, "https");
    if (o->lame_duck_grace_ns >= o->lame_duck_duration_ns)
        opt_error(c, opt_place(o, "lame_duck_grace_period"),
                  "lame duck grace period (%s) should be strictly lower than lame duck duration "
                  "(%s)",
                  clock_duration(grace, o->lame_duck_grace_ns),
                  clock_duration(duration, o->lame_duck_duration_ns));
    if (o->max_payload > o->max_pending)
        opt_error(c, opt_place(o, "max_payload"),
                  "max_payload (%lld) cannot be higher than max_pending (%lld)",
                  (long long)o->max_payload, (long long)o->max_pending);
    if (o->max_payload > 8 << 20)
        opt_warn(c, opt_place(o, "max_payload"),
                 "Maximum payloads over %d MB are generally discouraged and could lead to "
                 "poor performance",
                 8);
    if (o->server_name != NULL && strchr(o->server_name, ' ') != NULL)
        opt_error(c, opt_place(o, "server_name"), "server name cannot contain spaces");
    if (o->https_port != 0 && !o->tls.set)
        opt_error(c, https, "TLS cert and key required for HTTPS");
    if (o->http_port != 0 && o->https_port != 0)
        opt_error(c, https, "can't specify both HTTP (%d) and HTTPs (%d) ports", o->http_port,
                  o->https_port);
}

void options_finish(struct opt *c)
{
    fill_defaults(c);
    check_limits(c);
    opt_finish_operator(c);
    opt_check_accounts(c);
    check_system_account(c);
    check_callout(c);
    check_no_auth_user(c, c->o->no_auth_user, "no_auth_user");
    check_leafnodes(c);
    check_gateway(c);
    check_cluster(c);
    check_mqtt(c);
    check_jetstream(c);
    check_ttl(c);
    check_websocket(c);
}
