/* jetstream_impl.h: the private parts of struct jetstream and struct js_account.
 *
 * jetstream.c: open, reload, close; accounts.  js_account.c: small services of an account.
 * js_store.c: the store directory.  ingest.c, ingest_trace.c: publishes, their acks and traces.
 * consumer_wire.c, consumer_wait.c: deliveries, consumer acks, pull requests, interest.  direct*.c:
 * direct gets. source_wire.c: mirrors and sources.  event.c, advisory.c, consumer_advisory.c,
 * ttl_event.c: events. */
#ifndef JETSTREAM_JETSTREAM_IMPL_H
#define JETSTREAM_JETSTREAM_IMPL_H

#include "jetstream/consumer_wire_impl.h"
#include "jetstream/js_account.h"
#include "jetstream/source_wire_impl.h"

#include "base/clock_steps.h"
#include "base/steady.h"
#include "codec/hash.h"

struct jetstream_impl {
    struct jetstream js;
    struct store_folder *root;   /* js.store_dir, opened and locked */
    struct store_secret *secret; /* NULL: streams are not encrypted */
    struct steady clock;
    struct clock_steps steps;
    int64_t ahead_ns, wall_ns; /* both clocks minus the monotonic clock, at the last look */
    struct loop_timer *clock_timer;
    bool asked;              /* somebody wanted the time since the last look */
    int64_t look_ns;         /* until the next look; 0: none is planned */
    struct table by_account; /* js_account.node, by its address */
    struct mf_list leaving;  /* js_account.link: lost JetStream or their account */
    struct loop_defer ended;
    uint64_t batches, fast_batches; /* under way, of all accounts */
    bool closing;
    size_t open_catalogs;
    void (*closed)(void *arg);
    void *closed_arg;
};
static inline struct jetstream_impl *jetstream_impl(const struct jetstream *js)
{
    return mf_container((struct jetstream *)(uintptr_t)js, struct jetstream_impl, js);
}

static inline uint64_t js_account_hash(const struct account *acc)
{
    return hash_slice(mf_slice(&acc, sizeof acc));
}

/* direct_queue.c: direct gets that arrived after the turn's time was spent, and batches. */
struct direct_queue {
    struct mf_list gets;
    size_t ngets, bytes;
    struct work_task task;
    struct mf_list batches; /* under way */
    struct mf_list later;   /* not started: too many are under way */
    size_t nbatches;
    size_t later_bytes;
};

struct js_wire {
    struct js_account account;
    struct router_sub ack_sub, flow_sub; /* $JS.ACK.> and $JS.FC.> */
    struct consumer_host consumer_host;
    struct consumer_waits waits;
    struct source_host source_host;
    struct account_declarer declarer;
    struct table mirrors; /* source_wire.c: mirrors that answer direct gets of their origin */
    char hash[9];         /* of the account's name, as newer ack subjects show it */
    struct direct_queue direct;
    struct mf_list events; /* event.c: sent at the end of the turn */
    size_t nevents;
    struct loop_defer send_events;
};
static inline struct js_wire *js_wire(const struct js_account *ja)
{
    return mf_container((struct js_account *)(uintptr_t)ja, struct js_wire, account);
}

/* clock_look.c */
#define CLOCK_STEP_NS (10 * CLOCK_MS) /* less is no step */
#define CLOCK_LOOK_NS CLOCK_S
void jetstream_clock_look(void *arg); /* struct jetstream */

/* ingest.c: the subjects of a stream.  It keeps consumers and sources beside the stream, too. */
MF_MUSTCHECK int ingest_add(struct js_account *ja, struct stream *s);
void ingest_change(struct stream *s);
void ingest_remove(struct stream *s);
void ingest_fini(void); /* frees the pool of pending publishes */
void ingest_set_consumers(struct stream *s, struct consumers *g);
struct source_wire *ingest_sources(struct stream *s); /* NULL: the stream has no data */

/* ingest_trace.c: a traced message for a stream; pub->msg and pub->trace are set.  NULL: no memory.
 */
struct ingest_trace;
struct ingest_trace *ingest_trace_begin(const struct router_msg *m, const char *stream,
                                        struct stream_publish *pub);
void ingest_trace_end(struct ingest_trace *x, const struct stream_ack *a); /* NULL is fine */

/* declare.c: the interest that `$JS.ACK.>` and `$JS.FC.>` stand for, for links to other servers. */
void declare_init(struct js_account *ja);
void declare_fini(struct js_account *ja);
void declare_present(void *js_account, const struct consumer *c, bool on);
void declare_absent(struct js_account *ja, struct consumers *g); /* all of them leave */

/* event.c */
void events_drop(struct js_account *ja); /* frees events that are not sent yet */

/* Before the catalog closes: ends direct gets. */
void direct_stop(struct js_account *ja);
void direct_queue_init(struct js_account *ja);
/* A stream is about to close: drops cursors over it. */
void direct_forget(const struct stream *s);

#endif
