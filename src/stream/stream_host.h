/* stream_host.h: what a stream asks of the world above.  A part of stream.h. */
#ifndef MAYFLY_STREAM_HOST_H
#define MAYFLY_STREAM_HOST_H

#include "stream/stream_event.h"

struct loop;
struct store_patrol;
struct stream;
struct work_owner;

/* Bytes in use, as limits count them. */
struct stream_usage {
    int64_t memory, file;
};

/* What a stream asks of the world above; one for all streams of an account, and it outlives them.
 */
struct stream_host {
    struct loop *loop;
    struct store_patrol *patrol; /* reads the files of all streams at a pace; NULL: nobody does */
    struct work_owner *owner; /* of work in slices: the account's; NULL: each stream has its own */
    int64_t (*now_ns)(void *arg);  /* a clock that never goes back (steady.h): the time of messages
                                      and deadlines */
    int64_t (*wall_ns)(void *arg); /* the wall clock, for schedules; NULL: the same */
    /* Into the account's subject space: republished messages, replies to batches. */
    void (*publish)(void *arg, const struct mf_msg *m);
    /* An advisory about batches: reason is "timeout", "large", "incomplete" or "unsupported". */
    void (*batch_abandoned)(void *arg, struct stream *s, struct mf_slice batch, const char *reason);
    /* An event about a message that ends soon; false: nobody listens.  NULL: nobody ever does. */
    bool (*ttl_expiring)(void *arg, struct stream *s, const struct stream_expiring *e);
    /* Summaries of what happens to lifetimes: does somebody listen to this kind; here is one.  The
     * second NULL: nobody ever does. */
    bool (*ttl_heard)(void *arg, struct stream *s, enum stream_ttl_kind kind);
    void (*ttl_event)(void *arg, struct stream *s, const struct stream_ttl_event *e);
    void *arg;
    const char *account;             /* for log lines */
    bool strict;                     /* compat: strict: behave as 2.15.1 */
    const struct policy_server *ttl; /* the server's ttl block; NULL: none */
    struct stream_usage *account_usage, *server_usage;
    struct stream_usage account_max, server_max; /* -1: no limit */
    /* Batches in flight on the whole server, and their limits. */
    uint64_t *batches, *fast_batches;
    uint32_t batch_max_msgs, batch_max_per_stream, batch_max_total;
    int64_t batch_timeout_ns;
};

#endif
