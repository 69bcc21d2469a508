/* test_store_scan.c: walking a segment over damage, in time that does not depend on what it holds.
 */
#include "store/log/scan.h"

#include "codec/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static const uint8_t id[STORE_ID] = {1, 2, 3};
static uint64_t key;
static uint8_t *seg;
static size_t size;

void setUp(void)
{
    key = record_key(id, 1);
    size = 64 << 10;
    seg = calloc(1, size);
}
void tearDown(void)
{
    free(seg);
}

/* n messages from `at` on; their offsets in where[]; returns the end. */
static uint64_t fill(uint64_t at, unsigned n, size_t body_len, uint32_t *chain, uint64_t *where)
{
    uint8_t body[1024];

    memset(body, 'x', sizeof body);
    for (unsigned i = 0; i < n; i++) {
        struct record r = {.type = RECORD_MESSAGE,
                           .last = true,
                           .seq = i + 1,
                           .key = MF_LIT("k"),
                           .body = {body, body_len}};
        size_t len = record_encode(seg + at, &r);
        record_finish(seg + at, len, key, at, chain, NULL);
        where[i] = at;
        at += len;
    }
    return at;
}

static void start(struct scan *s)
{
    scan_init(s, seg, size, key, SEGMENT_PAGE);
    s->chain_known = true;
}

