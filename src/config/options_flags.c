/* options_flags.c: the command line, in Go's flag syntax: one or two dashes, `-flag=value` or
 * `-flag value`, booleans `-flag` or `-flag=false`.  The last one of the same name wins.
 *
 * Happy path: parse_args() checks every flag; then the file is read, the flags are laid over it,
 * and options_finish() checks the whole. */
#include "config/options.h"

#include "config/options_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum flag_kind { FLAG_BOOL, FLAG_INT, FLAG_STRING };
enum flag_id {
    F_PLAIN, /* kept at its offset */
    F_PORT,
    F_CONFIG,
    F_VV,
    F_DV,
    F_DVV,
    F_TLS,
    F_TLSVERIFY,
    F_TLSCERT,
    F_TLSKEY,
    F_TLSCACERT,
    F_ROUTES,
    F_CLUSTER,
    F_CLUSTER_IGNORED,
    F_PROFILE,
    F_AUTH, /* of the authorization block */
};

struct flag {
    const char *names;
    enum flag_kind kind;
    enum flag_id id;
    size_t off;
};

#define AT(member) offsetof(struct options, member)
static const struct flag flags[] = {
    {"a addr net", FLAG_STRING, F_PLAIN, AT(host)},
    {"p port", FLAG_INT, F_PORT, AT(port)},
    {"n name server_name", FLAG_STRING, F_PLAIN, AT(server_name)},
    {"P pid", FLAG_STRING, F_PLAIN, AT(pid_file)},
    {"m http_port", FLAG_INT, F_PORT, AT(http_port)},
    {"ms https_port", FLAG_INT, F_PORT, AT(https_port)},
    {"c config", FLAG_STRING, F_CONFIG, AT(config_file)},
    {"t", FLAG_BOOL, F_PLAIN, AT(check_config)},
    {"sl signal", FLAG_STRING, F_PLAIN, AT(signal)},
    {"client_advertise", FLAG_STRING, F_PLAIN, AT(client_advertise)},
    {"ports_file_dir", FLAG_STRING, F_PLAIN, AT(ports_file_dir)},
    {"l log", FLAG_STRING, F_PLAIN, AT(log_file)},
    {"T logtime", FLAG_BOOL, F_PLAIN, AT(logtime)},
    {"logtime_utc", FLAG_BOOL, F_PLAIN, AT(logtime_utc)},
    {"s syslog", FLAG_BOOL, F_PLAIN, AT(syslog)},
    {"r remote_syslog", FLAG_STRING, F_PLAIN, AT(remote_syslog)},
    {"D debug", FLAG_BOOL, F_PLAIN, AT(debug)},
    {"V trace", FLAG_BOOL, F_PLAIN, AT(trace)},
    {"VV", FLAG_BOOL, F_VV, 0},
    {"DV", FLAG_BOOL, F_DV, 0},
    {"DVV", FLAG_BOOL, F_DVV, 0},
    {"log_size_limit", FLAG_INT, F_PLAIN, AT(log_size_limit)},
    {"max_traced_msg_len", FLAG_INT, F_PLAIN, AT(max_traced_msg_len)},
    {"js jetstream", FLAG_BOOL, F_PLAIN, AT(jetstream.enabled)},
    {"sd store_dir", FLAG_STRING, F_PLAIN, AT(jetstream.store_dir)},
    {"user", FLAG_STRING, F_AUTH, AT(auth.user)},
    {"pass", FLAG_STRING, F_AUTH, AT(auth.password)},
    {"auth", FLAG_STRING, F_AUTH, AT(auth.token)},
    {"tls", FLAG_BOOL, F_TLS, 0},
    {"tlsverify", FLAG_BOOL, F_TLSVERIFY, 0},
    {"tlscert", FLAG_STRING, F_TLSCERT, 0},
    {"tlskey", FLAG_STRING, F_TLSKEY, 0},
    {"tlscacert", FLAG_STRING, F_TLSCACERT, 0},
    {"routes", FLAG_STRING, F_ROUTES, 0},
    {"cluster cluster_listen", FLAG_STRING, F_CLUSTER, 0},
    {"cluster_name", FLAG_STRING, F_PLAIN, AT(cluster.name)},
    {"cluster_advertise", FLAG_STRING, F_CLUSTER_IGNORED, 0},
    {"no_advertise", FLAG_BOOL, F_CLUSTER_IGNORED, 0},
    {"connect_retries", FLAG_INT, F_CLUSTER_IGNORED, 0},
    {"profile", FLAG_INT, F_PROFILE, 0},
    {"h help", FLAG_BOOL, F_PLAIN, AT(help)},
    {"v version", FLAG_BOOL, F_PLAIN, AT(version)},
    {"help_tls", FLAG_BOOL, F_PLAIN, AT(help_tls)},
};

