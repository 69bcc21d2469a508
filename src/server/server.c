/* server.c: start and stop.
 *
 * Happy path: server_start() builds everything bottom-up (accounts, credentials, TLS, modules,
 * listeners), writes the pid and ports files, and logs "Server is ready". Failure: everything that
 * was built is undone; nothing listens. Stop: modules are notified, listeners close, clients are
 * closed; after the last client (or a few seconds) the modules are closed, and stopped() ends the
 * loop. */
#include "server/server_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/service_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define ADVICE 128 /* bytes of it */

static int64_t now_ns(void *arg)
{
    struct server *s = arg;

    return loop_mono_ns(s->loop);
}

/* --- listeners -------------------------------------------------------------------------------- */

static void accept_client(void *arg, struct net_conn *c)
{
    client_accept(arg, c);
}

/* A feature that is configured but not implemented: its port is open, connections are closed at
 * once. */
static void idle_accepted(void *arg, struct net_conn *c)
{
    (void)arg;
    net_close(c, 0);
}

static void leafnode_accepted(void *arg, struct net_conn *c)
{
    struct server *s = arg;

    s->leafnode(s->leafnode_arg, c, false);
}

static int listen_idle(struct server *s, struct mf_error *e)
{
    const struct options_block *blocks[] = {&s->opts->leafnodes, &s->opts->cluster,
                                            &s->opts->gateway, &s->opts->mqtt};
    static const char *const names[] = {"leafnode", "route", "gateway", "MQTT"};

    for (size_t i = 0; i < MF_COUNT(blocks); i++) {
        if (!blocks[i]->set || !blocks[i]->listens)
            continue;
        bool served = i == SERVER_LEAFNODES && s->leafnode != NULL;
        if (net_listen(&s->idle_listeners[i], s->loop, blocks[i]->host, blocks[i]->port,
                       served ? leafnode_accepted : idle_accepted, s, e) != 0)
            return mf_wrap(e, "listen for %s connections", names[i]);
        if (served)
            log_info("Listening for leafnode connections on %s:%d",
                     net_listener_host(s->idle_listeners[i]),
                     net_listener_port(s->idle_listeners[i]));
        else
            log_warn(
                "Listening for %s connections on %s:%d, but they are not served in this version",
                names[i], net_listener_host(s->idle_listeners[i]),
                net_listener_port(s->idle_listeners[i]));
    }
    return 0;
}

/* Says what to type when a port is taken. */
static const char *busy_advice(char dst[ADVICE], int code, const char *flag)
{
    dst[0] = '\0';
    if (code == MF_EXISTS)
        (void)snprintf(dst, ADVICE,
                       "; stop the program that has it (ss -ltnp names it), or name another port: "
                       "%s PORT",
                       flag);
    return dst;
}

static int open_monitor(struct server *s, struct monitor **out, int port, struct net_tls *tls,
                        struct mf_error *e)
{
    struct monitor_options o = {.host =
                                    s->opts->http_host != NULL ? s->opts->http_host : s->opts->host,
                                .port = port,
                                .base_path = s->opts->http_base_path,
                                .tls = tls};
    struct mf_error why;
    char advice[ADVICE];
    int rv;

    if (port == 0)
        return 0;
    if ((rv = monitor_open(out, s->loop, &o, &why)) != 0)
        return mf_fail(e, why.code, "Can't start monitoring: %s%s", why.text,
                       busy_advice(advice, rv, tls != NULL ? "-ms" : "-m"));
    log_info("Starting %s monitor on %s:%d", tls != NULL ? "https" : "http", monitor_host(*out),
             monitor_port(*out));
    rv = notify_monitor_opened(s, *out);
    return rv != 0 ? mf_fail(e, rv, "register pages") : 0;
}

static int listen_clients(struct server *s, struct mf_error *e)
{
    struct mf_error why;
    char advice[ADVICE];

    if (s->setup.nfds > 0)
        return inherited_listen(s, e);
    if (s->opts->dont_listen)
        return 0;
    if (net_listen(&s->listener, s->loop, s->opts->host, s->opts->port, accept_client, s, &why) !=
        0)
        return mf_fail(e, why.code, "Error listening on port: %s:%d, \"%s\"%s", s->opts->host,
                       s->opts->port, why.text, busy_advice(advice, why.code, "-p"));
    log_info("Listening for client connections on %s:%d", s->opts->host,
             net_listener_port(s->listener));
    if (s->tls != NULL)
        log_info("TLS required for client connections");
    if (s->opts->proxy_protocol)
        log_info("PROXY protocol enabled for client connections");
    return 0;
}

