/* test_net_flow.c: back-pressure, deadlines, the end of connections, and many of them at once. */
#include "net/net.h"

#include "base/clock.h"
#include "net/net_impl.h"
#include "support/net_fixture.h"
#include "unity.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct fixture f;
static const struct net_handler quiet = {side_echo, side_drained, NULL, side_closed};

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

/* --- partial writes --------------------------------------------------------------------------- */

static void tiny_send_buffer(struct side *s)
{
    int size = 1; /* the kernel rounds up to its least */

    TEST_ASSERT_EQUAL(0, setsockopt(s->c->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
}

#define SLOW_BYTES (400u << 10)

static void peer_reads_in_sips(struct fixture *x)
{
    int fd = peer_connect(x, 4096);
    static uint8_t b[SLOW_BYTES];
    uint8_t sip[777];
    size_t got = 0;

    PEER_CHECK(x, fd >= 0);
    for (size_t i = 0; i < SLOW_BYTES; i++)
        b[i] = (uint8_t)(i * 31 + i / 256);
    PEER_CHECK(x, peer_send(fd, b, SLOW_BYTES)); /* all of it before reading */
    peer_wait_shown(x, 0, SLOW_BYTES);
    while (got < SLOW_BYTES) {
        ssize_t n = recv(fd, sip, sizeof sip, 0);
        PEER_CHECK(x, n > 0 && memcmp(sip, b + got, (size_t)n) == 0);
        got += (size_t)n;
    }
    close(fd);
}

static void test_tiny_send_buffer_loses_and_doubles_nothing(void)
{
    f.accepted = tiny_send_buffer;
    fixture_run(&f, peer_reads_in_sips);
    TEST_ASSERT_GREATER_THAN(SLOW_BYTES / 2, f.side[0].most_queued);
    fixture_close(&f);
}

/* --- a peer that does not read ---------------------------------------------------------------- */

static uint8_t block[100000];

/* More than the kernel takes on its own. */
static void write_much(struct side *s)
{
    tiny_send_buffer(s);
    for (int i = 0; i < 40; i++)
        SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, block, sizeof block)));
    TEST_ASSERT_GREATER_THAN(30 * sizeof block, net_queued(s->c));
}

static int64_t write_deadline_ns;

static void write_much_with_deadline(struct side *s)
{
    net_set_write_deadline(s->c, write_deadline_ns);
    write_much(s);
}

/* Stays until the server has given up, without reading a byte. */
static void peer_never_reads(struct fixture *x)
{
    int fd = peer_connect(x, 4096);

    PEER_CHECK(x, fd >= 0);
    peer_wait_closed(x, 0);
    close(fd);
}

static size_t bytes_ignored(void *arg, const uint8_t *p, size_t n)
{
    (void)arg, (void)p;
    return n;
}
static const struct net_handler deaf = {bytes_ignored, side_drained, NULL, side_closed};

static void test_peer_that_never_reads_is_closed_as_slow_after_the_deadline(void)
{
    int64_t before = clock_mono_ns();

    f.handler = &deaf;
    f.accepted = write_much_with_deadline;
    write_deadline_ns = 100 * CLOCK_MS;
    fixture_run(&f, peer_never_reads);
    TEST_ASSERT_EQUAL(NET_CLOSED_SLOW, f.side[0].why);
    TEST_ASSERT_GREATER_OR_EQUAL_INT64(100 * CLOCK_MS, clock_mono_ns() - before);
    fixture_close(&f);
}

static int64_t last_ns, longest_ns; /* from one read of the peer below to the next */

static void note_read(void)
{
    int64_t now = clock_mono_ns();

    longest_ns = now - last_ns > longest_ns ? now - last_ns : longest_ns;
    last_ns = now;
}

static void lift_deadline(struct fixture *x)
{
    if (x->side[0].closed == 0)
        net_set_write_deadline(x->side[0].c, 0);
}

