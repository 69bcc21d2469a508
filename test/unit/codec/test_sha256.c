/* test_sha256.c: the digest, against values that others computed. */
#include "codec/sha256.h"

#include <stdio.h>

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static const char *digest(struct mf_slice text)
{
    static char hex[2 * SHA256_BYTES + 1];
    uint8_t out[SHA256_BYTES];

    sha256(text, out);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned)out[i]);
    return hex;
}

/* The examples of FIPS 180-4. */
static void test_examples_of_the_standard_are_met(void)
{
    TEST_ASSERT_EQUAL_STRING("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                             digest(MF_SLICE_NONE));
    TEST_ASSERT_EQUAL_STRING("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                             digest(MF_LIT("abc")));
    TEST_ASSERT_EQUAL_STRING(
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        digest(MF_LIT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")));
}

/* Padding has its corners where the length no longer fits behind the text: at 55, 56 and 64 bytes.
 */
static void test_every_length_around_a_block_is_right(void)
{
    static const struct {
        size_t n;
        const char *want;
    } table[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
    };
    uint8_t text[1000];

    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < MF_COUNT(table); i++)
        TEST_ASSERT_EQUAL_STRING(table[i].want, digest(mf_slice(text, table[i].n)));
}

/* Pieces of any length give the digest of the whole. */
static void test_pieces_give_the_digest_of_the_whole(void)
{
    uint8_t text[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];
    struct sha256_state s;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)i;
    sha256(mf_slice(text, sizeof text), whole);
    for (size_t step = 1; step <= sizeof text; step += 7) {
        sha256_begin(&s);
        for (size_t at = 0; at < sizeof text; at += step)
            sha256_add(&s, mf_slice(text + at, at + step > sizeof text ? sizeof text - at : step));
        sha256_end(&s, pieces);
        TEST_ASSERT_EQUAL_MEMORY(whole, pieces, SHA256_BYTES);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_examples_of_the_standard_are_met);
    RUN_TEST(test_every_length_around_a_block_is_right);
    RUN_TEST(test_pieces_give_the_digest_of_the_whole);
    return UNITY_END();
}
