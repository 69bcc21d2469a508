/* options_reload.c: settings that SIGHUP cannot change while the server runs, and those that it
 * changed, in nats-server's words. */
#include "config/options.h"

#include "config/options_impl.h"
#include "config/options_operator.h"

#include <stdio.h>

static const char *refuse_change(const struct options *now, const char *fmt, ...) MF_PRINTF(2, 3);
static const char *refuse_change(const struct options *now, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    char *text = arena_printf(&now->impl->arena, "config reload not supported for %s", what);
    return text == NULL ? "config reload not supported: out of memory" : text;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

static bool same_list(const struct options_list *a, const struct options_list *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

static bool same_pairs(const struct options_pairs *a, const struct options_pairs *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i].key, b->items[i].key) == 0 &&
               strcmp(a->items[i].value, b->items[i].value) == 0;
    return same;
}

/* --- single values ---------------------------------------------------------------------------- */

enum shown { SHOWN_BOOL, SHOWN_PORT, SHOWN_I64, SHOWN_DURATION, SHOWN_TEXT };
struct fixed {
    const char *name; /* as nats-server calls it */
    enum shown shown;
    size_t off;
};

#define AT(member) offsetof(struct options, member)
static const struct fixed fixed[] = {
    {"ServerName", SHOWN_TEXT, AT(server_name)},
    {"Host", SHOWN_TEXT, AT(host)},
    {"Port", SHOWN_PORT, AT(port)},
    {"DontListen", SHOWN_BOOL, AT(dont_listen)},
    {"UnixSocket", SHOWN_TEXT, AT(unix_socket.path)},
    {"UnixSocketMode", SHOWN_I64, AT(unix_socket.mode)},
    {"UnixSocketOwner", SHOWN_TEXT, AT(unix_socket.owner)},
    {"UnixSocketGroup", SHOWN_TEXT, AT(unix_socket.group)},
    {"HTTPHost", SHOWN_TEXT, AT(http_host)},
    {"HTTPPort", SHOWN_PORT, AT(http_port)},
    {"HTTPSPort", SHOWN_PORT, AT(https_port)},
    {"HTTPBasePath", SHOWN_TEXT, AT(http_base_path)},
    {"MaxSubs", SHOWN_I64, AT(max_subscriptions)},
    {"MaxSubTokens", SHOWN_I64, AT(max_sub_tokens)},
    {"MaxPending", SHOWN_I64, AT(max_pending)},
    {"MaxClosedClients", SHOWN_I64, AT(max_closed_clients)},
    {"LameDuckDuration", SHOWN_DURATION, AT(lame_duck_duration_ns)},
    {"LameDuckGracePeriod", SHOWN_DURATION, AT(lame_duck_grace_ns)},
    {"NoHeaderSupport", SHOWN_BOOL, AT(no_header_support)},
    {"NoSublistCache", SHOWN_BOOL, AT(disable_sublist_cache)},
    {"LogSizeLimit", SHOWN_I64, AT(log_size_limit)},
    {"LogMaxFiles", SHOWN_I64, AT(log_max_num)},
    {"SystemAccount", SHOWN_TEXT, AT(system_account)},
    {"NoSystemAccount", SHOWN_BOOL, AT(no_system_account)},
    {"AllowNonTLS", SHOWN_BOOL, AT(allow_non_tls)},
    {"TLSMap", SHOWN_BOOL, AT(tls.verify_and_map)},
    {"TLSRateLimit", SHOWN_I64, AT(tls.rate_limit)},
    {"JetStream", SHOWN_BOOL, AT(jetstream.enabled)},
    {"JetStreamDomain", SHOWN_TEXT, AT(jetstream.domain)},
    {"JetStreamUniqueTag", SHOWN_TEXT, AT(jetstream.unique_tag)},
    {"JetStreamCipher", SHOWN_TEXT, AT(jetstream.cipher)},
    {"SyncInterval", SHOWN_DURATION, AT(jetstream.sync_interval_ns)},
    {"SyncAlways", SHOWN_BOOL, AT(jetstream.sync_always)},
    {"TrustedOperators", SHOWN_BOOL, AT(operator_set)},
};

