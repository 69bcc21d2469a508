/* retention.c: removes messages that no consumer needs: on work queues after one consumer ack, with
 * interest retention after the acks of all consumers that want them. */
#include "consumer/consumer_impl.h"

#include "base/log.h"

#define SLICE 500

/* Delivered and not acknowledged, given up, or being read for delivery. */
static bool holds_message(const struct consumer *c, uint64_t seq)
{
    if (seq == c->floor.acking)
        return false;
    return pending_find(&c->wait, seq) != NULL || pending_given(&c->wait, seq) != NULL ||
           (c->read.busy && c->read.load.seq == seq);
}

static bool holds_any(const struct consumer *c)
{
    return c->wait.count > 0 || c->wait.given_up > 0 || c->read.busy;
}

/* Its filters match. */
static bool needs_message(const struct consumer *c, uint64_t seq)
{
    return seq >= c->todo.next || backlog_lists(c, seq) || holds_message(c, seq);
}

struct question {
    uint64_t seq;
    bool needed;
};

static void ask_consumer(void *arg, struct router_sub *sub)
{
    struct question *q = arg;

    struct consumer *c = mf_container(sub, struct filter_sub, sub)->c;

    if (!q->needed && needs_message(c, q->seq)) {
        q->needed = true;
        c->set->needy = c;
    }
}

/* Filters may change, and messages delivered before stay with their consumer: until none is left,
 * the consumer is asked about every subject. */
void retention_apart(struct consumer *c)
{
    if (stream_config(c->set->stream)->retention == RETENTION_INTEREST && holds_any(c) &&
        mf_list_empty(&c->apart))
        mf_list_push(&c->set->apart, &c->apart);
}

static bool needed_apart(struct consumers *g, uint64_t seq)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &g->apart)
    {
        struct consumer *c = mf_container(pos, struct consumer, apart);
        if (!holds_any(c))
            mf_list_del(pos);
        else if (holds_message(c, seq))
            return true;
    }
    return false;
}

/* O(those whose filters match its subject), and O(1) while the one that needed the last message
 * needs this one too: the slow are slow for long.  Nothing of this reads it: the subject is in
 * memory. */
static bool anybody_needs(struct consumers *g, uint64_t seq)
{
    struct mf_slice subject = stream_subject_at(g->stream, seq);
    struct question q = {.seq = seq};

    if (subject.len == 0)
        return false; /* it is not there */
    if (g->needy != NULL && needs_message(g->needy, seq) && filters_want(g->needy, subject))
        return true;
    router_match(g->filters, subject, ask_consumer, &q);
    /* Without memory for the search the message counts as needed, so that no consumer loses it. */
    return q.needed || router_search_failed(g->filters) || needed_apart(g, seq);
}

static bool remove_message(struct consumers *g, uint64_t seq)
{
    int rc = stream_drop(g->stream, seq, NULL);

    if (rc == 0 || rc == MF_NOTFOUND)
        return true;
    log_warn("stream %s: message %llu is done but stays: %s", stream_name(g->stream),
             (unsigned long long)seq, mf_err_text(rc));
    return false;
}

bool retention_acked(struct consumer *c, uint64_t sseq)
{
    struct consumers *g = c->set;
    int policy = stream_config(g->stream)->retention;

    if (policy == RETENTION_LIMITS)
        return true;
    c->floor.acking = sseq;
    bool needed = policy != RETENTION_WORKQUEUE && anybody_needs(g, sseq);
    c->floor.acking = 0;
    return needed || remove_message(g, sseq);
}

bool retention_wanted(void *group, struct mf_slice subject)
{
    struct consumers *g = group;

    return router_has_interest(g->filters, subject) || router_search_failed(g->filters);
}

static bool may_scan(const struct consumers *g)
{
    return stream_config(g->stream)->retention == RETENTION_INTEREST && !g->closing;
}

/* Scans the messages present at its start: later ones are checked when they are published. */
static bool scan_some(struct consumers *g)
{
    uint64_t seq;

    if (!may_scan(g) || stream_throttle(g->stream, &g->scan))
        return false;
    for (int n = 0; n < SLICE; n++) {
        seq = stream_next(g->stream, g->scan_at);
        if (seq == 0 || seq > g->scan_upto || (g->watching && seq > g->told))
            return false;
        g->scan_at = seq + 1;
        if (!anybody_needs(g, seq))
            (void)remove_message(g, seq); /* the next scan tries again */
    }
    return true;
}

static bool run_scan(struct work_task *t)
{
    return scan_some(mf_container(t, struct consumers, scan));
}

static void prepare_scan(struct consumers *g)
{
    g->scan.run = run_scan;
    g->scan.cause = WORK_REMOVE;
    g->scan.what = "interest";
}

static void queue_scan(struct consumers *g)
{
    prepare_scan(g);
    work_add(g->host->loop, stream_owner(g->stream), &g->scan);
}

/* The first slice runs inside the call: a small stream is done when it returns. */
void retention_scan(struct consumers *g)
{
    if (!may_scan(g)) {
        g->scan_upto = 0; /* one that is under way ends */
        return;
    }
    consumers_catch_up(g);
    g->scan_at = 0;
    g->scan_upto = stream_last_accepted(g->stream);
    prepare_scan(g); /* it may be held */
    if (scan_some(g))
        queue_scan(g);
}

/* Messages accepted before a scan and committed after it: a consumer wanted them then. */
void retention_news(struct consumers *g, uint64_t seq)
{
    if (seq <= g->scan_upto && may_scan(g))
        queue_scan(g);
}

/* Without consumers all messages are removed, uncommitted ones too; else those that a scan finds,
 * the first slice inside the call. */
void retention_deleted(struct consumers *g)
{
    if (!may_scan(g))
        return;
    if (g->count > 0 || stream_drop_all(g->stream) != 0)
        retention_scan(g);
}

void retention_forget(struct consumers *g)
{
    if (stream_config(g->stream)->retention == RETENTION_INTEREST)
        return;
    for (size_t i = 0; i < g->count; i++)
        ack_forget_given(g->at[i], 0, UINT64_MAX);
}

void consumers_stream_updated(struct consumers *g)
{
    retention_forget(g);
    for (size_t i = 0; i < g->count; i++) /* it may be one of interest now */
        retention_apart(g->at[i]);
    retention_scan(g);
}
