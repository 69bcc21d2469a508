/* test_consumer_backoff.c: another backoff for a consumer with very many messages that wait for
 * their acks: new deadlines are given in slices.  Steps are counted. */
#include "support/consumer_world.h"

/* A consumer whose acks of n messages are awaited. */
static struct consumer *awaiting(const char *name, struct consumer_config cfg, int n)
{
    char text[16];

    cfg.max_ack_pending = -1;
    for (int i = 0; i < n; i++)
        (void)world_publish(&w, "k.a", NULL, "");
    world_turns(&w);
    struct consumer *c = add(name, cfg);
    snprintf(here, sizeof here, " in done ");
    snprintf(text, sizeof text, "%d", n);
    ask(c, text);
    for (int i = 0; i < 100 && info(c).ack_pending < (uint64_t)n; i++)
        world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(n, info(c).ack_pending);
    heard();
    return c;
}

static void reset_to(struct consumer *c, uint64_t seq)
{
    uint64_t reset_seq;
    struct js_error e;

    TEST_ASSERT_EQUAL_INT(0, consumer_reset(c, seq, &reset_seq, &e));
}

static void gone(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    (void)c;
    TEST_ASSERT_NULL(e);
    op->wait.done = NULL;
}

static char refusal[sizeof((struct js_error *)0)->text];
static void updated(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    (void)op, (void)c;
    (void)snprintf(refusal, sizeof refusal, "%s", e == NULL ? "" : e->text);
}

static void back_off(struct consumer *c, int64_t first_s)
{
    int64_t at[] = {first_s * CLOCK_S, 1000 * CLOCK_S};
    struct consumer_config next = pull();
    static struct consumer_op ops[16]; /* some wait for the disk */
    static unsigned used;
    struct consumer_op *op = &ops[used++ % MF_COUNT(ops)];

    next.max_ack_pending = -1;
    next.max_deliver = 5;
    next.ack_wait_ns = at[0];
    *op = (struct consumer_op){.done = updated};
    next.backoff.at = at;
    next.backoff.n = 2;
    consumer_update(c, &next, op);
}

static size_t unmoved(const struct consumer *c)
{
    size_t n = 0;

    for (const struct pending_move *m = c->wait.moves; m != NULL; m = m->next)
        n += m->n;
    return n;
}

static int64_t sent_ns[6001]; /* by sequence: a deadline less the time to wait */

static void note_sent(const struct consumer *c)
{
    for (size_t i = 0; i < c->wait.heaped; i++) {
        const struct pend *e = c->wait.heap[i];
        sent_ns[e->sseq] = e->deadline_ns + c->wait.shift_ns - ack_wait_of(c, e);
    }
}

/* The heap is one, and every deadline is that of the backoff. */
static void assert_deadlines(const struct consumer *c, int64_t wait_s)
{
    const struct pending *p = &c->wait;

    for (size_t i = 0; i < p->heaped; i++) {
        const struct pend *e = p->heap[i];
        TEST_ASSERT_EQUAL_UINT(i + 1, e->heap);
        TEST_ASSERT_EQUAL_INT64(sent_ns[e->sseq] + wait_s * CLOCK_S, e->deadline_ns + p->shift_ns);
        TEST_ASSERT_LESS_OR_EQUAL_INT64(e->deadline_ns,
                                        p->heap[i == 0 ? 0 : (i - 1) / 2]->deadline_ns);
    }
}

static void test_another_backoff_of_very_many_is_in_slices(void)
{
    size_t left, turns = 0;

    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 6000);
    note_sent(c);
    work_set_steps(w.loop, 1);
    back_off(c, 50);
    TEST_ASSERT_EQUAL_size_t(6000, unmoved(c));
    loop_turn(w.loop);
    TEST_ASSERT_GREATER_THAN_size_t(5000, unmoved(c));
    while (c->wait.heaped <= 1100)
        loop_turn(w.loop);
    ack_settled(c, pending_find(&c->wait, 1)); /* one of those and one that was moved */
    ack_settled(c, c->wait.heap[0]);
    back_off(c, 70); /* and once more, in the middle */
    TEST_ASSERT_EQUAL_UINT(2, c->wait.nmoves);
    TEST_ASSERT_EQUAL_size_t(5998, unmoved(c));
    TEST_ASSERT_NULL(pending_due(&c->wait, NEVER - 1)); /* by no deadline of before */
    while ((left = unmoved(c)) > 0) {
        loop_turn(w.loop);
        TEST_ASSERT_LESS_THAN_size_t(1000, left - unmoved(c));
        turns++;
    }
    work_set_steps(w.loop, 0);
    TEST_ASSERT_GREATER_THAN_size_t(8, turns);
    TEST_ASSERT_NULL(c->wait.moves);
    TEST_ASSERT_EQUAL_size_t(5998, c->wait.heaped);
    assert_deadlines(c, 70);
    TEST_ASSERT_EQUAL_INT64(sent_ns[6000] + 70 * CLOCK_S, pending_latest(&c->wait));
}

static void test_changes_of_a_backoff_that_are_under_way_are_bounded(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 20000);
    work_set_steps(w.loop, 1);
    for (int i = 0; i < PENDING_MOVES; i++) {
        back_off(c, 50 + i);
        TEST_ASSERT_EQUAL_STRING("", refusal);
        while (c->wait.heaped < 1000 + 600 * (size_t)(PENDING_MOVES - i)) /* some are left */
            loop_turn(w.loop);
    }
    back_off(c, 99);
    TEST_ASSERT_EQUAL_STRING("error creating store for consumer: not ready, try again later",
                             refusal);
    TEST_ASSERT_EQUAL_INT64(50 + PENDING_MOVES - 1, c->cfg.backoff.at[0] / CLOCK_S);
    reset_to(c, 1); /* those under way end with what they are about */
    TEST_ASSERT_NULL(c->wait.moves);
    work_set_steps(w.loop, 0);
    world_turns(&w);
}

static void test_a_consumer_goes_while_its_backoff_changes(void)
{
    struct consumer_op op = {.done = gone};

    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 3000);
    work_set_steps(w.loop, 1);
    back_off(c, 50);
    loop_turn(w.loop);
    TEST_ASSERT_NOT_NULL(c->wait.moves);
    consumer_delete(c, &op);
    work_set_steps(w.loop, 0);
    world_turns(&w);
    TEST_ASSERT_NULL(consumers_find(g, MF_LIT("D")));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_another_backoff_of_very_many_is_in_slices);
    RUN_TEST(test_changes_of_a_backoff_that_are_under_way_are_bounded);
    RUN_TEST(test_a_consumer_goes_while_its_backoff_changes);
    return UNITY_END();
}
