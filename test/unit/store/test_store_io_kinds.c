/* test_store_io_kinds.c: what only files in a directory, or only files in memory, do. */
#include "store/io/io_dir.h"

#include "support/io_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- system calls that can be told to fail: linked with --wrap -------------------------------- */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
ssize_t __real_pread(int fd, void *dst, size_t n, off_t off);
ssize_t __real_pwrite(int fd, const void *src, size_t n, off_t off);
int __real_fdatasync(int fd);
ssize_t __wrap_pread(int fd, void *dst, size_t n, off_t off);
ssize_t __wrap_pwrite(int fd, const void *src, size_t n, off_t off);
int __wrap_fdatasync(int fd);
int __real_posix_fallocate(int fd, off_t off, off_t n);
int __wrap_posix_fallocate(int fd, off_t off, off_t n);

static int call_errno;   /* they fail with it */
static bool call_slowly; /* interrupted every second time, else 3 bytes at most */
static unsigned calls;

static bool call_fails(size_t *n)
{
    if (call_errno != 0) {
        errno = call_errno;
        return true;
    }
    if (!call_slowly)
        return false;
    *n = *n > 3 ? 3 : *n;
    errno = EINTR;
    return ++calls % 2 == 1;
}
ssize_t __wrap_pread(int fd, void *dst, size_t n, off_t off)
{
    return call_fails(&n) ? -1 : __real_pread(fd, dst, n, off);
}
ssize_t __wrap_pwrite(int fd, const void *src, size_t n, off_t off)
{
    return call_fails(&n) ? -1 : __real_pwrite(fd, src, n, off);
}
int __wrap_fdatasync(int fd)
{
    size_t n = 0;
    return call_fails(&n) ? -1 : __real_fdatasync(fd);
}
/* It returns its error and leaves errno alone. */
int __wrap_posix_fallocate(int fd, off_t off, off_t n)
{
    size_t some = 0;
    return call_fails(&some) ? errno : __real_posix_fallocate(fd, off, n);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

void setUp(void)
{
    fixture_up();
}

void tearDown(void)
{
    call_errno = 0;
    call_slowly = false;
    fixture_down();
}

/* --- a directory ------------------------------------------------------------------------------ */

static void assert_text(const char *part)
{
    if (strstr(e.text, part) == NULL)
        TEST_FAIL_MESSAGE(e.text);
}

static void test_the_directory_is_for_the_owner_only(void)
{
    struct store_io *deep;
    struct stat st;
    char text[128];

    TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
    TEST_ASSERT_EQUAL_HEX(0700, st.st_mode & 07777);
    snprintf(text, sizeof text, "%s/none/store", root);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_io_dir(&deep, text, &e));
    assert_text("none");
    ok(store_io_dir(&deep, path, &e));
    struct store_file *file; /* not entered: nothing works, and nothing breaks */
    TEST_ASSERT_EQUAL_INT(MF_IO, deep->open(deep, "a", true, &file, &e));
    TEST_ASSERT_EQUAL_INT(MF_IO, deep->list(deep, count_name, NULL, &e));
    TEST_ASSERT_EQUAL_INT(MF_IO, deep->syncdir(deep, &e));
    TEST_ASSERT_EQUAL_UINT64(0, deep->space(deep));
    deep->leave(deep);
    deep->free(deep);
}

static void odd(const char *name, const char *text)
{
    struct store_file *f = NULL;
    char at[160];

    TEST_ASSERT_EQUAL_INT(MF_IO, io->open(io, name, false, &f, &e));
    assert_text(text);
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, io->open(io, name, true, &f, &e));
    snprintf(at, sizeof at, "%s/%s", path, name);
    TEST_ASSERT_EQUAL_INT(0, strcmp(text, "a directory") == 0 ? rmdir(at) : unlink(at));
}

/* Anything else than a file of our own is refused, in no time and without an effect. */
static void test_only_files_are_opened(void)
{
    char name[160], target[160];
    size_t n = 0;

    put("a", "one");
    snprintf(name, sizeof name, "%s/odd", path);
    snprintf(target, sizeof target, "%s/a", path);
    TEST_ASSERT_EQUAL_INT(0, symlink(target, name));
    ok(io->list(io, count_name, &n, &e));
    TEST_ASSERT_EQUAL_size_t(strlen("a") + strlen("odd"), n);
    odd("odd", "a symbolic link");
    TEST_ASSERT_EQUAL_INT(0, symlink("/nonexistent/x", name));
    odd("odd", "a symbolic link");
    TEST_ASSERT_EQUAL_INT(0, mkdir(name, 0700));
    odd("odd", "a directory");
    TEST_ASSERT_EQUAL_INT(0, mkfifo(name, 0600));
    odd("odd", "a named pipe");
    assert_file("a", "one");
}

