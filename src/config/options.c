/* options.c: the top level of the configuration: its table of keys, defaults, life cycle. */
#include "config/options.h"

#include "config/options_impl.h"
#include "config/options_leaf.h"
#include "config/options_operator.h"

#include <stdlib.h>

#define AT(member) offsetof(struct options, member)

/* --- values with rules of their own ----------------------------------------------------------- */

static void read_listen(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char *host = NULL;
    if (v->type == CONF_STRING && strncmp(v->u.s, "unix:", 5) == 0) {
        if (!opt_unix_path_ok(v->u.s + 5))
            opt_error(c, v, "expected unix: and a path of 1 to %d bytes", OPTIONS_UNIX_PATH);
        o->unix_socket.path = arena_str(c->a, v->u.s + 5);
        o->unix_socket.alone = true;
        return;
    }
    if (opt_listen(c, v, &host, &o->port))
        o->host = host;
}

static void read_http(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char *host = NULL;
    if (opt_listen(c, v, &host, &o->http_port))
        o->http_host = host;
}

static void read_https(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char *host = NULL;
    if (opt_listen(c, v, &host, &o->https_port))
        o->http_host = host;
}

static void read_server_name(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (v->type == CONF_STRING && strchr(v->u.s, ' ') != NULL)
        opt_error(c, v, "server name cannot contain spaces");
    else
        opt_string(c, v, &o->server_name);
}

/* trace_verbose and trace_headers switch tracing on too. */
static void read_trace_verbose(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (opt_bool(c, v, &o->trace_verbose))
        o->trace = o->trace_verbose;
}

static void read_trace_headers(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (opt_bool(c, v, &o->trace_headers))
        o->trace = o->trace_headers;
}

static void read_log_format(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (opt_is_word(v, "json"))
        o->log_json = true;
    else if (opt_is_word(v, "text"))
        o->log_json = false;
    else
        opt_error(c, v, "\"log_format\" expects text or json");
}

static void read_max_connections(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (opt_int(c, v, &o->max_connections) && o->max_connections <= 0)
        o->max_connections = -1; /* 0: none, as nats-server has it */
}

static void read_max_subscriptions(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (opt_int(c, v, &o->max_subscriptions) && o->max_subscriptions < 0)
        o->max_subscriptions = 0;
}

static void read_lame_duck_duration(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char text[CLOCK_TEXT];
    int64_t ns;
    if (!opt_duration_text(c, v, &ns))
        return;
    if (ns < 30 * CLOCK_S)
        opt_error(c, v, "invalid lame_duck_duration of %s, minimum is 30 seconds",
                  clock_duration(text, ns));
    else
        o->lame_duck_duration_ns = ns;
}

static void read_lame_duck_grace(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    int64_t ns;
    if (!opt_duration_text(c, v, &ns))
        return;
    if (ns < 0)
        opt_error(c, v, "invalid lame_duck_grace_period, needs to be positive");
    else if (ns > 0)
        o->lame_duck_grace_ns = ns;
}

static void read_positive_duration(struct opt *c, const struct conf_value *v, void *out_ns)
{
    int64_t ns;
    if (!opt_duration(c, v, &ns))
        return;
    if (ns < 0)
        opt_error(c, v, "\"%s\" can not be negative", v->key);
    else if (ns > 0) /* 0: the default, as nats-server has it */
        *(int64_t *)out_ns = ns;
}

/* Of our own: nats-server's threads decide this by themselves. */
static void read_busy_poll(struct opt *c, const struct conf_value *v, void *out_ns)
{
    int64_t ns;
    if (!opt_duration(c, v, &ns))
        return;
    if (ns < 0 || ns > 10 * CLOCK_MS)
        opt_error(c, v, "\"%s\" is a duration from \"0s\" (off) to \"10ms\"", v->key);
    else
        *(int64_t *)out_ns = ns;
}

static void read_write_timeout(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (v->type != CONF_STRING || (strcmp(v->u.s, "default") != 0 && strcmp(v->u.s, "close") != 0 &&
                                   strcmp(v->u.s, "retry") != 0))
        opt_error(c, v, "write_timeout must be 'default', 'close' or 'retry'");
    else if (strcmp(v->u.s, "retry") == 0)
        opt_inactive(c, v, "write_timeout: retry");
}

