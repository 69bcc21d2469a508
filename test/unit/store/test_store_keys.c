/* test_store_keys.c: the set of keys: odd keys, patterns, walks, collisions, memory. */
#include "store/keys/keys_impl.h"

#include "support/keys_get.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct keys *k;

void setUp(void)
{
    k = keys_new('.');
    TEST_ASSERT_NOT_NULL(k);
}
void tearDown(void)
{
    keys_free(k);
    k = NULL;
}

static uint32_t add_slice(struct mf_slice key)
{
    uint32_t id = KEYS_NONE;
    TEST_ASSERT_EQUAL_INT(0, keys_get(k, key, &id));
    return id;
}
static uint32_t add(const char *key)
{
    return add_slice(mf_str(key));
}
static uint32_t add_number(const char *format, unsigned i)
{
    char text[64];
    snprintf(text, sizeof text, format, i);
    return add(text);
}
static uint32_t find(const char *key)
{
    return keys_find(k, mf_str(key));
}
static void assert_text(const char *want, uint32_t id)
{
    static uint8_t dst[KEYS_MAX];
    struct mf_slice text = keys_text(k, id, dst);
    TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(text, want), want);
}
/* How many match, by walking; asking each one agrees. */
static size_t count(const char *pattern)
{
    struct keys_walk *w = keys_walk_new(k, mf_str(pattern));
    size_t n = 0;

    TEST_ASSERT_NOT_NULL(w);
    for (uint32_t id; (id = keys_walk_next(w)) != KEYS_NONE; n++)
        TEST_ASSERT_TRUE_MESSAGE(keys_matches(k, id, mf_str(pattern)), pattern);
    return n;
}

/* The words of a leaf belong to the owner; neighbours come and go without touching them. */
static void test_key_added_twice_is_one_key_and_keeps_its_value(void)
{
    uint32_t a = add("$KV.users.ann"), b = add("$KV.users.bob");
    struct keys_value v = keys_value(k, a);

    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, v.last);
    TEST_ASSERT_EQUAL_UINT32(0, v.count);
    keys_set(k, a, (struct keys_value){17, 3});
    TEST_ASSERT_EQUAL_UINT32(a, add("$KV.users.ann"));
    keys_del(k, b);
    v = keys_value(k, a);
    TEST_ASSERT_EQUAL_UINT32(17, v.last);
    TEST_ASSERT_EQUAL_UINT32(3, v.count);
    TEST_ASSERT_EQUAL_UINT32(1, keys_count(k));
    TEST_ASSERT_EQUAL_UINT32(a, find("$KV.users.ann"));
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, find("$KV.users.bob"));
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, find("$KV.users."));
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, find("$KV.users"));
    keys_check(k);
}

/* "a", "a." and the prefix of "a.b" look alike and are three things; so are empty tokens anywhere.
 */
static void test_separators_at_the_ends_and_empty_tokens_are_different_keys(void)
{
    static const char *const key[] = {"",    ".",   "..",  "a",   "a.",   ".a",  "a..b",
                                      "a.b", "a..", "..a", ".a.", "a.b.", "...", "a.b..c",
                                      "*",   ">",   "a.*", "a.>", "*.b",  ">.b"};
    uint32_t id[MF_COUNT(key)];

    for (size_t i = 0; i < MF_COUNT(key); i++)
        id[i] = add(key[i]);
    TEST_ASSERT_EQUAL_UINT32(MF_COUNT(key), keys_count(k));
    keys_check(k);
    for (size_t i = 0; i < MF_COUNT(key); i++) {
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(id[i], find(key[i]), key[i]);
        assert_text(key[i], id[i]);
    }
    for (size_t i = 0; i < MF_COUNT(key); i += 2)
        keys_del(k, id[i]);
    keys_check(k);
    for (size_t i = 0; i < MF_COUNT(key); i++)
        TEST_ASSERT_EQUAL_HEX32_MESSAGE(i % 2 == 0 ? KEYS_NONE : id[i], find(key[i]), key[i]);
}

