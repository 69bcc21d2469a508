/* test_store_index.c: the index of messages, one situation at a time.  (Loading:
 * test_store_index_load.c; random ones against a model: test_store_index_model.c; memory running
 * out: test_store_index_nomem.c.) */
#include "store/index/index_impl.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

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

static uint32_t add(uint64_t seq, const char *key, int64_t deadline)
{
    uint32_t id;

    TEST_ASSERT_EQUAL(0, index_add(ix, seq, mf_str(key), seq * 10, deadline, &id));
    return id;
}
static uint32_t add_number(uint64_t seq, uint64_t key, int64_t deadline)
{
    char text[32];

    snprintf(text, sizeof text, "k.%llu", (unsigned long long)key);
    return add(seq, text, deadline);
}
static void drop(uint64_t seq)
{
    index_remove(ix, index_find(ix, seq));
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
static uint64_t due(void)
{
    int64_t deadline;

    return seq_of(index_due(ix, &deadline));
}
/* Without keys and wheel: what the index itself holds. */
static size_t own_memory(void)
{
    size_t wheel = ix->wheel == NULL ? 0 : wheel_memory(ix->wheel);

    return index_memory(ix) - keys_memory(ix->keys) - wheel;
}

/* Segment, offset and length share 64 bits: a wrong shift would send reads elsewhere. */
static void test_place_gives_back_what_went_in(void)
{
    uint64_t p = place_make(0x3FFFF, (128u << 20) - 8, 0xFFFFE, 3);

    TEST_ASSERT_EQUAL_UINT64(0x3FFFF, place_segment(p));
    TEST_ASSERT_EQUAL_UINT64((128u << 20) - 8, place_offset(p));
    TEST_ASSERT_EQUAL_UINT32(0xFFFFE, place_len(p));
    TEST_ASSERT_EQUAL_UINT16(3, place_flags(p));
    TEST_ASSERT_EQUAL_UINT32(PLACE_LEN_MAX, place_len(place_make(1, 8, 1 << 24, 0)));
    TEST_ASSERT_EQUAL_UINT64(1, place_segment(place_make(0x40001, 8, 5, 0)));
}

/* A server may have thousands of streams that never see a message. */
static void test_empty_index_answers_none_and_holds_nothing(void)
{
    int64_t deadline;

    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_find(ix, 1));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_next(ix, 0));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_prev(ix, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_due(ix, &deadline));
    TEST_ASSERT_TRUE(index_advance(ix, 5000, 1));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, index_next_deadline(ix));
    TEST_ASSERT_EQUAL_size_t(0, index_count(ix) + index_deadlines(ix));
    TEST_ASSERT_EQUAL_size_t(sizeof *ix, own_memory());
}

/* Ten thousand streams with a few messages each shall not cost a block of 256 each. */
static void test_tiny_store_is_tiny_and_shrinks_back(void)
{
    for (uint64_t seq = 1; seq <= 10; seq++)
        add_number(seq, seq, 0);
    size_t tiny = own_memory();
    TEST_ASSERT_LESS_THAN_size_t(1200, tiny);
    for (uint64_t seq = 11; seq <= 250; seq++)
        add_number(seq, seq, 0);
    TEST_ASSERT_GREATER_THAN_size_t(6000, own_memory());
    for (uint64_t seq = 1; seq <= 248; seq++)
        drop(seq);
    TEST_ASSERT_EQUAL_size_t(tiny, own_memory());
    TEST_ASSERT_EQUAL_UINT64(249, seq_of(index_next(ix, 0)));
    TEST_ASSERT_EQUAL_UINT64(250, seq_of(index_prev(ix, UINT64_MAX)));
}

