/* test_base64.c: base64 in both alphabets, and text that is none. */
#include "codec/base64.h"

#include "unity.h"

static struct mf_buf buf;

void setUp(void)
{
    buf = MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&buf);
}

/* The examples of RFC 4648, both ways. */
static void test_examples_of_the_rfc_are_met(void)
{
    static const char *const table[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < MF_COUNT(table); i++) {
        mf_buf_clear(&buf);
        base64_write(&buf, mf_str(table[i][0]), BASE64_STANDARD);
        TEST_ASSERT_EQUAL_STRING(table[i][1], mf_buf_cstr(&buf));
        mf_buf_clear(&buf);
        TEST_ASSERT_EQUAL(0, base64_read(&buf, mf_str(table[i][1]), BASE64_STANDARD));
        TEST_ASSERT_EQUAL_STRING(table[i][0], mf_buf_cstr(&buf));
    }
}

static void test_alphabets_differ_in_two_letters(void)
{
    base64_write(&buf, MF_LIT("\xfb\xff"), BASE64_STANDARD);
    base64_write(&buf, MF_LIT("\xfb\xff"), BASE64_URL);
    TEST_ASSERT_EQUAL_STRING("+/8=-_8=", mf_buf_cstr(&buf));
    mf_buf_clear(&buf);
    TEST_ASSERT_EQUAL(0, base64_read(&buf, MF_LIT("-_8"), BASE64_URL)); /* padding may be missing */
    TEST_ASSERT_EQUAL_MEMORY("\xfb\xff", buf.ptr, 2);
    TEST_ASSERT_EQUAL(MF_INVAL, base64_read(&buf, MF_LIT("-_8="), BASE64_STANDARD));
    TEST_ASSERT_EQUAL(MF_INVAL, base64_read(&buf, MF_LIT("+/8="), BASE64_URL));
}

/* What is refused leaves the buffer as it was. */
static void test_other_text_is_refused(void)
{
    static const char *const table[] = {
        "A", "AAAAA", "A===", "====", "AA=", "A=AA", "AA A", "AA\n="};

    mf_buf_puts(&buf, "kept");
    for (size_t i = 0; i < MF_COUNT(table); i++) {
        TEST_ASSERT_EQUAL_MESSAGE(MF_INVAL, base64_read(&buf, mf_str(table[i]), BASE64_STANDARD),
                                  table[i]);
        TEST_ASSERT_EQUAL_STRING("kept", mf_buf_cstr(&buf));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_examples_of_the_rfc_are_met);
    RUN_TEST(test_alphabets_differ_in_two_letters);
    RUN_TEST(test_other_text_is_refused);
    return UNITY_END();
}
