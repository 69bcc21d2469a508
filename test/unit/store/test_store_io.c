/* test_store_io.c: every kind of files under a store keeps the same contract.  What only one kind
 * can do: test_store_io_kinds.c. */
#include "support/io_fixture.h"
#include "support/no_memory.h"

#include <pthread.h>

void setUp(void)
{
    fixture_up();
}

void tearDown(void)
{
    fail_at = 0;
    fixture_down();
}

/* --- the contract, kept by all ---------------------------------------------------------------- */

static void test_create_makes_a_new_file_and_only_that(void)
{
    struct store_file *f = NULL;
    assert_missing("a");
    put("a", "one");
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, io->open(io, "a", true, &f, &e));
    TEST_ASSERT_NULL(f);
    assert_file("a", "one");
}

/* Stream and consumer names come from clients: none of them may lead out of the directory. */
static void test_names_that_are_no_plain_names_are_refused(void)
{
    const char *bad[] = {"", ".", "..", "a/b", "/a", "../a", STORE_IO_OLD_LOCK};
    struct store_file *f = NULL;

    put("a", "one");
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        TEST_ASSERT_EQUAL_INT(MF_INVAL, io->open(io, bad[i], true, &f, &e));
        TEST_ASSERT_EQUAL_INT(MF_INVAL, io->open(io, bad[i], false, &f, &e));
        TEST_ASSERT_EQUAL_INT(MF_INVAL, io->rename(io, "a", bad[i], &e));
        TEST_ASSERT_EQUAL_INT(MF_INVAL, io->rename(io, bad[i], "a", &e));
        TEST_ASSERT_EQUAL_INT(MF_INVAL, io->unlink(io, bad[i], &e));
    }
    assert_file("a", "one");
}

static void test_a_hole_reads_as_zeros_and_the_end_is_exact(void)
{
    struct store_file *f = create("a", "", 0);
    char got[8];

    TEST_ASSERT_EQUAL_UINT64(0, size_of(f));
    TEST_ASSERT_EQUAL_INT(MF_IO, io->pread(io, f, got, 1, 0, &e));
    ok(io->pread(io, f, got, 0, 0, &e));
    ok(io->pwrite(io, f, "xyz", 3, 4, &e));
    assert_bytes(f, "\0\0\0\0xyz", 7);
    ok(io->pread(io, f, got, 1, 6, &e));
    TEST_ASSERT_EQUAL_INT(MF_IO, io->pread(io, f, got, 2, 6, &e));
    TEST_ASSERT_EQUAL_INT(MF_IO, io->pread(io, f, got, 1, UINT64_C(1) << 40, &e));
    ok(io->pwrite(io, f, "", 0, 100, &e));
    TEST_ASSERT_EQUAL_UINT64(7, size_of(f));
    io->close(io, f);
}

/* A recycled segment that is cut and grown again must not show its former life. */
static void test_truncate_down_and_up_leaves_zeros(void)
{
    struct store_file *f = create("a", "abcdefgh", 8);

    ok(io->truncate(io, f, 3, &e));
    assert_bytes(f, "abc", 3);
    ok(io->truncate(io, f, 6, &e));
    assert_bytes(f, "abc\0\0\0", 6);
    ok(io->truncate(io, f, 0, &e));
    ok(io->pwrite(io, f, "z", 1, 2, &e));
    assert_bytes(f, "\0\0z", 3);
    io->close(io, f);
}

static void test_an_overwrite_keeps_the_rest(void)
{
    put("a", "abcdef");
    struct store_file *f = open_there("a");
    ok(io->pwrite(io, f, "XY", 2, 2, &e));
    ok(io->sync(io, f, &e));
    ok(io->syncdir(io, &e));
    io->close(io, f);
    assert_file("a", "abXYef");
}

