/* test_lend.c: scratch buffers that are lent: nested takers, and the check of shared ones. */
#include "base/lend.h"

#include <stdlib.h>
#include <unity.h>

#if LEND_CHECKED
#include <sanitizer/asan_interface.h>
#endif

void setUp(void)
{
}
void tearDown(void)
{
    lend_fini();
}

/* A nested call must not write into what the outer one lends. */
static void test_a_nested_taker_gets_another_buffer(void)
{
    struct mf_buf *outer = lend_take(), *inner;

    mf_buf_puts(outer, "outer");
    inner = lend_take();
    TEST_ASSERT_TRUE(inner != outer);
    mf_buf_puts(inner, "inner, and longer than that");
    lend_give(inner);
    TEST_ASSERT_EQUAL_STRING("outer", mf_buf_cstr(outer));
    lend_give(outer);
    lend_give(NULL);
}

/* The ordinary path takes no memory: the next taker gets the same buffer with its room. */
static void test_a_buffer_that_was_given_back_is_taken_again_with_its_room(void)
{
    struct mf_buf *b = lend_take();
    uint8_t *room = mf_buf_reserve(b, 5000);

    b->len = 10;
    lend_give(b);
    TEST_ASSERT_EQUAL_PTR(b, lend_take());
    TEST_ASSERT_EQUAL_UINT(0, b->len);
    TEST_ASSERT_EQUAL_PTR(room, mf_buf_reserve(b, 5000));
    lend_give(b);
}

static void test_a_failed_buffer_is_whole_for_the_next_taker(void)
{
    struct mf_buf *b = lend_take();

    b->failed = true;
    lend_give(b);
    TEST_ASSERT_EQUAL_PTR(b, lend_take());
    TEST_ASSERT_FALSE(mf_buf_failed(b));
    lend_give(b);
}

/* One large message must not keep its memory for good. */
static void test_a_large_buffer_gives_its_memory_back(void)
{
    struct mf_buf *b = lend_take();

    TEST_ASSERT_NOT_NULL(mf_buf_reserve(b, 3 << 20));
    lend_give(b);
    b = lend_take();
    TEST_ASSERT_EQUAL_UINT(0, b->cap);
    lend_give(b);
}

static void test_deep_nesting_gives_all_back(void)
{
    struct mf_buf *b[100];

    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MF_COUNT(b); i++) {
            b[i] = lend_take();
            mf_buf_puts(b[i], "x");
            TEST_ASSERT_EQUAL_UINT(1, b[i]->len);
        }
        for (size_t i = MF_COUNT(b); i > 0; i--)
            lend_give(b[i - 1]);
    }
}

#if LEND_CHECKED
static void publish(void)
{
    lend_enter();
    lend_leave();
    lend_idle();
}

static void test_what_was_given_back_must_not_be_read(void)
{
    struct mf_buf *b = lend_take();

    mf_buf_puts(b, "mine");
    lend_give(b);
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(b->ptr));
    TEST_ASSERT_EQUAL_PTR(b, lend_take());
    TEST_ASSERT_FALSE(__asan_address_is_poisoned(b->ptr));
    lend_give(b);
}

static void test_shared_bytes_must_not_be_read_after_a_publish(void)
{
    struct mf_buf shared = MF_BUF_INIT;

    mf_buf_puts(&shared, "for the length of a call");
    publish(); /* before they are lent */
    struct mf_slice s = lend_slice(&shared);
    TEST_ASSERT_FALSE(__asan_address_is_poisoned(s.ptr));
    publish();
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(s.ptr));
    lend_clear(&shared);
    TEST_ASSERT_FALSE(__asan_address_is_poisoned(s.ptr));
    mf_buf_puts(&shared, "again");
    publish();
    TEST_ASSERT_FALSE(__asan_address_is_poisoned(s.ptr));
    mf_buf_fini(&shared);
}

/* Else the memory of somebody else would be poisoned, who gets it from malloc() next. */
static void test_a_mark_that_is_taken_off_poisons_nothing(void)
{
    uint8_t *p = calloc(1, 100);

    lend_mark(p + 10, 50);
    lend_unmark(p, 100);
    publish();
    for (size_t i = 0; i < 100; i++)
        TEST_ASSERT_FALSE(__asan_address_is_poisoned(p + i));
    free(p);
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_nested_taker_gets_another_buffer);
    RUN_TEST(test_a_buffer_that_was_given_back_is_taken_again_with_its_room);
    RUN_TEST(test_a_failed_buffer_is_whole_for_the_next_taker);
    RUN_TEST(test_a_large_buffer_gives_its_memory_back);
    RUN_TEST(test_deep_nesting_gives_all_back);
#if LEND_CHECKED
    RUN_TEST(test_what_was_given_back_must_not_be_read);
    RUN_TEST(test_shared_bytes_must_not_be_read_after_a_publish);
    RUN_TEST(test_a_mark_that_is_taken_off_poisons_nothing);
#endif
    return UNITY_END();
}
