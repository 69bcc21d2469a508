/* test_store_io_calls.c: every system call under a directory of files fails once, or is
 * interrupted: what failed is told with its code and name, nothing stays open, and the next attempt
 * succeeds. */
#include "store/store_folder.h"
#include "store/store_io.h"

#include "unity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static long calls, fail_at; /* fail_at 0: none */
static int fail_errno;
static const char *failed_call;

static bool trips(const char *name)
{
    if (++calls != fail_at)
        return false;
    errno = fail_errno;
    failed_call = name;
    return true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
#define WRAP(type, name, bad, parameters, arguments)                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return trips(#name) ? (bad) : __real_##name arguments;                                     \
    }

WRAP(int, fsync, -1, (int fd), (fd))
WRAP(int, fdatasync, -1, (int fd), (fd))
WRAP(int, flock, -1, (int fd, int how), (fd, how))
WRAP(int, ftruncate, -1, (int fd, off_t size), (fd, size))
WRAP(int, fstat, -1, (int fd, struct stat *st), (fd, st))
WRAP(int, mkdirat, -1, (int dir, const char *path, mode_t mode), (dir, path, mode))
WRAP(int, renameat, -1, (int a, const char *from, int b, const char *to), (a, from, b, to))
WRAP(int, unlinkat, -1, (int dir, const char *name, int flags), (dir, name, flags))
WRAP(int, posix_fallocate, fail_errno, (int fd, off_t off, off_t len), (fd, off, len))
WRAP(ssize_t, pread, -1, (int fd, void *dst, size_t n, off_t off), (fd, dst, n, off))
WRAP(ssize_t, pwrite, -1, (int fd, const void *src, size_t n, off_t off), (fd, src, n, off))
WRAP(DIR *, fdopendir, NULL, (int fd), (fd))

int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return trips("openat") ? -1 : __real_openat(dir, name, flags, mode);
}
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return trips("open") ? -1 : __real_open(path, flags, mode);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static char dir[64];
static struct store_folder *top; /* dir */

void setUp(void)
{
    fail_at = 0;
    /* Hundreds of files are synced: in memory, where there is such a place. */
    snprintf(dir, sizeof dir, "%s/mayfly-calls-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    struct mf_error e;
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, store_folder_at(&top, dir, &e), e.text);
}

static int remove_one(void *arg, const char *name)
{
    struct mf_error e;

    (void)arg;
    return store_folder_remove(top, name, &e);
}

void tearDown(void)
{
    struct mf_error e;

    fail_at = 0;
    store_folder_tidy(top);
    TEST_ASSERT_EQUAL_INT(0, store_folder_list(top, remove_one, NULL, &e));
    store_folder_release(top);
    TEST_ASSERT_EQUAL_INT(0, rmdir(dir));
}

