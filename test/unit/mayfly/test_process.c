/* test_process.c: servers leave the process that holds them as they found it. */
#include "mayfly_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

void setUp(void)
{
    scratch_make();
}
void tearDown(void)
{
    scratch_remove();
}

/* --- what belongs to the process -------------------------------------------------------------- */

struct process {
    struct sigaction actions[65];
    sigset_t mask;
    struct rlimit files;
    mode_t umask;
    char folder[256];
};

static void look_at(struct process *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 1; i < 65; i++)
        (void)sigaction(i, NULL, &p->actions[i]);
    sigprocmask(SIG_SETMASK, NULL, &p->mask);
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &p->files));
    umask(p->umask = umask(0));
    TEST_ASSERT_NOT_NULL(getcwd(p->folder, sizeof p->folder));
}

static void expect_same(const struct process *a, const struct process *b)
{
    for (int i = 1; i < 65; i++)
        TEST_ASSERT_TRUE(a->actions[i].sa_handler == b->actions[i].sa_handler);
    TEST_ASSERT_EQUAL_MEMORY(&a->mask, &b->mask, sizeof a->mask);
    TEST_ASSERT_EQUAL_UINT64(a->files.rlim_cur, b->files.rlim_cur);
    TEST_ASSERT_EQUAL(a->umask, b->umask);
    TEST_ASSERT_EQUAL_STRING(a->folder, b->folder);
}

#define FILES 1024

/* All descriptors but those that were open before. */
static bool all_close_on_exec(const bool before[FILES])
{
    for (int fd = 0; fd < FILES; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (!before[fd] && flags >= 0 && (flags & FD_CLOEXEC) == 0) {
            char link[64], to[256] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            if (readlink(link, to, sizeof to - 1) < 0)
                to[0] = '\0';
            printf("descriptor %d (%s) would be inherited\n", fd, to);
            return false;
        }
    }
    return true;
}

static void test_nothing_of_the_process_changes(void)
{
    char config[512];
    struct process before, during, after;
    struct stat said;
    static struct fd_client c;
    FILE *quiet = tmpfile();
    int real = dup(STDERR_FILENO);
    static bool open_before[FILES];
    struct rlimit usual, lower;

    TEST_ASSERT_NOT_NULL(quiet);
    dup2(fileno(quiet), STDERR_FILENO);
    for (int fd = 0; fd < FILES; fd++)
        open_before[fd] = fcntl(fd, F_GETFD) >= 0;
    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &usual));
    lower = (struct rlimit){.rlim_cur = 512, .rlim_max = usual.rlim_max};
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &lower)); /* mayflyd would raise it */
    look_at(&before);
    struct mayfly *m = start_server(with_store(config, "s", "port: -1\nhttp_port: -1\n"));
    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_make_bucket(&c, "b"));
    look_at(&during);
    bool closed_on_exec = all_close_on_exec(open_before);
    close(c.fd);
    mayfly_free(m);
    look_at(&after);
    dup2(real, STDERR_FILENO);
    setrlimit(RLIMIT_NOFILE, &usual);
    TEST_ASSERT_TRUE(closed_on_exec);
    expect_same(&before, &during);
    expect_same(&before, &after);
    TEST_ASSERT_EQUAL(0, fstat(fileno(quiet), &said));
    TEST_ASSERT_EQUAL_MESSAGE(0, said.st_size, "something was written to standard error");
    fclose(quiet);
    close(real);
}

/* A signal that the host blocks stays pending: no thread of a server takes it. */
static volatile sig_atomic_t signals;

static void on_signal(int signum)
{
    (void)signum;
    signals++;
}

static void test_no_thread_of_a_server_takes_a_signal(void)
{
    struct sigaction sa = {.sa_handler = on_signal}, before;
    static struct fd_client c;
    char config[512];
    sigset_t term, mask, pending;
    int got = 0;

    sigemptyset(&sa.sa_mask);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    TEST_ASSERT_EQUAL(0, sigaction(SIGTERM, &sa, &before));
    struct mayfly *m = start_server(with_store(config, "s", ""));
    connect_client(m, &c);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_make_bucket(&c, "b")); /* workers run, too */
    TEST_ASSERT_EQUAL(0, pthread_sigmask(SIG_BLOCK, &term, &mask));
    TEST_ASSERT_EQUAL(0, kill(getpid(), SIGTERM));
    TEST_ASSERT_TRUE(fd_request(&c, "$JS.API.INFO", "", "memory")); /* the server's threads ran */
    TEST_ASSERT_EQUAL(0, sigpending(&pending));
    TEST_ASSERT_EQUAL(1, sigismember(&pending, SIGTERM));
    TEST_ASSERT_EQUAL(0, sigwait(&term, &got));
    TEST_ASSERT_EQUAL(0, signals);
    TEST_ASSERT_EQUAL(0, pthread_sigmask(SIG_SETMASK, &mask, NULL));
    sigaction(SIGTERM, &before, NULL);
    close(c.fd);
    mayfly_free(m);
}

