/* options_leaf.c: reads the leafnodes block. */
#include "config/options_impl.h"
#include "config/options_leaf.h"

#include <limits.h>
#include <stdlib.h>

#define LEAF(member) offsetof(struct options_leaf, member)

/* --- remotes ---------------------------------------------------------------------------------- */

struct remote {
    struct options_leaf_remote r; /* first, so that the table below fills it */
    struct options_list urls;     /* without secrets */
    struct options_list whole;    /* as written; to tell remotes apart, never shown */
    char *proxy_url;
    const struct conf_value *proxy;
};
#define REMOTE(member) offsetof(struct remote, member)

static void read_remote_urls(struct opt *c, const struct conf_value *v, void *remote)
{
    struct remote *r = remote;
    struct options_list whole = {NULL, 0};
    if (v->type == CONF_STRING && opt_read_url(c, v, "leafnode", &r->urls))
        opt_list_add(c, &whole, v->u.s);
    else if (v->type == CONF_ARRAY)
        opt_read_urls(c, v, "leafnode", &r->urls, &whole);
    else if (v->type != CONF_STRING)
        opt_error(c, v, "Expected remote leafnode url to be an array or string, got %s",
                  conf_type_name(v->type));
    for (size_t i = 0; i < whole.n; i++) {
        struct options_leaf_url url = {0};
        opt_list_add(c, &r->whole, whole.items[i]);
        struct options_leaf_url *grown = arena_grow(c->a, r->r.urls, r->r.nurls, sizeof url);
        if (grown == NULL || !opt_split_leaf_url(c->a, whole.items[i], OPTIONS_LEAF_PORT, &url))
            return; /* the arena remembers */
        r->r.urls = grown;
        grown[r->r.nurls++] = url;
    }
}

/* ~/x is in the user's own directory, as in nats-server. */
static void read_credentials(struct opt *c, const struct conf_value *v, void *remote)
{
    struct remote *r = remote;
    const char *home = getenv("HOME");
    if (opt_string(c, v, &r->r.credentials) && mf_starts(mf_str(r->r.credentials), "~/") &&
        home != NULL)
        r->r.credentials = arena_printf(c->a, "%s%s", home, r->r.credentials + 1);
}

static void read_seed(struct opt *c, const struct conf_value *v, void *remote)
{
    struct remote *r = remote;
    if (opt_string(c, v, &r->r.nkey) && !opt_text_nkey_seed_valid(r->r.nkey, 'U'))
        opt_error(c, v, "Remote leafnode nkey is not a valid seed");
}

static void read_denied(struct opt *c, const struct conf_value *v, void *list)
{
    opt_read_subjects(c, v, false, list);
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
    if (v->type == CONF_MAP || (v->type == CONF_BOOL && v->u.b))
        opt_warn(c, v, "%s: no effect here, it concerns leaf nodes that are clusters", v->key);
}

static const struct opt_field proxy_fields[] = {
    {"url", OPT_STRING, REMOTE(proxy_url), NULL, 0, 0},
    {"username", OPT_STRING, REMOTE(r.proxy.user), NULL, 0, 0},
    {"password", OPT_STRING, REMOTE(r.proxy.password), NULL, 0, 0},
    {"timeout", OPT_DURATION, REMOTE(r.proxy.timeout_ns), NULL, 0, 0},
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
    {"account local", OPT_STRING, REMOTE(r.account), NULL, 0, 0},
    {"credentials creds", OPT_FN, 0, read_credentials, 0, 0},
    {"nkey seed", OPT_FN, 0, read_seed, 0, 0},
    {"tls", OPT_FN, REMOTE(r.tls), opt_read_tls, 0, 0},
    {"hub", OPT_BOOL, REMOTE(r.hub), NULL, 0, 0},
    {"no_randomize dont_randomize", OPT_BOOL, REMOTE(r.no_randomize), NULL, 0, 0},
    {"deny_imports deny_import", OPT_FN, REMOTE(r.deny_imports), read_denied, 0, 0},
    {"deny_exports deny_export", OPT_FN, REMOTE(r.deny_exports), read_denied, 0, 0},
    {"ws_compression ws_compress websocket_compress websocket_compression", OPT_BOOL,
     REMOTE(r.ws_compression), NULL, 0, 0},
    {"ws_no_masking websocket_no_masking", OPT_BOOL, REMOTE(r.ws_no_masking), NULL, 0, 0},
    {"jetstream_cluster_migrate js_cluster_migrate", OPT_FN, 0, read_migrate, 0, 0},
    {"isolate_leafnode_interest isolate", OPT_BOOL, REMOTE(r.isolate), NULL, 0, 0},
    {"request_isolation", OPT_BOOL, REMOTE(r.request_isolation), NULL, 0, 0},
    {"compression", OPT_FN, REMOTE(r.compression), opt_read_compression, 0, 0},
    {"first_info_timeout", OPT_DURATION, REMOTE(r.first_info_timeout_ns), NULL, 0, 0},
    {"dial_timeout", OPT_DURATION, REMOTE(r.dial_timeout_ns), NULL, 0, 0},
    {"disabled", OPT_BOOL, REMOTE(r.disabled), NULL, 0, 0},
    {"proxy", OPT_FN, 0, read_proxy, 0, 0},
    {"ignore_discovered_servers", OPT_BOOL, REMOTE(r.ignore_discovered), NULL, 0, 0},
};

