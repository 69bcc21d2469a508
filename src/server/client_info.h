/* client_info.h: connections of a server as pages and events show them: open ones, and the record
 * of those that closed. */
#ifndef MAYFLY_CLIENT_INFO_H
#define MAYFLY_CLIENT_INFO_H

#include "base/list.h"
#include "base/table.h"

struct account;
struct client;
struct login_user;
struct net_tls_peer;
struct perms;
struct router_sub;
struct server;

enum client_kind { CLIENT_TCP, CLIENT_WS, CLIENT_LEAF };

/* A connection, open or closed.  Strings may be NULL. */
struct client_info {
    uint64_t cid;
    enum client_kind kind;
    const char *ip;
    int port;
    int64_t start_ns, last_ns, stop_ns; /* wall; stop 0 while open */
    const char *reason;
    int64_t rtt_ns;
    uint64_t pending, in_msgs, in_bytes, out_msgs, out_bytes, stalls, nsubs;
    bool tls_first;
    const char *proxy_key; /* of a trusted proxy in between */
    const char *name, *lang, *version, *account, *user, *tls_version, *tls_cipher;
    const char *account_tag; /* the account's name for people */
    const char *issuer;      /* key that signed the user, or the account of an nkey user */
    /* By a login service; NULL: a user of the configuration.  refused: whoever it claimed to be. */
    struct login_user *who;
    bool refused;
};
/* A subscription of a connection. */
struct client_sub {
    struct mf_slice subject, queue, sid;
    uint64_t msgs, max, cid;
};

/* --- one open connection ---------------------------------------------------------------------- */

/* Borrows from the client; valid until the client changes. */
void client_info_of(const struct client *c, struct client_info *out);
int64_t client_rtt_ns(const struct client *c);   /* before the first pong: duration of CONNECT */
const char *client_user(const struct client *c); /* for pages, never a secret; or NULL */
const struct login_user *client_who(const struct client *c); /* as client_info.who */
struct server *client_server(const struct client *c);
struct account *client_account(const struct client *c);   /* NULL: not in an account yet */
const struct perms *client_perms(const struct client *c); /* NULL: everything is allowed */
int64_t client_deadline_ns(const struct client *c);       /* end of its credentials; 0: never */
bool client_is_closing(const struct client *c);
void client_tls_peer(const struct client *c, struct net_tls_peer *out); /* of a TLS connection */

/* Visits a bounded part of the subscriptions; false: no more.  Every subscription that stays is
 * visited once, whatever happens between two calls. */
void client_subs_begin(const struct client *c, struct table_scan *scan);
bool client_subs_scan(const struct client *c, struct table_scan *scan,
                      void (*visit)(void *arg, const struct client_sub *sub), void *arg);

/* Orders of an operator. */
void client_kick(struct client *c);
bool client_ask_to_leave(struct client *c); /* false: the client does not support INFO with ldm */

/* --- all connections of a server -------------------------------------------------------------- */

struct client *server_find_client(const struct server *s, uint64_t cid); /* or NULL */
/* As client_subs_scan(). */
void server_clients_begin(const struct server *s, struct table_scan *scan);
bool server_clients_scan(const struct server *s, struct table_scan *scan,
                         void (*visit)(void *arg, const struct client *c), void *arg);
/* Whether a subscription in a router belongs to a client, not to the server itself. */
bool server_is_client_sub(const struct router_sub *rs);

/* --- closed connections ----------------------------------------------------------------------- */

/* One allocation holds the record, its strings and the first subscriptions; the user of a login
 * service is kept with it. */
#define CLOSED_SUBS 32
struct closed_client {
    struct mf_list link; /* server.closed, oldest first */
    struct client_info info;
    unsigned held; /* by pages that are being made */
    bool unlisted; /* freed with the last holder */
    size_t nsubs;
    struct client_sub *subs;
};
/* Oldest first, at most max_closed_clients. */
void server_each_closed(const struct server *s, void (*visit)(void *arg, struct closed_client *k),
                        void *arg);
/* Keeps the record of a connection that is not the server's own: a leaf link.  stop_ns is set. */
void closed_remember_info(struct server *s, const struct client_info *info);
/* The record stays readable until it is released. */
void closed_hold(struct closed_client *k);
void closed_release(struct closed_client *k);

#endif
