/* consumer_impl.h: struct consumer and the functions that the files of this folder share.
 *
 *     consumers.c  all of a stream: found by name, notified of stored and ended messages
 *     consumer.c   one: created, updated, paused, deleted; where it starts
 *     filters.c    its filters
 *     backlog.c    messages not delivered yet, in order
 *     count.c      their number; in time slices if they are many
 *     pump.c       delivers the next message; the one timer of a consumer
 *     pending.c    messages that wait for their acks
 *     ack.c        consumer acks; redelivery
 *     pull.c       pull requests and their status messages; pull_groups.c: priority groups
 *     push.c       interest, heartbeats, flow control, rate, replay: original
 *     state.c      writes the state for a restart; state_load.c reads it; state_blob_impl.h: how
 *     info.c       CONSUMER.INFO
 *     backup.c     its state in backups
 *     retention.c  work queues and interest: removes messages that nobody needs
 *
 * How messages are counted.  todo.next is the first sequence this consumer has not looked at.
 * todo.pending is the number of messages it wants at or after todo.next, of those it was notified
 * of (stored) and not of their end (gone).  Looking at one, even if it expired or is damaged,
 * counts it down.
 *
 * Last per subject: while list.active, the messages of the list are delivered before todo.next: of
 * each subject the newest message of those up to list.upto, if it is at or after list.at.  The list
 * is not kept, it is read with a cursor.  When a message of the list is removed, the one before it
 * on its subject would take its place: it is noted in list.closed, and nothing is delivered for
 * that subject. */
#ifndef CONSUMER_IMPL_H
#define CONSUMER_IMPL_H

#include "consumer/filters_impl.h"
#include "consumer/pending_impl.h"
#include "consumer/backlog_impl.h"

#include "base/buf.h"
#include "base/clock.h"
#include "consumer/consumer.h"
#include "proto/header.h"
#include "base/lend.h"
#include "proto/proto.h"
#include "base/rand.h"
#include "router/router.h"
#include "subject/subject.h"

#define NEVER      INT64_MAX
#define GROUP_NAME 17 /* of a priority group, with its end */
#define PUMP_STEPS 8  /* steps in the backlog count as much as one delivery */

/* A pull request that is not served completely. */
struct request {
    struct mf_list link;           /* consumer.requests */
    uint64_t batch, served, under; /* under: what it asked for less than the one it gets */
    int64_t expires_ns;            /* mono; NEVER: none */
    int64_t heartbeat_ns, beat_ns; /* interval, 0: none; when the next is due (mono) */
    uint64_t bytes_left;
    int64_t min_pending, min_ack_pending; /* of overflow; 0 and less: none */
    bool has_bytes, no_wait;
    uint8_t priority;
    char group[GROUP_NAME]; /* "": a plain number, which names none */
    char id[24];            /* of a pinned client; "" none */
    size_t reply_len;
    char reply[];
};

struct backlog; /* backlog.c */
struct push {   /* of a push consumer */
    bool active;
    int64_t beat_ns; /* mono: when a heartbeat is due; NEVER */
    uint64_t window, in_flight,
        flow_bytes;      /* flow control; flow_bytes: what the reply will cover */
    uint64_t asked;      /* push_ask_acks(): dseq by then */
    char flow[64];       /* the reply that is awaited; "" none */
    int64_t rate_ns;     /* mono: not before this (rate limit) */
    uint64_t departures; /* as of the last look at who is there */
};

struct replay {    /* as it was */
    int64_t at_ns; /* mono: not before this; 0: the next one has not been looked at */
    int64_t ts;    /* of the message before; 0: none yet */
    uint64_t upto; /* newer messages are delivered at once */
};

struct consumer {
    struct consumers *set;
    struct loop *loop; /* a consumer that is being read for outlives its set */
    struct consumer_config cfg;
    char *name;
    uint64_t id; /* names its blobs */
    int64_t created_ns;
    void *data;
    struct filters filters;
    bool deleted, stored; /* stored: it has blobs */
    bool held;            /* it is being restored: nothing is delivered or acknowledged yet */
    bool adds_headers;    /* to deliveries: headers_only, or shows_ttl */
    bool shows_ttl;       /* metadata mayfly.ttl.show=on: deliveries show the time that is left */
    struct mf_list ready; /* set->ready, or in no list */
    struct mf_list apart; /* set->apart, or in no list */
    struct mf_list ops;   /* consumer_op.link: waiting for a commit */
    struct loop_defer bury;