/* Reads a little many times a deadline: slow, but alive. */
static void peer_reads_slowly(struct fixture *x)
{
    static uint8_t b[40 * sizeof block];
    int fd = peer_connect(x, 4096);
    size_t got = 0;
    bool open = true;

    PEER_CHECK(x, fd >= 0);
    longest_ns = 0;
    last_ns = clock_mono_ns();
    for (int i = 0; i < 25 && open; i++) {
        open = peer_recv(fd, b, 30000); /* if not, the test looks why */
        note_read();
        got += 30000;
        poll(NULL, 0, (int)(write_deadline_ns / 12 / CLOCK_MS));
    }
    peer_call(x, lift_deadline);
    note_read();
    (void)peer_recv(fd, b, sizeof b - got);
    close(fd);
}

/* The deadline counts anew with each byte taken: 25 pauses of a twelfth of it are twice as long.
 * Where the machine kept the peer from reading for long, a longer deadline tells more. */
static void test_peer_that_reads_slowly_outlives_its_deadline(void)
{
    for (write_deadline_ns = 500 * CLOCK_MS;; write_deadline_ns *= 4) {
        f.handler = &deaf;
        f.accepted = write_much_with_deadline;
        fixture_run(&f, peer_reads_slowly);
        if (f.side[0].why != NET_CLOSED_SLOW || longest_ns < write_deadline_ns / 4 ||
            write_deadline_ns > 30 * CLOCK_S)
            break;
        fixture_close(&f);
        fixture_open(&f);
    }
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    fixture_close(&f);
}

static void on_drained_low(void *arg)
{
    struct side *s = arg;

    side_drained(arg);
    TEST_ASSERT_LESS_OR_EQUAL(50000, net_queued(s->c));
    net_write(s->c, "D", 1);
}

static void write_much_and_wait(struct side *s)
{
    write_much(s);
    SIDE_CALL(s, net_want_drained(s->c, 50000));
}

static void peer_reads_all_then_d(struct fixture *x)
{
    int fd = peer_connect(x, 4096);
    static uint8_t b[40 * sizeof block + 1];

    PEER_CHECK(x, fd >= 0 && peer_recv(fd, b, sizeof b));
    PEER_CHECK(x, b[sizeof b - 1] == 'D');
    close(fd);
}

static void test_drained_comes_once_below_the_low_water_mark(void)
{
    static const struct net_handler h = {bytes_ignored, on_drained_low, NULL, side_closed};

    f.handler = &h;
    f.accepted = write_much_and_wait;
    fixture_run(&f, peer_reads_all_then_d);
    TEST_ASSERT_EQUAL(1, f.side[0].drained);
    fixture_close(&f);
}

static void want_drained_of_nothing(struct side *s)
{
    SIDE_CALL(s, net_want_drained(s->c, 0));
}

static void peer_says_x(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char ch;

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "x", 1) && peer_recv(fd, &ch, 1));
    close(fd);
}

static void test_drained_of_an_empty_queue_comes_too_and_later(void)
{
    f.handler = &quiet;
    f.accepted = want_drained_of_nothing;
    fixture_run(&f, peer_says_x);
    TEST_ASSERT_EQUAL(1, f.side[0].drained);
    fixture_close(&f);
}

/* --- closing ---------------------------------------------------------------------------------- */

static void write_much_and_close(struct side *s)
{
    write_much(s);
    SIDE_CALL(s, net_close(s->c, s->f->arg != NULL ? 60 : 1000 * PEER_LIMIT_S));
}

static void peer_reads_to_the_end(struct fixture *x)
{
    int fd = peer_connect(x, 4096);

    PEER_CHECK(x, fd >= 0);
    PEER_CHECK(x, peer_recv_all(fd) == 40 * (ssize_t)sizeof block);
    close(fd);
}

