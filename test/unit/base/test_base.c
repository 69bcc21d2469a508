/* test_base.c: slices, numbers, error codes and the texts of errors. */
#include "base/base.h"

#include "base/le.h"

#include <errno.h>
#include <stdlib.h>

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_slices_of_equal_bytes_are_equal_even_when_one_has_no_pointer(void)
{
    TEST_ASSERT_TRUE(mf_eq(MF_SLICE_NONE, MF_LIT("")));
    TEST_ASSERT_TRUE(mf_eq(MF_LIT("abc"), mf_slice("abcd", 3)));
    TEST_ASSERT_FALSE(mf_eq(MF_LIT("abc"), MF_LIT("abd")));
    TEST_ASSERT_FALSE(mf_eq(MF_LIT("abc"), MF_LIT("ab")));
    TEST_ASSERT_TRUE(mf_eq_str(MF_SLICE_NONE, NULL));
    TEST_ASSERT_FALSE(mf_eq_str(MF_LIT("a\0b"), "a")); /* a NUL does not end a slice */
}

static void test_prefix_longer_than_the_slice_does_not_match(void)
{
    TEST_ASSERT_TRUE(mf_starts(MF_LIT("$SYS.REQ"), "$SYS."));
    TEST_ASSERT_TRUE(mf_starts(MF_LIT("a"), "a"));
    TEST_ASSERT_FALSE(mf_starts(MF_LIT("$SYS"), "$SYS."));
    TEST_ASSERT_TRUE(mf_starts(MF_SLICE_NONE, ""));
    TEST_ASSERT_FALSE(mf_starts(MF_SLICE_NONE, "a"));
}

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

static void test_slices_are_ordered_by_bytes_and_then_by_length(void)
{
    static const char *const order[] = {"", "A", "a", "ab", "b", "\xc3\xa4"};

    for (size_t i = 0; i < MF_COUNT(order); i++)
        for (size_t k = 0; k < MF_COUNT(order); k++)
            TEST_ASSERT_EQUAL_INT((i > k) - (i < k),
                                  sign(mf_compare(mf_str(order[i]), mf_str(order[k]))));
    TEST_ASSERT_EQUAL_INT(0, mf_compare(MF_SLICE_NONE, MF_LIT("")));
}

static void test_white_space_goes_from_both_ends_only(void)
{
    TEST_ASSERT_TRUE(mf_eq_str(mf_trim(MF_LIT(" \t\r\n\v\f a\tb \n")), "a\tb"));
    TEST_ASSERT_TRUE(mf_eq_str(mf_trim(MF_LIT("a")), "a"));
    TEST_ASSERT_EQUAL_size_t(0, mf_trim(MF_LIT(" \n ")).len);
    TEST_ASSERT_EQUAL_size_t(0, mf_trim(MF_SLICE_NONE).len);
    TEST_ASSERT_EQUAL_size_t(3, mf_trim(MF_LIT("\b\0\x0e")).len); /* the neighbours of those */
}

static void test_numbers_are_written_lowest_byte_first(void)
{
    struct mf_buf b = MF_BUF_INIT;

    le_append(&b, 0x0102, 2);
    le_append(&b, 0x8877665544332211, 8);
    le_append(&b, 0x1ff, 1); /* what does not fit is not written */
    TEST_ASSERT_EQUAL_size_t(11, b.len);
    TEST_ASSERT_EQUAL_MEMORY("\x02\x01\x11\x22\x33\x44\x55\x66\x77\x88\xff", b.ptr, 11);
    TEST_ASSERT_EQUAL_HEX64(0x8877665544332211, le64_get(b.ptr + 2));
    struct mf_slice s = mf_buf_slice(&b);
    TEST_ASSERT_EQUAL_HEX64(0x0102, le_take(&s, 2));
    TEST_ASSERT_EQUAL_HEX64(0x8877665544332211, le_take(&s, 8));
    TEST_ASSERT_EQUAL_HEX64(0, le_take(&s, 2)); /* there is only one left */
    TEST_ASSERT_EQUAL_size_t(0, s.len);
    mf_buf_fini(&b);
}

