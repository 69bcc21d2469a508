/* test_store_journal.c: commits of several stores in one journal: what goes in, what a start makes
 * of it, and of a journal that is damaged, foreign or newer.  Power cuts: test/fault/shared.c. */
#include "support/crash_io.h"
#include "support/fault_io.h"
#include "support/must.h"
#include "support/shared_set.h"
#include "support/store_compare.h"

#include "codec/checksum.h"
#include "store/journal/journal_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct loop *loop;
static struct shared_set x;
static struct store_io *files;

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    loop_jobs_inline(loop);
}

void tearDown(void)
{
    loop_free(loop);
}

static void begin(struct store_io *all)
{
    struct store_opts o[SHARED_STORES];

    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = (struct store_opts){
            .segment_min = 256u << 10, .segment_max = 256u << 10, .name = "test", .now_ns = 1};
    files = all;
    shared_init(&x, loop, all, o, 1);
}

static void append_in(int i, const char *key, size_t body)
{
    TEST_ASSERT_EQUAL_INT(0, drive_append(&x.d[i], key, 0, body, 0, 0));
}

static void rest(void)
{
    for (int i = 0; i < SHARED_STORES; i++)
        drive_idle(&x.d[i]);
}

/* One message in each store, in one turn. */
static void append_in_all(const char *key, size_t body)
{
    for (int i = 0; i < SHARED_STORES; i++)
        append_in(i, key, body);
    rest();
}

static void note_closed(void *arg)
{
    *(bool *)arg = true;
}

static struct store_journal_stats stats_now(void)
{
    struct store_journal_stats s;

    store_journal_stats(x.journal, &s);
    return s;
}

/* The journal is made when groups meet for the first time: these still take the direct path. */
static void begin_with_journal(struct store_io *all)
{
    begin(all);
    shared_open(&x);
    append_in_all("first", 10);
    rest();
    while (stats_now().entries == 0)
        append_in_all("until.it.is.there", 10);
}

static struct store_io *crash_files(void)
{
    struct store_io *io;

    TEST_ASSERT_EQUAL_INT(0, crash_io_new(&io, NULL, NULL));
    return io;
}

/* --- what goes in ----------------------------------------------------------------------------- */

static void test_groups_of_several_stores_take_one_sync(void)
{
    begin_with_journal(crash_files());
    uint64_t from = crash_io_ops(files), syncs = 0;
    struct store_journal_stats before = stats_now();
    append_in_all("k", 100);
    for (uint64_t op = from + 1; op <= crash_io_ops(files); op++) {
        char text[200];
        crash_io_describe(files, op, text, sizeof text);
        syncs += strncmp(text, "sync ", 5) == 0;
        TEST_ASSERT_TRUE_MESSAGE(strncmp(text, "sync ", 5) != 0 || strncmp(text, "sync j.", 7) == 0,
                                 text);
    }
    TEST_ASSERT_EQUAL_UINT64(1, syncs);
    TEST_ASSERT_EQUAL_UINT64(before.entries + 1, stats_now().entries);
    TEST_ASSERT_EQUAL_UINT64(before.groups + SHARED_STORES, stats_now().groups);
    shared_close(&x);
    shared_fini(&x);
}

static void test_one_store_alone_takes_the_direct_path(void)
{
    begin_with_journal(crash_files());
    struct store_journal_stats before = stats_now();
    for (int n = 0; n < 5; n++) {
        append_in(1, "alone", 100);
        rest();
    }
    TEST_ASSERT_EQUAL_UINT64(before.entries, stats_now().entries);
    shared_close(&x);
    shared_fini(&x);
}

static void test_large_group_takes_the_direct_path(void)
{
    begin_with_journal(crash_files());
    struct store_journal_stats before = stats_now();
    append_in(0, "large", 70000);
    append_in(1, "small", 10);
    rest();
    TEST_ASSERT_EQUAL_UINT64(before.groups, stats_now().groups);
    shared_close(&x);
    shared_fini(&x);
}

static void test_clean_close_leaves_no_journal(void)
{
    begin_with_journal(crash_files());
    TEST_ASSERT_TRUE(view_io_any(files, "j."));
    shared_close(&x);
    TEST_ASSERT_FALSE(view_io_any(files, "j."));
    shared_fini(&x);
}

