/* js_wire.c: see js_wire.h. */
#include "js_wire.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_LINE                                                                               \
    "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"protocol\":1,"               \
    "\"no_responders\":true,\"name\":\"bench\",\"lang\":\"c\",\"version\":\"1\"}\r\nPING\r\n"
#define BUFFER ((size_t)1 << 20)

double js_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t js_wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t js_time_ns(const char *s)
{
    struct tm tm = {0};
    char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
    int64_t ns = 0, scale = 100000000;

    if (end == NULL)
        return 0;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
            ns += (*end - '0') * scale;
    return (int64_t)timegm(&tm) * 1000000000 + ns;
}

void js_pause(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    if (s > 0)
        nanosleep(&t, NULL);
}

bool js_send(struct js_conn *c, const char *p, size_t n)
{
    return js_pipe_send(&c->pipe, p, n);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Reads "MSG subject sid [reply] [head] total" up to the line's end.  false: not a message. */
static bool parse_line(const char *p, const char *end, struct js_frame *f)
{
    bool head = *p == 'H';
    size_t numbers[2] = {0, 0};
    const char *at = end;

    p += head ? 5 : 4;
    f->subject = p;
    while (p < end && *p != ' ')
        p++;
    f->subject_len = (size_t)(p - f->subject);
    /* Backwards: the sizes are the last words, whether there is a reply or not. */
    for (int i = 0; i <= (int)head; i++) {
        size_t scale = 1;
        for (; at > p && at[-1] != ' '; at--, scale *= 10)
            numbers[i] += scale * (size_t)(at[-1] - '0');
        at--;
    }
    f->len = numbers[0];
    f->head_len = head ? numbers[1] : 0;
    /* Between the subscription's number, the next word, and the sizes. */
    for (p++; p < at && *p != ' '; p++)
        continue;
    f->reply = p < at ? p + 1 : at;
    f->reply_len = (size_t)(at - f->reply);
    return f->len < BUFFER && f->head_len <= f->len;
}

/* Bytes of the line or frame at p, 0 if it is not whole yet, -1 if it makes no sense. */
static long take_one(struct js_conn *c, const char *p, size_t n, js_frame_fn *fn, void *arg,
                     int *frames)
{
    const char *nl = memchr(p, '\n', n);
    struct js_frame f;
    size_t line;

    if (nl == NULL)
        return n < 65536 ? 0 : -1;
    line = (size_t)(nl - p) + 1;
    if (line == 6 && memcmp(p, "PING\r\n", 6) == 0 && !js_send(c, "PONG\r\n", 6))
        return -1;
    if (memcmp(p, "-ERR", line < 4 ? line : 4) == 0) {
        fprintf(stderr, "bench: the server says %.*s\n", (int)line - 2, p);
        return -1;
    }
    if (*p != 'M' && *p != 'H')
        return (long)line;
    if (!parse_line(p, nl - 1, &f))
        return -1;
    if (n < line + f.len + 2)
        return 0;
    f.body = p + line;
    fn(arg, &f);
    (*frames)++;
    return (long)(line + f.len + 2);
}

/* Bytes of the answer of Redis at p: a line, a text with its length, or an array of these.  0: not
 * whole yet. */
static size_t redis_len(const char *p, size_t n)
{
    const char *nl = memchr(p, '\n', n);
    size_t line;
    long count;

    if (nl == NULL)
        return 0;
    line = (size_t)(nl - p) + 1;
    if (*p != '$' && *p != '*')
        return line;
    count = strtol(p + 1, NULL, 10);
    if (count < 0)
        return line; /* nil */
    if (*p == '$')
        return n >= line + (size_t)count + 2 ? line + (size_t)count + 2 : 0;
    for (; count > 0; count--) {
        size_t one = line < n ? redis_len(p + line, n - line) : 0; /* arrays are not nested here */
        if (one == 0)
            return 0;
        line += one;
    }
    return line;
}

static long take_redis(const char *p, size_t n, js_frame_fn *fn, void *arg, int *frames)
{
    struct js_frame f = {.body = p, .len = redis_len(p, n)};

    if (f.len == 0)
        return n < BUFFER ? 0 : -1;
    fn(arg, &f);
    (*frames)++;
    return (long)f.len;
}

int js_read(struct js_conn *c, js_frame_fn *fn, void *arg)
{
    ssize_t n = js_pipe_recv(&c->pipe, c->buf + c->have, BUFFER - c->have);
    size_t at = 0;
    int frames = 0;

    if (n <= 0)
        return -1;
    c->have += (size_t)n;
    while (at < c->have) {
        const char *p = c->buf + at;
        long used = c->redis ? take_redis(p, c->have - at, fn, arg, &frames)
                             : take_one(c, p, c->have - at, fn, arg, &frames);
        if (used < 0)
            return -1;
        if (used == 0)
            break;
        at += (size_t)used;
    }
    c->have -= at;
    memmove(c->buf, c->buf + at, c->have);
    return frames;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void ignore(void *arg, const struct js_frame *f)
{
    (void)arg;
    (void)f;
}

/* Sends text, then PING, and reads to the PONG; what else comes is dropped. */
static bool settle(struct js_conn *c, const char *text)
{
    size_t have = 0;

    if (!js_send(c, text, strlen(text)))
        return false;
    while (have == 0 || memmem(c->buf, have, "PONG\r\n", 6) == NULL) {
        ssize_t n = js_pipe_recv(&c->pipe, c->buf + have, BUFFER - have);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

static bool dial(struct js_conn *c, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval patience = {30, 0};
    int one = 1;

    *c = (struct js_conn){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->buf = malloc(BUFFER);
    if (c->buf == NULL || c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        return false;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return js_pipe_open(&c->pipe, c->fd);
}

bool js_open(struct js_conn *c, int port)
{
    /* A server may send one more INFO behind the first PONG, ahead of the second. */
    if (dial(c, port) && settle(c, CONNECT_LINE) && settle(c, "PING\r\n"))
        return true;
    js_close(c);
    return false;
}

bool js_open_redis(struct js_conn *c, int port)
{
    if (dial(c, port)) {
        c->redis = true;
        return true;
    }
    js_close(c);
    return false;
}

int js_detach(struct js_conn *c)
{
    int fd = c->fd;

    c->fd = -1;
    js_close(c);
    return fd;
}

void js_close(struct js_conn *c)
{
    js_pipe_close(&c->pipe);
    if (c->fd >= 0)
        close(c->fd);
    free(c->buf);
    *c = (struct js_conn){.fd = -1};
}

bool js_subscribe(struct js_conn *c, const char *subject)
{
    char line[256];

    snprintf(line, sizeof line, "SUB %s 1\r\nPING\r\n", subject);
    return settle(c, line);
}

/* --- requests --------------------------------------------------------------------------------- */

struct answer {
    char *dst;
    size_t cap;
};

static void keep_answer(void *arg, const struct js_frame *f)
{
    struct answer *a = arg;
    size_t n = f->len - f->head_len;

    n = n < a->cap - 1 ? n : a->cap - 1;
    memcpy(a->dst, f->body + f->head_len, n);
    a->dst[n] = '\0';
}

bool js_request(struct js_conn *c, const char *subject, const char *body, char *dst, size_t cap)
{
    char text[4096], inbox[64];
    struct answer a = {dst, cap};
    int n;

    snprintf(inbox, sizeof inbox, "_INBOX.ask%d.*", c->fd); /* each connection its own */
    if (c->asked++ == 0 && !js_subscribe(c, inbox))
        return false;
    n = snprintf(text, sizeof text, "PUB %s _INBOX.ask%d.%u %zu\r\n%s\r\n", subject, c->fd,
                 c->asked, strlen(body), body);
    if (n < 0 || (size_t)n >= sizeof text || !js_send(c, text, (size_t)n))
        return false;
    for (;;) {
        int frames = js_read(c, dst != NULL ? keep_answer : ignore, &a);
        if (frames != 0)
            return frames > 0;
    }
}

static void keep_whole(void *arg, const struct js_frame *f)
{
    struct answer *a = arg;

    snprintf(a->dst, a->cap, "%.*s", (int)f->len, f->body);
}

bool js_redis_ask(struct js_conn *c, const char *line, char *dst, size_t cap)
{
    struct answer a = {dst, cap};
    int frames = 0;

    if (!js_send(c, line, strlen(line)) || !js_send(c, "\r\n", 2))
        return false;
    while (frames == 0)
        frames = js_read(c, keep_whole, &a);
    return frames > 0;
}

uint64_t js_number(const char *text, const char *name, uint64_t dflt)
{
    char key[64];
    const char *at;

    snprintf(key, sizeof key, "\"%s\":", name);
    at = strstr(text, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : dflt;
}
