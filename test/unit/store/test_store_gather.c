/* test_store_gather.c: when a group waits for the writers that were just answered, and what it is
 * for: writers who wait for each acknowledgement share one sync. */
#include "support/store_fixture.h"

#include "store/log/gather.h"

#include "base/clock.h"

#include <time.h>

#define US      CLOCK_US
#define WRITERS 8
#define WRITES  20

/* --- the rule, by the clock that it is given -------------------------------------------------- */

/* A commit of n writers that took took_ns and ends at *now; then `more` are waiting. */
static struct gather g;
static int64_t now;

static void commit(unsigned n, unsigned more, int64_t took_ns)
{
    g.waiting = n;
    gather_started(&g, now);
    g.waiting = more;
    now += took_ns;
    gather_done(&g, now);
}

static void begin(void)
{
    g = (struct gather){0};
    now = CLOCK_S;
}

static void test_a_group_waits_until_those_answered_are_back(void)
{
    begin();
    commit(8, 8, 200 * US);
    TEST_ASSERT_FALSE(gather_ready(&g, now));
    g.waiting = 13;
    TEST_ASSERT_FALSE(gather_ready(&g, now));
    g.waiting = 14; /* of 16: the last eighth is not waited for */
    TEST_ASSERT_TRUE(gather_ready(&g, now));
}

static void test_it_waits_half_a_commit_at_most(void)
{
    begin();
    commit(8, 8, 200 * US);
    TEST_ASSERT_FALSE(gather_ready(&g, now + 99 * US));
    TEST_ASSERT_TRUE(gather_ready(&g, now + 100 * US));
    begin();
    commit(8, 8, CLOCK_S); /* a disk that stalls */
    TEST_ASSERT_FALSE(gather_ready(&g, now + 499 * US));
    TEST_ASSERT_TRUE(gather_ready(&g, now + 500 * US));
}

static void test_a_lone_writer_does_not_wait(void)
{
    begin();
    commit(1, 0, 200 * US);
    g.waiting = 1;
    TEST_ASSERT_TRUE(gather_ready(&g, now));
}

/* Sixty-four are more work for the loop than a commit is for the disk: both should work at once. */
static void test_where_the_loop_is_the_limit_nobody_waits(void)
{
    begin();
    commit(32, 32, 200 * US);
    TEST_ASSERT_TRUE(gather_ready(&g, now));
    begin();
    commit(32, 32, 2 * CLOCK_MS); /* of a slower disk they are not */
    TEST_ASSERT_FALSE(gather_ready(&g, now));
}

/* Publishers who do not come back must not pay for those who would. */
static void test_waiting_in_vain_is_given_up_more_and_more(void)
{
    unsigned waited = 0;

    begin();
    for (int i = 0; i < 1000; i++) {
        commit(4, 4, 200 * US);
        if (!gather_ready(&g, now)) {
            waited++;
            now += 100 * US;
            TEST_ASSERT_TRUE(gather_ready(&g, now));
        }
    }
    TEST_ASSERT_LESS_THAN(40, waited);
    TEST_ASSERT_GREATER_THAN(20, waited); /* and is tried again */
}

/* --- a store whose disk is slow --------------------------------------------------------------- */

static int (*real_sync)(struct store_io *io, struct store_file *f, struct mf_error *e);

static int slow_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    const struct timespec t = {0, 1000000}; /* the disk works: a millisecond is what it takes */

    nanosleep(&t, NULL);
    return real_sync(io, f, e);
}

static struct writer {
    struct store_append a;
    int left;
} writers[WRITERS];

static void write_on(struct store_wait *w, int status)
{
    struct writer *x = mf_container(w, struct writer, a.wait);

    TEST_ASSERT_EQUAL_INT(0, status);
    if (x->left-- > 0)
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &x->a));
}

static void write_first(int from, int to)
{
    for (int i = from; i < to; i++) {
        writers[i] = (struct writer){
            .left = WRITES, .a = {.wait.done = write_on, .key = MF_LIT("k"), .body = MF_LIT("v")}};
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &writers[i].a));
    }
}

/* Half of the writers come while the other half's group is on its way: the groups of one run. */
static uint64_t groups_of_two_halves(bool gather)
{
    struct store_stats st;

    drive_fini(&d);
    start((struct store_opts){.name = "test", .gather = gather});
    real_sync = d.io->sync;
    d.io->sync = slow_sync;
    write_first(0, WRITERS / 2);
    drive_turn(&d);
    write_first(WRITERS / 2, WRITERS);
    drive_idle(&d);
    store_stats(d.store, &st);
    TEST_ASSERT_EQUAL_UINT64(WRITERS * (WRITES + 1), messages());
    return st.groups;
}

static void test_two_halves_become_one(void)
{
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(2 * WRITES, groups_of_two_halves(false));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(WRITES + 4, groups_of_two_halves(true));
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_a_group_waits_until_those_answered_are_back);
    RUN_TEST(test_it_waits_half_a_commit_at_most);
    RUN_TEST(test_a_lone_writer_does_not_wait);
    RUN_TEST(test_where_the_loop_is_the_limit_nobody_waits);
    RUN_TEST(test_waiting_in_vain_is_given_up_more_and_more);
    RUN_TEST(test_two_halves_become_one);
    return UNITY_END();
}
