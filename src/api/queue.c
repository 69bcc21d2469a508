/* queue.c: requests that wait for their account's share of the loop's time.
 *
 * Happy path: a client's request runs at once, because the client's next command must find its
 * effect; the connection itself waits for the next turn when this turn's time is spent (client.c,
 * commands_in()).  A request without a connection also runs at once if nothing is queued and the
 * turn has time left.  Otherwise it is queued, and the account's task serves the queue in the order
 * of arrival, a slice at a time; the loop takes turns between accounts.  A handler with long work
 * gives the rest of it as a step (api_call_slices()); its request stays first in the queue until it
 * is answered, so only one answer of an account is half written at any time.
 * Full: request_queue_limit unanswered requests, or QUEUE_BYTES of queued ones; further requests
 * are dropped (dispatch.c).
 * Close: queued requests are freed with their account. */
#include "api/api_impl.h"

#define QUEUE_BYTES ((size_t)64 << 20) /* of queued requests of one account */

static bool serve_slice(struct work_task *t);

void api_queue_init(struct api_account *aa)
{
    aa->ja->work.name = account_name(aa->ja->account);
    mf_list_init(&aa->queue.calls);
    aa->queue.task.run = serve_slice;
    aa->queue.task.cause = WORK_REQUEST;
}

bool api_queue_full(const struct api_account *aa)
{
    uint64_t limit = (uint64_t)aa->api->js->options->jetstream.request_queue_limit;

    return (limit > 0 && aa->queue.inflight >= limit) || aa->queue.bytes >= QUEUE_BYTES;
}

/* --- in and out ------------------------------------------------------------------------------- */

/* first: it was in the queue a moment ago, or the queue is empty. */
static void enqueue_call(struct api_call *call, bool first)
{
    struct api_queue *q = &call->aa->queue;

    call->queued_bytes = call->hdr.len + call->body.len + sizeof *call;
    q->bytes += call->queued_bytes;
    if (first)
        mf_list_add_after(&q->calls, &call->queued);
    else
        mf_list_push(&q->calls, &call->queued);
    work_add(call->aa->api->js->loop, &call->ja->work, &q->task);
}

void api_call_dequeue(struct api_call *call)
{
    call->aa->queue.bytes -= call->queued_bytes;
    call->queued_bytes = 0;
    mf_list_del(&call->queued);
}

/* The meter counts each request, and so does the budget of the turn. */
static void meter_call(struct api_account *aa, const char *what)
{
    work_lap(aa->api->js->loop, WORK_REQUEST, what, account_name(aa->ja->account));
}

void api_call_serve(struct api_call *call, bool in_order)
{
    struct api_account *aa = call->aa;
    const char *what = call->route->pattern;

    if (!in_order && (!mf_list_empty(&aa->queue.calls) || work_turn_spent(aa->api->js->loop))) {
        enqueue_call(call, false);
        return;
    }
    api_call_run(call);
    meter_call(aa, what);
}

void api_call_slices(struct api_call *call, bool (*step)(struct api_call *call))
{
    call->step = step;
    if (call->queued_bytes == 0)
        enqueue_call(call, call->aa->queue.serving);
}

/* --- the task --------------------------------------------------------------------------------- */

/* The first request, or a slice of it.  true: it is not answered yet and needs more time. */
static bool serve_first(struct api_account *aa)
{
    struct api_call *call = mf_container(mf_list_first(&aa->queue.calls), struct api_call, queued);
    const char *what = call->route == NULL ? NULL : call->route->pattern;
    bool more = false;

    aa->queue.serving = true;
    if (call->step != NULL) {
        more = call->step(call);
    } else {
        api_call_dequeue(call);
        api_call_run(call);
    }
    aa->queue.serving = false;
    meter_call(aa, what);
    return more;
}

static bool serve_slice(struct work_task *t)
{
    struct api_account *aa = mf_container(t, struct api_account, queue.task);
    struct loop *l = aa->api->js->loop;
    bool more = false;

    while (!more && !mf_list_empty(&aa->queue.calls)) {
        more = serve_first(aa);
        if (work_spent(l) || work_turn_spent(l))
            break;
    }
    return !mf_list_empty(&aa->queue.calls);
}

void api_queue_stop(struct api_account *aa)
{
    struct mf_list *n;

    work_cancel(aa->api->js->loop, &aa->queue.task);
    while ((n = mf_list_first(&aa->queue.calls)) != NULL)
        api_call_free(mf_container(n, struct api_call, queued));
}

/* --- subscribers of the reply ----------------------------------------------------------------- */

bool api_call_heard(struct api_call *call)
{
    if (js_subject_heard(call->ja, call->reply) || advisory_audited(call->aa))
        return true;
    api_call_unheard(call);
    return false;
}
