/* test_net_dial.c: connections to other servers: the time limit, and what an error says. */
#include "net/net.h"

#include "base/clock.h"
#include "support/net_fixture.h"
#include "unity.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;
static int full_fd, full_port, fillers[8];
static pthread_mutex_t lookup = PTHREAD_MUTEX_INITIALIZER; /* held: lookups of "slow.test" wait */
static _Atomic unsigned lookups;                           /* of "slow.test" */

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* Stands before the system's.  "full.test" is two addresses at which nobody accepts, "half.test"
 * one such and one that answers, "slow.test" takes until `lookup` is free. */
int resolve(const char *name, const char *service, const struct addrinfo *hints,
            struct addrinfo **list) __asm__("getaddrinfo");

int resolve(const char *name, const char *service, const struct addrinfo *hints,
            struct addrinfo **list)
{
    static const char *const full[] = {"127.0.0.3", "127.0.0.3", NULL};
    static const char *const half[] = {"127.0.0.3", "127.0.0.1", NULL};
    static const char *const one[] = {"127.0.0.1", NULL};
    const char *const *addresses = strcmp(name, "full.test") == 0   ? full
                                   : strcmp(name, "slow.test") == 0 ? one
                                                                    : half;
    resolver real = (resolver)(uintptr_t)dlsym(RTLD_NEXT, "getaddrinfo");

    if (strstr(name, ".test") == NULL)
        return real(name, service, hints, list);
    if (hints->ai_flags & AI_NUMERICHOST)
        return EAI_NONAME;
    if (strcmp(name, "none.test") == 0)
        return EAI_NONAME;
    if (strcmp(name, "slow.test") == 0) {
        lookups++;
        pthread_mutex_lock(&lookup);
        pthread_mutex_unlock(&lookup);
    }
    for (size_t i = 0; addresses[i] != NULL; i++) {
        int rc = real(addresses[i], service, hints, list);
        if (rc != 0)
            return rc;
        while (*list != NULL)
            list = &(*list)->ai_next;
    }
    return 0;
}

/* A listener on 127.0.0.3 at the fixture's port whose queue is full: connects stay without an
 * answer. */
static void make_full_listener(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)f.port)};
    int on = 1;

    inet_pton(AF_INET, "127.0.0.3", &at.sin_addr);
    full_fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(full_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    TEST_ASSERT_EQUAL(0, bind(full_fd, (struct sockaddr *)&at, sizeof at));
    TEST_ASSERT_EQUAL(0, listen(full_fd, 0));
    for (size_t i = 0; i < MF_COUNT(fillers); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&at, sizeof at);
    }
    full_port = f.port;
}

static void drop_full_listener(void)
{
    for (size_t i = 0; i < MF_COUNT(fillers); i++)
        close(fillers[i]);
    close(full_fd);
}

static void on_connected(void *arg)
{
    struct side *s = arg;

    s->state++;
    SIDE_CALL(s, net_close(s->c, 0));
}

static struct side *dial(const char *host, int port, int64_t timeout_ns, bool spread)
{
    static const struct net_handler h = {side_echo, NULL, NULL, side_closed};
    static struct side s;
    struct net_dial_to to = {
        .host = host, .port = port, .timeout_ns = timeout_ns, .spread = spread};
    struct mf_error e;

    memset(&s, 0, sizeof s);
    s.f = &f;
    f.open++;
    f.peer_done = true;
    SIDE_CALL(&s, TEST_ASSERT_EQUAL(0, net_dial(&s.c, f.loop, &to, on_connected, &h, &s, &e)));
    alarm(FIXTURE_ALARM_S);
    loop_run(f.loop);
    alarm(0);
    TEST_ASSERT_EQUAL(1, s.closed);
    return &s;
}

static void test_dial_in_time_connects_and_forgets_the_limit(void)
{
    const struct side *s = dial("127.0.0.1", f.port, 60 * CLOCK_S, false);

    TEST_ASSERT_EQUAL(1, s->state);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, s->why);
    fixture_close(&f);
}

static void test_dial_refused_names_the_address_and_the_reason(void)
{
    char text[120];
    int port = f.port;

    net_listener_close(f.listener);
    f.listener = NULL;
    const struct side *s = dial("127.0.0.1", port, CLOCK_S, false);
    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    snprintf(text, sizeof text, "dial tcp 127.0.0.1:%d: connect: Connection refused", port);
    TEST_ASSERT_EQUAL_STRING(text, s->text);
    fixture_close(&f);
}

