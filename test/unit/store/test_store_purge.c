/* test_store_purge.c: removing everything: what writers and readers see meanwhile, and what is left
 * of it. */
#include "store/store_impl.h"
#include "support/store_fixture.h"

#include "base/clock.h"

#define MANY 10000

static void fill(int n)
{
    char key[16];

    for (int i = 1; i <= n; i++) {
        snprintf(key, sizeof key, "k.%d", i % 50);
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, key, 0, 20, 0, 0));
        if (i % 200 == 0)
            drive_turn(&d);
    }
    drive_idle(&d);
}
static struct store_state state(void)
{
    struct store_state st;

    store_state(d.store, &st);
    return st;
}
static uint64_t accepted_msgs(void)
{
    uint64_t msgs, bytes, last;

    store_accepted(d.store, &msgs, &bytes, &last);
    return msgs;
}
static uint64_t cursor_count(const char *pattern)
{
    struct store_cursor *c;
    uint64_t n = 0;
    bool more;

    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, mf_str(pattern), STORE_ALL, 0));
    while (store_cursor_next(c, &more) != 0 || more)
        n++;
    store_cursor_free(c);
    return n;
}
static uint64_t keys_count_seen(void)
{
    struct store_keys *k = store_keys_new(d.store, MF_LIT("k.*"));
    struct mf_slice key;
    struct store_key of;
    uint64_t n = 0;

    TEST_ASSERT_NOT_NULL(k);
    while (store_keys_next(k, &key, &of))
        n++;
    store_keys_free(k);
    return n;
}

/* Who checks before writing sees an empty store at once; who reads sees all of it until the removal
 * is on disk, and what was written meanwhile only then. */
static void test_writers_see_it_at_once_readers_when_it_is_on_disk(void)
{
    struct mark m, after;
    struct store_key k;
    uint64_t count;

    fill(500);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 500, wait(&m)));
    TEST_ASSERT_EQUAL_INT(0, append(&after, "k.7", "new", 0));
    TEST_ASSERT_EQUAL_UINT64(1, accepted_msgs());
    TEST_ASSERT_EQUAL_UINT64(501, store_first_accepted(d.store));
    TEST_ASSERT_EQUAL_UINT64(501, store_key_last_accepted(d.store, MF_LIT("k.7"), &count));
    TEST_ASSERT_EQUAL_UINT64(1, count);
    TEST_ASSERT_EQUAL_UINT64(0, store_key_last_accepted(d.store, MF_LIT("k.8"), &count));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 9, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 9, 5, 0, NULL));
    while (m.calls == 0) {
        TEST_ASSERT_EQUAL_UINT64(500, state().msgs);
        TEST_ASSERT_EQUAL_UINT64(50, state().keys);
        TEST_ASSERT_EQUAL_UINT64(500, cursor_count(">"));
        TEST_ASSERT_EQUAL_UINT64(10, cursor_count("k.7"));
        TEST_ASSERT_EQUAL_UINT64(500, cursor_count("k.*"));
        TEST_ASSERT_EQUAL_UINT64(50, keys_count_seen());
        TEST_ASSERT_TRUE(store_key(d.store, MF_LIT("k.7"), &k) && k.count == 10);
        TEST_ASSERT_EQUAL_UINT64(500, store_prev(d.store, 1000));
        drive_turn(&d);
    }
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(1, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(1, state().keys);
    TEST_ASSERT_EQUAL_UINT64(501, store_next(d.store, 0));
    TEST_ASSERT_EQUAL_UINT64(1, cursor_count("k.*"));
    assert_gone(500);
    assert_body(501, "new");
    drive_abandon(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(1, state().msgs);
    assert_body(501, "new");
}

/* A removal that was on its way when the purge came: when it is on disk, nobody may read it, even
 * if the purge is not there yet. */
static struct mark one;
static void remove_seven(struct store_wait *w, int status)
{
    (void)w;
    TEST_ASSERT_EQUAL_INT(0, status);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 7, wait(&one)));
}
static void test_a_removal_before_it_counts_when_it_is_on_disk(void)
{
    struct mark first, all;
    bool between = false;

    fill(100);
    one = (struct mark){.calls = -1};
    wait(&first)->done = remove_seven; /* so that it is with the worker when the turn ends */
    TEST_ASSERT_EQUAL_INT(0, store_barrier(d.store, &first.a.wait));
    while (one.calls == -1)
        drive_turn(&d);
    TEST_ASSERT_EQUAL_INT(0, one.calls);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 100, wait(&all)));
    while (all.calls == 0) {
        if (one.calls == 1) {
            between = true;
            assert_gone(7);
            TEST_ASSERT_EQUAL_UINT64(99, state().msgs);
            TEST_ASSERT_EQUAL_UINT64(8, store_next(d.store, 7));
        }
        drive_turn(&d);
    }
    TEST_ASSERT_TRUE(between);
    TEST_ASSERT_EQUAL_UINT64(0, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(0, accepted_msgs());
}

