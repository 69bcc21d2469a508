/* test_store_record.c: every record type, written, read and damaged. */
#include "store/log/record.h"

#include "codec/checksum.h"

#include <stdlib.h>
#include <unity.h>

void setUp(void)
{
}
void tearDown(void)
{
}

static const uint8_t id[STORE_ID] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
static const uint64_t set3[] = {5, 70, 900};

#define TYPES 12
/* One of each, with odd lengths so that there is padding, and the empty ones. */
static const struct record all[TYPES] = {
    {.type = RECORD_MESSAGE,
     .last = true,
     .flags = 0x8003,
     .seq = 77,
     .ts_ns = -5,
     .deadline_ns = INT64_MAX,
     .key = {(const uint8_t *)"orders.new", 10},
     .head = {(const uint8_t *)"NATS/1.0", 8},
     .body = {(const uint8_t *)"twenty-one and a bit", 20}},
    {.type = RECORD_MESSAGE, .seq = 78},
    {.type = RECORD_COPY, .last = true, .flags = 1, .seq = 3, .key = {(const uint8_t *)"k", 1}},
    {.type = RECORD_REMOVE, .last = true, .seq = 12},
    {.type = RECORD_RANGE, .seq = 1, .seq_last = UINT64_MAX},
    {.type = RECORD_SET, .last = true, .set = (const uint8_t *)set3, .count = 3},
    {.type = RECORD_DEADLINE, .last = true, .seq = 4, .deadline_ns = 1},
    {.type = RECORD_MARK, .last = true, .mark = {1234, 56}},
    {.type = RECORD_COMMIT,
     .group = 1,
     .synced = {2, 4096},
     .first_segment = 3,
     .last_seq = 4,
     .mark = {5, 6},
     .clock_ns = 7},
    {.type = RECORD_SEAL, .next_segment = 18},
    {.type = RECORD_BLOB,
     .last = true,
     .key = {(const uint8_t *)"config", 6},
     .body = {(const uint8_t *)"{}", 2}},
    {.type = RECORD_BLOB, .deleted = true, .key = {(const uint8_t *)"gone", 4}},
};

static void assert_same(const struct record *want, const struct record *got)
{
    TEST_ASSERT_EQUAL_UINT8(want->type, got->type);
    TEST_ASSERT_EQUAL(want->last, got->last);
    TEST_ASSERT_EQUAL_UINT16(want->flags, got->flags);
    TEST_ASSERT_EQUAL_UINT64(want->seq, got->seq);
    TEST_ASSERT_EQUAL_UINT64(want->seq_last, got->seq_last);
    TEST_ASSERT_EQUAL_INT64(want->ts_ns, got->ts_ns);
    TEST_ASSERT_EQUAL_INT64(want->deadline_ns, got->deadline_ns);
    TEST_ASSERT_TRUE(mf_eq(want->key, got->key));
    TEST_ASSERT_TRUE(mf_eq(want->head, got->head));
    TEST_ASSERT_TRUE(mf_eq(want->body, got->body));
    TEST_ASSERT_EQUAL(want->deleted, got->deleted);
    TEST_ASSERT_EQUAL_UINT32(want->count, got->count);
    for (uint32_t i = 0; i < want->count; i++)
        TEST_ASSERT_EQUAL_UINT64(set3[i], record_set_at(got, i));
    TEST_ASSERT_EQUAL_INT64(want->mark.time_ns, got->mark.time_ns);
    TEST_ASSERT_EQUAL_UINT64(want->mark.seq, got->mark.seq);
    TEST_ASSERT_EQUAL_UINT64(want->group, got->group);
    TEST_ASSERT_EQUAL_UINT64(want->synced.segment, got->synced.segment);
    TEST_ASSERT_EQUAL_UINT64(want->synced.offset, got->synced.offset);
    TEST_ASSERT_EQUAL_UINT64(want->first_segment, got->first_segment);
    TEST_ASSERT_EQUAL_UINT64(want->last_seq, got->last_seq);
    TEST_ASSERT_EQUAL_UINT64(want->next_segment, got->next_segment);
    TEST_ASSERT_EQUAL_INT64(want->clock_ns, got->clock_ns);
}

static size_t encode_all(uint8_t *dst)
{
    size_t n = 0;

    for (unsigned i = 0; i < TYPES; i++)
        n += record_encode(dst + n, &all[i]);
    return n;
}

/* What the loop encodes and the worker finishes in one pass must read back field by field, with
 * every record vouching for the one before it. */
static void test_every_type_reads_back_and_chains(void)
{
    uint8_t log[2048];
    size_t n = encode_all(log), at = 0;
    uint64_t key = record_key(id, 4);
    uint32_t chain = 0xABCD, before = 0xABCD;

    record_finish(log, n, key, 8192, &chain, NULL);
    for (unsigned i = 0; i < TYPES; i++) {
        struct record r = {0};
        TEST_ASSERT_TRUE(record_read(log + at, n - at, key, 8192 + at, &r));
        assert_same(&all[i], &r);
        TEST_ASSERT_EQUAL_UINT32(before, r.chain);
        before = r.check;
        at += r.size;
    }
    TEST_ASSERT_EQUAL(n, at);
    TEST_ASSERT_EQUAL_UINT32(chain, before);
}

