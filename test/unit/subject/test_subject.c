/* test_subject.c: the grammar by table, matching, subset and overlap against enumeration. */
#include "subject/subject.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
}
void tearDown(void)
{
}

static bool match(const char *pattern, const char *literal)
{
    return subject_match(mf_str(pattern), mf_str(literal));
}

/* Subjects that a SUB may name; nats-server answers others with "Invalid Subject". */
static void test_patterns_by_the_grammar_are_valid(void)
{
    static const char *const good[] = {
        "a",    "a.b",  "*",  ">",  "*.*",     "a.*.b",      "a.>",    "*.>",      "a*.b",
        "a.b>", ">a.b", "**", ">>", "a.b>c.d", "\xc3\xa4.b", "$SYS.>", "a.\x01.b", "a\vb"};
    static const char *const bad[] = {"",    ".",    "a.",    ".a",    "a..b", ">.a",    "a.>.b",
                                      "a b", "a\tb", "a\r",   "a\n.b", "a.\f", ".>",     "a. .b",
                                      ">.>", " ",    "a.b c", "..",    "a.>.", "a.b\r\n"};

    for (size_t i = 0; i < MF_COUNT(good); i++)
        TEST_ASSERT_TRUE_MESSAGE(subject_valid(mf_str(good[i])), good[i]);
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_FALSE_MESSAGE(subject_valid(mf_str(bad[i])), bad[i]);
}

static void test_literal_is_valid_only_without_wildcard_tokens(void)
{
    TEST_ASSERT_TRUE(subject_valid_literal(mf_str("a.b*.c>")));
    TEST_ASSERT_FALSE(subject_valid_literal(mf_str("a.*")));
    TEST_ASSERT_FALSE(subject_valid_literal(mf_str("a.>")));
    TEST_ASSERT_FALSE(subject_valid_literal(mf_str("a..b")));
}

static void test_wildcards_are_seen_only_as_whole_tokens(void)
{
    TEST_ASSERT_TRUE(subject_has_wildcard(mf_str("*")));
    TEST_ASSERT_TRUE(subject_has_wildcard(mf_str("a.*.b")));
    TEST_ASSERT_TRUE(subject_has_wildcard(mf_str("a.>")));
    TEST_ASSERT_TRUE(subject_has_wildcard(mf_str(">.a")));
    TEST_ASSERT_FALSE(subject_has_wildcard(mf_str("a*.b>.>c.*d")));
    TEST_ASSERT_FALSE(subject_has_wildcard(mf_str("")));
}

static void test_the_head_ends_before_the_first_wildcard(void)
{
    static const char *const rows[][2] = {
        {"a.b.*.c", "a.b."}, {"a.>", "a."},         {"*.a", ""}, {">", ""},
        {"a.b", "a.b"},      {"a*.>b.*", "a*.>b."}, {"", ""}};

    for (size_t i = 0; i < MF_COUNT(rows); i++)
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(subject_head(mf_str(rows[i][0])), rows[i][1]),
                                 rows[i][0]);
}

static void test_tokens_are_counted_and_picked_with_empty_ones(void)
{
    TEST_ASSERT_EQUAL_UINT(0, subject_tokens(mf_str("")));
    TEST_ASSERT_EQUAL_UINT(0, subject_tokens(MF_SLICE_NONE));
    TEST_ASSERT_EQUAL_UINT(1, subject_tokens(mf_str("abc")));
    TEST_ASSERT_EQUAL_UINT(3, subject_tokens(mf_str("a.b.c")));
    TEST_ASSERT_EQUAL_UINT(2, subject_tokens(mf_str("a.")));
    TEST_ASSERT_EQUAL_UINT(2, subject_tokens(mf_str(".")));
    TEST_ASSERT_EQUAL_UINT(3, subject_tokens(mf_str("a..b")));
    TEST_ASSERT_TRUE(mf_eq_str(subject_token(mf_str("ab.cd.e"), 0), "ab"));
    TEST_ASSERT_TRUE(mf_eq_str(subject_token(mf_str("ab.cd.e"), 1), "cd"));
    TEST_ASSERT_TRUE(mf_eq_str(subject_token(mf_str("ab.cd.e"), 2), "e"));
    TEST_ASSERT_EQUAL_size_t(0, subject_token(mf_str("ab.cd.e"), 3).len);
    TEST_ASSERT_EQUAL_size_t(0, subject_token(mf_str(""), 0).len);
}

