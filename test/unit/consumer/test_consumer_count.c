/* test_consumer_count.c: what it costs to make consumers of a large stream, to count what they want
 * and to start their deliveries: steps are counted.  (Linked with --wrap for them.) */
#include "support/consumer_world.h"

#define MANY 20000u /* more keys than a cursor collects, more messages than are counted at once */
#define FEW  1000u

static size_t steps;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
struct index;
struct keys;
struct keys_walk;
struct keys_sum;
uint32_t __real_index_next(const struct index *ix, uint64_t from);
uint32_t __wrap_index_next(const struct index *ix, uint64_t from);
uint32_t __wrap_index_next(const struct index *ix, uint64_t from)
{
    steps++;
    return __real_index_next(ix, from);
}
uint32_t __real_index_older(const struct index *ix, uint32_t id);
uint32_t __wrap_index_older(const struct index *ix, uint32_t id);
uint32_t __wrap_index_older(const struct index *ix, uint32_t id)
{
    steps++;
    return __real_index_older(ix, id);
}
uint32_t __real_keys_walk_next(struct keys_walk *walk);
uint32_t __wrap_keys_walk_next(struct keys_walk *walk);
uint32_t __wrap_keys_walk_next(struct keys_walk *walk)
{
    steps++;
    return __real_keys_walk_next(walk);
}
uint32_t __real_keys_walk_sum(struct keys_walk *walk, struct keys_sum *sum, size_t *budget);
uint32_t __wrap_keys_walk_sum(struct keys_walk *walk, struct keys_sum *sum, size_t *budget);
uint32_t __wrap_keys_walk_sum(struct keys_walk *walk, struct keys_sum *sum, size_t *budget)
{
    size_t before = *budget;
    uint32_t id = __real_keys_walk_sum(walk, sum, budget);

    steps += 1 + (before > *budget ? before - *budget : 0);
    return id;
}
bool __real_keys_matches(const struct keys *k, uint32_t id, struct mf_slice pattern);
bool __wrap_keys_matches(const struct keys *k, uint32_t id, struct mf_slice pattern);
bool __wrap_keys_matches(const struct keys *k, uint32_t id, struct mf_slice pattern)
{
    steps++;
    return __real_keys_matches(k, id, pattern);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* `n` messages, to k.g0.i and k.g1.i by turns, i from `first` on. */
static void fill(unsigned n, unsigned first)
{
    static struct world_ack ack[1000];

    for (unsigned i = 0; i < n;) {
        unsigned k = 0;
        for (; k < MF_COUNT(ack) && i < n; k++, i++) {
            char subject[32];
            snprintf(subject, sizeof subject, "k.g%u.%u", i % 2, first + i);
            world_send(&w, subject, "reply", NULL, "x", &ack[k]);
        }
        world_turns(&w);
        while (k-- > 0)
            TEST_ASSERT_TRUE(ack[k].done && ack[k].text[0] == '\0');
    }
}

static void open_with(unsigned keys, unsigned history)
{
    struct stream_config sc = plain;

    sc.max_msgs_per_subject = history;
    world_open(&w, &sc);
    consumers_up();
    for (unsigned i = 0; i < history; i++)
        fill(keys, 0);
    work_set_steps(w.loop, 4); /* a short slice in a turn */
}

static struct consumer_config watcher(int policy, const char *filter)
{
    struct consumer_config cfg = pull();

    cfg.deliver_policy = policy;
    cfg.filter_subject = (char *)filter;
    cfg.ack_policy = ACK_NONE;
    cfg.mem_storage = true;
    return cfg;
}

static void close_all(void)
{
    consumers_close(g, true);
    g = NULL;
    tearDown();
    setUp();
}

/* --- made ------------------------------------------------------------------------------------- */

struct case_ {
    int policy;
    const char *filter;
    unsigned half; /* starts in the middle */
    unsigned history;
    double share; /* of the keys, that are pending then */
};

/* In the call: nothing of it is left to later turns. */
static size_t cost_of(const struct case_ *t, unsigned keys)
{
    struct consumer_config cfg = watcher(t->policy, t->filter);
    struct consumer_op op = {.done = created};

    open_with(keys, t->history);
    if (t->half)
        cfg.opt_start_seq = (uint64_t)keys * t->history / 2 + 1;
    op.wait.node.next = NULL;
    steps = 0;
    consumer_create(g, &cfg, MF_LIT("W"), &op);
    size_t cost = steps;
    TEST_ASSERT_NULL_MESSAGE(op.wait.done, t->filter);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)(t->share * keys), info(op.consumer).pending);
    close_all();
    return cost;
}

