/* options_leaf.h: the leafnodes block as plain structs, and how a reload changed it.
 *
 * The address of the listener is in options.leafnodes (set, listens, host, port).  Strings belong
 * to the options.  Durations are in nanoseconds; all defaults are filled in.
 *
 * Secrets: user and password of a URL, nkey, and the key of a remote.  Everything else may be shown
 * in logs and pages. */
#ifndef MAYFLY_OPTIONS_LEAF_H
#define MAYFLY_OPTIONS_LEAF_H

#include "config/options.h"

#define OPTIONS_LEAF_PORT 7422 /* of a URL without a port, whatever its scheme */

/* The modes in nats-server's order of strength. */
enum options_compress {
    OPTIONS_COMPRESS_UNSET, /* only while reading */
    OPTIONS_COMPRESS_NONE,  /* "not supported": as a server without compression */
    OPTIONS_COMPRESS_OFF,
    OPTIONS_COMPRESS_ACCEPT,       /* as the peer wants it */
    OPTIONS_COMPRESS_UNCOMPRESSED, /* an S2 stream without compression: a level, not configured */
    OPTIONS_COMPRESS_AUTO, /* "s2_auto", the default: the level follows the round trip time */
    OPTIONS_COMPRESS_FAST,
    OPTIONS_COMPRESS_BETTER,
    OPTIONS_COMPRESS_BEST,
};
struct options_compression {
    enum options_compress mode;
    /* s2_auto: up to rtt_ns[0] uncompressed, up to [1] fast, [2] better, beyond best; 0: that level
     * is not used. At least one entry. */
    int64_t rtt_ns[4];
    unsigned nrtts;
};
const char *options_compress_name(enum options_compress mode); /* as on the wire */
/* The mode in which a side in the mode `own` writes to a peer whose INFO says `theirs` (empty: the
 * field is absent); NONE and OFF: without compression.  MF_INVAL: no such mode.
 */
MF_MUSTCHECK int options_compress_agree(enum options_compress own, struct mf_slice theirs,
                                        enum options_compress *out);
/* The level that fits a round trip time; p->mode is AUTO. */
enum options_compress options_compress_level(const struct options_compression *p, int64_t rtt_ns);

struct options_leaf_url {
    char *shown;           /* "nats-leaf://host:7422", without user info */
    char *scheme;          /* lower case; "" if the URL is a bare host */
    char *host;            /* without brackets; "" can never connect */
    char *path;            /* of ws and wss: "" or "/x", no slash at the end */
    char *user, *password; /* decoded; NULL: none.  A user without password is a token as well */
    int port;
    bool ws, tls; /* tls: wss or tls */
};

enum options_write_timeout {
    OPTIONS_WRITE_RETRY, /* "default" and "retry": close only when no byte goes out */
    OPTIONS_WRITE_CLOSE,
};

struct options_leaf_proxy {
    bool set;
    char *host;
    int port;
    bool tls;              /* https: not available, named in the log */
    char *user, *password; /* both or none */
    int64_t timeout_ns;    /* default: dial_timeout */
};

struct options_leaf_remote {
    struct options_leaf_url *urls; /* none: the remote does nothing */
    size_t nurls;
    bool ws;                /* all urls are ws or wss */
    char *label;            /* `urls=["nats://h:7422"], account="$G"`, for logs */
    char *identity;         /* secret: account, credentials and whole urls */
    char *account;          /* default "$G" */
    char *credentials;      /* file; NULL: none */
    char *nkey;             /* seed, a secret; NULL: none */
    struct options_tls tls; /* tls.set: TLS even if the peer does not ask for it */
    bool hub, no_randomize, ws_compression, ws_no_masking, disabled, ignore_discovered;
    bool isolate, request_isolation;
    struct options_list deny_imports, deny_exports; /* subjects, wildcards allowed */
    struct options_compression compression;
    int64_t first_info_timeout_ns; /* default 1 s */
    int64_t dial_timeout_ns;       /* default: that of the block */
    struct options_leaf_proxy proxy;
};

struct options_leaf {
    char *advertise_host; /* NULL: as it listens */
    int advertise_port;   /* 0: that of the listener */
    bool no_advertise;
    struct options_auth auth; /* user, password, nkey, account, users; timeout_ns is filled in */
    struct options_tls tls;
    char *min_version; /* "2.8.0"; NULL: any */
    unsigned min_version_parts[3];
    struct options_compression compression;
    int64_t reconnect_ns;      /* default 1 s */
    int64_t dial_timeout_ns;   /* default 1 s */
    bool isolate;              /* interest of other leafs is announced on no link */
    int64_t write_deadline_ns; /* default: that of clients */
    enum options_write_timeout write_timeout;
    struct options_leaf_remote *remotes;
    size_t nremotes;
};

/* --- reload ----------------------------------------------------------------------------------- */
/* The remote with the same account, credentials and urls; NULL: it is new, or gone. */
const struct options_leaf_remote *options_leaf_find(const struct options_leaf *l,
                                                    const struct options_leaf_remote *like);

enum options_leaf_change {
    OPTIONS_LEAF_SAME,
    OPTIONS_LEAF_APPLIES,    /* takes effect without a new connection, or with the next one */
    OPTIONS_LEAF_RECONNECTS, /* the link has to be made again */
};
/* Compares a remote with the one that options_leaf_find() found. *what: names of the keys that
 * differ, "deny_imports, hub", in `what`. */
enum options_leaf_change options_leaf_compare(const struct options_leaf_remote *a,
                                              const struct options_leaf_remote *b, char *what,
                                              size_t cap);
/* The same for everything in the block that is no remote.  RECONNECTS: accepted links must be
 * checked again (authorization) or made again (compression). */
enum options_leaf_change options_leaf_compare_block(const struct options_leaf *a,
                                                    const struct options_leaf *b, char *what,
                                                    size_t cap);

#endif
