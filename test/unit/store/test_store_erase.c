/* test_store_erase.c: erasing a message: its bytes leave every file, the log stays whole, and a
 * power cut at any moment of it does no harm. */
#include "support/store_fixture.h"

#include "fault/disk.h"

#include "store/log/record.h"
#include "support/secret.h"

#define SECRET "correct horse battery staple"

/* --- looking for bytes ----------------------------------------------------------------------- */

static size_t times_in(const struct disk *files, const char *text)
{
    size_t n = 0, len = strlen(text);

    for (size_t i = 0; i < files->files; i++) {
        const struct disk_file *f = &files->file[i];
        for (size_t at = 0; at + len <= f->size; at++)
            n += memcmp(f->bytes + at, text, len) == 0;
    }
    return n;
}

/* How often the files hold it.  The store is closed, so that nothing is on its way. */
static size_t times_found(const char *text)
{
    struct disk files;

    drive_close(&d);
    disk_take(&files, d.io);
    size_t n = times_in(&files, text);
    disk_free(&files);
    drive_open(&d);
    return n;
}

static void check_is_clean(void)
{
    struct check_result r;
    struct check_opts o = {.now_ns = 1, .key = test_key()};
    struct mf_error e;
    struct disk files;

    drive_close(&d);
    disk_take(&files, d.io);
    struct check_source src = disk_source(&files);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, check_files(&src, &o, &r, &e), e.text);
    if (r.damages > 0)
        TEST_FAIL_MESSAGE(r.damage[0].what);
    TEST_ASSERT_EQUAL_UINT64(0, r.damage_count);
    TEST_ASSERT_EQUAL_size_t(0, r.notes);
    check_result_fini(&r);
    disk_free(&files);
    drive_open(&d);
}

static void erase(uint64_t seq)
{
    struct mark m;

    TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, seq, wait(&m)));
    TEST_ASSERT_EQUAL_INT(0, m.calls);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_INT(0, m.status);
}

static void scrub_is_clean(void)
{
    struct mark m;

    TEST_ASSERT_EQUAL_INT(0, store_scrub(d.store, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
}

/* --- the plain case -------------------------------------------------------------------------- */

static void test_a_removed_message_stays_in_the_file_and_an_erased_one_does_not(void)
{
    uint64_t one = put("a", SECRET " one"), two = put("secret.key", SECRET " two");
    struct mark m;

    put("b", "after");
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, one, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(1, times_found(SECRET " one"));
    erase(two);
    assert_gone(two);
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET " two"));
    TEST_ASSERT_EQUAL_size_t(0, times_found("secret.key"));
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    assert_body(3, "after");
    TEST_ASSERT_EQUAL_UINT64(1, messages());
    TEST_ASSERT_EQUAL_UINT64(4, put("a", "goes on"));
    scrub_is_clean();
    check_is_clean();
}

static void test_what_is_not_there_cannot_be_erased(void)
{
    struct mark m;
    uint64_t seq = put("a", SECRET);

    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_erase(d.store, seq + 1, wait(&m)));
    TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, seq, wait(&m)));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_erase(d.store, seq, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, seq, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
}

/* The message and its erasure are in one group. */
static void test_a_message_that_is_still_on_its_way(void)
{
    struct mark a, b;

    TEST_ASSERT_EQUAL_INT(0, append(&a, "a", SECRET, 0));
    TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, a.a.seq, wait(&b)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, a.status);
    TEST_ASSERT_EQUAL_INT(0, b.status);
    TEST_ASSERT_GREATER_THAN_INT(a.order, b.order);
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    check_is_clean();
}

/* A batch has its place when it ends: what is in it cannot be named before. */
static void test_a_batch_may_erase_what_was_there_before_it(void)
{
    struct mark m, e;
    uint64_t seq = put("a", SECRET);

    store_begin(d.store, true);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "a", "marker", 0));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_erase(d.store, m.a.seq, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, seq, wait(&e)));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, e.status);
    assert_gone(seq);
    assert_body(m.a.seq, "marker");
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
}

static void test_many_at_once_and_without_a_checkpoint(void)
{
    struct mf_error e;

    for (int i = 0; i < 3000; i++) {
        struct store_append a = {.key = MF_LIT("k"), .body = MF_LIT(SECRET)};
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
        if (i % 100 == 0)
            drive_idle(&d);
        else
            drive_turn(&d);
    }
    drive_idle(&d);
    for (uint64_t seq = 1; seq <= 3000; seq++)
        TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, seq, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(0, messages());
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    (void)d.io->unlink(d.io, "checkpoint", &e);
    d.io->leave(d.io);
    drive_open(&d);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    TEST_ASSERT_EQUAL_UINT64(0, messages());
    scrub_is_clean();
    check_is_clean();
}

/* --- copies ---------------------------------------------------------------------------------- */

/* Fills segments with what is removed again, so that the cleaner moves what stays. */
static void churn(int n)
{
    static char body[1000];

    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < n; i++) {
        uint64_t seq = put("churn", body);
        TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, seq, NULL));
        drive_idle(&d);
    }
}

