/* test_net.c: bytes in and out, the handler that sees them, and handlers that are replaced. */
#include "net/net.h"

#include "support/net_fixture.h"
#include "unity.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

/* --- listeners -------------------------------------------------------------------------------- */

static void test_listen_tells_where_it_is_bound(void)
{
    struct net_listener *l = NULL;
    struct mf_error e;

    TEST_ASSERT_EQUAL_STRING("127.0.0.1", net_listener_host(f.listener));
    TEST_ASSERT_GREATER_THAN(0, f.port);
    TEST_ASSERT_EQUAL(0, net_listen(&l, f.loop, "", -1, NULL, NULL, &e));
    TEST_ASSERT_EQUAL_STRING("0.0.0.0", net_listener_host(l));
    TEST_ASSERT_GREATER_THAN(0, net_listener_port(l));
    net_listener_close(l);
    net_listener_close(NULL);
    fixture_close(&f);
}

static void test_listen_on_a_taken_port_or_bad_host_fails_with_a_story(void)
{
    struct net_listener *l = NULL;
    char address[NET_ADDRESS];
    struct mf_error e;

    TEST_ASSERT_EQUAL(MF_EXISTS, net_listen(&l, f.loop, "127.0.0.1", f.port, NULL, NULL, &e));
    TEST_ASSERT_EQUAL(MF_EXISTS, net_listen_probe("127.0.0.1", f.port, address, &e));
    TEST_ASSERT_EQUAL(0, net_listen_probe("localhost", 0, address, &e));
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", address);
    TEST_ASSERT_NOT_NULL(strstr(e.text, "listen tcp 127.0.0.1:"));
    TEST_ASSERT_NOT_NULL(strstr(e.text, ": bind: address already in use"));
    TEST_ASSERT_EQUAL(MF_INVAL, net_listen(&l, f.loop, "256.1.1.1", 0, NULL, NULL, &e));
    TEST_ASSERT_EQUAL(MF_INVAL, net_listen(&l, f.loop, "256.1.1.1", 0, NULL, NULL, NULL));
    TEST_ASSERT_NULL(l);
    fixture_close(&f);
}

static void peer_looks_at_addresses(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char ch;

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "x", 1) && peer_recv(fd, &ch, 1));
    close(fd);
}

static void check_addresses(struct side *s)
{
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", net_conn_ip(s->c));
    TEST_ASSERT_GREATER_THAN(0, net_conn_port(s->c));
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", net_conn_local_ip(s->c));
    TEST_ASSERT_EQUAL(f.port, net_conn_local_port(s->c));
}

static void test_connection_knows_both_addresses(void)
{
    f.accepted = check_addresses;
    fixture_run(&f, peer_looks_at_addresses);
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    fixture_close(&f);
}

/* --- echo of random sizes --------------------------------------------------------------------- */

#define ECHO_BYTES (6u << 20)

/* Sends and receives at the same time, in pieces of random sizes. */
static void peer_echoes(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    static uint8_t out[ECHO_BYTES], in[ECHO_BYTES];
    size_t sent = 0, got = 0;
    unsigned seed = 7;

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < ECHO_BYTES; i++)
        out[i] = (uint8_t)(rand_r(&seed) >> 7);
    while (got < ECHO_BYTES) {
        struct pollfd p = {fd, (short)(POLLIN | (sent < ECHO_BYTES ? POLLOUT : 0)), 0};
        PEER_CHECK(x, poll(&p, 1, PEER_LIMIT_S * 1000) == 1);
        if (p.revents & POLLOUT) {
            size_t n = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 8 == 0 ? 200000 : 300);
            n = n < ECHO_BYTES - sent ? n : ECHO_BYTES - sent;
            ssize_t k = send(fd, out + sent, n, MSG_DONTWAIT);
            sent += k > 0 ? (size_t)k : 0;
        }
        if (p.revents & POLLIN) {
            ssize_t k = recv(fd, in + got, ECHO_BYTES - got, MSG_DONTWAIT);
            PEER_CHECK(x, k > 0);
            got += (size_t)k;
        }
    }
    PEER_CHECK(x, memcmp(in, out, ECHO_BYTES) == 0);
    close(fd);
}

static void test_echo_of_random_sizes_returns_the_same_bytes(void)
{
    fixture_run(&f, peer_echoes);
    TEST_ASSERT_EQUAL(ECHO_BYTES, f.side[0].shown);
    fixture_close(&f);
}

/* Copies byte groups of changing size through net_reserve(), committing less than reserved. */
static size_t bytes_by_reserve(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;
    size_t done = 0;

    while (done < n) {
        size_t k = 1 + s->calls++ % 700;
        k = k < n - done ? k : n - done;
        uint8_t *to = net_reserve(s->c, k + 40);
        TEST_ASSERT_NOT_NULL(to);
        memset(to, 0xee, k + 40);
        memcpy(to, p + done, k);
        net_commit(s->c, k);
        done += k;
    }
    s->shown += n;
    return n;
}

