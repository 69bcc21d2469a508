/* bench_operator.c: logins by user JWT: connect, INFO, CONNECT with the signed nonce, PING, PONG,
 * close.
 *
 *     bench_operator PORT USERS THREADS LOGINS
 *
 * USERS is a file with a line "JWT SEED" for each user, SEED as 64 hexadecimal digits; they take
 * turns.  Each thread makes one login after the other.  Prints one line of JSON.  The nonce is new
 * in each connection, so a signature is part of each login; own_cpu_s has its cost. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256
#define JWT_MAX     3000

struct user {
    char *jwt;
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static struct user *users;
static size_t nusers;
static int port;
static size_t total;
static atomic_size_t next_login, refused;
static double *times_us;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- users ------------------------------------------------------------------------------------ */

static void add_user(const char *jwt, const char *hex)
{
    unsigned char seed[crypto_sign_SEEDBYTES], public[crypto_sign_PUBLICKEYBYTES];
    struct user *u;
    size_t n = 0;

    if (sodium_hex2bin(seed, sizeof seed, hex, strlen(hex), NULL, &n, NULL) != 0 ||
        n != sizeof seed)
        die("a seed is not 64 hexadecimal digits");
    if ((nusers & (nusers - 1)) == 0) {
        users = realloc(users, (nusers == 0 ? 1 : 2 * nusers) * sizeof *users);
        if (users == NULL)
            die("users");
    }
    u = &users[nusers++];
    u->jwt = strdup(jwt);
    if (u->jwt == NULL || crypto_sign_seed_keypair(public, u->secret, seed) != 0)
        die("users");
}

static void read_users(const char *path)
{
    char jwt[JWT_MAX + 1], hex[80];
    FILE *f = fopen(path, "r");

    if (f == NULL)
        die(path);
    while (fscanf(f, "%3000s %79s", jwt, hex) == 2)
        add_user(jwt, hex);
    fclose(f);
    if (nusers == 0)
        die("no users");
}

/* --- one login -------------------------------------------------------------------------------- */

/* Reads until `text` came.  false: the server ended the connection or wrote an error. */
static bool read_until(int fd, char *in, size_t cap, const char *text)
{
    size_t len = 0;

    for (;;) {
        ssize_t n = recv(fd, in + len, cap - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        in[len] = '\0';
        if (strstr(in, text) != NULL)
            return true;
        if (strstr(in, "-ERR") != NULL || len > cap / 2)
            return false;
    }
}

/* What CONNECT carries.  false: the INFO has no nonce. */
static bool write_login(int fd, const struct user *u, const char *info)
{
    const char *nonce = strstr(info, "\"nonce\":\"");
    unsigned char signature[crypto_sign_BYTES];
    char sig[100], text[JWT_MAX + 400];
    int n;

    if (nonce == NULL)
        return false;
    nonce += strlen("\"nonce\":\"");
    crypto_sign_detached(signature, NULL, (const unsigned char *)nonce, strcspn(nonce, "\""),
                         u->secret);
    sodium_bin2base64(sig, sizeof sig, signature, sizeof signature,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    n = snprintf(
        text, sizeof text,
        "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"lang\":\"bench\","
        "\"version\":\"1\",\"protocol\":1,\"jwt\":\"%s\",\"sig\":\"%s\"}\r\nPING\r\n",
        u->jwt, sig);
    return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n;
}

static bool login(const struct user *u)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    char in[8192];
    bool ok;

    if (fd < 0)
        die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ok = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
         read_until(fd, in, sizeof in, "\r\n") && write_login(fd, u, in) &&
         read_until(fd, in, sizeof in, "PONG\r\n");
    close(fd);
    return ok;
}

static void *work(void *arg)
{
    (void)arg;
    for (;;) {
        size_t i = atomic_fetch_add(&next_login, 1);
        double from;
        if (i >= total)
            return NULL;
        from = now_s();
        if (!login(&users[i % nusers]))
            atomic_fetch_add(&refused, 1);
        times_us[i] = (now_s() - from) * 1e6;
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(double seconds)
{
    struct rusage own;

    getrusage(RUSAGE_SELF, &own);
    qsort(times_us, total, sizeof *times_us, compare);
    printf("{\"logins\":%zu,\"refused\":%zu,\"s\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
           "\"max_us\":%.1f,\"own_cpu_s\":%.3f}\n",
           total, (size_t)refused, seconds, times_us[total / 2], times_us[total * 99 / 100],
           times_us[total - 1],
           (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
               (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    size_t n = argc == 5 ? (size_t)atoi(argv[3]) : 0;
    double from;

    total = argc == 5 ? (size_t)atol(argv[4]) : 0;
    if (n == 0 || n > THREADS_MAX || total == 0) {
        fprintf(stderr, "usage: bench_operator PORT USERS THREADS LOGINS\n");
        return 2;
    }
    port = atoi(argv[1]);
    times_us = calloc(total, sizeof *times_us);
    if (times_us == NULL || sodium_init() < 0)
        die("start");
    read_users(argv[2]);
    from = now_s();
    for (size_t i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            die("thread");
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    report(now_s() - from);
    return refused == 0 ? 0 : 1;
}
