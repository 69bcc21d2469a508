/* test_source_nomem.c: every allocation that following makes fails once, and one after the other
 * for a while: in the end everything is there, once and in order. */
#include "support/no_memory.h"
#include "support/upstream_world.h"

static struct stream_mapping map[] = {{(char *)"k.*", (char *)"m.$1"}};
static struct stream_source upstream_o = {.name = (char *)"O", .transforms = {map, 1}};
static struct stream_source *list[] = {&upstream_o};
static const struct stream_config mirror = {.name = (char *)"S", .mirror = &upstream_o};
static char *subjects[] = {(char *)"own.>"};
static const struct stream_config sourcing = {
    .name = (char *)"S", .subjects = {subjects, 1}, .sources = {list, 1}};
static const char *const three[] = {"one", "two", "three"};

static void assert_whole(long nth)
{
    struct mf_buf text = MF_BUF_INIT;
    const char *at;

    world_text(&w, &text);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(3, world_count(&w), mf_buf_cstr(&text));
    at = mf_buf_cstr(&text);
    for (size_t i = 0; i < 3; i++) {
        at = strstr(at, three[i]);
        TEST_ASSERT_NOT_NULL_MESSAGE(at, mf_buf_cstr(&text));
    }
    (void)nth;
    mf_buf_fini(&text);
}

/* false: so many allocations are not made. */
static bool follow_without(const struct stream_config *cfg, long nth, long also)
{
    struct mf_error e;
    struct stream_state st;
    bool hit;
    int rc;

    upstream_holds(three, 3);
    world_open(&w, cfg);
    memory_also = also;
    memory_arm(nth);
    rc = sources_follow(&all, w.stream, &host, &e);
    for (int i = 0; i < 200; i++) {
        loop_turn(w.loop);
        if (upstream.to[0] != '\0' && upstream.next <= upstream.last)
            deliver_next();
    }
    memory_disarm();
    hit = memory_hit;
    if (rc != 0) {
        TEST_ASSERT_NULL(all);
        TEST_ASSERT_EQUAL_INT(0, sources_follow(&all, w.stream, &host, &e));
    }
    stream_state(w.stream, &st);
    if (st.last_seq < 3)
        sources_retry(&host, "O"); /* it would come back by itself, but later */
    run_until(3, 0);
    assert_whole(nth);
    return hit;
}

static void each_fails(const struct stream_config *cfg, long also)
{
    for (long nth = 0; follow_without(cfg, nth, also); nth++) {
        tearDown();
        setUp();
    }
}

static void test_a_mirror_loses_nothing(void)
{
    each_fails(&mirror, 0);
}

static void test_a_source_loses_nothing(void)
{
    each_fails(&sourcing, 0);
}

static void test_a_mirror_loses_nothing_though_it_takes_a_while(void)
{
    each_fails(&mirror, 20);
}

static void test_a_source_loses_nothing_though_it_takes_a_while(void)
{
    each_fails(&sourcing, 20);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_mirror_loses_nothing);
    RUN_TEST(test_a_source_loses_nothing);
    RUN_TEST(test_a_mirror_loses_nothing_though_it_takes_a_while);
    RUN_TEST(test_a_source_loses_nothing_though_it_takes_a_while);
    return UNITY_END();
}
