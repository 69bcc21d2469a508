/* test_repair.c: `mayfly check --repair` as a command, and its rules on small logs. */
#include "support/check_image.h"

#include "cli/check/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unity.h"

static char dir[64], out_path[96], shown[65536];
static struct log_writer w;

static const char *in_dir(const char *name)
{
    static char path[4][200];
    static int turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, 200, "%s/%s", dir, name);
    return p;
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL_size_t(n, fwrite(data, 1, n, f));
    TEST_ASSERT_EQUAL_INT(0, fclose(f));
}

static void write_store(const char *sub)
{
    char path[240];

    (void)mkdir(in_dir(sub), 0700);
    for (size_t i = 0; i < w.files; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", in_dir(sub), w.file[i].name);
        write_file(path, w.file[i].data, w.file[i].size);
    }
}

void setUp(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/mayfly-repair-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    (void)snprintf(out_path, sizeof out_path, "%s.out", dir);
    lw_init(&w, 8192);
}
void tearDown(void)
{
    char command[200];

    lw_fini(&w);
    (void)snprintf(command, sizeof command, "rm -rf '%s' '%s'", dir, out_path);
    TEST_ASSERT_EQUAL_INT(0, system(command)); /* NOLINT: a name of our own making */
}

#define RUN(...) run((const char *[]){"--repair", __VA_ARGS__, NULL})
static int run(const char **argv)
{
    int argc = 0, keep = dup(1), keep_err = dup(2), fd, code;
    ssize_t n;

    while (argv[argc] != NULL)
        argc++;
    (void)fflush(stdout);
    fd = open(out_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)dup2(fd, 1);
    (void)dup2(fd, 2);
    code = check_main(argc, (char **)(uintptr_t)argv);
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

static void assert_clean(const char *path)
{
    TEST_ASSERT_EQUAL_INT(0, run((const char *[]){"-q", path, NULL}));
}

/* --- the command ------------------------------------------------------------------------------ */

static void whole_store(void)
{
    lw_segment(&w);
    lw_blob(&w, "config", "{\"name\":\"S\"}", true);
    for (uint64_t seq = 1; seq <= 10; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    lw_commit(&w);
    lw_removal(&w, 4, true);
    lw_commit_clean(&w);
}

static void test_bad_arguments_exit_2(void)
{
    whole_store();
    write_store("S");
    TEST_ASSERT_EQUAL_INT(2, run((const char *[]){"--repair", NULL}));
    assert_shows("which directory?");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S")));
    assert_shows("--to names the folder");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to"));
    assert_shows("--to: which folder?");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", "--json"));
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("T"), "--config"));
    assert_shows("--config: which file?");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("T"), "--no-lock"));
    assert_shows("unexpected --no-lock");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), in_dir("R"), "--to", in_dir("T")));
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("nowhere"), "--to", in_dir("T")));
    assert_shows("No such file");
    TEST_ASSERT_EQUAL_INT(0, RUN("--help"));
    assert_shows("usage: mayfly check --repair SRC --to DST");
    TEST_ASSERT_EQUAL_INT(-1, access(in_dir("T"), F_OK));
}

static void test_places_that_hold_something_are_refused(void)
{
    whole_store();
    write_store("S");
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("full"), 0700));
    write_file(in_dir("full/x"), "x", 1);
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("full")));
    assert_shows("it is not empty");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("full/x")));
    assert_shows("Not a directory");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("S")));
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("S/inside")));
    assert_shows("nothing is written there");
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("no/such/place")));
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("T.partial"), 0700));
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("S"), "--to", in_dir("T")));
    assert_shows("a repair was cut short");
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("empty"), 0700));
    TEST_ASSERT_EQUAL_INT(0, RUN(in_dir("S"), "--to", in_dir("empty")));
}

