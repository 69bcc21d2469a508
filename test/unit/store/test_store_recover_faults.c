/* test_store_recover_faults.c: the 1st, 2nd, 3rd... file operation or allocation of a recovery
 * fails.  It gives an error, leaks nothing, and the next recovery finds what there was.
 * (Linked with --wrap for the allocator.) */
#define NO_MEMORY_ALIGNED
#include "support/crash_io.h"
#include "support/fault_io.h"
#include "support/log_maker.h"
#include "support/no_memory.h"
#include "support/recovery_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct log_maker m;

void setUp(void)
{
}
void tearDown(void)
{
}

/* Something of everything: damage, a batch, blobs, a torn tail over two segments, leftovers, a file
 * to put aside, and a checkpoint if asked for (with an entry in a segment that is missing). */
static struct store_io *everything_plain(bool checkpoint)
{
    struct checkpoint_head h = {0};
    uint32_t id;

    maker_init(&m, 2);
    maker_message(&m, 1, "a.b", "x", 100);
    struct record_pos bad = maker_message(&m, 2, "a.c", "x", 0);
    maker_blob(&m, "one", "first");
    maker_blob(&m, "two", "second");
    maker_commit(&m);
    maker_seal(&m);
    h = (struct checkpoint_head){.start = maker_pos(&m), .chain = m.chain, .first_segment = 2};
    for (uint64_t s = 3; s < 80; s++)
        maker_open_message(&m, s, "batch");
    maker_message(&m, 80, "batch", "x", 0);
    maker_blob(&m, "one", "again");
    maker_mark(&m, 99, 0);
    maker_commit(&m);
    maker_message(&m, 81, "k", "torn", 0);
    maker_open_message(&m, 82, "k");
    maker_seal(&m);
    maker_message(&m, 83, "k", "torn", 0);
    maker_commit(&m);
    memset(m.seg[3] + m.end[3] - RECORD_SEAL_SIZE, 0, RECORD_SEAL_SIZE);
    m.seg[2][bad.offset + 40] ^= 1;
    struct store_io *io = maker_files(&m);
    maker_write(io, "checkpoint.tmp", "x", 1);
    maker_write(io, "0000000000000001.log", m.seg[2], SEGMENT_PAGE);
    uint8_t page[2 * SEGMENT_PAGE], other[STORE_ID] = {7};
    memset(page, 7, sizeof page);
    segment_page_encode(page, SEGMENT_PLAIN, other, 6, sizeof page, 0);
    maker_write(io, "0000000000000006.log", page, sizeof page);
    if (checkpoint) {
        struct index *ix = index_new('.', 0);
        TEST_ASSERT_EQUAL(0, index_add(ix, 1, MF_LIT("a.b"), place_make(2, 4096, 8, 1), 100, &id));
        TEST_ASSERT_EQUAL(0, index_add(ix, 2, MF_LIT("a.c"), place_make(1, 4096, 8, 1), 0, &id));
        memcpy(h.id, m.id, STORE_ID);
        maker_checkpoint(io, &h, ix, MF_LIT("one"), MF_LIT("first"));
        index_free(ix);
    }
    return io;
}

static struct store_io *everything(bool checkpoint)
{
    struct store_io *faulty;
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, fault_io_new(&faulty, everything_plain(checkpoint), &e));
    return faulty;
}

static void files_only_free(struct store_io *io)
{
    io->leave(io);
    io->free(io);
}

static void files_free(struct store_io *io)
{
    files_only_free(io);
    maker_fini(&m);
}

static char *text_of(bool checkpoint)
{
    struct store_io *io = everything(checkpoint);
    char *text = recover_text(io);

    files_free(io);
    return text;
}

static void test_any_failing_operation_is_an_error_and_loses_nothing(void)
{
    static const int codes[] = {MF_IO, MF_FULL};

    for (int way = 0; way < 4; way++) {
        char *want = text_of(way & 1);
        bool again = true;
        for (uint64_t n = 1; again; n++) {
            struct store_io *io = everything(way & 1);
            struct mf_error e;
            struct recovery r;
            fault_io_arm(io,
                         &(struct fault_plan){
                             .nth = n, .code = codes[way & 1], .half = way & 2, .after = way & 2});
            int rc = recover(&r, io, NULL, '.', 0, &e);
            again = fault_io_hit(io);
            fault_io_disarm(io);
            if (rc == 0) { /* no fault, or only one that has another way: map */
                char *text = recovery_text(&r);
                TEST_ASSERT_EQUAL_STRING(want, text);
                free(text);
                recovery_fini(&r);
            } else {
                TEST_ASSERT_EQUAL(codes[way & 1], rc);
                TEST_ASSERT_NULL(r.index);
            }
            char *text = recover_text(io);
            TEST_ASSERT_EQUAL_STRING(want, text);
            free(text);
            files_free(io);
        }
        free(want);
    }
}

/* After a crash of the process alone the last groups may be in the page cache only, in several
 * segments: what recovery reports is on disk when it returns. */
