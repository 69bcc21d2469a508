/* test_fault_io.c: the files that fail when told to: exactly then, exactly so. */
#include "support/fault_io.h"

#include <stdlib.h>

#include "unity.h"

static struct store_io *io;
static struct store_file *f;
static struct mf_error e;

static void ok(int rc)
{
    if (rc != 0)
        TEST_FAIL_MESSAGE(e.text);
}

void setUp(void)
{
    struct store_io *under;
    ok(store_io_memory(&under, &e));
    ok(fault_io_new(&io, under, &e));
    ok(io->open(io, "f", true, &f, &e));
}

void tearDown(void)
{
    io->close(io, f);
    io->free(io);
}

static uint64_t size_of(struct store_file *file)
{
    uint64_t n = 0;
    fault_io_disarm(io);
    ok(io->size(io, file, &n, &e));
    return n;
}

static int put(const char *text, uint64_t at)
{
    return io->pwrite(io, f, text, strlen(text), at, &e);
}

static int count_name(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

/* Every call that can fail, once; returns how many of them failed with `code`. */
static int run_all(int code)
{
    struct store_file *a = NULL, *b = NULL;
    char c;
    uint64_t n;
    int failed = 0, names = 0;

    failed += io->enter(io, &e) == code;
    failed += io->open(io, "a", true, &a, &e) == code;
    failed += io->open(io, "f", false, &b, &e) == code;
    failed += put("x", 0) == code;
    failed += io->pread(io, f, &c, 1, 0, &e) == code;
    failed += io->size(io, f, &n, &e) == code;
    failed += io->truncate(io, f, 1, &e) == code;
    failed += io->sync(io, f, &e) == code;
    const uint8_t *p = io->map(io, f, 1);
    failed += p == NULL;
    failed += io->list(io, count_name, &names, &e) == code;
    failed += io->syncdir(io, &e) == code;
    if (a != NULL) {
        failed += io->rename(io, "a", "b", &e) == code;
        failed += io->unlink(io, failed == 0 ? "b" : "a", &e) == code;
        io->close(io, a);
    }
    if (b != NULL)
        io->close(io, b);
    if (p != NULL)
        io->unmap(io, p, 1);
    io->leave(io);
    return failed;
}

/* What "fail the Nth operation, for every N" rests on: each is met, once, and the loop ends. */
static void test_each_nth_operation_fails_once_and_the_rest_go_on(void)
{
    uint64_t n = 1;

    put("x", 0);
    for (;; n++) {
        fault_io_arm(io, &(struct fault_plan){.nth = n, .code = MF_IO});
        int failed = run_all(MF_IO);
        if (!fault_io_hit(io))
            break;
        TEST_ASSERT_EQUAL_INT(1, failed);
        fault_io_disarm(io);
        io->unlink(io, "a", &e); /* what the failing one left behind */
        io->unlink(io, "b", &e);
    }
    TEST_ASSERT_EQUAL_UINT64(14, n);
    fault_io_disarm(io);
    TEST_ASSERT_EQUAL_INT(0, run_all(MF_IO));
}

static void test_counts_are_by_kind_and_include_failures(void)
{
    TEST_ASSERT_EQUAL_UINT64(1, fault_io_count(io, FAULT_ALL)); /* the create of setUp */
    fault_io_arm(io, &(struct fault_plan){.nth = 2, .kinds = FAULT_WRITE, .code = MF_FULL});
    ok(put("x", 0));
    ok(io->sync(io, f, &e)); /* not of this kind */
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("y", 0));
    TEST_ASSERT_TRUE(fault_io_hit(io));
    ok(put("z", 0));
    TEST_ASSERT_EQUAL_UINT64(3, fault_io_count(io, FAULT_WRITE));
    TEST_ASSERT_EQUAL_UINT64(4, fault_io_count(io, FAULT_WRITE | FAULT_SYNC));
    TEST_ASSERT_EQUAL_UINT64(5, fault_io_count(io, FAULT_MUTATING));
    TEST_ASSERT_EQUAL_UINT64(0, fault_io_count(io, FAULT_READ | FAULT_LIST));
}

static void test_a_broken_disk_stays_broken_until_disarmed(void)
{
    fault_io_arm(
        io, &(struct fault_plan){
                .nth = 2, .kinds = FAULT_SYNC | FAULT_SYNCDIR, .code = MF_IO, .forever = true});
    ok(io->sync(io, f, &e));
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_INT(MF_IO, io->sync(io, f, &e));
        TEST_ASSERT_EQUAL_INT(MF_IO, io->syncdir(io, &e));
        ok(put("x", 0));
    }
    fault_io_disarm(io);
    ok(io->sync(io, f, &e));
    TEST_ASSERT_TRUE(fault_io_hit(io));
}