/* Keys are bytes: every value, zero too, in every place; the separator may be any byte as well. */
static void test_every_byte_can_be_in_a_key(void)
{
    uint32_t id[256][2];

    keys_free(k);
    k = keys_new((char)0xff);
    TEST_ASSERT_NOT_NULL(k);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t one[1] = {(uint8_t)i}, three[3] = {0, (uint8_t)i, 0xff};
        id[i][0] = add_slice(mf_slice(one, 1));
        id[i][1] = add_slice(mf_slice(three, 3));
    }
    TEST_ASSERT_EQUAL_UINT32(512, keys_count(k));
    keys_check(k);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t one[1] = {(uint8_t)i}, three[3] = {0, (uint8_t)i, 0xff};
        TEST_ASSERT_EQUAL_UINT32(id[i][0], keys_find(k, mf_slice(one, 1)));
        TEST_ASSERT_EQUAL_UINT32(id[i][1], keys_find(k, mf_slice(three, 3)));
    }
}

/* The classes of sizes meet without a gap, and a token of any length survives the trip. */
static void test_tokens_of_every_length_come_back_whole(void)
{
    static uint8_t text[KEYS_MAX + 1], back[KEYS_MAX];
    static const size_t len[] = {0,     1,     2,     3,     22,    98,    99,    105,   106,
                                 107,   127,   128,   129,   255,   256,   257,   1000,  4095,
                                 16354, 16355, 16361, 16362, 16363, 16384, 40000, 65534, 65535};

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)('a' + i % 26);
    for (int inner = 0; inner < 2; inner++) {
        for (size_t i = 0; i < MF_COUNT(len); i++) {
            uint32_t id;
            struct mf_slice got;
            if (inner && len[i] > 0)
                text[len[i] - 1] = '.';
            id = add_slice(mf_slice(text, len[i]));
            got = keys_text(k, id, back);
            TEST_ASSERT_TRUE(mf_eq(got, mf_slice(text, len[i])));
            TEST_ASSERT_EQUAL_UINT32(id, keys_find(k, mf_slice(text, len[i])));
            if (len[i] > 0)
                text[len[i] - 1] = (uint8_t)('a' + (len[i] - 1) % 26);
        }
        keys_check(k);
    }
    for (size_t bytes = NODE_LEAF; bytes < SIZE_SHARED + 100; bytes++) {
        uint32_t size, class = keys_class_of(bytes, &size), next,
                       more = keys_class_of(bytes + 1, &next);
        TEST_ASSERT_TRUE(size >= bytes && size % 4 == 0 && size <= bytes + bytes / 8 + 3);
        TEST_ASSERT_TRUE(class < SIZE_CLASSES && (more == class || more == class + 1));
        TEST_ASSERT_TRUE(more == SIZE_ALONE || (more == class) == (next == size));
    }
}

static void test_key_longer_than_the_limit_is_refused(void)
{
    static uint8_t text[KEYS_MAX + 1];
    uint32_t id = 7;

    TEST_ASSERT_EQUAL_INT(MF_INVAL, keys_get(k, mf_slice(text, sizeof text), &id));
    TEST_ASSERT_EQUAL_UINT32(7, id);
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_find(k, mf_slice(text, sizeof text)));
    TEST_ASSERT_EQUAL_UINT32(0, keys_count(k));
}

/* 65535 tokens: no recursion anywhere, and no step that is quadratic in them. */
static void test_key_of_separators_only_works_everywhere(void)
{
    static uint8_t dots[KEYS_MAX], back[KEYS_MAX];
    uint32_t id, other;
    struct keys_walk *w;

    memset(dots, '.', sizeof dots);
    id = add_slice(mf_slice(dots, KEYS_MAX));
    other = add_slice(mf_slice(dots, KEYS_MAX - 1));
    TEST_ASSERT_EQUAL_UINT32(id, keys_find(k, mf_slice(dots, KEYS_MAX)));
    TEST_ASSERT_EQUAL_UINT32(KEYS_MAX, keys_text(k, id, back).len);
    TEST_ASSERT_TRUE(keys_matches(k, id, MF_LIT("*.>")));
    TEST_ASSERT_EQUAL_UINT32(2, count(">"));
    TEST_ASSERT_EQUAL_UINT32(0, count("*.*"));
    for (size_t i = 0; i < KEYS_MAX - 1; i += 2)
        dots[i] = '*';
    w = keys_walk_new(k, mf_slice(dots, KEYS_MAX)); /* *.*.*. ... *.: 32768 tokens */
    TEST_ASSERT_NOT_NULL(w);
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_walk_next(w));
    keys_check(k);
    keys_del(k, id);
    keys_del(k, other);
    keys_check(k);
    TEST_ASSERT_EQUAL_UINT32(0, k->table.used);
}

