/* test_store_bounded_walks.c: no call of a cursor or of a walk over keys is long, however much
 * there is, and messages that come and go between the calls do not confuse it. */
#include "store/keys/keys_impl.h"
#include "store/store_impl.h"
#include "support/store_fixture.h"

#include "base/rand.h"

#include <stdio.h>

#define CALL_NODES 4200 /* of one call: cursor.c's STEPS and some for the way there */

static uint64_t touched(void)
{
    return index_keys(d.store->ix)->touched;
}

static void add(const char *key)
{
    struct store_append a = {.key = mf_str(key)};

    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
}

static void put_many(const char *fmt, unsigned n)
{
    char key[32];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, fmt, i); /* NOLINT: a literal of this file */
        add(key);
    }
    drive_idle(&d);
}

static void test_a_cursor_over_many_keys_is_short_in_each_call(void)
{
    struct store_cursor *c;
    bool more = true;

    put_many("k.%u.a", 15000);
    put_many("k.1.%u", 3);
    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, MF_LIT("k.*.0"), STORE_ALL, 1));
    while (more) {
        uint64_t before = touched(), seq = store_cursor_next(c, &more);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * STORE_CURSOR_KEYS + CALL_NODES, touched() - before);
        if (seq != 0) {
            TEST_ASSERT_EQUAL_UINT64(15001, seq);
            break;
        }
    }
    store_cursor_free(c);
}

static void test_a_walk_over_keys_is_short_in_each_call(void)
{
    struct store_keys *k;
    struct store_key st;
    struct mf_slice key;
    unsigned calls = 0;
    uint32_t nodes;

    put_many("k.%u.a", 1000);
    k = store_keys_new(d.store, MF_LIT("k.*.none"));
    TEST_ASSERT_NOT_NULL(k);
    do {
        uint64_t before = touched();
        nodes = 10;
        TEST_ASSERT_FALSE(store_keys_some(k, &nodes, &key, &st));
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(30, touched() - before);
        calls++;
    } while (nodes == 0);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(100, calls);
    TEST_ASSERT_FALSE(store_keys_some(k, &nodes, &key, &st)); /* it stays at its end */
    store_keys_free(k);
}

static uint64_t next_of(struct store_cursor *c, unsigned *calls)
{
    bool more;
    uint64_t seq;

    do {
        seq = store_cursor_next(c, &more);
        ++*calls;
    } while (seq == 0 && more);
    return seq;
}

/* From the middle of the messages of one key: they may go before the first call. */
static void test_the_middle_of_a_long_key_is_found(void)
{
    struct store_cursor *c;
    unsigned calls = 0;

    put_many("other.%u", 10);
    for (unsigned i = 0; i < 20000; i++)
        add(i % 2 == 0 ? "one" : "two");
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, MF_LIT("one"), STORE_ALL, 101));
    TEST_ASSERT_EQUAL_UINT64(101, next_of(c, &calls));
    TEST_ASSERT_EQUAL_UINT64(103, next_of(c, &calls));
    store_cursor_free(c);

    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, MF_LIT("one"), STORE_ALL, 101));
    for (uint64_t seq = 101; seq < 20010; seq += 2) /* all of it but the first and the last */
        TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, seq, NULL));
    drive_idle(&d);
    add("one");
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(20011, next_of(c, &calls));
    TEST_ASSERT_EQUAL_UINT64(0, next_of(c, &calls));
    store_cursor_free(c);
}

/* --- changes between the calls ---------------------------------------------------------------- */

#define MANY 12000u
static uint8_t removed[2 * MANY + 1], seen_as[2 * MANY + 1];

static void change_something(uint64_t *last)
{
    char key[32];

    for (int i = 0; i < 20; i++) {
        uint64_t seq = 1 + rand_below((uint32_t)*last);
        if (!removed[seq] && store_remove(d.store, seq, NULL) == 0)
            removed[seq] = 1;
    }
    (void)snprintf(key, sizeof key, "k.%u.a", rand_below(MANY));
    add(key);
    drive_idle(&d);
    ++*last;
}

/* Messages that were there all the time come once, in their order; none comes after it was removed.
 */
static void walk_with_changes(const char *pattern, uint64_t from)
{
    struct store_cursor *c;
    uint64_t last, before = 0;
    bool more = true;

    memset(removed, 0, sizeof removed);
    memset(seen_as, 0, sizeof seen_as);
    put_many("k.%u.a", MANY);
    last = MANY;
    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, mf_str(pattern), STORE_ALL, from));
    for (;;) {
        uint64_t seq = store_cursor_next(c, &more);
        if (seq == 0 && !more)
            break;
        if (seq != 0) {
            TEST_ASSERT_FALSE(removed[seq]);
            TEST_ASSERT_GREATER_THAN_UINT64(before, seq);
            seen_as[seq] = 1;
            before = seq;
        }
        if ((seq == 0 || rand_below(50) == 0) && last < 2 * MANY)
            change_something(&last);
    }
    for (uint64_t seq = from; seq <= last; seq++)
        TEST_ASSERT_TRUE(removed[seq] || seen_as[seq]);
    store_cursor_free(c);
}

static void test_a_cursor_survives_changes_while_it_collects(void)
{
    walk_with_changes("k.*.a", 1);
}

static void test_a_cursor_from_the_middle_survives_changes(void)
{
    walk_with_changes("*.*.a", MANY / 2);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_cursor_over_many_keys_is_short_in_each_call);
    RUN_TEST(test_a_walk_over_keys_is_short_in_each_call);
    RUN_TEST(test_the_middle_of_a_long_key_is_found);
    RUN_TEST(test_a_cursor_survives_changes_while_it_collects);
    RUN_TEST(test_a_cursor_from_the_middle_survives_changes);
    return UNITY_END();
}
