/* test_mayfly.c: a server inside this program: start, stop, connections, addresses, reload, errors.
 */
#include "mayfly_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

void setUp(void)
{
    scratch_make();
}
void tearDown(void)
{
    scratch_remove();
}

static void test_a_client_inside_the_process_needs_no_port(void)
{
    struct mayfly *m = start_server("");
    static struct fd_client a, b;
    char url[64];

    TEST_ASSERT_EQUAL(MAYFLY_NOTFOUND, mayfly_address(m, MAYFLY_CLIENTS, url, sizeof url, &err));
    connect_client(m, &a);
    connect_client(m, &b);
    TEST_ASSERT_TRUE(fd_put(&a, "SUB hello 1\r\nPING\r\n"));
    TEST_ASSERT_TRUE(fd_wait(&a, "PONG"));
    TEST_ASSERT_TRUE(fd_put(&b, "PUB hello 5\r\nworld\r\n"));
    TEST_ASSERT_TRUE(fd_wait(&a, "MSG hello 1 5"));
    TEST_ASSERT_TRUE(fd_wait(&a, "world"));
    mayfly_free(m);
    TEST_ASSERT_FALSE(fd_wait(&a, "nothing")); /* end-of-file */
    close(a.fd);
    close(b.fd);
}

static void test_a_connection_before_the_server_is_ready_is_served_later(void)
{
    struct mayfly_options o = {.size = sizeof o, .config = ""};
    struct mayfly *m;
    static struct fd_client c;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    connect_client(m, &c); /* nobody waited */
    close(c.fd);
    mayfly_free(m);
}

/* A key that expires, its marker, and statistics. */
static void test_a_bucket_whose_keys_expire_works_inside_the_process(void)
{
    struct mayfly_statistics s = {.size = sizeof s};
    char config[512];
    struct mayfly *m = start_server(with_store(config, "kv", ""));
    static struct fd_client c;

    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_make_bucket(&c, "sessions"));
    TEST_ASSERT_TRUE(fd_put(&c, "SUB $KV.sessions.> 2\r\n"));
    TEST_ASSERT_TRUE(fd_put_key(&c, "sessions", "alice", "here", "1s"));
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_stats(m, &s, &err), err.text);
    TEST_ASSERT_EQUAL(1, s.streams);
    TEST_ASSERT_EQUAL(1, s.stored_messages);
    TEST_ASSERT_EQUAL(1, s.connections);
    TEST_ASSERT_TRUE(s.in_messages >= 2);
    TEST_ASSERT_TRUE(
        fd_request(&c, "$JS.API.DIRECT.GET.KV_sessions.$KV.sessions.alice", "", "here"));
    close(c.fd);
    mayfly_free(m);
    m = start_server(config); /* the bucket is still there */
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_stats(m, &s, &err), err.text);
    TEST_ASSERT_EQUAL(1, s.streams);
    mayfly_free(m);
}

static void test_ports_are_open_only_if_they_are_asked_for(void)
{
    struct mayfly *m = start_server("port: -1\nhttp_port: -1\n");
    char url[64], small[4];

    int port = mayfly_address(m, MAYFLY_CLIENTS, url, sizeof url, &err);
    TEST_ASSERT_GREATER_THAN_MESSAGE(0, port, err.text);
    TEST_ASSERT_EQUAL_STRING_LEN("nats://127.0.0.1:", url, 17);
    TEST_ASSERT_EQUAL(port, atoi(url + 17));
    TEST_ASSERT_GREATER_THAN(0, mayfly_address(m, MAYFLY_MONITOR, url, sizeof url, &err));
    TEST_ASSERT_EQUAL_STRING_LEN("http://127.0.0.1:", url, 17);
    TEST_ASSERT_EQUAL(MAYFLY_LIMIT, mayfly_address(m, MAYFLY_CLIENTS, small, sizeof small, &err));
    TEST_ASSERT_EQUAL(MAYFLY_NOTFOUND, mayfly_address(m, MAYFLY_WEBSOCKET, url, 64, &err));
    TEST_ASSERT_EQUAL(MAYFLY_INVAL, mayfly_address(m, 99, url, sizeof url, &err));
    mayfly_free(m);
}

static void expect_refusal(const struct mayfly_options *o, const char *text)
{
    struct mayfly *m = (void *)scratch;

    int rv = mayfly_start(&m, o, &err);
    TEST_ASSERT_TRUE(rv == MAYFLY_INVAL || rv == MAYFLY_DENIED); /* the second: an include */
    TEST_ASSERT_EQUAL(rv, err.code);
    TEST_ASSERT_TRUE(rv == MAYFLY_DENIED || o->size < sizeof *o || m == NULL);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, text), err.text);
}

