/* test_nkey.c: NATS keys: text and checksum, signatures of nonces. */
#include "auth/auth.h"

#include <sodium.h>
#include <stdio.h>

#include "unity.h"

/* The pair of the NATS documentation, and a signature made with another library. */
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define NONCE  "PXoWU7zWAMt75FY"
#define SIG_URL                                                                                    \
    "zHsjAXoXbo2tbVRLf6_3-aHC2CGLiez1yMSLOyF4Z2wmzmO4ppyieii5IZsQSBgfdppsi6wMHWzYYXUv6A-8DQ"
#define SIG_STD                                                                                    \
    "zHsjAXoXbo2tbVRLf6/3+aHC2CGLiez1yMSLOyF4Z2wmzmO4ppyieii5IZsQSBgfdppsi6wMHWzYYXUv6A+8DQ=="

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_documented_key_decodes_and_encodes_back(void)
{
    uint8_t raw[32];
    char text[NKEY_TEXT];

    TEST_ASSERT_EQUAL_INT(0, nkey_decode(MF_LIT(PUBLIC), NKEY_USER, raw));
    nkey_encode(text, NKEY_USER, raw);
    TEST_ASSERT_EQUAL_STRING(PUBLIC, text);
}

/* Each kind is told by its first letter, which operators know. */
static void test_each_kind_has_its_letter_and_no_other_kind_accepts_it(void)
{
    static const struct {
        enum nkey_kind kind;
        char letter;
    } kinds[] = {{NKEY_USER, 'U'}, {NKEY_ACCOUNT, 'A'}, {NKEY_SERVER, 'N'}, {NKEY_CURVE, 'X'}};
    char text[NKEY_TEXT];
    uint8_t raw[32];

    for (size_t i = 0; i < MF_COUNT(kinds); i++) {
        nkey_random(text, kinds[i].kind);
        TEST_ASSERT_EQUAL_CHAR(kinds[i].letter, text[0]);
        TEST_ASSERT_EQUAL_size_t(56, strlen(text));
        for (size_t k = 0; k < MF_COUNT(kinds); k++)
            TEST_ASSERT_EQUAL_INT(i == k ? 0 : MF_INVAL,
                                  nkey_decode(mf_str(text), kinds[k].kind, raw));
    }
}

static void test_two_random_keys_differ(void)
{
    char a[NKEY_TEXT], b[NKEY_TEXT];

    nkey_random(a, NKEY_SERVER);
    nkey_random(b, NKEY_SERVER);
    TEST_ASSERT_NOT_EQUAL_INT(0, strcmp(a, b));
}

/* A typing mistake must not name another key. */
static void test_any_changed_character_is_noticed(void)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    char text[NKEY_TEXT] = PUBLIC;
    uint8_t raw[32];

    for (size_t i = 0; i < sizeof PUBLIC - 1; i++) {
        for (size_t k = 0; k < 32; k++) {
            if (alphabet[k] == PUBLIC[i])
                continue;
            text[i] = alphabet[k];
            TEST_ASSERT_EQUAL_INT(MF_INVAL, nkey_decode(mf_str(text), NKEY_USER, raw));
        }
        text[i] = PUBLIC[i];
    }
}

static void test_malformed_text_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "U",
        "udxu4rcsjnzoiqhznwxhxordprtgnjahahfrgzneejcpqtt2m7nlcnf4", /* lower case */
        PUBLIC "A",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF", /* one short */
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCN 4",
        "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCN18",
        "========================================================",
    };
    uint8_t raw[32];

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(MF_INVAL, nkey_decode(mf_str(bad[i]), NKEY_USER, raw),
                                      bad[i]);
}

static void test_signature_in_either_base64_is_accepted(void)
{
    TEST_ASSERT_TRUE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), MF_LIT(SIG_URL)));
    TEST_ASSERT_TRUE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), MF_LIT(SIG_STD)));
}

static void test_signature_of_anything_else_is_refused(void)
{
    char other[NKEY_TEXT];

    nkey_random(other, NKEY_USER);
    TEST_ASSERT_FALSE(nkey_verify(mf_str(other), MF_LIT(NONCE), MF_LIT(SIG_URL)));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT("PXoWU7zWAMt75FZ"), MF_LIT(SIG_URL)));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(""), MF_LIT(SIG_URL)));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), MF_LIT("")));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), MF_LIT("AAAA")));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), MF_LIT(SIG_STD SIG_STD)));
    TEST_ASSERT_FALSE(nkey_verify(MF_LIT("UNOTAKEY"), MF_LIT(NONCE), MF_LIT(SIG_URL)));
}

/* The texts come from the network, without a NUL behind them: nothing beyond may be read. */
static void test_text_at_the_end_of_its_memory_is_read_no_further(void)
{
    for (size_t cut = 0; cut < sizeof SIG_STD - 1; cut++) {
        uint8_t *exact = sodium_malloc(cut > 0 ? cut : 1);
        TEST_ASSERT_NOT_NULL(exact);
        memcpy(exact, SIG_STD, cut);
        TEST_ASSERT_FALSE(nkey_verify(MF_LIT(PUBLIC), MF_LIT(NONCE), mf_slice(exact, cut)));
        sodium_free(exact);
    }
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_documented_key_decodes_and_encodes_back);
    RUN_TEST(test_each_kind_has_its_letter_and_no_other_kind_accepts_it);
    RUN_TEST(test_two_random_keys_differ);
    RUN_TEST(test_any_changed_character_is_noticed);
    RUN_TEST(test_malformed_text_is_refused);
    RUN_TEST(test_signature_in_either_base64_is_accepted);
    RUN_TEST(test_signature_of_anything_else_is_refused);
    RUN_TEST(test_text_at_the_end_of_its_memory_is_read_no_further);
    return UNITY_END();
}
