/* consumer.c: one consumer, from its making to its end.
 *
 * End: consumer_unlink() removes it from the stream's lists at once.  Its memory is freed at the
 * end of the turn, or when the worker that reads for it is done, because the caller may run inside
 * a delivery of this consumer. */
#include "consumer/consumer_impl.h"
#include "consumer/pull_groups_impl.h"

#include <stdlib.h>

#define START_STEPS 100000 /* to find out where one starts by time */

/* --- memory -------------------------------------------------------------------------------- */

/* "50" and "50%"; it passed the check. */
unsigned consumer_sample(const struct consumer_config *cfg)
{
    unsigned long n = cfg->sample_freq == NULL ? 0 : strtoul(cfg->sample_freq, NULL, 10);

    return n > 100 ? 100 : (unsigned)n;
}

/* Members that each delivery reads, so that it compares no texts. */
static void note_config(struct consumer *c)
{
    const char *show = consumer_config_show(&c->cfg);

    c->sampling.percent = consumer_sample(&c->cfg);
    c->shows_ttl = show != NULL && strcmp(show, "on") == 0;
    c->adds_headers = c->shows_ttl || c->cfg.headers_only;
}

int consumer_new(struct consumer **out, struct consumers *g, struct consumer_config *cfg,
                 struct mf_slice name, int64_t created_ns)
{
    struct consumer *c = calloc(1, sizeof *c);

    if (c == NULL)
        return MF_NOMEM;
    c->set = g;
    c->loop = g->host->loop;
    pending_init(&c->wait, &g->given_up);
    mf_list_init(&c->pulls.list);
    mf_list_init(&c->ready);
    mf_list_init(&c->state.flush);
    mf_list_init(&c->apart);
    mf_list_init(&c->ops);
    mf_list_init(&c->count.link);
    mf_list_init(&c->count.ops);
    c->count.known = true;
    c->timers.at_ns = c->timers.idle_at_ns = c->timers.pause_at_ns = c->read.retry_ns =
        c->pulls.at_ns = NEVER;
    c->created_ns = created_ns;
    c->replay.upto = stream_notified(c->set->stream);
    c->name = mf_slice_dup(name);
    if (c->name == NULL || consumer_config_copy(&c->cfg, cfg) != 0) {
        free(c->name);
        free(c);
        return MF_NOMEM;
    }
    if ((c->cfg.deliver_subject != NULL && c->cfg.deliver_subject[0] != '\0' &&
         push_init(c) != 0) ||
        filters_make(&c->filters, c, &c->cfg) != 0) {
        free(c->push);
        consumer_config_fini(&c->cfg);
        free(c->name);
        free(c);
        return MF_NOMEM;
    }
    rand_bytes(&c->id, sizeof c->id);
    note_config(c);
    consumer_config_fini(cfg);
    consumer_config_init(cfg);
    *out = c;
    return 0;
}

/* Out of everything that belongs to the group. */
static void unlink_all(struct consumer *c)
{
    struct mf_list *n;

    c->deleted = true;
    if (c->push != NULL)
        c->set->host->await_interest(c->set->host->arg, c, false);
    filters_drop(&c->filters, c);
    backlog_drop(c);
    backlog_end_list(c);
    count_stop(c);
    mf_list_del(&c->ready);
    mf_list_del(&c->state.flush);
    mf_list_del(&c->apart);
    pending_leave(&c->wait); /* one that is being read outlives its group */
    if (c->set->needy == c)
        c->set->needy = NULL;
    loop_timer_free(c->timers.timer);
    c->timers.timer = NULL;
    while ((n = mf_list_pop(&c->pulls.list)) != NULL)
        free(mf_container(n, struct request, link));
    c->pulls.count = 0;
    while ((n = mf_list_pop(&c->ops)) != NULL) /* their callers see the deletion */
        mf_container(n, struct consumer_op, link)->consumer = NULL;
}

static void free_deferred(struct loop_defer *d)
{
    struct consumer *c = mf_container(d, struct consumer, bury);

    if (!c->read.busy) /* else the reader frees it */
        consumer_free_now(c);
}

void consumer_free_now(struct consumer *c)
{
    pending_discard(&c->wait, c->loop);
    mf_buf_fini(&c->state.pages);
    consumer_config_fini(&c->cfg);
    free(c->push);
    free(c->name);
    free(c);
}

void consumer_free(struct consumer *c)
{
    unlink_all(c);
    c->bury.fn = free_deferred;
    loop_defer(c->set->host->loop, &c->bury);
}

/* --- where it starts ----------------------------------------------------------------------- */

