/* bench_embed.c: a client inside the process beside one on loopback TCP, of the same server in one
 * run.
 *
 *     bench_embed [ROUNDS [OPERATIONS]]
 *
 * One operation after the other, each waits for its answer: a publish to a stream in memory with
 * its publish ack, and a direct get.  Both clients take turns.  Exit code 1: one row is below its
 * bar. */
#include "mayfly.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BAR        1.3
#define ROUNDS_MAX 101

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

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool row(struct client c[2], const char *name, const char *subject, const char *body,
                const char *answer, double bar, int rounds, int operations)
{
    static double rate[2][ROUNDS_MAX];
    double ratio;

    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 2; k++)
            rate[(k + i) % 2][i] = answer == NULL
                                       ? run_plain(&c[(k + i) % 2], subject, body, operations)
                                       : run(&c[(k + i) % 2], subject, body, answer, operations);
    for (int k = 0; k < 2; k++)
        qsort(rate[k], (size_t)rounds, sizeof rate[k][0], by_size);
    ratio = rate[0][rounds / 2] / rate[1][rounds / 2];
    printf("%-12s in-process %9.0f/s   loopback TCP %9.0f/s   ratio %.2f   (bar %.1f)%s\n", name,
           rate[0][rounds / 2], rate[1][rounds / 2], ratio, bar, ratio < bar ? "  BELOW" : "");
    return ratio >= bar;
}

int main(int argc, char **argv)
{
    static struct client c[2];
    char dir[] = "/tmp/mayfly-bench-XXXXXX", config[256], url[64], body[160], command[64];
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
    snprintf(body, sizeof body, "%0128d", 7);
    good = row(c, "publish", "core", body, NULL, BAR, rounds, operations);
    (void)row(c, "acked", "s", body, "}\r\n", 0, rounds, operations / 4 + 1);
    good = row(c, "direct get", "$JS.API.DIRECT.GET.S.s", "", "00000007\r\n", BAR, rounds,
               operations / 2 + 1) &&
           good;
    mayfly_free(m);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 && good ? 0 : 1;
}
