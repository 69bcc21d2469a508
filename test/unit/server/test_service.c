/* test_service.c: a service manager learns when the server is ready, that its loop turns, and that
 * it stops; over real datagram sockets, by path and by abstract name. */
#include "server/server_impl.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_NS (20 * CLOCK_S)

static struct loop *loop;
static struct server *server;
static int manager = -1;
static char path[64];
static char before_open[256]; /* what had arrived when the module opened */
static bool open_fails;
static bool stopped;

static void manager_open(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t len = strlen(name);

    memcpy(a.sun_path, name, len);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    TEST_ASSERT_EQUAL_INT(0, bind(manager, (struct sockaddr *)&a,
                                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)));
    setenv("NOTIFY_SOCKET", name, 1);
}

/* One message, or "" if none waits. */
static const char *receive(void)
{
    static char text[512];
    ssize_t n = recv(manager, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool arrives(const char *message)
{
    int64_t end = clock_mono_ns() + PATIENCE_NS;

    while (clock_mono_ns() < end) {
        const char *text = receive();
        if (text[0] == '\0')
            loop_turn(loop);
        else if (strncmp(text, message, strlen(message)) == 0)
            return true;
    }
    return false;
}

static int open_module(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    const char *text;

    (void)arg, (void)s, (void)o;
    while ((text = receive())[0] != '\0')
        strncat(before_open, text, sizeof before_open - strlen(before_open) - 1);
    return open_fails ? mf_fail(e, MF_IO, "no\nluck") : 0;
}
static bool close_module(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    (void)arg, (void)closed, (void)closed_arg;
    return true;
}
static const struct server_module module = {
    .name = "M", .open = open_module, .close = close_module};

static void on_stopped(void *arg)
{
    (void)arg;
    stopped = true;
}

static int start(bool notify)
{
    struct options *o;
    struct mf_error e = {0, ""};
    struct server_setup setup = {
        .stopped = on_stopped, .modules = &module, .nmodules = 1, .notify_manager = notify};
    int rv;

    TEST_ASSERT_EQUAL_INT(0, options_parse(&o, mf_str("listen: \"127.0.0.1:-1\""), "t", &e));
    setup.options = o;
    rv = server_start(&server, loop, &setup, &e);
    if (rv != 0)
        options_free(o);
    return rv;
}

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    snprintf(path, sizeof path, "/tmp/mayfly-notify-%ld", (long)getpid());
    before_open[0] = '\0';
    open_fails = stopped = false;
    server = NULL;
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void stop(void)
{
    server_shutdown(server);
    while (!stopped)
        loop_turn(loop);
    server_free(server);
    server = NULL;
    stopped = false;
}

void tearDown(void)
{
    if (server != NULL)
        stop();
    loop_free(loop);
    close(manager);
    if (path[0] == '/')
        unlink(path);
}

/* Modules recover the streams: a manager that hears READY=1 earlier starts others too early. */
static void test_ready_is_said_after_modules_are_open(void)
{
    manager_open(path);
    TEST_ASSERT_EQUAL_INT(0, start(true));
    TEST_ASSERT_EQUAL_STRING("STATUS=Starting: recovering streams", before_open);
    TEST_ASSERT_EQUAL_STRING("READY=1", receive());
    TEST_ASSERT_EQUAL_STRING_LEN("STATUS=Ready: clients on 127.0.0.1:", receive(), 35);
    server_shutdown(server);
    TEST_ASSERT_TRUE(arrives("STOPPING=1"));
}

static void test_failed_start_tells_why_in_one_line(void)
{
    manager_open(path);
    open_fails = true;
    TEST_ASSERT_EQUAL_INT(MF_IO, start(true));
    TEST_ASSERT_EQUAL_STRING("STATUS=Start failed: Can't start M: no luck", receive());
    TEST_ASSERT_EQUAL_STRING("", receive());
}

static void test_watchdog_is_pinged_by_the_loop_alone(void)
{
    path[0] = '@'; /* an abstract name */
    manager_open(path);
    setenv("WATCHDOG_USEC", "20000", 1);
    TEST_ASSERT_EQUAL_INT(0, start(true));
    while (receive()[0] != '\0')
        ;
    usleep(50000); /* the loop does not turn meanwhile */
    TEST_ASSERT_EQUAL_STRING("", receive());
    for (int i = 0; i < 3; i++)
        TEST_ASSERT_TRUE(arrives("WATCHDOG=1"));
}

static void test_watchdog_of_another_process_is_left_alone(void)
{
    manager_open(path);
    setenv("WATCHDOG_USEC", "2000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    TEST_ASSERT_EQUAL_INT(0, start(true));
    for (int64_t end = clock_mono_ns() + 50 * CLOCK_MS; clock_mono_ns() < end; loop_turn(loop))
        TEST_ASSERT_NOT_EQUAL(0, strcmp("WATCHDOG=1", receive()));
}

/* Numbers that are none, and periods that would keep the loop busy. */
static void test_watchdog_period_is_checked(void)
{
    static const char *const garbage[] = {"", "x", "-1", "1e6", "0", "99999999999999999999"};

    manager_open(path);
    for (size_t i = 0; i < MF_COUNT(garbage); i++) {
        setenv("WATCHDOG_USEC", garbage[i], 1);
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, start(true), garbage[i]);
        for (int64_t end = clock_mono_ns() + 5 * CLOCK_MS; clock_mono_ns() < end; loop_turn(loop))
            TEST_ASSERT_NOT_EQUAL(0, strcmp("WATCHDOG=1", receive()));
        stop();
    }
    setenv("WATCHDOG_USEC", "1", 1);
    TEST_ASSERT_EQUAL_INT(0, start(true));
    TEST_ASSERT_TRUE(arrives("WATCHDOG=1"));
}

/* Its queue holds some ten messages.  Waiting a second for each ping, a hundred would take minutes.
 */
static void test_manager_that_does_not_read_delays_no_client(void)
{
    int64_t end = clock_mono_ns() + PATIENCE_NS;

    manager_open(path);
    setenv("WATCHDOG_USEC", "2000", 1);
    TEST_ASSERT_EQUAL_INT(0, start(true));
    for (int i = 0; i < 100; i++)
        loop_turn(loop); /* until the next timer: a ping is due each time */
    TEST_ASSERT_TRUE(clock_mono_ns() < end);
    TEST_ASSERT_TRUE(arrives("READY=1")); /* in the queue since the start */
    TEST_ASSERT_TRUE(arrives("WATCHDOG=1"));
}

/* A library inside another program must not speak for that program. */
static void test_embedded_server_says_nothing(void)
{
    manager_open(path);
    TEST_ASSERT_EQUAL_INT(0, start(false));
    TEST_ASSERT_EQUAL_STRING("", before_open);
    TEST_ASSERT_EQUAL_STRING("", receive());
}

static void test_socket_that_is_gone_or_no_socket_changes_nothing(void)
{
    static const char *const names[] = {"/tmp/mayfly/no/such/socket", "vsock:2:1", "@", ""};

    manager_open(path);
    for (size_t i = 0; i < MF_COUNT(names); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, start(true), names[i]);
        stop();
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_ready_is_said_after_modules_are_open);
    RUN_TEST(test_failed_start_tells_why_in_one_line);
    RUN_TEST(test_watchdog_is_pinged_by_the_loop_alone);
    RUN_TEST(test_watchdog_of_another_process_is_left_alone);
    RUN_TEST(test_watchdog_period_is_checked);
    RUN_TEST(test_manager_that_does_not_read_delays_no_client);
    RUN_TEST(test_embedded_server_says_nothing);
    RUN_TEST(test_socket_that_is_gone_or_no_socket_changes_nothing);
    return UNITY_END();
}