struct given { /* a flag of the command line, checked */
    const struct flag *flag;
    const char *text;
    int64_t number;
    bool on;
};

/* --- parsing --------------------------------------------------------------------------------- */

static const struct flag *find_flag(struct mf_slice name)
{
    for (size_t i = 0; i < MF_COUNT(flags); i++) {
        const char *n = flags[i].names;
        while (n != NULL) {
            const char *space = strchr(n, ' ');
            size_t len = space == NULL ? strlen(n) : (size_t)(space - n);
            if (mf_eq(name, mf_slice(n, len)))
                return &flags[i];
            n = space == NULL ? NULL : space + 1;
        }
    }
    return NULL;
}

static int unknown_flag(struct mf_slice name, struct mf_error *e)
{
    struct opt_field fields[MF_COUNT(flags)];
    struct opt_block b = {fields, MF_COUNT(flags), NULL, NULL};
    char buf[64], key[64];
    for (size_t i = 0; i < MF_COUNT(flags); i++)
        fields[i] = (struct opt_field){.names = flags[i].names};
    snprintf(key, sizeof key, "%.*s", (int)(name.len > 60 ? 60 : name.len), (const char *)name.ptr);
    const char *near = name.len < 4 ? NULL : opt_nearest(&b, key, buf, sizeof buf);
    if (near != NULL)
        return mf_fail(e, MF_INVAL,
                       "flag provided but not defined: -%s; did you mean --%s? See mayflyd --help",
                       key, near);
    return mf_fail(e, MF_INVAL, "flag provided but not defined: -%s; see mayflyd --help", key);
}

static int parse_bool(const char *s, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < MF_COUNT(yes); i++) {
        if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
            *out = strcmp(s, yes[i]) == 0;
            return 0;
        }
    }
    return MF_INVAL;
}

static int parse_number(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 0);
    if (*s == '\0' || *s == ' ' || *end != '\0')
        return MF_INVAL;
    *out = n;
    return errno == ERANGE ? MF_LIMIT : 0;
}

static int parse_value(struct given *g, struct mf_slice name, const char *value, struct mf_error *e)
{
    if (g->flag->kind == FLAG_BOOL) {
        if (value == NULL)
            g->on = true;
        else if (parse_bool(value, &g->on) != 0)
            return mf_fail(e, MF_INVAL, "invalid boolean value \"%.100s\" for -%.*s: parse error",
                           value, MF_FMT(name));
        return 0;
    }
    g->text = value;
    if (g->flag->kind == FLAG_STRING)
        return 0;
    int rc = parse_number(value, &g->number);
    if (rc == 0 && g->flag->id == F_PORT && (g->number < -1 || g->number > 65535))
        rc = MF_LIMIT;
    if (rc != 0)
        return mf_fail(e, MF_INVAL, "invalid value \"%.100s\" for flag -%.*s: %s", value,
                       MF_FMT(name), rc == MF_LIMIT ? "value out of range" : "parse error");
    return 0;
}