static void test_no_space_for_the_journal_syncs_each_store(void)
{
    struct store_io *memory, *io;

    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&memory, NULL));
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, memory, NULL));
    begin(io);
    shared_open(&x);
    fault_io_budget(io, fault_io_used(io));
    for (int n = 0; n < 5; n++)
        append_in_all("k", 100);
    TEST_ASSERT_EQUAL_UINT64(0, stats_now().entries);
    TEST_ASSERT_EQUAL_UINT64(5 * SHARED_STORES, stats_now().turned_away);
    for (int i = 0; i < SHARED_STORES; i++)
        compare_all(x.d[i].store, &x.d[i].model.committed, 1);
    fault_io_budget(io, UINT64_MAX);
    shared_close(&x);
    shared_fini(&x);
}

/* A server starts on a full disk, unless there may be something in the journal. */
static void test_no_space_for_its_folder_is_no_failure_of_the_start(void)
{
    struct store_journal_opts o = {.fresh = true};
    struct store_journal *j;
    struct mf_error e;

    for (int n = 0; n < 2; n++) {
        struct store_io *memory, *io;
        bool closed = false;
        TEST_ASSERT_EQUAL_INT(0, store_io_memory(&memory, NULL));
        TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, memory, NULL));
        fault_io_arm(io, &(struct fault_plan){.kinds = FAULT_ENTER, .nth = 1, .code = MF_FULL});
        TEST_ASSERT_EQUAL_INT(n == 0 ? 0 : MF_FULL, store_journal_new(&j, loop, &o, io, &e));
        if (n == 0)
            store_journal_close(j, note_closed, &closed);
        TEST_ASSERT_TRUE(closed == (n == 0));
        o.fresh = false;
    }
}

/* --- a start ---------------------------------------------------------------------------------- */

/* The power fails: what was not synced in the segments is lost. */
static struct store_io *cut_now(void)
{
    struct store_io *disk;

    TEST_ASSERT_EQUAL_INT(0, crash_io_image(files, crash_io_ops(files), CRASH_DROP, 1, &disk));
    return disk;
}

static void start_on(struct shared_set *y, struct store_io *disk, uint32_t sync_each)
{
    struct store_opts o[SHARED_STORES];

    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = x.d[i].opts;
    shared_init(y, loop, disk, o, 2);
    y->sync_each = sync_each;
    shared_open(y);
}

/* The sums that the stores show when they are opened on this disk. */
static void sums_on(struct store_io *disk, uint64_t sum[SHARED_STORES], uint64_t *recovered)
{
    struct shared_set y;

    start_on(&y, disk, 0);
    for (int i = 0; i < SHARED_STORES; i++) {
        MUST(store_damage_count(y.d[i].store) == 0, "store %d is damaged", i);
        sum[i] = compare_sum(y.d[i].store);
    }
    shared_close(&y);
    *recovered = y.stats.recovered;
    shared_fini(&y);
}

static void test_start_after_a_power_cut_writes_the_groups_again(void)
{
    uint64_t sum[SHARED_STORES], recovered;

    begin_with_journal(crash_files());
    append_in_all("k", 100);
    sums_on(cut_now(), sum, &recovered);
    for (int i = 0; i < SHARED_STORES; i++)
        TEST_ASSERT_TRUE(sum[i] == state_sum(&x.d[i].model.committed, 1));
    TEST_ASSERT_TRUE(recovered >= SHARED_STORES);
    shared_fini(&x);
}

/* What other programs wrote to the file system does not keep a start of a few streams waiting. */
static void test_start_syncs_a_few_segments_one_by_one(void)
{
    begin_with_journal(crash_files());
    append_in_all("k", 100);
    for (uint32_t each = SHARED_STORES - 1; each <= SHARED_STORES; each++) {
        struct shared_set y;

        start_on(&y, cut_now(), each);
        TEST_ASSERT_EQUAL_UINT(each < SHARED_STORES ? 1 : 0, y.synced_all);
        shared_close(&y);
        shared_fini(&y);
    }
    shared_fini(&x);
}

static int remove_one(void *arg, const char *name)
{
    struct store_io *io = arg;

    return name[0] == 'a' ? io->unlink(io, name, NULL) : 0;
}