static void read_proxy_url(struct opt *c, struct remote *r)
{
    struct options_leaf_proxy *p = &r->r.proxy;
    struct options_leaf_url url;
    bool tls = opt_text_url_scheme(r->proxy_url, "https");
    if (!opt_text_url_scheme(r->proxy_url, "http") && !tls) {
        opt_error(c, r->proxy, "proxy URL scheme must be http or https");
        return;
    }
    if (opt_text_url_redacted(c->a, r->proxy_url) == NULL ||
        !opt_split_leaf_url(c->a, r->proxy_url, tls ? 443 : 80, &url) || url.host[0] == '\0') {
        opt_error(c, r->proxy, "proxy URL must specify a host");
        return;
    }
    p->set = true;
    p->host = url.host;
    p->tls = tls;
    p->port = url.port;
    if (p->timeout_ns < 0)
        opt_error(c, r->proxy, "proxy timeout must be >= 0");
    else if ((p->user == NULL) != (p->password == NULL))
        opt_error(c, r->proxy,
                  "proxy username and password must both be specified or both be empty");
    if (p->tls)
        opt_warn(c, r->proxy,
                 "proxy: TLS to the proxy itself is not available, so this remote does not "
                 "connect; use an http:// proxy (the link inside it can be wss://)");
}

static void check_proxy(struct opt *c, struct remote *r)
{
    bool ws = false, plain = false;
    if (r->proxy_url == NULL || r->proxy_url[0] == '\0')
        return;
    read_proxy_url(c, r);
    for (size_t i = 0; i < r->r.nurls; i++) {
        const struct options_leaf_url *u = &r->r.urls[i];
        ws = ws || u->ws;
        plain = plain || !u->ws;
        if (u->ws && u->tls && !r->r.tls.set)
            opt_error(c, r->proxy,
                      "proxy is configured but remote URL %s requires TLS and no TLS configuration "
                      "is provided",
                      u->shown);
    }
    if (plain)
        opt_warn(c, r->proxy,
                 "proxy configuration will %s: proxy settings only apply to WebSocket "
                 "connections (ws:// or wss://)",
                 ws ? "only be used for WebSocket URLs" : "be ignored");
}

static void check_remote(struct opt *c, const struct conf_value *v, struct remote *r)
{
    if (r->r.credentials != NULL && r->r.nkey != NULL)
        opt_error(c, v, "Remote leafnode can not have both creds and nkey defined");
    r->r.ws = r->r.nurls > 0 && r->r.urls[0].ws;
    for (size_t i = 1; i < r->r.nurls; i++)
        if (r->r.urls[i].ws != r->r.ws) {
            opt_error(c, v,
                      "remote leaf node configuration cannot have a mix of websocket and "
                      "non-websocket urls");
            break;
        }
    if (r->r.nurls == 0 && r->urls.n == 0)
        opt_warn(c, v, "a remote without url does nothing");
    check_proxy(c, r);
}

static char *make_identity(struct opt *c, const struct remote *r)
{
    char *name = arena_printf(c->a, "%s|%s|%s", r->r.account,
                              r->r.credentials == NULL ? "" : r->r.credentials,
                              r->r.nkey == NULL ? "" : r->r.nkey);
    for (size_t i = 0; name != NULL && i < r->whole.n; i++)
        name = arena_printf(c->a, "%s|%s", name, r->whole.items[i]);
    return name;
}

