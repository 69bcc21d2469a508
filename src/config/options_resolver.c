/* options_resolver.c: where account JWTs come from: resolver, its preload and its TLS. */
#include "config/options_operator_impl.h"

#include <stdlib.h>

#define RESOLVER_EXPECTED                                                                          \
    "error parsing account resolver, should be MEM or  URL(\"url\") or a map containing dir and "  \
    "type state=[FULL|CACHE])"

#define CACHE_LIMIT 1000

struct resolver_keys {
    struct options_resolver r;
    char *type;
    bool hard_delete_set;
};
#define KEY(member) offsetof(struct resolver_keys, member)

static void read_hard_delete(struct opt *c, const struct conf_value *v, void *keys)
{
    struct resolver_keys *k = keys;

    k->hard_delete_set = opt_bool(c, v, &k->r.hard_delete);
}

static void read_text_duration(struct opt *c, const struct conf_value *v, void *out)
{
    opt_duration_text(c, v, out);
}

static const struct opt_field resolver_fields[] = {
    {"dir", OPT_STRING, KEY(r.dir), NULL, 0, 0},
    {"type", OPT_STRING, KEY(type), NULL, 0, 0},
    {"allow_delete", OPT_BOOL, KEY(r.allow_delete), NULL, 0, 0},
    {"hard_delete", OPT_FN, 0, read_hard_delete, 0, 0},
    {"limit", OPT_INT, KEY(r.limit), NULL, 0, 0},
    {"ttl", OPT_FN, KEY(r.ttl_ns), read_text_duration, 0, 0},
    {"interval", OPT_FN, KEY(r.interval_ns), read_text_duration, 0, 0},
    {"timeout", OPT_FN, KEY(r.timeout_ns), read_text_duration, 0, 0},
};

static void check_directory(struct opt *c, const struct conf_value *v,
                            const struct resolver_keys *k)
{
    bool cache = k->r.kind == OPTIONS_RESOLVER_CACHE;

    if (!mf_has_text(k->r.dir))
        opt_error(c, v, "dir has no value and needs to point to a directory");
    if (cache && k->r.interval_ns != 0)
        opt_error(c, v, "CACHE does not accept sync");
    if (cache && k->r.allow_delete)
        opt_error(c, v, "CACHE does not accept allow_delete");
    if (cache && k->hard_delete_set)
        opt_error(c, v, "CACHE does not accept hard_delete");
    if (!cache && k->r.ttl_ns != 0)
        opt_error(c, v, "FULL does not accept ttl");
    if (!cache && k->hard_delete_set && !k->r.allow_delete)
        opt_error(c, v, "hard_delete has no effect without delete");
    if (k->r.limit < 0 || k->r.ttl_ns < 0 || k->r.interval_ns < 0 || k->r.timeout_ns < 0)
        opt_error(c, v, "limit, ttl, interval and timeout of a resolver cannot be negative");
}

static void read_resolver_map(struct opt *c, const struct conf_value *v, struct options_resolver *r)
{
    struct resolver_keys k = {.r.tls = r->tls};

    opt_map(c, v, OPT_BLOCK(resolver_fields), &k);
    struct mf_slice type = mf_str(k.type);
    if (mf_eq_nocase(type, "full"))
        k.r.kind = OPTIONS_RESOLVER_FULL;
    else if (mf_eq_nocase(type, "cache"))
        k.r.kind = OPTIONS_RESOLVER_CACHE;
    else if (mf_eq_nocase(type, "mem") || mf_eq_nocase(type, "memory"))
        k.r.kind = OPTIONS_RESOLVER_MEM;
    if (k.r.kind == OPTIONS_RESOLVER_NONE)
        opt_error(c, v, RESOLVER_EXPECTED);
    else if (k.r.kind != OPTIONS_RESOLVER_MEM)
        check_directory(c, v, &k);
    *r = k.r;
}

/* MEM, MEMORY or URL(...). */
static bool read_resolver_word(struct arena *a, const char *s, struct options_resolver *r)
{
    char *upper = opt_text_upper(a, s), *end;
    const char *open;

    if (upper == NULL)
        return false;
    open = strstr(upper, "URL(");
    if (open == NULL) {
        r->kind = OPTIONS_RESOLVER_MEM;
        return strstr(upper, "MEM") != NULL;
    }
    s += open - upper + 4;
    s += strspn(s, " \t\"'");
    r->url = arena_str(a, s);
    if (r->url == NULL || (end = strchr(r->url, ')')) == NULL)
        return false;
    while (end > r->url && strchr(" \t\"'", end[-1]) != NULL)
        end--;
    *end = '\0';
    r->kind = OPTIONS_RESOLVER_URL;
    return opt_text_url_scheme(r->url, "http") || opt_text_url_scheme(r->url, "https");
}

