/* settle.c: reads that wait for earlier writes.
 *
 * Readers see committed messages.  A client that publishes without waiting for the ack and then
 * asks for the state of the stream would not find its own messages; nats-server shows them.
 * Happy path: nothing is uncommitted, the request runs at once.  Else it runs after the commit,
 * after a failure of the store, or after PATIENCE_NS.
 * Close: account_stop() in api.c frees calls that wait. */
#include "api/api_impl.h"

#include "base/clock.h"

#define PATIENCE_NS (CLOCK_S / 4) /* so a stalled disk does not hide the state */

void api_settle_cancel(struct api_call *call)
{
    if (call->settle.timer == NULL)
        return;
    mf_list_del(&call->settle.wait.node);
    loop_timer_free(call->settle.timer);
    call->settle.timer = NULL;
}

static void go_on(void *arg)
{
    struct api_call *call = arg;

    api_settle_cancel(call);
    api_call_run(call);
}

static void on_disk(struct store_wait *w, int status)
{
    (void)status; /* continues after a failure, too */
    go_on(mf_container(w, struct api_call, settle.wait));
}

/* The stream whose state the call reads; empty: none. */
static struct mf_slice read_stream(const struct api_call *call)
{
    if (mf_starts(call->rest, "STREAM.MSG.GET."))
        return api_call_token(call, 3);
    if (mf_starts(call->rest, "STREAM.INFO.") || mf_starts(call->rest, "CONSUMER.INFO.") ||
        mf_starts(call->rest, "CONSUMER.LIST."))
        return api_call_token(call, 2);
    return MF_SLICE_NONE;
}

bool api_settle_call(struct api_call *call)
{
    struct settle *w = &call->settle;
    struct mf_slice name = w->over ? MF_SLICE_NONE : read_stream(call);
    struct loop *l = call->aa->api->js->loop;
    struct stream *s =
        name.len == 0 || call->ja->catalog == NULL ? NULL : catalog_find(call->ja->catalog, name);

    w->over = true;
    if (s == NULL || (w->timer = loop_timer_new(l, go_on, call)) == NULL)
        return false;
    w->wait.done = on_disk;
    if (stream_settle(s, &w->wait)) {
        loop_timer_arm(w->timer, loop_mono_ns(l) + PATIENCE_NS);
        return true;
    }
    loop_timer_free(w->timer);
    w->timer = NULL;
    return false;
}
