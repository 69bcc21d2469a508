/* queue.h: requests of an account that wait for its share of the loop's time, and work in slices.
 */
#ifndef API_QUEUE_H
#define API_QUEUE_H

#include "base/base.h"
#include "base/list.h"
#include "loop/work.h"

struct api_account;
struct api_call;

/* Requests in the order of their arrival; the first may be half done. */
struct api_queue {
    struct mf_list calls; /* api_call.queued */
    struct work_task task;
    size_t inflight; /* calls that are not answered yet, queued ones included */
    size_t bytes;    /* of queued calls */
    bool serving;    /* a queued call runs right now */
};

void api_queue_init(struct api_account *aa);
void api_queue_stop(struct api_account *aa); /* frees queued calls */
bool api_queue_full(const struct api_account *aa);
/* Runs the call now; unless in_order, later if the account's queue is not empty or the turn's time
 * is spent. */
void api_call_serve(struct api_call *call, bool in_order);
/* The rest of the handler's work is done in slices by step, in later calls and turns.  Later
 * requests of the account wait for it. */
void api_call_slices(struct api_call *call, bool (*step)(struct api_call *call));
/* Removes the call from the queue, if it is queued. */
void api_call_dequeue(struct api_call *call);
/* True if the reply or audit events have a subscriber.  False: the request was counted as served
 * and freed.  For use before long work that only reads. */
MF_MUSTCHECK bool api_call_heard(struct api_call *call);

#endif
