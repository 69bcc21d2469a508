/* stream.h: one stream: publishes, reads, removals, observers.
 *
 * Writing: stream_publish() checks and stores a message and answers after the commit. Removals and
 * purges answer in the same way. Readers see committed messages before their deadlines. Everything
 * belongs to the loop thread.
 *
 * Costs: publish, expiry and reads by sequence or by subject are O(1) plus the bytes. A purge is
 * O(messages removed), in time slices.
 *
 * Completions (done) are called once. Two of them may be called from inside the call that registers
 * them: stream_publish.done and stream_op.done. Each declaration says why.
 */
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
#include "stream/stream_read.h"
#include "loop/work.h"

struct stream;

/* --- writing ------------------------------------------------------------------------------ */

/* The TTL of a message in its publish ack: on request (Mayfly-TTL: show), and where the writer's
 * own TTL was clamped. */
struct stream_ack_ttl {
    char ttl[POLICY_TEXT], decided_by[POLICY_BY_TEXT];
    int64_t deadline_ns; /* 0: none */
    bool shown;          /* on request: all fields; else the TTL alone */
};
/* The publish ack.  Valid during the call of done(). */
struct stream_ack {
    const struct js_error *error; /* NULL: stored, or a duplicate */
    uint64_t seq;
    bool duplicate;
    bool empty;                       /* a member of an atomic batch: an empty reply */
    bool silent;                      /* no reply: none is due, or it was sent another way */
    const char *val;                  /* a counter's value, or NULL */
    const struct stream_ack_ttl *ttl; /* NULL: not shown */
    struct mf_slice batch;            /* id of a whole atomic batch, with batch_count; else empty */
    uint64_t batch_count;
    bool anyway; /* the end of a fast batch: acknowledged even with no_ack */
};
/* The trace of a publish: how far the checks got. */
struct stream_trace {
    bool dry_run;  /* in: nothing is stored, and success has no ack */
    char *subject; /* after the transform; NULL: a check refused it before.  malloc, the caller's */
    bool no_interest; /* interest retention, and no consumer wants it */
};
struct stream_publish {
    /* In: borrowed during the call.  The subject is that of the publish, before the transform. */
    struct mf_msg msg;
    /* Called once: after the commit, or with an error when the stream closes.  Refusals and
     * duplicates with no earlier publish waiting are answered inside stream_publish(): deferring
     * them would let answers of one client overtake each other, and a follower must know of a
     * refusal before it accepts the next message. */
    void (*done)(struct stream_publish *p, const struct stream_ack *a);
    /* A message of another stream or of a backup.  It is not checked; its expected and batch
     * headers have no effect.  seq 0: the next sequence; a larger one: those between are skipped.
     */
    bool replicated;
    /* replicated, from an upstream that can deliver it again: limits, sizes and ids are checked
     * (ids not for a mirror), and a refusal is answered inside stream_publish(). */
    bool followed;
    /* replicated: nothing is stored, the sequence is used up; nobody sees a message. */
    bool gap;
    uint64_t seq;
    int64_t ts_ns;              /* replicated: 0: now */
    struct stream_trace *trace; /* NULL: it is not traced; valid until done() */
    /* The stream's own: */
    struct stream *stream;
    struct store_wait wait;
    struct stream_answer *answer; /* the answer after the commit; NULL: a plain ack */
    uint64_t given_seq;
};
void stream_publish(struct stream *s, struct stream_publish *p);

/* Mirrors only: marks all sequences up to `upto` as unused.  Returns 0 if accepted; durable with
 * the next commit. */
MF_MUSTCHECK int stream_skip(struct stream *s, uint64_t upto);
uint64_t stream_accepted(const struct stream *s); /* the last sequence given, committed or not */
/* fn is called right before a commit group is written: blobs that it puts (stream_blob_put) belong
 * to the same commit group.  One function at a time; NULL: none. */
void stream_on_commit(struct stream *s, void (*fn)(void *arg), void *arg);

/* --- state ---------------------------------------------------------------------------------- */

/* As nats-server counts: bytes include its overhead for each message, by kind of storage. */
struct stream_state {
    uint64_t msgs, bytes, first_seq, last_seq;
    int64_t first_ts_ns, last_ts_ns; /* CLOCK_ZERO: none */
    uint64_t subjects, deleted;      /* deleted: gaps between first_seq and last_seq */
    uint64_t with_ttl;               /* messages with a deadline */
    uint64_t overdue;                /* not among msgs */
};
void stream_state(struct stream *s, struct stream_state *out);
/* The stream was restored or emptied: from now on stream_state() shows its first sequence even if
 * it has stored nothing. */
