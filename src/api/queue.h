/* queue.h: requests of an account that wait for its share of the loop's time, and what is done in
 * slices. */
#ifndef API_QUEUE_H
#define API_QUEUE_H

#include "base/base.h"
#include "base/list.h"
#include "loop/work.h"

struct api_account;
struct api_call;

/* --- the parts of an api_account -------------------------------------------------------------- */

/* queue.c: requests in the order of their arrival; the first may be half done. */
struct api_queue {
    struct mf_list calls; /* api_call.queued */
    struct work_task task;
    size_t inflight; /* calls that are not answered yet, queued ones included */
    size_t bytes;    /* of queued calls */
    bool serving;    /* one of them runs right now */
};

/* direct_queue.c: direct gets that came when the turn was over, and the batches. */
struct direct_queue {
    struct mf_list gets;
    size_t ngets, bytes;
    struct work_task task;
    struct mf_list batches; /* under way */
    struct mf_list later;   /* not begun: too many are under way */
    size_t nbatches;
    size_t later_bytes;
};

/* --- queue.c ---------------------------------------------------------------------------------- */

void queue_init(struct api_account *aa);
void queue_stop(struct api_account *aa); /* frees what waits there */
bool queue_full(const struct api_account *aa);
/* Runs it now; unless in_order, later if the account's queue is not empty or the turn is over. */
void api_call_serve(struct api_call *call, bool in_order);
/* The rest of the handler's work is done in slices by step, in later calls and perhaps turns.  The
 * account's next requests wait for it. */
void api_call_slices(struct api_call *call, bool (*step)(struct api_call *call));
/* Out of the queue; harmless when it is not in there. */
void api_call_dequeue(struct api_call *call);
/* Is the slice over after a step that took as long as `units` ordinary ones (of about a
 * microsecond)? */
bool api_slice_spent(const struct api_account *aa, size_t units);
/* Would anybody receive a message on this subject, as far as that is known? */
bool api_subject_heard(const struct api_account *aa, struct mf_slice subject);
/* Does anybody listen to the reply, or to audit events?  false: the request is counted as served
 * and freed.  Before long work that only reads. */
MF_MUSTCHECK bool api_call_heard(struct api_call *call);

/* --- direct_queue.c --------------------------------------------------------------------------- */

void direct_queue_init(struct api_account *aa);

#endif
