/* consumer.h: the consumers of a stream: deliveries, pull requests, consumer acks.
 *
 * The filters of all consumers of a stream are in one tree: a message costs only the consumers that
 * want it.  A consumer with a backlog reads it with a cursor, in time slices.  Creating is O(1) if
 * the filters match all messages, or if it starts at either end of the stream; else its messages
 * may have to be counted one by one, in time slices, before the answer.
 *
 * Memory of an idle consumer: about 1 KB and its configuration.  Each message that waits for its
 * ack: about 100 bytes.
 *
 * Everything belongs to the loop thread. */
#ifndef MAYFLY_CONSUMER_H
#define MAYFLY_CONSUMER_H

#include "base/buf.h"
#include "consumer/consumer_config.h"
#include "stream/stream.h"

struct consumer;
struct consumers; /* all consumers of one stream */

enum consumer_event_kind {
    CONSUMER_MAX_DELIVERIES,
    CONSUMER_TERMINATED,
    CONSUMER_NAKED,
    CONSUMER_PAUSED, /* or resumed: pause_until_ns 0 */
    CONSUMER_CREATED,
    CONSUMER_DELETED,
    CONSUMER_PINNED,
    CONSUMER_UNPINNED,
    CONSUMER_ACKED, /* a sample */
};
struct consumer_event {
    enum consumer_event_kind kind;
    struct consumer *consumer;
    uint64_t stream_seq, consumer_seq, deliveries;
    struct mf_slice reason;           /* TERMINATED, UNPINNED */
    struct mf_slice pinned_id, group; /* PINNED, UNPINNED */
    int64_t pause_until_ns, ack_time_ns;
};

/* Callbacks of the layer above; one for all consumers of an account, and it outlives them. */
#define CONSUMER_LATER SIZE_MAX

struct consumer_host {
    struct loop *loop;
    int64_t (*now_ns)(void *arg);  /* as stream_host's */
    int64_t (*wall_ns)(void *arg); /* for pauses; NULL: the same */
    /* Sends m to the subscribers of `route`; receivers see m->subject.  Returns how many got it;
     * CONSUMER_LATER: out of memory, nobody got it. */
    size_t (*deliver)(void *arg, struct mf_slice route, const struct mf_msg *m);
    /* A subscription would receive the subject.  queue not empty: in that queue group. */
    bool (*interest)(void *arg, struct mf_slice subject, struct mf_slice queue);
    /* A subscription to exactly this subject exists (queue not empty: in that queue group).  Only
     * such a subscription binds a push consumer: one on ">" must not take its messages away. */
    bool (*bound)(void *arg, struct mf_slice subject, struct mf_slice queue);
    /* Number of subscriptions that have ended.  While it is unchanged, bound ones still exist. */
    uint64_t (*departures)(void *arg);
    size_t (*largest)(void *arg); /* max_payload */
    /* on: from now on consumer_interest_gained() is called when a new subscription may have made
     * `interest` true. */
    void (*await_interest)(void *arg, struct consumer *c, bool on);
    void (*event)(void *arg, const struct consumer_event *e);
    /* c was added to its stream's consumers, or is about to leave them; not called by
     * consumers_close().  NULL: nobody asks. */
    void (*present)(void *arg, const struct consumer *c, bool on);
    void *arg;
    struct consumer_codec {
        int (*encode)(const struct consumer_config *c, struct mf_buf *out);
        int (*decode)(struct mf_slice text, struct consumer_config *c, struct mf_error *e);
    } codec;
};

/* Loads the consumers from the stream's blobs, and observes the stream. */
MF_MUSTCHECK int consumers_open(struct consumers **out, struct stream *s,
                                const struct consumer_host *h, struct mf_error *e);
/* Before the stream closes: answers waiting pull requests (deleted: `409 Consumer Deleted`, else
 * `409 Server Shutdown`), writes the states to the stream's store, frees the memory. */
void consumers_close(struct consumers *g, bool deleted);
/* The server is about to stop and clients are still connected: answers waiting pull requests. */
void consumers_shut_down(struct consumers *g);
/* The clock was set: pauses may end sooner than timers know.  O(consumers). */
void consumers_clock_stepped(struct consumers *g);
/* The stream's configuration has changed: messages that no consumer needs are removed, the first
 * of them in the same commit. */
void consumers_stream_updated(struct consumers *g);
struct stream *consumers_stream(const struct consumers *g);
size_t consumers_count(const struct consumers *g); /* without `direct` ones */
/* Of a work queue: see struct consumer_config_world; the owners are the consumers.  Else NULL. */
const struct pattern_tree *consumers_claims(const struct consumers *g);
struct consumer *consumers_find(struct consumers *g, struct mf_slice name);
void consumers_each(struct consumers *g, void (*visit)(void *arg, struct consumer *c),
                    void *arg); /* by name */

