/* test_s2.c: S2 blocks and frames: what we write comes back, what others write is read, what is
 * broken is refused. */
#include "codec/s2.h"

#include "base/rand.h"
#include "support/guard.h"

#include "unity.h"

#include <stdlib.h>

static struct mf_buf a, b;

void setUp(void)
{
    a = MF_BUF_INIT;
    b = MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&a);
    mf_buf_fini(&b);
    guard_free();
}

static void check_block(struct mf_slice want, const void *block, size_t n)
{
    struct mf_slice in = mf_slice(guard_copy(block, n), n);
    uint8_t *out = malloc(want.len + 1);
    size_t len;

    TEST_ASSERT_EQUAL(0, s2_length(in, &len));
    TEST_ASSERT_EQUAL(want.len, len);
    TEST_ASSERT_EQUAL(0, s2_uncompress(out, len, in));
    TEST_ASSERT_TRUE(mf_eq(want, mf_slice(out, len)));
    free(out);
}

static void refuse_block(const void *block, size_t n)
{
    struct mf_slice in = mf_slice(guard_copy(block, n), n);
    uint8_t out[4096];
    size_t len;

    if (s2_length(in, &len) != 0)
        return;
    TEST_ASSERT_TRUE(len <= sizeof out);
    TEST_ASSERT_EQUAL(MF_CORRUPT, s2_uncompress(out, len, in));
}

/* Bytes of all kinds: all the same, a few letters, random, text with a period; around every limit
 * of the encoder. */
static void fill(uint8_t *p, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++) {
        if (kind == 0)
            p[i] = 'x';
        else if (kind == 1)
            p[i] = (uint8_t)('a' + rand_below(3));
        else if (kind == 2)
            p[i] = (uint8_t)rand_fast();
        else
            p[i] = (uint8_t)(i % 1000 * 7 + i / 5000);
    }
}

/* The one promise of a compressor. */
static void test_compressed_bytes_come_back(void)
{
    static const size_t sizes[] = {0,  1,  2,   3,    4,    15,   18,    19,    20,    60,    61,
                                   64, 68, 100, 2047, 2048, 4000, 65535, 65536, 65537, 200000};

    for (size_t i = 0; i < MF_COUNT(sizes); i++) {
        for (unsigned kind = 0; kind < 4; kind++) {
            size_t n = sizes[i], m;
            uint8_t *src = malloc(n + 1), *dst = malloc(s2_bound(n));

            fill(src, n, kind);
            m = s2_compress(dst, mf_slice(src, n));
            TEST_ASSERT_TRUE(m <= s2_bound(n));
            if (kind != 2 && n >= 2048)
                TEST_ASSERT_TRUE(m < n);
            check_block(mf_slice(src, n), dst, m);
            free(src);
            free(dst);
        }
    }
}

/* Small inputs in great number: every boundary between literal and copy. */
static void test_random_small_inputs_come_back(void)
{
    for (int i = 0; i < 3000; i++) {
        uint8_t src[300], dst[400];
        size_t n = rand_below(sizeof src), m;

        fill(src, n, 1);
        m = s2_compress(dst, mf_slice(src, n));
        check_block(mf_slice(src, n), dst, m);
    }
}

/* Elements only S2 has, and forms our encoder never writes: nats-server's does. */
static void test_every_kind_of_element_is_read(void)
{
    uint8_t want[70000];

    /* literal "ab", copy 1 (offset 2, length 4), repeat of length 4 */
    check_block(MF_LIT("abababababa"),
                "\x0b\x04"
                "ab\x01\x02\x01\x00\x00"
                "a",
                10);
    /* copy with a 16 bit offset, copy with a 32 bit offset */
    check_block(MF_LIT("abcabcabc"),
                "\x09\x08"
                "abc\x0a\x03\x00\x0b\x06\x00\x00\x00",
                13);
    /* literals with one, two, three and four bytes of length */
    check_block(MF_LIT("abcd"),
                "\x04\xf0\x00"
                "a\xf4\x00\x00"
                "b\xf8\x00\x00\x00"
                "c\xfc\x00\x00\x00\x00"
                "d",
                19);
    /* repeats with one, two and three bytes of length: 8 + 2, 260 + 1, 65540 + 3 */
    memset(want, 'z', sizeof want);
    check_block(mf_slice(want, 1 + 4 + 10), "\x0f\x00z\x01\x01\x15\x00\x02", 8);
    check_block(mf_slice(want, 1 + 4 + 261), "\x8a\x02\x00z\x01\x01\x19\x00\x01\x00", 10);
    check_block(mf_slice(want, 1 + 4 + 65543), "\x8c\x80\x04\x00z\x01\x01\x1d\x00\x03\x00\x00", 12);
}

