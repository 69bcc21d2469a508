/* server_state.h: the state of a running server, for pages, events and metrics; and the events of
 * which a server notifies its observers. */
#ifndef MAYFLY_SERVER_STATE_H
#define MAYFLY_SERVER_STATE_H

#include "base/list.h"
#include "server/server.h"

struct auth;
struct client;
struct login_refusal;
struct monitor;

struct server_counters {
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes;
    uint64_t slow_consumers, stale_connections, total_connections, stalled;
};

struct loop *server_loop(const struct server *s);
const struct options *server_options(const struct server *s); /* valid until the next reload */
const struct auth *server_auth(const struct server *s);       /* likewise */
const struct server_counters *server_counters(const struct server *s);
const char *server_program(const struct server *s); /* argv[0] */
uint32_t server_clients(const struct server *s);    /* open connections */
/* How many there may be: max_connections, or fewer where descriptors are short. */
uint64_t server_max_clients(const struct server *s);
uint64_t server_subs(const struct server *s); /* subscriptions of clients, in all accounts */
int64_t server_start_wall_ns(const struct server *s);
int64_t server_start_mono_ns(const struct server *s);
int64_t server_config_load_ns(const struct server *s); /* wall clock */
bool server_is_stopping(const struct server *s);
bool server_is_lame_duck(const struct server *s);
bool server_has_tls(const struct server *s); /* for clients over TCP */

enum server_listener {
    SERVER_LEAFNODES,
    SERVER_CLUSTER,
    SERVER_GATEWAY,
    SERVER_MQTT,
    SERVER_WEBSOCKET,
    SERVER_HTTP,
    SERVER_HTTPS,
};
/* The port that is open, or `otherwise`. */
int server_open_port(const struct server *s, enum server_listener which, int otherwise);
/* Requests for a page over HTTP and HTTPS. */
uint64_t server_page_hits(const struct server *s, const char *path);

/* The listener for clients: TCP, or unix: of the file system; NULL: not open. */
struct net_listener;
const struct net_listener *server_client_listener(const struct server *s, bool local);

#define SERVER_HOST 256
/* Host and port announced to clients: client_advertise, or the address of the listener. */
const char *server_host(const struct server *s, char dst[SERVER_HOST]);
int server_port(const struct server *s);

/* --- events ----------------------------------------------------------------------------------- */

/* Embedded in its owner, which zeroes it and fills arg and the functions it needs. */
struct server_observer {
    void *arg;
    void (*connected)(void *arg, const struct client *c); /* its first CONNECT was accepted */
    /* It left its account: to close (client_is_closing()), or to enter another one. */
    void (*left)(void *arg, const struct client *c);
    /* no: of a login service; NULL: the users of the configuration refused it. */
    void (*auth_failed)(void *arg, const struct client *c, const struct login_refusal *no);
    /* A reload removed the account: subscriptions in its router must end. */
    void (*account_removed)(void *arg, struct account *a);
    void (*lame_duck)(void *arg);
    /* A monitoring port was opened: the place to add pages.  Returns 0 or an error code. */
    int (*monitor_opened)(void *arg, struct monitor *m);
    struct mf_list link; /* the server's */
};
void server_observe(struct server *s, struct server_observer *o);
void server_unobserve(struct server_observer *o); /* harmless if it does not observe */

#endif