    struct pending wait; /* messages that wait for their consumer acks */
    struct push *push;   /* NULL: a pull consumer */
    struct replay replay;
    struct { /* the last delivery */
        uint64_t dseq, sseq;
        int64_t at_ns; /* wall; 0: never */
    } delivered;
    struct { /* the ack floor */
        uint64_t dseq, sseq;
        uint64_t acking;  /* the message in retention_acked() */
        int64_t acked_ns; /* the last consumer ack; wall; 0: never */
    } floor;
    struct { /* highest message that waited for its ack and was removed, since that was reported */
        uint64_t dseq, at;
    } lost;
    struct {                        /* ack.c: everything up to a message is being acknowledged */
        uint64_t sseq, dseq;        /* that message; sseq 0: none */
        uint64_t last;              /* the highest number so far */
        struct upto_reply *replies; /* confirmed at the end */
    } upto;
    struct {                     /* messages that were not looked at yet (backlog.c) */
        uint64_t next, pending;  /* the first sequence; how many it wants from there on */
        uint64_t counted, went;  /* the last stored, the last removed: two filters may match */
        struct backlog *backlog; /* NULL: none yet, or everything was looked at */
    } todo;
    struct {         /* last per subject */
        bool active; /* the list is not at its end */
        bool fresh;  /* it was begun just now: nothing of it lies before `at` */
        uint64_t at, upto;
        struct mf_buf *closed; /* uint64_t each, ascending; NULL: none */
    } list;
    struct count {
        bool known;              /* todo.pending is; else it grows: */
        bool list;               /* the list is being counted; the rest follows */
        uint64_t at, upto;       /* sequences in [at, upto] are not counted yet */
        struct backlog *backlog; /* NULL: not begun */
        struct mf_list link;     /* set->counts, or in no list */
        struct mf_list ops;      /* consumer_op.link: they wait for the count */
    } count;
    struct { /* pull requests that wait */
        struct mf_list list;
        size_t count;
        int64_t at_ns; /* mono: no request ends or wants a heartbeat before; NEVER */
    } pulls;
    struct {                                       /* the pinned client of its priority groups */
        char id[RAND_NUID + 1], group[GROUP_NAME]; /* "": nobody is pinned; the first one's */
        int64_t since_ns, until_ns;                /* wall; mono */
    } pin;
    struct { /* a message that is read from disk */
        struct stream_load load;
        bool busy, again; /* it is being read; more to do behind it */
        bool redelivery;  /* it was delivered before */
        bool stale;       /* deliveries started elsewhere meanwhile: it is not delivered */
        int64_t retry_ns; /* mono: no memory to read: tried again then; NEVER */
    } read;
    struct { /* the one timer, and what it is armed for; mono */
        struct loop_timer *timer;
        int64_t at_ns;
        int64_t active_ns;   /* the last sign of life, for inactive_threshold */
        int64_t idle_at_ns;  /* interest is checked then; NEVER */
        int64_t pause_at_ns; /* its pause ends then; NEVER */
    } timers;
    struct {                  /* what must be written for a restart (state.c) */
        bool dirty;           /* it differs from what is written */
        struct mf_list flush; /* set->flush, or in no list */
        int64_t flushed_ns;   /* mono */
        struct mf_buf pages;  /* uint64_t each */
    } state;
    struct { /* advisories about consumer acks */
        unsigned percent, count;
    } sampling;
};

struct consumers {
    struct stream *stream;
    const struct consumer_host *host;
    struct stream_observer observer;
    struct router *filters;
    struct pattern_tree claims; /* work queues: the same filters, see consumers_claims() */
    struct consumer **at;       /* by name */
    size_t count, cap, direct;
    struct consumer *needy; /* retention.c: whom to ask first, or NULL */
    bool watching;
    uint64_t told; /* consumers were notified of sequences up to here */
    struct mf_list ready, flush;
    struct mf_list counts; /* count.link */
    struct work_task count_run;
    uint64_t spent;            /* pump.c: work done in deliveries */
    struct mf_list apart;      /* retention.c */
    size_t given_up;           /* messages, of all consumers */
    struct confirms *confirms; /* state.c: acks of this turn, answered when they are on disk */
    struct work_task run;
    struct loop_defer flush_run, bury;
    bool running; /* consumers are being pumped */
    struct loop_timer *flush_timer;
    bool closing;
    struct work_task scan;       /* retention.c */
    uint64_t scan_at, scan_upto; /* newly committed messages are scanned too, up to here */
    int64_t now_ns;              /* when messages go out: read once for many */
};

