/* test_net_connect.c: outgoing connections, those that fail, and names with several addresses, to
 * connect to and to listen on. */
#include "net/net.h"

#include "support/net_fixture.h"
#include "unity.h"

#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

static struct fixture f;

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* Stands before the system's: of the addresses of "three.test" the first cannot be reached, nobody
 * listens at the second, the third is right.  "both.test" is both kinds of localhost. */
int resolve(const char *name, const char *service, const struct addrinfo *hints,
            struct addrinfo **list) __asm__("getaddrinfo");

int resolve(const char *name, const char *service, const struct addrinfo *hints,
            struct addrinfo **list)
{
    static const char *const three[] = {"255.255.255.255", "127.0.0.2", "127.0.0.1", NULL};
    static const char *const both[] = {"::1", "127.0.0.1", NULL};
    const char *const *addresses = strcmp(name, "both.test") == 0 ? both : three;
    resolver real = (resolver)(uintptr_t)dlsym(RTLD_NEXT, "getaddrinfo");

    if (addresses == three && strcmp(name, "three.test") != 0)
        return real(name, service, hints, list);
    if (hints->ai_flags & AI_NUMERICHOST)
        return EAI_NONAME;
    for (size_t i = 0; addresses[i] != NULL; i++) {
        int rc = real(addresses[i], service, hints, list);
        if (rc != 0)
            return rc;
        while (*list != NULL)
            list = &(*list)->ai_next;
    }
    return 0;
}

static void on_connected(void *arg)
{
    struct side *s = arg;

    s->state++;
    TEST_ASSERT_EQUAL(f.port, net_conn_port(s->c));
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", net_conn_ip(s->c));
}

static size_t bytes_answered(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (n < 5)
        return 0;
    TEST_ASSERT_EQUAL_MEMORY("hello", p, 5);
    s->shown += n;
    SIDE_CALL(s, net_close(s->c, 0));
    return n;
}

/* Dials, and runs until the connection has ended. */
static struct side *dial(const char *host, int port, bool close_at_once)
{
    static const struct net_handler h = {bytes_answered, NULL, NULL, side_closed};
    static struct side s;
    struct mf_error e;

    memset(&s, 0, sizeof s);
    s.f = &f;
    f.open++;
    f.peer_done = true;
    SIDE_CALL(
        &s, TEST_ASSERT_EQUAL(0, net_connect(&s.c, f.loop, host, port, on_connected, &h, &s, &e)));
    SIDE_CALL(&s, TEST_ASSERT_EQUAL(0, net_write(s.c, "hello", 5))); /* before it is connected */
    if (close_at_once)
        SIDE_CALL(&s, net_close(s.c, 1000));
    alarm(FIXTURE_ALARM_S);
    loop_run(f.loop);
    alarm(0);
    TEST_ASSERT_EQUAL(1, s.closed);
    return &s;
}

static void test_connect_sends_what_was_written_before(void)
{
    const struct side *s = dial("127.0.0.1", f.port, false);

    TEST_ASSERT_EQUAL(1, s->state);
    TEST_ASSERT_EQUAL(5, s->shown);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, s->why);
    fixture_close(&f);
}

static void test_connect_by_name_tries_every_address(void)
{
    const struct side *s = dial("three.test", f.port, false);

    TEST_ASSERT_EQUAL(1, s->state);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, s->why);
    fixture_close(&f);
}

static void test_listen_by_name_binds_the_address_of_ipv4(void)
{
    struct net_listener *l = NULL;
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, net_listen(&l, f.loop, "both.test", -1, NULL, NULL, &e));
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", net_listener_host(l));
    net_listener_close(l);
    fixture_close(&f);
}

static void test_connect_refused_or_unknown_is_reported_by_closed(void)
{
    const struct side *s;
    char label[80] = "";
    int port = f.port;

    net_listener_close(f.listener); /* nobody listens there now */
    f.listener = NULL;
    s = dial("127.0.0.1", port, false);
    TEST_ASSERT_EQUAL(0, s->state);
    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    TEST_ASSERT_EQUAL_STRING("connect: Connection refused", s->text);
    memset(label, 'x', 70); /* longer than a label may be: fails without asking the network */
    s = dial(label, port, false);
    TEST_ASSERT_EQUAL(NET_CLOSED_RESET, s->why);
    TEST_ASSERT_NOT_NULL(strstr(s->text, "connect: "));
    fixture_close(&f);
}

static void test_close_while_connecting_reports_local(void)
{
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, dial("127.0.0.1", f.port, true)->why);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, dial("three.test", f.port, true)->why);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_connect_sends_what_was_written_before);
    RUN_TEST(test_connect_by_name_tries_every_address);
    RUN_TEST(test_listen_by_name_binds_the_address_of_ipv4);
    RUN_TEST(test_connect_refused_or_unknown_is_reported_by_closed);
    RUN_TEST(test_close_while_connecting_reports_local);
    return UNITY_END();
}