static void test_a_sound_store_is_copied_without_a_loss(void)
{
    struct stat st;

    whole_store();
    write_store("S");
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, RUN(in_dir("S"), "--to", in_dir("T")), shown);
    assert_shows("nothing is lost");
    assert_shows("9 messages");
    assert_clean(in_dir("T"));
    TEST_ASSERT_EQUAL_INT(0, stat(in_dir("T/0000000000000001.log"), &st));
    TEST_ASSERT_EQUAL_INT(0600, st.st_mode & 0777);
    TEST_ASSERT_EQUAL_INT(0, stat(in_dir("T"), &st));
    TEST_ASSERT_EQUAL_INT(0700, st.st_mode & 0777);
    TEST_ASSERT_EQUAL_INT(0, RUN(in_dir("T"), "--to", in_dir("U"), "-q"));
    TEST_ASSERT_EQUAL_STRING("", shown);
}

static void make_tree(void)
{
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("js"), 0700));
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("js/jetstream"), 0700));
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("js/jetstream/$G"), 0700));
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("js/jetstream/$G/streams"), 0700));
    write_store("js/jetstream/$G/streams/A");
    write_store("js/jetstream/$G/streams/B");
    write_store("js/jetstream/$G/streams/.gone-123");
}

static void test_a_tree_is_copied_with_its_folders_and_without_deleted_streams(void)
{
    whole_store();
    make_tree();
    TEST_ASSERT_EQUAL_INT(0, RUN(in_dir("js"), "--to", in_dir("new"), "--json"));
    json_t *doc = json_loads(shown, 0, NULL);
    TEST_ASSERT_NOT_NULL(doc);
    TEST_ASSERT_EQUAL_size_t(2, json_array_size(json_object_get(doc, "stores")));
    json_decref(doc);
    assert_clean(in_dir("new/jetstream/$G/streams/A"));
    assert_clean(in_dir("new/jetstream/$G/streams/B"));
    TEST_ASSERT_EQUAL_INT(-1, access(in_dir("new/jetstream/$G/streams/.gone-123"), F_OK));
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("js"), "--to", in_dir("x"), "--config", in_dir("c")));
    assert_shows("--config is for one stream");
}

static void test_a_store_in_use_exits_3_and_leaves_nothing(void)
{
    whole_store();
    make_tree();
    write_file(in_dir("js/jetstream/.lock"), "4711\n", 5);
    int fd = open(in_dir("js/jetstream/.lock"), O_RDONLY);
    TEST_ASSERT_EQUAL_INT(0, flock(fd, LOCK_EX | LOCK_NB));
    TEST_ASSERT_EQUAL_INT(3, RUN(in_dir("js/jetstream/$G/streams/A"), "--to", in_dir("T")));
    assert_shows("a server (pid 4711) has this store");
    TEST_ASSERT_EQUAL_INT(-1, access(in_dir("T"), F_OK));
    TEST_ASSERT_EQUAL_INT(-1, access(in_dir("T.partial"), F_OK));
    (void)close(fd);
    TEST_ASSERT_EQUAL_INT(0, RUN(in_dir("js/jetstream/$G/streams/A"), "--to", in_dir("T")));
}

static void test_a_stream_of_nats_server_is_refused(void)
{
    TEST_ASSERT_EQUAL_INT(0, mkdir(in_dir("N"), 0700));
    write_file(in_dir("N/meta.inf"), "{}", 2);
    TEST_ASSERT_EQUAL_INT(2, RUN(in_dir("N"), "--to", in_dir("T")));
    assert_shows("is a stream of nats-server");
}

/* --- a disk that does not give back all it has --------------------------------------------------
 */

static uint64_t bad_from, bad_to; /* bytes of every file that cannot be read */
ssize_t __real_pread(int fd, void *dst, size_t n, off_t off);
ssize_t __wrap_pread(int fd, void *dst, size_t n, off_t off);
ssize_t __wrap_pread(int fd, void *dst, size_t n, off_t off)
{
    if (dst != shown && (uint64_t)off < bad_to && bad_from < (uint64_t)off + n) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, dst, n, off);
}