static void show_value(char *dst, size_t cap, const struct fixed *f, const void *at)
{
    char text[CLOCK_TEXT];
    switch (f->shown) {
    case SHOWN_BOOL:
        snprintf(dst, cap, "%s", *(const bool *)at ? "true" : "false");
        break;
    case SHOWN_PORT:
        snprintf(dst, cap, "%d", *(const int *)at);
        break;
    case SHOWN_I64:
        snprintf(dst, cap, "%lld", (long long)*(const int64_t *)at);
        break;
    case SHOWN_DURATION:
        snprintf(dst, cap, "%s", clock_duration(text, *(const int64_t *)at));
        break;
    case SHOWN_TEXT: {
        const char *s = *(char *const *)at;
        snprintf(dst, cap, "%.100s", s == NULL ? "" : s);
        break;
    }
    }
}

static bool same_value(const struct fixed *f, const void *x, const void *y)
{
    char a[128], b[128];

    if (f->shown == SHOWN_TEXT)
        return same_text(*(char *const *)x, *(char *const *)y);
    show_value(a, sizeof a, f, x);
    show_value(b, sizeof b, f, y);
    return strcmp(a, b) == 0;
}

static const char *check_fixed(const struct options *old, const struct options *now)
{
    char a[128], b[128];
    for (size_t i = 0; i < MF_COUNT(fixed); i++) {
        const void *x = (const char *)old + fixed[i].off, *y = (const char *)now + fixed[i].off;
        if (fixed[i].shown == SHOWN_PORT && *(const int *)y == -1)
            continue; /* "any" is what it has already */
        if (same_value(&fixed[i], x, y))
            continue;
        show_value(a, sizeof a, &fixed[i], x);
        show_value(b, sizeof b, &fixed[i], y);
        return refuse_change(now, "%s: old=%s, new=%s", fixed[i].name, a, b);
    }
    return NULL;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static const char *check_block(const struct options *now, const char *name,
                               const struct options_block *a, const struct options_block *b)
{
    if (!same_text(a->host, b->host))
        return refuse_change(now, "%s host: old=%s, new=%s", name, a->host == NULL ? "" : a->host,
                             b->host == NULL ? "" : b->host);
    if (a->port != b->port && (b->port != -1 || a->port == 0)) /* -1: what it has already */
        return refuse_change(now, "%s port: old=%d, new=%d", name, a->port, b->port);
    if (!same_text(a->name, b->name))
        return refuse_change(now, "%s name: old=%s, new=%s", name, a->name == NULL ? "" : a->name,
                             b->name == NULL ? "" : b->name);
    return NULL;
}

/* The values of a websocket block may be secrets: the text has only its name. */
static bool same_websocket(const struct options_websocket *a, const struct options_websocket *b)
{
    if (!a->set && !b->set)
        return true; /* off: the rest does not matter */
    return a->set == b->set && (a->port == b->port || b->port == -1) &&
           same_text(a->host, b->host) && same_text(a->advertise, b->advertise) &&
           a->no_tls == b->no_tls && a->same_origin == b->same_origin &&
           a->compression == b->compression &&
           same_list(&a->allowed_origins, &b->allowed_origins) &&
           a->handshake_timeout_ns == b->handshake_timeout_ns &&
           a->ping_interval_ns == b->ping_interval_ns && same_text(a->auth.user, b->auth.user) &&
           same_text(a->auth.password, b->auth.password) &&
           same_text(a->auth.token, b->auth.token) && same_text(a->no_auth_user, b->no_auth_user) &&
           same_text(a->token_cookie, b->token_cookie) &&
           same_text(a->user_cookie, b->user_cookie) && same_text(a->pass_cookie, b->pass_cookie) &&
           same_text(a->jwt_cookie, b->jwt_cookie) && same_pairs(&a->headers, &b->headers);
}

/* --- JetStream -------------------------------------------------------------------------------- */

static const char *check_js_limit(const struct options *now, int64_t old, int64_t new)
{
    if (old == new || (old != -1 && new > old))
        return NULL;
    if (new == -1)
        return refuse_change(now, "jetstream max memory and max store");
    if (old == -1)
        return refuse_change(now, "jetstream dynamic max memory and store");
    return refuse_change(now, "decreasing jetstream max memory and store");
}

static const char *check_jetstream(const struct options *old, const struct options *now)
{
    const struct options_jetstream *a = &old->jetstream, *b = &now->jetstream;
    if (!a->enabled)
        return NULL;
    if (!same_text(a->store_dir, b->store_dir))
        return refuse_change(now, "jetstream storage directory");
    const char *bad = check_js_limit(now, a->max_memory, b->max_memory);
    if (bad == NULL)
        bad = check_js_limit(now, a->max_store, b->max_store);
    if (bad == NULL && (!same_text(a->key, b->key) || !same_text(a->prev_key, b->prev_key)))
        bad = refuse_change(now, "JetStreamKey");
    return bad;
}

/* --- operator mode ---------------------------------------------------------------------------- */

static const char *check_operators(const struct options *old, const struct options *now)
{
    const struct options_operator *a = old->operators, *b = now->operators;
    bool same = a->noperators == b->noperators;

    if (!old->operator_set)
        return NULL;
    for (size_t i = 0; same && i < a->noperators; i++)
        same = strcmp(a->operators[i]->text, b->operators[i]->text) == 0;
    if (!same)
        return refuse_change(now, "TrustedOperators: an operator JWT differs, which needs a "
                                  "restart");
    if (!same_list(&a->trusted, &b->trusted))
        return refuse_change(now, "TrustedKeys");
    return NULL;
}

/* Users whom a service let in, and those whom it was not asked about, would be mixed. */
static const char *check_callout(const struct options *old, const struct options *now)
{
    struct mf_buf a = MF_BUF_INIT, b = MF_BUF_INIT;
    const char *bad = NULL;

    if (opt_same_callout(old->auth.callout, now->auth.callout))
        return NULL;
    opt_show_callout(&a, old->auth.callout);
    opt_show_callout(&b, now->auth.callout);
    bad = refuse_change(now, "AuthCallout: old=%s, new=%s", mf_buf_cstr(&a), mf_buf_cstr(&b));
    mf_buf_fini(&a);
    mf_buf_fini(&b);
    return bad;
}

/* --- all -------------------------------------------------------------------------------------- */

/* no_auth_user may be removed only together with that user. */
static bool user_exists(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->auth.nusers; i++)
        if (same_text(o->auth.users[i].user, name))
            return true;
    for (size_t k = 0; k < o->naccounts; k++)
        for (size_t i = 0; i < o->accounts[k].nusers; i++)
            if (same_text(o->accounts[k].users[i].user, name))
                return true;
    return false;
}

