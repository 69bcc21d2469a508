/* job.c: work for worker threads, in pools.
 *
 * Each pool has its own queue and its own threads, so that work of one kind never waits behind work
 * of another.  A pool starts its first thread with its first job and another one whenever a job
 * finds no idle one, up to its bound.
 *
 * Happy path: loop_job_submit() queues the job > worker_run() calls work(), on a worker >
 * on_done(), on the loop.  With loop_jobs_inline() both run on the loop, from a posted call.
 * Failure: work() leaves its status where done() finds it.  Where no thread can be started for a
 * pool that has none, loop_job_new() fails; a pool that has one works on with those it has.
 * Close: loop_jobs_end(), when no job is submitted any more. */
#include "loop/loop_impl.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Niceness of LOOP_OUTSIDE jobs where they compete with the loop for a core. */
#define OUTSIDE_NICE 5

struct loop_job {
    struct loop_job *next; /* in its pool's queue */
    struct loop_call call; /* on its way back to the loop */
    struct loop *loop;
    enum loop_pool pool;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
    bool submitted; /* the loop thread's */
};

/* --- workers -------------------------------------------------------------------------------- */

static struct loop_job *queue_pop(struct loop_workers *w)
{
    struct loop_job *j = w->first;

    w->first = j->next;
    if (w->first == NULL)
        w->last = NULL;
    j->next = NULL;
    w->queued--;
    return j;
}

static void *worker_run(void *arg)
{
    struct loop_workers *w = arg;

    (void)log_use(w->log);
    if (w->nice != 0)
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), w->nice);
    pthread_mutex_lock(&w->mutex);
    while (!w->end) {
        if (w->first == NULL) {
            w->idle++;
            pthread_cond_wait(&w->more, &w->mutex);
            w->idle--;
            continue;
        }
        struct loop_job *j = queue_pop(w);
        pthread_mutex_unlock(&w->mutex);
        j->work(j->arg);
        loop_post_call(j->loop, &j->call); /* j is the loop's again */
        pthread_mutex_lock(&w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Signals are for the loop thread. */
static bool worker_start(struct loop_workers *w)
{
    sigset_t all, before;

    sigfillset(&all);
    if (w->threads == w->most || pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool ok = pthread_create(&w->thread[w->threads], NULL, worker_run, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->threads += ok;
    return ok;
}

void loop_jobs_begin(struct loop *l)
{
    /* A few syncs at once let a disk order them; more only queue up in the kernel. */
    static const unsigned most[LOOP_POOLS] = {
        [LOOP_DISK] = 4,
        [LOOP_READ] = 4,
        [LOOP_UPKEEP] = 4,
        [LOOP_NAMES] = 4,
        [LOOP_OUTSIDE] = LOOP_OUTSIDE_MOST,
    };

    for (int i = 0; i < LOOP_POOLS; i++) {
        struct loop_workers *w = &l->workers[i];
        pthread_mutex_init(&w->mutex, NULL); /* neither fails on Linux */
        pthread_cond_init(&w->more, NULL);
        w->log = log_retain(log_current());
        w->most = most[i];
        w->nice = i == LOOP_OUTSIDE ? OUTSIDE_NICE : 0;
    }
}

void loop_jobs_end(struct loop *l)
{
    assert(l->jobs == 0);
    for (int i = 0; i < LOOP_POOLS; i++) {
        struct loop_workers *w = &l->workers[i];
        pthread_mutex_lock(&w->mutex);
        w->end = true;
        pthread_cond_broadcast(&w->more);
        pthread_mutex_unlock(&w->mutex);
        for (unsigned t = 0; t < w->threads; t++)
            pthread_join(w->thread[t], NULL);
        pthread_cond_destroy(&w->more);
        pthread_mutex_destroy(&w->mutex);
        log_release(w->log);
    }
}

/* --- jobs ----------------------------------------------------------------------------------- */

static void on_done(void *arg)
{
    struct loop_job *j = arg;
    struct loop *l = j->loop;

    j->submitted = false;
    l->jobs--;
    j->done(j->arg); /* it may submit again, or free j */
    work_lap(l, WORK_WORKER, NULL, NULL);
}

static void run_inline(void *arg)
{
    struct loop_job *j = arg;

    j->work(j->arg);
    on_done(j);
}

struct loop_job *loop_job_new(struct loop *l, enum loop_pool pool, void (*work)(void *arg),
                              void (*done)(void *arg), void *arg)
{
    struct loop_workers *w = &l->workers[pool];
    struct loop_job *j;

    if (!l->jobs_inline && w->threads == 0 && !worker_start(w))
        return NULL;
    j = calloc(1, sizeof *j);
    if (j == NULL)
        return NULL;
    j->loop = l;
    j->pool = pool;
    j->work = work;
    j->done = done;
    j->arg = arg;
    return j;
}

void loop_jobs_inline(struct loop *l)
{
    l->jobs_inline = true;
}

void loop_job_submit(struct loop_job *j)
{
    struct loop *l = j->loop;
    struct loop_workers *w = &l->workers[j->pool];

    assert(!j->submitted);
    j->submitted = true;
    l->jobs++;
    j->call = (struct loop_call){.fn = l->jobs_inline ? run_inline : on_done, .arg = j};
    if (l->jobs_inline) {
        loop_post_call(l, &j->call);
        return;
    }
    pthread_mutex_lock(&w->mutex);
    if (w->last == NULL)
        w->first = j;
    else
        w->last->next = j;
    w->last = j;
    bool more = ++w->queued > w->idle;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    if (more)
        (void)worker_start(w); /* without another one the job waits for those at work */
}

void loop_job_free(struct loop_job *j)
{
    assert(j == NULL || !j->submitted);
    free(j);
}
