/* notify_impl.h: observers (notify.c) and republished copies (republish.c). */
#ifndef STREAM_NOTIFY_H
#define STREAM_NOTIFY_H

#include "stream/stream.h"

void notify_soon(struct stream *s);  /* something was committed */
void notify_watch(struct stream *s); /* linked_gone() is called for each message that ends */
void notify_purge(struct stream *s, struct mf_slice filter);
void notify_note_rollup(struct stream *s, uint64_t seq, struct mf_slice subject);
/* Roll-ups up to this sequence are committed: observers are notified now, or in time slices. */
void notify_rollups(struct stream *s, uint64_t upto);
void notify_from_here(struct stream *s); /* messages that exist already are not notified */
/* A record was accepted for which no publish waits: later answers wait for its commit, and
 * observers are notified then. */
void notify_after_commit(struct stream *s);

/* --- republish.c ---------------------------------------------------------------------------- */

/* The message was accepted.  previous: the last message of its subject before it, 0: none. */
void republish_note(struct stream *s, const struct stream_msg *m, uint64_t previous);
/* Sends copies of committed messages, at most `max`; true: more remain. */
bool republish_send(struct stream *s, size_t max);

#endif