static void test_a_failed_write_leaves_nothing_or_half_or_all(void)
{
    struct fault_plan p = {.nth = 1, .kinds = FAULT_WRITE, .code = MF_IO};

    fault_io_arm(io, &p);
    TEST_ASSERT_EQUAL_INT(MF_IO, put("abcdef", 0));
    TEST_ASSERT_EQUAL_UINT64(0, size_of(f));
    p.half = true;
    fault_io_arm(io, &p);
    TEST_ASSERT_EQUAL_INT(MF_IO, put("abcdef", 0));
    TEST_ASSERT_EQUAL_UINT64(3, size_of(f));
    p.half = false;
    p.after = true;
    fault_io_arm(io, &p);
    TEST_ASSERT_EQUAL_INT(MF_IO, put("abcdef", 0));
    TEST_ASSERT_EQUAL_UINT64(6, size_of(f));
}

/* A create or rename that was done but reported as failed: the next try meets what it left. */
static void test_a_lost_answer_leaves_the_deed(void)
{
    struct store_file *a = NULL;

    fault_io_arm(io, &(struct fault_plan){.nth = 1, .code = MF_IO, .after = true});
    TEST_ASSERT_EQUAL_INT(MF_IO, io->open(io, "a", true, &a, &e));
    TEST_ASSERT_NULL(a);
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, io->open(io, "a", true, &a, &e));
    fault_io_arm(io, &(struct fault_plan){.nth = 1, .code = MF_IO, .after = true});
    TEST_ASSERT_EQUAL_INT(MF_IO, io->rename(io, "a", "b", &e));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, io->rename(io, "a", "b", &e));
    ok(io->unlink(io, "b", &e));
}

static void test_cold_files_are_not_resident(void)
{
    ok(put("abc", 0));
    const uint8_t *p = io->map(io, f, 3);
    TEST_ASSERT_TRUE(io->resident(io, p, 0, 3));
    fault_io_cold(io, true);
    TEST_ASSERT_FALSE(io->resident(io, p, 0, 3));
    fault_io_cold(io, false);
    TEST_ASSERT_TRUE(io->resident(io, p, 0, 3));
    io->unmap(io, p, 3);
}

/* A full disk takes no growth but every overwrite, and space that comes back can be used: what the
 * store's promise of expiry on a full disk is tested with. */
static void test_a_budget_refuses_growth_only_and_space_returns(void)
{
    struct store_file *g = NULL;

    ok(io->open(io, "g", true, &g, &e));
    ok(io->pwrite(io, g, "12345", 5, 0, &e));
    fault_io_budget(io, 10);
    ok(put("abc", 0));
    TEST_ASSERT_EQUAL_UINT64(8, fault_io_used(io));
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("defg", 3)); /* two of them fit, and are written */
    TEST_ASSERT_EQUAL_UINT64(5, size_of(f));
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("x", 5));
    TEST_ASSERT_EQUAL_INT(MF_FULL, io->truncate(io, f, 6, &e));
    ok(put("ABCDE", 0));
    fault_io_budget(io, 11);
    ok(put("F", 5));
    fault_io_budget(io, 4); /* less than what is there */
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("G", 6));
    ok(put("f", 5));
    fault_io_budget(io, 11);
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("G", 6));
    ok(io->truncate(io, g, 3, &e));
    ok(put("GH", 6));
    TEST_ASSERT_EQUAL_INT(MF_FULL, put("I", 8));
    ok(io->unlink(io, "g", &e));
    ok(put("IJK", 8));
    TEST_ASSERT_EQUAL_UINT64(11, fault_io_used(io));
    fault_io_budget(io, UINT64_MAX);
    ok(put("L", 1000));
    io->close(io, g);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_nth_operation_fails_once_and_the_rest_go_on);
    RUN_TEST(test_counts_are_by_kind_and_include_failures);
    RUN_TEST(test_a_broken_disk_stays_broken_until_disarmed);
    RUN_TEST(test_a_failed_write_leaves_nothing_or_half_or_all);
    RUN_TEST(test_a_lost_answer_leaves_the_deed);
    RUN_TEST(test_cold_files_are_not_resident);
    RUN_TEST(test_a_budget_refuses_growth_only_and_space_returns);
    return UNITY_END();
}
