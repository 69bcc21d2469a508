/* summary_impl.h: summaries of lifetime events, each kind at most once a second (summary.c).
 *
 * Without interest a call costs a look at the clock, and one question to the host every tenth of a
 * second.  All calls are allowed inside a commit batch: a timer sends the events. */
#ifndef STREAM_SUMMARY_H
#define STREAM_SUMMARY_H

#include "stream/stream_impl.h"

struct summary_death {
    struct mf_slice subject;
    uint64_t seq, bytes, markers, dead_letters;
    int64_t late_ns;
};
void summary_add_expired(struct stream *s, const struct summary_death *d);
void summary_add_expiring(struct stream *s, const struct stream_expiring *e);
/* The decision about a writer's TTL: clamped or rejected, or it would be (audit). */
void summary_add_decision(struct stream *s, struct mf_slice subject,
                          const struct policy_decision *d);
void summary_add_would_set(struct stream *s, struct mf_slice subject);  /* audit */
void summary_count_change(struct stream *s, enum stream_ttl_kind kind); /* BACKFILL, POLICY */
void summary_send_due(
    struct stream *s,
    int64_t mono_ns); /* sends summaries due by then; called by a timer and by tests */
void summary_stop(struct stream *s); /* closing */

#endif
