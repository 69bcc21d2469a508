/* test_array.c: arrays grow by doubling, keep their items, and refuse sizes that overflow. */
#include "base/array.h"

#include <stdlib.h>

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_items_stay_while_the_array_grows(void)
{
    uint64_t *v = NULL;
    size_t cap = 0, moves = 0;

    for (size_t n = 0; n < 10000; n++) {
        size_t before = cap;
        TEST_ASSERT_EQUAL(0, mf_array_reserve(&v, &cap, n + 1, sizeof *v));
        moves += cap != before;
        v[n] = n * n;
    }
    for (size_t n = 0; n < 10000; n++)
        TEST_ASSERT_EQUAL_UINT64(n * n, v[n]);
    TEST_ASSERT_EQUAL(12, moves); /* 8, 16, ... 16384: doubling, so O(n) in all */
    free(v);
}

static void test_a_large_need_is_met_at_once(void)
{
    uint16_t *v = NULL;
    size_t cap = 0;

    TEST_ASSERT_EQUAL(0, mf_array_reserve(&v, &cap, 1000, sizeof *v));
    TEST_ASSERT_EQUAL(1024, cap);
    TEST_ASSERT_EQUAL(0, mf_array_reserve(&v, &cap, 1024, sizeof *v));
    TEST_ASSERT_EQUAL(1024, cap);
    free(v);
}

static void test_an_impossible_need_changes_nothing(void)
{
    uint64_t *v = NULL, *same;
    size_t cap = 0;

    TEST_ASSERT_EQUAL(0, mf_array_reserve(&v, &cap, 1, sizeof *v));
    v[0] = 7;
    same = v;
    TEST_ASSERT_EQUAL(MF_NOMEM, mf_array_reserve(&v, &cap, SIZE_MAX, sizeof *v));
    TEST_ASSERT_EQUAL(MF_NOMEM, mf_array_reserve(&v, &cap, SIZE_MAX / 8, sizeof *v));
    TEST_ASSERT_EQUAL_PTR(same, v);
    TEST_ASSERT_EQUAL(8, cap);
    TEST_ASSERT_EQUAL_UINT64(7, v[0]);
    free(v);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_items_stay_while_the_array_grows);
    RUN_TEST(test_a_large_need_is_met_at_once);
    RUN_TEST(test_an_impossible_need_changes_nothing);
    return UNITY_END();
}
