/* count.c: how many messages a consumer has not looked at yet.
 *
 * Happy path: the stream knows the number in a few steps, from sums or because it is small.
 * Otherwise the messages are counted with a walk of their own, some in each turn of the loop, one
 * consumer after the other; until its count is known a consumer delivers nothing, and answers that
 * show the number wait (consumer_settled()).  The same holds while very many messages are being
 * acknowledged (ack.c).  Messages are counted in the order of their sequences,
 * so one that is removed meanwhile has been counted or not by where it stands.
 * Failure: without memory for a walk it is tried again by the consumer's timer.
 * Close: a consumer that is freed is not counted any more; what waits for it fails. */
#include "consumer/consumer_impl.h"

#define SLICE_STEPS 4096 /* in one turn, for all consumers of the stream together */

bool count_runs(const struct consumer *c)
{
    return !c->count.known || c->upto.sseq != 0;
}

bool consumer_counted(const struct consumer *c)
{
    return !count_runs(c);
}

/* --- in a few steps ------------------------------------------------------------------------- */

/* The list can be counted by its subjects only while nothing of it was taken. */
static bool list_is_whole(struct consumer *c)
{
    uint64_t before;

    return c->list.fresh || c->list.at == 0 ||
           (c->list.closed == NULL &&
            stream_count(c->set->stream, MF_LIT(">"), 0, c->list.at - 1, &before) && before == 0);
}

/* With many filters each must be counted without a look at its messages: from the beginning. */
static bool is_cheap(struct consumer *c)
{
    const struct filter_trees *t = c->filters.trees;
    uint64_t before;

    if (t == NULL)
        return true;
    return t->wilds <= FILTERS_FEW && c->todo.next > 0 &&
           stream_count(c->set->stream, MF_LIT(">"), 0, c->todo.next - 1, &before) && before == 0;
}

static bool count_at_once(struct consumer *c, uint64_t *sum)
{
    const struct filters *f = &c->filters;
    struct stream *s = c->set->stream;
    uint64_t part;

    *sum = 0;
    if (!c->list.active && c->todo.next > c->set->told)
        return true;
    if (f->crossed || !is_cheap(c) || (c->list.active && !list_is_whole(c)))
        return false;
    for (size_t i = 0; i < f->n; i++) {
        struct mf_slice pattern = f->subs[i].sub.pattern;
        if (!stream_count(s, pattern, c->todo.next, c->set->told, &part))
            return false;
        *sum += part;
        if (c->list.active && !stream_count_subjects(s, pattern, c->list.upto, &part))
            return false;
        *sum += c->list.active ? part : 0;
    }
    return true;
}

/* --- in slices ------------------------------------------------------------------------------ */

static void drop_backlog(struct consumer *c)
{
    backlog_end(c->count.backlog);
    c->count.backlog = NULL;
}

static bool count_turn(struct work_task *t);

static void queue_count(struct consumer *c)
{
    struct consumers *g = c->set;

    if (mf_list_empty(&c->count.link))
        mf_list_push(&g->counts, &c->count.link);
    g->count_run.run = count_turn;
    g->count_run.cause = WORK_DELIVER;
    g->count_run.what = "count";
    work_add(g->host->loop, stream_owner(g->stream), &g->count_run);
}

/* Behind the last one of the list, or of all.  True: everything is counted. */
static bool part_ends(struct consumer *c)
{
    drop_backlog(c);
    c->count.known = !c->count.list;
    c->count.list = false;
    c->count.at = c->todo.next;
    return c->count.known;
}

enum slice { SLICE_MORE, SLICE_DONE, SLICE_NO_MEMORY };

static enum slice count_slice(struct consumer *c, uint64_t *steps)
{
    struct count *k = &c->count;

    while (*steps < SLICE_STEPS) {
        bool more = false, dead;
        if (k->backlog == NULL && (k->backlog = backlog_new(c, k->list, k->at)) == NULL)
            return SLICE_NO_MEMORY;
        uint64_t seq = backlog_step(k->backlog, &more, &dead, steps);
        ++*steps;
        if (more)
            continue;
        if (seq != 0 && seq <= (k->list ? c->list.upto : k->upto)) {
            c->todo.pending += !(k->list && backlog_is_closed(c, seq));
            k->at = seq + 1;
        } else if (part_ends(c)) {
            return SLICE_DONE;
        }
    }
    return SLICE_MORE;
}

