/* test_store_recover_damage.c: bytes that changed, files that are short, missing or another's. What
 * is damaged is found and named; everything else stays readable; nothing refuses to start. */
#include "support/log_maker.h"
#include "support/recovery_text.h"

#include "codec/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct log_maker m;
static struct record_pos at[32]; /* of message n */

/* Three segments, nine messages, a group each. */
static void make_log(bool synced)
{
    maker_init(&m, 1);
    for (uint64_t s = 1; s <= 9; s++) {
        at[s] = maker_message(&m, s, "key", "some body", 0);
        maker_commit(&m);
        if (!synced)
            m.synced = (struct record_pos){0};
        if (s % 3 == 0 && s < 9)
            maker_seal(&m);
    }
}
/* The last commit says that all is synced, as after a clean shutdown. */
void setUp(void)
{
    make_log(true);
    maker_commit(&m);
}
void tearDown(void)
{
    maker_fini(&m);
}

static void files_free(struct store_io *io)
{
    io->leave(io);
    io->free(io);
}

static const char *seqs(const struct recovery *r)
{
    static char text[256];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t id = index_next(r->index, 0); id != INDEX_NONE;
         id = index_next(r->index, index_seq(r->index, id) + 1))
        n += (size_t)snprintf(text + n, sizeof text - n, n == 0 ? "%llu" : " %llu",
                              (unsigned long long)index_seq(r->index, id));
    return text;
}

static bool exists(struct store_io *io, const char *name)
{
    struct store_file *f;
    struct mf_error e;

    if (io->open(io, name, false, &f, &e) != 0)
        return false;
    io->close(io, f);
    return true;
}

static void assert_damage(const struct recovery *r, size_t i, const char *file, uint64_t offset,
                          uint64_t length, uint64_t first, uint64_t last)
{
    TEST_ASSERT_LESS_THAN(r->damages, i);
    TEST_ASSERT_EQUAL_STRING(file, r->damage[i].file);
    TEST_ASSERT_EQUAL_UINT64(offset, r->damage[i].offset);
    TEST_ASSERT_EQUAL_UINT64(length, r->damage[i].length);
    TEST_ASSERT_EQUAL_UINT64(first, r->damage[i].first_seq);
    TEST_ASSERT_EQUAL_UINT64(last, r->damage[i].last_seq);
    TEST_ASSERT_NOT_NULL(r->damage[i].what);
}

/* Promise 6: named by file, offset, length and sequences, and the rest is there. */
static void test_a_damaged_message_is_named_and_the_rest_counts(void)
{
    struct recovery r;

    m.seg[2][at[5].offset + 60] ^= 4;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 6 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", at[5].offset, record_message_size(3, 4, 9), 5, 5);
    TEST_ASSERT_FALSE(r.torn);
    TEST_ASSERT_FALSE(r.sealed);
    TEST_ASSERT_EQUAL_UINT64(9, r.last_seq);
    recovery_fini(&r);
    files_free(io);
}

/* Damage to something that is no message costs no sequence. */
static void test_a_damaged_commit_costs_no_sequence(void)
{
    struct recovery r;

    m.seg[2][at[5].offset - RECORD_COMMIT_SIZE + 30] ^= 4;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", at[5].offset - RECORD_COMMIT_SIZE,
                  RECORD_COMMIT_SIZE, 0, 0);
    recovery_fini(&r);
    files_free(io);
}