/* '@' and '[' stand next to the letters, and 'À' in Latin-1 differs from 'à' by the same bit. */
static void test_case_is_ignored_for_ascii_letters_only(void)
{
    TEST_ASSERT_TRUE(mf_eq_nocase(MF_LIT("PuB"), "pUb"));
    TEST_ASSERT_TRUE(mf_eq_nocase(MF_LIT("AZaz"), "azAZ"));
    TEST_ASSERT_FALSE(mf_eq_nocase(MF_LIT("@"), "`"));
    TEST_ASSERT_FALSE(mf_eq_nocase(MF_LIT("["), "{"));
    TEST_ASSERT_FALSE(mf_eq_nocase(MF_LIT("\xc0"), "\xe0"));
    TEST_ASSERT_FALSE(mf_eq_nocase(MF_LIT("pub"), "pu"));
    TEST_ASSERT_FALSE(mf_eq_nocase(MF_LIT("pu"), "pub"));
}

static void test_copy_of_a_slice_ends_with_nul(void)
{
    char *copy = mf_slice_dup(mf_slice("abcdef", 3));
    char *empty = mf_slice_dup(MF_SLICE_NONE);

    TEST_ASSERT_EQUAL_STRING("abc", copy);
    TEST_ASSERT_EQUAL_STRING("", empty);
    free(copy);
    free(empty);
}

static void test_number_is_read_up_to_the_largest_and_refused_beyond(void)
{
    static const char *const wrong[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1a",
        "0x1",
        "1.0",
        "18446744073709551616",
        "99999999999999999999",
        "184467440737095516150",
    };
    uint64_t n = 7;

    TEST_ASSERT_EQUAL(0, mf_parse_u64(MF_LIT("0"), &n));
    TEST_ASSERT_EQUAL_UINT64(0, n);
    TEST_ASSERT_EQUAL(0, mf_parse_u64(MF_LIT("0042"), &n));
    TEST_ASSERT_EQUAL_UINT64(42, n);
    TEST_ASSERT_EQUAL(0, mf_parse_u64(MF_LIT("18446744073709551615"), &n));
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, n);
    n = 7;
    for (size_t i = 0; i < MF_COUNT(wrong); i++)
        TEST_ASSERT_EQUAL_MESSAGE(MF_INVAL, mf_parse_u64(mf_str(wrong[i]), &n), wrong[i]);
    TEST_ASSERT_EQUAL_UINT64(7, n); /* written on success only */
}

static void test_every_code_has_its_text(void)
{
#define CHECK_TEXT(name, value, text) TEST_ASSERT_EQUAL_STRING(text, mf_err_text(value));
    MF_ERRORS(CHECK_TEXT)
#undef CHECK_TEXT
    TEST_ASSERT_EQUAL_STRING("no error", mf_err_text(0));
    TEST_ASSERT_EQUAL_STRING("unknown error", mf_err_text(-999));
}

static void test_each_level_that_passes_a_failure_on_stands_before_its_cause(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL(MF_CORRUPT, mf_fail(&e, MF_CORRUPT, "record at %d", 4096));
    TEST_ASSERT_EQUAL(MF_CORRUPT, mf_wrap(&e, "open segment %08d", 17));
    TEST_ASSERT_EQUAL(MF_CORRUPT, mf_wrap(&e, "stream %s", "ORDERS"));
    TEST_ASSERT_EQUAL_STRING(
        "stream ORDERS: open segment 00000017: record at 4096: stored data is corrupt", e.text);
    TEST_ASSERT_EQUAL(MF_CORRUPT, e.code);
}

/* "unknown field: invalid value" would tell nothing new. */
static void test_words_of_the_caller_stay_as_they_are(void)
{
    struct mf_error e;

    mf_fail(&e, MF_INVAL, "unknown field \"%s\"", "prot");
    TEST_ASSERT_EQUAL_STRING("unknown field \"prot\"", e.text);
    mf_fail(&e, MF_DENIED, "%s", "");
    TEST_ASSERT_EQUAL_STRING("not permitted", e.text);
    mf_fail(&e, MF_NOMEM, "session");
    TEST_ASSERT_EQUAL_STRING("session: out of memory", e.text);
}

