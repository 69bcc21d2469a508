/* consumer_wait.c: push consumers that wait for a subscriber.
 *
 * Happy path: waits_set() notes a consumer under its deliver subject and has the router report
 * subscriptions; observe_subscribe() finds the consumers that may match; wake_waiters() notifies
 * them at the end of the turn, when the subscriber has sent all its subscriptions.  A consumer
 * stays noted until it calls waits_set() again. Failure: without memory to note a consumer, every
 * subscription makes wake_waiters() look at all push consumers of the account, until each of them
 * is noted or has a subscriber. Close: waits_drop() forgets the consumers of a stream before they
 * are closed. */
#include "jetstream/jetstream_impl.h"

#include "codec/hash.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdlib.h>

/* consumer_data() of its consumer. */
struct waiter {
    struct table_node node;
    struct mf_list link; /* waits.woken, or in no list */
    struct consumer *consumer;
};

static struct mf_slice subject_of(const struct consumer *c)
{
    return mf_str(consumer_config(c)->deliver_subject);
}

/* --- a new subscription ----------------------------------------------------------------------- */

/* The consumer itself checks whether the subscription matches. */
static void wake_up(struct js_account *ja, struct waiter *w, struct mf_slice queue)
{
    struct mf_slice group = mf_str(consumer_config(w->consumer)->deliver_group);

    if (!mf_list_empty(&w->link) || (group.len > 0 && !mf_eq(group, queue)))
        return;
    mf_list_push(&js_wire(ja)->waits.woken, &w->link);
    loop_defer(ja->js->loop, &js_wire(ja)->waits.wake);
}

static void observe_subscribe(void *arg, const struct router_sub *s)
{
    struct mf_slice pattern = s->pattern, queue = s->queue;
    struct js_account *ja = arg;
    const struct table *t = &js_wire(ja)->waits.by_subject;
    struct table_node *n;

    if (js_wire(ja)->waits.lost)
        loop_defer(ja->js->loop, &js_wire(ja)->waits.wake);
    if (!subject_has_wildcard(pattern)) {
        for (n = table_first(t, hash_slice(pattern)); n != NULL; n = table_next(n)) {
            struct waiter *w = mf_container(n, struct waiter, node);
            if (mf_eq(subject_of(w->consumer), pattern))
                wake_up(ja, w, queue);
        }
        return;
    }
    for (size_t i = 0; i < t->cap; i++) {
        for (n = t->slot[i]; n != NULL; n = n->next) {
            struct waiter *w = mf_container(n, struct waiter, node);
            if (subject_match(pattern, subject_of(w->consumer)))
                wake_up(ja, w, queue);
        }
    }
}

/* The router reports subscriptions only while consumers wait. */
static void update_observer(struct js_account *ja)
{
    bool on = js_wire(ja)->waits.by_subject.count > 0 || js_wire(ja)->waits.lost;

    if (on)
        router_observe(account_router(ja->account), &js_wire(ja)->waits.observer);
    else
        router_unobserve(&js_wire(ja)->waits.observer);
}

/* --- waiting consumers ------------------------------------------------------------------------ */

static void remove_waiter(struct js_account *ja, struct waiter *w)
{
    table_del(&js_wire(ja)->waits.by_subject, &w->node);
    mf_list_del(&w->link);
    consumer_set_data(w->consumer, NULL);
    free(w);
}

static bool add_waiter(struct js_account *ja, struct consumer *c)
{
    struct waiter *w = calloc(1, sizeof *w);

    if (w == NULL ||
        table_add(&js_wire(ja)->waits.by_subject, &w->node, hash_slice(subject_of(c))) != 0) {
        free(w);
        return false;
    }
    w->consumer = c;
    mf_list_init(&w->link);
    consumer_set_data(c, w);
    return true;
}

void waits_set(struct js_account *ja, struct consumer *c, bool on)
{
    struct waiter *w = consumer_data(c);

    if (w != NULL)
        remove_waiter(ja, w);
    if (on && !add_waiter(ja, c)) {
        log_error("account %s: consumer %s waits for a subscriber: out of memory",
                  account_name(ja->account), consumer_name(c));
        js_wire(ja)->waits.lost = true;
    }
    update_observer(ja);
}

/* --- notifying them --------------------------------------------------------------------------- */

static void check_interest(void *arg, struct consumer *c)
{
    struct js_account *ja = arg;
    const struct consumer_config *cfg = consumer_config(c);
    struct mf_slice subject = subject_of(c);

    if (subject.len == 0 || consumer_data(c) != NULL)
        return;
    if (js_wire(ja)->consumer_host.interest(ja, subject, mf_str(cfg->deliver_group)))
        consumer_interest_gained(c);
    else if (!add_waiter(ja, c))
        js_wire(ja)->waits.lost = true;
}

static void look_at_stream(void *arg, struct stream *s)
{
    struct consumers *g = js_consumers(s);

    if (g != NULL)
        consumers_each(g, check_interest, arg);
}

static void wake_waiters(struct loop_defer *d)
{
    struct js_account *ja = &mf_container(d, struct js_wire, waits.wake)->account;
    struct mf_list woken, *n;

    mf_list_init(&woken);
    mf_list_move(&woken, &js_wire(ja)->waits.woken);
    while ((n = mf_list_pop(&woken)) != NULL)
        consumer_interest_gained(mf_container(n, struct waiter, link)->consumer);
    if (js_wire(ja)->waits.lost && ja->catalog != NULL && !ja->closing) {
        js_wire(ja)->waits.lost = false;
        catalog_each(ja->catalog, MF_SLICE_NONE, look_at_stream, ja);
        update_observer(ja);
    }
}

/* --- added and removed ------------------------------------------------------------------------ */

void waits_init(struct js_account *ja)
{
    mf_list_init(&js_wire(ja)->waits.woken);
    js_wire(ja)->waits.wake.fn = wake_waiters;
    js_wire(ja)->waits.observer =
        (struct router_observer){.subscribed = observe_subscribe, .arg = ja};
}

void waits_drop(struct js_account *ja, const struct consumers *g)
{
    struct table *t = &js_wire(ja)->waits.by_subject;
    struct mf_list gone, *n;

    mf_list_init(&gone);
    for (size_t i = 0; i < t->cap; i++) {
        for (struct table_node *at = t->slot[i]; at != NULL; at = at->next) {
            struct waiter *w = mf_container(at, struct waiter, node);
            if (consumer_set_of(w->consumer) == g) {
                mf_list_del(&w->link);
                mf_list_push(&gone, &w->link);
            }
        }
    }
    while ((n = mf_list_pop(&gone)) != NULL) /* after the walk: deleting may shrink the table */
        remove_waiter(ja, mf_container(n, struct waiter, link));
    update_observer(ja);
}

void waits_fini(struct js_account *ja)
{
    loop_defer_cancel(ja->js->loop, &js_wire(ja)->waits.wake);
    router_unobserve(&js_wire(ja)->waits.observer);
    table_fini(&js_wire(ja)->waits.by_subject);
}