void stream_emptied(struct stream *s);

/* --- removing ------------------------------------------------------------------------------- */

/* A removal, purge or change that waits for its commit.  Embedded in the caller's request. */
struct stream_op {
    /* Called once, after the commit.  e NULL: done.  count: messages removed.  A refusal is
     * answered inside the call, so that API answers keep the order of their requests. */
    void (*done)(struct stream_op *op, const struct js_error *e, uint64_t count);
    /* The stream's own: */
    struct stream *stream;
    struct store_wait wait;
    uint64_t count;
    int refused; /* refused half way: reported after the commit of the earlier part */
    struct mf_list link;
    char *purge_filter; /* a purge's filter, empty: all subjects; NULL: no purge */
};
/* Checks sealed and deny_delete too. */
void stream_remove(struct stream *s, uint64_t seq, bool erase, struct stream_op *op);
/* Removes everything that was accepted, whatever the configuration says.  O(1) records. */
MF_MUSTCHECK int stream_drop_all(struct stream *s);
/* filter empty: all subjects.  below: only sequences less than this, 0: all.  keep: so many of the
 * newest stay.  Checks sealed and deny_purge. */
void stream_purge(struct stream *s, struct mf_slice filter, uint64_t below, uint64_t keep,
                  struct stream_op *op);

/* --- the stream itself ---------------------------------------------------------------------- */

const struct stream_config *stream_config(const struct stream *s);
const char *stream_name(const struct stream *s);
int64_t stream_created_ns(const struct stream *s);
const struct stream_host *stream_host(const struct stream *s);
struct work_owner *stream_owner(struct stream *s); /* of its tasks */
/* Bytes that such a message counts with, in its state and for limits. */
uint64_t stream_size_of(const struct stream *s, size_t subject, size_t hdr, size_t payload);
/* A pointer of the layer above; NULL at first. */
void stream_set_data(struct stream *s, void *data);
void *stream_data(const struct stream *s);
/* Why the stream refuses writes; NULL: it accepts them. */
const char *stream_error(const struct stream *s);
/* The latest time in its log.  The clock for deadlines must not be behind it. */
int64_t stream_clock_floor(const struct stream *s);
/* The clock was set: deadlines may be nearer than timers know. */
void stream_clock_stepped(struct stream *s);
/* The clock was set back: the times of schedules may be far in the future now. */
void stream_clock_set_back(struct stream *s);
#define STREAM_LATE_NS (60 * CLOCK_S)
struct stream_stats {
    uint64_t expired, markers, duplicates, published, refused;
    uint64_t removed; /* messages that ended before their deadline: by limits, purges, requests */
    int64_t late_max_ns; /* the worst delay of an expiry in the last one to two STREAM_LATE_NS */
    uint64_t disk_bytes, memory_bytes, syncs, damage;
};
void stream_stats(struct stream *s, struct stream_stats *out);

/* Observer interface, used by consumers.  Each message causes two events: `stored` after its commit
 * (at the end of that turn, in the order of sequences), and `gone` when no reader can see it any
 * more (expired: at the sweep; removed: after the commit of the removal). */
struct stream_observer {
    void (*stored)(struct stream_observer *o, const struct stream_msg *m);
    void (*gone)(struct stream_observer *o, uint64_t seq, struct mf_slice subject);
    /* Many messages at once, without a `gone` for each: count again. */
    void (*purged)(struct stream_observer *o, uint64_t first, uint64_t last);
    /* After the two above, for a purge or roll-up of these subjects (empty: of all).  May be NULL.
     */
    void (*purge_done)(struct stream_observer *o, struct mf_slice filter);
    /* How many consumers a `gone` may concern; NULL: one. */
    size_t (*count)(const struct stream_observer *o);
    struct mf_list node;
};
/* Notifies observers of committed messages now, not at the end of the turn.  Republished copies are
 * not sent: their receivers may call anything, even the deletion of the caller. */
void stream_notify_now(struct stream *s);
void stream_observe(struct stream *s, struct stream_observer *o);
void stream_unobserve(struct stream_observer *o);
/* Interest and work queue retention: wanted() says whether a consumer wants this subject.  Without
 * it no consumer does. */
void stream_set_interest(struct stream *s, bool (*wanted)(void *arg, struct mf_slice subject),
                         void *arg);

#include "stream/stream_blob.h"

#endif
