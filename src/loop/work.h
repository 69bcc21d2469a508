/* work.h: long work in slices, and the meter that tells which work held up the loop.
 *
 * Everything that may take longer than some hundred microseconds is a task.  A task runs in slices;
 * all slices of a turn share one budget of time, and owners (one for each account) take turns.  So
 * the work of one owner delays the others by a slice for each owner that has work, whatever it
 * asked for.  Inside an owner tasks take turns too.
 *
 * Some work can wait: requests that look at very much, pages, backups.  It comes last in a turn and
 * has 50 microseconds, or a quarter of what the other tasks took, so that the answer of a publish
 * does not wait for somebody's statistics.
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

/* For whom work is done.  Ready for use when zeroed; must outlive its tasks, and may end inside the
 * slice that ends the last one. */
struct work_owner {
    struct work_lane {
        struct mf_list link;  /* in the loop's ring while it has tasks */
        struct mf_list tasks; /* in the order of their turns */
    } lane[2];                /* [true]: what can wait */
    const char *name;         /* the account's, for the log; may be NULL */
};

/* Embedded in what is worked on; zeroed, with run and cause set, before the first work_add(). */
struct work_task {
    /* Does one slice: at least one step, then goes on while !work_spent().  true: there is more to
     * do, and the task keeps its place in the rounds.  false: it is done, or waits for something
     * and is added again by then; it may be freed inside. */
    bool (*run)(struct work_task *t);
    struct mf_list link;
    struct work_owner *owner; /* NULL: not queued */
    const char *what;         /* a static text with details for the log, or NULL */
    uint8_t cause;            /* enum work_cause */
};
/* Runs t in this turn or a later one, never from inside this call.  A task that is queued already
 * stays where it is. */
void work_add(struct loop *l, struct work_owner *o, struct work_task *t);
/* For the memory of what is gone: as work_add(), for an owner of the loop's own.  What is left of
 * it when the loop is freed is run to its end then. */
void work_discard(struct loop *l, struct work_task *t);
/* Harmless when it is not queued.  A task may not cancel itself while it runs. */
void work_cancel(struct loop *l, struct work_task *t);
static inline bool work_queued(const struct work_task *t)
{
    return t->owner != NULL;
}
/* Is the time of this slice over?  Outside a task: the time of this turn. */
bool work_spent(struct loop *l);
/* The same for steps of less than a microsecond: looks at the clock at every n-th call only. */
bool work_spent_every(struct loop *l, unsigned n);
/* The same for the turn, by the clock of the last lap: costs no look at the clock. */
bool work_turn_spent(const struct loop *l);
/* For tests that must be repeatable: a slice is over after `steps` questions (of both kinds),
 * whatever the clock says, and a turn after one slice.  0, as at first: by time. */
void work_set_steps(struct loop *l, unsigned steps);

/* --- the meter -------------------------------------------------------------------------------- */

/* What ran since the last lap (or since the events of this turn were fetched) was of this kind.
 * what: a static text with details, or NULL; who: the account, or NULL. */
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
