/* test_work.c: tasks take turns within the budget of a turn; the meter names what held it up. */
#include "loop/work.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unity.h"

static struct loop *l;
static char order[4096];
static unsigned norder;

struct job {
    struct work_task t;
    char name;
    unsigned slices, steps; /* slices left; steps done in all */
    struct work_task *cancel;
    bool own; /* free it with the last slice */
};

void setUp(void)
{
    struct mf_error e = {.text = ""};

    alarm(300); /* a loop that waits for nothing ends the test, and fails it */
    norder = 0;
    TEST_ASSERT_EQUAL_MESSAGE(0, loop_new(&l, &e), e.text);
}

void tearDown(void)
{
    loop_free(l);
}

static bool run_job(struct work_task *t)
{
    struct job *j = mf_container(t, struct job, t);

    TEST_ASSERT_FALSE(work_queued(t));
    order[norder++] = j->name;
    do {
        j->steps++;
    } while (!work_spent(l));
    if (j->cancel != NULL)
        work_cancel(l, j->cancel);
    if (--j->slices > 0)
        return true;
    if (j->own)
        free(j);
    return false;
}

static void run_turns(unsigned n)
{
    while (n-- > 0)
        loop_turn(l);
    order[norder] = '\0';
}

static struct job job_named(char name, unsigned slices)
{
    return (struct job){
        .t = {.run = run_job, .cause = WORK_DIRECT}, .name = name, .slices = slices};
}

/* An account with many tasks must not get more turns than one with a single task. */
static void test_owners_take_turns_whatever_their_number_of_tasks(void)
{
    struct work_owner many = {.name = "many"}, one = {.name = "one"};
    struct job a = job_named('a', 2), b = job_named('b', 2), c = job_named('c', 2);
    struct job x = job_named('x', 3);

    work_set_steps(l, 1);
    work_add(l, &many, &a.t);
    work_add(l, &many, &b.t);
    work_add(l, &many, &c.t);
    work_add(l, &one, &x.t);
    run_turns(20);
    TEST_ASSERT_EQUAL_STRING("axbxcxabc", order);
}

static void test_a_task_that_is_queued_is_not_queued_twice(void)
{
    struct work_owner o = {.name = NULL};
    struct job a = job_named('a', 1);

    work_set_steps(l, 1);
    work_add(l, &o, &a.t);
    work_add(l, &o, &a.t);
    run_turns(4);
    TEST_ASSERT_EQUAL_STRING("a", order);
}

static void test_a_cancelled_task_never_runs(void)
{
    struct work_owner o = {.name = NULL}, p = {.name = NULL};
    struct job a = job_named('a', 1), b = job_named('b', 1), c = job_named('c', 1);

    work_set_steps(l, 1);
    a.cancel = &b.t;
    work_add(l, &o, &a.t);
    work_add(l, &o, &b.t);
    work_add(l, &p, &c.t);
    work_cancel(l, &c.t);
    work_cancel(l, &c.t);
    run_turns(4);
    TEST_ASSERT_EQUAL_STRING("a", order);
    work_add(l, &p, &c.t);
    run_turns(2);
    TEST_ASSERT_EQUAL_STRING("ac", order);
}

/* Statistics that somebody asked for: the answer of a publish waits for one short slice of them. */
static void test_work_that_can_wait_has_one_short_slice_a_turn(void)
{
    struct work_owner o = {.name = NULL};
    struct job p = job_named('p', 10);

    p.t.cause = WORK_REQUEST;
    work_add(l, &o, &p.t);
    run_turns(1); /* which may look for events twice */
    TEST_ASSERT_LESS_THAN_UINT(3, norder);
    work_cancel(l, &p.t);
}

static void test_work_that_can_wait_comes_last_in_each_turn_and_is_not_left_out(void)
{
    struct work_owner o = {.name = NULL};
    struct job h = job_named('h', 1000), p = job_named('p', 1000);

    p.t.cause = WORK_PAGE;
    work_add(l, &o, &p.t);
    work_add(l, &o, &h.t);
    run_turns(1);
    TEST_ASSERT_EQUAL_CHAR('h', order[0]);
    TEST_ASSERT_EQUAL_CHAR('p', order[norder - 1]);
    work_cancel(l, &p.t);
    work_cancel(l, &h.t);
}

static void test_a_slice_ends_after_the_steps_asked_for(void)
{
    struct work_owner o = {.name = NULL};
    struct job a = job_named('a', 3);

    work_set_steps(l, 7);
    work_add(l, &o, &a.t);
    run_turns(2);
    TEST_ASSERT_EQUAL_UINT(a.slices, 3 - norder);
    TEST_ASSERT_EQUAL_UINT(7 * norder, a.steps);
    work_cancel(l, &a.t);
}

