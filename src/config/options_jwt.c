/* options_jwt.c: operator mode, resolvers, trusted keys and proxies, OCSP, auth callouts: checked
 * as nats-server checks them, not active yet. */
#include "config/options_impl.h"

#include <stdio.h>
#include <unistd.h>

/* --- operator --------------------------------------------------------------------------------- */

/* A file, or the JWT itself: three parts of base64url, the first one starting with {" */
static bool is_jwt(const char *s)
{
    size_t dots = 0;
    if (strncmp(s, "eyJ", 3) != 0)
        return false;
    for (; *s != '\0'; s++) {
        bool ok = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                  (*s >= '0' && *s <= '9') || *s == '-' || *s == '_' || *s == '.';
        if (!ok)
            return false;
        dots += *s == '.';
    }
    return dots == 2;
}

/* The file holds one, perhaps between lines of dashes. */
static bool file_has_jwt(const char *path)
{
    char line[16384];
    bool found = false;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    for (int i = 0; i < 100 && !found && fgets(line, sizeof line, f) != NULL; i++) {
        line[strcspn(line, "\r\n ")] = '\0';
        found = is_jwt(line);
    }
    fclose(f);
    return found;
}

void opt_read_operator(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    struct options_list files = {NULL, 0};
    if (v->type != CONF_STRING && v->type != CONF_ARRAY) {
        opt_error(c, v, "error parsing operators: expected a file name or a JWT, got %s",
                  conf_type_name(v->type));
        return;
    }
    if (!opt_strings(c, v, &files))
        return;
    for (size_t i = 0; i < files.n; i++) {
        const char *f = files.items[i];
        if (is_jwt(f) || file_has_jwt(f))
            continue;
        if (strncmp(f, "eyJ", 3) == 0)
            opt_error(c, v, "error parsing operator JWT: not a JWT");
        else if (access(f, R_OK) != 0)
            opt_error(c, v, "error parsing operator JWT: open %s: no such file or directory", f);
        else
            opt_error(c, v, "error parsing operator JWT: no JWT in %s", f);
    }
    o->operator_set = files.n > 0;
    o->impl->noperators = files.n;
    opt_warn(c, v, "operator: accepted, JWTs are not active in this version: clients are refused");
}

/* --- resolver --------------------------------------------------------------------------------- */

struct resolver {
    char *dir, *type;
    bool allow_delete, hard_delete, hard_delete_set;
    int64_t ttl_ns, interval_ns;
};
#define RESOLVER(member) offsetof(struct resolver, member)

static void read_hard_delete(struct opt *c, const struct conf_value *v, void *resolver)
{
    struct resolver *r = resolver;
    r->hard_delete_set = opt_bool(c, v, &r->hard_delete);
}

static void read_text_duration(struct opt *c, const struct conf_value *v, void *out)
{
    int64_t ignored;
    opt_duration_text(c, v, out == NULL ? &ignored : out);
}

static const struct opt_field resolver_fields[] = {
    {"dir", OPT_STRING, RESOLVER(dir), NULL, 0, 0},
    {"type", OPT_STRING, RESOLVER(type), NULL, 0, 0},
    {"allow_delete", OPT_BOOL, RESOLVER(allow_delete), NULL, 0, 0},
    {"hard_delete", OPT_FN, 0, read_hard_delete, 0, 0},
    {"limit", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"ttl", OPT_FN, RESOLVER(ttl_ns), read_text_duration, 0, 0},
    {"interval", OPT_FN, RESOLVER(interval_ns), read_text_duration, 0, 0},
    {"timeout", OPT_FN, OPT_DROP, read_text_duration, 0, 0},
};

#define RESOLVER_EXPECTED                                                                          \
    "error parsing account resolver, should be MEM or URL(\"url\") or a map containing dir and "   \
    "type state=[FULL|CACHE])"

static void read_resolver_map(struct opt *c, const struct conf_value *v)
{
    struct resolver r = {0};
    opt_map(c, v, OPT_BLOCK(resolver_fields), &r);
    struct mf_slice type = mf_str(r.type);
    bool full = mf_eq_nocase(type, "full"), cache = mf_eq_nocase(type, "cache");
    if (!full && !cache) {
        if (!mf_eq_nocase(type, "mem") && !mf_eq_nocase(type, "memory"))
            opt_error(c, v, RESOLVER_EXPECTED);
        return;
    }
    if (r.dir == NULL || r.dir[0] == '\0')
        opt_error(c, v, "dir has no value and needs to point to a directory");
    if (cache && r.interval_ns != 0)
        opt_error(c, v, "CACHE does not accept sync");
    if (cache && r.allow_delete)
        opt_error(c, v, "CACHE does not accept allow_delete");
    if (cache && r.hard_delete_set)
        opt_error(c, v, "CACHE does not accept hard_delete");
    if (full && r.ttl_ns != 0)
        opt_error(c, v, "FULL does not accept ttl");
    if (full && r.hard_delete_set && !r.allow_delete)
        opt_error(c, v, "hard_delete has no effect without delete");
}

