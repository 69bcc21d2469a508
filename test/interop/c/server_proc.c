/* server_proc.c: see server_proc.h. */
#include "server_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unity.h"

#define DEADLINE_MS 60000

void wait_until(const char *what, bool (*test)(void *arg), void *arg)
{
    const struct timespec nap = {.tv_nsec = 2000000};

    for (int ms = 0; ms < DEADLINE_MS; ms += 2) {
        if (test(arg))
            return;
        nanosleep(&nap, NULL);
    }
    TEST_FAIL_MESSAGE(what);
}

static const char *binary(void)
{
    const char *named = getenv("MAYFLYD");

    return named != NULL && named[0] != '\0' ? named : "./mayflyd";
}

bool server_is_mayfly(void)
{
    const char *name = strrchr(binary(), '/');

    return strncmp(name == NULL ? binary() : name + 1, "mayflyd", strlen("mayflyd")) == 0;
}

static void write_config(const struct server_proc *s, const char *config, int port)
{
    char path[160];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/conf", s->dir);
    f = fopen(path, "w");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    (void)fprintf(f, "listen: \"127.0.0.1:%d\"\nports_file_dir: \"%s\"\n%s\n", port > 0 ? port : -1,
                  s->dir, config);
    TEST_ASSERT_EQUAL_INT(0, fclose(f));
}

static bool exited(struct server_proc *s)
{
    int status;

    if (waitpid(s->pid, &status, WNOHANG) != s->pid)
        return false;
    s->pid = 0;
    return true;
}

/* The port out of {"nats":["nats://127.0.0.1:4222",...; 0 when the file is not there yet. */
static bool ports_written(void *arg)
{
    struct server_proc *s = arg;
    char name[PATH_MAX], path[PATH_MAX + 128], text[4096];
    const char *at;
    size_t n;
    FILE *f;

    if (exited(s))
        TEST_FAIL_MESSAGE("the server ended at once; its output is above");
    (void)snprintf(name, sizeof name, "%s", binary());
    (void)snprintf(path, sizeof path, "%s/%s_%d.ports", s->dir, basename(name), (int)s->pid);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    at = strstr(text, "://127.0.0.1:");
    if (at == NULL || strchr(text, '}') == NULL)
        return false;
    s->port = (int)strtol(at + strlen("://127.0.0.1:"), NULL, 10);
    return true;
}

void server_proc_folder(struct server_proc *s)
{
    const char *tmp = getenv("TMPDIR");

    if (s->dir[0] != '\0')
        return;
    (void)snprintf(s->dir, sizeof s->dir, "%s/mayfly-c-XXXXXX", tmp != NULL ? tmp : P_tmpdir);
    TEST_ASSERT_NOT_NULL(mkdtemp(s->dir));
}

void server_proc_start(struct server_proc *s, const char *config, int port)
{
    char conf[160], log[160];

    server_proc_folder(s);
    write_config(s, config, port);
    (void)snprintf(conf, sizeof conf, "%s/conf", s->dir);
    (void)snprintf(log, sizeof log, "%s/log", s->dir);
    s->pid = fork();
    TEST_ASSERT_TRUE(s->pid >= 0);
    if (s->pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

        if (fd >= 0) {
            (void)dup2(fd, STDOUT_FILENO);
            (void)dup2(fd, STDERR_FILENO);
        }
        (void)execl(binary(), binary(), "-c", conf, (char *)NULL);
        _exit(127);
    }
    wait_until("the server wrote no ports file", ports_written, s);
    (void)snprintf(s->url, sizeof s->url, "nats://127.0.0.1:%d", s->port);
}

static void show_log(const struct server_proc *s)
{
    char path[160], line[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/log", s->dir);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        (void)fputs(line, stdout);
    if (f != NULL)
        (void)fclose(f);
}

void server_proc_stop(struct server_proc *s)
{
    int status = 0;

    TEST_ASSERT_TRUE(s->pid > 0);
    TEST_ASSERT_EQUAL_INT(0, kill(s->pid, SIGTERM));
    while (waitpid(s->pid, &status, 0) < 0)
        TEST_ASSERT_EQUAL_INT(EINTR, errno);
    s->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        show_log(s);
        TEST_FAIL_MESSAGE("the server did not exit with 0");
    }
}

void server_proc_kill(struct server_proc *s)
{
    TEST_ASSERT_TRUE(s->pid > 0);
    TEST_ASSERT_EQUAL_INT(0, kill(s->pid, SIGKILL));
    while (waitpid(s->pid, NULL, 0) < 0)
        TEST_ASSERT_EQUAL_INT(EINTR, errno);
    s->pid = 0;
}

static void remove_folder(const char *dir)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", dir, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void server_proc_end(struct server_proc *s)
{
    if (s->pid > 0) {
        (void)kill(s->pid, SIGKILL);
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (s->dir[0] != '\0')
        remove_folder(s->dir);
    memset(s, 0, sizeof *s);
}
