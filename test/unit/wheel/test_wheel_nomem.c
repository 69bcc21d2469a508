/* test_wheel_nomem.c: memory runs out at the 1st, 2nd, 3rd... request.  What failed changed
 * nothing, nothing is lost, and the next try goes on.  (Linked with --wrap for the allocator and
 * mmap.) */
#include "wheel/wheel.h"
#include "wheel/wheel_impl.h"

#define NO_MEMORY_MMAP
#include "support/wheel_pop.h"
#include "support/no_memory.h"

#include <stdlib.h>

#include "unity.h"

#define IDS 12000u
#define MS  1000000LL
#define S   (1000 * MS)
#define NOW (1790000000 * S)

static uint32_t refs[IDS];
static uint8_t *page[1] = {(uint8_t *)refs};
static int64_t deadline[IDS];
static unsigned failures;

static uint64_t order(void *arg, uint32_t id)
{
    (void)arg;
    return id;
}
void setUp(void)
{
    memset(refs, 0xff, sizeof refs);
}
void tearDown(void)
{
    memory_disarm();
}

static void add(struct wheel *w, uint32_t id, int64_t d)
{
    int rc;

    deadline[id] = d;
    while ((rc = wheel_add(w, id, d)) != 0) {
        TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
        TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, refs[id]);
        TEST_ASSERT_TRUE(memory_hit);
        wheel_check(w);
        failures++;
    }
}
static void advance(struct wheel *w, int64_t now)
{
    while (!wheel_advance(w, now, SIZE_MAX)) {
        int64_t d;
        TEST_ASSERT_TRUE(memory_hit);
        TEST_ASSERT_EQUAL_UINT32(WHEEL_NONE, wheel_pop(w, &d)); /* the first is not known */
        wheel_check(w);
        failures++;
    }
}
static size_t pop_all(struct wheel *w, int64_t now)
{
    uint32_t id, before = WHEEL_NONE;
    int64_t d;
    size_t n = 0;

    for (; (id = wheel_pop(w, &d)) != WHEEL_NONE; n++) {
        TEST_ASSERT_TRUE(d == deadline[id] && d <= now);
        TEST_ASSERT_TRUE(before == WHEEL_NONE || deadline[before] < d ||
                         (deadline[before] == d && before < id));
        before = id;
    }
    return n;
}

/* Ends in every part: buckets of several levels, a large one drained, late ones, the runs' heap. */
static void scenario(void)
{
    struct wheel_owner o = {{page, 31, 0, sizeof(uint32_t)}, order, NULL};
    struct wheel *w = wheel_new(&o, NOW);
    size_t popped = 0;

    for (; w == NULL; w = wheel_new(&o, NOW)) {
        TEST_ASSERT_TRUE(memory_hit);
        failures++;
    }
    for (uint32_t i = 0; i < IDS; i++)
        add(w, i,
            i % 3 == 0 ? NOW + 100 * S + i % 700 : NOW + (int64_t)(i * 7919u % IDS) * 20 * MS);
    for (int64_t now = NOW; now < NOW + 90 * S; now += 7 * S) {
        advance(w, now);
        popped += pop_all(w, now);
    }
    advance(w, NOW + 99 * S); /* the big bucket comes down */
    for (uint32_t i = 0; i < IDS; i += 5)
        if (refs[i] != WHEEL_NONE) {
            wheel_del(w, i);
            add(w, i, NOW + (int64_t)i); /* late */
        }
    advance(w, NOW + 1000 * S);
    wheel_check(w);
    popped += pop_all(w, NOW + 1000 * S);
    TEST_ASSERT_EQUAL_size_t(IDS, popped);
    TEST_ASSERT_EQUAL_size_t(0, wheel_count(w));
    wheel_check(w);
    wheel_free(w);
}

static void every_request(int more)
{
    int n = 0;

    failures = 0;
    do {
        memory_also = more;
        memory_arm(n++);
        scenario();
        memory_disarm();
    } while (memory_hit);
    TEST_ASSERT_GREATER_THAN_INT(12, n);
    TEST_ASSERT_GREATER_THAN_UINT(10, failures);
}

static void test_any_single_failing_request_loses_nothing(void)
{
    every_request(0);
}

/* The first failure may come in the middle of a chunk; others then meet the half-done state. */
static void test_failing_several_times_in_a_row_loses_nothing(void)
{
    every_request(3);
}

/* The half-moved chunk is the only one of its bucket: its gaps are filled from itself.  Others fill
 * the page of chunks so far that it is full after the 1st, 2nd, 3rd... entry. */
static void test_running_out_in_the_middle_of_a_chunk_loses_nothing(void)
{
    struct wheel_owner o = {{page, 31, 0, sizeof(uint32_t)}, order, NULL};
    unsigned halted = 0;

    for (uint32_t others = 0; others < 63; others++) {
        int64_t start = ((NOW >> 28) + 3) << 28; /* of a level-1 bucket */
        struct wheel *w = wheel_new(&o, NOW);
        TEST_ASSERT_NOT_NULL(w);
        for (uint32_t i = 0; i < others; i++)
            add(w, 100 + i, NOW + ((int64_t)(i + 1) << 44));
        for (uint32_t i = 0; i < 60; i++)
            add(w, i, start + ((int64_t)(i + 1) << 20));
        memory_also = 1000;
        memory_arm(0);
        if (!wheel_advance(w, start, SIZE_MAX)) {
            TEST_ASSERT_TRUE(memory_hit);
            halted++;
        }
        wheel_check(w);
        wheel_del(w, 59 - others % 60); /* all else still works */
        memory_disarm();
        TEST_ASSERT_EQUAL_size_t(others + 59, wheel_count(w));
        advance(w, start + S);
        TEST_ASSERT_EQUAL_size_t(59, pop_all(w, start + S));
        advance(w, INT64_MAX);
        TEST_ASSERT_EQUAL_size_t(others, pop_all(w, INT64_MAX));
        wheel_free(w);
    }
    TEST_ASSERT_GREATER_THAN_UINT(50, halted);
}

int main(void)
{
    UNITY_BEGIN();
    wheel_cells_from = (struct wheel_cells_from){{2, 2, 2, 2, 2, 2}};
    RUN_TEST(test_any_single_failing_request_loses_nothing);
    RUN_TEST(test_failing_several_times_in_a_row_loses_nothing);
    RUN_TEST(test_running_out_in_the_middle_of_a_chunk_loses_nothing);
    return UNITY_END();
}
