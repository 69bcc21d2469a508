/* test_consumer_random.c: consumers through whatever happens in whatever order: counts stay exact,
 * and nothing comes twice or not at all.  Seeds are fixed: a failure comes again. */
#include "support/consumer_world.h"

static uint64_t seed;

static unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static bool chance(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    (void)io, (void)p, (void)off, (void)n;
    return dice(2) == 0;
}

/* By asking of every message, which is what the counts save. */
static uint64_t pending_by_hand(struct consumer *c)
{
    uint64_t n = 0;

    for (uint64_t seq = 1; seq <= g->told; seq++) {
        struct mf_slice subject = stream_subject_at(w.stream, seq);
        bool listed = filters_want(c, subject) && backlog_lists(c, seq);
        if (subject.len > 0 && (listed || (seq >= c->todo.next && filters_want(c, subject))))
            n++;
    }
    return n;
}

/* Deliveries of each message, from the log. */
static void tally(struct consumer *c, uint8_t *seen, size_t max)
{
    char mark[64];
    size_t n = (size_t)snprintf(mark, sizeof mark, "$JS.ACK.S.%s.1.", c->name);

    mf_buf_byte(&log_, 0);
    for (const char *t = (char *)log_.ptr; (t = strstr(t, mark)) != NULL; t += n) {
        uint64_t seq = strtoull(t + n, NULL, 10);
        TEST_ASSERT_TRUE(seq < max);
        seen[seq]++;
    }
    log_.len--;
}

static void random_step(struct consumer **c, size_t n)
{
    static const char *const subject[] = {"k.a", "k.b", "k.c.x", "k.d.x", "k.e.y"};
    static const char *const body[] = {"1", "3", "{\"batch\":7,\"no_wait\":true}", "20"};
    struct stream_state t;

    stream_state(w.stream, &t);
    switch (dice(12)) {
    case 0:
        if (t.msgs > 0)
            (void)world_remove(&w, t.first_seq + dice((unsigned)(t.last_seq - t.first_seq) + 1));
        break;
    case 1:
        if (dice(6) == 0)
            TEST_ASSERT_EQUAL_INT(0, world_purge(&w, dice(2) ? "" : subject[dice(5)], 0, 0, NULL));
        else if (dice(3) == 0)
            TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 3, NULL));
        break;
    case 2:
        if (dice(3) == 0)
            world_time(&w, w.now_ns + 600 * CLOCK_MS);
        else
            w.now_ns += 600 * CLOCK_MS; /* past, not swept */
        break;
    case 3:
        snprintf(here, sizeof here, dice(3) ? " in " : "");
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        consumer_pull(c[dice((unsigned)n)], MF_LIT("in"), mf_str(body[dice(4)]), MF_SLICE_NONE);
        break;
    default:
        for (unsigned i = dice(4); i < 4; i++)
            (void)world_publish(&w, subject[dice(5)], dice(4) ? NULL : "Nats-TTL: 1\r\n", "x");
    }
    if (dice(2))
        world_turns(&w);
}

#define SEQ_MAX   4096
#define CONSUMERS 7
#define MANY      (FILTERS_FEW + 8)

static char *two[] = {(char *)"k.a", (char *)"k.b"};
static char *crossed[] = {(char *)"k.*.x", (char *)"k.a", (char *)"k.c.*"};
static char *many[MANY], *wild[MANY];

/* Most of many filters match nothing, and some that do overlap. */
static void make_filters(void)
{
    static char text[2 * MANY][16];

    for (size_t i = 0; i < MANY; i++) {
        many[i] = text[2 * i];
        wild[i] = text[2 * i + 1];
        snprintf(many[i], sizeof text[0], "k.z%zu", i);
        snprintf(wild[i], sizeof text[0], i % 2 ? "k.%zu.>" : "*.*.%zu", i);
    }
    many[5] = two[0];
    many[30] = crossed[0];
    many[MANY - 1] = crossed[2];
    wild[7] = crossed[0];
    wild[MANY - 1] = crossed[2];
}

static void add_all(struct consumer **c)
{
    struct consumer_config cfg[CONSUMERS];
    const struct json_strs filters[CONSUMERS] = {
        {NULL, 0}, {two, 2}, {NULL, 0}, {crossed, 3}, {many, MANY}, {wild, MANY}, {wild, MANY}};

    for (size_t i = 0; i < CONSUMERS; i++) {
        cfg[i] = pull();
        cfg[i].ack_policy = ACK_NONE;
        cfg[i].filter_subjects = filters[i];
    }
    cfg[2].deliver_policy = cfg[6].deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg[2].filter_subject = (char *)"k.*.x";
    for (size_t i = 0; i < CONSUMERS; i++)
        c[i] = add((const char *[]){"A", "B", "C", "D", "E", "F", "G"}[i], cfg[i]);
}

static bool starts_with_all(const struct consumer *c)
{
    return c->cfg.deliver_policy == DELIVER_ALL;
}

