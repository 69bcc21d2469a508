/* work.h: long work as tasks, and the meter that finds the work that held up the loop.
 *
 * Work that may take longer than some hundred microseconds is a task.  A task runs in time slices;
 * all time slices of a turn share one budget, and owners (one for each account) take turns.  So an
 * owner delays the others by one time slice, however much it asked for.  The tasks of an owner
 * take turns too.
 *
 * Some work can wait: requests that look at very much, pages, backups.  It runs last in a turn and
 * has 50 microseconds, or a quarter of the time of the other tasks, so that a publish ack does not
 * wait for somebody's statistics.
 *
 * Cost: adding, running and cancelling are O(1).  A lap and work_spent() read the clock once. */
#ifndef MAYFLY_WORK_H
#define MAYFLY_WORK_H

#include "base/list.h"
#include "loop/loop.h"

/* Kinds of work that the meter tells apart: the name in C, the label in metrics and log lines. */
#define WORK_CAUSES(X)                                                                             \
    X(OTHER, "other")                                                                              \
    X(READ, "client input")                                                                        \
    X(WRITE, "client output")                                                                      \
    X(CLOSE, "connection close")                                                                   \
    X(REQUEST, "api request")                                                                      \
    X(DIRECT, "direct get")                                                                        \
    X(DELIVER, "consumer delivery")                                                                \
    X(STORED, "stored messages")                                                                   \
    X(COMMIT, "commit")                                                                            \
    X(EXPIRE, "expiry")                                                                            \
    X(REMOVE, "removal")                                                                           \
    X(SOURCE, "mirror and source")                                                                 \
    X(BACKUP, "snapshot and restore")                                                              \
    X(PAGE, "monitoring page")                                                                     \
    X(TIMER, "timer")                                                                              \
    X(WORKER, "worker result")

enum work_cause {
#define WORK_NAME(name, text) WORK_##name,
    WORK_CAUSES(WORK_NAME)
#undef WORK_NAME
        WORK_NCAUSES
};
const char *work_cause_text(enum work_cause cause);

/* --- tasks ------------------------------------------------------------------------------------ */

/* The account for which tasks run.  Ready for use when zeroed; must outlive its tasks, and may be
 * freed inside the time slice that ends the last one. */
struct work_owner {
    struct work_lane {
        struct mf_list link;  /* in the loop's ring while it has tasks */
        struct mf_list tasks; /* in the order of their turns */
    } lane[2];                /* [true]: what can wait */
    const char *name;         /* the account's, for the log; may be NULL */
};

/* Embedded in what is worked on; zeroed, with run and cause set, before the first work_add(). */
struct work_task {
    /* Runs one time slice: at least one step, then more while !work_spent().  true: there is more
     * to do, and the task stays queued.  false: the task is done, or it waits and is added again
     * later; run() may free it. */
    bool (*run)(struct work_task *t);
    struct mf_list link;
    struct work_owner *owner; /* NULL: not queued */
    const char *what;         /* a static text with details for the log, or NULL */
    uint8_t cause;            /* enum work_cause */
};
/* Runs t in this turn or a later one, never from inside this call.  A task that is queued already
 * stays where it is. */
void work_add(struct loop *l, struct work_owner *o, struct work_task *t);
/* As work_add(), for tasks that free memory and have no owner any more.  loop_free() runs such
 * tasks to their end. */
void work_discard(struct loop *l, struct work_task *t);
/* Harmless when it is not queued.  A task may not cancel itself while it runs. */
void work_cancel(struct loop *l, struct work_task *t);
static inline bool work_queued(const struct work_task *t)
{
    return t->owner != NULL;
}
/* Is this time slice over?  Outside a task: the time of this turn. */
bool work_spent(struct loop *l);
/* The same for steps of less than a microsecond: reads the clock at every n-th call only. */
bool work_spent_every(struct loop *l, unsigned n);
/* The same for the turn, by the time of the last lap: does not read the clock. */
bool work_turn_spent(const struct loop *l);
/* For repeatable tests: a time slice is over after `steps` calls of work_spent() and
 * work_spent_every(), and a turn after one time slice.  0, the default: by time. */
void work_set_steps(struct loop *l, unsigned steps);

/* --- the meter -------------------------------------------------------------------------------- */

/* Ends a lap: the work since the last lap (or since the events of this turn were fetched) was of
 * this kind.  what: a static text with details, or NULL; who: the account, or NULL. */
void work_lap(struct loop *l, enum work_cause cause, const char *what, const char *who);

/* A turn of 10 ms or more is a stall.  It counts for the kind of work that had its longest lap. */
#define WORK_STALL_NS (10 * (int64_t)1000000)
struct work_stalls {
    uint64_t turns[WORK_NCAUSES]; /* stalls */
    int64_t ns[WORK_NCAUSES];     /* their lengths together */
    int64_t longest_ns;           /* the longest turn since the start */
};
const struct work_stalls *work_stalls(const struct loop *l);

#endif
