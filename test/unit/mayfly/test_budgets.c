/* test_budgets.c: memory and descriptors that the host allows a server. */
#include "mayfly_fixture.h"

void setUp(void)
{
    scratch_make();
}
void tearDown(void)
{
    scratch_remove();
}

static struct mayfly *start_with(const struct mayfly_options *o)
{
    struct mayfly *m = NULL;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, o, &err), err.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait_ready(m, A_MINUTE, &err), err.text);
    return m;
}

/* Forty descriptors: sixteen are kept for files, twenty-four clients can connect. */
static void test_connections_beyond_the_descriptors_are_refused(void)
{
    static struct fd_client c[24], late;
    struct mayfly_options o = {.size = sizeof o, .config = "", .max_files = 40};
    struct mayfly *m = start_with(&o);

    for (int i = 0; i < 24; i++)
        connect_client(m, &c[i]);
    late = (struct fd_client){.fd = mayfly_connect(m, &err)};
    TEST_ASSERT_GREATER_OR_EQUAL(0, late.fd);
    TEST_ASSERT_TRUE(fd_wait(&late, "maximum connections exceeded"));
    close(late.fd);
    close(c[0].fd);
    /* The place of one that left is free, as soon as the server has seen it. */
    for (int tries = 0; tries < 1000; tries++) {
        struct mayfly_statistics s = {.size = sizeof s};
        TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_stats(m, &s, &err), err.text);
        if (s.connections < 24)
            break;
    }
    connect_client(m, &c[0]);
    for (int i = 0; i < 24; i++)
        close(c[i].fd);
    mayfly_free(m);
}

/* Many streams, few descriptors: files that nobody uses give theirs back. */
static void test_files_of_many_streams_stay_within_the_descriptors(void)
{
    static struct fd_client c;
    char config[512], name[16];
    struct mayfly_options o = {
        .size = sizeof o, .config = with_store(config, "s", ""), .max_files = 64};
    unsigned before = count_entries("/proc/self/fd");
    struct mayfly *m = start_with(&o);

    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    for (int i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "b%d", i);
        TEST_ASSERT_TRUE(fd_make_bucket(&c, name));
        TEST_ASSERT_TRUE(fd_put_key(&c, name, "key", "value", "1h"));
    }
    unsigned used = count_entries("/proc/self/fd") - before;
    TEST_ASSERT_LESS_OR_EQUAL(64, used);
    for (int i = 0; i < 80; i++) { /* and open again when they are used */
        snprintf(name, sizeof name, "b%d", i);
        TEST_ASSERT_TRUE(fd_put_key(&c, name, "key", "again", "1h"));
    }
    close(c.fd);
    mayfly_free(m);
}

/* Half of eight megabytes is for streams in memory. */
static void test_messages_beyond_the_memory_are_refused(void)
{
    static struct fd_client c;
    static char body[65536];
    char config[512];
    struct mayfly_options o = {
        .size = sizeof o, .config = with_store(config, "s", ""), .max_memory = 8u << 20};
    struct mayfly *m = start_with(&o);
    int stored = 0;

    memset(body, 'x', sizeof body - 1);
    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_request(&c, "$JS.API.STREAM.CREATE.M",
                                "{\"name\":\"M\",\"subjects\":[\"m\"],\"storage\":\"memory\"}",
                                "\"created\""));
    for (bool refused = false; !refused && stored < 200; stored += !refused) {
        TEST_ASSERT_TRUE(fd_put(&c, "PUB m _R %zu\r\n", strlen(body)) &&
                         fd_send(&c, body, strlen(body)) && fd_put(&c, "\r\n"));
        TEST_ASSERT_TRUE(fd_wait(&c, "MSG _R"));
        while (strstr(c.in, "\r\n") == NULL)
            TEST_ASSERT_TRUE(fd_fill(&c));
        c.in[c.len] = '\0';
        refused = strstr(c.in, "\"err_code\"") != NULL;
        TEST_ASSERT_TRUE(fd_wait(&c, "stream\":\"M\""));
    }
    TEST_ASSERT_GREATER_THAN(40, stored);
    TEST_ASSERT_LESS_THAN(66, stored);
    TEST_ASSERT_TRUE(fd_request(&c, "$JS.API.STREAM.CREATE.L",
                                "{\"name\":\"L\",\"storage\":\"memory\",\"max_bytes\":4200000}",
                                "\"err_code\":10028")); /* nor may a stream reserve more */
    /* What is refused harms nobody: the rest of the server works. */
    TEST_ASSERT_TRUE(fd_make_bucket(&c, "disk"));
    close(c.fd);
    mayfly_free(m);
}

/* Publishes to new subjects without waiting, a thousand at a time; false: the last was refused. */
static bool publish_thousand(struct fd_client *c, int from)
{
    static char lines[64 << 10];
    int n = 0;

    for (int i = from; i < from + 999; i++)
        n += snprintf(lines + n, sizeof lines - (size_t)n, "PUB f.%d 0\r\n\r\n", i);
    TEST_ASSERT_TRUE(fd_send(c, lines, (size_t)n));
    TEST_ASSERT_TRUE(fd_put(c, "PUB f.%d _R 0\r\n\r\n", from + 999));
    TEST_ASSERT_TRUE(fd_wait(c, "MSG _R"));
    while (strstr(c->in, "}\r\n") == NULL)
        TEST_ASSERT_TRUE(fd_fill(c));
    c->in[c->len] = '\0';
    bool refused = strstr(c->in, "\"err_code\":10023") != NULL;
    TEST_ASSERT_TRUE(fd_wait(c, "stream\":\"F\""));
    return !refused;
}

/* Subjects of streams on disk are kept in memory: they count to the half for streams in memory. */
static void test_an_index_beyond_the_memory_is_refused_until_it_is_purged(void)
{
    static struct fd_client c;
    char config[512];
    struct mayfly_options o = {
        .size = sizeof o, .config = with_store(config, "s", ""), .max_memory = 8u << 20};
    struct mayfly *m = start_with(&o);
    int stored = 0;

    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_request(&c, "$JS.API.STREAM.CREATE.F",
                                "{\"name\":\"F\",\"subjects\":[\"f.*\"]}", "\"created\""));
    while (stored < 200000 && publish_thousand(&c, stored))
        stored += 1000;
    TEST_ASSERT_GREATER_THAN(20000, stored);
    TEST_ASSERT_LESS_THAN(100000, stored);
    TEST_ASSERT_TRUE(fd_request(&c, "$JS.API.STREAM.PURGE.F", "", "\"success\":true"));
    TEST_ASSERT_TRUE(publish_thousand(&c, 0)); /* what is purged needs no memory */
    close(c.fd);
    mayfly_free(m);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_connections_beyond_the_descriptors_are_refused);
    RUN_TEST(test_files_of_many_streams_stay_within_the_descriptors);
    RUN_TEST(test_messages_beyond_the_memory_are_refused);
    RUN_TEST(test_an_index_beyond_the_memory_is_refused_until_it_is_purged);
    return UNITY_END();
}
