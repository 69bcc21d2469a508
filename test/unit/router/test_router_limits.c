/* test_router_limits.c: what the router costs at its edges: depth, churn, floods, no memory. */
#include "router/router_impl.h"

#define NO_MEMORY_ALIGNED
#include "support/no_memory.h"
#include "support/router_receiver.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT(0, router_new(&router, NULL));
}

/* After each test nobody is subscribed, and then router_free() asserts that no node is left. */
void tearDown(void)
{
    check();
    router_free(router);
}

static void fill(char *dst, const char *unit, size_t times)
{
    size_t n = strlen(unit);

    for (size_t i = 0; i < times; i++)
        memcpy(dst + i * n, unit, n);
    dst[times * n - 1] = '\0'; /* the last dot */
}

/* 32,767 tokens: recursion by tokens would not survive; and the room for tokens is used up to its
 * end. */
static void test_patterns_as_deep_as_they_can_be(void)
{
    char *stars = calloc(1, TRIE_TEXT_MAX + 1), *subject = calloc(1, TRIE_TEXT_MAX + 1);
    struct receiver x = {0}, group = {0}, tail = {0};

    TEST_ASSERT_TRUE(stars != NULL && subject != NULL);
    fill(subject, "a.", TRIE_TEXT_MAX / 2);
    join(&tail, ">", "");
    for (size_t depth = 1; depth <= 64; depth++) { /* the room for tokens grows with the patterns */
        fill(stars, "a.", depth);
        join(&group, stars, "q");
        TEST_ASSERT_EQUAL_size_t(2, publish(stars));
        TEST_ASSERT_EQUAL_size_t(1, publish(subject)); /* longer than any pattern */
        leave(&group);
    }
    fill(stars, "*.", TRIE_TEXT_MAX / 2);
    join(&x, stars, "");
    TEST_ASSERT_EQUAL_size_t(2, publish(subject));
    TEST_ASSERT_EQUAL_size_t(1, publish_slice(mf_slice(subject, strlen(subject) - 2)));
    leave(&x);
    leave(&tail);
    free(stars);
    free(subject);
}

/* Inboxes come and go for as long as the server runs: nothing may stay of them. */
static void test_short_lived_inboxes_leave_nothing_behind(void)
{
    enum { AT_ONCE = 3000 };
    struct receiver *x = calloc(AT_ONCE, sizeof *x), keep = {0};
    char pattern[64];

    TEST_ASSERT_NOT_NULL(x);
    join(&keep, "service", "q");
    uint32_t nodes = router->trie.nodes;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            snprintf(pattern, sizeof pattern, "_INBOX.%d.%d%s", round, i, i % 2 == 0 ? "" : ".*");
            join(&x[i], pattern, "");
            TEST_ASSERT_EQUAL_size_t(1, publish("service"));
        }
        for (int i = 0; i < AT_ONCE; i++)
            leave(&x[i]);
        TEST_ASSERT_EQUAL_UINT32(nodes, router->trie.nodes);
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT32(64, router->trie.cap);
    leave(&keep);
    free(x);
}

static struct router_stats stats(void)
{
    struct router_stats s;

    router_stats(router, &s);
    return s;
}

