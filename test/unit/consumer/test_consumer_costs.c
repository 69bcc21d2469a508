/* test_consumer_costs.c: what acks and ends of consumers cost: lookups and walks are counted.
 * (Linked with --wrap for both.) */
#include "support/consumer_world.h"

static size_t lookups;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
struct pend *__real_pending_find(const struct pending *p, uint64_t sseq);
struct pend *__wrap_pending_find(const struct pending *p, uint64_t sseq);
struct pend *__wrap_pending_find(const struct pending *p, uint64_t sseq)
{
    lookups++;
    return __real_pending_find(p, sseq);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static size_t blob_walks;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
typedef void visit_blob(void *arg, struct mf_slice name, struct mf_slice bytes);
void __real_stream_blob_each(struct stream *s, visit_blob *visit, void *arg);
void __wrap_stream_blob_each(struct stream *s, visit_blob *visit, void *arg);
void __wrap_stream_blob_each(struct stream *s, visit_blob *visit, void *arg)
{
    blob_walks++;
    __real_stream_blob_each(s, visit, arg);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static size_t removals;
static size_t slices;                          /* of what was discarded */
static bool (*give_back)(struct work_task *t); /* its task's run(); NULL: it is done */
static bool held;                              /* nothing is given back meanwhile */

static bool count_slice(struct work_task *t)
{
    slices++;
    if (held || give_back(t))
        return true;
    give_back = NULL;
    return false;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
void __real_pending_remove(struct pending *p, struct pend *e);
void __wrap_pending_remove(struct pending *p, struct pend *e);
void __wrap_pending_remove(struct pending *p, struct pend *e)
{
    removals++;
    __real_pending_remove(p, e);
}
static size_t moves; /* of deadlines */
int __real_pending_await(struct pending *p, struct pend *e, int64_t deadline_ns);
int __wrap_pending_await(struct pending *p, struct pend *e, int64_t deadline_ns);
int __wrap_pending_await(struct pending *p, struct pend *e, int64_t deadline_ns)
{
    moves++;
    return __real_pending_await(p, e, deadline_ns);
}
typedef int64_t until_fn(const void *arg, const struct pend *e, int64_t deadline_ns);
void __real_pending_move_all(struct pending *p, until_fn *until, const void *arg);
void __wrap_pending_move_all(struct pending *p, until_fn *until, const void *arg);
void __wrap_pending_move_all(struct pending *p, until_fn *until, const void *arg)
{
    moves += p->count;
    __real_pending_move_all(p, until, arg);
}
void __real_work_discard(struct loop *l, struct work_task *t);
void __wrap_work_discard(struct loop *l, struct work_task *t);
void __wrap_work_discard(struct loop *l, struct work_task *t)
{
    TEST_ASSERT_NULL(give_back);
    give_back = t->run;
    t->run = count_slice;
    __real_work_discard(l, t);
}
void __real_loop_work_finish(struct loop *l);
void __wrap_loop_work_finish(struct loop *l);
void __wrap_loop_work_finish(struct loop *l)
{
    held = false;
    __real_loop_work_finish(l);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

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
    removals = slices = 0;
    return c;
}

/* The memory of n entries is given back in slices, and none was taken out one by one. */
static void assert_discarded(size_t n)
{
    TEST_ASSERT_EQUAL_size_t(0, removals);
    TEST_ASSERT_TRUE(give_back != NULL);
    work_set_steps(w.loop, 100);
    while (give_back != NULL)
        loop_turn(w.loop);
    work_set_steps(w.loop, 0);
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(n / 100, slices);
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

static void count_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    (void)bytes;
    *(size_t *)arg += name.ptr[0] == 'c';
}

static size_t blobs(void)
{
    size_t n = 0;

    stream_blob_each(w.stream, count_blob, &n);
    return n;
}

static void await_blobs(size_t n)
{
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    while (blobs() > n && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_size_t(n, blobs());
}

/* Pages of messages that wait for acks are stored some milliseconds after their delivery. */
static void await_more_blobs_than(size_t n)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (blobs() <= n && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_GREATER_THAN_size_t(n, blobs());
}

/* Reset, deleted, or their messages purged: what waits for acks goes as a whole. */
static void test_very_many_that_wait_are_given_back_in_slices(void)
{
    struct consumer_op op = {.done = gone};
    uint64_t purged;

    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 3000);
    await_more_blobs_than(2);
    work_set_steps(w.loop, 1);
    reset_to(c, 1);
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
    assert_discarded(3000);
    await_blobs(2); /* some milliseconds later no page is left of what waited */
    ask(c, "3000");
    for (int i = 0; i < 100 && info(c).ack_pending < 3000; i++)
        world_turns(&w);
    removals = slices = 0;
    work_set_steps(w.loop, 1);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
    TEST_ASSERT_EQUAL_UINT64(3000, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(3000, info(c).floor_cseq);
    assert_discarded(3000);
    c = awaiting("E", pull(), 3000);
    work_set_steps(w.loop, 1);
    consumer_delete(c, &op);
    loop_turn(w.loop);
    assert_discarded(3000);
    world_turns(&w);
    TEST_ASSERT_NULL(op.wait.done);
    await_blobs(2); /* of D */
}

/* The same wait for all: its update touches none of them, and they come again by the new one. */
static void test_another_ack_wait_is_one_step(void)
{
    struct consumer_config next = pull();
    struct consumer_op op = {.done = created};

    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 1000);
    int64_t before = pending_next(&c->wait);
    moves = 0;
    next.max_ack_pending = -1;
    next.ack_wait_ns = c->cfg.ack_wait_ns + 7 * CLOCK_S;
    consumer_update(c, &next, &op);
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(0, moves);
    TEST_ASSERT_EQUAL_INT64(before + 7 * CLOCK_S, pending_next(&c->wait));
    TEST_ASSERT_NULL(pending_due(&c->wait, before + 7 * CLOCK_S - 1));
    TEST_ASSERT_NOT_NULL(pending_due(&c->wait, before + 7 * CLOCK_S));
}

/* The server ends before all is given back. */
static void test_what_is_given_back_ends_with_the_loop(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = awaiting("D", pull(), 3000);
    work_set_steps(w.loop, 1);
    reset_to(c, 1);
    TEST_ASSERT_TRUE(give_back != NULL);
    held = true; /* as if there were more than all turns until the end can give back */
    consumers_close(g, true);
    g = NULL;
    world_fini(&w); /* and its loop, which ends with loop_work_finish() */
    TEST_ASSERT_TRUE(give_back == NULL);
    world_init(&w);
}

static void confirm(struct consumer *c, const char *tokens)
{
    TEST_ASSERT_TRUE(consumer_ack(c, mf_str(tokens), MF_LIT("done"), MF_LIT("+ACK")));
    world_turns(&w);
}

/* A page has room for 1,024 messages; three wait. */
static void test_confirmed_ack_looks_only_at_what_waits(void)
{
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 3; i++)
        put("k.a", "x");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in done ");
    ask(c, "3");
    heard();
    lookups = 0;
    confirm(c, "1.2.2.0.0");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "done<done "));
    TEST_ASSERT_LESS_THAN_size_t(8, lookups);
    consumers_close(g, true);
    g = NULL;
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending); /* the first and the third are in the page */
    TEST_ASSERT_NOT_NULL(pending_find(&c->wait, 1));
    TEST_ASSERT_NOT_NULL(pending_find(&c->wait, 3));
}

