/* test_stream_config_costs.c: what it costs to check a stream's configuration: comparisons of
 * patterns are counted, for a list and for one of ten times its length.  (Linked with --wrap.) */
#include "subject/pattern_set.h"
#include "stream/stream_config.h"
#include "subject/subject.h"

#include "support/config_rows.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t steps;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
bool __real_subject_overlap(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_overlap(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_overlap(struct mf_slice a, struct mf_slice b)
{
    steps++;
    return __real_subject_overlap(a, b);
}
bool __real_subject_is_subset(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_is_subset(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_is_subset(struct mf_slice a, struct mf_slice b)
{
    steps++;
    return __real_subject_is_subset(a, b);
}
int __real_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q)
{
    int rc = __real_pattern_tree_join(a, b, q);

    steps += q->steps;
    return rc;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

void setUp(void)
{
}

void tearDown(void)
{
}

static struct js_error err;
static struct stream_config other; /* the stream ORG */

static const struct stream_config *find(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "ORG") == 0 ? &other : NULL;
}

static int check(struct stream_config *c)
{
    const struct stream_config_world world = {
        .max_stream_bytes_memory = -1, .max_stream_bytes_file = -1, .find = find};
    struct stream_config made;

    steps = 0;
    int rc = config_row_check(&made, c, &world, &err);
    stream_config_fini(&made);
    return rc;
}

/* --- lists ---------------------------------------------------------------------------------- */

static struct arena mem;

static char *text(const char *format, size_t i)
{
    char *s = arena_printf(&mem, format, i);

    TEST_ASSERT_NOT_NULL(s);
    return s;
}

static struct json_strs list(const char *format, size_t n)
{
    struct json_strs l = {arena_alloc(&mem, n * sizeof(char *)), n};

    TEST_ASSERT_NOT_NULL(l.at);
    for (size_t i = 0; i < n; i++)
        l.at[i] = text(format, i);
    return l;
}

static struct json_objects mappings(size_t n)
{
    struct stream_mapping *m = arena_alloc(&mem, n * sizeof *m);

    TEST_ASSERT_NOT_NULL(m);
    for (size_t i = 0; i < n; i++)
        m[i] = (struct stream_mapping){text("*.a%zu.x", i), text("b.$1.%zu", i)};
    return (struct json_objects){m, n};
}

/* Sources of one stream, each with its filter, or delivered below its own prefix. */
static struct json_objects sources(size_t n, const char *name, bool external)
{
    struct stream_source **at = arena_alloc(&mem, n * sizeof(struct stream_source *));

    TEST_ASSERT_NOT_NULL(at);
    for (size_t i = 0; i < n; i++) {
        at[i] = arena_alloc(&mem, sizeof **at);
        TEST_ASSERT_NOT_NULL(at[i]);
        at[i]->name = text(name, i);
        at[i]->filter_subject = text("f.%zu.>", i);
        if (external && i > 0) {
            at[i]->external = arena_alloc(&mem, sizeof *at[i]->external);
            TEST_ASSERT_NOT_NULL(at[i]->external);
            at[i]->external->api = text("api%zu", i);
            at[i]->external->deliver = text("to%zu", i);
        }
    }
    return (struct json_objects){at, n};
}

/* --- growth --------------------------------------------------------------------------------- */

enum kind { LITERALS, STARS, MIXED, MIRROR, SOURCE, CYCLE, PREFIXES, KINDS };

static uint64_t cost(enum kind kind, size_t n)
{
    struct stream_source feed = {.name = CR_T("X")}, *one = &feed;
    struct stream_config c = {.name = CR_T("S")};

    memset(&other, 0, sizeof other);
    other.name = CR_T("ORG");
    switch (kind) {
    case LITERALS:
        c.subjects = list("a.%zu", n);
        break;
    case STARS:
        c.subjects = list("a.%zu.*", n);
        break;
    case MIXED:
        c.subjects = list("p.*.a%zu", n);
        c.subjects.at[0] = text("p.q%zu.b", 0);
        break;
    case MIRROR:
        feed.transforms = mappings(n);
        c.mirror = &feed;
        break;
    case SOURCE:
        feed.transforms = mappings(n);
        c.sources = (struct json_objects){&one, 1};
        break;
    case CYCLE: /* it follows itself through filters that it does not store */
        c.subjects = list("a.%zu", n);
        c.sources = sources(n, "S", false);
        break;
    default:
        other.subjects = list("a.%zu", n);
        c.sources = sources(n, "ORG", true);
    }
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&c), err.text);
    arena_fini(&mem);
    return steps;
}

static void test_ten_times_as_much_takes_ten_times_the_steps(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        size_t n = kind == CYCLE || kind == PREFIXES ? STREAM_SOURCES_MAX / 10
                                                     : STREAM_TRANSFORMS_MAX / 10;
        uint64_t few = cost(kind, n), many = cost(kind, 10 * n);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(15 * (few + 10), many);
    }
}

/* --- limits --------------------------------------------------------------------------------- */

static void refused(struct stream_config *c, const char *why)
{
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(c));
    TEST_ASSERT_EQUAL_UINT16(10052, err.err_code);
    TEST_ASSERT_EQUAL_STRING(why, err.text);
    arena_fini(&mem);
}

static void test_more_than_can_be_checked_is_refused(void)
{
    struct stream_source feed = {.name = CR_T("X")};
    struct stream_config c = {.subjects = list("a.%zu", STREAM_SUBJECTS_MAX + 1)};

    refused(&c, "maximum number of subjects is 8000");
    c.subjects = list("a.%zu.b.c.d.e.f", STREAM_SUBJECTS_MAX);
    refused(&c, "maximum number of tokens in all subjects is 50000");
    c.subjects = list("p.*.b%zu.x", STREAM_SUBJECTS_MAX);
    for (size_t i = STREAM_SUBJECTS_MAX / 2; i < STREAM_SUBJECTS_MAX; i++)
        c.subjects.at[i] = text("p.a%zu.*.y", i);
    refused(&c, "subjects have too many wildcards to be compared");
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(3 * PATTERN_STEPS, steps);
    char *far = malloc(70001);
    TEST_ASSERT_NOT_NULL(far);
    memset(far, 'x', 70000);
    far[70000] = '\0';
    c.subjects = (struct json_strs){&far, 1};
    refused(&c, "subject is too long, maximum allowed is 65535");
    c.subjects = list("a", 1);
    c.subject_transform = &(struct stream_mapping){CR_T("a"), far};
    refused(&c, "subject transform is too long, maximum allowed is 65535");
    c.subjects = list("a", 1);
    c.subject_transform = NULL;
    c.republish = &(struct stream_republish){CR_T("a"), far, false};
    refused(&c, "republish is too long, maximum allowed is 65535");
    free(far);
    feed.transforms = mappings(STREAM_TRANSFORMS_MAX + 1);
    c = (struct stream_config){.mirror = &feed};
    refused(&c, "maximum number of subject transforms is 3000");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_ten_times_as_much_takes_ten_times_the_steps);
    RUN_TEST(test_more_than_can_be_checked_is_refused);
    return UNITY_END();
}
