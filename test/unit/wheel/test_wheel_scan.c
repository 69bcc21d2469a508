/* test_wheel_scan.c: looking ahead in the wheel: slot by slot, in pieces, while it goes on working.
 * Nothing that stays is missed, whatever comes and goes meanwhile. */
#include "wheel/wheel.h"
#include "wheel/wheel_impl.h"

#include <stdlib.h>

#include "support/wheel_pop.h"
#include "unity.h"

#define MS      INT64_C(1000000)
#define S       (1000 * MS)
#define NOW     (1790000000 * S)
#define MILLION 1000000u

static uint32_t *refs;
static uint8_t *page[1];
static int64_t *deadline; /* by id; 0: not in the wheel */
static int64_t *changed;  /* by id: added, moved or deleted while the scan was at work */
static uint32_t *visits;  /* by id, since the slot it is in began */
static struct wheel *w;
static struct wheel_scan scan;
static uint64_t seed;

static uint64_t order(void *arg, uint32_t id)
{
    (void)arg;
    return id;
}

static uint64_t next_random(void)
{
    uint64_t i = seed += UINT64_C(0x9E3779B97F4A7C15);

    i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
    return i ^ (i >> 31);
}

void setUp(void)
{
    struct wheel_owner o = {{page, 31, 0, sizeof(uint32_t)}, order, NULL};

    refs = malloc(MILLION * sizeof *refs);
    deadline = calloc(MILLION, sizeof *deadline);
    changed = calloc(MILLION, sizeof *changed);
    visits = calloc(MILLION, sizeof *visits);
    TEST_ASSERT_NOT_NULL(refs);
    memset(refs, 0xff, MILLION * sizeof *refs);
    page[0] = (uint8_t *)refs;
    seed = 1;
    wheel_cells_from = (struct wheel_cells_from){{2, 2, 5, 128, 128, 128}};
    w = wheel_new(&o, NOW);
    TEST_ASSERT_NOT_NULL(w);
}

void tearDown(void)
{
    wheel_free(w);
    free(refs);
    free(deadline);
    free(changed);
    free(visits);
}

static void add(uint32_t id, int64_t at)
{
    TEST_ASSERT_EQUAL_INT(0, wheel_add(w, id, at));
    deadline[id] = at;
}

static void visit(void *arg, uint32_t id, int64_t at)
{
    (void)arg;
    TEST_ASSERT_EQUAL_INT64(deadline[id], at);
    TEST_ASSERT_TRUE(at >= scan.from_ns && at < scan.to_ns && at < scan.end_ns);
    visits[id]++;
}

/* The scan goes back: those of the slot come again. */
static void forget(uint32_t ids)
{
    for (uint32_t id = 0; id < ids; id++)
        if (deadline[id] >= scan.from_ns)
            visits[id] = 0;
}

static uint64_t run_all(uint32_t ids, size_t budget)
{
    for (;;) {
        enum wheel_scanned how = wheel_scan_step(&scan, budget, visit, NULL);
        if (how == WHEEL_SCAN_END)
            break;
        if (how == WHEEL_SCAN_BACK)
            forget(ids);
    }
    return scan.steps;
}

/* From a nanosecond to a century ahead, every level of the wheel. */
static int64_t far_ahead(void)
{
    return NOW + 1 +
           (int64_t)(next_random() >> (1 + next_random() % 60)) % (INT64_C(3155695200) * S);
}

static void test_every_entry_is_visited_once_in_its_slot(void)
{
    const uint32_t n = 20000;

    for (uint32_t id = 0; id < n; id++)
        add(id, far_ahead());
    for (size_t budget = 1; budget < 100000; budget *= 7) {
        memset(visits, 0, n * sizeof *visits);
        wheel_scan_begin(w, &scan, NOW, INT64_MAX);
        run_all(n, budget);
        for (uint32_t id = 0; id < n; id++)
            TEST_ASSERT_EQUAL_UINT32(1, visits[id]);
        wheel_scan_end(&scan);
    }
    wheel_check(w);
}

static void test_only_what_lies_between_is_visited(void)
{
    const uint32_t n = 5000;

    for (uint32_t id = 0; id < n; id++)
        add(id, far_ahead());
    for (int round = 0; round < 200; round++) {
        int64_t a = far_ahead(), b = far_ahead();
        memset(visits, 0, n * sizeof *visits);
        wheel_scan_begin(w, &scan, a, b);
        run_all(n, 1 + next_random() % 500);
        for (uint32_t id = 0; id < n; id++)
            TEST_ASSERT_EQUAL_UINT32(deadline[id] >= a && deadline[id] < b, visits[id]);
        wheel_scan_end(&scan);
    }
}