/* --- start and stop --------------------------------------------------------------------------- */

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long size = 0, resident = 0;

    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL(2, fscanf(f, "%ld %ld", &size, &resident));
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void one_round(int n, const char *config)
{
    struct mayfly_options o = {.size = sizeof o, .config = config};
    struct mayfly *m;
    static struct fd_client c;

    TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_start(&m, &o, &err), err.text);
    if (n % 4 == 1)
        TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_wait_ready(m, A_MINUTE, &err), err.text);
    if (n % 4 == 2)
        mayfly_stop(m, n % 8 == 2 ? MAYFLY_DRAIN : MAYFLY_NOW);
    if (n % 4 == 3) {
        connect_client(m, &c);
        close(c.fd);
    }
    mayfly_free(m);
}

/* MAYFLY_ROUNDS=10000 is the full count; the sanitizers' builds are slow. */
static void test_many_starts_and_stops_leave_nothing_behind(void)
{
    const char *wanted = getenv("MAYFLY_ROUNDS");
    int rounds = wanted != NULL ? atoi(wanted) : 80, warm = 16;
    unsigned files, threads;
    long memory = 0;
    char config[512];

    with_store(config, "s", "");
    for (int i = 0; i < warm; i++)
        one_round(i, config);
    files = count_entries("/proc/self/fd");
    threads = count_entries("/proc/self/task");
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 2)
            memory = resident_kib();
        one_round(i, config);
        TEST_ASSERT_EQUAL_UINT(files, count_entries("/proc/self/fd"));
    }
    TEST_ASSERT_EQUAL_UINT(threads, count_entries("/proc/self/task"));
    printf("%d rounds: %ld KiB resident in the middle, %ld at the end\n", rounds, memory,
           resident_kib());
    if (wanted != NULL) /* the sanitizers keep what is freed for a while */
        TEST_ASSERT_LESS_THAN(memory + 1024, resident_kib());
}

/* --- ten servers ------------------------------------------------------------------------------ */

#define SERVERS 10
#define CLIENTS 2 /* threads for each server */
#define PUTS    60

struct load {
    struct mayfly *m;
    int server, client;
    bool ok;
    struct fd_client c;
};

static void *put_keys(void *arg)
{
    struct load *l = arg;
    char name[32], key[32];
    int fd = mayfly_connect(l->m, NULL);

    l->ok = fd >= 0 && fd_login(&l->c, fd) && fd_listen(&l->c);
    snprintf(name, sizeof name, "b%d", l->server);
    for (int i = 0; i < PUTS && l->ok; i++) {
        snprintf(key, sizeof key, "k%d-%d", l->client, i);
        l->ok = fd_put_key(&l->c, name, key, "value", i % 2 == 0 ? "10s" : "1h");
    }
    close(fd);
    return NULL;
}

static void open_bucket(struct mayfly *m, int server)
{
    static struct fd_client c;
    char name[32];

    connect_client(m, &c);
    snprintf(name, sizeof name, "b%d", server);
    TEST_ASSERT_TRUE(fd_listen(&c));
    TEST_ASSERT_TRUE(fd_make_bucket(&c, name));
    close(c.fd);
}

/* Each server has its own streams, its own clients and its own expiry. */
static void test_ten_servers_in_one_process_serve_their_own_clients(void)
{
    static struct load loads[SERVERS][CLIENTS];
    static pthread_t threads[SERVERS][CLIENTS];
    struct mayfly *m[SERVERS];
    char config[512], name[32];

    for (int i = 0; i < SERVERS; i++) {
        snprintf(name, sizeof name, "s%d", i);
        m[i] = start_server(with_store(config, name, ""));
        open_bucket(m[i], i);
        for (int k = 0; k < CLIENTS; k++) {
            loads[i][k] = (struct load){.m = m[i], .server = i, .client = k};
            TEST_ASSERT_EQUAL(0, pthread_create(&threads[i][k], NULL, put_keys, &loads[i][k]));
        }
    }
    for (int i = 0; i < SERVERS; i++)
        for (int k = 0; k < CLIENTS; k++) {
            pthread_join(threads[i][k], NULL);
            TEST_ASSERT_TRUE(loads[i][k].ok);
        }
    for (int i = 0; i < SERVERS; i++) {
        struct mayfly_statistics s = {.size = sizeof s};
        /* Keys or their markers; a key that is due is gone before its marker is on disk. */
        for (time_t end = time(NULL) + 60; s.stored_messages != CLIENTS * PUTS && time(NULL) < end;)
            TEST_ASSERT_EQUAL_MESSAGE(0, mayfly_stats(m[i], &s, &err), err.text);
        TEST_ASSERT_EQUAL(1, s.streams);
        TEST_ASSERT_EQUAL(CLIENTS * PUTS, s.stored_messages);
        mayfly_free(m[i]);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nothing_of_the_process_changes);
    RUN_TEST(test_no_thread_of_a_server_takes_a_signal);
    RUN_TEST(test_many_starts_and_stops_leave_nothing_behind);
    RUN_TEST(test_ten_servers_in_one_process_serve_their_own_clients);
    return UNITY_END();
}
