/* test_store_limits.c: options and arguments out of range, the largest batch and message, refused
 * writers that are called again, a failed background sync, thousands of pending removals, no
 * memory. */
#include "support/no_memory.h"
#include "support/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static void again(struct store_opts o)
{
    drive_fini(&d);
    start(o);
}

/* --- options and arguments ------------------------------------------------------------------- */

static void test_options_out_of_range_are_brought_into_it(void)
{
    static const struct store_opts odd[] = {
        {.segment_min = 1, .segment_max = 1, .name = "tiny"},
        {.segment_min = UINT32_MAX, .segment_max = 64u << 10, .name = "crossed"},
        {.segment_min = 64u << 10, .segment_max = UINT32_MAX, .name = "huge"},
        {.separator = '/', .name = "slashes"}};

    for (size_t i = 0; i < MF_COUNT(odd); i++) {
        again(odd[i]);
        uint64_t seq = put(i == 3 ? "a/b" : "a.b", "x");
        struct store_keys *k = store_keys_new(d.store, mf_str(i == 3 ? "a/*" : "a.*"));
        struct mf_slice key;
        struct store_key one;
        TEST_ASSERT_NOT_NULL(k);
        TEST_ASSERT_TRUE(store_keys_next(k, &key, &one));
        TEST_ASSERT_FALSE(store_keys_next(k, &key, &one));
        store_keys_free(k);
        drive_close(&d);
        drive_open(&d);
        assert_body(seq, "x");
    }
}

static void test_arguments_nobody_should_pass_change_nothing(void)
{
    static const uint64_t twice[] = {1, 1}, down[] = {2, 1};
    struct store_read r = {.seq = 9};
    struct mark m;

    put("a", "x");
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_remove_range(d.store, 2, 1, NULL));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_remove_range(d.store, 0, 1, NULL));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_remove_range(d.store, 1, UINT64_MAX, NULL));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_remove_set(d.store, twice, 2, NULL));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_remove_set(d.store, down, 2, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 9, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 9, 1, 0, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_read(d.store, &r));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_checkpoint(d.store, NULL)); /* nobody would know */
    TEST_ASSERT_EQUAL_INT(0, store_remove_set(d.store, NULL, 0, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_UINT64(1, messages());
}

/* Larger than a batch can be: refused, and the batch is as it was. */
static void test_a_batch_has_an_end(void)
{
    size_t n = 40u << 20;
    char *big = calloc(1, n);
    struct mark m;

    TEST_ASSERT_NOT_NULL(big);
    store_begin(d.store, false);
    struct store_append a = {.key = MF_LIT("k"), .body = mf_slice(big, n)};
    int rc, stored = 0;
    while ((rc = store_append(d.store, &a)) == 0 && stored < 100)
        stored++;
    TEST_ASSERT_TRUE(rc == MF_LIMIT || rc == MF_AGAIN);
    a.body = MF_LIT("small");
    int more = store_append(d.store, &a);
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)stored + (more == 0), messages());
    free(big);
}

/* --- publishers that have to wait --------------------------------------------------------------
 */

static unsigned readies;

static void on_ready(void *arg)
{
    ++*(unsigned *)arg;
}

static void test_who_was_told_to_come_again_is_called(void)
{
    struct mark m[40];
    char body[1024];
    int refused = 0;

    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    readies = 0;
    again((struct store_opts){
        .pending_max = 8192, .ready = on_ready, .ready_arg = &readies, .name = "small"});
    for (size_t i = 0; i < MF_COUNT(m); i++)
        refused += append(&m[i], "k", body, 0) == MF_AGAIN;
    TEST_ASSERT_GREATER_THAN_INT(0, refused);
    TEST_ASSERT_EQUAL_UINT(0, readies);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT(1, readies); /* once, however many were refused */
    put("k", body);
    TEST_ASSERT_EQUAL_UINT(1, readies);
}

/* --- relaxed syncing ---------------------------------------------------------------------------
 */

static bool is_readonly(void *arg)
{
    (void)arg;
    return store_error(d.store) != NULL;
}

