/* mayfly.c: libmayfly: reads the command line, connects the server with JetStream and status, runs
 * the loop.  Wiring only. */
#include "mayfly.h"

#include "api/api.h"
#include "backup/backup.h"
#include "base/clock.h"
#include "base/log.h"
#include "loop/loop.h"
#include "config/options.h"
#include "server/server.h"
#include "jetstream/jetstream.h"
#include "status/js_status.h"
#include "status/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct program {
    int argc;
    char **argv;
    struct loop *loop;
    struct server *server;
    struct api *api; /* NULL: no JetStream */
    struct status *status;
    char *name; /* copy of the server's name, for the api: a reload frees the options it is in */
    struct loop_signal *signals[5];
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Scripts that look for nats-server (by a link of that name) read its version from this line. */
static void print_version(const char *argv0)
{
    if (strcmp(base_name(argv0), "nats-server") == 0)
        printf("nats-server: v%s\n", SERVER_NATS_VERSION);
    else
        printf("mayflyd: v%s (NATS v%s)\n", SERVER_MAYFLY_VERSION, SERVER_NATS_VERSION);
}

static int reload_options(void *arg, struct options **out, struct mf_error *e)
{
    struct program *p = arg;

    return options_load(out, p->argc, p->argv, e);
}

static void on_signal(void *arg, int signum)
{
    struct program *p = arg;
    struct mf_error e;

    switch (signum) {
    case SIGUSR1:
        log_info("Trapped \"user defined signal 1\" signal");
        log_reopen();
        break;
    case SIGUSR2:
        log_info("Trapped \"user defined signal 2\" signal");
        server_lame_duck(p->server);
        break;
    case SIGHUP:
        log_info("Trapped \"hangup\" signal");
        if (server_reload(p->server, &e) != 0)
            log_error("Failed to reload server configuration: %s", e.text);
        break;
    default:
        log_info("Trapped \"%s\" signal", signum == SIGINT ? "interrupt" : "terminated");
        server_shutdown(p->server);
    }
}

static void on_stopped(void *arg)
{
    struct program *p = arg;

    for (size_t i = 0; i < MF_COUNT(p->signals); i++)
        loop_signal_free(p->signals[i]);
    loop_stop(p->loop);
}

/* --- modules of the server -------------------------------------------------------------------- */

static bool client_info(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    return status_client_info(origin, json);
}

static int open_jetstream(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct program *p = arg;
    int64_t from_ns = clock_mono_ns();
    char took[CLOCK_TEXT];

    if (!o->jetstream.enabled)
        return 0;
    p->name = mf_slice_dup(mf_str(server_name(s)));
    if (p->name == NULL)
        return mf_fail(e, MF_NOMEM, "server name");
    struct api_setup setup = {.loop = p->loop,
                              .accounts = server_accounts(s),
                              .options = o,
                              .server_name = p->name,
                              .server_id = server_id(s),
                              .version = SERVER_NATS_VERSION,
                              .level = SERVER_API_LEVEL,
                              .client_info = client_info,
                              .extension = &backup_extension};
    log_info("Starting JetStream");
    if (api_open(&p->api, &setup, e) != 0)
        return e->code;
    js_status_log_start(p->api);
    js_status_log_recovered(p->api, clock_mono_ns() - from_ns);
    log_info("Took %s to start JetStream", clock_duration(took, clock_mono_ns() - from_ns));
    return 0;
}

static void reload_jetstream(void *arg, const struct options *o)
{
    struct program *p = arg;

    if (p->api != NULL)
        api_reload(p->api, o);
}

static void leave_jetstream(void *arg)
{
    struct program *p = arg;

    if (p->api != NULL)
        api_leaving(p->api);
}

static bool close_jetstream(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct program *p = arg;

    if (p->api == NULL)
        return true;
    api_close(p->api, closed, closed_arg);
    p->api = NULL;
    return false;
}

static int open_status(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct program *p = arg;

    (void)o;
    return status_open(&p->status, s, p->api, e);
}

static void leave_status(void *arg)
{
    status_leaving(((struct program *)arg)->status);
}

static bool close_status(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct program *p = arg;

    (void)closed, (void)closed_arg;
    status_close(p->status);
    p->status = NULL;
    return true;
}

/* --- the server ------------------------------------------------------------------------------- */

static int watch_signals(struct program *p)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < MF_COUNT(wanted); i++) {
        p->signals[i] = loop_signal_new(p->loop, wanted[i], on_signal, p);
        if (p->signals[i] == NULL)
            return MF_NOMEM;
    }
    return 0;
}

