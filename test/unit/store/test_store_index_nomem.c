/* test_store_index_nomem.c: memory runs out at the 1st, 2nd, 3rd... allocation of a script.  What
 * failed left the index as it was; tried again, it works; removing never fails.  (Linked with
 * --wrap for the allocator.) */
#include "store/index/index.h"
#include "store/log/record.h"

#define NO_MEMORY_ALIGNED
#include "support/no_memory.h"

#include "unity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
    memory_also = 0;
}
void tearDown(void)
{
    memory_disarm();
}

/* What can be asked, in one number: if it is the same, nothing changed. */
static uint64_t digest(const struct index *ix)
{
    uint64_t sum = index_count(ix) * 31 + index_deadlines(ix) * 17 + keys_count(index_keys(ix));

    index_check(ix);
    for (uint32_t id = index_next(ix, 0); id != INDEX_NONE;
         id = index_next(ix, index_seq(ix, id) + 1)) {
        sum = sum * 1099511628211u + index_seq(ix, id);
        sum = sum * 1099511628211u + index_place(ix, id);
        sum = sum * 1099511628211u + (uint64_t)index_deadline(ix, id);
        sum = sum * 1099511628211u + index_key_count(ix, index_key(ix, id));
    }
    return sum;
}

static struct mf_slice key_of(uint64_t n, char dst[32])
{
    return mf_slice(dst, (size_t)snprintf(dst, 32, "p.%llu.k", (unsigned long long)n));
}

static uint64_t sequence(uint64_t i)
{
    return i + (i / 50) * 70000 + (i / 400) * (UINT64_C(1) << 33);
}

/* One step that may fail; if it does, nothing has changed, and the second try does it. */
static bool failed;
static void must_change_nothing(struct index *ix, uint64_t before)
{
    memory_disarm();
    failed = true;
    TEST_ASSERT_EQUAL_UINT64(before, digest(ix));
}

static void add(struct index *ix, uint64_t i)
{
    char text[32];
    uint32_t id;
    uint64_t before = memory_left() >= 0 && memory_left() < 12 ? digest(ix) : 0;
    int rc = index_add(ix, sequence(i), key_of(i % 300, text), i, 5000 + (int64_t)i, &id);

    if (rc == 0)
        return;
    TEST_ASSERT_EQUAL(MF_NOMEM, rc);
    must_change_nothing(ix, before);
    TEST_ASSERT_EQUAL(0,
                      index_add(ix, sequence(i), key_of(i % 300, text), i, 5000 + (int64_t)i, &id));
}

static void redeadline(struct index *ix, uint64_t i, int64_t deadline)
{
    uint32_t id = index_find(ix, sequence(i));
    uint64_t before = memory_left() >= 0 && memory_left() < 12 ? digest(ix) : 0;

    if (index_set_deadline(ix, id, deadline) == 0)
        return;
    must_change_nothing(ix, before);
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, deadline));
}

#define N 550

/* Returns whether the armed failure was met. */
static bool run_script(struct index *ix)
{
    failed = false;
    for (uint64_t i = 1; i <= N; i++)
        add(ix, i);
    for (uint64_t i = 1; i <= N; i++)
        redeadline(ix, i, (int64_t)(i * 1000003 % 250 + 1) << 28); /* a chunk of the wheel each */
    for (uint64_t i = 1; i <= N; i++)
        if (i % 9 != 0)
            index_remove(ix, index_find(ix, sequence(i)));
    bool met = failed || memory_hit;
    memory_disarm();
    index_check(ix);
    TEST_ASSERT_EQUAL_size_t(N / 9, index_count(ix));
    return met;
}

static void test_any_failed_allocation_changes_nothing(void)
{
    bool met = true;
    long n;

    for (n = 0; met; n++) {
        struct index *ix = index_new('.', 1000);
        TEST_ASSERT_NOT_NULL(ix);
        memory_arm(n);
        met = run_script(ix);
        index_free(ix);
    }
    TEST_ASSERT_GREATER_THAN(20, n);
}

/* No memory at all any more: all messages can still be removed. */
static void test_removing_needs_no_memory(void)
{
    memory_also = LONG_MAX;
    struct index *ix = index_new('.', 1000);
    for (uint64_t i = 1; i <= N; i++)
        add(ix, i);
    memory_arm(0);
    for (uint64_t i = 1; i <= N; i++)
        index_remove(ix, index_find(ix, sequence(i)));
    memory_disarm();
    index_check(ix);
    TEST_ASSERT_EQUAL_size_t(0, index_count(ix));
    index_free(ix);
}

/* Ascending, then old ones in between, with removals: every way into a block. */
static uint64_t load_sequence(uint64_t i)
{
    return i <= N / 2 ? sequence(i * 2) : sequence((N - i) * 2 + 1);
}

static int load_one(struct index *ix, uint64_t i)
{
    char text[32];

    return index_load_put(ix, load_sequence(i), key_of(i % 300, text), i, 5000 + (int64_t)i, 0);
}

/* 0, or the error of the end: then only freeing is left. */
static int load_script(struct index *ix)
{
    struct record_mark gone = {.time_ns = 5100, .seq = 1};

    if (index_load_begin(ix) != 0) {
        memory_disarm();
        failed = true;
        TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    }
    for (uint64_t i = 1; i <= N; i++) {
        if (load_one(ix, i) != 0) {
            memory_disarm();
            failed = true;
            index_check(ix);
            TEST_ASSERT_EQUAL(0, load_one(ix, i));
        }
        if (i % 7 == 0)
            index_load_del(ix, load_sequence(i), load_sequence(i));
    }
    return index_load_end(ix, &gone, NULL, NULL);
}

static void test_any_failed_allocation_while_loading_loses_nothing(void)
{
    uint64_t want = 0;
    bool met = true;

    for (long n = -1; met; n++) { /* -1: the run without failure, to compare with */
        struct index *ix = index_new('.', 1000);
        TEST_ASSERT_NOT_NULL(ix);
        failed = false;
        memory_arm(n);
        int rc = load_script(ix);
        met = failed || memory_hit || n < 0;
        memory_disarm();
        if (rc == 0) {
            want = n < 0 ? digest(ix) : want;
            TEST_ASSERT_EQUAL_UINT64(want, digest(ix));
        } else {
            TEST_ASSERT_EQUAL(MF_NOMEM, rc);
        }
        index_free(ix);
    }
}

static void test_making_an_index_fails_cleanly(void)
{
    struct index *ix = NULL;

    for (long n = 0; ix == NULL; n++) {
        memory_arm(n);
        ix = index_new('.', 0);
        TEST_ASSERT_TRUE(ix != NULL || memory_hit);
    }
    memory_disarm();
    index_free(ix);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_making_an_index_fails_cleanly);
    RUN_TEST(test_any_failed_allocation_changes_nothing);
    RUN_TEST(test_removing_needs_no_memory);
    RUN_TEST(test_any_failed_allocation_while_loading_loses_nothing);
    return UNITY_END();
}
