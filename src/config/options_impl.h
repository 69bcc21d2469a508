/* options_impl.h: shared by the options_*.c files: reads typed values out of a configuration tree;
 * errors name the place and the expected type.  Private to config.
 *
 * Errors are collected, not returned, so that one run reports them all; a reader that fails leaves
 * its target as it was.  No text may hold a password, a token or a key. */
#ifndef MAYFLY_CONFIG_OPTIONS_IMPL_H
#define MAYFLY_CONFIG_OPTIONS_IMPL_H

#include "base/buf.h"
#include "base/clock.h"
#include "config/conf.h"
#include "config/options.h"
#include "subject/subject.h"

#include "base/arena.h"

/* Values that only the checks need. */
struct options_impl {
    struct arena arena;
    size_t operators_named, ntrusted;    /* entries of `operator` and `trusted_keys` */
    struct options_list leaf_accounts;   /* named by leafnodes: authorization and remotes */
    struct options_list pinned_accounts; /* of the cluster */
    struct options_auth mqtt_auth;
    char *mqtt_no_auth_user, *ext_hint;
    int64_t cluster_pool_size, max_catchup;
    struct gateway_remote {
        char *name;
        size_t nurls;
    } * gateways;
    size_t ngateways;
    struct opt_known { /* an option of the file: top level, and "block.key" one level below */
        char *name;
        struct conf_value at; /* only file, line and col */
        uint64_t hash;        /* of all that it says */
    } * known;
    size_t nknown;
    struct conf_value *ttl_places; /* of the entries of ttl { namespaces }: file, line, col */
};

struct opt { /* one reading of one configuration */
    struct options *o;
    struct arena *a;
    struct mf_buf errors; /* lines */
    size_t nerrors, nshown;
    bool check; /* -t: what nats-server calls a warning is an error then */
    const char *last_file, *last_file_copy;
};

enum opt_kind {
    OPT_BOOL,     /* bool */
    OPT_INT,      /* int64_t */
    OPT_PORT,     /* int: -1..65535 */
    OPT_STRING,   /* char * */
    OPT_DURATION, /* int64_t ns: "10s", or (deprecated) a number of seconds */
    OPT_STRINGS,  /* struct options_list: one or many */
    OPT_FN,       /* fn(c, v, target + off) */
};
#define OPT_DROP SIZE_MAX /* checked, not kept: the feature is not active yet */

struct opt_field {
    const char *names; /* "max_connections max_conn" */
    enum opt_kind kind;
    size_t off; /* into the target */
    void (*fn)(struct opt *c, const struct conf_value *v, void *target);
    int64_t lo, hi; /* of OPT_INT, when they differ */
};

/* Reads every entry of a map.  before and after stand around the name of an unknown key. */
struct opt_block {
    const struct opt_field *fields;
    size_t n;
    const char *before, *after; /* NULL: `unknown field "x"` */
};
#define OPT_BLOCK(table)         ((struct opt_block){table, MF_COUNT(table), NULL, NULL})
#define OPT_BLOCK_AS(table, ...) ((struct opt_block){table, MF_COUNT(table), __VA_ARGS__})
void opt_map(struct opt *c, const struct conf_value *map, struct opt_block b, void *target);
/* false, and an error "Expected X to be a map, got Y", if it is none. */
bool opt_is_map(struct opt *c, const struct conf_value *v, const char *text);
bool opt_is_array(struct opt *c, const struct conf_value *v, const char *text);

/* Remembers where each option stands, for checks after the tree is gone, and what it says, for
 * options_changes().  O(tree). */
void opt_remember(struct opt *c, const struct conf_value *root);
/* NULL: not in the file. */
const struct opt_known *opt_known(const struct options *o, const char *name);
const struct conf_value *opt_place(const struct options *o, const char *name);
/* The field that a key names, in any case and by any of its names; NULL: none. */
const struct opt_field *opt_find_field(const struct opt_block *b, const char *key);

/* For lists whose elements are compared with each other: false, and an error, beyond this many. */
#define OPT_FEW 10000
bool opt_is_few(struct opt *c, const struct conf_value *v);

/* "file:line:col: text".  at may be NULL. */
void opt_error(struct opt *c, const struct conf_value *at, const char *fmt, ...) MF_PRINTF(3, 4);
/* To be logged; with -t an error, as nats-server has it. */
void opt_deprecated(struct opt *c, const struct conf_value *at, const char *fmt, ...)
    MF_PRINTF(3, 4);
