/* test_unix.c: a socket of the file system: mode, remains of a killed server, removal. */
#include "mayfly_fixture.h"

#include <sys/socket.h>
#include <sys/un.h>

static char path[100], config[512];

void setUp(void)
{
    scratch_make();
    snprintf(path, sizeof path, "%s/nats.sock", scratch);
}
void tearDown(void)
{
    scratch_remove();
}

static int connect_unix(void)
{
    struct sockaddr_un su = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(su.sun_path, sizeof su.sun_path, "%s", path);
    TEST_ASSERT_TRUE(fd >= 0);
    if (connect(fd, (struct sockaddr *)&su, sizeof su) == 0)
        return fd;
    close(fd);
    return -1;
}

static void test_clients_connect_through_the_file_and_it_goes_with_the_server(void)
{
    static struct fd_client c;
    char url[256];
    struct stat st;

    snprintf(config, sizeof config, "listen: \"unix:%s\"\nunix_socket: { mode: \"0640\" }", path);
    struct mayfly *m = start_server(config);
    TEST_ASSERT_EQUAL(0, mayfly_address(m, MAYFLY_UNIX, url, sizeof url, &err));
    TEST_ASSERT_EQUAL_STRING(path, url + strlen("unix:"));
    TEST_ASSERT_EQUAL(MAYFLY_NOTFOUND, mayfly_address(m, MAYFLY_CLIENTS, url, 256, &err));
    TEST_ASSERT_EQUAL(0, stat(path, &st));
    TEST_ASSERT_EQUAL_HEX(0640, st.st_mode & 0777);
    TEST_ASSERT_TRUE(fd_login(&c, connect_unix()));
    close(c.fd);
    TEST_ASSERT_EQUAL(MAYFLY_UNSUPPORTED, mayfly_reload(m, "", &err)); /* it cannot move */
    mayfly_free(m);
    TEST_ASSERT_EQUAL(-1, stat(path, &st));
}

static void test_a_port_beside_the_file_is_open_if_it_is_named(void)
{
    char url[64];

    snprintf(config, sizeof config, "port: -1\nunix_socket: { path: \"%s\" }", path);
    struct mayfly *m = start_server(config);
    struct stat st;
    TEST_ASSERT_GREATER_THAN(0, mayfly_address(m, MAYFLY_CLIENTS, url, sizeof url, &err));
    TEST_ASSERT_EQUAL(0, stat(path, &st));
    TEST_ASSERT_EQUAL_HEX(0600, st.st_mode & 0777);
    mayfly_free(m);
}

/* kill -9 leaves the file; a second server must not take it from a living one. */
static void test_remains_are_replaced_and_a_served_file_is_not(void)
{
    struct sockaddr_un su = {.sun_family = AF_UNIX};
    struct mayfly_options o = {.size = sizeof o, .config = config};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    static struct fd_client c;
    struct mayfly *m, *second;

    snprintf(su.sun_path, sizeof su.sun_path, "%s", path);
    TEST_ASSERT_EQUAL(0, bind(fd, (struct sockaddr *)&su, sizeof su));
    close(fd); /* nobody serves it now */
    snprintf(config, sizeof config, "listen: \"unix:%s\"", path);
    m = start_server(config);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&second, &o, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_wait_ready(second, A_MINUTE, &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, path), err.text);
    mayfly_free(second);
    TEST_ASSERT_TRUE(fd_login(&c, connect_unix()));
    close(c.fd);
    mayfly_free(m);
}

static void test_a_file_that_is_no_socket_is_kept(void)
{
    struct mayfly_options o = {.size = sizeof o, .config = config};
    FILE *f = fopen(path, "we");
    struct stat st;
    struct mayfly *m;

    TEST_ASSERT_NOT_NULL(f);
    fputs("mine", f);
    fclose(f);
    snprintf(config, sizeof config, "listen: \"unix:%s\"", path);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_BUSY, mayfly_wait_ready(m, A_MINUTE, &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, "no socket"), err.text);
    mayfly_free(m);
    TEST_ASSERT_EQUAL(0, stat(path, &st));
    TEST_ASSERT_EQUAL(4, st.st_size);
}

static void test_wrong_settings_are_refused(void)
{
    static const char *const wrong[] = {
        "listen: \"unix:\"",
        "unix_socket: { path: \"/tmp/x\", mode: \"0999\" }",
        "unix_socket: { path: \"/tmp/x\", mode: \"rw\" }",
        "unix_socket: { path: \"/tmp/x\", nonsense: 1 }",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct mayfly_options o = {.size = sizeof o, .config = wrong[i]};
        struct mayfly *m;
        TEST_ASSERT_EQUAL_MESSAGE(MAYFLY_INVAL, mayfly_start(&m, &o, &err), wrong[i]);
    }
    snprintf(config, sizeof config, "unix_socket: { path: \"%s\", owner: \"nobody-of-this-name\" }",
             path);
    struct mayfly_options o = {.size = sizeof o, .config = config};
    struct mayfly *m;
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    TEST_ASSERT_EQUAL(MAYFLY_INVAL, mayfly_wait_ready(m, A_MINUTE, &err));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(err.text, "nobody-of-this-name"), err.text);
    mayfly_free(m);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_clients_connect_through_the_file_and_it_goes_with_the_server);
    RUN_TEST(test_a_port_beside_the_file_is_open_if_it_is_named);
    RUN_TEST(test_remains_are_replaced_and_a_served_file_is_not);
    RUN_TEST(test_a_file_that_is_no_socket_is_kept);
    RUN_TEST(test_wrong_settings_are_refused);
    return UNITY_END();
}
