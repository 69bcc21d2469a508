/* test_archive.c: the format of snapshots: ours comes back, nats-server's own is read, what is cut
 * off or wrong is noticed. */
#include "codec/archive.h"

#include "codec/s2.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct mf_buf bytes;
static struct archive_reader r;

void setUp(void)
{
    bytes = MF_BUF_INIT;
    archive_reader_init(&r, 1000, 1000);
}

void tearDown(void)
{
    mf_buf_fini(&bytes);
    archive_reader_fini(&r);
}

static void give(const void *p, size_t n)
{
    mf_buf_append(archive_reader_ready(&r), p, n);
}

static void write_small(void)
{
    archive_begin(&bytes);
    archive_add(&bytes, &(struct archive_entry){.name = MF_LIT("state.json"),
                                                .ts_ns = 1763280000000000000,
                                                .payload = MF_LIT("{\"messages\":1}")});
    archive_add(&bytes, &(struct archive_entry){.name = MF_LIT("a.b"),
                                                .ts_ns = -5,
                                                .seq = UINT64_MAX,
                                                .hdr = MF_LIT("NATS/1.0\r\n\r\n"),
                                                .payload = MF_LIT("x")});
    archive_end(&bytes);
}

/* Cut anywhere: the same entries, none twice, none early. */
static void test_entries_come_back_however_they_are_cut(void)
{
    write_small();
    for (size_t step = 1; step <= bytes.len; step++) {
        struct archive_entry e;
        int n = 0, rc;

        archive_reader_fini(&r);
        archive_reader_init(&r, 1000, 1000);
        for (size_t at = 0; at < bytes.len; at += step) {
            give(bytes.ptr + at, bytes.len - at < step ? bytes.len - at : step);
            while ((rc = archive_next(&r, &e)) == 0) {
                n++;
                if (n == 1) {
                    TEST_ASSERT_TRUE(mf_eq_str(e.name, "state.json"));
                    TEST_ASSERT_TRUE(e.ts_ns == 1763280000000000000 && e.seq == 0 && !e.end);
                    TEST_ASSERT_TRUE(mf_eq_str(e.payload, "{\"messages\":1}"));
                } else if (n == 2) {
                    TEST_ASSERT_TRUE(mf_eq_str(e.name, "a.b"));
                    TEST_ASSERT_TRUE(e.ts_ns == -5 && e.seq == UINT64_MAX);
                    TEST_ASSERT_TRUE(mf_eq_str(e.hdr, "NATS/1.0\r\n\r\n"));
                    TEST_ASSERT_TRUE(mf_eq_str(e.payload, "x"));
                } else {
                    TEST_ASSERT_TRUE(e.end);
                }
            }
            TEST_ASSERT_EQUAL(MF_AGAIN, rc);
        }
        TEST_ASSERT_EQUAL(3, n);
        TEST_ASSERT_TRUE(r.ended);
    }
}

/* An archive without its last entry was cut off: a restore of it must fail. */
static void test_archive_cut_anywhere_has_not_ended(void)
{
    write_small();
    for (size_t n = 0; n < bytes.len; n++) {
        struct archive_entry e;

        archive_reader_fini(&r);
        archive_reader_init(&r, 1000, 1000);
        give(bytes.ptr, n);
        while (archive_next(&r, &e) == 0)
            continue;
        TEST_ASSERT_FALSE(r.ended);
    }
}

/* A snapshot taken from nats-server 2.15.1: 21 messages to s.0 .. s.3 and s.ttl, of which 1, 2, 7,
 * 8 and 21 were deleted. */
