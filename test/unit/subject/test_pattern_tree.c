/* test_pattern_tree.c: sets of patterns against a naive model, and how many steps they take. */
#include "subject/pattern_set.h"
#include "subject/subject.h"

#include "support/no_memory.h"
#include "support/pick.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
    fail_at = 0;
}

void tearDown(void)
{
    fail_at = 0;
}

/* --- against a model ------------------------------------------------------------------------ */

#define TEXT 64
#define T(s) ((char[]){s})
#define MOST 24

/* Few words, so that much meets; some are malformed. */
static void random_text(struct pick *p, char dst[TEXT])
{
    static const char *const words[] = {"a", "b", "ab", "*", "*", "a*", ">", ""};
    unsigned tokens = 1 + pick_below(p, 4);
    size_t n = 0;

    for (unsigned i = 0; i < tokens; i++) {
        unsigned w = pick_below(p, pick_chance(p, 3) ? 8 : 6);
        n += (size_t)snprintf(dst + n, TEXT - n, "%s%s", i == 0 ? "" : ".", words[w]);
    }
    if (pick_chance(p, 15))
        snprintf(dst + n, TEXT - n, ".>");
    if (pick_chance(p, 2))
        snprintf(dst, TEXT, "%s", pick_chance(p, 50) ? ">" : "");
}

static bool overlap(struct mf_slice a, struct mf_slice b)
{
    if (a.len == 0 || b.len == 0)
        return (a.len == 0 && b.len == 0) || mf_eq_str(a, ">") || mf_eq_str(b, ">");
    return subject_overlap(a, b);
}

static bool within(struct mf_slice a, struct mf_slice b)
{
    return a.len == 0 ? mf_eq_str(b, ">") : subject_is_subset(a, b);
}

static size_t naive_first(const struct pattern_set *s, enum pattern_relation how)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            if (how == PATTERN_OVERLAP ? j > i && overlap(s->at[i].text, s->at[j].text)
                                       : j != i && within(s->at[i].text, s->at[j].text))
                return i;
    return s->n;
}

static bool naive_overlaps(const struct pattern_set *a, const struct pattern_entry *b, size_t n,
                           const void *except)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < n; j++)
            if (b[j].node != NULL && b[j].owner != except &&
                subject_overlap(a->at[i].text, b[j].text))
                return true;
    return false;
}

static void fill(struct pick *p, struct pattern_set *s, char text[MOST][TEXT])
{
    size_t n = 1 + pick_below(p, MOST);

    TEST_ASSERT_EQUAL_INT(0, pattern_set_init(s, n));
    for (size_t i = 0; i < n; i++) {
        random_text(p, text[i]);
        s->at[i].text = mf_str(text[i]);
    }
    TEST_ASSERT_EQUAL_INT(0, pattern_set_ready(s));
    if (s->tree.root != NULL)
        TEST_ASSERT_NULL(pattern_tree_check(&s->tree));
}

static void test_a_list_gives_the_same_as_comparing_all(void)
{
    struct pick p = {1};
    char text[MOST][TEXT];

    for (int round = 0; round < 20000; round++) {
        struct pattern_set s;
        size_t first;
        fill(&p, &s, text);
        TEST_ASSERT_EQUAL_INT(0, pattern_set_first(&s, PATTERN_OVERLAP, &first));
        TEST_ASSERT_EQUAL_size_t(naive_first(&s, PATTERN_OVERLAP), first);
        TEST_ASSERT_EQUAL_INT(0, pattern_set_first(&s, PATTERN_WITHIN, &first));
        TEST_ASSERT_EQUAL_size_t(naive_first(&s, PATTERN_WITHIN), first);
        random_text(&p, text[0]);
        bool match = false;
        for (size_t i = 1; i < s.n; i++)
            match = match || subject_match(s.at[i].text, mf_str(text[0]));
        pattern_tree_del(&s.tree, &s.at[0]); /* its text is another now */
        TEST_ASSERT_EQUAL_INT(match, pattern_tree_match(&s.tree, mf_str(text[0])));
        pattern_set_fini(&s);
    }
}

