/* test_spell.c: the distance between two words. */
#include "base/spell.h"

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static unsigned distance(const char *a, const char *b)
{
    unsigned d = spell_distance(mf_str(a), mf_str(b));

    TEST_ASSERT_EQUAL_UINT(d, spell_distance(mf_str(b), mf_str(a)));
    return d;
}

static void test_each_edit_counts_one(void)
{
    TEST_ASSERT_EQUAL_UINT(0, distance("stream", "stream"));
    TEST_ASSERT_EQUAL_UINT(1, distance("stream", "steam"));
    TEST_ASSERT_EQUAL_UINT(1, distance("stream", "strean"));
    TEST_ASSERT_EQUAL_UINT(1, distance("stream", "strema"));
    TEST_ASSERT_EQUAL_UINT(3, distance("kitten", "sitting"));
    TEST_ASSERT_EQUAL_UINT(6, distance("", "stream"));
}

static void test_case_and_dashes_make_no_difference(void)
{
    TEST_ASSERT_EQUAL_UINT(0, distance("Max-Payload", "max_payload"));
    TEST_ASSERT_EQUAL_UINT(1, distance("MAX-PAYLAOD", "max_payload"));
}

static void test_words_beyond_the_limit_are_far(void)
{
    char word[SPELL_MOST + 2];

    memset(word, 'a', sizeof word);
    word[SPELL_MOST] = '\0';
    TEST_ASSERT_EQUAL_UINT(0, distance(word, word));
    word[SPELL_MOST] = 'a';
    word[SPELL_MOST + 1] = '\0';
    TEST_ASSERT_EQUAL_UINT(SPELL_FAR, distance(word, "a"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_edit_counts_one);
    RUN_TEST(test_case_and_dashes_make_no_difference);
    RUN_TEST(test_words_beyond_the_limit_are_far);
    return UNITY_END();
}
