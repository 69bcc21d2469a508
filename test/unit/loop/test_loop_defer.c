/* test_loop_defer.c: hooks at the end of the event loop's turns. */
#include "loop/loop.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "unity.h"

static struct loop *l;
static int calls;
static char order[16];

void setUp(void)
{
    struct mf_error e = {.text = ""};

    alarm(300); /* a loop that waits for nothing ends the test, and fails it */
    calls = 0;
    TEST_ASSERT_EQUAL_MESSAGE(0, loop_new(&l, &e), e.text);
}

void tearDown(void)
{
    loop_free(l);
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop(l);
}

static void count(void *arg)
{
    (void)arg;
    calls++;
}

struct hook {
    struct loop_defer d;
    char name;
    int again;
    struct loop_defer *also, *cancel;
};

static void run_hook(struct loop_defer *d)
{
    struct hook *h = mf_container(d, struct hook, d);

    TEST_ASSERT_FALSE(d->queued);
    order[calls++] = h->name;
    if (h->again-- > 0)
        loop_defer(l, d);
    if (h->also != NULL)
        loop_defer(l, h->also);
    if (h->cancel != NULL)
        loop_defer_cancel(l, h->cancel);
}

static struct hook make_hook(char name)
{
    return (struct hook){.d.fn = run_hook, .name = name};
}

static void check_order(const char *expect)
{
    order[calls] = '\0';
    TEST_ASSERT_EQUAL_STRING(expect, order);
}

static void run_one_turn(void)
{
    TEST_ASSERT_EQUAL(0, loop_post(l, stop, NULL));
    loop_run(l);
}

static void test_hooks_run_once_and_in_order(void)
{
    struct hook a = make_hook('a'), b = make_hook('b'), c = make_hook('c');

    loop_defer(l, &b.d);
    loop_defer(l, &a.d);
    loop_defer(l, &b.d);
    loop_defer(l, &c.d);
    TEST_ASSERT_EQUAL(0, calls); /* never from inside the call */
    run_one_turn();
    check_order("bac");
    run_one_turn();
    check_order("bac");
}

static void test_hooks_added_by_hooks_run_in_the_same_round(void)
{
    struct hook a = make_hook('a'), b = make_hook('b'), c = make_hook('c');

    a.again = 2;
    a.also = &c.d;
    loop_defer(l, &a.d);
    loop_defer(l, &b.d);
    run_one_turn();
    check_order("abacac");
}

static void test_cancelled_hooks_do_not_run(void)
{
    struct hook a = make_hook('a'), b = make_hook('b'), c = make_hook('c'), d = make_hook('d');

    loop_defer(l, &a.d);
    loop_defer_cancel(l, &a.d); /* the only one */
    loop_defer(l, &a.d);
    loop_defer(l, &b.d);
    loop_defer(l, &c.d);
    loop_defer(l, &d.d);
    loop_defer_cancel(l, &a.d); /* the first */
    loop_defer_cancel(l, &c.d); /* in between */
    loop_defer_cancel(l, &d.d); /* the last */
    loop_defer_cancel(l, &d.d); /* not queued */
    loop_defer(l, &a.d);
    run_one_turn();
    check_order("ba");
}

static void test_hook_may_cancel_the_one_behind_it(void)
{
    struct hook a = make_hook('a'), b = make_hook('b'), c = make_hook('c');

    a.cancel = &b.d;
    loop_defer(l, &a.d);
    loop_defer(l, &b.d);
    loop_defer(l, &c.d);
    run_one_turn();
    check_order("ac");
}

static void free_hook(struct loop_defer *d)
{
    calls++;
    free(mf_container(d, struct hook, d));
}

static void test_hook_may_free_its_node(void)
{
    struct hook *h = malloc(sizeof *h);

    TEST_ASSERT_NOT_NULL(h);
    *h = (struct hook){.d.fn = free_hook};
    loop_defer(l, &h->d);
    run_one_turn();
    TEST_ASSERT_EQUAL(1, calls);
}

static void stop_hook(struct loop_defer *d)
{
    (void)d;
    calls++;
    loop_stop(l);
}

static struct loop_defer stopper = {.fn = stop_hook};

static void defer_stopper(void *arg)
{
    (void)arg;
    loop_defer(l, &stopper);
}

static void on_check_phase(uv_check_t *h)
{
    (void)h;
    loop_defer(l, &stopper);
}