/* Writers were answered before the sync: when it fails nothing more is taken, and it is said. */
static void test_a_failed_background_sync_makes_the_store_read_only(void)
{
    struct mark m;

    again((struct store_opts){
        .sync = STORE_SYNC_INTERVAL, .sync_interval_ns = 20000000, .name = "relaxed"});
    uint64_t seq = put("k", "x");
    fault_io_arm(
        d.io, &(struct fault_plan){.kinds = FAULT_SYNC, .nth = 1, .code = MF_IO, .forever = true});
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "y", 0));
    drive_until(&d, is_readonly, NULL, "the sync");
    TEST_ASSERT_EQUAL_INT(MF_READONLY, append(&m, "k", "z", 0));
    assert_body(seq, "x"); /* reading goes on */
    fault_io_disarm(d.io);
    drive_close(&d);
    drive_open(&d);
    assert_body(seq, "x");
}

/* --- removals under way ------------------------------------------------------------------------
 */

/* Long keys whose messages are being removed: what writers may count on is right at once, also when
 * there is no memory to keep the tally. */
static void removing_counts(bool no_memory_for_it)
{
    enum { KEYS = 300, EACH = 40 };
    char key[16];
    uint64_t count;

    again((struct store_opts){.name = "long"});
    for (int i = 0; i < KEYS * EACH; i++) {
        snprintf(key, sizeof key, "k.%d", i % KEYS);
        struct store_append a = {.key = mf_str(key), .body = MF_LIT("x")};
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    }
    drive_idle(&d);
    /* All of the first round but not of every key, still on their way. */
    for (int i = 0; i < KEYS - 10; i++) {
        int rc = MF_NOMEM;
        for (long n = 1; rc != 0; n++) { /* the tally's memory comes last: the removal stands */
            allocations = 0;
            fail_at = no_memory_for_it ? n : 0;
            rc = store_remove(d.store, (uint64_t)i + 1, NULL);
            fail_at = 0;
        }
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "k.%d", i);
        uint64_t last = store_key_last_accepted(d.store, mf_str(key), &count);
        TEST_ASSERT_EQUAL_UINT64((EACH - 1) * KEYS + i + 1, last);
        TEST_ASSERT_EQUAL_UINT64(i < KEYS - 10 ? EACH - 1 : EACH, count);
        struct store_key k;
        TEST_ASSERT_TRUE(store_key(d.store, mf_str(key), &k));
        TEST_ASSERT_EQUAL_UINT64(EACH, k.count); /* readers still see them */
    }
    drive_idle(&d);
    for (int i = 0; i < KEYS; i++) {
        struct store_key k;
        snprintf(key, sizeof key, "k.%d", i);
        TEST_ASSERT_TRUE(store_key(d.store, mf_str(key), &k));
        TEST_ASSERT_EQUAL_UINT64(i < KEYS - 10 ? EACH - 1 : EACH, k.count);
        store_key_last_accepted(d.store, mf_str(key), &count);
        TEST_ASSERT_EQUAL_UINT64(k.count, count);
    }
}

static void test_removals_of_many_long_keys_are_counted_at_once(void)
{
    removing_counts(false);
}

static void test_removals_are_counted_without_memory_too(void)
{
    removing_counts(true);
}

static uint64_t bytes(void)
{
    struct store_state st;

    store_state(d.store, &st);
    return st.bytes;
}

/* Larger than the index can say: their lengths are kept apart, and right through removals, purges,
 * restarts and want of memory. */