const char *options_reload_refusal(const struct options *old, const struct options *now)
{
    /* Users and limits would be lost; perhaps an editor has not written the file yet. */
    if (now->impl->nknown == 0 && old->impl->nknown > 0)
        return refuse_change(now, "a file without any option: %s",
                             now->config_file == NULL ? "" : now->config_file);
    const char *bad = check_fixed(old, now);
    if (bad == NULL && !same_text(old->no_auth_user, now->no_auth_user) &&
        (now->no_auth_user != NULL || user_exists(now, old->no_auth_user)))
        bad = refuse_change(now, "NoAuthUser: old=%s, new=%s",
                            old->no_auth_user == NULL ? "" : old->no_auth_user,
                            now->no_auth_user == NULL ? "" : now->no_auth_user);
    if (bad == NULL)
        bad = check_operators(old, now);
    if (bad == NULL)
        bad = check_callout(old, now);
    if (bad == NULL)
        bad = check_jetstream(old, now);
    if (bad == NULL && !same_websocket(&old->websocket, &now->websocket))
        bad = refuse_change(now, "Websocket");
    if (bad == NULL)
        bad = check_block(now, "cluster", &old->cluster, &now->cluster);
    if (bad == NULL)
        bad = check_block(now, "gateway", &old->gateway, &now->gateway);
    if (bad == NULL)
        bad = check_block(now, "LeafNode", &old->leafnodes, &now->leafnodes);
    if (bad == NULL)
        bad = check_block(now, "MQTT", &old->mqtt, &now->mqtt);
    return bad;
}

