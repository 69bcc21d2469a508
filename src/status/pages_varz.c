/* pages_varz.c: /varz and the small pages: identity, configuration and counters of this server. */
#include "status/pages_leaf_impl.h"

#include "base/clock.h"
#include "operator/operator.h"

#include <stdio.h>
#include <unistd.h>

void page_begin(struct status *s, struct jsonw *w, const char *key)
{
    jsonw_object(w, key);
    jsonw_str(w, "server_id", s->id);
    jsonw_time(w, "now", clock_wall_ns());
}

size_t page_from(int64_t offset, size_t n)
{
    if (offset <= 0)
        return 0;
    return (uint64_t)offset < n ? (size_t)offset : n;
}

static void add_subs(void *arg, struct account *a)
{
    uint64_t *sum = arg;
    struct router_stats t;

    router_stats(account_router(a), &t);
    *sum += t.subs;
}

uint64_t page_subscriptions(struct status *s)
{
    uint64_t sum = 0;

    accounts_each(s->accounts, add_subs, &sum);
    return sum;
}

/* --- /varz ------------------------------------------------------------------------------------ */

static void varz_identity(struct status *s, struct jsonw *w)
{
    const struct options *o = server_options(s->server);
    char host[SERVER_HOST];

    jsonw_str(w, "server_id", s->id);
    jsonw_str(w, "server_name", server_name(s->server));
    jsonw_str(w, "version", SERVER_NATS_VERSION);
    jsonw_str(w, "mayfly", SERVER_MAYFLY_VERSION);
    jsonw_i64(w, "proto", 1);
    jsonw_str(w, "go", SERVER_GO_VERSION);
    jsonw_str(w, "host", server_host(s->server, host));
    jsonw_i64(w, "port", server_port(s->server));
    jsonw_opt_bool(w, "auth_required", auth_required(server_auth(s->server)));
    jsonw_opt_bool(w, "tls_required", server_has_tls(s->server) && !o->allow_non_tls);
    jsonw_opt_bool(w, "tls_verify",
                   server_has_tls(s->server) && (o->tls.verify || o->tls.verify_and_map));
    jsonw_i64(w, "max_connections", o->max_connections);
    jsonw_u64(w, "possible_connections", server_max_clients(s->server));
    if (o->max_subscriptions > 0)
        jsonw_i64(w, "max_subscriptions", o->max_subscriptions);
    jsonw_i64(w, "ping_interval", o->ping_interval_ns);
    jsonw_i64(w, "ping_max", o->ping_max);
    jsonw_str(w, "http_host", o->http_host != NULL ? o->http_host : o->host);
    jsonw_i64(w, "http_port", server_open_port(s->server, SERVER_HTTP, o->http_port));
    jsonw_str(w, "http_base_path", o->http_base_path);
    jsonw_i64(w, "https_port", server_open_port(s->server, SERVER_HTTPS, o->https_port));
    jsonw_f64(w, "auth_timeout",
              (double)(o->auth.timeout_ns > 0 ? o->auth.timeout_ns : 2 * CLOCK_S) / 1e9);
    jsonw_i64(w, "max_control_line", o->max_control_line);
    jsonw_i64(w, "max_payload", o->max_payload);
    jsonw_i64(w, "max_pending", o->max_pending);
}

/* "nats://user@host:1" is shown as "host:1". */
static struct mf_slice bare_url(const char *url)
{
    const char *at = strstr(url, "://"), *start = at != NULL ? at + 3 : url;

    at = strrchr(start, '@');
    return mf_str(at != NULL ? at + 1 : start);
}

static void varz_urls(struct jsonw *w, const struct options_list *urls)
{
    jsonw_array(w, "urls");
    for (size_t i = 0; i < urls->n; i++)
        jsonw_slice(w, NULL, bare_url(urls->items[i]));
    jsonw_end(w);
}

/* Features that are configured but not implemented: their configuration. */
static void varz_cluster(struct status *s, struct jsonw *w)
{
    const struct options_block *b = &server_options(s->server)->cluster;
    int port = server_open_port(s->server, SERVER_CLUSTER, -1);

    jsonw_object(w, "cluster");
    if (b->set) {
        jsonw_opt_str(w, "name", b->name);
        jsonw_opt_str(w, "addr", b->listens ? b->host : NULL);
        if (port >= 0)
            jsonw_i64(w, "cluster_port", port);
        if (b->remotes.n > 0)
            varz_urls(w, &b->remotes);
    }
    jsonw_end(w);
}

static void varz_block(struct jsonw *w, const char *key, const struct options_block *b, int port)
{
    jsonw_object(w, key);
    if (b->set) {
        jsonw_opt_str(w, "name", b->name);
        jsonw_opt_str(w, "host", b->listens ? b->host : NULL);
        if (port >= 0)
            jsonw_i64(w, "port", port);
    }
    jsonw_end(w);
}

void page_names(struct jsonw *w, const char *key, const struct options_list *l)
{
    if (l->n == 0)
        return;
    jsonw_array(w, key);
    for (size_t i = 0; i < l->n; i++)
        jsonw_str(w, NULL, l->items[i]);
    jsonw_end(w);
}