/* To be logged. */
void opt_warn(struct opt *c, const struct conf_value *at, const char *fmt, ...) MF_PRINTF(3, 4);
void opt_inactive(struct opt *c, const struct conf_value *at, const char *what);
const char *opt_file(struct opt *c, const struct conf_value *at); /* lives as long as the options */

/* Each: true and *out, or false and an error. */
bool opt_bool(struct opt *c, const struct conf_value *v, bool *out);
bool opt_int(struct opt *c, const struct conf_value *v, int64_t *out);
bool opt_port(struct opt *c, const struct conf_value *v, int *out);
bool opt_string(struct opt *c, const struct conf_value *v, char **out);
/* Cuts a duration to a hundred years, so that it can be added to a time.  The next three readers
 * do so. */
int64_t opt_bounded(int64_t ns);
bool opt_duration(struct opt *c, const struct conf_value *v, int64_t *out_ns);
/* A Go duration text only. */
bool opt_duration_text(struct opt *c, const struct conf_value *v, int64_t *out_ns);
/* Seconds, whole or not, or a duration text. */
bool opt_seconds(struct opt *c, const struct conf_value *v, const char *what, int64_t *out_ns);
bool opt_strings(struct opt *c, const struct conf_value *v, struct options_list *out);
/* 10M (bytes) or "10M" (powers of 1024). */
bool opt_size(struct opt *c, const struct conf_value *v, int64_t *out);
/* port or "host:port". */
bool opt_listen(struct opt *c, const struct conf_value *v, char **host, int *port);
void opt_list_add(struct opt *c, struct options_list *l, const char *s);
void opt_pair_add(struct opt *c, struct options_pairs *l, const char *key, const char *value);
/* options_unix.c */
void opt_read_unix(struct opt *c, const struct conf_value *v, void *out);
bool opt_unix_path_ok(const char *path);
bool opt_is_word(const struct conf_value *v, const char *word); /* a string, any case */
/* 1 to 100: a number, or text with or without %. */
bool opt_percent(const struct conf_value *v, int *out);

/* "did you mean": the nearest of the names of the fields, or NULL. */
const char *opt_nearest(const struct opt_block *b, const char *key, char *buf, size_t cap);

/* --- subjects: as in subject.h, of C strings ----------------------------------------------------
 */
static inline bool opt_text_subject_valid(const char *s)
{
    return subject_valid(mf_str(s));
}
static inline bool opt_text_subject_literal(const char *s)
{
    return subject_valid_literal(mf_str(s));
}
/* Does every subject that b matches also match a? */
static inline bool opt_text_subject_covers(const char *a, const char *b)
{
    return subject_is_subset(mf_str(b), mf_str(a));
}

/* --- mappings (options_mapping.c) --------------------------------------------------------------
 */
/* NULL, or the reason why dest cannot be made from src; in the arena, or static. */
const char *opt_text_mapping_error(struct arena *a, const char *src, const char *dest);
/* The same for an import with wildcards and a `to`. */
const char *opt_text_import_error(struct arena *a, const struct options_import *m);
/* $1 and {{wildcard(1)}} into '*'. */
char *opt_text_untokenize(struct arena *a, const char *subject);

/* --- texts (options_text.c) ------------------------------------------------------------------- */
/* prefix: 'U' user, 'A' account, 'O' operator, 'X' curve, 0: any public key. */
bool opt_text_nkey_valid(const char *s, char prefix);
bool opt_text_nkey_seed_valid(const char *s, char prefix);
/* URL without user and password; NULL when it is no URL. */
char *opt_text_url_redacted(struct arena *a, const char *url);
bool opt_text_url_scheme(const char *url, const char *scheme);
char *opt_text_lower(struct arena *a, const char *s);
char *opt_text_upper(struct arena *a, const char *s);

/* --- topics: each reads its part of the tree -------------------------------------------------- */
void opt_read_authorization(struct opt *c, const struct conf_value *v, void *o);
struct options_permissions *opt_read_permissions(struct opt *c, const struct conf_value *v);
bool opt_read_subjects(struct opt *c, const struct conf_value *v, bool queues,
                       struct options_list *out);
void opt_read_users(struct opt *c, const struct conf_value *v, struct options_user **users,
                    size_t *n);
void opt_apply_default_permissions(struct options_user *users, size_t n,
                                   struct options_permissions *p);
void opt_read_simple_auth(struct opt *c, const struct conf_value *v, void *auth);
void opt_read_leaf_auth(struct opt *c, const struct conf_value *v, void *auth);
void opt_read_auth_block(struct opt *c, const struct conf_value *v, struct options_auth *auth);
void opt_read_accounts(struct opt *c, const struct conf_value *v, void *o);
void opt_read_mappings(struct opt *c, const struct conf_value *v, struct options_mapping **out,
                       size_t *n);