/* A watcher of a bucket with many keys costs as much as one with few: steps over blocks and
 * prefixes, never over keys or messages. */
static void test_creating_costs_the_same_however_many_keys_match(void)
{
    static const struct case_ cases[] = {
        {DELIVER_ALL, "k.>", 0, 1, 1},
        {DELIVER_ALL, ">", 0, 1, 1},
        {DELIVER_ALL, "*.*.*", 0, 1, 1},
        {DELIVER_ALL, "k.g1.>", 0, 1, 0.5},
        {DELIVER_ALL, "k.g1.*", 0, 1, 0.5},
        {DELIVER_ALL, "k.*.*", 0, 1, 1},
        {DELIVER_NEW, "k.g1.>", 0, 1, 0},
        {DELIVER_LAST, "k.g1.>", 0, 1, 1.0 / MANY},
        {DELIVER_LAST_PER_SUBJECT, "k.>", 0, 1, 1},
        {DELIVER_LAST_PER_SUBJECT, "k.g1.>", 0, 1, 0.5},
        {DELIVER_BY_SEQUENCE, "k.>", 1, 1, 0.5},
        {DELIVER_ALL, "k.>", 0, 3, 3},
        {DELIVER_ALL, "k.g1.>", 0, 3, 1.5},
        {DELIVER_BY_SEQUENCE, "k.>", 1, 3, 1.5},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        struct case_ t = cases[i];
        size_t many = cost_of(&t, MANY);
        t.share = t.policy == DELIVER_LAST ? 1.0 / FEW : t.share;
        size_t few = cost_of(&t, FEW);
        char text[96];
        snprintf(text, sizeof text, "%s, policy %d, history %u: %zu steps, with fewer keys %zu",
                 t.filter, t.policy, t.history, many, few);
        TEST_ASSERT_LESS_THAN_size_t_MESSAGE(64, many, text);
        TEST_ASSERT_LESS_THAN_size_t_MESSAGE(few + 8, many, text);
    }
}

/* With older messages in front the list's first message is looked for in some thousand steps. */
static void test_last_per_subject_does_not_list_all_subjects(void)
{
    struct case_ t = {DELIVER_LAST_PER_SUBJECT, "k.>", 0, 3, 1};

    TEST_ASSERT_LESS_THAN_size_t(40000, cost_of(&t, MANY)); /* of 60,000 messages */
    t.filter = "k.g1.>";
    t.share = 0.5;
    TEST_ASSERT_LESS_THAN_size_t(70000, cost_of(&t, MANY));
}

static void test_a_thousand_watchers_cost_a_thousand_times_one(void)
{
    open_with(MANY, 1);
    steps = 0;
    for (int i = 0; i < 1000; i++) {
        struct consumer_config cfg = watcher(DELIVER_LAST_PER_SUBJECT, "k.>");
        struct consumer_op op = {.done = created};
        char name[16];
        op.wait.node.next = NULL;
        snprintf(name, sizeof name, "W%d", i);
        consumer_create(g, &cfg, mf_str(name), &op);
        TEST_ASSERT_NULL(op.wait.done);
        TEST_ASSERT_EQUAL_UINT64(MANY, op.consumer->todo.pending);
    }
    TEST_ASSERT_LESS_THAN_size_t(64000, steps);
    steps = 0;
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, NULL)); /* everybody counts again */
    TEST_ASSERT_LESS_THAN_size_t(64000, steps);
    TEST_ASSERT_EQUAL_UINT64(0, info(g->at[77]).pending);
}

