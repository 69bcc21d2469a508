/* test_store_index_model.c: random operations on the index against a sorted array that is searched
 * from end to end.  Sequences jump by 1, by hundreds, over 65,535 and over 2^32; the store swings
 * between empty and some thousands, so that blocks grow, merge, shrink and go; every round starts
 * with a load in some strange order.
 *
 *     MODEL_SEED=n    the same run again        MODEL_ROUNDS=n    more of them (default 5) */
#include "store/index/index.h"
#include "store/log/record.h"

#include "base/rand.h"

#include "unity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST  6000
#define KEYS  700
#define STEPS 6000

static uint64_t seed, state;

static uint64_t any(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = state ^ state >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}
static uint32_t below(uint32_t n)
{
    return (uint32_t)((any() >> 16) % n);
}

struct message {
    uint64_t seq, place;
    int64_t deadline; /* 0: never, or hidden */
    uint16_t bits;
    unsigned key;
    bool removing, hidden;
};

static struct message m[MOST];
static size_t count;
static uint64_t top; /* the greatest sequence ever given */
static int64_t now;
static unsigned keys; /* how many different ones this round uses */
static struct index *ix;

void setUp(void)
{
    const char *given = getenv("MODEL_SEED");

    rand_bytes(&seed, sizeof seed);
    seed = given != NULL ? strtoull(given, NULL, 10) : seed >> 32;
    state = seed;
    printf("MODEL_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
}
void tearDown(void)
{
    index_free(ix);
    ix = NULL;
}

static struct mf_slice key_text(unsigned key, char dst[200])
{
    int n = snprintf(dst, 200, "k.%u.%u", key % 7, key);

    if (key % 50 == 3) { /* too long for the queue of a load */
        memset(dst + n, 'x', 150);
        n += 150;
    }
    return mf_slice(dst, (size_t)n);
}

static size_t model_lower(uint64_t seq) /* the first at or after */
{
    size_t i = 0;

    while (i < count && m[i].seq < seq)
        i++;
    return i;
}
static bool model_has(uint64_t seq, size_t *at)
{
    *at = model_lower(seq);
    return *at < count && m[*at].seq == seq;
}
static void model_insert(size_t at, struct message v)
{
    memmove(&m[at + 1], &m[at], (count - at) * sizeof m[0]);
    m[at] = v;
    count++;
}
static void model_delete(size_t at)
{
    memmove(&m[at], &m[at + 1], (count - at - 1) * sizeof m[0]);
    count--;
}

static uint16_t any_bits(void)
{
    return below(3) == 0 ? (uint16_t)any() & RECORD_BITS : 0;
}

/* What holds beside such a deadline. */
static uint16_t held(uint16_t bits, int64_t deadline)
{
    return deadline == 0 ? bits : (uint16_t)(bits & ~RECORD_INFINITE);
}

static int64_t any_deadline(void)
{
    switch (below(6)) {
    case 0:
        return 0;
    case 1:
        return now + below(100) + 1; /* many equal ones */
    case 2:
        return now - below(1000) > 0 ? now - below(1000) : 1; /* past already */
    case 3:
        return now + (int64_t)(any() >> 8);
    default:
        return now + 1 + (int64_t)below(2000000000);
    }
}

static uint64_t any_step(void)
{
    switch (below(400)) {
    case 0:
        return UINT64_C(0x100000000) + below(5);
    case 1:
        return 65000 + below(1500);
    case 2:
        return 1 + below(3000);
    default:
        return 1 + (below(10) == 0);
    }
}

static uint32_t id_of(size_t at)
{
    uint32_t id = index_find(ix, m[at].seq);

    TEST_ASSERT_NOT_EQUAL_UINT32(INDEX_NONE, id);
    return id;
}

static void compare_one(uint32_t id, const struct message *v)
{
    char text[200];
    uint8_t got[KEYS_MAX];

    TEST_ASSERT_NOT_EQUAL_UINT32(INDEX_NONE, id);
    TEST_ASSERT_EQUAL_UINT64(v->seq, index_seq(ix, id));
    TEST_ASSERT_EQUAL_UINT64(v->place, index_place(ix, id));
    TEST_ASSERT_EQUAL_INT64(v->deadline, index_deadline(ix, id));
    TEST_ASSERT_EQUAL_HEX16(v->bits, index_bits(ix, id));
    TEST_ASSERT_EQUAL(v->removing, index_removing(ix, id));
    TEST_ASSERT_EQUAL(v->hidden, index_hidden(ix, id));
    TEST_ASSERT_TRUE(
        mf_eq(key_text(v->key, text), keys_text(index_keys(ix), index_key(ix, id), got)));
}

static void compare_all(void)
{
    uint32_t id = index_next(ix, 0);
    size_t timed = 0, infinite = 0, pinned = 0;

    index_check(ix);
    TEST_ASSERT_EQUAL_size_t(count, index_count(ix));
    for (size_t i = 0; i < count; i++) {
        compare_one(id, &m[i]);
        timed += m[i].deadline != 0;
        infinite += (m[i].bits & RECORD_INFINITE) != 0;
        pinned += (m[i].bits & RECORD_PINNED) != 0;
        id = m[i].seq == UINT64_MAX ? INDEX_NONE : index_next(ix, m[i].seq + 1);
    }
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, id);
    TEST_ASSERT_EQUAL_size_t(timed, index_deadlines(ix));
    TEST_ASSERT_EQUAL_size_t(infinite, index_infinite(ix));
    TEST_ASSERT_EQUAL_size_t(pinned, index_pinned(ix));
}

