/* test_store_recover.c: what the records of a log mean, where it ends, and what a crash leaves. */
#include "support/log_maker.h"
#include "support/recovery_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct log_maker m;

void setUp(void)
{
    maker_init(&m, 1);
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

/* Which sequences are there, as "1 2 7". */
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

/* Recovers the maker's log and says what is there. */
static const char *recovered(void)
{
    struct store_io *io = maker_files(&m);
    struct recovery r;

    recover_ok(&r, io);
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_FALSE(r.torn);
    const char *text = seqs(&r);
    recovery_fini(&r);
    files_free(io);
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

/* --- meaning ---------------------------------------------------------------------------------- */

static void test_an_empty_directory_is_a_fresh_store(void)
{
    struct log_maker none = {0};
    struct store_io *io = maker_files(&none);
    struct recovery r, again;

    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.fresh);
    recover_ok(&again, io);
    TEST_ASSERT_TRUE(memcmp(r.id, again.id, STORE_ID) != 0); /* random */
    recovery_fini(&r);
    recovery_fini(&again);
    files_free(io);
}

/* Every type does what the document says; places lead to the records. */
static void test_every_record_type_counts(void)
{
    static const uint64_t set[] = {5, 6};
    struct recovery r;

    maker_message(&m, 1, "a.1", "one", 0);
    struct record_pos two = maker_message(&m, 2, "a.2", "two", 5000);
    for (uint64_t s = 3; s <= 9; s++)
        maker_message(&m, s, "b", "x", 0);
    maker_remove(&m, 3);
    maker_set(&m, set, 2);
    maker_range(&m, 7, 8);
    maker_deadline(&m, 9, 777);
    maker_blob(&m, "config", "old");
    maker_blob(&m, "config", "new");
    maker_blob(&m, "gone", "x");
    maker_blob_del(&m, "gone");
    maker_blob(&m, "empty", "");
    maker_commit(&m);
    maker_mark(&m, 600, 0);
    maker_commit(&m);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 4 9", seqs(&r));
    uint32_t at = index_find(r.index, 2);
    TEST_ASSERT_EQUAL_UINT64(two.offset, place_offset(index_place(r.index, at)));
    TEST_ASSERT_EQUAL_UINT64(1, place_segment(index_place(r.index, at)));
    TEST_ASSERT_EQUAL_UINT32(3 + 4 + 3, place_len(index_place(r.index, at)));
    TEST_ASSERT_EQUAL_UINT16(1, place_flags(index_place(r.index, at)));
    TEST_ASSERT_EQUAL_INT64(5000, index_deadline(r.index, at));
    TEST_ASSERT_EQUAL_INT64(777, index_deadline(r.index, index_find(r.index, 9)));
    TEST_ASSERT_EQUAL_UINT64(9, r.last_seq);
    TEST_ASSERT_EQUAL_UINT64(2, r.group);
    TEST_ASSERT_EQUAL_INT64(2000, r.clock_ns);
    TEST_ASSERT_EQUAL_INT64(600, r.mark.time_ns);
    TEST_ASSERT_EQUAL(2, r.blobs);
    TEST_ASSERT_EQUAL(2, r.segment[0].blobs);
    TEST_ASSERT_EQUAL(4, r.segment[0].live_count);
    char *text = recovery_text(&r);
    TEST_ASSERT_NOT_NULL(strstr(text, "blob config = new\nblob empty = \n"));
    free(text);
    TEST_ASSERT_EQUAL_UINT64(maker_pos(&m).offset, r.end.offset);
    TEST_ASSERT_EQUAL_UINT32(m.chain, r.chain);
    TEST_ASSERT_FALSE(r.sealed);
    recovery_fini(&r);
    files_free(io);
}

/* A purge up to N in advance: no later message gets a smaller sequence. */
static void test_a_range_beyond_the_last_sequence_skips(void)
{
    struct recovery r;

    maker_message(&m, 1, "a", "x", 0);
    maker_add(&m, &(struct record){.type = RECORD_RANGE, .last = true, .seq = 1, .seq_last = 40});
    m.last_seq = 1; /* the commit does not help */
    maker_commit(&m);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("", seqs(&r));
    TEST_ASSERT_EQUAL_UINT64(40, r.last_seq);
    recovery_fini(&r);
    files_free(io);
}

/* Gone stays gone: a mark ends a life for ever; a later deadline for the dead is void; one that
 * came before the mark saves. */
static void test_marks_and_deadlines_in_every_order(void)
{
    maker_message(&m, 1, "a", "x", 100); /* dies by the mark */
    maker_message(&m, 2, "a", "x", 100); /* saved before it */
    maker_message(&m, 3, "a", "x", 0);   /* given a deadline before it: dies */
    maker_message(&m, 4, "a", "x", 200); /* the same deadline as the mark, sequence at it */
    maker_message(&m, 5, "a", "x", 200); /* after it in the order */
    maker_message(&m, 6, "a", "x", 100); /* made eternal before it */
    maker_deadline(&m, 2, 300);
    maker_deadline(&m, 3, 150);
    maker_deadline(&m, 6, 0);
    maker_mark(&m, 200, 4);
    maker_deadline(&m, 1, 999); /* too late */
    maker_deadline(&m, 4, 0);   /* too late */
    maker_deadline(&m, 5, 400);
    maker_message(&m, 7, "a", "x", 250);
    maker_mark(&m, 240, 1);
    maker_deadline(&m, 7, 500);
    maker_commit(&m);
    TEST_ASSERT_EQUAL_STRING("2 5 6 7", recovered());
}

/* The commit repeats the mark: it holds even when the segment with the mark is given up. */
static void test_a_mark_known_from_a_commit_only_counts(void)
{
    maker_message(&m, 1, "a", "x", 100);
    maker_message(&m, 2, "a", "x", 900);
    m.mark = (struct record_mark){500, 0};
    maker_commit(&m);
    TEST_ASSERT_EQUAL_STRING("2", recovered());
}

/* The cleaner's copies stand far behind newer messages, and replace place and deadline. */
static void test_copies_replace_what_was_said_before(void)
{
    struct recovery r;

    maker_fini(&m);
    maker_init(&m, 3); /* segments 1 and 2 were given up */
    for (uint64_t s = 10; s <= 12; s++)
        maker_message(&m, s, "new", "x", 0);
    maker_message(&m, 13, "twice", "first place", 0);
    maker_copy(&m, 4, "old.4", "x", 0);
    maker_copy(&m, 2, "old.2", "x", 700);
    maker_deadline(&m, 13, 50);
    struct record_pos at = maker_copy(&m, 13, "twice", "second place", 60);
    maker_remove(&m, 2);
    maker_commit(&m);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("4 10 11 12 13", seqs(&r));
    uint32_t id = index_find(r.index, 13);
    TEST_ASSERT_EQUAL_UINT64(at.offset, place_offset(index_place(r.index, id)));
    TEST_ASSERT_EQUAL_INT64(60, index_deadline(r.index, id));
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_EQUAL_UINT64(3, r.first_segment);
    recovery_fini(&r);
    files_free(io);
}

static void test_a_log_goes_on_over_its_seals(void)
{
    struct recovery r;

    for (uint64_t s = 1; s <= 6; s++) {
        maker_message(&m, s, "k", "x", 0);
        maker_commit(&m);
        if (s % 2 == 0 && s < 6)
            maker_seal(&m);
    }
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2 3 4 5 6", seqs(&r));
    TEST_ASSERT_EQUAL(3, r.segments);
    TEST_ASSERT_EQUAL(2, r.segment[1].live_count);
    TEST_ASSERT_EQUAL_UINT64(m.end[2], r.segment[1].end);
    TEST_ASSERT_EQUAL_UINT64(3, r.end.segment);
    recovery_fini(&r);
    files_free(io);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* After a seal and nothing else appending goes on in the next segment, and one that is prepared is
 * handed over. */
static void test_after_a_seal_the_next_segment_is_used(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "x", 0);
    maker_commit(&m);
    maker_seal(&m);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.torn); /* a writer's seal is in the middle of a group */
    TEST_ASSERT_EQUAL_STRING("0000000000000002.log", r.torn_at.file);
    TEST_ASSERT_TRUE(r.sealed);
    TEST_ASSERT_EQUAL_UINT64(1, r.end.segment);
    TEST_ASSERT_EQUAL_UINT64(m.end[1], r.end.offset);
    TEST_ASSERT_EQUAL(2, r.segments);
    TEST_ASSERT_EQUAL_UINT64(SEGMENT_PAGE, r.segment[1].end);
    TEST_ASSERT_EQUAL_UINT32(m.chain, r.chain);
    recovery_fini(&r);
    files_free(io);
}