static void test_walking_tokens_gives_back_the_subject(void)
{
    static const char *const subjects[] = {"",   "a",  "a.b",  ".",       "..",
                                           ".a", "a.", "a..b", "ab.cd.ef"};

    for (size_t i = 0; i < MF_COUNT(subjects); i++) {
        char joined[64] = "";
        size_t n = 0;
        struct mf_slice rest = mf_str(subjects[i]), token;
        for (bool first = true; subject_next_token(&rest, &token); first = false) {
            if (!first)
                joined[n++] = '.';
            memcpy(joined + n, token.ptr, token.len);
            n += token.len;
        }
        TEST_ASSERT_TRUE_MESSAGE(mf_eq(mf_slice(joined, n), mf_str(subjects[i])), subjects[i]);
    }
}

/* Measured on nats-server 2.15.1: a publish with wildcard tokens is taken literally, one with an
 * empty token reaches nobody, not even '>'. */
static void test_published_wildcards_match_literally(void)
{
    TEST_ASSERT_TRUE(match("foo.*", "foo.*"));
    TEST_ASSERT_TRUE(match("foo.>", "foo.*"));
    TEST_ASSERT_TRUE(match("*.*", "foo.>"));
    TEST_ASSERT_TRUE(match("foo.*", "foo.>"));
    TEST_ASSERT_TRUE(match(">", "*"));
    TEST_ASSERT_FALSE(match("foo.bar", "foo.*"));
    TEST_ASSERT_FALSE(match("foo.bar", "foo.>"));
}

static void test_subjects_with_empty_tokens_match_nothing(void)
{
    static const char *const subjects[] = {"", ".", "a.", ".a", "a..b", "..", "foo.*.", "a.b."};
    static const char *const patterns[] = {">",   "*",   "*.*",   "*.*.*", "a.>",
                                           "a.*", "a.b", "foo.>", ""};

    for (size_t i = 0; i < MF_COUNT(subjects); i++)
        for (size_t k = 0; k < MF_COUNT(patterns); k++)
            TEST_ASSERT_FALSE_MESSAGE(match(patterns[k], subjects[i]), subjects[i]);
}

static void test_wildcard_signs_inside_tokens_are_letters(void)
{
    TEST_ASSERT_TRUE(match("a*.b", "a*.b"));
    TEST_ASSERT_FALSE(match("a*.b", "ax.b"));
    TEST_ASSERT_FALSE(match("*a.b", "xa.b"));
    TEST_ASSERT_FALSE(subject_is_subset(mf_str("foo"), mf_str("*x")));
    TEST_ASSERT_FALSE(subject_overlap(mf_str("foo.*"), mf_str("*x.*")));
}

/* Enumeration: every pattern over {a, b, *, >} of up to 3 tokens, every subject over {a, b, c}
 * of up to 4.  'c' is in no pattern and 4 is longer than any, so a difference between two patterns
 * shows in some subject. */
#define PATTERNS 64
#define SUBJECTS 120
static char pattern[PATTERNS][8], subject[SUBJECTS][8];
static size_t patterns, subjects;
static bool hit[PATTERNS][SUBJECTS];

/* All words of exactly n letters, joined by dots; `last` are letters only the last may be. */
static void words(const char *letters, const char *last, unsigned n, char (*out)[8], size_t *count)
{
    size_t inner = strlen(letters), outer = inner + strlen(last), total = outer;

    for (unsigned i = 1; i < n; i++)
        total *= inner;
    for (size_t w = 0; w < total; w++) {
        size_t v = w / outer, k = w % outer;
        char *to = out[(*count)++];
        for (unsigned i = 0; i + 1 < n; i++, v /= inner) {
            to[2 * i] = letters[v % inner];
            to[2 * i + 1] = '.';
        }
        to[2 * n - 2] = k < inner ? letters[k] : last[k - inner];
        to[2 * n - 1] = '\0';
    }
}

/* The definition, on one-letter tokens. */
static bool reference(const char *p, const char *s)
{
    if (*p == '>')
        return true;
    if (*p != '*' && *p != *s)
        return false;
    if (p[1] == '\0' || s[1] == '\0')
        return p[1] == s[1];
    return reference(p + 2, s + 2);
}