static void test_rename_replaces_and_an_open_file_follows_it(void)
{
    struct store_file *a = create("a", "one", 3), *b = create("b", "two", 3);

    ok(io->rename(io, "a", "b", &e));
    assert_missing("a");
    assert_file("b", "one");
    assert_bytes(a, "one", 3);
    assert_bytes(b, "two", 3); /* replaced, but still open */
    ok(io->pwrite(io, a, "O", 1, 0, &e));
    assert_file("b", "One");
    ok(io->rename(io, "b", "b", &e));
    ok(io->rename(io, "b", "c", &e));
    assert_file("c", "One");
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, io->rename(io, "b", "c", &e));
    io->close(io, a);
    io->close(io, b);
}

static void test_unlink_takes_the_name_and_leaves_the_open_file(void)
{
    struct store_file *f = create("a", "one", 3);

    ok(io->unlink(io, "a", &e));
    assert_missing("a");
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, io->unlink(io, "a", &e));
    assert_bytes(f, "one", 3);
    put("a", "other");
    assert_bytes(f, "one", 3);
    io->close(io, f);
    assert_file("a", "other");
}

struct seen {
    unsigned bits, calls;
    bool unlink;
};
static int see(void *arg, const char *name)
{
    struct seen *s = arg;
    s->calls++;
    TEST_ASSERT_EQUAL_size_t(2, strlen(name));
    TEST_ASSERT_EQUAL_CHAR('f', name[0]);
    s->bits |= 1u << (name[1] - 'a');
    return s->unlink ? io->unlink(io, name, &e) : s->calls == 21 ? MF_LIMIT : 0;
}

/* Recovery decides by this list what is there; the lock file is nobody's business. */
static void test_list_shows_every_file_once_and_nothing_else(void)
{
    struct seen s = {0};
    char name[] = "f?";

    for (name[1] = 'a'; name[1] < 'a' + 20; name[1]++)
        put(name, "x");
    ok(io->list(io, see, &s, &e));
    TEST_ASSERT_EQUAL_HEX(0xfffff, s.bits);
    TEST_ASSERT_EQUAL_UINT(20, s.calls);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, io->list(io, see, &s, &e)); /* at its first call */
    TEST_ASSERT_EQUAL_UINT(21, s.calls);
    s = (struct seen){.unlink = true};
    ok(io->list(io, see, &s, &e));
    TEST_ASSERT_EQUAL_UINT(20, s.calls);
    s = (struct seen){0};
    ok(io->list(io, see, &s, &e));
    TEST_ASSERT_EQUAL_UINT(0, s.calls);
}

static void test_a_directory_is_entered_once_at_a_time(void)
{
    put("a", "one");
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, io->enter(io, &e));
    io->leave(io);
    ok(io->enter(io, &e));
    assert_file("a", "one"); /* a store closed and opened again finds its files */
}

static void test_a_mapping_is_coherent_and_outlives_growth_and_name(void)
{
    struct store_file *f = create("a", "abcdef", 6);
    const uint8_t *p = io->map(io, f, 6);

    TEST_ASSERT_NOT_NULL(p);
    TEST_ASSERT_NULL(io->map(io, f, 7));
    TEST_ASSERT_NULL(io->map(io, f, 0));
    TEST_ASSERT_TRUE(io->resident(io, p, 0, 6));
    TEST_ASSERT_TRUE(io->resident(io, p, 5, 1));
    ok(io->pwrite(io, f, "XY", 2, 2, &e));
    TEST_ASSERT_EQUAL_MEMORY("abXYef", p, 6);
    for (uint64_t size = 4096; size < (UINT64_C(4) << 20); size *= 2)
        ok(io->pwrite(io, f, "end", 3, size, &e));
    ok(io->pwrite(io, f, "Z", 1, 0, &e));
    TEST_ASSERT_EQUAL_MEMORY("ZbXYef", p, 6);
    const uint8_t *q = io->map(io, f, 8192);
    TEST_ASSERT_EQUAL_MEMORY("ZbXYef\0", q, 7);
    ok(io->unlink(io, "a", &e));
    io->close(io, f);
    TEST_ASSERT_EQUAL_MEMORY("ZbXYef", p, 6);
    TEST_ASSERT_EQUAL_MEMORY("end", q + 4096, 3);
    io->unmap(io, p, 6);
    TEST_ASSERT_EQUAL_MEMORY("ZbXYef\0", q, 7);
    io->unmap(io, q, 8192);
}