/* --- what changed ----------------------------------------------------------------------------- */

static const struct fixed changeable[] = {
    {"client_advertise", SHOWN_TEXT, AT(client_advertise)},
    {"trace", SHOWN_BOOL, AT(trace)},
    {"debug", SHOWN_BOOL, AT(debug)},
    {"trace_verbose", SHOWN_BOOL, AT(trace_verbose)},
    {"trace_headers", SHOWN_BOOL, AT(trace_headers)},
    {"logtime", SHOWN_BOOL, AT(logtime)},
    {"logtime_utc", SHOWN_BOOL, AT(logtime_utc)},
    {"log_file", SHOWN_TEXT, AT(log_file)},
    {"syslog", SHOWN_BOOL, AT(syslog)},
    {"remote_syslog", SHOWN_TEXT, AT(remote_syslog)},
    {"max_connections", SHOWN_I64, AT(max_connections)},
    {"no_auth_user", SHOWN_TEXT, AT(no_auth_user)},
    {"ping_interval", SHOWN_DURATION, AT(ping_interval_ns)},
    {"ping_max", SHOWN_I64, AT(ping_max)},
    {"authorization timeout", SHOWN_DURATION, AT(auth.timeout_ns)},
    {"max_control_line", SHOWN_I64, AT(max_control_line)},
    {"max_payload", SHOWN_I64, AT(max_payload)},
    {"pid_file", SHOWN_TEXT, AT(pid_file)},
    {"ports_file_dir", SHOWN_TEXT, AT(ports_file_dir)},
    {"write_deadline", SHOWN_DURATION, AT(write_deadline_ns)},
    {"busy_poll", SHOWN_DURATION, AT(busy_poll_ns)},
    {"max_traced_msg_len", SHOWN_I64, AT(max_traced_msg_len)},
    {"connect_error_reports", SHOWN_I64, AT(connect_error_reports)},
    {"reconnect_error_reports", SHOWN_I64, AT(reconnect_error_reports)},
    {"tls timeout", SHOWN_DURATION, AT(tls.timeout_ns)},
};

/* Blocks are compared by what the file says; their values may be secrets.  parts: the names of the
 * keys that differ are said too. */
static const struct compared {
    const char *name, *said;
    bool parts;
} blocks[] = {
    {"authorization.user", "authorization username", false},
    {"authorization.username", "authorization username", false},
    {"authorization.pass", "authorization password", false},
    {"authorization.password", "authorization password", false},
    {"authorization.token", "authorization token", false},
    {"authorization.users", "authorization users", false},
    {"authorization.default_permissions", "authorization default_permissions", false},
    {"authorization.default_permission", "authorization default_permissions", false},
    {"authorization.permissions", "authorization default_permissions", false},
    {"authorization.proxy_required", "authorization proxy_required", false},
    {"accounts", "accounts", false},
    {"mappings", "mappings", false},
    {"server_tags", "tags", false},
    {"server_metadata", "metadata", false},
    {"jetstream", "jetstream", true},
    {"ttl", "ttl", true},
    {"log_format", "log_format", false},
    {"leafnodes", "leafnodes", false},
    {"cluster", "cluster", false},
    {"gateway", "gateway", false},
    {"mqtt", "mqtt", false},
    {"default_js_domain", "default_js_domain", false},
    {"websocket", "websocket", true},
    {"write_timeout", "write_timeout", false},
    {"proxy_protocol", "proxy_protocol", false},
    {"prof_port", "prof_port", false},
    {"prof_block_rate", "prof_block_rate", false},
    {"operator", "operator", false},
    {"resolver", "resolver", false},
    {"resolver_tls", "resolver_tls", false},
    {"resolver_preload", "resolver_preload", false},
    {"resolver_pinned_accounts", "resolver_pinned_accounts", false},
    {"trusted_keys", "trusted_keys", false},
    {"default_sentinel", "default_sentinel", false},
    {"ocsp", "ocsp", false},
    {"ocsp_cache", "ocsp_cache", false},
    {"feature_flags", "feature_flags", false},
};

