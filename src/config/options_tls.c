/* options_tls.c: tls blocks; Go's names of cipher suites and curves into OpenSSL's. */
#include "config/options_impl.h"

#include <errno.h>
#include <unistd.h>

#define HANDSHAKE_FIRST_FALLBACK (50 * CLOCK_MS)

struct tls_name {
    const char *go, *openssl;
    bool insecure, tls13;
};

static const struct tls_name suites[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", false, true},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", false, true},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", false, true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", false, false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", false, false},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", false, false},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", false, false},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", false, false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", false, false},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", false, false},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", false, false},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", false,
     false},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", false, false},
    {"TLS_RSA_WITH_RC4_128_SHA", "RC4-SHA", true, false},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA", true, false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", true, false},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", true, false},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", true, false},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", true, false},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", true, false},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA-RC4-SHA", true, false},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-RC4-SHA", true, false},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA-DES-CBC3-SHA", true, false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", true, false},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", true, false},
};

/* OpenSSL 3.0 has no hybrid groups yet: known, skipped with a warning. */
static const struct tls_name curves[] = {
    {"X25519", "X25519", false, false},         {"CurveP256", "P-256", false, false},
    {"CurveP384", "P-384", false, false},       {"CurveP521", "P-521", false, false},
    {"X25519MLKEM768", NULL, false, false},     {"SecP256r1MLKEM768", NULL, false, false},
    {"SecP384r1MLKEM1024", NULL, false, false},
};

struct tls_reading { /* what only the checks at the end of the block need */
    struct options_tls *tls;
    char *cert_file, *key_file;
    bool route, allow_insecure;
    const char *insecure; /* first insecure suite */
    const struct conf_value *insecure_at;
};

static const struct tls_name *find_name(const struct tls_name *names, size_t n, const char *go)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i].go, go) == 0)
            return &names[i];
    return NULL;
}

static void append_name(struct opt *c, char **list, const char *name)
{
    *list = *list == NULL ? arena_str(c->a, name) : arena_printf(c->a, "%s:%s", *list, name);
}

/* --- values ----------------------------------------------------------------------------------- */

static void read_file_name(struct opt *c, const struct conf_value *v, char **out)
{
    if (v->type != CONF_STRING)
        opt_error(c, v, "error parsing tls config, expected '%s' to be filename, got %s", v->key,
                  conf_type_name(v->type));
    else
        opt_string(c, v, out);
}

static bool read_switch(struct opt *c, const struct conf_value *v, bool *out)
{
    if (v->type == CONF_BOOL)
        return opt_bool(c, v, out);
    opt_error(c, v, "error parsing tls config, expected '%s' to be a boolean, got %s", v->key,
              conf_type_name(v->type));
    return false;
}

static void read_cert_file(struct opt *c, const struct conf_value *v, void *r)
{
    read_file_name(c, v, &((struct tls_reading *)r)->cert_file);
}
static void read_key_file(struct opt *c, const struct conf_value *v, void *r)
{
    read_file_name(c, v, &((struct tls_reading *)r)->key_file);
}
static void read_ca_file(struct opt *c, const struct conf_value *v, void *r)
{
    read_file_name(c, v, &((struct tls_reading *)r)->tls->ca_file);
}
static void read_insecure(struct opt *c, const struct conf_value *v, void *r)
{
    read_switch(c, v, &((struct tls_reading *)r)->tls->insecure);
}
static void read_allow_insecure(struct opt *c, const struct conf_value *v, void *r)
{
    read_switch(c, v, &((struct tls_reading *)r)->allow_insecure);
}
static void read_verify(struct opt *c, const struct conf_value *v, void *r)
{
    bool on;
    if (read_switch(c, v, &on) && (on || !((struct tls_reading *)r)->tls->verify_and_map))
        ((struct tls_reading *)r)->tls->verify = on;
}