/* 500,000 subjects nobody repeats: bounded memory, and those in use stay cached. */
static void test_subjects_nobody_repeats_cannot_flush_the_cache(void)
{
    struct receiver x = {0};
    char subject[32];

    join(&x, "a.>", "");
    TEST_ASSERT_EQUAL_size_t(1, publish("a.hot"));
    for (int i = 0; i < 500000; i++) {
        snprintf(subject, sizeof subject, "a.%d", i);
        publish(subject);
        if (i == 100000)
            allocations = 0; /* full by now: from here on nothing is allocated */
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(CACHE_SETS_MAX * CACHE_WAYS, stats().cache);
    TEST_ASSERT_LESS_THAN(100, allocations);
    uint64_t hits = stats().cache_hits;
    publish("a.hot");
    TEST_ASSERT_EQUAL_UINT64(hits + 1, stats().cache_hits);
    /* And a new favourite gets in by being asked for again. */
    for (int i = 0; i < 10; i++)
        publish("a.new.favourite");
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(hits + 1 + 8, stats().cache_hits);
    leave(&x);
}

/* Every request of an old client makes a SUB: the service's subject must stay cached. */
static void test_unrelated_changes_leave_the_cache_alone(void)
{
    struct receiver service[2] = {0}, inbox = {0}, mux = {0};
    uint64_t hits;

    join(&service[0], "service.time", "q");
    publish("service.time");
    hits = stats().cache_hits;
    for (unsigned i = 0; i < 100; i++) {
        char subject[32];
        join(&service[1], "service.time", "q");
        snprintf(subject, sizeof subject, "_INBOX.%u", i);
        join(&inbox, subject, "");
        publish("service.time");
        TEST_ASSERT_EQUAL_size_t(1, publish(subject));
        leave(&inbox);
        leave(&service[1]);
        TEST_ASSERT_EQUAL_size_t(0, publish(subject));
    }
    TEST_ASSERT_EQUAL_UINT64(hits + 100, stats().cache_hits);
    /* A pattern with two literal tokens disturbs a 256th of its neighbours, at most. */
    publish("_INBOX.a.1");
    hits = stats().cache_hits;
    for (unsigned i = 0; i < 100; i++) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, "_INBOX.client%u.*", i);
        join(&mux, pattern, "");
        publish("_INBOX.a.1");
        leave(&mux);
    }
    TEST_ASSERT_GREATER_THAN_UINT64(hits + 80, stats().cache_hits);
    leave(&service[0]);
}

static void test_stats_count_as_nats_servers_do(void)
{
    struct receiver x[5] = {0};
    struct router_stats s;

    for (size_t i = 0; i < 5; i++)
        join(&x[i], i < 3 ? "a" : i == 3 ? "*" : "b", i == 1 || i == 2 ? "q" : "");
    publish("a");
    publish("a");
    publish("b");
    publish("c.d");
    leave(&x[4]);
    s = stats();
    TEST_ASSERT_EQUAL_UINT64(4, s.subs);
    TEST_ASSERT_EQUAL_UINT64(5, s.inserts);
    TEST_ASSERT_EQUAL_UINT64(1, s.removes);
    TEST_ASSERT_EQUAL_UINT64(4, s.matches);
    TEST_ASSERT_EQUAL_UINT64(1, s.cache_hits);
    TEST_ASSERT_EQUAL_UINT64(2, s.cache);      /* a and c.d; b changed */
    TEST_ASSERT_EQUAL_UINT64(3, s.max_fanout); /* a: plain, *, q */
    TEST_ASSERT_TRUE(s.avg_fanout > 1.49 && s.avg_fanout < 1.51);
    for (size_t i = 0; i < 4; i++)
        leave(&x[i]);
}

/* Fail the 1st, 2nd, 3rd... allocation, until a run meets no fault.  What was not subscribed left
 * no trace; a message reaches all or, where even the list of receivers does not fit, nobody. */
static void test_any_failed_allocation_leaves_the_router_whole(void)
{
    static const char *const patterns[] = {"a.b.c", "a.b", "a.b", "a.b", "a.b",
                                           "a.b.>", "*.b", "a.*", "*.*", ">",
                                           "a.b",   "a.b", "a.>", "*.>", "1.2.3.4.5.6.7.8.9.10",
                                           "a.b"};
    enum { N = MF_COUNT(patterns) };
    bool hit = true;

    for (long n = 1; hit; n++) {
        struct receiver x[N] = {0};
        size_t matching = 0;
        allocations = 0;
        fail_at = n;
        for (size_t i = 0; i < N; i++) {
            x[i].rs.deliver = receive;
            int rc = router_subscribe(router, mf_str(patterns[i]), mf_str(i % 3 == 2 ? "q" : ""),
                                      &x[i].rs);
            TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOMEM);
            TEST_ASSERT_EQUAL(rc == 0, x[i].rs.node != NULL);
            matching += rc == 0 && i % 3 != 2 && i != 0 && i != 14 && i != 5;
        }
        size_t got = publish("a.b");
        hit = allocations >= fail_at;
        fail_at = 0;
        check();
        TEST_ASSERT_TRUE(got == 0 || got == matching + 1);
        TEST_ASSERT_EQUAL_size_t(matching + 1, publish("a.b"));
        for (size_t i = 0; i < N; i++)
            leave(&x[i]);
        TEST_ASSERT_EQUAL_UINT32(0, router->trie.nodes);
        router_free(router); /* start cold again */
        TEST_ASSERT_EQUAL_INT(0, router_new(&router, NULL));
    }
}

