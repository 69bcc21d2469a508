/* client_impl.h: a client session and its subscriptions.  A part of server_impl.h. */
#ifndef MAYFLY_CLIENT_IMPL_H
#define MAYFLY_CLIENT_IMPL_H

#include "account/account.h"
#include "auth/auth.h"
#include "base/table.h"
#include "loop/loop.h"
#include "net/net.h"
#include "proto/proto.h"
#include "server/client_info.h"
#include "session/delivery.h"
#include "session/grants.h"
#include "session/login.h"
#include "session/nonce.h"
#include "session/proxy.h"
#include "session/reason.h"
#include "session/trace.h"
#include "ws/ws.h"

struct server;

enum client_phase {
    CLIENT_PROXY,     /* the header of a load balancer is expected, or the client itself */
    CLIENT_TLS_FIRST, /* nothing sent yet: the peer begins with a TLS hello (or the fallback fires)
                       */
    CLIENT_TLS_PEEK,  /* INFO sent in clear; the first byte distinguishes TLS from plain */
    CLIENT_TLS,       /* handshake under way */
    CLIENT_WAIT,      /* CONNECT expected */
    CLIENT_CHECKING,  /* credentials are with a worker */
    CLIENT_READY,
    CLIENT_CLOSING,
};

/* A subscription of a client.  It is in client.subs (by sid) and in its account's router. */
struct sub {
    struct router_sub rs;
    struct table_node node; /* client.subs, by sid */
    struct client *client;
    uint64_t delivered, max; /* max 0: no limit */
    bool filtered;           /* deliveries must pass the deny list */
    uint32_t sid_len;
    char sid[];
};

/* Values of a WebSocket handshake.  Strings are NULL when absent. */
struct client_ws {
    struct ws_pipe *pipe;
    char *ip;                        /* X-Forwarded-For */
    char *user, *pass, *token, *jwt; /* from cookies, for credentials missing in CONNECT */
};

struct client {
    struct mf_list link, stall_link, unknown_link;
    struct mf_list session_link; /* account_sessions() */
    struct table_node cid_node;
    struct server *srv;
    struct net_conn *conn;
    struct account *account;
    uint64_t cid;
    enum client_kind kind;
    enum client_phase phase;
    bool in_account; /* counted in its account */
    bool verbose, pedantic, echo, headers, no_responders;
    bool connected; /* a CONNECT was accepted */
    bool sent_info, sent_connect_info;
    bool stall_wanted; /* it filled the queue of a slow reader */
    bool stalled;
    bool leave;     /* INFO says ldm to this client alone */
    bool tls_first; /* the handshake came before INFO */
    bool by_token;  /* its credential was a token */
    uint8_t protocol;
    int64_t pings_out;
    enum reason close_reason; /* set before net_close() */
    struct proto_limits limits;
    struct perms *perms;

    struct table subs; /* sub.node */
    size_t subs_at;    /* client_drop_subs() continues here */
    struct grants grants;

    uint64_t in_msgs, in_bytes, out_msgs, out_bytes;
    struct delivery_output output;
    int64_t start_wall_ns, start_mono_ns, last_mono_ns; /* last: any message or subscription */
    int64_t ping_sent_ns, rtt_ns;
    int64_t hello_ns; /* from accept to CONNECT: used as round trip time until a ping measures it */
    uint64_t stalls;
    int64_t deadline_wall_ns; /* credentials end; 0: never */
    struct loop_timer *timer; /* TLS fallback, auth timeout, then pings */
    int64_t next_ping_ns;
    struct client_job *job;        /* running check of credentials */
    struct client_login *login;    /* under way at a login service */
    struct login_user *who;        /* by a login service; NULL: a user of the configuration */
    int64_t max_subs, max_payload; /* of `who`; -1: no limit */

    char nonce[NONCE];          /* "" when none was sent */
    struct connect_opts opts;   /* options of CONNECT, secrets wiped after the check */
    char *user;                 /* authenticated name, or NULL */
    char *proxy_key;            /* public key of the trusted proxy in between, or NULL */
    struct client_ws *ws;       /* values of the handshake; NULL for TCP clients */
    struct proxy_peer *proxied; /* the client behind a load balancer; NULL: the peer itself */
};

