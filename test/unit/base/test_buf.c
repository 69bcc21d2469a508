/* test_buf.c: growable bytes, and what happens when they cannot grow. */
#include "base/buf.h"

#include <stdio.h>

#include "unity.h"

static struct mf_buf b;

void setUp(void)
{
    b = MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&b);
}

static void test_empty_buffer_reads_as_the_empty_string(void)
{
    TEST_ASSERT_EQUAL_STRING("", mf_buf_cstr(&b));
    TEST_ASSERT_EQUAL_size_t(0, b.len);
    mf_buf_append(&b, NULL, 0);
    mf_buf_puts(&b, "");
    mf_buf_printf(&b, "%s", "");
    mf_buf_consume(&b, 0);
    TEST_ASSERT_EQUAL_size_t(0, mf_buf_slice(&b).len);
    TEST_ASSERT_FALSE(mf_buf_failed(&b));
}

static void test_bytes_stay_in_order_while_the_buffer_grows(void)
{
    for (int i = 0; i < 5000; i++) {
        mf_buf_byte(&b, (uint8_t)i);
        mf_buf_append(&b, "xy", 2);
    }
    TEST_ASSERT_EQUAL_size_t(15000, b.len);
    for (size_t i = 0; i < 5000; i++) {
        TEST_ASSERT_EQUAL_HEX8((uint8_t)i, b.ptr[3 * i]);
        TEST_ASSERT_EQUAL_MEMORY("xy", b.ptr + 3 * i + 1, 2);
    }
}

/* The formatted text meets every amount of room that may be left, exact fit included. */
static void test_formatted_text_of_any_length_fits_at_any_fill(void)
{
    char expect[512];

    for (int fill = 0; fill < 130; fill++)
        for (int width = 0; width < 130; width++) {
            mf_buf_fini(&b);
            for (int i = 0; i < fill; i++)
                mf_buf_byte(&b, '.');
            mf_buf_printf(&b, "%*d|", width, 7);
            int n = snprintf(expect, sizeof expect, "%*d|", width, 7);
            TEST_ASSERT_EQUAL_size_t((size_t)fill + (size_t)n, b.len);
            TEST_ASSERT_EQUAL_STRING(expect, mf_buf_cstr(&b) + fill);
        }
}

static void test_end_of_string_is_not_counted(void)
{
    mf_buf_append(&b, "abc", 3);
    TEST_ASSERT_EQUAL_STRING("abc", mf_buf_cstr(&b));
    TEST_ASSERT_EQUAL_size_t(3, b.len);
    mf_buf_puts(&b, "def");
    TEST_ASSERT_EQUAL_STRING("abcdef", mf_buf_cstr(&b));
}

static void test_reserved_room_is_used_by_setting_the_length(void)
{
    uint8_t *to = mf_buf_reserve(&b, 1000);

    TEST_ASSERT_NOT_NULL(to);
    TEST_ASSERT_TRUE(b.cap >= 1000);
    memset(to, 'r', 1000);
    b.len += 1000;
    TEST_ASSERT_EQUAL_PTR(b.ptr + 1000, mf_buf_reserve(&b, 0));
    TEST_ASSERT_EQUAL_HEX8('r', b.ptr[999]);
}

static void test_consumed_bytes_are_gone_and_the_rest_moves_up(void)
{
    mf_buf_puts(&b, "0123456789");
    mf_buf_consume(&b, 4);
    TEST_ASSERT_EQUAL_STRING("456789", mf_buf_cstr(&b));
    mf_buf_consume(&b, 6);
    TEST_ASSERT_EQUAL_STRING("", mf_buf_cstr(&b));
}

/* A renderer checks once, at its end: whatever it appends after the failure must do nothing. */
static void test_running_out_of_memory_is_sticky_until_cleared(void)
{
    mf_buf_puts(&b, "kept");
    TEST_ASSERT_NULL(mf_buf_reserve(&b, SIZE_MAX));
    TEST_ASSERT_TRUE(mf_buf_failed(&b));
    mf_buf_puts(&b, "lost");
    mf_buf_byte(&b, '!');
    mf_buf_printf(&b, "%d", 1);
    TEST_ASSERT_NULL(mf_buf_reserve(&b, 1));
    TEST_ASSERT_EQUAL_size_t(4, b.len);
    TEST_ASSERT_EQUAL_STRING("", mf_buf_cstr(&b));
    mf_buf_clear(&b);
    mf_buf_puts(&b, "new");
    TEST_ASSERT_FALSE(mf_buf_failed(&b));
    TEST_ASSERT_EQUAL_STRING("new", mf_buf_cstr(&b));
}

static void test_finished_buffer_may_be_used_again(void)
{
    mf_buf_puts(&b, "one");
    mf_buf_fini(&b);
    TEST_ASSERT_NULL(b.ptr);
    mf_buf_puts(&b, "two");
    TEST_ASSERT_EQUAL_STRING("two", mf_buf_cstr(&b));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_buffer_reads_as_the_empty_string);
    RUN_TEST(test_bytes_stay_in_order_while_the_buffer_grows);
    RUN_TEST(test_formatted_text_of_any_length_fits_at_any_fill);
    RUN_TEST(test_end_of_string_is_not_counted);
    RUN_TEST(test_reserved_room_is_used_by_setting_the_length);
    RUN_TEST(test_consumed_bytes_are_gone_and_the_rest_moves_up);
    RUN_TEST(test_running_out_of_memory_is_sticky_until_cleared);
    RUN_TEST(test_finished_buffer_may_be_used_again);
    return UNITY_END();
}
