/* consumers.c: all consumers of a stream: found by name, notified of stored and ended messages.
 * Their filters are in one tree, so a message costs only the consumers that want it. */
#include "consumer/consumer_impl.h"

#include "base/array.h"

#include <stdlib.h>

#define PASSED_MAX 4096 /* looked at one by one */

int64_t consumers_now(const struct consumers *g)
{
    return g->host->now_ns(g->host->arg);
}

void consumers_tick(struct consumers *g)
{
    g->now_ns = consumers_now(g);
}

int64_t consumers_wall(const struct consumers *g)
{
    return g->host->wall_ns != NULL ? g->host->wall_ns(g->host->arg) : consumers_now(g);
}

int64_t consumers_mono(const struct consumers *g)
{
    return loop_mono_ns(g->host->loop);
}

/* Clients may ask for the end of time. */
int64_t consumers_delay(const struct consumers *g, int64_t delay_ns)
{
    int64_t now = consumers_mono(g);

    return delay_ns > NEVER - 1 - now ? NEVER - 1 : now + delay_ns;
}

/* --- by name ------------------------------------------------------------------------------- */

static bool search_name(const struct consumers *g, struct mf_slice name, size_t *at)
{
    size_t low = 0, high = g->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int d = mf_compare(name, mf_str(g->at[middle]->name));
        if (d == 0) {
            *at = middle;
            return true;
        }
        if (d > 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

int consumers_reserve(struct consumers *g)
{
    return mf_array_reserve(&g->at, &g->cap, g->count + 1, sizeof(struct consumer *));
}

static void tell_present(const struct consumers *g, const struct consumer *c, bool on)
{
    if (g->host->present != NULL)
        g->host->present(g->host->arg, c, on);
}

void consumers_insert(struct consumers *g, struct consumer *c)
{
    size_t at;

    (void)search_name(g, mf_str(c->name), &at);
    memmove(g->at + at + 1, g->at + at, (g->count - at) * sizeof(struct consumer *));
    g->at[at] = c;
    g->count++;
    g->direct += c->cfg.direct;
    tell_present(g, c, true);
}

void consumers_remove(struct consumers *g, struct consumer *c)
{
    size_t at;

    if (!search_name(g, mf_str(c->name), &at) || g->at[at] != c)
        return;
    tell_present(g, c, false);
    memmove(g->at + at, g->at + at + 1, (g->count - at - 1) * sizeof(struct consumer *));
    g->count--;
    g->direct -= c->cfg.direct;
}

size_t consumers_after_name(const struct consumers *g, struct mf_slice name)
{
    size_t at;

    if (name.len == 0)
        return 0;
    return search_name(g, name, &at) ? at + 1 : at;
}

struct consumer *consumers_find(struct consumers *g, struct mf_slice name)
{
    size_t at;

    return search_name(g, name, &at) ? g->at[at] : NULL;
}

void consumers_each(struct consumers *g, void (*visit)(void *arg, struct consumer *c), void *arg)
{
    for (size_t i = 0; i < g->count; i++)
        visit(arg, g->at[i]);
}

size_t consumers_count(const struct consumers *g)
{
    return g->count - g->direct;
}

struct stream *consumers_stream(const struct consumers *g)
{
    return g->stream;
}

/* --- news ---------------------------------------------------------------------------------- */

static void one_stored(void *arg, struct router_sub *sub)
{
    const struct stream_msg *m = arg;
    struct consumer *c = mf_container(sub, struct filter_sub, sub)->c;

    if (m->seq < c->todo.next || m->seq == c->todo.counted)
        return;
    c->todo.counted = m->seq;
    c->todo.pending++;
    if (!pump_direct(c, m))
        pump_soon(c);
}

/* Sequences without a notification usually belong to messages that were removed already.  One that
 * is still present (it could not be read, or died before its notification) must be counted, or its
 * removal would be subtracted without ever being added. */
static void passed_over(struct consumers *g, uint64_t upto)
{
    bool any = upto - g->told > PASSED_MAX;

    for (uint64_t seq = g->told + 1; !any && seq < upto; seq++)
        any = stream_present(g->stream, seq);
    g->told = upto - 1;
    for (size_t i = 0; any && i < g->count; i++)
        consumer_recount(g->at[i]);
}

/* No memory to find the consumers concerned: every consumer looks itself. */
static void look_again(struct consumers *g)
{
    for (size_t i = 0; i < g->count; i++) {
        consumer_recount(g->at[i]);
        pump_soon(g->at[i]);
    }
}

static void observe_stored(struct stream_observer *o, const struct stream_msg *m)
{
    struct consumers *g = mf_container(o, struct consumers, observer);
    struct stream_msg copy = *m;

    if (m->seq > g->told + 1)
        passed_over(g, m->seq);
    g->told = m->seq;
    consumers_tick(g);
    router_match(g->filters, m->subject, one_stored, &copy);
    if (router_search_failed(g->filters))
        look_again(g);
    retention_news(g, m->seq);
}

static void one_gone(void *arg, struct router_sub *sub)
{
    uint64_t seq = *(const uint64_t *)arg;
    struct consumer *c = mf_container(sub, struct filter_sub, sub)->c;

    if (seq == c->todo.went)
        return;
    c->todo.went = seq;
    if (seq <= c->set->told)
        count_gone(c, seq);
    ack_gone(c, seq);
}

static void observe_removed(struct stream_observer *o, uint64_t seq, struct mf_slice subject)
{
    struct consumers *g = mf_container(o, struct consumers, observer);
    struct mf_list *pos;

    router_match(g->filters, subject, one_gone, &seq);
    /* Consumers whose filters changed. */
    for (pos = g->apart.next; g->given_up > 0 && pos != &g->apart; pos = pos->next)
        ack_forget_given_one(mf_container(pos, struct consumer, apart), seq);
    if (!router_search_failed(g->filters))
        return;
    for (size_t i = 0; i < g->count; i++)
        ack_gone(g->at[i], seq);
    look_again(g);
}

static size_t observe_count(const struct stream_observer *o)
{
    return ((const struct consumers *)mf_container(o, const struct consumers, observer))->count;
}

static void lose_some(struct consumer *c, uint64_t first, uint64_t last)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->wait.order)
    {
        struct pend *e = mf_container(pos, struct pend, order);
        if (e->sseq > last)
            break;
        if (e->sseq >= first)
            ack_lost(c, e);
    }
}