/* --- client.c --------------------------------------------------------------------------------- */
void client_accept(struct server *s, struct net_conn *conn);
void client_accept_ws(void *server, struct net_conn *conn, const struct ws_request *r);
/* err: text of an -ERR line to send first, or NULL. */
void client_close(struct client *c, const char *err, enum reason reason);
/* Counts and closes a client that does not read while more than max_pending waits for it. */
void client_slow(struct client *c);
/* One -ERR line of any length; without memory none. */
void client_send_err(struct client *c, const char *fmt, ...) MF_PRINTF(2, 3);
void client_send_ok(struct client *c); /* if it is verbose */
bool client_speaks_tls(const struct client *c);
void client_tls_begin(struct client *c); /* or plain text, if there is no TLS any more */
void client_plain_begin(struct client *c);
void client_send_info(struct client *c, bool after_connect);
void client_send_ldm(struct client *c);
const char *client_ip(const struct client *c);
int client_port(const struct client *c);
/* TLS or plain text, as configured; after the header of a load balancer. */
void client_begin(struct client *c);
/* 127.0.0.1:5000 - cid:7 - "v1.2:c:name" - "A/user:u", for log lines. */
const char *client_label(const struct client *c, char *dst, size_t cap);
int64_t client_auth_timeout(const struct client *c);

void client_free(struct client *c); /* after its end: in no list, without subscriptions */

/* --- departed.c: closed connections that had very many subscriptions ---------------------------
 */
void departed_add(struct client *c); /* owns c from here on */
void departed_finish(struct server *s);

/* --- ws_listen.c ------------------------------------------------------------------------------ */
int ws_listen(struct server *s, struct mf_error *e);
void ws_options_refresh(struct server *s); /* from the present options */
struct client_ws *client_ws_new(const struct server *s, const struct ws_request *r);
void client_ws_free(struct client_ws *w);
/* Puts the reason into the close frame. */
void client_ws_farewell(const struct client *c);
/* Fills credentials that CONNECT does not give from cookies. */
void client_ws_cookies(struct client *c);

/* --- client_proxy.c --------------------------------------------------------------------------- */
void client_proxy_begin(struct client *c);
/* Returns the bytes that were the header's; the others are the client's own. */
size_t client_proxy_read(struct client *c, const uint8_t *p, size_t n);
void client_proxy_late(struct client *c);

/* --- client_auth.c ---------------------------------------------------------------------------- */
/* A CONNECT line.  Returns false when the rest of the input must wait (a worker checks). */
bool client_connect(struct client *c, struct mf_slice json);
/* Enters an account without CONNECT, where no credentials are required. */
bool client_enter_anonymous(struct client *c);
void client_auth_abandon(struct client *c);
enum auth_kind client_auth_kind(const struct client *c);
/* Whether credentials are required; and whether CONNECT must be the first command. */
bool client_must_login(const struct client *c);
bool client_login_first(const struct client *c);
/* Frees a table that a reload replaced, now or when no worker reads it any more. */
void client_auth_retire(struct server *s, struct auth *old);

/* --- client_enter.c; more in client_enter_impl.h -----------------------------------------------
 */
void client_leave_account(struct client *c);
void client_reload(struct client *c, const struct auth *old); /* new permissions, or its end */
bool client_subs_full(const struct client *c);                /* as many as it may have */

/* --- client_timer.c --------------------------------------------------------------------------- */
void client_timer_start(struct client *c); /* auth timeout or TLS fallback, by phase */
void client_timer_pings(struct client *c); /* after CONNECT */
void client_pong(struct client *c);
void client_timer_fired(void *client);

/* --- client_pub.c ----------------------------------------------------------------------------- */
void client_publish(struct client *c, const struct proto_cmd *cmd);
struct msgtrace_peer;
void client_trace_peer(const struct client *c, struct msgtrace_peer *out); /* as traces show it */
/* Whether a stream, the API or a service import receives messages on the subject.  Subscriptions
 * that receive everything (`>`, `*.x`) do not count. */
bool client_reaches_server(struct client *c, struct mf_slice subject);
void client_unstall_all(void *server);

/* --- client_grant.c: allow_responses ---------------------------------------------------------- */
/* A message with this reply was delivered to c; asker published it, NULL: not a client. */
void client_grant_reply(struct client *c, const struct client *asker, struct mf_slice reply);
bool client_use_grant(struct client *c,
                      struct mf_slice subject); /* uses up one answer; false: none is granted */
void client_recheck_grants(struct client *c);   /* after new permissions */

/* --- client_sub.c ----------------------------------------------------------------------------- */
void client_subscribe(struct client *c, const struct proto_cmd *cmd);
void client_unsubscribe(struct client *c, const struct proto_cmd *cmd);
/* Removes all subscriptions; sliced: until the slice ends. true: none is left. */
bool client_drop_subs(struct client *c, bool sliced);
/* After a reload: removes forbidden subscriptions, with -ERR. */
void client_recheck_subs(struct client *c);
/* Sends a message to one subscription alone (the 503 of no responders). */
void sub_send(struct sub *sub, const struct mf_msg *m);

/* --- info.c ----------------------------------------------------------------------------------- */
void info_render(const struct client *c, struct mf_buf *out, bool after_connect);

#endif
