/* test_check_nomem.c: memory runs out at the 1st, 2nd, 3rd... allocation: `mayfly check` says so
 * and leaks nothing; it never calls a store clean that it could not read.  (Linked with --wrap.) */
#include "support/check_image.h"
#include "support/no_memory.h"

#include <stdlib.h>

#include "unity.h"

static struct log_writer w;

void setUp(void)
{
    lw_init(&w, 65536);
}
void tearDown(void)
{
    memory_disarm();
    lw_fini(&w);
}

static int check_failing_at(int n, struct check_result *res)
{
    struct mf_error e;
    int rc;

    memory_arm(n);
    rc = image_check(&w, res, &e);
    memory_disarm();
    return rc;
}

static void try_all(uint64_t damage)
{
    struct check_result res;
    int n = 0;

    for (;; n++) {
        int rc = check_failing_at(n, &res);

        if (!memory_hit)
            TEST_ASSERT_EQUAL_INT(0, rc);
        else if (rc != 0)
            TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
        /* A hash table that could not grow is slower, not wrong. */
        if (rc == 0) {
            TEST_ASSERT_EQUAL_UINT64(damage, res.damage_count);
            TEST_ASSERT_EQUAL_UINT64(lw_alive(&w), res.live.messages + (damage > 0));
        }
        check_result_fini(&res);
        if (!memory_hit)
            break;
    }
    TEST_ASSERT_GREATER_THAN_INT(10, n);
}

static void sound_store(void)
{
    lw_segment(&w);
    (void)lw_blob(&w, "config", "1", true);
    for (uint64_t s = 1; s <= 300; s++)
        (void)lw_message(&w, s, 0, "key", "b", true);
    (void)lw_commit(&w);
    lw_roll(&w);
    (void)lw_message(&w, 301, 0, "key", "b", true);
    (void)lw_commit(&w);
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    (void)lw_create(&w, "stranger", 1);
}

static void test_any_allocation_may_fail_on_a_sound_store(void)
{
    sound_store();
    try_all(0);
}

static void test_any_allocation_may_fail_on_a_damaged_store(void)
{
    sound_store();
    lw_segment_file(&w, 1)->data[8200] ^= 1;
    try_all(1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_any_allocation_may_fail_on_a_sound_store);
    RUN_TEST(test_any_allocation_may_fail_on_a_damaged_store);
    return UNITY_END();
}