/* More wait than a page holds, over three pages: the one that changed is written, with all of it.
 */
static void test_page_is_whole_however_many_wait(void)
{
    struct consumer_config cfg = pull();

    cfg.max_ack_pending = -1;
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 2500; i++)
        (void)world_publish(&w, "k.a", NULL, "");
    world_turns(&w);
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in done ");
    ask(c, "2500");
    for (int n = 0; n < 100 && info(c).ack_pending < 2500; n++)
        world_turns(&w);
    confirm(c, "1.1500.1500.0.0");
    consumers_close(g, true);
    g = NULL;
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_EQUAL_UINT64(2499, info(c).ack_pending);
    for (uint64_t seq = 1; seq <= 2500; seq++)
        TEST_ASSERT_EQUAL(seq != 1500, pending_find(&c->wait, seq) != NULL);
}

/* An ack of very many messages is taken in slices; it is confirmed behind the last one, and nothing
 * of it comes again after a crash. */
static void test_ack_of_very_many_is_taken_in_slices(void)
{
    struct consumer_config cfg = pull();
    size_t turns = 0, most = 0;

    cfg.ack_policy = ACK_ALL;
    cfg.max_ack_pending = -1;
    world_open(&w, &plain);
    work_set_steps(w.loop, 1); /* one slice in each turn */
    consumers_up();
    for (int i = 0; i < 6000; i++)
        (void)world_publish(&w, "k.a", NULL, "");
    world_turns(&w);
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in done ");
    ask(c, "5500");
    for (int n = 0; n < 100 && c->wait.count < 5500; n++)
        world_turns(&w);
    heard();
    work_set_steps(w.loop, 100); /* one slice in a turn */
    TEST_ASSERT_TRUE(consumer_ack(c, MF_LIT("1.5000.5000.0.0"), MF_LIT("done"), MF_LIT("+ACK")));
    TEST_ASSERT_FALSE(consumer_counted(c));
    consumer_pull(c, MF_LIT("in"), MF_LIT("1"), MF_SLICE_NONE);
    for (size_t before; c->wait.count > 500 && turns < 100; turns++) {
        TEST_ASSERT_EQUAL_size_t(0, log_.len); /* neither a message nor the confirmation */
        before = c->wait.count;
        loop_turn(w.loop);
        most = before - c->wait.count > most ? before - c->wait.count : most;
    }
    TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * 1000, most); /* a slice before the events, one after */
    TEST_ASSERT_GREATER_THAN_size_t(2, turns);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(5000, info(c).floor_sseq);
    const char *text = heard();
    TEST_ASSERT_NOT_NULL(strstr(text, "done<done "));
    TEST_ASSERT_EQUAL_size_t(1, count(text, "in<k.a "));
    consumers_close(g, true);
    g = NULL;
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_NULL(pending_find(&c->wait, 4999));
    TEST_ASSERT_NOT_NULL(pending_find(&c->wait, 5001));
}