/* Lower case, without blanks around them, each once. */
static void read_tags(struct opt *c, const struct conf_value *v, void *out)
{
    struct options_list given = {NULL, 0}, *tags = out;
    if (!opt_is_few(c, v) || !opt_strings(c, v, &given))
        return;
    for (size_t i = 0; i < given.n; i++) {
        char *tag = opt_text_lower(c->a, given.items[i] + strspn(given.items[i], " \t"));
        bool known = tag == NULL;
        for (size_t n = known ? 0 : strlen(tag); n > 0 && strchr(" \t", tag[n - 1]) != NULL; n--)
            tag[n - 1] = '\0';
        for (size_t k = 0; k < tags->n && !known; k++)
            known = strcmp(tags->items[k], tag) == 0;
        if (!known && tag[0] != '\0')
            opt_list_add(c, tags, tag);
    }
}

static void read_server_metadata(struct opt *c, const struct conf_value *v, void *out)
{
    char *text;
    if (!opt_is_map(c, v, "server_metadata to be a map of strings"))
        return;
    for (size_t i = 0; i < v->nitems; i++)
        if (opt_string(c, v->items[i], &text))
            opt_pair_add(c, out, v->items[i]->key, text);
}

static void read_feature_flags(struct opt *c, const struct conf_value *v, void *options)
{
    bool on;
    (void)options;
    if (!opt_is_map(c, v, "feature_flags to be a map of flags to true or false"))
        return;
    for (size_t i = 0; i < v->nitems; i++)
        opt_bool(c, v->items[i], &on);
    opt_inactive(c, v, "feature_flags");
}

