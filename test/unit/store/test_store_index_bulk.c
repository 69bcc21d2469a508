/* test_store_index_bulk.c: filling the index from a checkpoint with a second thread gives what
 * filling it message by message gives.  Run under the thread sanitizer, too. */
#include "store/index/index_impl.h"
#include "store/log/lane.h"
#include "store/log/record.h"
#include "support/keys_get.h"
#include "support/no_memory.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 70000u

static char (*text)[40];
static unsigned made;
static struct index *many, *single;

void setUp(void)
{
    text = malloc(MOST * sizeof *text);
    made = 0;
    many = index_new('.', 1000);
    single = index_new('.', 1000);
    TEST_ASSERT_TRUE(text != NULL && many != NULL && single != NULL);
}
void tearDown(void)
{
    fail_at = 0;
    index_free(many);
    index_free(single);
    free(text);
}

/* The keys a checkpoint may hold, one pattern after the other. */
static void make(const char *format, unsigned n, unsigned mod)
{
    for (unsigned i = 0; i < n; i++, made++)
        snprintf(text[made], sizeof *text, format, i % mod, i % 7);
}
static uint64_t seq_of(unsigned i)
{
    return 5 + (uint64_t)i * 3 + (i > 30000 ? 100000 : 0); /* gaps, and a jump past u16 */
}
static int64_t deadline_of(unsigned i)
{
    return i % 5 == 0 ? 0 : 500 + (int64_t)(i * 2654435761u % 100000) * 1000000;
}
static uint16_t bits_of(unsigned i)
{
    return (uint16_t)((i % 11 == 0 ? RECORD_INFINITE : 0) | (i % 13 == 0 ? RECORD_PINNED : 0));
}

static int fill(struct index *ix, size_t expect)
{
    int rc = index_load_begin(ix), end;

    if (rc != 0 || (rc = index_bulk_begin(ix, expect)) != 0)
        return rc;
    for (unsigned i = 0; i < made && rc == 0; i++)
        rc = index_bulk_put(ix, seq_of(i), mf_str(text[i]), i * 8, deadline_of(i), bits_of(i));
    end = index_bulk_end(ix);
    return rc == 0 ? end : rc;
}

static void compare(void)
{
    static uint8_t a[KEYS_MAX], b[KEYS_MAX];

    index_check(many);
    TEST_ASSERT_EQUAL_size_t(index_count(single), index_count(many));
    TEST_ASSERT_EQUAL_size_t(index_deadlines(single), index_deadlines(many));
    TEST_ASSERT_GREATER_THAN_size_t(0, index_infinite(many));
    TEST_ASSERT_GREATER_THAN_size_t(0, index_pinned(many));
    TEST_ASSERT_EQUAL_size_t(keys_count(index_keys(single)), keys_count(index_keys(many)));
    for (unsigned i = 0; i < made; i++) {
        uint32_t x = index_find(single, seq_of(i)), y = index_find(many, seq_of(i));
        TEST_ASSERT_EQUAL(x == INDEX_NONE, y == INDEX_NONE);
        if (x == INDEX_NONE)
            continue;
        uint32_t kx = index_key(single, x), ky = index_key(many, y);
        TEST_ASSERT_TRUE(
            mf_eq(keys_text(index_keys(single), kx, a), keys_text(index_keys(many), ky, b)));
        TEST_ASSERT_EQUAL_UINT32(index_key_count(single, kx), index_key_count(many, ky));
        TEST_ASSERT_EQUAL_UINT32(ky, keys_find(index_keys(many), mf_str(text[i])));
        TEST_ASSERT_EQUAL_UINT64(index_place(single, x), index_place(many, y));
        TEST_ASSERT_EQUAL_INT64(index_deadline(single, x), index_deadline(many, y));
        TEST_ASSERT_EQUAL_HEX16(index_bits(single, x), index_bits(many, y));
        TEST_ASSERT_EQUAL_UINT64(index_seq(single, index_key_last(single, kx)),
                                 index_seq(many, index_key_last(many, ky)));
    }
}

static void both_without(struct record_mark gone, size_t expect)
{
    TEST_ASSERT_EQUAL_INT(0, fill(single, 0));
    TEST_ASSERT_EQUAL_INT(0, fill(many, expect));
    for (int i = 0; i < 2; i++) { /* the tail of the log goes on from there */
        struct index *ix = i == 0 ? single : many;
        index_load_del(ix, seq_of(100), seq_of(120));
        TEST_ASSERT_EQUAL_INT(0, index_load_put(ix, seq_of(7), mf_str(text[7]), 1, 0, 0));
        TEST_ASSERT_EQUAL_INT(0, index_load_put(ix, seq_of(made), MF_LIT("tail"), 2, 0, 0));
        TEST_ASSERT_EQUAL_INT(0, index_load_end(ix, &gone, NULL, NULL));
    }
    compare();
}
static void both(void)
{
    both_without((struct record_mark){20000000000, 0}, INDEX_BULK);
}

/* The usual large store: every key once. */
static void test_distinct_keys_are_as_if_put_one_by_one(void)
{
    make("$KV.sessions.%08u", 70000, UINT32_MAX);
    both();
}

