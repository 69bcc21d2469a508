/* announce.h: news for observers and for those that get republished copies (announce.c,
 * republish.c). */
#ifndef STREAM_ANNOUNCE_H
#define STREAM_ANNOUNCE_H

#include "stream/stream.h"

void announce_soon(struct stream *s);  /* something came to disk */
void announce_watch(struct stream *s); /* linked_gone() learns of each message that goes */
void announce_swept(struct stream *s, struct mf_slice filter);
void announce_note_rollup(struct stream *s, uint64_t seq, struct mf_slice subject);
/* These are on disk: observers are told now, or in slices. */
void announce_rollups(struct stream *s, uint64_t upto);
void announce_from_here(struct stream *s); /* what is there already is not news */
/* Something is on its way to disk that nobody waits for: answers given now must wait for it, and it
 * is told of then. */
void announce_poke(struct stream *s);

/* --- republish.c ---------------------------------------------------------------------------- */

/* It was accepted; previous: the last one of its subject before it, 0: none. */
void republish_note(struct stream *s, const struct stream_msg *m, uint64_t previous);
/* Sends the copies of what is on disk, at most `max`; true: more could be sent. */
bool republish_send(struct stream *s, size_t max);

#endif
