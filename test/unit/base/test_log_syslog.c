/* test_log_syslog.c: log lines at a collector on this machine. */
#include "base/log.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unity.h"

static char got[4096];

void setUp(void)
{
}

void tearDown(void)
{
    log_close();
}

/* A socket of the given type on a port of the system's choice. */
static int listen_inet(int type, uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    TEST_ASSERT_TRUE(fd >= 0);
    a.sin_port = htons(*port);
    TEST_ASSERT_EQUAL(0, setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)));
    TEST_ASSERT_EQUAL(0, bind(fd, (struct sockaddr *)&a, sizeof a));
    if (type == SOCK_STREAM)
        TEST_ASSERT_EQUAL(0, listen(fd, 4));
    TEST_ASSERT_EQUAL(0, getsockname(fd, (struct sockaddr *)&a, &len));
    *port = ntohs(a.sin_port);
    return fd;
}

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    TEST_ASSERT_EQUAL(1, poll(&p, 1, 60000));
}

static const char *receive(int fd)
{
    wait_readable(fd);
    ssize_t n = recv(fd, got, sizeof got - 1, 0);
    TEST_ASSERT_TRUE(n >= 0);
    got[n] = '\0';
    return got;
}

/* "<priority>time host program[pid]: text\n" */
static void check_line(const char *line, int priority, const char *text)
{
    int p = -1, pid = -1, at = 0;
    char when[64] = "", host[256] = "", rest[256] = "";

    TEST_ASSERT_EQUAL_MESSAGE(3, sscanf(line, "<%d>%63s %255s %n", &p, when, host, &at), line);
    TEST_ASSERT_EQUAL(priority, p);
    TEST_ASSERT_EQUAL('Z', when[strlen(when) - 1]);
    TEST_ASSERT_EQUAL(2, sscanf(line + at, "%*[^[][%d]: %255[^\n]", &pid, rest));
    TEST_ASSERT_EQUAL(getpid(), pid);
    TEST_ASSERT_EQUAL_STRING(text, rest);
    TEST_ASSERT_EQUAL('\n', line[strlen(line) - 1]);
}

static void open_at(const char *fmt, unsigned port)
{
    struct mf_error e = {.text = ""};
    char url[64];

    snprintf(url, sizeof url, fmt, port);
    struct log_options o = {.remote_syslog = url, .debug = true, .trace = true};
    TEST_ASSERT_EQUAL_MESSAGE(0, log_open(&o, &e), e.text);
}

static void test_each_level_has_nats_server_s_priority(void)
{
    uint16_t port = 0;
    int fd = listen_inet(SOCK_DGRAM, &port);

    open_at("udp://127.0.0.1:%u", port);
    log_fatal("f");
    check_line(receive(fd), 2, "f");
    log_error("e");
    check_line(receive(fd), 3, "e");
    log_warn("w");
    check_line(receive(fd), 4, "w");
    log_info("i");
    check_line(receive(fd), 5, "i");
    log_debug("d");
    check_line(receive(fd), 7, "d");
    log_trace("t");
    check_line(receive(fd), 5, "t");
    log_info("a\n<0>b");
    check_line(receive(fd), 5, "a\\n<0>b");
    close(fd);
}

static void test_stream_carries_one_line_after_the_other(void)
{
    uint16_t port = 0;
    int fd = listen_inet(SOCK_STREAM, &port);

    open_at("tcp://127.0.0.1:%u", port);
    wait_readable(fd);
    int conn = accept(fd, NULL, NULL);
    TEST_ASSERT_TRUE(conn >= 0);
    log_info("one");
    check_line(receive(conn), 5, "one");
    log_info("two");
    check_line(receive(conn), 5, "two");
    close(conn);
    close(fd);
}

/* Logging must neither block nor raise SIGPIPE nor end when the collector goes away. */
static void test_lines_without_a_collector_are_lost_and_nothing_else(void)
{
    uint16_t port = 0;
    int fd = listen_inet(SOCK_STREAM, &port);

    open_at("tcp://127.0.0.1:%u", port);
    wait_readable(fd);
    int conn = accept(fd, NULL, NULL);
    TEST_ASSERT_TRUE(conn >= 0);
    close(conn);
    close(fd);
    for (int i = 0; i < 1000; i++)
        log_info("into the void");
    open_at("udp://127.0.0.1:%u", port); /* nobody there: a datagram may find out, nothing more */
    for (int i = 0; i < 10; i++)
        log_info("into the void");
}

/* A collector that restarts is found again: lines are repeated until one arrives. */
static void test_collector_that_comes_back_is_connected_again(void)
{
    uint16_t port = 0;
    int fd = listen_inet(SOCK_STREAM, &port);

    open_at("tcp://127.0.0.1:%u", port);
    wait_readable(fd);
    int conn = accept(fd, NULL, NULL);
    shutdown(conn, SHUT_RDWR);
    close(conn);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int tries = 0;
    do
        log_info("again");
    while (poll(&p, 1, 50) == 0 && ++tries < 1200);
    conn = accept(fd, NULL, NULL);
    TEST_ASSERT_TRUE(conn >= 0);
    struct pollfd c = {.fd = conn, .events = POLLIN};
    tries = 0;
    do
        log_info("again");
    while (poll(&c, 1, 50) == 0 && ++tries < 1200);
    TEST_ASSERT_EQUAL_STRING_LEN("<5>", receive(conn), 3); /* a line's beginning, not a middle */
    close(conn);
    close(fd);
}

static void test_unix_socket_is_reached_by_its_path(void)
{
    char dir[] = "test-log-XXXXXX";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct mf_error e = {.text = ""};
    char url[128];

    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    snprintf(a.sun_path, sizeof a.sun_path, "%s/s", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT_EQUAL(0, bind(fd, (struct sockaddr *)&a, sizeof a));
    TEST_ASSERT_EQUAL(0, listen(fd, 1));
    snprintf(url, sizeof url, "unix://%s", a.sun_path);
    struct log_options o = {.remote_syslog = url};
    TEST_ASSERT_EQUAL_MESSAGE(0, log_open(&o, &e), e.text);
    int conn = accept(fd, NULL, NULL);
    log_info("local");
    check_line(receive(conn), 5, "local");
    close(conn);
    close(fd);
    unlink(a.sun_path);
    rmdir(dir);
}

static void test_address_that_cannot_be_used_is_refused_with_its_reason(void)
{
    static const struct {
        const char *url, *why;
    } cases[] = {
        {"http://127.0.0.1:1", "remote syslog http://127.0.0.1:1: network is none of"},
        {"udp://127.0.0.1", "\"127.0.0.1\" is not host:port"},
        {"tcp://:514", "\":514\" is not host:port"},
        {"tcp://127.0.0.1:", "is not host:port"},
        {"unix://missing/socket", "connect: No such file or directory"},
        {"tcp://127.0.0.1:1", "connect: Connection refused"},
    };

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        struct mf_error e = {.text = ""};
        struct log_options o = {.remote_syslog = cases[i].url};
        TEST_ASSERT_NOT_EQUAL(0, log_open(&o, &e));
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, cases[i].why), e.text);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_level_has_nats_server_s_priority);
    RUN_TEST(test_stream_carries_one_line_after_the_other);
    RUN_TEST(test_lines_without_a_collector_are_lost_and_nothing_else);
    RUN_TEST(test_collector_that_comes_back_is_connected_again);
    RUN_TEST(test_unix_socket_is_reached_by_its_path);
    RUN_TEST(test_address_that_cannot_be_used_is_refused_with_its_reason);
    return UNITY_END();
}
