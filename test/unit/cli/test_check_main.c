/* test_check_main.c: `mayfly check` as a command: directories, the lock, exit codes, JSON. */
#include "support/check_image.h"

#include "cli/check/check_report.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unity.h"

static char dir[64], out_path[96];
static struct log_writer w;

static void path_of(char dst[160], const char *sub, const char *name)
{
    (void)snprintf(dst, 160, "%s%s%s%s%s", dir, *sub == '\0' ? "" : "/", sub,
                   *name == '\0' ? "" : "/", name);
}

static void write_file(const char *sub, const char *name, const void *data, size_t n)
{
    char path[160];
    FILE *f;

    path_of(path, sub, name);
    f = fopen(path, "wb");
    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL_size_t(n, fwrite(data, 1, n, f));
    TEST_ASSERT_EQUAL_INT(0, fclose(f));
}

static void write_store(const char *sub)
{
    char path[160];

    path_of(path, sub, "");
    (void)mkdir(path, 0700);
    for (size_t i = 0; i < w.files; i++)
        write_file(sub, w.file[i].name, w.file[i].data, w.file[i].size);
}

static void remove_below(const char *path)
{
    char command[200];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", path);
    TEST_ASSERT_EQUAL_INT(0, system(command)); /* NOLINT: a name of our own making */
}

void setUp(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/mayfly-check-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    (void)snprintf(out_path, sizeof out_path, "%s.out", dir);
    lw_init(&w, 8192);
    lw_all_kinds(&w, true);
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
}
void tearDown(void)
{
    lw_fini(&w);
    remove_below(dir);
    (void)unlink(out_path);
}

static void make_dir(const char *sub)
{
    char path[160];

    path_of(path, sub, "");
    TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
}

static char shown[65536]; /* what the last run printed */

/* Runs the command with stdout in a file. */
static int run(const char *a, const char *b, const char *c)
{
    char *argv[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b, (char *)(uintptr_t)c, NULL};
    int argc = a == NULL ? 0 : b == NULL ? 1 : c == NULL ? 2 : 3;
    int keep = dup(1), keep_err = dup(2), fd, code;
    ssize_t n;

    (void)fflush(stdout);
    fd = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)dup2(fd, 1);
    (void)dup2(fd, 2);
    code = check_main(argc, argv);
    (void)fflush(stdout);
    (void)dup2(keep, 1);
    (void)dup2(keep_err, 2);
    (void)close(keep);
    (void)close(keep_err);
    n = pread(fd, shown, sizeof shown - 1, 0);
    shown[n < 0 ? 0 : n] = '\0';
    (void)close(fd);
    return code;
}

static void assert_shows(const char *text)
{
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(shown, text), shown);
}

static void test_sound_store_exits_0_and_says_what_lives(void)
{
    write_store("");
    TEST_ASSERT_EQUAL_INT(0, run(dir, NULL, NULL));
    assert_shows(": clean\n");
    assert_shows("8 live");
    assert_shows("last sequence 22");
    assert_shows("matches the log");
    assert_shows("damage       none");
    TEST_ASSERT_EQUAL_INT(0, run(dir, "--segments", NULL));
    assert_shows("0000000000000002.log");
    TEST_ASSERT_EQUAL_INT(0, run("-q", dir, NULL));
    TEST_ASSERT_EQUAL_STRING("", shown);
}

static void test_damage_exits_1_and_is_located(void)
{
    lw_segment_file(&w, 1)->data[4200] ^= 1;
    write_store("");
    TEST_ASSERT_EQUAL_INT(1, run(dir, NULL, NULL));
    assert_shows(": damaged\n");
    assert_shows("0000000000000001.log  offset ");
    assert_shows("; sequences ");
    assert_shows("mayfly check --repair '"); /* the next command, before the figures */
    TEST_ASSERT_TRUE(strstr(shown, "--to NEWDIR") < strstr(shown, "  log  "));
    TEST_ASSERT_EQUAL_INT(1, run(dir, "-q", NULL));
    TEST_ASSERT_EQUAL_STRING("", shown);
}

static void test_wrong_usage_exits_2(void)
{
    TEST_ASSERT_EQUAL_INT(2, run(NULL, NULL, NULL));
    assert_shows("which directory");
    TEST_ASSERT_EQUAL_INT(2, run(dir, "--frob", NULL));
    assert_shows("unexpected --frob");
    TEST_ASSERT_EQUAL_INT(2, run("/nonexistent/dir", NULL, NULL));
    assert_shows("No such file");
    TEST_ASSERT_EQUAL_INT(2, run(dir, NULL, NULL)); /* empty */
    assert_shows("no store here or below");
    TEST_ASSERT_EQUAL_INT(0, run("--help", NULL, NULL));
    assert_shows("usage: mayfly check DIR");
}

/* The lock is flock(): a descriptor of our own stands for the server. */
static void test_store_of_a_running_server_exits_3(void)
{
    char path[160];
    int fd;

    write_file("", ".lock", "4242     \n", 10);
    make_dir("A");
    make_dir("A/streams");
    write_store("A/streams/S");
    path_of(path, "", ".lock");
    fd = open(path, O_RDWR);
    TEST_ASSERT_EQUAL_INT(0, flock(fd, LOCK_EX));
    TEST_ASSERT_EQUAL_INT(3, run(dir, NULL, NULL));
    assert_shows("pid 4242");
    assert_shows("--no-lock");
    path_of(path, "A/streams/S", "");
    TEST_ASSERT_EQUAL_INT(3, run(path, NULL, NULL));
    TEST_ASSERT_EQUAL_INT(0, run(dir, "--no-lock", NULL));
    assert_shows("warning");
    (void)close(fd);
    TEST_ASSERT_EQUAL_INT(0, run(dir, NULL, NULL));
}