/* One step of what a busy owner does. */
static void disturb(uint32_t ids, int64_t *now)
{
    uint32_t id = (uint32_t)(next_random() % ids);
    int64_t due;

    switch (next_random() % 4) {
    case 0:
        wheel_del(w, id);
        deadline[id] = 0;
        break;
    case 1:
        wheel_del(w, id);
        add(id, far_ahead());
        break;
    case 2: /* time goes on; what is due leaves */
        if (next_random() % 8 != 0)
            return;
        *now += (int64_t)(next_random() >> (2 + next_random() % 50)) % (40 * S);
        (void)wheel_advance(w, *now, next_random() % 3 == 0 ? 5 : SIZE_MAX);
        for (uint32_t got; (got = wheel_pop(w, &due)) != WHEEL_NONE;) {
            deadline[got] = 0;
            changed[got] = 1;
        }
        return;
    default:
        return;
    }
    changed[id] = 1;
}

static void test_nothing_that_stays_is_missed_while_the_wheel_works(void)
{
    const uint32_t n = 3000;
    uint64_t backs = 0, twice = 0;

    wheel_cells_from = (struct wheel_cells_from){{1, 1, 1, 1, 1, 1}};

    for (int round = 0; round < 150; round++) {
        int64_t now = w->now;
        for (uint32_t id = 0; id < n; id++)
            if (deadline[id] == 0) /* half of them in a few slots that will come near */
                add(id, id % 2 == 0 ? now + 100 * S + (int64_t)(next_random() % 100) * S
                                    : now - NOW + far_ahead());
        memset(visits, 0, n * sizeof *visits);
        memset(changed, 0, n * sizeof *changed);
        int64_t from = now + 1,
                to = now + 1 + (int64_t)(next_random() % (uint64_t)(90 * 86400 * S));
        wheel_scan_begin(w, &scan, from, to);
        for (;;) {
            enum wheel_scanned how = wheel_scan_step(&scan, 1 + next_random() % 100, visit, NULL);
            if (how == WHEEL_SCAN_END)
                break;
            if (how == WHEEL_SCAN_BACK) {
                forget(n);
                backs++;
            }
            for (uint64_t k = next_random() % 20; k > 0; k--)
                disturb(n, &now);
            wheel_check(w);
        }
        for (uint32_t id = 0; id < n; id++) {
            bool inside = deadline[id] >= from && deadline[id] < to;
            if (changed[id])
                continue;
            TEST_ASSERT_TRUE(inside ? visits[id] >= 1 : visits[id] == 0);
            twice += visits[id] > 1;
        }
        wheel_scan_end(&scan);
    }
    TEST_ASSERT_GREATER_THAN_UINT64(20, backs); /* slots that came near under the scan */
    TEST_ASSERT_LESS_THAN_UINT64(150 * 50, twice);
}

/* Chunks move to other places when memory is given back; the scan's own may be among them. */
static void test_a_scan_survives_the_tidying_of_chunks(void)
{
    const uint32_t n = 200000;

    for (uint32_t id = 0; id < n; id++)
        add(id, NOW + 3600 * S + id % 7);
    wheel_scan_begin(w, &scan, NOW, INT64_MAX);
    for (int i = 0; i < 10; i++)
        TEST_ASSERT_EQUAL_INT(i == 0 ? WHEEL_SCAN_SLOT : WHEEL_SCAN_MORE,
                              wheel_scan_step(&scan, 1000, visit, NULL));
    for (uint32_t id = 0; id < n; id++)
        if (visits[id] == 0 && id % 5 != 0) {
            wheel_del(w, id);
            deadline[id] = 0;
        }
    run_all(n, 1000);
    for (uint32_t id = 0; id < n; id++)
        TEST_ASSERT_TRUE(deadline[id] == 0 || visits[id] >= 1);
    wheel_scan_end(&scan);
    wheel_check(w);
}

