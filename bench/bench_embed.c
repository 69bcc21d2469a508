/* bench_embed.c: a client inside the process beside one on loopback TCP, of the same server in one
 * run.
 *
 *     bench_embed [ROUNDS [OPERATIONS]]
 *
 * Publishes that nobody answers; publishes to a stream in memory with their publish acks, and
 * direct gets, each waiting for its answer; direct gets of which WINDOW are under way.  Both
 * clients take turns.  "bare echo" is what the sockets alone allow: a thread that answers each
 * message at once, without a server.  Exit code 1: one row is below its bar. */
#include "mayfly.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BAR        1.3
#define ROUNDS_MAX 101
#define WINDOW     64
#define ECHO_SIZE  160 /* about an answer of a direct get */

struct client {
    int fd;
    int number; /* of its inbox: each hears its own answers alone */
    size_t len;
    char in[16384];
};

static void die(const char *what)
{
    fprintf(stderr, "bench_embed: %s\n", what);
    exit(2);
}

static void put(struct client *c, const char *text)
{
    size_t n = strlen(text);

    if (send(c->fd, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        die("send");
}

/* Reads until the text came; it drops everything up to there. */
static void expect(struct client *c, const char *text)
{
    for (c->len = 0;;) {
        ssize_t n = recv(c->fd, c->in + c->len, sizeof c->in - 1 - c->len, 0);
        if (n <= 0)
            die("the server ended");
        c->len += (size_t)n;
        c->in[c->len] = '\0';
        if (strstr(c->in, text) != NULL)
            return;
        if (c->len > sizeof c->in / 2)
            die(c->in);
    }
}

static void begin(struct client *c, int number, int fd)
{
    char text[128];

    c->fd = fd;
    c->number = number;
    snprintf(text, sizeof text,
             "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB in.%d 1\r\nPING\r\n", number);
    put(c, text);
    expect(c, "PONG\r\n");
}

static int connect_tcp(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Operations per second. */
static double run(struct client *c, const char *subject, const char *body, const char *answer,
                  int operations)
{
    char request[512];
    double from = now_s();

    snprintf(request, sizeof request, "PUB %s in.%d %zu\r\n%s\r\n", subject, c->number,
             strlen(body), body);
    for (int i = 0; i < operations; i++) {
        put(c, request);
        expect(c, answer);
    }
    return operations / (now_s() - from);
}

/* Messages that nobody answers; the PONG shows that the server has read them all. */
static double run_plain(struct client *c, const char *subject, const char *body, int operations)
{
    static char buffer[32768];
    char request[512];
    double from = now_s();
    size_t n = 0, one = (size_t)snprintf(request, sizeof request, "PUB %s %zu\r\n%s\r\n", subject,
                                         strlen(body), body);

    for (int i = 0; i < operations; i++) {
        if (n + one >= sizeof buffer) {
            put(c, buffer);
            n = 0;
        }
        memcpy(buffer + n, request, one + 1);
        n += one;
    }
    put(c, buffer);
    put(c, "PING\r\n");
    expect(c, "PONG\r\n");
    return operations / (now_s() - from);
}

/* The same, WINDOW requests at a time.  mark: in each answer once. */
static double run_window(struct client *c, const char *subject, const char *mark, int operations)
{
    char request[128], all[sizeof request * WINDOW] = "";
    int rounds = operations / WINDOW + 1;
    double from = now_s();

    snprintf(request, sizeof request, "PUB %s in.%d 0\r\n\r\n", subject, c->number);
    for (int i = 0, n = 0; i < WINDOW; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s", request);
    for (int i = 0; i < rounds; i++) {
        int left = WINDOW;
        size_t kept = 0;

        put(c, all);
        while (left > 0) {
            ssize_t n = recv(c->fd, c->in + kept, sizeof c->in - 1 - kept, 0);
            char *at = c->in, *found;
            if (n <= 0)
                die("the server ended");
            c->in[kept + (size_t)n] = '\0';
            for (; (found = strstr(at, mark)) != NULL; left--)
                at = found + strlen(mark);
            kept += (size_t)n - (size_t)(at - c->in);
            memmove(c->in, at, kept);
        }
    }
    return rounds * WINDOW / (now_s() - from);
}

/* --- the sockets alone ------------------------------------------------------------------------ */

static void *echo(void *arg)
{
    int fd = *(int *)arg;
    char bytes[ECHO_SIZE];

    for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        if (send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    close(fd);
    return NULL;
}

static void tcp_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&at, &len) != 0)
        die("listen");
    fd[0] = connect_tcp(ntohs(at.sin_port));
    if ((fd[1] = accept(listener, NULL, NULL)) < 0)
        die("accept");
    setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
}

static double run_echo(int fd, int operations)
{
    char bytes[ECHO_SIZE] = "";
    double from = now_s();

    for (int i = 0; i < operations; i++) {
        if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) != (ssize_t)sizeof bytes)
            die("send");
        for (size_t got = 0; got < sizeof bytes;) {
            ssize_t n = recv(fd, bytes, sizeof bytes - got, 0);
            if (n <= 0)
                die("recv");
            got += (size_t)n;
        }
    }
    return operations / (now_s() - from);
}