/* Sectors that cannot be read are damage like any other. */
static void test_unreadable_sectors_cost_what_lies_in_them(void)
{
    lw_fini(&w);
    lw_init(&w, 65536);
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    for (uint64_t seq = 1; seq <= 200; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    lw_commit_clean(&w);
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    write_store("S");
    bad_from = 9000;
    bad_to = 9001;
    TEST_ASSERT_EQUAL_INT(2, run((const char *[]){in_dir("S"), NULL}));
    int code = RUN(in_dir("S"), "--to", in_dir("T"), "--json");
    bad_from = bad_to = 0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, code, shown);
    char *kept = strstr(shown, "\"messages\": ");
    TEST_ASSERT_NOT_NULL_MESSAGE(kept, shown);
    TEST_ASSERT_TRUE(atoi(kept + 12) > 140 &&
                     atoi(kept + 12) < 200); /* 4 KiB of messages are lost */
    assert_clean(in_dir("T"));
}

/* --- the rules -------------------------------------------------------------------------------- */

static struct log_writer copy;
static struct check_live copied; /* what is alive in it */

static int put(void *arg, const char *name, const uint8_t *bytes, size_t n, struct mf_error *e)
{
    (void)arg;
    (void)e;
    memcpy(lw_create(&copy, name, n)->data, bytes, n);
    return 0;
}

static struct repair_result repaired(bool keep)
{
    const struct check_source src = {image_list, image_size, image_pread, &w};
    const struct repair_sink sink = {put, NULL};
    const struct repair_opts o = {.now_ns = 10000, .keep_unknown = keep};
    struct repair_result r;
    struct check_result check;
    struct mf_error e;

    lw_init(&copy, 8192);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, repair_files(&src, &o, &sink, &r, &e), e.text);
    TEST_ASSERT_EQUAL_INT(0, image_check(&copy, &check, &e));
    TEST_ASSERT_EQUAL_UINT64(0, check.damage_count);
    TEST_ASSERT_EQUAL_UINT64(r.kept, check.live.messages);
    TEST_ASSERT_EQUAL_UINT64(r.blobs, check.live.blobs);
    copied = check.live;
    check_result_fini(&check);
    lw_fini(&copy);
    return r;
}

static void assert_range(const struct repair_ranges *r, uint64_t first, uint64_t last)
{
    TEST_ASSERT_EQUAL_size_t(1, r->count);
    TEST_ASSERT_EQUAL_UINT64(first, r->at[0].first);
    TEST_ASSERT_EQUAL_UINT64(last, r->at[0].last);
    TEST_ASSERT_EQUAL_UINT64(last - first + 1, r->sequences);
}