/* A stream of nats-server is neither clean nor damaged: it is not ours, wherever it lies. */
static void test_stream_of_nats_server_is_told_and_exits_2(void)
{
    write_store("S");
    make_dir("N");
    write_file("N", "meta.inf", "{}", 2);
    TEST_ASSERT_EQUAL_INT(2, run(dir, NULL, NULL));
    assert_shows("/N is a stream of nats-server");
    assert_shows("mayfly import");
    TEST_ASSERT_EQUAL_INT(2, run(dir, "--json", "--segments"));
}

/* Nothing that is opened may make it wait, or lead elsewhere. */
static void test_pipe_in_the_place_of_a_segment_is_an_error(void)
{
    char path[160];

    write_store("");
    path_of(path, "", "00000000000000ff.log");
    TEST_ASSERT_EQUAL_INT(0, mkfifo(path, 0600));
    TEST_ASSERT_EQUAL_INT(2, run(dir, NULL, NULL));
    assert_shows("00000000000000ff.log: it is not a regular file");
    TEST_ASSERT_EQUAL_INT(0, unlink(path));
    TEST_ASSERT_EQUAL_INT(0, symlink("/etc/passwd", path));
    TEST_ASSERT_EQUAL_INT(2, run(dir, NULL, NULL));
}

/* It may be run on evidence: not a byte, not a name, not a time changes. */
static void test_nothing_is_written(void)
{
    char path[160];
    struct stat before, after;

    lw_segment_file(&w, 1)->data[4200] ^= 1;
    write_store("");
    TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0500));
    TEST_ASSERT_EQUAL_INT(0, stat(dir, &before));
    TEST_ASSERT_EQUAL_INT(1, run(dir, NULL, NULL));
    TEST_ASSERT_EQUAL_INT(0, stat(dir, &after));
    TEST_ASSERT_EQUAL_INT64(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    path_of(path, "", ".lock");
    TEST_ASSERT_EQUAL_INT(-1, access(path, F_OK));
    TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0700));
}

static void test_tree_of_stores_is_a_table_with_a_total(void)
{
    write_store("a");
    write_store("b");
    lw_segment_file(&w, 1)->data[4200] ^= 1;
    write_store("b/c");
    TEST_ASSERT_EQUAL_INT(1, run(dir, NULL, NULL));
    assert_shows("3 stores");
    assert_shows("/b/c: damaged\n");
    TEST_ASSERT_NULL(strstr(shown, "/a: clean")); /* the table has said so */
}

static void test_json_is_one_document(void)
{
    json_t *root, *store, *damage;

    lw_segment_file(&w, 1)->data[4200] ^= 1;
    write_store("");
    TEST_ASSERT_EQUAL_INT(1, run(dir, "--json", "--segments"));
    root = json_loads(shown, JSON_REJECT_DUPLICATES, NULL);
    TEST_ASSERT_NOT_NULL(root);
    TEST_ASSERT_EQUAL_INT(1, json_integer_value(json_object_get(root, "exit_code")));
    store = json_array_get(json_object_get(root, "stores"), 0);
    TEST_ASSERT_EQUAL_STRING("damaged", json_string_value(json_object_get(store, "state")));
    TEST_ASSERT_EQUAL_INT(1, json_integer_value(json_object_get(store, "damage_count")));
    damage = json_array_get(json_object_get(store, "damage"), 0);
    TEST_ASSERT_EQUAL_STRING("records", json_string_value(json_object_get(damage, "kind")));
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log",
                             json_string_value(json_object_get(damage, "file")));
    TEST_ASSERT_EQUAL_INT(
        22, json_integer_value(json_object_get(json_object_get(store, "log"), "last_sequence")));
    TEST_ASSERT_EQUAL_size_t(2, json_array_size(json_object_get(store, "segments")));
    json_decref(root);
}

/* Real files read as images do. */
static void test_directory_and_image_give_the_same_answer(void)
{
    const struct check_opts o = {.now_ns = 10000};
    struct check_result a, b;

    write_store("");
    TEST_ASSERT_EQUAL_INT(0, check_store(dir, &o, &a, NULL));
    TEST_ASSERT_EQUAL_INT(0, image_check(&w, &b, NULL));
    TEST_ASSERT_EQUAL_UINT64(b.live.digest, a.live.digest);
    TEST_ASSERT_EQUAL_UINT64(b.end_offset, a.end_offset);
    TEST_ASSERT_EQUAL_UINT64(b.bytes, a.bytes);
    check_result_fini(&a);
    check_result_fini(&b);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_sound_store_exits_0_and_says_what_lives);
    RUN_TEST(test_damage_exits_1_and_is_located);
    RUN_TEST(test_wrong_usage_exits_2);
    RUN_TEST(test_store_of_a_running_server_exits_3);
    RUN_TEST(test_stream_of_nats_server_is_told_and_exits_2);
    RUN_TEST(test_pipe_in_the_place_of_a_segment_is_an_error);
    RUN_TEST(test_nothing_is_written);
    RUN_TEST(test_tree_of_stores_is_a_table_with_a_total);
    RUN_TEST(test_json_is_one_document);
    RUN_TEST(test_directory_and_image_give_the_same_answer);
    return UNITY_END();
}