/* The rules of patterns, by walk and by question, key by key. */
static void test_patterns_give_exactly_the_keys_that_match(void)
{
    static const char *const key[] = {"a", "b", "a.b", "a.c", "a.b.c", "a.b.d", "b.b.c", "a.", ""};
    static const struct {
        const char *pattern;
        const char *matches; /* a letter per key */
    } row[] = {
        {">", "xxxxxxxxx"},     {"*", "xx------x"},       {"a", "x--------"},
        {"a.*", "--xx---x-"},   {"a.>", "--xxxx-x-"},     {"*.b", "--x------"},
        {"*.*", "--xx---x-"},   {"*.b.c", "----x-x--"},   {"a.b.c", "----x----"},
        {"a.*.c", "----x----"}, {"*.*.*", "----xxx--"},   {"*.>", "--xxxxxx-"},
        {"*.*.>", "----xxx--"}, {"a.b.c.>", "---------"}, {"c.>", "---------"},
        {"a.", "-------x-"},    {"", "--------x"},        {"*.", "-------x-"},
        {".>", "---------"},    {"a.b.c.d", "---------"}, {">.b", "---------"},
        {"a*", "---------"},    {"a.b*", "---------"},    {"*.*.*.*", "---------"},
    };
    uint32_t id[MF_COUNT(key)];

    for (size_t i = 0; i < MF_COUNT(key); i++)
        id[i] = add(key[i]);
    for (size_t r = 0; r < MF_COUNT(row); r++) {
        size_t n = 0;
        for (size_t i = 0; i < MF_COUNT(key); i++) {
            bool want = row[r].matches[i] == 'x';
            TEST_ASSERT_EQUAL_INT_MESSAGE(want, keys_matches(k, id[i], mf_str(row[r].pattern)),
                                          row[r].pattern);
            n += want;
        }
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(n, count(row[r].pattern), row[r].pattern);
    }
}

/* Keys k.<i / 10>.<i % 10>, one other prefix without end; what does a pattern over ten of them
 * cost? */
static uint64_t cost_among(const char *pattern, unsigned keys, size_t want)
{
    uint64_t cost;

    keys_free(k);
    k = keys_new('.');
    for (unsigned i = 0; i < keys; i++) {
        char text[32];
        snprintf(text, sizeof text, "k.%u.%u", i / 10, i % 10);
        add(text);
    }
    cost = k->touched;
    TEST_ASSERT_EQUAL_UINT32_MESSAGE(want, count(pattern), pattern);
    cost = k->touched - cost;
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(want, cost);
    return cost;
}

/* A filtered purge or watch must not look at all keys: the same ten cost the same among a thousand
 * and among many (a million with KEYS_TEST_LARGE=1000000). */
static void test_pattern_costs_what_it_touches_not_all_keys(void)
{
    static const char *const pattern[] = {"k.7.*", "k.7.>", "*.7.*", "*.7.>"};
    const char *large = getenv("KEYS_TEST_LARGE");
    unsigned many = large == NULL ? 100000 : (unsigned)strtoul(large, NULL, 10);

    for (size_t i = 0; i < MF_COUNT(pattern); i++) {
        uint64_t few = cost_among(pattern[i], 1000, 10);
        TEST_ASSERT_LESS_THAN_UINT64(20, few);
        TEST_ASSERT_EQUAL_UINT64(few, cost_among(pattern[i], many, 10));
    }
    TEST_ASSERT_LESS_THAN_UINT64(10, cost_among("k.7.7", 1000, 1));
}

