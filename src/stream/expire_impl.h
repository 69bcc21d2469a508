/* expire.h: when messages die, and what is told of it.  Included by stream_impl.h. */
#ifndef STREAM_EXPIRE_H
#define STREAM_EXPIRE_H

MF_MUSTCHECK int expire_init(struct stream *s);
void expire_start(struct stream *s);
int64_t expire_late_max(struct stream *s); /* see stream_stats */
void expire_arm(struct stream *s); /* after anything that may have brought a nearer deadline */
/* When messages of this subject are past their deadline but not yet swept: sweeps them, with their
 * marker, so that what comes now is behind it.  O(1) when nothing at all is overdue.  MF_NOMEM,
 * MF_FULL: not now; nothing may be written to the subject. */
MF_MUSTCHECK int expire_settle(struct stream *s, struct mf_slice subject);
/* Everything that is overdue, at most `max`; true: nothing is any more. */
bool expire_settle_all(struct stream *s, size_t max);
int64_t expire_deadline(const struct stream *s, int64_t ts_ns,
                        int64_t ttl_ns); /* TTL and max_age; 0: never */
/* In the open batch that takes a message away, before it goes: appends a marker if that death earns
 * one.  last: no other message of the subject is left; flags: of the one that goes.  Not 0: it must
 * not go yet. */
MF_MUSTCHECK int expire_mark(struct stream *s, struct mf_slice subject, uint64_t seq, bool last,
                             uint16_t flags, enum marker_reason why);

#endif