static void test_dial_of_an_unknown_name_says_which(void)
{
    const struct side *s = dial("none.test", f.port, 60 * CLOCK_S, false);

    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    TEST_ASSERT_EQUAL_STRING("dial tcp: lookup none.test: Name or service not known", s->text);
    fixture_close(&f);
}

static void test_dial_without_an_answer_ends_at_the_limit(void)
{
    char text[120];

    make_full_listener();
    const struct side *s = dial("127.0.0.3", full_port, 50 * CLOCK_MS, false);
    TEST_ASSERT_EQUAL(0, s->state);
    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    snprintf(text, sizeof text, "dial tcp 127.0.0.3:%d: i/o timeout", full_port);
    TEST_ASSERT_EQUAL_STRING(text, s->text);
    s = dial("full.test", full_port, 50 * CLOCK_MS, true); /* each address gets its share */
    TEST_ASSERT_EQUAL_STRING(text, s->text);
    drop_full_listener();
    fixture_close(&f);
}

/* A dead first address must not use up the time of the second. */
static void test_dial_leaves_time_for_the_next_address(void)
{
    make_full_listener();
    const struct side *s = dial("half.test", full_port, 500 * CLOCK_MS, false);
    TEST_ASSERT_EQUAL(1, s->state);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, s->why);
    for (int i = 0; i < 8; i++) /* in whatever order */
        TEST_ASSERT_EQUAL(1, dial("half.test", full_port, 500 * CLOCK_MS, true)->state);
    drop_full_listener();
    fixture_close(&f);
}

static void test_dial_limit_covers_the_lookup(void)
{
    pthread_mutex_lock(&lookup);
    const struct side *s = dial("slow.test", f.port, 20 * CLOCK_MS, false);
    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    TEST_ASSERT_EQUAL_STRING("dial tcp: lookup slow.test: i/o timeout", s->text);
    pthread_mutex_unlock(&lookup);
    fixture_close(&f); /* the lookup ends by itself, without its connection */
}

/* A resolver that does not answer gets no second question, however often we dial. */
static void test_dial_takes_over_the_lookup_of_an_earlier_one(void)
{
    lookups = 0;
    pthread_mutex_lock(&lookup);
    for (int i = 0; i < 5; i++)
        TEST_ASSERT_EQUAL(NET_CLOSED_RESET, dial("slow.test", f.port, 20 * CLOCK_MS, false)->why);
    TEST_ASSERT_LESS_OR_EQUAL(1, lookups); /* perhaps its worker has not begun yet */
    pthread_mutex_unlock(&lookup);
    TEST_ASSERT_EQUAL(1, dial("slow.test", f.port, 60 * CLOCK_S, false)->state);
    TEST_ASSERT_EQUAL(1, lookups);
    fixture_close(&f);
}

static void test_keep_alive_reaches_the_kernel(void)
{
    static const struct net_handler h = {side_echo, NULL, NULL, side_closed};
    static struct side s;
    struct net_dial_to to = {.host = "127.0.0.1", .port = f.port};
    struct mf_error e;

    memset(&s, 0, sizeof s);
    s.f = &f;
    f.open++;
    f.peer_done = true;
    TEST_ASSERT_EQUAL(0, net_dial(&s.c, f.loop, &to, on_connected, &h, &s, &e));
    net_conn_keep_alive(s.c, 5, 2, 3);
    int most = 0, value = 0;
    for (int fd = 3; fd < 64; fd++) {
        socklen_t len = sizeof value;
        if (getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &len) == 0 && value > most)
            most = value;
    }
    TEST_ASSERT_EQUAL(11000, most);
    loop_run(f.loop);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_dial_in_time_connects_and_forgets_the_limit);
    RUN_TEST(test_dial_refused_names_the_address_and_the_reason);
    RUN_TEST(test_dial_of_an_unknown_name_says_which);
    RUN_TEST(test_dial_without_an_answer_ends_at_the_limit);
    RUN_TEST(test_dial_leaves_time_for_the_next_address);
    RUN_TEST(test_dial_limit_covers_the_lookup);
    RUN_TEST(test_dial_takes_over_the_lookup_of_an_earlier_one);
    RUN_TEST(test_keep_alive_reaches_the_kernel);
    return UNITY_END();
}
