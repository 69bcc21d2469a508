/* test_wheel_model.c: random operations on the wheel against a naive model that scans everything.
 *     wheel_model [ROUNDS [SEED]]      (the default takes about a second under ASan)
 * Each round draws its own mixture: dense or sparse deadlines, many or few equal ones, time going
 * in steps of nanoseconds or of centuries, budgets of one move or no bound. */
#include "wheel/wheel.h"
#include "base/rand.h"
#include "wheel/wheel_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/wheel_pop.h"
#include "unity.h"

#define IDS       1000u
#define PAGE_BITS 6
#define PAGE_IDS  (1u << PAGE_BITS)
#define PAGES     ((IDS + PAGE_IDS - 1) / PAGE_IDS)
#define STEPS     1500

struct thing { /* what an owner might keep: the ref is somewhere in the middle */
    uint32_t before, ref, after;
};

static unsigned rounds = 40;
static uint64_t seed, state;

static struct thing *page[PAGES];
static uint8_t **table; /* allocated anew now and then, as a growing owner does */
static bool in[IDS];
static int64_t deadline[IDS];
static uint64_t seq[IDS], next_seq;
static size_t count;
static int64_t now;
static bool settled;
static struct wheel *w;
static struct {
    unsigned spread, step; /* bits */
    unsigned same, late, many, budget;
} mix;

static uint64_t rnd(void) /* splitmix64: repeatable from the printed seed */
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
static uint32_t below(uint32_t n)
{
    return (uint32_t)(rnd() % n);
}
/* Any magnitude up to 2^bits is as likely as any other. */
static int64_t magnitude(unsigned bits)
{
    return (int64_t)(rnd() >> (63 - below(bits + 1)) >> 1);
}
static int64_t plus(int64_t a, int64_t b)
{
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}

static struct thing *thing(uint32_t id)
{
    return &page[id >> PAGE_BITS][id & (PAGE_IDS - 1)];
}
static uint64_t order(void *arg, uint32_t id)
{
    TEST_ASSERT_TRUE_MESSAGE(arg == &next_seq, "order() got the wrong argument");
    TEST_ASSERT_TRUE_MESSAGE(in[id], "order() asked for an id that is gone");
    return seq[id];
}

static void new_table(void)
{
    uint8_t **t = calloc(PAGES, sizeof *t);

    TEST_ASSERT_NOT_NULL(t);
    for (uint32_t i = 0; i < PAGES; i++)
        t[i] = (uint8_t *)page[i];
    if (w != NULL)
        wheel_pages(w, t);
    free(table);
    table = t;
}

/* --- the model -------------------------------------------------------------------------------- */

static uint32_t model_first(void) /* of all, due or not */
{
    uint32_t best = WHEEL_NONE;

    for (uint32_t i = 0; i < IDS; i++)
        if (in[i] && (best == WHEEL_NONE || deadline[i] < deadline[best] ||
                      (deadline[i] == deadline[best] && seq[i] < seq[best])))
            best = i;
    return best;
}
static uint32_t find(bool present)
{
    uint32_t at = below(IDS);

    for (uint32_t i = 0; i < IDS; i++)
        if (in[(at + i) % IDS] == present)
            return (at + i) % IDS;
    return WHEEL_NONE;
}

/* --- steps ------------------------------------------------------------------------------------ */

static int64_t draw_deadline(void)
{
    static int64_t last;
    int64_t d = magnitude(mix.spread);

    if (below(100) < mix.same)
        return last;
    if (below(100) < mix.late)
        return last = d > now ? 0 : now - d;
    return last = plus(now, d);
}