static void test_what_no_commit_calls_synced_is_synced(void)
{
    for (int clean = 0; clean < 2; clean++) {
        struct store_io *io;
        struct recovery r;
        struct mf_error e;
        maker_init(&m, 1);
        for (uint64_t s = 1; s <= 4; s++) {
            maker_message(&m, s, "k", "x", 0);
            m.synced = clean ? maker_pos(&m) : (struct record_pos){s > 2 ? 2 : 1, SEGMENT_PAGE};
            maker_commit(&m);
            if (s < 4)
                maker_seal(&m);
        }
        TEST_ASSERT_EQUAL(0, fault_io_new(&io, maker_files(&m), &e));
        recover_ok(&r, io);
        TEST_ASSERT_EQUAL_UINT64(clean ? 1 : 3, fault_io_count(io, FAULT_SYNC));
        recovery_fini(&r);
        files_free(io);
    }
}

/* Without map() everything is read, with the same answers. */
static void test_files_that_cannot_be_mapped_are_read(void)
{
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        char *want = text_of(checkpoint);
        struct store_io *io = everything(checkpoint);
        fault_io_arm(io, &(struct fault_plan){.kinds = FAULT_MAP, .nth = 1, .forever = true});
        char *text = recover_text(io);
        TEST_ASSERT_EQUAL_STRING(want, text);
        TEST_ASSERT_TRUE(fault_io_hit(io));
        free(text);
        free(want);
        files_free(io);
    }
}

static void test_any_failing_allocation_is_an_error_and_loses_nothing(void)
{
    for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
        char *want = text_of(checkpoint);
        bool again = true;
        for (long n = 1; again; n++) {
            struct store_io *io = everything(checkpoint);
            struct mf_error e;
            struct recovery r;
            allocations = 0;
            fail_at = n;
            int rc = recover(&r, io, NULL, '.', 0, &e);
            fail_at = 0;
            again = allocations >= n;
            TEST_ASSERT_TRUE(again || rc == 0);
            if (rc == 0) {
                char *text = recovery_text(&r);
                TEST_ASSERT_EQUAL_STRING(want, text);
                free(text);
                recovery_fini(&r);
            } else {
                TEST_ASSERT_TRUE(rc == MF_NOMEM || rc == MF_FULL);
            }
            char *text = recover_text(io);
            TEST_ASSERT_EQUAL_STRING(want, text);
            free(text);
            files_free(io);
        }
        free(want);
    }
}

/* The power fails after each change that recovery makes, in every way the disk may take it: the
 * next recovery finds the same.  Two kinds of end: one to be sealed, and one behind a seal with
 * damage before it, where a segment must say what the dropped one knew. */
static void test_a_crash_during_recovery_loses_nothing(void)
{
    struct mf_error e;

    for (int kind = 0; kind < 3; kind++) {
        struct store_io *plain = everything_plain(kind == 1), *rec;
        if (kind == 2) { /* the seal is there, and the segment after it starts with a hole */
            maker_fini(&m);
            files_only_free(plain);
            maker_init(&m, 1);
            maker_message(&m, 1, "k", "x", 0);
            maker_commit(&m);
            struct record_pos bad = maker_message(&m, 2, "k", "x", 0);
            maker_message(&m, 3, "k", "x", 0);
            maker_commit(&m);
            maker_seal(&m);
            struct record_pos lost = maker_message(&m, 4, "k", "x", 0);
            maker_commit(&m);
            m.seg[1][bad.offset + 20] ^= 1;
            m.seg[2][lost.offset + 20] ^= 1;
            plain = maker_files(&m);
        }
        TEST_ASSERT_EQUAL(0, crash_io_new(&rec, plain, &e));
        struct recovery r;
        recover_ok(&r, rec);
        char *want = recovery_text(&r);
        TEST_ASSERT_TRUE(r.torn && r.damages > 0);
        recovery_fini(&r);
        uint64_t ops = crash_io_ops(rec);
        TEST_ASSERT_GREATER_THAN_UINT64(2, ops);
        for (uint64_t at = 0; at <= ops; at++) {
            for (int mode = 0; mode < CRASH_MODES; mode++) {
                struct store_io *disk;
                TEST_ASSERT_EQUAL(0, crash_io_image(rec, at, (enum crash_mode)mode, at, &disk));
                TEST_ASSERT_EQUAL(0, disk->enter(disk, &e));
                char *text = recover_text(disk), *again = recover_text(disk);
                TEST_ASSERT_EQUAL_STRING_MESSAGE(want, text,
                                                 crash_mode_name((enum crash_mode)mode));
                TEST_ASSERT_EQUAL_STRING(want, again);
                free(text);
                free(again);
                files_only_free(disk);
            }
        }
        free(want);
        files_free(rec);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_any_failing_operation_is_an_error_and_loses_nothing);
    RUN_TEST(test_what_no_commit_calls_synced_is_synced);
    RUN_TEST(test_files_that_cannot_be_mapped_are_read);
    RUN_TEST(test_any_failing_allocation_is_an_error_and_loses_nothing);
    RUN_TEST(test_a_crash_during_recovery_loses_nothing);
    return UNITY_END();
}
