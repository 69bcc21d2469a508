/* loop_thread.c: start, call, stop; each waits for the other side with a semaphore. */
#include "loop_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

struct loop_thread {
    pthread_t thread;
    struct loop *loop;
    sem_t done;
    void (*setup)(void *arg, struct loop *l);
    void (*call)(void *arg);
    void *arg;
};

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "loop_thread: %s failed\n", what);
    abort();
}

static void *thread_main(void *arg)
{
    struct loop_thread *t = arg;
    struct mf_error e;

    must(loop_new(&t->loop, &e) == 0, "loop_new");
    t->setup(t->arg, t->loop);
    must(sem_post(&t->done) == 0, "sem_post");
    loop_run(t->loop);
    loop_free(t->loop);
    return NULL;
}

struct loop_thread *loop_thread_start(void (*setup)(void *arg, struct loop *l), void *arg)
{
    struct loop_thread *t = calloc(1, sizeof *t);

    must(t != NULL, "calloc");
    t->setup = setup;
    t->arg = arg;
    must(sem_init(&t->done, 0, 0) == 0, "sem_init");
    must(pthread_create(&t->thread, NULL, thread_main, t) == 0, "pthread_create");
    must(sem_wait(&t->done) == 0, "sem_wait");
    return t;
}

static void run_call(void *arg)
{
    struct loop_thread *t = arg;

    t->call(t->arg);
    must(sem_post(&t->done) == 0, "sem_post");
}

void loop_thread_call(struct loop_thread *t, void (*fn)(void *arg), void *arg)
{
    t->call = fn;
    t->arg = arg;
    must(loop_post(t->loop, run_call, t) == 0, "loop_post");
    must(sem_wait(&t->done) == 0, "sem_wait");
}

static void stop_call(void *arg)
{
    struct loop_thread *t = arg;

    loop_stop(t->loop);
}

void loop_thread_stop(struct loop_thread *t, void (*teardown)(void *arg), void *arg)
{
    loop_thread_call(t, teardown, arg);
    must(loop_post(t->loop, stop_call, t) == 0, "loop_post");
    must(pthread_join(t->thread, NULL) == 0, "pthread_join");
    sem_destroy(&t->done);
    free(t);
}