/* So many that memory is had ahead, and that rings and deadlines are made by two threads. */
static void test_memory_had_ahead_and_rings_made_apart_change_nothing(void)
{
    make("$KV.sessions.%08u", 40000, UINT32_MAX);
    make("k.%u.%u", 30000, 900);
    both_without((struct record_mark){0, 0}, INDEX_MANY);
    TEST_ASSERT_TRUE(index_count(many) >= INDEX_BULK);
}

static void test_a_stock_of_memory_is_used_up_and_filled_again(void)
{
    struct keys *k = keys_new('.');
    struct keys_stock *stock = k == NULL ? NULL : keys_stock_new(k);
    char key[32];
    uint32_t id;
    unsigned had = 0, more = 0;

    TEST_ASSERT_NOT_NULL(stock);
    while (keys_stock_fill(stock))
        had++;
    TEST_ASSERT_TRUE(had > 0 && had < 16);
    for (unsigned i = 0; i < 60000; i++) {
        snprintf(key, sizeof key, "a.%u", i);
        TEST_ASSERT_EQUAL_INT(0, keys_get(k, mf_str(key), &id));
    }
    while (keys_stock_fill(stock))
        more++;
    TEST_ASSERT_TRUE(more > 0 && more <= had);
    keys_stock_free(k);
    keys_stock_free(k); /* harmless */
    keys_check(k);
    keys_free(k);
}

/* A stream with few subjects must not make a node for each message. */
static void test_few_keys_take_no_more_memory(void)
{
    make("orders.%u.%u", 30000, 50);
    both();
    TEST_ASSERT_TRUE(keys_memory(index_keys(many)) < 65536);
}

/* Keys that turn out to be there already, after they were taken for new ones, in other parts of the
 * tree, and with prefixes that change from one key to the next: the way in between is changed and
 * changed back. */
static void test_keys_that_come_again_are_joined(void)
{
    make("a.%u", 10000, UINT32_MAX);
    make("a.%u", 6000, UINT32_MAX);
    make("e.%u", 12000, UINT32_MAX);
    make("b.%u.%u", 5000, UINT32_MAX);
    make("%u", 5000, UINT32_MAX);
    make("a.%u", 1, UINT32_MAX);
    make("b.%u.%u", 15000, 11000);
    make("c.%u.", 9000, 8500);
    make("c.%u..", 5000, UINT32_MAX);
    both();
}

/* Without a thread the pieces are worked off in place. */
static void count_piece(void *arg, unsigned piece)
{
    ((unsigned *)arg)[piece]++;
}
static void test_a_lane_works_off_every_piece_once(void)
{
    unsigned seen[3] = {0};
    struct lane *l = lane_new(3, count_piece, seen);

    TEST_ASSERT_NOT_NULL(l);
    for (unsigned i = 0; i < 300; i++) {
        TEST_ASSERT_EQUAL_UINT(i % 3, lane_next(l));
        TEST_ASSERT_EQUAL_UINT(i / 3, seen[i % 3]); /* it is ours again */
        lane_submit(l);
    }
    lane_wait(l, 300);
    TEST_ASSERT_TRUE(lane_done(l, 300));
    TEST_ASSERT_EQUAL_UINT(100, seen[2]);
    lane_free(l);
}

/* Memory may run out on either thread: an error, and nothing left behind. */
static void test_memory_that_runs_out_is_an_error(void)
{
    long all;

    make("x.%u", 9000, UINT32_MAX);
    make("x.%u", 500, UINT32_MAX);
    make("y.%u.%u", 3000, UINT32_MAX);
    allocations = 0;
    TEST_ASSERT_EQUAL_INT(0, fill(many, INDEX_MANY));
    all = allocations;
    for (long n = 1; n <= all; n += n < 24 ? 1 : 11) {
        struct index *ix = index_new('.', 1000);
        TEST_ASSERT_NOT_NULL(ix);
        allocations = 0;
        fail_at = n;
        int rc = fill(ix, n % 2 == 0 ? INDEX_BULK : INDEX_MANY);
        fail_at = 0;
        TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOMEM);
        if (rc == 0) {
            TEST_ASSERT_EQUAL_INT(0, index_load_end(ix, NULL, NULL, NULL));
            TEST_ASSERT_EQUAL_size_t(made, index_count(ix));
            index_check(ix);
        }
        index_free(ix);
    }
    TEST_ASSERT_EQUAL_INT(0, index_load_end(many, NULL, NULL, NULL));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_distinct_keys_are_as_if_put_one_by_one);
    RUN_TEST(test_memory_had_ahead_and_rings_made_apart_change_nothing);
    RUN_TEST(test_a_stock_of_memory_is_used_up_and_filled_again);
    RUN_TEST(test_few_keys_take_no_more_memory);
    RUN_TEST(test_keys_that_come_again_are_joined);
    RUN_TEST(test_a_lane_works_off_every_piece_once);
    RUN_TEST(test_memory_that_runs_out_is_an_error);
    return UNITY_END();
}