static void test_close_with_linger_flushes_all_that_is_queued(void)
{
    f.handler = &deaf;
    f.accepted = write_much_and_close;
    fixture_run(&f, peer_reads_to_the_end);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    TEST_ASSERT_EQUAL(0, f.side[0].drained);
    fixture_close(&f);
}

static void test_linger_ends_when_its_time_is_over(void)
{
    f.handler = &deaf;
    f.accepted = write_much_and_close;
    f.arg = &f;
    fixture_run(&f, peer_never_reads);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    fixture_close(&f);
}

static void say_bye(struct side *s)
{
    (void)net_write(s->c, "bye", 3);
    SIDE_CALL(s, net_close_heard(s->c, 1000 * PEER_LIMIT_S));
}

/* Sends on and on after the other side said its last words, and reads them only then. */
static void peer_talks_on(struct fixture *x)
{
    static const uint8_t talk[64 << 10];
    int fd = peer_connect(x, 0);
    uint8_t b[3];

    for (int i = 0; fd >= 0 && i < 64; i++)
        PEER_CHECK(x, send(fd, talk, sizeof talk, MSG_NOSIGNAL) == (ssize_t)sizeof talk);
    PEER_CHECK(x, fd >= 0 && peer_recv(fd, b, 3) && memcmp(b, "bye", 3) == 0);
    close(fd);
}

/* Closed at once, the rest of the talk would meet a reset, and that destroys the farewell. */
static void test_farewell_reaches_a_peer_that_goes_on_sending(void)
{
    f.handler = &deaf;
    f.accepted = say_bye;
    fixture_run(&f, peer_talks_on);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    net_hangup(f.loop);
    fixture_close(&f);
}

static void peer_stays(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t b[3];

    PEER_CHECK(x, fd >= 0 && peer_recv(fd, b, 3));
    *(int *)x->arg = fd; /* never closed by the peer */
}

/* The owner need not wait for a peer that stays, and a loop that stops need not either. */
static void test_hangup_ends_the_wait_for_a_peer_that_stays(void)
{
    int fd = -1;

    f.handler = &deaf;
    f.accepted = say_bye;
    f.arg = &fd;
    fixture_run(&f, peer_stays);
    TEST_ASSERT_EQUAL(1, f.side[0].closed);
    net_hangup(f.loop);
    fixture_close(&f);
    close(fd);
}

static void peer_resets(struct fixture *x)
{
    struct linger hard = {1, 0};
    int fd = peer_connect(x, 4096);
    uint8_t b[5000];

    PEER_CHECK(x, fd >= 0 && peer_recv(fd, b, sizeof b));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd); /* with bytes on their way: a reset */
}

static void test_reset_in_the_middle_of_a_write_closes_once(void)
{
    f.handler = &deaf;
    f.accepted = write_much;
    fixture_run(&f, peer_resets);
    TEST_ASSERT_TRUE(f.side[0].why == NET_CLOSED_RESET || f.side[0].why == NET_CLOSED_WRITE);
    fixture_close(&f);
}

/* --- fairness --------------------------------------------------------------------------------- */

static size_t run[2]; /* what each was shown in one go, while the other had bytes to show */

static size_t bytes_counted(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg, *other = &s->f->side[1 - s->index];
    int waiting = 0;

    (void)p;
    s->shown += n;
    run[other->index] = 0;
    if (other->closed == 0)
        (void)ioctl(other->c->fd, FIONREAD, &waiting);
    run[s->index] = waiting > 0 ? run[s->index] + n : 0;
    if (run[s->index] > s->most_queued)
        s->most_queued = run[s->index];
    return n;
}

/* Both connections are paused until their kernel buffers are full. */
static void start_paused(struct side *s)
{
    net_pause(s->c);
}

static void resume_both(struct fixture *x)
{
    for (int i = 0; i < 2; i++)
        net_resume(x->side[i].c);
}

