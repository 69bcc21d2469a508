/* test_loop.c: timers, clocks, signals and the end of the event loop. */
#include "loop/loop.h"

#include "base/clock.h"
#include "base/rand.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "unity.h"

static struct loop *l;
static int calls;

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

static void burn_ms(int64_t ms)
{
    int64_t until = clock_mono_ns() + ms * CLOCK_MS;

    while (clock_mono_ns() < until)
        continue;
}

/* Runs the loop until the given time. */
static void run_until(int64_t at_ns)
{
    struct loop_timer *end = loop_timer_new(l, stop, NULL);

    TEST_ASSERT_NOT_NULL(end);
    loop_timer_arm(end, at_ns);
    loop_run(l);
    loop_timer_free(end);
}

static void run_one_turn(void)
{
    TEST_ASSERT_EQUAL(0, loop_post(l, stop, NULL));
    loop_run(l);
}

/* --- timers --- */

enum { TIMERS = 300 };

struct probe {
    struct loop_timer *timer;
    int64_t at_ns;
    int rounds;
};

static struct probe probes[TIMERS];
static int running;

static void probe_fire(void *arg)
{
    struct probe *p = arg;

    TEST_ASSERT_TRUE(loop_mono_ns(l) >= p->at_ns);
    TEST_ASSERT_TRUE(clock_mono_ns() >= p->at_ns);
    if (p->rounds-- > 0) {
        p->at_ns = clock_mono_ns() + rand_below(5 * CLOCK_MS);
        loop_timer_arm(p->timer, p->at_ns);
    } else if (--running == 0) {
        loop_stop(l);
    }
}

static void test_timers_are_never_early(void)
{
    running = TIMERS;
    for (int i = 0; i < TIMERS; i++) {
        struct probe *p = &probes[i];
        p->timer = loop_timer_new(l, probe_fire, p);
        TEST_ASSERT_NOT_NULL(p->timer);
        p->rounds = 20;
        p->at_ns = clock_mono_ns() + rand_below(20 * CLOCK_MS);
        loop_timer_arm(p->timer, p->at_ns);
    }
    loop_run(l);
    for (int i = 0; i < TIMERS; i++)
        loop_timer_free(probes[i].timer);
    TEST_ASSERT_EQUAL(0, running);
}

static void arm_after_work(void *arg)
{
    struct probe *p = arg;

    burn_ms(30);
    p->at_ns = clock_mono_ns() + 10 * CLOCK_MS;
    loop_timer_arm(p->timer, p->at_ns);
}

/* libuv counts from the beginning of its turn: after 30 ms of work, "in 10 ms" is long past there.
 */
static void test_timer_armed_late_in_a_turn_is_not_early(void)
{
    struct probe p = {.rounds = 0};

    running = 1;
    p.timer = loop_timer_new(l, probe_fire, &p);
    TEST_ASSERT_EQUAL(0, loop_post(l, arm_after_work, &p));
    loop_run(l);
    loop_timer_free(p.timer);
    TEST_ASSERT_EQUAL(0, running);
}

/* Late by scheduling only: a bound that a wrong unit never meets, and a busy machine does, sooner
 * or later. */
static void test_timer_is_not_late_by_much(void)
{
    int64_t late = INT64_MAX;

    for (int i = 0; i < 10 && late >= 2 * CLOCK_S; i++) {
        int64_t at = clock_mono_ns() + 20 * CLOCK_MS;
        run_until(at);
        late = clock_mono_ns() - at;
    }
    TEST_ASSERT_TRUE(late < 2 * CLOCK_S);
}

static void test_arming_again_replaces(void)
{
    struct loop_timer *t = loop_timer_new(l, count, NULL);
    int64_t now = clock_mono_ns();

    loop_timer_arm(t, now + 3600 * CLOCK_S);
    loop_timer_arm(t, now + 2 * CLOCK_MS);
    loop_timer_arm(t, now + 3 * CLOCK_MS);
    run_until(now + 10 * CLOCK_MS);
    TEST_ASSERT_EQUAL(1, calls);
    loop_timer_arm(t, now + 12 * CLOCK_MS);
    loop_timer_arm(t, INT64_MAX);
    run_until(now + 20 * CLOCK_MS);
    TEST_ASSERT_EQUAL(1, calls);
    loop_timer_free(t);
}

static void test_stopped_or_freed_timer_does_not_fire(void)
{
    struct loop_timer *stopped = loop_timer_new(l, count, NULL);
    struct loop_timer *freed = loop_timer_new(l, count, NULL);
    struct loop_timer *unarmed = loop_timer_new(l, count, NULL);
    int64_t now = clock_mono_ns();

    loop_timer_arm(stopped, now);
    loop_timer_arm(freed, now);
    loop_timer_stop(stopped);
    loop_timer_stop(stopped);
    loop_timer_stop(unarmed);
    loop_timer_stop(NULL); /* an orderly stop without memory for its timer comes here */
    loop_timer_free(freed);
    loop_timer_free(NULL);
    run_until(now + 5 * CLOCK_MS);
    TEST_ASSERT_EQUAL(0, calls);
    loop_timer_free(stopped);
    loop_timer_free(unarmed);
}