static void test_reserve_and_commit_write_exactly_what_was_committed(void)
{
    static const struct net_handler h = {bytes_by_reserve, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_echoes);
    TEST_ASSERT_EQUAL(ECHO_BYTES, f.side[0].shown);
    fixture_close(&f);
}

/* Changes its mind on each first byte; the second must be answered all the same. */
static size_t bytes_by_reserve_of_nothing(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (s->calls++ % 2 == 0) {
        TEST_ASSERT_NOT_NULL(net_reserve(s->c, 100));
        net_commit(s->c, 0);
        return 0;
    }
    TEST_ASSERT_EQUAL(0, net_queued(s->c));
    net_write(s->c, p, n);
    return n;
}

static void peer_waits_for_the_second(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char in[2];

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < 3; i++) {
        PEER_CHECK(x, peer_send(fd, "a", 1));
        peer_wait_calls(x, 0, 2 * i + 1);
        PEER_CHECK(x, peer_send(fd, "b", 1));
        PEER_CHECK(x, peer_recv(fd, in, 2) && memcmp(in, "ab", 2) == 0);
    }
    close(fd);
}

static void test_commit_of_nothing_does_not_hold_up_what_follows(void)
{
    static const struct net_handler h = {bytes_by_reserve_of_nothing, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_waits_for_the_second);
    fixture_close(&f);
}

/* --- commands in pieces ----------------------------------------------------------------------- */

static void peer_cuts_everywhere(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t two[2 * 101], in[2 * 101];

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < sizeof two; i++)
        two[i] = (uint8_t)(i % 101 == 0 ? 100 : i);
    for (size_t cut = 1; cut < 101; cut++) {
        /* part of the first, then its rest with part of the second, then the rest of that */
        PEER_CHECK(x, peer_send(fd, two, cut));
        PEER_CHECK(x, peer_recv(fd, in, 1) && in[0] == '.');
        PEER_CHECK(x, peer_send(fd, two + cut, 101));
        PEER_CHECK(x, peer_recv(fd, in, 102) && in[0] == '!' && in[101] == '.');
        PEER_CHECK(x, memcmp(in + 1, two + 1, 100) == 0);
        PEER_CHECK(x, peer_send(fd, two + cut + 101, 101 - cut));
        PEER_CHECK(x, peer_recv(fd, in, 101) && in[0] == '!');
        PEER_CHECK(x, memcmp(in + 1, two + 102, 100) == 0);
    }
    close(fd);
}

static void test_command_cut_at_every_byte_arrives_whole(void)
{
    f.handler = &side_commands;
    fixture_run(&f, peer_cuts_everywhere);
    fixture_close(&f);
}

#define HUGE ((66u << 20) + 5)

/* Waits for all of HUGE, then answers as many bytes, reserved in one piece. */
static size_t bytes_of_huge(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;
    uint8_t *to;

    s->calls++;
    if (n < HUGE)
        return 0;
    to = net_reserve(s->c, HUGE);
    TEST_ASSERT_NOT_NULL(to);
    for (size_t i = 0; i < HUGE; i++)
        to[i] = (uint8_t)(p[i] + 1);
    net_commit(s->c, HUGE);
    TEST_ASSERT_EQUAL(HUGE, net_queued(s->c));
    s->shown += HUGE;
    return HUGE;
}

static void peer_sends_huge(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    static uint8_t b[HUGE];

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < HUGE; i++)
        b[i] = (uint8_t)(i * 7 + i / 251);
    PEER_CHECK(x, peer_send(fd, b, HUGE));
    memset(b, 0, HUGE);
    PEER_CHECK(x, peer_recv(fd, b, HUGE));
    for (size_t i = 0; i < HUGE; i++)
        PEER_CHECK(x, b[i] == (uint8_t)(i * 7 + i / 251 + 1));
    close(fd);
}

static void test_a_message_of_66_megabytes_goes_through_both_ways(void)
{
    static const struct net_handler h = {bytes_of_huge, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_sends_huge);
    TEST_ASSERT_EQUAL(HUGE, f.side[0].shown);
    fixture_close(&f);
}

/* --- pausing, swapping, closing inside bytes() ------------------------------------------------ */

static size_t bytes_then_pause(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)p;
    s->calls++;
    if (s->state == 0) { /* takes one byte, then wants no more for now */
        s->state = 1;
        s->shown += 1;
        net_write(s->c, "p", 1);
        SIDE_CALL(s, net_pause(s->c));
        return 1;
    }
    return side_echo(arg, p, n);
}

static void resume_first(struct fixture *x)
{
    TEST_ASSERT_EQUAL(1, x->side[0].shown);
    SIDE_CALL(&x->side[0], net_resume(x->side[0].c));
}

static void peer_is_paused(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char in[8];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "abcd", 4));
    PEER_CHECK(x, peer_recv(fd, in, 1) && in[0] == 'p');
    PEER_CHECK(x, peer_send(fd, "ef", 2));
    peer_call(x, resume_first);
    PEER_CHECK(x, peer_recv(fd, in, 5) && memcmp(in, "bcdef", 5) == 0);
    close(fd);
}

