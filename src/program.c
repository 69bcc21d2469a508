/* program.c: mayfly_main(): the program mayflyd, which owns its process: command line, signals,
 * service manager. */
#include "mayfly.h"

#include "base/lend.h"
#include "config/options.h"
#include "jetstream/jetstream.h"
#include "store/store.h"
#include "wiring.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct program {
    int argc;
    char **argv;
    struct wiring w;
    struct loop_signal *signals[5];
    int fds[SERVER_FDS]; /* from the service manager */
    size_t nfds;
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
        server_lame_duck(p->w.server);
        break;
    case SIGHUP:
        log_info("Trapped \"hangup\" signal");
        if (server_reload(p->w.server, &e) != 0)
            log_error("Failed to reload server configuration: %s", e.text);
        break;
    default:
        log_info("Trapped \"%s\" signal", signum == SIGINT ? "interrupt" : "terminated");
        server_shutdown(p->w.server);
    }
}

static void on_stopped(void *arg)
{
    struct program *p = arg;

    for (size_t i = 0; i < MF_COUNT(p->signals); i++)
        loop_signal_free(p->signals[i]);
    loop_stop(p->w.loop);
}

/* --- the server ------------------------------------------------------------------------------- */

static int watch_signals(struct program *p)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < MF_COUNT(wanted); i++) {
        p->signals[i] = loop_signal_new(p->w.loop, wanted[i], on_signal, p);
        if (p->signals[i] == NULL)
            return MF_NOMEM;
    }
    return 0;
}

/* Sockets that systemd opened for this process: descriptors 3 and following.  The environment is
 * not passed on. */
static void take_sockets(struct program *p)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t owner = 0, n = 0;

    if (pid != NULL && fds != NULL && mf_parse_u64(mf_str(pid), &owner) == 0 &&
        owner == (uint64_t)getpid() && mf_parse_u64(mf_str(fds), &n) == 0)
        for (; p->nfds < n && p->nfds < SERVER_FDS; p->nfds++)
            p->fds[p->nfds] = 3 + (int)p->nfds;
    if (n > SERVER_FDS)
        log_warn("The service manager opened %llu sockets; %d are served", (unsigned long long)n,
                 SERVER_FDS);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

static int run_server(struct program *p, struct options *o)
{
    struct mf_error e = {MF_NOMEM, "signals: out of memory"};
    struct server_setup setup = {.options = o,
                                 .reload = reload_options,
                                 .reload_arg = p,
                                 .stopped = on_stopped,
                                 .stopped_arg = p,
                                 .program = p->argv[0],
                                 .fds = p->fds,
                                 .notify_manager = true};

    loop_ignore_signals();
    take_sockets(p);
    setup.nfds = p->nfds;
    if (store_thread_begin(&e) != 0 || watch_signals(p) != 0 ||
        wiring_start(&p->w, &setup, &e) != 0) {
        log_fatal("%s", e.text);
        options_free(o);
        wiring_end(&p->w);
        return 1;
    }
    loop_run(p->w.loop);
    wiring_end(&p->w);
    loop_free(p->w.loop);
    return 0;
}

static int serve(struct program *p, struct options *o)
{
    struct mf_error e;
    int rv;

    if (server_open_log(o, NULL, &e) != 0 || loop_new(&p->w.loop, &e) != 0) {
        fprintf(stderr, "%s: %s\n", base_name(p->argv[0]), e.text);
        options_free(o);
        log_close();
        return 1;
    }
    rv = run_server(p, o);
    lend_fini();
    store_thread_end();
    if (rv == 0)
        log_close();
    return rv;
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
