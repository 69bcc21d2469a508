/* options_reload.c: settings that SIGHUP cannot change while the server runs, in nats-server's
 * words. */
#include "config/options.h"

#include "config/options_impl.h"

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

static const char *check_fixed(const struct options *old, const struct options *now)
{
    char a[128], b[128];
    for (size_t i = 0; i < MF_COUNT(fixed); i++) {
        const void *x = (const char *)old + fixed[i].off, *y = (const char *)now + fixed[i].off;
        if (fixed[i].shown == SHOWN_PORT && *(const int *)y == -1)
            continue; /* "any" is what it has already */
        show_value(a, sizeof a, &fixed[i], x);
        show_value(b, sizeof b, &fixed[i], y);
        if (strcmp(a, b) != 0 ||
            (fixed[i].shown == SHOWN_TEXT && !same_text(*(char *const *)x, *(char *const *)y)))
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
    if (a->port != b->port && b->port != -1)
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
    if (bad == NULL && !same_text(a->key, b->key))
        bad = refuse_change(now, "JetStreamKey");
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
    const char *bad = check_fixed(old, now);
    if (bad == NULL && !same_text(old->no_auth_user, now->no_auth_user) &&
        (now->no_auth_user != NULL || user_exists(now, old->no_auth_user)))
        bad = refuse_change(now, "NoAuthUser: old=%s, new=%s",
                            old->no_auth_user == NULL ? "" : old->no_auth_user,
                            now->no_auth_user == NULL ? "" : now->no_auth_user);
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