/* A stream of the same name has another id: nothing of the old one is written into it. */
static void test_stream_made_again_gets_nothing_of_the_old_one(void)
{
    uint64_t sum[SHARED_STORES], recovered;
    struct store_opts o = {
        .segment_min = 256u << 10, .segment_max = 256u << 10, .name = "new", .now_ns = 1};
    struct drive fresh;

    begin_with_journal(crash_files());
    append_in_all("k", 100);
    struct store_io *disk = cut_now(), *view;
    TEST_ASSERT_EQUAL_INT(0, disk->enter(disk, NULL));
    TEST_ASSERT_EQUAL_INT(0, disk->list(disk, remove_one, disk, NULL));
    view = view_io_new(disk, shared_path(0));
    drive_init(&fresh, loop, view, &o, 3);
    drive_open(&fresh);
    drive_append(&fresh, "only", 0, 10, 0, 0);
    drive_idle(&fresh);
    drive_close(&fresh);
    uint64_t want = state_sum(&fresh.model.committed, 1);
    drive_fini(&fresh);
    disk->leave(disk);
    sums_on(disk, sum, &recovered);
    TEST_ASSERT_TRUE(sum[0] == want);
    for (int i = 1; i < SHARED_STORES; i++)
        TEST_ASSERT_TRUE(sum[i] == state_sum(&x.d[i].model.committed, 1));
    shared_fini(&x);
}

static void test_deleted_stream_is_passed_over(void)
{
    uint64_t sum[SHARED_STORES], recovered;

    begin_with_journal(crash_files());
    append_in_all("k", 100);
    struct store_io *disk = cut_now();
    TEST_ASSERT_EQUAL_INT(0, disk->enter(disk, NULL));
    TEST_ASSERT_EQUAL_INT(0, disk->list(disk, remove_one, disk, NULL));
    disk->leave(disk);
    sums_on(disk, sum, &recovered);
    for (int i = 1; i < SHARED_STORES; i++)
        TEST_ASSERT_TRUE(sum[i] == state_sum(&x.d[i].model.committed, 1));
    shared_fini(&x);
}

static void test_start_that_cannot_write_fails_and_the_next_one_works(void)
{
    static const struct {
        uint32_t kind, sync_each;
    } faults[] = {{FAULT_WRITE, 0}, {FAULT_SYNC, 0}, {FAULT_SYNC, 1}};
    const size_t last = sizeof faults / sizeof *faults - 1;
    struct store_opts o[SHARED_STORES];
    struct store_io *io;
    struct shared_set y;
    struct mf_error e;

    begin_with_journal(crash_files());
    append_in_all("k", 100);
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, cut_now(), NULL));
    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = x.d[i].opts;
    for (size_t n = 0; n <= last; n++) {
        shared_init(&y, loop, io, o, 2);
        y.sync_each = faults[n].sync_each;
        fault_io_arm(io, &(struct fault_plan){.kinds = faults[n].kind, .nth = 2, .code = MF_IO});
        TEST_ASSERT_EQUAL_INT(MF_IO, shared_try_open(&y, &e));
        TEST_ASSERT_TRUE(view_io_any(io, "j."));
        fault_io_disarm(io);
        if (n < last) {
            for (int i = 0; i < SHARED_STORES; i++)
                drive_fini(&y.d[i]);
            io->leave(io);
        }
    }
    shared_open(&y);
    for (int i = 0; i < SHARED_STORES; i++)
        TEST_ASSERT_TRUE(compare_sum(y.d[i].store) == state_sum(&x.d[i].model.committed, 1));
    shared_close(&y);
    shared_fini(&y);
    shared_fini(&x);
}

/* --- another version, damage ------------------------------------------------------------------ */

static struct store_file *open_journal(struct store_io *disk, const char *name, uint64_t *size)
{
    struct store_file *f;

    TEST_ASSERT_EQUAL_INT(0, disk->open(disk, name, false, &f, NULL));
    TEST_ASSERT_EQUAL_INT(0, disk->size(disk, f, size, NULL));
    return f;
}