static void test_failed_allocation_in_new_is_reported(void)
{
    for (long n = 1; n <= 5; n++) {
        struct router *r = NULL;
        struct mf_error e = {0};
        allocations = 0;
        fail_at = n;
        TEST_ASSERT_EQUAL_INT(MF_NOMEM, router_new(&r, &e));
        TEST_ASSERT_NULL(r);
    }
}

static void count_match(void *arg, struct router_sub *s)
{
    (void)s;
    ++*(unsigned *)arg;
}

/* Everybody in the cache is in use: a newcomer asked for again and again still gets a place, after
 * the hand has gone round. */
static void test_a_cache_full_of_favourites_lets_a_new_one_in(void)
{
    enum { N = 3 * CACHE_SETS_MAX * CACHE_WAYS };
    struct receiver x = {0};
    char subject[32];

    join(&x, "a.*", "");
    for (int i = 0; i < N; i++) {
        snprintf(subject, sizeof subject, "a.%d", i);
        for (int times = 0; times < 3; times++)
            TEST_ASSERT_EQUAL_size_t(1, publish(subject));
        uint64_t hits = router->hits;
        TEST_ASSERT_EQUAL_size_t(1, publish(subject));
        TEST_ASSERT_EQUAL_UINT64(hits + 1, router->hits);
        if (i % 8192 == 0)
            check();
    }
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(CACHE_SETS_MAX * CACHE_WAYS, stats().cache);
    leave(&x);
}

static struct receiver pair[2];
static unsigned left_over[3];

/* One of two leaves while a message is under way: whoever looks meanwhile sees the other alone. */
static void act_look_while_one_left(struct receiver *self)
{
    (void)self;
    leave(&pair[1]);
    router_match(router, mf_str("p"), count_match, &left_over[0]);
    router_each(router, count_match, &left_over[1]);
    left_over[2] = router_has_exact(router, mf_str("p"), MF_SLICE_NONE);
    leave(&pair[0]);
    left_over[2] += 2 * router_has_exact(router, mf_str("p"), MF_SLICE_NONE);
}

static void test_who_left_during_a_message_is_seen_by_nobody(void)
{
    struct receiver other = {0};

    memset(pair, 0, sizeof pair);
    memset(left_over, 0, sizeof left_over);
    pair[0].act = act_look_while_one_left;
    join(&other, "q", "");
    join(&pair[0], "p", "");
    join(&pair[1], "p", "");
    TEST_ASSERT_EQUAL_size_t(1, publish("p"));
    TEST_ASSERT_EQUAL_UINT(1, left_over[0]);
    TEST_ASSERT_EQUAL_UINT(2, left_over[1]); /* and `other` */
    TEST_ASSERT_EQUAL_UINT(1, left_over[2]); /* before the last one left, not after */
    TEST_ASSERT_EQUAL_UINT(0, pair[1].got);
    leave(&other);
    TEST_ASSERT_FALSE(router_has_exact(router, mf_str("p"), MF_SLICE_NONE));
}

/* The table cannot be made smaller for want of memory: it stays as it is, and right. */
static void test_shrinking_without_memory_changes_nothing(void)
{
    enum { N = 2000 };
    struct receiver *x = calloc(N, sizeof *x);
    char subject[32];

    TEST_ASSERT_NOT_NULL(x);
    for (int i = 0; i < N; i++) {
        snprintf(subject, sizeof subject, "s%d", i);
        join(&x[i], subject, "");
    }
    uint32_t cap = router->trie.cap;
    memory_also = LONG_MAX;
    memory_arm(0);
    for (int i = 0; i < N - 1; i++)
        leave(&x[i]);
    memory_disarm();
    memory_also = 0;
    TEST_ASSERT_EQUAL_UINT32(cap, router->trie.cap);
    check();
    TEST_ASSERT_EQUAL_size_t(1, publish(subject));
    leave(&x[N - 1]);
    free(x);
}

