/* test_store_assets.c: stores written by earlier versions stay readable.  test/assets/store-vN is
 * one of each version of the disk format: never rewrite it, add the next. */
#include "loop/loop.h"
#include "store/store.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef ASSETS
#error "ASSETS names the folder"
#endif

static char dir[64];
static struct loop *loop;

void setUp(void)
{
    struct mf_error e;

    snprintf(dir, sizeof dir, "%s", "store-assets-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
}

static const char *const files[] = {"0000000000000004.log", "0000000000000005.log", "checkpoint"};
static const char *const files2[] = {"0000000000000001.log", "checkpoint"};
static const char *const files3[] = {"0000000000000001.log", "0000000000000002.log", "checkpoint"};
/* What opening adds: a segment of today's version. */
static const char *const made[] = {"0000000000000002.log", "0000000000000006.log", "store.lock"};

void tearDown(void)
{
    char path[512];

    loop_free(loop);
    for (size_t i = 0; i < MF_COUNT(files) + MF_COUNT(files2) + MF_COUNT(made); i++) {
        size_t k = i < MF_COUNT(files) ? i : i - MF_COUNT(files);
        snprintf(path, sizeof path, "%s/%s", dir,
                 i < MF_COUNT(files)    ? files[i]
                 : k < MF_COUNT(files2) ? files2[k]
                                        : made[k - MF_COUNT(files2)]);
        unlink(path);
    }
    TEST_ASSERT_EQUAL(0, rmdir(dir));
}

/* Opening writes, so a copy is opened. */
static void copy_file(const char *from_dir, const char *name)
{
    static uint8_t bytes[1 << 16];
    char path[512];

    snprintf(path, sizeof path, "%s/%s/%s", ASSETS, from_dir, name);
    FILE *from = fopen(path, "rb");
    TEST_ASSERT_NOT_NULL_MESSAGE(from, path);
    size_t n = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *to = fopen(path, "wb");
    TEST_ASSERT_NOT_NULL_MESSAGE(to, path);
    TEST_ASSERT_EQUAL(n, fwrite(bytes, 1, n, to));
    fclose(to);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void check_message(struct store *s, uint64_t seq, const char *key, const char *body,
                          int64_t deadline_ns, uint16_t flags)
{
    struct store_rec r;

    TEST_ASSERT_EQUAL(0, store_peek(s, seq, &r));
    TEST_ASSERT_TRUE(mf_eq_str(r.key, key));
    TEST_ASSERT_TRUE(mf_eq_str(r.head, "h"));
    TEST_ASSERT_TRUE(mf_eq_str(r.body, body));
    TEST_ASSERT_EQUAL_INT64(1000, r.ts_ns);
    TEST_ASSERT_EQUAL_INT64(deadline_ns, r.deadline_ns);
    TEST_ASSERT_EQUAL_UINT16(flags, r.flags);
}

static void check_store(bool with_checkpoint)
{
    struct mf_error e;
    struct store_io *io;
    struct store *s;
    struct store_state st;
    struct store_stats stats;
    struct mf_slice blob;
    struct store_opts o = {.name = "v1", .now_ns = 1};
    bool closed = false;

    for (size_t i = 0; i < MF_COUNT(files); i++)
        if (with_checkpoint || i < 2)
            copy_file("store-v1", files[i]);
    TEST_ASSERT_EQUAL(0, store_io_dir(&io, dir, &e));
    TEST_ASSERT_EQUAL_MESSAGE(0, store_open(&s, &o, io, &e), "open");
    TEST_ASSERT_EQUAL(0, store_attach(s, loop, &e));
    store_stats(s, &stats);
    TEST_ASSERT_EQUAL_UINT64(with_checkpoint, stats.recovered_from_checkpoint);
    TEST_ASSERT_EQUAL(0, store_damage_count(s));
    store_state(s, &st);
    TEST_ASSERT_EQUAL_UINT64(1, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(69, st.last_seq);
    TEST_ASSERT_EQUAL_UINT64(14, st.msgs);
    check_message(s, 1, "a.1", "one", 9000000000, 0);
    check_message(s, 2, "a.2", "two", 5000000000, 1);
    check_message(s, 3, "b.1", "three", 0, 2);
    check_message(s, 68, "batch.1", "b1", 0, 0);
    check_message(s, 69, "batch.2", "b2", 0, 0);
    TEST_ASSERT_EQUAL_UINT64(8, store_next(s, 4)); /* 4 to 6 were removed, 7 expired */
    TEST_ASSERT_TRUE(store_blob_get(s, MF_LIT("config"), &blob));
    TEST_ASSERT_TRUE(mf_eq_str(blob, "{\"v\":1}"));
    store_close(s, on_closed, &closed);
    while (!closed)
        loop_turn(loop);
}

static void test_version_1_opens_by_its_checkpoint(void)
{
    check_store(true);
}

static void test_version_1_opens_by_its_log(void)
{
    check_store(false);
}

/* Three messages, the second erased: by its log, or by a checkpoint that knows nothing of it. */
static void check_store2(bool with_checkpoint)
{
    struct mf_error e;
    struct store_io *io;
    struct store *s;
    struct store_opts o = {.name = "v2", .now_ns = 1, .segment_max = 8192};
    struct store_rec r;
    bool closed = false;

    for (size_t i = 0; i < MF_COUNT(files2); i++)
        if (with_checkpoint || i < 1)
            copy_file("store-v2", files2[i]);
    TEST_ASSERT_EQUAL(0, store_io_dir(&io, dir, &e));
    TEST_ASSERT_EQUAL_MESSAGE(0, store_open(&s, &o, io, &e), "open");
    TEST_ASSERT_EQUAL(0, store_attach(s, loop, &e));
    TEST_ASSERT_EQUAL(0, store_damage_count(s));
    check_message(s, 1, "a.1", "one", 0, 0);
    TEST_ASSERT_EQUAL(MF_NOTFOUND, store_peek(s, 2, &r));
    check_message(s, 3, "b.1", "three", 0, 0);
    store_close(s, on_closed, &closed);
    while (!closed)
        loop_turn(loop);
}

static void test_version_2_opens_by_its_checkpoint(void)
{
    check_store2(true);
}

static void test_version_2_opens_by_its_log(void)
{
    check_store2(false);
}

/* Bits by appends (2, 3, 6) and by re-deadlines, before the checkpoint (1, 4) and behind it (2, 5).
 */
static void check_store3(bool with_checkpoint)
{
    struct mf_error e;
    struct store_io *io;
    struct store *s;
    struct store_state st;
    struct store_stats stats;
    struct store_opts o = {.name = "v3", .now_ns = 1};
    bool closed = false;

    for (size_t i = 0; i < MF_COUNT(files3); i++)
        if (with_checkpoint || i < 2)
            copy_file("store-v3", files3[i]);
    TEST_ASSERT_EQUAL(0, store_io_dir(&io, dir, &e));
    TEST_ASSERT_EQUAL_MESSAGE(0, store_open(&s, &o, io, &e), "open");
    TEST_ASSERT_EQUAL(0, store_attach(s, loop, &e));
    TEST_ASSERT_EQUAL(0, store_damage_count(s));
    store_stats(s, &stats);
    TEST_ASSERT_EQUAL_UINT64(with_checkpoint, stats.recovered_from_checkpoint);
    check_message(s, 1, "a.1", "one", 0, STORE_BITS);
    check_message(s, 2, "a.2", "two", 8000000000, 1);
    check_message(s, 3, "b.1", "three", 5000000000, STORE_PINNED | 2);
    check_message(s, 4, "b.2", "four", 7000000000, STORE_PINNED);
    check_message(s, 5, "b.3", "five", 0, STORE_INFINITE);
    check_message(s, 6, "c.1", "six", 0, STORE_INFINITE);
    store_state(s, &st);
    TEST_ASSERT_EQUAL_UINT64(3, st.deadlines);
    TEST_ASSERT_EQUAL_UINT64(3, st.infinite);
    TEST_ASSERT_EQUAL_UINT64(3, st.pinned);
    store_close(s, on_closed, &closed);
    while (!closed)
        loop_turn(loop);
}

static void test_version_3_opens_by_its_checkpoint(void)
{
    check_store3(true);
}

static void test_version_3_opens_by_its_log(void)
{
    check_store3(false);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_version_1_opens_by_its_checkpoint);
    RUN_TEST(test_version_1_opens_by_its_log);
    RUN_TEST(test_version_2_opens_by_its_checkpoint);
    RUN_TEST(test_version_2_opens_by_its_log);
    RUN_TEST(test_version_3_opens_by_its_checkpoint);
    RUN_TEST(test_version_3_opens_by_its_log);
    return UNITY_END();
}