/* The disk fails: nothing was promised, and what is there stays readable. */
static void test_a_purge_that_fails_leaves_all_to_readers(void)
{
    struct mark m;

    fill(100);
    fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_SYNC, .nth = 1, .code = MF_IO});
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 100, wait(&m)));
    while (m.calls == 0)
        drive_turn(&d);
    TEST_ASSERT_EQUAL_INT(MF_READONLY, m.status);
    TEST_ASSERT_EQUAL_UINT64(100, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(100, cursor_count(">"));
    fault_io_disarm(d.io);
}

/* Twice in a row, and in the middle of writing: each takes what was there when it came. */
static void test_purges_one_after_the_other_take_what_is_there(void)
{
    struct mark m[3];

    fill(MANY);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, MANY, wait(&m[0])));
    for (int i = 0; i < 40; i++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k.1", 0, 1, 0, 0));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, MANY + 40, wait(&m[1])));
    TEST_ASSERT_EQUAL_UINT64(0, accepted_msgs());
    TEST_ASSERT_EQUAL_INT(0, append(&m[2], "k.1", "last", 0));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(1, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(1, accepted_msgs());
    assert_body(MANY + 41, "last");
    d.model.accepted.last_seq = MANY + 41;
    fill(200);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, MANY + 500, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(0, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(0, state().keys);
}

/* Lengths of long messages are kept beside the index: those of the old ones go, and many at once.
 */
static void put_long(size_t len)
{
    static uint8_t bytes[1200000];
    struct store_append a = {.key = MF_LIT("long"), .body = mf_slice(bytes, len)};

    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    drive_idle(&d);
}
static void test_long_messages_are_counted_right_afterwards(void)
{
    enum { LONG = 1200000, N = 24 };
    struct mark m;

    drive_fini(&d);
    start((struct store_opts){.segment_max = 4u << 20});
    for (int i = 0; i < N; i++)
        put_long(LONG - (size_t)i);
    TEST_ASSERT_EQUAL_UINT64(N * (LONG + 4) - N * (N - 1) / 2, state().bytes);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, N, wait(&m)));
    put_long(LONG);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_UINT64(LONG + 4, state().bytes);
    TEST_ASSERT_EQUAL_UINT64(N + 1, store_next(d.store, 0));
}

/* One that is past its deadline and not swept yet is before the first that can be seen: a purge
 * from there on must leave it to store_expire(), which may owe it a marker. */
static void test_what_is_overdue_before_the_range_still_expires(void)
{
    struct mark m;
    bool more;

    TEST_ASSERT_EQUAL_INT(0, append(&m, "a", "x", 500));
    drive_idle(&d);
    d.model.accepted.last_seq = 1;
    fill(100);
    store_now(d.store, 1000);
    TEST_ASSERT_EQUAL_UINT64(2, store_next(d.store, 0));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 2, 101, NULL));
    TEST_ASSERT_EQUAL_UINT64(1, accepted_msgs());
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(1, store_expire(d.store, 1000, 10, NULL, NULL, &more));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(0, accepted_msgs());
}

/* What is on its way out is still read, and still dies at its time. */
static void test_readers_need_the_clock_until_it_is_on_disk(void)
{
    static struct mark m[100];
    struct mark purge;

    for (size_t i = 0; i < MF_COUNT(m); i++)
        TEST_ASSERT_EQUAL_INT(0, append(&m[i], "k", "v", INT64_MAX / 2));
    drive_idle(&d);
    TEST_ASSERT_TRUE(store_has_deadlines(d.store));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, MF_COUNT(m), wait(&purge)));
    while (purge.calls == 0) {
        TEST_ASSERT_EQUAL_UINT64(MF_COUNT(m), state().msgs);
        TEST_ASSERT_TRUE(store_has_deadlines(d.store));
        drive_turn(&d);
    }
    drive_idle(&d);
    TEST_ASSERT_FALSE(store_has_deadlines(d.store));
}

/* A large set of keys is freed in another thread: who walked over it is at the end as soon as the
 * purge is there, and does not go on in what is being freed. */
static struct store_keys *walk;
static int walked_on;
static void walk_on(struct store_wait *w, int status)
{
    struct mf_slice key;
    struct store_key of;

    (void)w;
    TEST_ASSERT_EQUAL_INT(0, status);
    walked_on = store_keys_next(walk, &key, &of) ? 1 : 0;
}
static void test_a_walk_over_keys_ends_with_the_purge(void)
{
    struct store_wait w = {.done = walk_on};
    struct mf_slice key;
    struct store_key of;

    fill(MANY);
    walk = store_keys_new(d.store, MF_LIT("k.*"));
    TEST_ASSERT_NOT_NULL(walk);
    TEST_ASSERT_TRUE(store_keys_next(walk, &key, &of));
    walked_on = -1;
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, MANY, &w));
    fill(100);
    TEST_ASSERT_EQUAL_INT(0, walked_on);
    store_keys_free(walk);
    TEST_ASSERT_EQUAL_UINT64(50, keys_count_seen());
}

/* Memory comes back, and so do the disk's large segments, without another write to wake the store.
 */
