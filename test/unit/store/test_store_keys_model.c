/* test_store_keys_model.c: random adding, deleting, finding and walking against a plain array
 * searched from end to end; several walks at once, colliding hashes, memory that runs out.
 *
 * The module is compiled into this file with small pages and chunks, so that a few hundred keys
 * fill, cross, empty and reuse them; MODEL_STEPS=n makes it longer, MODEL_SEED=n repeats a run.
 * (Linked with --wrap for the allocator.) */
#define CHUNK_BITS 1u
#define PAGE_BYTES 512u
#include "store/keys/keys.c"
#include "store/keys/keys_block.c"
#include "store/keys/keys_check.c"
#include "store/keys/keys_page.c"
#include "store/keys/keys_table.c"
#include "store/keys/keys_walk.c"

#define NO_MEMORY_ALIGNED
#define NO_MEMORY_MMAP
#include "support/keys_get.h"
#include "support/no_memory.h"

#include "unity.h"

#define UNIVERSE 700
#define WALKS    4
#define TEXT_MAX 300

static uint64_t seed, state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

struct model_key {
    uint8_t text[TEXT_MAX];
    size_t len;
    bool live;
    uint32_t id;
    struct keys_value value;
    struct keys_sum sum;     /* what keys_tally() was told of it */
    uint64_t born;           /* step */
    uint64_t seen_by[WALKS]; /* number of the walk that saw this life of it */
};

struct model_walk {
    struct keys_walk *w; /* NULL: none */
    uint8_t pattern[TEXT_MAX];
    size_t len;
    uint64_t number, since;
};

static struct model_key key[UNIVERSE];
static struct model_walk walk[WALKS];
static struct keys *k;
static uint64_t step_no, walk_no, nomem, results;
static size_t live;

void setUp(void)
{
}
void tearDown(void)
{
}

/* One to four tokens of few kinds, so that prefixes are shared and ends are odd. */
static size_t random_text(uint8_t *dst, bool pattern)
{
    static const char *const word[] = {"", "a", "b", "cc", "ddddd", "\xff\x01", "*", ">"};
    size_t n = 0, tokens = 1 + below(4);

    for (size_t t = 0; t < tokens; t++) {
        uint32_t kind = below(pattern ? 12 : 10);
        if (t > 0)
            dst[n++] = '.';
        if (kind < 6) {
            n += (size_t)snprintf((char *)dst + n, 8, "%s", word[kind]);
        } else if (pattern && kind >= 8) {
            dst[n++] = kind == 11 && t + 1 == tokens ? '>' : '*';
        } else if (kind == 6) {
            size_t len = below(60);
            memset(dst + n, "xyz"[below(3)], len);
            n += len;
        } else if (kind == 7) {
            dst[n++] = 0;
            dst[n++] = (uint8_t)("*>."[below(2)]);
        } else {
            n += (size_t)snprintf((char *)dst + n, 8, "%u", below(40));
        }
    }
    return n;
}

static struct mf_slice text_of(const struct model_key *m)
{
    return mf_slice(m->text, m->len);
}

static struct mf_slice cut(struct mf_slice *rest, bool *more)
{
    struct mf_slice token = *rest;
    size_t i = 0;

    while (i < rest->len && rest->ptr[i] != '.')
        i++;
    token.len = i;
    *more = i < rest->len;
    *rest = *more ? mf_slice(rest->ptr + i + 1, rest->len - i - 1) : mf_slice(rest->ptr, 0);
    return token;
}

/* The rules once more, from left to right. */
static bool naive_match(struct mf_slice pattern, struct mf_slice text)
{
    bool more_p = true, more_t = true;

    while (more_p && more_t) {
        struct mf_slice p = cut(&pattern, &more_p), t = cut(&text, &more_t);
        if (!more_p && mf_eq_str(p, ">"))
            return true;
        if (!mf_eq_str(p, "*") && !mf_eq(p, t))
            return false;
    }
    return more_p == more_t;
}

static void make_universe(void)
{
    for (size_t i = 0; i < UNIVERSE; i++) {
        bool twice = true;
        key[i] = (struct model_key){.live = false};
        while (twice) {
            key[i].len = random_text(key[i].text, false);
            twice = false;
            for (size_t j = 0; j < i; j++)
                twice = twice || mf_eq(text_of(&key[i]), text_of(&key[j]));
        }
    }
    live = 0;
}

