/* stream.h: one stream: what comes in, what goes out, what dies and who is told.
 *
 * Writing: stream_publish() checks, stores and answers when the message is on disk.  Removing and
 * purging answer in the same way.  Reading sees what is on disk and alive now.  All of it belongs
 * to the loop thread.
 *
 * Costs: publish, expiry and reads by sequence or by subject are O(1) plus the bytes; a purge is
 * O(messages removed), in slices; nothing walks what it does not touch. */
#ifndef MAYFLY_STREAM_H
#define MAYFLY_STREAM_H

#include "base/clock.h"
#include "base/list.h"
#include "loop/loop.h"
#include "ttl/policy.h"
#include "store/store.h"
#include "stream/stream_config.h"
#include "stream/stream_host.h"
#include "stream/stream_event.h"
#include "loop/work.h"

struct stream;

/* --- coming in ------------------------------------------------------------------------------ */

/* The lifetime of a message in its ack: on request (Mayfly-TTL: show), and where the writer's own
 * TTL was clamped. */
struct stream_ack_ttl {
    char ttl[POLICY_TEXT], decided_by[POLICY_BY_TEXT];
    int64_t deadline_ns; /* 0: none */
    bool shown;          /* on request: all of it; else the TTL alone */
};
/* What the publisher is told; valid during the call of done(). */
struct stream_ack {
    const struct js_error *error; /* NULL: fine */
    uint64_t seq;
    bool duplicate;
    bool empty;      /* a member of a batch: an empty reply */
    bool silent;     /* no reply at all: the answer is not due, or went another way */
    const char *val; /* a counter's value, or NULL */
    const struct stream_ack_ttl *ttl; /* NULL: the ack has none of it */
    struct mf_slice batch;            /* with count: a whole batch; empty otherwise */
    uint64_t batch_count;
    bool anyway; /* what ends a fast batch is told even where no_ack is set */
};
struct stream_publish {
    /* In: borrowed for the length of the call; the subject as it was published. */
    struct mf_msg msg;
    /* Once; maybe from inside stream_publish().  Who waits on a stream is told, with an error, when
     * it closes. */
    void (*done)(struct stream_publish *p, const struct stream_ack *a);
    /* A copy of a message of another stream, or of a backup: no checks, expected and batch headers
     * are of no meaning.  seq 0: the next one; larger than that: the ones between are skipped. */
    bool replicated;
    /* replicated, by who follows that stream and can come back to it: limits, sizes and ids count
     * (a mirror's ids do not), and a refusal is told inside stream_publish(), before anything later
     * is taken. */
    bool followed;
    uint64_t seq;
    int64_t ts_ns; /* replicated: 0: now */
    /* The stream's own: */
    struct stream *stream;
    struct store_wait wait;
    struct stream_answer *answer; /* what to say when the wait is over; NULL: that it is stored */
    uint64_t given_seq;
};
void stream_publish(struct stream *s, struct stream_publish *p);

/* A mirror: sequences up to here were never given to a message.  0: so be it, on disk with what
 * comes next. */
MF_MUSTCHECK int stream_skip(struct stream *s, uint64_t upto);
uint64_t stream_accepted(const struct stream *s); /* the last sequence given, on disk or not */
/* fn is called right before a group of writes goes to the disk: what it writes (stream_blob_put) is
 * there after a crash if they are.  One at a time; NULL: nobody. */
void stream_on_commit(struct stream *s, void (*fn)(void *arg), void *arg);

/* --- going out ------------------------------------------------------------------------------ */

struct stream_msg {
    uint64_t seq;
    int64_t ts_ns, deadline_ns; /* deadline 0: never */
    struct mf_slice subject, hdr, payload;
    struct mf_buf *lent[2]; /* stream_msg_end()'s own */
};
/* 0: *out is valid until stream_msg_end(), which must follow before the loop gets control again.
 * MF_NOTFOUND: the message is not there (any more).  MF_AGAIN: it is not in memory, use
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

/* stream_get(), waiting for the disk where it must: at start, and for what is rare. */
MF_MUSTCHECK int stream_get_now(struct stream *s, uint64_t seq, struct stream_msg *out);

