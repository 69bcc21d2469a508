/* test_ops.c: the pure parts of the operator's commands: histograms, seeds, names, bcrypt texts. */
#include "cli/ops/backup_dir.h"
#include "cli/ops/bench_hist.h"
#include "cli/ops/nkeys.h"
#include "cli/ops/passwd.h"
#include "unity.h"

#include <string.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* --- histograms ------------------------------------------------------------------------------- */

static void test_an_empty_histogram_has_no_durations(void)
{
    struct bench_hist h = {.n = 0};

    TEST_ASSERT_EQUAL_INT64(0, bench_hist_at(&h, 0.5));
    TEST_ASSERT_EQUAL_INT64(0, bench_hist_at(&h, 1));
    TEST_ASSERT_EQUAL_UINT64(0, bench_hist_between(&h, 0, INT64_MAX));
}

/* A share is never shown as less than it is, and at most a sixteenth too high. */
static void test_shares_are_rounded_up_by_a_sixteenth_at_most(void)
{
    struct bench_hist h = {.n = 0};

    for (int64_t v = 1; v <= 100000; v++)
        bench_hist_add(&h, v);
    for (int percent = 1; percent <= 100; percent++) {
        int64_t exact = (int64_t)percent * 1000, shown = bench_hist_at(&h, percent / 100.0);

        TEST_ASSERT_GREATER_OR_EQUAL_INT64(exact, shown);
        TEST_ASSERT_LESS_OR_EQUAL_INT64(exact + exact / 16 + 1, shown);
    }
    TEST_ASSERT_EQUAL_INT64(100000, bench_hist_at(&h, 1));
    TEST_ASSERT_EQUAL_INT64(1, h.least);
    TEST_ASSERT_EQUAL_INT64(100000, h.worst);
}

static void test_every_duration_has_its_bucket_between_powers_of_two(void)
{
    struct bench_hist h = {.n = 0};

    for (int bit = 0; bit < 62; bit++)
        bench_hist_add(&h, (int64_t)1 << bit);
    bench_hist_add(&h, INT64_MAX);
    bench_hist_add(&h, -5); /* counts as 0 */
    TEST_ASSERT_EQUAL_UINT64(64, h.n);
    TEST_ASSERT_EQUAL_INT64(0, h.least);
    for (int bit = 1; bit < 61; bit++)
        TEST_ASSERT_EQUAL_UINT64(
            1, bench_hist_between(&h, (int64_t)1 << bit, (int64_t)1 << (bit + 1)));
}

static void test_a_merge_counts_both(void)
{
    struct bench_hist a = {.n = 0}, b = {.n = 0}, none = {.n = 0};

    bench_hist_add(&a, 100);
    bench_hist_add(&b, 5);
    bench_hist_add(&b, 1000);
    bench_hist_merge(&a, &b);
    bench_hist_merge(&a, &none);
    TEST_ASSERT_EQUAL_UINT64(3, a.n);
    TEST_ASSERT_EQUAL_INT64(5, a.least);
    TEST_ASSERT_EQUAL_INT64(1000, a.worst);
    TEST_ASSERT_EQUAL_INT64(5, bench_hist_at(&a, 1.0 / 3));
    bench_hist_merge(&none, &a);
    TEST_ASSERT_EQUAL_INT64(5, none.least);
    TEST_ASSERT_EQUAL_UINT64(3, none.n);
}

/* --- seeds ------------------------------------------------------------------------------------ */

