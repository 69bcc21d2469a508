/* announce.h: news for observers and for those that get republished copies (notify.c,
 * republish.c). */
#ifndef STREAM_NOTIFY_H
#define STREAM_NOTIFY_H

#include "stream/stream.h"

void notify_soon(struct stream *s);  /* something came to disk */
void notify_watch(struct stream *s); /* linked_gone() learns of each message that goes */
void notify_purge(struct stream *s, struct mf_slice filter);
void notify_note_rollup(struct stream *s, uint64_t seq, struct mf_slice subject);
void notify_rollups(struct stream *s, uint64_t upto); /* these are on disk */
void notify_from_here(struct stream *s);              /* what is there already is not news */
/* Something is on its way to disk that nobody waits for: answers given now must wait for it, and it
 * is told of then. */
void notify_after_commit(struct stream *s);

/* --- republish.c ---------------------------------------------------------------------------- */

/* It was accepted; previous: the last one of its subject before it, 0: none. */
void republish_note(struct stream *s, const struct stream_msg *m, uint64_t previous);
/* Sends the copies of what is on disk, at most `max`; true: more could be sent. */
bool republish_send(struct stream *s, size_t max);

#endif
