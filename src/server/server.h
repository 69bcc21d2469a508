/* server.h: the running NATS server: listeners, client sessions, reload, lame duck, shutdown. */
#ifndef MAYFLY_SERVER_H
#define MAYFLY_SERVER_H

#include "account/account.h"
#include "monitor/health.h"
#include "loop/loop.h"
#include "config/options.h"

/* What INFO and /varz announce, so that clients switch their features on; and who we really are. */
#define SERVER_NATS_VERSION   "2.15.1"
#define SERVER_GO_VERSION     "none" /* clients require the field `go`; this server is not Go */
#define SERVER_API_LEVEL      5
#define SERVER_MAYFLY_VERSION "0.1.0"

struct server;
struct doc;
struct jsonw;
struct monitor;
struct mf_buf;

/* What stands above the server and is served through it (JetStream); the server knows nothing of it
 * but these calls.  Only when jetstream is enabled. */
struct server_guest {
    void *arg;
    /* Before anybody is served; may block. */
    int (*open)(void *arg, struct server *s, const struct options *o, struct mf_error *e);
    /* The options of before are freed after this. */
    void (*reload)(void *arg, const struct options *o);
    void (*leaving)(void *arg); /* about to stop; the clients are still there */
    /* The clients are gone: closed() when everything is on disk. */
    void (*close)(void *arg, void (*closed)(void *closed_arg), void *closed_arg);
    void (*pages)(void *arg, struct monitor *m); /* adds /jsz and /ttlz */
    /* That page as a member of d, in steps that follow; account: one account of it alone, NULL:
     * all.  options: JSON. MF_PROTO: they are wrong. */
    int (*jsz)(void *arg, struct mf_slice options, const char *account, struct doc *d,
               const char *key, struct mf_error *e);
    int (*ttlz)(void *arg, struct mf_slice options, struct doc *d, const char *key,
                struct mf_error *e);
    /* Members of "jetstream" in /varz and STATSZ; paths: where it stores, too. */
    void (*varz)(void *arg, struct jsonw *w, bool paths);
    void (*metrics)(void *arg, struct doc *d); /* Prometheus text, likewise */
    /* Tells of everything that is not well, at once or in steps that it adds to d. */
    void (*health)(void *arg, const struct health_query *q, struct doc *d, health_tell tell,
                   void *tell_arg);
    bool (*enabled)(void *arg, const struct account *a); /* for this account? */
};

struct server_setup {
    struct options *options; /* taken over on success */
    /* Loads the configuration again for SIGHUP; NULL: reload is refused. */
    int (*reload)(void *arg, struct options **out, struct mf_error *e);
    void *reload_arg;
    /* Everything is closed: the loop may stop. */
    void (*stopped)(void *arg);
    void *stopped_arg;
    const char *program; /* argv[0], names the ports file */
    struct server_guest guest;
};

/* Opens every listener or none.  Logs "Server is ready" when all are open. */
MF_MUSTCHECK int server_start(struct server **out, struct loop *l, const struct server_setup *setup,
                              struct mf_error *e);
/* Closes listeners and clients, removes the pid and ports files, then calls stopped(). */
void server_shutdown(struct server *s);
/* Announces ldm, waits the grace period, closes clients spread over the duration, shuts down. */
void server_lame_duck(struct server *s);
/* All of it or nothing; the log tells which. */
MF_MUSTCHECK int server_reload(struct server *s, struct mf_error *e);
void server_free(struct server *s); /* after stopped() */

/* Would these options start a server?  Builds all that can fail but the listeners (-t). */
MF_MUSTCHECK int server_check(const struct options *o, struct mf_error *e);
/* The log as the options want it; on failure the former one stays. */
MF_MUSTCHECK int server_open_log(const struct options *o, struct mf_error *e);

struct accounts *server_accounts(struct server *s);
const char *server_name(const struct server *s);
const char *server_id(const struct server *s);
/* Who sent this (router_msg.origin), as JetStream's audit events show it; false: the server itself.
 */
bool server_client_info(const struct server *s, const void *origin, struct mf_buf *json);

#endif