static void test_later_version_is_refused_and_nothing_is_touched(void)
{
    struct store_io *disk, *recorder;
    struct store_opts o[SHARED_STORES];
    uint8_t page[JOURNAL_PAGE];
    struct shared_set y;
    struct mf_error e;
    uint64_t size;

    begin_with_journal(crash_files());
    disk = cut_now();
    TEST_ASSERT_EQUAL_INT(0, disk->enter(disk, NULL));
    struct store_file *f = open_journal(disk, "j.1.journal", &size);
    TEST_ASSERT_EQUAL_INT(0, disk->pread(disk, f, page, sizeof page, 0, NULL));
    put_u32(page + 8, JOURNAL_VERSION + 1);
    put_u64(page + 32, checksum64(page, 32, 0));
    TEST_ASSERT_EQUAL_INT(0, disk->pwrite(disk, f, page, sizeof page, 0, NULL));
    disk->close(disk, f);
    disk->leave(disk);
    TEST_ASSERT_EQUAL_INT(0, crash_io_new(&recorder, disk, NULL));
    for (int i = 0; i < SHARED_STORES; i++)
        o[i] = x.d[i].opts;
    shared_init(&y, loop, recorder, o, 2);
    TEST_ASSERT_EQUAL_INT(MF_UNSUPPORTED, shared_try_open(&y, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "version 2"));
    TEST_ASSERT_EQUAL_UINT64(0, crash_io_ops(recorder));
    shared_fini(&y);
    shared_fini(&x);
}

/* What each store shows with and without the last entry. */
struct expected {
    uint64_t without[SHARED_STORES], with[SHARED_STORES];
};

static void flip(struct store_io *disk, uint64_t at, uint8_t mask)
{
    uint8_t byte;
    uint64_t size;

    TEST_ASSERT_EQUAL_INT(0, disk->enter(disk, NULL));
    struct store_file *f = open_journal(disk, "j.1.journal", &size);
    TEST_ASSERT_EQUAL_INT(0, disk->pread(disk, f, &byte, 1, at, NULL));
    byte ^= mask;
    TEST_ASSERT_EQUAL_INT(0, disk->pwrite(disk, f, &byte, 1, at, NULL));
    disk->close(disk, f);
    disk->leave(disk);
}

/* One entry, of which nothing has reached the segments; each of its bytes is flipped in turn.  A
 * store shows all of its group or nothing of it, no store is damaged, and a byte of one part takes
 * only that part.  A byte of one copy of the header takes nothing. */
static void test_each_flipped_byte_takes_its_own_part_at_most(void)
{
    struct expected want;
    uint64_t sum[SHARED_STORES], recovered, lost = 0, whole = 0, start, end;

    begin(crash_files());
    shared_open(&x);
    append_in_all("first", 10); /* makes the journal */
    rest();
    TEST_ASSERT_EQUAL_UINT64(0, stats_now().entries);
    for (int i = 0; i < SHARED_STORES; i++)
        want.without[i] = state_sum(&x.d[i].model.committed, 1);
    append_in_all("k", 30);
    TEST_ASSERT_EQUAL_UINT64(1, stats_now().entries);
    for (int i = 0; i < SHARED_STORES; i++)
        want.with[i] = state_sum(&x.d[i].model.committed, 1);
    start = JOURNAL_PAGE;
    end = start + stats_now().bytes;
    for (uint64_t at = 0; at < end; at += at < 4000 ? 61 : 1) {
        struct store_io *disk = cut_now();
        flip(disk, at, (uint8_t)(1u << at % 8));
        sums_on(disk, sum, &recovered);
        unsigned missing = 0;
        for (int i = 0; i < SHARED_STORES; i++) {
            TEST_ASSERT_TRUE(sum[i] == want.with[i] || sum[i] == want.without[i]);
            missing += sum[i] != want.with[i];
        }
        if (at < start)
            TEST_ASSERT_EQUAL_UINT(0, missing);
        TEST_ASSERT_TRUE(missing <= 1 || (missing == SHARED_STORES && recovered == 0));
        lost += missing == 1;
        whole += missing > 1;
    }
    TEST_ASSERT_TRUE(lost > 300);  /* a byte of a part */
    TEST_ASSERT_TRUE(whole > 100); /* of the heads */
    shared_fini(&x);
}

/* --- the bytes -------------------------------------------------------------------------------- */

