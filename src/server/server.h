/* server.h: a NATS server: listeners, client sessions, reload, lame duck, shutdown. */
#ifndef MAYFLY_SERVER_H
#define MAYFLY_SERVER_H

#include "account/account.h"
#include "base/log.h"
#include "loop/loop.h"
#include "config/options.h"
#include "mayfly.h"

/* Versions in INFO and /varz.  Clients enable features by the version of NATS. */
#define SERVER_NATS_VERSION   "2.15.1"
#define SERVER_GO_VERSION     "none" /* clients require the field `go`; this server is not Go */
#define SERVER_API_LEVEL      5
#define SERVER_MAYFLY_VERSION MAYFLY_VERSION

struct login_service;
struct server;

/* A part of the program above the server, opened and closed with it: JetStream, status.  reload and
 * leaving may be NULL. */
struct server_module {
    const char *name; /* for errors */
    void *arg;
    /* Before anybody is served; may block. */
    int (*open)(void *arg, struct server *s, const struct options *o, struct mf_error *e);
    /* The former options are freed after this call. */
    void (*reload)(void *arg, const struct options *o);
    void (*leaving)(void *arg); /* about to stop; the clients are still connected */
    /* All clients are closed.  true: the module is closed.  false: closed() is called later, when
     * everything is on disk. */
    bool (*close)(void *arg, void (*closed)(void *closed_arg), void *closed_arg);
};

/* A server inside another program.  The limits of the process, its standard error and its syslog
 * settings are not the server's to change. */
struct server_guest {
    log_call_fn *log; /* lines, where the options name no file or syslog; NULL: none are written */
    void *log_arg;
    uint64_t files_max; /* descriptors that the server may use; 0: the process's */
};

#define SERVER_FDS 8
struct server_setup {
    struct options *options; /* owned by the server on success */
    /* Loads the configuration again for SIGHUP; NULL: reload is refused. */
    int (*reload)(void *arg, struct options **out, struct mf_error *e);
    void *reload_arg;
    /* Everything is closed: the loop may stop. */
    void (*stopped)(void *arg);
    void *stopped_arg;
    const char *program; /* argv[0], names the ports file */
    const char *id;      /* "N..."; NULL: the server makes one up */
    const char *xkey;    /* "X...", announced in INFO: services may seal for it; NULL: none */
    /* Opened in this order, closed in the reverse order; valid until server_free(). */
    const struct server_module *modules;
    size_t nmodules;
    const int *fds; /* sockets that listen for clients already, instead of the client port */
    size_t nfds;    /* at most SERVER_FDS are used */
    const struct server_guest *guest; /* NULL: the server is the whole process */
    /* Logins that the users of the configuration do not decide; NULL: none.  A module may fill it
     * when it opens, and change it when it reloads. */
    const struct login_service *login;
    /* The server is the whole process: the service manager named by the environment (systemd) is
     * told of start, reload and stop. */
    bool notify_manager;
};

/* Opens every listener or none.  Logs "Server is ready" when all are open. */
MF_MUSTCHECK int server_start(struct server **out, struct loop *l, const struct server_setup *setup,
                              struct mf_error *e);
/* Closes listeners and clients, removes the pid and ports files, then calls stopped(). */
void server_shutdown(struct server *s);
/* Announces ldm, waits the grace period, closes clients spread over the duration, shuts down. */
void server_lame_duck(struct server *s);
/* Replaces the whole configuration or nothing; logs the result. */
MF_MUSTCHECK int server_reload(struct server *s, struct mf_error *e);
void server_free(struct server *s); /* after stopped() */
/* fd, one end of a connected socket pair, is a client from now on; owned, also on failure. */
MF_MUSTCHECK int server_adopt(struct server *s, int fd, struct mf_error *e);

/* Whether a server could start with these options (-t).  Builds everything that can fail, looks at
 * the folders of log, pid and ports files, and binds each address for a moment; nothing is created.
 * say() is called for addresses that are in use: perhaps by the server that is to be reloaded. */
MF_MUSTCHECK int server_check(const struct options *o, void (*say)(void *arg, const char *text),
                              void *arg, struct mf_error *e);
/* Calls say() with each warning about these options: deprecated and inactive ones, passwords in
 * clear, a server that is open to everybody.  said: options whose warnings were given before, and
 * are not repeated; or NULL. */
void server_advise(const struct options *o, const struct options *said,
                   void (*say)(void *arg, const char *text), void *arg);
/* Opens the log of this thread according to the options; on failure the former log stays.  guest
 * may be NULL. */
MF_MUSTCHECK int server_open_log(const struct options *o, const struct server_guest *guest,
                                 struct mf_error *e);

/* For the part of the program that serves leaf links, from its open() on: gets the connections to
 * the listener of leafnodes {}, and those to the path /leafnode of the WebSocket listener (ws:
 * upgraded already; it must set another handler).  Without it they are closed at once. */
struct net_conn;
void server_on_leafnode(struct server *s, void (*accepted)(void *arg, struct net_conn *c, bool ws),
                        void *arg);
uint64_t server_next_cid(struct server *s); /* an id for a connection, never used before */
/* origin: of a message that a client published.  Its reader is slow: the client waits for a few
 * milliseconds after the present command. */
void server_stall(struct server *s, const void *origin);

struct accounts *server_accounts(struct server *s);
/* The claims of an account changed: each of its clients gets its present rights of the login
 * service, or ends; the oldest first, some hundred at once and the others in time slices. */
void server_account_renew(struct server *s, struct account *a);
/* An account that is not of the configuration was dropped: closes its clients, tells observers. */
void server_account_gone(struct server *s, struct account *a);
const char *server_name(const struct server *s);
const char *server_id(const struct server *s);

#endif