/* consumers.c */
void consumers_insert(struct consumers *g, struct consumer *c); /* room was made */
MF_MUSTCHECK int consumers_reserve(struct consumers *g);
void consumers_remove(struct consumers *g, struct consumer *c);
size_t consumers_after_name(const struct consumers *g,
                            struct mf_slice name); /* place of the next */
void consumers_watch(struct consumers *g);         /* before the first consumer */
void consumers_catch_up(struct consumers *g);      /* of all committed messages */
void consumers_unwatch(struct consumers *g);       /* after the last */
int64_t consumers_now(const struct consumers *g);  /* steady */
int64_t consumers_wall(const struct consumers *g); /* for pauses */
void consumers_tick(struct consumers *g);          /* before messages go out: now_ns */
int64_t consumers_mono(const struct consumers *g);
int64_t consumers_delay(const struct consumers *g, int64_t delay_ns); /* mono, that long from now */

/* consumer.c */
MF_MUSTCHECK int consumer_new(struct consumer **out, struct consumers *g,
                              struct consumer_config *cfg, struct mf_slice name,
                              int64_t created_ns);
void consumer_enter(struct consumer *c); /* into its group, which has room */
/* Calls done() after the commit of the configuration.  Not 0: it failed, and the caller answers. */
MF_MUSTCHECK int consumer_op_wait(struct consumer *c, struct consumer_op *op);
void consumer_op_fail(struct consumer_op *op, int code);
void consumer_op_settle(struct consumer *c, struct consumer_op *op); /* done() when c is settled */
void consumer_free(struct consumer *c);                              /* at the end of the turn */
void consumer_free_now(struct consumer *c);                          /* the last step of it */
unsigned consumer_sample(const struct consumer_config *cfg);         /* percent of sample_freq */
void consumer_start(struct consumer *c);  /* where its deliver policy says */
void consumer_resume(struct consumer *c); /* after a restart */
void consumer_send_event(struct consumer *c, enum consumer_event_kind kind, uint64_t sseq,
                         uint64_t dseq, uint64_t deliveries, struct mf_slice reason);
void consumer_alive(struct consumer *c);    /* the client was active */
bool consumer_inactive(struct consumer *c); /* true: it was deleted */
void consumer_vanish(struct consumer *c,
                     const char *status); /* deleted: waiting requests get this status */

#include "consumer/delivery_impl.h"

/* state.c */
MF_MUSTCHECK int state_write_config(struct consumer *c, struct store_wait *w);
void state_touch(struct consumer *c, uint64_t sseq); /* 0: only the numbers changed */
void state_touch_waiting(struct consumer *c);        /* all that wait or were given up; O(pages) */
int state_flush(struct consumer *c);                 /* not 0: it is tried again */
/* Sends an empty reply after the commit of everything up to now. */
void state_confirm(struct consumer *c, struct mf_slice reply);
int state_delete(struct consumer *c);
/* Entries and numbers are there again: deadlines, and what pages know better.  listed: there was a
 * list of last per subject. */
void state_settle(struct consumer *c, bool listed);
MF_MUSTCHECK int state_load(struct consumers *g, struct mf_error *e);
void state_flush_group(struct loop_defer *d);
void state_flush_fire(void *group);

/* retention.c */
/* False: the message must be removed and cannot, for want of memory or room: the ack is ignored. */
bool retention_acked(struct consumer *c, uint64_t sseq);
bool retention_wanted(void *group, struct mf_slice subject);
void retention_apart(
    struct consumer *c); /* its filters may differ from those of its pending messages */
void retention_scan(struct consumers *g);    /* removes messages that nobody needs */
void retention_deleted(struct consumers *g); /* the same after the deletion of a consumer */
void retention_news(struct consumers *g, uint64_t seq); /* the message is committed */
void retention_forget(
    struct consumers *g); /* forgets messages that were given up, except with interest retention */
#endif
