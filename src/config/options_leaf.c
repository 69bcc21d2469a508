/* options_leaf.c: the leafnodes block: every key is checked, the port and the remotes are kept; the
 * links themselves are not active yet. */
#include "config/options_impl.h"

#include <stdlib.h>

#define BLOCK(member) offsetof(struct options_block, member)

/* --- remotes ---------------------------------------------------------------------------------- */

struct remote {
    struct options_list urls;  /* without secrets */
    struct options_list whole; /* as written; to tell remotes apart, never shown */
    char *account, *credentials, *nkey;
    bool tls;
    char *proxy_url, *proxy_user, *proxy_password;
    int64_t proxy_timeout_ns;
    const struct conf_value *proxy;
};
#define REMOTE(member) offsetof(struct remote, member)

static void read_remote_urls(struct opt *c, const struct conf_value *v, void *remote)
{
    struct remote *r = remote;
    if (v->type == CONF_STRING)
        opt_list_add(c, &r->whole, v->u.s);
    for (size_t i = 0; v->type == CONF_ARRAY && i < v->nitems; i++)
        if (v->items[i]->type == CONF_STRING)
            opt_list_add(c, &r->whole, v->items[i]->u.s);
    if (v->type == CONF_ARRAY)
        opt_read_urls(c, v, "leafnode", &r->urls);
    else if (v->type == CONF_STRING)
        opt_read_url(c, v, "leafnode", &r->urls);
    else
        opt_error(c, v, "Expected remote leafnode url to be an array or string, got %s",
                  conf_type_name(v->type));
}

static void read_seed(struct opt *c, const struct conf_value *v, void *remote)
{
    struct remote *r = remote;
    if (opt_string(c, v, &r->nkey) && !opt_text_nkey_seed_valid(r->nkey, 'U'))
        opt_error(c, v, "Remote leafnode nkey is not a valid seed");
}

static void read_remote_tls(struct opt *c, const struct conf_value *v, void *remote)
{
    ((struct remote *)remote)->tls = true;
    opt_read_unused_tls(c, v, NULL);
}

static void read_denied(struct opt *c, const struct conf_value *v, void *remote)
{
    struct options_list subjects = {NULL, 0};
    (void)remote;
    opt_read_subjects(c, v, false, &subjects);
}

static const struct opt_field migrate_fields[] = {
    {"leader_migrate_delay", OPT_DURATION, OPT_DROP, NULL, 0, 0},
};

static void read_migrate(struct opt *c, const struct conf_value *v, void *remote)
{
    (void)remote;
    if (v->type == CONF_MAP)
        opt_map(c, v, OPT_BLOCK(migrate_fields), NULL);
    else if (v->type != CONF_BOOL)
        opt_error(c, v, "Expected boolean or map for jetstream_cluster_migrate, got %s",
                  conf_type_name(v->type));
}

static const struct opt_field proxy_fields[] = {
    {"url", OPT_STRING, REMOTE(proxy_url), NULL, 0, 0},
    {"username", OPT_STRING, REMOTE(proxy_user), NULL, 0, 0},
    {"password", OPT_STRING, REMOTE(proxy_password), NULL, 0, 0},
    {"timeout", OPT_DURATION, REMOTE(proxy_timeout_ns), NULL, 0, 0},
};

static void read_proxy(struct opt *c, const struct conf_value *v, void *remote)
{
    if (!opt_is_map(c, v, "proxy to be a map"))
        return;
    ((struct remote *)remote)->proxy = v;
    opt_map(c, v, OPT_BLOCK(proxy_fields), remote);
}

static const struct opt_field remote_fields[] = {
    {"url urls", OPT_FN, 0, read_remote_urls, 0, 0},
    {"account local", OPT_STRING, REMOTE(account), NULL, 0, 0},
    {"credentials creds", OPT_STRING, REMOTE(credentials), NULL, 0, 0},
    {"nkey seed", OPT_FN, 0, read_seed, 0, 0},
    {"tls", OPT_FN, 0, read_remote_tls, 0, 0},
    {"hub", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"no_randomize dont_randomize", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"deny_imports deny_import", OPT_FN, 0, read_denied, 0, 0},
    {"deny_exports deny_export", OPT_FN, 0, read_denied, 0, 0},
    {"ws_compression ws_compress websocket_compress websocket_compression", OPT_BOOL, OPT_DROP,
     NULL, 0, 0},
    {"ws_no_masking websocket_no_masking", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"jetstream_cluster_migrate js_cluster_migrate", OPT_FN, 0, read_migrate, 0, 0},
    {"isolate_leafnode_interest isolate", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"request_isolation", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"compression", OPT_FN, 0, opt_read_compression, 0, 0},
    {"first_info_timeout", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"dial_timeout", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"disabled", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"proxy", OPT_FN, 0, read_proxy, 0, 0},
    {"ignore_discovered_servers", OPT_BOOL, OPT_DROP, NULL, 0, 0},
};

static bool is_websocket(const char *url)
{
    return opt_text_url_scheme(url, "ws") || opt_text_url_scheme(url, "wss");
}