static uint64_t last_wanted(struct consumer *c)
{
    const struct filters *f = &c->filters;
    struct stream *s = c->set->stream;
    uint64_t last = 0;

    if (f->trees != NULL && f->trees->wilds > FILTERS_FEW) { /* from the end, message by message */
        last = stream_prev(s, UINT64_MAX);
        while (last > 0 && !filters_want(c, stream_subject_at(s, last)))
            last = stream_prev(s, last - 1);
        return last;
    }
    for (size_t i = 0; i < f->n; i++) {
        uint64_t seq = stream_last_of(s, f->subs[i].sub.pattern);
        last = seq > last ? seq : last;
    }
    return last;
}

static uint64_t at_time(const struct consumer *c)
{
    return stream_at_time(c->set->stream, c->cfg.opt_start_time_ns, c->set->told);
}

/* The first message that it wants; 0: none, or none in many steps. */
static uint64_t first_wanted(struct consumer *c)
{
    struct backlog *w = backlog_new(c, false, 0);
    bool more = true, dead = true;
    uint64_t seq = 0, steps = 0;

    while (w != NULL && dead && (more || seq != 0) && steps < START_STEPS) {
        more = dead = false;
        seq = backlog_step(w, &more, &dead, &steps);
        dead = dead || seq == 0;
    }
    backlog_end(w);
    return dead ? 0 : seq;
}

/* Where one that starts by time begins; 0: nothing is there.  As in nats-server one with filters
 * begins with the first message that it wants, unless that is older or the stream's last: what it
 * gets is the same, its numbers say so. */
static uint64_t wanted_at_time(struct consumer *c, uint64_t last)
{
    uint64_t from = at_time(c), best = last, seq;
    char *const *filter;

    if (from != 0 && consumer_filters(&c->cfg, &filter) > 0) {
        seq = first_wanted(c);
        best = seq != 0 && seq < best ? seq : best;
    }
    return best > from && best < last ? best : from;
}

/* Does any subject match its filters?  True also if the answer needs too many steps. */
static bool wants_any(struct consumer *c)
{
    const struct filters *f = &c->filters;
    uint64_t subjects;

    if (f->trees != NULL && f->trees->wilds > FILTERS_FEW)
        return true;
    for (size_t i = 0; i < f->n; i++)
        if (!stream_count_subjects(c->set->stream, f->subs[i].sub.pattern, c->set->told,
                                   &subjects) ||
            subjects > 0)
            return true;
    return false;
}

/* Last per subject: begins the list.  Its first message; where that is not found in a few steps,
 * the first of the stream, which is as true: nothing is delivered before it. */
static uint64_t start_list(struct consumer *c, uint64_t first)
{
    uint64_t seq;

    backlog_begin_list(c, first, c->set->told);
    c->list.active = c->list.active && wants_any(c);
    seq = c->list.active ? backlog_list_first(c) : 0;
    if (seq != 0)
        c->list.at = seq;
    c->list.fresh = c->list.active;
    return c->list.at;
}

void consumer_start(struct consumer *c)
{
    struct stream_state t;
    uint64_t after = c->set->told + 1, first, seq = 0;

    stream_state(c->set->stream, &t);
    if (t.msgs == 0 && t.last_seq >= after)
        after = t.last_seq + 1; /* numbers that were used up for nothing are not announced */
    first = t.msgs > 0 ? t.first_seq : after;
    switch (c->cfg.deliver_policy) {
    case DELIVER_LAST:
        seq = last_wanted(c);
        c->todo.next = seq == 0 ? first : seq;
        break;
    case DELIVER_NEW:
        c->todo.next = after;
        break;
    case DELIVER_BY_SEQUENCE:
        c->todo.next = c->cfg.opt_start_seq > first ? c->cfg.opt_start_seq : first;
        break;
    case DELIVER_BY_TIME:
        seq = wanted_at_time(c, after - 1);
        c->todo.next = seq == 0 ? after : seq;
        break;
    case DELIVER_LAST_PER_SUBJECT:
        c->todo.next = first;
        if (stream_config(c->set->stream)->max_msgs_per_subject == 1)
            break;
        seq = start_list(c, first);
        if (!c->list.active && t.msgs > 0 && t.last_seq < after)
            after = t.last_seq; /* as in nats-server: one that wants nothing of what is there */
        c->todo.next = after;
        break;
    default:
        c->todo.next = first;
    }
    if (c->todo.next == 0)
        c->todo.next = 1;
    c->delivered.sseq = c->floor.sseq = (c->list.active ? seq : c->todo.next) - 1;
}

/* --- life ---------------------------------------------------------------------------------- */