static bool is_small(void *arg)
{
    (void)arg;
    return state().disk_bytes <= 4 * (64u << 10) && store_idle(d.store);
}
static void test_memory_and_disk_come_back(void)
{
    struct store_stats before, after;

    drive_fini(&d);
    start((struct store_opts){.segment_max = 4u << 20});
    store_stats(d.store, &before);
    for (int i = 0; i < 3000; i++) {
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 1000, 0, 0));
        if (i % 100 == 0)
            drive_idle(&d);
    }
    drive_idle(&d);
    TEST_ASSERT_GREATER_THAN_UINT64(1u << 20, state().disk_bytes);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 3000, NULL));
    drive_until(&d, is_small, NULL, "disk use to shrink");
    store_stats(d.store, &after);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(before.index_bytes + 4096, after.index_bytes);
}

/* --- everything but the newest: a roll-up ----------------------------------------------------- */

/* n messages and the removal of all before them, in one batch. */
static void roll_up(int n, const char *fmt)
{
    uint64_t msgs, bytes, last, first = store_first_accepted(d.store);
    char key[16];

    store_accepted(d.store, &msgs, &bytes, &last);
    drive_begin(&d, false);
    TEST_ASSERT_EQUAL_INT(0, store_reserve(d.store, 1));
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, fmt, i); /* NOLINT: a literal of this file */
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, key, 0, 20, i == 1 ? d.now_ns + CLOCK_S : 0, 1));
    }
    TEST_ASSERT_EQUAL_INT(0, drive_range(&d, first, last));
    TEST_ASSERT_EQUAL_INT(0, drive_end(&d));
}

static void assert_rolled_up(uint64_t n, uint64_t last)
{
    struct store_state st = state();

    TEST_ASSERT_EQUAL_UINT64(n, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(n, st.keys);
    TEST_ASSERT_EQUAL_UINT64(n, st.flagged[0]);
    TEST_ASSERT_EQUAL_UINT64(n > 1, st.deadlines);
    TEST_ASSERT_EQUAL_UINT64(last - n + 1, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(last, st.last_seq);
    TEST_ASSERT_EQUAL_UINT64(n, accepted_msgs());
    TEST_ASSERT_EQUAL_UINT64(n, cursor_count("k.*"));
    TEST_ASSERT_EQUAL_UINT64(n, keys_count_seen());
    assert_gone(last - n);
}

static void test_a_roll_up_of_everything_touches_no_message_that_goes(void)
{
    static const int sizes[] = {1, 5};

    for (size_t i = 0; i < MF_COUNT(sizes); i++) {
        uint64_t n = (uint64_t)sizes[i], before, last;
        fill(MANY);
        before = state().msgs;
        last = store_last_seq(d.store);
        roll_up(sizes[i], i == 0 ? "k.%d" : "k.new%d");
        TEST_ASSERT_EQUAL_size_t(n, index_count(d.store->ix)); /* the others went as a whole */
        TEST_ASSERT_EQUAL_UINT64(n, accepted_msgs());
        while (store_last_seq(d.store) == last) {
            TEST_ASSERT_EQUAL_UINT64(before, state().msgs);
            TEST_ASSERT_EQUAL_UINT64(50, state().keys);
            TEST_ASSERT_EQUAL_UINT64(before, cursor_count(">"));
            TEST_ASSERT_EQUAL_UINT64(last, store_prev(d.store, UINT64_MAX));
            drive_turn(&d);
        }
        drive_idle(&d);
        assert_rolled_up(n, last + n);
        index_check(d.store->ix);
        drive_abandon(&d);
        drive_open(&d);
        assert_rolled_up(n, last + n);
        TEST_ASSERT_EQUAL_INT(0, drive_range(&d, 1, last + n));
        drive_idle(&d);
    }
}

/* A roll-up while an earlier one is on its way to disk, and messages between them. */
static void test_roll_ups_one_after_the_other_leave_the_last(void)
{
    fill(MANY);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 40; k++)
            TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k.between", 0, 20, 0, 0));
        roll_up(1, "k.all%d");
        TEST_ASSERT_EQUAL_UINT64(1, accepted_msgs());
    }
    drive_idle(&d);
    assert_rolled_up(1, MANY + 123);
    drive_abandon(&d);
    drive_open(&d);
    assert_rolled_up(1, MANY + 123);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_writers_see_it_at_once_readers_when_it_is_on_disk);
    RUN_TEST(test_a_removal_before_it_counts_when_it_is_on_disk);
    RUN_TEST(test_a_purge_that_fails_leaves_all_to_readers);
    RUN_TEST(test_purges_one_after_the_other_take_what_is_there);
    RUN_TEST(test_long_messages_are_counted_right_afterwards);
    RUN_TEST(test_what_is_overdue_before_the_range_still_expires);
    RUN_TEST(test_readers_need_the_clock_until_it_is_on_disk);
    RUN_TEST(test_a_walk_over_keys_ends_with_the_purge);
    RUN_TEST(test_memory_and_disk_come_back);
    RUN_TEST(test_a_roll_up_of_everything_touches_no_message_that_goes);
    RUN_TEST(test_roll_ups_one_after_the_other_leave_the_last);
    return UNITY_END();
}
