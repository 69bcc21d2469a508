/* test_store_tally.c: counts that are kept: a reader that goes forward pays for what it passes, and
 * a kept count is right whatever is added, removed, expired and purged meanwhile. */
#include "store/store_impl.h"
#include "support/store_fixture.h"

#include "base/rand.h"

#include <stdio.h>

#define MANY 20000u

static void add(const char *key, int64_t deadline_ns)
{
    struct store_append a = {.key = mf_str(key), .deadline_ns = deadline_ns};

    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
}

/* Even sequences are of other keys. */
static void put_many(unsigned n)
{
    char key[32];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(key, sizeof key, i % 2 == 0 ? "a.%u" : "b.%u", i % 10);
        add(key, 0);
    }
    drive_idle(&d);
}

static uint64_t tally(const char *pattern, uint64_t first, uint64_t last)
{
    uint64_t n;
    int rc;

    while ((rc = store_tally(d.store, mf_str(pattern), first, last, &n)) == MF_AGAIN)
        ;
    TEST_ASSERT_EQUAL_INT(0, rc);
    return n;
}

/* Reads the next `n` that match, as a batch of direct gets does; the sequence behind them. */
static uint64_t read_batch(const char *pattern, uint64_t from, unsigned n)
{
    struct store_cursor *c;
    bool more;

    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, mf_str(pattern), STORE_ALL, from));
    while (n > 0) {
        uint64_t seq = store_cursor_next(c, &more);
        if (seq == 0 && !more)
            break;
        if (seq == 0)
            continue;
        store_tally_pass(d.store, mf_str(pattern), from, seq);
        from = seq + 1;
        n--;
    }
    store_cursor_free(c);
    return from;
}

static void test_a_reader_that_goes_forward_pays_for_what_it_passes(void)
{
    uint64_t from = 1, left = MANY / 2;

    put_many(MANY);
    for (; left > 0; left -= 100) {
        TEST_ASSERT_EQUAL_UINT64(left, tally("a.*", from, UINT64_MAX));
        from = read_batch("a.*", from, 100);
    }
    TEST_ASSERT_EQUAL_UINT64(0, store_tally_steps(d.store));
}

static void test_a_reader_in_the_middle_is_counted_once(void)
{
    uint64_t from = MANY / 2 + 1, left = MANY / 4, steps;

    put_many(MANY);
    TEST_ASSERT_EQUAL_UINT64(left, tally("a.*", from, UINT64_MAX));
    steps = store_tally_steps(d.store);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(MANY / 2 + 1, steps);
    for (unsigned i = 0; i < 50; i++) {
        from = read_batch("a.*", from, 100);
        put_many(10);
        left += 5 - 100;
        TEST_ASSERT_EQUAL_UINT64(left, tally("a.*", from, UINT64_MAX));
    }
    /* the new ones */
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(steps + 50 * 11, store_tally_steps(d.store));
    /* another reader of the same messages does not take it away */
    TEST_ASSERT_EQUAL_UINT64(left + 5000, tally("a.*", from - 10000, UINT64_MAX));
    steps = store_tally_steps(d.store);
    TEST_ASSERT_EQUAL_UINT64(left, tally("a.*", from, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(steps, store_tally_steps(d.store));
}

static void test_a_call_is_short(void)
{
    uint64_t n, before = 0;
    int rc;

    put_many(MANY);
    do {
        rc = store_tally(d.store, MF_LIT("a.*"), MANY / 2, UINT64_MAX, &n);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(4096, store_tally_steps(d.store) - before);
        before = store_tally_steps(d.store);
    } while (rc == MF_AGAIN);
    TEST_ASSERT_EQUAL_INT(0, rc);
}

/* Whoever stopped asking costs removals nothing any more. */
static void test_a_count_nobody_asks_for_is_given_up(void)
{
    put_many(MANY);
    (void)tally("a.*", MANY / 2, UINT64_MAX);
    TEST_ASSERT_EQUAL_size_t(1, d.store->tally.count);
    for (unsigned round = 0; round < 6; round++) {
        uint64_t last = store_last_seq(d.store);
        for (uint64_t seq = last - MANY + 1; seq <= last; seq++)
            if (store_present(d.store, seq))
                TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, seq, NULL));
        put_many(MANY);
    }
    TEST_ASSERT_EQUAL_size_t(0, d.store->tally.count);
}

/* --- random --------------------------------------------------------------------------------- */

static const char *const patterns[] = {"a.*", "*.3", "a.3", ">", "b.>", "c.*"};

static uint64_t count_plainly(const char *pattern, uint64_t first, uint64_t last)
{
    const struct index *ix = view_index(d.store);
    uint64_t n = 0;

    for (uint64_t seq = first; seq <= last && seq <= store_last_seq(d.store); seq++)
        n += store_present(d.store, seq) &&
             keys_matches(index_keys(ix), index_key(ix, index_find(ix, seq)), mf_str(pattern));
    return n;
}

static void change(int64_t *now)
{
    uint64_t last = store_last_seq(d.store), first = last > 9000 ? last - 9000 : 1;
    char key[32];
    bool more;

    switch (rand_below(12)) {
    case 0:
        (void)!store_remove_range(d.store, first, first + rand_below(50), NULL);
        break;
    case 1:
        *now += 1000;
        (void)store_expire(d.store, *now, 100, NULL, NULL, &more);
        break;
    case 2:
        store_now(d.store, *now += 300); /* some are past their deadline and not swept */
        break;
    case 3:
        if (rand_below(40) == 0)
            (void)!store_remove_range(d.store, 1, last, NULL);
        break;
    case 4:
    case 5:
        for (unsigned i = 0; i < 20; i++)
            (void)!store_remove(d.store, first + rand_below(9001), NULL);
        break;
    default:
        for (unsigned i = rand_below(400); i > 0; i--) {
            (void)snprintf(key, sizeof key, "%c.%u", 'a' + (int)rand_below(2), rand_below(9));
            add(key, rand_below(8) == 0 ? *now + rand_below(20000) : 0);
        }
    }
}

static void test_a_kept_count_is_right_whatever_happens(void)
{
    uint64_t at[MF_COUNT(patterns)] = {0}, n;
    int64_t now = store_clock_floor(d.store) + 1000000;

    store_now(d.store, now);
    put_many(9000);
    for (unsigned round = 0; round < 400; round++) {
        unsigned p = rand_below(MF_COUNT(patterns));
        uint64_t last = store_last_seq(d.store);

        change(&now);
        if (rand_below(3) == 0)
            drive_idle(&d);
        if (at[p] == 0 || rand_below(20) == 0)
            at[p] = 1 + rand_below((uint32_t)last);
        /* one step of the way, or all of it; then others come between */
        if (rand_below(4) == 0) {
            (void)!store_tally(d.store, mf_str(patterns[p]), at[p], last, &n);
        } else {
            last = last < d.store->log.committed_seq ? last : d.store->log.committed_seq;
            TEST_ASSERT_EQUAL_UINT64(count_plainly(patterns[p], at[p], last),
                                     tally(patterns[p], at[p], last));
            at[p] = read_batch(patterns[p], at[p], rand_below(50));
        }
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_reader_that_goes_forward_pays_for_what_it_passes);
    RUN_TEST(test_a_reader_in_the_middle_is_counted_once);
    RUN_TEST(test_a_call_is_short);
    RUN_TEST(test_a_count_nobody_asks_for_is_given_up);
    RUN_TEST(test_a_kept_count_is_right_whatever_happens);
    return UNITY_END();
}