static void read_default_js_domain(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    char *domain;
    if (!opt_is_map(c, v, "default_js_domain to be a map of accounts to domains"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        if (!opt_string(c, v->items[i], &domain))
            continue;
        opt_pair_add(c, &o->default_js_domains, v->items[i]->key, domain);
        if (strcmp(v->items[i]->key, "$G") == 0)
            o->default_js_domain = domain;
    }
}

static void read_top_mappings(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    opt_read_mappings(c, v, &o->mappings, &o->nmappings);
}

static void read_store_dir(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (o->jetstream.store_dir != NULL)
        opt_error(c, v, "Duplicate 'store_dir' configuration");
    else
        opt_string(c, v, &o->jetstream.store_dir);
}

static void read_inactive_port(struct opt *c, const struct conf_value *v, void *options)
{
    int port;
    (void)options;
    if (opt_port(c, v, &port) && port != 0)
        opt_inactive(c, v, v->key);
}

static void read_inactive_int(struct opt *c, const struct conf_value *v, void *options)
{
    int64_t n;
    (void)options;
    if (opt_int(c, v, &n) && n != 0)
        opt_inactive(c, v, v->key);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct opt_field top_fields[] = {
    {"listen", OPT_FN, 0, read_listen, 0, 0},
    {"port", OPT_PORT, AT(port), NULL, 0, 0},
    {"host net", OPT_STRING, AT(host), NULL, 0, 0},
    {"client_advertise", OPT_STRING, AT(client_advertise), NULL, 0, 0},
    {"server_name", OPT_FN, 0, read_server_name, 0, 0},
    {"server_tags", OPT_FN, AT(server_tags), read_tags, 0, 0},
    {"server_metadata", OPT_FN, AT(server_metadata), read_server_metadata, 0, 0},
    {"http", OPT_FN, 0, read_http, 0, 0},
    {"https", OPT_FN, 0, read_https, 0, 0},
    {"http_port monitor_port", OPT_PORT, AT(http_port), NULL, 0, 0},
    {"https_port", OPT_PORT, AT(https_port), NULL, 0, 0},
    {"http_base_path", OPT_STRING, AT(http_base_path), NULL, 0, 0},
    {"pid_file pidfile", OPT_STRING, AT(pid_file), NULL, 0, 0},
    {"ports_file_dir", OPT_STRING, AT(ports_file_dir), NULL, 0, 0},

    {"debug", OPT_BOOL, AT(debug), NULL, 0, 0},
    {"trace", OPT_BOOL, AT(trace), NULL, 0, 0},
    {"trace_verbose", OPT_FN, 0, read_trace_verbose, 0, 0},
    {"trace_headers", OPT_FN, 0, read_trace_headers, 0, 0},
    {"logtime", OPT_BOOL, AT(logtime), NULL, 0, 0},
    {"logtime_utc", OPT_BOOL, AT(logtime_utc), NULL, 0, 0},
    {"log_file logfile", OPT_STRING, AT(log_file), NULL, 0, 0},
    {"log_size_limit logfile_size_limit", OPT_INT, AT(log_size_limit), NULL, 0, 0},
    {"log_max_num logfile_max_num", OPT_INT, AT(log_max_num), NULL, 0, 0},
    {"log_format", OPT_FN, 0, read_log_format, 0, 0},
    {"syslog", OPT_BOOL, AT(syslog), NULL, 0, 0},
    {"remote_syslog", OPT_STRING, AT(remote_syslog), NULL, 0, 0},
    {"max_traced_msg_len", OPT_INT, AT(max_traced_msg_len), NULL, 0, 0},

    {"max_payload", OPT_INT, AT(max_payload), NULL, -1, INT32_MAX},
    {"max_control_line", OPT_INT, AT(max_control_line), NULL, 0, INT32_MAX},
    {"max_pending", OPT_INT, AT(max_pending), NULL, 0, INT64_MAX},
    {"max_connections max_conn", OPT_FN, 0, read_max_connections, 0, 0},
    {"max_subscriptions max_subs", OPT_FN, 0, read_max_subscriptions, 0, 0},
    {"max_sub_tokens max_subscription_tokens", OPT_INT, AT(max_sub_tokens), NULL, 1, 255},
    {"max_closed_clients", OPT_INT, AT(max_closed_clients), NULL, 0, INT32_MAX},
    {"ping_interval", OPT_FN, AT(ping_interval_ns), read_positive_duration, 0, 0},
    {"ping_max", OPT_INT, AT(ping_max), NULL, 0, INT32_MAX},
    {"write_deadline", OPT_FN, AT(write_deadline_ns), read_positive_duration, 0, 0},
    {"write_timeout", OPT_FN, 0, read_write_timeout, 0, 0},
    {"lame_duck_duration", OPT_FN, 0, read_lame_duck_duration, 0, 0},
    {"lame_duck_grace_period", OPT_FN, 0, read_lame_duck_grace, 0, 0},
    {"no_header_support", OPT_BOOL, AT(no_header_support), NULL, 0, 0},
    {"disable_sublist_cache no_sublist_cache", OPT_BOOL, AT(disable_sublist_cache), NULL, 0, 0},
    {"no_fast_producer_stall", OPT_BOOL, AT(no_fast_producer_stall), NULL, 0, 0},
    {"busy_poll", OPT_FN, AT(busy_poll_ns), read_busy_poll, 0, 0},
    {"connect_error_reports", OPT_INT, AT(connect_error_reports), NULL, 0, 0},
    {"reconnect_error_reports", OPT_INT, AT(reconnect_error_reports), NULL, 0, 0},
    {"proxy_protocol", OPT_BOOL, AT(proxy_protocol), NULL, 0, 0},
    {"prof_port", OPT_FN, OPT_DROP, read_inactive_port, 0, 0},
    {"prof_block_rate", OPT_FN, OPT_DROP, read_inactive_int, 0, 0},

    {"authorization", OPT_FN, 0, opt_read_authorization, 0, 0},
    {"accounts", OPT_FN, 0, opt_read_accounts, 0, 0},
    {"no_auth_user", OPT_STRING, AT(no_auth_user), NULL, 0, 0},
    {"system_account system", OPT_STRING, AT(system_account), NULL, 0, 0},
    {"no_system_account no_system no_sys_acc", OPT_BOOL, AT(no_system_account), NULL, 0, 0},
    {"mappings maps", OPT_FN, 0, read_top_mappings, 0, 0},
    {"tls", OPT_FN, AT(tls), opt_read_tls, 0, 0},
    {"allow_non_tls", OPT_BOOL, AT(allow_non_tls), NULL, 0, 0},
    {"unix_socket", OPT_FN, AT(unix_socket), opt_read_unix, 0, 0},
    {"websocket ws", OPT_FN, AT(websocket), opt_read_websocket, 0, 0},
    {"jetstream", OPT_FN, 0, opt_read_jetstream, 0, 0},
    {"store_dir storedir", OPT_FN, 0, read_store_dir, 0, 0},
    {"default_js_domain", OPT_FN, 0, read_default_js_domain, 0, 0},
    {"ttl", OPT_FN, AT(ttl), opt_read_ttl, 0, 0},

    {"leafnodes leaf", OPT_FN, 0, opt_read_leafnodes, 0, 0},
    {"cluster", OPT_FN, 0, opt_read_cluster, 0, 0},
    {"gateway", OPT_FN, 0, opt_read_gateway, 0, 0},
    {"mqtt", OPT_FN, 0, opt_read_mqtt, 0, 0},
    {"operator operators roots root root_operators root_operator", OPT_FN, 0, opt_read_operator, 0,
     0},
    {"resolver account_resolver accounts_resolver", OPT_FN, 0, opt_read_resolver, 0, 0},
    {"resolver_tls", OPT_FN, 0, opt_read_resolver_tls, 0, 0},
    {"resolver_preload", OPT_FN, 0, opt_read_resolver_preload, 0, 0},
    {"resolver_pinned_accounts", OPT_FN, 0, opt_read_resolver_pinned, 0, 0},
    {"trusted_keys trusted", OPT_FN, 0, opt_read_trusted_keys, 0, 0},
    {"default_sentinel", OPT_FN, 0, opt_read_default_sentinel, 0, 0},
    {"proxies", OPT_FN, 0, opt_read_proxies, 0, 0},
    {"ocsp", OPT_FN, 0, opt_read_ocsp, 0, 0},
    {"ocsp_cache", OPT_FN, 0, opt_read_ocsp_cache, 0, 0},
    {"feature_flags", OPT_FN, 0, read_feature_flags, 0, 0},
};

struct opt_block options_top(void)
{
    return OPT_BLOCK(top_fields);
}

/* --- life cycle ------------------------------------------------------------------------------- */

static void set_defaults(struct options *o)
{
    o->logtime = true;
    o->max_payload = 1 << 20;
    o->max_control_line = 4096;
    o->max_pending = 64 << 20;
    o->max_connections = 65536;
    o->max_closed_clients = 10000;
    o->ping_interval_ns = 120 * CLOCK_S;
    o->ping_max = 2;
    o->write_deadline_ns = 10 * CLOCK_S;
    o->busy_poll_ns = 150 * CLOCK_US;
    o->unix_socket.mode = 0600;
    o->lame_duck_duration_ns = 120 * CLOCK_S;
    o->lame_duck_grace_ns = 10 * CLOCK_S;
    o->connect_error_reports = 3600;
    o->reconnect_error_reports = 1;
    o->jetstream.max_memory = o->jetstream.max_store = o->jetstream.max_index = -1;
    o->jetstream.sync_always = true;
    o->jetstream.scrub_ns = 7 * 86400 * CLOCK_S;
    o->jetstream.strict = true;
    o->ttl.keys = (struct policy_keys)POLICY_KEYS_INIT;
}

struct options *options_new(struct mf_error *e)
{
    struct options *o = calloc(1, sizeof *o);
    struct options_impl *impl = calloc(1, sizeof *impl);
    if (o == NULL || impl == NULL) {
        free(o);
        free(impl);
        mf_fail(e, MF_NOMEM, "options");
        return NULL;
    }
    o->impl = impl;
    o->leaf = arena_alloc(&impl->arena, sizeof *o->leaf);
    o->operators = arena_alloc(&impl->arena, sizeof *o->operators);
    if (o->leaf == NULL || o->operators == NULL) {
        options_free(o);
        mf_fail(e, MF_NOMEM, "options");
        return NULL;
    }
    set_defaults(o);
    return o;
}

static void wipe_text(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
}

void options_free(struct options *o)
{
    if (o == NULL)
        return;
    opt_free_operator(o);
    wipe_text(o->jetstream.key);
    wipe_text(o->jetstream.prev_key);
    arena_fini(&o->impl->arena);
    free(o->impl);
    free(o);
}

int options_read(struct options *o, const struct conf_value *root, bool check, struct mf_error *e)
{
    struct opt c;
    opt_begin(&c, o, check);
    if (root->nitems == 0) {
        if (check)
            opt_error(&c, NULL, "%s: config has no values or is empty", root->file);
        else
            opt_warn(&c, NULL, "%s: config has no values or is empty", root->file);
    }
    opt_remember(&c, root);
    opt_map(&c, root, options_top(), o);
    return opt_done(&c, e);
}

int options_parse(struct options **out, struct mf_slice text, const char *name, struct mf_error *e)
{
    struct conf_value *root;
    struct opt c;
    int rc = conf_parse_text(&root, text, name, NULL, e);
    if (rc != 0)
        return rc;
    struct options *o = options_new(e);
    rc = o == NULL ? MF_NOMEM : options_read(o, root, false, e);
    conf_free(root);
    if (rc == 0) {
        opt_begin(&c, o, false);
        options_finish(&c);
        rc = opt_done(&c, e);
    }
    if (rc == 0)
        *out = o;
    else
        options_free(o);
    return rc;
}