/* find, next and prev of a sequence near one that is there, or anywhere. */
static void ask_sequence(void)
{
    uint64_t seq = count > 0 && below(3) > 0 ? m[below((uint32_t)count)].seq + below(3) - 1
                                             : any() % (top + 2);
    size_t at;
    bool there = model_has(seq, &at);
    uint32_t found = index_find(ix, seq), next = index_next(ix, seq), prev = index_prev(ix, seq);

    TEST_ASSERT_EQUAL(there, found != INDEX_NONE);
    if (at == count)
        TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, next);
    else
        compare_one(next, &m[at]);
    at += there;
    if (at == 0)
        TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, prev);
    else
        compare_one(prev, &m[at - 1]);
}

/* The ring of a key, from both ends. */
static void ask_key(void)
{
    char text[200];
    unsigned key = below(keys);
    uint32_t k = keys_find(index_keys(ix), key_text(key, text)), n = 0;

    if (k == KEYS_NONE) {
        for (size_t i = 0; i < count; i++)
            TEST_ASSERT_NOT_EQUAL_UINT(key, m[i].key);
        return;
    }
    uint32_t id = index_key_first(ix, k);
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_older(ix, id));
    for (size_t i = 0; i < count; i++) {
        if (m[i].key != key)
            continue;
        compare_one(id, &m[i]);
        uint32_t newer = index_newer(ix, id);
        if (newer == INDEX_NONE)
            TEST_ASSERT_EQUAL_UINT32(index_key_last(ix, k), id);
        else
            TEST_ASSERT_EQUAL_UINT32(id, index_older(ix, newer));
        id = newer;
        n++;
    }
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, id);
    TEST_ASSERT_EQUAL_UINT32(n, index_key_count(ix, k));
}

static void step_add(void)
{
    char text[200];
    uint32_t id;
    struct message v = {.seq = top + any_step(), .place = any(), .key = below(keys)};

    if (count == MOST || v.seq < top)
        return;
    top = v.seq;
    v.deadline = any_deadline();
    TEST_ASSERT_EQUAL(0, index_add(ix, v.seq, key_text(v.key, text), v.place, v.deadline, &id));
    v.bits = any_bits();
    index_set_bits(ix, id, v.bits | 7);
    v.bits = held(v.bits, v.deadline);
    compare_one(id, &v);
    model_insert(count, v);
}

static void step_remove(size_t at)
{
    index_remove(ix, id_of(at));
    model_delete(at);
}

static void step_begin_removal(size_t at)
{
    index_set_removing(ix, id_of(at));
    m[at].removing = true;
}

static void step_hide(size_t at)
{
    index_hide(ix, id_of(at));
    m[at].removing = m[at].hidden = true;
    m[at].deadline = 0;
}

