/* test_store_lifecycle.c: opening, closing, failing; blobs. */
#include "support/store_fixture.h"

#include <stdlib.h>

/* --- failing ---------------------------------------------------------------------------------- */

/* After a failed sync nobody knows what is on disk: never again a promise, until it is read anew.
 */
static void test_a_failed_sync_makes_it_read_only(void)
{
    struct mark a, b;

    put("k", "v");
    fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_SYNC, .nth = 1, .code = MF_IO});
    TEST_ASSERT_EQUAL_INT(0, append(&a, "k", "w", 0));
    drive_turn(&d);
    int second = append(&b, "k", "x", 0);
    drive_idle(&d);
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    fault_io_disarm(d.io);
    TEST_ASSERT_EQUAL_INT(1, a.calls);
    TEST_ASSERT_NOT_EQUAL(0, a.status);
    TEST_ASSERT_TRUE(second == MF_READONLY || (b.calls == 1 && b.status != 0));
    TEST_ASSERT_NOT_NULL(store_error(d.store));
    TEST_ASSERT_EQUAL_INT(MF_READONLY, append(&b, "k", "x", 0));
    TEST_ASSERT_EQUAL_INT(MF_READONLY, store_remove(d.store, 1, NULL));
    TEST_ASSERT_EQUAL_INT(MF_READONLY, store_blob_put(d.store, MF_LIT("n"), MF_LIT("v"), NULL));
    assert_body(1, "v");
    assert_gone(2);
    drive_close(&d);
    drive_open(&d);
    assert_body(1, "v");
    TEST_ASSERT_NULL(store_error(d.store));
}

/* --- before a group goes ---------------------------------------------------------------------- */

static unsigned groups;

static void write_with_it(void *arg)
{
    uint8_t n = (uint8_t)++groups;

    (void)arg;
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("n"), mf_slice(&n, 1), NULL));
}

static void test_what_is_written_before_a_group_goes_is_part_of_it(void)
{
    struct mf_slice blob;
    uint64_t syncs;
    struct store_stats st;

    groups = 0;
    put("k", "v");
    drive_idle(&d);
    store_on_commit(d.store, write_with_it, NULL);
    store_stats(d.store, &st);
    syncs = st.groups;
    put("k", "w");
    drive_idle(&d);
    store_stats(d.store, &st);
    TEST_ASSERT_EQUAL_UINT(1, groups);
    TEST_ASSERT_EQUAL_UINT64(syncs + 1, st.groups);
    store_on_commit(d.store, NULL, NULL);
    put("k", "x");
    TEST_ASSERT_EQUAL_UINT(1, groups);
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_TRUE(store_blob_get(d.store, MF_LIT("n"), &blob));
    TEST_ASSERT_EQUAL_UINT(1, blob.ptr[0]);
}

static bool both_answered(void *arg)
{
    struct mark *m = arg;

    return m[0].calls == 1 && m[1].calls == 1;
}

static bool waits_for_room(void *arg)
{
    (void)arg;
    return store_full(d.store);
}

/* Memory comes back: a group that found none for the file it needs is written a little later.
 * Until then nothing gets in behind it; then all is as before. */
static void test_a_group_without_memory_for_its_segment_is_tried_again(void)
{
    static char body[40000];
    struct mark m[2], more;

    memset(body, 'x', sizeof body - 1);
    put("k", "v");
    /* More than one: whoever makes files ahead is the first who finds none. */
    fault_io_arm(d.io, &(struct fault_plan){
                           .kinds = FAULT_CREATE, .nth = 1, .code = MF_NOMEM, .forever = true});
    TEST_ASSERT_EQUAL_INT(0, append(&m[0], "k", body, 0));
    TEST_ASSERT_EQUAL_INT(0, append(&m[1], "k", body, 0));
    drive_until(&d, waits_for_room, NULL, "a group that waits");
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    TEST_ASSERT_EQUAL_INT(MF_FULL, append(&more, "k", "not behind it", 0));
    fault_io_disarm(d.io);
    drive_until(&d, both_answered, m, "both messages");
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m[0].status);
    TEST_ASSERT_EQUAL_INT(0, m[1].status);
    TEST_ASSERT_NULL(store_error(d.store));
    TEST_ASSERT_FALSE(store_full(d.store));
    put("k", "after it");
    TEST_ASSERT_EQUAL_UINT64(4, messages());
}

/* On a full disk a new value may find room where the removal of the old one does not: what belongs
 * to a batch that was begun may use the room that is kept for removals.  Else a key would have two
 * values, and the old one would be back when the new one goes. */
static void test_a_value_is_replaced_whole_or_refused_on_a_full_disk(void)
{
    static char body[400];
    uint64_t before = 1;
    struct mark m;

    put("k", "v");
    fault_io_budget(d.io, 200 * 1000);
    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < 10000 && append(&m, "others", body, 0) == 0; i++)
        drive_turn(&d);
    uint64_t others = m.a.seq == 0 ? messages() : 0;
    TEST_ASSERT_NOT_EQUAL(0, others);
    for (size_t n = sizeof body - 1, i = 0; n > 0 && i < 10000; i++) {
        body[n] = '\0';
        store_begin(d.store, false);
        int rc = append(&m, "k", body, 0);
        if (rc == 0)
            TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, before, NULL));
        TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
        if (rc == 0)
            before = m.a.seq;
        else
            n--; /* a smaller one may still fit */
        TEST_ASSERT_TRUE(rc == 0 || rc == MF_FULL);
        drive_turn(&d);
    }
    fault_io_budget(d.io, UINT64_MAX);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(others, messages());
}

