/* walk.h: one resumable walk over stored messages, in slices (walk.c).  Used by jobs that change
 * what is stored: new deadlines after a change of max_age (sweep.c), BACKFILL (backfill.c). */
#ifndef STREAM_WALK_H
#define STREAM_WALK_H

#include "stream/stream_impl.h"

struct walk;
struct walk_ops {
    /* One message, in the open batch; r->flags as they hold now.  0: done with it.  Otherwise why
     * it has to wait; MF_CLOSED ends the walk.  *wrote: something was put into the batch. */
    int (*visit)(struct walk *w, const struct store_rec *r, bool *wrote);
    /* In the same batch, behind the messages of a slice: notes the place, w->next. */
    int (*note)(struct walk *w);
    /* w->end was passed.  0: the walk is over, the memory may be gone.  Otherwise: tried again. */
    int (*finish)(struct walk *w);
    /* After walk_stop(): nothing is called any more. */
    void (*free)(struct walk *w);
};
struct walk {
    struct stream *s; /* NULL: stopped */
    const struct walk_ops *ops;
    uint64_t next, end; /* the first message that is not done, and the last to look at */
    unsigned slice;     /* messages in one */
    int64_t gap_ns;     /* between two slices */
    bool held;          /* walk_hold() */
    struct loop_timer *timer;
    bool waiting, reading;
    struct store_wait wait;
    struct store_read read;
};

#define WALK_SLICE 512u /* messages: about a millisecond */

MF_MUSTCHECK int walk_init(struct walk *w, struct stream *s, const struct walk_ops *ops);
/* For a batch that must be on disk first: its waiter. */
struct store_wait *walk_wait(struct walk *w);
void walk_go(struct walk *w);   /* a slice in a later turn */
void walk_hold(struct walk *w); /* no further slice until walk_go() */
void walk_stop(struct walk *w);

#endif