static void peer_floods_twice(struct fixture *x)
{
    size_t flooded[2];
    int fd[2];
    ssize_t n;

    for (int i = 0; i < 2; i++) {
        fd[i] = peer_connect(x, 0);
        PEER_CHECK(x, fd[i] >= 0);
        for (flooded[i] = 0;
             (n = send(fd[i], block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0;)
            flooded[i] += (size_t)n;
        PEER_CHECK(x, flooded[i] > 4 * NET_READ_BUDGET);
    }
    peer_wait_accepted(x, 2);
    peer_call(x, resume_both);
    close(fd[0]);
    close(fd[1]);
}

static void test_one_flood_does_not_starve_another_connection(void)
{
    static const struct net_handler h = {bytes_counted, NULL, NULL, side_closed};

    f.handler = &h;
    f.accepted = start_paused;
    memset(run, 0, sizeof run);
    fixture_run(&f, peer_floods_twice);
    TEST_ASSERT_LESS_OR_EQUAL(2 * NET_READ_BUDGET, f.side[0].most_queued);
    TEST_ASSERT_LESS_OR_EQUAL(2 * NET_READ_BUDGET, f.side[1].most_queued);
    fixture_close(&f);
}

/* --- many ------------------------------------------------------------------------------------- */

#define MANY 1000

static void peer_comes_in_crowds(struct fixture *x)
{
    static int fd[MANY];
    char ch;

    for (int i = 0; i < MANY; i++) {
        fd[i] = peer_connect(x, 0);
        PEER_CHECK(x, fd[i] >= 0);
    }
    for (int i = 0; i < MANY; i++)
        PEER_CHECK(x, peer_send(fd[i], "x", 1));
    for (int i = 0; i < MANY; i++)
        PEER_CHECK(x, peer_recv(fd[i], &ch, 1) && ch == 'x');
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
}

static void test_a_thousand_connections_are_served_and_closed(void)
{
    fixture_run(&f, peer_comes_in_crowds);
    TEST_ASSERT_EQUAL(MANY, f.sides);
    fixture_close(&f);
}

#define CROWD 100

/* One turn writes to all, as a message with many subscribers does. */
static void write_to_all(struct fixture *x)
{
    size_t waiting = 0;

    x->side[0].c->ctx->works_max = 8;
    for (size_t i = 0; i < x->sides; i++)
        SIDE_CALL(&x->side[i], TEST_ASSERT_EQUAL(0, net_write(x->side[i].c, "one", 3)));
    for (size_t i = 0; i < x->sides; i++)
        waiting += net_queued(x->side[i].c) > 0;
    TEST_ASSERT_EQUAL(CROWD, x->sides);
    TEST_ASSERT_LESS_OR_EQUAL(10, waiting);
    for (size_t i = 0; i < x->sides; i++)
        SIDE_CALL(&x->side[i], TEST_ASSERT_EQUAL(0, net_write(x->side[i].c, "two", 3)));
}

static void peer_hears_in_a_crowd(struct fixture *x)
{
    int fd[CROWD];
    char in[8];

    for (int i = 0; i < CROWD; i++) {
        fd[i] = peer_connect(x, 0);
        PEER_CHECK(x, fd[i] >= 0 && peer_send(fd[i], "x", 1) && peer_recv(fd[i], in, 1));
    }
    peer_call(x, write_to_all);
    for (int i = 0; i < CROWD; i++) {
        PEER_CHECK(x, peer_recv(fd[i], in, 6) && memcmp(in, "onetwo", 6) == 0);
        close(fd[i]);
    }
}

/* A message to 100,000 subscribers must not take a chunk for each of them before the first leaves.
 */
static void test_writes_to_very_many_are_flushed_before_the_turn_ends(void)
{
    fixture_run(&f, peer_hears_in_a_crowd);
    fixture_close(&f);
}

static void look_for_buffers(struct fixture *x)
{
    const struct net_conn *c = x->side[0].c;

    TEST_ASSERT_NULL(c->carry.base);
    TEST_ASSERT_NULL(c->app.head);
    TEST_ASSERT_NULL(c->ext);
    TEST_ASSERT_EQUAL(0, net_queued(c));
}

static void peer_rests(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t in[300];

    memset(in, 100, sizeof in);
    in[0] = 250;
    PEER_CHECK(x, fd >= 0 && peer_send(fd, in, 200)); /* a part: it is kept */
    PEER_CHECK(x, peer_send(fd, in + 200, 51) && peer_recv(fd, in, 251));
    peer_call(x, look_for_buffers);
    close(fd);
}

/* Answers only when all of a command of 251 bytes is there. */
static size_t bytes_of_251(void *arg, const uint8_t *p, size_t n)
{
    return n < 251 ? 0 : side_echo(arg, p, 251);
}

static void test_idle_connection_owns_no_buffers(void)
{
    static const struct net_handler h = {bytes_of_251, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_rests);
    fixture_close(&f);
}

/* The limit leaves room for a few connections only: the rest wait in the backlog until some end. */
static struct rlimit limit_before;

static void lower_limit(struct fixture *x)
{
    struct rlimit low;
    int fd = dup(0);

    (void)x;
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &limit_before));
    low = limit_before;
    low.rlim_cur = (rlim_t)fd + 4;
    close(fd);
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &low));
}