/* Damage inside a batch: what was acknowledged and is undamaged still counts. */
static void test_the_undamaged_records_of_a_damaged_batch_count(void)
{
    struct record_pos bad[3];
    struct recovery r;

    for (unsigned hit = 0; hit < 3; hit++) {
        maker_fini(&m);
        maker_init(&m, 1);
        bad[0] = maker_open_message(&m, 1, "k");
        bad[1] = maker_open_message(&m, 2, "k");
        bad[2] = maker_message(&m, 3, "k", "last", 0);
        maker_commit(&m);
        maker_message(&m, 4, "k", "x", 0);
        maker_commit(&m);
        m.seg[1][bad[hit].offset + 17] ^= 1;
        struct store_io *io = maker_files(&m);
        recover_ok(&r, io);
        TEST_ASSERT_EQUAL_STRING(hit == 0 ? "2 3 4" : hit == 1 ? "1 3 4" : "1 2 4", seqs(&r));
        TEST_ASSERT_EQUAL(1, r.damages);
        TEST_ASSERT_EQUAL_UINT64(hit + 1, r.damage[0].first_seq);
        TEST_ASSERT_EQUAL_UINT64(hit + 1, r.damage[0].last_seq);
        recovery_fini(&r);
        files_free(io);
    }
}

/* The sweep that the promise asks for: every byte of every segment.  Either the answers are the
 * same, or the place is named: as damage, or as a torn tail if it is in the last group. */
static void test_every_flipped_byte_is_found_or_harmless(void)
{
    struct store_io *io = maker_files(&m);
    char *want = recover_text(io);
    unsigned found = 0;

    files_free(io);
    for (unsigned n = 1; n <= 3; n++) {
        for (uint64_t o = 0; o < m.end[n] + 64; o++) {
            struct recovery r;
            if (o == 64)
                o = 2048;
            if (o == 2048 + 64)
                o = SEGMENT_PAGE;
            m.seg[n][o] ^= 0x21;
            io = maker_files(&m);
            recover_ok(&r, io);
            char *text = recovery_text(&r);
            if (strcmp(text, want) != 0)
                TEST_ASSERT_TRUE(r.damages > 0 || r.torn);
            for (size_t i = 0; i < r.damages; i++) {
                char name[32];
                segment_name(name, n);
                TEST_ASSERT_EQUAL_STRING(name, r.damage[i].file);
                TEST_ASSERT_TRUE(r.damage[i].offset <= o &&
                                 o < r.damage[i].offset + r.damage[i].length);
            }
            found += r.damages > 0;
            recovery_fini(&r);
            char *again = recover_text(io);
            TEST_ASSERT_EQUAL_STRING(text, again);
            free(again);
            free(text);
            files_free(io);
            m.seg[n][o] ^= 0x21;
        }
    }
    /* All but the bytes after the ends and the very last commit. */
    TEST_ASSERT_EQUAL(
        3 * 128 + m.end[1] + m.end[2] + m.end[3] - 3 * SEGMENT_PAGE - RECORD_COMMIT_SIZE, found);
    free(want);
}

/* Truncation of any segment at any length. */
static void test_a_file_cut_at_any_length_loses_only_what_was_in_it(void)
{
    for (unsigned n = 1; n <= 3; n++) {
        for (uint64_t len = 0; len < MAKER_SIZE; len += len < m.end[n] ? 8 : 2048) {
            struct store_io *io = maker_files(&m);
            struct recovery r;
            char name[32];
            segment_name(name, n);
            maker_write(io, name, m.seg[n], len);
            recover_ok(&r, io);
            for (uint64_t s = 1; s <= 9; s++) {
                uint64_t ends = at[s].offset + record_message_size(3, 4, 9);
                bool cut = at[s].segment == n && ends > len;
                bool there = index_find(r.index, s) != INDEX_NONE;
                TEST_ASSERT_EQUAL(!cut, there);
                if (cut && n < 3)
                    TEST_ASSERT_GREATER_THAN(0, r.damages);
            }
            TEST_ASSERT_TRUE(n == 3 || r.last_seq == 9);
            char *text = recovery_text(&r);
            recovery_fini(&r);
            char *again = recover_text(io);
            TEST_ASSERT_EQUAL_STRING(text, again);
            free(text);
            free(again);
            files_free(io);
        }
    }
}

/* Behind a seal a crash may leave a new segment without its header, but not half of a file: that
 * lost something. */
