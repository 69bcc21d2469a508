/* test_catalog_nomem.c: memory runs out at every possible moment while streams are made, changed,
 * deleted and loaded: each is there as a whole or not at all, also after a restart. */
#include "stream/stream_impl.h"
#include "support/no_memory.h"

#include "stream/catalog.h"
#include "base/clock.h"
#include "store/store_folder.h"

#include "unity.h"

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
static struct stream_host host;

static int64_t now_ns(void *arg)
{
    (void)arg;
    return 1700000000 * CLOCK_S;
}

/* The name and max_msgs. */
static int encode(const struct stream_config *c, struct mf_buf *out)
{
    mf_buf_printf(out, "%s %lld", c->name, (long long)c->max_msgs);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

static int decode(struct mf_slice text, struct stream_config *c, struct mf_error *e)
{
    const uint8_t *blank = memchr(text.ptr, ' ', text.len);

    if (blank == NULL)
        return mf_fail(e, MF_CORRUPT, "no blank");
    c->name = arena_dup(&c->mem, mf_slice(text.ptr, (size_t)(blank - text.ptr)));
    c->max_msgs = blank[1] - '0';
    return c->name == NULL ? mf_fail(e, MF_NOMEM, "name") : 0;
}

static void nobody(void *arg, struct stream *s)
{
    (void)arg;
    (void)s;
}

static int try_start(struct mf_error *e)
{
    struct catalog_opts o = {.root = folder,
                             .dir = "",
                             .codec = {encode, decode},
                             .host = &host,
                             .added = nobody,
                             .changed = nobody,
                             .removed = nobody};

    return catalog_open(&cat, &o, e);
}

static void start(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_start(&e), e.text);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void turn_until(const bool *done)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (!*done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(*done);
}

static void stop(void)
{
    bool done = false;

    catalog_close(cat, on_closed, &done);
    turn_until(&done);
    cat = NULL;
}

void setUp(void)
{
    struct mf_error e;

    /* Hundreds of streams are made: in memory, where there is such a place. */
    snprintf(dir, sizeof dir, "%s/mayfly-catalog-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL_INT(0, store_folder_at(&folder, dir, &e));
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    loop_jobs_inline(loop); /* the nth allocation is the same in every run */
    host = (struct stream_host){.loop = loop,
                                .now_ns = now_ns,
                                .account = "$G",
                                .account_usage = &account,
                                .server_usage = &server,
                                .account_max = {-1, -1, -1},
                                .server_max = {-1, -1, -1},
                                .batches = &batches,
                                .fast_batches = &fasts};
}

static int forget(void *arg, const char *name)
{
    struct mf_error e;

    (void)arg;
    return store_folder_remove(folder, name, &e);
}

static void empty_dir(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, store_folder_list(folder, forget, NULL, &e));
}

void tearDown(void)
{
    fail_at = 0;
    if (cat != NULL)
        stop();
    empty_dir();
    store_folder_release(folder);
    rmdir(dir);
    loop_free(loop);
}

struct told {
    struct catalog_op op;
    bool done;
    struct stream *stream;
    int calls, err_code;
};

static void on_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct told *t = mf_container(op, struct told, op);

    t->done = true;
    t->calls++;
    t->stream = s;
    t->err_code = e == NULL ? 0 : e->err_code;
}

static void config(struct stream_config *c, const char *name, int64_t max_msgs, int storage)
{
    stream_config_init(c);
    c->name = arena_dup(&c->mem, mf_str(name));
    c->max_msgs = max_msgs;
    c->storage = storage;
    TEST_ASSERT_NOT_NULL(c->name);
}

/* While the nth allocation fails; 0: none does. */
static struct told make(const char *name, int storage, long n)
{
    struct told t = {.op.done = on_done};
    struct stream_config c;

    config(&c, name, 7, storage);
    allocations = 0;
    fail_at = n;
    catalog_create(cat, &c, 0, &t.op);
    turn_until(&t.done);
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT(1, t.calls);
    TEST_ASSERT_EQUAL(t.err_code == 0, t.stream != NULL);
    return t;
}

/* Whatever was answered is true, before and after a restart. */
static void made_or_not(int storage)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        start();
        struct told t = make("S", storage, n);
        hit = allocations >= n;
        TEST_ASSERT_FALSE(catalog_busy(cat, MF_LIT("S"), NULL));
        TEST_ASSERT_EQUAL_PTR(t.stream, catalog_find(cat, MF_LIT("S")));
        TEST_ASSERT_EQUAL_size_t(t.err_code == 0, catalog_count(cat));
        stop();
        start();
        if (storage == STORAGE_FILE)
            TEST_ASSERT_EQUAL(t.err_code == 0, catalog_find(cat, MF_LIT("S")) != NULL);
        TEST_ASSERT_NULL(catalog_offline(cat, MF_LIT("S")));
        if (catalog_find(cat, MF_LIT("S")) == NULL)
            TEST_ASSERT_EQUAL_INT(0, make("S", storage, 0).err_code); /* the name is free */
        stop();
        empty_dir();
    }
}

static void test_a_stream_is_made_or_not(void)
{
    made_or_not(STORAGE_FILE);
}

static void test_a_stream_in_memory_is_made_or_not(void)
{
    made_or_not(STORAGE_MEMORY);
}

