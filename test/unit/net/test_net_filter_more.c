/* test_net_filter_more.c: a filter that gives what it holds over several turns. */
#include "net/net.h"

#include "support/net_fixture.h"
#include "unity.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;
static unsigned freed;

void setUp(void)
{
    fixture_open(&f);
    freed = 0;
}

void tearDown(void)
{
}

static void count_free(void *state)
{
    freed++;
    free(state);
}

/* --- a filter that makes two bytes of each, three at most in a turn ----------- */

struct slow {
    uint8_t held[4096];
    size_t n, at;
    unsigned calls;
};

static int slow_decode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct slow *s = state;

    TEST_ASSERT_LESS_OR_EQUAL(sizeof s->held, s->n + n);
    if (n > 0)
        memcpy(s->held + s->n, p, n);
    s->n += n;
    s->calls++;
    for (int i = 0; i < 3 && s->at < s->n; i++, s->at++) {
        uint8_t twice[2] = {s->held[s->at], s->held[s->at]};
        net_filter_plain(c, twice, 2);
    }
    if (s->at < s->n)
        net_filter_more(c);
    return 0;
}

static int slow_encode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    (void)state;
    return net_filter_wire(c, p, n);
}

static const struct net_filter slow = {slow_decode, slow_encode, NULL, count_free};

#define HELD 1000u

static size_t bytes_in_order(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    for (size_t i = 0; i < n; i++)
        TEST_ASSERT_EQUAL_HEX8((uint8_t)((s->shown + i) / 2 * 7), p[i]);
    s->shown += n;
    if (s->state == 1 && s->shown >= 200) { /* stops in the middle once */
        s->state = 2;
        SIDE_CALL(s, net_pause(s->c));
    }
    if (s->shown == 2 * (size_t)HELD)
        net_write(s->c, "done", 4);
    return n;
}

static void set_slow(struct side *s)
{
    struct slow *state = calloc(1, sizeof *state);

    TEST_ASSERT_NOT_NULL(state);
    s->data = state;
    s->state = 1;
    SIDE_CALL(s, net_conn_set_filter(s->c, &slow, state));
}

static void resume_first(struct fixture *x)
{
    TEST_ASSERT_LESS_THAN(2 * (size_t)HELD, x->side[0].shown); /* a pause holds it back */
    SIDE_CALL(&x->side[0], net_resume(x->side[0].c));
}

static unsigned state_seen;

static void read_state(struct fixture *x)
{
    state_seen = x->side[0].state;
}

static void peer_sends_for_several_turns(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t out[HELD], in[4];

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < HELD; i++)
        out[i] = (uint8_t)(i * 7);
    PEER_CHECK(x, peer_send(fd, out, HELD - 10));
    do
        peer_call(x, read_state);
    while (state_seen != 2);
    PEER_CHECK(x, peer_send(fd, out + HELD - 10, 10)); /* waits in the socket */
    peer_call(x, resume_first);
    PEER_CHECK(x, peer_recv(fd, in, 4));
    close(fd);
}

static void test_a_filter_that_has_more_is_called_in_later_turns(void)
{
    static const struct net_handler h = {bytes_in_order, NULL, NULL, side_closed};

    f.handler = &h;
    f.accepted = set_slow;
    fixture_run(&f, peer_sends_for_several_turns);
    TEST_ASSERT_EQUAL(2 * HELD, f.side[0].shown);
    TEST_ASSERT_EQUAL(1, freed);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_filter_that_has_more_is_called_in_later_turns);
    return UNITY_END();
}