/* Number of flags in *out, or a negative code.  *rest: the first argument that is no flag. */
static int parse_args(struct given *out, int argc, char **argv, const char **rest,
                      struct mf_error *e)
{
    int n = 0;
    *rest = NULL;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (arg[0] != '-' || arg[1] == '\0') {
            *rest = arg;
            return n;
        }
        arg += arg[1] == '-' ? 2 : 1;
        if (arg[0] == '\0') { /* "--" ends the flags */
            *rest = i + 1 < argc ? argv[i + 1] : NULL;
            return n;
        }
        if (arg[0] == '-' || arg[0] == '=')
            return mf_fail(e, MF_INVAL, "bad flag syntax: %.*s", /* no value: it may be secret */
                           (int)strcspn(argv[i], "="), argv[i]);
        const char *equals = strchr(arg, '=');
        struct mf_slice name = mf_slice(arg, equals == NULL ? strlen(arg) : (size_t)(equals - arg));
        out[n].flag = find_flag(name);
        if (out[n].flag == NULL)
            return unknown_flag(name, e);
        const char *value = equals == NULL ? NULL : equals + 1;
        if (value == NULL && out[n].flag->kind != FLAG_BOOL) {
            if (++i == argc)
                return mf_fail(e, MF_INVAL, "flag needs an argument: -%.*s", MF_FMT(name));
            value = argv[i];
        }
        int rc = parse_value(&out[n], name, value, e);
        if (rc != 0)
            return rc;
        n++;
    }
    return n;
}

/* --- laying flags over the file --------------------------------------------------------------- */

struct overlay {
    struct opt c;
    bool tls_seen, tls_off, tls_verify;
    const char *cert, *key, *ca, *routes;
};

static void apply_cluster(struct overlay *v, const char *url)
{
    struct options *o = v->c.o;
    const char *host = strstr(url, "://");
    if (url[0] == '\0') {
        o->cluster.port = 0;
        o->cluster.listens = false;
        return;
    }
    if (host == NULL) {
        opt_error(&v->c, NULL, "invalid value for flag -cluster: expected nats://host:port");
        return;
    }
    host += 3;
    const char *at = strrchr(host, '@');
    if (at != NULL) {
        if (memchr(host, ':', (size_t)(at - host)) == NULL) {
            opt_error(&v->c, NULL, "expected cluster password to be set");
            return;
        }
        host = at + 1;
    }
    struct conf_value value = {.type = CONF_STRING, .key = NULL};
    value.u.s = arena_dup(v->c.a, mf_slice(host, strcspn(host, "/?#")));
    value.file = "command line";
    if (value.u.s == NULL || !opt_listen(&v->c, &value, &o->cluster.host, &o->cluster.port))
        return;
    o->cluster.set = true;
    o->cluster.listens = o->cluster.port != 0;
    opt_inactive(&v->c, NULL, "cluster");
}

static void apply_routes(struct overlay *v)
{
    struct options *o = v->c.o;
    o->cluster.remotes = (struct options_list){NULL, 0};
    char *list = arena_str(v->c.a, v->routes), *save = NULL;
    for (char *one = list == NULL ? NULL : strtok_r(list, ",", &save); one != NULL;
         one = strtok_r(NULL, ",", &save)) {
        char *safe = opt_text_url_redacted(v->c.a, one);
        if (safe == NULL)
            opt_error(&v->c, NULL, "error parsing route url: expected nats://host:port");
        else
            opt_list_add(&v->c, &o->cluster.remotes, safe);
    }
    o->cluster.nremotes = o->cluster.remotes.n;
    if (v->routes[0] != '\0' && o->cluster.port == 0 && o->cluster.host == NULL)
        opt_error(&v->c, NULL, "solicited routes require cluster capabilities, e.g. --cluster");
}

static void apply_tls(struct overlay *v)
{
    struct options *o = v->c.o;
    if (v->tls_off)
        o->tls = (struct options_tls){0};
    if (!v->tls_seen || v->tls_off)
        return;
    if (v->cert == NULL || v->cert[0] == '\0') {
        opt_error(&v->c, NULL, "TLS Server certificate must be present and valid (--tlscert)");
        return;
    }
    if (v->key == NULL || v->key[0] == '\0') {
        opt_error(&v->c, NULL, "TLS Server private key must be present and valid (--tlskey)");
        return;
    }
    struct options_pairs pairs = {NULL, 0};
    opt_pair_add(&v->c, &pairs, v->cert, v->key);
    o->tls = (struct options_tls){.set = true,
                                  .certs = pairs.items,
                                  .ncerts = pairs.n,
                                  .ca_file = arena_str(v->c.a, v->ca),
                                  .verify = v->tls_verify,
                                  .timeout_ns = 2 * CLOCK_S};
    opt_check_tls_files(&v->c, NULL, &o->tls);
}

