/* stream_impl.h: struct stream and the functions that the files of this folder share.
 *
 *     stream.c       open, close, state          publish.c     a publish: checks, storing
 *     intake.c       headers, read once          check.c       each check of a publish
 *     limits.c       room for one more           expire.c      deadlines, sweeps, markers
 *     remove.c       MSG.DELETE                  purge.c       purges in time slices
 *     throttle.c     removals wait for commits   view.c        reading
 *     dedup.c        ids of messages             redeadline.c  the re-deadline job
 *     batch.c        atomic batches              fast.c        fast batches
 *     counter.c      Nats-Incr                   schedule.c    Nats-Schedule
 *     notify.c       observers                   republish.c   republished copies
 *     compress.c     compressed bodies           find.c        reading in steps
 *     copy.c         replicated messages         touch.c       SET, TOUCH, PERSIST, slide
 *     dead_letters.c dead letters                warn.c        warnings
 *     summary.c      summaries of events         stream_job.c  jobs over all messages
 *     config*.c      checks of a configuration   catalog*.c    all streams of an account
 */
#ifndef STREAM_IMPL_H
#define STREAM_IMPL_H

#include "base/buf.h"
#include "proto/header.h"
#include "base/lend.h"
#include "markers/marker.h"
#include "proto/proto.h"
#include "store/store.h"
#include "stream/stream.h"
#include "stream/stream_ttl.h"
#include "subject/subject.h"
#include "subject/transform.h"
#include "ttl/ttl.h"

/* Flags of a stored message.  The store returns the two low ones without reading it. */
#define MSG_TOMBSTONE  1u /* its end causes no marker */
#define MSG_HEADER     2u /* it has a header block: 4 bytes more in nats-server's count */
#define MSG_COMPRESSED 4u /* the body is an S2 block */
#define MSG_INFINITE   STORE_INFINITE
#define MSG_PINNED     STORE_PINNED

/* Blobs of a stream's store. */
#define BLOB_CONFIG     "config"       /* as the codec writes it */
#define BLOB_CREATED    "created"      /* i64, little endian: ns since 1970 */
#define BLOB_REDEADLINE "sweep"        /* redeadline.c */
#define BLOB_BACKFILL   "ttl/backfill" /* backfill.c */
#define BLOB_LINK       "ttl/link"     /* linked.c: its job has work to do */
#define BLOB_WARNED     "ttl/warned"   /* warn.c */
#define BLOB_IDS        "ids/"         /* dedup.c: a prefix */
#define BLOB_SCHED      "sched/"       /* schedule.c: a prefix */

struct dedup;
struct batches;
struct fasts;
struct counters;
struct schedules;
struct redeadline;
struct backfill;
struct linked;
struct hour;
struct dead_letters;
struct warn;
struct summaries;

/* One stream.  All of it belongs to the loop thread. */
struct stream {
    struct stream_config cfg;
    int64_t created_ns;
    const struct stream_host *host;
    struct store *store;
    struct work_owner *owner, own; /* owner: the account's, or `own` */
    bool closing, memory;
    bool emptied;    /* by first_seq, a purge, a restore: it has a first sequence */
    size_t inflight; /* publishes and operations that wait for a commit */
    void (*closed)(void *arg);
    void *closed_arg, *data;
    struct transform *transform, *republish; /* NULL: none */
    struct stream_stats stats; /* late_max_ns: see expiry.late; removed: messages at the opening */

    /* The TTL policy (lifetime.c). */
    struct policy *policy;         /* NULL: no rules about TTLs */
    const struct policy *governor; /* `policy` while it is active; NULL: plain JetStream */
    bool slides;                   /* slide: read, and it is in force */
    const char *on_expire;         /* the prefix of dead letters; NULL: none are written */
    uint64_t *rule_hits;           /* stream_rule_hits() */
    struct stream_ttl_stats ttl_stats;

    /* Modules.  NULL: not needed, or not needed yet. */
    struct dedup *dedup; /* NULL only while the stream is being opened */
    struct batches *batches;
    struct fasts *fasts;
    struct counters *counters;
    struct schedules *schedules;
    struct redeadline *redeadline; /* NULL: no job is running */
    struct backfill *backfill;     /* the last one, running or ended */
    struct linked *linked;         /* NULL: no rule of its policy has a link */
    struct dead_letters *dead_letters;
    struct summaries *summaries; /* NULL also without memory */
    struct hour *hour;           /* NULL also without memory */
    struct warn *warn;           /* NULL: no warnings are sent */
    int64_t warned_to_ns;        /* deadlines up to here: warnings were sent; 0: warn is NULL */
    struct mf_list looks;        /* ahead.c */

