/* test_router_damage.c: router_check() names what is broken.  The other tests of the router rely on
 * it after every step; here each invariant is broken by hand, seen, and mended. */
#include "router/router_impl.h"

#include "support/router_receiver.h"

static struct receiver deep, star, tail, plain[2], one, two;

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, router_new(&router, NULL));
    deep = star = tail = plain[0] = plain[1] = one = two = (struct receiver){0};
    join(&deep, "a.b.c", "");
    join(&star, "a.*", "");
    join(&tail, "x.>", "");
    join(&plain[0], "p", "");
    join(&plain[1], "p", "");
    join(&one, "a.b", "q");
    join(&two, "a.b", "r");
    publish("a.b"); /* into the cache */
    check();
}

void tearDown(void)
{
    struct receiver *all[] = {&deep, &star, &tail, &plain[0], &plain[1], &one, &two};

    for (size_t i = 0; i < MF_COUNT(all); i++)
        leave(all[i]);
    check();
    router_free(router);
}

static struct node *at(const struct receiver *x)
{
    return x->rs.node;
}

/* Sets a field, wants to hear this, and puts the field back. */
#define BROKEN(field, wrong_value, says)                                                           \
    do {                                                                                           \
        __typeof__(1 ? (field) : (field)) was_ = (field);                                          \
        (field) = (wrong_value);                                                                   \
        const char *wrong = router_check(router);                                                  \
        (field) = was_;                                                                            \
        TEST_ASSERT_NOT_NULL(wrong);                                                               \
        TEST_ASSERT_EQUAL_STRING(says, wrong);                                                     \
        check();                                                                                   \
    } while (0)

static void test_a_subscription_that_does_not_know_where_it_stands(void)
{
    const char *place = "subscription does not know its place";
    const char *pattern = "subscription does not know its pattern";
    const char *queue = "subscription does not know its queue";

    BROKEN(plain[1].rs.pos, 0, place);
    BROKEN(plain[1].rs.node, at(&deep), place);
    BROKEN(plain[0].rs.pattern.ptr, (const uint8_t *)"p", pattern);
    BROKEN(plain[0].rs.pattern.len, 2, pattern);
    BROKEN(plain[0].rs.queue.len, 1, queue);
    BROKEN(one.rs.queue.len, 0, queue);
}

static void test_slots_that_do_not_fit(void)
{
    BROKEN(at(&plain[0])->cap_log, 0, "node has the wrong capacity");
    BROKEN(at(&plain[0])->tomb, 1, "tombstone in an idle node");
    /* A node without any that has room for some, or is being visited, or leads nowhere. */
    BROKEN(at(&deep)->parent->cap_log, 2, "node has the wrong capacity");
    BROKEN(at(&deep)->parent->busy, 1, "busy node without slots");
    BROKEN(at(&deep)->len, 0, "node that leads nowhere");
}

/* A tombstone that no chain leads to would be a hole for ever. */
static void test_a_tombstone_out_of_its_chain(void)
{
    struct node *n = at(&plain[0]);

    n->busy++;
    leave(&plain[1]);
    check();
    BROKEN(n->tomb, 0, "tombstone out of its chain");
    n->busy--;
    trie_settle(n);
    join(&plain[1], "p", "");
}

static void test_patterns_and_flags_that_lie(void)
{
    struct node *b = at(&deep)->parent; /* a.b: groups, no plain subscription */
    struct node *a = b->parent;
    const char *differs = "pattern differs from the path";
    const uint8_t *text = at(&deep)->pattern;

    BROKEN(at(&deep)->pattern, NULL, "node does not know its pattern");
    BROKEN(at(&deep)->pattern, (const uint8_t *)"a.b.d", differs);
    BROKEN(at(&deep)->pattern, (const uint8_t *)"a-b.c", differs);
    BROKEN(at(&plain[0])->pattern, (const uint8_t *)"q", differs);
    BROKEN(at(&deep)->wild, 1, "wild flag is wrong");
    BROKEN(at(&star)->wild, 0, "wild flag is wrong");
    BROKEN(b->has_star, 1, "flag of a wildcard child that is not there");
    BROKEN(b->has_tail, 1, "flag of a wildcard child that is not there");
    BROKEN(a->has_star, 0, "'*' its parent does not know of");
    BROKEN(at(&tail)->parent->has_tail, 0, "'>' its parent does not know of");
    TEST_ASSERT_NULL(a->pattern);
    a->pattern_len = 1;
    BROKEN(a->pattern, text, "pattern of an inner node was kept");
    a->pattern_len = 0;
}

