/* test_store_patrol.c: files are read at a pace, damage is found before a reader meets it, and it
 * is over when nothing that is there lies in it. */
#include "support/must.h"
#include "support/store_drive.h"

#include "store/store_patrol.h"

#include "store/log/record.h"

#include "unity.h"

static struct drive d;
static struct loop *loop;
static struct store_patrol *patrol;

static struct store_opts options(void)
{
    return (struct store_opts){
        .segment_min = 64u << 10, .segment_max = 64u << 10, .name = "patrol", .patrol = patrol};
}

static void join(struct drive *x)
{
    struct store_opts o = options();
    struct store_io *io;

    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&io, NULL));
    drive_init(x, loop, io, &o, 1);
    drive_open(x);
}

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    loop_jobs_inline(loop);
    patrol = store_patrol_new(loop);
    TEST_ASSERT_NOT_NULL(patrol);
    join(&d);
}

void tearDown(void)
{
    drive_fini(&d);
    store_patrol_free(patrol);
    loop_free(loop);
}

static struct store_patrol_stats stats(void)
{
    struct store_patrol_stats st;

    store_patrol_stats(patrol, &st);
    return st;
}

static bool rounds_done(void *arg)
{
    return stats().rounds >= *(uint64_t *)arg;
}

/* The first one begins anywhere: the second is whole. */
static void go_round(void)
{
    uint64_t until = stats().rounds + 2;

    store_patrol_period(patrol, 1000000);
    drive_until(&d, rounds_done, &until, "a round");
    store_patrol_period(patrol, 0);
    drive_idle(&d);
    for (int i = 0; i < 10; i++)
        drive_turn(&d); /* the census */
}

static size_t open_places(uint64_t *messages)
{
    bool at_start;

    return store_damage_open(d.store, messages, &at_start);
}

static uint64_t used(void)
{
    struct store_state st;

    store_state(d.store, &st);
    return st.disk_bytes;
}

static void fill(int n, size_t body)
{
    for (int i = 0; i < n; i++) {
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 4, body, 0, 0));
        if (i % 10 == 0)
            drive_turn(&d);
    }
    drive_idle(&d);
}

/* Where the record of a message lies, found by its stamp in the files: segment and offset. */
static uint64_t find_message(uint64_t seq, char name[32])
{
    struct store_file *f;
    static uint8_t bytes[1 << 20];
    uint64_t size;

    for (unsigned n = 1; n < 200; n++) {
        snprintf(name, 32, "%016x.log", n);
        if (d.io->open(d.io, name, false, &f, NULL) != 0)
            continue;
        TEST_ASSERT_EQUAL_INT(0, d.io->size(d.io, f, &size, NULL));
        size = size < sizeof bytes ? size : sizeof bytes;
        TEST_ASSERT_EQUAL_INT(0, d.io->pread(d.io, f, bytes, size, 0, NULL));
        d.io->close(d.io, f);
        for (uint64_t at = SEGMENT_PAGE; at + 56 <= size; at += 8)
            if (bytes[at + 12] == RECORD_MESSAGE && get_u64(bytes + at + 16) == seq &&
                get_u32(bytes + at + 4) >= 56 && get_u32(bytes + at + 4) < size)
                return at;
    }
    TEST_FAIL_MESSAGE("no such message in any file");
    return 0;
}

static void flip(const char *name, uint64_t offset)
{
    struct store_file *f;
    uint8_t byte;

    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, name, false, &f, NULL));
    TEST_ASSERT_EQUAL_INT(0, d.io->pread(d.io, f, &byte, 1, offset, NULL));
    byte ^= 0x10;
    TEST_ASSERT_EQUAL_INT(0, d.io->pwrite(d.io, f, &byte, 1, offset, NULL));
    d.io->close(d.io, f);
}

