/* limits.h: how much a stream may hold, and what goes when it holds too much.  A part of
 * stream_impl.h, which includes it behind struct stream. */
#ifndef LIMITS_H
#define LIMITS_H

#include "base/base.h"

#define BLOB_THIN "limits" /* a lower limit of subjects is worked off */

struct stream;
struct intake;

/* Bytes of one message as nats-server counts them. */
uint64_t limits_size(const struct stream *s, size_t subject, size_t hdr, size_t payload);
uint64_t limits_stored_size(const struct stream *s, uint64_t seq); /* the same, of one stored */
void limits_accepted(const struct stream *s, uint64_t *msgs, uint64_t *bytes);
/* In the open batch, before the message is appended: everything that will go because of it can go,
 * its ids are written, its room is kept.  0, or why the message must be refused.  O(those). */
MF_MUSTCHECK int limits_prepare(struct stream *s, const struct intake *in, bool in_batch);
/* A batch's messages are all in before the first of them pushes out others: this one counts only
 * when its turn has come. */
void limits_ahead(struct stream *s, struct intake *in);
void limits_turn(struct stream *s, const struct intake *in);
/* In the open batch, after the message was appended: pushes out what is too much (discard old). */
void limits_push_out(struct stream *s, const struct intake *in);
/* In the open batch: the oldest messages of a subject before `below`, at most `max`, go.  O(those),
 * but what is not on disk yet or overdue costs the messages of the subject each. */
size_t limits_remove_oldest(struct stream *s, struct mf_slice subject, uint64_t below,
                            uint64_t max);
/* After an update: the oldest go until all limits hold; in slices.  limits_note() belongs into the
 * batch of the update, limits_resume() to a start: a kill between two slices loses nothing. */
void limits_enforce(struct stream *s);
MF_MUSTCHECK int limits_note(struct stream *s, int64_t max_msgs_per_subject_before);
void limits_resume(struct stream *s);
void limits_enforce_room(struct stream *s); /* max_msgs and max_bytes alone, in a later turn */
MF_MUSTCHECK int limits_init(struct stream *s);
void limits_stop(struct stream *s);
/* Would one more be too many (max_msgs, max_bytes) when this stored one goes?  0: none does. */
bool limits_full_instead(const struct stream *s, const struct intake *in, uint64_t leaving);
/* Would one more be too many?  (max_msgs, max_bytes)  One comparison where there is no limit. */
static inline bool limits_full_with(const struct stream *s, const struct intake *in)
{
    return (s->cfg.max_msgs > 0 || s->cfg.max_bytes > 0) && limits_full_instead(s, in, 0);
}
/* In the open batch: older messages of this subject go until max_msgs_per_subject holds. */
void limits_thin(struct stream *s, struct mf_slice subject, uint64_t below);
uint64_t limits_sum(const struct stream *s, uint64_t bytes, uint64_t msgs, uint64_t headers);
/* Brings the sums of the account and the server up to date. */
void limits_count(struct stream *s);

#endif