/* Patterns of three owners come and go. */
static void test_a_tree_that_changes_gives_the_same_as_comparing_all(void)
{
    static char kept[200][TEXT];
    static const char owners[3];
    struct pattern_entry at[200] = {0};
    struct pattern_tree t = {0};
    struct pick p = {2};
    char text[1][TEXT];

    for (int round = 0; round < 20000; round++) {
        size_t i = pick_below(&p, 200);
        struct pattern_set s;
        if (at[i].node != NULL) {
            pattern_tree_del(&t, &at[i]);
        } else {
            random_text(&p, kept[i]);
            at[i] = (struct pattern_entry){.text = mf_str(kept[i]),
                                           .owner = &owners[pick_below(&p, 3)]};
            TEST_ASSERT_EQUAL_INT(0, pattern_tree_add(&t, &at[i]));
        }
        if (at[i].node == NULL)
            snprintf(kept[i], TEXT, "gone"); /* the tree must not look at it any more */
        TEST_ASSERT_NULL(pattern_tree_check(&t));
        if (round % 8 != 0)
            continue;
        const void *except = pick_chance(&p, 50) ? NULL : &owners[pick_below(&p, 3)];
        TEST_ASSERT_EQUAL_INT(0, pattern_set_init(&s, 1));
        random_text(&p, text[0]);
        s.at[0].text = mf_str(text[0]);
        TEST_ASSERT_EQUAL_INT(0, pattern_set_ready(&s));
        TEST_ASSERT_EQUAL_INT(naive_overlaps(&s, at, 200, except),
                              pattern_set_overlaps(&s, &t, except));
        pattern_set_fini(&s);
    }
    for (size_t i = 0; i < 200; i++)
        pattern_tree_del(&t, &at[i]);
    TEST_ASSERT_NULL(t.root);
    TEST_ASSERT_NULL(t.blocks);
}

/* --- steps ---------------------------------------------------------------------------------- */

typedef void shape(char *dst, size_t i, size_t n);

static void literals(char *dst, size_t i, size_t n)
{
    (void)n;
    snprintf(dst, TEXT, "orders.%zu.new", i);
}
static void stars(char *dst, size_t i, size_t n)
{
    (void)n;
    snprintf(dst, TEXT, "orders.%zu.*", i);
}
static void tails(char *dst, size_t i, size_t n)
{
    (void)n;
    snprintf(dst, TEXT, "orders.%zu.>", i);
}
static void leading_stars(char *dst, size_t i, size_t n)
{
    (void)n;
    snprintf(dst, TEXT, "*.*.device%zu", i);
}
/* Half have a star where the other half differ; the last token keeps them apart. */
static void stars_and_literals(char *dst, size_t i, size_t n)
{
    snprintf(dst, TEXT, i < n / 2 ? "*.*.w%zu" : "x%zu.y.z", i);
}
static void tenants(char *dst, size_t i, size_t n)
{
    snprintf(dst, TEXT, i < n / 2 ? "tenant%zu.orders" : "*.device%zu", i);
}
static void nested(char *dst, size_t i, size_t n)
{
    snprintf(dst, TEXT, "a.%zu.b.%zu.c.*.d", i / 10 % (n / 10), i % 10);
}

static struct pattern_set made;
static char (*texts)[TEXT];

static void make(shape *f, size_t n)
{
    texts = malloc(n * sizeof *texts);
    TEST_ASSERT_NOT_NULL(texts);
    TEST_ASSERT_EQUAL_INT(0, pattern_set_init(&made, n));
    for (size_t i = 0; i < n; i++) {
        f(texts[i], i, n);
        made.at[i].text = mf_str(texts[i]);
    }
    TEST_ASSERT_EQUAL_INT(0, pattern_set_ready(&made));
}

static void unmake(void)
{
    pattern_set_fini(&made);
    free(texts);
}

static uint64_t steps(shape *f, size_t n, enum pattern_relation how)
{
    struct pattern_query q = {.how = how, .most = UINT64_MAX};

    make(f, n);
    TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * n + 1, made.tree.nodes);
    TEST_ASSERT_EQUAL_INT(0, pattern_tree_join(&made.tree, &made.tree, &q));
    TEST_ASSERT_EQUAL_UINT32(PATTERN_NONE, q.found);
    unmake();
    return q.steps;
}

static void test_ten_times_as_many_take_ten_times_the_steps(void)
{
    shape *const shapes[] = {literals,           stars,   tails, leading_stars,
                             stars_and_literals, tenants, nested};

    for (size_t i = 0; i < MF_COUNT(shapes); i++)
        for (int how = PATTERN_OVERLAP; how <= PATTERN_WITHIN; how++) {
            uint64_t few = steps(shapes[i], 1000, how), many = steps(shapes[i], 10000, how);
            TEST_ASSERT_LESS_OR_EQUAL_UINT64(10000, few);
            TEST_ASSERT_LESS_OR_EQUAL_UINT64(15 * few, many);
        }
}