static void varz_websocket(struct status *s, struct jsonw *w)
{
    const struct options_websocket *o = &server_options(s->server)->websocket;

    jsonw_object(w, "websocket");
    if (o->set) {
        jsonw_opt_str(w, "host", o->host);
        jsonw_i64(w, "port", server_open_port(s->server, SERVER_WEBSOCKET, o->port));
        jsonw_opt_str(w, "advertise", o->advertise);
        jsonw_opt_str(w, "no_auth_user", o->no_auth_user);
        jsonw_opt_str(w, "jwt_cookie", o->jwt_cookie);
        if (o->handshake_timeout_ns != 2 * CLOCK_S) /* the default is not shown */
            jsonw_i64(w, "handshake_timeout", o->handshake_timeout_ns);
        if (o->auth.set && o->auth.timeout_ns > 0)
            jsonw_f64(w, "auth_timeout", (double)o->auth.timeout_ns / 1e9);
        jsonw_opt_bool(w, "no_tls", o->no_tls);
        jsonw_opt_bool(w, "tls_map", o->tls.verify_and_map);
        page_names(w, "tls_pinned_certs", &o->tls.pinned);
        jsonw_opt_bool(w, "same_origin", o->same_origin);
        page_names(w, "allowed_origins", &o->allowed_origins);
        jsonw_opt_bool(w, "compression", o->compression);
    }
    jsonw_end(w);
}

static void varz_blocks(struct status *s, struct jsonw *w)
{
    const struct options *o = server_options(s->server);

    varz_cluster(s, w);
    varz_block(w, "gateway", &o->gateway, server_open_port(s->server, SERVER_GATEWAY, -1));
    page_leaf_config(s, w);
    varz_block(w, "mqtt", &o->mqtt, server_open_port(s->server, SERVER_MQTT, -1));
    varz_websocket(s, w);
    jsonw_object(w, "jetstream");
    if (s->js != NULL)
        js_status_varz(s->js, w, true);
    jsonw_end(w);
    jsonw_f64(w, "tls_timeout",
              (double)(o->tls.timeout_ns > 0 ? o->tls.timeout_ns : 2 * CLOCK_S) / 1e9);
    jsonw_i64(w, "write_deadline", o->write_deadline_ns);
}

static void varz_life(struct status *s, struct jsonw *w)
{
    struct page_usage u;
    char text[CLOCK_TEXT];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    page_usage(s, &u);
    jsonw_time(w, "start", server_start_wall_ns(s->server));
    jsonw_time(w, "now", clock_wall_ns());
    jsonw_str(w, "uptime", clock_uptime(text, clock_mono_ns() - server_start_mono_ns(s->server)));
    jsonw_u64(w, "mem", u.rss);
    jsonw_i64(w, "cores", cores);
    jsonw_i64(w, "gomaxprocs", cores);
    jsonw_f64(w, "cpu", u.cpu_percent);
}

static void varz_traffic(struct status *s, struct jsonw *w)
{
    const struct server_counters *t = server_counters(s->server);
    struct leaf_totals l;

    page_leaf_totals(s, &l);
    jsonw_u64(w, "connections", server_clients(s->server));
    jsonw_u64(w, "total_connections", t->total_connections);
    jsonw_i64(w, "routes", 0);
    jsonw_i64(w, "remotes", 0);
    jsonw_u64(w, "leafnodes", page_leaf_count(s));
    jsonw_u64(w, "in_msgs", t->in_msgs + l.in_msgs);
    jsonw_u64(w, "in_bytes", t->in_bytes + l.in_bytes);
    jsonw_u64(w, "in_client_msgs", t->in_msgs);
    jsonw_u64(w, "in_client_bytes", t->in_bytes);
    jsonw_u64(w, "out_msgs", t->out_msgs + l.out_msgs);
    jsonw_u64(w, "out_bytes", t->out_bytes + l.out_bytes);
    jsonw_u64(w, "out_client_msgs", t->out_msgs);
    jsonw_u64(w, "out_client_bytes", t->out_bytes);
    jsonw_u64(w, "slow_consumers", t->slow_consumers + l.slow);
    jsonw_u64(w, "stale_connections", t->stale_connections + l.stale);
    jsonw_u64(w, "stalled_clients", t->stalled);
    jsonw_u64(w, "subscriptions", page_subscriptions(s));
}

static void varz_hits(struct status *s, struct jsonw *w)
{
    static const char *const paths[] = {"/",         "/accountz", "/accstatz", "/connz",
                                        "/gatewayz", "/healthz",  "/jsz",      "/leafz",
                                        "/metrics",  "/routez",   "/subsz",    "/varz"};

    jsonw_object(w, "http_req_stats");
    for (size_t i = 0; i < MF_COUNT(paths); i++) {
        uint64_t hits = server_page_hits(s->server, paths[i]);
        if (strcmp(paths[i], "/subsz") == 0) /* two names of one page */
            hits += server_page_hits(s->server, "/subscriptionsz");
        if (hits > 0)
            jsonw_u64(w, paths[i], hits);
    }
    jsonw_end(w);
}