static void check_proxy(struct opt *c, const struct remote *r)
{
    bool ws = false, plain = false;
    if (r->proxy_url == NULL || r->proxy_url[0] == '\0')
        return;
    if (!opt_text_url_scheme(r->proxy_url, "http") && !opt_text_url_scheme(r->proxy_url, "https"))
        opt_error(c, r->proxy, "proxy URL scheme must be http or https");
    else if (opt_text_url_redacted(c->a, r->proxy_url) == NULL)
        opt_error(c, r->proxy, "proxy URL must specify a host");
    else if (r->proxy_timeout_ns < 0)
        opt_error(c, r->proxy, "proxy timeout must be >= 0");
    else if ((r->proxy_user == NULL) != (r->proxy_password == NULL))
        opt_error(c, r->proxy,
                  "proxy username and password must both be specified or both be empty");
    for (size_t i = 0; i < r->urls.n; i++) {
        ws = ws || is_websocket(r->urls.items[i]);
        plain = plain || !is_websocket(r->urls.items[i]);
        if (opt_text_url_scheme(r->urls.items[i], "wss") && !r->tls)
            opt_error(c, r->proxy,
                      "proxy is configured but remote URL %s requires TLS and no TLS configuration "
                      "is provided",
                      r->urls.items[i]);
    }
    if (plain)
        opt_warn(c, r->proxy,
                 "proxy configuration will %s: proxy settings only apply to WebSocket "
                 "connections (ws:// or wss://)",
                 ws ? "only be used for WebSocket URLs" : "be ignored");
}

static void check_remote(struct opt *c, const struct conf_value *v, const struct remote *r)
{
    if (r->credentials != NULL && r->nkey != NULL)
        opt_error(c, v, "Remote leafnode can not have both creds and nkey defined");
    for (size_t i = 1; i < r->urls.n; i++)
        if (is_websocket(r->urls.items[i]) != is_websocket(r->urls.items[0])) {
            opt_error(c, v,
                      "remote leaf node configuration cannot have a mix of websocket and "
                      "non-websocket urls");
            break;
        }
    check_proxy(c, r);
}

/* The identity of a remote: urls, account and credentials. */
static char *remote_name(struct opt *c, const struct remote *r)
{
    char *name = arena_printf(c->a, "%s|%s", r->account == NULL ? "$G" : r->account,
                              r->credentials == NULL ? "" : r->credentials);
    for (size_t i = 0; name != NULL && i < r->whole.n; i++)
        name = arena_printf(c->a, "%s|%s", name, r->whole.items[i]);
    return name;
}

static void read_remotes(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_block *b = block;
    struct options_list names = {NULL, 0};
    if (!opt_is_array(c, v, "remotes field to be an array") || !opt_is_few(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        struct remote r = {0};
        if (!opt_is_map(c, v->items[i], "remote leafnode entry to be a map/struct"))
            continue;
        opt_map(c, v->items[i], OPT_BLOCK(remote_fields), &r);
        check_remote(c, v->items[i], &r);
        char *name = remote_name(c, &r);
        for (size_t k = 0; name != NULL && k < names.n; k++)
            if (strcmp(names.items[k], name) == 0)
                opt_error(c, v->items[i], "duplicate remote %s",
                          r.urls.n > 0 ? r.urls.items[0] : "without url");
        if (name != NULL)
            opt_list_add(c, &names, name);
        if (r.account != NULL)
            opt_list_add(c, &c->o->impl->leaf_accounts, r.account);
        for (size_t k = 0; k < r.urls.n; k++)
            opt_list_add(c, &b->remotes, r.urls.items[k]);
        b->nremotes++;
    }
}

/* --- the block -------------------------------------------------------------------------------- */

static void read_authorization_leaf(struct opt *c, const struct conf_value *v, void *block)
{
    struct options_auth auth = {0};
    (void)block;
    opt_read_leaf_auth(c, v, &auth);
}

static void read_min_version(struct opt *c, const struct conf_value *v, void *block)
{
    char *text;
    unsigned long part[3] = {0, 0, 0};
    int n = 0;
    (void)block;
    if (!opt_string(c, v, &text))
        return;
    char *p = text + (text[0] == 'v');
    for (; n < 3 && *p >= '0' && *p <= '9'; n++) {
        part[n] = strtoul(p, &p, 10);
        if (n < 2 && *p == '.')
            p++;
    }
    if (n < 3 || strchr("-+", *p) == NULL) /* "" ends, "-beta" may follow */
        opt_error(c, v, "invalid leafnode's minimum version: expected \"2.8.0\" or later");
    else if (part[0] < 2 || (part[0] == 2 && part[1] < 8))
        opt_error(c, v, "the minimum version should be at least 2.8.0");
}

static const struct opt_field leaf_fields[] = {
    {"listen", OPT_FN, 0, opt_read_block_listen, 0, 0},
    {"port", OPT_PORT, BLOCK(port), NULL, 0, 0},
    {"host net", OPT_STRING, BLOCK(host), NULL, 0, 0},
    {"authorization", OPT_FN, 0, read_authorization_leaf, 0, 0},
    {"remotes", OPT_FN, 0, read_remotes, 0, 0},
    {"reconnect reconnect_delay reconnect_interval", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"dial_timeout", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"tls", OPT_FN, 0, opt_read_unused_tls, 0, 0},
    {"advertise leafnode_advertise", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"no_advertise", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"min_version minimum_version", OPT_FN, 0, read_min_version, 0, 0},
    {"compression", OPT_FN, 0, opt_read_compression, 0, 0},
    {"isolate_leafnode_interest isolate", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"write_deadline", OPT_DURATION, OPT_DROP, NULL, 0, 0},
    {"write_timeout", OPT_FN, 0, opt_read_unused_write_timeout, 0, 0},
};

void opt_read_leafnodes(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_block *b = &((struct options *)options)->leafnodes;
    if (!opt_is_map(c, v, "map to define a leafnode"))
        return;
    opt_map(c, v, OPT_BLOCK(leaf_fields), b);
    opt_finish_block(c, v, b);
}
