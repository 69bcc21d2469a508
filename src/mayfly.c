/* mayfly.c: libmayfly: servers inside another program, each on a thread of its own.
 *
 * Happy path: mayfly_start() reads the options and starts the thread; server_run() builds the
 * server and runs its loop; a stop ends the loop, and server_run() frees what it built. Failure: a
 * start that fails ends the thread; the reason is kept for mayfly_wait_ready(). Close:
 * mayfly_free() waits for the thread. Calls: a function that needs the server posts a call to its
 * loop and waits for the answer. `loop` is NULL as soon as no call may be posted any more; calls
 * that were posted before are still answered, with MF_CLOSED once the server is gone. */
#include "mayfly.h"

#include "base/clock.h"
#include "base/lend.h"
#include "mayfly_impl.h"
#include "server/server_state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)MAYFLY_NOMEM == MF_NOMEM && (int)MAYFLY_INVAL == MF_INVAL &&
                   (int)MAYFLY_NOTFOUND == MF_NOTFOUND && (int)MAYFLY_BUSY == MF_EXISTS &&
                   (int)MAYFLY_LIMIT == MF_LIMIT && (int)MAYFLY_IO == MF_IO &&
                   (int)MAYFLY_CORRUPT == MF_CORRUPT && (int)MAYFLY_DENIED == MF_DENIED &&
                   (int)MAYFLY_CLOSED == MF_CLOSED && (int)MAYFLY_FULL == MF_FULL &&
                   (int)MAYFLY_UNSUPPORTED == MF_UNSUPPORTED && (int)MAYFLY_TIMEOUT == MF_TIMEOUT,
               "codes of the API are those of the library");
_Static_assert(sizeof(struct mayfly_error) == sizeof(struct mf_error) &&
                   offsetof(struct mayfly_error, text) == offsetof(struct mf_error, text),
               "errors of the API are those of the library");
_Static_assert((int)MAYFLY_LOG_FATAL == LOG_FATAL_ && (int)MAYFLY_LOG_TRACE == LOG_TRACE_,
               "levels of the API are those of the library");

const char *mayfly_version(void)
{
    return MAYFLY_VERSION;
}

const char *mayfly_nats_version(void)
{
    return SERVER_NATS_VERSION;
}

/* --- errors ----------------------------------------------------------------------------------- */

struct mf_error *mayfly_error_of(struct mayfly_error *e, struct mf_error *own)
{
    struct mf_error *x = e != NULL ? (struct mf_error *)(void *)e : own;

    *x = (struct mf_error){0, ""};
    return x;
}

/* Whether m may be used here; a child of fork() has no server, and the log callback must not wait
 * for the thread that it is called by. */
static int check_caller(const struct mayfly *m, struct mf_error *e)
{
    if (m == NULL)
        return mf_fail(e, MF_INVAL, "no server was given");
    if (m->owner != getpid())
        return mf_fail(e, MF_CLOSED, "the server belongs to process %ld, which forked",
                       (long)m->owner);
    if (log_current() != NULL && log_current() == m->log)
        return mf_fail(e, MF_INVAL, "called by the server's own thread, in its log callback");
    return 0;
}