/* --- delivered -------------------------------------------------------------------------------- */

static size_t sent_lines(void)
{
    size_t n = 0;

    for (size_t i = 0; i < log_.len; i++)
        n += log_.ptr[i] == '\n';
    mf_buf_clear(&log_);
    return n;
}

/* Many consumers with a long backlog: a turn delivers a bounded number of messages, and all get
 * theirs. */
static void test_turn_delivers_a_bounded_number_however_many_wait(void)
{
    size_t most = 0, all = 0;

    open_with(MANY / 4, 1);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "W%d", i);
        (void)add(name, watcher(DELIVER_ALL, i % 2 ? "k.>" : "k.g1.>"));
    }
    snprintf(here, sizeof here, " in ");
    for (int i = 0; i < 50; i++)
        consumer_pull(g->at[i], MF_LIT("in"), MF_LIT("1000"), MF_SLICE_NONE);
    (void)sent_lines(); /* each got some in the call */
    for (int turn = 0; turn < 200; turn++) {
        loop_turn(w.loop);
        size_t n = sent_lines();
        most = n > most ? n : most;
        all += n;
    }
    TEST_ASSERT_GREATER_THAN_size_t(50 * 900, all);
    TEST_ASSERT_LESS_THAN_size_t(4000, most);
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_UINT64(1000, info(g->at[i]).delivered_cseq);
}

/* What is walked over for nothing counts too: here all messages but the last of each subject.  And
 * one walk over them is enough for all. */
static void test_turn_walks_a_bounded_number_however_many_wait(void)
{
    size_t most = 0, all = 0;

    open_with(MANY / 4, 3);
    work_set_steps(w.loop, 1); /* one slice in each turn */
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "W%d", i);
        (void)add(name, watcher(DELIVER_LAST_PER_SUBJECT, "k.>"));
    }
    snprintf(here, sizeof here, " in ");
    for (int i = 0; i < 50; i++)
        consumer_pull(g->at[i], MF_LIT("in"), MF_LIT("100"), MF_SLICE_NONE);
    for (int turn = 0; turn < 100; turn++) {
        steps = 0;
        loop_turn(w.loop);
        most = steps > most ? steps : most;
        all += steps;
    }
    TEST_ASSERT_LESS_THAN_size_t(40000, most);
    TEST_ASSERT_LESS_THAN_size_t(100000, all); /* 10,000 are passed over, 5,000 delivered */
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_UINT64(100, info(g->at[i]).delivered_cseq);
}

/* --- counted in slices ------------------------------------------------------------------------ */

static void later(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    created(op, c, e);
}

/* Neither side of the start is short, and the filter matches a half: messages are counted one by
 * one, some in each turn; the answer comes when the number is known. */
static void test_count_that_takes_long_goes_on_in_slices(void)
{
    struct consumer_config cfg = watcher(DELIVER_BY_SEQUENCE, "k.g1.>");
    struct consumer_op op = {.done = later};
    size_t most = 0, turns = 0;

    open_with(MANY, 1);
    work_set_steps(w.loop, 1); /* one slice in each turn */
    cfg.opt_start_seq = MANY / 2 + 1;
    op.wait.node.next = NULL;
    steps = 0;
    consumer_create(g, &cfg, MF_LIT("W"), &op);
    TEST_ASSERT_EQUAL_PTR(later, op.done);
    struct consumer *c = g->at[0];
    snprintf(here, sizeof here, " in ");
    consumer_pull(c, MF_LIT("in"), MF_LIT("{\"batch\":1,\"no_wait\":true}"), MF_SLICE_NONE);
    TEST_ASSERT_FALSE(consumer_counted(c));
    for (; op.wait.done == NULL && !consumer_counted(c) && turns < 100; turns++) {
        TEST_ASSERT_EQUAL_size_t(0, sent_lines());
        steps = 0;
        loop_turn(w.loop);
        most = steps > most ? steps : most;
    }
    TEST_ASSERT_GREATER_THAN_size_t(1, turns);
    TEST_ASSERT_LESS_THAN_size_t(20000, most);
    world_turns(&w);
    TEST_ASSERT_EQUAL_PTR(c, op.consumer);
    TEST_ASSERT_EQUAL_size_t(1, count(heard(), "in<k.g1."));
    TEST_ASSERT_EQUAL_UINT64(MANY / 4 - 1, info(c).pending);
}

