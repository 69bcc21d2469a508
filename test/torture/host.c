/* host.c: a program that holds a server by libmayfly, with the flags of mayflyd: so that the trials
 * and scenarios for mayflyd run through the library (--mayflyd=BUILD/mayfly_host).
 *
 * It does by itself what the library leaves to its host: signals, the limit of descriptors,
 * standard error. */
#include "mayfly.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A line as mayflyd writes it. */
static void write_line(void *arg, int level, const char *line)
{
    static const char *const names[] = {"FTL", "ERR", "WRN", "INF", "DBG", "TRC"};
    struct timespec now;
    struct tm tm;
    char when[32];

    (void)arg;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(when, sizeof when, "%Y/%m/%d %H:%M:%S", &tm);
    dprintf(STDERR_FILENO, "[%d] %s.%06ld [%s] %s\n", (int)getpid(), when, now.tv_nsec / 1000,
            names[level], line);
}

static void serve_signals(struct mayfly *m, const sigset_t *set)
{
    const struct timespec pause = {.tv_nsec = 100000000}; /* the server may end by itself */
    struct mayfly_error e;

    while (mayfly_wait(m, 0, NULL) == MAYFLY_TIMEOUT)
        switch (sigtimedwait(set, NULL, &pause)) {
        case SIGHUP:
            (void)mayfly_reload(m, NULL, &e);
            break;
        case SIGUSR2:
            mayfly_stop(m, MAYFLY_DRAIN);
            break;
        case SIGINT:
        case SIGTERM:
            mayfly_stop(m, MAYFLY_NOW);
            break;
        default:
            break;
        }
}

int main(int argc, char **argv)
{
    struct mayfly_options o = {.size = sizeof o, .argc = argc, .argv = argv, .log = write_line};
    struct rlimit files;
    struct mayfly_error e;
    struct mayfly *m;
    sigset_t set;
    int rv;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (mayfly_start(&m, &o, &e) != 0) {
        fprintf(stderr, "mayflyd: %s\n", e.text);
        return 1;
    }
    serve_signals(m, &set);
    rv = mayfly_wait(m, -1, &e);
    mayfly_free(m);
    return rv == 0 ? 0 : 1;
}
