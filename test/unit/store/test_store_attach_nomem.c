/* test_store_attach_nomem.c: a store that finds no memory to live on its loop is closed like any.
 */
#include "support/no_memory.h"

#include "store/store.h"

#include "unity.h"

static struct loop *loop;

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    loop_jobs_inline(loop);
}

void tearDown(void)
{
    loop_free(loop);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

/* A stream is opened while memory is short: nothing of it is written, nothing of it stays. */
static void test_a_store_that_could_not_be_attached_is_closed(void)
{
    bool failed = true;

    for (long n = 1; failed; n++) {
        struct store_opts o = {.name = "test"};
        struct store_io *files;
        struct store *s;
        struct mf_error e;
        bool closed = false;

        TEST_ASSERT_EQUAL_INT(0, store_io_memory(&files, NULL));
        TEST_ASSERT_EQUAL_INT(0, store_open(&s, &o, files, &e));
        fail_at = allocations + n;
        int rc = store_attach(s, loop, &e);
        failed = allocations >= fail_at;
        fail_at = 0;
        TEST_ASSERT_TRUE(rc == 0 || (failed && rc == MF_NOMEM));
        store_close(s, on_closed, &closed);
        for (int i = 0; i < 1000 && !closed; i++)
            loop_turn(loop);
        TEST_ASSERT_TRUE(closed);
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_store_that_could_not_be_attached_is_closed);
    return UNITY_END();
}
