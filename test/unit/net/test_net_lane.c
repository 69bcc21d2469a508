/* test_net_lane.c: when a turn has no time for all connections, names (accounts) take turns. */
#include "net/net_impl.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/net_fixture.h"
#include "unity.h"

static struct fixture f;

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

static void busy(int64_t ns)
{
    int64_t until = clock_mono_ns() + ns;

    while (clock_mono_ns() < until)
        ;
}

/* --- yield ------------------------------------------------------------------------------------ */

static size_t bytes_one_by_one(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)n;
    s->calls++;
    s->shown++;
    TEST_ASSERT_EQUAL_HEX8((uint8_t)s->shown, p[0]);
    SIDE_CALL(s, net_yield(s->c));
    return 1;
}

static void peer_sends_200_bytes(struct fixture *x)
{
    uint8_t b[200];
    int fd = peer_connect(x, 0);

    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (uint8_t)(i + 1);
    PEER_CHECK(x, fd >= 0 && peer_send(fd, b, sizeof b));
    peer_wait_shown(x, 0, sizeof b);
    close(fd);
}

/* No byte is lost, shown twice or left until more come. */
static void test_a_handler_that_yields_is_shown_the_rest(void)
{
    static const struct net_handler h = {bytes_one_by_one, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_sends_200_bytes);
    TEST_ASSERT_EQUAL_UINT(200, f.side[0].shown);
    TEST_ASSERT_EQUAL_UINT(200, f.side[0].calls);
    fixture_close(&f);
}

static size_t bytes_yield_and_pause(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)p;
    (void)n;
    s->shown++;
    SIDE_CALL(s, net_yield(s->c));
    SIDE_CALL(s, net_pause(s->c));
    return 1;
}

static void resume_first(struct fixture *x)
{
    net_resume(x->side[0].c);
}

static void peer_sends_and_resumes(struct fixture *x)
{
    int fd = peer_connect(x, 0);

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "abcde", 5));
    for (size_t i = 1; i <= 5; i++) {
        peer_wait_shown(x, 0, i);
        peer_call(x, resume_first);
    }
    close(fd);
}

/* A pause outlives the turn that the yield asked for. */
static void test_a_connection_that_yields_and_pauses_waits_for_both(void)
{
    static const struct net_handler h = {bytes_yield_and_pause, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_sends_and_resumes);
    TEST_ASSERT_EQUAL_UINT(5, f.side[0].shown);
    fixture_close(&f);
}

/* --- input ------------------------------------------------------------------------------------ */

#define GREEDY 40

static unsigned overtaken; /* calls of greedy connections while the modest one's byte waited */

static size_t bytes_greedy_or_modest(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg, *modest = &s->f->side[GREEDY];
    int waiting = 0;

    (void)p;
    if (s == modest) {
        s->shown += n;
        return n;
    }
    if (modest->shown == 0 && modest->closed == 0 && modest->c != NULL)
        (void)ioctl(modest->c->fd, FIONREAD, &waiting);
    overtaken += waiting > 0;
    busy(3 * CLOCK_MS); /* more than a turn */
    s->shown++;
    net_yield(s->c);
    return 1;
}

static void name_lane(struct side *s)
{
    net_conn_set_lane(s->c, s->index < GREEDY ? "GREEDY" : "MODEST");
}

static void peer_greedy_and_modest(struct fixture *x)
{
    static char block[100];
    int fd[GREEDY + 1];

    for (int i = 0; i <= GREEDY; i++) {
        fd[i] = peer_connect(x, 0);
        PEER_CHECK(x, fd[i] >= 0);
    }
    peer_wait_accepted(x, GREEDY + 1);
    for (int i = 0; i < GREEDY; i++)
        PEER_CHECK(x, peer_send(fd[i], block, sizeof block));
    peer_wait_shown(x, 0, 1);
    PEER_CHECK(x, peer_send(fd[GREEDY], "x", 1));
    peer_wait_shown(x, GREEDY, 1);
    for (int i = 0; i <= GREEDY; i++)
        close(fd[i]);
}

/* The modest account's byte waits for a slice or two, not for forty connections. */
static void test_input_of_one_account_does_not_wait_for_all_of_another(void)
{
    static const struct net_handler h = {bytes_greedy_or_modest, NULL, NULL, side_closed};

    overtaken = 0;
    f.handler = &h;
    f.accepted = name_lane;
    fixture_run(&f, peer_greedy_and_modest);
    TEST_ASSERT_LESS_OR_EQUAL_UINT(4, overtaken);
    fixture_close(&f);
}

/* --- output ----------------------------------------------------------------------------------- */

#define MANY 300

static unsigned laned;

static void count_laned(struct loop_defer *d)
{
    (void)d;
    for (int i = 0; i < MANY; i++)
        laned += (f.side[i].c->flags & CONN_LANED) != 0;
}

static struct loop_defer counting = {.fn = count_laned};

/* The turn is over before the first byte could leave. */
static void write_to_all_late(struct fixture *x)
{
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL(0, net_write(x->side[i].c, "y", 1));
    busy(5 * CLOCK_MS);
    loop_defer(x->loop, &counting); /* behind the hook that writes */
    for (int i = 0; i < 10; i++)
        net_close(x->side[MANY - 1 - i].c, 1000);
}

static void peer_hears_in_crowds(struct fixture *x)
{
    static int fd[MANY];
    char ch;

    for (int i = 0; i < MANY; i++) {
        fd[i] = peer_connect(x, 0);
        PEER_CHECK(x, fd[i] >= 0);
    }
    peer_wait_accepted(x, MANY);
    peer_call(x, write_to_all_late);
    for (int i = 0; i < MANY; i++)
        PEER_CHECK(x, peer_recv(fd[i], &ch, 1) && ch == 'y');
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
}

static void test_output_that_does_not_fit_into_the_turn_leaves_later(void)
{
    laned = 0;
    f.accepted = NULL;
    fixture_run(&f, peer_hears_in_crowds);
    TEST_ASSERT_GREATER_THAN_UINT(MANY / 2, laned);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_handler_that_yields_is_shown_the_rest);
    RUN_TEST(test_a_connection_that_yields_and_pauses_waits_for_both);
    RUN_TEST(test_input_of_one_account_does_not_wait_for_all_of_another);
    RUN_TEST(test_output_that_does_not_fit_into_the_turn_leaves_later);
    return UNITY_END();
}
