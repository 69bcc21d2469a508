/* test_pool.c: a free list. */
#include "base/pool.h"

#include "unity.h"

struct item {
    int value;
    struct mf_spare spare;
};

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_an_empty_pool_gives_nothing(void)
{
    struct mf_pool p = MF_POOL_INIT(2);

    TEST_ASSERT_NULL(mf_pool_take(&p));
}

static void test_the_last_object_given_is_taken_first(void)
{
    struct mf_pool p = MF_POOL_INIT(2);
    struct item a = {.value = 1}, b = {.value = 2};

    TEST_ASSERT_TRUE(mf_pool_give(&p, &a.spare));
    TEST_ASSERT_TRUE(mf_pool_give(&p, &b.spare));
    TEST_ASSERT_EQUAL(2, mf_container(mf_pool_take(&p), struct item, spare)->value);
    TEST_ASSERT_EQUAL(1, mf_container(mf_pool_take(&p), struct item, spare)->value);
    TEST_ASSERT_NULL(mf_pool_take(&p));
}

/* A burst must not keep its memory for ever. */
static void test_a_full_pool_refuses_objects(void)
{
    struct mf_pool p = MF_POOL_INIT(1);
    struct item a = {.value = 1}, b = {.value = 2};

    TEST_ASSERT_TRUE(mf_pool_give(&p, &a.spare));
    TEST_ASSERT_FALSE(mf_pool_give(&p, &b.spare));
    TEST_ASSERT_EQUAL_PTR(&a.spare, mf_pool_take(&p));
    TEST_ASSERT_TRUE(mf_pool_give(&p, &b.spare));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_empty_pool_gives_nothing);
    RUN_TEST(test_the_last_object_given_is_taken_first);
    RUN_TEST(test_a_full_pool_refuses_objects);
    return UNITY_END();
}