static void test_a_last_segment_cut_short_is_damage(void)
{
    for (uint64_t len = 1; len < MAKER_SIZE; len += 500) {
        struct store_io *io = maker_files(&m);
        struct recovery r;
        maker_write(io, "0000000000000003.log", m.seg[3], len);
        recover_ok(&r, io);
        TEST_ASSERT_EQUAL(len % SEGMENT_PAGE != 0 || len > 64, r.damages > 0);
        TEST_ASSERT_TRUE(r.torn || len > at[7].offset);
        for (size_t i = 0; i < r.damages; i++)
            TEST_ASSERT_EQUAL_STRING("0000000000000003.log", r.damage[i].file);
        recovery_fini(&r);
        files_free(io);
    }
}

/* So short that its header went, too: the file is named and not the checkpoint whose position lies
 * in it, which says that this was no torn tail. */
static void test_a_last_segment_cut_to_a_byte_is_damage_and_its_checkpoint_is_not(void)
{
    struct checkpoint_head h = {.start = maker_pos(&m),
                                .chain = m.chain,
                                .last_seq = m.last_seq,
                                .first_segment = m.first_segment};
    struct index *none = index_new('.', 0);
    struct store_io *io = maker_files(&m);
    struct recovery r;

    memcpy(h.id, m.id, STORE_ID);
    maker_checkpoint(io, &h, none, MF_SLICE_NONE, MF_SLICE_NONE);
    maker_write(io, "0000000000000003.log", m.seg[3], 1);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6", seqs(&r));
    TEST_ASSERT_FALSE(r.torn);
    TEST_ASSERT_NOT_EQUAL(0, r.damages);
    for (size_t i = 0; i < r.damages; i++)
        TEST_ASSERT_EQUAL_STRING("0000000000000003.log", r.damage[i].file);
    recovery_fini(&r);
    files_free(io);
    index_free(none);
}

/* --- headers ---------------------------------------------------------------------------------- */

static void test_one_bad_copy_of_a_header_is_named_and_all_is_read(void)
{
    for (unsigned copy = 0; copy < 2; copy++) {
        struct recovery r;
        m.seg[2][copy * 2048 + 33] ^= 1;
        struct store_io *io = maker_files(&m);
        recover_ok(&r, io);
        TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
        TEST_ASSERT_EQUAL(1, r.damages);
        assert_damage(&r, 0, "0000000000000002.log", copy * 2048, SEGMENT_HEADER, 0, 0);
        recovery_fini(&r);
        files_free(io);
        m.seg[2][copy * 2048 + 33] ^= 1;
    }
}

static void test_a_header_lost_twice_is_replaced_by_the_others(void)
{
    struct recovery r;

    memset(m.seg[2], 0, SEGMENT_PAGE);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", 0, SEGMENT_PAGE, 0, 0);
    recovery_fini(&r);
    files_free(io);
}

/* A log of one segment, after a crash, without a checkpoint: the header page is lost, or the disk
 * lost the write of it.  Only the spare segment, or the old header, tells whose store it is.  What
 * recovery writes to keep this fact must not cost a record, today or later. */
static void test_the_only_header_lost_after_a_crash_costs_no_record(void)
{
    enum { WITH_SPARE, OLD_ONE, KINDS };
    static uint8_t bytes[MAKER_SIZE], rest[MAKER_SIZE];
    for (int kind = 0; kind < KINDS; kind++) {
        struct recovery r;
        tearDown(), maker_init(&m, 1);
        for (uint64_t s = 1; s <= 9; s++) {
            maker_message(&m, s, "key", "some body", 0);
            maker_commit(&m);
        }
        uint64_t end = m.end[1];
        memset(m.seg[1] + end, 'x', MAKER_SIZE - end); /* of a group that was cut short */
        memset(m.seg[1], 0, SEGMENT_PAGE);
        if (kind == WITH_SPARE)
            maker_prepare(&m);
        else
            segment_page_encode(m.seg[1], SEGMENT_PLAIN, m.id, 7, MAKER_SIZE, 1);
        struct store_io *io = maker_files(&m);
        for (int again = 0; again < 2; again++) {
            recover_ok(&r, io);
            TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
            TEST_ASSERT_EQUAL(1, r.damages);
            assert_damage(&r, 0, "0000000000000001.log", 0, SEGMENT_PAGE, 0, 0);
            TEST_ASSERT_EQUAL_UINT64(end + RECORD_COMMIT_SIZE + RECORD_SEAL_SIZE, r.segment[0].end);
            recovery_fini(&r);
        }
        maker_read(io, "0000000000000001.log", bytes, sizeof bytes);
        TEST_ASSERT_EQUAL_MEMORY(m.seg[1], bytes, end);
        end += RECORD_COMMIT_SIZE + RECORD_SEAL_SIZE;
        TEST_ASSERT_EQUAL_MEMORY(rest, bytes + end, MAKER_SIZE - end);
        files_free(io);
    }
}