static void test_records_come_in_order_and_then_the_end(void)
{
    uint64_t where[5], at;
    uint32_t chain = 0;
    struct scan s;
    struct record r;
    bool broken;

    uint64_t end = fill(SEGMENT_PAGE, 5, 30, &chain, where);
    start(&s);
    for (unsigned i = 0; i < 5; i++) {
        TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
        TEST_ASSERT_EQUAL_UINT64(where[i], at);
        TEST_ASSERT_EQUAL_UINT64(i + 1, r.seq);
    }
    TEST_ASSERT_EQUAL_UINT32(chain, s.chain);
    TEST_ASSERT_EQUAL(SCAN_END, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_EQUAL_UINT64(end, at);
    TEST_ASSERT_FALSE(broken);
}

/* Any damaged byte costs its record and no other. */
static void test_one_damaged_byte_costs_one_record(void)
{
    uint64_t where[3], at;
    uint32_t chain = 0;
    struct scan s;
    struct record r;
    bool broken;

    fill(SEGMENT_PAGE, 3, 30, &chain, where);
    for (uint64_t b = where[1]; b < where[2]; b++) {
        seg[b] ^= 0x10;
        start(&s);
        TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
        TEST_ASSERT_EQUAL(SCAN_STRETCH, scan_next(&s, &r, &at, &broken));
        TEST_ASSERT_EQUAL_UINT64(where[1], at);
        TEST_ASSERT_EQUAL_UINT64(where[2], s.offset);
        TEST_ASSERT_EQUAL(b >= where[1] + 56, broken);
        TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
        TEST_ASSERT_EQUAL_UINT64(3, r.seq);
        TEST_ASSERT_EQUAL(SCAN_END, scan_next(&s, &r, &at, &broken));
        seg[b] ^= 0x10;
    }
}

/* A record that does not continue the chain belongs to another history. */
static void test_a_record_out_of_chain_starts_a_stretch(void)
{
    uint64_t where[2], other[2], at;
    uint32_t chain = 0, stranger = 77;
    struct scan s;
    struct record r;
    bool broken;

    uint64_t end = fill(SEGMENT_PAGE, 2, 30, &chain, where);
    fill(end, 2, 30, &stranger, other);
    start(&s);
    TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_EQUAL(SCAN_STRETCH, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_EQUAL_UINT64(other[0], at);
    TEST_ASSERT_EQUAL_UINT64(other[1], s.offset);
    start(&s);
    s.loose = true;
    for (unsigned i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL(SCAN_RECORD, scan_next(&s, &r, &at, &broken));
}

/* A valid record is found wherever zeros end, whatever its place in the 64 bytes that are skipped
 * at once. */
static void test_a_record_after_zeros_is_found_at_every_place(void)
{
    uint64_t where[1], at;
    struct scan s;
    struct record r;
    bool broken;

    for (uint64_t gap = 8; gap <= 264; gap += 8) {
        uint32_t chain = 0;
        memset(seg, 0, size);
        fill(SEGMENT_PAGE + gap, 1, 3, &chain, where);
        start(&s);
        TEST_ASSERT_EQUAL(SCAN_STRETCH, scan_next(&s, &r, &at, &broken));
        TEST_ASSERT_EQUAL_UINT64(where[0], s.offset);
    }
}

/* Truncated files: whatever the size, nothing beyond it is read. */
static void test_a_segment_of_any_size_is_read_to_its_end_only(void)
{
    uint64_t where[3], at;
    uint32_t chain = 0;
    struct scan s;
    struct record r;
    bool broken;

    uint64_t end = fill(SEGMENT_PAGE, 3, 30, &chain, where);
    for (uint64_t n = SEGMENT_PAGE; n <= end; n++) {
        uint8_t *part = malloc(n);
        unsigned got = 0;
        memcpy(part, seg, n);
        scan_init(&s, part, n, key, SEGMENT_PAGE);
        while (scan_next(&s, &r, &at, &broken) == SCAN_RECORD)
            got++;
        TEST_ASSERT_EQUAL((n >= where[1]) + (n >= where[2]) + (n >= end), got);
        free(part);
    }
}

/* Counts what is hashed: whoever can forge heads (he has the store's id) writes one every 64 bytes,
 * each claiming the rest of the segment as its data.  Hashing all of it each time would take
 * minutes; the scan gives up on them after four times the segment's size. */
static void test_overlapping_heads_are_not_hashed_again_and_again(void)
{
    struct scan s;
    struct record r;
    uint64_t at;
    bool broken;

    for (uint64_t o = SEGMENT_PAGE; o + 64 <= size; o += 64) {
        struct record head = {.type = RECORD_MESSAGE, .last = true, .seq = 1};
        uint64_t seed = record_seed(key, o);
        record_encode(seg + o, &head);
        put_u32(seg + o + 4, (uint32_t)(size - o));
        put_u32(seg + o, (uint32_t)checksum64(seg + o + 4, 52, seed));
        TEST_ASSERT_TRUE(record_read_head(seg + o, size - o, key, o, &r));
    }
    start(&s);
    TEST_ASSERT_EQUAL(SCAN_END, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_TRUE(broken);
    TEST_ASSERT_LESS_THAN_UINT64(size, s.budget);
}

/* Bodies full of what looks like records, as a client may send them: none is one, and the records
 * around them stand. */
static void test_fake_records_in_a_body_are_not_believed(void)
{
    uint8_t body[960];
    uint32_t chain = 0;
    struct record fake = {.type = RECORD_REMOVE, .last = true, .seq = 1};
    struct record m = {.type = RECORD_MESSAGE, .last = true, .seq = 9, .body = {body, 960}};
    uint64_t at, o = SEGMENT_PAGE, wrong_key = record_key(id, 2);
    struct scan s;
    struct record r;
    bool broken;

    for (size_t i = 0; i < sizeof body; i += 24) {
        uint32_t c = 0;
        record_encode(body + i, &fake);
        record_finish(body + i, 24, wrong_key, i, &c, NULL);
    }
    for (unsigned i = 0; i < 3; i++) {
        size_t n = record_encode(seg + o, &m);
        record_finish(seg + o, n, key, o, &chain, NULL);
        o += n;
    }
    seg[SEGMENT_PAGE + 60] ^= 1;
    start(&s);
    TEST_ASSERT_EQUAL(SCAN_STRETCH, scan_next(&s, &r, &at, &broken));
    TEST_ASSERT_EQUAL_UINT64(SEGMENT_PAGE + (o - SEGMENT_PAGE) / 3, s.offset);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_records_come_in_order_and_then_the_end);
    RUN_TEST(test_one_damaged_byte_costs_one_record);
    RUN_TEST(test_a_record_out_of_chain_starts_a_stretch);
    RUN_TEST(test_a_record_after_zeros_is_found_at_every_place);
    RUN_TEST(test_a_segment_of_any_size_is_read_to_its_end_only);
    RUN_TEST(test_overlapping_heads_are_not_hashed_again_and_again);
    RUN_TEST(test_fake_records_in_a_body_are_not_believed);
    return UNITY_END();
}
