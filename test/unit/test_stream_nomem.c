/* test_stream_nomem.c: memory runs out at every possible moment of what a stream is asked to do: it
 * is done as a whole or not at all, the answer says which, and the stream goes on. */
#include "stream/stream_impl.h"
#include "support/no_memory.h"
#include "support/stream_deeds.h"

#include "mayfly/clock.h"

#include "unity.h"

#include <stdlib.h>

static struct world w;
static struct mf_buf before, after, now;

void setUp(void)
{
    before = after = now = (struct mf_buf)MF_BUF_INIT;
}

void tearDown(void)
{
    fail_at = 0;
    mf_buf_fini(&before);
    mf_buf_fini(&after);
    mf_buf_fini(&now);
}

static void assert_text(const struct mf_buf *want, const char *deed)
{
    world_text(&w, &now);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(mf_buf_cstr((struct mf_buf *)want), mf_buf_cstr(&now), deed);
}

/* Every line of a but those of markers is one of b's. */
static bool within(const struct mf_buf *a, struct mf_buf *b)
{
    char *line, *copy = mf_slice_dup(mf_buf_slice(a));
    bool all = true;

    for (char *at = copy; (line = strsep(&at, "\n")) != NULL;)
        all = all &&
              (strstr(line, "Nats-Marker-Reason") != NULL || strstr(mf_buf_cstr(b), line) != NULL);
    free(copy);
    return all;
}

static void check_result(const struct deed *d, int err_code)
{
    if (err_code == 0 && (d->loose & DEED_LATE) != 0) {
        world_text(&w, &now);
        TEST_ASSERT_TRUE_MESSAGE(within(&after, &now), d->name);
    } else if (err_code != 0 && (d->loose & DEED_PART) != 0) {
        world_text(&w, &now);
        TEST_ASSERT_TRUE_MESSAGE(within(&after, &now) && within(&now, &before), d->name);
    } else if (err_code != 0 && (d->loose & DEED_UNSURE) != 0) {
        world_text(&w, &now);
        assert_text(mf_eq(mf_buf_slice(&now), mf_buf_slice(&after)) ? &after : &before, d->name);
    } else {
        assert_text(err_code == 0 ? &after : &before, d->name);
    }
}

/* The nth allocation of the deed and of all that follows from it fails; true: it came to that. */
static bool ask_failing(const struct deed *d, long n, struct deed_told *t)
{
    allocations = 0;
    fail_at = n;
    d->ask(&w, t);
    world_turns(&w);
    bool hit = allocations >= n;
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(1, t->calls, d->name);
    return hit;
}

static void all_or_nothing(const struct deed *d)
{
    struct deed_told t;
    bool hit = true;

    deed_expect(d, &before, &after);
    for (long n = 1; hit; n++) {
        deed_start(d, &w, NULL);
        hit = ask_failing(d, n, &t);
        check_result(d, t.err_code);
        struct world_ack a =
            world_publish(&w, "k.z", d->cfg.allow_msg_counter ? "Nats-Incr: 1\r\n" : NULL, "");
        TEST_ASSERT_EQUAL_STRING_MESSAGE("", a.text, d->name); /* it is not broken */
        world_text(&w, &after);
        world_kill(&w);
        world_open(&w, &d->cfg);
        assert_text(&after, d->name); /* and the same on disk */
        world_fini(&w);
        deed_expect(d, &before, &after);
    }
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, t.err_code, d->name);
}

static void test_a_deed_without_memory_is_done_or_not(void)
{
    for (size_t i = 0; i < deed_count; i++)
        all_or_nothing(&deeds[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_deed_without_memory_is_done_or_not);
    return UNITY_END();
}