static struct loop_timer *self;

static void stop_own_timer(void *arg)
{
    (void)arg;
    calls++;
    loop_timer_arm(self, clock_mono_ns());
    loop_timer_stop(self);
}

static void test_timer_may_stop_itself(void)
{
    self = loop_timer_new(l, stop_own_timer, NULL);
    loop_timer_arm(self, 0);
    run_until(clock_mono_ns() + 5 * CLOCK_MS);
    TEST_ASSERT_EQUAL(1, calls);
    loop_timer_free(self);
}

static void free_own_timer(void *arg)
{
    (void)arg;
    calls++;
    loop_timer_arm(self, clock_mono_ns());
    loop_timer_free(self);
}

static void test_timer_may_free_itself(void)
{
    self = loop_timer_new(l, free_own_timer, NULL);
    loop_timer_arm(self, -1);
    run_until(clock_mono_ns() + 5 * CLOCK_MS);
    TEST_ASSERT_EQUAL(1, calls);
}

static struct loop_timer *pair[2];

static void free_both(void *arg)
{
    (void)arg;
    calls++;
    loop_timer_free(pair[0]);
    loop_timer_free(pair[1]);
}

/* Both are due in the same turn; the first to fire takes the other with it. */
static void test_timer_freed_by_another_in_the_same_turn_does_not_fire(void)
{
    for (int i = 0; i < 2; i++) {
        pair[i] = loop_timer_new(l, free_both, NULL);
        loop_timer_arm(pair[i], 0);
    }
    run_until(clock_mono_ns() + 5 * CLOCK_MS);
    TEST_ASSERT_EQUAL(1, calls);
}

static void rearm_for_now(void *arg)
{
    (void)arg;
    calls++;
    loop_timer_arm(self, 0);
}

/* "A thousand expired messages a turn, then again at once" must leave the sockets their turn. */
static void test_timer_that_is_always_due_does_not_starve_events(void)
{
    self = loop_timer_new(l, rearm_for_now, NULL);
    loop_timer_arm(self, 0);
    TEST_ASSERT_EQUAL(0, loop_post(l, stop, NULL));
    loop_run(l);
    loop_timer_free(self);
    TEST_ASSERT_TRUE(calls < 1000);
}

static char order[16];
static void note_a(void *arg)
{
    (void)arg;
    order[calls++] = 'a';
}
static void note_b(void *arg)
{
    (void)arg;
    order[calls++] = 'b';
}

static void test_timers_fire_in_the_order_of_their_times(void)
{
    struct loop_timer *a = loop_timer_new(l, note_a, NULL), *b = loop_timer_new(l, note_b, NULL);
    int64_t now = clock_mono_ns();

    loop_timer_arm(b, now + 6 * CLOCK_MS);
    loop_timer_arm(a, now + 3 * CLOCK_MS);
    run_until(now + 10 * CLOCK_MS);
    TEST_ASSERT_EQUAL(2, calls);
    TEST_ASSERT_EQUAL_STRING_LEN("ab", order, 2);
    loop_timer_free(a);
    loop_timer_free(b);
}

/* --- clocks --- */

struct turns {
    int left;
    int64_t seen_ns;
};

static void check_time(void *arg)
{
    struct turns *t = arg;
    int64_t mono = loop_mono_ns(l), wall = loop_wall_ns(l);

    burn_ms(2);
    TEST_ASSERT_EQUAL_INT64(mono, loop_mono_ns(l));
    TEST_ASSERT_EQUAL_INT64(wall, loop_wall_ns(l));
    TEST_ASSERT_TRUE(mono >= t->seen_ns + 2 * CLOCK_MS);
    t->seen_ns = mono;
    if (--t->left > 0)
        TEST_ASSERT_EQUAL(0, loop_post(l, check_time, t)); /* the next turn */
    else
        loop_stop(l);
}

static void test_time_stands_still_within_a_turn_and_advances_between(void)
{
    struct turns t = {.left = 3, .seen_ns = clock_mono_ns() - 2 * CLOCK_MS};

    TEST_ASSERT_EQUAL(0, loop_post(l, check_time, &t));
    loop_run(l);
    TEST_ASSERT_EQUAL(0, t.left);
}

static void test_time_is_read_anew_outside_the_loop(void)
{
    int64_t before = loop_mono_ns(l), wall = clock_wall_ns();

    burn_ms(1);
    TEST_ASSERT_TRUE(loop_mono_ns(l) >= before + CLOCK_MS);
    TEST_ASSERT_INT64_WITHIN(60 * CLOCK_S, wall, loop_wall_ns(l));
}

/* --- signals --- */

static void on_signal(void *arg, int signum)
{
    *(int *)arg = signum;
    loop_stop(l);
}