static bool called(void *arg)
{
    return ((struct mark *)arg)->calls > 0;
}

/* Nothing of the group counts yet, so a full disk is only a pause: who waits hears nothing
 * until there is space, and then that it is stored. */
static void test_a_full_disk_is_waited_for(void)
{
    struct mark a, b;

    put("k", "v");
    fault_io_arm(
        d.io, &(struct fault_plan){
                  .kinds = FAULT_WRITE, .nth = 1, .code = MF_FULL, .forever = true, .half = true});
    TEST_ASSERT_EQUAL_INT(0, append(&a, "k", "w", 0));
    for (int i = 0; i < 20; i++)
        drive_turn(&d);
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    TEST_ASSERT_EQUAL_INT(0, a.calls);
    TEST_ASSERT_NULL(store_error(d.store));
    TEST_ASSERT_TRUE(store_full(d.store));
    assert_body(1, "v");
    assert_gone(2);
    /* What would have to wait behind it is refused, also what frees space. */
    TEST_ASSERT_EQUAL_INT(MF_FULL, append(&b, "k", "x", 0));
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_remove(d.store, 1, NULL));
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_remove_range(d.store, 1, 2, NULL));
    fault_io_disarm(d.io);
    drive_until(&d, called, &a, "space that came back");
    TEST_ASSERT_EQUAL_INT(0, a.status);
    TEST_ASSERT_FALSE(store_full(d.store));
    put("k", "x");
    drive_abandon(&d);
    drive_open(&d);
    assert_body(2, "w");
    assert_body(3, "x");
}

/* --- life ------------------------------------------------------------------------------------- */

static void test_closing_commits_what_was_accepted(void)
{
    static struct mark m[50];

    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_INT(0, append(&m[i], "k", "v", 0));
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(50, m[49].order);
    TEST_ASSERT_EQUAL_INT(0, m[49].status);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(50, messages());
    assert_body(50, "v");
}

static void on_closed(void *arg)
{
    ++*(int *)arg;
}

static void test_a_closing_store_takes_no_writes(void)
{
    struct mark m;
    int closed = 0;

    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "v", 0));
    store_close(d.store, on_closed, &closed);
    if (closed == 0) {
        TEST_ASSERT_EQUAL_INT(MF_CLOSED, store_remove(d.store, 1, NULL));
        TEST_ASSERT_EQUAL_INT(MF_CLOSED, store_blob_put(d.store, MF_LIT("n"), MF_LIT("v"), NULL));
    }
    for (int i = 0; i < 10000 && closed == 0; i++)
        drive_turn(&d);
    d.store = NULL;
    TEST_ASSERT_EQUAL_INT(1, closed);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    drive_open(&d);
}

static void test_an_abandoned_store_keeps_what_was_committed(void)
{
    put("k", "v");
    put("k", "w");
    drive_abandon(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(2, messages());
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    TEST_ASSERT_EQUAL_UINT64(3, put("k", "x"));
}

/* Recovery runs on a worker before the store has a loop; reading works from then on. */
static void test_a_store_without_a_loop_can_be_read(void)
{
    struct store *s;
    struct mark m;
    int closed = 0;

    put("k", "v");
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(0, store_open(&s, &d.opts, d.io, NULL));
    d.store = s;
    assert_body(1, "v");
    TEST_ASSERT_NOT_EQUAL(0, append(&m, "k", "v", 0));
    store_close(s, on_closed, &closed);
    TEST_ASSERT_EQUAL_INT(1, closed);
    d.store = NULL;
    drive_open(&d);
    assert_body(1, "v");
}

static void test_a_store_in_use_is_refused(void)
{
    struct store *s;
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(MF_EXISTS, store_open(&s, &d.opts, d.io, &e));
    put("k", "v"); /* and the first one goes on */
}

/* Memory storage is the same code; without a checkpoint there is nothing to restart from. */
static void test_memory_mode_stores_and_forgets(void)
{
    struct store_stats stats;

    drive_fini(&d);
    start((struct store_opts){.sync = STORE_SYNC_NEVER, .no_checkpoint = true});
    for (int i = 0; i < 1000; i++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 500, 0, 0));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(1000, messages());
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 1000, NULL));
    drive_idle(&d);
    store_stats(d.store, &stats);
    TEST_ASSERT_EQUAL_UINT64(0, stats.syncs);
    TEST_ASSERT_EQUAL_UINT64(0, stats.checkpoints);
}

/* --- blobs
 * ------------------------------------------------------------------------------------ */

static void count_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    (void)name, (void)bytes;
    ++*(int *)arg;
}