/* One with pages that wait, pages that are written empty, and pages that changed since. */
static void test_deleted_consumer_leaves_nothing_and_looks_at_no_other(void)
{
    struct consumer_config cfg = pull();
    struct consumer_op op = {.done = gone};

    cfg.max_ack_pending = -1;
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 2500; i++)
        (void)world_publish(&w, "k.a", NULL, "");
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(0, blobs());
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in done ");
    ask(c, "2500");
    for (int n = 0; n < 100 && info(c).ack_pending < 2500; n++)
        world_turns(&w);
    confirm(c, "1.1500.1500.0.0");
    TEST_ASSERT_EQUAL_size_t(5, blobs());
    for (int i = 2048; i <= 2500; i++) { /* all of the last page */
        char tokens[64];
        snprintf(tokens, sizeof tokens, "1.%d.%d.0.0", i, i);
        TEST_ASSERT_TRUE(consumer_ack(c, mf_str(tokens), MF_SLICE_NONE, MF_LIT("")));
    }
    blob_walks = 0;
    op.wait.node.next = NULL;
    consumer_delete(c, &op);
    world_turns(&w);
    TEST_ASSERT_NULL(op.wait.done);
    TEST_ASSERT_EQUAL_size_t(0, blob_walks);
    TEST_ASSERT_EQUAL_size_t(0, blobs());
}

static struct stream_config interest_stream(void)
{
    struct stream_config s = plain;

    s.retention = RETENTION_INTEREST;
    return s;
}