static char *text_or_null(struct arena *a, const char *s)
{
    return s == NULL || s[0] == '\0' ? NULL : arena_str(a, s);
}

static void apply_plain(struct overlay *v, const struct given *g)
{
    char *at = (char *)v->c.o + g->flag->off;
    if (g->flag->kind == FLAG_BOOL)
        *(bool *)at = g->on;
    else if (g->flag->id == F_PORT)
        *(int *)(void *)at = (int)g->number;
    else if (g->flag->kind == FLAG_INT)
        *(int64_t *)(void *)at = g->number;
    else
        *(char **)(void *)at = text_or_null(v->c.a, g->text);
}

static void apply_flag(struct overlay *v, const struct given *g)
{
    struct options *o = v->c.o;
    switch (g->flag->id) {
    case F_AUTH:
        o->auth.set = true;
        apply_plain(v, g);
        break;
    case F_PLAIN:
    case F_PORT:
    case F_CONFIG:
        apply_plain(v, g);
        break;
    case F_VV:
        o->trace = o->trace_verbose = g->on;
        break;
    case F_DV:
        o->debug = o->trace = g->on;
        break;
    case F_DVV:
        o->debug = o->trace = o->trace_verbose = g->on;
        break;
    case F_TLS:
        v->tls_seen = g->on;
        v->tls_off = !g->on;
        break;
    case F_TLSVERIFY:
        v->tls_seen = true;
        v->tls_verify = g->on;
        break;
    case F_TLSCERT:
        v->tls_seen = true;
        v->cert = g->text;
        break;
    case F_TLSKEY:
        v->tls_seen = true;
        v->key = g->text;
        break;
    case F_TLSCACERT:
        v->tls_seen = true;
        v->ca = g->text;
        break;
    case F_ROUTES:
        v->routes = g->text;
        break;
    case F_CLUSTER:
        apply_cluster(v, g->text);
        break;
    case F_CLUSTER_IGNORED:
        break;
    case F_PROFILE:
        if (g->number != 0)
            opt_inactive(&v->c, NULL, "profile");
        break;
    }
}

static int apply_flags(struct options *o, const struct given *given, int n, struct mf_error *e)
{
    struct overlay v = {0};
    opt_begin(&v.c, o, o->check_config);
    for (int i = 0; i < n; i++)
        apply_flag(&v, &given[i]);
    apply_tls(&v);
    if (v.routes != NULL)
        apply_routes(&v);
    if (o->auth.token != NULL && (o->auth.user != NULL || o->auth.password != NULL))
        opt_error(&v.c, NULL, "Cannot have a user/pass and token");
    if (o->auth.nusers > 0 && (o->auth.token != NULL || o->auth.user != NULL))
        opt_error(&v.c, NULL, "Can not have --user or --auth and a users array");
    return opt_done(&v.c, e);
}

/* --- all -------------------------------------------------------------------------------------- */

/* secret: a password was given, and the word may be a part of it. */
static int apply_word(struct options *o, const char *word, bool secret, struct mf_error *e)
{
    if (word == NULL)
        return 0;
    if (mf_eq_nocase(mf_str(word), "version"))
        o->version = true;
    else if (mf_eq_nocase(mf_str(word), "help"))
        o->help = true;
    else if (secret)
        return mf_fail(e, MF_INVAL, "unrecognized command after the flags; see mayflyd --help");
    else
        return mf_fail(e, MF_INVAL, "unrecognized command: \"%.100s\"; see mayflyd --help", word);
    return 0;
}

static bool has_secret(const struct given *given, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any = any || (given[i].flag != NULL && given[i].flag->id == F_AUTH);
    return any;
}

