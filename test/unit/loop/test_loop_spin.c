/* test_loop_spin.c: the loop looks for events a little longer where they have come soon, and finds
 * those of other threads and its timers as ever.  Run it under the thread sanitizer too. */
#include "loop/loop.h"

#include "loop/loop_impl.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "unity.h"

#define ROUNDS 200

static struct loop *l;
static atomic_int asked, answered;

void setUp(void)
{
    alarm(300);
    asked = answered = 0;
    TEST_ASSERT_EQUAL(0, loop_new(&l, NULL));
}

void tearDown(void)
{
    loop_free(l);
}

static void answer(void *arg)
{
    (void)arg;
    if (++answered == ROUNDS)
        loop_stop(l);
}

/* Asks when the last question was answered: each finds a loop that waits, or is about to. */
static void *ask(void *arg)
{
    for (asked = 0; asked < ROUNDS; asked++) {
        if (loop_post(l, answer, NULL) != 0)
            return arg;
        while (answered <= asked)
            usleep(1);
    }
    return NULL;
}

static void dialog(int64_t max_ns)
{
    pthread_t peer;
    void *failed;

    loop_spin(l, 1);
    l->spin.max_ns = max_ns; /* also on a machine with one core */
    TEST_ASSERT_EQUAL(0, pthread_create(&peer, NULL, ask, &asked));
    loop_run(l);
    pthread_join(peer, &failed);
    TEST_ASSERT_NULL(failed);
    TEST_ASSERT_EQUAL(ROUNDS, answered);
}

static void test_events_that_come_soon_are_looked_for(void)
{
    dialog(100 * CLOCK_S); /* a look that missed the event would last that long */
    TEST_ASSERT_GREATER_THAN(16, l->spin.trust);
}

static void test_events_that_come_late_are_slept_for(void)
{
    l->spin.trust = 32;
    dialog(1);
    TEST_ASSERT_EQUAL(0, l->spin.trust);
}

static int64_t due_ns;

static void fired(void *arg)
{
    (void)arg;
    TEST_ASSERT_TRUE(loop_mono_ns(l) >= due_ns);
    loop_stop(l);
}

static void test_a_timer_ends_the_look(void)
{
    struct loop_timer *t = loop_timer_new(l, fired, NULL);

    TEST_ASSERT_NOT_NULL(t);
    l->spin.max_ns = 100 * CLOCK_S;
    l->spin.trust = 32;
    due_ns = clock_mono_ns() + 20 * CLOCK_MS;
    loop_timer_arm(t, due_ns);
    loop_run(l);
    loop_timer_free(t);
}

static void test_off_it_learns_nothing(void)
{
    dialog(0);
    TEST_ASSERT_EQUAL(0, l->spin.trust);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_events_that_come_soon_are_looked_for);
    RUN_TEST(test_events_that_come_late_are_slept_for);
    RUN_TEST(test_a_timer_ends_the_look);
    RUN_TEST(test_off_it_learns_nothing);
    return UNITY_END();
}
