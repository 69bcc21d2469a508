/* mayfly_fixture.h: servers in this process, each with a store in a scratch folder. */
#ifndef TEST_MAYFLY_FIXTURE_H
#define TEST_MAYFLY_FIXTURE_H

#include "mayfly.h"

#include "support/fd_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unity.h"

#define A_MINUTE 60000

static char scratch[64];
static struct mayfly_error err;

static void scratch_make(void)
{
    snprintf(scratch, sizeof scratch, "/tmp/mayfly-test-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(scratch));
}
static void scratch_remove(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    TEST_ASSERT_EQUAL(0, system(command));
}

/* A configuration with JetStream in SCRATCH/name. */
__attribute__((unused)) static const char *with_store(char dst[512], const char *name,
                                                      const char *more)
{
    snprintf(dst, 512, "jetstream: { store_dir: \"%s/%s\" }\n%s", scratch, name, more);
    return dst;
}

__attribute__((unused)) static struct mayfly *start_server(const char *config)
{
    struct mayfly_options o = {.size = sizeof o, .config = config};
    struct mayfly *m = NULL;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait_ready(m, A_MINUTE, &err), err.text);
    return m;
}

__attribute__((unused)) static void connect_client(struct mayfly *m, struct fd_client *c)
{
    int fd = mayfly_connect(m, &err);

    TEST_ASSERT_GREATER_OR_EQUAL_MESSAGE(0, fd, err.text);
    TEST_ASSERT_TRUE(fd_login(c, fd));
}

/* The entries of a folder of /proc/self. */
__attribute__((unused)) static unsigned count_entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned n = 0;

    TEST_ASSERT_NOT_NULL(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

#endif