/* By asking of every message. */
static uint64_t pending_by_hand(struct consumer *c)
{
    uint64_t n = 0;

    for (uint64_t seq = 1; seq <= g->told; seq++) {
        struct mf_slice subject = stream_subject_at(w.stream, seq);
        n += subject.len > 0 && filters_want(c, subject) &&
             (seq >= c->todo.next || backlog_lists(c, seq));
    }
    return n;
}

/* As much is delivered as was pending, and no more: what the walk shows is what was counted. */
static void take_some(struct consumer *c, const char *batch)
{
    for (int turn = 0; !consumer_counted(c) && turn < 100; turn++) /* a purge has it counted anew */
        loop_turn(w.loop);
    uint64_t before = pending_by_hand(c);
    TEST_ASSERT_EQUAL_UINT64(before, c->todo.pending);
    (void)sent_lines();
    ask(c, batch);
    TEST_ASSERT_EQUAL_UINT64(before, pending_by_hand(c) + sent_lines());
    TEST_ASSERT_EQUAL_UINT64(pending_by_hand(c), c->todo.pending);
}

static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/* Messages come and are removed on both sides of what is counted, the list included. */
static void changes(void)
{
    char subject[32];

    for (unsigned i = 0; i < 40; i++)
        (void)world_remove(&w, 1 + dice(MANY));
    for (unsigned i = 0; i < 10; i++) {
        unsigned key = dice(MANY / 2);
        snprintf(subject, sizeof subject, "k.g%u.%u", key % 2, key);
        (void)world_publish(&w, subject, NULL, "x");
    }
    if (dice(4) == 0)
        TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 100 + dice(400), 0, NULL));
}

static void test_count_in_slices_is_exact_whatever_happens_meanwhile(void)
{
    static const char *const filter[] = {"k.g1.>", "*.g1.*", "k.g0.>"};

    for (seed = 1; seed <= 6; seed++) {
        uint64_t start = seed;
        bool list = start % 2 == 0;
        struct consumer_config cfg =
            watcher(list ? DELIVER_LAST_PER_SUBJECT : DELIVER_BY_SEQUENCE, filter[start % 3]);
        struct consumer_op op = {.done = created};
        open_with(MANY / 2, 2);
        cfg.opt_start_seq = list ? 0 : MANY / 2 + dice(1000);
        op.wait.node.next = NULL;
        consumer_create(g, &cfg, MF_LIT("W"), &op);
        struct consumer *c = g->at[0];
        snprintf(here, sizeof here, " in ");
        if (list) { /* in the middle of its list it is counted anew */
            ask(c, "100");
            c->list.at += MANY / 8;
            backlog_drop(c);
            consumer_recount(c);
        }
        TEST_ASSERT_FALSE(consumer_counted(c));
        for (int turn = 0; !consumer_counted(c) && turn < 100; turn++)
            changes();
        world_turns(&w);
        TEST_ASSERT_TRUE(consumer_counted(c));
        TEST_ASSERT_EQUAL_UINT64(pending_by_hand(c), c->todo.pending);
        for (int i = 0; i < 20; i++) {
            changes();
            take_some(c, "300");
        }
        close_all();
        seed = start;
    }
}

#define SPARSE 300u

static uint64_t fill_sparse(void)
{
    char subject[32];

    for (unsigned i = 0; i < 3 * SPARSE; i++) {
        snprintf(subject, sizeof subject, "k.s.%u", dice(SPARSE));
        (void)world_publish(&w, subject, NULL, "x");
    }
    return stream_next(w.stream, 0);
}