/* Of all threads: client and server. */
static double processor_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum kind { PLAIN, ANSWERED, WINDOWED, ECHO };
struct row {
    const char *name;
    enum kind kind;
    const char *subject, *body, *answer;
    double bar; /* 0: none */
    int operations;
};

static double run_row(const struct row *r, struct client *c, int echo_fd)
{
    if (r->kind == PLAIN)
        return run_plain(c, r->subject, r->body, r->operations);
    if (r->kind == ANSWERED)
        return run(c, r->subject, r->body, r->answer, r->operations);
    if (r->kind == WINDOWED)
        return run_window(c, r->subject, r->answer, r->operations);
    return run_echo(echo_fd, r->operations);
}

static bool row(struct client c[2], const int echo_fd[2], const struct row *r, int rounds)
{
    static double rate[2][ROUNDS_MAX], busy[2][ROUNDS_MAX];
    double ratio;

    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++) {
            int which = (k + i) % 2;
            double from = processor_s();
            rate[which][i] = run_row(r, &c[which], echo_fd[which]);
            busy[which][i] = (processor_s() - from) * 1e6 / r->operations;
        }
    for (int k = 0; k < 2; k++) {
        qsort(rate[k], (size_t)rounds, sizeof rate[k][0], by_size);
        qsort(busy[k], (size_t)rounds, sizeof busy[k][0], by_size);
    }
    ratio = rate[0][rounds / 2] / rate[1][rounds / 2];
    printf("%-15s in-process %9.0f/s %6.2f us   loopback TCP %9.0f/s %6.2f us   ratio %.2f",
           r->name, rate[0][rounds / 2], busy[0][rounds / 2], rate[1][rounds / 2],
           busy[1][rounds / 2], ratio);
    if (r->bar > 0)
        printf("   (bar %.1f)%s", r->bar, ratio < r->bar ? "  BELOW" : "");
    puts("");
    return ratio >= r->bar;
}

static bool rows(struct client c[2], int rounds, int operations)
{
    int echo_fd[2], ends[2][2];
    pthread_t thread[2];
    bool good = true;
    char body[160];
    const struct row all[] = {{"publish", PLAIN, "core", body, NULL, BAR, operations},
                              {"acked", ANSWERED, "s", body, "}\r\n", 0, operations / 4 + 1},
                              {"direct get", ANSWERED, "$JS.API.DIRECT.GET.S.s", "", "00000007\r\n",
                               BAR, operations / 2 + 1},
                              {"direct get, 64", WINDOWED, "$JS.API.DIRECT.GET.S.s", "",
                               "00000007\r\n", BAR, operations * 4},
                              {"bare echo", ECHO, NULL, NULL, NULL, 0, operations / 2 + 1}};

    snprintf(body, sizeof body, "%0128d", 7);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[0]) != 0)
        die("socketpair");
    tcp_pair(ends[1]);
    for (int k = 0; k < 2; k++) {
        echo_fd[k] = ends[k][0];
        if (pthread_create(&thread[k], NULL, echo, &ends[k][1]) != 0)
            die("pthread_create");
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        good = row(c, echo_fd, &all[i], rounds) && good;
    for (int k = 0; k < 2; k++) {
        close(echo_fd[k]);
        pthread_join(thread[k], NULL);
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct client c[2];
    char dir[] = "/tmp/mayfly-bench-XXXXXX", config[256], url[64], command[64];
    bool good;
    const char *create = "{\"name\":\"S\",\"subjects\":[\"s\"],\"storage\":\"memory\","
                         "\"allow_direct\":true,\"max_msgs_per_subject\":1}";
    int rounds = argc > 1 ? atoi(argv[1]) : 21, operations = argc > 2 ? atoi(argv[2]) : 8000;
    struct mayfly_options o = {.size = sizeof o, .config = config};
    struct mayfly_error e;
    struct mayfly *m;

    if (rounds < 1 || rounds > ROUNDS_MAX || operations < 1 || mkdtemp(dir) == NULL)
        die("bench_embed [ROUNDS [OPERATIONS]]");
    snprintf(config, sizeof config, "port: -1\njetstream: { store_dir: \"%s\" }", dir);
    if (mayfly_start(&m, &o, &e) != 0 || mayfly_wait_ready(m, -1, &e) != 0)
        die(e.text);
    begin(&c[0], 0, mayfly_connect(m, &e));
    begin(&c[1], 1, connect_tcp(mayfly_address(m, MAYFLY_CLIENTS, url, sizeof url, &e)));
    (void)run(&c[0], "$JS.API.STREAM.CREATE.S", create, "\"created\"", 1);
    good = rows(c, rounds, operations);
    mayfly_free(m);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 && good ? 0 : 1;
}