/* The layout is a promise to other readers: these bytes were put together from the document. */
static void test_a_message_has_the_documented_bytes(void)
{
    static const uint8_t want[] = {
        61, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 1, 1, 2, 0, /* length, chain, type, bits, flags */
        7,  0, 0, 0, 0,    0,    0,    0,                /* sequence */
        8,  0, 0, 0, 0,    0,    0,    0,                /* timestamp */
        9,  0, 0, 0, 0,    0,    0,    0,                /* deadline */
        1,  0, 0, 0, 2,    0,    0,    0,                /* head length, key length, 0 */
    };
    struct record r = {.type = RECORD_MESSAGE,
                       .last = true,
                       .flags = 2,
                       .seq = 7,
                       .ts_ns = 8,
                       .deadline_ns = 9,
                       .key = MF_LIT("ab"),
                       .head = MF_LIT("c"),
                       .body = MF_LIT("de")};
    uint8_t p[64];
    uint32_t chain = 0x11223344;
    uint8_t seed_of[STORE_ID + 8] = {0};

    TEST_ASSERT_EQUAL(64, record_encode(p, &r));
    memcpy(seed_of, id, STORE_ID);
    seed_of[STORE_ID] = 6;
    uint64_t seed = checksum64(seed_of, sizeof seed_of, 0) + UINT64_C(4096) * 0x9E3779B97F4A7C15u;
    record_finish(p, sizeof p, record_key(id, 6), 4096, &chain, NULL);
    TEST_ASSERT_EQUAL_MEMORY(want, p + 4, sizeof want);
    TEST_ASSERT_EQUAL_MEMORY("abcde\0\0\0", p + 56, 8);
    TEST_ASSERT_EQUAL_UINT64(checksum64(p + 56, 8, seed), get_u64(p + 48));
    TEST_ASSERT_EQUAL_UINT32((uint32_t)checksum64(p + 4, 52, seed), get_u32(p));
}