/* Random writes and cuts against a plain array, around the sizes where memory changes its ways;
 * up to four mappings of different ages must agree with it too. */
static void test_random_changes_agree_with_a_plain_array(void)
{
    enum { MOST = 3 << 20 };
    uint8_t *model = calloc(1, MOST), *chunk = malloc(1 << 16);
    struct store_file *f = create("a", "", 0);
    const uint8_t *map[4] = {NULL};
    uint64_t size = 0, mapped[4] = {0}, r = 12345;

    for (int step = 0; step < 400; step++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        uint64_t at = (r >> 20) % (step < 200 ? 1 << 17 : MOST - (1 << 16));
        size_t n = (size_t)((r >> 44) % (1 << 16)), k = (r >> 8) % 4;
        if (map[k] != NULL)
            io->unmap(io, map[k], mapped[k]);
        map[k] = NULL;
        if (step % 16 == 15) {
            for (size_t i = 0; i < 4; i++)
                if (map[i] != NULL && mapped[i] > at) { /* as the contract asks */
                    io->unmap(io, map[i], mapped[i]);
                    map[i] = NULL;
                }
            ok(io->truncate(io, f, at, &e));
            if (at < size)
                memset(model + at, 0, size - at);
            size = at;
        } else {
            memset(chunk, (int)(1 + step % 255), n);
            ok(io->pwrite(io, f, chunk, n, at, &e));
            memcpy(model + at, chunk, n);
            size = n > 0 && at + n > size ? at + n : size;
        }
        map[k] = io->map(io, f, mapped[k] = size);
        TEST_ASSERT_TRUE((map[k] != NULL) == (size > 0));
        if (step % 8 == 0 || step % 16 == 15) {
            assert_bytes(f, model, size);
            for (size_t i = 0; i < 4; i++)
                TEST_ASSERT_TRUE(map[i] == NULL || memcmp(map[i], model, mapped[i]) == 0);
        }
    }
    for (size_t i = 0; i < 4; i++)
        if (map[i] != NULL)
            io->unmap(io, map[i], mapped[i]);
    io->close(io, f);
    free(model);
    free(chunk);
}

/* Different files from different threads, as commit, cleaner and loop do; TSan judges. */
static void *work(void *arg)
{
    const char *name = arg;
    char text[64], other[8], got[64];
    struct mf_error mine;
    long bad = 0;

    snprintf(other, sizeof other, "%s2", name);
    for (int i = 0; i < 200; i++) {
        struct store_file *f;
        uint64_t at = (uint64_t)i * 1000, size = 0;
        int n = snprintf(text, sizeof text, "%s %d", name, i);
        if (io->open(io, name, true, &f, &mine) != 0)
            return (void *)-1L;
        bad += io->pwrite(io, f, text, (size_t)n, at, &mine) != 0;
        const uint8_t *p = io->map(io, f, at + (uint64_t)n);
        bad += p == NULL || memcmp(p + at, text, (size_t)n) != 0;
        bad += io->rename(io, name, other, &mine) != 0 || io->syncdir(io, &mine) != 0;
        bad +=
            io->pread(io, f, got, (size_t)n, at, &mine) != 0 || memcmp(got, text, (size_t)n) != 0;
        bad += io->size(io, f, &size, &mine) != 0 || size != at + (uint64_t)n;
        io->close(io, f);
        bad += io->unlink(io, other, &mine) != 0;
        if (p != NULL)
            io->unmap(io, p, at + (uint64_t)n);
    }
    return (void *)bad;
}