/* Any headers lost after a crash, wherever the log ends: a second recovery finds what the first
 * found, and neither changes a byte before the end. */
static void test_whatever_headers_are_lost_a_second_recovery_finds_the_same(void)
{
    static uint8_t bytes[MAKER_SIZE];
    char name[32];

    for (unsigned lost = 0; lost < 32; lost++)
        for (unsigned ends = 1; ends <= 9; ends++) {
            tearDown(), make_log(lost >= 16);
            maker_prepare(&m);
            unsigned number = (unsigned)at[ends].segment;
            uint64_t end = at[ends].offset;
            memset(m.seg[number] + end, 0, 64); /* the end, or, if it was synced, damage */
            for (unsigned n = 1; n <= 4; n++)
                if (lost & 1u << (n - 1))
                    memset(m.seg[n], 0, SEGMENT_PAGE);
            struct store_io *io = maker_files(&m);
            char *text = recover_text(io), *again = recover_text(io);
            TEST_ASSERT_EQUAL_STRING(text, again);
            free(text);
            free(again);
            for (unsigned n = 1; n <= number && lost % 16 != 15; n++) {
                segment_name(name, n);
                maker_read(io, name, bytes, sizeof bytes);
                size_t size = (n < number ? m.end[n] : end) - SEGMENT_PAGE;
                TEST_ASSERT_EQUAL(0, memcmp(m.seg[n] + SEGMENT_PAGE, bytes + SEGMENT_PAGE, size));
            }
            files_free(io);
        }
}

/* A crash tore the header of a small segment that a larger one follows: it is mended with its own
 * size.  Otherwise the file would look cut short at the next start. */
static void test_a_mended_header_keeps_the_size_of_its_segment(void)
{
    enum { SMALL = 2 * SEGMENT_PAGE };

    for (int copies = 1; copies <= 2; copies++) {
        struct recovery r;
        tearDown(), maker_init(&m, 1);
        maker_message(&m, 1, "key", "acked", 0);
        maker_commit(&m);
        maker_seal(&m);
        maker_message(&m, 2, "key", "small", 0);
        maker_seal(&m);
        uint64_t last = 2;
        while (maker_pos(&m).offset <= SMALL)
            maker_message(&m, ++last, "key", "large", 0);
        maker_commit(&m);
        segment_page_encode(m.seg[2], SEGMENT_PLAIN, m.id, 2, SMALL, 1);
        memset(m.seg[2], 0, copies == 1 ? 512 : SEGMENT_PAGE);
        struct store_io *io = maker_files(&m);
        maker_write(io, "0000000000000002.log", m.seg[2], SMALL);
        for (int again = 0; again < 2; again++) {
            recover_ok(&r, io);
            TEST_ASSERT_EQUAL_UINT64(last, r.sum.msgs);
            TEST_ASSERT_EQUAL(0, r.damages);
            TEST_ASSERT_EQUAL_UINT64(SMALL, r.segment[1].size);
            recovery_fini(&r);
        }
        files_free(io);
    }
}