enum fill { FILL_ZEROS, FILL_ONES, FILL_NOISE, FILLS };

static void fill_from(uint8_t *p, size_t n, enum fill how)
{
    for (size_t i = 0; i < n; i++)
        p[i] = how == FILL_ZEROS ? 0 : how == FILL_ONES ? 0xff : (uint8_t)(i * 131 + 7);
}

/* Promise: acked is on disk, batches whole or not at all, and a tear costs only what nobody was
 * told of.  The last group is cut after each of its bytes, and the rest is zeros, ones or noise. */
static void test_a_tail_torn_at_any_byte_keeps_whole_batches(void)
{
    maker_message(&m, 1, "k", "acked", 0);
    struct record_pos acked = {0};
    maker_commit(&m);
    acked = maker_pos(&m);
    maker_message(&m, 2, "k", "alone", 0);
    struct record_pos batch = maker_open_message(&m, 3, "k");
    maker_open_message(&m, 4, "k");
    maker_message(&m, 5, "k", "last of its batch", 0);
    struct record_pos after = maker_message(&m, 6, "k", "alone again", 0);
    struct record_pos commit = maker_commit(&m), end = maker_pos(&m);
    uint8_t *whole = malloc(MAKER_SIZE);
    memcpy(whole, m.seg[1], MAKER_SIZE);
    for (int how = 0; how < FILLS; how++) {
        for (uint64_t cut = acked.offset; cut <= end.offset; cut++) {
            struct recovery r, again;
            memcpy(m.seg[1], whole, MAKER_SIZE);
            fill_from(m.seg[1] + cut, MAKER_SIZE - cut, (enum fill)how);
            uint64_t at = cut; /* where it differs: padding is zeros, too */
            while (at < end.offset && m.seg[1][at] == whole[at])
                at++;
            struct store_io *io = maker_files(&m);
            recover_ok(&r, io);
            const char *want = at < batch.offset    ? "1"
                               : at < after.offset  ? "1 2"
                               : at < commit.offset ? "1 2 3 4 5"
                                                    : "1 2 3 4 5 6";
            TEST_ASSERT_EQUAL_STRING(want, seqs(&r));
            TEST_ASSERT_EQUAL(0, r.damages);
            TEST_ASSERT_EQUAL(at >= batch.offset && at < end.offset, r.torn);
            TEST_ASSERT_EQUAL(r.torn, r.sealed);
            char *text = recovery_text(&r);
            recover_ok(&again, io);
            char *second = recovery_text(&again);
            TEST_ASSERT_EQUAL_STRING(text, second);
            TEST_ASSERT_FALSE(again.torn); /* it was cut the first time */
            TEST_ASSERT_EQUAL(0, record_pos_cmp(r.end, again.end));
            TEST_ASSERT_EQUAL_UINT32(r.chain, again.chain);
            free(text);
            free(second);
            recovery_fini(&r);
            recovery_fini(&again);
            files_free(io);
        }
    }
    free(whole);
}

