/* options.h: all settings of the server as plain structs, read from the file and the command
 * line.  Strings and arrays belong to the options and live as long as they do.  Durations are in
 * nanoseconds.  Zero or NULL means "not set" unless a default is given here. */
#ifndef MAYFLY_OPTIONS_H
#define MAYFLY_OPTIONS_H

#include "config/options_listen.h"
#include "ttl/policy_keys.h"

/* Permissions: "set" tells an empty allow list (nothing) from an absent one (everything).
 * Subscribe entries may be "subject queue". */
struct options_permission {
    bool allow_set;
    struct options_list allow, deny;
};
struct options_permissions {
    struct options_permission publish, subscribe;
    bool responses_set;
    int64_t responses_max;        /* default 1; negative: no limit */
    int64_t responses_expires_ns; /* default 2 min; negative: never */
};

struct options_user {
    char *user, *password;                   /* plain or bcrypt */
    char *nkey;                              /* "U..." instead of user and password */
    char *account;                           /* NULL: the global one */
    struct options_permissions *permissions; /* NULL: the defaults of the block, or everything */
    struct options_list connection_types;    /* upper case; none: all */
    bool proxy_required;                     /* only through a trusted proxy */
    int64_t connection_deadline_s;           /* not after, seconds since 1970; 0: none */
    int line, col;                           /* for messages */
    const char *file;
};

struct options_callout;
struct options_auth { /* an authorization block */
    bool set;
    char *user, *password, *token;
    bool users_set; /* `users` was given, perhaps empty */
    struct options_user *users;
    size_t nusers;
    struct options_permissions *default_permissions;
    int64_t timeout_ns;              /* default 2 s; with TLS its timeout + 1 s */
    char *account, *nkey;            /* leafnodes */
    struct options_callout *callout; /* see options_callout.h; NULL: none */
    bool proxy_required;             /* only through a trusted proxy */
};

enum options_response {
    OPTIONS_RESPONSE_SINGLETON,
    OPTIONS_RESPONSE_STREAM,
    OPTIONS_RESPONSE_CHUNKED
};
struct options_export {
    bool service; /* else a stream */
    char *subject;
    bool restricted; /* `accounts` was given: only these may import */
    struct options_list accounts;
    enum options_response response;
    int64_t threshold_ns;
    bool allow_trace;
    unsigned account_token_position;
    char *latency_subject; /* service latency sampling */
    int latency_percent;   /* -1: by header */
    int line, col;
    const char *file;
};
struct options_import {
    bool service;
    char *account, *subject; /* what the other account exports */
    char *to;                /* local name; NULL: the same */
    char *prefix;            /* streams: local = prefix.subject */
    char *local; /* the name it has here: to, prefix.subject or subject; wildcards as '*' */
    bool share;  /* service: client info is added */
    bool allow_trace;
    int line, col;
    const char *file;
};
struct options_mapping_dest {
    char *subject;
    double weight; /* percent, 0..100 */
    char *cluster;
};
struct options_mapping {
    char *source;
    struct options_mapping_dest *dests;
    size_t ndests;
};
struct options_js_limits { /* of an account; -1: no limit */
    bool enabled;
    bool none; /* there are tiers, and none for streams of this server: it stores nothing */
    int64_t max_memory, max_store, max_streams, max_consumers, max_ack_pending;
    int64_t mem_max_stream_bytes, disk_max_stream_bytes;
    bool max_bytes_required;
};
struct options_js_tier { /* limits of the streams with that many replicas */
    char *name;          /* "R1" */
    struct options_js_limits limits;
};
struct options_account {
    char *name, *nkey;
    char *tag; /* its name for people, where name is a key; NULL: name */
    struct options_user *users;
    size_t nusers;
    struct options_permissions *default_permissions;
    struct options_export *exports;
    size_t nexports;
    struct options_import *imports;
    size_t nimports;
    struct options_mapping *mappings;
    size_t nmappings;
    struct options_js_limits js; /* with tiers: those of tier R1 */
    struct options_js_tier *js_tiers;
    size_t njs_tiers;
    int64_t max_connections, max_subscriptions, max_payload, max_leafnodes; /* -1: no limit */
    /* msg_trace: where traces of messages with `traceparent` are sent, NULL: they are not traced;
     * and how many of them in a hundred are traced. */
    char *trace_dest;
    int trace_sampling;
    int line, col;
    const char *file;
};