static void enumerate(void)
{
    patterns = subjects = 0;
    for (unsigned n = 1; n <= 3; n++)
        words("ab*", ">", n, pattern, &patterns);
    for (unsigned n = 1; n <= 4; n++)
        words("abc", "", n, subject, &subjects);
    for (size_t p = 0; p < patterns; p++)
        for (size_t s = 0; s < subjects; s++)
            hit[p][s] = reference(pattern[p], subject[s]);
}

static void test_matching_agrees_with_the_definition(void)
{
    enumerate();
    TEST_ASSERT_EQUAL_size_t(4 + 12 + 36, patterns);
    TEST_ASSERT_EQUAL_size_t(3 + 9 + 27 + 81, subjects);
    for (size_t p = 0; p < patterns; p++)
        for (size_t s = 0; s < subjects; s++)
            TEST_ASSERT_EQUAL_MESSAGE(hit[p][s], match(pattern[p], subject[s]), pattern[p]);
}

static void test_subset_and_overlap_agree_with_enumeration(void)
{
    enumerate();
    for (size_t a = 0; a < patterns; a++) {
        for (size_t b = 0; b < patterns; b++) {
            bool subset = true, overlap = false;
            char what[32];
            for (size_t s = 0; s < subjects; s++) {
                subset = subset && (!hit[a][s] || hit[b][s]);
                overlap = overlap || (hit[a][s] && hit[b][s]);
            }
            snprintf(what, sizeof what, "%s %s", pattern[a], pattern[b]);
            TEST_ASSERT_EQUAL_MESSAGE(
                subset, subject_is_subset(mf_str(pattern[a]), mf_str(pattern[b])), what);
            TEST_ASSERT_EQUAL_MESSAGE(
                overlap, subject_overlap(mf_str(pattern[a]), mf_str(pattern[b])), what);
        }
    }
}

static void test_patterns_with_empty_tokens_are_in_no_relation(void)
{
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b"};

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        struct mf_slice b = mf_str(bad[i]);
        TEST_ASSERT_FALSE(subject_is_subset(b, mf_str(">")));
        TEST_ASSERT_FALSE(subject_is_subset(mf_str("a"), b));
        TEST_ASSERT_FALSE(subject_overlap(b, mf_str(">")));
        TEST_ASSERT_FALSE(subject_overlap(mf_str("a.>"), b));
        TEST_ASSERT_FALSE(subject_overlap(b, b));
    }
}

/* Slices have no NUL: reading past the end must show under the sanitizer. */
static void test_slices_are_not_read_beyond_their_end(void)
{
    static const char *const words_of[] = {"a", "a.", "*", ">", "a.b", "a.*", "a.>", "."};

    for (size_t i = 0; i < MF_COUNT(words_of); i++) {
        size_t n = strlen(words_of[i]);
        uint8_t *exact = malloc(n);
        TEST_ASSERT_NOT_NULL(exact);
        memcpy(exact, words_of[i], n);
        struct mf_slice s = mf_slice(exact, n);
        (void)subject_valid(s);
        (void)subject_has_wildcard(s);
        (void)subject_match(s, s);
        (void)subject_is_subset(s, s);
        (void)subject_overlap(s, s);
        TEST_ASSERT_GREATER_THAN_UINT(0, subject_tokens(s));
        free(exact);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_patterns_by_the_grammar_are_valid);
    RUN_TEST(test_literal_is_valid_only_without_wildcard_tokens);
    RUN_TEST(test_wildcards_are_seen_only_as_whole_tokens);
    RUN_TEST(test_the_head_ends_before_the_first_wildcard);
    RUN_TEST(test_tokens_are_counted_and_picked_with_empty_ones);
    RUN_TEST(test_walking_tokens_gives_back_the_subject);
    RUN_TEST(test_published_wildcards_match_literally);
    RUN_TEST(test_subjects_with_empty_tokens_match_nothing);
    RUN_TEST(test_wildcard_signs_inside_tokens_are_letters);
    RUN_TEST(test_matching_agrees_with_the_definition);
    RUN_TEST(test_subset_and_overlap_agree_with_enumeration);
    RUN_TEST(test_patterns_with_empty_tokens_are_in_no_relation);
    RUN_TEST(test_slices_are_not_read_beyond_their_end);
    return UNITY_END();
}