static int fail_ended(const struct mayfly *m, struct mf_error *e)
{
    if (m->story.code == 0)
        return mf_fail(e, MF_CLOSED, "the server has ended");
    *e = m->story;
    return e->code;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static struct timespec deadline_of(int timeout_ms)
{
    int64_t at = clock_mono_ns() + (int64_t)timeout_ms * CLOCK_MS;

    return (struct timespec){.tv_sec = (time_t)(at / CLOCK_S), .tv_nsec = (long)(at % CLOCK_S)};
}

/* With the mutex held: until the state is `least` or later.  False: the time is up. */
static bool wait_state(struct mayfly *m, enum mayfly_state least, int timeout_ms)
{
    struct timespec until = deadline_of(timeout_ms < 0 ? 0 : timeout_ms);

    while (m->state < least) {
        if (timeout_ms < 0)
            pthread_cond_wait(&m->changed, &m->mutex);
        else if (pthread_cond_timedwait(&m->changed, &m->mutex, &until) == ETIMEDOUT)
            return m->state >= least;
    }
    return true;
}

int mayfly_wait_ready(struct mayfly *m, int timeout_ms, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    int rv = check_caller(m, e);

    if (rv != 0)
        return rv;
    pthread_mutex_lock(&m->mutex);
    if (!wait_state(m, STATE_READY, timeout_ms))
        rv = mf_fail(e, MF_TIMEOUT, "the server is not ready yet");
    else if (m->state == STATE_ENDED)
        rv = fail_ended(m, e);
    pthread_mutex_unlock(&m->mutex);
    return rv;
}

int mayfly_wait(struct mayfly *m, int timeout_ms, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    int rv = check_caller(m, e);

    if (rv != 0)
        return rv;
    pthread_mutex_lock(&m->mutex);
    if (!wait_state(m, STATE_ENDED, timeout_ms))
        rv = mf_fail(e, MF_TIMEOUT, "the server runs");
    else if (m->story.code != 0)
        rv = fail_ended(m, e);
    pthread_mutex_unlock(&m->mutex);
    return rv;
}

/* --- calls of the loop ------------------------------------------------------------------------ */

static void run_call(void *arg)
{
    struct mayfly_call *c = arg;
    struct mayfly *m = c->m;

    c->rv = m->w.server == NULL || server_is_stopping(m->w.server)
                ? mf_fail(c->e, MF_CLOSED, "the server is ending")
                : c->run(m, c);
    pthread_mutex_lock(&m->mutex);
    c->done = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

int mayfly_ask(struct mayfly *m, struct mayfly_call *c)
{
    int rv = check_caller(m, c->e);

    if (rv != 0)
        return rv;
    c->m = m;
    pthread_mutex_lock(&m->mutex);
    (void)wait_state(m, STATE_READY, -1);
    if (m->loop == NULL)
        rv = fail_ended(m, c->e);
    else if (loop_post(m->loop, run_call, c) != 0)
        rv = mf_fail(c->e, MF_NOMEM, "call of the server");
    while (rv == 0 && !c->done && m->state != STATE_ENDED)
        pthread_cond_wait(&m->changed, &m->mutex);
    if (rv == 0)
        rv = c->done ? c->rv : mf_fail(c->e, MF_CLOSED, "the server has ended");
    pthread_mutex_unlock(&m->mutex);
    return rv;
}

/* --- connections ------------------------------------------------------------------------------ */

struct arrival {
    struct mayfly *m;
    int fd;
};

static void accept_arrival(void *arg)
{
    struct arrival *a = arg;
    struct server *s = a->m->w.server;
    struct mf_error e;

    if (s == NULL)
        close(a->fd); /* the caller reads end-of-file */
    else if (server_adopt(s, a->fd, &e) != 0)
        log_error("In-process connection: %s", e.text);
    free(a);
}

static int post_arrival(struct mayfly *m, int fd, struct mf_error *e)
{
    struct arrival *a = malloc(sizeof *a);
    int rv = 0;

    if (a == NULL)
        return mf_fail(e, MF_NOMEM, "in-process connection");
    *a = (struct arrival){.m = m, .fd = fd};
    pthread_mutex_lock(&m->mutex);
    if (m->state == STATE_STARTING)
        (void)wait_state(m, STATE_BUILDING, -1);
    if (m->loop == NULL)
        rv = fail_ended(m, e);
    else if (loop_post(m->loop, accept_arrival, a) != 0)
        rv = mf_fail(e, MF_NOMEM, "in-process connection");
    pthread_mutex_unlock(&m->mutex);
    if (rv != 0)
        free(a);
    return rv;
}

int mayfly_connect(struct mayfly *m, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    int ends[2], rv = check_caller(m, e);

    if (rv != 0)
        return rv;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return mf_fail_errno(e, errno == EMFILE || errno == ENFILE ? MF_LIMIT : MF_IO,
                             "in-process connection");
    rv = fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 ? mf_fail_errno(e, MF_IO, "in-process connection")
                                                  : post_arrival(m, ends[1], e);
    if (rv != 0) {
        close(ends[0]);
        close(ends[1]);
        return rv;
    }
    return ends[0];
}

/* --- the server's thread ---------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
    loop_stop(((struct mayfly *)arg)->w.loop);
}

static int reload_options(void *arg, struct options **out, struct mf_error *e)
{
    return mayfly_source_load(&((struct mayfly *)arg)->source, out, e);
}

static void stop_now(void *arg)
{
    struct mayfly *m = arg;
    int how;

    pthread_mutex_lock(&m->mutex);
    how = m->how;
    pthread_mutex_unlock(&m->mutex);
    if (m->w.server == NULL)
        return;
    if (how == MAYFLY_DRAIN)
        server_lame_duck(m->w.server);
    else
        server_shutdown(m->w.server);
}

/* From the first moment in which calls may be posted until the server is gone. */
static int serve(struct mayfly *m, struct mf_error *e)
{
    struct server_setup setup = {.options = m->options,
                                 .reload = reload_options,
                                 .reload_arg = m,
                                 .stopped = on_stopped,
                                 .stopped_arg = m,
                                 .program = m->source.argc > 0 ? m->source.argv[0] : NULL,
                                 .guest = &m->guest};

    if (wiring_start(&m->w, &setup, e) != 0)
        return e->code;
    m->options = NULL; /* the server's */
    pthread_mutex_lock(&m->mutex);
    m->state = STATE_READY;
    bool stop = m->stop_asked;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
    if (stop)
        stop_now(m);
    loop_run(m->w.loop);
    return 0;
}

static int run_loop(struct mayfly *m, struct mf_error *e)
{
    int rv;

    if (server_open_log(m->options, &m->guest, e) != 0 || loop_new(&m->w.loop, e) != 0)
        return e->code;
    pthread_mutex_lock(&m->mutex);
    m->loop = m->w.loop;
    m->state = STATE_BUILDING;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
    rv = serve(m, e);
    pthread_mutex_lock(&m->mutex);
    m->loop = NULL;
    pthread_mutex_unlock(&m->mutex);
    wiring_end(&m->w);
    loop_free(m->w.loop);
    return rv;
}

static void *server_run(void *arg)
{
    struct mayfly *m = arg;
    struct mf_error e = {0, ""};
    int rv;

    (void)log_use(m->log);
    rv = store_thread_begin(&e);
    if (rv == 0)
        rv = run_loop(m, &e);
    if (rv != 0)
        log_fatal("%s", e.text);
    lend_fini();
    store_thread_end();
    options_free(m->options);
    m->options = NULL;
    (void)log_use(NULL);
    pthread_mutex_lock(&m->mutex);
    if (rv != 0)
        m->story = e;
    m->state = STATE_ENDED;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void free_server(struct mayfly *m)
{
    options_free(m->options);
    mayfly_source_fini(&m->source);
    log_release(m->log);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

static struct mayfly *new_server(void)
{
    struct mayfly *m = calloc(1, sizeof *m);
    pthread_condattr_t attr;

    if (m == NULL)
        return NULL;
    m->owner = getpid();
    pthread_mutex_init(&m->mutex, NULL); /* none of these fails on Linux */
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &attr);
    pthread_condattr_destroy(&attr);
    m->log = log_new();
    if (m->log != NULL)
        return m;
    free_server(m);
    return NULL;
}

/* Signals are the host's: its threads handle them. */
static int start_thread(struct mayfly *m, struct mf_error *e)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&m->thread, NULL, server_run, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = rc;
    return rc == 0 ? 0 : mf_fail_errno(e, MF_LIMIT, "thread of the server");
}

int mayfly_start(struct mayfly **out, const struct mayfly_options *o, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    struct mayfly *m;
    int rv;

    if (out == NULL || o == NULL || o->size < sizeof *o)
        return mf_fail(e, MF_INVAL, "mayfly_options.size: expected %zu", sizeof *o);
    *out = NULL;
    m = new_server();
    if (m == NULL)
        return mf_fail(e, MF_NOMEM, "server");
    m->log_line = o->log;
    m->log_arg = o->log_arg;
    m->log_stderr = o->log == NULL && (o->flags & MAYFLY_LOG_STDERR) != 0;
    m->guest =
        (struct server_guest){.log = mayfly_put_line, .log_arg = m, .files_max = o->max_files};
    rv = mayfly_source_init(&m->source, o, e);
    if (rv == 0)
        rv = mayfly_source_load(&m->source, &m->options, e);
    if (rv == 0)
        rv = start_thread(m, e);
    if (rv != 0) {
        free_server(m);
        return rv;
    }
    *out = m;
    return 0;
}

void mayfly_stop(struct mayfly *m, int how)
{
    if (m == NULL || m->owner != getpid())
        return;
    pthread_mutex_lock(&m->mutex);
    m->how = m->stop_asked && m->how == MAYFLY_NOW ? MAYFLY_NOW : how;
    m->stop_asked = true;
    if (m->state == STATE_READY && m->loop != NULL && loop_post(m->loop, stop_now, m) != 0)
        m->stop_asked = false; /* no memory: mayfly_free() tries again */
    pthread_mutex_unlock(&m->mutex);
}

void mayfly_free(struct mayfly *m)
{
    struct mf_error e;

    if (check_caller(m, &e) != 0)
        return;
    do
        mayfly_stop(m, MAYFLY_NOW);
    while (mayfly_wait(m, 1000, NULL) == MF_TIMEOUT);
    pthread_join(m->thread, NULL);
    free_server(m);
}
