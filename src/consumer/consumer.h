/* consumer.h: the consumers of a stream: who gets which message when, and what is acknowledged.
 *
 * A consumer that has seen everything costs nothing but its memory until a message comes that it
 * wants: filters hang in one tree per stream.  One with a backlog walks it with a cursor, in
 * slices.  Creating is O(1) where the filters match all messages, or where it starts at either end
 * of the stream; else what it wants may have to be counted, message by message: in slices, before
 * the answer.
 *
 * Memory of an idle one: about 1 KB and its configuration.  Each message that waits for its ack:
 * about 100 bytes.
 *
 * Everything belongs to the loop thread. */
#ifndef MAYFLY_CONSUMER_H
#define MAYFLY_CONSUMER_H

#include "base/buf.h"
#include "consumer/consumer_config.h"
#include "stream/stream.h"

struct consumer;
struct consumers; /* all of one stream */

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

/* What consumers ask of the world above; one for all of an account, and it outlives them. */
#define CONSUMER_LATER SIZE_MAX

struct consumer_host {
    struct loop *loop;
    int64_t (*now_ns)(void *arg);  /* as stream_host's */
    int64_t (*wall_ns)(void *arg); /* for pauses; NULL: the same */
    /* To whoever listens on `route`; receivers see m->subject.  How many took it; CONSUMER_LATER:
     * there was no memory to find out who listens, and nobody took it. */
    size_t (*deliver)(void *arg, struct mf_slice route, const struct mf_msg *m);
    /* Would anybody get it?  queue not empty: a member of that group. */
    bool (*interest)(void *arg, struct mf_slice subject, struct mf_slice queue);
    /* Did somebody subscribe to exactly this subject (queue not empty: in that group)?  What binds
     * a push consumer: patterns do not, or a spy on ">" would take its messages away. */
    bool (*bound)(void *arg, struct mf_slice subject, struct mf_slice queue);
    /* How many subscriptions have ended so far: while it is the same, nobody who is bound went. */
    uint64_t (*departures)(void *arg);
    size_t (*largest)(void *arg); /* what a client may send */
    /* From now on: call consumer_interest_gained() when somebody subscribes so that `interest` may
     * have become true. */
    void (*await_interest)(void *arg, struct consumer *c, bool on);
    void (*event)(void *arg, const struct consumer_event *e);
    void *arg;
    struct consumer_codec {
        int (*encode)(const struct consumer_config *c, struct mf_buf *out);
        int (*decode)(struct mf_slice text, struct consumer_config *c, struct mf_error *e);
    } codec;
};

/* Loads the consumers the stream's blobs tell of, and observes the stream. */
MF_MUSTCHECK int consumers_open(struct consumers **out, struct stream *s,
                                const struct consumer_host *h, struct mf_error *e);
/* Before the stream closes: waiting pull requests are told (deleted: `409 Consumer Deleted`, else
 * `409 Server Shutdown`), what must be kept is handed to the stream's store, memory is freed. */
void consumers_close(struct consumers *g, bool deleted);
/* The server is about to stop, its clients are still there: waiting requests are told. */
void consumers_leaving(struct consumers *g);
/* The clock was set: pauses may end sooner than timers know.  O(consumers). */
void consumers_clock_stepped(struct consumers *g);
/* The stream's configuration is another one: what nobody needs goes, the first of it in the same
 * commit. */
void consumers_stream_updated(struct consumers *g);
struct stream *consumers_stream(const struct consumers *g);
size_t consumers_count(const struct consumers *g); /* without `direct` ones */
/* Of a work queue: see struct consumer_config_world; the owners are the consumers.  Else NULL. */
const struct pattern_tree *consumers_claims(const struct consumers *g);
struct consumer *consumers_find(struct consumers *g, struct mf_slice name);
void consumers_each(struct consumers *g, void (*visit)(void *arg, struct consumer *c),
                    void *arg); /* by name */

/* cfg passed all checks and is taken over; name: a generated one for ephemerals without.  done()
 * when it is on disk (at once for mem_storage); c NULL after a failure. */
struct consumer_op {
    void (*done)(struct consumer_op *op, struct consumer *c, const struct js_error *e);
    /* The consumer's own: */
    struct store_wait wait;
    struct consumer *consumer;
    struct mf_list link;
};
/* done() when its numbers are exact: at once, unless they are being counted.  c NULL: it was
 * deleted meanwhile. */
void consumer_settled(struct consumer *c, struct consumer_op *op);
bool consumer_counted(const struct consumer *c); /* they are exact */
void consumer_create(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                     struct consumer_op *op);
void consumer_update(struct consumer *c, struct consumer_config *cfg, struct consumer_op *op);
void consumer_delete(struct consumer *c, struct consumer_op *op); /* c is gone when this returns */
/* 0: resume. */
void consumer_pause(struct consumer *c, int64_t until_ns, struct consumer_op *op);
/* seq 0: from the ack floor.  MF_DENIED: *e. */
MF_MUSTCHECK int consumer_reset(struct consumer *c, uint64_t seq, uint64_t *reset_seq,
                                struct js_error *e);
MF_MUSTCHECK int consumer_unpin(struct consumer *c, struct mf_slice group, struct js_error *e);

/* --- backups --- */

struct consumer_saved_msg { /* was delivered, waits for its ack */
    uint64_t sseq, dseq;
    int64_t sent_ns;
    uint32_t count; /* deliveries */
    bool given_up;  /* waits no more, but its message is kept */
};
struct consumer_saved {
    uint64_t dseq, sseq, floor_dseq, floor_sseq;
    uint64_t next; /* last per subject, its list is not at the end: what follows that; else 0 */
    struct consumer_saved_msg *at; /* of consumer_restore() */
    size_t n;
};
/* Its state, as of a stream that ends with last_seq; each message by sequence.  O(those). */
void consumer_save(const struct consumer *c, uint64_t last_seq, struct consumer_saved *out,
                   void (*visit)(void *arg, const struct consumer_saved_msg *m), void *arg);
/* The next one by name; NULL: none. */
struct consumer *consumers_after(struct consumers *g, struct mf_slice name);
/* As consumer_create(), with a state that is sound: floors not above what was delivered, messages
 * between.  Held until consumers_begin(). */
void consumer_restore(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                      const struct consumer_saved *st, struct consumer_op *op);
void consumers_begin(struct consumers *g); /* all that were restored begin */

/* A pull request (MSG.NEXT): body as it came; answers go to reply. */
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
struct consumers *consumer_group(const struct consumer *c);
void consumer_set_data(struct consumer *c,
                       void *data); /* whatever a layer above wants to find again */
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