/* Message 1 to 6, then `damaged` is the record that is hit, then 7 to 9. */
static uint64_t damaged;
static void around(uint64_t (*record)(void))
{
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    for (uint64_t seq = 1; seq <= 6; seq++)
        lw_message(&w, seq, seq == 2 ? 5000 : 0, "key", "a body that is long enough", true);
    lw_commit(&w);
    damaged = record();
    for (uint64_t seq = 7; seq <= 9; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
}

static uint64_t a_removal(void)
{
    return lw_removal(&w, 3, true);
}

/* Nobody knows whose removal it was: none of those before it may come back. */
static void test_what_a_damaged_removal_may_have_removed_is_left_out(void)
{
    around(a_removal);
    struct repair_result r = repaired(false);
    TEST_ASSERT_EQUAL_UINT64(3, r.kept);
    assert_range(&r.unknown, 1, 6);
    TEST_ASSERT_EQUAL_UINT64(0, r.lost.sequences);
    TEST_ASSERT_TRUE(r.config_unsure);
    TEST_ASSERT_FALSE(repair_lossless(&r));
    repair_result_fini(&r);
    r = repaired(true);
    TEST_ASSERT_EQUAL_UINT64(9, r.kept);
    assert_range(&r.unknown, 1, 6);
    repair_result_fini(&r);
}

static void test_a_checkpoint_behind_the_damage_knows(void)
{
    around(a_removal);
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    struct repair_result r = repaired(false);
    TEST_ASSERT_TRUE(r.from_checkpoint);
    TEST_ASSERT_EQUAL_UINT64(8, r.kept);
    TEST_ASSERT_TRUE(repair_lossless(&r));
    repair_result_fini(&r);
}

/* Only a message that is there gets a new deadline, or is copied. */
static void test_later_records_show_that_a_message_is_alive(void)
{
    lw_segment(&w);
    for (uint64_t seq = 1; seq <= 6; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    lw_commit(&w);
    damaged = lw_removal(&w, 3, true);
    lw_deadline(&w, 5, 90000, true);
    lw_copy(&w, 6, true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_EQUAL_UINT64(2, r.kept);
    assert_range(&r.unknown, 1, 4);
    repair_result_fini(&r);
}

static uint64_t a_message(void)
{
    return lw_message(&w, 10, 0, "key", "its data is damaged", true) + 48;
}

/* The fixed part is in order, and the next record vouches for it: nothing else is hidden. */
static void test_a_message_with_damaged_data_is_the_only_one_lost(void)
{
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    for (uint64_t seq = 1; seq <= 6; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    damaged = a_message();
    lw_message(&w, 11, 0, "key", "after it", true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_EQUAL_UINT64(7, r.kept);
    assert_range(&r.lost, 10, 10);
    TEST_ASSERT_EQUAL_UINT64(0, r.unknown.sequences + r.unseen.sequences);
    TEST_ASSERT_FALSE(r.blobs_hidden);
    repair_result_fini(&r);
}

static uint64_t a_deadline(void)
{
    return lw_deadline(&w, 2, 9000, true);
}

/* By the deadline that can be read the mark took it; a later one may be what is damaged. */
static void test_expired_by_a_deadline_that_may_be_old(void)
{
    around(a_deadline);
    lw_mark(&w, 6000, 9, true);
    lw_commit_clean(&w);
    struct repair_result r = repaired(false);
    assert_range(&r.expired, 2, 2);
    TEST_ASSERT_EQUAL_UINT64(3, r.kept);
    repair_result_fini(&r);
}

/* Only a message that is there gets a new deadline: one that damage hides kept it from the mark. */
static void test_a_deadline_behind_the_mark_shows_what_damage_hides(void)
{
    around(a_deadline);
    lw_mark(&w, 6000, 9, true);
    lw_deadline(&w, 2, 20000, true);
    lw_commit_clean(&w);
    struct repair_result r = repaired(false);
    TEST_ASSERT_EQUAL_UINT64(4, r.kept);
    TEST_ASSERT_EQUAL_UINT64(1, copied.with_deadline);
    TEST_ASSERT_EQUAL_UINT64(0, copied.past_deadline); /* 20000, not 5000 */
    TEST_ASSERT_EQUAL_UINT64(0, r.expired.sequences + r.lost.sequences);
    TEST_ASSERT_EQUAL_size_t(2, r.unknown.count); /* 1, and 3 to 6 */
    TEST_ASSERT_EQUAL_UINT64(5, r.unknown.sequences);
    repair_result_fini(&r);
}

/* The same by the checkpoint, which was written before the damage. */
static void test_a_deadline_behind_the_mark_corrects_the_checkpoint(void)
{
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    lw_message(&w, 1, 0, "key", "a body that is long enough", true);
    lw_message(&w, 2, 5000, "key", "a body that is long enough", true);
    lw_commit(&w);
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    damaged = a_deadline();
    lw_mark(&w, 6000, 9, true);
    lw_deadline(&w, 2, 20000, true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_TRUE(r.from_checkpoint);
    TEST_ASSERT_EQUAL_UINT64(1, r.kept);
    TEST_ASSERT_EQUAL_UINT64(1, copied.with_deadline);
    TEST_ASSERT_EQUAL_UINT64(0, r.expired.sequences);
    assert_range(&r.unknown, 1, 1);
    repair_result_fini(&r);
}

/* What a mark took before all damage stays expired, whatever is written behind it. */
static void test_a_deadline_revives_nothing_that_expired_before_the_damage(void)
{
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    lw_message(&w, 1, 0, "key", "a body that is long enough", true);
    lw_message(&w, 2, 5000, "key", "a body that is long enough", true);
    lw_mark(&w, 6000, 9, true);
    damaged = a_removal();
    lw_deadline(&w, 2, 20000, true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_EQUAL_UINT64(0, r.kept);
    assert_range(&r.unknown, 1, 1);
    TEST_ASSERT_EQUAL_UINT64(0, r.expired.sequences);
    repair_result_fini(&r);
}

/* The sequences that may have been given in damage are not given again.  A commit that does not
 * count any more says how far all was synced. */
static void test_the_last_sequence_is_beyond_what_damage_may_hold(void)
{
    lw_segment(&w);
    lw_message(&w, 1, 0, "key", "a body that is long enough", true);
    lw_commit(&w);
    uint64_t from = w.offset;
    for (uint64_t seq = 2; seq <= 5; seq++)
        lw_message(&w, seq, 0, "key", "", true);
    lw_commit(&w);
    uint64_t to = w.offset;
    lw_removal(&w, 1, true);
    uint64_t end = lw_message(&w, 6, 0, "key", "the end, now", true);
    lw_commit(&w);
    memset(lw_segment_file(&w, 1)->data + from, 0, to - from);
    lw_segment_file(&w, 1)->data[end + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(5, r.last_sequence);
    TEST_ASSERT_EQUAL_UINT64(0, r.kept);
    repair_result_fini(&r);
}

/* The checkpoint is older than the damage: it does not know what was removed there. */
static void test_a_checkpoint_before_the_damage_does_not_know(void)
{
    lw_segment(&w);
    lw_blob(&w, "config", "{}", true);
    for (uint64_t seq = 1; seq <= 6; seq++)
        lw_message(&w, seq, 0, "key", "a body that is long enough", true);
    lw_commit(&w);
    damaged = lw_message(&w, 7, 0, "key", "its data is damaged", true) + 48;
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    uint64_t removal = lw_removal(&w, 3, true);
    lw_message(&w, 8, 0, "key", "behind it", true);
    lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[damaged + 17] ^= 4;
    lw_segment_file(&w, 1)->data[removal + 17] ^= 4;
    struct repair_result r = repaired(false);
    TEST_ASSERT_TRUE(r.from_checkpoint);
    TEST_ASSERT_EQUAL_UINT64(1, r.kept);
    assert_range(&r.lost, 7, 7);
    assert_range(&r.unknown, 1, 6);
    repair_result_fini(&r);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bad_arguments_exit_2);
    RUN_TEST(test_places_that_hold_something_are_refused);
    RUN_TEST(test_a_sound_store_is_copied_without_a_loss);
    RUN_TEST(test_a_tree_is_copied_with_its_folders_and_without_deleted_streams);
    RUN_TEST(test_a_store_in_use_exits_3_and_leaves_nothing);
    RUN_TEST(test_a_stream_of_nats_server_is_refused);
    RUN_TEST(test_unreadable_sectors_cost_what_lies_in_them);
    RUN_TEST(test_what_a_damaged_removal_may_have_removed_is_left_out);
    RUN_TEST(test_a_checkpoint_behind_the_damage_knows);
    RUN_TEST(test_later_records_show_that_a_message_is_alive);
    RUN_TEST(test_a_message_with_damaged_data_is_the_only_one_lost);
    RUN_TEST(test_expired_by_a_deadline_that_may_be_old);
    RUN_TEST(test_a_deadline_behind_the_mark_shows_what_damage_hides);
    RUN_TEST(test_a_deadline_behind_the_mark_corrects_the_checkpoint);
    RUN_TEST(test_a_deadline_revives_nothing_that_expired_before_the_damage);
    RUN_TEST(test_the_last_sequence_is_beyond_what_damage_may_hold);
    RUN_TEST(test_a_checkpoint_before_the_damage_does_not_know);
    return UNITY_END();
}