static void by_kind(struct jsonw *w, const char *key, uint64_t clients, uint64_t leafs)
{
    jsonw_object(w, key);
    jsonw_u64(w, "clients", clients);
    jsonw_u64(w, "routes", 0);
    jsonw_u64(w, "gateways", 0);
    jsonw_u64(w, "leafs", leafs);
    jsonw_end(w);
}

/* All 0: workers write to the disk, the loop never waits. */
static void varz_disk(struct jsonw *w)
{
    static const char *const keys[] = {"waiters", "waits", "wait_time", "max_wait_time"};

    jsonw_object(w, "disk_io_wait_stats");
    for (size_t i = 0; i < MF_COUNT(keys); i++)
        jsonw_i64(w, keys[i], 0);
    jsonw_end(w);
}

void page_proxy(struct jsonw *w, const char *key)
{
    if (key == NULL)
        return;
    jsonw_object(w, "proxy");
    jsonw_str(w, "key", key);
    jsonw_end(w);
}

static void varz_proxies(const struct options *o, struct jsonw *w)
{
    if (o->trusted_proxies.n == 0)
        return;
    jsonw_object(w, "proxies");
    jsonw_array(w, "trusted");
    for (size_t i = 0; i < o->trusted_proxies.n; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "key", o->trusted_proxies.items[i]);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

void page_labels(const struct options *o, struct jsonw *w)
{
    page_names(w, "tags", &o->server_tags);
    if (o->server_metadata.n > 0) {
        jsonw_object(w, "metadata");
        for (size_t i = 0; i < o->server_metadata.n; i++)
            jsonw_str(w, o->server_metadata.items[i].key, o->server_metadata.items[i].value);
        jsonw_end(w);
    }
}

void page_varz(struct status *s, struct jsonw *w, const char *key)
{
    struct leaf_totals l;

    page_leaf_totals(s, &l);
    jsonw_object(w, key);
    varz_identity(s, w);
    varz_blocks(s, w);
    varz_life(s, w);
    varz_traffic(s, w);
    varz_hits(s, w);
    jsonw_time(w, "config_load_time", server_config_load_ns(s->server));
    jsonw_str(w, "config_digest", "");
    page_labels(server_options(s->server), w);
    page_operators(s, w);
    if (accounts_system(s->accounts) != NULL)
        jsonw_str(w, "system_account", account_name(accounts_system(s->accounts)));
    if (s->op != NULL)
        jsonw_opt_u64(w, "pinned_account_fails", operator_pinned_fails(s->op));
    by_kind(w, "slow_consumer_stats", server_counters(s->server)->slow_consumers, l.slow);
    by_kind(w, "stale_connection_stats", server_counters(s->server)->stale_connections, l.stale);
    varz_disk(w);
    varz_proxies(server_options(s->server), w);
    jsonw_end(w);
}

/* --- empty pages of a single server ------------------------------------------------------------
 */

void page_routez(struct status *s, struct jsonw *w, const char *key)
{
    jsonw_object(w, key);
    jsonw_str(w, "server_id", s->id);
    jsonw_str(w, "server_name", server_name(s->server));
    jsonw_time(w, "now", clock_wall_ns());
    jsonw_i64(w, "num_routes", 0);
    jsonw_array(w, "routes");
    jsonw_end(w);
    jsonw_end(w);
}

void page_gatewayz(struct status *s, struct jsonw *w, const char *key)
{
    const struct options_block *b = &server_options(s->server)->gateway;
    int port = server_open_port(s->server, SERVER_GATEWAY, -1);

    page_begin(s, w, key);
    if (b->set) {
        jsonw_opt_str(w, "name", b->name);
        jsonw_opt_str(w, "host", b->listens ? b->host : NULL);
        if (port >= 0)
            jsonw_i64(w, "port", port);
    }
    jsonw_object(w, "outbound_gateways");
    jsonw_end(w);
    jsonw_object(w, "inbound_gateways");
    jsonw_end(w);
    jsonw_end(w);
}

void page_jsz(struct status *s, struct jsonw *w, const char *key)
{
    static const char *const before[] = {"memory",           "storage",  "reserved_memory",
                                         "reserved_storage", "accounts", "ha_assets"};
    static const char *const after[] = {"streams", "consumers", "messages", "bytes", "total"};

    jsonw_object(w, key);
    for (size_t i = 0; i < MF_COUNT(before); i++)
        jsonw_i64(w, before[i], 0);
    jsonw_object(w, "api");
    jsonw_i64(w, "level", 0);
    jsonw_i64(w, "total", 0);
    jsonw_i64(w, "errors", 0);
    jsonw_end(w);
    jsonw_str(w, "server_id", s->id);
    jsonw_time(w, "now", clock_wall_ns());
    jsonw_bool(w, "disabled", true);
    jsonw_object(w, "config");
    jsonw_i64(w, "max_memory", 0);
    jsonw_i64(w, "max_storage", 0);
    jsonw_end(w);
    for (size_t i = 0; i < MF_COUNT(after); i++)
        jsonw_i64(w, after[i], 0);
    jsonw_end(w);
}
