/* test_seal.c: boxes: vectors of both ciphers, changed bytes, nonces that never repeat. */
#include "codec/seal.h"

#include "unity.h"

#include <openssl/crypto.h>
#include <stdlib.h>

/* OpenSSL's memory; 0: no limit, else the allocation that fails, and all after it. */
static unsigned fails_at, taken;

static bool runs_dry(void)
{
    return fails_at != 0 && ++taken >= fails_at;
}
static void *take(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return runs_dry() ? NULL : malloc(n);
}
static void *take_again(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return runs_dry() ? NULL : realloc(p, n);
}
static void give_back(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

void setUp(void)
{
}
void tearDown(void)
{
}

static const uint8_t key[SEAL_KEY] = {1, 2, 3};

static void unhex(uint8_t *dst, const char *hex)
{
    for (; *hex != '\0'; hex += 2) {
        unsigned v;
        TEST_ASSERT_EQUAL(1, sscanf(hex, "%2x", &v));
        *dst++ = (uint8_t)v;
    }
}

/* draft-irtf-cfrg-xchacha-03, A.3.1. */
static void test_chacha_gives_the_bytes_of_its_specification(void)
{
    static const char text[] =
        "Ladies and Gentlemen of the class of '99: If I could offer you only "
        "one tip for the future, sunscreen would be it.";
    static const char expect[] =
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4e"
        "da7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2"
        "383565d3fff921f9664c97637da9768812f615c68b13b52e";
    uint8_t k[SEAL_KEY], nonce[SEAL_NONCE], ad[12], cipher[sizeof text - 1], tag[SEAL_TAG];
    uint8_t box[SEAL_ROOM + sizeof text - 1];

    for (unsigned i = 0; i < sizeof k; i++)
        k[i] = (uint8_t)(0x80 + i);
    for (unsigned i = 0; i < sizeof nonce; i++)
        nonce[i] = (uint8_t)(0x40 + i);
    unhex(ad, "50515253c0c1c2c3c4c5c6c7");
    unhex(cipher, expect);
    unhex(tag, "c0875924c1c7987947deafd8780acf49");
    memcpy(box + SEAL_ROOM, text, sizeof cipher);
    seal_shut_with(k, SEAL_CHACHA, nonce, box, sizeof cipher, mf_slice(ad, sizeof ad));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(tag, box + SEAL_NONCE, sizeof tag);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(cipher, box + SEAL_ROOM, sizeof cipher);
}

/* c2sp.org/XAES-256-GCM, test vectors. */
static void check_xaes(uint8_t fill, struct mf_slice ad, const char *expect)
{
    static const char nonce[] = "ABCDEFGHIJKLMNOPQRSTUVWX", text[] = "XAES-256-GCM";
    uint8_t k[SEAL_KEY], box[SEAL_ROOM + sizeof text - 1], bytes[28];

    memset(k, fill, sizeof k);
    unhex(bytes, expect);
    memcpy(box + SEAL_ROOM, text, sizeof text - 1);
    seal_shut_with(k, SEAL_AES, (const uint8_t *)nonce, box, sizeof text - 1, ad);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(bytes, box + SEAL_ROOM, 12);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(bytes + 12, box + SEAL_NONCE, SEAL_TAG);
}

static void test_aes_gives_the_bytes_of_its_specification(void)
{
    check_xaes(1, MF_SLICE_NONE, "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271");
    check_xaes(3, MF_LIT("c2sp.org/XAES-256-GCM"),
               "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d");
}

static void open_both(enum seal_cipher cipher)
{
    uint8_t box[SEAL_ROOM + 100], plain[100], out[100];
    struct seal *a = seal_new(key, cipher);
    struct seal *b = seal_new(key, cipher == SEAL_AES ? SEAL_CHACHA : SEAL_AES);

    for (size_t n = 0; n <= sizeof plain; n += 25) {
        memset(plain, (int)n, sizeof plain);
        memcpy(box + SEAL_ROOM, plain, n);
        seal_shut(a, box, n, MF_LIT("ad"));
        TEST_ASSERT_TRUE(n == 0 || memcmp(box + SEAL_ROOM, plain, n) != 0);
        TEST_ASSERT_TRUE(seal_open(a, cipher, box, n, MF_LIT("ad"), out));
        TEST_ASSERT_EQUAL_INT(0, memcmp(out, plain, n));
        TEST_ASSERT_TRUE(seal_open(b, cipher, box, n, MF_LIT("ad"), out));
        TEST_ASSERT_EQUAL_INT(0, memcmp(out, plain, n));
    }
    seal_free(a);
    seal_free(b);
}

/* The configured cipher may change: boxes from before open as well. */
static void test_both_ciphers_are_opened_whatever_shuts(void)
{
    open_both(SEAL_CHACHA);
    open_both(SEAL_AES);
}

/* All that a box needs was made with the rest: a library does not end the program. */
static void open_without_memory(enum seal_cipher cipher)
{
    uint8_t box[SEAL_ROOM + 20] = {0}, out[20];
    struct seal *a = seal_new(key, cipher);
    struct seal *b = seal_new(key, cipher == SEAL_AES ? SEAL_CHACHA : SEAL_AES);

    seal_shut(a, box, 20, MF_LIT("ad"));
    taken = 0;
    fails_at = 1;
    bool opened = seal_open(b, cipher, box, 20, MF_LIT("ad"), out);
    fails_at = 0;
    TEST_ASSERT_TRUE(opened);
    seal_free(a);
    seal_free(b);
    struct seal *s = NULL;
    for (unsigned n = 1; s == NULL; n++) {
        TEST_ASSERT_LESS_THAN_UINT(1000, n);
        taken = 0;
        fails_at = n;
        s = seal_new(key, cipher);
        fails_at = 0;
    }
    TEST_ASSERT_TRUE(seal_open(s, cipher, box, 20, MF_LIT("ad"), out));
    seal_free(s);
}

static void test_opening_needs_no_memory(void)
{
    open_without_memory(SEAL_CHACHA);
    open_without_memory(SEAL_AES);
}

static void refuse_changes(enum seal_cipher cipher)
{
    uint8_t box[SEAL_ROOM + 20] = {0}, out[20];
    struct seal *s = seal_new(key, cipher);

    seal_shut(s, box, 20, MF_LIT("ad"));
    for (size_t i = 0; i < sizeof box; i++) {
        box[i] ^= 1;
        TEST_ASSERT_FALSE(seal_open(s, cipher, box, 20, MF_LIT("ad"), out));
        box[i] ^= 1;
    }
    TEST_ASSERT_FALSE(seal_open(s, cipher, box, 20, MF_LIT("aD"), out));
    TEST_ASSERT_FALSE(seal_open(s, cipher, box, 19, MF_LIT("ad"), out));
    TEST_ASSERT_TRUE(seal_open(s, cipher, box, 20, MF_LIT("ad"), out));
    seal_free(s);
}

static void test_a_changed_bit_or_ad_does_not_open(void)
{
    refuse_changes(SEAL_CHACHA);
    refuse_changes(SEAL_AES);
}

/* Two runs that begin at the same state must not use a nonce twice: so it is with a store that is
 * opened again after a crash. */
static void test_no_nonce_is_used_twice(void)
{
    enum { RUNS = 40, BOXES = 20 };
    uint8_t box[RUNS * BOXES][SEAL_ROOM];

    for (size_t i = 0; i < RUNS; i++) {
        struct seal *s = seal_new(key, SEAL_CHACHA);
        for (size_t k = 0; k < BOXES; k++)
            seal_shut(s, box[i * BOXES + k], 0, MF_SLICE_NONE);
        seal_free(s);
    }
    for (size_t i = 0; i < RUNS * BOXES; i++)
        for (size_t k = 0; k < i; k++)
            TEST_ASSERT_NOT_EQUAL_INT(0, memcmp(box[i], box[k], SEAL_NONCE));
}

static void test_a_key_of_a_text_depends_on_text_and_salt(void)
{
    uint8_t salt[2][SEAL_SALT] = {{1}, {2}}, a[SEAL_KEY], b[SEAL_KEY];

    seal_key_of(a, MF_LIT("a long text of any length, longer than the 64 bytes that are a key"),
                salt[0]);
    seal_key_of(b, MF_LIT("a long text of any length, longer than the 64 bytes that are a kex"),
                salt[0]);
    TEST_ASSERT_NOT_EQUAL_INT(0, memcmp(a, b, sizeof a));
    seal_key_of(b, MF_LIT("a long text of any length, longer than the 64 bytes that are a key"),
                salt[1]);
    TEST_ASSERT_NOT_EQUAL_INT(0, memcmp(a, b, sizeof a));
}

int main(void)
{
    if (CRYPTO_set_mem_functions(take, take_again, give_back) != 1)
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_chacha_gives_the_bytes_of_its_specification);
    RUN_TEST(test_aes_gives_the_bytes_of_its_specification);
    RUN_TEST(test_both_ciphers_are_opened_whatever_shuts);
    RUN_TEST(test_opening_needs_no_memory);
    RUN_TEST(test_a_changed_bit_or_ad_does_not_open);
    RUN_TEST(test_no_nonce_is_used_twice);
    RUN_TEST(test_a_key_of_a_text_depends_on_text_and_salt);
    return UNITY_END();
}