static void test_all_files_are_read_and_nothing_is_found_in_sound_ones(void)
{
    uint64_t messages;

    fill(800, 300);
    go_round();
    TEST_ASSERT_EQUAL_UINT64(0, stats().damaged);
    TEST_ASSERT_EQUAL_size_t(0, open_places(&messages));
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(used() / 2, stats().bytes);
    TEST_ASSERT_GREATER_THAN_INT64(0, stats().round_end_ns);
}

static void test_it_is_off_until_it_has_a_period(void)
{
    fill(50, 300);
    for (int i = 0; i < 50; i++)
        drive_turn(&d);
    TEST_ASSERT_EQUAL_UINT64(0, stats().bytes);
}

static void test_damage_in_a_body_is_found_named_and_over_with_its_message(void)
{
    uint64_t messages, seq = 0;
    char name[32];

    fill(800, 300);
    flip(name, find_message(7, name) + 100);
    go_round();
    TEST_ASSERT_EQUAL_UINT64(1, stats().damaged);
    TEST_ASSERT_EQUAL_size_t(1, open_places(&messages));
    TEST_ASSERT_EQUAL_UINT64(1, messages);
    TEST_ASSERT_EQUAL_size_t(1, store_damage_messages(d.store, &seq, 1));
    TEST_ASSERT_EQUAL_UINT64(7, seq);
    go_round();
    TEST_ASSERT_EQUAL_UINT64(1, stats().damaged); /* it is told once */
    TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, 7));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(0, open_places(&messages));
    go_round();
    TEST_ASSERT_EQUAL_size_t(0, open_places(&messages));
}

/* Which messages lie in a stretch without records, only the index knows. */
static void test_damage_in_a_head_is_found_with_all_messages_in_it(void)
{
    uint64_t messages, seq[4];
    struct store_stats before, after;
    char name[32];

    fill(800, 300);
    uint64_t at = find_message(20, name), next = find_message(21, name);
    flip(name, at + 5);
    flip(name, next + 5);
    store_stats(d.store, &before);
    go_round();
    TEST_ASSERT_EQUAL_size_t(1, open_places(&messages));
    TEST_ASSERT_EQUAL_UINT64(2, messages);
    TEST_ASSERT_EQUAL_size_t(2, store_damage_messages(d.store, seq, 4));
    TEST_ASSERT_EQUAL_UINT64(20, seq[0]);
    TEST_ASSERT_EQUAL_UINT64(21, seq[1]);
    store_stats(d.store, &after); /* what the stretch said is written down elsewhere */
    TEST_ASSERT_GREATER_THAN_UINT64(before.checkpoints, after.checkpoints);
    TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, 20));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(1, open_places(&messages));
    TEST_ASSERT_EQUAL_UINT64(1, messages);
    TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, 21));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(0, open_places(&messages));
}

/* A blob in the damage is in memory; it is written again, so a log read from its start has it. */
static void test_blobs_in_damage_are_written_again(void)
{
    char name[32];

    TEST_ASSERT_EQUAL_INT(0, drive_blob(&d, "config", 100));
    drive_idle(&d);
    fill(800, 300);
    uint64_t at = find_message(1, name);
    flip(name, at - 80 - 140); /* the blob lies before the commit of its group */
    go_round();
    TEST_ASSERT_EQUAL_UINT64(1, stats().damaged);
    drive_abandon(&d);
    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, NULL));
    TEST_ASSERT_EQUAL_INT(0, d.io->unlink(d.io, "checkpoint", NULL));
    d.io->leave(d.io);
    drive_open(&d);
    struct mf_slice bytes;
    TEST_ASSERT_TRUE(store_blob_get(d.store, MF_LIT("config"), &bytes));
}

static int (*sound_pread)(struct store_io *io, struct store_file *f, void *dst, size_t n,
                          uint64_t off, struct mf_error *e);
static uint64_t bad; /* the byte that the disk does not give back, in all files */
static int bad_pread(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                     struct mf_error *e)
{
    if (off <= bad && bad < off + n)
        return mf_fail(e, MF_IO, "a bad sector");
    return sound_pread(io, f, dst, n, off, e);
}

