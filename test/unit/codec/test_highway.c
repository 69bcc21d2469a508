/* test_highway.c: the hash, against values that others computed. */
#include "codec/highway.h"

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static uint64_t hash_of(const uint8_t *p, size_t n, size_t cut)
{
    uint8_t key[HIGHWAY_KEY], out[HIGHWAY_BYTES];
    struct highway h;
    uint64_t v = 0;

    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    highway_init(&h, key);
    highway_add(&h, mf_slice(p, cut));
    highway_add(&h, mf_slice(p + cut, n - cut));
    highway_end(&h, out);
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)out[i] << (8 * i);
    return v;
}

/* Of the reference implementation: bytes 0, 1, 2... under the key 0, 1, 2... */
static void test_values_of_the_reference_are_met(void)
{
    static const uint64_t want[] = {0x907a56de22c26e53, 0x7eab43aac7cddd78, 0xb8d0569ab0b53d62,
                                    0x5c6befab8a463d80, 0xf205a46893007eda, 0x2b8a1668e4a94541};
    uint8_t text[] = {0, 1, 2, 3, 4, 5};

    for (size_t n = 0; n < MF_COUNT(want); n++)
        TEST_ASSERT_EQUAL_HEX64(want[n], hash_of(text, n, 0));
}

static void test_pieces_make_the_same_as_the_whole(void)
{
    uint8_t text[200];

    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof text; n++)
        for (size_t cut = 0; cut <= n; cut += 5)
            TEST_ASSERT_EQUAL_HEX64(hash_of(text, n, 0), hash_of(text, n, cut));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_values_of_the_reference_are_met);
    RUN_TEST(test_pieces_make_the_same_as_the_whole);
    return UNITY_END();
}