/* Sets are added while there is memory for them; else new subjects share those there are. */
static void test_a_cache_that_cannot_grow_still_answers(void)
{
    struct receiver x = {0};
    char subject[32];

    join(&x, "a.*", "");
    publish("a.first");
    uint32_t sets = router->cache.sets;
    for (int i = 0; i < 1000; i++) {
        snprintf(subject, sizeof subject, "a.%d", i);
        memory_also = LONG_MAX;
        memory_arm(0);
        TEST_ASSERT_EQUAL_size_t(1, publish(subject));
        memory_disarm();
        memory_also = 0;
        if (router->cache.entries < 2 * sets)
            publish(subject);
    }
    TEST_ASSERT_EQUAL_UINT32(sets, router->cache.sets);
    TEST_ASSERT_EQUAL_UINT32(2 * sets, router->cache.entries);
    check();
    leave(&x);
    router_free(NULL); /* harmless */
}

/* More patterns at once than the cache keeps or the stack has room for. */
static void test_many_patterns_match_one_subject(void)
{
    enum { TOKENS = 8, N = 1 << TOKENS };
    struct receiver *x = calloc(N, sizeof *x);
    char pattern[2 * TOKENS];

    TEST_ASSERT_NOT_NULL(x);
    for (unsigned i = 0; i < N; i++) {
        for (unsigned t = 0; t < TOKENS; t++) {
            pattern[2 * t] = i >> t & 1 ? '*' : 'a';
            pattern[2 * t + 1] = t + 1 < TOKENS ? '.' : '\0';
        }
        x[i].act = i == 100 ? act_leave : NULL;
        join(&x[i], pattern, "");
    }
    TEST_ASSERT_EQUAL_size_t(N, publish("a.a.a.a.a.a.a.a"));
    TEST_ASSERT_EQUAL_size_t(N - 1, publish("a.a.a.a.a.a.a.a"));
    /* The list of whom to call does not fit on the stack: without memory nobody is called. */
    allocations = 0;
    fail_at = 1;
    TEST_ASSERT_EQUAL_size_t(0, publish("a.a.a.a.a.a.a.a"));
    unsigned seen = 0;
    allocations = 0;
    router_match(router, mf_str("a.a.a.a.a.a.a.a"), count_match, &seen);
    TEST_ASSERT_EQUAL_UINT(0, seen);
    fail_at = 0;
    router_match(router, mf_str("a.a.a.a.a.a.a.a"), count_match, &seen);
    TEST_ASSERT_EQUAL_UINT(N - 1, seen);
    TEST_ASSERT_EQUAL_size_t(1, publish("b.b.b.b.b.b.b.b"));
    for (unsigned i = 0; i < N; i++)
        leave(&x[i]);
    free(x);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_patterns_as_deep_as_they_can_be);
    RUN_TEST(test_short_lived_inboxes_leave_nothing_behind);
    RUN_TEST(test_subjects_nobody_repeats_cannot_flush_the_cache);
    RUN_TEST(test_unrelated_changes_leave_the_cache_alone);
    RUN_TEST(test_stats_count_as_nats_servers_do);
    RUN_TEST(test_any_failed_allocation_leaves_the_router_whole);
    RUN_TEST(test_failed_allocation_in_new_is_reported);
    RUN_TEST(test_a_cache_full_of_favourites_lets_a_new_one_in);
    RUN_TEST(test_who_left_during_a_message_is_seen_by_nobody);
    RUN_TEST(test_shrinking_without_memory_changes_nothing);
    RUN_TEST(test_a_cache_that_cannot_grow_still_answers);
    RUN_TEST(test_many_patterns_match_one_subject);
    return UNITY_END();
}