static void step_add(void)
{
    uint32_t id = find(false);

    if (id == WHEEL_NONE)
        return;
    deadline[id] = draw_deadline();
    seq[id] =
        below(4) == 0 ? rnd() >> 8 << 24 | next_seq++ : next_seq++; /* unique, not ascending */
    in[id] = true;
    count++;
    TEST_ASSERT_EQUAL_INT(0, wheel_add(w, id, deadline[id]));
}
static void step_del(void)
{
    uint32_t id = find(true);

    if (id == WHEEL_NONE || below(10) == 0) { /* one that is not there: harmless */
        id = find(false);
        if (id != WHEEL_NONE)
            wheel_del(w, id);
        return;
    }
    in[id] = false;
    count--;
    wheel_del(w, id);
    TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, thing(id)->ref);
}
static void step_renumber(void)
{
    uint32_t from = find(true), to = find(false);

    if (from == WHEEL_NONE || to == WHEEL_NONE)
        return;
    in[to] = true;
    in[from] = false;
    deadline[to] = deadline[from];
    seq[to] = seq[from];
    wheel_renumber(w, from, to);
    wheel_renumber(w, from, to); /* nothing there now */
    TEST_ASSERT_EQUAL_INT64(deadline[to], wheel_deadline(w, to));
}
static void step_pop(void)
{
    uint32_t first = model_first(), want = first;
    int64_t d = -1, p = -1;

    if (!settled || first == WHEEL_NONE || deadline[first] > now)
        want = WHEEL_NONE;
    TEST_ASSERT_EQUAL_UINT32(want, wheel_peek(w, &p));
    TEST_ASSERT_EQUAL_UINT32(want, wheel_pop(w, &d));
    if (want == WHEEL_NONE)
        return;
    TEST_ASSERT_EQUAL_INT64(deadline[want], d);
    TEST_ASSERT_EQUAL_INT64(deadline[want], p);
    TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, thing(want)->ref);
    in[want] = false;
    count--;
}
static void step_advance(void)
{
    int64_t to = below(8) == 0 ? now - magnitude(62) : plus(now, magnitude(mix.step));

    if (to < 0)
        to = 0;
    if (to > now)
        now = to;
    settled = wheel_advance(w, to, below(3) == 0 ? SIZE_MAX : below(mix.budget));
    if (settled) {
        size_t due = 0;
        for (uint32_t i = 0; i < IDS; i++)
            due += in[i] && deadline[i] >> 20 <= now >> 20;
        TEST_ASSERT_EQUAL_size_t(due, wheel_due_count(w));
    }
}
/* Sleeps until wheel_next() as often as it takes: a handful of times, and never past a deadline. */
static void step_sleep(void)
{
    uint32_t first = model_first();

    for (int woken = 0; first != WHEEL_NONE; woken++) {
        int64_t next = wheel_next(w);
        TEST_ASSERT_LESS_OR_EQUAL_INT64(deadline[first], next);
        TEST_ASSERT_LESS_THAN_INT(8, woken);
        if (settled && deadline[first] - next < WHEEL_TICK_NS)
            return;
        if (next > now)
            now = next;
        settled = wheel_advance(w, next, SIZE_MAX);
        TEST_ASSERT_TRUE(settled);
    }
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, wheel_next(w));
}

struct sum {
    size_t n;
    uint64_t hash;
};
static void visit(void *arg, uint32_t id, int64_t d)
{
    struct sum *s = arg;

    TEST_ASSERT_TRUE(in[id] && deadline[id] == d);
    s->n++;
    s->hash += (id + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)d;
}
static void step_each(void)
{
    struct sum want = {0, 0}, got = {0, 0};
    int64_t to = plus(now, magnitude(mix.spread));

    for (uint32_t i = 0; i < IDS; i++)
        if (in[i] && deadline[i] < to)
            visit(&want, i, deadline[i]);
    wheel_each(w, to, visit, &got);
    TEST_ASSERT_EQUAL_size_t(want.n, got.n);
    TEST_ASSERT_EQUAL_UINT64(want.hash, got.hash);
}

