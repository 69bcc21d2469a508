/* test_store_folder.c: the directories above stores: whose they may be, and one process at a time.
 */
#include "store/store_folder.h"

#include "unity.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct store_folder *root; /* dir/a/root */
static struct mf_error e;

static const char *at(const char *name)
{
    static char path[2][160];
    static unsigned turn;
    char *dst = path[turn++ % 2];

    snprintf(dst, sizeof path[0], "%s/%s", dir, name);
    return dst;
}

static void ok(int rc)
{
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, e.text);
}

static void assert_text(const char *part)
{
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, part), e.text);
}

static void make_file(const char *name)
{
    FILE *f = fopen(at(name), "w");

    TEST_ASSERT_NOT_NULL(f);
    fputs("precious", f);
    fclose(f);
}

static bool there(const char *name)
{
    struct stat st;

    return lstat(at(name), &st) == 0;
}

void setUp(void)
{
    snprintf(dir, sizeof dir, "/tmp/mayfly-folder-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    ok(store_folder_root(&root, at("a"), "root", &e));
}

void tearDown(void)
{
    char command[192];

    store_folder_release(root);
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -r %s", dir, dir);
    TEST_ASSERT_EQUAL_INT(0, system(command));
}

/* --- one process ------------------------------------------------------------------------------ */

static void test_a_folder_is_claimed_once_whatever_its_path(void)
{
    struct store_folder *other;

    ok(store_folder_claim(root, &e));
    TEST_ASSERT_EQUAL_INT(0, symlink(at("a"), at("link")));
    ok(store_folder_root(&other, at("link"), "root", &e));
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, store_folder_claim(other, &e));
    assert_text("this process");
    store_folder_release(root);
    root = other;
    ok(store_folder_claim(root, &e));
}

/* The child has it, says so, and is killed: meanwhile we are refused and told its pid, and
 * afterwards nothing is left of it. */
static void test_another_process_is_named_and_its_death_frees_the_folder(void)
{
    int ready[2];
    char byte = 0, text[32];

    TEST_ASSERT_EQUAL_INT(0, pipe(ready));
    pid_t child = fork();
    TEST_ASSERT_TRUE(child >= 0);
    if (child == 0) {
        alarm(30); /* should the parent die first */
        if (store_folder_claim(root, &e) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    ssize_t got = read(ready[0], &byte, 1);
    int rc = store_folder_claim(root, &e);
    kill(child, SIGKILL);
    TEST_ASSERT_EQUAL_INT(child, waitpid(child, NULL, 0));
    close(ready[0]);
    TEST_ASSERT_EQUAL_INT(1, got);
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, rc);
    snprintf(text, sizeof text, "by process %ld", (long)child);
    assert_text(text);
    assert_text("a/root");
    ok(store_folder_claim(root, &e));
}

/* A program that a server starts does not keep the folder after it. */
static void test_the_lock_is_not_inherited(void)
{
    ok(store_folder_claim(root, &e));
    for (int fd = 0; fd < 256; fd++) {
        char link[64], name[256] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, name, sizeof name - 1) > 0 && strstr(name, "/a/root") != NULL)
            TEST_ASSERT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

/* Readers share the lock; the pid in the file is that of a server that ended. */
static void test_a_reader_is_not_taken_for_a_server(void)
{
    make_file("a/root/.lock");
    int fd = open(at("a/root/.lock"), O_RDONLY);
    TEST_ASSERT_EQUAL_INT(0, flock(fd, LOCK_SH));
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, store_folder_claim(root, &e));
    assert_text("mayfly check");
    close(fd);
    ok(store_folder_claim(root, &e));
}

static void test_a_lock_without_a_pid_is_still_a_lock(void)
{
    make_file("a/root/.lock");
    int fd = open(at("a/root/.lock"), O_RDWR);
    TEST_ASSERT_EQUAL_INT(0, flock(fd, LOCK_EX));
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, store_folder_claim(root, &e));
    assert_text("another process");
    close(fd);
}

static void test_a_lock_file_that_is_none_is_refused(void)
{
    make_file("victim");
    TEST_ASSERT_EQUAL_INT(0, symlink(at("victim"), at("a/root/.lock")));
    TEST_ASSERT_NOT_EQUAL(0, store_folder_claim(root, &e));
    TEST_ASSERT_EQUAL_INT(0, unlink(at("a/root/.lock")));
    TEST_ASSERT_EQUAL_INT(0, mkfifo(at("a/root/.lock"), 0600));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_claim(root, &e));
    assert_text("a named pipe");
    TEST_ASSERT_EQUAL_INT(0, unlink(at("a/root/.lock")));
    TEST_ASSERT_EQUAL_INT(0, mkdir(at("a/root/.lock"), 0700));
    TEST_ASSERT_NOT_EQUAL(0, store_folder_claim(root, &e));
}

/* --- owners, modes, links --------------------------------------------------------------------- */

static void test_others_who_may_write_are_refused(void)
{
    static const mode_t bad[] = {0720, 0702, 0777, 01777, 02770};
    struct store_folder *f;

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        char mode[16];
        TEST_ASSERT_EQUAL_INT(0, chmod(at("a/root"), bad[i]));
        TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_claim(root, &e));
        snprintf(mode, sizeof mode, "mode %04o", (unsigned)bad[i]);
        assert_text(mode);
        assert_text("chmod go-w");
        TEST_ASSERT_FALSE(there("a/root/.lock"));
    }
    TEST_ASSERT_EQUAL_INT(0, chmod(at("a/root"), 02755));
    ok(store_folder_claim(root, &e));
    ok(store_folder_open(&f, root, "x", STORE_FOLDER_MAKE, &e));
    store_folder_release(f);
    TEST_ASSERT_EQUAL_INT(0, chmod(at("a/root/x"), 0777));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_open(&f, root, "x", 0, &e));
    ok(store_folder_open(&f, root, "x", STORE_FOLDER_ANY, &e));
    store_folder_release(f);
}