/* A sector that cannot be read costs what lies in its block, not the whole file. */
static void test_an_unreadable_sector_is_damage_of_its_place(void)
{
    uint64_t messages;
    char name[32];

    fill(800, 300);
    bad = find_message(30, name) + 100;
    sound_pread = d.io->pread;
    d.io->pread = bad_pread;
    go_round();
    d.io->pread = sound_pread;
    TEST_ASSERT_GREATER_THAN_UINT64(0, stats().damaged);
    TEST_ASSERT_GREATER_THAN_size_t(0, open_places(&messages));
    TEST_ASSERT_TRUE(messages >= 1 && messages < 40 * stats().damaged);
    for (size_t i = 0; i < store_damage_count(d.store); i++)
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(3 * 4096, store_damage(d.store, i)->length);
}

static struct store_file *first_read;
static int noting_pread(struct store_io *io, struct store_file *f, void *dst, size_t n,
                        uint64_t off, struct mf_error *e)
{
    first_read = first_read == NULL ? f : first_read;
    return sound_pread(io, f, dst, n, off, e);
}

static bool has_read(void *arg)
{
    (void)arg;
    return stats().bytes > 0;
}

static bool has_read_between_reloads(void *arg)
{
    (void)arg;
    store_patrol_period(patrol, 64 * 500 * 1000000ll); /* a slice every 500 ms */
    return stats().bytes > 0;
}

static void test_reloads_do_not_put_off_the_next_slice(void)
{
    fill(10, 300);
    drive_until(&d, has_read_between_reloads, NULL, "a slice");
}

/* A server that is restarted often must not read the same files each time. */
static void test_each_start_begins_somewhere_else(void)
{
    struct store_file *seen[40];
    size_t n = 0;

    fill(1500, 300);
    sound_pread = d.io->pread;
    for (int i = 0; i < 40; i++) {
        drive_close(&d);
        store_patrol_free(patrol);
        d.opts.patrol = patrol = store_patrol_new(loop);
        drive_open(&d);
        first_read = NULL;
        d.io->pread = noting_pread;
        store_patrol_period(patrol, 1000000);
        drive_until(&d, has_read, NULL, "a slice");
        store_patrol_period(patrol, 0);
        d.io->pread = sound_pread;
        drive_idle(&d);
        size_t k = 0;
        while (k < n && seen[k] != first_read)
            k++;
        seen[k] = first_read;
        n += k == n;
    }
    TEST_ASSERT_GREATER_THAN_size_t(2, n);
}

static void test_erased_messages_are_no_damage(void)
{
    uint64_t messages;

    fill(800, 300);
    for (uint64_t seq = 5; seq < 200; seq += 9) {
        TEST_ASSERT_EQUAL_INT(0, drive_erase(&d, seq));
        drive_idle(&d);
    }
    go_round();
    TEST_ASSERT_EQUAL_UINT64(0, stats().damaged);
    TEST_ASSERT_EQUAL_size_t(0, open_places(&messages));
}

/* A slice is a megabyte. */
static void test_a_message_longer_than_a_slice_is_read(void)
{
    static uint8_t body[3 << 20];
    struct store_append a = {.key = MF_LIT("long"), .body = mf_slice(body, sizeof body)};
    uint64_t before;

    fill(10, 100);
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
        drive_idle(&d);
    }
    before = stats().bytes;
    go_round();
    TEST_ASSERT_EQUAL_UINT64(0, stats().damaged);
    TEST_ASSERT_GREATER_THAN_UINT64(before + (9u << 20), stats().bytes);
}

