/* test_filter_costs.c: what consumers with very many filters cost: messages looked at, counts of
 * patterns and single matches are counted.  (Linked with --wrap for the three.) */
#include "support/consumer_world.h"

/* What is looked at in the stream: messages under cursors, counts of patterns, single matches. */
static size_t looked, passes, matched;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
uint64_t __real_stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead);
uint64_t __wrap_stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead);
uint64_t __wrap_stream_cursor_next_any(struct stream_cursor *c, bool *more, bool *dead)
{
    looked++;
    return __real_stream_cursor_next_any(c, more, dead);
}
bool __real_stream_count(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                         uint64_t *out);
bool __wrap_stream_count(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                         uint64_t *out);
bool __wrap_stream_count(struct stream *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                         uint64_t *out)
{
    passes++;
    return __real_stream_count(s, pattern, first, last, out);
}
bool __real_subject_match(struct mf_slice pattern, struct mf_slice literal);
bool __wrap_subject_match(struct mf_slice pattern, struct mf_slice literal);
bool __wrap_subject_match(struct mf_slice pattern, struct mf_slice literal)
{
    matched++;
    return __real_subject_match(pattern, literal);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void costs_begin(void)
{
    looked = passes = matched = 0;
}

/* One that has n filters, of which the first 100 match a message each. */
static struct consumer *add_many(const char *name, const char *format, size_t n)
{
    char **at = malloc(n * sizeof(char *)), *text = malloc(n * 32);
    struct consumer_config cfg = pull();

    TEST_ASSERT_TRUE(at != NULL && text != NULL);
    for (size_t i = 0; i < n; i++) {
        at[i] = text + 32 * i;
        snprintf(at[i], 32, format, i);
    }
    cfg.filter_subjects.at = at;
    cfg.filter_subjects.n = n;
    cfg.mem_storage = true; /* this codec keeps no filters */
    struct consumer *c = add(name, cfg);
    free(at);
    free(text);
    return c;
}

static void test_messages_cost_what_matches_however_many_filters(void)
{
    char subject[32];

    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 100; i++) {
        snprintf(subject, sizeof subject, "k.%d.x", i);
        put(subject, "x");
    }
    snprintf(here, sizeof here, " in ");
    for (size_t n = 1000; n <= 10000; n *= 10) {
        struct consumer *c = add_many("A", "k.%zu.x", n);
        TEST_ASSERT_EQUAL_UINT64(n == 1000 ? 100 : 101, info(c).pending);
        costs_begin();
        ask(c, "101");
        TEST_ASSERT_EQUAL_size_t(n == 1000 ? 100 : 101, count(heard(), "in<k."));
        TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * 100 + 10, looked);
        TEST_ASSERT_EQUAL_size_t(0, matched);
        ask(c, "1");
        costs_begin();
        put("k.5.x", "y"); /* news */
        TEST_ASSERT_EQUAL_size_t(1, count(heard(), "in<k."));
        TEST_ASSERT_EQUAL_size_t(0, matched + looked + passes);
        consumer_delete(c, NULL);
        world_turns(&w);
    }
}

/* Filters with wildcards are counted in one walk over the messages, not in one for each. */
static void test_counting_does_not_walk_for_each_filter_with_wildcards(void)
{
    char subject[32];

    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 100; i++) {
        snprintf(subject, sizeof subject, "k.y.%d", i);
        put(subject, "x");
    }
    for (size_t n = 1000; n <= 10000; n *= 10) {
        costs_begin();
        struct consumer *c = add_many("A", "k.*.%zu", n);
        TEST_ASSERT_EQUAL_UINT64(100, info(c).pending);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(8, passes);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * 100 + 10, looked);
        TEST_ASSERT_EQUAL_size_t(0, matched);
        costs_begin();
        TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.y.5", 0, 0, NULL));
        world_turns(&w);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(8, passes);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(2 * 100 + 10, looked);
        TEST_ASSERT_EQUAL_size_t(0, matched);
        put("k.y.5", "x");
        consumer_delete(c, NULL);
        world_turns(&w);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_messages_cost_what_matches_however_many_filters);
    RUN_TEST(test_counting_does_not_walk_for_each_filter_with_wildcards);
    return UNITY_END();
}
