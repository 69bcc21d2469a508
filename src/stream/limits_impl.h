/* limits_impl.h: limits of a stream, and the messages that they discard.  A part of stream_impl.h,
 * which includes it behind struct stream. */
#ifndef LIMITS_H
#define LIMITS_H

#include "base/base.h"

#define BLOB_THIN "limits" /* messages over a lowered limit of subjects are being removed */

struct stream;
struct intake;

/* Bytes of one message as nats-server counts them. */
uint64_t limits_size(const struct stream *s, size_t subject, size_t hdr, size_t payload);
uint64_t limits_stored_size(const struct stream *s, uint64_t seq); /* the same, of one stored */
void limits_accepted(const struct stream *s, uint64_t *msgs, uint64_t *bytes);
/* In the open commit batch, before the message is appended: prepares the removals that it will
 * cause (ids are written, room is reserved).  0, or why the message must be refused.  O(those). */
MF_MUSTCHECK int limits_prepare(struct stream *s, const struct intake *in, bool in_batch);
/* All messages of an atomic batch are appended before the first of them discards others: this one
 * counts only from limits_turn() on. */
void limits_ahead(struct stream *s, struct intake *in);
void limits_turn(struct stream *s, const struct intake *in);
/* In the open commit batch, after the append: discards messages over the limits (discard old). */
void limits_push_out(struct stream *s, const struct intake *in);
/* In the open commit batch: removes the oldest messages of a subject before `below`, at most `max`.
 * O(those); each uncommitted or overdue one costs O(messages of the subject). */
size_t limits_remove_oldest(struct stream *s, struct mf_slice subject, uint64_t below,
                            uint64_t max);
/* After an update: discards the oldest until all limits hold, in time slices.  limits_note() is
 * called in the commit batch of the update, limits_resume() at a start: a kill between two slices
 * loses nothing. */
void limits_enforce(struct stream *s);
MF_MUSTCHECK int limits_note(struct stream *s, int64_t max_msgs_per_subject_before);
void limits_resume(struct stream *s);
void limits_enforce_room(struct stream *s); /* max_msgs and max_bytes alone, in a later turn */
MF_MUSTCHECK int limits_init(struct stream *s);
void limits_stop(struct stream *s);
/* One more message would exceed max_msgs or max_bytes, even if `leaving` is removed (0: none is).
 */
bool limits_full_instead(const struct stream *s, const struct intake *in, uint64_t leaving);
/* One more message would exceed max_msgs or max_bytes.  One comparison without limits. */
static inline bool limits_full_with(const struct stream *s, const struct intake *in)
{
    return (s->cfg.max_msgs > 0 || s->cfg.max_bytes > 0) && limits_full_instead(s, in, 0);
}
/* In the open commit batch: removes older messages of this subject until max_msgs_per_subject
 * holds. */
void limits_thin(struct stream *s, struct mf_slice subject, uint64_t below);
uint64_t limits_sum(const struct stream *s, uint64_t bytes, uint64_t msgs, uint64_t headers);
/* Brings the sums of the account and the server up to date. */
void limits_count(struct stream *s);
/* The memory of its index, where the server limits it. */
void limits_count_index(struct stream *s);

#endif
