/* backup.c: writes a consumer's state to a backup and restores a consumer from one.
 *
 * Happy path: consumer_restore() makes the consumer with its old state and writes that state.  The
 * consumer is held: it delivers nothing and accepts no ack until consumers_begin(), when its stream
 * is complete and has its final retention.
 * Failure: the consumer is removed, op has the error. */
#include "consumer/consumer_impl.h"

void consumer_save(const struct consumer *c, uint64_t last_seq, struct consumer_saved *out,
                   void (*visit)(void *arg, const struct consumer_saved_msg *m), void *arg)
{
    struct mf_list *pos;

    *out = (struct consumer_saved){
        .dseq = c->delivered.dseq,
        .sseq = c->delivered.sseq < last_seq ? c->delivered.sseq : last_seq,
        .floor_dseq = c->floor.dseq,
        .floor_sseq = c->floor.sseq < last_seq ? c->floor.sseq : last_seq,
        .next = c->list.active ? c->todo.next : 0,
    };
    mf_list_each(pos, &c->wait.order)
    {
        const struct pend *e = mf_container(pos, struct pend, order);

        /* One that stands below the floor (ack_policy all may put it there) was acknowledged. */
        if (e->sseq <= out->floor_sseq || e->sseq > out->sseq)
            continue;
        visit(arg, &(struct consumer_saved_msg){e->sseq, e->dseq, e->sent_ns, e->count, false});
    }
    mf_list_each(pos, &c->wait.given)
    {
        const struct pend *e = mf_container(pos, struct pend, order);

        if (e->sseq <= out->sseq)
            visit(arg, &(struct consumer_saved_msg){e->sseq, e->dseq, e->sent_ns, e->count, true});
    }
}

struct consumer *consumers_after(struct consumers *g, struct mf_slice name)
{
    size_t at = consumers_after_name(g, name);

    return at < g->count ? g->at[at] : NULL;
}

/* --- in ------------------------------------------------------------------------------------- */

/* Messages removed meanwhile need no ack. */
static int add_pending(struct consumer *c, const struct consumer_saved *st)
{
    for (size_t i = 0; i < st->n; i++) {
        const struct consumer_saved_msg *m = &st->at[i];
        struct pend *e;
        int rc;

        if (!stream_present(c->set->stream, m->sseq)) {
            c->wait.lost = c->wait.lost || !m->given_up;
            continue;
        }
        if (pending_find(&c->wait, m->sseq) != NULL || (m->given_up && m->sseq > st->sseq))
            continue;
        rc = pending_add(&c->wait, m->sseq, m->dseq, &e);
        if (rc != 0)
            return rc;
        e->count = m->count;
        e->sent_ns = m->sent_ns;
        c->wait.redelivered += m->count > 1;
        if (m->given_up)
            pending_give_up(&c->wait, e);
        state_touch(c, m->sseq);
    }
    return 0;
}

static int set_pending(struct consumer *c, const struct consumer_saved *st)
{
    c->wait.unsorted = true; /* what was given up is behind what waits, and older */
    int rc = add_pending(c, st);
    pending_sort(&c->wait);
    return rc;
}

static int set_state(struct consumer *c, const struct consumer_saved *st)
{
    int rc;

    c->delivered.dseq = st->dseq;
    c->delivered.sseq = st->sseq;
    c->floor.dseq = st->floor_dseq;
    c->floor.sseq = st->floor_sseq;
    c->todo.next = st->next != 0 ? st->next : st->sseq + 1;
    if (c->cfg.deliver_policy == DELIVER_BY_SEQUENCE && c->todo.next < c->cfg.opt_start_seq) {
        c->todo.next = c->cfg.opt_start_seq;
        if (c->delivered.dseq == 0) /* it has not begun, and begins there */
            c->delivered.sseq = c->floor.sseq = c->todo.next - 1;
    }
    rc = set_pending(c, st);
    if (rc == 0)
        state_settle(c, st->next != 0);
    state_touch(c, 0);
    return rc;
}

/* Pages and numbers before the configuration, which op waits for: with it everything is there. */
static int write_all(struct consumer *c, struct consumer_op *op)
{
    if (!c->stored)
        return 0;
    c->state.dirty = true;
    state_flush(c);
    return c->state.dirty || mf_buf_failed(&c->state.pages) ? MF_NOMEM : consumer_op_wait(c, op);
}

void consumer_restore(struct consumers *g, struct consumer_config *cfg, struct mf_slice name,
                      const struct consumer_saved *st, struct consumer_op *op)
{
    struct consumer *c;

    consumers_watch(g);
    int rc = consumers_reserve(g);
    if (rc == 0)
        rc = consumer_new(&c, g, cfg, name, consumers_now(g));
    if (rc != 0) {
        consumers_unwatch(g);
        consumer_op_fail(op, rc);
        return;
    }
    c->held = true;
    c->stored = !c->cfg.mem_storage;
    rc = set_state(c, st);
    if (rc == 0 && !c->cfg.direct && !c->cfg.sourcing)
        rc = filters_claim(&c->filters, c); /* the stream gets its retention at the end */
    if (rc != 0) {
        consumer_free(c);
        consumers_unwatch(g);
        consumer_op_fail(op, rc);
        return;
    }
    consumer_enter(c);
    rc = write_all(c, op);
    if (rc != 0) {
        consumer_vanish(c, "409 Consumer Deleted");
        consumer_op_fail(op, rc);
    } else if (!c->stored) {
        consumer_op_settle(c, op);
    }
}

void consumers_begin(struct consumers *g)
{
    retention_forget(g);
    for (size_t i = 0; i < g->count; i++) {
        struct consumer *c = g->at[i];

        if (!c->held)
            continue;
        c->held = false;
        consumer_resume(c);
    }
}
