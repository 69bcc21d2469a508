/* loop.h: the one event loop thread (libuv) that owns all state: timers, worker jobs, posted calls,
 * signals, and hooks at the end of each turn. */
#ifndef MAYFLY_LOOP_H
#define MAYFLY_LOOP_H

#include "base/base.h"

struct loop;
MF_MUSTCHECK int loop_new(struct loop **out, struct mf_error *e);
/* Runs until loop_stop(); handles that are still open are closed by their owners before loop_free.
 */
void loop_run(struct loop *l);
void loop_stop(struct loop *l); /* on the loop thread; other threads post it */
/* Closes open handles, lets running jobs and close callbacks finish (within 10 s), runs posted
 * calls, then frees.  No other thread may post any more.  NULL is fine. */
void loop_free(struct loop *l);
struct uv_loop_s *loop_uv(struct loop *l); /* for net only */
/* One turn without waiting, for tools and tests that have a loop of their own. */
void loop_turn(struct loop *l);

/* Longest time to busy-poll before blocking.  Used only if recent events arrived within it and no
 * other thread wants the core.  0, the default: none. */
void loop_spin(struct loop *l, int64_t max_ns);

/* The clocks are read once per turn, at the first call, and again when a timer fires. */
int64_t loop_mono_ns(const struct loop *l);
int64_t loop_wall_ns(const struct loop *l);

/* One-shot timer on the monotonic clock; millisecond resolution, never early: in fire(),
 * loop_mono_ns() is not before the time asked for.  A time that has passed fires in the next turn.
 * Arming and stopping are O(log timers); all of it may be done in fire(), freeing too. */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, void (*fire)(void *arg), void *arg); /* or NULL */
void loop_timer_arm(struct loop_timer *t, int64_t at_mono_ns); /* again replaces */
void loop_timer_stop(struct loop_timer *t); /* NULL, one there was no memory for, is fine */
void loop_timer_free(struct loop_timer *t); /* NULL is fine; never fires afterwards */

/* Kinds of work for worker threads.  Each pool has its own threads and its own queue: a job waits
 * only for jobs of its pool. */
enum loop_pool {
    LOOP_DISK,    /* commits and syncs: publishers wait for them */
    LOOP_READ,    /* messages that are not in memory: readers wait for them */
    LOOP_UPKEEP,  /* preparing, cleaning, checkpoints; opening and deleting stores */
    LOOP_NAMES,   /* lookups of names: a resolver may take a minute */
    LOOP_OUTSIDE, /* work that anybody can ask for: passwords, user JWTs, large pages */
};
#define LOOP_POOLS        (LOOP_OUTSIDE + 1)
#define LOOP_OUTSIDE_MOST 2 /* jobs of LOOP_OUTSIDE that run at a time */

/* Work for a worker thread; done() runs on the loop, where it may submit again or free the job. One
 * submit at a time per job.  loop_job_new: NULL without memory, or where the pool has no thread and
 * none can be started. */
struct loop_job;
struct loop_job *loop_job_new(struct loop *l, enum loop_pool pool, void (*work)(void *arg),
                              void (*done)(void *arg), void *arg);
void loop_job_submit(struct loop_job *j);
void loop_job_free(struct loop_job *j); /* not while submitted */
/* From now on jobs run on the loop thread, one after the other in the order of submission, each in
 * a turn after the call: the same order in every run, so a test can be repeated exactly. */
void loop_jobs_inline(struct loop *l);

/* From any thread, FIFO; fn runs on the loop.  MF_NOMEM only. */
MF_MUSTCHECK int loop_post(struct loop *l, void (*fn)(void *arg), void *arg);

/* A closed peer and a file at its size limit are errors of write() and must not end the process.
 * Sets the whole process, so for main() alone; a thread inside another program blocks these
 * signals. */
void loop_ignore_signals(void);
/* The handler runs on the loop, not in signal context. */
struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *l, int signum, void (*fire)(void *arg, int signum),
                                    void *arg);
void loop_signal_free(struct loop_signal *s);

/* Called once at the end of the turn in which loop_defer() was called, before the loop waits again.
 * The node is the caller's; a node already queued is not queued twice.  Order is that of the calls.
 * Nodes added while hooks run are run in the same round; but after 64 generations of hooks that
 * add hooks the loop first polls its events, without waiting. */
struct loop_defer {
    void (*fn)(struct loop_defer *d);
    struct loop_defer *next;
    bool queued;
    bool after;    /* queued by loop_next() */
    uint8_t cause; /* enum work_cause: the kind of work, for the meter (work.h) */
};
void loop_defer(struct loop *l, struct loop_defer *d);
/* Called once after the loop has polled its events, without waiting for any: the way long work
 * continues in a later turn. */
void loop_next(struct loop *l, struct loop_defer *d);
void loop_defer_cancel(struct loop *l, struct loop_defer *d); /* O(queued) */

#endif
