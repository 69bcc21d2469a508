/* lane.c: a second thread that works off pieces in order. */
#include "store/log/lane.h"

#include "base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct lane {
    pthread_mutex_t lock;
    pthread_cond_t more, less; /* something was submitted (or the end); something is done */
    uint64_t submitted, done;
    bool end, threaded;
    unsigned pieces;
    void (*work)(void *arg, unsigned piece);
    void *arg;
    pthread_t thread;
    struct log *log; /* of the thread that made the lane */
};

static void *lane_run(void *arg)
{
    struct lane *l = arg;

    (void)log_use(l->log);
    pthread_mutex_lock(&l->lock);
    while (l->done < l->submitted || !l->end) {
        if (l->done == l->submitted) {
            pthread_cond_wait(&l->more, &l->lock);
            continue;
        }
        unsigned piece = (unsigned)(l->done % l->pieces);
        pthread_mutex_unlock(&l->lock);
        l->work(l->arg, piece);
        pthread_mutex_lock(&l->lock);
        l->done++;
        pthread_cond_signal(&l->less);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are handled by the threads that existed before. */
static bool lane_start(struct lane *l)
{
    sigset_t all, before;

    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool ok = pthread_create(&l->thread, NULL, lane_run, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

struct lane *lane_new(unsigned pieces, void (*work)(void *arg, unsigned piece), void *arg)
{
    struct lane *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->pieces = pieces;
    l->work = work;
    l->arg = arg;
    l->log = log_retain(log_current());
    pthread_mutex_init(&l->lock, NULL); /* neither fails on Linux */
    pthread_cond_init(&l->more, NULL);
    pthread_cond_init(&l->less, NULL);
    l->threaded = lane_start(l);
    return l;
}

void lane_wait(struct lane *l, uint64_t n)
{
    if (!l->threaded)
        return;
    pthread_mutex_lock(&l->lock);
    while (l->done < n)
        pthread_cond_wait(&l->less, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

bool lane_done(struct lane *l, uint64_t n)
{
    if (!l->threaded)
        return true;
    pthread_mutex_lock(&l->lock);
    bool done = l->done >= n;
    pthread_mutex_unlock(&l->lock);
    return done;
}

/* Only the owner changes `submitted`, so it may read it without the lock. */
unsigned lane_next(struct lane *l)
{
    if (l->submitted >= l->pieces)
        lane_wait(l, l->submitted - l->pieces + 1);
    return (unsigned)(l->submitted % l->pieces);
}

void lane_submit(struct lane *l)
{
    if (!l->threaded) {
        l->work(l->arg, (unsigned)(l->submitted++ % l->pieces));
        return;
    }
    pthread_mutex_lock(&l->lock);
    l->submitted++;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
}

uint64_t lane_submitted(const struct lane *l)
{
    return l->submitted;
}

void lane_free(struct lane *l)
{
    if (l == NULL)
        return;
    if (l->threaded) {
        pthread_mutex_lock(&l->lock);
        l->end = true;
        pthread_cond_signal(&l->more);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->less);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    log_release(l->log);
    free(l);
}