/* MEM, MEMORY or URL(...). */
static bool is_resolver_word(struct arena *a, const char *s)
{
    char *upper = opt_text_upper(a, s);
    if (upper == NULL || strstr(upper, "MEM") != NULL)
        return true;
    const char *open = strstr(upper, "URL(");
    if (open == NULL || strchr(open, ')') == NULL)
        return false;
    const char *url = s + (open - upper) + 4;
    url += strspn(url, " \t\"");
    return opt_text_url_scheme(url, "http") || opt_text_url_scheme(url, "https");
}

void opt_read_resolver(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    if (v->type == CONF_MAP)
        read_resolver_map(c, v);
    else if (v->type != CONF_STRING)
        opt_error(c, v, "error parsing operator resolver, wrong type %s", conf_type_name(v->type));
    else if (!is_resolver_word(c->a, v->u.s))
        opt_error(c, v, RESOLVER_EXPECTED);
    o->resolver_set = true;
    opt_inactive(c, v, v->key);
}

void opt_read_resolver_tls(struct opt *c, const struct conf_value *v, void *options)
{
    opt_read_unused_tls(c, v, options);
    opt_inactive(c, v, v->key);
}

void opt_read_resolver_preload(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (v->type != CONF_MAP) {
        opt_error(c, v, "preload should be a map of account_public_key:account_jwt");
        return;
    }
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *a = v->items[i];
        if (a->type != CONF_STRING)
            opt_error(c, a, "preload map value should be a string JWT");
        else if (!is_jwt(a->u.s))
            opt_error(c, a, "invalid account JWT");
    }
    opt_inactive(c, v, v->key);
}

void opt_read_resolver_pinned(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_list keys = {NULL, 0};
    (void)options;
    opt_strings(c, v, &keys);
    opt_inactive(c, v, v->key);
}

void opt_read_trusted_keys(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;
    struct options_list keys = {NULL, 0};
    if (!opt_strings(c, v, &keys))
        return;
    for (size_t i = 0; i < keys.n; i++)
        if (!opt_text_nkey_valid(keys.items[i], 'O'))
            opt_error(c, v, "trust key \"%.60s\" required to be a valid public operator nkey",
                      keys.items[i]);
    o->impl->ntrusted = keys.n;
    o->operator_set = o->operator_set || keys.n > 0;
    opt_warn(c, v, "%s: accepted, JWTs are not active in this version: clients are refused",
             v->key);
}

/* --- proxies ---------------------------------------------------------------------------------- */

static void read_proxy_key(struct opt *c, const struct conf_value *v, void *ignored)
{
    char *key;
    (void)ignored;
    if (opt_string(c, v, &key) && !opt_text_nkey_valid(key, 0))
        opt_error(c, v, "invalid proxy key \"%.60s\"", key);
}

static const struct opt_field trusted_fields[] = {
    {"key public_key", OPT_FN, OPT_DROP, read_proxy_key, 0, 0},
};

static void read_trusted(struct opt *c, const struct conf_value *v, void *ignored)
{
    (void)ignored;
    if (!opt_is_array(c, v, "proxies' trusted field to be an array"))
        return;
    for (size_t i = 0; i < v->nitems; i++)
        if (opt_is_map(c, v->items[i], "proxies' trusted entry to be a map/struct"))
            opt_map(c, v->items[i], OPT_BLOCK(trusted_fields), NULL);
}

static const struct opt_field proxies_fields[] = {
    {"trusted", OPT_FN, OPT_DROP, read_trusted, 0, 0},
};

void opt_read_proxies(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (!opt_is_map(c, v, "proxies to be a map/struct"))
        return;
    opt_map(c, v, OPT_BLOCK(proxies_fields), NULL);
    opt_inactive(c, v, v->key);
}

/* --- OCSP ------------------------------------------------------------------------------------- */

static void read_ocsp_mode(struct opt *c, const struct conf_value *v, void *ignored)
{
    (void)ignored;
    if (!opt_is_word(v, "always") && !opt_is_word(v, "must") && !opt_is_word(v, "never") &&
        !opt_is_word(v, "auto"))
        opt_error(c, v,
                  "error parsing ocsp config: unsupported ocsp mode; expected auto, always, must "
                  "or never");
}

static const struct opt_field ocsp_fields[] = {
    {"mode", OPT_FN, OPT_DROP, read_ocsp_mode, 0, 0},
    {"urls", OPT_STRINGS, OPT_DROP, NULL, 0, 0},
    {"url", OPT_STRING, OPT_DROP, NULL, 0, 0},
};

void opt_read_ocsp(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (v->type == CONF_MAP)
        opt_map(c, v,
                OPT_BLOCK_AS(ocsp_fields, "error parsing ocsp config: unsupported field ", ""),
                NULL);
    else if (v->type != CONF_BOOL)
        opt_error(c, v, "error parsing ocsp config: unsupported type %s", conf_type_name(v->type));
    else if (!v->u.b)
        return;
    opt_inactive(c, v, v->key);
}