/* --- descriptors ------------------------------------------------------------------------------ */

static struct store_file *synced(const char *name, const char *text, unsigned times)
{
    struct store_file *f = create(name, text, strlen(text));

    for (unsigned i = 0; i < times; i++)
        ok(io->sync(io, f, &e));
    return f;
}

/* A file at rest goes with its name; one whose name is taken away is still read. */
static void test_files_at_rest_follow_their_names(void)
{
    io_fd_keep(1);
    struct store_file *keep = synced("keep", "k", 2), *a = synced("a", "one", 1),
                      *b = synced("b", "two", 1), *c = synced("c", "three", 1);

    ok(io->rename(io, "a", "x", &e));
    assert_bytes(a, "one", 3);
    ok(io->rename(io, "x", "b", &e)); /* replaces b */
    assert_bytes(a, "one", 3);
    assert_bytes(b, "two", 3);
    ok(io->unlink(io, "c", &e));
    assert_bytes(c, "three", 5);
    put("c", "another");
    assert_bytes(c, "three", 5);
    io->close(io, keep);
    io->close(io, a);
    io->close(io, b);
    io->close(io, c);
    io_fd_keep(0);
}

/* The directory gets another name while its files are in use, as a stream's does when it is whole.
 */
static void test_the_directory_can_be_renamed_meanwhile(void)
{
    io_fd_keep(1);
    struct store_file *keep = synced("keep", "k", 2), *a = synced("a", "one", 1);
    struct stat st;

    ok(store_io_dir_move(io, "moved", &e));
    TEST_ASSERT_TRUE(store_io_dir_is(io, "moved"));
    TEST_ASSERT_EQUAL_INT(-1, stat(path, &st));
    assert_bytes(a, "one", 3);
    put("new", "n");
    ok(io->syncdir(io, &e));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, io->open(io, "none", false, &a, &e));
    assert_text("moved/none");
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_io_dir_move(io, "a/b", &e));
    ok(store_io_dir_move(io, "store", &e));
    io->close(io, keep);
    io->close(io, a);
    io_fd_keep(0);
}

static void test_short_and_interrupted_calls_are_gone_on_with(void)
{
    struct store_file *f = NULL;

    call_slowly = true;
    f = create("a", "a text of some length", 21);
    ok(io->sync(io, f, &e));
    assert_bytes(f, "a text of some length", 21);
    ok(io->allocate(io, f, 21, &e));
    char c;
    TEST_ASSERT_EQUAL_INT(MF_IO, io->pread(io, f, &c, 1, 21, &e));
    assert_text("no byte at 21");
    io->close(io, f);
}

/* The store goes on after MF_FULL and stops for good after MF_IO: the code matters, and the text
 * is all that an operator gets. */
static void test_errors_have_their_code_and_say_what_failed_where(void)
{
    static const struct {
        int err, code;
    } want[] = {{ENOSPC, MF_FULL},  {EDQUOT, MF_FULL},  {EFBIG, MF_FULL},   {EIO, MF_IO},
                {EMFILE, MF_AGAIN}, {ENFILE, MF_AGAIN}, {EAGAIN, MF_AGAIN}, {ENOMEM, MF_NOMEM}};
    struct store_file *f = create("a", "abc", 3);
    char text[160], got[3];

    for (size_t i = 0; i < MF_COUNT(want); i++) {
        call_errno = want[i].err;
        TEST_ASSERT_EQUAL_INT(want[i].code, io->pwrite(io, f, "xyz", 3, 1, &e));
        snprintf(text, sizeof text, "write 3 bytes at 1 of %s/a: %s", path, strerror(call_errno));
        TEST_ASSERT_EQUAL_STRING(text, e.text);
        TEST_ASSERT_EQUAL_INT(want[i].code, io->pread(io, f, got, 3, 0, &e));
        TEST_ASSERT_EQUAL_INT(MF_IO, io->sync(io, f, &e)); /* final, whatever it is */
        snprintf(text, sizeof text, "sync %s/a: %s", path, strerror(call_errno));
        TEST_ASSERT_EQUAL_STRING(text, e.text);
    }
    call_errno = 0;
    assert_bytes(f, "abc", 3);
    TEST_ASSERT_EQUAL_INT(MF_IO, io->truncate(io, f, UINT64_MAX, &e)); /* EINVAL */
    assert_missing("b");
    snprintf(text, sizeof text, "open %s/b: No such file or directory", path);
    TEST_ASSERT_EQUAL_STRING(text, e.text);
    io->close(io, f);
}