/* With no header anywhere nothing can be read, and nothing may be deleted: it goes aside. */
static void test_without_any_id_the_segments_go_aside(void)
{
    struct recovery r;

    for (unsigned n = 1; n <= 3; n++)
        memset(m.seg[n], 0, SEGMENT_PAGE);
    struct store_io *io = maker_files(&m);
    maker_write(io, "0000000000000002.log.damaged", "older", 5);
    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.fresh);
    TEST_ASSERT_EQUAL(3, r.damages);
    assert_damage(&r, 1, "0000000000000002.log", 0, MAKER_SIZE, 0, 0);
    TEST_ASSERT_TRUE(exists(io, "0000000000000001.log.damaged"));
    TEST_ASSERT_TRUE(exists(io, "0000000000000002.log.1.damaged"));
    uint8_t older[8];
    TEST_ASSERT_EQUAL(5, maker_read(io, "0000000000000002.log.damaged", older, sizeof older));
    TEST_ASSERT_FALSE(exists(io, "0000000000000001.log"));
    recovery_fini(&r);
    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.fresh);
    TEST_ASSERT_EQUAL(0, r.damages);
    recovery_fini(&r);
    files_free(io);
}

/* A store whose creation was cut short: a file without a byte in it is no damage. */
static void test_a_blank_first_segment_is_a_fresh_store(void)
{
    struct recovery r;

    for (unsigned n = 1; n <= 3; n++)
        m.made[n] = false;
    struct store_io *io = maker_files(&m);
    memset(m.seg[1], 0, MAKER_SIZE);
    maker_write(io, "0000000000000001.log", m.seg[1], MAKER_SIZE);
    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.fresh);
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_FALSE(exists(io, "0000000000000001.log"));
    recovery_fini(&r);
    files_free(io);
}

/* A file of another store among ours, in the middle and at the end: damage, and not deleted. */
static void test_a_segment_of_another_store_is_not_read_and_not_deleted(void)
{
    uint8_t other[STORE_ID] = {1};
    struct recovery r;

    segment_page_encode(m.seg[2], SEGMENT_PLAIN, other, 2, MAKER_SIZE, 1);
    struct store_io *io = maker_files(&m);
    maker_write(io, "0000000000000005.log", m.seg[2], MAKER_SIZE);
    maker_write(io, "0000000000000004.log", m.seg[1], 0);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(2, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", 0, MAKER_SIZE, 4, 6);
    assert_damage(&r, 1, "0000000000000005.log", 0, MAKER_SIZE, 0, 0);
    TEST_ASSERT_TRUE(exists(io, "0000000000000002.log"));
    TEST_ASSERT_TRUE(exists(io, "0000000000000005.log.damaged"));
    recovery_fini(&r);
    files_free(io);
}

/* The write of a header that the disk lost: the old one is named, and every record says itself
 * where it belongs. */
static void test_a_header_with_another_number_is_named_and_all_is_read(void)
{
    struct recovery r;

    segment_page_encode(m.seg[2], SEGMENT_PLAIN, m.id, 7, MAKER_SIZE, 1);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", 0, SEGMENT_PAGE, 0, 0);
    recovery_fini(&r);
    files_free(io);
}

/* --- whole files ------------------------------------------------------------------------------ */

static void test_a_missing_segment_is_named_with_its_sequences(void)
{
    struct recovery r;

    m.made[2] = false;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    assert_damage(&r, 0, "0000000000000002.log", 0, 0, 4, 6);
    TEST_ASSERT_EQUAL(2, r.segments);
    TEST_ASSERT_EQUAL_UINT64(1, r.first_segment);
    recovery_fini(&r);
    files_free(io);
}

/* A name with an absurd number must not cost a walk over all numbers between. */
static void test_a_wide_gap_costs_no_time(void)
{
    static uint8_t far[MAKER_SIZE];
    uint64_t number = UINT64_C(0xffffffffffffff00), o = SEGMENT_PAGE;
    struct record c = {.type = RECORD_COMMIT,
                       .group = 99,
                       .synced = {number, SEGMENT_PAGE + 8},
                       .first_segment = 1,
                       .last_seq = 12};
    uint32_t chain = 0;
    struct recovery r;

    struct store_io *io = maker_files(&m);
    segment_page_encode(far, SEGMENT_PLAIN, m.id, number, MAKER_SIZE, 1);
    record_encode(far + o, &c);
    record_finish(far + o, RECORD_COMMIT_SIZE, record_key(m.id, number), o, &chain, NULL);
    maker_write(io, "ffffffffffffff00.log", far, sizeof far);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6 7 8 9", seqs(&r));
    TEST_ASSERT_EQUAL_UINT64(number, r.end.segment);
    TEST_ASSERT_LESS_THAN(2000, r.damages);
    recovery_fini(&r);
    files_free(io);
}

/* A newer server wrote here: refuse, and touch nothing, not even leftovers. */
static void test_a_greater_version_is_refused_and_nothing_touched(void)
{
    struct mf_error e;
    struct recovery r;

    put_u32(m.seg[2] + 8, 5);
    put_u64(m.seg[2] + 56, checksum64(m.seg[2], 56, 0));
    m.seg[3][at[9].offset + 20] ^= 1; /* a seal would be due */
    struct store_io *io = maker_files(&m);
    maker_write(io, "spare.tmp", "x", 1);
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, recover(&r, io, NULL, '.', 0, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "0000000000000002.log has version 5"));
    TEST_ASSERT_TRUE(exists(io, "spare.tmp"));
    uint8_t now[MAKER_SIZE];
    TEST_ASSERT_EQUAL(MAKER_SIZE, maker_read(io, "0000000000000003.log", now, sizeof now));
    TEST_ASSERT_EQUAL_MEMORY(m.seg[3], now, sizeof now);
    files_free(io);
}