/* The flags that are needed before the file is read. */
static void early_flags(struct options *o, const struct given *given, int n)
{
    for (int i = 0; i < n; i++) {
        assert(given[i].flag != NULL);
        size_t off = given[i].flag->off;
        if (given[i].flag->id != F_PLAIN)
            continue;
        if (off == AT(version))
            o->version = given[i].on;
        else if (off == AT(help))
            o->help = given[i].on;
        else if (off == AT(help_tls))
            o->help_tls = given[i].on;
        else if (off == AT(check_config))
            o->check_config = given[i].on;
        else if (off == AT(signal))
            o->signal = text_or_null(&o->impl->arena, given[i].text);
    }
}

static const char *find_path(struct options *o, const struct options_source *s,
                             const struct given *given, int n)
{
    const char *path = s->file;
    if (path != NULL)
        o->config_file = arena_str(&o->impl->arena, path);
    for (int i = 0; i < n; i++)
        if (given[i].flag != NULL && given[i].flag->id == F_CONFIG)
            path = given[i].text;
    return path;
}

static int read_config(struct options *o, const struct options_source *s, const struct given *given,
                       int n, struct mf_error *e)
{
    const char *path = find_path(o, s, given, n);
    struct conf_value *root;
    if (s->text != NULL && path != NULL)
        return mf_fail(e, MF_INVAL, "a configuration text and a file: name one of them");
    if (s->text == NULL && (path == NULL || path[0] == '\0'))
        return o->check_config ? mf_fail(e, MF_INVAL,
                                         "must specify [-c, --config] option to check "
                                         "configuration file syntax")
                               : 0;
    if (s->text != NULL && s->text[strspn(s->text, " \t\r\n")] == '\0')
        return 0;
    int rc = s->text != NULL ? conf_parse_text(&root, mf_str(s->text), "configuration", NULL, e)
                             : conf_parse_file(&root, path, e);
    if (rc != 0)
        return rc;
    rc = options_read(o, root, o->check_config, e);
    conf_free(root);
    return rc;
}

static int load_options(struct options *o, const struct options_source *s,
                        const struct given *given, int n, struct mf_error *e)
{
    struct opt c;
    int rc = read_config(o, s, given, n, e);
    if (rc == 0)
        rc = apply_flags(o, given, n, e);
    if (rc != 0)
        return rc;
    opt_begin(&c, o, o->check_config);
    options_finish(&c);
    return opt_done(&c, e);
}

/* Before the configuration is read: it may ask for what is off now. */
static int embed_options(struct options *o, struct mf_error *e)
{
    if (o->version || o->help || o->help_tls || o->check_config || o->signal != NULL)
        return mf_fail(e, MF_INVAL, "--help, --version, -t and -sl are flags of mayflyd alone");
    o->embedded = true;
    o->busy_poll_ns = 0;
    return 0;
}

static int load_from(struct options **out, const struct options_source *s, bool embedded,
                     struct mf_error *e)
{
    const char *rest;
    struct options *o = options_new(e);
    struct given *given = calloc(s->argc > 0 ? (size_t)s->argc : 1, sizeof *given);
    int rc = MF_NOMEM, n = 0;
    if (o == NULL || given == NULL) {
        rc = mf_fail(e, MF_NOMEM, "options");
        goto err_free;
    }
    rc = n = parse_args(given, s->argc, s->argv, &rest, e);
    if (n < 0)
        goto err_free;
    early_flags(o, given, n);
    rc = o->version || o->help || o->help_tls ? 0 : apply_word(o, rest, has_secret(given, n), e);
    if (rc == 0 && embedded)
        rc = embed_options(o, e);
    if (rc == 0 && !o->version && !o->help && !o->help_tls && o->signal == NULL)
        rc = load_options(o, s, given, n, e);
    if (rc != 0)
        goto err_free;
    free(given);
    *out = o;
    return 0;
err_free:
    free(given);
    options_free(o);
    return rc;
}

int options_load(struct options **out, int argc, char **argv, struct mf_error *e)
{
    return load_from(out, &(struct options_source){.argc = argc, .argv = argv}, false, e);
}

int options_load_embedded(struct options **out, const struct options_source *s, struct mf_error *e)
{
    return load_from(out, s, true, e);
}