void opt_read_resolver(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;

    if (v->type == CONF_MAP)
        read_resolver_map(c, v, &o->operators->resolver);
    else if (v->type != CONF_STRING)
        opt_error(c, v, "error parsing operator resolver, wrong type %s", conf_type_name(v->type));
    else if (!read_resolver_word(c->a, v->u.s, &o->operators->resolver))
        opt_error(c, v, RESOLVER_EXPECTED);
    o->resolver_set = true;
}

void opt_read_resolver_tls(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;

    opt_read_tls(c, v, &o->operators->resolver.tls);
}

void opt_read_resolver_preload(struct opt *c, const struct conf_value *v, void *options)
{
    struct options *o = options;

    if (v->type != CONF_MAP) {
        opt_error(c, v, "preload should be a map of account_public_key:account_jwt");
        return;
    }
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *a = v->items[i];
        struct mf_error e;
        struct jwt *j;
        if (a->type != CONF_STRING)
            opt_error(c, a, "preload map value should be a string JWT");
        else if (jwt_decode_as(&j, JWT_ACCOUNT, mf_str(a->u.s), &e) != 0)
            opt_error(c, a, "invalid account JWT");
        else {
            if (strcmp(j->sub, a->key) == 0)
                opt_pair_add(c, &o->operators->preload, a->key, j->text);
            else /* nobody can ask for it */
                opt_warn(c, a, "resolver_preload: the JWT of \"%.60s\" is that of %s: left out",
                         a->key, j->sub);
            jwt_free(j);
        }
    }
}

/* --- checks that need the whole file ---------------------------------------------------------- */

/* One operator may say where its account server is. */
static void default_resolver(struct opt *c)
{
    struct options_operator *p = c->o->operators;
    const char *url =
        p->noperators == 1 ? p->operators[0]->operator_claims->account_server_url : "";
    size_t n = strlen(url);

    if (opt_text_url_scheme(url, "http") || opt_text_url_scheme(url, "https")) {
        while (n > 0 && url[n - 1] == '/')
            n--;
        p->resolver.kind = OPTIONS_RESOLVER_URL;
        p->resolver.url = arena_printf(c->a, "%.*s/accounts/", (int)n, url);
    } else {
        opt_error(c, opt_place(c->o, "operator"),
                  "operators require an account resolver to be configured");
    }
}

static bool is_preloaded(const struct options_operator *p, const char *key)
{
    for (size_t i = 0; i < p->preload.n; i++)
        if (strcmp(p->preload.items[i].key, key) == 0)
            return true;
    return false;
}

static void check_resolver(struct opt *c)
{
    const struct options *o = c->o;
    const struct options_operator *p = o->operators;
    const struct options_resolver *r = &p->resolver;
    const struct conf_value *at = opt_place(o, "resolver");
    bool directory = r->kind == OPTIONS_RESOLVER_FULL || r->kind == OPTIONS_RESOLVER_CACHE;

    if (p->preload.n > 0 && r->kind == OPTIONS_RESOLVER_URL)
        opt_error(c, opt_place(o, "resolver_preload"),
                  "resolver preloads only available for writeable resolver types "
                  "MEM/DIR/CACHE_DIR");
    if (!o->operator_set)
        return;
    if (directory && p->noperators == 0)
        opt_error(c, at, "Could not start resolver: no operator key found");
    else if (directory && !mf_has_text(o->system_account))
        opt_error(c, at,
                  "using nats based account resolver - the system account needs to be specified "
                  "in configuration or the operator jwt");
    else if (mf_has_text(o->system_account) && !opt_text_nkey_valid(o->system_account, 'A'))
        opt_error(c, opt_place(o, "system_account"),
                  "error resolving system account: \"%.60s\" is not a public account key",
                  o->system_account);
    else if (mf_has_text(o->system_account) && r->kind == OPTIONS_RESOLVER_MEM &&
             !is_preloaded(p, o->system_account))
        opt_error(c, at, "error resolving system account: account missing");
}

void opt_finish_resolver(struct opt *c)
{
    struct options_operator *p = c->o->operators;
    struct options_resolver *r = &p->resolver;

    if (c->o->operator_set && r->kind == OPTIONS_RESOLVER_NONE && !c->o->resolver_set) {
        if (c->o->impl->operators_named == p->noperators)
            default_resolver(c);
    }
    if (r->kind == OPTIONS_RESOLVER_CACHE && r->limit == 0)
        r->limit = CACHE_LIMIT;
    if (r->interval_ns == 0)
        r->interval_ns = 60 * CLOCK_S;
    if (r->timeout_ns == 0)
        r->timeout_ns = 1900 * CLOCK_MS;
    if (r->kind == OPTIONS_RESOLVER_URL && r->url != NULL && r->url[0] != '\0' &&
        r->url[strlen(r->url) - 1] != '/')
        r->url = arena_printf(c->a, "%s/", r->url);
    check_resolver(c);
}
