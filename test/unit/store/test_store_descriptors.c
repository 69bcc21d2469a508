/* test_store_descriptors.c: a store on disk while the process has no descriptor left: files at rest
 * cannot be opened.  That is no damage and no failed disk: it goes on when there are some again. */
#include "support/store_compare.h"
#include "support/store_drive.h"

#include "store/io/io_dir.h"
#include "unity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char dir[48], path[64];
static struct drive d;
static struct rlimit usual;

static void no_descriptors(void)
{
    int fd = open("/dev/null", O_RDONLY); /* the lowest one that is free */
    struct rlimit none = {.rlim_cur = (rlim_t)fd, .rlim_max = usual.rlim_max};

    TEST_ASSERT_TRUE(fd >= 0);
    close(fd);
    TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_NOFILE, &none));
}

static void descriptors(void)
{
    TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_NOFILE, &usual));
}

void setUp(void)
{
    struct store_opts o = {.segment_min = 16u << 10, .segment_max = 16u << 10, .name = "s"};
    struct store_io *io;
    struct mf_error e;

    io_fd_keep(1); /* the others have none at rest */
    TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_NOFILE, &usual));
    snprintf(dir, sizeof dir, "/tmp/mayfly-test-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s", dir);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, store_io_dir(&io, path, &e), e.text);
    drive_init(&d, NULL, io, &o, 1);
    drive_open(&d);
    for (int i = 0; i < 40; i++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, i % 2 == 0 ? "a" : "b", 0, 3000, 0, 0));
    drive_idle(&d);
}

void tearDown(void)
{
    char command[80];

    descriptors();
    io_fd_keep(0);
    drive_fini(&d);
    snprintf(command, sizeof command, "rm -r %s", dir);
    TEST_ASSERT_EQUAL_INT(0, system(command));
}

static void assert_well(void)
{
    TEST_ASSERT_EQUAL_STRING("", store_error(d.store) == NULL ? "" : store_error(d.store));
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
}

/* Afterwards everything is there, and after a restart. */
static void assert_whole(void)
{
    drive_idle(&d);
    assert_well();
    compare_all(d.store, &d.model.committed, d.now_ns);
    drive_close(&d);
    drive_open(&d);
    assert_well();
    compare_all(d.store, &d.model.committed, d.now_ns);
}

static void test_reads_are_refused_for_the_moment(void)
{
    struct mf_buf buf = MF_BUF_INIT;
    struct store_rec r;
    unsigned refused = 0;

    no_descriptors();
    for (uint64_t seq = 1; seq <= 40; seq++) {
        int rc = store_read_now(d.store, seq, &buf, &r);
        TEST_ASSERT_TRUE(rc == 0 || store_io_is_shortage(rc));
        refused += rc != 0;
    }
    assert_well();
    descriptors();
    TEST_ASSERT_GREATER_THAN_UINT(0, refused);
    mf_buf_fini(&buf);
    assert_whole();
}

static void scrubbed(struct store_wait *w, int status)
{
    (void)w;
    TEST_ASSERT_TRUE(store_io_is_shortage(status));
}

static void test_scrub_takes_no_file_for_damaged(void)
{
    struct store_wait w = {.done = scrubbed};

    no_descriptors();
    TEST_ASSERT_EQUAL_INT(0, store_scrub(d.store, &w));
    for (int i = 0; i < 100; i++)
        drive_turn(&d);
    assert_well();
    descriptors();
    assert_whole();
}

/* Into the next segments, which cannot be opened; nor can the directory be synced. */
static void test_writes_wait_for_descriptors(void)
{
    d.failing = true;
    no_descriptors();
    for (int i = 0; i < 20; i++) {
        int rc = drive_append(&d, "c", 0, 3000, 0, 0);
        TEST_ASSERT_TRUE_MESSAGE(rc == 0 || rc == MF_FULL || rc == MF_NOMEM || rc == MF_AGAIN,
                                 mf_err_text(rc));
        drive_turn(&d);
    }
    assert_well();
    descriptors();
    assert_whole();
}

static bool freed(void *arg)
{
    struct store_stats stats;

    (void)arg;
    store_stats(d.store, &stats);
    return stats.segments_freed >= 4;
}

static void test_cleaning_goes_on_later(void)
{
    no_descriptors();
    TEST_ASSERT_EQUAL_INT(0, drive_range(&d, 1, 30));
    for (int i = 0; i < 100; i++)
        drive_turn(&d);
    assert_well();
    descriptors();
    drive_until(&d, freed, NULL, "segments to be given up");
    assert_whole();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_reads_are_refused_for_the_moment);
    RUN_TEST(test_scrub_takes_no_file_for_damaged);
    RUN_TEST(test_writes_wait_for_descriptors);
    RUN_TEST(test_cleaning_goes_on_later);
    return UNITY_END();
}