    struct { /* the sweep (expire.c) */
        struct loop_timer *timer;
        int64_t armed_ns;        /* the deadline of the timer; INT64_MAX: it is not armed */
        int64_t now_ns;          /* the time of the sweep that runs */
        struct marker marker[2]; /* of expired messages: [1]: of keys of a KV bucket */
        int64_t marker_ttl_ns;   /* the TTL in `marker`; 0: not written yet */
        struct work_task task;
        struct worst_late { /* worst delays: [0] since from_ns, [1] in the window before it */
            int64_t from_ns, worst_ns[2];
        } late;
    } expiry;
    struct {              /* room for one more message (limits.c) */
        uint64_t planned; /* limits_prepare(): removals of the open batch that make room */
        struct {          /* of the open batch: accepted, but they have not made room yet */
            uint64_t msgs, bytes;
        } ahead;
        uint64_t discarded;    /* no message up to this sequence is left */
        int64_t counted_bytes; /* of this stream, in the usage sums */
        int64_t counted_index; /* the same of its index */
    } room;
    struct { /* limits after an update, subject by subject (limits_enforce()) */
        struct work_task task;
        struct loop_timer *timer;
        struct store_keys *keys; /* subjects still to be looked at */
        char *subject;           /* the one in which a time slice ended; NULL: none */
        bool again, noted;       /* start from the first subject again; BLOB_THIN exists */
        int64_t from_ns; /* messages overdue at this time are swept first: they discard no others */
    } enforce;
    struct { /* purge.c */
        struct work_task task;
        struct mf_list queue; /* struct purge, running or waiting, in order */
        size_t rests;         /* of them, roll-ups whose first messages were removed at once */
    } purge;
    struct { /* observers and republished copies (notify.c, republish.c) */
        struct mf_list observers;
        uint64_t upto; /* observers were notified of all messages up to here */
        struct work_task task;
        struct loop_defer defer;
        struct store_wait wait;
        bool waits, again;     /* `wait` is queued; another one must follow it */
        struct mf_buf rollups; /* observers were not notified of them yet, */
        size_t rollups_at;     /* from this offset on; */
        uint64_t rollups_upto; /* committed up to this sequence */
        struct mf_buf copies;  /* accepted and not sent */
    } notify;
    struct { /* interest retention: stream_set_interest() */
        bool (*wanted)(void *arg, struct mf_slice subject);
        void *arg;
    } interest;
    struct {                       /* facts about the first and the last message */
        uint64_t first_seq;        /* the message whose time was read last for stream_state() */
        int64_t first_ts_ns;       /* its time */
        struct mf_buf last_msg_id; /* of the last message; empty: it had none */
        int64_t last_ts_ns;        /* of the last message accepted; CLOCK_ZERO: none */
    } ends;
    struct { /* tasks that wait for removals to be committed (throttle.c) */
        struct store_wait wait;
        bool waits;
        struct work_task *task[4]; /* purge, limits, two of consumers */
    } throttle;
    struct {                  /* memory of the publish that runs */
        struct mf_buf header; /* a rewritten header */
        struct mf_buf body;   /* a compressed body */
        char subject[4096];   /* a transformed subject */
    } buf;
};

#include "stream/intake_impl.h"
#include "stream/publish_impl.h"

/* --- copy.c --------------------------------------------------------------------------------- */

/* Stores a message of another stream (p->replicated). */
void copy_publish(struct stream *s, struct stream_publish *p, struct intake *in);

/* --- stream.c, used by the catalog ------------------------------------------------------------ */

/* cfg is moved out; the store is attached to the loop and becomes the stream's.  On failure both
 * stay the caller's. */
MF_MUSTCHECK int stream_new(struct stream **out, struct stream_config *cfg, int64_t created_ns,
                            struct store *st, const struct stream_host *h, struct mf_error *e);
/* Answers all that wait, then calls done() and frees the stream. */
void stream_close(struct stream *s, void (*done)(void *arg), void *arg);
/* Frees it at once and leaves the store alone, as if the process had been killed: for tests. */
void stream_forget(struct stream *s);
/* encoded: the new configuration as the codec writes it.  op is answered when it is committed and
 * in force. */
void stream_update(struct stream *s, struct stream_config *next, struct mf_slice encoded,
                   struct stream_op *op);

#include "stream/notify_impl.h"
#include "stream/check_impl.h"
#include "stream/dedup_window_impl.h"
#include "stream/expire_impl.h"
#include "stream/extras_impl.h"
#include "stream/limits_impl.h"
#include "stream/purge_impl.h"

#endif