static void do_add(struct model_key *m)
{
    uint32_t id = 77;
    int rc;

    memory_arm(below(2) == 0 ? (int)below(4) : -1);
    rc = keys_get(k, text_of(m), &id);
    memory_disarm();
    if (rc != 0) {
        TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
        TEST_ASSERT_TRUE(memory_hit);
        TEST_ASSERT_FALSE(m->live);
        TEST_ASSERT_EQUAL_UINT32(77, id);
        nomem++;
        return;
    }
    if (m->live) {
        TEST_ASSERT_EQUAL_UINT32(m->id, id);
        return;
    }
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_value(k, id).last);
    TEST_ASSERT_EQUAL_UINT32(0, keys_value(k, id).count);
    m->live = true;
    m->id = id;
    m->born = step_no;
    m->value = (struct keys_value){below(1000), below(1000)};
    m->sum = (struct keys_sum){below(5), below(2)};
    memset(m->seen_by, 0, sizeof m->seen_by);
    keys_set(k, id, m->value);
    keys_tally(k, id, (int)m->sum.msgs, (int)m->sum.keys);
    live++;
}

static void do_del(struct model_key *m)
{
    if (!m->live)
        return;
    keys_tally(k, m->id, -(int)m->sum.msgs, -(int)m->sum.keys);
    memory_arm(below(4) == 0 ? 0 : -1);
    keys_del(k, m->id);
    memory_disarm();
    m->live = false;
    live--;
}

static void do_find(struct model_key *m)
{
    static uint8_t dst[KEYS_MAX];
    uint8_t pattern[TEXT_MAX];
    struct keys_value v;
    struct mf_slice p = mf_slice(pattern, random_text(pattern, true));

    TEST_ASSERT_EQUAL_HEX32(m->live ? m->id : KEYS_NONE, keys_find(k, text_of(m)));
    if (!m->live)
        return;
    v = keys_value(k, m->id);
    TEST_ASSERT_EQUAL_UINT32(m->value.last, v.last);
    TEST_ASSERT_EQUAL_UINT32(m->value.count, v.count);
    TEST_ASSERT_TRUE(mf_eq(text_of(m), keys_text(k, m->id, dst)));
    TEST_ASSERT_EQUAL_INT(naive_match(p, text_of(m)), keys_matches(k, m->id, p));
}

static void walk_start(struct model_walk *w)
{
    w->len = random_text(w->pattern, true);
    w->number = ++walk_no;
    w->since = step_no;
    w->w = keys_walk_new(k, mf_slice(w->pattern, w->len));
    TEST_ASSERT_NOT_NULL(w->w);
    memset(w->pattern + w->len, 0xEE, TEXT_MAX - w->len); /* it has its copy */
}

/* Over: what matches and was there from the first to the last moment was seen. */
static void walk_judge(size_t i)
{
    struct model_walk *w = &walk[i];

    for (size_t j = 0; j < UNIVERSE; j++)
        if (key[j].live && key[j].born < w->since &&
            naive_match(mf_slice(w->pattern, w->len), text_of(&key[j])))
            TEST_ASSERT_EQUAL_UINT64(w->number, key[j].seen_by[i]);
    w->w = NULL;
}

static void walk_go(size_t i)
{
    struct model_walk *w = &walk[i];

    for (uint32_t n = below(20); w->w != NULL && n > 0; n--) {
        uint32_t id = keys_walk_next(w->w);
        size_t j = 0;
        if (id == KEYS_NONE) {
            walk_judge(i);
            return;
        }
        while (j < UNIVERSE && !(key[j].live && key[j].id == id))
            j++;
        TEST_ASSERT_LESS_THAN_size_t(UNIVERSE, j);
        TEST_ASSERT_TRUE(naive_match(mf_slice(w->pattern, w->len), text_of(&key[j])));
        TEST_ASSERT_NOT_EQUAL(w->number, key[j].seen_by[i]);
        key[j].seen_by[i] = w->number;
        results++;
        if (below(8) == 0)
            do_del(&key[j]); /* a purge deletes what it was just given */
    }
}

static struct keys_sum sum_of_id(const void *arg, uint32_t id)
{
    (void)arg;
    for (size_t j = 0; j < UNIVERSE; j++)
        if (key[j].live && key[j].id == id)
            return key[j].sum;
    TEST_FAIL_MESSAGE("a leaf nobody knows");
    return (struct keys_sum){0, 0};
}