static void read_verify_and_map(struct opt *c, const struct conf_value *v, void *r)
{
    struct options_tls *t = ((struct tls_reading *)r)->tls;
    if (!read_switch(c, v, &t->verify_and_map))
        return;
    t->verify_and_map_set = true;
    if (t->verify_and_map)
        t->verify = true;
}

static void read_verify_known(struct opt *c, const struct conf_value *v, void *r)
{
    struct tls_reading *reading = r;
    bool on;
    if (!read_switch(c, v, &on) || !on)
        return;
    if (!reading->route)
        opt_error(c, v, "verify_cert_and_check_known_urls not supported in this context");
    else
        reading->tls->verify = true;
}

static bool names_array(struct opt *c, const struct conf_value *v)
{
    if (!opt_is_array(c, v, "an array of names"))
        return false;
    if (v->nitems == 0) {
        opt_error(c, v, "error parsing tls config, '%s' cannot be empty", v->key);
        return false;
    }
    for (size_t i = 0; i < v->nitems; i++)
        if (v->items[i]->type != CONF_STRING) {
            opt_error(c, v->items[i], "error parsing tls config, '%s' expects names, got %s",
                      v->key, conf_type_name(v->items[i]->type));
            return false;
        }
    return true;
}

static void read_suites(struct opt *c, const struct conf_value *v, void *r)
{
    struct tls_reading *reading = r;
    if (!names_array(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const char *go = v->items[i]->u.s;
        const struct tls_name *n = find_name(suites, MF_COUNT(suites), go);
        if (n == NULL) {
            opt_error(c, v->items[i], "unrecognized cipher %s; mayflyd --help_tls lists them", go);
            continue;
        }
        append_name(c, n->tls13 ? &reading->tls->suites : &reading->tls->ciphers, n->openssl);
        if (n->insecure && reading->insecure == NULL) {
            reading->insecure = n->go;
            reading->insecure_at = v->items[i];
        }
    }
}

static void read_curves(struct opt *c, const struct conf_value *v, void *r)
{
    struct tls_reading *reading = r;
    if (!names_array(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct tls_name *n = find_name(curves, MF_COUNT(curves), v->items[i]->u.s);
        if (n == NULL)
            opt_error(c, v->items[i],
                      "unrecognized curve preference %s; mayflyd --help_tls lists them",
                      v->items[i]->u.s);
        else if (n->openssl == NULL)
            opt_warn(c, v->items[i], "curve preference %s: not available here, skipped", n->go);
        else
            append_name(c, &reading->tls->curves, n->openssl);
    }
}

static void read_timeout(struct opt *c, const struct conf_value *v, void *r)
{
    opt_seconds(c, v, "tls config", &((struct tls_reading *)r)->tls->timeout_ns);
}

static void read_rate_limit(struct opt *c, const struct conf_value *v, void *r)
{
    if (v->type != CONF_INT)
        opt_error(c, v,
                  "error parsing tls config, 'connection_rate_limit' wrong type: expected "
                  "handshakes per second");
    else
        ((struct tls_reading *)r)->tls->rate_limit = v->u.i < 0 ? 0 : v->u.i;
}

static void read_pinned(struct opt *c, const struct conf_value *v, void *r)
{
    struct options_tls *t = ((struct tls_reading *)r)->tls;
    if (v->type != CONF_ARRAY) {
        opt_error(c, v,
                  "error parsing tls config, expected 'pinned_certs' to be a list of "
                  "hex-encoded sha256 of DER encoded SubjectPublicKeyInfo");
        return;
    }
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *p = v->items[i];
        if (p->type != CONF_STRING || strlen(p->u.s) != 64 ||
            strspn(p->u.s, "0123456789abcdefABCDEF") != 64) {
            opt_error(c, p,
                      "error parsing tls config, 'pinned_certs' key does not look like hex-encoded "
                      "sha256 of DER encoded SubjectPublicKeyInfo");
            continue;
        }
        char *hex = opt_text_lower(c->a, p->u.s);
        if (hex != NULL)
            opt_list_add(c, &t->pinned, hex);
    }
}

static void read_handshake_first(struct opt *c, const struct conf_value *v, void *r)
{
    struct options_tls *t = ((struct tls_reading *)r)->tls;
    int64_t ns;
    if (v->type == CONF_BOOL) {
        t->handshake_first = v->u.b;
    } else if (v->type != CONF_STRING) {
        opt_error(c, v, "field \"%s\" should be a boolean or a string, got %s", v->key,
                  conf_type_name(v->type));
    } else if (opt_is_word(v, "true") || opt_is_word(v, "on")) {
        t->handshake_first = true;
    } else if (opt_is_word(v, "false") || opt_is_word(v, "off")) {
        t->handshake_first = false;
    } else if (opt_is_word(v, "auto") || opt_is_word(v, "auto_fallback")) {
        t->handshake_first = true;
        t->handshake_first_fallback_ns = HANDSHAKE_FIRST_FALLBACK;
    } else if (clock_parse_duration(mf_str(v->u.s), &ns) == 0) {
        t->handshake_first = true;
        t->handshake_first_fallback_ns = opt_bounded(ns);
    } else {
        opt_error(c, v,
                  "field \"%s\"'s value \"%s\" is invalid: expected true, false, auto or a "
                  "duration",
                  v->key, v->u.s);
    }
}

static void read_min_version(struct opt *c, const struct conf_value *v, void *r)
{
    static const char *const names[] = {"1.0", "1.1", "1.2", "1.3"};
    if (v->type != CONF_STRING) {
        opt_error(c, v,
                  "error parsing tls config: 'min_version' wrong type: expected \"1.2\" or "
                  "\"1.3\" with quotes");
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(v->u.s, names[i]) != 0)
            continue;
        if (i < 2)
            opt_error(c, v, "error parsing tls config: unsupported TLS version: TLS %s", names[i]);
        else
            ((struct tls_reading *)r)->tls->min_version = 0x0301 + i;
        return;
    }
    opt_error(c, v, "error parsing tls config: unknown version: %s; expected \"1.2\" or \"1.3\"",
              v->u.s);
}