uint64_t stream_next(struct stream *s, uint64_t from_seq); /* first message at or after; 0: none */
uint64_t stream_prev(struct stream *s, uint64_t from_seq); /* last message at or before; 0: none */
/* The last one of the subjects that match; 0: none.  A literal: O(1); a pattern: O(messages behind
 * it) or O(subjects that match), whatever is less. */
uint64_t stream_last_of(struct stream *s, struct mf_slice pattern);
bool stream_last_is_known(struct mf_slice pattern); /* is that O(1)? */
/* The first one at or after from_seq of the subjects that match.  0: none. */
uint64_t stream_next_of(struct stream *s, struct mf_slice pattern, uint64_t from_seq);
/* The first one with a timestamp at or after ts_ns; 0: none.  O(log messages) reads; those from
 * disk do not stop the loop. */
struct stream_seek {
    int64_t ts_ns;
    void (*done)(struct stream_seek *k, uint64_t seq); /* not NULL */
    struct stream_load load;
    uint64_t low, high, best;
    struct stream *stream;
};
void stream_seek(struct stream *s, struct stream_seek *k); /* done() maybe from inside */
/* The same among those up to `upto`, at once: reads from disk stop the loop.  For what is rare. */
uint64_t stream_at_time(struct stream *s, int64_t ts_ns, uint64_t upto);
/* Messages (or the last of each subject) that match, in sequence order. */
struct stream_cursor;
MF_MUSTCHECK int stream_cursor_new(struct stream_cursor **out, struct stream *s,
                                   struct mf_slice pattern, bool last_per_subject,
                                   uint64_t from_seq);
uint64_t stream_cursor_next(struct stream_cursor *c, bool *more); /* as store_cursor_next() */
/* The same, and messages past their deadline that are not swept yet, with *dead: observers were not
 * told of their end, so who counts must count them. */
uint64_t stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead);
uint64_t stream_cursor_steps(const struct stream_cursor *c); /* as store_cursor_steps() */
bool stream_present(struct stream *s, uint64_t seq);         /* there as stream_count() counts it */
/* The subject of one that is present, from memory; empty: it is not.  Valid until the next call. */
struct mf_slice stream_subject_at(struct stream *s, uint64_t seq);
uint64_t stream_announced(const struct stream *s);     /* observers were told of all up to here */
uint64_t stream_last_accepted(const struct stream *s); /* perhaps not on disk yet */
/* Counts messages of subjects that match, with sequences in [first, last], that observers were not
 * told the end of.  False: not in a few steps, use a cursor.  As store_count(). */
MF_MUSTCHECK bool stream_count(struct stream *s, struct mf_slice pattern, uint64_t first,
                               uint64_t last, uint64_t *out);
/* The same for messages that can be read, those before their deadline.  As store_tally(). */
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
/* The same in slices, over several turns.  A subject that is there all the time is seen exactly
 * once.  Each call passes over at most *nodes nodes of the tree of subjects and counts them down.
 * false with *nodes 0: go on with another call; with more than 0: that was all.  out->subject is
 * valid until the next call.  Between the calls the stream may change; once it is closed only
 * stream_subjects_free() may follow. */
struct stream_subjects;
struct stream_subjects *stream_subjects_new(struct stream *s,
                                            struct mf_slice pattern); /* NULL: out of memory */
bool stream_subjects_next(struct stream_subjects *w, uint32_t *nodes, struct stream_subject *out);
void stream_subjects_free(struct stream_subjects *w); /* NULL is fine */
/* What stream_last_of() or stream_next_of() tells, in slices.  Each stream_find_step() is short.
 * true: it is over, and *seq is the sequence at that time, 0: none.  false: call it again.  Between
 * the calls the stream may change; once it is closed only stream_find_free() may follow. */
struct stream_find;
struct stream_find *stream_find_last(struct stream *s, struct mf_slice pattern); /* or NULL */
struct stream_find *stream_find_next(struct stream *s, struct mf_slice pattern,
                                     uint64_t from_seq); /* NULL: out of memory */
bool stream_find_step(struct stream_find *f, uint64_t *seq);
void stream_find_free(struct stream_find *f); /* NULL is fine */

/* As nats-server counts: bytes with its overhead for each message, by kind of storage. */
struct stream_state {
    uint64_t msgs, bytes, first_seq, last_seq;
    int64_t first_ts_ns, last_ts_ns; /* CLOCK_ZERO: none */
    uint64_t subjects, deleted;      /* deleted: gaps between first_seq and last_seq */
    uint64_t with_ttl;               /* messages with a deadline */
    uint64_t overdue;                /* past it and not swept yet: not among msgs */
};
void stream_state(struct stream *s, struct stream_state *out);
/* It was restored, or emptied: from now on its first sequence is told though nothing was ever
 * stored. */