/* Power failure keeps any subset of the sectors: a valid record after a hole shows the tear. */
static void test_records_after_a_hole_at_the_end_do_not_count(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "acked", 0);
    maker_commit(&m);
    struct record_pos two = maker_message(&m, 2, "k", "lost", 0);
    maker_message(&m, 3, "k", "there", 0);
    maker_commit(&m);
    m.seg[1][two.offset + 20] ^= 1;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1", seqs(&r));
    TEST_ASSERT_TRUE(r.torn);
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log", r.torn_at.file);
    TEST_ASSERT_EQUAL_UINT64(two.offset, r.torn_at.offset);
    /* a commit that says so, and the seal */
    TEST_ASSERT_EQUAL_UINT64(two.offset + RECORD_COMMIT_SIZE + RECORD_SEAL_SIZE, r.end.offset);
    recovery_fini(&r);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1", seqs(&r));
    TEST_ASSERT_FALSE(r.torn);
    recovery_fini(&r);
    files_free(io);
}

/* The log goes on after a cut, in the next segment, in chain with the seal; and what lies behind
 * the seal stays dead. */
static void test_the_log_goes_on_after_a_cut(void)
{
    struct recovery r;
    char name[32];

    maker_message(&m, 1, "k", "acked", 0);
    maker_commit(&m);
    struct record_pos two = maker_message(&m, 2, "k", "lost", 0);
    maker_message(&m, 3, "k", "there", 0);
    maker_commit(&m);
    m.seg[1][two.offset + 20] ^= 1;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    struct log_maker next;
    maker_init(&next, 2);
    next.chain = r.chain;
    next.synced = r.end;
    next.first_segment = 1;
    maker_message(&next, 2, "k", "again", 0);
    maker_commit(&next);
    segment_name(name, 2);
    maker_write(io, name, next.seg[2], MAKER_SIZE);
    recovery_fini(&r);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2", seqs(&r));
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_FALSE(r.torn);
    TEST_ASSERT_EQUAL_UINT64(2, place_segment(index_place(r.index, index_find(r.index, 2))));
    recovery_fini(&r);
    maker_fini(&next);
    files_free(io);
}

