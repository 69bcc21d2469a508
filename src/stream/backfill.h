/* backfill.h: a job that applies the TTL policy of a stream to the messages it already has.
 *
 * One job per stream, in slices of one batch each; messages published meanwhile are not visited.
 * Pinned messages, delete markers and plans of schedules are left alone; a Nats-TTL of the writer
 * wins over the policy as always.  A real run survives restarts (a blob in the log, in the batch of
 * each slice); a dry run writes nothing and ends with the process.  Cost: O(messages up to the last
 * one at the start), each looked at once. */
#ifndef MAYFLY_BACKFILL_H
#define MAYFLY_BACKFILL_H

#include "stream/stream_ttl.h"

enum backfill_state {
    BACKFILL_RUNNING,
    BACKFILL_PAUSED,
    BACKFILL_DONE,
    BACKFILL_STOPPED,
    BACKFILL_FAILED,
};
struct backfill_opts {
    bool dry_run;        /* counts, writes nothing */
    bool all;            /* also messages with a deadline or infinite; false: those without both */
    bool written;        /* deadlines count from each message's timestamp; false: from the start */
    int64_t spread_ns;   /* each deadline is moved later by up to this, by its subject */
    uint64_t rate;       /* messages per second */
    uint64_t expire_now; /* so many messages may end at once */
    const char *filter;  /* subjects; NULL: all */
};
struct backfill_status {
    char id[8];
    enum backfill_state state;
    struct backfill_opts opts;
    int64_t started_ns, base_ns;
    uint64_t total; /* messages at the start */
    uint64_t seen, set, infinite, unchanged, pinned, expire_now, errors;
    uint64_t decided[POLICY_BYS];
    const char *error; /* of BACKFILL_FAILED */
};
#define BACKFILL_RATE_DEFAULT 50000u
#define BACKFILL_RATE_MAX     1000000u

/* NULL: there was none since the stream was made, or the last one was a dry run of a former
 * process. */
const struct backfill_status *backfill_status(const struct stream *s);
/* Starts a job in place of one that has ended; op is answered when a restart would go on with it.
 * MF_EXISTS: one is running or paused.  MF_NOMEM.  Then op is not called. */
MF_MUSTCHECK int backfill_start(struct stream *s, const struct backfill_opts *o,
                                struct stream_op *op);
/* The job pauses, continues, or ends; op as above.  Deadlines that it has changed stay changed.
 * MF_NOTFOUND: no job is running or paused. */
MF_MUSTCHECK int backfill_set_state(struct stream *s, enum backfill_state state,
                                    struct stream_op *op);

/* --- another policy, tried out ---------------------------------------------------------------- */

/* The effect of a run over all messages by another policy, once from now on and once from the time
 * of each message; and the lifetimes that messages since recent_ns would have been stored with. */
struct backfill_counts {
    uint64_t set, infinite, unchanged, expire_now;
};
struct backfill_trial {
    const struct policy *policy; /* NULL: none */
    int64_t now_ns, recent_ns;
    uint64_t seen, pinned;
    struct backfill_counts now, written;
    uint64_t decided[POLICY_BYS]; /* of those that are neither pinned nor exempt */
    uint64_t recent, recent_bytes, recent_ttls;
    double recent_ttl_sum_s;
};
/* Adds one message; nothing is written.  O(header), and the body where a rule reads it. */
void backfill_try(struct stream *s, struct backfill_trial *t, const struct stream_msg *m);

#endif