/* Hostile input: nothing is read or written beside (guard pages, ASan). */
static void test_broken_blocks_are_refused(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"", 0},
        {"\xff\xff\xff\xff\xff\xff", 6},      /* a length that never ends */
        {"\xff\xff\xff\xff\x7f", 5},          /* a length beyond 32 bits */
        {"\x05", 1},                          /* nothing */
        {"\x05\x10hell", 6},                  /* a literal cut off */
        {"\x02\x08zzz", 5},                   /* longer than said */
        {"\x09\x00z\x01\x02", 5},             /* behind the beginning */
        {"\x09\x00z\x02\x00\x00", 6},         /* offset 0 in the long form */
        {"\x05\x01\x00", 3},                  /* a repeat of nothing */
        {"\x06\x00z\x01\x01\x15\x00", 7},     /* length of a repeat cut off */
        {"\x06\x00z\x01", 4},                 /* offset cut off */
        {"\x06\x00z\x03\x01\x00\x00", 7},     /* offset cut off */
        {"\x0a\x00z\x01\x01\x15\x00\xff", 8}, /* a repeat that is too long */
        {"\x05\xfc\xff\xff\xff\xff"
         "abc",
         9}, /* a literal of 4 GiB */
    };

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        refuse_block(bad[i].bytes, bad[i].n);
}

/* --- frames --------------------------------------------------------------------------------- */

/* Reads a whole stream in pieces of `step` bytes. */
static int read_frames(struct mf_slice in, size_t step, struct mf_buf *out, bool *clean)
{
    struct s2_reader r;
    int rc = 0;

    s2_reader_init(&r);
    for (size_t at = 0; rc == 0 && at < in.len; at += step) {
        size_t n = in.len - at < step ? in.len - at : step;

        rc = s2_reader_feed(&r, mf_slice(in.ptr + at, n), out);
        while (rc == 0 && s2_reader_more(&r))
            rc = s2_reader_feed(&r, MF_SLICE_NONE, out);
    }
    *clean = s2_reader_clean(&r);
    s2_reader_fini(&r);
    return rc;
}

/* However the network cuts it. */
static void test_frames_come_back_in_pieces_of_any_size(void)
{
    static const size_t steps[] = {1, 3, 1000, 65536, 1000000};
    uint8_t *src = malloc(150000);
    bool clean;

    fill(src, 100000, 1);
    fill(src + 100000, 50000, 2);
    s2_frame_begin(&a);
    s2_frame_add(&a, mf_slice(src, 150000));
    s2_frame_add(&a, MF_LIT("end"));
    TEST_ASSERT_TRUE(a.len < 150000);
    for (size_t i = 0; i < MF_COUNT(steps); i++) {
        mf_buf_clear(&b);
        TEST_ASSERT_EQUAL(0, read_frames(mf_buf_slice(&a), steps[i], &b, &clean));
        TEST_ASSERT_TRUE(clean);
        TEST_ASSERT_EQUAL(150003, b.len);
        TEST_ASSERT_EQUAL_MEMORY(src, b.ptr, 150000);
        TEST_ASSERT_EQUAL_MEMORY("end", b.ptr + 150000, 3);
    }
    free(src);
}

/* The checksum is the one the format asks for: a frame as Snappy's own tools write it. */
static void test_frame_of_another_writer_is_read(void)
{
    /* uncompressed "123456789": CRC32C e3069283, masked as the framing format says */
    static const char known[] = "\xff\x06\x00\x00sNaPpY"
                                "\xfe\x03\x00\x00\x00\x00\x00"
                                "\x99\x01\x00\x00x"
                                "\x80\x00\x00\x00"
                                "\x01\x0d\x00\x00\xe5\xb0\x8a\xc7"
                                "123456789";
    bool clean;

    TEST_ASSERT_EQUAL(0, read_frames(mf_slice(known, sizeof known - 1), 1, &b, &clean));
    TEST_ASSERT_TRUE(clean);
    TEST_ASSERT_TRUE(mf_eq(MF_LIT("123456789"), mf_buf_slice(&b)));
}