static void test_entry_is_read_at_its_place_only(void)
{
    struct mf_buf b = MF_BUF_INIT;
    struct journal_part p[2] = {{.segment = 7,
                                 .offset = 4096,
                                 .len = 13,
                                 .path = "a/b",
                                 .path_len = 3,
                                 .bytes = (const uint8_t *)"thirteen byte"},
                                {.segment = 9,
                                 .offset = 8192,
                                 .len = 8,
                                 .path = "",
                                 .path_len = 0,
                                 .bytes = (const uint8_t *)"eight by"}};
    struct journal_part got;
    struct journal_entry e;
    enum journal_state state;

    memset(mf_buf_reserve(&b, 4096), 0, 4096);
    b.len = 4096;
    TEST_ASSERT_EQUAL_INT(0, journal_entry_encode(&b, p, 2, 99, 4096));
    TEST_ASSERT_TRUE(journal_entry_read(b.ptr, b.len, 99, 4096, &e));
    TEST_ASSERT_EQUAL_UINT64(b.len - 4096, e.size);
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_EQUAL_INT(JOURNAL_GOOD, state);
    TEST_ASSERT_EQUAL_MEMORY("thirteen byte", got.bytes, 13);
    TEST_ASSERT_EQUAL_UINT64(7, got.segment);
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_EQUAL_INT(JOURNAL_GOOD, state);
    TEST_ASSERT_FALSE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_FALSE(journal_entry_read(b.ptr, b.len, 98, 4096, &e));     /* another generation */
    TEST_ASSERT_FALSE(journal_entry_read(b.ptr, b.len - 1, 99, 4096, &e)); /* cut short */
    TEST_ASSERT_FALSE(journal_entry_read(b.ptr, b.len, 99, 4104, &e));
    memset(b.ptr + b.len - 8, 0, 8); /* the second part is wiped */
    TEST_ASSERT_TRUE(journal_entry_read(b.ptr, b.len, 99, 4096, &e));
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_EQUAL_INT(JOURNAL_GOOD, state);
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_EQUAL_INT(JOURNAL_VOID, state);
    b.ptr[b.len - 1] = 1;
    TEST_ASSERT_TRUE(journal_entry_read(b.ptr, b.len, 99, 4096, &e));
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_TRUE(journal_part_next(&e, &got, &state));
    TEST_ASSERT_EQUAL_INT(JOURNAL_BAD, state);
    mf_buf_fini(&b);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* For ThreadSanitizer: entries, erasures in them, emptying and closing, on workers. */
static void test_workers_share_the_files(void)
{
    struct store_io *memory;
    struct loop *inline_loop = loop;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&memory, NULL));
    begin(memory);
    shared_open(&x);
    for (int n = 0; n < 300; n++) {
        for (int i = 0; i < SHARED_STORES; i++)
            append_in(i, "k", 200);
        drive_turn(&x.d[0]);
        if (n % 5 == 4) {
            for (int i = 0; i < SHARED_STORES; i++)
                drive_idle(&x.d[i]);
            for (int i = 0; i < SHARED_STORES; i++)
                (void)drive_erase(&x.d[i], store_last_seq(x.d[i].store) - 1);
        }
    }
    rest();
    TEST_ASSERT_TRUE(stats_now().entries > 0 && stats_now().emptied > 0);
    for (int i = 0; i < SHARED_STORES; i++)
        compare_all(x.d[i].store, &x.d[i].model.committed, 1);
    shared_close(&x);
    shared_open(&x);
    for (int i = 0; i < SHARED_STORES; i++)
        compare_all(x.d[i].store, &x.d[i].model.committed, 1);
    shared_close(&x);
    shared_fini(&x);
    loop_free(loop);
    loop = inline_loop;
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_groups_of_several_stores_take_one_sync);
    RUN_TEST(test_one_store_alone_takes_the_direct_path);
    RUN_TEST(test_large_group_takes_the_direct_path);
    RUN_TEST(test_clean_close_leaves_no_journal);
    RUN_TEST(test_no_space_for_the_journal_syncs_each_store);
    RUN_TEST(test_no_space_for_its_folder_is_no_failure_of_the_start);
    RUN_TEST(test_start_after_a_power_cut_writes_the_groups_again);
    RUN_TEST(test_start_syncs_a_few_segments_one_by_one);
    RUN_TEST(test_stream_made_again_gets_nothing_of_the_old_one);
    RUN_TEST(test_deleted_stream_is_passed_over);
    RUN_TEST(test_start_that_cannot_write_fails_and_the_next_one_works);
    RUN_TEST(test_later_version_is_refused_and_nothing_is_touched);
    RUN_TEST(test_each_flipped_byte_takes_its_own_part_at_most);
    RUN_TEST(test_entry_is_read_at_its_place_only);
    RUN_TEST(test_workers_share_the_files);
    return UNITY_END();
}