/* A group over two segments, of which the first part is lost: the second part goes, too. */
static void test_a_group_torn_over_two_segments_is_cut_in_the_first(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "acked", 0);
    maker_commit(&m);
    maker_message(&m, 2, "k", "whole", 0);
    struct record_pos three = maker_message(&m, 3, "k", "lost with the seal", 0);
    maker_seal(&m);
    maker_message(&m, 4, "k", "there", 0);
    maker_commit(&m);
    memset(m.seg[1] + three.offset, 0, MAKER_SIZE - three.offset);
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2", seqs(&r));
    TEST_ASSERT_TRUE(r.torn);
    TEST_ASSERT_TRUE(r.sealed);
    TEST_ASSERT_EQUAL_UINT64(1, r.end.segment);
    TEST_ASSERT_EQUAL(1, r.segments);
    TEST_ASSERT_FALSE(exists(io, "0000000000000002.log"));
    recovery_fini(&r);
    files_free(io);
}

/* The seal is there, the segment after it holds the second half of a batch's group out of order:
 * only that segment goes, and no second seal is needed. */
static void test_a_tear_at_the_start_of_a_segment_drops_that_segment(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "acked", 0);
    maker_commit(&m);
    maker_message(&m, 2, "k", "whole", 0);
    maker_seal(&m);
    struct record_pos lost = maker_message(&m, 3, "k", "lost", 0);
    maker_message(&m, 4, "k", "there", 0);
    maker_commit(&m);
    m.seg[2][lost.offset] ^= 1;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2", seqs(&r));
    TEST_ASSERT_TRUE(r.torn && r.sealed);
    TEST_ASSERT_EQUAL_UINT64(m.end[1], r.end.offset);
    TEST_ASSERT_FALSE(exists(io, "0000000000000002.log"));
    recovery_fini(&r);
    files_free(io);
}

