/* redeadline_plan_impl.h: which stored messages have deadlines by which terms (redeadline_plan.c).
 */
#ifndef STREAM_REDEADLINE_PLAN_H
#define STREAM_REDEADLINE_PLAN_H

#include "stream/lifetime_impl.h"

/* Messages behind the part before it, up to `upto`, have deadlines by these terms. */
struct redeadline_part {
    uint64_t upto;
    struct redeadline_terms terms;
};
/* Two for each change that is made before the job of the former change has ended. */
#define REDEADLINE_PARTS 32
struct redeadline_plan {
    uint64_t next; /* the first message not visited; those before it have the new terms */
    size_t n;
    struct redeadline_part parts[REDEADLINE_PARTS]; /* ascending; the last one is the end */
};
/* BLOB_REDEADLINE, little endian: u8 version (2), u64 next, u8 parts, and for each u64 upto, i64
 * max_age, u8 allow_msg_ttl. */
#define REDEADLINE_PLAN_MAX (10 + REDEADLINE_PARTS * 17)

uint64_t redeadline_plan_end(const struct redeadline_plan *p); /* 0: no messages */
const struct redeadline_part *redeadline_plan_part(const struct redeadline_plan *p, uint64_t seq);
/* The terms have changed; those of all messages up to `last` were `before`.  The job starts again.
 * MF_AGAIN: too many changes in a row. */
MF_MUSTCHECK int redeadline_plan_change(struct redeadline_plan *p,
                                        const struct redeadline_terms *before, uint64_t last);
size_t redeadline_plan_write(const struct redeadline_plan *p, uint8_t out[REDEADLINE_PLAN_MAX]);
/* Of version 1, or of none we know: all messages up to `last`, by terms that are not known. */
void redeadline_plan_read(struct redeadline_plan *p, struct mf_slice bytes, uint64_t last);

/* The policy as it was under these terms.  NULL: none.  MF_NOMEM. */
MF_MUSTCHECK int redeadline_policy(const struct stream *s, const struct redeadline_terms *t,
                                   struct policy **out);
/* The deadline of a message by the present terms.  A deadline later than timestamp + TTL was
 * renewed: the TTL counts from the renewal. */
int64_t redeadline_compute(struct stream *s, const struct store_rec *r,
                           const struct redeadline_terms *before, const struct policy *policy,
                           int64_t now_ns);

#endif