static void add_pair(struct opt *c, struct options_tls *t, const char *cert, const char *key)
{
    struct options_pairs pairs = {t->certs, t->ncerts};
    opt_pair_add(c, &pairs, cert, key);
    t->certs = pairs.items;
    t->ncerts = pairs.n;
}

static const struct opt_field pair_fields[] = {
    {"cert_file", OPT_STRING, offsetof(struct options_pair, key), NULL, 0, 0},
    {"key_file", OPT_STRING, offsetof(struct options_pair, value), NULL, 0, 0},
};

static void read_certs(struct opt *c, const struct conf_value *v, void *r)
{
    if (!opt_is_array(c, v, "certificates to be an array of { cert_file, key_file }"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        struct options_pair p = {NULL, NULL};
        if (!opt_is_map(c, v->items[i], "a certificate to be { cert_file, key_file }"))
            continue;
        opt_map(c, v->items[i],
                OPT_BLOCK_AS(pair_fields, "error parsing tls certs config, unknown field ", ""),
                &p);
        if (p.key == NULL || p.value == NULL)
            opt_error(c, v->items[i],
                      "error parsing certificates config: both 'cert_file' and 'key_file' options "
                      "are required");
        else
            add_pair(c, ((struct tls_reading *)r)->tls, p.key, p.value);
    }
}

static void read_cert_store(struct opt *c, const struct conf_value *v, void *r)
{
    (void)r;
    opt_error(c, v, "'%s' belongs to Windows certificate stores, not supported on this system",
              v->key);
}

static void read_peer(struct opt *c, const struct conf_value *v, void *r)
{
    (void)r;
    opt_read_ocsp_peer(c, v);
}

/* --- the block -------------------------------------------------------------------------------- */

static const struct opt_field tls_fields[] = {
    {"cert_file", OPT_FN, 0, read_cert_file, 0, 0},
    {"key_file", OPT_FN, 0, read_key_file, 0, 0},
    {"ca_file", OPT_FN, 0, read_ca_file, 0, 0},
    {"certs certificates", OPT_FN, 0, read_certs, 0, 0},
    {"verify", OPT_FN, 0, read_verify, 0, 0},
    {"verify_and_map", OPT_FN, 0, read_verify_and_map, 0, 0},
    {"verify_cert_and_check_known_urls", OPT_FN, 0, read_verify_known, 0, 0},
    {"insecure", OPT_FN, 0, read_insecure, 0, 0},
    {"timeout", OPT_FN, 0, read_timeout, 0, 0},
    {"cipher_suites", OPT_FN, 0, read_suites, 0, 0},
    {"allow_insecure_cipher_suites", OPT_FN, 0, read_allow_insecure, 0, 0},
    {"curve_preferences", OPT_FN, 0, read_curves, 0, 0},
    {"min_version", OPT_FN, 0, read_min_version, 0, 0},
    {"pinned_certs", OPT_FN, 0, read_pinned, 0, 0},
    {"connection_rate_limit", OPT_FN, 0, read_rate_limit, 0, 0},
    {"handshake_first first immediate", OPT_FN, 0, read_handshake_first, 0, 0},
    {"ocsp_peer", OPT_FN, 0, read_peer, 0, 0},
    {"cert_store cert_match_by cert_match ca_certs_match cert_match_skip_invalid", OPT_FN, 0,
     read_cert_store, 0, 0},
};

static void check_file(struct opt *c, const struct conf_value *at, const char *what,
                       const char *path)
{
    if (access(path, R_OK) != 0)
        opt_error(c, at, "%sopen %s: %s", what, path, strerror(errno));
}

void opt_check_tls_files(struct opt *c, const struct conf_value *at, const struct options_tls *t)
{
    static const char what[] = "error parsing X509 certificate/key pair: ";
    for (size_t i = 0; i < t->ncerts; i++) {
        check_file(c, at, what, t->certs[i].key);
        check_file(c, at, what, t->certs[i].value);
    }
    if (t->ca_file != NULL && t->ca_file[0] != '\0')
        check_file(c, at, "", t->ca_file);
}

static void read_tls_block(struct opt *c, const struct conf_value *v, struct options_tls *t,
                           bool route)
{
    struct tls_reading r = {.tls = t, .route = route};
    if (!opt_is_map(c, v, "tls to be a map"))
        return;
    *t = (struct options_tls){.set = true, .line = v->line, .col = v->col, .file = opt_file(c, v)};
    opt_map(c, v, OPT_BLOCK_AS(tls_fields, "error parsing tls config, unknown field ", ""), &r);
    if (r.insecure != NULL && !r.allow_insecure)
        opt_error(c, r.insecure_at,
                  "insecure cipher suites configured without 'allow_insecure_cipher_suites' option "
                  "set: %s",
                  r.insecure);
    if (t->ncerts > 0 && r.cert_file != NULL)
        opt_error(
            c, v,
            "error parsing tls config, cannot combine 'cert_file' option with 'certs' option");
    else if (r.cert_file != NULL && r.key_file == NULL)
        opt_error(c, v, "missing 'key_file' in TLS configuration");
    else if (r.cert_file == NULL && r.key_file != NULL)
        opt_error(c, v, "missing 'cert_file' in TLS configuration");
    else if (r.cert_file != NULL)
        add_pair(c, t, r.cert_file, r.key_file);
    if (t->timeout_ns == 0)
        t->timeout_ns = 2 * CLOCK_S;
    opt_check_tls_files(c, v, t);
}

void opt_read_tls(struct opt *c, const struct conf_value *v, void *tls)
{
    read_tls_block(c, v, tls, false);
}

void opt_read_tls_route(struct opt *c, const struct conf_value *v, void *tls)
{
    read_tls_block(c, v, tls, true);
}