struct options_websocket {
    bool set;   /* it has a port */
    char *host; /* default: any */
    int port;   /* -1: random */
    char *advertise;
    bool no_tls;
    struct options_tls tls;
    bool same_origin, compression;
    struct options_list allowed_origins;
    int64_t handshake_timeout_ns; /* default 2 s */
    int64_t ping_interval_ns;     /* 0: as for all clients */
    struct options_auth auth;
    char *no_auth_user, *token_cookie, *user_cookie, *pass_cookie, *jwt_cookie;
    struct options_pairs headers;
};

/* A block of a feature that is parsed and listens but is not active yet. */
struct options_block {
    bool set;
    char *name; /* cluster and gateway name */
    bool listens;
    char *host;
    int port;
    size_t nremotes;             /* routes, remotes, gateways */
    struct options_list remotes; /* their URLs, secrets removed */
};

struct options_jetstream {
    bool enabled;
    char *store_dir; /* NULL: see options_store_dir() */
    char *domain;
    int64_t max_memory, max_store; /* -1: derived from the machine */
    int64_t max_index;             /* memory streams and indexes of all streams; -1: no limit */
    bool sync_always;              /* default */
    int64_t sync_interval_ns;      /* > 0: relaxed mode */
    int64_t scrub_ns;              /* all files are read once in this time; 0: never */
    bool strict;                   /* strict JSON; default true */
    bool compat_strict;            /* compat: strict */
    int64_t max_ack_pending, max_ha_assets, max_request_batch, duplicate_window_ns;
    int64_t default_max_consumers; /* of a stream; 0: the server's own default; -1: no limit */
    int64_t request_queue_limit;
    int64_t batch_max_inflight_per_stream, batch_max_inflight_total, batch_max_msgs,
        batch_timeout_ns;
    char *unique_tag;
    char *cipher;         /* "chacha", "chachapoly" or "aes"; NULL: chacha */
    char *key, *prev_key; /* NULL: none; prev_key: empty, too.  Wiped with the options */
    bool tpm;             /* the key would come from there */
};

struct options {
    char *config_file; /* NULL: none */
    char *host;        /* default 0.0.0.0 */
    int port;          /* default 4222; -1: random */
    char *client_advertise;
    char *server_name; /* NULL: the server id */
    struct options_list server_tags;
    struct options_pairs server_metadata;

    char *http_host;
    int http_port, https_port; /* 0: off; -1: random */
    char *http_base_path;      /* "" or "/x" */

    char *pid_file, *ports_file_dir;
    char *signal; /* -sl "cmd[=pid]" */
    bool help, version, help_tls;
    bool check_config; /* -t */
    bool dont_listen;
    unsigned
        files_kept; /* descriptors that unused files of streams may keep; 0: as many as usual */
    bool embedded;  /* inside another program: off is all that nobody asked for */

    bool debug, trace, trace_verbose, trace_headers, logtime, logtime_utc, syslog, log_json;
    char *log_file, *remote_syslog;
    int64_t log_size_limit, log_max_num;
    int64_t max_traced_msg_len;

