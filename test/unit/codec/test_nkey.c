/* test_nkey.c: texts of NATS keys and seeds; keys at work are in test/unit/auth. */
#include "codec/nkey.h"

#include "unity.h"

/* The pair of the NATS documentation. */
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define SEED   "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_documented_seed_decodes_and_encodes_back(void)
{
    enum nkey_kind kind = NKEY_CURVE;
    uint8_t raw[32];
    char text[NKEY_SEED];

    TEST_ASSERT_EQUAL_INT(0, nkey_decode_seed(MF_LIT(SEED), &kind, raw));
    TEST_ASSERT_EQUAL_INT(NKEY_USER, kind);
    nkey_encode_seed(text, kind, raw);
    TEST_ASSERT_EQUAL_STRING(SEED, text);
}

/* Each kind shows in the first letters, which operators know. */
static void test_each_kind_has_its_letters(void)
{
    static const struct {
        enum nkey_kind kind;
        const char *letters;
    } rows[] = {{NKEY_USER, "SU"},     {NKEY_ACCOUNT, "SA"}, {NKEY_SERVER, "SN"},
                {NKEY_OPERATOR, "SO"}, {NKEY_CLUSTER, "SC"}, {NKEY_CURVE, "SX"}};
    uint8_t raw[32], back[32];
    char seed[NKEY_SEED], key[NKEY_TEXT];
    enum nkey_kind kind;

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        memset(raw, 255 - (int)i, sizeof raw);
        nkey_encode_seed(seed, rows[i].kind, raw);
        TEST_ASSERT_EQUAL_CHAR_ARRAY(rows[i].letters, seed, 2);
        TEST_ASSERT_EQUAL_size_t(NKEY_SEED - 1, strlen(seed));
        TEST_ASSERT_EQUAL_INT(0, nkey_decode_seed(mf_str(seed), &kind, back));
        TEST_ASSERT_EQUAL_INT(rows[i].kind, kind);
        TEST_ASSERT_EQUAL_MEMORY(raw, back, sizeof raw);
        nkey_encode(key, rows[i].kind, raw);
        TEST_ASSERT_EQUAL_CHAR(rows[i].letters[1], key[0]);
        TEST_ASSERT_TRUE(nkey_is_public(mf_str(key), &kind));
        TEST_ASSERT_EQUAL_INT(rows[i].kind, kind);
    }
}

/* A public key in the place of a seed, and the other way round, is refused. */
static void test_public_key_is_no_seed(void)
{
    enum nkey_kind kind;
    uint8_t raw[32];

    TEST_ASSERT_EQUAL_INT(MF_INVAL, nkey_decode_seed(MF_LIT(PUBLIC), &kind, raw));
    TEST_ASSERT_FALSE(nkey_is_public(MF_LIT(SEED), &kind));
    TEST_ASSERT_FALSE(nkey_is_public(MF_LIT(""), &kind));
}

/* A typing mistake must not make another key.  The last character holds two spare bits. */
static void test_any_changed_character_of_a_seed_is_noticed(void)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    char text[NKEY_SEED] = SEED;
    enum nkey_kind kind;
    uint8_t raw[32];

    for (size_t i = 0; i + 1 < sizeof SEED - 1; i++) {
        for (size_t k = 0; k < 32; k++) {
            if (alphabet[k] == SEED[i])
                continue;
            text[i] = alphabet[k];
            TEST_ASSERT_EQUAL_INT(MF_INVAL, nkey_decode_seed(mf_str(text), &kind, raw));
        }
        text[i] = SEED[i];
    }
    text[5] = 'a';
    TEST_ASSERT_EQUAL_INT(MF_INVAL, nkey_decode_seed(mf_str(text), &kind, raw));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_documented_seed_decodes_and_encodes_back);
    RUN_TEST(test_each_kind_has_its_letters);
    RUN_TEST(test_public_key_is_no_seed);
    RUN_TEST(test_any_changed_character_of_a_seed_is_noticed);
    return UNITY_END();
}