/* The node the walk would look at next goes, with all its prefixes, at every moment of a walk. */
static void test_walk_steps_aside_when_its_place_is_deleted(void)
{
    for (unsigned moment = 0; moment < 12; moment++) {
        uint32_t id[12], got;
        bool seen[12] = {false};
        struct keys_walk *w = keys_walk_new(k, MF_LIT("*.*.x"));

        for (unsigned i = 0; i < 12; i++) {
            char text[32];
            snprintf(text, sizeof text, "%u.%u.x", i / 4, i);
            id[i] = add(text);
        }
        for (unsigned n = 0; (got = keys_walk_next(w)) != KEYS_NONE; n++) {
            unsigned i = 0;
            while (id[i] != got)
                i++;
            TEST_ASSERT_FALSE(seen[i]);
            seen[i] = true;
            for (i = 0; n == moment && i < 12; i++) {
                if (!seen[i] && i % 4 != 1) {
                    keys_del(k, id[i]);
                    id[i] = KEYS_NONE;
                    keys_check(k);
                }
            }
            if (n != moment) /* a new one may be seen or not, and moves nobody */
                TEST_ASSERT_NOT_EQUAL(KEYS_NONE, add_number("9.%u.y", n));
        }
        for (unsigned i = 0; i < 12; i++) {
            TEST_ASSERT_TRUE(seen[i] || id[i] == KEYS_NONE);
            if (id[i] != KEYS_NONE)
                keys_del(k, id[i]);
        }
        TEST_ASSERT_TRUE(mf_list_empty(&k->walks));
        w = keys_walk_new(k, MF_LIT(">"));
        while ((got = keys_walk_next(w)) != KEYS_NONE)
            keys_del(k, got);
        TEST_ASSERT_EQUAL_UINT32(0, keys_count(k));
    }
}

/* Purging all from inside a walk, and everything at once from outside it. */
static void test_walk_survives_deletion_of_everything(void)
{
    struct keys_walk *w, *outlives;
    uint32_t id[100];

    for (unsigned i = 0; i < 100; i++)
        id[i] = add_number("a.%u.z", i);
    w = keys_walk_new(k, MF_LIT("a.>"));
    outlives = keys_walk_new(k, MF_LIT("a.>"));
    TEST_ASSERT_NOT_EQUAL(KEYS_NONE, keys_walk_next(w));
    TEST_ASSERT_NOT_EQUAL(KEYS_NONE, keys_walk_next(outlives));
    for (unsigned i = 0; i < 100; i++)
        keys_del(k, id[i]);
    keys_check(k);
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_walk_next(w));
    keys_free(k);
    k = NULL;
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, keys_walk_next(outlives));
    keys_walk_end(NULL);
}

/* All hashes fall into a few groups with the same tag: only texts tell keys apart, chains of groups
 * run around the end of the table, and resizing meets them in every state. */
static void test_equal_hashes_are_told_apart_by_text(void)
{
    static const uint64_t mask[] = {0, 0xff, (uint64_t)3 << 62, (uint64_t)7 << 61 | 3};

    for (size_t m = 0; m < MF_COUNT(mask); m++) {
        uint32_t id[400];
        keys_free(k);
        k = keys_new('.');
        k->hash_mask = mask[m];
        for (unsigned i = 0; i < 400; i++) {
            id[i] = add_number(i % 2 ? "p.%u" : "%u.p", i);
            if (i % 16 == 0)
                keys_check(k);
        }
        for (unsigned i = 0; i < 400; i++)
            TEST_ASSERT_EQUAL_UINT32(id[i], add_number(i % 2 ? "p.%u" : "%u.p", i));
        TEST_ASSERT_EQUAL_UINT32(200, count("*.p"));
        for (unsigned i = 0; i < 400; i++) {
            keys_del(k, id[i * 7 % 400]);
            if (i % 16 == 0)
                keys_check(k);
        }
        TEST_ASSERT_EQUAL_UINT32(0, keys_count(k));
    }
}

/* Adds n keys that belong to this half of the table. */
static void add_home(uint32_t home, unsigned n, uint32_t *id)
{
    for (unsigned i = 0, added = 0; added < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u-%u", home, i);
        if (table_home(keys_hash(k, mf_str(text)), 2) == home)
            id[added++] = add(text);
    }
}

/* Two groups, and from each an entry went past it to the other: the search for a key that is not
 * there finds no group to stop at. */