/* By time: a slice is over though the task never ends by itself. */
static void test_a_slice_by_time_ends(void)
{
    struct work_owner o = {.name = NULL};
    struct job a = job_named('a', 1);

    work_add(l, &o, &a.t);
    run_turns(2);
    TEST_ASSERT_EQUAL_STRING("a", order);
    TEST_ASSERT_GREATER_THAN_UINT(1, a.steps);
}

static void test_a_task_may_free_itself(void)
{
    struct work_owner o = {.name = NULL};
    struct job *a = malloc(sizeof *a);

    TEST_ASSERT_NOT_NULL(a);
    *a = job_named('a', 1);
    a->own = true;
    work_set_steps(l, 1);
    work_add(l, &o, &a->t);
    run_turns(2);
    TEST_ASSERT_EQUAL_STRING("a", order);
}

static bool run_for_ever(struct work_task *t)
{
    (void)t;
    while (!work_spent(l))
        ;
    return true;
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* Work without an end must not keep timers and posted calls from being served. */
static void test_endless_work_leaves_time_for_events(void)
{
    struct work_owner o = {.name = NULL};
    struct work_task t = {.run = run_for_ever};
    struct loop_timer *timer = loop_timer_new(l, stop, NULL);

    TEST_ASSERT_NOT_NULL(timer);
    work_add(l, &o, &t);
    TEST_ASSERT_EQUAL(0, loop_post(l, stop, NULL));
    loop_run(l);
    loop_timer_arm(timer, loop_mono_ns(l) + CLOCK_MS);
    loop_run(l);
    TEST_ASSERT_TRUE(work_queued(&t));
    work_cancel(l, &t);
    loop_timer_free(timer);
}

static struct loop_defer hook;

static void run_hook(struct loop_defer *d)
{
    (void)d;
    order[norder++] = 'h';
}

static bool run_and_defer(struct work_task *t)
{
    (void)t;
    order[norder++] = 'w';
    loop_defer(l, &hook);
    return false;
}

/* Bytes that a time slice writes are sent in the same turn. */
static void test_hooks_of_a_slice_run_in_its_turn(void)
{
    struct work_owner o = {.name = NULL};
    struct work_task t = {.run = run_and_defer};

    hook = (struct loop_defer){.fn = run_hook};
    work_add(l, &o, &t);
    run_turns(1);
    TEST_ASSERT_EQUAL_STRING("wh", order);
}

static void busy(int64_t ns)
{
    int64_t until = clock_mono_ns() + ns;

    while (clock_mono_ns() < until)
        ;
}

static bool run_long(struct work_task *t)
{
    (void)t;
    busy(300 * CLOCK_MS);
    return false;
}

static void stop_hook(struct loop_defer *d)
{
    (void)d;
    loop_stop(l);
}

/* The longest lap of a turn gives the stall its name. */
static void test_a_stall_counts_for_the_work_that_took_longest(void)
{
    struct work_owner o = {.name = "GREEDY"};
    struct work_task t = {.run = run_long, .cause = WORK_BACKUP, .what = "restore"};
    struct loop_defer end = {.fn = stop_hook};
    const struct work_stalls *s = work_stalls(l);

    work_add(l, &o, &t);
    loop_turn(l);
    loop_next(l, &end);
    loop_run(l); /* the meter looks at a turn when the next wait begins */
    TEST_ASSERT_EQUAL_UINT64(1, s->turns[WORK_BACKUP]);
    TEST_ASSERT_GREATER_OR_EQUAL_INT64(300 * CLOCK_MS, s->ns[WORK_BACKUP]);
    TEST_ASSERT_GREATER_OR_EQUAL_INT64(300 * CLOCK_MS, s->longest_ns);
    TEST_ASSERT_EQUAL_STRING("snapshot and restore", work_cause_text(WORK_BACKUP));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_owners_take_turns_whatever_their_number_of_tasks);
    RUN_TEST(test_a_task_that_is_queued_is_not_queued_twice);
    RUN_TEST(test_a_cancelled_task_never_runs);
    RUN_TEST(test_work_that_can_wait_has_one_short_slice_a_turn);
    RUN_TEST(test_work_that_can_wait_comes_last_in_each_turn_and_is_not_left_out);
    RUN_TEST(test_a_slice_ends_after_the_steps_asked_for);
    RUN_TEST(test_a_slice_by_time_ends);
    RUN_TEST(test_a_task_may_free_itself);
    RUN_TEST(test_endless_work_leaves_time_for_events);
    RUN_TEST(test_hooks_of_a_slice_run_in_its_turn);
    RUN_TEST(test_a_stall_counts_for_the_work_that_took_longest);
    return UNITY_END();
}
