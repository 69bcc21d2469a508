/* options_jwt.c: trusted proxies and OCSP: checked as nats-server checks them, not active yet. */
#include "config/options_impl.h"

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
