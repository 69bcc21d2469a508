/* stream_job_impl.h: a job over all stored messages, in time slices, that survives restarts
 * (stream_job.c).  Used by redeadline.c and backfill.c. */
#ifndef STREAM_JOB_H
#define STREAM_JOB_H

#include "stream/stream_impl.h"

struct stream_job;
struct stream_job_ops {
    /* Visits one message in the open commit batch; r->flags are the present ones.  0: done.  Else
     * the reason to wait; MF_CLOSED ends the job.  *wrote: something was put into the batch. */
    int (*visit)(struct stream_job *j, const struct store_rec *r, bool *wrote);
    /* In the same batch, after the messages of a slice: stores the position, j->next. */
    int (*note)(struct stream_job *j);
    /* j->end was passed.  0: the job is finished and may be freed.  Else: tried again. */
    int (*finish)(struct stream_job *j);
    /* After stream_job_stop(): no other callback follows. */
    void (*free)(struct stream_job *j);
};
struct stream_job {
    struct stream *s; /* NULL: stopped */
    const struct stream_job_ops *ops;
    uint64_t next, end; /* the first message that is not done, and the last to look at */
    unsigned slice;     /* messages in one, at most */
    unsigned visited;   /* in the last one */
    int64_t gap_ns;     /* between two slices */
    bool held;          /* stream_job_pause() */
    struct loop_timer *timer;
    bool waiting, reading;
    struct store_wait wait;
    struct store_read read;
};

#define STREAM_JOB_SLICE 512u /* messages: about a millisecond */

MF_MUSTCHECK int stream_job_init(struct stream_job *j, struct stream *s,
                                 const struct stream_job_ops *ops);
/* The waiter of a batch that must be committed before the job begins. */
struct store_wait *stream_job_wait(struct stream_job *j);
void stream_job_continue(struct stream_job *j); /* a slice in a later turn */
void stream_job_pause(struct stream_job *j);    /* no further slice until stream_job_continue() */
void stream_job_stop(struct stream_job *j);

#endif