/* done() is called once, after the commit; c NULL: it failed.  It is called from inside the call
 * after a failure and for mem_storage, which has no commit: API answers keep the order of their
 * requests. */
struct consumer_op {
    void (*done)(struct consumer_op *op, struct consumer *c, const struct js_error *e);
    /* The consumer's own: */
    struct store_wait wait;
    struct consumer *consumer;
    struct mf_list link;
};
/* true: the numbers of c are exact; done() is not called.  false: they are being counted, and
 * done() is called when they are.  Its c NULL: deleted meanwhile. */
MF_MUSTCHECK bool consumer_settled(struct consumer *c, struct consumer_op *op);
bool consumer_counted(const struct consumer *c); /* the numbers are exact */
/* cfg passed all checks and is moved out.  name: generated by the caller if the client gave none.
 */
void consumer_create(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                     struct consumer_op *op);
void consumer_update(struct consumer *c, struct consumer_config *cfg, struct consumer_op *op);
void consumer_delete(struct consumer *c, struct consumer_op *op); /* c is invalid after this */
/* 0: resume. */
void consumer_pause(struct consumer *c, int64_t until_ns, struct consumer_op *op);
/* seq 0: from the ack floor.  MF_DENIED: *e. */
MF_MUSTCHECK int consumer_reset(struct consumer *c, uint64_t seq, uint64_t *reset_seq,
                                struct js_error *e);
MF_MUSTCHECK int consumer_unpin(struct consumer *c, struct mf_slice group, struct js_error *e);

/* --- backups --- */

struct consumer_saved_msg { /* was delivered and waits for its ack */
    uint64_t sseq, dseq;
    int64_t sent_ns;
    uint32_t count; /* deliveries */
    bool given_up;  /* no longer waits, but its message is kept */
};
struct consumer_saved {
    uint64_t dseq, sseq, floor_dseq, floor_sseq;
    uint64_t
        next; /* last per subject with an unfinished list: the sequence after the list; else 0 */
    struct consumer_saved_msg *at; /* of consumer_restore() */
    size_t n;
};
/* The state of c, as of a stream that ends with last_seq; visits its messages by sequence.  O(n).
 */
void consumer_save(const struct consumer *c, uint64_t last_seq, struct consumer_saved *out,
                   void (*visit)(void *arg, const struct consumer_saved_msg *m), void *arg);
/* The next one by name; NULL: none. */
struct consumer *consumers_after(struct consumers *g, struct mf_slice name);
/* As consumer_create(), with a valid state: ack floors are at most the delivered sequences,
 * messages lie between.  It delivers nothing until consumers_begin(). */
void consumer_restore(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                      const struct consumer_saved *st, struct consumer_op *op);
void consumers_begin(struct consumers *g); /* restored consumers begin to deliver */

/* A pull request (MSG.NEXT) with its body; answers are sent to reply. */
void consumer_pull(struct consumer *c, struct mf_slice reply, struct mf_slice body,
                   struct mf_slice hdr);
/* $JS.ACK.<stream>.<consumer>.<tokens>; tokens: <delivered>.<sseq>.<cseq>.<ts>.<pending>.  false:
 * not an ack of ours. */
bool consumer_ack(struct consumer *c, struct mf_slice tokens, struct mf_slice reply,
                  struct mf_slice body);
void consumer_flow(struct consumer *c, struct mf_slice token,
                   struct mf_slice hdr); /* $JS.FC.<s>.<c>.<token> */
void consumer_interest_gained(struct consumer *c);

const char *consumer_name(const struct consumer *c);
const struct consumer_config *consumer_config(const struct consumer *c);
struct consumers *consumer_set_of(const struct consumer *c);
void consumer_set_data(struct consumer *c, void *data); /* a pointer of the layer above */
void *consumer_data(const struct consumer *c);

struct consumer_info {
    int64_t created_ns;
    uint64_t delivered_cseq, delivered_sseq, floor_cseq, floor_sseq;
    int64_t delivered_at_ns, acked_at_ns; /* 0: never */
    uint64_t ack_pending, redelivered, waiting, pending;
    bool push_bound, paused;
    int64_t pause_remaining_ns;
    const char *pinned_id; /* "" or NULL: none */
    int64_t pinned_at_ns;
};
void consumer_info(struct consumer *c, struct consumer_info *out);

#endif