static void test_wrong_options_are_errors_with_their_place(void)
{
    static char app[] = "app", help_flag[] = "--help", bad_flag[] = "--nonsense";
    char *help[] = {app, help_flag}, *unknown[] = {app, bad_flag}, *none[] = {app, NULL};
    const struct mayfly_options wrong[] = {
        {.size = sizeof *wrong, .config = "port: 4222\nmax_payload: many\n"},
        {.size = sizeof *wrong, .config = "jetstream {"},
        {.size = sizeof *wrong, .config = "include \"other.conf\""},
        {.size = sizeof *wrong, .config = "", .config_file = "a.conf"},
        {.size = sizeof *wrong, .argc = 2, .argv = help},
        {.size = sizeof *wrong, .argc = 2, .argv = unknown},
        {.size = sizeof *wrong, .argc = 2, .argv = none},
        {.size = sizeof *wrong, .argc = 2},
        {.size = sizeof *wrong, .max_memory = 1000},
        {.size = 8},
    };
    static const char *const texts[] = {
        "configuration:2:", "configuration:1:", "include", "file",       "mayflyd",
        "nonsense",         "argv[1]",          "argv",    "at least 8", "size"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refusal(&wrong[i], texts[i]);
    TEST_ASSERT_EQUAL(MAYFLY_INVAL, mayfly_start(NULL, NULL, NULL));
}

static void test_a_missing_file_is_an_error(void)
{
    struct mayfly_options o = {.size = sizeof o, .config_file = "/nowhere/a.conf"};
    struct mayfly *m;

    TEST_ASSERT_NOT_EQUAL(0, mayfly_start(&m, &o, &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, "/nowhere/a.conf"), err.text);
}

static void test_a_busy_store_is_an_error_and_the_first_server_goes_on(void)
{
    char config[512];
    struct mayfly *first = start_server(with_store(config, "one", "")), *second;
    struct mayfly_options o = {.size = sizeof o, .config = config};
    static struct fd_client c;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&second, &o, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_wait_ready(second, A_MINUTE, &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, "in use by this process"), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_wait(second, 0, &err)); /* the story stays */
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_connect(second, &err));
    mayfly_free(second);
    connect_client(first, &c);
    close(c.fd);
    mayfly_free(first);
}

static void test_a_busy_port_is_an_error(void)
{
    struct mayfly *first = start_server("port: -1"), *second;
    char config[64], url[64];
    struct mayfly_options o = {.size = sizeof o, .config = config};

    snprintf(config, sizeof config, "port: %d",
             mayfly_address(first, MAYFLY_CLIENTS, url, sizeof url, &err));
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&second, &o, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_wait_ready(second, A_MINUTE, &err));
    mayfly_free(second);
    mayfly_free(first);
}

static void test_a_wait_ends_at_its_time(void)
{
    struct mayfly *m = start_server("");

    TEST_ASSERT_EQUAL(MAYFLY_TIMEOUT, mayfly_wait(m, 0, &err));
    TEST_ASSERT_EQUAL(MAYFLY_TIMEOUT, mayfly_wait(m, 10, NULL));
    mayfly_stop(m, MAYFLY_NOW);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait(m, A_MINUTE, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_CLOSED, mayfly_connect(m, &err));
    TEST_ASSERT_EQUAL(MAYFLY_CLOSED, mayfly_wait_ready(m, 0, &err));
    TEST_ASSERT_EQUAL(MAYFLY_CLOSED, mayfly_reload(m, NULL, &err));
    mayfly_free(m);
    mayfly_free(NULL);
}

/* Clients are told, and the grace period passes, before the server ends. */
static void test_a_drain_tells_the_clients(void)
{
    struct mayfly *m =
        start_server("lame_duck_grace_period: \"10ms\"\nlame_duck_duration: \"30s\"\n");
    static struct fd_client c;

    connect_client(m, &c);
    mayfly_stop(m, MAYFLY_DRAIN);
    TEST_ASSERT_TRUE(fd_wait(&c, "\"ldm\":true"));
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait(m, A_MINUTE, &err), err.text);
    close(c.fd);
    mayfly_free(m);
}

