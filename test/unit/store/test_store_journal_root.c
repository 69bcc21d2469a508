/* test_store_journal_root.c: the commit journal of a server finds the folders of its streams. */
#include "cli/check/check.h"
#include "store/store_folder.h"
#include "store/store_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unity.h>

static struct loop *loop;

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, NULL));
    loop_jobs_inline(loop);
}

void tearDown(void)
{
    loop_free(loop);
}

struct server {
    struct store_folder *root;
    struct store_journal *journal;
    struct store *store[2];
};

static void serve(struct server *v, const char *dir)
{
    static const char *const name[2] = {"S1", "S2"};
    struct store_folder *account, *streams;

    *v = (struct server){0};
    TEST_ASSERT_EQUAL_INT(0, store_folder_root(&v->root, dir, "jetstream", NULL));
    TEST_ASSERT_EQUAL_INT(0, store_folder_open(&account, v->root, "A", STORE_FOLDER_MAKE, NULL));
    TEST_ASSERT_EQUAL_INT(0,
                          store_folder_open(&streams, account, "streams", STORE_FOLDER_MAKE, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_journal_open(&v->journal, loop, v->root, NULL));
    for (int i = 0; i < 2; i++) {
        struct store_opts o = {.name = name[i]};
        struct store_io *io;
        char path[40];
        TEST_ASSERT_EQUAL_INT(0, store_io_folder(&io, streams, name[i], NULL));
        TEST_ASSERT_EQUAL_INT(0, store_open(&v->store[i], &o, io, NULL));
        TEST_ASSERT_EQUAL_INT(0, store_attach(v->store[i], loop, NULL));
        snprintf(path, sizeof path, "A/streams/%s", name[i]);
        TEST_ASSERT_EQUAL_INT(0, store_join_journal(v->store[i], v->journal, path));
    }
    store_folder_release(streams);
    store_folder_release(account);
}

static void write_both(struct server *v)
{
    for (int i = 0; i < 2; i++) {
        struct store_append a = {.key = MF_LIT("k"), .body = MF_LIT("body")};
        TEST_ASSERT_EQUAL_INT(0, store_append(v->store[i], &a));
    }
    while (!store_idle(v->store[0]) || !store_idle(v->store[1]))
        loop_turn(loop);
}

static void note_closed(void *arg)
{
    *(bool *)arg = true;
}

static void stop_serving(struct server *v, bool kill)
{
    bool closed[3] = {false, false, false};

    for (int i = 0; i < 2; i++) {
        if (kill)
            store_abandon(v->store[i]);
        else
            store_close(v->store[i], note_closed, &closed[i]);
        while (!kill && !closed[i])
            loop_turn(loop);
    }
    if (kill)
        store_journal_abandon(v->journal);
    else
        store_journal_close(v->journal, note_closed, &closed[2]);
    while (!kill && !closed[2])
        loop_turn(loop);
    store_folder_release(v->root);
}

static void test_start_of_a_server_finds_the_folders_of_its_streams(void)
{
    char dir[] = "/tmp/journal-XXXXXX", command[80];
    struct store_journal_stats s;
    struct server v;

    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    serve(&v, dir);
    do {
        write_both(&v);
        store_journal_stats(v.journal, &s);
    } while (s.entries < 3);
    uint64_t last = store_last_seq(v.store[0]);
    stop_serving(&v, true);
    serve(&v, dir);
    store_journal_stats(v.journal, &s);
    TEST_ASSERT_EQUAL_UINT64(6, s.recovered);
    TEST_ASSERT_EQUAL_UINT64(last, store_last_seq(v.store[0]));
    stop_serving(&v, false);
    snprintf(command, sizeof command, "%s/jetstream/.journal/1.journal", dir);
    TEST_ASSERT_NOT_EQUAL(0, access(command, F_OK));
    snprintf(command, sizeof command, "rm -r %s", dir);
    TEST_ASSERT_EQUAL_INT(0, system(command)); // NOLINT(cert-env33-c)
}

static uint64_t copy_file(const char *path, uint8_t *bytes, size_t cap, bool back)
{
    FILE *f = fopen(path, back ? "r+be" : "rbe");

    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    size_t n = back ? fwrite(bytes, 1, cap, f) : fread(bytes, 1, cap, f);
    TEST_ASSERT_EQUAL_INT(0, fclose(f));
    return n;
}

/* The segment lacks what only the journal holds, as after a power cut. */
static void test_check_reads_the_journal_with_a_store_in_its_place(void)
{
    static uint8_t before[64 << 10];
    char dir[] = "/tmp/journal-XXXXXX", path[120], command[80];
    struct store_journal_stats s;
    struct check_result r;
    struct check_opts o = {0};
    struct mf_error e;
    struct server v;

    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    serve(&v, dir);
    do {
        write_both(&v);
        store_journal_stats(v.journal, &s);
    } while (s.entries == 0);
    snprintf(path, sizeof path, "%s/jetstream/A/streams/S1/0000000000000001.log", dir);
    uint64_t n = copy_file(path, before, sizeof before, false);
    write_both(&v);
    write_both(&v);
    uint64_t last = store_last_seq(v.store[0]);
    stop_serving(&v, true);
    copy_file(path, before, n, true);
    *strrchr(path, '/') = '\0';
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, check_store(path, &o, &r, &e), e.text);
    TEST_ASSERT_EQUAL_UINT64(0, r.damage_count);
    TEST_ASSERT_EQUAL_UINT64(last, r.live.messages);
    check_result_fini(&r);
    serve(&v, dir);
    TEST_ASSERT_EQUAL_UINT64(last, store_last_seq(v.store[0]));
    stop_serving(&v, false);
    snprintf(command, sizeof command, "rm -r %s", dir);
    TEST_ASSERT_EQUAL_INT(0, system(command)); // NOLINT(cert-env33-c)
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_start_of_a_server_finds_the_folders_of_its_streams);
    RUN_TEST(test_check_reads_the_journal_with_a_store_in_its_place);
    return UNITY_END();
}