/* The sums of a pattern, in slices of a few steps, and what it costs. */
static void do_sum(void)
{
    uint8_t pattern[TEXT_MAX];
    struct mf_slice p = mf_slice(pattern, random_text(pattern, true));
    struct keys_walk *w = keys_walk_new(k, p);
    struct keys_sum sum = {0, 0}, want = {0, 0};
    size_t budget;

    TEST_ASSERT_NOT_NULL(w);
    do {
        uint32_t id;
        budget = 1 + below(9);
        while ((id = keys_walk_sum(w, &sum, &budget)) != KEYS_NONE) {
            struct keys_sum leaf = sum_of_id(NULL, id);
            sum.msgs += leaf.msgs;
            sum.keys += leaf.keys;
        }
    } while (budget == 0);
    for (size_t j = 0; j < UNIVERSE; j++) {
        if (!key[j].live || !naive_match(p, text_of(&key[j])))
            continue;
        want.msgs += key[j].sum.msgs;
        want.keys += key[j].sum.keys;
    }
    TEST_ASSERT_EQUAL_UINT32(want.msgs, sum.msgs);
    TEST_ASSERT_EQUAL_UINT32(want.keys, sum.keys);
}

static void do_walk(void)
{
    size_t i = below(WALKS);

    if (walk[i].w == NULL) {
        walk_start(&walk[i]);
    } else if (below(50) == 0) {
        keys_walk_end(walk[i].w);
        walk[i].w = NULL;
    } else {
        walk_go(i);
    }
}

/* Grows, stays, shrinks: `lean` of 100 changes are additions. */
static void run(uint32_t steps, uint32_t lean)
{
    for (uint32_t i = 0; i < steps; i++) {
        struct model_key *m = &key[below(UNIVERSE)];
        uint32_t what = below(100);
        step_no++;
        if (what < 50)
            below(100) < lean ? do_add(m) : do_del(m);
        else if (what < 70)
            do_find(m);
        else if (what < 75)
            do_sum();
        else
            do_walk();
        TEST_ASSERT_EQUAL_size_t(live, keys_count(k));
        if (i % 64 == 0) {
            keys_check(k);
            keys_check_sums(k, sum_of_id, NULL);
        }
    }
}

static void one_round(uint64_t mask, uint32_t steps)
{
    k = keys_new('.');
    TEST_ASSERT_NOT_NULL(k);
    k->hash_mask = mask;
    make_universe();
    if (below(2) == 0)
        TEST_ASSERT_EQUAL_INT(0, keys_reserve(k, below(2000)));
    run(steps / 4, 90);
    run(steps / 4, 50);
    run(steps / 4, 5);
    run(steps / 4, 60);
    for (size_t i = 0; i < UNIVERSE; i++)
        do_del(&key[i]);
    for (size_t i = 0; i < WALKS; i++) {
        keys_walk_end(walk[i].w);
        walk[i].w = NULL;
    }
    keys_check(k);
    TEST_ASSERT_EQUAL_UINT32(0, k->table.used);
    TEST_ASSERT_LESS_THAN_size_t(sizeof *k + 16384, keys_memory(k));
    keys_free(k);
}

/* Answers equal those of the naive model at every step, whatever the hash. */
static void test_random_operations_agree_with_a_plain_array(void)
{
    static const uint64_t mask[] = {UINT64_MAX, 0xff, (uint64_t)15 << 60 | 1, UINT64_MAX << 56};
    const char *steps = getenv("MODEL_STEPS");
    uint32_t n = steps == NULL ? 24000 : (uint32_t)strtoul(steps, NULL, 10);

    for (size_t i = 0; i < 2 * MF_COUNT(mask); i++)
        one_round(mask[i % MF_COUNT(mask)], n);
    TEST_ASSERT_GREATER_THAN_UINT64(100, nomem);
    TEST_ASSERT_GREATER_THAN_UINT64(n, results);
}

int main(void)
{
    const char *given = getenv("MODEL_SEED");

    seed = given != NULL ? strtoull(given, NULL, 10) : hash_bytes("seed", 4) >> 1;
    state = seed;
    printf("MODEL_SEED=%llu\n", (unsigned long long)seed);
    UNITY_BEGIN();
    RUN_TEST(test_random_operations_agree_with_a_plain_array);
    return UNITY_END();
}