static void step_change(size_t at)
{
    if (below(3) == 0) {
        m[at].place = any();
        index_set_place(ix, id_of(at), m[at].place);
    } else if (!m[at].hidden) {
        m[at].deadline = below(10) == 0 ? m[at].deadline : any_deadline();
        TEST_ASSERT_EQUAL(0, index_set_deadline(ix, id_of(at), m[at].deadline));
        m[at].bits = held(below(2) == 0 ? m[at].bits : any_bits(), m[at].deadline);
        index_set_bits(ix, id_of(at), m[at].bits);
    }
}

static size_t model_first_due(void)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < count; i++)
        if (m[i].deadline != 0 && m[i].deadline <= now &&
            (first == SIZE_MAX || m[i].deadline < m[first].deadline))
            first = i; /* of equal ones the smaller sequence comes first */
    return first;
}

static void step_time(void)
{
    int64_t deadline;

    now += below(5) == 0 ? (int64_t)below(2000000000) : (int64_t)below(200);
    while (!index_advance(ix, now, 64))
        ;
    for (size_t due = model_first_due(); due != SIZE_MAX; due = model_first_due()) {
        uint32_t id = index_due(ix, &deadline);
        compare_one(id, &m[due]);
        TEST_ASSERT_EQUAL_INT64(m[due].deadline, deadline);
        TEST_ASSERT_TRUE(index_next_deadline(ix) <= deadline);
        step_hide(due);
        if (below(2) == 0)
            step_remove(due);
    }
    TEST_ASSERT_EQUAL_UINT32(INDEX_NONE, index_due(ix, &deadline));
}

static size_t visited;
static void visit(void *arg, uint32_t id, int64_t deadline_ns)
{
    uint64_t seq = index_seq(ix, id);
    size_t at;

    TEST_ASSERT_TRUE(model_has(seq, &at));
    TEST_ASSERT_EQUAL_INT64(m[at].deadline, deadline_ns);
    TEST_ASSERT_TRUE(deadline_ns < *(int64_t *)arg);
    visited++;
}

static void ask_deadlines(void)
{
    int64_t to = now + (int64_t)below(2000000000);
    size_t want = 0;

    for (size_t i = 0; i < count; i++)
        want += m[i].deadline != 0 && m[i].deadline < to;
    visited = 0;
    index_each_deadline(ix, to, visit, &to);
    TEST_ASSERT_EQUAL_size_t(want, visited);
}

/* `grow` of 100 steps add; what goes is random, from the front, or all but a few. */
static void step(unsigned grow)
{
    if (below(100) < grow || count == 0) {
        step_add();
        return;
    }
    size_t at = below(2) == 0 ? below((uint32_t)count) : below((uint32_t)(count / 10 + 1));
    switch (below(12)) {
    case 0:
        step_change(at);
        break;
    case 1:
        below(2) == 0 ? step_begin_removal(at) : step_hide(at);
        break;
    case 2:
        ask_sequence();
        break;
    case 3:
        if (below(8) == 0)
            step_time();
        break;
    case 4:
        if (below(8) == 0)
            ask_key();
        break;
    case 5:
        for (size_t n = below(40); n > 0 && at < count; n--)
            step_remove(at);
        break;
    default:
        step_remove(at);
    }
}

static size_t kept_at;
static void kept(void *arg, uint64_t seq, uint64_t place)
{
    (void)arg;
    TEST_ASSERT_TRUE(kept_at < count);
    TEST_ASSERT_EQUAL_UINT64(m[kept_at].seq, seq);
    TEST_ASSERT_EQUAL_UINT64(m[kept_at].place, place);
    kept_at++;
}

static void load_put(uint64_t seq, unsigned key)
{
    struct message v = {.seq = seq, .place = any(), .deadline = any_deadline(), .key = key};
    char text[200];
    size_t at;

    if (model_has(seq, &at))
        v.key = m[at].key;
    else if (count == MOST)
        return;
    else
        model_insert(at, v);
    m[at] = v;
    v.bits = any_bits();
    TEST_ASSERT_EQUAL(0,
                      index_load_put(ix, seq, key_text(v.key, text), v.place, v.deadline, v.bits));
    m[at].bits = held(v.bits, v.deadline);
    top = seq > top ? seq : top;
}