static void test_signal_is_a_call_on_the_loop(void)
{
    int got = 0;
    struct loop_signal *s = loop_signal_new(l, SIGUSR1, on_signal, &got);

    TEST_ASSERT_NOT_NULL(s);
    raise(SIGUSR1);
    TEST_ASSERT_EQUAL(0, got);
    loop_run(l);
    TEST_ASSERT_EQUAL(SIGUSR1, got);
    loop_signal_free(s);
    loop_signal_free(NULL);
}

static void test_signal_that_cannot_be_caught_is_refused(void)
{
    TEST_ASSERT_NULL(loop_signal_new(l, SIGKILL, on_signal, NULL));
}

static void test_writing_to_a_peer_that_left_is_an_error_and_not_the_end(void)
{
    int ends[2];

    loop_ignore_signals();
    TEST_ASSERT_EQUAL(0, pipe(ends));
    close(ends[0]);
    TEST_ASSERT_EQUAL(-1, write(ends[1], "x", 1));
    TEST_ASSERT_EQUAL(EPIPE, errno);
    close(ends[1]);
}

static void test_writing_beyond_the_limit_of_a_file_is_an_error_and_not_the_end(void)
{
    struct rlimit before, small;
    FILE *f = tmpfile();

    loop_ignore_signals();
    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_FSIZE, &before));
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &small));
    ssize_t put = pwrite(fileno(f), "x", 1, 4096);
    int error = errno;
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_FSIZE, &before));
    TEST_ASSERT_EQUAL(-1, put);
    TEST_ASSERT_EQUAL(EFBIG, error);
    fclose(f);
}

/* --- the end --- */

static void count_hook(struct loop_defer *d)
{
    (void)d;
    calls++;
}

static int posts;

static void post_again(void *arg)
{
    (void)arg;
    if (++posts < 5)
        TEST_ASSERT_EQUAL(0, loop_post(l, post_again, NULL));
}

/* The leak checker is the judge of what tearDown leaves. */
static void test_end_of_the_loop_frees_what_its_users_forgot(void)
{
    uv_timer_t *foreign = malloc(sizeof *foreign);
    static int got;
    struct loop_defer h = {.fn = count_hook};
    struct loop_timer *t = loop_timer_new(l, count, NULL);

    TEST_ASSERT_NOT_NULL(t);
    loop_timer_arm(t, clock_mono_ns() + 3600 * CLOCK_S);
    TEST_ASSERT_NOT_NULL(loop_timer_new(l, count, NULL));
    TEST_ASSERT_NOT_NULL(loop_signal_new(l, SIGUSR2, on_signal, &got));
    TEST_ASSERT_NOT_NULL(foreign);
    uv_timer_init(loop_uv(l), foreign);
    TEST_ASSERT_EQUAL(0, loop_post(l, post_again, NULL));
    loop_defer(l, &h);
    posts = 0;
    loop_free(l);
    l = NULL; /* which tearDown may free again */
    free(foreign);
    /* Posted calls and hooks ran: their arguments may own something. */
    TEST_ASSERT_EQUAL(5, posts);
    TEST_ASSERT_EQUAL(1, calls);
}

static void test_loop_may_run_again_after_a_stop(void)
{
    loop_stop(l); /* before the run: it is over at once */
    loop_run(l);
    for (int i = 0; i < 3; i++)
        run_one_turn();
    TEST_ASSERT_EQUAL(0, loop_post(l, count, NULL));
    run_one_turn();
    TEST_ASSERT_EQUAL(1, calls);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a failure inside a callback may end the process */
    UNITY_BEGIN();
    RUN_TEST(test_timers_are_never_early);
    RUN_TEST(test_timer_armed_late_in_a_turn_is_not_early);
    RUN_TEST(test_timer_is_not_late_by_much);
    RUN_TEST(test_arming_again_replaces);
    RUN_TEST(test_stopped_or_freed_timer_does_not_fire);
    RUN_TEST(test_timer_may_stop_itself);
    RUN_TEST(test_timer_may_free_itself);
    RUN_TEST(test_timer_freed_by_another_in_the_same_turn_does_not_fire);
    RUN_TEST(test_timer_that_is_always_due_does_not_starve_events);
    RUN_TEST(test_timers_fire_in_the_order_of_their_times);
    RUN_TEST(test_time_stands_still_within_a_turn_and_advances_between);
    RUN_TEST(test_time_is_read_anew_outside_the_loop);
    RUN_TEST(test_signal_is_a_call_on_the_loop);
    RUN_TEST(test_signal_that_cannot_be_caught_is_refused);
    RUN_TEST(test_writing_to_a_peer_that_left_is_an_error_and_not_the_end);
    RUN_TEST(test_writing_beyond_the_limit_of_a_file_is_an_error_and_not_the_end);
    RUN_TEST(test_end_of_the_loop_frees_what_its_users_forgot);
    RUN_TEST(test_loop_may_run_again_after_a_stop);
    return UNITY_END();
}