static unsigned open_files(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

/* --- a day of a store's files ------------------------------------------------------------------
 */

static int count_name(void *arg, const char *name)
{
    (void)name;
    ++*(unsigned *)arg;
    return 0;
}

/* All that is done with one file; the first thing that fails ends it. */
static int with_file(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    char back[6] = "";
    uint64_t size = 0;
    int rc;

    if ((rc = io->allocate(io, f, 8192, e)) != 0 ||
        (rc = io->pwrite(io, f, "hello", 5, 100, e)) != 0 || (rc = io->sync(io, f, e)) != 0 ||
        (rc = io->pread(io, f, back, 5, 100, e)) != 0 || (rc = io->truncate(io, f, 4096, e)) != 0 ||
        (rc = io->size(io, f, &size, e)) != 0)
        return rc;
    TEST_ASSERT_EQUAL_STRING("hello", back);
    TEST_ASSERT_EQUAL_UINT64(4096, size);
    const uint8_t *map = io->map(io, f, 4096); /* NULL: then it is read */
    if (map != NULL) {
        TEST_ASSERT_EQUAL_MEMORY("hello", map + 100, 5);
        io->unmap(io, map, 4096);
    }
    return 0;
}

static int with_names(struct store_io *io, struct mf_error *e)
{
    unsigned n = 0;
    int rc;

    if ((rc = io->rename(io, "a", "b", e)) != 0 || (rc = io->syncdir(io, e)) != 0 ||
        (rc = io->list(io, count_name, &n, e)) != 0 || (rc = io->unlink(io, "b", e)) != 0)
        return rc;
    TEST_ASSERT_EQUAL_UINT(1, n);
    return 0;
}

/* All that is done in a directory. */
static int use(struct store_io *io, struct mf_error *e)
{
    struct store_file *f;
    struct mf_error ignored;
    int rc;

    if ((rc = io->enter(io, e)) == 0 && (rc = io->open(io, "a", true, &f, e)) == 0) {
        rc = with_file(io, f, e);
        io->close(io, f);
        if (rc == 0)
            rc = with_names(io, e);
        if (rc != 0) { /* as a store does at its next start */
            (void)!io->unlink(io, "a", &ignored);
            (void)!io->unlink(io, "b", &ignored);
        }
    }
    return rc;
}

static int a_day(const char *path, struct mf_error *e)
{
    struct store_io *io;
    int rc = store_io_dir(&io, path, e);

    if (rc != 0)
        return rc;
    rc = use(io, e);
    io->free(io);
    return rc;
}

/* The life of a store in the folder of its account: made as a draft, named, removed. */
static int a_life_in(struct store_folder *inner, struct mf_error *e)
{
    char draft[STORE_FOLDER_NAME];
    struct store_io *io;
    unsigned n = 0;
    int rc;

    store_folder_draft_name(draft, "S");
    if ((rc = store_folder_remove(inner, draft, e)) != 0 ||
        (rc = store_io_folder(&io, inner, draft, e)) != 0)
        return rc;
    if ((rc = use(io, e)) == 0)
        rc = store_io_dir_move(io, "S", e);
    io->free(io);
    if (rc != 0 || (rc = store_folder_list(inner, count_name, &n, e)) != 0)
        return rc;
    TEST_ASSERT_EQUAL_UINT(1, n);
    if ((rc = store_folder_remove(inner, "S", e)) != 0)
        return rc;
    store_folder_tidy(inner);
    return 0;
}

static int a_life(struct mf_error *e)
{
    struct store_folder *root, *inner;
    char path[128];

    snprintf(path, sizeof path, "%s/x", dir);
    int rc = store_folder_root(&root, path, "y", e);
    if (rc != 0)
        return rc;
    if ((rc = store_folder_claim(root, e)) == 0 &&
        (rc = store_folder_open(&inner, root, "z", STORE_FOLDER_MAKE, e)) == 0) {
        rc = a_life_in(inner, e);
        store_folder_release(inner);
    }
    store_folder_release(root);
    return rc;
}

static void clear_up(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s/x", dir);
    TEST_ASSERT_EQUAL_INT(0, system(command));
}

/* A full disk is no broken one, and memory no disk: owners act on the difference. */
static void test_each_call_fails_once_and_is_told(void)
{
    static const struct {
        int err, code;
    } kinds[] = {{EIO, MF_IO}, {ENOSPC, MF_FULL}, {EDQUOT, MF_FULL}, {ENOMEM, MF_NOMEM}};
    unsigned told = 0, before = open_files();

    for (size_t k = 0; k < MF_COUNT(kinds); k++) {
        bool hit = true;
        for (long n = 1; hit; n++) {
            struct mf_error e = {0};
            calls = 0;
            fail_at = n;
            fail_errno = kinds[k].err;
            failed_call = "";
            int rc = a_life(&e);
            hit = calls >= n;
            fail_at = 0;
            if (rc != 0) { /* folders tell a full disk only where they make something */
                TEST_ASSERT_TRUE_MESSAGE(rc == kinds[k].code || rc == MF_IO, e.text);
                TEST_ASSERT_EQUAL_INT(rc, e.code);
                TEST_ASSERT_NOT_NULL_MESSAGE(strchr(e.text, '/'), failed_call);
                told++;
            }
            TEST_ASSERT_EQUAL_UINT_MESSAGE(before, open_files(), failed_call);
            clear_up();
            TEST_ASSERT_EQUAL_INT_MESSAGE(0, a_life(&e), e.text);
            clear_up();
        }
    }
    TEST_ASSERT_GREATER_THAN_UINT(4 * 15, told);
}

/* What a signal interrupts is gone on with: nobody notices. */
static void test_each_call_is_interrupted_once_and_gone_on_with(void)
{
    char path[128];
    bool hit = true;

    snprintf(path, sizeof path, "%s/S", dir);
    for (long n = 1; hit; n++) {
        struct mf_error e = {0};
        calls = 0;
        fail_at = n;
        fail_errno = EINTR;
        failed_call = "";
        int rc = a_day(path, &e);
        hit = calls >= n;
        fail_at = 0;
        /* These are never interrupted, says the system. */
        bool never = strcmp(failed_call, "mkdirat") == 0 || strcmp(failed_call, "fstat") == 0 ||
                     strcmp(failed_call, "renameat") == 0 || strcmp(failed_call, "unlinkat") == 0 ||
                     strcmp(failed_call, "fdopendir") == 0;
        TEST_ASSERT_TRUE_MESSAGE(never || rc == 0, e.text);
        TEST_ASSERT_EQUAL_INT(0, store_folder_remove(top, "S", &e)); /* each day a new one */
    }
}

/* A file system that cannot reserve space: the size is as good. */
static void test_space_that_cannot_be_reserved_is_no_error(void)
{
    static const int no[] = {EOPNOTSUPP, EINVAL};
    char path[128];

    snprintf(path, sizeof path, "%s/S", dir);
    for (size_t i = 0; i < MF_COUNT(no); i++) {
        bool reached = false;
        for (long n = 1; !reached; n++) {
            struct mf_error e = {0};
            calls = 0;
            fail_at = n;
            fail_errno = no[i];
            failed_call = "";
            int rc = a_day(path, &e);
            TEST_ASSERT_GREATER_OR_EQUAL_INT(n, calls);
            fail_at = 0;
            reached = strcmp(failed_call, "posix_fallocate") == 0;
            if (reached)
                TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, e.text);
        }
    }
}