static void test_added_message_is_found_by_all_ways(void)
{
    uint32_t id = add(7, "a.b", 5000);

    TEST_ASSERT_EQUAL_UINT32(id, index_find(ix, 7));
    TEST_ASSERT_EQUAL_UINT32(id, index_next(ix, 1));
    TEST_ASSERT_EQUAL_UINT32(id, index_next(ix, 7));
    TEST_ASSERT_EQUAL_UINT32(id, index_prev(ix, 7));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_next(ix, 8));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_prev(ix, 6));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_find(ix, 6));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_find(ix, 8));
    TEST_ASSERT_EQUAL_UINT64(70, index_place(ix, id));
    TEST_ASSERT_EQUAL_INT64(5000, index_deadline(ix, id));
    TEST_ASSERT_EQUAL_UINT32(key("a.b"), index_key(ix, id));
    TEST_ASSERT_EQUAL_UINT32(id, index_key_last(ix, key("a.b")));
    TEST_ASSERT_EQUAL_UINT32(id, index_key_first(ix, key("a.b")));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_older(ix, id));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_newer(ix, id));
    index_set_place(ix, id, 99);
    TEST_ASSERT_EQUAL_UINT64(99, index_place(ix, id));
}

/* next and prev step over holes, also those at the edge of a block. */
static void test_next_and_prev_step_over_removed_ones(void)
{
    for (uint64_t seq = 1; seq <= 1000; seq++)
        add_number(seq, seq, 0);
    for (uint64_t seq = 200; seq <= 300; seq++)
        drop(seq);
    TEST_ASSERT_EQUAL_UINT64(301, seq_of(index_next(ix, 200)));
    TEST_ASSERT_EQUAL_UINT64(301, seq_of(index_next(ix, 257)));
    TEST_ASSERT_EQUAL_UINT64(199, seq_of(index_prev(ix, 300)));
    TEST_ASSERT_EQUAL_UINT64(199, seq_of(index_prev(ix, 257)));
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_find(ix, 250));
}

/* History of a key: what KV history, last-per-subject and max_msgs_per_subject walk along. */
static void test_ring_of_key_is_in_sequence_order(void)
{
    for (uint64_t seq = 1; seq <= 9; seq++)
        add(seq, seq % 3 == 0 ? "c" : "other", 0);
    uint32_t c = key("c"), id = index_key_first(ix, c);
    TEST_ASSERT_EQUAL_UINT32(3, index_key_count(ix, c));
    TEST_ASSERT_EQUAL_UINT64(3, seq_of(id));
    TEST_ASSERT_EQUAL_UINT64(6, seq_of(index_newer(ix, id)));
    TEST_ASSERT_EQUAL_UINT64(9, seq_of(index_key_last(ix, c)));
    TEST_ASSERT_EQUAL_UINT64(6, seq_of(index_older(ix, index_key_last(ix, c))));
    TEST_ASSERT_EQUAL_UINT64(0, seq_of(index_older(ix, id)));
    TEST_ASSERT_EQUAL_UINT64(0, seq_of(index_newer(ix, index_key_last(ix, c))));
    drop(6);
    TEST_ASSERT_EQUAL_UINT64(9, seq_of(index_newer(ix, index_find(ix, 3))));
    drop(9);
    TEST_ASSERT_EQUAL_UINT64(3, seq_of(index_key_last(ix, c)));
    TEST_ASSERT_EQUAL_UINT64(3, seq_of(index_key_first(ix, c)));
    drop(3);
    TEST_ASSERT_EQUAL_UINT32(KEYS_NONE, key("c"));
}

/* Between the decision to remove and the disk's word the message is there as before; should it
 * expire meanwhile, that is noticed. */