void consumer_send_event(struct consumer *c, enum consumer_event_kind kind, uint64_t sseq,
                         uint64_t dseq, uint64_t deliveries, struct mf_slice reason)
{
    struct consumer_event e = {.kind = kind,
                               .consumer = c,
                               .stream_seq = sseq,
                               .consumer_seq = dseq,
                               .deliveries = deliveries,
                               .reason = reason,
                               .pause_until_ns = c->cfg.pause_until_ns};

    c->set->host->event(c->set->host->arg, &e);
}

/* Pull consumers get some time more, not all the same: a client that was held up a little finds its
 * consumer, and a thousand that were forgotten together do not go in one turn. */
static int64_t threshold_of(const struct consumer *c)
{
    int64_t more = c->push != NULL ? 0 : 100 * CLOCK_MS + (int64_t)(c->id % 900) * CLOCK_MS;

    return c->cfg.inactive_threshold_ns > NEVER - more ? NEVER - 1
                                                       : c->cfg.inactive_threshold_ns + more;
}

void consumer_alive(struct consumer *c)
{
    c->timers.active_ns = consumers_mono(c->set);
    if (c->cfg.inactive_threshold_ns > 0 && c->timers.idle_at_ns == NEVER) {
        c->timers.idle_at_ns = consumers_delay(c->set, threshold_of(c));
        pump_timer(c);
    }
}

static bool in_use(struct consumer *c)
{
    struct mf_list *pos;

    if (c->push != NULL) {
        push_look(c);
        return c->push->active;
    }
    mf_list_each(pos, &c->pulls.list)
    {
        if (pull_there(c, mf_container(pos, struct request, link)))
            return true;
    }
    return false;
}

bool consumer_inactive(struct consumer *c)
{
    int64_t now = consumers_mono(c->set), threshold = threshold_of(c);

    if (c->cfg.inactive_threshold_ns <= 0) {
        c->timers.idle_at_ns = NEVER;
        return false;
    }
    if (in_use(c))
        c->timers.active_ns = now;
    c->timers.idle_at_ns = consumers_delay(c->set, threshold - (now - c->timers.active_ns));
    /* Clients may still work on pulled messages until the last ack is due. */
    if (c->push == NULL && c->wait.count > 0 && c->timers.idle_at_ns <= now) {
        int64_t last = pending_latest(&c->wait);
        c->timers.idle_at_ns = last > NEVER - 1 - threshold ? NEVER - 1 : last + threshold;
    }
    if (c->timers.idle_at_ns > now)
        return false;
    consumer_delete(c, NULL);
    return true;
}

void consumer_resume(struct consumer *c)
{
    pause_plan(c);
    consumer_alive(c);
    if (c->push != NULL)
        push_look(c);
    retention_apart(c);
    pump_soon(c);
    pump_timer(c);
}

/* --- made ---------------------------------------------------------------------------------- */

void consumer_op_fail(struct consumer_op *op, int code)
{
    struct js_error e;

    js_error_set_text(&e, JS_CONSUMER_STORE_FAILED, "error creating store for consumer: %s",
                      mf_err_text(code));
    op->done(op, NULL, &e);
}

static void op_written(struct store_wait *w, int status)
{
    struct consumer_op *op = mf_container(w, struct consumer_op, wait);

    mf_list_del(&op->link);
    if (status != 0 || op->consumer == NULL) /* NULL: it was deleted meanwhile */
        consumer_op_fail(op, status == 0 ? MF_CLOSED : status);
    else
        consumer_op_settle(op->consumer, op);
}

int consumer_op_wait(struct consumer *c, struct consumer_op *op)
{
    int rc;

    op->consumer = c;
    op->wait.done = op_written;
    if (!c->stored) {
        consumer_op_settle(c, op);
        return 0;
    }
    if ((rc = state_write_config(c, &op->wait)) == 0)
        mf_list_push(&c->ops, &op->link);
    return rc;
}

void consumer_enter(struct consumer *c)
{
    consumers_insert(c->set, c);
    consumer_recount(c);
}

void consumer_create(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                     struct consumer_op *op)
{
    struct consumer *c;

    consumers_watch(g); /* first: messages stored from here on are notified */
    int rc = consumers_reserve(g);
    if (rc == 0)
        rc = consumer_new(&c, g, cfg, name, consumers_now(g));
    if (rc != 0) {
        consumers_unwatch(g);
        consumer_config_fini(cfg);
        consumer_config_init(cfg);
        consumer_op_fail(op, rc);
        return;
    }
    c->stored = !c->cfg.mem_storage;
    consumer_start(c);
    consumer_enter(c);
    if (c->stored && (rc = consumer_op_wait(c, op)) != 0) { /* nothing remains of it */
        consumer_vanish(c, "409 Consumer Deleted");
        consumer_op_fail(op, rc);
        return;
    }
    consumer_send_event(c, CONSUMER_CREATED, 0, 0, 0, MF_SLICE_NONE);
    consumer_resume(c);
    state_touch(c, 0);
    if (!c->stored)
        consumer_op_settle(c, op);
}