/* A list of few subjects among many messages: its cursor collects them.  Messages of the list are
 * removed before their turn: nothing comes for their subjects. */
static void test_list_of_few_subjects_loses_what_is_removed(void)
{
    struct stream_config sc = plain;

    for (seed = 1; seed <= 5; seed++) {
        uint64_t start = seed;
        world_open(&w, &sc);
        consumers_up();
        fill(MANY / 2, 0);
        uint64_t last = fill_sparse() + MANY / 2 + 3 * SPARSE - 1;
        fill(FEW, MANY);
        struct consumer *c =
            add("W", watcher(DELIVER_LAST_PER_SUBJECT, start % 2 ? "k.s.*" : "*.s.>"));
        snprintf(here, sizeof here, " in ");
        for (int i = 0; i < 60; i++) {
            for (unsigned n = dice(20); n > 0; n--)
                (void)world_remove(&w, last - dice(3 * SPARSE));
            if (dice(3) == 0)
                (void)world_publish(&w, "k.s.1", NULL, "x");
            take_some(c, dice(2) ? "1" : "9");
        }
        take_some(c, "10000");
        TEST_ASSERT_EQUAL_UINT64(0, c->todo.pending);
        close_all();
        seed = start;
    }
}

/* As in nats-server: the list is the one of the beginning. */
static void test_removed_message_of_a_list_is_not_replaced_by_an_older_one(void)
{
    world_open(&w, &plain);
    consumers_up();
    for (const char *k = "abaca"; *k != '\0'; k++)
        put((char[]){'k', '.', *k, '\0'}, "x");
    struct consumer *c = add("W", watcher(DELIVER_LAST_PER_SUBJECT, "k.>"));
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending); /* 2, 4, 5 */
    TEST_ASSERT_EQUAL_UINT64(1, info(c).delivered_sseq);
    (void)world_remove(&w, 5);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    (void)world_remove(&w, 3); /* was never of the list */
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    snprintf(here, sizeof here, " in ");
    ask(c, "9");
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(2, count(t, "in<"));
    TEST_ASSERT_EQUAL_size_t(0, count(t, "in<k.a"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

static void failed(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    TEST_ASSERT_NULL(c);
    TEST_ASSERT_NOT_NULL(e);
    op->wait.done = NULL;
    op->consumer = NULL;
}

static void test_deleted_while_it_is_counted_answers(void)
{
    struct consumer_config cfg = watcher(DELIVER_BY_SEQUENCE, "k.g1.>");
    struct consumer_op op = {.done = failed}, other = {.done = failed};

    open_with(MANY, 1);
    cfg.opt_start_seq = MANY / 2 + 1;
    consumer_create(g, &cfg, MF_LIT("W"), &op);
    TEST_ASSERT_FALSE(consumer_settled(g->at[0], &other));
    TEST_ASSERT_NOT_NULL(op.consumer);
    consumer_delete(g->at[0], NULL);
    TEST_ASSERT_NULL(op.consumer);
    TEST_ASSERT_NULL(other.consumer);
    world_turns(&w);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_creating_costs_the_same_however_many_keys_match);
    RUN_TEST(test_last_per_subject_does_not_list_all_subjects);
    RUN_TEST(test_a_thousand_watchers_cost_a_thousand_times_one);
    RUN_TEST(test_turn_delivers_a_bounded_number_however_many_wait);
    RUN_TEST(test_turn_walks_a_bounded_number_however_many_wait);
    RUN_TEST(test_count_that_takes_long_goes_on_in_slices);
    RUN_TEST(test_count_in_slices_is_exact_whatever_happens_meanwhile);
    RUN_TEST(test_list_of_few_subjects_loses_what_is_removed);
    RUN_TEST(test_removed_message_of_a_list_is_not_replaced_by_an_older_one);
    RUN_TEST(test_deleted_while_it_is_counted_answers);
    return UNITY_END();
}
