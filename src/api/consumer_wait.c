/* consumer_wait.c: push consumers that nobody listens to, until somebody does.
 *
 * Happy path: waits_set() notes a consumer under its deliver subject and has the router tell of
 * subscriptions; subscribed() finds those it may be for; at the end of the turn, when the
 * subscriber is done with subscribing, wake() tells them.  They stay noted until they say that they
 * do not wait any more.
 * Failure: no memory to note one: from then on every subscription has wake() look at all push
 * consumers of the account, until each of them is noted or has a subscriber.
 * Close: waits_drop() forgets those of a stream before they end. */
#include "api/api_impl.h"

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

/* --- somebody subscribes ---------------------------------------------------------------------- */

/* Whether it is the subscription that is waited for, the consumer will see. */
static void wake_up(struct api_account *aa, struct waiter *w, struct mf_slice queue)
{
    struct mf_slice group = mf_str(consumer_config(w->consumer)->deliver_group);

    if (!mf_list_empty(&w->link) || (group.len > 0 && !mf_eq(group, queue)))
        return;
    mf_list_push(&aa->waits.woken, &w->link);
    loop_defer(aa->api->loop, &aa->waits.wake);
}

static void subscribed(void *arg, const struct router_sub *s)
{
    struct mf_slice pattern = s->pattern, queue = s->queue;
    struct api_account *aa = arg;
    const struct table *t = &aa->waits.by_subject;
    struct table_node *n;

    if (aa->waits.lost)
        loop_defer(aa->api->loop, &aa->waits.wake);
    if (!subject_has_wildcard(pattern)) {
        for (n = table_first(t, hash_slice(pattern)); n != NULL; n = table_next(n)) {
            struct waiter *w = mf_container(n, struct waiter, node);
            if (mf_eq(subject_of(w->consumer), pattern))
                wake_up(aa, w, queue);
        }
        return;
    }
    for (size_t i = 0; i < t->cap; i++) {
        for (n = t->slot[i]; n != NULL; n = n->next) {
            struct waiter *w = mf_container(n, struct waiter, node);
            if (subject_match(pattern, subject_of(w->consumer)))
                wake_up(aa, w, queue);
        }
    }
}

/* Only while somebody waits. */
static void listen(struct api_account *aa)
{
    bool on = aa->waits.by_subject.count > 0 || aa->waits.lost;

    if (on)
        router_observe(account_router(aa->account), &aa->waits.observer);
    else
        router_unobserve(&aa->waits.observer);
}

/* --- who waits -------------------------------------------------------------------------------- */

static void forget(struct api_account *aa, struct waiter *w)
{
    table_del(&aa->waits.by_subject, &w->node);
    mf_list_del(&w->link);
    consumer_set_data(w->consumer, NULL);
    free(w);
}

static bool note(struct api_account *aa, struct consumer *c)
{
    struct waiter *w = calloc(1, sizeof *w);

    if (w == NULL || table_add(&aa->waits.by_subject, &w->node, hash_slice(subject_of(c))) != 0) {
        free(w);
        return false;
    }
    w->consumer = c;
    mf_list_init(&w->link);
    consumer_set_data(c, w);
    return true;
}

void waits_set(struct api_account *aa, struct consumer *c, bool on)
{
    struct waiter *w = consumer_data(c);

    if (w != NULL)
        forget(aa, w);
    if (on && !note(aa, c)) {
        log_error("account %s: consumer %s waits for a subscriber: out of memory",
                  account_name(aa->account), consumer_name(c));
        aa->waits.lost = true;
    }
    listen(aa);
}

/* --- telling them ----------------------------------------------------------------------------- */

static void look(void *arg, struct consumer *c)
{
    struct api_account *aa = arg;
    const struct consumer_config *cfg = consumer_config(c);
    struct mf_slice subject = subject_of(c);

    if (subject.len == 0 || consumer_data(c) != NULL)
        return;
    if (aa->consumer_host.interest(aa, subject, mf_str(cfg->deliver_group)))
        consumer_interest_gained(c);
    else if (!note(aa, c))
        aa->waits.lost = true;
}

static void look_at_stream(void *arg, struct stream *s)
{
    struct consumers *g = api_consumers(s);

    if (g != NULL)
        consumers_each(g, look, arg);
}

static void wake(struct loop_defer *d)
{
    struct api_account *aa = mf_container(d, struct api_account, waits.wake);
    struct mf_list woken, *n;

    mf_list_init(&woken);
    mf_list_move(&woken, &aa->waits.woken);
    while ((n = mf_list_pop(&woken)) != NULL)
        consumer_interest_gained(mf_container(n, struct waiter, link)->consumer);
    if (aa->waits.lost && aa->catalog != NULL && !aa->closing) {
        aa->waits.lost = false;
        catalog_each(aa->catalog, MF_SLICE_NONE, look_at_stream, aa);
        listen(aa);
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

void waits_init(struct api_account *aa)
{
    mf_list_init(&aa->waits.woken);
    aa->waits.wake.fn = wake;
    aa->waits.observer = (struct router_observer){.subscribed = subscribed, .arg = aa};
}

void waits_drop(struct api_account *aa, const struct consumers *g)
{
    struct table *t = &aa->waits.by_subject;
    struct mf_list gone, *n;

    mf_list_init(&gone);
    for (size_t i = 0; i < t->cap; i++) {
        for (struct table_node *at = t->slot[i]; at != NULL; at = at->next) {
            struct waiter *w = mf_container(at, struct waiter, node);
            if (consumer_group(w->consumer) == g) {
                mf_list_del(&w->link);
                mf_list_push(&gone, &w->link);
            }
        }
    }
    while ((n = mf_list_pop(&gone)) != NULL) /* after the walk: deleting may shrink the table */
        forget(aa, mf_container(n, struct waiter, link));
    listen(aa);
}

void waits_fini(struct api_account *aa)
{
    loop_defer_cancel(aa->api->loop, &aa->waits.wake);
    router_unobserve(&aa->waits.observer);
    table_fini(&aa->waits.by_subject);
}