    int64_t max_payload;        /* default 1 MiB */
    int64_t max_control_line;   /* default 4096 */
    int64_t max_pending;        /* default 64 MiB */
    int64_t max_connections;    /* default 65536; -1: none allowed */
    int64_t max_subscriptions;  /* 0: no limit */
    int64_t max_sub_tokens;     /* 0: no limit */
    int64_t max_closed_clients; /* default 10000: kept for /connz?state=closed */
    int64_t ping_interval_ns;   /* default 2 min */
    int64_t ping_max;           /* default 2 */
    int64_t write_deadline_ns;  /* default 10 s */
    int64_t busy_poll_ns;       /* default 150 us; 0: off */
    int64_t lame_duck_duration_ns, lame_duck_grace_ns; /* 2 min, 10 s */
    int64_t connect_error_reports, reconnect_error_reports;
    bool no_header_support, disable_sublist_cache, no_fast_producer_stall;
    bool no_system_account, allow_non_tls;
    bool proxy_protocol;             /* clients may begin with the header of a load balancer */
    bool operator_set, resolver_set; /* operator mode: some operator key is trusted */

    struct options_auth auth;
    struct options_account *accounts;
    size_t naccounts;
    char *no_auth_user;
    char *system_account;             /* default "$SYS"; NULL with no_system_account */
    struct options_mapping *mappings; /* of the global account */
    size_t nmappings;
    struct options_tls tls;
    struct options_list trusted_proxies; /* public keys of proxies { trusted } */

    struct options_unix unix_socket;
    struct options_websocket websocket;
    struct options_block leafnodes, cluster, gateway, mqtt;
    struct options_leaf *leaf;          /* the rest of leafnodes, see options_leaf.h; never NULL */
    struct options_operator *operators; /* operator mode, see options_operator.h; never NULL */
    struct options_jetstream jetstream;
    char *default_js_domain;                 /* of the global account */
    struct options_pairs default_js_domains; /* key: account, value: domain */
    struct policy_server ttl;                /* Mayfly's own; ttl.set: the block exists */

    struct options_list warnings; /* texts to log once the log is open (deprecated, inactive) */
    struct options_impl *impl;    /* owns everything above */
};

/* argv as of main().  Reads the file named by -c; flags override it.  On success the caller owns
 * *out.  Errors: "file:line:col: expected ...". */
MF_MUSTCHECK int options_load(struct options **out, int argc, char **argv, struct mf_error *e);
/* Where the options of a server inside another program come from.  Without port, host or listen
 * there is no client port, and there is no busy polling unless it is named.  -t, -sl, --help and
 * --version are refused. */
struct options_source {
    const char *text; /* a configuration, or NULL */
    const char *file; /* the path of one, or NULL; not both */
    int argc;         /* flags over it, as of main(); 0: none */
    char **argv;
};
MF_MUSTCHECK int options_load_embedded(struct options **out, const struct options_source *s,
                                       struct mf_error *e);
/* Only a configuration text (tests, fuzzing). */
MF_MUSTCHECK int options_parse(struct options **out, struct mf_slice text, const char *name,
                               struct mf_error *e);
void options_free(struct options *o);
const char *options_usage(void);
const char *options_tls_usage(void);

/* NULL if a reload can apply all differences, else a text that names the first setting it cannot
 * change, in nats-server's words ("config reload not supported for JetStream: old=..."). */
const char *options_reload_refusal(const struct options *old, const struct options *now);
/* Calls say() for each setting that differs, in nats-server's words. No text holds a secret. */
void options_changes(const struct options *old, const struct options *now,
                     void (*say)(void *arg, const char *text), void *arg);
/* Are both ttl blocks the same?  Then a reload has nothing to apply.  O(patterns + namespaces). */
bool options_same_ttl(const struct options *a, const struct options *b);

/* The directory of the streams; the caller frees it, NULL: no memory.  Without store_dir it is the
 * user's own: $XDG_STATE_HOME/mayfly, else $HOME/.local/state/mayfly; for a user without a home
 * $TMPDIR/mayfly-<uid> (/tmp), which a reboot may empty. */
char *options_store_dir(const struct options *o);
bool options_store_dir_temporary(const struct options *o); /* the last of these */

#endif
