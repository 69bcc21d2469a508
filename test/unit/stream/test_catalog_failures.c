/* test_catalog_failures.c: streams whose creation or loading fails half way; which stream owns
 * which subjects. */
#include "support/catalog_fixture.h"

/* The clock of the streams belongs to the loop: a worker that asks for the time would tear it. */
static void test_making_asks_for_the_time_on_the_loop_only(void)
{
    catalog_start();
    TEST_ASSERT_EQUAL_INT(0, make("S", 0).err_code);
    TEST_ASSERT_FALSE(elsewhere);
}

/* What a crash leaves of a stream that was being made goes, wherever its numbers were to begin. */
static void test_left_over_of_a_stream_with_first_seq_is_removed(void)
{
    struct store_opts o = {.name = "S", .first_seq = 1000};
    struct store_io *io;
    struct store *st;
    struct mf_error e;
    char path[160], draft[STORE_FOLDER_NAME];
    bool done = false;

    store_folder_draft_name(draft, "S");
    snprintf(path, sizeof path, "%s/%s", dir, draft);
    TEST_ASSERT_EQUAL_INT(0, store_io_dir(&io, path, &e));
    TEST_ASSERT_EQUAL_INT(0, store_open(&st, &o, io, &e));
    store_close(st, on_closed, &done);
    catalog_start();
    TEST_ASSERT_NULL(catalog_offline(cat, MF_LIT("S")));
    TEST_ASSERT_EQUAL_INT(0, make("S", 5).err_code);
}

/* A configuration this version cannot bring up: listed, and nothing of it stays in memory. */
static void test_offline_stream_is_let_go_at_the_end(void)
{
    catalog_start();
    TEST_ASSERT_EQUAL_INT(0, make("S", 0).err_code);
    catalog_stop();
    bad_transform = true;
    catalog_start();
    TEST_ASSERT_NOT_NULL(catalog_offline(cat, MF_LIT("S")));
    catalog_stop();
    bad_transform = false;
    catalog_start();
    TEST_ASSERT_NOT_NULL(catalog_find(cat, MF_LIT("S")));
}

/* The longest name that is allowed is also one that can be had. */
static void test_longest_name_can_be_made_and_is_there_after_a_restart(void)
{
    char name[256];

    memset(name, 'n', 255);
    name[255] = '\0';
    catalog_start();
    TEST_ASSERT_EQUAL_INT(0, make(name, 0).err_code);
    catalog_stop();
    catalog_start();
    TEST_ASSERT_NOT_NULL(catalog_find(cat, mf_str(name)));
}

/* Somebody's folder appears under the name of a stream that is being made: the stream is refused,
 * the folder stays. */
static void test_folder_in_the_way_of_a_new_stream_is_left_alone(void)
{
    char path[128];

    catalog_start();
    snprintf(path, sizeof path, "%s/S", dir);
    TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
    snprintf(path, sizeof path, "%s/S/mine", dir);
    FILE *f = fopen(path, "w");
    TEST_ASSERT_NOT_NULL(f);
    fclose(f);
    TEST_ASSERT_NOT_EQUAL(0, make("S", 0).err_code);
    TEST_ASSERT_EQUAL_INT(0, access(path, F_OK));
}

/* --- subjects ------------------------------------------------------------------------------- */

/* Would a stream `name` with these subjects meet another? */
static int meets(const char *name, const char *a, const char *b)
{
    struct stream_config c = {.subjects = CR_STRS(a, b)};

    return catalog_overlaps(cat, &c, name);
}

static int update(struct stream *s, const char *to)
{
    struct told t = {.op.done = on_done};
    struct stream_mapping bad = CR_MAP("a.*", "b.{{wildcard(7)}}");
    struct stream_config c;

    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&c, stream_config(s)));
    subject = to;
    put_subject(&c);
    if (bad_transform)
        c.subject_transform = &bad;
    catalog_update(cat, s, &c, &t.op);
    wait_for(&t);
    c.subject_transform = NULL;
    stream_config_fini(&c);
    return t.err_code;
}

static void test_subjects_belong_to_a_stream_while_it_has_them(void)
{
    struct told t = {.op.done = on_done};

    catalog_start();
    subject = "a.*";
    struct told made = make("A", 0);
    subject = "b";
    TEST_ASSERT_EQUAL_INT(0, make("B", 0).err_code);
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "a.1"));
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "*"));
    TEST_ASSERT_EQUAL_INT(1, meets("A", "x", "b")); /* its own are no matter, others are */
    TEST_ASSERT_EQUAL_INT(0, meets("A", "a.>", "a.1"));
    TEST_ASSERT_EQUAL_INT(0, meets("C", "c", "a.1.2"));
    TEST_ASSERT_EQUAL_INT(0, update(made.stream, "c.>"));
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "a.1"));
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "c.1"));
    bad_transform = true; /* an update that fails changes nothing */
    TEST_ASSERT_NOT_EQUAL(0, update(made.stream, "d"));
    bad_transform = false;
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "d"));
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "c.1"));
    refuse_rename = true; /* and a delete that fails gives them back */
    TEST_ASSERT_NOT_EQUAL(0, erase(made.stream).err_code);
    refuse_rename = false;
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "c.1"));
    catalog_delete(cat, made.stream, &t.op);
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "c.1")); /* at once */
    wait_for(&t);
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "c.1"));
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "b"));
}

static void test_subjects_of_loaded_streams_are_known(void)
{
    catalog_start();
    subject = "a.*";
    TEST_ASSERT_EQUAL_INT(0, make("A", 0).err_code);
    catalog_stop();
    catalog_start();
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "a.1"));
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "b"));
    catalog_stop();
    bad_transform = true; /* one that cannot be served has none */
    catalog_start();
    TEST_ASSERT_EQUAL_INT(0, meets("C", "x", "a.1"));
}

/* What a new one is compared with does not grow with them. */
static uint64_t steps;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q)
{
    int rc = __real_pattern_tree_join(a, b, q);

    steps += q->steps;
    return rc;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void test_a_new_stream_is_not_compared_with_each_other(void)
{
    char name[16], text[16];

    catalog_start();
    subject = text;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "S%d", i);
        snprintf(text, sizeof text, "s.%d.>", i);
        TEST_ASSERT_EQUAL_INT(0, make(name, 0).err_code);
        if (i != 9)
            continue;
        steps = 0;
        TEST_ASSERT_EQUAL_INT(0, meets("N", "n.>", "s.n"));
    }
    uint64_t few = steps;
    steps = 0;
    TEST_ASSERT_EQUAL_INT(0, meets("N", "n.>", "s.n"));
    TEST_ASSERT_EQUAL_UINT64(few, steps);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_making_asks_for_the_time_on_the_loop_only);
    RUN_TEST(test_left_over_of_a_stream_with_first_seq_is_removed);
    RUN_TEST(test_offline_stream_is_let_go_at_the_end);
    RUN_TEST(test_longest_name_can_be_made_and_is_there_after_a_restart);
    RUN_TEST(test_subjects_belong_to_a_stream_while_it_has_them);
    RUN_TEST(test_subjects_of_loaded_streams_are_known);
    RUN_TEST(test_a_new_stream_is_not_compared_with_each_other);
    RUN_TEST(test_folder_in_the_way_of_a_new_stream_is_left_alone);
    return UNITY_END();
}
