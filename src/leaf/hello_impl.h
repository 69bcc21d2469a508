/* hello_impl.h: the documents of a link's handshake: INFO and CONNECT.  Pure. */
#ifndef LEAF_HELLO_IMPL_H
#define LEAF_HELLO_IMPL_H

#include "base/buf.h"
#include "codec/json.h"

/* `proto` and `protocol` of servers that trace messages; older ones have less. */
#define HELLO_TRACES 3

struct hello_subjects { /* allow and deny lists of a user */
    struct json_strs allow, deny;
};

/* INFO.  Texts are NULL when absent; they belong to the arena it was read into. */
struct hello_info {
    const char *server_id, *server_name, *version, *go, *host, *ip, *nonce, *cluster, *domain;
    const char *compression, *remote_account;
    int64_t proto, port, max_payload, client_id, api_level;
    bool headers, auth_required, tls_required, tls_verify, jetstream, info_on_connect;
    bool connect_info, system;
    struct json_strs urls, ws_urls;         /* of the acceptor and its cluster */
    struct hello_subjects *import, *export; /* NULL: everything */
};
void hello_info_write(struct mf_buf *out, const struct hello_info *i);
MF_MUSTCHECK int hello_info_read(struct mf_slice json, struct hello_info *out, struct arena *mem,
                                 struct mf_error *e);

/* CONNECT.  max_payload is Mayfly's own: what the soliciting server accepts. */
struct hello_connect {
    const char *version, *nkey, *jwt, *sig, *user, *pass, *token, *server_id, *name, *domain,
        *cluster;
    const char *compress_mode, *remote_account, *lang, *gateway;
    const char *proxy_sig; /* by a proxy in between; read alone */
    bool is_hub, headers, jetstream, isolate;
    int64_t protocol, max_payload;
    struct json_strs deny_pub;
};
void hello_connect_write(struct mf_buf *out, const struct hello_connect *c);
MF_MUSTCHECK int hello_connect_read(struct mf_slice json, struct hello_connect *out,
                                    struct arena *mem, struct mf_error *e);

/* "2.8.0", "v2.15.1-dev" as three numbers; 0, or MF_INVAL. */
MF_MUSTCHECK int hello_version(const char *text, unsigned parts[3]);

#endif