static void test_a_stop_at_once_overtakes_a_drain(void)
{
    struct mayfly *m =
        start_server("lame_duck_grace_period: \"10m\"\nlame_duck_duration: \"1h\"\n");
    static struct fd_client c;

    connect_client(m, &c);
    mayfly_stop(m, MAYFLY_DRAIN);
    TEST_ASSERT_TRUE(fd_wait(&c, "\"ldm\":true"));
    mayfly_stop(m, MAYFLY_NOW);
    mayfly_stop(m, MAYFLY_DRAIN);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait(m, A_MINUTE, &err), err.text);
    close(c.fd);
    mayfly_free(m);
}

static void test_a_reload_replaces_the_whole_text_or_nothing(void)
{
    struct mayfly *m = start_server("max_payload: 1000\n");
    static struct fd_client c;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_reload(m, "max_payload: 2000\n", &err), err.text);
    connect_client(m, &c);
    close(c.fd);
    TEST_ASSERT_EQUAL(MAYFLY_INVAL, mayfly_reload(m, "max_payload: many\n", &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, "configuration:1:"), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_UNSUPPORTED, mayfly_reload(m, "port: -1\n", &err));
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_reload(m, NULL, &err), err.text);
    int fd = mayfly_connect(m, &err);
    c = (struct fd_client){.fd = fd};
    TEST_ASSERT_TRUE(fd_wait(&c, "\"max_payload\":2000"));
    close(fd);
    mayfly_free(m);
}

struct lines {
    struct mayfly *m;
    pthread_mutex_t mutex;
    char all[16384];
    int inside; /* what a call in the callback returned */
    bool stop;
};

static void keep_line(void *arg, int level, const char *line)
{
    struct lines *l = arg;
    struct mayfly_statistics s = {.size = sizeof s};

    (void)level;
    pthread_mutex_lock(&l->mutex);
    size_t n = strlen(l->all);
    snprintf(l->all + n, sizeof l->all - n, "%s\n", line);
    if (l->m != NULL && strstr(line, "Reloaded") != NULL) {
        l->inside = mayfly_stats(l->m, &s, NULL);
        mayfly_stop(l->m, MAYFLY_NOW);
    }
    pthread_mutex_unlock(&l->mutex);
}

static void test_the_log_callback_gets_the_lines_and_may_stop_the_server(void)
{
    static struct lines l = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct mayfly_options o = {.size = sizeof o, .config = "", .log = keep_line, .log_arg = &l};
    struct mayfly *m;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait_ready(m, A_MINUTE, &err), err.text);
    pthread_mutex_lock(&l.mutex);
    l.m = m;
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(l.all, "Server is ready\n"), l.all);
    pthread_mutex_unlock(&l.mutex);
    (void)mayfly_reload(m, NULL, &err);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait(m, A_MINUTE, &err), err.text);
    TEST_ASSERT_EQUAL_MESSAGE(MAYFLY_INVAL, l.inside, l.all);
    mayfly_free(m);
}

/* A child that does not exec has no server; its parent's goes on. */
static void test_a_child_of_fork_gets_errors(void)
{
    struct mayfly *m = start_server("");
    static struct fd_client c;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        struct mayfly_error e;
        bool ok = mayfly_connect(m, &e) == MAYFLY_CLOSED && strstr(e.text, "fork") != NULL &&
                  mayfly_wait(m, 0, &e) == MAYFLY_CLOSED;
        mayfly_stop(m, MAYFLY_NOW);
        mayfly_free(m);
        _exit(ok ? 0 : 1);
    }
    TEST_ASSERT_EQUAL(child, waitpid(child, &status, 0));
    TEST_ASSERT_EQUAL(0, status);
    connect_client(m, &c);
    close(c.fd);
    mayfly_free(m);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_client_inside_the_process_needs_no_port);
    RUN_TEST(test_a_connection_before_the_server_is_ready_is_served_later);
    RUN_TEST(test_a_bucket_whose_keys_expire_works_inside_the_process);
    RUN_TEST(test_ports_are_open_only_if_they_are_asked_for);
    RUN_TEST(test_wrong_options_are_errors_with_their_place);
    RUN_TEST(test_a_missing_file_is_an_error);
    RUN_TEST(test_a_busy_store_is_an_error_and_the_first_server_goes_on);
    RUN_TEST(test_a_busy_port_is_an_error);
    RUN_TEST(test_a_wait_ends_at_its_time);
    RUN_TEST(test_a_drain_tells_the_clients);
    RUN_TEST(test_a_stop_at_once_overtakes_a_drain);
    RUN_TEST(test_a_reload_replaces_the_whole_text_or_nothing);
    RUN_TEST(test_the_log_callback_gets_the_lines_and_may_stop_the_server);
    RUN_TEST(test_a_child_of_fork_gets_errors);
    return UNITY_END();
}