static char *make_label(struct opt *c, const struct remote *r)
{
    char *text = arena_str(c->a, "urls=[");
    for (size_t i = 0; text != NULL && i < r->r.nurls; i++)
        text = arena_printf(c->a, "%s%s\"%s\"", text, i > 0 ? " " : "", r->r.urls[i].shown);
    return text == NULL ? NULL : arena_printf(c->a, "%s], account=\"%s\"", text, r->r.account);
}

static void read_remote(struct opt *c, const struct conf_value *v, struct options_leaf *l)
{
    struct options_block *b = &c->o->leafnodes;
    struct remote r = {0};
    opt_map(c, v, OPT_BLOCK(remote_fields), &r);
    if (r.r.account != NULL)
        opt_list_add(c, &c->o->impl->leaf_accounts, r.r.account);
    if (r.r.account == NULL || r.r.account[0] == '\0')
        r.r.account = arena_str(c->a, "$G");
    check_remote(c, v, &r);
    r.r.identity = make_identity(c, &r);
    r.r.label = make_label(c, &r);
    if (r.r.identity == NULL || r.r.label == NULL)
        return;
    if (options_leaf_find(l, &r.r) != NULL)
        opt_error(c, v, "duplicate remote %s", r.urls.n > 0 ? r.urls.items[0] : "without url");
    for (size_t k = 0; k < r.urls.n; k++)
        opt_list_add(c, &b->remotes, r.urls.items[k]);
    struct options_leaf_remote *grown =
        arena_grow(c->a, l->remotes, l->nremotes, sizeof *l->remotes);
    if (grown == NULL)
        return;
    l->remotes = grown;
    grown[l->nremotes++] = r.r;
    b->nremotes++;
}

