/* proc.c: see proc.h. */
#include "proc.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool read_file(const char *path, char *dst, size_t cap)
{
    FILE *f = fopen(path, "re");
    size_t n;

    if (f == NULL)
        return false;
    n = fread(dst, 1, cap - 1, f);
    dst[n] = '\0';
    fclose(f);
    return n > 0;
}

static bool write_config(const struct proc *p, const char *extra)
{
    char path[320];
    FILE *f;

    snprintf(path, sizeof path, "%s/server.conf", p->dir);
    f = fopen(path, "we");
    if (f == NULL)
        return false;
    if (p->redis)
        fprintf(f, "bind 127.0.0.1\nport %d\n%s\n", p->port, extra);
    else
        fprintf(f, "listen: \"127.0.0.1:-1\"\nports_file_dir: \"%s\"\n%s\n", p->dir, extra);
    return fclose(f) == 0;
}

/* A port that was free a moment ago. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &len) == 0)
        port = ntohs(at.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

/* Redis listens before it has read its files, and says so to who asks. */
static bool listens(const struct proc *p)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)p->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool yes;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    yes = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    if (fd >= 0)
        close(fd);
    return yes;
}

/* The ports file appears whole once the server listens. */
static bool find_port(struct proc *p)
{
    DIR *d = opendir(p->dir);
    struct dirent *entry;
    char path[640], text[4096];
    const char *at;

    if (d == NULL)
        return false;
    p->port = p->ws_port = 0;
    while ((entry = readdir(d)) != NULL) {
        size_t n = strlen(entry->d_name);
        if (n < 6 || strcmp(entry->d_name + n - 6, ".ports") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", p->dir, entry->d_name);
        if (!read_file(path, text, sizeof text))
            continue;
        if ((at = strstr(text, "://127.0.0.1:")) != NULL)
            p->port = atoi(at + strlen("://127.0.0.1:"));
        if ((at = strstr(text, "ws://127.0.0.1:")) != NULL)
            p->ws_port = atoi(at + strlen("ws://127.0.0.1:"));
    }
    closedir(d);
    return p->port > 0;
}

static void child_exec(const struct proc *p, const char *binary)
{
    char config[320], log[320];
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a bench that fails leaves no server behind */
    snprintf(config, sizeof config, "%s/server.conf", p->dir);
    snprintf(log, sizeof log, "%s/log", p->dir);
    fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    if (p->redis) /* by this name: Debian has one binary, which asks how it was called */
        execl(binary, "redis-server", config, (char *)NULL);
    else
        execl(binary, binary, "-c", config, (char *)NULL);
    _exit(127);
}

/* A killed server leaves its ports file behind: it must not be taken for the next one's. */
static void forget_ports(const struct proc *p)
{
    DIR *d = opendir(p->dir);
    struct dirent *entry;
    char path[640];

    while (d != NULL && (entry = readdir(d)) != NULL) {
        size_t n = strlen(entry->d_name);
        snprintf(path, sizeof path, "%s/%s", p->dir, entry->d_name);
        if (n > 6 && strcmp(entry->d_name + n - 6, ".ports") == 0)
            unlink(path);
    }
    if (d != NULL)
        closedir(d);
}

bool proc_again(struct proc *p, const char *binary)
{
    const struct timespec pause = {0, 1000000};

    p->pid = fork();
    if (p->pid == 0)
        child_exec(p, binary);
    for (int i = 0; i < 30000; i++) { /* half a minute at the least */
        if (p->redis ? listens(p) : find_port(p))
            return true;
        if (waitpid(p->pid, NULL, WNOHANG) == p->pid) {
            p->pid = 0;
            break;
        }
        nanosleep(&pause, NULL);
    }
    fprintf(stderr, "bench: %s did not start; its log is %s/log\n", binary, p->dir);
    return false;
}

bool proc_start(struct proc *p, const char *binary, bool redis, const char *extra)
{
    *p = (struct proc){.redis = redis, .port = redis ? free_port() : 0};
    snprintf(p->dir, sizeof p->dir, "%s/mayfly-bench-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(p->dir) == NULL || !write_config(p, extra)) {
        fprintf(stderr, "bench: %s: %s\n", p->dir, strerror(errno));
        return false;
    }
    return proc_again(p, binary);
}

void proc_end(struct proc *p, int sig)
{
    if (p->pid > 0) {
        kill(p->pid, sig);
        waitpid(p->pid, NULL, 0);
    }
    p->pid = 0;
    forget_ports(p);
}

void proc_stop(struct proc *p)
{
    static const char *const files[] = {"server.conf", "log"};
    char path[320];

    proc_end(p, SIGTERM);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", p->dir, files[i]);
        unlink(path);
    }
    rmdir(p->dir);
}

double proc_cpu_s(const struct proc *p)
{
    struct timespec t = {0};
    clockid_t clock;

    if (clock_getcpuclockid(p->pid, &clock) == 0)
        (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double proc_rss_kb(const struct proc *p)
{
    char path[64], text[4096];
    const char *at;

    snprintf(path, sizeof path, "/proc/%d/status", (int)p->pid);
    if (!read_file(path, text, sizeof text) || (at = strstr(text, "VmRSS:")) == NULL)
        return 0;
    return atof(at + 6);
}