static void test_a_wheel_that_goes_ends_its_scans(void)
{
    struct wheel_scan other;

    for (uint32_t id = 0; id < 500; id++)
        add(id, NOW + S + id);
    wheel_scan_begin(w, &scan, NOW, INT64_MAX);
    wheel_scan_begin(w, &other, NOW, INT64_MAX);
    while (wheel_scan_step(&scan, 63, visit, NULL) != WHEEL_SCAN_MORE)
        ;
    wheel_scans_stop(w);
    TEST_ASSERT_EQUAL_INT(WHEEL_SCAN_END, wheel_scan_step(&scan, 63, visit, NULL));
    TEST_ASSERT_EQUAL_INT(WHEEL_SCAN_END, wheel_scan_step(&other, 63, visit, NULL));
    wheel_scan_end(&scan);
    wheel_scan_end(&scan);
    wheel_scan_begin(NULL, &other, NOW, INT64_MAX); /* a store without deadlines */
    TEST_ASSERT_EQUAL_INT(WHEEL_SCAN_END, wheel_scan_step(&other, 63, visit, NULL));
    wheel_scan_end(&other);
}

/* The next hour of a day: what lies behind it costs nothing, however much there is. */
static void test_the_cost_is_what_lies_in_the_slots_touched(void)
{
    uint64_t steps[2];

    for (int size = 0; size < 2; size++) {
        uint32_t n = size == 0 ? 1000 : MILLION;
        if (size == 1)
            tearDown(), setUp();
        for (uint32_t id = 0; id < n; id++)
            add(id, id < 1000 ? NOW + S + id * 50 * MS : NOW + 86400 * S + id * MS);
        wheel_scan_begin(w, &scan, NOW, NOW + 60 * S);
        steps[size] = run_all(n, 4096);
        wheel_scan_end(&scan);
    }
    TEST_ASSERT_EQUAL_UINT64(steps[0], steps[1]);
    TEST_ASSERT_LESS_THAN_UINT64(2200, steps[1]);
}

/* --- counts of parts -------------------------------------------------------------------------- */

struct sums {
    uint64_t entries, parts, visited;
};

/* Each part holds what lies in its time. */
static bool sum_exactly(void *arg, const struct wheel_cells *c)
{
    struct sums *s = arg;
    uint64_t sum = 0;

    TEST_ASSERT_TRUE(c->n == 1 || c->count != NULL);
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t n = 0;
        int64_t from, end;
        wheel_part(c, i, &from, &end);
        TEST_ASSERT_TRUE(end - from <= c->width_ns && (i > 0 || from == c->from_ns) &&
                         (i + 1 < c->n || end == c->end_ns));
        for (uint32_t id = 0; id < 20000; id++)
            n += deadline[id] >= from && deadline[id] < end;
        TEST_ASSERT_EQUAL_UINT64(n, c->count == NULL ? c->entries : c->count[i]);
        sum += n;
    }
    TEST_ASSERT_EQUAL_UINT64(sum, c->entries);
    s->parts += c->n;
    s->entries += sum;
    return true;
}

static void visit_few(void *arg, uint32_t id, int64_t at)
{
    (void)id;
    (void)at;
    ((struct sums *)arg)->visited++;
}

static uint64_t sum_all(struct sums *sums, bool (*sum)(void *arg, const struct wheel_cells *c),
                        int64_t to)
{
    wheel_scan_begin(w, &scan, NOW, to);
    scan.sum = sum;
    while (wheel_scan_step(&scan, 100, visit_few, sums) != WHEEL_SCAN_END)
        ;
    wheel_scan_end(&scan);
    return scan.steps;
}

