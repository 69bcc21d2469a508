/* test_dir_faults.c: a directory of account JWTs with damage, foreign files and links, and a disk
 * that refuses to write. */
#include "dir_fixture.h"

/* Nobody may be led out of the directory, nor be given the token of another account. */
static void test_what_is_no_token_of_its_account_is_not_used(void)
{
    char *one = account_token(1, 100, 0), *six = account_token(6, 100, 0), cut[200];
    char outside[80];
    struct token_key five = token_key(NKEY_ACCOUNT, 5);
    struct result out;

    snprintf(outside, sizeof outside, "%s-outside", dir);
    char *two = account_token(2, 100, 0);
    put_file(outside, two);
    TEST_ASSERT_EQUAL(0, symlink(outside, file_of(2, ".jwt")));
    put_file(file_of(3, ".jwt"), one);
    snprintf(cut, sizeof cut, "%.150s", one);
    put_file(file_of(4, ".jwt"), cut);
    TEST_ASSERT_EQUAL(0, mkdir(file_of(5, ".jwt"), 0700));
    TEST_ASSERT_EQUAL(0, mkfifo(file_of(7, ".jwt"), 0600));
    put_file(file_of(8, ".jwt"), "");
    put_file(file_of(6, ".jwt"), six);
    char *path = mf_slice_dup(mf_str(file_of(6, ".txt")));
    put_file(path, six);
    free(path);
    open_it("type: full }");
    TEST_ASSERT_EQUAL(1, walk(false).n);
    static const uint32_t bad[] = {2, 3, 4, 5, 7, 8};
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        out = look_up(bad[i]);
        TEST_ASSERT_EQUAL_MESSAGE(MF_CORRUPT, out.rc, out.why);
        TEST_ASSERT_EQUAL_STRING("", out.text);
    }
    TEST_ASSERT_NOT_NULL(strstr(look_up(3).why, "the JWT of A"));
    TEST_ASSERT_EQUAL(0, look_up(6).rc);
    TEST_ASSERT_EQUAL(0, store(2, 200, 0)); /* replaces the link, not what it leads to */
    struct stat st;
    TEST_ASSERT_TRUE(lstat(file_of(2, ".jwt"), &st) == 0 && S_ISREG(st.st_mode));
    char got[4096] = "";
    FILE *f = fopen(outside, "r");
    TEST_ASSERT_NOT_NULL(fgets(got, sizeof got, f));
    fclose(f);
    TEST_ASSERT_EQUAL_STRING(two, got);
    out = store_text(5, one, false);
    TEST_ASSERT_EQUAL(MF_INVAL, out.rc);
    TEST_ASSERT_EQUAL_STRING("subject does not match jwt content", out.why);
    (void)five;
    remove(outside);
    free(one);
    free(two);
    free(six);
}

/* As on a full disk: the old token stays whole, and no half file is left. */
static void test_a_disk_that_takes_no_more_keeps_the_old_token(void)
{
    struct rlimit was, tiny;
    char *t = account_token(1, 100, 0), *later = account_token(1, 200, 0);
    struct result out;

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, store(1, 100, 0));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    tiny = (struct rlimit){64, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tiny);
    out = store_text(1, later, false);
    setrlimit(RLIMIT_FSIZE, &was);
    TEST_ASSERT_NOT_EQUAL(0, out.rc);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(out.why, "write"), out.why);
    TEST_ASSERT_FALSE(exists(file_of(1, ".new")));
    TEST_ASSERT_EQUAL_STRING(t, look_up(1).text);
    TEST_ASSERT_EQUAL(0, store(1, 200, 0));
    TEST_ASSERT_EQUAL_STRING(later, look_up(1).text);
    free(t);
    free(later);
}

/* Root may write anywhere, so a folder in the place of the file stands for EACCES there. */
static void test_a_store_that_fails_says_why_and_the_next_one_works(void)
{
    struct result out;
    char *t = account_token(1, 100, 0), inside[220];

    open_it("type: full }");
    TEST_ASSERT_EQUAL(0, mkdir(file_of(1, ".new"), 0700));
    snprintf(inside, sizeof inside, "%s/x", file_of(1, ".new"));
    put_file(inside, "");
    out = store_text(1, t, false);
    TEST_ASSERT_EQUAL(MF_IO, out.rc);
    TEST_ASSERT_NOT_EQUAL(0, strlen(out.why));
    TEST_ASSERT_EQUAL(MF_NOTFOUND, look_up(1).rc);
    TEST_ASSERT_EQUAL(0, walk(false).n);
    remove(inside);
    rmdir(file_of(1, ".new"));
    TEST_ASSERT_EQUAL(0, store_text(1, t, false).rc);
    free(t);
}

static void test_a_directory_that_can_not_be_used_is_refused(void)
{
    struct mf_error e = {0};
    char path[64];

    memcpy(path, dir, sizeof path);
    snprintf(dir, sizeof dir, "%.50s/file", path);
    put_file(dir, "x");
    TEST_ASSERT_NOT_EQUAL(0, try_open("type: full }", &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "resolver directory"), e.text);
    options_free(o);
    o = NULL;
    if (getuid() != 0) {
        memcpy(dir, path, sizeof dir);
        chmod(dir, 0500);
        TEST_ASSERT_NOT_EQUAL(0, try_open("type: full }", &e));
        options_free(o);
        o = NULL;
    }
    memcpy(dir, path, sizeof dir);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_is_no_token_of_its_account_is_not_used);
    RUN_TEST(test_a_disk_that_takes_no_more_keeps_the_old_token);
    RUN_TEST(test_a_store_that_fails_says_why_and_the_next_one_works);
    RUN_TEST(test_a_directory_that_can_not_be_used_is_refused);
    return UNITY_END();
}
