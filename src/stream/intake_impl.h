/* intake_impl.h: a message between its publish and the store, and its headers (intake.c).  A part
 * of stream_impl.h. */
#ifndef STREAM_INTAKE_H
#define STREAM_INTAKE_H

#include "base/buf.h"
#include "ttl/policy.h"

struct stream;
struct purge_rest;

/* The Nats-* headers that have a meaning for a stream, found in one pass.  An empty value counts as
 * absent; the first line of a name counts. */
struct intake_headers {
    struct mf_slice msg_id, expected_stream, expected_last_seq, expected_last_msg_id,
        expected_subject_seq, expected_subject_seq_subject, rollup, ttl, incr, batch_id, batch_seq,
        batch_commit, schedule, schedule_target, schedule_source, schedule_ttl, schedule_rollup,
        schedule_zone, schedule_next, scheduler, stream_source, required_level, marker_reason,
        kv_operation, show_ttl, request_info;
};
void intake_read(struct mf_slice hdr, struct intake_headers *h);
/* ROLLUP_MATCHING: of a subject with a wildcard, all subjects that match it. */
enum rollup { ROLLUP_NONE, ROLLUP_SUBJECT, ROLLUP_MATCHING, ROLLUP_ALL };

/* A message between its publish and the store. */
struct intake {
    struct mf_slice subject, hdr,
        payload; /* after the transform; hdr perhaps rewritten (s->buf.header) */
    struct intake_headers h;
    int64_t ts_ns;
    int64_t now_ns; /* the time here where ts_ns is of another clock; 0: ts_ns */
    int64_t ttl_ns; /* TTL_NONE, TTL_NEVER or a duration, as the message said */
    enum rollup rollup;
    struct mf_slice counter_sources; /* counter_source(): the header it gets; empty: as before */
    bool used_up;                    /* batch_store(): no interest; only its sequence is used up */
    bool restored;                   /* of a backup: policies do not change it */
    bool clamped;                    /* lifetime_judge(): Nats-TTL was outside the bounds */
    struct policy_decision decision; /* lifetime_resolve(): governed streams only */
    bool marker;                     /* ours: no limit, size, discard or seal refuses it */
    uint64_t previous; /* the last one of its subject before it; 0: none; stream_store()'s own */
    uint64_t held;     /* how many of its subject there were before it; only if looked */
    bool looked;       /* previous and held are known, and nothing has changed them since */
    bool in_slices;    /* a roll-up of very many may continue after its first time slice */
    struct purge_rest *rest; /* it does; NULL: all in one time slice */
    uint64_t roll_now;       /* with rest: how many messages are removed with this one */
    uint64_t seq;            /* out */
    int64_t deadline_ns;     /* out; 0: none */
    uint64_t size;           /* limits_ahead()'s own */
    bool scheduled;          /* with Nats-Schedule, stored: it fires, */
    int64_t fires_ns;        /* first at this time; schedule_plan()'s own */
};
/* Reads the headers of in->hdr; in->h is empty.  Then removes a status and Nats-Request-Info, which
 * are not stored: in->hdr is the same block, or one in s->buf.header.
 */
void intake_clean(struct stream *s, struct intake *in);
/* *out becomes the message's header block (it is moved to s->buf.header), and its headers are read
 * again.  MF_NOMEM: *out could not be written; nothing changed. */
MF_MUSTCHECK int intake_replace(struct stream *s, struct intake *in, struct mf_buf *out);

#endif
