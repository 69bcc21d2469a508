/* stream_read.h: reading a stream: by sequence, subject and time; cursors and counts.  A part of
 * stream.h. */
#ifndef MAYFLY_STREAM_READ_H
#define MAYFLY_STREAM_READ_H

#include "base/base.h"
#include "store/store.h"

struct stream;

struct stream_msg {
    uint64_t seq;
    int64_t ts_ns, deadline_ns; /* deadline 0: never */
    struct mf_slice subject, hdr, payload;
    struct mf_buf *lent[2]; /* stream_msg_end()'s own */
};
/* 0: *out is valid until stream_msg_end(), which must follow before the loop gets control again.
 * MF_NOTFOUND: the message does not exist, or ended.  MF_AGAIN: it is not in memory, use
 * stream_load().  MF_CORRUPT: damaged on disk.  MF_NOMEM. */
MF_MUSTCHECK int stream_get(struct stream *s, uint64_t seq, struct stream_msg *out);
/* Gives back the memory of a message that stream_get() or stream_get_now() filled in. */
void stream_msg_end(const struct stream_msg *m);
/* The same from disk without stopping the loop; msg is valid in done() only.  status as above. */
struct stream_load {
    uint64_t seq;
    void (*done)(struct stream_load *l, int status);
    struct stream_msg msg;
    /* The stream's own: */
    struct store_read read;
    struct stream *stream;
};
MF_MUSTCHECK int stream_load(struct stream *s,
                             struct stream_load *l); /* MF_NOMEM, MF_NOTFOUND: done() not called */

/* stream_get() that blocks for the disk if it must: for the start, and for rare requests. */
MF_MUSTCHECK int stream_get_now(struct stream *s, uint64_t seq, struct stream_msg *out);

uint64_t stream_next(struct stream *s, uint64_t from_seq); /* first message at or after; 0: none */
uint64_t stream_prev(struct stream *s, uint64_t from_seq); /* last message at or before; 0: none */
/* The last message of the subjects that match; 0: none.  A literal: O(1); a filter with wildcards:
 * O(messages behind it) or O(subjects that match), whatever is less. */
uint64_t stream_last_of(struct stream *s, struct mf_slice pattern);
bool stream_last_is_known(struct mf_slice pattern); /* stream_last_of() is O(1) for it */
/* The first message at or after from_seq of the subjects that match; 0: none. */
uint64_t stream_next_of(struct stream *s, struct mf_slice pattern, uint64_t from_seq);
/* Finds the first message with a timestamp at or after ts_ns; 0: none.  O(log messages) reads;
 * those from disk do not block the loop. */
struct stream_seek {
    int64_t ts_ns;
    void (*done)(struct stream_seek *k, uint64_t seq); /* not NULL */
    struct stream_load load;
    uint64_t low, high, best;
    struct stream *stream;
};
/* true: *seq, found in memory; done() is not called.  false: done() follows. */
MF_MUSTCHECK bool stream_seek(struct stream *s, struct stream_seek *k, uint64_t *seq);
/* The same among messages up to `upto`; reads from disk block the loop.  For rare requests. */
uint64_t stream_at_time(struct stream *s, int64_t ts_ns, uint64_t upto);
/* Messages (or the last of each subject) that match, in sequence order. */
struct stream_cursor;
MF_MUSTCHECK int stream_cursor_new(struct stream_cursor **out, struct stream *s,
                                   struct mf_slice pattern, bool last_per_subject,
                                   uint64_t from_seq);
uint64_t stream_cursor_next(struct stream_cursor *c, bool *more); /* as store_cursor_next() */
/* The same, with overdue messages: *dead.  Observers were not notified of their end, so counters
 * must count them. */
uint64_t stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead);
uint64_t stream_cursor_steps(const struct stream_cursor *c); /* as store_cursor_steps() */
bool stream_present(struct stream *s, uint64_t seq);         /* counted by stream_count() */
/* The subject of a message that is present, from memory; else empty.  Valid until the next call. */
struct mf_slice stream_subject_at(struct stream *s, uint64_t seq);
uint64_t stream_notified(const struct stream *s); /* observers were notified of all up to here */
uint64_t stream_last_accepted(const struct stream *s); /* perhaps not committed yet */
/* Counts messages of subjects that match, with sequences in [first, last], whose end observers were
 * not notified of.  False: it takes more than a few steps, use a cursor.  As store_count(). */
MF_MUSTCHECK bool stream_count(struct stream *s, struct mf_slice pattern, uint64_t first,
                               uint64_t last, uint64_t *out);
/* The same for visible messages only.  As store_tally(). */
MF_MUSTCHECK int stream_tally(struct stream *s, struct mf_slice pattern, uint64_t first,
                              uint64_t last, uint64_t *out);
void stream_tally_pass(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t seq);
/* The same for subjects that have such a message with a sequence up to `last`. */
MF_MUSTCHECK bool stream_count_subjects(struct stream *s, struct mf_slice pattern, uint64_t last,
                                        uint64_t *out);
bool stream_newest_upto(struct stream *s, uint64_t seq, uint64_t last,
                        uint64_t *older);                        /* as store_newest_upto() */
void stream_cursor_upto(struct stream_cursor *c, uint64_t upto); /* as store_cursor_upto() */
void stream_cursor_free(struct stream_cursor *c);
/* Subjects that match, in no order. */
struct stream_subject {
    struct mf_slice subject;
    uint64_t first_seq, last_seq, count;
};
void stream_each_subject(struct stream *s, struct mf_slice pattern,
                         bool (*visit)(void *arg, const struct stream_subject *x), void *arg);
bool stream_subject(struct stream *s, struct mf_slice subject, struct stream_subject *out);
/* The same over several turns.  A subject that exists all the time is returned exactly once.  Each
 * call visits at most *nodes nodes of the tree of subjects and counts them down.  false with *nodes
 * 0: call again; with more than 0: the end.  out->subject is valid until the next call.  The stream
 * may change between the calls; after it is closed only stream_subjects_free() may follow. */
struct stream_subjects;
struct stream_subjects *stream_subjects_new(struct stream *s,
                                            struct mf_slice pattern); /* NULL: out of memory */
bool stream_subjects_next(struct stream_subjects *w, uint32_t *nodes, struct stream_subject *out);
void stream_subjects_unseen(struct stream_subjects *w); /* as store_keys_unseen() */
void stream_subjects_free(struct stream_subjects *w);   /* NULL is fine */
/* stream_last_of() and stream_next_of() in steps.  true: finished, and *seq is the sequence at that
 * time, 0: none.  false: call again.  The stream may change between the calls; after it is closed
 * only stream_find_free() may follow. */
struct stream_find;
struct stream_find *stream_find_last(struct stream *s, struct mf_slice pattern); /* or NULL */
struct stream_find *stream_find_next(struct stream *s, struct mf_slice pattern,
                                     uint64_t from_seq); /* NULL: out of memory */
bool stream_find_step(struct stream_find *f, uint64_t *seq);
void stream_find_free(struct stream_find *f); /* NULL is fine */

#endif
