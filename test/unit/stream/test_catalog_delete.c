/* test_catalog_delete.c: deletes that the disk refuses, or that a stop overtakes. */
#include "support/catalog_fixture.h"

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

/* The server stops while a worker has renamed a folder and syncs it: the store's files are not
 * closed under it. */
static void stop_while_renaming(void)
{
    bool done = false;
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (!atomic_load(&held) && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(atomic_load(&held));
    catalog_close(cat, on_closed, &done);
    for (int64_t until = clock_mono_ns() + CLOCK_S / 5; clock_mono_ns() < until;)
        loop_turn(loop);
    TEST_ASSERT_FALSE(done);
    atomic_store(&held, false);
    while (!done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(done);
    cat = NULL;
}

static void test_stopping_waits_for_a_folder_that_is_renamed(void)
{
    struct told t = {.op.done = on_done};
    struct stream_config c;

    catalog_start();
    struct stream *s = make("S", 0).stream;
    atomic_store(&hold_sync, true);
    catalog_delete(cat, s, &t.op);
    stop_while_renaming();
    TEST_ASSERT_TRUE(t.done);
    t = (struct told){.op.done = on_done};
    catalog_start();
    stream_config_init(&c);
    unlimited(&c);
    c.name = arena_dup(&c.mem, MF_LIT("D"));
    catalog_create_draft(cat, &c, &t.op);
    wait_for(&t);
    s = t.stream;
    TEST_ASSERT_NOT_NULL(s);
    t = (struct told){.op.done = on_done};
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&c, stream_config(s)));
    atomic_store(&hold_sync, true);
    catalog_finish(cat, s, &c, &t.op);
    stream_config_fini(&c);
    stop_while_renaming();
    TEST_ASSERT_TRUE(t.done);
    catalog_start();
    TEST_ASSERT_NULL(catalog_find(cat, MF_LIT("S")));
    TEST_ASSERT_NOT_NULL(catalog_find(cat, MF_LIT("D")));
}

/* From the call on it is as if it were gone; where the disk refuses, it has everything back. */
static void test_delete_hides_the_stream_until_it_fails(void)
{
    struct told t = {.op.done = on_done};

    catalog_start();
    struct stream *s = make("S", 0).stream;
    refuse_rename = true;
    catalog_delete(cat, s, &t.op);
    TEST_ASSERT_NULL(catalog_find(cat, MF_LIT("S")));
    TEST_ASSERT_NULL(catalog_config(cat, MF_LIT("S")));
    TEST_ASSERT_EQUAL_size_t(0, catalog_count(cat));
    wait_for(&t);
    refuse_rename = false;
    TEST_ASSERT_EQUAL_PTR(s, catalog_find(cat, MF_LIT("S")));
    TEST_ASSERT_EQUAL_size_t(1, catalog_count(cat));
    TEST_ASSERT_EQUAL_INT(0, erase(s).err_code);
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

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_delete_that_fails_leaves_the_stream_in_service);
    RUN_TEST(test_delete_that_cannot_be_synced_leaves_the_stream_in_service);
    RUN_TEST(test_stopping_during_a_delete_ends_both);
    RUN_TEST(test_stopping_waits_for_a_folder_that_is_renamed);
    RUN_TEST(test_delete_hides_the_stream_until_it_fails);
    RUN_TEST(test_discarded_stream_is_offline_where_it_cannot_be_removed);
    return UNITY_END();
}