static void load_del(uint64_t first, uint64_t last)
{
    index_load_del(ix, first, last);
    for (size_t at = model_lower(first); at < count && m[at].seq <= last;)
        model_delete(at);
}

static void load_ask(uint64_t seq)
{
    uint64_t place;
    int64_t deadline;
    size_t at;
    bool there = model_has(seq, &at);

    TEST_ASSERT_EQUAL(there, index_load_get(ix, seq, &place, &deadline));
    if (there) {
        TEST_ASSERT_EQUAL_UINT64(m[at].place, place);
        TEST_ASSERT_EQUAL_INT64(m[at].deadline, deadline);
    }
}

static uint64_t near_one(void)
{
    return count == 0 ? below(100) : m[below((uint32_t)count)].seq + below(5) - 2;
}

/* How the sequence of the next put goes on: ascending, descending, between, anywhere. */
static uint64_t load_next(unsigned order, uint64_t last)
{
    switch (order) {
    case 0:
        return top + any_step();
    case 1:
        return last > 3 ? last - 1 - below(3) : top + 1;
    case 2:
        return last + 1;
    default:
        return below(3) == 0 ? near_one() : below(50000);
    }
}

static void load_some(void)
{
    unsigned order = 0;
    uint64_t last = 0;

    TEST_ASSERT_EQUAL(0, index_load_begin(ix));
    for (int i = 0; i < STEPS; i++) {
        if (below(300) == 0) {
            order = below(4);
            last = near_one();
        }
        last = load_next(order, last);
        load_put(last, below(keys));
        if (below(4) == 0)
            load_ask(below(2) == 0 ? near_one() : last);
        if (below(10) == 0) {
            uint64_t seq = below(2) == 0 ? near_one() : last;
            int64_t deadline = any_deadline();
            size_t at;
            uint16_t bits = any_bits();
            index_load_deadline(ix, seq, deadline, bits);
            if (model_has(seq, &at)) {
                m[at].deadline = deadline;
                m[at].bits = held(bits, deadline);
            }
        }
        if (below(3) == 0) {
            uint64_t first = near_one();
            load_del(first, first + (below(100) == 0 ? below(1000) : 0));
        }
        if (below(1000) == 0)
            index_check(ix);
        if (below(3000) == 0)
            load_del(0, below(2) == 0 ? UINT64_MAX : near_one());
    }
}

static void load_round(void)
{
    struct record_mark gone = {.time_ns = below(3) == 0 ? 0 : now + 50, .seq = near_one()};

    load_some();
    for (size_t i = 0; i < count;) {
        if (gone.time_ns != 0 && record_mark_covers(gone, m[i].deadline, m[i].seq))
            model_delete(i);
        else
            i++;
    }
    kept_at = 0;
    TEST_ASSERT_EQUAL(0, index_load_end(ix, &gone, kept, NULL));
    TEST_ASSERT_EQUAL_size_t(count, kept_at);
    compare_all();
}

static void one_round(void)
{
    count = 0;
    top = 0;
    now = 1000 + below(1000000);
    keys = 1 + below(below(3) == 0 ? 3 : KEYS);
    ix = index_new('.', now);
    TEST_ASSERT_NOT_NULL(ix);
    if (below(3) > 0)
        load_round();
    for (int phase = 0; phase < 6; phase++) {
        unsigned grow = phase % 2 == 0 ? 60 + below(40) : below(50);
        for (int i = 0; i < STEPS; i++) {
            step(grow);
            if (below(500) == 0)
                compare_all();
        }
        if (below(8) == 0) {
            index_free(ix);
            ix = index_new('.', now);
            TEST_ASSERT_NOT_NULL(ix);
            count = 0;
        }
        compare_all();
        ask_deadlines();
    }
    while (count > 0)
        step_remove(below((uint32_t)count));
    compare_all();
    index_free(ix);
    ix = NULL;
}

/* All that the store believes about its messages comes from here. */
static void test_random_operations_agree_with_plain_array(void)
{
    const char *given = getenv("MODEL_ROUNDS");
    long rounds = given != NULL ? strtol(given, NULL, 10) : 5;

    for (long i = 0; i < rounds; i++)
        one_round();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_operations_agree_with_plain_array);
    return UNITY_END();
}
