/* stream_impl.h: struct stream and the functions that the files of this folder share.
 *
 *     stream.c     open, close, state                 publish.c   the way in: order of checks,
 * storing intake.c     headers of a message, read once    check.c     each check of a publish
 *     limits.c     room for one more                  expire.c    deadlines, markers
 *     remove.c     MSG.DELETE                         purge.c     purges in slices
 *     throttle.c       removals wait for the disk         view.c      reading
 *     dedup.c      ids of messages                    redeadline.c     new deadlines for stored
 * messages batch.c      atomic batches                     fast.c      fast batches counter.c
 * Nats-Incr                          schedule.c  Nats-Schedule notify.c   observers, republishing
 * compress.c  bodies under compression copy.c       messages of mirrors, sources, backups find.c
 * reading in slices dead_letters.c     dead letters                       warn.c      events before
 * an end summary.c       summaries for events               touch.c     deadlines by hand and by
 * reads config*.c    the rules of a configuration       catalog*.c  all streams of an account
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
    struct policy *policy;         /* NULL: nobody says anything about TTLs */
    const struct policy *governor; /* `policy` while it is active; NULL: plain JetStream */
    bool slides;                   /* slide: read, and it is in force */
    const char *on_expire;         /* the prefix of dead letters; NULL: none are written */
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

/* --- intake.c ------------------------------------------------------------------------------- */

/* The Nats-* headers that have a meaning for a stream, found in one pass.  An empty value counts as
 * absent; the first line of a name counts. */
struct intake_headers {
    struct mf_slice msg_id, expected_stream, expected_last_seq, expected_last_msg_id,
        expected_subject_seq, expected_subject_seq_subject, rollup, ttl, incr, batch_id, batch_seq,
        batch_commit, schedule, schedule_target, schedule_source, schedule_ttl, schedule_rollup,
        schedule_zone, schedule_next, scheduler, stream_source, required_level, marker_reason,
        kv_operation, show_ttl, request_info;
};
void intake_read(struct mf_slice hdr, struct intake_headers *h);
/* ROLLUP_MATCHING: of a subject with a wildcard, all subjects that match it. */
enum rollup { ROLLUP_NONE, ROLLUP_SUBJECT, ROLLUP_MATCHING, ROLLUP_ALL };

/* A message between its publish and the store. */
struct intake {
    struct mf_slice subject, hdr,
        payload; /* after the transform; hdr perhaps rewritten (s->buf.header) */
    struct intake_headers h;
    int64_t ts_ns;
    int64_t now_ns; /* the time here where ts_ns is of another clock; 0: ts_ns */
    int64_t ttl_ns; /* TTL_NONE, TTL_NEVER or a duration, as the message said */
    enum rollup rollup;
    struct mf_slice counter_sources; /* counter_source(): the header it gets; empty: as before */
    bool used_up;                    /* batch_store(): no interest; only its sequence is used up */
    bool restored;                   /* of a backup: policies do not change it */
    bool clamped;                    /* lifetime_judge(): Nats-TTL was outside the bounds */
    struct policy_decision decision; /* lifetime_resolve(): governed streams only */
    bool marker;                     /* ours: no limit, size, discard or seal refuses it */
    uint64_t previous; /* the last one of its subject before it; 0: none; stream_store()'s own */
    uint64_t held;     /* how many of its subject there were before it; only if looked */
    bool looked;       /* previous and held are known, and nothing has changed them since */
    bool in_slices;    /* a roll-up of very many may continue after its first time slice */
    struct purge_rest *rest; /* it does; NULL: all in one time slice */
    uint64_t seq;            /* out */
    int64_t deadline_ns;     /* out; 0: none */
    uint64_t size;           /* limits_ahead()'s own */
    bool scheduled;          /* with Nats-Schedule, stored: it fires, */
    int64_t fires_ns;        /* first at this time; schedule_plan()'s own */
};
/* Reads the headers of in->hdr; in->h is empty.  Then removes a status and Nats-Request-Info, which
 * are not stored: in->hdr is the same block, or one in s->buf.header.
 */
void intake_clean(struct stream *s, struct intake *in);
/* *out becomes the message's header block (it is moved to s->buf.header), and its headers are read
 * again.  MF_NOMEM: *out could not be written; nothing changed. */
MF_MUSTCHECK int intake_replace(struct stream *s, struct intake *in, struct mf_buf *out);

/* --- publish.c ------------------------------------------------------------------------------ */

/* The subject under which it is stored: s->buf.subject or the same. */
struct mf_slice stream_map_subject(struct stream *s, struct mf_slice subject);
/* Stores a message that passed all checks, in one commit batch with its deadline, its roll-up, the
 * messages that it discards, and its id.  wait (may be NULL) is called after the commit.  0, or a
 * negative code with *e, and nothing was stored (MF_DENIED: refused; others: codes of the store).
 * in_batch: the caller has called store_begin() and will end it. */
MF_MUSTCHECK int stream_store(struct stream *s, struct intake *in, bool in_batch,
                              struct store_wait *wait, struct js_error *e);
/* Appends the message alone, with its deadline, in *a: nothing is discarded, nobody is notified. 0,
 * or the store's code. */
MF_MUSTCHECK int stream_append(struct stream *s, struct intake *in, struct store_append *a);
/* Raises the TTL to the least that a stream with markers allows; may rewrite in->hdr
 * (s->buf.header). stream_store() does it for who has not. */
void stream_clamp_ttl(struct stream *s, struct intake *in);
/* in_batch: discards what the message makes superfluous, after all messages of the batch were
 * appended.  Cannot fail. */
void stream_stored(struct stream *s, struct intake *in);
/* The last possible sequence is in use.  Sequences never start again. */
bool stream_numbered_out(const struct stream *s);
/* Interest retention, and no consumer wants this subject. */
bool stream_lacks_interest(const struct stream *s, struct mf_slice subject);
/* Uses up a sequence (in->seq) without storing the message; its id is kept.  p (may be NULL) waits
 * for the commit. */
MF_MUSTCHECK int stream_use_up(struct stream *s, struct intake *in, struct stream_publish *p);
/* Answers p: inside the call if nothing waits for a commit, else after that commit, so that answers
 * keep their order.  A non-NULL error is copied. */
void stream_answer(struct stream *s, struct stream_publish *p, const struct stream_ack *a);
/* The same in two steps, for a message that is stored first: notes the answer; then stream_wait()
 * returns the waiter that the caller gives to the store and counts in s->inflight. */
MF_MUSTCHECK int stream_answer_later(struct stream_publish *p, const struct stream_ack *a);
struct store_wait *stream_wait(struct stream *s, struct stream_publish *p, uint64_t seq);
void stream_refuse(struct stream *s, struct stream_publish *p, const struct js_error *e);
/* The sequence a message with the same id was stored under, within the window; 0: none. */
uint64_t stream_duplicate_of(struct stream *s, const struct intake *in);
/* The clock, and a timestamp for the next message: greater than that of the one before. */
int64_t stream_now(struct stream *s);  /* also tells the store */
int64_t stream_wall(struct stream *s); /* by which schedules fire */
void stream_look_at_clock(
    struct stream *s); /* as stream_now(), where time can matter to a reader */
int64_t stream_stamp(struct stream *s);
int64_t stream_stamp_at(const struct stream *s, int64_t now_ns); /* the clock was read */
/* A code of the store as a JetStream error. */
void stream_store_error(struct stream *s, int code, struct js_error *e);

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