/* Promise: every damaged byte is found.  All bits of all types, padding included. */
static void test_every_flipped_bit_is_found(void)
{
    uint64_t key = record_key(id, 1);

    for (unsigned i = 0; i < TYPES; i++) {
        uint8_t p[256];
        uint32_t chain = 5;
        size_t n = record_encode(p, &all[i]);
        struct record r;
        record_finish(p, n, key, 4096, &chain, NULL);
        for (size_t bit = 0; bit < n * 8; bit++) {
            p[bit / 8] ^= (uint8_t)(1u << bit % 8);
            TEST_ASSERT_FALSE(record_read(p, n, key, 4096, &r));
            p[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        TEST_ASSERT_TRUE(record_read(p, n, key, 4096, &r));
    }
}

/* A stale block of a recycled file, a write that went elsewhere, another store's file. */
static void test_a_record_elsewhere_is_invalid(void)
{
    static const uint8_t other[STORE_ID] = {9, 8, 7, 6, 5, 4, 3, 2, 2};

    for (unsigned i = 0; i < TYPES; i++) {
        uint8_t p[256];
        uint32_t chain = 0;
        size_t n = record_encode(p, &all[i]);
        struct record r;
        record_finish(p, n, record_key(id, 1), 4096, &chain, NULL);
        TEST_ASSERT_FALSE(record_read(p, n, record_key(id, 2), 4096, &r));
        TEST_ASSERT_FALSE(record_read(p, n, record_key(id, 1), 4104, &r));
        TEST_ASSERT_FALSE(record_read(p, n, record_key(other, 1), 4096, &r));
    }
}

/* At the end of a mapping the next byte is not there: nothing past n may be read. */
static void test_a_record_cut_anywhere_is_invalid_and_not_read_past(void)
{
    for (unsigned i = 0; i < TYPES; i++) {
        uint8_t p[256];
        uint32_t chain = 0;
        size_t n = record_encode(p, &all[i]);
        struct record r;
        record_finish(p, n, record_key(id, 1), 4096, &chain, NULL);
        for (size_t cut = 0; cut < n; cut++) {
            uint8_t *part = malloc(cut > 0 ? cut : 1);
            memcpy(part, p, cut);
            TEST_ASSERT_FALSE(record_read(part, cut, record_key(id, 1), 4096, &r));
            free(part);
        }
    }
}

/* Puts the check over the fixed part right again, as a bug in a writer would. */
static void recheck(uint8_t *p, uint8_t type, uint64_t key)
{
    put_u32(p, (uint32_t)checksum64(p + 4, record_fixed(type) - 4, record_seed(key, 4096)));
}

/* Even with a good check: fields that must be 0, and lengths that do not add up, make a record
 * invalid, so that a later version can give them a meaning. */
static void test_reserved_fields_and_false_lengths_are_invalid(void)
{
    static const struct {
        unsigned record;
        uint32_t at;
        uint8_t value;
    } bad[] = {
        {0, 13, 3},  {0, 46, 1},  {0, 43, 1},  {0, 45, 1},  {3, 4, 32}, {3, 14, 1},  {3, 13, 2},
        {5, 16, 2},  {5, 20, 1},  {5, 14, 1},  {8, 13, 1},  {9, 13, 1}, {9, 12, 11}, {9, 12, 0},
        {10, 16, 3}, {10, 20, 5}, {10, 22, 2}, {10, 23, 1}, {7, 4, 24}, {8, 4, 72},
    };
    uint64_t key = record_key(id, 1);

    for (unsigned i = 0; i < MF_COUNT(bad); i++) {
        uint8_t p[256] = {0};
        uint32_t chain = 0;
        struct record r;
        size_t n = record_encode(p, &all[bad[i].record]);
        record_finish(p, n, key, 4096, &chain, NULL);
        p[bad[i].at] = bad[i].value;
        if (record_fixed(p[12]) != 0)
            recheck(p, p[12], key);
        TEST_ASSERT_FALSE_MESSAGE(record_read(p, sizeof p, key, 4096, &r), "see bad[]");
    }
}

static void test_the_last_bit_can_be_set_later(void)
{
    uint8_t p[64];
    uint32_t chain = 0;
    struct record r;
    size_t n = record_encode(p, &all[1]);

    record_set_last(p);
    record_finish(p, n, record_key(id, 1), 4096, &chain, NULL);
    TEST_ASSERT_TRUE(record_read(p, n, record_key(id, 1), 4096, &r));
    TEST_ASSERT_TRUE(r.last);
}

/* --- segment headers -------------------------------------------------------------------------- */

static void test_a_header_survives_the_loss_of_either_copy(void)
{
    uint8_t page[SEGMENT_PAGE];
    struct segment_head h;

    segment_page_encode(page, SEGMENT_PLAIN, id, 17, 65536, 99);
    TEST_ASSERT_EQUAL(0, segment_page_decode(page, &h));
    TEST_ASSERT_FALSE(h.damaged);
    for (unsigned copy = 0; copy < 2; copy++) {
        for (unsigned bit = 0; bit < SEGMENT_HEADER * 8; bit++) {
            uint8_t *at = &page[copy * 2048 + bit / 8];
            *at ^= (uint8_t)(1u << bit % 8);
            TEST_ASSERT_EQUAL(0, segment_page_decode(page, &h));
            TEST_ASSERT_TRUE(h.damaged);
            TEST_ASSERT_EQUAL(copy * 2048, h.damaged_at);
            TEST_ASSERT_EQUAL_UINT64(17, h.number);
            TEST_ASSERT_EQUAL_UINT64(65536, h.size);
            TEST_ASSERT_EQUAL_INT64(99, h.created_ns);
            TEST_ASSERT_EQUAL_MEMORY(id, h.id, STORE_ID);
            *at ^= (uint8_t)(1u << bit % 8);
        }
    }
    page[0] ^= 1;
    page[2048] ^= 1;
    TEST_ASSERT_EQUAL(MF_CORRUPT, segment_page_decode(page, &h));
}

/* A copy cannot stand in for the other: its check knows where it belongs. */
static void test_a_copy_in_the_wrong_place_is_bad(void)
{
    uint8_t page[SEGMENT_PAGE];
    struct segment_head h;

    segment_page_encode(page, SEGMENT_PLAIN, id, 17, 65536, 99);
    memcpy(page + 2048, page, SEGMENT_HEADER);
    TEST_ASSERT_EQUAL(0, segment_page_decode(page, &h));
    TEST_ASSERT_TRUE(h.damaged);
    TEST_ASSERT_EQUAL(2048, h.damaged_at);
}

static void test_a_greater_version_is_refused(void)
{
    uint8_t page[SEGMENT_PAGE];
    struct segment_head h;

    segment_page_encode(page, SEGMENT_PLAIN, id, 17, 65536, 99);
    put_u32(page + 8, 5);
    put_u64(page + 56, checksum64(page, 56, 0));
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, segment_page_decode(page, &h));
    TEST_ASSERT_EQUAL_UINT32(5, h.version);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_type_reads_back_and_chains);
    RUN_TEST(test_a_message_has_the_documented_bytes);
    RUN_TEST(test_every_flipped_bit_is_found);
    RUN_TEST(test_a_record_elsewhere_is_invalid);
    RUN_TEST(test_a_record_cut_anywhere_is_invalid_and_not_read_past);
    RUN_TEST(test_reserved_fields_and_false_lengths_are_invalid);
    RUN_TEST(test_the_last_bit_can_be_set_later);
    RUN_TEST(test_a_header_survives_the_loss_of_either_copy);
    RUN_TEST(test_a_copy_in_the_wrong_place_is_bad);
    RUN_TEST(test_a_greater_version_is_refused);
    return UNITY_END();
}