/* Root may give a folder away; anybody else finds one that is not theirs: the top of the tree. */
static void test_another_users_folder_is_refused(void)
{
    struct store_folder *f;

    if (geteuid() == 0) {
        TEST_ASSERT_EQUAL_INT(0, chown(at("a/root"), 65534, 65534));
        TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_claim(root, &e));
        assert_text("uid 65534");
        assert_text("runs as");
        assert_text("chown");
        return;
    }
    ok(store_folder_at(&f, "/", &e));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_claim(f, &e));
    assert_text("uid 0");
    store_folder_release(f);
}

static void test_folders_that_are_made_are_the_owners_alone(void)
{
    struct store_folder *f;
    struct stat st;

    ok(store_folder_open(&f, root, "x", STORE_FOLDER_MAKE, &e));
    store_folder_release(f);
    static const char *const made[] = {"a", "a/root", "a/root/x"};
    for (size_t i = 0; i < MF_COUNT(made); i++) {
        TEST_ASSERT_EQUAL_INT(0, stat(at(made[i]), &st));
        TEST_ASSERT_EQUAL_HEX(0700, st.st_mode & 07777);
    }
    ok(store_folder_claim(root, &e));
    TEST_ASSERT_EQUAL_INT(0, stat(at("a/root/.lock"), &st));
    TEST_ASSERT_EQUAL_HEX(0600, st.st_mode & 07777);
}

static void test_links_below_the_operators_path_are_not_followed(void)
{
    struct store_folder *f;

    TEST_ASSERT_EQUAL_INT(0, mkdir(at("victim"), 0700));
    make_file("victim/file");
    TEST_ASSERT_EQUAL_INT(0, symlink(at("victim"), at("a/root/x")));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_open(&f, root, "x", STORE_FOLDER_MAKE, &e));
    assert_text("a symbolic link");
    TEST_ASSERT_EQUAL_INT(0, symlink(at("victim"), at("a/other")));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_root(&f, at("a"), "other", &e));
    ok(store_folder_remove(root, "x", &e));
    TEST_ASSERT_FALSE(there("a/root/x"));
    TEST_ASSERT_EQUAL_INT(0, symlink(at("victim"), at("a/root/.gone-1")));
    TEST_ASSERT_EQUAL_INT(0, symlink(at("victim"), at("a/root/.new-1")));
    store_folder_tidy(root);
    TEST_ASSERT_FALSE(there("a/root/.gone-1") || there("a/root/.new-1"));
    TEST_ASSERT_TRUE(there("victim/file"));
}

/* --- what cannot be used ---------------------------------------------------------------------- */

static void test_a_probe_changes_nothing_and_knows(void)
{
    struct store_folder *f;

    ok(store_folder_probe(&f, at("a"), "root", &e));
    TEST_ASSERT_NOT_NULL(f);
    store_folder_release(f);
    ok(store_folder_probe(&f, at("b/c/d"), "root", &e));
    TEST_ASSERT_NULL(f);
    TEST_ASSERT_FALSE(there("b"));
    make_file("file");
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_folder_probe(&f, at("file"), "root", &e));
    assert_text("storage directory is not a directory: ");
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_folder_root(&f, at("file/x"), "root", &e));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_probe(&f, dir, "file", &e));
    assert_text("a file, not a directory");
    ok(store_folder_claim(root, &e)); /* in use: still what a server would start with */
    ok(store_folder_probe(&f, at("a"), "root", &e));
    ok(store_folder_check(f, &e));
    store_folder_release(f);
}

/* /proc takes no new folders, from root neither. */
static void test_a_place_where_nothing_can_be_made_is_told(void)
{
    struct store_folder *f;

    TEST_ASSERT_NOT_EQUAL(0, store_folder_root(&f, "/proc/mayfly", "root", &e));
    assert_text("make folder /proc/mayfly");
    if (geteuid() != 0) {
        TEST_ASSERT_EQUAL_INT(0, chmod(at("a/root"), 0500));
        TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_claim(root, &e));
        TEST_ASSERT_EQUAL_INT(0, chmod(at("a"), 0500));
        TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_probe(&f, at("a/b"), "root", &e));
        TEST_ASSERT_EQUAL_INT(MF_DENIED, store_folder_root(&f, at("a/b"), "root", &e));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_folder_is_claimed_once_whatever_its_path);
    RUN_TEST(test_another_process_is_named_and_its_death_frees_the_folder);
    RUN_TEST(test_the_lock_is_not_inherited);
    RUN_TEST(test_a_reader_is_not_taken_for_a_server);
    RUN_TEST(test_a_lock_without_a_pid_is_still_a_lock);
    RUN_TEST(test_a_lock_file_that_is_none_is_refused);
    RUN_TEST(test_others_who_may_write_are_refused);
    RUN_TEST(test_another_users_folder_is_refused);
    RUN_TEST(test_folders_that_are_made_are_the_owners_alone);
    RUN_TEST(test_links_below_the_operators_path_are_not_followed);
    RUN_TEST(test_a_probe_changes_nothing_and_knows);
    RUN_TEST(test_a_place_where_nothing_can_be_made_is_told);
    return UNITY_END();
}
