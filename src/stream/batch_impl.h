/* batch_impl.h: declarations shared by atomic batches (batch.c), fast batches (fast.c) and their
 * checks (batch_check.c). */
#ifndef BATCH_IMPL_H
#define BATCH_IMPL_H

#include "stream/stream_impl.h"

#include "base/table.h"

#define BATCH_ID_MAX    64
#define BATCH_API_LEVEL 5 /* what Nats-Required-Api-Level may ask for */

/* A message of a batch on its way through the checks. */
struct batch_item {
    struct intake *in;
    struct table_node id_node, subject_node;
    uint64_t subject_count; /* messages of this subject in the batch so far, in its first one */
    uint64_t duplicate_of;  /* out, with MF_EXISTS: stored under the same id; 0: in this batch */
    struct batch_item *of_first; /* the first one of its subject; NULL: in no plan yet */
};

/* The effect of the earlier messages of the batch on the message that is checked now: the checks
 * see the stream as it was before the batch, and this plan. */
struct batch_plan {
    struct table ids, subjects; /* batch_item */
    uint64_t count, bytes;
};

/* All checks of a message in a batch (docs/checks.md, Publish in a batch).
 * plan NULL: it stands alone (fast batches).  May rewrite in->hdr (s->buf.header).  0: the plan has
 * it; MF_EXISTS: a duplicate, *e says so too; MF_DENIED, MF_NOMEM with *e. */
MF_MUSTCHECK int batch_check(struct stream *s, struct batch_plan *plan, struct batch_item *item,
                             struct js_error *e);
/* Frees the tables; the items are the caller's. */
void batch_plan_fini(struct batch_plan *plan);
/* Stores the message, or uses up its sequence without interest. */
MF_MUSTCHECK int batch_store(struct stream *s, struct intake *in, bool in_batch,
                             struct js_error *e);
/* The checks before those of the batch itself: sealed, resources, size. */
int batch_check_early(struct stream *s, const struct intake *in, struct js_error *e);
/* Does Nats-Required-Api-Level ask for more than there is? */
bool batch_level_too_high(const struct intake *in);

#endif