/* Shorter than its path, or without the dot where one must stand. */
static void test_a_pattern_shorter_than_its_path(void)
{
    struct receiver inner = {0};
    const char *differs = "pattern differs from the path";

    leave(&one);
    leave(&two);
    join(&inner, "a.b", ""); /* its node was there before: the text is not part of it */
    TEST_ASSERT_FALSE(at(&inner)->whole);
    BROKEN(at(&inner)->pattern_len, 0, differs);
    BROKEN(at(&inner)->pattern_len, 2, differs);
    const uint8_t *text = at(&inner)->pattern;
    at(&inner)->pattern = (const uint8_t *)"b";
    const char *wrong = NULL;
    at(&inner)->pattern_len = 1;
    wrong = router_check(router);
    at(&inner)->pattern_len = 3;
    at(&inner)->pattern = text;
    TEST_ASSERT_EQUAL_STRING(differs, wrong);
    leave(&inner);
}

static void test_lists_of_groups(void)
{
    struct node *none = NULL, *first = at(&deep)->parent->groups;
    const char *broken = "list of groups is broken";

    TEST_ASSERT_NOT_NULL(first->next_group);
    BROKEN(first->prev_group, &none, broken);
    BROKEN(first->next_group->prev_group, &none, broken);
}

static void test_wrong_counts(void)
{
    struct node *a = at(&star)->parent;

    BROKEN(a->kids, a->kids + 1, "wrong number of children");
    BROKEN(router->trie.root->kids, router->trie.root->kids + 1,
           "wrong number of children of the root");
    BROKEN(router->trie.nodes, router->trie.nodes + 1, "wrong number of nodes or subscriptions");
    BROKEN(router->subs, router->subs - 1, "wrong number of nodes or subscriptions");
}

static void test_a_table_that_cannot_be(void)
{
    struct trie *t = &router->trie;

    BROKEN(t->half, t->buckets + 1, "table: wrong size");
    BROKEN(t->half, t->buckets / 2, "table: wrong size");
    BROKEN(t->cap, t->buckets - 1, "table: wrong size");
    BROKEN(at(&deep)->hash, at(&deep)->hash + 1, "table: node in the wrong bucket");
}

static struct cache_entry *cached(unsigned *way, struct cache_set **set)
{
    struct cache *c = &router->cache;

    for (uint32_t i = 0; i < c->sets * CACHE_WAYS; i++) {
        *way = i % CACHE_WAYS;
        *set = &c->set[i / CACHE_WAYS];
        if ((*set)->way[*way] != NULL)
            return (*set)->way[*way];
    }
    return NULL;
}

static void test_a_cache_that_would_answer_wrongly(void)
{
    unsigned way;
    struct cache_set *set;
    struct cache_entry *e = cached(&way, &set);
    struct cache *c = &router->cache;

    TEST_ASSERT_NOT_NULL(e);
    BROKEN(e->hash, e->hash + 1, "cache: entry in the wrong place");
    BROKEN(set->tag[way], (uint16_t)(set->tag[way] + 1), "cache: entry in the wrong place");
    BROKEN(e->n, (uint8_t)(e->cap + 1), "cache: entry out of bounds");
    BROKEN(e->cap, CACHE_ITEMS + 1, "cache: entry out of bounds");
    BROKEN(e->len, CACHE_SUBJECT + 1, "cache: entry out of bounds");
    BROKEN(c->entries, 0, "cache: wrong number of entries");
    BROKEN(e->n, 1, "cache: fresh entry with wrong nodes");
    BROKEN(e->item[0], (uintptr_t)at(&deep), "cache: fresh entry with wrong nodes");
    /* The same subject twice: the second is out of reach. */
    unsigned other = (way + 1) % CACHE_WAYS;
    uint16_t tag = set->tag[other];
    set->tag[other] = set->tag[way];
    BROKEN(set->way[other], e, "cache: wrong number of entries");
    set->tag[other] = tag;
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_subscription_that_does_not_know_where_it_stands);
    RUN_TEST(test_slots_that_do_not_fit);
    RUN_TEST(test_a_tombstone_out_of_its_chain);
    RUN_TEST(test_patterns_and_flags_that_lie);
    RUN_TEST(test_a_pattern_shorter_than_its_path);
    RUN_TEST(test_lists_of_groups);
    RUN_TEST(test_wrong_counts);
    RUN_TEST(test_a_table_that_cannot_be);
    RUN_TEST(test_a_cache_that_would_answer_wrongly);
    return UNITY_END();
}
