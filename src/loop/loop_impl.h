/* loop_impl.h: the loop's insides, shared by the files of this folder only. */
#ifndef LOOP_IMPL_H
#define LOOP_IMPL_H

#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"
#include "loop/work.h"

#include <pthread.h>
#include <uv.h>

/* A posted call, not yet run. */
struct loop_call {
    struct loop_call *next;
    void (*fn)(void *arg);
    void *arg;
    bool heap; /* loop_post() allocated it */
};

/* The threads of one pool; `threads` and `thread` belong to the loop thread. */
struct loop_workers {
    struct log *log; /* of the thread that made the loop; its workers use it too */
    pthread_cond_t more;
    pthread_mutex_t mutex; /* guards the five below */
    struct loop_job *first, *last;
    unsigned queued, idle; /* jobs that no worker has taken; workers without one */
    bool end;
    int nice;
    unsigned threads, most;
    pthread_t thread[4];
};

/* The meter of this turn (stall.c).  Times are 0 until they are first needed in this turn. */
struct loop_meter {
    int64_t from_ns;  /* when the events were fetched */
    int64_t lap_ns;   /* the last lap */
    int64_t worst_ns; /* the longest lap, and what ran in it */
    enum work_cause worst;
    char what[64], who[64]; /* empty unless that lap was a stall by itself */
    struct work_stalls stalls;
};

/* A turn of the loop, as libuv orders it:
 *
 *     timers > pending > prepare > wait for events and serve them > check > close callbacks
 *
 * Hooks run at `check`, for what the served events queued, and at `prepare`, for what close
 * callbacks and timers queued; so none is ever queued while the loop waits. */
struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle; /* active only to keep the loop from waiting: hooks were left over */

    struct loop_defer *defer_first, *defer_last;
    struct loop_defer *next_first, *next_last; /* loop_next() */

    /* The clocks as first read in this turn; forgotten before the loop waits.  Outside loop_run()
     * they are read at each call. */
    bool running, time_known;
    int64_t mono_ns, wall_ns;

    struct {
        int64_t max_ns;        /* 0: off */
        int64_t from_ns;       /* when the loop began to wait; 0: it does not */
        int64_t rest_until_ns; /* others want the core */
        long evictions;
        unsigned trust; /* that the next event comes soon */
        unsigned looked;
    } spin; /* spin.c */

    struct {
        struct mf_list ring[2];      /* lanes of owners that have tasks; [true]: what can wait */
        struct work_owner discarded; /* work_discard() */
        int64_t slice_from_ns, slice_ns;
        unsigned looks, steps;
        bool in_slice;
        bool ran;  /* in this turn */
        bool last; /* which ring had the last slice, where slices are counted in steps */
    } work;        /* work.c */
    struct loop_meter meter;

    struct loop_workers workers[LOOP_POOLS];
    unsigned jobs;                  /* submitted, done() not called yet */
    bool jobs_inline;               /* no worker threads: loop_jobs_inline() */
    struct mf_list timers, signals; /* all that were not freed */
    bool in_timer;                  /* a timer's callback is running */

    pthread_mutex_t mutex; /* guards the two below */
    struct loop_call *call_first, *call_last;
};

void loop_time_read(struct loop *l); /* reads the clocks now */

/* work.c */
void loop_work_run(struct loop *l);    /* time slices, until the turn's budget is spent */
void loop_work_finish(struct loop *l); /* what was discarded */
bool loop_work_waiting(const struct loop *l);
/* stall.c */
int64_t loop_turn_start_ns(const struct loop *l);
int64_t loop_meter_end(struct loop *l); /* the turn is over; returns the time */
/* spin.c: around the wait for events. */
void loop_spin_before(struct loop *l, int64_t now_ns);
void loop_spin_after(struct loop *l);
/* post.c */
void loop_post_run(struct loop *l); /* runs what is queued by now */
bool loop_post_waiting(struct loop *l);
/* As loop_post(), with the caller's memory: c may be used again once fn is called.  Any thread. */
void loop_post_call(struct loop *l, struct loop_call *c);
/* job.c */
void loop_jobs_begin(struct loop *l);
void loop_jobs_end(struct loop *l); /* ends the threads; no job is submitted */
/* timer.c, signal.c: free what their owners forgot. */
void loop_timers_free(struct loop *l);
void loop_signals_free(struct loop *l);

#endif