static int serve(struct program *p, struct options *o)
{
    struct mf_error e = {MF_NOMEM, "signals: out of memory"};
    const struct server_module modules[] = {{.name = "JetStream",
                                             .arg = p,
                                             .open = open_jetstream,
                                             .reload = reload_jetstream,
                                             .leaving = leave_jetstream,
                                             .close = close_jetstream},
                                            {.name = "status",
                                             .arg = p,
                                             .open = open_status,
                                             .leaving = leave_status,
                                             .close = close_status}};
    struct server_setup setup = {.options = o,
                                 .reload = reload_options,
                                 .reload_arg = p,
                                 .stopped = on_stopped,
                                 .stopped_arg = p,
                                 .program = p->argv[0],
                                 .modules = modules,
                                 .nmodules = MF_COUNT(modules),
                                 .notify_manager = true};

    if (server_open_log(o, &e) != 0 || loop_new(&p->loop, &e) != 0) {
        fprintf(stderr, "%s: %s\n", base_name(p->argv[0]), e.text);
        options_free(o);
        return 1;
    }
    if (watch_signals(p) != 0 || server_start(&p->server, p->loop, &setup, &e) != 0) {
        log_fatal("%s", e.text);
        options_free(o);
        free(p->name);
        return 1;
    }
    loop_run(p->loop);
    server_free(p->server);
    free(p->name);
    loop_free(p->loop);
    log_close();
    return 0;
}

/* -sl cmd[=pid or pid file]: what nats-server's own command does. */
static int send_signal(const char *argv0, const char *what)
{
    static const struct {
        const char *name;
        int signum;
    } commands[] = {{"stop", SIGKILL},   {"quit", SIGINT},   {"term", SIGTERM},
                    {"reopen", SIGUSR1}, {"reload", SIGHUP}, {"ldm", SIGUSR2}};
    struct mf_slice cmd = mf_str(what);
    const char *target = strchr(what, '=');
    uint64_t pid = 0;
    char text[32] = "";

    if (target != NULL)
        cmd.len = (size_t)(target++ - what);
    if (target != NULL && strchr(target, '/') != NULL) {
        FILE *f = fopen(target, "re");
        if (f == NULL || fgets(text, sizeof text, f) == NULL)
            text[0] = '\0';
        if (f != NULL)
            fclose(f);
        text[strcspn(text, "\r\n ")] = '\0';
        target = text;
    }
    for (size_t i = 0; i < MF_COUNT(commands); i++) {
        if (!mf_eq_str(cmd, commands[i].name))
            continue;
        if (target == NULL || mf_parse_u64(mf_str(target), &pid) != 0 || pid == 0) {
            fprintf(stderr, "%s: say which process: -sl %s=<pid> or %s=<path of pid file>\n",
                    base_name(argv0), commands[i].name, commands[i].name);
            return 1;
        }
        if (kill((pid_t)pid, commands[i].signum) == 0)
            return 0;
        fprintf(stderr, "%s: signal process %llu: %s\n", base_name(argv0), (unsigned long long)pid,
                strerror(errno));
        return 1;
    }
    fprintf(stderr,
            "%s: unknown signal command \"%.*s\": stop, quit, term, reopen, reload or ldm\n",
            base_name(argv0), MF_FMT(cmd));
    return 1;
}

static void print_warning(void *argv0, const char *text)
{
    fprintf(stderr, "%s: warning: %s\n", base_name(argv0), text);
}

static int check_config(char *argv0, const struct options *o)
{
    struct mf_error e;

    if (server_check(o, print_warning, argv0, &e) != 0 || jetstream_check(o, &e) != 0) {
        fprintf(stderr, "%s: %s\n", base_name(argv0), e.text);
        return 1;
    }
    server_advise(o, NULL, print_warning, argv0); /* what the log would say */
    if (o->jetstream.enabled && options_store_dir_temporary(o))
        print_warning(argv0,
                      "Temporary storage directory used, data could be lost on system reboot");
    fprintf(stderr, "%s: configuration file %s is valid\n", base_name(argv0),
            o->config_file != NULL ? o->config_file : "(none)");
    return 0;
}

const char *mayfly_version(void)
{
    return MAYFLY_VERSION;
}

const char *mayfly_nats_version(void)
{
    return SERVER_NATS_VERSION;
}

int mayfly_main(int argc, char **argv)
{
    struct program p = {.argc = argc, .argv = argv};
    struct options *o;
    struct mf_error e;
    int rv = 0;

    if (options_load(&o, argc, argv, &e) != 0) {
        fprintf(stderr, "%s: %s\n", base_name(argv[0]), e.text);
        return 1;
    }
    if (o->help)
        fputs(options_usage(), stdout);
    else if (o->help_tls)
        fputs(options_tls_usage(), stdout);
    else if (o->version)
        print_version(argv[0]);
    else if (o->signal != NULL)
        rv = send_signal(argv[0], o->signal);
    else if (o->check_config)
        rv = check_config(argv[0], o);
    else
        return serve(&p, o);
    options_free(o);
    return rv;
}
