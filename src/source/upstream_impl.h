/* upstream_impl.h: the protocol between a follower and its upstream: names, subjects, requests, and
 * headers and replies of deliveries.  Pure.  It is nats-server's, so that either side may be one.
 */
#ifndef SOURCE_UPSTREAM_H
#define SOURCE_UPSTREAM_H

#include "base/buf.h"
#include "stream/stream_config.h"

/* The follower. */
struct upstream_who {
    const char *stream, *account, *domain; /* domain: NULL or "": none */
    bool mirror;
};

/* The index of a source: "<name>[:<hash>...] <filter> <destination>". */
void upstream_index(struct mf_buf *out, const struct stream_source *src);
/* JS_MIRROR_<hash> or JS_SRC_<hash>; siblings: all sources of the stream (a mirror's: NULL). */
#define UPSTREAM_NAME 24
MF_MUSTCHECK int upstream_consumer(char out[UPSTREAM_NAME], const struct upstream_who *who,
                                   const struct stream_source *src,
                                   const struct json_objects *siblings);
/* The only filter there is, or NULL: none, or several. */
const char *upstream_filter(const struct stream_source *src);

/* A request's subject: verb is "CONSUMER.CREATE" and the like; name and filter may be NULL. */
void upstream_subject(struct mf_buf *out, const struct upstream_who *who,
                      const struct stream_source *src, const char *verb, const char *name,
                      const char *filter);
/* $JS.M.<unique>, or under the prefix of an external stream. */
void upstream_deliver(struct mf_buf *out, const struct upstream_who *who,
                      const struct stream_source *src, const char *unique);

/* The body of CONSUMER.CREATE. */
struct upstream_start {
    uint64_t seq;    /* 0: from the beginning, or */
    int64_t time_ns; /* with by_time */
    bool by_time;
};
void upstream_create(struct mf_buf *out, const struct upstream_who *who,
                     const struct stream_source *src, const char *name, const char *deliver,
                     const struct upstream_start *from, bool sourcing);

/* The answer to it (or to CONSUMER.RESET).  Texts are in the arena. */
struct upstream_answer {
    char *name, *deliver_subject, *ack_policy;
    uint64_t delivered; /* the upstream's last sequence before the first delivery */
    uint64_t pending;
    bool refused;
    struct js_error error;
};
MF_MUSTCHECK int upstream_answer_read(struct mf_slice body, struct upstream_answer *a,
                                      struct arena *mem);

/* The reply subject of a delivery: $JS.ACK.[<domain>.<hash>.]<stream>.<consumer>.<numbers>. */
struct upstream_reply {
    struct mf_slice consumer;
    uint64_t deliveries, sseq, dseq, pending;
    int64_t ts_ns;
};
bool upstream_reply_read(struct mf_slice reply, struct upstream_reply *r);

/* The value of Nats-Stream-Source: "<stream> <seq> <filter> <destination> <subject>[ <ident>]".
 * index as of upstream_index(). */
void upstream_mark(struct mf_buf *out, struct mf_slice index, uint64_t seq, struct mf_slice subject,
                   const char *ident);
/* true: a mark of this source, with its sequence and identity (may be empty).  Older forms name the
 * stream alone, or are a delivery's reply. */
bool upstream_mark_read(struct mf_slice value, struct mf_slice index, uint64_t *seq,
                        struct mf_slice *ident);
/* hdr as a copy of the message has it: without Nats-Expected-* and Nats-Batch-*; mark not empty:
 * also without an older mark, and with this one.  hdr itself where nothing changes; empty if
 * nothing is left; else in out (check mf_buf_failed()). */
struct mf_slice upstream_header(struct mf_buf *out, struct mf_slice hdr, struct mf_slice mark);

#endif
