/* net_fixture.c: see net_fixture.h. */
#include "net_fixture.h"

#include "base/clock.h"
#include "unity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_accepted(void *arg, struct net_conn *c);

static void stop_if_over(struct fixture *f)
{
    if (f->peer_done && (f->open == 0 || f->failed != NULL))
        loop_stop(f->loop);
}

static void on_call(const struct side *s)
{
    TEST_ASSERT_FALSE_MESSAGE(s->f->inside, "a callback ran inside a net_* call");
    TEST_ASSERT_EQUAL_MESSAGE(0, s->closed, "a callback ran after closed()");
}

size_t side_echo(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    on_call(s);
    s->calls++;
    s->shown += n;
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, p, n)));
    if (net_queued(s->c) > s->most_queued)
        s->most_queued = net_queued(s->c);
    return n;
}

void side_drained(void *arg)
{
    struct side *s = arg;

    on_call(s);
    s->drained++;
}

void side_secured(void *arg)
{
    struct side *s = arg;

    on_call(s);
    s->secured++;
}

void side_closed(void *arg, enum net_why why, const char *text)
{
    struct side *s = arg;

    on_call(s);
    TEST_ASSERT_NOT_NULL(text);
    s->closed++;
    s->why = why;
    snprintf(s->text, sizeof s->text, "%s", text);
    s->f->open--;
    stop_if_over(s->f);
}

static size_t bytes_of_commands(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;
    size_t done = 0;

    on_call(s);
    s->calls++;
    while (done < n && n - done > p[done]) {
        size_t len = p[done];
        TEST_ASSERT_EQUAL(0, net_write(s->c, "!", 1));
        TEST_ASSERT_EQUAL(0, net_write(s->c, p + done + 1, len));
        done += 1 + len;
    }
    if (done < n)
        TEST_ASSERT_EQUAL(0, net_write(s->c, ".", 1));
    s->shown += done;
    return done;
}
const struct net_handler side_commands = {bytes_of_commands, NULL, side_secured, side_closed};

static const struct net_handler echo = {side_echo, side_drained, side_secured, side_closed};

static void on_accepted(void *arg, struct net_conn *c)
{
    struct fixture *f = arg;
    struct side *s;

    TEST_ASSERT_LESS_THAN(SIDES, f->sides);
    s = &f->side[f->sides];
    s->f = f;
    s->c = c;
    s->index = f->sides++;
    f->open++;
    if (f->tls != NULL)
        TEST_ASSERT_EQUAL(0, net_conn_secure(c, f->tls, NULL));
    SIDE_CALL(s, net_conn_start(c, f->handler != NULL ? f->handler : &echo, s));
    if (f->accepted != NULL)
        f->accepted(s);
}

void fixture_open(struct fixture *f)
{
    struct mf_error e;

    memset(f, 0, sizeof *f);
    TEST_ASSERT_EQUAL(0, loop_new(&f->loop, &e));
    TEST_ASSERT_EQUAL(0, net_listen(&f->listener, f->loop, "127.0.0.1", 0, on_accepted, f, &e));
    f->port = net_listener_port(f->listener);
}

static void on_peer_done(void *arg)
{
    struct fixture *f = arg;

    f->peer_done = true;
    stop_if_over(f);
}

static void *peer_main(void *arg)
{
    struct fixture *f = arg;

    f->peer(f);
    if (loop_post(f->loop, on_peer_done, f) != 0)
        abort();
    return NULL;
}

void fixture_run(struct fixture *f, void (*peer)(struct fixture *f))
{
    pthread_t thread;

    f->peer = peer;
    f->peer_done = false;
    alarm(FIXTURE_ALARM_S);
    TEST_ASSERT_EQUAL(0, pthread_create(&thread, NULL, peer_main, f));
    loop_run(f->loop);
    pthread_join(thread, NULL);
    alarm(0);
    if (f->failed != NULL)
        TEST_FAIL_MESSAGE(f->failed);
}

void fixture_close(struct fixture *f)
{
    for (size_t i = 0; i < f->sides; i++)
        TEST_ASSERT_EQUAL(1, f->side[i].closed);
    net_listener_close(f->listener);
    loop_free(f->loop);
}

/* --- the peer's thread ------------------------------------------------------------------------ */

void peer_fail(struct fixture *f, const char *what, int line)
{
    static char text[300];

    if (f->failed != NULL)
        return;
    snprintf(text, sizeof text, "peer, line %d: %s (errno %d)", line, what, errno);
    f->failed = text;
}

bool peer_connect_fd(struct fixture *f, int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)f->port)};
    struct timeval limit = {.tv_sec = PEER_LIMIT_S};

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
}

int peer_connect(struct fixture *f, int rcvbuf)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        return -1;
    if (rcvbuf > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof rcvbuf);
    if (!peer_connect_fd(f, fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

bool peer_send(int fd, const void *p, size_t n)
{
    const uint8_t *at = p;

    while (n > 0) {
        ssize_t k = send(fd, at, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

bool peer_recv(int fd, void *p, size_t n)
{
    uint8_t *at = p;

    while (n > 0) {
        ssize_t k = recv(fd, at, n, 0);
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

ssize_t peer_recv_all(int fd)
{
    static __thread uint8_t buf[65536];
    ssize_t total = 0, k;

    while ((k = recv(fd, buf, sizeof buf, 0)) > 0)
        total += k;
    return k < 0 ? -1 : total;
}

bool peer_wait_taken(int fd)
{
    int64_t until = clock_mono_ns() + PEER_LIMIT_S * CLOCK_S;
    int left = 1;

    while (clock_mono_ns() < until) {
        if (ioctl(fd, SIOCOUTQ, &left) != 0 || left == 0)
            break;
        poll(NULL, 0, 1);
    }
    return left == 0;
}

struct call {
    struct fixture *f;
    void (*fn)(struct fixture *f);
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
};

static void run_call(void *arg)
{
    struct call *call = arg;

    call->fn(call->f);
    pthread_mutex_lock(&call->mutex);
    call->done = true;
    pthread_cond_signal(&call->cond);
    pthread_mutex_unlock(&call->mutex);
}

void peer_call(struct fixture *f, void (*fn)(struct fixture *f))
{
    struct call call = {.f = f, .fn = fn};

    pthread_mutex_init(&call.mutex, NULL);
    pthread_cond_init(&call.cond, NULL);
    if (loop_post(f->loop, run_call, &call) != 0)
        abort();
    pthread_mutex_lock(&call.mutex);
    while (!call.done)
        pthread_cond_wait(&call.cond, &call.mutex);
    pthread_mutex_unlock(&call.mutex);
    pthread_mutex_destroy(&call.mutex);
    pthread_cond_destroy(&call.cond);
}

static void nothing(struct fixture *f)
{
    (void)f;
}

void peer_wait_accepted(struct fixture *f, size_t sides)
{
    do {
        peer_call(f, nothing); /* after it, what the loop wrote before can be seen here */
    } while (f->sides < sides);
}

void peer_wait_closed(struct fixture *f, size_t side)
{
    do {
        peer_call(f, nothing);
    } while (f->side[side].closed == 0);
}

void peer_wait_calls(struct fixture *f, size_t side, size_t calls)
{
    do {
        peer_call(f, nothing);
    } while (f->side[side].calls < calls);
}

void peer_wait_shown(struct fixture *f, size_t side, size_t bytes)
{
    do {
        peer_call(f, nothing);
    } while (f->side[side].shown < bytes);
}

void peer_wait_state(struct fixture *f, size_t side, unsigned state)
{
    do {
        peer_call(f, nothing);
    } while (f->side[side].state != state);
}