/* Dropping a file from the page cache is a request, so only the other direction is certain. */
static void test_resident_sees_every_page_of_a_long_range(void)
{
    enum { PAGES = 600 }; /* more than one mincore() takes at once */
    uint8_t *bytes = malloc((size_t)PAGES * 4096);
    memset(bytes, 1, (size_t)PAGES * 4096);
    struct store_file *f = create("a", bytes, (size_t)PAGES * 4096);
    const uint8_t *p = io->map(io, f, (uint64_t)PAGES * 4096);

    TEST_ASSERT_TRUE(io->resident(io, p, 0, (size_t)PAGES * 4096));
    TEST_ASSERT_TRUE(io->resident(io, p, 4095, 2));
    TEST_ASSERT_FALSE(io->resident(io, p, (uint64_t)1 << 44, 1)); /* no such page */
    io->unmap(io, p, (uint64_t)PAGES * 4096);
    io->close(io, f);
    free(bytes);
}

/* --- memory ----------------------------------------------------------------------------------- */

static long resident_kb(void)
{
    long pages = 0, held = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL_INT(2, fscanf(f, "%ld %ld", &pages, &held)); // NOLINT(cert-err34-c)
    fclose(f);
    return held * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A memory stream whose messages expired must give its memory back to the machine. */
static void test_memory_of_cut_and_unlinked_files_goes_back(void)
{
    enum { MB = 1 << 20, SIZE = 32 };
    uint8_t *chunk = malloc(MB);
    struct store_file *f = create("a", "", 0);

    memset(chunk, 1, MB);
    for (uint64_t i = 0; i < SIZE; i++)
        ok(io->pwrite(io, f, chunk, MB, i * MB, &e));
    long full = resident_kb();
    ok(io->truncate(io, f, MB, &e));
    long cut = resident_kb();
    TEST_ASSERT_GREATER_THAN(24 * 1024, full - cut);
    ok(io->truncate(io, f, UINT64_C(1) << 30, &e)); /* a hole of a gigabyte */
    TEST_ASSERT_LESS_THAN(cut + 8 * 1024, resident_kb());
    ok(io->truncate(io, f, 5, &e));
    assert_bytes(f, "\1\1\1\1\1", 5);
    for (uint64_t i = 0; i < SIZE; i++)
        ok(io->pwrite(io, f, chunk, MB, i * MB, &e));
    full = resident_kb();
    ok(io->unlink(io, "a", &e));
    io->close(io, f);
    TEST_ASSERT_GREATER_THAN(24 * 1024, full - resident_kb());
    free(chunk);
}

static void test_more_than_there_is_memory_is_full_and_changes_nothing(void)
{
    struct store_file *f = create("a", "abc", 3);
    const uint64_t huge[] = {UINT64_C(1) << 47, UINT64_C(1) << 62, UINT64_MAX};

    for (size_t i = 0; i < MF_COUNT(huge); i++) {
        TEST_ASSERT_EQUAL_INT(MF_FULL, io->pwrite(io, f, "x", 1, huge[i], &e));
        TEST_ASSERT_EQUAL_INT(MF_FULL, io->truncate(io, f, huge[i], &e));
    }
    assert_bytes(f, "abc", 3);
    io->close(io, f);
}

static void test_a_directory_knows_its_space(void)
{
    TEST_ASSERT_GREATER_THAN_UINT64(0, io->space(io));
}

/* --- descriptors ------------------------------------------------------------------------------ */

enum { FILES = 40 };

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");

    TEST_ASSERT_NOT_NULL(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void file_name(char name[16], int i, const char *end)
{
    snprintf(name, 16, "f%d%s", i, end);
}

/* A log has many files, and there are many logs: those at rest are closed, and nobody notices. */
static void test_files_at_rest_take_no_descriptor(void)
{
    struct store_file *f[FILES];
    char name[16], to[16];
    unsigned before = descriptors();

    io_fd_keep(3);
    for (int i = 0; i < FILES; i++) {
        file_name(name, i, "");
        f[i] = create(name, name, strlen(name));
        ok(io->sync(io, f[i], &e));
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT(before + 3, descriptors());
    for (int i = 0; i < FILES; i++) { /* also under another name */
        file_name(name, i, "");
        file_name(to, i, "new");
        ok(io->rename(io, name, to, &e));
        assert_bytes(f[i], name, strlen(name));
        const uint8_t *p = io->map(io, f[i], strlen(name));
        TEST_ASSERT_NOT_NULL(p);
        ok(io->pwrite(io, f[i], "F", 1, 0, &e));
        TEST_ASSERT_EQUAL('F', p[0]);
        io->unmap(io, p, strlen(name));
        ok(io->sync(io, f[i], &e));
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT(before + 3, descriptors());
    for (int i = 0; i < FILES; i++)
        io->close(io, f[i]);
    TEST_ASSERT_EQUAL_UINT(before, descriptors());
    io_fd_keep(0);
}

/* The kernel tells of a write error to those who have the file open: what is not synced stays so.
 */
static void test_files_that_are_not_synced_keep_their_descriptor(void)
{
    struct store_file *f[FILES];
    char name[16];
    unsigned before = descriptors();

    io_fd_keep(3);
    for (int i = 0; i < FILES; i++) {
        file_name(name, i, "");
        f[i] = create(name, name, strlen(name));
        assert_bytes(f[i], name, strlen(name));
    }
    TEST_ASSERT_EQUAL_UINT(before + FILES, descriptors());
    call_errno = EIO;
    TEST_ASSERT_EQUAL_INT(MF_IO, io->sync(io, f[0], &e));
    call_errno = 0;
    TEST_ASSERT_EQUAL_UINT(before + FILES, descriptors());
    for (int i = 0; i < FILES; i++)
        io->close(io, f[i]);
    io_fd_keep(0);
}

/* Where the process may have no more, files at rest give theirs; when all are in use it is said,
 * and works again when there is one. */
static void test_without_descriptors_files_at_rest_give_theirs(void)
{
    struct store_file *f[FILES], *one;
    struct rlimit all, few;
    int taken[FILES], n = 0;

    io_fd_keep(FILES);
    for (int i = 0; i < FILES; i++) {
        char name[16];
        file_name(name, i, "");
        f[i] = create(name, name, strlen(name));
        ok(io->sync(io, f[i], &e));
    }
    TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_NOFILE, &all));
    few = (struct rlimit){.rlim_cur = descriptors(), .rlim_max = all.rlim_max};
    TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_NOFILE, &few));
    while (n < FILES && (taken[n] = dup(0)) >= 0)
        n++;
    int rc = io->open(io, "one", true, &one, &e);
    ok(rc);
    ok(io->pwrite(io, one, "x", 1, 0, &e)); /* in use until it is synced */
    while (n < FILES && (taken[n] = dup(0)) >= 0)
        n++;
    for (int i = 0; i < FILES; i++) { /* one after the other, with the descriptor of another */
        char name[16];
        file_name(name, i, "");
        assert_bytes(f[i], name, strlen(name));
    }
    TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_NOFILE, &all));
    while (n > 0)
        close(taken[--n]);
    io->close(io, one);
    for (int i = 0; i < FILES; i++)
        io->close(io, f[i]);
    io_fd_keep(0);
}

int main(void)
{
    UNITY_BEGIN();
    kind = &kinds[0];
    RUN_TEST(test_the_directory_is_for_the_owner_only);
    RUN_TEST(test_only_files_are_opened);
    RUN_TEST(test_files_at_rest_follow_their_names);
    RUN_TEST(test_the_directory_can_be_renamed_meanwhile);
    RUN_TEST(test_a_directory_knows_its_space);
    RUN_TEST(test_short_and_interrupted_calls_are_gone_on_with);
    RUN_TEST(test_errors_have_their_code_and_say_what_failed_where);
    RUN_TEST(test_resident_sees_every_page_of_a_long_range);
    RUN_TEST(test_files_at_rest_take_no_descriptor);
    RUN_TEST(test_files_that_are_not_synced_keep_their_descriptor);
    RUN_TEST(test_without_descriptors_files_at_rest_give_theirs);
    kind = &kinds[1];
    RUN_TEST(test_memory_of_cut_and_unlinked_files_goes_back);
    RUN_TEST(test_more_than_there_is_memory_is_full_and_changes_nothing);
    return UNITY_END();
}