static void test_message_in_removal_stays_as_it_was(void)
{
    uint32_t id = add(1, "a", 2000);

    add(2, "a", 0);
    TEST_ASSERT_FALSE(index_removing(ix, id));
    index_set_removing(ix, id);
    index_set_removing(ix, id);
    TEST_ASSERT_TRUE(index_removing(ix, id));
    TEST_ASSERT_FALSE(index_hidden(ix, id));
    TEST_ASSERT_FALSE(index_removing(ix, index_find(ix, 2)));
    TEST_ASSERT_EQUAL_INT64(2000, index_deadline(ix, id));
    TEST_ASSERT_EQUAL_UINT32(id, index_find(ix, 1));
    TEST_ASSERT_EQUAL_UINT32(2, index_key_count(ix, key("a")));
    TEST_ASSERT_TRUE(index_advance(ix, 9000, 100));
    TEST_ASSERT_EQUAL_UINT64(1, due());
    drop(1);
    TEST_ASSERT_EQUAL_UINT64(0, due());
    TEST_ASSERT_EQUAL_size_t(1, index_count(ix));
}

/* An expired message must not expire a second time while its removal is on the way to the disk. */
static void test_hidden_message_leaves_the_wheel(void)
{
    uint32_t id = add(1, "a", 2000);

    add(2, "a", 0);
    index_hide(ix, id);
    index_hide(ix, id);
    index_hide(ix, index_find(ix, 2)); /* had no deadline */
    TEST_ASSERT_TRUE(index_removing(ix, id));
    TEST_ASSERT_TRUE(index_hidden(ix, id));
    TEST_ASSERT_EQUAL_INT64(0, index_deadline(ix, id));
    TEST_ASSERT_EQUAL_size_t(0, index_deadlines(ix));
    TEST_ASSERT_TRUE(index_advance(ix, 9000, 100));
    TEST_ASSERT_EQUAL_UINT64(0, due());
    TEST_ASSERT_EQUAL_size_t(2, index_count(ix));
    drop(1);
    TEST_ASSERT_EQUAL_size_t(1, index_count(ix));
}

static void test_deadline_can_be_changed_set_and_taken_away(void)
{
    uint32_t id = add(1, "a", 5000);

    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 3000));
    TEST_ASSERT_EQUAL_INT64(3000, index_deadline(ix, id));
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 3000));
    TEST_ASSERT_EQUAL_size_t(1, index_deadlines(ix));
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 0));
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 0));
    TEST_ASSERT_EQUAL_INT64(0, index_deadline(ix, id));
    TEST_ASSERT_EQUAL_size_t(0, index_deadlines(ix));
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 4000));
    TEST_ASSERT_TRUE(index_advance(ix, 3999, 100));
    TEST_ASSERT_EQUAL_UINT64(0, due());
    TEST_ASSERT_TRUE(index_advance(ix, 4000, 100));
    TEST_ASSERT_EQUAL_UINT64(1, due());
    TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id, 8000)); /* due already, then renewed */
    TEST_ASSERT_EQUAL_UINT64(0, due());
}

/* Markers are written in this order; a time mark is one (deadline, sequence) and covers all before.
 */
static void test_due_come_by_deadline_then_sequence_and_stay_until_hidden(void)
{
    const uint64_t order[] = {4, 2, 3, 1};

    add(1, "a", 3000);
    add(2, "b", 2000);
    add(3, "c", 2000);
    add(4, "d", 1500);
    add(5, "e", 3001);
    TEST_ASSERT_TRUE(index_advance(ix, 3000, 100));
    for (size_t i = 0; i < MF_COUNT(order); i++) {
        TEST_ASSERT_EQUAL_UINT64(order[i], due());
        TEST_ASSERT_EQUAL_UINT64(order[i], due());
        index_hide(ix, index_find(ix, order[i]));
    }
    TEST_ASSERT_EQUAL_UINT64(0, due());
    TEST_ASSERT_EQUAL_size_t(5, index_count(ix));
}