void opt_read_exports(struct opt *c, const struct conf_value *v, void *account);
void opt_read_imports(struct opt *c, const struct conf_value *v, void *account);
void opt_read_tls(struct opt *c, const struct conf_value *v, void *tls); /* clients, leaf nodes */
void opt_read_tls_route(struct opt *c, const struct conf_value *v,
                        void *tls); /* cluster, gateway */
void opt_check_tls_files(struct opt *c, const struct conf_value *at, const struct options_tls *t);
void opt_read_jetstream(struct opt *c, const struct conf_value *v, void *o);
void opt_read_ttl(struct opt *c, const struct conf_value *v, void *ttl);
void opt_read_websocket(struct opt *c, const struct conf_value *v, void *websocket);
void opt_read_leafnodes(struct opt *c, const struct conf_value *v, void *o);
void opt_read_cluster(struct opt *c, const struct conf_value *v, void *o);
void opt_read_gateway(struct opt *c, const struct conf_value *v, void *o);
void opt_read_mqtt(struct opt *c, const struct conf_value *v, void *o);
void opt_read_operator(struct opt *c, const struct conf_value *v, void *o);
void opt_read_resolver(struct opt *c, const struct conf_value *v, void *o);
void opt_read_resolver_tls(struct opt *c, const struct conf_value *v, void *o);
void opt_read_resolver_preload(struct opt *c, const struct conf_value *v, void *o);
void opt_read_resolver_pinned(struct opt *c, const struct conf_value *v, void *o);
void opt_read_default_sentinel(struct opt *c, const struct conf_value *v, void *o);
void opt_read_trusted_keys(struct opt *c, const struct conf_value *v, void *o);
void opt_read_proxies(struct opt *c, const struct conf_value *v, void *o);
void opt_say_proxies(const struct options *old, const struct options *now,
                     void (*say)(void *arg, const char *text), void *arg); /* of a reload */
void opt_read_ocsp(struct opt *c, const struct conf_value *v, void *o);
void opt_read_ocsp_cache(struct opt *c, const struct conf_value *v, void *o);
void opt_read_ocsp_peer(struct opt *c, const struct conf_value *v);
/* Parts that several blocks share. */
void opt_read_block_listen(struct opt *c, const struct conf_value *v, void *block);
void opt_read_unused_tls(struct opt *c, const struct conf_value *v, void *block);
void opt_read_unused_write_timeout(struct opt *c, const struct conf_value *v, void *block);
void opt_read_compression(struct opt *c, const struct conf_value *v, void *compression);
bool opt_read_url(struct opt *c, const struct conf_value *v, const char *what,
                  struct options_list *out);
/* whole (may be NULL) gets the same entries as they are written, with their secrets. */
void opt_read_urls(struct opt *c, const struct conf_value *v, const char *what,
                   struct options_list *out, struct options_list *whole);
/* A URL that opt_read_url() found valid, in parts.  port: the default.  false: out of memory. */
struct options_leaf_url;
bool opt_split_leaf_url(struct arena *a, const char *text, int port, struct options_leaf_url *out);
/* Fills the defaults of the leafnodes block. */
void opt_finish_leaf(struct opt *c);
void opt_finish_block(struct opt *c, const struct conf_value *v, struct options_block *b);
void opt_read_auth_callout(struct opt *c, const struct conf_value *v, struct options_auth *auth);
/* Both may be NULL. */
bool opt_same_callout(const struct options_callout *a, const struct options_callout *b);
/* As Go prints it: nats-server's words.  Keys are public. */
void opt_show_callout(struct mf_buf *b, const struct options_callout *k);

/* --- the whole -------------------------------------------------------------------------------- */
struct options *options_new(struct mf_error *e); /* with the defaults */
/* The table of the top level, for suggestions. */
struct opt_block options_top(void);
int options_read(struct options *o, const struct conf_value *root, bool check, struct mf_error *e);
/* Fills defaults that depend on other values, then checks combinations of values. */
void options_finish(struct opt *c);
void opt_check_accounts(struct opt *c);
void opt_finish_operator(struct opt *c); /* system account, resolver, trusted keys */
void opt_free_operator(struct options *o);
int opt_done(struct opt *c, struct mf_error *e); /* frees the errors; 0 or the code */
void opt_begin(struct opt *c, struct options *o, bool check);

#endif
