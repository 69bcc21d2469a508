/* test_stream_config_nomem.c: a configuration that meets the end of memory: every allocation fails
 * once, and each time the answer is MF_NOMEM and nothing leaks. */
#include "stream/stream_config.h"

#include "support/config_rows.h"
#include "support/no_memory.h"

#include "unity.h"

static const struct stream_config origin = {.name = CR_T("ORG"), .subjects = CR_STRS("org.>")};

static const struct stream_config *find(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, origin.name) == 0 ? &origin : NULL;
}

void setUp(void)
{
    fail_at = 0;
}

void tearDown(void)
{
    fail_at = 0;
}

static int run(const struct stream_config *c, struct js_error *e)
{
    const struct stream_config_world w = {
        .max_stream_bytes_memory = -1, .max_stream_bytes_file = -1, .find = find};
    struct stream_config made;
    int rc = config_row_check(&made, c, &w, e);
    if (rc == 0)
        rc = stream_config_stamp(&made);
    stream_config_fini(&made);
    return rc;
}

static void test_every_allocation_may_fail(void)
{
    const struct stream_config rows[] = {
        {.subjects = CR_STRS("a", "b.*", "c"),
         .description = CR_T("d"),
         .placement = &(struct stream_placement){.cluster = CR_T("c"), .tags = CR_STRS("t")},
         .subject_transform = CR_MAPPING("a", "x"),
         .republish = CR_REPUBLISH("", "r.>"),
         .metadata = CR_META("k", CR_X4K)},
        {.sources =
             CR_SOURCES(CR_SOURCE(.name = CR_T("ORG"),
                                  .transforms = CR_MAPS(CR_MAP("a.*", "b.$1"), CR_MAP("c", ""))),
                        CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "d")),
                        CR_SOURCE(.name = CR_T("C"), .consumer = CR_CONSUMER("c", "d")))},
        {.mirror = CR_SOURCE(.name = CR_T("ORG"), .transforms = CR_MAPS(CR_MAP("a.*", "b.$1")))},
        {.subjects = CR_STRS("a", "a")},
        {.mirror = CR_SOURCE(.name = CR_T("M"), .external = CR_EXTERNAL("$JS.*.API", ""))},
        {.name = NULL},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct js_error e;
        int want = run(&rows[i], &e), rc;
        long n = 1;
        for (;; n++) {
            allocations = 0;
            fail_at = n;
            rc = run(&rows[i], &e);
            if (allocations < n)
                break;
            fail_at = 0;
            TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
        }
        fail_at = 0;
        TEST_ASSERT_EQUAL_INT(want, rc);
        TEST_ASSERT_GREATER_THAN_INT(1, n);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_allocation_may_fail);
    return UNITY_END();
}
