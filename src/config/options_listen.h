/* options_listen.h: a part of options.h: lists of texts, and settings of listeners: TLS, the Unix
 * socket.  Include options.h. */
#ifndef MAYFLY_OPTIONS_LISTEN_H
#define MAYFLY_OPTIONS_LISTEN_H

#include "base/base.h"

struct options_list { /* of strings */
    char **items;
    size_t n;
};
struct options_pair {
    char *key, *value;
};
struct options_pairs {
    struct options_pair *items;
    size_t n;
};

struct options_tls {
    bool set;
    struct options_pair *certs; /* key = cert_file, value = key_file */
    size_t ncerts;
    char *ca_file;
    bool verify, verify_and_map, verify_and_map_set, insecure;
    bool handshake_first;
    int64_t handshake_first_fallback_ns; /* > 0: "auto" or a delay; then INFO in clear */
    int64_t timeout_ns;                  /* default 2 s */
    int min_version;                     /* 0x0301..0x0304; 0: 1.2 */
    char *ciphers, *suites;              /* OpenSSL names, ':' separated; from Go's names */
    char *curves;
    struct options_list pinned; /* lower case hex */
    int64_t rate_limit;         /* handshakes per second; 0: none */
    int line, col;              /* of the block, for messages; file NULL: flags */
    const char *file;
};

#define OPTIONS_UNIX_PATH 107 /* bytes of the path of a socket */
struct options_unix {
    char *path;          /* NULL: none */
    int64_t mode;        /* default 0600 */
    char *owner, *group; /* names or numbers; NULL: as the process */
    bool alone;          /* named by `listen`: no TCP port unless `port` names one */
};

#endif