static void observe_purged(struct stream_observer *o, uint64_t first, uint64_t last)
{
    struct consumers *g = mf_container(o, struct consumers, observer);

    for (size_t i = 0; i < g->count; i++) {
        struct consumer *c = g->at[i];
        if (pending_within(&c->wait, first, last)) {
            ack_lost_all(c);
        } else {
            lose_some(c, first, last);
            ack_forget_given(c, first, last);
        }
        consumer_recount(c);
        pump_soon(c); /* there may be room for others; requests that do not wait are answered */
    }
}

/* As nats-server moves a consumer's numbers: everything below `start` is over for it, whether it
 * was delivered or not. */
static void move_up(struct consumer *c, uint64_t start, uint64_t lost_dseq)
{
    if (c->delivered.sseq + 1 < start)
        c->delivered.sseq = start - 1;
    if (c->todo.next < start)
        c->todo.next = start;
    if (c->floor.sseq < start) {
        struct pend *e;
        c->floor.sseq = start - 1;
        while ((e = pending_first(&c->wait)) != NULL && e->sseq < start) {
            lost_dseq = e->dseq > lost_dseq ? e->dseq : lost_dseq;
            state_touch(c, e->sseq);
            pending_remove(&c->wait, e);
        }
        if (lost_dseq > c->floor.dseq)
            c->floor.dseq = lost_dseq;
    }
    if (c->wait.count == 0) {
        c->floor.dseq = c->delivered.dseq;
        c->floor.sseq = c->delivered.sseq;
    }
}

/* Is all that the consumer wants within the purge? */
static bool all_within(const struct consumer *c, struct mf_slice purge)
{
    char *const *filter;
    size_t n = consumer_filters(&c->cfg, &filter), i = 0;

    while (i < n && subject_is_subset(mf_str(filter[i]), purge))
        i++;
    return n > 0 && i == n;
}

static void purge_done(struct stream_observer *o, struct mf_slice filter)
{
    struct consumers *g = mf_container(o, struct consumers, observer);
    struct stream_state t;
    uint64_t first, match;

    stream_state(g->stream, &t);
    first = t.msgs > 0 ? t.first_seq : t.last_seq + 1;
    match = filter.len == 0 ? first : stream_next_of(g->stream, filter, first);
    for (size_t i = 0; i < g->count; i++) {
        struct consumer *c = g->at[i];
        uint64_t lost = c->lost.at == g->told ? c->lost.dseq : 0;
        c->lost.dseq = 0;
        if (filter.len == 0 || all_within(c, filter))
            move_up(c, match == 0 ? t.last_seq + 1 : match, lost);
        else if (filters_contain(c, filter))
            move_up(c, first, lost);
        else
            continue;
        consumer_recount(c);
        state_touch(c, 0);
        pump_soon(c);
    }
}