/* A merge gives entries other ids; the wheel and the rings must follow, due ones included. */
static void test_due_entries_survive_merging_of_their_blocks(void)
{
    int64_t deadline;
    uint64_t last = 0, n = 0;

    for (uint64_t seq = 1; seq <= 2048; seq++)
        add_number(seq, seq % 100, 2000);
    TEST_ASSERT_TRUE(index_advance(ix, 2000, SIZE_MAX));
    for (uint64_t seq = 1; seq <= 2048; seq++)
        if (seq % 17 != 0)
            drop(seq);
    TEST_ASSERT_GREATER_THAN_UINT64(0, ix->moves);
    index_check(ix);
    for (uint32_t id; (id = index_due(ix, &deadline)) != INDEX_NONE; n++) {
        TEST_ASSERT_EQUAL_UINT64(last + 17, index_seq(ix, id));
        last = index_seq(ix, id);
        index_hide(ix, id);
        index_remove(ix, id);
    }
    TEST_ASSERT_EQUAL_UINT64(2048 / 17, n);
}

/* New deadlines in the past are due at once, among those that are: still in order. */
static void test_deadlines_renewed_while_due_keep_the_order(void)
{
    for (uint64_t seq = 1; seq <= 300; seq++)
        add_number(seq, seq, 2000);
    TEST_ASSERT_TRUE(index_advance(ix, 2000, SIZE_MAX));
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seq = i * 7919 % 300 + 1;
        TEST_ASSERT_EQUAL(0, index_set_deadline(ix, index_find(ix, seq), 1500));
        TEST_ASSERT_TRUE(due() > 0);
    }
    for (uint64_t seq = 1; seq <= 300; seq++) {
        TEST_ASSERT_EQUAL_UINT64(seq, due());
        index_hide(ix, index_find(ix, seq));
    }
}

static size_t seen;
static void see(void *arg, uint32_t id, int64_t deadline_ns)
{
    uint64_t seq = index_seq(ix, id);

    TEST_ASSERT_EQUAL_INT64(1000 + (int64_t)seq, deadline_ns);
    TEST_ASSERT_TRUE(seq < *(uint64_t *)arg);
    seen++;
}
static void test_each_deadline_visits_those_before_the_time(void)
{
    uint64_t end = 500;

    for (uint64_t seq = 1; seq <= 1000; seq++)
        add_number(seq, seq, 1000 + (int64_t)seq);
    seen = 0;
    index_each_deadline(ix, 1500, see, &end);
    TEST_ASSERT_EQUAL_size_t(499, seen);
}

/* A mirror takes over sequences with gaps of any size. */
static void test_sequences_may_jump_any_distance(void)
{
    const uint64_t at[] = {1,
                           2,
                           65536,
                           65537,
                           65538,
                           131072,
                           200000,
                           UINT32_MAX,
                           UINT32_MAX + UINT64_C(1),
                           1ull << 33,
                           1ull << 40,
                           (1ull << 40) + 1,
                           1ull << 63,
                           UINT64_MAX - 1,
                           UINT64_MAX};

    for (size_t i = 0; i < MF_COUNT(at); i++) {
        add(at[i], "k", 0);
        index_check(ix);
    }
    for (size_t i = 0; i < MF_COUNT(at); i++) {
        TEST_ASSERT_EQUAL_UINT64(at[i], seq_of(index_find(ix, at[i])));
        TEST_ASSERT_EQUAL_UINT64(at[i], seq_of(index_next(ix, i == 0 ? 0 : at[i - 1] + 1)));
        TEST_ASSERT_EQUAL_UINT64(i == 0 ? 0 : at[i - 1], seq_of(index_prev(ix, at[i] - 1)));
    }
    for (size_t i = 0; i < MF_COUNT(at); i++)
        drop(at[i]);
    TEST_ASSERT_EQUAL_size_t(0, index_count(ix));
}

/* Keys that were written once, weeks ago, among millions of writes of others: a block of 256 slots
 * for each would be 7 KB for a message. */
static void test_rare_survivors_share_blocks(void)
{
    for (uint64_t seq = 1; seq <= 200000; seq++) {
        add(seq * 500, "k", 0);
        if (seq % 400 != 1) /* one in 200,000 sequences stays */
            drop(seq * 500);
    }
    TEST_ASSERT_EQUAL_size_t(500, index_count(ix));
    TEST_ASSERT_LESS_THAN_size_t(500 * 128, own_memory());
}