/* Whatever happens in whatever order: counts are exact, and who is there gets each message once. */
static void test_counts_are_exact_and_nothing_comes_twice_or_not_at_all(void)
{
    static uint8_t times[CONSUMERS][SEQ_MAX];
    struct stream_config sc = plain;
    struct consumer *c[CONSUMERS];

    sc.allow_msg_ttl = true;
    sc.max_msgs_per_subject = 9;
    make_filters();
    for (seed = 1; seed < 40; seed++) {
        uint64_t start = seed;
        memset(times, 0, sizeof times);
        world_open(&w, &sc);
        w.io->resident = chance;
        consumers_up();
        for (int i = 0; i < 10; i++)
            put(i % 2 ? "k.c.x" : "k.a", "x");
        add_all(c);
        uint64_t first = c[2]->todo.next;
        for (int step = 0; step < 150; step++) {
            random_step(c, CONSUMERS);
            if (dice(3) != 0)
                continue;
            world_turns(&w);
            for (size_t i = 0; i < CONSUMERS; i++)
                TEST_ASSERT_EQUAL_UINT64_MESSAGE(pending_by_hand(c[i]), c[i]->todo.pending,
                                                 c[i]->name);
        }
        snprintf(here, sizeof here, " in ");
        world_time(&w, w.now_ns + 5 * CLOCK_S);
        for (size_t i = 0; i < CONSUMERS; i++) {
            ask(c[i], "1000");
            TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, info(c[i]).pending, c[i]->name);
            tally(c[i], times[i], SEQ_MAX);
        }
        for (uint64_t seq = 1; seq <= g->told && seq < SEQ_MAX; seq++)
            for (size_t i = 0; i < CONSUMERS; i++) {
                struct mf_slice subject = stream_subject_at(w.stream, seq);
                bool due = subject.len > 0 && filters_want(c[i], subject) &&
                           (starts_with_all(c[i]) || seq >= first);
                TEST_ASSERT_TRUE_MESSAGE(times[i][seq] <= 1 && (!due || times[i][seq] == 1),
                                         c[i]->name);
            }
        consumers_close(g, true);
        g = NULL;
        tearDown();
        setUp();
        seed = start;
    }
}

static void random_ack(struct consumer *c)
{
    static const char *const word[] = {"+ACK", "+ACK", "-NAK", "+TERM", "+WPI", "-NAK 1ms"};
    struct pend *e = pending_first(&c->wait);
    char tokens[96];

    for (unsigned i = dice(5); e != NULL && i > 0 && e->order.next != &c->wait.order; i--)
        e = mf_container(e->order.next, struct pend, order);
    if (e == NULL)
        return;
    snprintf(tokens, sizeof tokens, "1.%llu.%llu.0.0", (unsigned long long)e->sseq,
             (unsigned long long)e->dseq);
    TEST_ASSERT_TRUE(consumer_ack(c, mf_str(tokens), dice(2) ? MF_LIT("in") : MF_SLICE_NONE,
                                  mf_str(word[dice(6)])));
}

static void random_upheaval(struct consumer **c, const struct stream_config *sc)
{
    static char *const filter[] = {(char *)"k.a", (char *)"k.>", (char *)"k.*.x", NULL};
    struct consumer_config cfg = pull();
    struct consumer_op op = {.done = created};
    struct js_error e;
    uint64_t seq;

    switch (dice(4)) {
    case 0:
        (void)!consumer_reset(*c, dice(3) * 5, &seq, &e);
        break;
    case 1:
        cfg.deliver_policy = (*c)->cfg.deliver_policy;
        cfg.filter_subject = filter[dice(4)];
        cfg.max_ack_pending = 1 + dice(20);
        consumer_update(*c, &cfg, &op);
        world_turns(&w);
        break;
    case 2: /* filters are not kept by this codec */
        cfg.deliver_policy = (*c)->cfg.deliver_policy;
        consumer_update(*c, &cfg, &op);
        world_turns(&w);
        consumers_close(g, false);
        world_turns(&w);
        if (dice(2))
            world_close(&w);
        else
            world_kill(&w);
        world_open(&w, sc);
        consumers_up();
        *c = consumers_find(g, MF_LIT("D"));
        break;
    default:
        consumer_pause(*c, dice(2) ? 0 : w.now_ns + CLOCK_S, &op);
        world_turns(&w);
    }
}

/* The same with acks, other filters, new starts and restarts: counts stay exact. */
static void test_counts_are_exact_through_updates_resets_and_restarts(void)
{
    struct stream_config sc = plain;

    sc.allow_msg_ttl = true;
    for (seed = 1; seed < 30; seed++) {
        uint64_t start = seed;
        struct consumer_config cfg = pull();
        sc.retention = dice(3) == 0 ? RETENTION_INTEREST : RETENTION_LIMITS;
        cfg.deliver_policy = dice(2) ? DELIVER_LAST_PER_SUBJECT : DELIVER_ALL;
        world_open(&w, &sc);
        w.io->resident = chance;
        consumers_up();
        if (sc.retention == RETENTION_LIMITS)
            for (int i = 0; i < 10; i++)
                put(i % 2 ? "k.c.x" : "k.a", "x");
        struct consumer *c = add("D", cfg);
        for (int step = 0; step < 150; step++) {
            random_step(&c, 1);
            random_ack(c);
            if (dice(8) == 0)
                random_upheaval(&c, &sc);
            if (dice(3) != 0)
                continue;
            world_turns(&w);
            TEST_ASSERT_EQUAL_UINT64(pending_by_hand(c), c->todo.pending);
            TEST_ASSERT_TRUE(c->floor.sseq <= c->delivered.sseq &&
                             c->floor.dseq <= c->delivered.dseq);
            TEST_ASSERT_TRUE(c->wait.count <= 1000);
        }
        consumers_close(g, true);
        g = NULL;
        tearDown();
        setUp();
        seed = start;
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_counts_are_exact_and_nothing_comes_twice_or_not_at_all);
    RUN_TEST(test_counts_are_exact_through_updates_resets_and_restarts);
    return UNITY_END();
}
