/* server_impl.h: the server from inside, shared by the files of this folder. */
#ifndef MAYFLY_SERVER_IMPL_H
#define MAYFLY_SERVER_IMPL_H

#include "account/account.h"
#include "auth/auth.h"
#include "base/list.h"
#include "loop/loop.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "config/options.h"
#include "router/router.h"
#include "server/server_state.h"
#include "session/tls_setup.h"
#include "base/table.h"
#include "loop/work.h"
#include "ws/ws.h"

#include "server/client_impl.h"
#include "server/admission_impl.h"

struct server {
    struct loop *loop;
    struct options *opts;
    struct server_setup setup;
    char id[NKEY_TEXT];
    char *name; /* points into opts, or to id */
    int64_t start_wall_ns, start_mono_ns, config_load_wall_ns;

    struct accounts *accounts;
    struct auth *auth;
    struct mf_list auth_jobs;    /* client_job.link: running; each reads the table it was given */
    struct mf_list auth_waiting; /* client_job.link: not with a worker yet */
    unsigned nauth_waiting, nauth_running;
    char auth_last_ip[64]; /* address of the check begun last */
    struct net_tls *tls, *ws_tls, *http_tls;
    struct net_listener *listener, *ws_listener, *unix_listener;
    struct net_listener *inherited[SERVER_FDS]; /* from the service manager */
    struct net_listener *idle_listeners[4];     /* leafnodes, cluster, gateway, mqtt */
    void (*leafnode)(void *arg, struct net_conn *c, bool ws); /* NULL: leafnodes is idle, too */
    void *leafnode_arg;
    struct monitor *http, *https;
    struct ws_options ws_opts;
    struct mf_buf ws_headers; /* extra lines of the handshake's answer */

    struct mf_list clients; /* client.link: every open session, oldest first */
    uint32_t nclients;
    struct mf_list unknown; /* client.unknown_link: not in an account yet, oldest first */
    uint64_t files_max;     /* descriptors of this process */
    unsigned files_kept;    /* reserved for files */
    struct table by_cid;    /* client.cid_node */
    uint64_t next_cid;
    struct server_counters total;
    uint64_t nsubs; /* client subscriptions in all accounts */

    struct mf_list closed; /* closed_client.link */
    size_t nclosed;

    struct mf_list departed;  /* client.link: closed, with subscriptions still to be removed */
    struct work_owner upkeep; /* the server's own work in slices */
    struct work_task departing;
    struct mf_list renewals; /* of accounts with many clients, under way */

    struct mf_list stalled; /* client.stall_link: publishers waiting for slow readers */
    struct loop_timer *stall_timer;
    struct loop_timer *expire_timer; /* reply subjects of service imports */
    int64_t tls_window_ns;           /* rate limit of handshakes: one-second window */
    int64_t tls_in_window;

    bool stopping, lame_duck;
    int64_t ldm_close_every_ns;
    struct loop_timer *ldm_timer;
    struct loop_timer *stop_timer;

    struct service *service; /* NULL: no service manager waits for messages */

    struct mf_list observers;                 /* server_observer.link */
    size_t modules_open;                      /* of setup.modules */
    void (*modules_closed)(struct server *s); /* after modules_close() returned false */
    bool jetstream;                           /* announced to clients */
    char *pid_path, *ports_path;              /* the files that were written, or NULL */
    bool stop_finished;
    bool freed; /* server_free() was called; running jobs still read the table of users */
};

/* --- closed.c --------------------------------------------------------------------------------- */
void closed_remember(struct client *c); /* O(its subscriptions, at most CLOSED_SUBS) */
void closed_free_all(struct server *s);

/* --- modules.c -------------------------------------------------------------------------------- */
int modules_open(struct server *s, struct mf_error *e);
void modules_reload(struct server *s);
void modules_leaving(struct server *s);
bool modules_close(struct server *s);

/* --- state.c: events for observers ------------------------------------------------------------ */
void notify_connected(const struct client *c);
void notify_left(const struct client *c);
void notify_auth_failed(const struct client *c, const struct login_refusal *no);
void notify_account_removed(struct server *s, struct account *a);
void notify_lame_duck(struct server *s);
int notify_monitor_opened(struct server *s, struct monitor *m);

/* --- advice.c --------------------------------------------------------------------------------- */
void advice_log(const struct options *o, const struct options *said); /* server_advise() */

/* --- ports.c ---------------------------------------------------------------------------------- */
bool ports_is_any(const char *host); /* all addresses of the machine */
/* MF_INVAL: two listeners would have the same address. */
int ports_check(const struct options *o, struct mf_error *e);
/* Binds each address for a moment.  One that is in use is said; others that fail are errors. */
int ports_probe(const struct options *o, void (*say)(void *arg, const char *text), void *arg,
                struct mf_error *e);

/* --- server.c --------------------------------------------------------------------------------- */
void server_client_gone(struct server *s); /* shutdown waits for the last one */
void server_tell_state(struct server *s);  /* to the service manager, in words */
void server_auth_idle(struct server *s);   /* the memory of the server waits for the last job */

/* --- renew.c ---------------------------------------------------------------------------------- */
void renewals_end(struct server *s);

/* --- files.c ---------------------------------------------------------------------------------- */
int files_write(struct server *s, struct mf_error *e); /* pid and ports files */
void files_remove(struct server *s);
void files_move(struct server *s, const struct options *old); /* after a reload */

/* --- unix_listen.c ---------------------------------------------------------------------------- */
int unix_check(const struct options *o, struct mf_error *e); /* owner and group exist */
int unix_listen(struct server *s, struct mf_error *e);
int inherited_listen(struct server *s, struct mf_error *e);
void unix_close(struct server *s);

#endif
