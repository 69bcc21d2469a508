/* test_compress.c: bodies come back as they were, and only those are packed that get smaller. */
#include "stream/stream_impl.h"

#include "support/pick.h"

#include "codec/s2.h"

#include "unity.h"

#include <stdlib.h>

static struct stream s;
static struct mf_buf room;
static uint8_t *bytes;

void setUp(void)
{
    s = (struct stream){.cfg.compression = COMPRESSION_S2};
    bytes = malloc(4u << 20);
    TEST_ASSERT_NOT_NULL(bytes);
}

void tearDown(void)
{
    mf_buf_fini(&s.buf.body);
    mf_buf_fini(&room);
    free(bytes);
}

static void test_a_body_that_shrinks_is_packed_and_comes_back(void)
{
    struct mf_slice body = mf_slice(bytes, 100000), stored, back;
    uint16_t flags = MSG_HEADER;

    for (size_t i = 0; i < body.len; i++)
        bytes[i] = (uint8_t)("the quick brown fox "[i % 20] + i / 5000);
    stored = compress_body(&s, body, &flags);
    TEST_ASSERT_EQUAL_UINT16(MSG_HEADER | MSG_COMPRESSED, flags);
    TEST_ASSERT_LESS_THAN_size_t(body.len / 2, stored.len);
    TEST_ASSERT_EQUAL_INT(0, compress_undo(stored, &room, &back));
    TEST_ASSERT_TRUE(mf_eq(back, body));
}

static void test_what_does_not_shrink_is_stored_as_it_came(void)
{
    struct mf_slice body = mf_slice(bytes, 10000);
    uint16_t flags = 0;

    pick_bytes(&(struct pick){7}, bytes, body.len);
    struct mf_slice stored = compress_body(&s, body, &flags);
    TEST_ASSERT_EQUAL_UINT16(0, flags);
    TEST_ASSERT_EQUAL_PTR(body.ptr, stored.ptr);
    TEST_ASSERT_EQUAL_size_t(body.len, stored.len);
}

static void test_small_bodies_and_other_streams_are_left_alone(void)
{
    uint16_t flags = 0;

    memset(bytes, 'x', 1000);
    TEST_ASSERT_EQUAL_size_t(255, compress_body(&s, mf_slice(bytes, 255), &flags).len);
    TEST_ASSERT_EQUAL_size_t(0, compress_body(&s, MF_SLICE_NONE, &flags).len);
    TEST_ASSERT_EQUAL_UINT16(0, flags);
    TEST_ASSERT_LESS_THAN_size_t(256, compress_body(&s, mf_slice(bytes, 256), &flags).len);
    TEST_ASSERT_EQUAL_UINT16(MSG_COMPRESSED, flags);
    flags = 0;
    s.cfg.compression = COMPRESSION_NONE;
    TEST_ASSERT_EQUAL_size_t(1000, compress_body(&s, mf_slice(bytes, 1000), &flags).len);
    TEST_ASSERT_EQUAL_UINT16(0, flags);
}

/* One large message must not cost its size for ever. */
static void test_a_large_buffer_is_given_back(void)
{
    uint16_t flags = 0;
    struct mf_slice back;

    memset(bytes, 'x', 4u << 20);
    struct mf_slice stored = compress_body(&s, mf_slice(bytes, 4u << 20), &flags);
    TEST_ASSERT_EQUAL_INT(0, compress_undo(stored, &room, &back));
    TEST_ASSERT_EQUAL_size_t(4u << 20, back.len);
    stored = compress_body(&s, mf_slice(bytes, 1000), &flags);
    TEST_ASSERT_LESS_OR_EQUAL_size_t(1u << 20, s.buf.body.cap);
    TEST_ASSERT_EQUAL_INT(0, compress_undo(stored, &room, &back));
    TEST_ASSERT_TRUE(mf_eq(back, mf_slice(bytes, 1000)));
}

/* Damage, or another program's file: no memory is taken for a length nobody can have sent. */
static void test_a_damaged_block_is_refused(void)
{
    const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 0};
    uint16_t flags = 0;
    struct mf_slice back;

    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, compress_undo(MF_SLICE_NONE, &room, &back));
    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, compress_undo(mf_slice(huge, sizeof huge), &room, &back));
    TEST_ASSERT_EQUAL_size_t(0, room.cap);
    for (size_t i = 0; i < 5000; i++)
        bytes[i] = (uint8_t)("a quick brown fox"[i % 17] + i / 300);
    struct mf_slice stored = compress_body(&s, mf_slice(bytes, 5000), &flags);
    TEST_ASSERT_EQUAL_UINT16(MSG_COMPRESSED, flags);
    for (size_t cut = 0; cut < stored.len; cut++)
        TEST_ASSERT_EQUAL_INT(MF_CORRUPT, compress_undo(mf_slice(stored.ptr, cut), &room, &back));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_body_that_shrinks_is_packed_and_comes_back);
    RUN_TEST(test_what_does_not_shrink_is_stored_as_it_came);
    RUN_TEST(test_small_bodies_and_other_streams_are_left_alone);
    RUN_TEST(test_a_large_buffer_is_given_back);
    RUN_TEST(test_a_damaged_block_is_refused);
    return UNITY_END();
}