/* --- start ------------------------------------------------------------------------------------ */

static void log_identity(const struct server *s)
{
    log_info("Starting mayflyd");
    log_info("  Version:  %s (NATS %s)", SERVER_MAYFLY_VERSION, SERVER_NATS_VERSION);
    log_info("  Name:     %s", s->name);
    log_info("  ID:       %s", s->id);
    if (s->opts->config_file != NULL)
        log_info("Using configuration file: %s", s->opts->config_file);
    advice_log(s->opts, NULL);
}

static void expire_fired(void *arg)
{
    struct server *s = arg;
    int64_t now = loop_mono_ns(s->loop), next = accounts_expire(s->accounts, now);

    if (next != 0) /* an idle server has nothing to wake up for */
        loop_timer_arm(s->expire_timer, next > now ? next : now + CLOCK_S);
}

static void reply_waits(void *arg)
{
    struct server *s = arg;

    loop_timer_arm(s->expire_timer, loop_mono_ns(s->loop) + CLOCK_S);
}

static int build_parts(struct server *s, struct mf_error *e)
{
    if (ports_check(s->opts, e) != 0 || accounts_new(&s->accounts, s->opts, now_ns, s, e) != 0 ||
        auth_new(&s->auth, s->opts, e) != 0)
        return e->code;
    if (tls_setup(&s->tls, &s->opts->tls, e) != 0 ||
        tls_setup_pages(&s->http_tls, &s->opts->tls, e) != 0 ||
        tls_setup(&s->ws_tls, &s->opts->websocket.tls, e) != 0)
        return e->code;
    if (s->opts->https_port != 0 && s->tls == NULL)
        return mf_fail(e, MF_INVAL, "https monitoring needs a tls block");
    s->stall_timer = loop_timer_new(s->loop, client_unstall_all, s);
    s->expire_timer = loop_timer_new(s->loop, expire_fired, s);
    if (s->stall_timer == NULL || s->expire_timer == NULL)
        return mf_fail(e, MF_NOMEM, "timers");
    accounts_on_wait(s->accounts, reply_waits, s);
    s->jetstream = s->opts->jetstream.enabled;
    return modules_open(s, e);
}

static int open_listeners(struct server *s, struct mf_error *e)
{
    if (open_monitor(s, &s->http, s->opts->http_port, NULL, e) != 0 ||
        open_monitor(s, &s->https, s->opts->https_port, s->http_tls, e) != 0 ||
        ws_listen(s, e) != 0 || listen_idle(s, e) != 0 || unix_listen(s, e) != 0 ||
        listen_clients(s, e) != 0)
        return e->code;
    admission_log(s);
    return files_write(s, e);
}

static struct server *server_new(struct loop *l, const struct server_setup *setup)
{
    struct server *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->loop = l;
    s->setup = *setup;
    s->opts = setup->options;
    mf_list_init(&s->clients);
    mf_list_init(&s->closed);
    mf_list_init(&s->stalled);
    mf_list_init(&s->departed);
    mf_list_init(&s->renewals);
    mf_list_init(&s->observers);
    mf_list_init(&s->auth_jobs);
    mf_list_init(&s->auth_waiting);
    if (setup->id != NULL)
        (void)snprintf(s->id, sizeof s->id, "%s", setup->id);
    else
        nkey_random(s->id, NKEY_SERVER);
    s->name = s->opts->server_name != NULL ? s->opts->server_name : s->id;
    s->start_wall_ns = s->config_load_wall_ns = clock_wall_ns();
    s->start_mono_ns = clock_mono_ns();
    loop_spin(l, s->opts->busy_poll_ns);
    return s;
}

static void close_listeners(struct server *s)
{
    net_listener_close(s->listener);
    net_listener_close(s->ws_listener);
    s->listener = s->ws_listener = NULL;
    unix_close(s);
    ws_cancel(s);
    for (size_t i = 0; i < MF_COUNT(s->idle_listeners); i++) {
        net_listener_close(s->idle_listeners[i]);
        s->idle_listeners[i] = NULL;
    }
}

static void close_ports(struct server *s)
{
    close_listeners(s);
    monitor_close(s->http);
    monitor_close(s->https);
    s->http = s->https = NULL;
    files_remove(s);
}