static int64_t cpu_ns;

static void look_at_cpu(struct fixture *x)
{
    struct timespec now;

    (void)x;
    TEST_ASSERT_EQUAL(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
    cpu_ns = now.tv_sec * CLOCK_S + now.tv_nsec - cpu_ns;
}

static void peer_exhausts_descriptors(struct fixture *x)
{
    int fd[12];
    char ch;

    /* our ends exist before the limit falls; the server's are accepted under it */
    for (int i = 0; i < 12; i++)
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
    peer_call(x, lower_limit);
    for (int i = 0; i < 12; i++)
        PEER_CHECK(x, peer_connect_fd(x, fd[i]));
    peer_call(x, look_at_cpu);
    poll(NULL, 0, 200); /* a time in which a loop that spins would burn */
    peer_call(x, look_at_cpu);
    PEER_CHECK(x, cpu_ns < 50 * CLOCK_MS);
    for (int i = 0; i < 12; i++) { /* each is served once those before it have left */
        PEER_CHECK(x, peer_send(fd[i], "x", 1) && peer_recv(fd[i], &ch, 1));
        close(fd[i]);
    }
}

static void test_listener_out_of_descriptors_waits_and_goes_on(void)
{
    cpu_ns = 0;
    fixture_run(&f, peer_exhausts_descriptors);
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &limit_before));
    TEST_ASSERT_EQUAL(12, f.sides);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_tiny_send_buffer_loses_and_doubles_nothing);
    RUN_TEST(test_peer_that_never_reads_is_closed_as_slow_after_the_deadline);
    RUN_TEST(test_peer_that_reads_slowly_outlives_its_deadline);
    RUN_TEST(test_drained_comes_once_below_the_low_water_mark);
    RUN_TEST(test_drained_of_an_empty_queue_comes_too_and_later);
    RUN_TEST(test_close_with_linger_flushes_all_that_is_queued);
    RUN_TEST(test_linger_ends_when_its_time_is_over);
    RUN_TEST(test_farewell_reaches_a_peer_that_goes_on_sending);
    RUN_TEST(test_hangup_ends_the_wait_for_a_peer_that_stays);
    RUN_TEST(test_reset_in_the_middle_of_a_write_closes_once);
    RUN_TEST(test_one_flood_does_not_starve_another_connection);
    RUN_TEST(test_a_thousand_connections_are_served_and_closed);
    RUN_TEST(test_writes_to_very_many_are_flushed_before_the_turn_ends);
    RUN_TEST(test_idle_connection_owns_no_buffers);
    RUN_TEST(test_listener_out_of_descriptors_waits_and_goes_on);
    return UNITY_END();
}