static void test_search_ends_though_every_group_was_passed(void)
{
    uint32_t id[2][13];

    k->hash_mask = (uint64_t)1 << 63;
    TEST_ASSERT_EQUAL_INT(0, keys_reserve(k, 15));
    add_home(0, 13, id[0]);
    for (unsigned i = 0; i < 6; i++)
        keys_del(k, id[0][i]);
    add_home(1, 12, id[1]);
    TEST_ASSERT_EQUAL_UINT32(2, k->table.now.groups);
    TEST_ASSERT_TRUE(k->table.now.chunk[0][0].over > 0 && k->table.now.chunk[0][1].over > 0);
    TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, find("nobody"));
    keys_check(k);
}

/* After everything went, little is left, and after less than that, pages are reused. */
static void test_memory_follows_the_living(void)
{
    enum { N = 60000 };
    static uint32_t id[N];
    size_t empty = keys_memory(k), full;

    TEST_ASSERT_LESS_THAN_UINT32(4096, empty);
    add("$KV.a.b");
    add("$KV.a.c");
    keys_del(k, add("$KV.a.d"));
    TEST_ASSERT_LESS_THAN_UINT32(6144, keys_memory(k));
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++)
            id[i] = add_number("$KV.sessions.%08u", i);
        full = keys_memory(k);
        TEST_ASSERT_LESS_THAN_UINT32(46 * N, full);
        for (unsigned i = 0; i < N; i++)
            keys_del(k, id[i * 7919ull % N]);
        TEST_ASSERT_LESS_THAN_UINT32(empty + 4096, keys_memory(k));
        keys_check(k);
    }
    TEST_ASSERT_EQUAL_UINT32(2, keys_count(k));
}

/* A table made ready before changes no answer, at whatever moment it is asked for. */
static void test_reserve_is_only_a_hint(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        if (i % 1000 == 0 || i == 5)
            TEST_ASSERT_EQUAL_INT(0, keys_reserve(k, 2000 + i));
        add_number("r.%u", i);
    }
    keys_check(k);
    TEST_ASSERT_EQUAL_INT(MF_NOMEM, keys_reserve(k, SIZE_MAX));
    TEST_ASSERT_EQUAL_UINT32(3000, count("r.*"));
}

/* Hash once, prefetch, pass it on: the same answers as without. */
static void test_hashed_calls_agree_with_the_plain_ones(void)
{
    for (unsigned i = 0; i < 500; i++) {
        char text[32];
        uint32_t id;
        uint64_t hash;
        snprintf(text, sizeof text, "h.%u.%u", i % 7, i);
        hash = keys_hash(k, mf_str(text));
        keys_prefetch(k, hash);
        keys_prefetch_node(k, hash);
        TEST_ASSERT_EQUAL_HEX32(KEYS_NONE, find(text));
        TEST_ASSERT_EQUAL_INT(0, keys_get_hashed(k, mf_str(text), hash, &id));
        keys_prefetch_id(k, id);
        TEST_ASSERT_EQUAL_UINT32(id, find(text));
        TEST_ASSERT_EQUAL_HEX64(hash, keys_hash(k, mf_str(text)));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_key_added_twice_is_one_key_and_keeps_its_value);
    RUN_TEST(test_separators_at_the_ends_and_empty_tokens_are_different_keys);
    RUN_TEST(test_every_byte_can_be_in_a_key);
    RUN_TEST(test_tokens_of_every_length_come_back_whole);
    RUN_TEST(test_key_longer_than_the_limit_is_refused);
    RUN_TEST(test_key_of_separators_only_works_everywhere);
    RUN_TEST(test_patterns_give_exactly_the_keys_that_match);
    RUN_TEST(test_pattern_costs_what_it_touches_not_all_keys);
    RUN_TEST(test_walk_steps_aside_when_its_place_is_deleted);
    RUN_TEST(test_walk_survives_deletion_of_everything);
    RUN_TEST(test_equal_hashes_are_told_apart_by_text);
    RUN_TEST(test_search_ends_though_every_group_was_passed);
    RUN_TEST(test_memory_follows_the_living);
    RUN_TEST(test_reserve_is_only_a_hint);
    RUN_TEST(test_hashed_calls_agree_with_the_plain_ones);
    return UNITY_END();
}