/* What came due after a moment, up to now. */
static void step_each_due(void)
{
    struct sum want = {0, 0}, got = {0, 0};
    int64_t after = now - magnitude(mix.spread);

    for (uint32_t i = 0; i < IDS; i++)
        if (in[i] && deadline[i] > after && deadline[i] <= now)
            visit(&want, i, deadline[i]);
    while (!wheel_advance(w, now, IDS))
        continue;
    settled = true;
    wheel_each_due(w, after, now, visit, &got);
    TEST_ASSERT_EQUAL_size_t(want.n, got.n);
    TEST_ASSERT_EQUAL_UINT64(want.hash, got.hash);
}

static void step(void)
{
    static const struct {
        unsigned weight;
        void (*run)(void);
        unsigned many; /* at most so often in a row */
    } steps[] = {{30, step_add, 200}, {12, step_del, 150},   {8, step_renumber, 3},
                 {20, step_pop, 120}, {25, step_advance, 1}, {3, step_sleep, 1},
                 {1, step_each, 1},   {1, new_table, 1},     {2, step_each_due, 1}};
    unsigned pick = below(102), i = 0, n;

    while (pick >= steps[i].weight)
        pick -= steps[i++].weight;
    n = below(100) < mix.many ? 1 + below(steps[i].many) : 1;
    while (n-- > 0)
        steps[i].run();
}

static void round_begin(void)
{
    struct wheel_owner o = {
        {NULL, PAGE_BITS, offsetof(struct thing, ref), sizeof(struct thing)}, order, &next_seq};

    mix.spread = 1 + below(62);
    mix.step = below(3) == 0 ? 1 + below(58) : mix.spread > 4 ? mix.spread - below(4) : mix.spread;
    mix.same = below(3) == 0 ? below(100) : 0;
    mix.late = below(2) == 0 ? below(60) : 0;
    mix.many = below(30);
    mix.budget = 1 + below(200);
    now = magnitude(62);
    settled = true;
    count = 0;
    for (uint32_t i = 0; i < IDS; i++) {
        in[i] = false;
        *thing(i) = (struct thing){0x5a5a5a5a, WHEEL_NONE, 0xa5a5a5a5};
    }
    new_table();
    o.pages.page = table;
    w = wheel_new(&o, now);
    TEST_ASSERT_NOT_NULL(w);
}

static void round_end(void)
{
    now = INT64_MAX;
    while (!wheel_advance(w, now, 1 + below(500)))
        ;
    settled = true;
    while (count > 0)
        step_pop();
    wheel_check(w);
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, wheel_next(w));
    for (uint32_t i = 0; i < IDS; i++) /* nothing but the ref was touched */
        TEST_ASSERT_TRUE(thing(i)->before == 0x5a5a5a5a && thing(i)->after == 0xa5a5a5a5);
    wheel_free(w);
    w = NULL;
}

static void test_random_operations_agree_with_the_model(void)
{
    for (unsigned r = 0; r < rounds; r++) {
        state = seed + r;
        round_begin();
        for (int i = 0; i < STEPS && now < INT64_MAX; i++) {
            step();
            TEST_ASSERT_EQUAL_size_t(count, wheel_count(w));
            if (below(16) == 0)
                wheel_check(w);
        }
        round_end();
    }
}

void setUp(void)
{
    for (uint32_t i = 0; i < PAGES; i++) {
        page[i] = calloc(PAGE_IDS, sizeof *page[i]);
        TEST_ASSERT_NOT_NULL(page[i]);
    }
}
void tearDown(void)
{
    wheel_free(w);
    w = NULL;
    for (uint32_t i = 0; i < PAGES; i++)
        free(page[i]);
    free(table);
    table = NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
    rand_bytes(&seed, sizeof seed);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    printf("wheel_model: %u rounds, seed %" PRIu64 "\n", rounds, seed);
    fflush(stdout);
    wheel_cells_from = (struct wheel_cells_from){{1, 2, 1, 3, 1, 1}};
    UNITY_BEGIN();
    RUN_TEST(test_random_operations_agree_with_the_model);
    return UNITY_END();
}