static void assert_blob(const char *name, const char *value)
{
    struct mf_slice v;

    TEST_ASSERT_EQUAL_INT(value != NULL, store_blob_get(d.store, mf_str(name), &v));
    TEST_ASSERT_TRUE(value == NULL || mf_eq_str(v, value));
}

static void test_blobs_are_replaced_deleted_and_kept(void)
{
    struct mark m;
    int n = 0;

    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("a"), MF_LIT("1"), NULL));
    assert_blob("a", "1"); /* the latest accepted, on disk or not */
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("a"), MF_LIT("2"), NULL));
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("b"), MF_SLICE_NONE, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("c"), MF_LIT("3"), NULL));
    TEST_ASSERT_EQUAL_INT(0, store_blob_del(d.store, MF_LIT("c"), wait(&m)));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_blob_del(d.store, MF_LIT("c"), NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    for (int i = 0; i < 3; i++) {
        assert_blob("a", "2");
        assert_blob("b", "");
        assert_blob("c", NULL);
        n = 0;
        store_blob_each(d.store, count_blob, &n);
        TEST_ASSERT_EQUAL_INT(2, n);
        if (i == 1) /* once from the checkpoint, once from the log */
            drive_abandon(&d);
        else
            drive_close(&d);
        drive_open(&d);
    }
}

/* They are alive as messages are: where nearly all that is alive are blobs, carrying them from the
 * first segment to the last gains nothing, and would never end. */
static void test_blobs_larger_than_a_segment_are_left_where_they_are(void)
{
    static char large[5000];
    struct store_stats then, now;
    char name[16];

    drive_fini(&d);
    start((struct store_opts){.segment_min = 16384, .segment_max = 16384, .name = "blobs"});
    memset(large, 'x', sizeof large);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 12; i++) {
            snprintf(name, sizeof name, "b%d", i);
            TEST_ASSERT_EQUAL_INT(
                0, store_blob_put(d.store, mf_str(name), mf_slice(large, sizeof large), NULL));
            put("k", "v");
        }
    for (int i = 0; i < 5000 && !store_idle(d.store); i++)
        drive_turn(&d);
    store_stats(d.store, &then);
    for (int i = 0; i < 5000; i++)
        drive_turn(&d);
    store_stats(d.store, &now);
    TEST_ASSERT_EQUAL_UINT64(then.segments_freed, now.segments_freed);
    TEST_ASSERT_TRUE(store_idle(d.store));
    TEST_ASSERT_TRUE(now.segments_freed > 0); /* what was replaced is given up */
}

/* --- giving up segments ----------------------------------------------------------------------- */

#define SLICE 262144 /* the cleaner reads so much at a time */

/* Two segments of small messages, of the first only those around the end of the slice alive. */
static void fill_around_a_slice(int shift)
{
    static char first[256];
    static struct mark marks[6000];

    drive_fini(&d);
    start((struct store_opts){
        .segment_min = SLICE + 40960, .segment_max = SLICE + 40960, .name = "slice"});
    memset(first, 'x', sizeof first);
    first[(size_t)shift * 8] = '\0';
    for (int i = 0; i < 6000; i++) {
        TEST_ASSERT_EQUAL_INT(0, append(&marks[i], "k", i == 0 ? first : "v", 0));
        if (i % 1000 == 0)
            drive_idle(&d);
    }
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 4000, NULL));
    drive_idle(&d);
}

/* Whatever lies across the end of what was read is read with the next slice, be it the first few
 * bytes of a record: a message left behind there kept its segment, and all after it, for ever. */
static void test_a_message_across_the_end_of_a_slice_is_copied(void)
{
    struct store_stats st;

    for (int shift = 0; shift < 9; shift++) {
        fill_around_a_slice(shift);
        store_stats(d.store, &st);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(1, st.segments_freed, "segments given up");
        TEST_ASSERT_EQUAL_UINT64(2000, messages());
        for (uint64_t seq = 4001; seq <= 6000; seq++)
            assert_body(seq, "v");
    }
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_a_failed_sync_makes_it_read_only);
    RUN_TEST(test_what_is_written_before_a_group_goes_is_part_of_it);
    RUN_TEST(test_a_group_without_memory_for_its_segment_is_tried_again);
    RUN_TEST(test_a_value_is_replaced_whole_or_refused_on_a_full_disk);
    RUN_TEST(test_a_full_disk_is_waited_for);
    RUN_TEST(test_closing_commits_what_was_accepted);
    RUN_TEST(test_a_closing_store_takes_no_writes);
    RUN_TEST(test_an_abandoned_store_keeps_what_was_committed);
    RUN_TEST(test_a_store_without_a_loop_can_be_read);
    RUN_TEST(test_a_store_in_use_is_refused);
    RUN_TEST(test_memory_mode_stores_and_forgets);
    RUN_TEST(test_blobs_are_replaced_deleted_and_kept);
    RUN_TEST(test_blobs_larger_than_a_segment_are_left_where_they_are);
    RUN_TEST(test_a_message_across_the_end_of_a_slice_is_copied);
    return UNITY_END();
}