/* Another set is compared with a large tree: only what it could meet is walked. */
static void test_few_against_many_take_few_steps(void)
{
    char *some[] = {T("invoices.>"), T("orders.x.y")};
    struct pattern_set s;
    struct pattern_query q = {.any = true, .most = UINT64_MAX};

    for (size_t i = 0; i < MF_COUNT(some); i++) {
        make(literals, 10000);
        TEST_ASSERT_EQUAL_INT(0, pattern_set_strings(&s, &some[i], 1, NULL));
        TEST_ASSERT_EQUAL_INT(0, pattern_tree_join(&s.tree, &made.tree, &q));
        TEST_ASSERT_EQUAL_UINT32(PATTERN_NONE, q.found);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(20, q.steps);
        pattern_set_fini(&s);
        unmake();
    }
}

/* No order of tokens helps here: what differs is under a star of the other. */
static void crossed(char *dst, size_t i, size_t n)
{
    snprintf(dst, TEXT, i < n / 2 ? "*.b%zu.x" : "a%zu.*.y", i);
}

static void test_sets_that_cannot_be_compared_cheaply_end_at_the_limit(void)
{
    struct pattern_query q = {.how = PATTERN_OVERLAP, .most = PATTERN_STEPS};
    size_t first;

    make(crossed, 10000);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, pattern_tree_join(&made.tree, &made.tree, &q));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * PATTERN_STEPS, q.steps);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, pattern_set_first(&made, PATTERN_OVERLAP, &first));
    TEST_ASSERT_EQUAL_INT(0, pattern_set_first(&made, PATTERN_WITHIN, &first)); /* that is easy */
    unmake();
    make(crossed, 500); /* so few are compared all the same */
    TEST_ASSERT_EQUAL_INT(0, pattern_set_first(&made, PATTERN_OVERLAP, &first));
    TEST_ASSERT_EQUAL_size_t(500, first);
    unmake();
}

/* n equal ones, or n that all overlap: the first pair is found without looking at all pairs. */
static void equal(char *dst, size_t i, size_t n)
{
    (void)i;
    (void)n;
    snprintf(dst, TEXT, "a.*");
}
static void all_overlap(char *dst, size_t i, size_t n)
{
    snprintf(dst, TEXT, i < n / 2 ? "*.b%zu" : "a%zu.*", i);
}

static void test_many_that_meet_are_told_from_the_first_ones(void)
{
    shape *const shapes[] = {equal, all_overlap};
    size_t first;

    for (size_t i = 0; i < MF_COUNT(shapes); i++) {
        make(shapes[i], 10000);
        TEST_ASSERT_EQUAL_INT(0, pattern_set_first(&made, PATTERN_OVERLAP, &first));
        TEST_ASSERT_EQUAL_size_t(0, first);
        unmake();
    }
}

/* --- memory --------------------------------------------------------------------------------- */

static void test_without_memory_nothing_changes(void)
{
    char *at[] = {T("a.b.c"), T("a.b.d"), T("a.x.>"), T("a.b.c.e"), T("*.b"), T(">"), T("q")};
    bool done = false;

    for (long nth = 0; !done; nth++) {
        struct pattern_set s;
        size_t first = 0;
        memory_arm(nth);
        int rc = pattern_set_strings(&s, at, MF_COUNT(at), NULL);
        if (rc == 0)
            rc = pattern_set_first(&s, PATTERN_OVERLAP, &first);
        if (rc == 0)
            rc = pattern_tree_match(&s.tree, MF_LIT("a.x.y"));
        done = !memory_hit;
        memory_disarm();
        TEST_ASSERT_EQUAL_INT(done ? 1 : MF_NOMEM, rc);
        if (s.tree.root != NULL)
            TEST_ASSERT_NULL(pattern_tree_check(&s.tree));
        pattern_set_fini(&s);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_list_gives_the_same_as_comparing_all);
    RUN_TEST(test_a_tree_that_changes_gives_the_same_as_comparing_all);
    RUN_TEST(test_ten_times_as_many_take_ten_times_the_steps);
    RUN_TEST(test_few_against_many_take_few_steps);
    RUN_TEST(test_sets_that_cannot_be_compared_cheaply_end_at_the_limit);
    RUN_TEST(test_many_that_meet_are_told_from_the_first_ones);
    RUN_TEST(test_without_memory_nothing_changes);
    return UNITY_END();
}
