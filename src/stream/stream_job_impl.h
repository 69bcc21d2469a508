/* walk.h: one resumable walk over stored messages, in slices (stream_job.c).  Used by jobs that
 * change what is stored: new deadlines after a change of max_age (redeadline.c), BACKFILL
 * (backfill.c). */
#ifndef STREAM_JOB_H
#define STREAM_JOB_H

#include "stream/stream_impl.h"

struct stream_job;
struct stream_job_ops {
    /* One message, in the open batch; r->flags as they hold now.  0: done with it.  Otherwise why
     * it has to wait; MF_CLOSED ends the walk.  *wrote: something was put into the batch. */
    int (*visit)(struct stream_job *j, const struct store_rec *r, bool *wrote);
    /* In the same batch, behind the messages of a slice: notes the place, j->next. */
    int (*note)(struct stream_job *j);
    /* j->end was passed.  0: the walk is over, the memory may be gone.  Otherwise: tried again. */
    int (*finish)(struct stream_job *j);
    /* After stream_job_stop(): nothing is called any more. */
    void (*free)(struct stream_job *j);
};
struct stream_job {
    struct stream *s; /* NULL: stopped */
    const struct stream_job_ops *ops;
    uint64_t next, end; /* the first message that is not done, and the last to look at */
    unsigned slice;     /* messages in one */
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
/* For a batch that must be on disk first: its waiter. */
struct store_wait *stream_job_wait(struct stream_job *j);
void stream_job_continue(struct stream_job *j); /* a slice in a later turn */
void stream_job_pause(struct stream_job *j);    /* no further slice until stream_job_continue() */
void stream_job_stop(struct stream_job *j);

#endif