static void test_failure_of_the_system_tells_the_system_s_reason_and_keeps_errno(void)
{
    struct mf_error e;

    errno = ENOENT;
    TEST_ASSERT_EQUAL(MF_IO, mf_fail_errno(&e, MF_IO, "open %s", "x.conf"));
    TEST_ASSERT_EQUAL_STRING("open x.conf: No such file or directory", e.text);
    TEST_ASSERT_EQUAL(ENOENT, errno);
}

static void test_nobody_listening_still_gets_the_code(void)
{
    TEST_ASSERT_EQUAL(MF_FULL, mf_fail(NULL, MF_FULL, "x"));
    TEST_ASSERT_EQUAL(MF_IO, mf_fail_errno(NULL, MF_IO, "x"));
    TEST_ASSERT_EQUAL(MF_INVAL, mf_wrap(NULL, "x"));
}

/* Clients choose names; a long one must not write beyond the text, nor unbalance it. */
static void test_story_too_long_is_cut_at_its_end(void)
{
    struct mf_error e;
    char name[600];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mf_fail(&e, MF_NOMEM, "%s", name);
    TEST_ASSERT_EQUAL_size_t(sizeof e.text - 1, strlen(e.text));
    mf_wrap(&e, "outer");
    TEST_ASSERT_EQUAL_size_t(sizeof e.text - 1, strlen(e.text));
    TEST_ASSERT_EQUAL_STRING_LEN("outer: nnn", e.text, 10);
    errno = EPERM;
    mf_fail_errno(&e, MF_IO, "%s", name);
    TEST_ASSERT_EQUAL_size_t(sizeof e.text - 1, strlen(e.text));
}

static void test_slices_put_one_after_the_other_are_copies(void)
{
    uint8_t room[8], *at = room;
    struct mf_slice a = mf_slice_put(&at, MF_LIT("abc")), none = mf_slice_put(&at, MF_SLICE_NONE),
                    b = mf_slice_put(&at, MF_LIT("de"));

    TEST_ASSERT_EQUAL_PTR(room + 5, at);
    TEST_ASSERT_TRUE(mf_eq_str(a, "abc") && mf_eq_str(none, "") && mf_eq_str(b, "de"));
    TEST_ASSERT_EQUAL_PTR(room, a.ptr);
}

static void test_a_text_is_there_and_not_empty(void)
{
    TEST_ASSERT_TRUE(mf_has_text("a"));
    TEST_ASSERT_FALSE(mf_has_text(""));
    TEST_ASSERT_FALSE(mf_has_text(NULL));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_slices_of_equal_bytes_are_equal_even_when_one_has_no_pointer);
    RUN_TEST(test_prefix_longer_than_the_slice_does_not_match);
    RUN_TEST(test_slices_are_ordered_by_bytes_and_then_by_length);
    RUN_TEST(test_white_space_goes_from_both_ends_only);
    RUN_TEST(test_numbers_are_written_lowest_byte_first);
    RUN_TEST(test_case_is_ignored_for_ascii_letters_only);
    RUN_TEST(test_copy_of_a_slice_ends_with_nul);
    RUN_TEST(test_number_is_read_up_to_the_largest_and_refused_beyond);
    RUN_TEST(test_every_code_has_its_text);
    RUN_TEST(test_each_level_that_passes_a_failure_on_stands_before_its_cause);
    RUN_TEST(test_words_of_the_caller_stay_as_they_are);
    RUN_TEST(test_failure_of_the_system_tells_the_system_s_reason_and_keeps_errno);
    RUN_TEST(test_nobody_listening_still_gets_the_code);
    RUN_TEST(test_story_too_long_is_cut_at_its_end);
    RUN_TEST(test_slices_put_one_after_the_other_are_copies);
    RUN_TEST(test_a_text_is_there_and_not_empty);
    return UNITY_END();
}
