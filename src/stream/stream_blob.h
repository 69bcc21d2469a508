/* stream_blob.h: blobs of consumers and sources in a stream's log, and their removals.  A part of
 * stream.h. */
#ifndef MAYFLY_STREAM_BLOB_H
#define MAYFLY_STREAM_BLOB_H

#include "store/store.h"
#include "loop/work.h"

struct stream;

/* Blobs are stored in the stream's log (store_blob_*).  stream_drop() removes a message without
 * checks and without a marker.  MF_NOTFOUND: removed already. */
MF_MUSTCHECK int stream_blob_put(struct stream *s, struct mf_slice name, struct mf_slice bytes,
                                 struct store_wait *w);
MF_MUSTCHECK int stream_blob_del(struct stream *s, struct mf_slice name, struct store_wait *w);
bool stream_blob_get(struct stream *s, struct mf_slice name, struct mf_slice *bytes);
void stream_blob_each(struct stream *s,
                      void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                      void *arg);
MF_MUSTCHECK int stream_drop(struct stream *s, uint64_t seq, struct store_wait *w);
bool stream_settle(struct stream *s, struct store_wait *w); /* as store_wait_pending() */
/* Called before each time slice that removes.  true: too many removals wait for their commit; t is
 * queued again after it. */
MF_MUSTCHECK bool stream_throttle(struct stream *s, struct work_task *t);
/* How many messages, at most n, a task removes in one slice: fewer where each concerns many
 * consumers.  At least one. */
size_t stream_throttle_slice(const struct stream *s, size_t n);
void stream_throttle_cancel(struct stream *s, const struct work_task *t);
MF_MUSTCHECK int
stream_barrier(struct stream *s,
               struct store_wait *w); /* after the commit of everything accepted before */

#endif