/* With many stores there is one slice at a time, and each has its turn in every round. */
static void test_many_stores_take_turns(void)
{
    static struct drive others[20];
    uint64_t messages;
    bool at_start;
    char name[32];

    for (size_t i = 0; i < MF_COUNT(others); i++) {
        join(&others[i]);
        TEST_ASSERT_EQUAL_INT(0, drive_append(&others[i], "k", 0, 200, 0, 0));
        drive_idle(&others[i]);
    }
    fill(30, 100);
    struct drive keep = d;
    for (size_t i = 0; i < MF_COUNT(others); i++) {
        d = others[i];
        flip(name, find_message(1, name) + 100);
    }
    d = keep;
    go_round();
    TEST_ASSERT_EQUAL_UINT64(MF_COUNT(others), stats().damaged);
    for (size_t i = 0; i < MF_COUNT(others); i++) {
        TEST_ASSERT_EQUAL_size_t(1, store_damage_open(others[i].store, &messages, &at_start));
        drive_fini(&others[i]);
    }
}

/* A store that goes while its slice is read, and one after the other until none is left. */
static void test_stores_leave_at_any_time(void)
{
    static struct drive others[3];

    for (size_t i = 0; i < MF_COUNT(others); i++)
        join(&others[i]);
    fill(400, 300);
    store_patrol_period(patrol, 1000);
    for (size_t i = 0; i < MF_COUNT(others); i++) {
        for (size_t k = 0; k < 1 + i; k++)
            drive_turn(&d);
        drive_close(&others[i]);
        drive_fini(&others[i]);
    }
    drive_close(&d);
    drive_open(&d);
    go_round();
    TEST_ASSERT_EQUAL_UINT64(0, stats().damaged);
}

/* The cleaner gives up segments that the patrol has not come to yet. */
static void test_cleaning_goes_on_meanwhile(void)
{
    struct store_stats st;

    fill(400, 300);
    store_patrol_period(patrol, 1000000000ll * 3600);
    for (int i = 0; i < 20; i++)
        drive_turn(&d);
    for (uint64_t seq = 1; seq < 390; seq++)
        TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, seq));
    drive_idle(&d);
    fill(50, 300);
    store_stats(d.store, &st);
    TEST_ASSERT_GREATER_THAN_UINT64(0, st.segments_freed);
    go_round();
    TEST_ASSERT_EQUAL_UINT64(0, stats().damaged);
}

/* Found at a start, what lay there is not in the index: it matters while the file is there. */
static void test_damage_found_at_the_start_stays(void)
{
    uint64_t messages;
    bool at_start;
    char name[32];

    fill(800, 300);
    uint64_t at = find_message(9, name);
    flip(name, at + 100);
    drive_abandon(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_size_t(1, store_damage_open(d.store, &messages, &at_start));
    TEST_ASSERT_TRUE(at_start);
    TEST_ASSERT_EQUAL_UINT64(1, messages);
    go_round();
    TEST_ASSERT_EQUAL_size_t(1, store_damage_open(d.store, &messages, &at_start));
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_all_files_are_read_and_nothing_is_found_in_sound_ones);
    RUN_TEST(test_it_is_off_until_it_has_a_period);
    RUN_TEST(test_damage_in_a_body_is_found_named_and_over_with_its_message);
    RUN_TEST(test_damage_in_a_head_is_found_with_all_messages_in_it);
    RUN_TEST(test_blobs_in_damage_are_written_again);
    RUN_TEST(test_an_unreadable_sector_is_damage_of_its_place);
    RUN_TEST(test_each_start_begins_somewhere_else);
    RUN_TEST(test_reloads_do_not_put_off_the_next_slice);
    RUN_TEST(test_erased_messages_are_no_damage);
    RUN_TEST(test_a_message_longer_than_a_slice_is_read);
    RUN_TEST(test_many_stores_take_turns);
    RUN_TEST(test_stores_leave_at_any_time);
    RUN_TEST(test_cleaning_goes_on_meanwhile);
    RUN_TEST(test_damage_found_at_the_start_stays);
    return UNITY_END();
}
