/* test_decimal.c: sums of whole numbers as text, against C's own arithmetic and beyond it. */
#include "stream/decimal_impl.h"
#include "support/pick.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}
void tearDown(void)
{
}

static struct decimal number(const char *text)
{
    struct decimal d;

    TEST_ASSERT_TRUE_MESSAGE(decimal_parse(mf_str(text), &d), text);
    return d;
}

static void assert_sum(const char *a, const char *b, const char *sum)
{
    struct mf_buf out = MF_BUF_INIT;

    TEST_ASSERT_EQUAL_INT(0, decimal_add(&out, number(a), number(b)));
    TEST_ASSERT_EQUAL_STRING(sum, mf_buf_cstr(&out));
    mf_buf_fini(&out);
}

/* What a client may write in Nats-Incr, no more: one wrong character accepted would corrupt a
 * counter for good. */
static void test_only_a_sign_and_digits_are_a_number(void)
{
    static const char *const bad[] = {"",   "+",   "-",   "1.5", "0x1", "1_0", " 1",
                                      "1 ", "--1", "+-1", "1e3", "-+1", "a"};
    struct decimal d;

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_FALSE_MESSAGE(decimal_parse(mf_str(bad[i]), &d), bad[i]);
    TEST_ASSERT_TRUE(mf_eq_str(number("+007").digits, "7"));
    TEST_ASSERT_TRUE(number("-1").negative);
    TEST_ASSERT_TRUE(mf_eq_str(number("-000").digits, "0"));
}

/* "-0" in an ack would not compare equal to "0". */
static void test_zero_is_never_negative(void)
{
    TEST_ASSERT_FALSE(number("-0").negative);
    assert_sum("-0", "0", "0");
    assert_sum("-5", "5", "0");
    assert_sum("5", "-5", "0");
}

static void test_carries_and_borrows_run_through_all_digits(void)
{
    assert_sum("99999999999999999999999999", "1", "100000000000000000000000000");
    assert_sum("100000000000000000000000000", "-1", "99999999999999999999999999");
    assert_sum("-100000000000000000000000000", "1", "-99999999999999999999999999");
    assert_sum("1", "-100000000000000000000000000", "-99999999999999999999999999");
    assert_sum("-99999999999999999999999999", "-1", "-100000000000000000000000000");
    assert_sum("123456789012345678901234567890", "-123456789012345678901234567889", "1");
}

/* Every sign and length that 64 bits can show. */
static void test_random_sums_are_those_of_c(void)
{
    struct pick p = {7};
    char a[32], b[32], sum[32];

    for (int i = 0; i < 20000; i++) {
        int64_t x = (int64_t)(pick_u64(&p) >> (2 + pick_below(&p, 60)));
        int64_t y = (int64_t)(pick_u64(&p) >> (2 + pick_below(&p, 60)));
        x = pick_below(&p, 2) == 0 ? x : -x;
        y = pick_below(&p, 2) == 0 ? y : -y;
        snprintf(a, sizeof a, "%lld", (long long)x);
        snprintf(b, sizeof b, "%lld", (long long)y);
        snprintf(sum, sizeof sum, "%lld", (long long)(x + y));
        assert_sum(a, b, sum);
    }
}

/* The sum is appended: what is in the buffer stays. */
static void test_the_sum_goes_behind_what_is_there(void)
{
    struct mf_buf out = MF_BUF_INIT;

    mf_buf_puts(&out, "x");
    TEST_ASSERT_EQUAL_INT(0, decimal_add(&out, number("-1"), number("-1")));
    TEST_ASSERT_EQUAL_STRING("x-2", mf_buf_cstr(&out));
    mf_buf_fini(&out);
}

/* A counter cannot be made to grow without end. */
static void test_too_many_digits_are_refused(void)
{
    char *text = malloc(DECIMAL_MAX + 2);
    struct mf_buf out = MF_BUF_INIT;
    struct decimal d;

    TEST_ASSERT_NOT_NULL(text);
    memset(text, '9', DECIMAL_MAX + 1);
    text[DECIMAL_MAX + 1] = '\0';
    TEST_ASSERT_FALSE(decimal_parse(mf_str(text), &d));
    text[DECIMAL_MAX] = '\0';
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, decimal_add(&out, number(text), number("1")));
    TEST_ASSERT_EQUAL_size_t(0, out.len);
    TEST_ASSERT_EQUAL_INT(0, decimal_add(&out, number(text), number("-1")));
    TEST_ASSERT_EQUAL_size_t(DECIMAL_MAX, out.len);
    text[0] = '0'; /* leading zeros do not count */
    TEST_ASSERT_EQUAL_size_t(DECIMAL_MAX - 1, number(text).digits.len);
    mf_buf_fini(&out);
    free(text);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_only_a_sign_and_digits_are_a_number);
    RUN_TEST(test_zero_is_never_negative);
    RUN_TEST(test_carries_and_borrows_run_through_all_digits);
    RUN_TEST(test_random_sums_are_those_of_c);
    RUN_TEST(test_the_sum_goes_behind_what_is_there);
    RUN_TEST(test_too_many_digits_are_refused);
    return UNITY_END();
}