/* All or nothing: steps that can fail are first. */
void consumer_update(struct consumer *c, struct consumer_config *cfg, struct consumer_op *op)
{
    struct consumer_config copy, old = c->cfg;
    struct filters filters;
    int rc;

    if (ack_wait_fixed(c, cfg)) {
        consumer_op_fail(op, MF_AGAIN);
        return;
    }
    if (consumer_config_copy(&copy, cfg) != 0) {
        consumer_op_fail(op, MF_NOMEM);
        return;
    }
    copy.pause_until_ns = c->cfg.pause_until_ns;
    rc = filters_make(&filters, c, &copy);
    c->cfg = copy;
    if (rc == 0 && c->stored && (rc = consumer_op_wait(c, op)) != 0)
        filters_drop(&filters, c);
    if (rc != 0) {
        c->cfg = old;
        consumer_config_fini(&copy);
        consumer_op_fail(op, rc);
        return;
    }
    filters_drop(&c->filters, c);
    c->filters = filters;
    bool others = backlog_refilter(c, &old);
    ack_wait_updated(c, &old);
    consumer_config_fini(&old);
    consumer_config_fini(cfg);
    consumer_config_init(cfg);
    note_config(c);
    groups_sort(c);
    consumer_recount(c);
    c->timers.idle_at_ns = NEVER;
    consumer_resume(c);
    if (others) /* what it has given up stays, as in nats-server, as long as it may be its own */
        retention_scan(c->set);
    if (!c->stored)
        consumer_op_settle(c, op);
}

void consumer_vanish(struct consumer *c, const char *status)
{
    struct consumers *g = c->set;

    pull_end_all(c, status, false);
    consumers_remove(g, c);
    consumer_free(c);
    consumers_unwatch(g);
}

static void finish_delete(struct store_wait *w, int status)
{
    struct consumer_op *op = mf_container(w, struct consumer_op, wait);

    if (status != 0)
        consumer_op_fail(op, status);
    else
        op->done(op, NULL, NULL);
}

/* Messages that no consumer needs any more are removed in the same turn, after the record of the
 * deletion: all of them with the last consumer, else the first slice.  The answer waits for both,
 * so the next new consumer does not start at a removed message. */
void consumer_delete(struct consumer *c, struct consumer_op *op)
{
    struct consumers *g = c->set;
    bool writes = c->stored || stream_config(g->stream)->retention == RETENTION_INTEREST;

    consumer_send_event(c, CONSUMER_DELETED, 0, 0, 0, MF_SLICE_NONE);
    int rc = c->stored ? state_delete(c) : 0;
    consumer_vanish(c, "409 Consumer Deleted");
    if (rc == 0)
        retention_deleted(g);
    if (op == NULL)
        return;
    op->wait.done = finish_delete;
    if (rc != 0 || !writes || (rc = stream_barrier(g->stream, &op->wait)) != 0)
        finish_delete(&op->wait, rc);
}

/* --- started again ------------------------------------------------------------------------- */

int consumer_reset(struct consumer *c, uint64_t seq, uint64_t *reset_seq, struct js_error *e)
{
    consumers_catch_up(c->set);
    if (seq == 0) {
        seq = c->floor.sseq + 1;
    } else if (c->cfg.deliver_policy == DELIVER_BY_SEQUENCE) {
        if (seq < c->cfg.opt_start_seq)
            return js_error_set(e, JS_CONSUMER_INVALID_RESET, "below start seq");
    } else if (c->cfg.deliver_policy == DELIVER_BY_TIME) {
        uint64_t start = at_time(c);
        if (seq < (start == 0 ? c->set->told + 1 : start))
            return js_error_set(e, JS_CONSUMER_INVALID_RESET, "below start time");
    } else if (c->cfg.deliver_policy != DELIVER_ALL) {
        return js_error_set(e, JS_CONSUMER_INVALID_RESET, "not allowed");
    }
    ack_forget_all(c);
    ack_upto_stop(c);
    c->read.stale = c->read.busy;
    if (!backlog_restart_list(c, seq))
        c->todo.next = seq;
    c->delivered.dseq = c->floor.dseq = 0;
    c->delivered.sseq = c->floor.sseq = seq - 1;
    c->delivered.at_ns = c->floor.acked_ns = 0;
    consumer_recount(c);
    if (seq <= c->set->told + 1)
        retention_scan(c->set); /* not beyond the end: nats-server leaves all then */
    state_touch(c, 0);
    pump_soon(c);
    *reset_seq = seq;
    return 0;
}
