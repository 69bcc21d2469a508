/* test_loop_threads.c: where the loop meets other threads: posted calls and worker jobs.  Run it
 * under the thread sanitizer too. */
#include "loop/loop.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unity.h"

static struct loop *l;
static pthread_t loop_thread;
static bool no_threads; /* the system has none left */

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return no_threads ? EAGAIN : real(thread, attr, start, arg);
}

void setUp(void)
{
    alarm(300);
    loop_thread = pthread_self();
    TEST_ASSERT_EQUAL(0, loop_new(&l, NULL));
}

void tearDown(void)
{
    loop_free(l);
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* --- posted calls --- */

enum { SENDERS = 8, CALLS = 2000 };

struct sender {
    pthread_t thread;
    int next; /* the loop's: the number expected next */
};

struct parcel {
    struct sender *from;
    int n;
};

static int arrived;

static void receive(void *arg)
{
    struct parcel *p = arg;

    TEST_ASSERT_TRUE(pthread_equal(loop_thread, pthread_self()));
    TEST_ASSERT_EQUAL(p->from->next++, p->n);
    free(p);
    if (++arrived == SENDERS * CALLS)
        loop_stop(l);
}

static void *send_all(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        struct parcel *p = malloc(sizeof *p);
        if (p == NULL)
            abort();
        *p = (struct parcel){.from = arg, .n = i};
        if (loop_post(l, receive, p) != 0)
            abort();
    }
    return NULL;
}

static void test_calls_of_many_threads_all_arrive_each_thread_s_in_order(void)
{
    static struct sender senders[SENDERS];

    arrived = 0;
    for (int i = 0; i < SENDERS; i++) {
        senders[i].next = 0;
        TEST_ASSERT_EQUAL(0, pthread_create(&senders[i].thread, NULL, send_all, &senders[i]));
    }
    loop_run(l);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        TEST_ASSERT_EQUAL(CALLS, senders[i].next);
    }
}

static int depth, posted;

static void post_another(void *arg)
{
    TEST_ASSERT_EQUAL(0, depth);
    depth++;
    if (++posted < 100)
        TEST_ASSERT_EQUAL(0, loop_post(l, post_another, arg));
    else
        loop_stop(l);
    depth--;
}

static void test_call_posted_on_the_loop_itself_runs_later_and_not_inside(void)
{
    depth = posted = 0;
    TEST_ASSERT_EQUAL(0, loop_post(l, post_another, NULL));
    TEST_ASSERT_EQUAL(0, posted);
    loop_run(l);
    TEST_ASSERT_EQUAL(100, posted);
}

static void *stop_from_afar(void *arg)
{
    (void)arg;
    if (loop_post(l, stop, NULL) != 0)
        abort();
    return NULL;
}

/* The last call of a thread may end the loop at once; nothing of it may be touched after that. */
static void test_loop_may_end_as_soon_as_the_last_call_has_run(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        TEST_ASSERT_EQUAL(0, pthread_create(&t, NULL, stop_from_afar, NULL));
        loop_run(l);
        loop_free(l);
        pthread_join(t, NULL);
        TEST_ASSERT_EQUAL(0, loop_new(&l, NULL));
    }
}

/* --- jobs --- */

enum { JOBS = 50, ROUNDS = 20 };

struct task {
    struct loop_job *job;
    unsigned worked,
        done; /* not atomic: the loop orders the accesses, or the sanitizer complains */
    unsigned rounds;
};

static int unfinished;

static void task_work(void *arg)
{
    struct task *t = arg;

    if (pthread_equal(loop_thread, pthread_self()))
        abort();
    t->worked++;
}

static void task_done(void *arg)
{
    struct task *t = arg;

    TEST_ASSERT_TRUE(pthread_equal(loop_thread, pthread_self()));
    TEST_ASSERT_EQUAL_UINT(++t->done, t->worked);
    if (t->done < t->rounds) {
        loop_job_submit(t->job); /* again, from its own done() */
        return;
    }
    loop_job_free(t->job); /* and freed there */
    t->job = NULL;
    if (--unfinished == 0)
        loop_stop(l);
}

static void test_jobs_work_on_workers_and_are_done_on_the_loop(void)
{
    static struct task tasks[JOBS];

    unfinished = JOBS;
    for (int i = 0; i < JOBS; i++) {
        tasks[i] = (struct task){.rounds = ROUNDS};
        tasks[i].job = loop_job_new(l, LOOP_DISK, task_work, task_done, &tasks[i]);
        TEST_ASSERT_NOT_NULL(tasks[i].job);
        loop_job_submit(tasks[i].job);
    }
    loop_run(l);
    for (int i = 0; i < JOBS; i++)
        TEST_ASSERT_EQUAL_UINT(ROUNDS, tasks[i].done);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    int64_t until = clock_mono_ns() + 20 * CLOCK_MS;
    while (clock_mono_ns() < until)
        continue; /* long enough for a loop that does not wait to be found out */
    task_work(arg);
}

/* The job is surely not finished when the end begins: the gate opens in a hook that only the end of
 * the loop runs. */
static void open_gate_hook(struct loop_defer *d)
{
    (void)d;
    pthread_mutex_unlock(&gate);
}

