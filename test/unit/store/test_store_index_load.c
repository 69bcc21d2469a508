/* test_store_index_load.c: filling the index from the log, in the orders a log can have. */
#include "store/index/index_impl.h"
#include "store/log/record.h"

#include "unity.h"

static struct index *ix;

void setUp(void)
{
    ix = index_new('.', 1000);
    TEST_ASSERT_NOT_NULL(ix);
}
void tearDown(void)
{
    index_check(ix);
    index_free(ix);
}

static void add(uint64_t seq, const char *key, int64_t deadline)
{
    uint32_t id;

    TEST_ASSERT_EQUAL(0, index_add(ix, seq, mf_str(key), seq * 10, deadline, &id));
}
/* The sequence of an id; 0: none. */
static uint64_t seq_of(uint32_t id)
{
    return id == INDEX_NONE ? 0 : index_seq(ix, id);
}
static uint32_t key(const char *text)
{
    return keys_find(index_keys(ix), mf_str(text));
}
/* Without keys and wheel: what the index itself holds. */
static size_t own_memory(void)
{
    size_t wheel = ix->wheel == NULL ? 0 : wheel_memory(ix->wheel);

    return index_memory(ix) - keys_memory(ix->keys) - wheel;
}

static void put(uint64_t seq, const char *text, int64_t deadline)
{
    TEST_ASSERT_EQUAL(0, index_load_put(ix, seq, mf_str(text), seq * 10, deadline, 0));
}

static uint64_t kept_sum, kept_last;
static void kept(void *arg, uint64_t seq, uint64_t place)
{
    (void)arg;
    TEST_ASSERT_TRUE(seq > kept_last);
    TEST_ASSERT_EQUAL_UINT64(seq * 10, place);
    kept_last = seq;
    kept_sum += seq;
}
static void load_end(struct record_mark gone)
{
    kept_sum = kept_last = 0;
    TEST_ASSERT_EQUAL(0, index_load_end(ix, &gone, kept, NULL));
    index_check(ix);
}

static void test_loading_nothing_gives_an_empty_index(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    load_end((struct record_mark){0});
    TEST_ASSERT_EQUAL_size_t(0, index_count(ix));
    add(1, "a", 0);
}

static void test_loaded_messages_are_like_added_ones(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 1; seq <= 3000; seq++)
        put(seq, seq % 2 == 0 ? "even" : "odd", seq % 3 == 0 ? 0 : 2000 + (int64_t)seq);
    load_end((struct record_mark){0});
    TEST_ASSERT_EQUAL_UINT64(3000 * 3001 / 2, kept_sum);
    TEST_ASSERT_EQUAL_size_t(2000, index_deadlines(ix));
    TEST_ASSERT_EQUAL_UINT64(2999, seq_of(index_key_last(ix, key("odd"))));
    TEST_ASSERT_EQUAL_UINT64(2997, seq_of(index_older(ix, index_key_last(ix, key("odd")))));
    TEST_ASSERT_EQUAL_UINT64(2, seq_of(index_key_first(ix, key("even"))));
    add(3001, "odd", 0);
    TEST_ASSERT_EQUAL_UINT64(2999, seq_of(index_older(ix, index_key_last(ix, key("odd")))));
    TEST_ASSERT_EQUAL_UINT32(1501, index_key_count(ix, key("odd")));
}

/* Promise two: what a time mark covered never comes back, whatever the clock says. */
static void test_load_leaves_out_what_the_mark_covers(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    put(1, "a", 500);
    put(2, "b", 501);
    put(3, "c", 501);
    put(4, "d", 502);
    put(5, "e", 0);
    load_end((struct record_mark){.time_ns = 501, .seq = 2});
    TEST_ASSERT_EQUAL_UINT64(3 + 4 + 5, kept_sum);
    TEST_ASSERT_EQUAL_UINT32(KEYS_NONE, key("a"));
    TEST_ASSERT_EQUAL_UINT32(KEYS_NONE, key("b"));
    TEST_ASSERT_EQUAL_size_t(2, index_deadlines(ix));
}