static void read_remotes(struct opt *c, const struct conf_value *v, void *leaf)
{
    if (!opt_is_array(c, v, "remotes field to be an array") || !opt_is_few(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++)
        if (opt_is_map(c, v->items[i], "remote leafnode entry to be a map/struct"))
            read_remote(c, v->items[i], leaf);
}

/* --- the block -------------------------------------------------------------------------------- */

static void read_listen(struct opt *c, const struct conf_value *v, void *leaf)
{
    (void)leaf;
    opt_read_block_listen(c, v, &c->o->leafnodes);
}

static void read_port(struct opt *c, const struct conf_value *v, void *leaf)
{
    (void)leaf;
    opt_port(c, v, &c->o->leafnodes.port);
}

static void read_host(struct opt *c, const struct conf_value *v, void *leaf)
{
    (void)leaf;
    opt_string(c, v, &c->o->leafnodes.host);
}

/* "host:port", "host" or "[::1]:port". */
static void read_advertise(struct opt *c, const struct conf_value *v, void *leaf)
{
    struct options_leaf *l = leaf;
    char *text;
    uint64_t port;
    if (!opt_string(c, v, &text) || text[0] == '\0')
        return;
    char *end = strrchr(text, ']'), *colon = strrchr(text, ':');
    if (colon != NULL && (end == NULL || colon > end)) {
        if (mf_parse_u64(mf_str(colon + 1), &port) != 0 || port > 65535) {
            opt_error(c, v, "advertise: \"%s\": expected \"host:port\"", text);
            return;
        }
        l->advertise_port = (int)port;
        *colon = '\0';
    }
    if (text[0] == '[' && end != NULL) {
        *end = '\0';
        text++;
    }
    l->advertise_host = text;
}

static void read_min_version(struct opt *c, const struct conf_value *v, void *leaf)
{
    struct options_leaf *l = leaf;
    unsigned long part[3] = {0, 0, 0};
    char *text;
    int n = 0;
    if (!opt_string(c, v, &text))
        return;
    char *p = text + (text[0] == 'v');
    for (; n < 3 && *p >= '0' && *p <= '9'; n++) {
        part[n] = strtoul(p, &p, 10);
        if (n < 2 && *p == '.')
            p++;
    }
    if (n < 3 || strchr("-+", *p) == NULL) { /* "" ends, "-beta" may follow */
        opt_error(c, v, "invalid leafnode's minimum version: expected \"2.8.0\" or later");
    } else if (part[0] < 2 || (part[0] == 2 && part[1] < 8)) {
        opt_error(c, v, "the minimum version should be at least 2.8.0");
    } else {
        l->min_version = text;
        for (int i = 0; i < 3; i++)
            l->min_version_parts[i] = part[i] > UINT_MAX ? UINT_MAX : (unsigned)part[i];
    }
}

static void read_write_timeout(struct opt *c, const struct conf_value *v, void *leaf)
{
    opt_read_unused_write_timeout(c, v, NULL);
    ((struct options_leaf *)leaf)->write_timeout =
        opt_is_word(v, "close") ? OPTIONS_WRITE_CLOSE : OPTIONS_WRITE_RETRY;
    if (opt_is_word(v, "close"))
        opt_warn(c, v,
                 "write_timeout: a leaf link that takes some bytes in time stays open, as "
                 "with \"retry\"");
}

static const struct opt_field leaf_fields[] = {
    {"listen", OPT_FN, 0, read_listen, 0, 0},
    {"port", OPT_FN, 0, read_port, 0, 0},
    {"host net", OPT_FN, 0, read_host, 0, 0},
    {"authorization", OPT_FN, LEAF(auth), opt_read_leaf_auth, 0, 0},
    {"remotes", OPT_FN, 0, read_remotes, 0, 0},
    {"reconnect reconnect_delay reconnect_interval", OPT_DURATION, LEAF(reconnect_ns), NULL, 0, 0},
    {"dial_timeout", OPT_DURATION, LEAF(dial_timeout_ns), NULL, 0, 0},
    {"tls", OPT_FN, LEAF(tls), opt_read_tls, 0, 0},
    {"advertise leafnode_advertise", OPT_FN, 0, read_advertise, 0, 0},
    {"no_advertise", OPT_BOOL, LEAF(no_advertise), NULL, 0, 0},
    {"min_version minimum_version", OPT_FN, 0, read_min_version, 0, 0},
    {"compression", OPT_FN, LEAF(compression), opt_read_compression, 0, 0},
    {"isolate_leafnode_interest isolate", OPT_BOOL, LEAF(isolate), NULL, 0, 0},
    {"write_deadline", OPT_DURATION, LEAF(write_deadline_ns), NULL, 0, 0},
    {"write_timeout", OPT_FN, 0, read_write_timeout, 0, 0},
};

void opt_read_leafnodes(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (!opt_is_map(c, v, "map to define a leafnode"))
        return;
    opt_map(c, v, OPT_BLOCK(leaf_fields), o->leaf);
    if (o->leaf->tls.verify_and_map)
        opt_warn(c, v,
                 "leafnodes: verify_and_map checks certificates, but maps none to a user: "
                 "servers log in with a password or an nkey");
    if (o->leaf->tls.rate_limit > 0)
        opt_warn(c, v, "leafnodes: connection_rate_limit has no effect on leaf links");
    o->leafnodes.set = true;
    o->leafnodes.listens = o->leafnodes.port != 0;
}

/* --- defaults --------------------------------------------------------------------------------- */

static void default_ns(int64_t *v, int64_t value)
{
    if (*v <= 0)
        *v = value;
}

static void default_compression(struct options_compression *p)
{
    static const int64_t thresholds[] = {10 * CLOCK_MS, 50 * CLOCK_MS, 100 * CLOCK_MS};
    if (p->mode == OPTIONS_COMPRESS_UNSET)
        p->mode = OPTIONS_COMPRESS_AUTO;
    if (p->nrtts > 0)
        return;
    memcpy(p->rtt_ns, thresholds, sizeof thresholds);
    p->nrtts = MF_COUNT(thresholds);
}

void opt_finish_leaf(struct opt *c)
{
    struct options_leaf *l = c->o->leaf;
    default_ns(&l->reconnect_ns, CLOCK_S);
    default_ns(&l->dial_timeout_ns, CLOCK_S);
    default_ns(&l->write_deadline_ns, c->o->write_deadline_ns);
    default_ns(&l->auth.timeout_ns, l->tls.set ? l->tls.timeout_ns + CLOCK_S : 2 * CLOCK_S);
    default_compression(&l->compression);
    for (size_t i = 0; i < l->nremotes; i++) {
        struct options_leaf_remote *r = &l->remotes[i];
        default_ns(&r->dial_timeout_ns, l->dial_timeout_ns);
        default_ns(&r->first_info_timeout_ns, CLOCK_S);
        default_ns(&r->proxy.timeout_ns, r->dial_timeout_ns);
        default_ns(&r->tls.timeout_ns, 2 * CLOCK_S);
        default_compression(&r->compression);
    }
}