static void answer_ops(struct consumer *c)
{
    struct mf_list *n;

    mf_list_del(&c->count.link);
    while ((n = mf_list_pop(&c->count.ops)) != NULL) {
        struct consumer_op *op = mf_container(n, struct consumer_op, link);
        op->done(op, c, NULL);
    }
    pump_soon(c);
}

static bool count_turn(struct work_task *t)
{
    struct consumers *g = mf_container(t, struct consumers, count_run);
    uint64_t steps = 0;

    if (stream_throttle(g->stream, t)) /* acks remove messages, too */
        return false;
    while (steps < SLICE_STEPS && !mf_list_empty(&g->counts)) {
        struct consumer *c = mf_container(g->counts.next, struct consumer, count.link);
        if (c->upto.sseq != 0) {
            mf_list_del(&c->count.link); /* other consumers run before its next slice */
            mf_list_push(&g->counts, &c->count.link);
            ack_upto_go_on(c);
            steps += SLICE_STEPS;
        }
        enum slice r = c->count.known ? SLICE_DONE : count_slice(c, &steps);
        if (r == SLICE_DONE && !count_runs(c)) {
            answer_ops(c);
        } else if (r == SLICE_NO_MEMORY) {
            mf_list_del(&c->count.link);
            pump_later(c); /* and pump() has it counted again */
            pump_timer(c);
        }
    }
    return !mf_list_empty(&g->counts);
}

void count_again(struct consumer *c)
{
    if (count_runs(c))
        queue_count(c);
}

/* Answers are not given from here: the caller may stand inside of a change of the stream. */
void consumer_recount(struct consumer *c)
{
    struct count *k = &c->count;
    uint64_t sum, steps = 0;

    drop_backlog(c);
    k->known = count_at_once(c, &sum);
    c->list.fresh = false;
    c->todo.pending = k->known ? sum : 0;
    if (!k->known) {
        k->list = c->list.active;
        k->at = c->list.active ? c->list.at : c->todo.next;
        k->upto = c->set->told;
        (void)count_slice(c, &steps);
    }
    if (!k->known || !mf_list_empty(&k->ops))
        queue_count(c);
}

void count_stop(struct consumer *c)
{
    struct mf_list *n;

    drop_backlog(c);
    ack_upto_stop(c);
    mf_list_del(&c->count.link);
    while ((n = mf_list_pop(&c->count.ops)) != NULL)
        consumer_op_fail(mf_container(n, struct consumer_op, link), MF_CLOSED);
}

bool consumer_settled(struct consumer *c, struct consumer_op *op)
{
    if (!count_runs(c))
        return true;
    op->consumer = c;
    mf_list_push(&c->count.ops, &op->link);
    return false;
}

void consumer_op_settle(struct consumer *c, struct consumer_op *op)
{
    if (consumer_settled(c, op))
        op->done(op, c, NULL);
}

/* --- what is removed meanwhile -------------------------------------------------------------- */

static bool is_counted(const struct consumer *c, uint64_t seq)
{
    const struct count *k = &c->count;

    if (k->known || (seq >= c->todo.next && seq > k->upto))
        return true;
    if (k->list != (c->list.active && seq < c->todo.next))
        return !k->list; /* the list is counted first */
    return seq < k->at;
}

/* The newest message of a subject was removed: nothing is delivered for that subject, though the
 * message before it is the newest now. */
static void list_loses(struct consumer *c, uint64_t seq)
{
    uint64_t older;

    if (!stream_newest_upto(c->set->stream, seq, c->list.upto, &older))
        return;
    if (backlog_is_closed(c, seq))
        backlog_reopen(c, seq);
    else if (is_counted(c, seq))
        c->todo.pending -= c->todo.pending > 0;
    if (older >= c->list.at && backlog_close(c, older) != 0) { /* it is delivered in its place */
        backlog_drop(c);
        consumer_recount(c);
    }
}

void count_gone(struct consumer *c, uint64_t seq)
{
    if (seq >= c->todo.next)
        c->todo.pending -= c->todo.pending > 0 && is_counted(c, seq);
    else if (c->list.active && seq >= c->list.at && seq <= c->list.upto)
        list_loses(c, seq);
}