static void test_no_copy_that_the_cleaner_made_is_left(void)
{
    uint64_t seq = put("a", SECRET);
    struct store_stats stats;

    churn(400);
    store_stats(d.store, &stats);
    TEST_ASSERT_GREATER_THAN_UINT64(0, stats.copied_bytes);
    TEST_ASSERT_GREATER_THAN_UINT64(2, stats.segments_freed);
    assert_body(seq, SECRET);
    erase(seq);
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
    churn(100);
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
    check_is_clean();
}

/* --- relaxed modes --------------------------------------------------------------------------- */

static void in_mode(enum store_sync sync)
{
    drive_fini(&d);
    start((struct store_opts){.segment_min = 64u << 10,
                              .segment_max = 64u << 10,
                              .sync = sync,
                              .sync_interval_ns = 3600000000000,
                              .name = "test"});
    uint64_t seq = put("a", SECRET), other = put("b", "stays");
    erase(seq);
    assert_gone(seq);
    assert_body(other, "stays");
    /* As after a crash of the process: nothing says that the log was closed. */
    drive_abandon(&d);
    drive_open(&d);
    drive_idle(&d);
    assert_body(other, "stays");
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
}

static void test_synced_now_and_then(void)
{
    in_mode(STORE_SYNC_INTERVAL);
}

static void test_in_memory(void)
{
    in_mode(STORE_SYNC_NEVER);
}

/* --- failures -------------------------------------------------------------------------------- */

static bool is_failed(void *arg)
{
    (void)arg;
    return d.store == NULL || store_error(d.store) != NULL;
}

/* The erase record is on disk, the bytes could not be overwritten: the next start does it. */
static void test_the_next_start_ends_what_was_begun(void)
{
    struct mark m;
    uint64_t seq = put("a", SECRET);
    bool any = false;

    put("b", "stays");
    for (uint64_t nth = 1; nth < 40 && !any; nth++) {
        struct fault_plan plan = {.code = MF_IO, .nth = nth, .kinds = FAULT_WRITE};
        struct disk files;
        TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, seq, wait(&m)));
        fault_io_arm(d.io, &plan);
        for (int i = 0; i < 20; i++)
            drive_turn(&d);
        fault_io_disarm(d.io);
        if (!is_failed(NULL))
            TEST_FAIL_MESSAGE("no write failed in which the message would still be there");
        TEST_ASSERT_EQUAL_INT(1, m.calls);
        TEST_ASSERT_NOT_EQUAL_INT(0, m.status);
        drive_close(&d);
        disk_take(&files, d.io);
        TEST_ASSERT_EQUAL_size_t(1, times_in(&files, SECRET));
        disk_free(&files);
        drive_open(&d);
        drive_idle(&d);
        any = messages() == 1; /* the record was written: then the start has erased it */
    }
    TEST_ASSERT_TRUE(any);
    TEST_ASSERT_EQUAL_size_t(0, times_found(SECRET));
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
}

/* --- damage is still found ------------------------------------------------------------------- */

static void flip_body(const char *text)
{
    struct store_file *f;
    struct mf_error e;
    struct disk files;
    uint8_t byte;

    drive_close(&d);
    disk_take(&files, d.io);
    const struct disk_file *log = disk_find(&files, "0000000000000001.log");
    size_t at = 0, len = strlen(text);
    while (memcmp(log->bytes + at, text, len) != 0)
        at++;
    byte = log->bytes[at] ^ 1;
    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    (void)d.io->unlink(d.io, "checkpoint", &e);
    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, log->name, false, &f, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->pwrite(d.io, f, &byte, 1, at, &e));
    d.io->close(d.io, f);
    d.io->leave(d.io);
    disk_free(&files);
    drive_open(&d);
}

static void test_a_flipped_bit_beside_an_erased_message_is_damage(void)
{
    uint64_t first = put("a", SECRET), other = put("b", "this one lives");
    struct store_rec r;

    put("c", "third");
    erase(first);
    flip_body("this one lives");
    TEST_ASSERT_EQUAL_size_t(1, store_damage_count(d.store));
    TEST_ASSERT_EQUAL_UINT64(other, store_damage(d.store, 0)->first_seq);
    TEST_ASSERT_EQUAL_UINT64(other, store_damage(d.store, 0)->last_seq);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_peek(d.store, other, &r));
    assert_body(3, "third");
    drive_close(&d);
    drive_open(&d);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_removed_message_stays_in_the_file_and_an_erased_one_does_not);
    RUN_TEST(test_what_is_not_there_cannot_be_erased);
    RUN_TEST(test_a_message_that_is_still_on_its_way);
    RUN_TEST(test_a_batch_may_erase_what_was_there_before_it);
    RUN_TEST(test_many_at_once_and_without_a_checkpoint);
    RUN_TEST(test_no_copy_that_the_cleaner_made_is_left);
    RUN_TEST(test_synced_now_and_then);
    RUN_TEST(test_in_memory);
    RUN_TEST(test_the_next_start_ends_what_was_begun);
    RUN_TEST(test_a_flipped_bit_beside_an_erased_message_is_damage);
    return UNITY_END();
}