/* All that the log can say of a sequence, while it waits in the queue (10) and after (1). */
static void test_load_replaces_changes_and_removes(void)
{
    const uint64_t at[] = {1, 10};
    uint64_t place;
    int64_t deadline;

    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 1; seq <= 40; seq++)
        put(seq, seq == 10 ? "ten" : "k", 2000);
    put(1, "k", 2000); /* flushes: now the rest of the queue is fresh */
    for (uint64_t seq = 41; seq <= 50; seq++)
        put(seq, "k", 2000);
    for (size_t i = 0; i < MF_COUNT(at); i++) {
        uint64_t a = at[i] == 1 ? 1 : 45;
        index_load_deadline(ix, a, 7000, 0);
        TEST_ASSERT_TRUE(index_load_get(ix, a, &place, &deadline));
        TEST_ASSERT_EQUAL_INT64(7000, deadline);
        index_load_del(ix, a + 1, a + 2);
        TEST_ASSERT_FALSE(index_load_get(ix, a + 1, &place, &deadline));
        TEST_ASSERT_FALSE(index_load_get(ix, a + 2, &place, &deadline));
        index_load_deadline(ix, a + 1, 1, 0);
        TEST_ASSERT_TRUE(index_load_get(ix, a + 3, &place, &deadline));
    }
    TEST_ASSERT_EQUAL(0, index_load_put(ix, 1, MF_LIT("k"), 10, 8000, 0));
    TEST_ASSERT_TRUE(index_load_get(ix, 1, &place, &deadline));
    TEST_ASSERT_EQUAL_INT64(8000, deadline);
    index_load_del(ix, 9, 5);
    index_load_del(ix, 10, 10);
    load_end((struct record_mark){0});
    TEST_ASSERT_EQUAL_size_t(45, index_count(ix));
    TEST_ASSERT_EQUAL_UINT32(KEYS_NONE, key("ten"));
    TEST_ASSERT_EQUAL_INT64(7000, index_deadline(ix, index_find(ix, 45)));
    TEST_ASSERT_EQUAL_INT64(8000, index_deadline(ix, index_find(ix, 1)));
}

/* The cleaner moves the oldest messages to the end of the log: small sequences come last. */
static void test_load_takes_copies_of_old_messages_late(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 5001; seq <= 10000; seq++)
        put(seq, "k", 0);
    for (uint64_t seq = 1; seq <= 5000; seq++)
        put(seq, "k", 0);
    load_end((struct record_mark){0});
    TEST_ASSERT_EQUAL_UINT64(10000 * 10001 / 2, kept_sum);
    TEST_ASSERT_LESS_THAN_size_t(10000 * 30, own_memory());
    TEST_ASSERT_EQUAL_UINT64(5001, seq_of(index_newer(ix, index_find(ix, 5000))));
}

static void test_load_takes_descending_and_interleaved_sequences(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 4000; seq > 2000; seq--)
        put(seq, "down", 0);
    for (uint64_t seq = 6000; seq <= 8000; seq += 2)
        put(seq, "even", 0);
    for (uint64_t seq = 6001; seq <= 8000; seq += 2)
        put(seq, "odd", 0);
    put(UINT64_MAX, "far", 0);
    put(1, "near", 0);
    load_end((struct record_mark){0});
    TEST_ASSERT_EQUAL_size_t(2000 + 2001 + 2, index_count(ix));
    TEST_ASSERT_EQUAL_UINT64(7003, seq_of(index_newer(ix, index_find(ix, 7001))));
    TEST_ASSERT_EQUAL_UINT64(2001, seq_of(index_key_first(ix, key("down"))));
}

/* A log of millions of which few live: the index is as small as if the rest had never been. */
static void test_load_of_mostly_removed_messages_stays_small(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 1; seq <= 100000; seq++) {
        put(seq, "k", 0);
        if (seq > 2000 && seq % 100 != 0)
            index_load_del(ix, seq - 2000, seq - 2000);
        TEST_ASSERT_LESS_THAN_size_t(400000, own_memory());
    }
    index_load_del(ix, 50000, 98000);
    load_end((struct record_mark){0});
    TEST_ASSERT_LESS_THAN_size_t(index_count(ix) * 40, own_memory());
}

/* Most expired while the server was down: their room is not kept for them. */
static void test_load_after_mass_expiry_is_small(void)
{
    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (uint64_t seq = 1; seq <= 20000; seq++)
        put(seq, "k", seq % 20 == 0 ? 0 : 500);
    load_end((struct record_mark){.time_ns = 600, .seq = 0});
    TEST_ASSERT_EQUAL_size_t(1000, index_count(ix));
    TEST_ASSERT_LESS_THAN_size_t(1000 * 32, own_memory());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_loading_nothing_gives_an_empty_index);
    RUN_TEST(test_loaded_messages_are_like_added_ones);
    RUN_TEST(test_load_leaves_out_what_the_mark_covers);
    RUN_TEST(test_load_replaces_changes_and_removes);
    RUN_TEST(test_load_takes_copies_of_old_messages_late);
    RUN_TEST(test_load_takes_descending_and_interleaved_sequences);
    RUN_TEST(test_load_of_mostly_removed_messages_stays_small);
    RUN_TEST(test_load_after_mass_expiry_is_small);
    return UNITY_END();
}