static void test_slots_are_counted_without_visiting_them(void)
{
    const uint32_t n = 20000;
    struct sums sums = {0};

    wheel_cells_from = (struct wheel_cells_from){{2, 2, 2, 2, 2, 2}};
    for (uint32_t id = 0; id < n; id++)
        add(id, id % 3 == 0 ? far_ahead() : NOW + S + (int64_t)(next_random() % (90 * 86400 * S)));
    for (uint32_t id = 0; id < n; id += 3) {
        wheel_del(w, id);
        if (id % 2 == 0)
            add(id, NOW + S + (int64_t)(next_random() % (86400 * S)));
        else
            deadline[id] = 0;
    }
    wheel_check(w);
    TEST_ASSERT_LESS_THAN_UINT64(n, sum_all(&sums, sum_exactly, INT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(wheel_count(w), sums.entries);
    TEST_ASSERT_EQUAL_UINT64(0, sums.visited);
    TEST_ASSERT_GREATER_THAN_UINT64(500, sums.parts);
    uint64_t steps = 0;
    TEST_ASSERT_EQUAL_UINT64(wheel_count(w), wheel_between(w, NOW, INT64_MAX, UINT64_MAX, &steps));
}

static bool sum_any(void *arg, const struct wheel_cells *c)
{
    ((struct sums *)arg)->entries += c->entries;
    return true;
}

static uint64_t day_steps(uint32_t n)
{
    struct sums sums = {0};

    tearDown();
    setUp();
    for (uint32_t id = 0; id < n; id++)
        add(id, NOW + S + (int64_t)(next_random() % (86400 * S)));
    uint64_t steps = sum_all(&sums, sum_any, INT64_MAX);
    TEST_ASSERT_EQUAL_UINT64(n, sums.entries + sums.visited);
    return steps;
}

/* Slots, and their parts by eights: at most 4,400 for each of the five slots of hours. */
static void test_counting_a_million_costs_no_more_than_their_slots(void)
{
    uint64_t steps[3] = {day_steps(1000), day_steps(MILLION / 4), day_steps(MILLION)};

    TEST_ASSERT_LESS_THAN_UINT64(1000, steps[0]);
    TEST_ASSERT_LESS_THAN_UINT64(8000, steps[1]);
    TEST_ASSERT_LESS_THAN_UINT64(8000, steps[2]);
}

/* No entry that comes has more than 8,064 counted with it, and none is counted again as its slot
 * grows.  Asking how many there are costs the slots, and the parts of the first and the last. */
static void test_counts_are_made_in_bounded_turns(void)
{
    uint64_t most = 0, steps = 0;

    for (uint32_t id = 0; id < MILLION; id++) {
        uint64_t before = w->counted;
        add(id, NOW + S + (int64_t)(next_random() % ((id % 2 == 0 ? 40 : 1) * 86400 * S)));
        most = w->counted - before > most ? w->counted - before : most;
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(8064, most);
    TEST_ASSERT_LESS_THAN_UINT64(MILLION, w->counted); /* each once, if at all */
    TEST_ASSERT_GREATER_THAN_UINT64(8000, w->counted);
    TEST_ASSERT_GREATER_THAN_UINT64(
        MILLION / 2, wheel_between(w, NOW + 60 * S, NOW + 30 * 86400 * S, UINT64_MAX, &steps));
    TEST_ASSERT_LESS_THAN_UINT64(3 * SLOTS + 2 * 4400 / 8, steps);
    for (uint32_t id = 0; id < MILLION; id++)
        wheel_del(w, id);
    TEST_ASSERT_EQUAL_size_t(0, wheel_cells_memory(w));
}

/* A quarter of a byte for each entry, and the table. */
static void test_counts_take_little_memory(void)
{
    for (uint32_t id = 0; id < MILLION; id++) {
        add(id, NOW + S + (int64_t)(next_random() % (86400 * S)));
        if (id == 100)
            TEST_ASSERT_EQUAL_size_t(0, wheel_cells_memory(w));
    }
    TEST_ASSERT_LESS_THAN_size_t(MILLION / 4, wheel_cells_memory(w));
    TEST_ASSERT_GREATER_THAN_size_t(4000 * sizeof(uint32_t), wheel_cells_memory(w));
    for (uint32_t id = 0; id < MILLION; id++)
        wheel_del(w, id);
    TEST_ASSERT_EQUAL_size_t(0, wheel_cells_memory(w));
    wheel_check(w);
}

/* Every probe finds an entry with the same chance, whatever its deadline. */
static void test_probes_find_entries_evenly(void)
{
    uint32_t hits = 0, early = 0, id;
    int64_t at;

    for (id = 0; id < 300000; id++)
        add(id, id % 3 == 0 ? NOW + 60 * S + id : NOW + 86400 * S + id * S);
    for (uint32_t i = 0; i < 4096; i++)
        if (wheel_probe(w, i, 4096, &id, &at)) {
            TEST_ASSERT_EQUAL_INT64(deadline[id], at);
            hits++;
            early += id % 3 == 0;
        }
    TEST_ASSERT_GREATER_THAN_UINT32(1000, hits);
    TEST_ASSERT_TRUE(early > hits / 4 && early < hits / 4 + hits / 6);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_entry_is_visited_once_in_its_slot);
    RUN_TEST(test_only_what_lies_between_is_visited);
    RUN_TEST(test_nothing_that_stays_is_missed_while_the_wheel_works);
    RUN_TEST(test_a_scan_survives_the_tidying_of_chunks);
    RUN_TEST(test_a_wheel_that_goes_ends_its_scans);
    RUN_TEST(test_the_cost_is_what_lies_in_the_slots_touched);
    RUN_TEST(test_slots_are_counted_without_visiting_them);
    RUN_TEST(test_counting_a_million_costs_no_more_than_their_slots);
    RUN_TEST(test_counts_are_made_in_bounded_turns);
    RUN_TEST(test_counts_take_little_memory);
    RUN_TEST(test_probes_find_entries_evenly);
    return UNITY_END();
}
