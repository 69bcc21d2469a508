/* test_catalog_break.c: streams that fail half way: while they are made, deleted or loaded. */
#include "stream/stream_impl.h"

#include "mayfly/catalog.h"
#include "mayfly/clock.h"
#include "mayfly/store_folder.h"

#include "unity.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct loop *loop;
static struct catalog *cat;
static char dir[64];
static struct stream_usage account, server;
static uint64_t batches, fasts;
static pthread_t loop_thread;
static bool refuse_rename, bad_transform, elsewhere;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    if (refuse_rename) {
        errno = EIO;
        return -1;
    }
    return __real_rename(from, to);
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

/* The name alone is written. */
static int encode(const struct stream_config *c, struct mf_buf *out)
{
    mf_buf_puts(out, c->name);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

static int decode(struct mf_slice text, struct stream_config *c, struct mf_error *e)
{
    (void)e;
    c->name = arena_dup(&c->mem, text);
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
    struct catalog_opts o = {.dir = dir,
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
    snprintf(dir, sizeof dir, "/tmp/mayfly-catalog-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    host = host_start;
    host.loop = loop;
}

static int forget(void *arg, const char *name)
{
    struct mf_error e;

    (void)arg;
    return store_folder_remove(dir, name, &e);
}

void tearDown(void)
{
    struct mf_error e;

    if (cat != NULL)
        catalog_stop();
    refuse_rename = false;
    TEST_ASSERT_EQUAL_INT(0, store_folder_list(dir, forget, NULL, &e));
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
    c.name = arena_dup(&c.mem, mf_str(name));
    c.first_seq = first_seq;
    catalog_create(cat, &c, 0, &t.op);
    wait_for(&t);
    return t;
}

static void put_done(struct stream_publish *p, const struct stream_ack *a)
{
    (void)a;
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
    char path[128], draft[32];
    bool done = false;

    store_folder_draft(draft, sizeof draft, "S");
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

/* A delete that failed leaves its folder: a new stream of that name must not find old messages. */
static void test_messages_of_a_failed_delete_do_not_come_back_in_a_new_stream(void)
{
    struct told t = {.op.done = on_done};
    struct stream_state state;

    catalog_start();
    struct told made = make("S", 0);
    put(made.stream);
    refuse_rename = true;
    catalog_delete(cat, made.stream, &t.op);
    wait_for(&t);
    refuse_rename = false;
    TEST_ASSERT_NOT_EQUAL(0, t.err_code);
    made = make("S", 0);
    if (made.stream != NULL) {
        stream_state(made.stream, &state);
        TEST_ASSERT_EQUAL_UINT64(0, state.msgs);
    }
    catalog_stop();
    catalog_start(); /* and a restart shows what is there */
    TEST_ASSERT_NULL(catalog_offline(cat, MF_LIT("S")));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_making_asks_for_the_time_on_the_loop_only);
    RUN_TEST(test_left_over_of_a_stream_with_first_seq_is_removed);
    RUN_TEST(test_offline_stream_is_let_go_at_the_end);
    RUN_TEST(test_longest_name_can_be_made_and_is_there_after_a_restart);
    RUN_TEST(test_messages_of_a_failed_delete_do_not_come_back_in_a_new_stream);
    return UNITY_END();
}
