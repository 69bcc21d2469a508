/* schedule_impl.h: the table of message schedules (schedule.c), what fires them
 * (schedule_fire.c), and what a clock that is set means for them (schedule_clock.c). */
#ifndef SCHEDULE_IMPL_H
#define SCHEDULE_IMPL_H

#include "stream/stream_impl.h"

#include "base/table.h"

/* One schedule.  Everything else about it stands in its message. */
struct schedule {
    struct table_node node;
    size_t at; /* in the heap */
    uint64_t seq;
    int64_t next_ns; /* by the wall clock */
    int64_t kept_ns; /* not 0: schedule_clock.c asks whether this is still right; next_ns is now */
    bool unsaved;    /* its blob could not be written */
    size_t subject_len;
    char subject[];
};

/* The heap is ordered by (next_ns, seq): no parent comes after its children. */
struct schedules {
    struct table table; /* by subject */
    struct schedule **heap;
    size_t cap; /* of the heap; it holds table.count entries */
    struct loop_timer *timer;
    size_t unsaved;
    bool missed;       /* one or more found no memory here; their blobs are there */
    int64_t missed_ns; /* when that was last so (mono) */
    uint64_t stray;    /* a blob of this sequence could not be deleted; 0: none */
    /* schedule_fire.c: one fires at a time. */
    struct schedule *firing; /* NULL: none, or it was removed meanwhile */
    bool busy;               /* a read or the disk is waited for */
    struct stream_load load; /* its message, then its source's */
    struct store_wait wait;
    struct intake_headers h; /* of hdr */
    struct mf_buf hdr, body; /* its message */
    struct mf_buf src_hdr, src_body;
    struct mf_buf out; /* the header of what it produces */
    struct stream *stream;
};

static inline struct mf_slice schedule_subject(const struct schedule *x)
{
    return mf_slice(x->subject, x->subject_len);
}
/* In a batch or not. */
void schedule_forget(struct stream *s, struct schedule *x);
void schedule_move(struct stream *s, struct schedule *x, int64_t next_ns); /* and saves it */
void schedule_place(struct schedules *t, struct schedule *x, int64_t next_ns);
void schedule_reorder(struct schedules *t); /* after any of next_ns was changed; O(n log n) */
void schedule_save(struct stream *s, struct schedule *x);
struct schedule *schedule_first(const struct schedules *t); /* NULL: none */
/* O(blobs of the store), once in a while. */
void schedule_load_missed(struct stream *s);
/* Its message is in t->hdr, its headers in t->h: is kept_ns still right?  false: no memory yet. */
bool schedule_replan(struct stream *s, struct schedule *x);
/* Sets the timer for the first one, not before at_least_ns (of the wall clock). */
void schedule_arm(struct stream *s, int64_t at_least_ns);

#endif
