/* test_table.c: the hash table of embedded nodes, against a plain array as its model. */
#include "base/table.h"

#include "base/msort.h"
#include "base/rand.h"

#include <stdlib.h>

#include "unity.h"

enum { NODES = 500, HASHES = 40 };

struct item {
    struct table_node node;
    bool in;
};

static struct table t;
static struct item items[NODES];

void setUp(void)
{
    t = (struct table){.slot = NULL};
    memset(items, 0, sizeof items);
}

void tearDown(void)
{
    table_fini(&t);
}

/* Few hashes, so that every chain has several nodes, equal and unequal ones; spread over all bits.
 */
static uint64_t hash_of(size_t i)
{
    return (i % HASHES) * 0x9e3779b97f4a7c15u;
}

/* Every node of the model is found under its hash exactly once, and nothing else is. */
static void check_table(void)
{
    size_t count = 0;

    for (size_t h = 0; h < HASHES; h++) {
        size_t expect = 0, found = 0;
        for (size_t i = h; i < NODES; i += HASHES)
            expect += items[i].in;
        struct table_node *n = table_first(&t, hash_of(h));
        for (; n != NULL; n = table_next(n)) {
            TEST_ASSERT_TRUE(n->hash == hash_of(h));
            TEST_ASSERT_TRUE(mf_container(n, struct item, node)->in);
            found++;
        }
        TEST_ASSERT_EQUAL_size_t(expect, found);
        count += expect;
    }
    TEST_ASSERT_EQUAL_size_t(count, t.count);
    TEST_ASSERT_TRUE((t.half & (t.half - 1)) == 0);
    TEST_ASSERT_TRUE(t.half <= t.cap && (t.cap == 0 || t.cap < 2 * t.half));
}

static void flip(size_t i)
{
    if (items[i].in)
        table_del(&t, &items[i].node);
    else
        TEST_ASSERT_EQUAL(0, table_add(&t, &items[i].node, hash_of(i)));
    items[i].in = !items[i].in;
}

static void test_empty_table_finds_nothing_and_owns_no_memory(void)
{
    size_t start = 0;

    TEST_ASSERT_NULL(table_first(&t, 0));
    TEST_ASSERT_NULL(table_any(&t, &start));
    flip(0);
    TEST_ASSERT_NOT_NULL(t.slot);
    flip(0);
    TEST_ASSERT_NULL(t.slot);
    TEST_ASSERT_NULL(table_first(&t, hash_of(0)));
}

static void test_random_additions_and_deletions_agree_with_an_array(void)
{
    for (int step = 0; step < 5000; step++) {
        flip(rand_below(NODES));
        if (step % 50 == 0)
            check_table();
    }
    check_table();
}

/* Memory follows the number of nodes in both directions. */
static void test_table_grows_and_shrinks_with_its_nodes(void)
{
    for (size_t i = 0; i < NODES; i++)
        flip(i);
    check_table();
    TEST_ASSERT_TRUE(t.cap >= NODES / 2 && t.cap <= 2 * NODES);
    for (size_t i = 3; i < NODES; i++)
        flip(i);
    check_table();
    TEST_ASSERT_TRUE(t.cap <= 64);
}

/* A table of a million nodes must not be moved in one call: each moves a few slots at most. */
static void test_a_single_call_adds_or_joins_few_slots(void)
{
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < NODES; i++) {
            size_t before = t.cap;
            flip(i);
            TEST_ASSERT_TRUE(before == 0 || t.cap == 0 || t.cap <= before + 1);
            TEST_ASSERT_TRUE(t.cap == 0 || t.cap + 4 >= before);
        }
}

static void test_any_node_serves_to_empty_the_table(void)
{
    size_t start = 0, n = 0;
    struct table_node *node;

    for (size_t i = 0; i < NODES; i++)
        flip(i);
    while ((node = table_any(&t, &start)) != NULL) {
        flip((size_t)(mf_container(node, struct item, node) - items));
        n++;
    }
    TEST_ASSERT_EQUAL_size_t(NODES, n);
    check_table();
}

/* --- in pieces, while it changes -------------------------------------------------------------- */

static unsigned seen[NODES];

static void see(void *arg, struct table_node *n)
{
    (void)arg;
    seen[mf_container(n, struct item, node) - items]++;
}

/* Every third node stays; the others come and go in crowds, so that the table grows and shrinks. */
static void crowd(bool add)
{
    for (size_t i = 0; i < NODES; i++) {
        if (i % 3 == 0 || items[i].in == add)
            continue;
        if (add)
            TEST_ASSERT_EQUAL_INT(0, table_add(&t, &items[i].node, i * 0x9e3779b97f4a7c15u));
        else
            table_del(&t, &items[i].node);
        items[i].in = add;
    }
}

static void test_a_scan_visits_what_stays_exactly_once(void)
{
    for (int first = 0; first < 2; first++)
        for (unsigned every = 1; every < 40; every++) {
            struct table_scan s;
            unsigned pieces = 0;
            setUp();
            memset(seen, 0, sizeof seen);
            for (size_t i = 0; i < NODES; i += 3)
                TEST_ASSERT_EQUAL_INT(0, table_add(&t, &items[i].node, i * 0x9e3779b97f4a7c15u));
            crowd(first != 0);
            table_scan_begin(&s, &t);
            while (table_scan(&t, &s, see, NULL))
                if (++pieces % every == 0)
                    crowd((pieces / every + (unsigned)first) % 2 == 1);
            for (size_t i = 0; i < NODES; i++)
                TEST_ASSERT_TRUE(i % 3 == 0 ? seen[i] == 1 : seen[i] <= pieces);
            table_fini(&t);
        }
}

static int by_ten(const void *a, const void *b)
{
    return *(const int *)a / 10 - *(const int *)b / 10;
}

/* Stable, for any number of elements and any length of its steps. */
static void test_a_sort_in_steps_is_stable(void)
{
    for (size_t n = 0; n < 70; n++) {
        int *at = malloc((n + 1) * sizeof *at);
        struct msort s;
        unsigned steps = 0;
        TEST_ASSERT_NOT_NULL(at);
        for (size_t i = 0; i < n; i++)
            at[i] = (int)(i * 7 % 5 * 10 + i / 10);
        TEST_ASSERT_EQUAL_INT(0, msort_init(&s, at, n, sizeof *at, by_ten));
        while (msort_step(&s, 1 + (unsigned)n % 5))
            TEST_ASSERT_LESS_THAN_UINT(1000, ++steps);
        at = msort_take(&s);
        for (size_t i = 1; i < n; i++)
            TEST_ASSERT_LESS_OR_EQUAL_INT(at[i], at[i - 1]);
        free(at);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_table_finds_nothing_and_owns_no_memory);
    RUN_TEST(test_random_additions_and_deletions_agree_with_an_array);
    RUN_TEST(test_table_grows_and_shrinks_with_its_nodes);
    RUN_TEST(test_a_single_call_adds_or_joins_few_slots);
    RUN_TEST(test_any_node_serves_to_empty_the_table);
    RUN_TEST(test_a_scan_visits_what_stays_exactly_once);
    RUN_TEST(test_a_sort_in_steps_is_stable);
    return UNITY_END();
}
