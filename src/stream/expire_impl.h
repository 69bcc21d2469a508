/* expire_impl.h: expiry and delete markers.  A part of stream_impl.h. */
#ifndef STREAM_EXPIRE_H
#define STREAM_EXPIRE_H

MF_MUSTCHECK int expire_init(struct stream *s);
void expire_start(struct stream *s);
int64_t expire_late_max(struct stream *s); /* see stream_stats */
void expire_arm(struct stream *s); /* after anything that may have made an earlier deadline */
/* Sweeps overdue messages of this subject, with their marker, before a write to it.  O(1) when
 * nothing is overdue.  MF_NOMEM, MF_FULL: not now; nothing may be written to the subject. */
MF_MUSTCHECK int expire_settle(struct stream *s, struct mf_slice subject);
/* Sweeps at most `max` overdue messages; true: none is left. */
bool expire_settle_all(struct stream *s, size_t max);
int64_t expire_deadline(const struct stream *s, int64_t ts_ns,
                        int64_t ttl_ns); /* TTL and max_age; 0: never */
/* In the open commit batch that removes a message, before the removal: appends a marker if it earns
 * one.  last: no other message of the subject is left; flags: of the message.  Not 0: the message
 * must not be removed yet. */
MF_MUSTCHECK int expire_mark(struct stream *s, struct mf_slice subject, uint64_t seq, bool last,
                             uint16_t flags, enum marker_reason why);

#endif