static void test_a_seed_is_found_among_other_lines(void)
{
    uint8_t raw[32] = {1, 2, 3}, found[32];
    char seed[NKEY_SEED], text[400];
    enum nkey_kind kind;

    nkey_encode_seed(seed, NKEY_USER, raw);
    (void)snprintf(text, sizeof text, "-----BEGIN-----\r\n  %s \r\n-----END-----\n", seed);
    TEST_ASSERT_EQUAL(0, nkeys_find_seed(mf_str(text), &kind, found));
    TEST_ASSERT_EQUAL(NKEY_USER, kind);
    TEST_ASSERT_EQUAL_MEMORY(raw, found, sizeof raw);
    TEST_ASSERT_EQUAL(0, nkeys_find_seed(mf_str(seed), &kind, found));
    TEST_ASSERT_EQUAL(MF_NOTFOUND, nkeys_find_seed(mf_str("hello\nworld\n"), &kind, found));
    TEST_ASSERT_EQUAL(MF_NOTFOUND, nkeys_find_seed(MF_SLICE_NONE, &kind, found));
}

/* A mistyped letter must not give another key. */
static void test_any_wrong_letter_of_a_seed_is_refused(void)
{
    uint8_t raw[32] = {9}, found[32];
    char seed[NKEY_SEED];
    enum nkey_kind kind;

    nkey_encode_seed(seed, NKEY_USER, raw);
    for (size_t i = 1; i + 1 < NKEY_SEED; i++) {
        char was = seed[i];

        seed[i] = was == 'A' ? 'B' : 'A';
        TEST_ASSERT_EQUAL(MF_INVAL, nkeys_find_seed(mf_str(seed), &kind, found));
        seed[i] = was;
    }
}

/* --- names, bcrypt ---------------------------------------------------------------------------- */

static void test_names_that_leave_a_folder_are_refused(void)
{
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "a.b", "a b", "*", ">", "a\\b"};
    char name[300];

    TEST_ASSERT_TRUE(backup_dir_is_name("ORDERS"));
    TEST_ASSERT_TRUE(backup_dir_is_name("KV_a-b_c=d"));
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_FALSE_MESSAGE(backup_dir_is_name(bad[i]), bad[i]);
    memset(name, 'x', 255);
    name[255] = '\0';
    TEST_ASSERT_TRUE(backup_dir_is_name(name));
    name[255] = 'x';
    name[256] = '\0';
    TEST_ASSERT_FALSE(backup_dir_is_name(name));
}

static void test_passwords_that_bcrypt_would_cut_are_refused(void)
{
    char text[PASSWD_TEXT], again[PASSWD_TEXT];
    char long_one[73];
    struct mf_error e;

    memset(long_one, 'x', sizeof long_one);
    TEST_ASSERT_EQUAL(MF_LIMIT, passwd_hash(text, mf_slice(long_one, 73), 4, &e));
    TEST_ASSERT_EQUAL(0, passwd_hash(text, mf_slice(long_one, 72), 4, &e));
    TEST_ASSERT_EQUAL(0, passwd_hash(again, mf_slice(long_one, 72), 4, &e));
    TEST_ASSERT_EQUAL_STRING_LEN("$2a$04$", text, 7);
    TEST_ASSERT_NOT_EQUAL(0, strcmp(text, again)); /* another salt */
    TEST_ASSERT_EQUAL(MF_INVAL, passwd_hash(text, mf_slice("a\0b", 3), 4, &e));
    TEST_ASSERT_EQUAL(MF_INVAL, passwd_hash(text, MF_SLICE_NONE, 4, &e));
    TEST_ASSERT_EQUAL(MF_INVAL, passwd_hash(text, mf_str("x"), 3, &e));
    TEST_ASSERT_EQUAL(MF_INVAL, passwd_hash(text, mf_str("x"), 32, &e));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_empty_histogram_has_no_durations);
    RUN_TEST(test_shares_are_rounded_up_by_a_sixteenth_at_most);
    RUN_TEST(test_every_duration_has_its_bucket_between_powers_of_two);
    RUN_TEST(test_a_merge_counts_both);
    RUN_TEST(test_a_seed_is_found_among_other_lines);
    RUN_TEST(test_any_wrong_letter_of_a_seed_is_refused);
    RUN_TEST(test_names_that_leave_a_folder_are_refused);
    RUN_TEST(test_passwords_that_bcrypt_would_cut_are_refused);
    return UNITY_END();
}