static void read_seconds(struct opt *c, const struct conf_value *v, void *ignored)
{
    int64_t ns;
    (void)ignored;
    opt_seconds(c, v, "ocsp config", &ns);
}

static void read_cache_type(struct opt *c, const struct conf_value *v, void *ignored)
{
    (void)ignored;
    if (!opt_is_word(v, "none") && !opt_is_word(v, "local"))
        opt_error(c, v,
                  "error parsing ocsp cache config, unknown cache type; expected none or local");
}

static const struct opt_field cache_fields[] = {
    {"type", OPT_FN, OPT_DROP, read_cache_type, 0, 0},
    {"local_store", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"preserve_revoked", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"save_interval", OPT_FN, OPT_DROP, read_seconds, 0, 0},
};

void opt_read_ocsp_cache(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (v->type == CONF_MAP)
        opt_map(c, v,
                OPT_BLOCK_AS(cache_fields, "error parsing ocsp cache config, unknown field ", ""),
                NULL);
    else if (v->type != CONF_BOOL)
        opt_error(c, v, "error parsing ocsp_cache: unsupported type %s", conf_type_name(v->type));
    else if (!v->u.b)
        return;
    opt_inactive(c, v, v->key);
}

static const struct opt_field peer_fields[] = {
    {"verify", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"allowed_clockskew", OPT_FN, OPT_DROP, read_seconds, 0, 0},
    {"ca_timeout", OPT_FN, OPT_DROP, read_seconds, 0, 0},
    {"cache_ttl_when_next_update_unset", OPT_FN, OPT_DROP, read_seconds, 0, 0},
    {"warn_only", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"unknown_is_good", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"allow_when_ca_unreachable", OPT_BOOL, OPT_DROP, NULL, 0, 0},
};

void opt_read_ocsp_peer(struct opt *c, const struct conf_value *v)
{
    if (v->type == CONF_MAP)
        opt_map(c, v,
                OPT_BLOCK_AS(peer_fields, "error parsing tls peer config, unknown field ", ""),
                NULL);
    else if (v->type != CONF_BOOL)
        opt_error(c, v, "error parsing ocsp peer config: unsupported type %s",
                  conf_type_name(v->type));
    else if (!v->u.b)
        return;
    opt_inactive(c, v, v->key);
}

/* --- auth callout ----------------------------------------------------------------------------- */

struct callout {
    char *issuer, *account, *xkey;
    struct options_list users;
};

static void read_issuer(struct opt *c, const struct conf_value *v, void *callout)
{
    struct callout *k = callout;
    if (opt_string(c, v, &k->issuer) && !opt_text_nkey_valid(k->issuer, 'A'))
        opt_error(c, v, "Expected callout user to be a valid public account nkey, got \"%.60s\"",
                  k->issuer);
}

static void read_xkey(struct opt *c, const struct conf_value *v, void *callout)
{
    struct callout *k = callout;
    if (opt_string(c, v, &k->xkey) && !opt_text_nkey_valid(k->xkey, 'X'))
        opt_error(c, v, "Expected callout xkey to be a valid public xkey");
}

static void read_callout_users(struct opt *c, const struct conf_value *v, void *callout)
{
    if (opt_is_array(c, v, "auth_users field to be an array"))
        opt_strings(c, v, &((struct callout *)callout)->users);
}

static void read_allowed_accounts(struct opt *c, const struct conf_value *v, void *callout)
{
    (void)callout;
    if (opt_is_array(c, v, "allowed accounts field to be an array"))
        opt_strings(c, v, &c->o->impl->callout_accounts);
}

static const struct opt_field callout_fields[] = {
    {"issuer", OPT_FN, 0, read_issuer, 0, 0},
    {"account acc", OPT_STRING, offsetof(struct callout, account), NULL, 0, 0},
    {"auth_users users", OPT_FN, 0, read_callout_users, 0, 0},
    {"xkey key", OPT_FN, 0, read_xkey, 0, 0},
    {"allowed_accounts", OPT_FN, 0, read_allowed_accounts, 0, 0},
};

void opt_read_auth_callout(struct opt *c, const struct conf_value *v, struct options_auth *auth)
{
    struct callout k = {0};
    if (!opt_is_map(c, v, "authorization callout to be a map/struct"))
        return;
    opt_map(c, v, OPT_BLOCK_AS(callout_fields, "Unknown field ", " parsing authorization callout"),
            &k);
    if (k.issuer == NULL)
        opt_error(c, v, "Authorization callouts require an issuer to be specified");
    if (k.users.n == 0)
        opt_error(c, v, "Authorization callouts require authorized users to be specified");
    auth->callout = c->o->impl->callout = true;
    opt_warn(c, v, "auth_callout: accepted, not active in this version: nobody can connect");
}
