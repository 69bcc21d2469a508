/* test_idle.c: the cost of an idle server: it does not wake up, and in a build without sanitizers
 * it adds at most 3 MB to the process. */
#include "mayfly_fixture.h"

#include <poll.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* 3 MiB in an optimised build; without, the code that runs is a third larger. */
#ifdef __OPTIMIZE__
#define MOST_KIB 3072
#else
#define MOST_KIB 4096
#endif
#define WINDOW_MS    2500 /* longer than the period of any timer of a busy server */
#define WINDOWS_MOST 24

void setUp(void)
{
    scratch_make();
}
void tearDown(void)
{
    scratch_remove();
}

static long own_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long size, resident, shared;

    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL(3, fscanf(f, "%ld %ld %ld", &size, &resident, &shared));
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long switches_of(const char *tid)
{
    char path[64], line[128];
    long n = 0, one;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/status", tid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &one) == 1)
            n = one;
    if (f != NULL)
        fclose(f);
    return n;
}

/* How often threads of the server went to sleep: threads with higher numbers than `before`. */
static long count_sleeps(long before)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e;
    long n = 0;

    TEST_ASSERT_NOT_NULL(d);
    while ((e = readdir(d)) != NULL)
        if (atol(e->d_name) > before)
            n += switches_of(e->d_name);
    closedir(d);
    return n;
}

static long newest_thread(void)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e;
    long n = 0;

    TEST_ASSERT_NOT_NULL(d);
    while ((e = readdir(d)) != NULL)
        n = atol(e->d_name) > n ? atol(e->d_name) : n;
    closedir(d);
    return n;
}

/* Nothing arrives in this time: a ping would be a wake-up, too. */
static void pass_window(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    TEST_ASSERT_EQUAL(0, poll(&p, 1, WINDOW_MS));
}

static void test_an_idle_server_does_not_wake_up_and_is_small(void)
{
    char config[512];
    long before = newest_thread(), kib = own_kib(), slept, now;
    struct mayfly *m = start_server(with_store(config, "s", ""));
    static struct fd_client c;
    int windows = 0;

    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_make_bucket(&c, "b"));
    TEST_ASSERT_TRUE(fd_put(&c, "PUB $KV.b.key _R 5\r\nvalue\r\n") && fd_wait(&c, "\"seq\":1"));
    now = count_sleeps(before);
    do { /* it comes to rest */
        slept = now;
        pass_window(c.fd);
        now = count_sleeps(before);
    } while (now != slept && ++windows < WINDOWS_MOST);
    kib = own_kib() - kib;
    printf("%d windows until it rested, %ld KiB more\n", windows, kib);
    TEST_ASSERT_EQUAL(slept, now);
    pass_window(c.fd);
    TEST_ASSERT_EQUAL(now, count_sleeps(before)); /* and stays there */
    if (!SANITIZED)
        TEST_ASSERT_LESS_OR_EQUAL(MOST_KIB, kib);
    /* Nothing was lost by the rest: the next request is served. */
    TEST_ASSERT_TRUE(fd_put_key(&c, "b", "key", "again", "1s"));
    TEST_ASSERT_TRUE(fd_put(&c, "SUB $KV.b.key 2\r\n"));
    close(c.fd);
    mayfly_free(m);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_idle_server_does_not_wake_up_and_is_small);
    return UNITY_END();
}