static bool same_block(const struct options *old, const struct options *now, const char *name)
{
    const struct opt_known *a = opt_known(old, name), *b = opt_known(now, name);

    return a == NULL || b == NULL ? a == b : a->hash == b->hash;
}

/* Appends the keys of a block that `from` has and `other` has not, or with another value.  both:
 * those that `other` has too are skipped. */
static void add_parts(char *text, size_t cap, const char *block, const struct options *from,
                      const struct options *other, bool both)
{
    size_t len = strlen(block);

    for (size_t i = 0; i < from->impl->nknown; i++) {
        const char *name = from->impl->known[i].name;
        size_t used = strlen(text);
        if (strncmp(name, block, len) != 0 || name[len] != '.' || same_block(from, other, name) ||
            (both && opt_known(other, name) != NULL))
            continue;
        snprintf(text + used, cap - used, "%s %s", text[used - 1] == ':' ? "" : ",",
                 name + len + 1);
    }
}

static void say_block(const struct compared *c, const struct options *old,
                      const struct options *now, void (*say)(void *arg, const char *text),
                      void *arg)
{
    char text[256];

    if (same_block(old, now, c->name))
        return;
    snprintf(text, sizeof text, "%s:", c->said);
    if (c->parts) {
        add_parts(text, sizeof text, c->name, now, old, false);
        add_parts(text, sizeof text, c->name, old, now, true);
    }
    if (text[strlen(text) - 1] == ':')
        text[strlen(text) - 1] = '\0';
    say(arg, text);
}

void options_changes(const struct options *old, const struct options *now,
                     void (*say)(void *arg, const char *text), void *arg)
{
    char value[128], text[256];

    for (size_t i = 0; i < MF_COUNT(changeable); i++) {
        const struct fixed *f = &changeable[i];
        const void *y = (const char *)now + f->off;
        if (same_value(f, (const char *)old + f->off, y))
            continue;
        show_value(value, sizeof value, f, y);
        snprintf(text, sizeof text, "%s = %s", f->name, value);
        say(arg, text);
    }
    for (size_t i = 0; i < MF_COUNT(blocks); i++)
        say_block(&blocks[i], old, now, say, arg);
    opt_say_proxies(old, now, say, arg);
    if (old->no_fast_producer_stall != now->no_fast_producer_stall)
        say(arg, now->no_fast_producer_stall ? "fast producers will not be stalled"
                                             : "fast producers will be stalled");
    if (old->tls.set || now->tls.set) /* its files are read again in any case */
        say(arg, now->tls.set ? "tls = enabled" : "tls = disabled");
}

/* --- the ttl block ---------------------------------------------------------------------------- */

static bool same_keys(const struct policy_keys *a, const struct policy_keys *b)
{
    return a->default_ttl == b->default_ttl && same_text(a->pattern, b->pattern) &&
           a->min_ns == b->min_ns && a->max_ns == b->max_ns && a->warn_ns == b->warn_ns &&
           a->bounds == b->bounds && a->never == b->never && a->scope == b->scope &&
           a->slide == b->slide && a->enforce == b->enforce &&
           same_text(a->on_expire, b->on_expire);
}

static bool same_namespace(const struct policy_namespace *a, const struct policy_namespace *b)
{
    return same_text(a->account, b->account) && same_text(a->stream, b->stream) &&
           a->storage == b->storage && same_keys(&a->keys, &b->keys);
}

bool options_same_ttl(const struct options *a, const struct options *b)
{
    const struct policy_server *x = &a->ttl, *y = &b->ttl;
    bool same = x->set == y->set && same_keys(&x->keys, &y->keys) && x->npatterns == y->npatterns &&
                x->nnamespaces == y->nnamespaces;
    for (size_t i = 0; same && i < x->npatterns; i++)
        same = x->patterns[i].ttl == y->patterns[i].ttl &&
               strcmp(x->patterns[i].name, y->patterns[i].name) == 0;
    for (size_t i = 0; same && i < x->nnamespaces; i++)
        same = same_namespace(&x->namespaces[i], &y->namespaces[i]);
    return same;
}