static void test_end_of_the_loop_waits_for_jobs_under_way(void)
{
    struct task t = {.rounds = 1};
    struct loop_defer hook = {.fn = open_gate_hook};

    unfinished = 1;
    pthread_mutex_lock(&gate);
    t.job = loop_job_new(l, LOOP_DISK, wait_at_gate, task_done, &t);
    loop_job_submit(t.job);
    loop_defer(l, &hook);
    loop_free(l);
    l = NULL;
    TEST_ASSERT_EQUAL_UINT(1, t.done);
    TEST_ASSERT_NULL(t.job);
}

static void test_job_that_was_never_submitted_may_be_freed(void)
{
    struct task t = {.rounds = 1};

    loop_job_free(loop_job_new(l, LOOP_DISK, task_work, task_done, &t));
    loop_job_free(NULL);
    TEST_ASSERT_EQUAL_UINT(0, t.worked);
}

/* --- pools --- */

enum { OUTSIDERS = 16 };

static int running, most_running; /* under the mutex below */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void count_at_gate(void *arg)
{
    pthread_mutex_lock(&counting);
    if (++running > most_running)
        most_running = running;
    pthread_mutex_unlock(&counting);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    pthread_mutex_lock(&counting);
    running--;
    pthread_mutex_unlock(&counting);
    task_work(arg);
}

static int running_now(void)
{
    pthread_mutex_lock(&counting);
    int n = running;
    pthread_mutex_unlock(&counting);
    return n;
}

static void task_done_stop(void *arg)
{
    task_done(arg);
    loop_stop(l);
}

/* Strangers can ask for passwords to be checked as often as they like: what a publisher waits for
 * never stands behind that. */
static void test_a_pool_whose_workers_are_all_busy_holds_up_no_other(void)
{
    static struct task outside[OUTSIDERS], other[LOOP_OUTSIDE];

    unfinished = OUTSIDERS + LOOP_OUTSIDE;
    most_running = 0;
    pthread_mutex_lock(&gate);
    for (int i = 0; i < OUTSIDERS; i++) {
        outside[i] = (struct task){.rounds = 1};
        outside[i].job = loop_job_new(l, LOOP_OUTSIDE, count_at_gate, task_done, &outside[i]);
        loop_job_submit(outside[i].job);
    }
    while (running_now() < LOOP_OUTSIDE_MOST)
        loop_turn(l);
    for (int i = 0; i < LOOP_OUTSIDE; i++) { /* every other pool, while the gate is shut */
        other[i] = (struct task){.rounds = 3};
        other[i].job = loop_job_new(l, (enum loop_pool)i, task_work, task_done_stop, &other[i]);
        loop_job_submit(other[i].job);
        while (other[i].job != NULL)
            loop_run(l);
        TEST_ASSERT_EQUAL_UINT(3, other[i].done);
    }
    for (int i = 0; i < OUTSIDERS; i++)
        TEST_ASSERT_EQUAL_UINT(0, outside[i].done);
    pthread_mutex_unlock(&gate);
    loop_run(l);
    for (int i = 0; i < OUTSIDERS; i++)
        TEST_ASSERT_EQUAL_UINT(1, outside[i].done);
    TEST_ASSERT_EQUAL_INT(LOOP_OUTSIDE_MOST, most_running);
}

/* The system starts no more threads: a pool that has one goes on with it, one that has none says
 * so. */
static void test_without_new_threads_a_pool_goes_on_with_those_it_has(void)
{
    static struct task tasks[JOBS];
    struct task t = {.rounds = 1};

    tasks[0].job = loop_job_new(l, LOOP_DISK, task_work, task_done, &tasks[0]);
    TEST_ASSERT_NOT_NULL(tasks[0].job);
    loop_job_free(tasks[0].job);
    no_threads = true;
    TEST_ASSERT_NULL(loop_job_new(l, LOOP_READ, task_work, task_done, &t));
    unfinished = JOBS;
    for (int i = 0; i < JOBS; i++) {
        tasks[i] = (struct task){.rounds = ROUNDS};
        tasks[i].job = loop_job_new(l, LOOP_DISK, task_work, task_done, &tasks[i]);
        TEST_ASSERT_NOT_NULL(tasks[i].job);
        loop_job_submit(tasks[i].job);
    }
    loop_run(l);
    no_threads = false;
    for (int i = 0; i < JOBS; i++)
        TEST_ASSERT_EQUAL_UINT(ROUNDS, tasks[i].done);
    loop_job_free(loop_job_new(l, LOOP_READ, task_work, task_done, &t));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a failure inside a callback may end the process */
    UNITY_BEGIN();
    RUN_TEST(test_calls_of_many_threads_all_arrive_each_thread_s_in_order);
    RUN_TEST(test_call_posted_on_the_loop_itself_runs_later_and_not_inside);
    RUN_TEST(test_loop_may_end_as_soon_as_the_last_call_has_run);
    RUN_TEST(test_jobs_work_on_workers_and_are_done_on_the_loop);
    RUN_TEST(test_end_of_the_loop_waits_for_jobs_under_way);
    RUN_TEST(test_job_that_was_never_submitted_may_be_freed);
    RUN_TEST(test_a_pool_whose_workers_are_all_busy_holds_up_no_other);
    RUN_TEST(test_without_new_threads_a_pool_goes_on_with_those_it_has);
    return UNITY_END();
}
