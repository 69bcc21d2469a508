/* test_store_sync.c: what must reach the disk does: the system calls that files in a directory come
 * down to, on the right file, repeated when interrupted, continued when cut short, and believed
 * when they fail. */
#include "store/store_folder.h"
#include "store/store_io.h"

#include "unity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_fdatasync(int fd);
int __real_fsync(int fd);
ssize_t __real_pwrite(int fd, const void *src, size_t n, off_t at);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
ssize_t __wrap_pwrite(int fd, const void *src, size_t n, off_t at);

static char root[64], path[80];
static struct store_io *io;
static struct mf_error e;

/* The files of the last calls, and what the next ones answer. */
static struct {
    ino_t file, folder;
    unsigned files, folders, interrupted;
    int error;
    size_t most; /* bytes of one write; 0: all */
} calls;

static ino_t inode(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static ino_t inode_of(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? st.st_ino : 1;
}

static int answer(void)
{
    if (calls.interrupted > 0) {
        calls.interrupted--;
        errno = EINTR;
        return -1;
    }
    errno = calls.error;
    return calls.error == 0 ? 0 : -1;
}

int __wrap_fdatasync(int fd)
{
    calls.file = inode(fd);
    calls.files++;
    return answer() == 0 ? __real_fdatasync(fd) : -1;
}

int __wrap_fsync(int fd)
{
    calls.folder = inode(fd);
    calls.folders++;
    return answer() == 0 ? __real_fsync(fd) : -1;
}

ssize_t __wrap_pwrite(int fd, const void *src, size_t n, off_t at)
{
    return __real_pwrite(fd, src, calls.most > 0 && n > calls.most ? calls.most : n, at);
}

void setUp(void)
{
    snprintf(root, sizeof root, "/tmp/mayfly-sync-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(root));
    snprintf(path, sizeof path, "%s/store", root);
    memset(&calls, 0, sizeof calls);
    TEST_ASSERT_EQUAL_INT(0, store_io_dir(&io, path, &e));
    TEST_ASSERT_EQUAL_INT(0, io->enter(io, &e));
}

void tearDown(void)
{
    char command[100];

    io->free(io);
    snprintf(command, sizeof command, "rm -r %s", root);
    TEST_ASSERT_EQUAL_INT(0, system(command));
}

static struct store_file *create(void)
{
    struct store_file *f = NULL;

    TEST_ASSERT_EQUAL_INT(0, io->open(io, "a", true, &f, &e));
    memset(&calls, 0, sizeof calls);
    return f;
}

/* Its name is there after a power cut only when its parent was synced. */
static void test_new_directory_is_synced_in_its_parent(void)
{
    TEST_ASSERT_EQUAL_UINT(1, calls.folders);
    TEST_ASSERT_TRUE(calls.folder == inode_of(root));
}

static void test_sync_reaches_the_file(void)
{
    struct store_file *f = create();
    char name[100];

    TEST_ASSERT_EQUAL_INT(0, io->sync(io, f, &e));
    snprintf(name, sizeof name, "%s/a", path);
    TEST_ASSERT_EQUAL_UINT(1, calls.files);
    TEST_ASSERT_TRUE(calls.file == inode_of(name));
    io->close(io, f);
}

static void test_syncdir_reaches_the_directory(void)
{
    memset(&calls, 0, sizeof calls);
    TEST_ASSERT_EQUAL_INT(0, io->syncdir(io, &e));
    TEST_ASSERT_EQUAL_UINT(1, calls.folders);
    TEST_ASSERT_TRUE(calls.folder == inode_of(path));
}

/* EINTR is no write error; a write error is told, and the call is not made again. */
static void test_interrupted_sync_is_repeated_and_a_failed_one_is_not(void)
{
    struct store_file *f = create();

    calls.interrupted = 2;
    TEST_ASSERT_EQUAL_INT(0, io->sync(io, f, &e));
    TEST_ASSERT_EQUAL_UINT(3, calls.files);
    calls.interrupted = 2;
    TEST_ASSERT_EQUAL_INT(0, io->syncdir(io, &e));
    TEST_ASSERT_EQUAL_UINT(3, calls.folders);
    calls.error = EIO;
    TEST_ASSERT_EQUAL_INT(MF_IO, io->sync(io, f, &e));
    TEST_ASSERT_EQUAL_INT(MF_IO, io->syncdir(io, &e));
    TEST_ASSERT_EQUAL_UINT(4, calls.files);
    TEST_ASSERT_EQUAL_UINT(4, calls.folders);
    io->close(io, f);
}

static void test_write_that_was_cut_short_goes_on(void)
{
    struct store_file *f = create();
    char got[27] = "";

    calls.most = 4;
    TEST_ASSERT_EQUAL_INT(0, io->pwrite(io, f, "abcdefghijklmnopqrstuvwxyz", 26, 0, &e));
    TEST_ASSERT_EQUAL_INT(0, io->pread(io, f, got, 26, 0, &e));
    TEST_ASSERT_EQUAL_STRING("abcdefghijklmnopqrstuvwxyz", got);
    io->close(io, f);
}

/* A folder that takes its name, or loses it, does so on disk before anybody is told. */
static void test_names_of_folders_are_synced(void)
{
    struct store_folder *top, *f;
    char draft[STORE_FOLDER_NAME];
    struct store_io *own;

    TEST_ASSERT_EQUAL_INT(0, store_folder_at(&top, root, &e));
    store_folder_draft_name(draft, "s");
    memset(&calls, 0, sizeof calls);
    TEST_ASSERT_EQUAL_INT(0, store_folder_open(&f, top, draft, STORE_FOLDER_MAKE, &e));
    TEST_ASSERT_TRUE(calls.folder == inode_of(root));
    store_folder_release(f);
    TEST_ASSERT_EQUAL_INT(0, store_io_folder(&own, top, draft, &e));
    memset(&calls, 0, sizeof calls);
    TEST_ASSERT_EQUAL_INT(0, store_io_dir_move(own, "s", &e));
    TEST_ASSERT_EQUAL_UINT(1, calls.folders);
    TEST_ASSERT_TRUE(calls.folder == inode_of(root));
    own->free(own);
    memset(&calls, 0, sizeof calls);
    TEST_ASSERT_EQUAL_INT(0, store_folder_remove(top, "s", &e));
    TEST_ASSERT_EQUAL_UINT(1, calls.folders);
    TEST_ASSERT_TRUE(calls.folder == inode_of(root));
    store_folder_release(top);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_new_directory_is_synced_in_its_parent);
    RUN_TEST(test_sync_reaches_the_file);
    RUN_TEST(test_syncdir_reaches_the_directory);
    RUN_TEST(test_interrupted_sync_is_repeated_and_a_failed_one_is_not);
    RUN_TEST(test_write_that_was_cut_short_goes_on);
    RUN_TEST(test_names_of_folders_are_synced);
    return UNITY_END();
}