static void test_snapshot_of_nats_server_is_read(void)
{
    static const uint64_t want[] = {3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    uint8_t file[16384];
    FILE *f = fopen(ASSETS "/snapshot/nats-2.15.1.s2", "rb");
    struct s2_reader s2;
    struct archive_entry e;
    size_t n, got = 0;

    TEST_ASSERT_NOT_NULL(f);
    n = fread(file, 1, sizeof file, f);
    fclose(f);
    archive_reader_fini(&r);
    archive_reader_init(&r, 100000, 100000);
    s2_reader_init(&s2);
    TEST_ASSERT_EQUAL(0, s2_reader_feed(&s2, mf_slice(file, n), archive_reader_ready(&r)));
    TEST_ASSERT_TRUE(s2_reader_clean(&s2));
    s2_reader_fini(&s2);

    TEST_ASSERT_EQUAL(0, archive_next(&r, &e));
    TEST_ASSERT_TRUE(mf_eq_str(e.name, ARCHIVE_STATE));
    TEST_ASSERT_TRUE(mf_starts(e.payload, "{\"messages\":16,"));
    while (archive_next(&r, &e) == 0 && !e.end) {
        char subject[8], first[16];
        uint64_t i = e.seq - 1;

        TEST_ASSERT_TRUE(got < MF_COUNT(want) && e.seq == want[got]);
        (void)snprintf(subject, sizeof subject, "s.%d", (int)(i % 4));
        (void)snprintf(first, sizeof first, "hello %d ", (int)i);
        TEST_ASSERT_TRUE(mf_eq_str(e.name, subject));
        TEST_ASSERT_TRUE(mf_starts(e.payload, first));
        TEST_ASSERT_EQUAL(i % 3 == 0, e.hdr.len > 0);
        TEST_ASSERT_TRUE(e.ts_ns > 1700000000000000000);
        got++;
    }
    TEST_ASSERT_EQUAL(MF_COUNT(want), got);
    TEST_ASSERT_TRUE(e.end);
}

/* Refused by what it says, before its bytes take memory. */
static void test_message_larger_than_allowed_is_refused_at_once(void)
{
    struct archive_entry e;

    archive_begin(&bytes);
    mf_buf_append(&bytes, "\x01\x02\x07\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 13);
    give(bytes.ptr, bytes.len);
    TEST_ASSERT_EQUAL(MF_LIMIT, archive_next(&r, &e));
    TEST_ASSERT_EQUAL_UINT64(7, e.seq);
}

/* A consumer's state may be huge; it must not stop the messages behind it. */
static void test_large_other_entry_is_passed_over(void)
{
    struct archive_entry e;
    char big[5000];

    memset(big, '.', sizeof big);
    archive_begin(&bytes);
    archive_add(&bytes, &(struct archive_entry){.name = MF_LIT("consumers/c"),
                                                .ts_ns = 1,
                                                .payload = mf_slice(big, sizeof big)});
    archive_add(&bytes, &(struct archive_entry){.name = MF_LIT("a"), .seq = 1});
    archive_end(&bytes);
    for (size_t at = 0, n = 0; at < bytes.len; at += 100) {
        give(bytes.ptr + at, bytes.len - at < 100 ? bytes.len - at : 100);
        TEST_ASSERT_TRUE(r.in.len <= 200);
        while (archive_next(&r, &e) == 0) {
            n++;
            TEST_ASSERT_EQUAL(n == 1, e.skipped);
            if (n == 1)
                TEST_ASSERT_TRUE(mf_eq_str(e.name, "consumers/c"));
            TEST_ASSERT_EQUAL_UINT64(n == 2, e.seq);
        }
    }
    TEST_ASSERT_TRUE(r.ended);
}

static void test_other_formats_and_bad_numbers_are_refused(void)
{
    struct archive_entry e;

    give("NATSARX", 7);
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, archive_next(&r, &e));
    archive_reader_fini(&r);
    archive_reader_init(&r, 1000, 1000);
    give("NATSARC1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 18); /* more than 64 bits */
    TEST_ASSERT_EQUAL(MF_CORRUPT, archive_next(&r, &e));
    archive_reader_fini(&r);
    archive_reader_init(&r, 1000, 1000);
    give("NATSARC1\x80\x80\x10\x00\x00\x00\x00", 15); /* a name of 256 KiB */
    TEST_ASSERT_EQUAL(MF_CORRUPT, archive_next(&r, &e));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_entries_come_back_however_they_are_cut);
    RUN_TEST(test_archive_cut_anywhere_has_not_ended);
    RUN_TEST(test_snapshot_of_nats_server_is_read);
    RUN_TEST(test_message_larger_than_allowed_is_refused_at_once);
    RUN_TEST(test_large_other_entry_is_passed_over);
    RUN_TEST(test_other_formats_and_bad_numbers_are_refused);
    return UNITY_END();
}
