/* test_store_keys_nomem.c: memory runs out while keys are added: nothing changed, nothing is lost.
 * (Linked with --wrap for the allocator.) */
#include "store/keys/keys_impl.h"

#define NO_MEMORY_ALIGNED
#define NO_MEMORY_MMAP
#include "support/keys_get.h"
#include "support/no_memory.h"

#include "unity.h"

#include <limits.h>
#include <stdio.h>

static struct keys *k;

void setUp(void)
{
    memory_also = LONG_MAX; /* what gives memory back must not need any */
    k = keys_new('.');
    TEST_ASSERT_NOT_NULL(k);
}
void tearDown(void)
{
    memory_disarm();
    keys_free(k);
    k = NULL;
}

/* The Nth allocation and all after it fail, for every N, while keys of many shapes are added: the
 * set is as it was, and the same add works when memory is back. */
static void test_out_of_memory_changes_nothing(void)
{
    char text[64];
    uint32_t id[600];
    int faults = 0;

    for (unsigned i = 0; i < 600; i++) {
        int n = snprintf(text, sizeof text, "%.*s.%u.%u.end", (int)(i % 40),
                         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", i % 13, i);
        struct mf_slice key = mf_slice(text, (size_t)n);
        size_t used = k->table.used;
        bool added = false;
        for (int nth = 0; !added; nth++) {
            int rc;
            memory_arm(nth);
            id[i] = 12345;
            rc = keys_get(k, key, &id[i]);
            memory_disarm();
            TEST_ASSERT_EQUAL_INT(memory_hit ? MF_NOMEM : 0, rc);
            added = rc == 0;
            faults += !added;
            if (!added) {
                TEST_ASSERT_EQUAL_UINT32(12345, id[i]);
                TEST_ASSERT_EQUAL_UINT32(i, keys_count(k));
                TEST_ASSERT_EQUAL_UINT32(used, k->table.used);
                TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_find(k, key));
                keys_check(k);
            }
        }
    }
    keys_check(k);
    TEST_ASSERT_GREATER_THAN_INT(40, faults);
    memory_arm(0); /* deleting needs no memory, and shrinking waits for it */
    for (unsigned i = 0; i < 590; i++)
        keys_del(k, id[i]);
    TEST_ASSERT_TRUE(memory_hit);
    memory_disarm();
    keys_check(k);
    TEST_ASSERT_EQUAL_UINT32(10, keys_count(k));
}

/* The same for a set with blocks and chunks of full size, where an addition seldom needs memory. */
static void test_out_of_memory_while_a_large_set_grows_changes_nothing(void)
{
    unsigned faults = 0;

    for (unsigned i = 0; i < 30000; i++) {
        char text[32];
        uint32_t id;
        snprintf(text, sizeof text, "large.%08u", i);
        memory_arm(0);
        if (keys_get(k, mf_str(text), &id) == 0)
            continue;
        TEST_ASSERT_TRUE(memory_hit);
        memory_disarm();
        keys_check(k);
        TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_find(k, mf_str(text)));
        TEST_ASSERT_EQUAL_INT(0, keys_get(k, mf_str(text), &id));
        faults++;
    }
    memory_disarm();
    TEST_ASSERT_EQUAL_UINT32(30000, keys_count(k));
    TEST_ASSERT_GREATER_THAN_UINT32(20, faults);
    keys_check(k);
}

static void test_out_of_memory_makes_no_set_and_no_walk(void)
{
    memory_hit = true;
    for (int nth = 0; memory_hit; nth++) {
        struct keys *other;
        memory_arm(nth);
        other = keys_new('.');
        memory_disarm();
        TEST_ASSERT_EQUAL_INT(memory_hit, other == NULL);
        keys_free(other);
    }
    memory_arm(0);
    TEST_ASSERT_NULL(keys_walk_new(k, MF_LIT("a.>")));
    TEST_ASSERT_EQUAL_INT(MF_NOMEM, keys_reserve(k, 100000));
    memory_disarm();
    keys_check(k);
    keys_free(NULL);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_out_of_memory_changes_nothing);
    RUN_TEST(test_out_of_memory_while_a_large_set_grows_changes_nothing);
    RUN_TEST(test_out_of_memory_makes_no_set_and_no_walk);
    return UNITY_END();
}