/* The segment was new in the group that the crash cut short: its header may be missing, or be that
 * of the segment it was made from; its records count.  That is no damage, today or later. */
static void test_a_new_segment_without_its_header_is_mended(void)
{
    enum { FIRST_COPY, BOTH_COPIES, OLD_ONE, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        struct recovery r;
        tearDown(), setUp();
        maker_message(&m, 1, "k", "acked", 0);
        maker_commit(&m);
        maker_message(&m, 2, "k", "x", 0);
        maker_seal(&m);
        maker_message(&m, 3, "k", "x", 0);
        maker_commit(&m);
        memset(m.seg[2], 0, kind == FIRST_COPY ? 512 : SEGMENT_PAGE);
        if (kind == OLD_ONE)
            segment_page_encode(m.seg[2], SEGMENT_PLAIN, m.id, 7, MAKER_SIZE, 1);
        struct store_io *io = maker_files(&m);
        for (int again = 0; again < 2; again++) {
            recover_ok(&r, io);
            TEST_ASSERT_EQUAL_STRING("1 2 3", seqs(&r));
            TEST_ASSERT_EQUAL(0, r.damages);
            TEST_ASSERT_FALSE(r.torn);
            recovery_fini(&r);
        }
        static uint8_t bytes[MAKER_SIZE];
        struct segment_head h;
        TEST_ASSERT_EQUAL(MAKER_SIZE, maker_read(io, "0000000000000002.log", bytes, sizeof bytes));
        TEST_ASSERT_EQUAL(0, segment_page_decode(bytes, &h));
        TEST_ASSERT_FALSE(h.damaged);
        TEST_ASSERT_EQUAL_UINT64(2, h.number);
        TEST_ASSERT_EQUAL_UINT64(MAKER_SIZE, h.size);
        files_free(io);
    }
}

/* A batch whose end never came, behind it a seal or a commit: whole or not at all. */
static void test_a_batch_without_its_end_never_counts(void)
{
    maker_message(&m, 1, "k", "x", 0);
    maker_open_message(&m, 2, "k");
    maker_seal(&m);
    maker_open_message(&m, 3, "k");
    maker_commit(&m);
    maker_message(&m, 4, "k", "x", 0);
    maker_commit(&m);
    TEST_ASSERT_EQUAL_STRING("1 4", recovered());
}

/* --- leftovers -------------------------------------------------------------------------------- */

/* Segments below the first one that the last commit names were given up: nothing in them counts,
 * not even if the removal of what they hold is gone with a later one. */
static void test_segments_below_the_first_are_deleted_unread(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "was removed in a segment that is gone", 0);
    maker_commit(&m);
    maker_seal(&m);
    maker_message(&m, 2, "k", "x", 0);
    maker_commit(&m);
    maker_seal(&m);
    m.first_segment = 3;
    maker_message(&m, 3, "k", "x", 0);
    maker_commit(&m);
    m.made[2] = false;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("3", seqs(&r));
    TEST_ASSERT_EQUAL_UINT64(3, r.first_segment);
    TEST_ASSERT_EQUAL(1, r.segments);
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_FALSE(exists(io, "0000000000000001.log"));
    recovery_fini(&r);
    files_free(io);
}

/* A commit names the next segment before the first one goes; one that is missing without that is
 * damage, though what it held may have been copied. */
static void test_a_first_segment_that_no_commit_gave_up_is_missed(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "x", 0);
    maker_commit(&m);
    maker_seal(&m);
    maker_copy(&m, 1, "k", "x", 0);
    maker_message(&m, 2, "k", "x", 0);
    maker_commit(&m);
    m.made[1] = false;
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1 2", seqs(&r));
    TEST_ASSERT_EQUAL(1, r.damages);
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log", r.damage[0].file);
    TEST_ASSERT_EQUAL_UINT64(1, r.first_segment);
    recovery_fini(&r);
    files_free(io);
}