static struct consumer_config only(char *subject)
{
    struct consumer_config cfg = pull();

    cfg.filter_subject = subject;
    cfg.mem_storage = true;
    return cfg;
}

static void test_ack_asks_those_who_want_the_subject(void)
{
    struct stream_config s = interest_stream();
    struct consumer *c[100];

    world_open(&w, &s);
    consumers_up();
    for (int i = 0; i < 100; i++) {
        char name[16], filter[16];
        snprintf(name, sizeof name, "D%d", i);
        snprintf(filter, sizeof filter, "k.%d", i / 2);
        c[i] = add(name, only(filter));
    }
    put("k.7", "x"); /* wanted by 14 and 15 */
    snprintf(here, sizeof here, " in ");
    ask(c[14], "1");
    ask(c[15], "1");
    lookups = 0;
    TEST_ASSERT_TRUE(ack(c[14], "1.1.1.0.0", ""));
    TEST_ASSERT_TRUE(stream_present(w.stream, 1));
    TEST_ASSERT_TRUE(ack(c[15], "1.1.1.0.0", ""));
    TEST_ASSERT_FALSE(stream_present(w.stream, 1));
    TEST_ASSERT_LESS_THAN_size_t(20, lookups);
}

/* What was delivered under another filter is still needed. */
static void test_ack_asks_those_who_wanted_the_subject_before(void)
{
    struct stream_config s = interest_stream();
    struct consumer_config cfg = pull();

    world_open(&w, &s);
    consumers_up();
    struct consumer *a = add("A", only((char *)"k.a")), *d = add("D", pull());
    put("k.a", "x");
    snprintf(here, sizeof here, " in ");
    ask(a, "1");
    ask(d, "1");
    cfg.filter_subject = (char *)"k.b";
    struct consumer_op op = {.done = created};
    op.wait.node.next = NULL;
    consumer_update(d, &cfg, &op);
    world_turns(&w);
    TEST_ASSERT_NULL(op.wait.done);
    TEST_ASSERT_TRUE(ack(a, "1.1.1.0.0", ""));
    TEST_ASSERT_TRUE(stream_present(w.stream, 1));
    TEST_ASSERT_TRUE(ack(d, "1.1.1.0.0", ""));
    TEST_ASSERT_FALSE(stream_present(w.stream, 1));
}

static void answered(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    created(op, c, e);
    TEST_ASSERT_FALSE(stream_present(w.stream, 1));
    TEST_ASSERT_TRUE(stream_present(w.stream, 2));
}

/* What the new filter does not want is gone when the answer comes: both are one batch on disk. */
static void test_update_takes_what_nobody_wants_before_it_answers(void)
{
    struct stream_config s = interest_stream();
    struct consumer_config cfg = pull();

    world_open(&w, &s);
    consumers_up();
    struct consumer *c = add("D", pull());
    put("k.a", "x");
    put("k.b", "x");
    struct consumer_op op = {.done = answered};
    op.wait.node.next = NULL;
    cfg.filter_subject = (char *)"k.b";
    consumer_update(c, &cfg, &op);
    world_turns(&w);
    TEST_ASSERT_NULL(op.wait.done);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_very_many_that_wait_are_given_back_in_slices);
    RUN_TEST(test_another_ack_wait_is_one_step);
    RUN_TEST(test_what_is_given_back_ends_with_the_loop);
    RUN_TEST(test_confirmed_ack_looks_only_at_what_waits);
    RUN_TEST(test_page_is_whole_however_many_wait);
    RUN_TEST(test_ack_of_very_many_is_taken_in_slices);
    RUN_TEST(test_deleted_consumer_leaves_nothing_and_looks_at_no_other);
    RUN_TEST(test_ack_asks_those_who_want_the_subject);
    RUN_TEST(test_ack_asks_those_who_wanted_the_subject_before);
    RUN_TEST(test_update_takes_what_nobody_wants_before_it_answers);
    return UNITY_END();
}