/* The same when nothing was removed: sparse from the start. */
static void test_sparse_sequences_share_blocks(void)
{
    for (uint64_t seq = 1; seq <= 1000; seq++)
        add(seq * 100000, "k", 0);
    TEST_ASSERT_LESS_THAN_size_t(1000 * 40, own_memory());
    TEST_ASSERT_EQUAL_UINT64(77700000, seq_of(index_next(ix, 77600001)));
}

static void test_key_too_long_is_refused(void)
{
    static uint8_t text[KEYS_MAX + 1];
    uint32_t id;

    memset(text, 'x', sizeof text);
    TEST_ASSERT_EQUAL(MF_INVAL, index_add(ix, 1, mf_slice(text, sizeof text), 0, 0, &id));
    TEST_ASSERT_EQUAL(0, index_add(ix, 1, mf_slice(text, KEYS_MAX), 0, 0, &id));
    TEST_ASSERT_EQUAL_size_t(1, index_count(ix));
}

/* Moves per removal must not grow with the store, nor one removal be long. */
static void removals_cost_the_same(uint64_t n)
{
    uint64_t most = 0, before, at = 0;

    for (uint64_t seq = 1; seq <= n; seq++)
        add_number(seq, seq % 1000, 0);
    for (uint64_t i = 0; i < n; i++) {
        at = (at + 1000003) % n; /* a prime: each once */
        before = ix->moves;
        drop(at + 1);
        most = ix->moves - before > most ? ix->moves - before : most;
    }
    TEST_ASSERT_EQUAL_size_t(0, index_count(ix));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(BLOCK_MERGE, most);
    TEST_ASSERT_LESS_THAN_UINT64(n * 2, ix->moves);
}
static void test_removals_of_a_thousand_move_few(void)
{
    removals_cost_the_same(1000);
}
static void test_removals_of_a_million_move_few(void)
{
    removals_cost_the_same(1000000);
}

/* A queue: in at one end, out at the other.  Nothing is ever moved. */
static void test_removing_in_order_moves_nothing(void)
{
    for (uint64_t seq = 1; seq <= 100000; seq++) {
        add(seq, "q", 0);
        if (seq > 1000)
            drop(seq - 1000);
    }
    TEST_ASSERT_EQUAL_UINT64(0, ix->moves);
    TEST_ASSERT_LESS_THAN_size_t(64 * 1000, own_memory());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_place_gives_back_what_went_in);
    RUN_TEST(test_empty_index_answers_none_and_holds_nothing);
    RUN_TEST(test_tiny_store_is_tiny_and_shrinks_back);
    RUN_TEST(test_added_message_is_found_by_all_ways);
    RUN_TEST(test_next_and_prev_step_over_removed_ones);
    RUN_TEST(test_ring_of_key_is_in_sequence_order);
    RUN_TEST(test_message_in_removal_stays_as_it_was);
    RUN_TEST(test_hidden_message_leaves_the_wheel);
    RUN_TEST(test_deadline_can_be_changed_set_and_taken_away);
    RUN_TEST(test_due_come_by_deadline_then_sequence_and_stay_until_hidden);
    RUN_TEST(test_due_entries_survive_merging_of_their_blocks);
    RUN_TEST(test_deadlines_renewed_while_due_keep_the_order);
    RUN_TEST(test_each_deadline_visits_those_before_the_time);
    RUN_TEST(test_sequences_may_jump_any_distance);
    RUN_TEST(test_rare_survivors_share_blocks);
    RUN_TEST(test_sparse_sequences_share_blocks);
    RUN_TEST(test_key_too_long_is_refused);
    RUN_TEST(test_removals_of_a_thousand_move_few);
    RUN_TEST(test_removals_of_a_million_move_few);
    RUN_TEST(test_removing_in_order_moves_nothing);
    return UNITY_END();
}