/* What a crash leaves of work that never counted goes; what is not ours to judge stays. */
static void test_leftovers_go_and_other_files_stay(void)
{
    struct recovery r;
    uint8_t page[SEGMENT_PAGE], bytes[2 * SEGMENT_PAGE];

    maker_message(&m, 1, "k", "x", 0);
    maker_commit(&m);
    struct store_io *io = maker_files(&m);
    maker_write(io, "checkpoint.tmp", "x", 1);
    maker_write(io, "spare.tmp", "x", 1);
    maker_write(io, "0000000000000009.log.damaged", "x", 1);
    maker_write(io, "notes.txt", "x", 1);
    maker_write(io, "0000000000000002.log", "", 0); /* made, not written */
    memset(bytes, 0xAA, sizeof bytes);
    segment_page_encode(bytes, SEGMENT_PLAIN, m.id, 7, sizeof bytes, 1); /* that was segment 7 */
    maker_write(io, "0000000000000003.log", bytes, sizeof bytes);
    memset(page, 0xBB, sizeof page); /* made, and grown only by this */
    maker_write(io, "0000000000000004.log", page, sizeof page);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL_STRING("1", seqs(&r));
    TEST_ASSERT_EQUAL(0, r.damages);
    TEST_ASSERT_EQUAL(1, r.segments);
    TEST_ASSERT_FALSE(exists(io, "checkpoint.tmp") || exists(io, "spare.tmp"));
    TEST_ASSERT_FALSE(exists(io, "0000000000000002.log") || exists(io, "0000000000000003.log"));
    TEST_ASSERT_FALSE(exists(io, "0000000000000004.log"));
    TEST_ASSERT_TRUE(exists(io, "0000000000000009.log.damaged") && exists(io, "notes.txt"));
    recovery_fini(&r);
    files_free(io);
}

static void test_a_prepared_segment_is_handed_over(void)
{
    struct recovery r;

    maker_message(&m, 1, "k", "x", 0);
    maker_commit(&m);
    maker_prepare(&m);
    memset(m.seg[2] + SEGMENT_PAGE, 0x5A, 500); /* bytes of a recycled one */
    struct store_io *io = maker_files(&m);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL(2, r.segments);
    TEST_ASSERT_EQUAL_UINT64(1, r.end.segment);
    TEST_ASSERT_EQUAL_UINT64(SEGMENT_PAGE, r.segment[1].end);
    recovery_fini(&r);
    files_free(io);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_empty_directory_is_a_fresh_store);
    RUN_TEST(test_every_record_type_counts);
    RUN_TEST(test_a_range_beyond_the_last_sequence_skips);
    RUN_TEST(test_marks_and_deadlines_in_every_order);
    RUN_TEST(test_a_mark_known_from_a_commit_only_counts);
    RUN_TEST(test_copies_replace_what_was_said_before);
    RUN_TEST(test_a_log_goes_on_over_its_seals);
    RUN_TEST(test_after_a_seal_the_next_segment_is_used);
    RUN_TEST(test_a_tail_torn_at_any_byte_keeps_whole_batches);
    RUN_TEST(test_records_after_a_hole_at_the_end_do_not_count);
    RUN_TEST(test_the_log_goes_on_after_a_cut);
    RUN_TEST(test_a_group_torn_over_two_segments_is_cut_in_the_first);
    RUN_TEST(test_a_tear_at_the_start_of_a_segment_drops_that_segment);
    RUN_TEST(test_a_new_segment_without_its_header_is_mended);
    RUN_TEST(test_a_batch_without_its_end_never_counts);
    RUN_TEST(test_segments_below_the_first_are_deleted_unread);
    RUN_TEST(test_a_first_segment_that_no_commit_gave_up_is_missed);
    RUN_TEST(test_leftovers_go_and_other_files_stay);
    RUN_TEST(test_a_prepared_segment_is_handed_over);
    return UNITY_END();
}