void stream_emptied(struct stream *s);

/* --- removing ------------------------------------------------------------------------------- */

/* Embedded in what waits. */
struct stream_op {
    /* Once, later or from inside the call.  e NULL: done.  count: messages removed. */
    void (*done)(struct stream_op *op, const struct js_error *e, uint64_t count);
    /* The stream's own: */
    struct stream *stream;
    struct store_wait wait;
    uint64_t count;
    int refused; /* half way: told when what was done before it is on disk */
    struct mf_list link;
    char *purge_filter; /* a purge's filter, empty: of everything; NULL: no purge */
};
/* Checks sealed and deny_delete too. */
void stream_remove(struct stream *s, uint64_t seq, bool erase, struct stream_op *op);
/* Everything that was accepted, whatever the configuration says.  O(1) records. */
MF_MUSTCHECK int stream_drop_all(struct stream *s);
/* filter empty: everything.  below: only sequences less than this, 0: all.  keep: that many of the
 * newest stay. Checks sealed and deny_purge. */
void stream_purge(struct stream *s, struct mf_slice filter, uint64_t below, uint64_t keep,
                  struct stream_op *op);

/* --- the stream itself ---------------------------------------------------------------------- */

const struct stream_config *stream_config(const struct stream *s);
const char *stream_name(const struct stream *s);
int64_t stream_created_ns(const struct stream *s);
const struct stream_host *stream_host(const struct stream *s);
struct work_owner *stream_owner(struct stream *s); /* of work in slices */
/* Bytes that such a message counts with, in its state and for limits. */
uint64_t stream_size_of(const struct stream *s, size_t subject, size_t hdr, size_t payload);
/* Whatever a layer above wants to find again here; NULL at first. */
void stream_set_data(struct stream *s, void *data);
void *stream_data(const struct stream *s);
/* Why it takes no writes any more; NULL: it does. */
const char *stream_error(const struct stream *s);
/* The latest time its log knows of: no clock that judges deadlines may be behind it. */
int64_t stream_clock_floor(const struct stream *s);
/* The clock was set: deadlines may be nearer than timers know. */
void stream_clock_stepped(struct stream *s);
/* The same when it was set back: schedules may wait for what is far away now. */
void stream_clock_set_back(struct stream *s);
#define STREAM_LATE_NS (60 * CLOCK_S)
struct stream_stats {
    uint64_t expired, markers, duplicates, published, refused;
    uint64_t removed;    /* messages that went before their end: by limits, purges, requests */
    int64_t late_max_ns; /* the worst delay of an expiry in the last one to two STREAM_LATE_NS */
    uint64_t disk_bytes, memory_bytes, syncs, damage;
};
void stream_stats(struct stream *s, struct stream_stats *out);

/* Who must know what happens: consumers.  Each message is told of twice: when it came to disk (at
 * the end of that turn, in the order of sequences), and when nobody can see it any more (expired:
 * at the sweep; removed: when that is on disk). */
struct stream_observer {
    void (*stored)(struct stream_observer *o, const struct stream_msg *m);
    void (*gone)(struct stream_observer *o, uint64_t seq, struct mf_slice subject);
    /* Many at once, none of them told of one by one: count again. */
    void (*purged)(struct stream_observer *o, uint64_t first, uint64_t last);
    /* After the two above: that was a purge or a roll-up, of these subjects (empty: of all). */
    void (*purge_done)(struct stream_observer *o, struct mf_slice filter);
    struct mf_list node;
};
/* Observers are told now, and not at the end of the turn, of what is on disk.  Copies are not sent:
 * who gets one may ask for anything, also for the end of who called. */
void stream_announce(struct stream *s);
void stream_observe(struct stream *s, struct stream_observer *o);
void stream_unobserve(struct stream_observer *o);
/* Interest and work queue retention: is anybody waiting for this subject?  Without it nobody is. */
void stream_set_interest(struct stream *s, bool (*wanted)(void *arg, struct mf_slice subject),
                         void *arg);

#include "stream/stream_blob.h"

#endif
