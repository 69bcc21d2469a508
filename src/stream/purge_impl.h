/* purge_impl.h: removals of many messages (remove.c, purge.c).  A part of stream_impl.h. */
#ifndef STREAM_PURGE_H
#define STREAM_PURGE_H

#include "stream/stream.h"

struct intake;

void purge_drop_all(struct stream *s);
#define PURGE_SLICE 1000u /* messages removed in one turn */
/* A roll-up (of a subject, or of all that match) that may concern more than *most messages: `now`
 * of them are removed in the commit batch of the new message, the others later in time slices; its
 * publisher is answered after the last.
 * purge_rest_new(): before it is stored; sets in->rest if there are so many, else lowers *most by
 * their number.  purge_rest(): when it is stored (status 0), or was refused; wait: of the message,
 * may be NULL. */
MF_MUSTCHECK int purge_rest_new(struct stream *s, struct intake *in, uint64_t *most, uint64_t now);
void purge_rest(struct stream *s, struct intake *in, int status, struct store_wait *wait);
/* As store_barrier(), and also after all roll-ups that are under way. */
MF_MUSTCHECK int purge_barrier(struct stream *s, struct store_wait *wait);
struct store_wait *stream_op_wait(struct stream *s, struct stream_op *op);
void stream_op_refuse(struct stream *s, struct stream_op *op, const struct js_error *e);
/* In one record, with messages not committed yet.  O(messages removed), O(1) where none stays. */
MF_MUSTCHECK int stream_drop_range(struct stream *s, uint64_t from, uint64_t upto,
                                   struct store_wait *w);

#endif
