/* test_grants.c: who may answer a request, how often and how long. */
#include "session/grants.h"

#include "unity.h"

#include <stdio.h>

static struct grants g;

void setUp(void)
{
    grants_init(&g);
}
void tearDown(void)
{
    grants_fini(&g);
}

static void test_a_subject_is_granted_as_often_as_said(void)
{
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("r"), 0));
    grants_add(&g, mf_str("r"), 2, 0, 0);
    TEST_ASSERT_TRUE(grants_use(&g, mf_str("r"), 1));
    TEST_ASSERT_TRUE(grants_use(&g, mf_str("r"), 2));
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("r"), 3));
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("other"), 3));
}

static void test_without_a_limit_only_time_ends_a_grant(void)
{
    grants_add(&g, mf_str("r"), -1, 100, 1000);
    for (int i = 0; i < 10; i++)
        TEST_ASSERT_TRUE(grants_use(&g, mf_str("r"), 1099));
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("r"), 1100));
}

/* The same request again is a new grant, not a second one. */
static void test_a_second_grant_replaces_the_first(void)
{
    grants_add(&g, mf_str("r"), 1, 100, 0);
    grants_add(&g, mf_str("r"), 1, 100, 50);
    TEST_ASSERT_EQUAL_UINT(1, g.table.count);
    TEST_ASSERT_TRUE(grants_use(&g, mf_str("r"), 149));
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("r"), 149));
}

/* A peer that never answers holds a bounded number of grants. */
static void test_too_many_grants_drop_the_oldest(void)
{
    char subject[32];

    for (int i = 0; i < GRANTS_MAX + 10; i++) {
        snprintf(subject, sizeof subject, "r.%d", i);
        grants_add(&g, mf_str(subject), 1, 0, 0);
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT(GRANTS_MAX + 1, g.table.count);
    TEST_ASSERT_FALSE(grants_use(&g, mf_str("r.0"), 0));
    TEST_ASSERT_TRUE(grants_use(&g, mf_str(subject), 0));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_subject_is_granted_as_often_as_said);
    RUN_TEST(test_without_a_limit_only_time_ends_a_grant);
    RUN_TEST(test_a_second_grant_replaces_the_first);
    RUN_TEST(test_too_many_grants_drop_the_oldest);
    return UNITY_END();
}
