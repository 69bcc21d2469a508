/* test_catalog_break.c: streams that fail half way: while they are made, deleted or loaded. */
#include "stream/stream_impl.h"

#include "mayfly/catalog.h"
#include "mayfly/clock.h"
#include "mayfly/pattern_set.h"
#include "mayfly/store_folder.h"

#include "support/config_rows.h"

#include "unity.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct loop *loop;
static struct catalog *cat;
static char dir[64];
static struct store_folder *folder; /* dir */
static struct stream_usage account, server;
static uint64_t batches, fasts;
static pthread_t loop_thread;
static unsigned refuse_syncs; /* so many calls */
static bool refuse_rename, bad_transform, elsewhere;
static const char *subject; /* of streams that are made and loaded; NULL: none */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to)
{
    if (refuse_rename) {
        errno = EIO;
        return -1;
    }
    return __real_renameat(a, from, b, to);
}
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    if (refuse_syncs > 0) {
        refuse_syncs--;
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static int64_t now_ns(void *arg)
{
    (void)arg;
    elsewhere |= !pthread_equal(pthread_self(), loop_thread);
    return 1700000000 * CLOCK_S;
}

static const struct stream_host host_start = {.now_ns = now_ns,
                                              .account = "$G",
                                              .account_usage = &account,
                                              .server_usage = &server,
                                              .account_max = {-1, -1},
                                              .server_max = {-1, -1},
                                              .batches = &batches,
                                              .fast_batches = &fasts};
static struct stream_host host;

static void unlimited(struct stream_config *c)
{
    c->max_msgs = c->max_bytes = c->max_msgs_per_subject = c->max_msg_size = -1;
}

/* The name alone is written. */
static int encode(const struct stream_config *c, struct mf_buf *out)
{
    mf_buf_puts(out, c->name);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

static void put_subject(struct stream_config *c)
{
    if (subject == NULL)
        return;
    c->subjects.at = arena_alloc(&c->mem, sizeof(char *));
    c->subjects.at[0] = arena_str(&c->mem, subject);
    c->subjects.n = 1;
}

static int decode(struct mf_slice text, struct stream_config *c, struct mf_error *e)
{
    (void)e;
    unlimited(c);
    c->name = arena_dup(&c->mem, text);
    put_subject(c);
    if (bad_transform) {
        c->subject_transform = arena_alloc(&c->mem, sizeof *c->subject_transform);
        *c->subject_transform = (struct stream_mapping){0};
        c->subject_transform->src = arena_dup(&c->mem, MF_LIT("a.*"));
        c->subject_transform->dest = arena_dup(&c->mem, MF_LIT("b.{{wildcard(7)}}"));
    }
    return 0;
}

static void nobody(void *arg, struct stream *s)
{
    (void)arg;
    (void)s;
}

static void catalog_start(void)
{
    struct catalog_opts o = {.root = folder,
                             .dir = "",
                             .codec = {encode, decode},
                             .host = &host,
                             .added = nobody,
                             .changed = nobody,
                             .removed = nobody};
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, catalog_open(&cat, &o, &e), e.text);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void catalog_stop(void)
{
    bool done = false;
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    catalog_close(cat, on_closed, &done);
    while (!done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(done);
    cat = NULL;
}

void setUp(void)
{
    struct mf_error e;

    loop_thread = pthread_self();
    refuse_rename = bad_transform = elsewhere = false;
    subject = NULL;
    refuse_syncs = 0;
    snprintf(dir, sizeof dir, "/tmp/mayfly-catalog-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL_INT(0, store_folder_at(&folder, dir, &e));
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    host = host_start;
    host.loop = loop;
}

static int forget(void *arg, const char *name)
{
    struct mf_error e;

    (void)arg;
    return store_folder_remove(folder, name, &e);
}

void tearDown(void)
{
    struct mf_error e;

    if (cat != NULL)
        catalog_stop();
    refuse_rename = false;
    TEST_ASSERT_EQUAL_INT(0, store_folder_list(folder, forget, NULL, &e));
    store_folder_release(folder);
    rmdir(dir);
    loop_free(loop);
}

struct told {
    struct catalog_op op;
    bool done;
    struct stream *stream;
    int err_code;
};

static void on_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct told *t = mf_container(op, struct told, op);

    t->done = true;
    t->stream = s;
    t->err_code = e == NULL ? 0 : e->err_code;
}

static void wait_for(struct told *t)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (!t->done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(t->done);
}

static struct told make(const char *name, uint64_t first_seq)
{
    struct told t = {.op.done = on_done};
    struct stream_config c;

    stream_config_init(&c);
    unlimited(&c);
    c.name = arena_dup(&c.mem, mf_str(name));
    c.first_seq = first_seq;
    put_subject(&c);
    catalog_create(cat, &c, 0, &t.op);
    wait_for(&t);
    return t;
}

static void put_done(struct stream_publish *p, const struct stream_ack *a)
{
    TEST_ASSERT_NULL_MESSAGE(a->error, a->error == NULL ? "" : a->error->text);
    p->done = NULL;
}

static void put(struct stream *s)
{
    struct stream_publish p = {.msg = {.subject = MF_LIT("a"), .payload = MF_LIT("x")},
                               .done = put_done};

    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    stream_publish(s, &p);
    while (p.done != NULL && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_NULL(p.done);
}

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

    store_folder_draft(draft, "S");
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

static struct told erase(struct stream *s)
{
    struct told t = {.op.done = on_done};

    catalog_delete(cat, s, &t.op);
    wait_for(&t);
    return t;
}

static uint64_t messages(struct stream *s)
{
    struct stream_state state;

    stream_state(s, &state);
    return state.msgs;
}

/* A stream that cannot be deleted is there and takes messages; later it can be deleted. */
static void test_delete_that_fails_leaves_the_stream_in_service(void)
{
    catalog_start();
    struct stream *s = make("S", 0).stream;
    put(s);
    refuse_rename = true;
    TEST_ASSERT_NOT_EQUAL(0, erase(s).err_code);
    refuse_rename = false;
    TEST_ASSERT_EQUAL_PTR(s, catalog_find(cat, MF_LIT("S")));
    put(s);
    TEST_ASSERT_EQUAL_UINT64(2, messages(s));
    catalog_stop();
    catalog_start();
    s = catalog_find(cat, MF_LIT("S"));
    TEST_ASSERT_NOT_NULL(s);
    TEST_ASSERT_EQUAL_UINT64(2, messages(s));
    TEST_ASSERT_EQUAL_INT(0, erase(s).err_code);
    TEST_ASSERT_NULL(catalog_find(cat, MF_LIT("S")));
    struct told made = make("S", 0);
    TEST_ASSERT_EQUAL_UINT64(0, messages(made.stream));
}

/* Renamed, but not known to be on disk: it gets its name back.  Where that is not certain either,
 * it has its name and is served: a power cut may only take a stream whose delete was tried. */
static void test_delete_that_cannot_be_synced_leaves_the_stream_in_service(void)
{
    for (unsigned n = 1; n <= 2; n++) {
        catalog_start();
        struct stream *s = make("S", 0).stream;
        put(s);
        refuse_syncs = n;
        TEST_ASSERT_NOT_EQUAL(0, erase(s).err_code);
        refuse_syncs = 0;
        TEST_ASSERT_EQUAL_PTR(s, catalog_find(cat, MF_LIT("S")));
        put(s);
        catalog_stop();
        catalog_start();
        s = catalog_find(cat, MF_LIT("S"));
        TEST_ASSERT_NOT_NULL(s);
        TEST_ASSERT_EQUAL_UINT64(2, messages(s));
        TEST_ASSERT_EQUAL_INT(0, erase(s).err_code);
        catalog_stop();
    }
}

/* The server stops while a worker renames the folder: whoever waits is answered, and the stream is
 * closed, deleted or not. */
static void test_stopping_during_a_delete_ends_both(void)
{
    for (int fails = 0; fails <= 1; fails++) {
        struct told t = {.op.done = on_done};
        catalog_start();
        struct stream *s = make("S", 0).stream;
        put(s);
        refuse_rename = fails;
        catalog_delete(cat, s, &t.op);
        catalog_stop();
        refuse_rename = false;
        TEST_ASSERT_TRUE(t.done);
        TEST_ASSERT_EQUAL(fails, t.err_code != 0);
        catalog_start();
        s = catalog_find(cat, MF_LIT("S"));
        TEST_ASSERT_EQUAL(fails, s != NULL);
        if (s != NULL)
            TEST_ASSERT_EQUAL_INT(0, erase(s).err_code);
        catalog_stop();
    }
}

/* A stream nobody may see is not found from the call on, also where it cannot be removed: then it
 * is listed with the reason until the next start. */
static void test_discarded_stream_is_offline_where_it_cannot_be_removed(void)
{
    struct told t = {.op.done = on_done};

    catalog_start();
    struct stream *s = make("S", 0).stream;
    refuse_rename = true;
    catalog_discard(cat, s, &t.op);
    TEST_ASSERT_NULL(catalog_find(cat, MF_LIT("S")));
    wait_for(&t);
    refuse_rename = false;
    TEST_ASSERT_NOT_EQUAL(0, t.err_code);
    TEST_ASSERT_NOT_NULL(catalog_offline(cat, MF_LIT("S")));
    catalog_stop();
    catalog_start();
    s = catalog_find(cat, MF_LIT("S"));
    TEST_ASSERT_NOT_NULL(s);
    t = (struct told){.op.done = on_done};
    catalog_discard(cat, s, &t.op);
    wait_for(&t);
    TEST_ASSERT_EQUAL_INT(0, t.err_code);
    TEST_ASSERT_EQUAL_INT(0, make("S", 0).err_code);
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
    catalog_delete(cat, made.stream, &t.op);
    TEST_ASSERT_EQUAL_INT(1, meets("C", "x", "c.1")); /* until it is out of service */
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
    RUN_TEST(test_delete_that_fails_leaves_the_stream_in_service);
    RUN_TEST(test_delete_that_cannot_be_synced_leaves_the_stream_in_service);
    RUN_TEST(test_stopping_during_a_delete_ends_both);
    RUN_TEST(test_discarded_stream_is_offline_where_it_cannot_be_removed);
    RUN_TEST(test_folder_in_the_way_of_a_new_stream_is_left_alone);
    return UNITY_END();
}