static void test_paused_connection_keeps_bytes_until_resumed(void)
{
    static const struct net_handler h = {bytes_then_pause, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_is_paused);
    fixture_close(&f);
}

static size_t bytes_then_swap(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    TEST_ASSERT_EQUAL('1', p[0]);
    TEST_ASSERT_GREATER_THAN(1, n);
    SIDE_CALL(s, net_conn_set_handler(s->c, &side_commands, s));
    return 1;
}

static void peer_is_swapped(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char in[8];

    /* the rest holds a whole command: it must be shown without waiting for more */
    PEER_CHECK(x, fd >= 0 && peer_send(fd, "1\003abc\002d", 7));
    PEER_CHECK(x, peer_recv(fd, in, 5) && memcmp(in, "!abc.", 5) == 0);
    PEER_CHECK(x, peer_send(fd, "e", 1));
    PEER_CHECK(x, peer_recv(fd, in, 3) && memcmp(in, "!de", 3) == 0);
    close(fd);
}

static void test_rest_goes_to_the_handler_set_inside_bytes(void)
{
    static const struct net_handler h = {bytes_then_swap, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_is_swapped);
    fixture_close(&f);
}

static size_t bytes_then_close(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)p, (void)n;
    TEST_ASSERT_EQUAL(0, s->calls++);
    TEST_ASSERT_EQUAL(0, net_write(s->c, "bye", 3));
    SIDE_CALL(s, net_close(s->c, 1000));
    TEST_ASSERT_TRUE(net_closing(s->c));
    TEST_ASSERT_EQUAL(MF_CLOSED, net_write(s->c, "x", 1));
    TEST_ASSERT_NULL(net_reserve(s->c, 1));
    SIDE_CALL(s, net_close(s->c, 0)); /* harmless twice */
    return 1;
}

static void peer_is_closed(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char in[8];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "abcdef", 6));
    PEER_CHECK(x, peer_recv(fd, in, 3) && memcmp(in, "bye", 3) == 0);
    PEER_CHECK(x, recv(fd, in, 1, 0) == 0); /* an orderly end, no reset */
    close(fd);
}

static void test_close_inside_bytes_sends_what_was_written_and_shows_no_more(void)
{
    static const struct net_handler h = {bytes_then_close, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_is_closed);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    fixture_close(&f);
}

static void pause_at_start(struct side *s)
{
    net_pause(s->c);
}

static void say_bye(struct fixture *x)
{
    struct side *s = &x->side[0];

    TEST_ASSERT_EQUAL(0, s->shown);
    TEST_ASSERT_EQUAL(0, net_write(s->c, "bye", 3));
    SIDE_CALL(s, net_close(s->c, 1000));
}

/* The server closes while it has bytes that it did not read; as many as any kernel keeps for it. */
static void peer_is_closed_early(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    static uint8_t much[30000];
    char in[8];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, much, sizeof much) && peer_wait_taken(fd));
    peer_wait_accepted(x, 1);
    peer_call(x, say_bye);
    PEER_CHECK(x, peer_recv(fd, in, 3) && memcmp(in, "bye", 3) == 0);
    PEER_CHECK(x, recv(fd, in, 1, 0) == 0);
    close(fd);
}

/* Unread bytes would make the kernel reset the connection, and the last words could be lost. */
static void test_close_with_unread_bytes_ends_in_order(void)
{
    f.accepted = pause_at_start;
    fixture_run(&f, peer_is_closed_early);
    fixture_close(&f);
}

static void peer_shuts_down_after_asking(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char in[8];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "ping", 4));
    PEER_CHECK(x, shutdown(fd, SHUT_WR) == 0);
    PEER_CHECK(x, peer_recv(fd, in, 4) && memcmp(in, "ping", 4) == 0);
    PEER_CHECK(x, recv(fd, in, 1, 0) == 0);
    close(fd);
}

/* `printf ... | nc` must get its answer. */
static void test_answer_reaches_a_peer_that_ends_its_side_at_once(void)
{
    fixture_run(&f, peer_shuts_down_after_asking);
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_listen_tells_where_it_is_bound);
    RUN_TEST(test_listen_on_a_taken_port_or_bad_host_fails_with_a_story);
    RUN_TEST(test_connection_knows_both_addresses);
    RUN_TEST(test_echo_of_random_sizes_returns_the_same_bytes);
    RUN_TEST(test_reserve_and_commit_write_exactly_what_was_committed);
    RUN_TEST(test_commit_of_nothing_does_not_hold_up_what_follows);
    RUN_TEST(test_command_cut_at_every_byte_arrives_whole);
    RUN_TEST(test_a_message_of_66_megabytes_goes_through_both_ways);
    RUN_TEST(test_paused_connection_keeps_bytes_until_resumed);
    RUN_TEST(test_rest_goes_to_the_handler_set_inside_bytes);
    RUN_TEST(test_close_inside_bytes_sends_what_was_written_and_shows_no_more);
    RUN_TEST(test_close_with_unread_bytes_ends_in_order);
    RUN_TEST(test_answer_reaches_a_peer_that_ends_its_side_at_once);
    return UNITY_END();
}