static void test_threads_on_different_files_do_not_meet(void)
{
    pthread_t a, b;
    size_t n = 0;
    void *bad_a, *bad_b;

    TEST_ASSERT_EQUAL_INT(0, pthread_create(&a, NULL, work, (void *)"a"));
    TEST_ASSERT_EQUAL_INT(0, pthread_create(&b, NULL, work, (void *)"b"));
    for (int i = 0; i < 20; i++)
        ok(io->list(io, count_name, &n, &e));
    pthread_join(a, &bad_a);
    pthread_join(b, &bad_b);
    TEST_ASSERT_NULL(bad_a);
    TEST_ASSERT_NULL(bad_b);
}

/* --- no memory -------------------------------------------------------------------------------- */

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ != 0) {                                                                            \
            TEST_ASSERT_TRUE(rc_ == MF_NOMEM || rc_ == MF_FULL);                                   \
            ok(call);                                                                              \
        }                                                                                          \
    } while (0)

/* Whichever allocation fails: it is said, nothing changed, and the same call works the next time.
 */
static void test_any_failed_allocation_changes_nothing(void)
{
    char page[4096];
    bool hit = true;

    memset(page, 'p', sizeof page);
    for (long n = 1; hit; n++) {
        struct store_file *f = NULL;
        size_t names = 0;
        io->free(io);
        allocations = 0;
        fail_at = n;
        TRY(kind->make(&io));
        TRY(io->enter(io, &e));
        TRY(io->open(io, "a", true, &f, &e));
        TRY(io->pwrite(io, f, "one", 3, 0, &e));
        const uint8_t *p = io->map(io, f, 3);
        for (uint64_t at = 0; at < 5; at++)
            TRY(io->pwrite(io, f, page, sizeof page, at * sizeof page, &e));
        TRY(io->truncate(io, f, 7, &e));
        TRY(io->rename(io, "a", "b", &e));
        TRY(io->rename(io, "b", "c", &e));
        TRY(io->sync(io, f, &e));
        TRY(io->syncdir(io, &e));
        io->close(io, f);
        TRY(io->list(io, count_name, &names, &e));
        hit = allocations >= n;
        fail_at = 0;
        TEST_ASSERT_EQUAL_MEMORY("ppp", p, 3);
        io->unmap(io, p, 3);
        TEST_ASSERT_EQUAL_size_t(1, names);
        assert_file("c", "ppppppp");
        ok(io->unlink(io, "c", &e));
    }
}

static void run_contract(void)
{
    RUN_TEST(test_create_makes_a_new_file_and_only_that);
    RUN_TEST(test_names_that_are_no_plain_names_are_refused);
    RUN_TEST(test_a_hole_reads_as_zeros_and_the_end_is_exact);
    RUN_TEST(test_truncate_down_and_up_leaves_zeros);
    RUN_TEST(test_an_overwrite_keeps_the_rest);
    RUN_TEST(test_rename_replaces_and_an_open_file_follows_it);
    RUN_TEST(test_unlink_takes_the_name_and_leaves_the_open_file);
    RUN_TEST(test_list_shows_every_file_once_and_nothing_else);
    RUN_TEST(test_a_directory_is_entered_once_at_a_time);
    RUN_TEST(test_a_mapping_is_coherent_and_outlives_growth_and_name);
    RUN_TEST(test_random_changes_agree_with_a_plain_array);
    RUN_TEST(test_threads_on_different_files_do_not_meet);
    RUN_TEST(test_any_failed_allocation_changes_nothing);
}

int main(void)
{
    UNITY_BEGIN();
    for (size_t i = 0; i < MF_COUNT(kinds); i++) {
        kind = &kinds[i];
        printf("# %s\n", kind->name);
        run_contract();
    }
    return UNITY_END();
}