/* Longer than the system takes: told, before anything is touched. */
static void test_paths_that_are_too_long_are_refused(void)
{
    char *path = malloc(5001);
    struct store_folder *f;
    struct store_io *io;
    struct mf_error e;

    TEST_ASSERT_NOT_NULL(path);
    memset(path, 'p', 5000);
    path[5000] = '\0';
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_folder_root(&f, path, "S", &e));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_folder_probe(&f, path, "S", &e));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_folder_open(&f, top, path, 0, &e));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_io_folder(&io, top, path, &e));
    path[300] = '\0';
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_folder_root(&f, path, "S", &e));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_io_folder(&io, top, path, &e));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_folder_root(&f, "", "S", &e));
    free(path);
}

/* Another store has the name: it stays as it is, and who asked knows that the name is not his. */
static void test_a_name_that_is_taken_is_left_alone(void)
{
    char draft[STORE_FOLDER_NAME], path[192];
    struct store_io *io;
    struct mf_error e;

    store_folder_draft_name(draft, "S");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, i == 0 ? "S" : draft);
        TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
        snprintf(path, sizeof path, "%s/%s/file", dir, i == 0 ? "S" : draft);
        TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
    }
    TEST_ASSERT_EQUAL_INT(0, store_io_folder(&io, top, draft, &e));
    TEST_ASSERT_NOT_EQUAL_INT(0, store_io_dir_move(io, "S", &e));
    TEST_ASSERT_FALSE(store_io_dir_is(io, "S"));
    io->free(io);
    snprintf(path, sizeof path, "%s/S/file", dir);
    TEST_ASSERT_EQUAL_INT(0, rmdir(path));
    snprintf(path, sizeof path, "%s/%s/file", dir, draft);
    TEST_ASSERT_EQUAL_INT(0, rmdir(path));
}

/* A relative path and one that ends in a slash are directories like any other. */
static void test_paths_of_every_form(void)
{
    char path[128], old[512];
    struct store_folder *f, *again;
    struct mf_error e;

    snprintf(path, sizeof path, "%s/T/", dir);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, a_day(path, &e), e.text);
    TEST_ASSERT_NOT_NULL(getcwd(old, sizeof old));
    TEST_ASSERT_EQUAL_INT(0, chdir(dir));
    int day = a_day("R", &e);
    int deep = store_folder_root(&f, "N//./O/", "P", &e);
    store_folder_release(deep == 0 ? f : NULL);
    int same = store_folder_root(&again, "N/../N/O", "P", &e);
    store_folder_release(same == 0 ? again : NULL);
    TEST_ASSERT_EQUAL_INT(0, system("rm -r N/O/P && rmdir N/O"));
    TEST_ASSERT_EQUAL_INT(0, chdir(old));
    TEST_ASSERT_EQUAL_INT(0, day);
    TEST_ASSERT_EQUAL_INT(0, deep);
    TEST_ASSERT_EQUAL_INT(0, same);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_call_fails_once_and_is_told);
    RUN_TEST(test_each_call_is_interrupted_once_and_gone_on_with);
    RUN_TEST(test_space_that_cannot_be_reserved_is_no_error);
    RUN_TEST(test_paths_that_are_too_long_are_refused);
    RUN_TEST(test_a_name_that_is_taken_is_left_alone);
    RUN_TEST(test_paths_of_every_form);
    return UNITY_END();
}
