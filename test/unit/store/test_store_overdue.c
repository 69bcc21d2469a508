/* test_store_overdue.c: messages past their deadline that store_expire() did not take yet: readers
 * do not see them, and asking for the state of the store looks at each of them once, however often
 * somebody asks.  test/fault/model.c compares the counts with a count of all, at random. */
#include "support/store_fixture.h"

#include <stdio.h>

#define DUE 1000000ll

static void put_due(unsigned i, const char *prefix, int64_t deadline_ns)
{
    char key[32];
    struct mark m;

    snprintf(key, sizeof key, "%s.%u", prefix, i);
    TEST_ASSERT_EQUAL_INT(0, append(&m, key, "body", deadline_ns));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
}

static void assert_state(uint64_t msgs, uint64_t keys, uint64_t first)
{
    struct store_state st;

    store_overdue_check(d.store);
    store_state(d.store, &st);
    TEST_ASSERT_EQUAL_UINT64(msgs, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(keys, st.keys);
    TEST_ASSERT_EQUAL_UINT64(first, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(msgs, st.deadlines);
}

/* n messages are late, nobody sweeps, and somebody asks 50 times; then they go in slices, with a
 * request after each.  Steps of all requests together. */
static uint64_t steps_of(unsigned n)
{
    struct store_state st;
    bool more = true;

    for (unsigned i = 0; i < n; i++)
        put_due(i, "k", DUE + i);
    put_due(0, "alive", 1000 * DUE);
    uint64_t before = store_overdue_steps(d.store);
    for (unsigned i = 0; i < 50; i++) {
        store_now(d.store, DUE + n * (i + 1) / 50);
        store_state(d.store, &st);
    }
    TEST_ASSERT_EQUAL_UINT64(1, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(1, st.keys);
    TEST_ASSERT_EQUAL_UINT64(n, store_count_overdue(d.store, MF_LIT(">"), 0, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(n, store_count_overdue(d.store, MF_LIT("k.*"), 0, UINT64_MAX));
    while (more) {
        (void)store_expire(d.store, DUE + n, n / 20, NULL, NULL, &more);
        store_state(d.store, &st);
        TEST_ASSERT_EQUAL_UINT64(1, st.msgs);
        drive_idle(&d);
    }
    return store_overdue_steps(d.store) - before;
}

static void test_requests_look_at_each_late_message_a_few_times_at_most(void)
{
    uint64_t few = steps_of(500);

    tearDown();
    setUp();
    uint64_t many = steps_of(5000);
    TEST_ASSERT_LESS_THAN_UINT64(4 * 500, few);
    TEST_ASSERT_LESS_THAN_UINT64(4 * 5000, many);
}

/* n messages of others are late, and four of the subjects asked for, one of which is not. */
static uint64_t narrow_steps(unsigned n)
{
    tearDown();
    setUp();
    for (unsigned i = 0; i < n; i++)
        put_due(i, "k", DUE + i);
    for (unsigned i = 0; i < 4; i++)
        put_due(i, "few", i == 0 ? 1000 * DUE : DUE);
    store_now(d.store, 2 * DUE);
    uint64_t before = store_overdue_steps(d.store);
    TEST_ASSERT_EQUAL_UINT64(3, store_count_overdue(d.store, MF_LIT("few.*"), 0, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(1, store_count_overdue(d.store, MF_LIT("few.*"), n + 4, UINT64_MAX));
    return store_overdue_steps(d.store) - before;
}

static void test_late_ones_of_few_subjects_cost_what_these_hold(void)
{
    TEST_ASSERT_EQUAL_UINT64(8, narrow_steps(1000));
    TEST_ASSERT_EQUAL_UINT64(8, narrow_steps(20000));
}

/* SET with a moment that has passed, while the counts of others are kept. */
static void test_a_deadline_moved_to_the_past_counts_at_once(void)
{
    struct mark m;

    put_due(1, "a", DUE);
    put_due(2, "a", 1000 * DUE);
    put_due(3, "a", 1000 * DUE);
    store_now(d.store, 2 * DUE);
    assert_state(2, 2, 2);
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 2, DUE + 1, 0, wait(&m)));
    assert_state(1, 1, 3);
    drive_idle(&d);
    assert_state(1, 1, 3);
}

/* The key counts again with its new message, before and after the late one is taken. */
static void test_a_key_whose_last_message_is_late_counts_again_when_it_is_written(void)
{
    bool more;

    put_due(1, "a", DUE);
    put_due(2, "a", 1000 * DUE);
    store_now(d.store, 2 * DUE);
    assert_state(1, 1, 2);
    put_due(1, "a", 1000 * DUE);
    assert_state(2, 2, 2);
    TEST_ASSERT_EQUAL_size_t(1, store_expire(d.store, 2 * DUE, 10, NULL, NULL, &more));
    assert_state(2, 2, 2);
}

/* Readers see the newest; when it is removed, what is left of the key is late. */
static void test_a_key_loses_its_last_message_that_was_not_late(void)
{
    struct mark m;

    put_due(1, "a", DUE);
    put_due(1, "a", 1000 * DUE);
    put_due(2, "a", 1000 * DUE);
    store_now(d.store, 2 * DUE);
    assert_state(2, 2, 2);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 2, wait(&m)));
    drive_idle(&d);
    assert_state(1, 1, 3);
}

static bool leave_marker(void *arg, const struct store_expiry *x)
{
    char key[32];

    snprintf(key, sizeof key, "%.*s", (int)x->key.len, (const char *)x->key.ptr);
    return append(arg, key, "", 1000 * DUE) == 0;
}

/* A key does not count before its marker does: subjects are never more than messages. */
static void test_a_key_shows_nothing_while_its_marker_is_on_its_way_to_disk(void)
{
    struct mark m;
    bool more;

    put_due(1, "a", DUE);
    put_due(2, "a", 1000 * DUE);
    TEST_ASSERT_EQUAL_size_t(1, store_expire(d.store, 2 * DUE, 10, leave_marker, &m, &more));
    assert_state(1, 1, 2);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    assert_state(2, 2, 2);
}

/* A reader was told that it is gone, and no sweep ran before the crash: whatever is committed after
 * the reader's look holds the time of the look. */
static void test_what_readers_missed_stays_gone_when_something_was_committed_since(void)
{
    struct mark m;

    put_due(1, "a", DUE);
    put_due(2, "a", 1000 * DUE);
    store_now(d.store, 2 * DUE);
    assert_state(1, 1, 2);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 2, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    drive_abandon(&d);
    d.now_ns = 0;
    drive_open(&d);
    TEST_ASSERT_EQUAL_INT64(2 * DUE, store_clock_floor(d.store));
    store_now(d.store, store_clock_floor(d.store));
    assert_state(0, 0, 3);
}

/* Where nothing is overdue, nobody was told anything by the clock. */
static void test_a_time_at_which_nothing_was_overdue_is_not_kept(void)
{
    put_due(1, "a", 1000 * DUE);
    int64_t floor = store_clock_floor(d.store);
    store_now(d.store, 2 * DUE);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT64(floor, store_clock_floor(d.store));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_requests_look_at_each_late_message_a_few_times_at_most);
    RUN_TEST(test_late_ones_of_few_subjects_cost_what_these_hold);
    RUN_TEST(test_a_deadline_moved_to_the_past_counts_at_once);
    RUN_TEST(test_a_key_whose_last_message_is_late_counts_again_when_it_is_written);
    RUN_TEST(test_a_key_loses_its_last_message_that_was_not_late);
    RUN_TEST(test_a_key_shows_nothing_while_its_marker_is_on_its_way_to_disk);
    RUN_TEST(test_what_readers_missed_stays_gone_when_something_was_committed_since);
    RUN_TEST(test_a_time_at_which_nothing_was_overdue_is_not_kept);
    return UNITY_END();
}
