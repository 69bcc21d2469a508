/* stream_event.h: events about the lifetimes of messages.  A part of stream.h. */
#ifndef MAYFLY_STREAM_EVENT_H
#define MAYFLY_STREAM_EVENT_H

#include "ttl/policy.h"

/* The warning of a message that expires soon (mayfly.ttl.warn). */
struct stream_expiring {
    struct mf_slice subject; /* valid until something is published */
    uint64_t seq;
    int64_t deadline_ns, left_ns, warn_ns;
};

enum stream_ttl_kind {
    STREAM_TTL_EXPIRING, /* warnings */
    STREAM_TTL_EXPIRED,
    STREAM_TTL_CLAMPED, /* TTLs of writers outside the bounds */
    STREAM_TTL_REJECTED,
    STREAM_TTL_AUDIT,    /* with enforce: audit: actions that were not taken */
    STREAM_TTL_BACKFILL, /* backfill_status() has changed */
    STREAM_TTL_POLICY,   /* stream_policy() has changed */
    STREAM_TTL_KINDS
};
struct stream_ttl_mention {
    struct mf_slice subject;
    uint64_t seq;            /* EXPIRING, EXPIRED */
    char asked[POLICY_TEXT]; /* CLAMPED, REJECTED, AUDIT: the writer's TTL, */
    char limit[POLICY_TEXT]; /* and the bound; empty: no bound was met */
};
/* The summary of one kind over about a second.  Valid during the call. */
struct stream_ttl_event {
    enum stream_ttl_kind kind;
    uint64_t count;
    uint64_t bytes, markers, dead_letters; /* EXPIRED */
    int64_t late_max_ns;
    uint64_t would_set, would_clamp, would_reject; /* AUDIT */
    int64_t warn_ns;                               /* EXPIRING */
    struct stream_ttl_mention first, last;
};

#endif