static void test_a_change_is_made_or_not(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        struct told t = {.op.done = on_done};
        struct stream_config c;
        start();
        struct told made = make("S", STORAGE_FILE, 0);
        config(&c, "S", 9, STORAGE_FILE);
        allocations = 0;
        fail_at = n;
        catalog_update(cat, made.stream, &c, &t.op);
        turn_until(&t.done);
        hit = allocations >= n;
        fail_at = 0;
        stream_config_fini(&c); /* ours again if it failed */
        int64_t want = t.err_code == 0 ? 9 : 7;
        TEST_ASSERT_EQUAL_INT64(want, stream_config(made.stream)->max_msgs);
        stop();
        start();
        TEST_ASSERT_EQUAL_INT64(want, stream_config(catalog_find(cat, MF_LIT("S")))->max_msgs);
        stop();
        empty_dir();
    }
}

static void test_a_stream_is_deleted_whatever_happens(void)
{
    bool hit = true;

    for (long n = 1; hit; n++) {
        struct told t = {.op.done = on_done};
        start();
        struct told made = make("S", STORAGE_FILE, 0);
        allocations = 0;
        fail_at = n;
        catalog_delete(cat, made.stream, &t.op);
        turn_until(&t.done);
        hit = allocations >= n;
        fail_at = 0;
        TEST_ASSERT_EQUAL_INT(0, t.err_code);
        stop();
        start();
        TEST_ASSERT_EQUAL_size_t(0, catalog_count(cat));
        stop();
    }
}

/* What cannot be loaded for want of memory is listed and untouched; or the whole start fails. */
static void test_streams_are_loaded_or_stay_on_disk(void)
{
    bool hit = true;

    start();
    TEST_ASSERT_EQUAL_INT(0, make("A", STORAGE_FILE, 0).err_code);
    TEST_ASSERT_EQUAL_INT(0, make("B", STORAGE_FILE, 0).err_code);
    stop();
    for (long n = 1; hit; n++) {
        struct mf_error e;
        allocations = 0;
        fail_at = n;
        int rc = try_start(&e);
        hit = allocations >= n;
        fail_at = 0;
        if (rc == 0) {
            for (const char *name = "A"; name != NULL; name = *name == 'A' ? "B" : NULL)
                TEST_ASSERT_TRUE((catalog_find(cat, mf_str(name)) != NULL) !=
                                 (catalog_offline(cat, mf_str(name)) != NULL));
            stop();
        } else {
            TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
            cat = NULL;
        }
        start();
        TEST_ASSERT_EQUAL_size_t(2, catalog_count(cat));
        TEST_ASSERT_TRUE(catalog_find(cat, MF_LIT("A")) != NULL &&
                         catalog_find(cat, MF_LIT("B")) != NULL);
        stop();
    }
}

/* --- what lies there that is not a stream -------------------------------------------------- */

static void put_blob(struct store *st, const char *name, const char *text)
{
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(st, mf_str(name), mf_str(text), NULL));
}

/* A store in DIR/name with this as its configuration; NULL: none. */
static void lay(const char *name, const char *text)
{
    struct store_opts o = {.name = name};
    struct store_io *io;
    struct store *st;
    struct mf_error e;
    char path[128];
    bool done = false;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    TEST_ASSERT_EQUAL_INT(0, store_io_dir(&io, path, &e));
    TEST_ASSERT_EQUAL_INT(0, store_open(&st, &o, io, &e));
    TEST_ASSERT_EQUAL_INT(0, store_attach(st, loop, &e));
    if (text != NULL)
        put_blob(st, BLOB_CONFIG, text);
    store_close(st, on_closed, &done);
    turn_until(&done);
}

static unsigned listed;

static void count_offline(void *arg, const char *name, const char *reason)
{
    (void)arg;
    listed += name[0] != '\0' && reason[0] != '\0';
}

static void test_what_is_no_stream_is_left_alone_or_listed_with_the_reason(void)
{
    char path[128];
    struct stat st;

    lay("LOST", NULL);
    lay("OTHER", "ELSE 1");
    lay("ODD", "nonsense");
    lay("UNDATED", "UNDATED 1"); /* an older version may not have written when it was made */
    snprintf(path, sizeof path, "%s/no.stream", dir);
    TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
    start();
    TEST_ASSERT_NOT_NULL(strstr(catalog_offline(cat, MF_LIT("LOST")), "configuration is lost"));
    TEST_ASSERT_NOT_NULL(strstr(catalog_offline(cat, MF_LIT("OTHER")), "of another stream"));
    TEST_ASSERT_NOT_NULL(strstr(catalog_offline(cat, MF_LIT("ODD")), "no blank"));
    TEST_ASSERT_NULL(catalog_offline(cat, MF_LIT("no.stream")));
    TEST_ASSERT_NULL(catalog_offline(cat, MF_LIT("NONE")));
    struct stream *undated = catalog_find(cat, MF_LIT("UNDATED"));
    TEST_ASSERT_NOT_NULL(undated);
    TEST_ASSERT_EQUAL_INT64(0, stream_created_ns(undated));
    listed = 0;
    catalog_each_offline(cat, count_offline, NULL);
    TEST_ASSERT_EQUAL_UINT(3, listed);
    stop();
    TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
    TEST_ASSERT_EQUAL_INT(0, rmdir(path));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_stream_is_made_or_not);
    RUN_TEST(test_a_stream_in_memory_is_made_or_not);
    RUN_TEST(test_a_change_is_made_or_not);
    RUN_TEST(test_a_stream_is_deleted_whatever_happens);
    RUN_TEST(test_streams_are_loaded_or_stay_on_disk);
    RUN_TEST(test_what_is_no_stream_is_left_alone_or_listed_with_the_reason);
    return UNITY_END();
}
