/* closed.h: what pages and events show of a connection, and the memory of those that ended. */
#ifndef MAYFLY_SERVER_CLOSED_H
#define MAYFLY_SERVER_CLOSED_H

#include "base/list.h"

struct client;
struct server;

enum client_kind { CLIENT_TCP, CLIENT_WS };

/* What /connz and events show of a connection, open or closed.  Strings may be NULL. */
struct conn_info {
    uint64_t cid;
    enum client_kind kind;
    const char *ip;
    int port;
    int64_t start_ns, last_ns, stop_ns; /* wall; stop 0 while open */
    const char *reason;
    int64_t rtt_ns;
    uint64_t pending, in_msgs, in_bytes, out_msgs, out_bytes, stalls, nsubs;
    bool tls_first;
    const char *name, *lang, *version, *account, *user, *tls_version, *tls_cipher;
};
struct sub_info {
    const char *subject, *queue, *sid;
    uint64_t msgs, max;
};
/* A closed connection: one allocation holds it, its strings and its first subscriptions. */
#define CLOSED_SUBS 32
struct closed_client {
    struct mf_list link; /* server.closed, oldest first */
    struct conn_info info;
    unsigned held; /* by pages that are being made */
    bool gone;     /* off the list; freed when nobody holds it */
    size_t nsubs;
    struct sub_info *subs;
};
/* It stays readable until it is released. */
void closed_hold(struct closed_client *k);
void closed_release(struct closed_client *k);

void closed_remember(struct client *c); /* O(its subscriptions, at most CLOSED_SUBS) */
void closed_free_all(struct server *s);

/* Borrows from the client; valid until it changes. */
void conn_info_of(const struct client *c, struct conn_info *out);
int64_t conn_rtt_ns(const struct client *c);   /* before the first pong: as long as CONNECT took */
const char *conn_user(const struct client *c); /* for pages, never a secret; or NULL */
bool conn_has_issuer(const struct client *c);  /* an nkey user: its account is shown as issuer */

#endif