static void start_undone(struct server *s)
{
    loop_stop(s->loop);
}

/* Modules that are open already close as they would at the end. */
static void close_modules_now(struct server *s)
{
    s->modules_closed = start_undone;
    if (!modules_close(s))
        loop_run(s->loop);
}

void server_tell_state(struct server *s)
{
    if (s->lame_duck)
        service_status(s->service, "Lame duck mode: clients are asked to connect elsewhere");
    else if (s->unix_listener != NULL && s->listener == NULL)
        service_status(s->service, "Ready: clients on unix:%s", s->opts->unix_socket.path);
    else if (s->setup.nfds > 0)
        service_status(s->service, "Ready: clients on the sockets of the service manager");
    else if (s->listener == NULL)
        service_status(s->service, "Ready: no client port");
    else
        service_status(s->service, "Ready: clients on %s:%d", s->opts->host,
                       net_listener_port(s->listener));
}

int server_start(struct server **out, struct loop *l, const struct server_setup *setup,
                 struct mf_error *e)
{
    struct server *s = server_new(l, setup);

    if (s == NULL)
        return mf_fail(e, MF_NOMEM, "server");
    admission_init(s);
    log_identity(s);
    s->service = setup->notify_manager ? service_new(l) : NULL;
    service_status(s->service, "Starting: recovering streams");
    if (build_parts(s, e) != 0 || open_listeners(s, e) != 0) {
        service_status(s->service, "Start failed: %s", e->text);
        close_ports(s);
        close_modules_now(s);
        s->opts = NULL; /* still the caller's */
        server_free(s);
        return e->code;
    }
    log_info("Server is ready");
    service_ready(s->service);
    server_tell_state(s);
    *out = s;
    return 0;
}

/* --- stop ------------------------------------------------------------------------------------- */

static void exit_server(struct server *s)
{
    log_info("Server Exiting..");
    s->setup.stopped(s->setup.stopped_arg);
}

static void finish_stop(void *arg)
{
    struct server *s = arg;

    if (s->stop_finished)
        return;
    s->stop_finished = true;
    loop_timer_stop(s->stop_timer);
    net_hangup(s->loop);
    departed_finish(s);
    s->modules_closed = exit_server;
    if (modules_close(s))
        exit_server(s);
}

void server_client_gone(struct server *s)
{
    if (s->stopping && s->nclients == 0)
        finish_stop(s);
}

void server_shutdown(struct server *s)
{
    struct mf_list *pos, *next;

    if (s->stopping)
        return;
    s->stopping = true;
    log_info("Initiating Shutdown...");
    service_stopping(s->service);
    modules_leaving(s);
    close_ports(s);
    mf_list_each_safe(pos, next, &s->clients)
    {
        struct client *c = mf_container(pos, struct client, link);
        if (c->phase != CLIENT_CLOSING) {
            c->close_reason = REASON_SHUTDOWN;
            c->phase = CLIENT_CLOSING;
            client_ws_farewell(c);
            net_close(c->conn, 500); /* queued output is flushed */
        }
    }
    s->stop_timer = loop_timer_new(s->loop, finish_stop, s);
    if (s->stop_timer != NULL) /* a peer that never reads cannot delay the end */
        loop_timer_arm(s->stop_timer, loop_mono_ns(s->loop) + (s->nclients == 0 ? 0 : 2 * CLOCK_S));
    else
        finish_stop(s);
}

void server_auth_idle(struct server *s)
{
    if (!s->freed || !mf_list_empty(&s->auth_jobs))
        return;
    auth_free(s->auth);
    free(s);
}

void server_free(struct server *s)
{
    if (s == NULL)
        return;
    renewals_end(s);
    closed_free_all(s);
    loop_timer_free(s->stall_timer);
    loop_timer_free(s->expire_timer);
    loop_timer_free(s->ldm_timer);
    loop_timer_free(s->stop_timer);
    if (s->accounts != NULL)
        accounts_free(s->accounts);
    net_tls_release(s->tls);
    net_tls_release(s->ws_tls);
    net_tls_release(s->http_tls);
    service_free(s->service);
    table_fini(&s->by_cid);
    mf_buf_fini(&s->ws_headers);
    options_free(s->opts);
    free(s->pid_path);
    free(s->ports_path);
    s->freed = true;
    server_auth_idle(s); /* a worker may still read the passwords: then the last job frees them */
}
