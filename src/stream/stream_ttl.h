/* stream_ttl.h: lifetimes of a stream's messages: the policy in force, its decisions, their counts.
 * All of it belongs to the loop thread. */
#ifndef MAYFLY_STREAM_TTL_H
#define MAYFLY_STREAM_TTL_H

#include "ttl/policy.h"
#include "stream/stream.h"

/* Counts since the stream was opened. */
struct stream_ttl_stats {
    uint64_t decided[POLICY_BYS]; /* messages stored, by who decided */
    uint64_t clamped, rejected;   /* TTLs of clients outside the bounds */
    uint64_t rule_clamped;        /* values of the policy's own outside its bounds */
    uint64_t would_set, would_clamp, would_reject;     /* enforce: audit */
    uint64_t set, touched, touched_by_read, persisted; /* messages */
    uint64_t dead_letters, dead_letters_dropped;       /* on_expire */
    uint64_t warned;                                   /* messages whose near end was announced */
};
const struct stream_ttl_stats *stream_ttl_stats(const struct stream *s);

/* The policy that was compiled for this stream; NULL: neither its metadata nor the server say
 * anything.  It may be inactive: policy_view(). */
const struct policy *stream_policy(const struct stream *s);
/* Messages stored without a TTL of the writer since the start or the last change of the policy: for
 * each rule those that it decided on (with enforce: audit, would have), behind them those that no
 * rule decided on.  NULL: the policy has no rules, or there is no memory for counts. */
const uint64_t *stream_rule_hits(const struct stream *s);
/* Compiles the policy again from the host's ttl block.  1: its effect is another one now; 0: it is
 * the same; MF_NOMEM: the former one stays in force.  O(metadata + namespaces). */
MF_MUSTCHECK int stream_policy_reload(struct stream *s);

/* The policy that these keys would make in place of the stream's own ones; the others stay.  *out
 * may be NULL.  MF_INVAL with the text for the client, MF_NOMEM. */
MF_MUSTCHECK int stream_policy_try(const struct stream *s, const struct json_map *keys,
                                   struct policy **out, struct mf_error *e);
/* A message that is not stored: the answer its publisher would get.  p may be NULL. */
struct stream_try {
    struct mf_slice subject, hdr, payload;
    void (*trace)(void *arg, const char *line); /* one line for each step; may be NULL */
    void *trace_arg;
    struct policy_decision decision; /* out */
    int64_t deadline_ns;             /* out; 0: none */
    bool refused;                    /* out: with this error */
    struct js_error error;
};
void stream_ttl_try(struct stream *s, const struct policy *p, int64_t now_ns, struct stream_try *t);

/* --- one message ---------------------------------------------------------------------------- */

struct stream_lifetime {
    int64_t deadline_ns; /* 0: none */
    bool infinite;       /* it has none on purpose */
    bool pinned;         /* set by hand: policies leave it alone */
    bool tombstone;
};
/* Of a message that is there; false: it is not, or it is past its deadline.  O(1), no read. */
bool stream_lifetime(struct stream *s, uint64_t seq, struct stream_lifetime *out);
/* The same of a message that was read; one that ended meanwhile has the deadline it was read with.
 * Returns room. */
struct stream_lifetime *stream_lifetime_of(struct stream *s, const struct stream_msg *m,
                                           struct stream_lifetime *room);
/* The header lines Mayfly-Expires (RFC 3339, never, none) and, with a deadline, Mayfly-TTL-Left
 * (seconds): at most STREAM_LIFETIME_HEADERS bytes; returns how many. */
#define STREAM_LIFETIME_HEADERS 128
size_t stream_put_lifetime(char *dst, const struct stream_lifetime *life, int64_t now_ns);

/* Resolves a stored message as if it were published at from_ns with its own header: what TOUCH
 * gives it.  False: the stream has no active policy and the message no TTL of its own. */
bool stream_ttl_decide(struct stream *s, const struct stream_msg *m, int64_t from_ns,
                       struct policy_decision *d);
/* The deadline of a TTL that counts from from_ns, with max_age; 0: none. */
int64_t stream_ttl_deadline(const struct stream *s, int64_t from_ns, int64_t ttl);

/* For a copy of the message elsewhere: does its header, with timestamp and max_age, lead to another
 * end than its own?  Then true, and *out (empty before) is the header with the right Nats-TTL, in
 * whole seconds, never too early; it may be empty.  O(header). */
bool stream_export_header(struct stream *s, const struct stream_msg *m, struct mf_buf *out);

/* --- by hand -------------------------------------------------------------------------------- */

enum stream_life_cause {
    STREAM_LIFE_SET,
    STREAM_LIFE_TOUCH,
    STREAM_LIFE_READ,
    STREAM_LIFE_PERSIST
};
struct stream_deadline_change {
    uint64_t seq;
    int64_t deadline_ns; /* 0: none; one that is past ends the message at once, with its marker */
    bool infinite, pinned;
    bool done; /* out: false: the message does not exist */
    bool cut;  /* out: a newer message of its subject ends before the wanted deadline */
};
/* Gives n messages new deadlines as one atomic batch.  op is answered when that is on disk, with
 * the number of messages changed; at[] is needed during the call only.  Refused: sealed streams. */
void stream_change_deadlines(struct stream *s, enum stream_life_cause why,
                             struct stream_deadline_change *at, size_t n, struct stream_op *op);
/* slide: read.  The last value of a subject was read: its life begins again, if more than a 64th of
 * its TTL (at most 5 minutes) of it is used.  No call waits: the record (32 bytes) is written with
 * the next group, and a life whose record cannot be written now is not renewed.  Deadlines set by
 * hand stay. */
bool stream_slides(const struct stream *s); /* else nothing is to be done; O(1) */
void stream_slide_read(struct stream *s, const struct stream_msg *m);
static inline void stream_slide(struct stream *s, const struct stream_msg *m)
{
    if (stream_slides(s))
        stream_slide_read(s, m);
}
/* Is a later message of this subject accepted than readers can see?  Then a barrier is needed
 * first. */
bool stream_subject_pending(struct stream *s, struct mf_slice subject);

#endif
