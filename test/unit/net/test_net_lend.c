/* test_net_lend.c: payloads for many receivers leave from the buffer they came in, whole and in
 * order, also where sockets take a part only, and nothing is left behind when bytes() returns. */
#include "net/net.h"

#include "net/net_impl.h"
#include "support/net_fixture.h"
#include "unity.h"

#include <sys/socket.h>
#include <unistd.h>

#define RECORD    700u
#define RECORDS   600u
#define RECEIVERS 24u

static struct fixture f;
static size_t lent, closed_at;
static unsigned kept; /* connections with something lent when bytes() was called again */

void setUp(void)
{
    fixture_open(&f);
    lent = kept = 0;
    closed_at = SIZE_MAX;
}

void tearDown(void)
{
}

static void fill(uint8_t *record, size_t i)
{
    for (size_t k = 0; k < RECORD; k++)
        record[k] = (uint8_t)(i * 7 + k * 31 + k / 256);
}

static void give(struct side *to, const uint8_t *record)
{
    if (to->closed || net_closing(to->c))
        return;
    bool may = net_may_lend(to->c, record, RECORD);
    SIDE_CALL(to, (void)net_write(to->c, "[", 1));
    SIDE_CALL(to, (void)(may ? net_lend(to->c, record, RECORD) : net_write(to->c, record, RECORD)));
    lent += to->c->lent != NULL;
    SIDE_CALL(to, (void)net_write(to->c, "]", 1));
}

/* The first connection's records go to all others. */
static size_t fan_out(void *arg, const uint8_t *p, size_t n)
{
    struct side *from = arg;
    size_t done = 0;

    for (size_t i = 1; i < from->f->sides; i++)
        kept += !from->f->side[i].closed && from->f->side[i].c->lent != NULL;
    for (; n - done >= RECORD; done += RECORD, from->shown += RECORD) {
        for (size_t i = 1; i < from->f->sides; i++)
            give(&from->f->side[i], p + done);
        if (from->shown / RECORD == closed_at)
            SIDE_CALL(from, net_close(from->f->side[RECEIVERS].c, 0));
    }
    return done;
}
static const struct net_handler fan = {fan_out, side_drained, NULL, side_closed};

static void tiny_send_buffer(struct side *s)
{
    int size = 1;

    if (s->index % 2 == 1)
        TEST_ASSERT_EQUAL(0, setsockopt(s->c->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
}

static bool receive(int fd, size_t records)
{
    uint8_t got[RECORD + 2], want[RECORD + 2];

    want[0] = '[';
    want[RECORD + 1] = ']';
    for (size_t i = 0; i < records; i++) {
        fill(want + 1, i);
        if (!peer_recv(fd, got, sizeof got) || memcmp(got, want, sizeof got) != 0)
            return false;
    }
    return true;
}

static void peer_fans(struct fixture *x)
{
    static uint8_t all[RECORD * RECORDS];
    int from = peer_connect(x, 0), to[RECEIVERS];

    PEER_CHECK(x, from >= 0);
    peer_wait_accepted(x, 1);
    for (size_t i = 0; i < RECEIVERS; i++) {
        to[i] = peer_connect(x, i % 2 == 1 ? 4096 : 0);
        PEER_CHECK(x, to[i] >= 0);
        peer_wait_accepted(x, 2 + i);
    }
    for (size_t i = 0; i < RECORDS; i++)
        fill(all + i * RECORD, i);
    PEER_CHECK(x, peer_send(from, all, sizeof all));
    for (size_t i = 0; i < RECEIVERS; i++) {
        if (closed_at != SIZE_MAX && i == RECEIVERS - 1)
            PEER_CHECK(x, receive(to[i], closed_at + 1) && peer_recv_all(to[i]) == 0);
        else
            PEER_CHECK(x, receive(to[i], RECORDS));
        close(to[i]);
    }
    close(from);
}

static void test_every_receiver_gets_all_of_it_also_through_tiny_buffers(void)
{
    f.handler = &fan;
    f.accepted = tiny_send_buffer;
    fixture_run(&f, peer_fans);
    TEST_ASSERT_GREATER_THAN(RECORDS, lent);
    TEST_ASSERT_EQUAL(0, kept);
    fixture_close(&f);
}

static void test_a_receiver_closed_in_the_middle_keeps_what_was_lent_before(void)
{
    f.handler = &fan;
    closed_at = 5; /* all of it fits in a socket */
    fixture_run(&f, peer_fans);
    TEST_ASSERT_GREATER_THAN(RECORDS, lent);
    TEST_ASSERT_EQUAL(0, kept);
    fixture_close(&f);
}

static void peer_asks_once(struct fixture *x)
{
    uint8_t record[RECORD];
    int fd = peer_connect(x, 0);

    fill(record, 0);
    PEER_CHECK(x, fd >= 0 && peer_send(fd, record, sizeof record));
    PEER_CHECK(x, peer_recv(fd, record, 1) && record[0] == '.');
    close(fd);
}

static size_t never_pays(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;
    static uint8_t elsewhere[RECORD];

    if (n < RECORD)
        return 0;
    for (unsigned i = 0; i < 8; i++)
        TEST_ASSERT_FALSE(net_may_lend(s->c, p, RECORD));
    TEST_ASSERT_TRUE(net_may_lend(s->c, p, RECORD));
    TEST_ASSERT_FALSE(net_may_lend(s->c, p, 511));
    for (unsigned i = 0; i < 20; i++)
        TEST_ASSERT_FALSE(net_may_lend(s->c, elsewhere, RECORD));
    for (unsigned i = 0; i < 20; i++)
        TEST_ASSERT_FALSE(net_may_lend(s->c, p + 1, n)); /* one more than is shown */
    SIDE_CALL(s, (void)net_write(s->c, ".", 1));
    return n;
}
static const struct net_handler asks = {never_pays, side_drained, NULL, side_closed};

static void test_only_what_is_shown_and_goes_to_many_is_lent(void)
{
    f.handler = &asks;
    fixture_run(&f, peer_asks_once);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_receiver_gets_all_of_it_also_through_tiny_buffers);
    RUN_TEST(test_a_receiver_closed_in_the_middle_keeps_what_was_lent_before);
    RUN_TEST(test_only_what_is_shown_and_goes_to_many_is_lent);
    return UNITY_END();
}
