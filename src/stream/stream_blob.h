/* stream_blob.h: what consumers and sources keep in a stream's log, and removals they decide.  A
 * part of stream.h. */
#ifndef MAYFLY_STREAM_BLOB_H
#define MAYFLY_STREAM_BLOB_H

#include "store/store.h"
#include "loop/work.h"

struct stream;

/* For consumers: small values that live with the stream, written in its log (store_blob_*), and
 * removals they decide: no permission is asked, no marker left.  MF_NOTFOUND: gone already. */
MF_MUSTCHECK int stream_blob_put(struct stream *s, struct mf_slice name, struct mf_slice bytes,
                                 struct store_wait *w);
MF_MUSTCHECK int stream_blob_del(struct stream *s, struct mf_slice name, struct store_wait *w);
bool stream_blob_get(struct stream *s, struct mf_slice name, struct mf_slice *bytes);
void stream_blob_each(struct stream *s,
                      void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                      void *arg);
MF_MUSTCHECK int stream_drop(struct stream *s, uint64_t seq, struct store_wait *w);
bool stream_settle(struct stream *s, struct store_wait *w); /* as store_settle() */
/* Before each slice that removes; true: t is added again when those on their way are on disk. */
MF_MUSTCHECK bool stream_hold(struct stream *s, struct work_task *t);
void stream_unhold(struct stream *s, const struct work_task *t);
MF_MUSTCHECK int stream_barrier(struct stream *s, struct store_wait *w); /* all before: on disk */

#endif