/* The caller may have acks of this turn already: a busy connection is flushed before its end. */
void consumers_catch_up(struct consumers *g)
{
    if (g->watching)
        stream_notify_now(g->stream);
}

/* A stream without observers need not read its new messages. */
void consumers_watch(struct consumers *g)
{
    if (g->watching) {
        consumers_catch_up(g);
        return;
    }
    g->watching = true;
    stream_observe(g->stream, &g->observer);
    g->told = stream_notified(g->stream);
}

void consumers_unwatch(struct consumers *g)
{
    if (g->watching && g->count == 0) {
        g->watching = false;
        stream_unobserve(&g->observer);
    }
}

/* --- open, close --------------------------------------------------------------------------- */

static void group_free(struct loop_defer *d)
{
    struct consumers *g = mf_container(d, struct consumers, bury);

    router_free(g->filters);
    loop_timer_free(g->flush_timer);
    free(g->at);
    free(g);
}

/* Freed at the end of the turn: the caller may run inside a delivery. */
static void group_bury(struct consumers *g)
{
    while (g->count > 0) {
        struct consumer *c = g->at[--g->count];
        consumer_free(c);
    }
    loop_timer_stop(g->flush_timer);
    work_cancel(g->host->loop, &g->scan);
    work_cancel(g->host->loop, &g->count_run);
    stream_throttle_cancel(g->stream, &g->scan);
    stream_throttle_cancel(g->stream, &g->count_run);
    g->bury.fn = group_free;
    loop_defer(g->host->loop, &g->bury);
}

int consumers_open(struct consumers **out, struct stream *s, const struct consumer_host *h,
                   struct mf_error *e)
{
    struct consumers *g = calloc(1, sizeof *g);
    int rc;

    if (g == NULL)
        return mf_fail(e, MF_NOMEM, "consumers");
    g->stream = s;
    g->host = h;
    mf_list_init(&g->ready);
    mf_list_init(&g->flush);
    mf_list_init(&g->apart);
    mf_list_init(&g->counts);
    rc = router_new(&g->filters, e);
    g->flush_timer = loop_timer_new(h->loop, state_flush_fire, g);
    if (rc == 0 && g->flush_timer == NULL)
        rc = mf_fail(e, MF_NOMEM, "consumers");
    if (rc != 0) {
        if (g->filters != NULL)
            router_free(g->filters);
        loop_timer_free(g->flush_timer);
        free(g);
        return rc;
    }
    g->observer = (struct stream_observer){.stored = observe_stored,
                                           .gone = observe_removed,
                                           .count = observe_count,
                                           .purged = observe_purged,
                                           .purge_done = purge_done};
    mf_list_init(&g->observer.node);
    consumers_watch(g);
    stream_set_interest(s, retention_wanted, g);
    rc = state_load(g, e);
    consumers_unwatch(g);
    if (rc != 0) {
        stream_set_interest(s, NULL, NULL);
        stream_unobserve(&g->observer);
        group_bury(g);
        return rc;
    }
    for (size_t i = 0; i < g->count; i++)
        consumer_resume(g->at[i]);
    *out = g;
    return 0;
}

void consumers_shut_down(struct consumers *g)
{
    for (size_t i = 0; i < g->count; i++)
        pull_end_all(g->at[i], "409 Server Shutdown", true);
}

void consumers_clock_stepped(struct consumers *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->at[i]->cfg.pause_until_ns > 0) {
            pause_plan(g->at[i]);
            pump_timer(g->at[i]);
        }
}

void consumers_close(struct consumers *g, bool deleted)
{
    g->closing = true;
    stream_set_interest(g->stream, NULL, NULL);
    stream_unobserve(&g->observer);
    work_cancel(g->host->loop, &g->run);
    loop_defer_cancel(g->host->loop, &g->flush_run);
    for (size_t i = 0; i < g->count; i++) {
        struct consumer *c = g->at[i];
        pull_end_all(c, deleted ? "409 Consumer Deleted" : "409 Server Shutdown", !deleted);
        if (!deleted)
            (void)state_flush(c);
    }
    if (g->confirms != NULL)
        state_flush_group(&g->flush_run);
    group_bury(g);
}
