/* stream_host.h: callbacks and limits that the layer above gives to streams.  A part of stream.h.
 */
#ifndef MAYFLY_STREAM_HOST_H
#define MAYFLY_STREAM_HOST_H

#include "stream/stream_event.h"

struct loop;
struct store_journal;
struct store_patrol;
struct stream;
struct work_owner;

/* Bytes in use, as limits count them.  index: memory of the indexes of all streams, counted only
 * where the server has such a limit, which then bounds memory + index. */
struct stream_usage {
    int64_t memory, file, index;
};

/* One for all streams of an account; it outlives them.
 */
struct stream_host {
    struct loop *loop;
    struct store_patrol *patrol;   /* scrubs the files of all streams; NULL: no scrub */
    struct store_journal *journal; /* commits of several streams in one sync; NULL: each alone */
    struct work_owner *owner;      /* the account's, for tasks; NULL: each stream has its own */
    int64_t (*now_ns)(void *arg);  /* a clock that never goes back (steady.h): the time of messages
                                      and deadlines */
    int64_t (*wall_ns)(void *arg); /* the wall clock, for schedules; NULL: the same */
    /* Into the account's subject space: republished messages, replies to batches. */
    void (*publish)(void *arg, const struct mf_msg *m);
    /* An advisory about batches: reason is "timeout", "large", "incomplete" or "unsupported". */
    void (*batch_abandoned)(void *arg, struct stream *s, struct mf_slice batch, const char *reason);
    /* Sends the warning of a message; false: no client is subscribed.  NULL: none ever is. */
    bool (*ttl_expiring)(void *arg, struct stream *s, const struct stream_expiring *e);
    /* Summaries of lifetime events.  ttl_heard: is there interest in this kind?  ttl_event sends
     * one; NULL: there is never interest. */
    bool (*ttl_heard)(void *arg, struct stream *s, enum stream_ttl_kind kind);
    void (*ttl_event)(void *arg, struct stream *s, const struct stream_ttl_event *e);
    void *arg;
    const char *account;             /* for log lines */
    bool strict;                     /* compat: strict: behave as 2.15.1 */
    const struct policy_server *ttl; /* the server's ttl block; NULL: none */
    struct stream_usage *account_usage, *server_usage;
    struct stream_usage account_max, server_max; /* -1: no limit */
    bool account_none;                           /* the account may store nothing here */
    /* Batches in flight on the whole server, and their limits. */
    uint64_t *batches, *fast_batches;
    uint32_t batch_max_msgs, batch_max_per_stream, batch_max_total;
    int64_t batch_timeout_ns;
};

#endif