static void test_names_of_segments(void)
{
    char name[32];
    uint64_t n;

    segment_name(name, 0xabcdef);
    TEST_ASSERT_EQUAL_STRING("0000000000abcdef.log", name);
    TEST_ASSERT_TRUE(segment_number(name, &n));
    TEST_ASSERT_EQUAL_UINT64(0xabcdef, n);
    TEST_ASSERT_FALSE(segment_number("0000000000000000.log", &n));
    TEST_ASSERT_FALSE(segment_number("00000000000000AB.log", &n));
    TEST_ASSERT_FALSE(segment_number("0000000000000001.log.damaged", &n));
    TEST_ASSERT_FALSE(segment_number("000000000000001.log", &n));
    TEST_ASSERT_FALSE(segment_number("", &n));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_damaged_message_is_named_and_the_rest_counts);
    RUN_TEST(test_a_damaged_commit_costs_no_sequence);
    RUN_TEST(test_the_undamaged_records_of_a_damaged_batch_count);
    RUN_TEST(test_every_flipped_byte_is_found_or_harmless);
    RUN_TEST(test_a_file_cut_at_any_length_loses_only_what_was_in_it);
    RUN_TEST(test_a_last_segment_cut_short_is_damage);
    RUN_TEST(test_a_last_segment_cut_to_a_byte_is_damage_and_its_checkpoint_is_not);
    RUN_TEST(test_one_bad_copy_of_a_header_is_named_and_all_is_read);
    RUN_TEST(test_a_header_lost_twice_is_replaced_by_the_others);
    RUN_TEST(test_the_only_header_lost_after_a_crash_costs_no_record);
    RUN_TEST(test_whatever_headers_are_lost_a_second_recovery_finds_the_same);
    RUN_TEST(test_a_mended_header_keeps_the_size_of_its_segment);
    RUN_TEST(test_without_any_id_the_segments_go_aside);
    RUN_TEST(test_a_blank_first_segment_is_a_fresh_store);
    RUN_TEST(test_a_segment_of_another_store_is_not_read_and_not_deleted);
    RUN_TEST(test_a_header_with_another_number_is_named_and_all_is_read);
    RUN_TEST(test_a_missing_segment_is_named_with_its_sequences);
    RUN_TEST(test_a_wide_gap_costs_no_time);
    RUN_TEST(test_a_greater_version_is_refused_and_nothing_touched);
    RUN_TEST(test_names_of_segments);
    return UNITY_END();
}
