/* direct_queue.c: direct gets that arrive after the turn's time was spent.
 *
 * Happy path: each is copied and served by the account's task in the order of arrival, a slice at a
 * time.
 * Full: each new request has the oldest served at once, so none is dropped.
 * Failure: without memory for the copy the answer is "500".  A stream that was deleted meanwhile
 * has no such message.
 * Close: direct_queue_stop() frees all of them. */
#include "jetstream/direct_impl.h"

#include <stdlib.h>

#define QUEUE_GETS  4096
#define QUEUE_BYTES ((size_t)16 << 20)

struct waiting_get {
    struct mf_list link;
    struct direct_get get; /* its slices stand behind the struct */
    size_t bytes;
};

static struct waiting_get *take_first(struct direct_queue *q)
{
    struct waiting_get *x = mf_container(mf_list_pop(&q->gets), struct waiting_get, link);

    q->ngets--;
    q->bytes -= x->bytes;
    return x;
}

/* Returns about how many ordinary steps that was. */
static size_t serve_first(struct js_account *ja)
{
    struct waiting_get *x =
        take_first(&js_wire(ja)->direct); /* an answer may lead to another get */
    struct stream *s = source_wire_reader(ja, x->get.name);
    size_t cost = x->bytes / 1024;

    if (s == NULL)
        direct_send_status(ja, x->get.reply, DIRECT_NOT_FOUND);
    else
        direct_serve(ja, s, &x->get);
    free(x);
    return cost;
}

static bool serve_slice(struct work_task *t)
{
    struct js_account *ja = &mf_container(t, struct js_wire, direct.task)->account;

    while (!mf_list_empty(&js_wire(ja)->direct.gets))
        if (js_slice_spent(ja, serve_first(ja)))
            break;
    return !mf_list_empty(&js_wire(ja)->direct.gets);
}

void direct_queue_add(struct js_account *ja, const struct direct_get *g)
{
    struct direct_queue *q = &js_wire(ja)->direct;
    size_t bytes =
        g->name.len + g->subject.len + g->reply.len + g->hdr.len + g->payload.len + sizeof *g;
    struct waiting_get *x = malloc(sizeof *x + bytes);
    uint8_t *at = (uint8_t *)(x + 1);

    if (x == NULL) {
        direct_send_status(ja, g->reply, DIRECT_NO_MEMORY);
        return;
    }
    x->bytes = bytes;
    x->get.name = mf_slice_put(&at, g->name);
    x->get.subject = mf_slice_put(&at, g->subject);
    x->get.reply = mf_slice_put(&at, g->reply);
    x->get.hdr = mf_slice_put(&at, g->hdr);
    x->get.payload = mf_slice_put(&at, g->payload);
    mf_list_push(&q->gets, &x->link);
    q->ngets++;
    q->bytes += bytes;
    if (q->ngets > QUEUE_GETS || q->bytes > QUEUE_BYTES)
        (void)serve_first(ja);
    work_add(ja->js->loop, &ja->work, &q->task);
}

void direct_queue_init(struct js_account *ja)
{
    mf_list_init(&js_wire(ja)->direct.gets);
    mf_list_init(&js_wire(ja)->direct.batches);
    mf_list_init(&js_wire(ja)->direct.later);
    js_wire(ja)->direct.task.run = serve_slice;
    js_wire(ja)->direct.task.cause = WORK_DIRECT;
}

void direct_queue_stop(struct js_account *ja)
{
    struct direct_queue *q = &js_wire(ja)->direct;
    struct mf_list *pos, *next;

    work_cancel(ja->js->loop, &q->task);
    mf_list_each_safe(pos, next, &q->gets) free(mf_container(pos, struct waiting_get, link));
    mf_list_init(&q->gets);
    q->ngets = q->bytes = 0;
}
