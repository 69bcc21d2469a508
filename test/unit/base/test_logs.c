/* test_logs.c: several logs in one process, each of its own threads. */
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unity.h"

void setUp(void)
{
}
void tearDown(void)
{
}

struct heard {
    struct log *log;
    const char *name;
    char all[4096];
    enum log_level level;
};

static void hear(void *arg, enum log_level level, const char *line)
{
    struct heard *h = arg;

    h->level = level;
    size_t n = strlen(h->all);
    snprintf(h->all + n, sizeof h->all - n, "%s\n", line);
}

static void *speak(void *arg)
{
    struct heard *h = arg;
    struct mf_error e;

    (void)log_use(h->log);
    if (log_open(&(struct log_options){.guest = true, .call = hear, .call_arg = h}, &e) != 0)
        return h;
    for (int i = 0; i < 20; i++)
        log_warn("%s %d", h->name, i);
    log_debug("%s is not told this", h->name);
    return NULL;
}

/* Two servers in a process: each hears its own lines alone. */
static void test_two_threads_with_logs_of_their_own_do_not_mix(void)
{
    static struct heard h[2] = {{.name = "first"}, {.name = "second"}};
    pthread_t t[2];
    void *failed;

    for (int i = 0; i < 2; i++) {
        TEST_ASSERT_NOT_NULL(h[i].log = log_new());
        TEST_ASSERT_EQUAL(0, pthread_create(&t[i], NULL, speak, &h[i]));
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], &failed);
        TEST_ASSERT_NULL(failed);
        log_release(h[i].log);
        TEST_ASSERT_EQUAL(LOG_WARN_, h[i].level);
        TEST_ASSERT_NOT_NULL(strstr(h[i].all, h[i].name));
        TEST_ASSERT_NOT_NULL(strstr(h[i].all, " 19\n"));
        TEST_ASSERT_NULL(strstr(h[i].all, h[1 - i].name));
        TEST_ASSERT_NULL(strstr(h[i].all, "not told"));
    }
}

/* A program that asked for no lines finds none on its standard error. */
static void test_a_guest_without_a_call_writes_nothing(void)
{
    struct mf_error e;
    FILE *f = tmpfile();
    int before = dup(STDERR_FILENO);
    struct stat st;

    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL(STDERR_FILENO, dup2(fileno(f), STDERR_FILENO));
    TEST_ASSERT_EQUAL(0, log_open(&(struct log_options){.guest = true}, &e));
    log_error("nobody asked");
    log_close();
    dup2(before, STDERR_FILENO);
    close(before);
    TEST_ASSERT_EQUAL(0, fstat(fileno(f), &st));
    fclose(f);
    TEST_ASSERT_EQUAL(0, st.st_size);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_two_threads_with_logs_of_their_own_do_not_mix);
    RUN_TEST(test_a_guest_without_a_call_writes_nothing);
    return UNITY_END();
}