static void on_prepare_phase(uv_prepare_t *h)
{
    uv_prepare_stop(h);
    loop_defer(l, &stopper);
}

static void on_close_phase(uv_handle_t *h)
{
    (void)h;
    loop_defer(l, &stopper);
}

/* Any part of a turn may queue the hook, and nothing else wakes the loop: if it waited with the
 * hook in its queue, it would wait until the alarm. */
static void test_loop_does_not_wait_while_a_hook_is_queued(void)
{
    struct loop_timer *t = loop_timer_new(l, defer_stopper, NULL);
    uv_check_t check;
    uv_prepare_t prepare;
    uv_idle_t idle;

    loop_timer_arm(t, clock_mono_ns() + CLOCK_MS);
    loop_run(l);
    TEST_ASSERT_EQUAL(1, calls);
    loop_timer_free(t);

    TEST_ASSERT_EQUAL(0, loop_post(l, defer_stopper, NULL));
    loop_run(l);
    TEST_ASSERT_EQUAL(2, calls);

    uv_prepare_init(loop_uv(l), &prepare);
    uv_prepare_start(&prepare, on_prepare_phase);
    loop_run(l);
    TEST_ASSERT_EQUAL(3, calls);

    uv_idle_init(loop_uv(l), &idle);
    uv_close((uv_handle_t *)&idle, on_close_phase);
    loop_run(l);
    TEST_ASSERT_EQUAL(4, calls);

    uv_check_init(loop_uv(l), &check);
    uv_check_start(&check, on_check_phase);
    TEST_ASSERT_EQUAL(0, loop_post(l, count, NULL));
    loop_run(l);
    TEST_ASSERT_EQUAL(6, calls);
    uv_close((uv_handle_t *)&check, NULL);
    uv_close((uv_handle_t *)&prepare, NULL);
    run_one_turn(); /* the handles are on this function's stack */
    loop_defer_cancel(l, &stopper);
}

static void requeue_forever(struct loop_defer *d)
{
    calls++;
    loop_defer(l, d);
}

/* The hook is always there again, so the loop never waits; but it must look at its events. */
static void test_hook_that_always_adds_itself_does_not_starve_events(void)
{
    struct loop_defer d = {.fn = requeue_forever};

    loop_defer(l, &d);
    run_one_turn();
    TEST_ASSERT_TRUE(calls < 1000);
    TEST_ASSERT_TRUE(d.queued);
    loop_defer_cancel(l, &d);
}

static void requeue_then_stop(struct loop_defer *d)
{
    if (++calls < 1000)
        loop_defer(l, d);
    else
        loop_stop(l);
}

/* More generations than a round has, and no event that would wake the loop in between. */
static void test_hooks_left_over_from_a_round_keep_the_loop_from_waiting(void)
{
    struct loop_defer d = {.fn = requeue_then_stop};

    loop_defer(l, &d);
    loop_run(l);
    TEST_ASSERT_EQUAL(1000, calls);
}

static void next_then_stop(struct loop_defer *d)
{
    if (++calls < 100)
        loop_next(l, d);
    else
        loop_stop(l);
}

/* Work in slices: each waits for a look at the events, and the loop does not wait for any. */
static void test_work_goes_on_once_a_turn_without_waiting(void)
{
    struct loop_defer d = {.fn = next_then_stop};

    loop_next(l, &d);
    run_one_turn();
    TEST_ASSERT_EQUAL(1, calls);
    TEST_ASSERT_TRUE(d.queued);
    loop_run(l);
    TEST_ASSERT_EQUAL(100, calls);
    loop_next(l, &d);
    loop_defer_cancel(l, &d);
    run_one_turn();
    TEST_ASSERT_EQUAL(100, calls);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a failure inside a callback may end the process */
    UNITY_BEGIN();
    RUN_TEST(test_hooks_run_once_and_in_order);
    RUN_TEST(test_hooks_added_by_hooks_run_in_the_same_round);
    RUN_TEST(test_cancelled_hooks_do_not_run);
    RUN_TEST(test_hook_may_cancel_the_one_behind_it);
    RUN_TEST(test_hook_may_free_its_node);
    RUN_TEST(test_loop_does_not_wait_while_a_hook_is_queued);
    RUN_TEST(test_hook_that_always_adds_itself_does_not_starve_events);
    RUN_TEST(test_hooks_left_over_from_a_round_keep_the_loop_from_waiting);
    RUN_TEST(test_work_goes_on_once_a_turn_without_waiting);
    return UNITY_END();
}