/* Readers that know Snappy alone look at the name of the stream; the blocks are plain Snappy. */
static void test_a_snappy_stream_is_named_so(void)
{
    bool clean;

    s2_frame_begin_snappy(&a);
    s2_frame_add(&a, MF_LIT("hello hello hello hello hello"));
    TEST_ASSERT_EQUAL_MEMORY("\xff\x06\x00\x00sNaPpY", a.ptr, 10);
    TEST_ASSERT_EQUAL(0, read_frames(mf_buf_slice(&a), 7, &b, &clean));
    TEST_ASSERT_TRUE(clean && mf_eq(MF_LIT("hello hello hello hello hello"), mf_buf_slice(&b)));
}

/* A restore must never store what was damaged on the way: any flipped bit shows,
 * unless it makes no difference (an offset to the same bytes elsewhere). */
static void test_any_flipped_bit_is_noticed(void)
{
    uint8_t src[200];
    bool clean;

    fill(src, sizeof src, 1);
    s2_frame_begin(&a);
    s2_frame_add(&a, mf_slice(src, sizeof src));
    for (size_t bit = 0; bit < a.len * 8; bit++) {
        int rc;

        a.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
        mf_buf_clear(&b);
        rc = read_frames(mf_buf_slice(&a), a.len, &b, &clean);
        TEST_ASSERT_TRUE(rc == MF_CORRUPT || !clean || b.len == 0 ||
                         mf_eq(mf_slice(src, sizeof src), mf_buf_slice(&b)));
        a.ptr[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_broken_frames_are_refused(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\x01\x05\x00\x00????x", 9},                      /* no stream identifier */
        {"\xff\x06\x00\x00S2sTwo", 10},                    /* another one */
        {"\xff\x07\x00\x00S2sTwO", 10},                    /* a longer one */
        {"\xff\x06\x00\x00S2sTwO\x02\x00\x00\x00", 14},    /* unknown, may not be skipped */
        {"\xff\x06\x00\x00S2sTwO\x00\x03\x00\x00zzz", 17}, /* no room for a checksum */
        {"\xff\x06\x00\x00S2sTwO\x00\xff\xff\xff", 14},    /* longer than any chunk */
        {"\xff\x06\x00\x00S2sTwO\x00\x09\x00\x00????\xff\xff\xff\xff\x0f", 23}, /* 4 GiB */
    };
    bool clean;

    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_MESSAGE(MF_CORRUPT,
                                  read_frames(mf_slice(bad[i].bytes, bad[i].n), 1000, &b, &clean),
                                  bad[i].bytes);
}

/* 4 MiB behind 20 bytes, again and again: a small upload must not take all memory at once. */
static void test_a_bomb_is_uncovered_a_little_at_a_time(void)
{
    struct s2_reader r;
    uint8_t *zeros = calloc(1, 65536);
    size_t total = 0;

    s2_frame_begin(&a);
    for (int i = 0; i < 200; i++)
        s2_frame_add(&a, mf_slice(zeros, 65536));
    s2_reader_init(&r);
    TEST_ASSERT_EQUAL(0, s2_reader_feed(&r, mf_buf_slice(&a), &b));
    for (;;) {
        TEST_ASSERT_TRUE(b.len <= S2_READ_MAX + S2_CHUNK_MAX);
        total += b.len;
        mf_buf_clear(&b);
        if (!s2_reader_more(&r))
            break;
        TEST_ASSERT_EQUAL(0, s2_reader_feed(&r, MF_SLICE_NONE, &b));
    }
    TEST_ASSERT_EQUAL(200 * 65536, total);
    TEST_ASSERT_TRUE(s2_reader_clean(&r));
    s2_reader_fini(&r);
    free(zeros);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_compressed_bytes_come_back);
    RUN_TEST(test_random_small_inputs_come_back);
    RUN_TEST(test_every_kind_of_element_is_read);
    RUN_TEST(test_broken_blocks_are_refused);
    RUN_TEST(test_frames_come_back_in_pieces_of_any_size);
    RUN_TEST(test_frame_of_another_writer_is_read);
    RUN_TEST(test_a_snappy_stream_is_named_so);
    RUN_TEST(test_any_flipped_bit_is_noticed);
    RUN_TEST(test_broken_frames_are_refused);
    RUN_TEST(test_a_bomb_is_uncovered_a_little_at_a_time);
    return UNITY_END();
}