static void test_lengths_of_large_messages_are_right(void)
{
    enum { LARGE = 3 << 19, N = 4 };
    char *body = calloc(1, LARGE + N);
    bool hit = true;

    TEST_ASSERT_NOT_NULL(body);
    again((struct store_opts){.name = "large"});
    for (uint64_t i = 1; i <= N; i++) {
        struct store_append a = {.key = MF_LIT("k"), .body = mf_slice(body, LARGE + i)};
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    }
    drive_idle(&d);
    uint64_t all = N * (LARGE + 1) + 1 + 2 + 3 + 4;
    TEST_ASSERT_EQUAL_UINT64(all, bytes());
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 2, NULL));
    drive_idle(&d);
    all -= LARGE + 1 + 2;
    TEST_ASSERT_EQUAL_UINT64(all, bytes());
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(all, bytes());
    for (long n = 1; hit; n++) {
        struct store_append a = {.key = MF_LIT("k"), .body = mf_slice(body, LARGE)};
        allocations = 0;
        fail_at = n;
        int rc = store_append(d.store, &a);
        hit = allocations >= n;
        fail_at = 0;
        drive_idle(&d);
        TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOMEM);
        all += rc == 0 ? LARGE + 1 : 0;
        TEST_ASSERT_EQUAL_UINT64(all, bytes());
    }
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 1000, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(0, bytes());
    free(body);
}

/* --- readers ------------------------------------------------------------------------------------
 */

/* A reader gets all of it or hears that there is no memory. */
static void test_cursors_without_memory(void)
{
    static const char *const patterns[] = {">", "k.*", "k.1", ""};
    bool hit = true;

    for (int i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "k.%d", i % 3);
        put(key, "x");
    }
    for (long n = 1; hit; n++) {
        hit = false;
        for (size_t p = 0; p < 2 * MF_COUNT(patterns); p++) {
            struct store_cursor *c;
            const char *pattern = patterns[p / 2];
            unsigned seen = 0;
            uint64_t seq;
            bool more = false;
            allocations = 0;
            fail_at = n;
            int rc = store_cursor_new(&c, d.store, mf_str(pattern),
                                      p % 2 == 0 ? STORE_ALL : STORE_LAST_PER_KEY, 0);
            hit = hit || allocations >= n;
            fail_at = 0;
            TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOMEM);
            if (rc != 0)
                continue;
            while ((seq = store_cursor_next(c, &more)) != 0 || more)
                seen += seq != 0;
            store_cursor_free(c);
            unsigned all = p / 2 == 2 ? 3 : 10, last = p / 2 == 2 ? 1 : 3;
            if (p / 2 < 3)
                TEST_ASSERT_EQUAL_UINT(p % 2 == 0 ? all : last, seen);
        }
        allocations = 0;
        fail_at = n;
        struct store_keys *k = store_keys_new(d.store, MF_LIT("k.*"));
        hit = hit || allocations >= n;
        fail_at = 0;
        store_keys_free(k);
    }
}

/* Thousands of dead in the way: a call ends all the same, and says that there is more. */
static void test_a_cursor_passes_over_the_dead_in_bounded_steps(void)
{
    enum { DEAD = 30000 };
    struct store_cursor *c;
    unsigned calls = 0;
    uint64_t seq;
    bool more = true;

    for (int i = 0; i < DEAD; i++) {
        struct store_append a = {.key = MF_LIT("k"), .body = MF_LIT("x"), .deadline_ns = 1000};
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    }
    uint64_t living = put("k", "alive");
    store_now(d.store, 2000);
    static const char *const patterns[] = {">", "k", "*"};
    for (size_t p = 0; p < MF_COUNT(patterns); p++) {
        TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, mf_str(patterns[p]), STORE_ALL, 0));
        for (seq = 0, more = true, calls = 0; seq == 0 && more; calls++)
            seq = store_cursor_next(c, &more);
        TEST_ASSERT_EQUAL_UINT64(living, seq);
        TEST_ASSERT_GREATER_THAN_UINT(1, calls);
        store_cursor_free(c);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_options_out_of_range_are_brought_into_it);
    RUN_TEST(test_arguments_nobody_should_pass_change_nothing);
    RUN_TEST(test_a_batch_has_an_end);
    RUN_TEST(test_who_was_told_to_come_again_is_called);
    RUN_TEST(test_a_failed_background_sync_makes_the_store_read_only);
    RUN_TEST(test_removals_of_many_long_keys_are_counted_at_once);
    RUN_TEST(test_removals_are_counted_without_memory_too);
    RUN_TEST(test_lengths_of_large_messages_are_right);
    RUN_TEST(test_cursors_without_memory);
    RUN_TEST(test_a_cursor_passes_over_the_dead_in_bounded_steps);
    return UNITY_END();
}
