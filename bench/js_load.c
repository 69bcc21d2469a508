/* js_load.c: see js_load.h. */
#include "js_load.h"

#include "js_wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PAYLOAD       128
#define TEMPLATE      2048
#define DIGITS        7
#define MS_DIGITS     13 /* of a wall clock's milliseconds */
#define TTL_DIGITS    6
#define INBOX         "_INBOX.Xh4kq0vT9aLr2mWz7bNc%02u"
#define SCATTER       7368787u /* prime to every number of keys in use */
#define MAX_LATENCIES ((size_t)1 << 20)

struct lane {
    struct js_conn conn;
    struct load *load;
    char *request;                        /* TEMPLATE bytes and the payload */
    size_t len, key_at, reply_at, ttl_at; /* where the digits stand; ttl_at 0: none to patch */
    unsigned waiting;
    double asked_s; /* of the one request when the window is 1 */
};
struct load {
    const struct js_job *job;
    struct js_stats *stats;
    struct lane lanes[JS_LOAD_CONNS];
    unsigned open;
    int epoll;
    char *out; /* one window of requests */
    uint64_t sent;
    double start_s, end_s;
    int64_t start_wall_ns;
    double *latency_us;
    size_t nlatencies;
};

static void put_digits(char *p, uint64_t v, int n)
{
    while (n > 0) {
        p[--n] = (char)('0' + v % 10);
        v /= 10;
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static size_t print(char *at, const char *end, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(at, (size_t)(end - at), format, args);
    va_end(args);
    return n > 0 && n < end - at ? (size_t)n : 0;
}

/* Redis takes no zeros before a number: where TTLs differ it is told the times themselves. */
static bool tells_time(const struct js_job *job)
{
    return job->deadline_ns != NULL || job->due_together || job->ttl_spread > 0;
}

/* Bytes of a request, at most. */
static size_t room_of(const struct js_job *job)
{
    return TEMPLATE + job->size;
}

static void build_redis(struct lane *l)
{
    const struct js_job *job = l->load->job;
    size_t key = strlen(job->prefix) + DIGITS;
    bool ttl = job->ttl_s > 0;
    char *p = l->request, *end = p + room_of(job);
    const char *verb = job->redis_ask != NULL ? job->redis_ask : "SET", *arg = job->redis_body;

    p += print(p, end, "*%d\r\n$%zu\r\n%s\r\n$%zu\r\n%s0000000\r\n",
               job->redis_ask == NULL ? (ttl ? 5 : 3)
               : arg == NULL          ? 2
                                      : (strchr(arg, ' ') != NULL ? 4 : 3),
               strlen(verb), verb, key, job->prefix);
    l->key_at = (size_t)(p - l->request) - 2 - DIGITS;
    for (size_t n; job->redis_ask != NULL && arg != NULL && *arg != '\0';
         arg += n + (arg[n] == ' ')) {
        n = strcspn(arg, " ");
        p += print(p, end, "$%zu\r\n%.*s\r\n", n, (int)n, arg);
    }
    l->len = (size_t)(p - l->request);
    if (job->redis_ask != NULL)
        return;
    p += print(p, end, "$%d\r\n", PAYLOAD);
    memset(p, 'x', PAYLOAD);
    p += PAYLOAD;
    p += !ttl              ? print(p, end, "\r\n")
         : tells_time(job) ? print(p, end, "\r\n$4\r\nPXAT\r\n$13\r\n0000000000000\r\n")
                           : print(p, end, "\r\n$2\r\nEX\r\n$%d\r\n%u\r\n",
                                   snprintf(NULL, 0, "%u", job->ttl_s), job->ttl_s);
    l->len = (size_t)(p - l->request);
    l->ttl_at = tells_time(job) ? l->len - 2 - MS_DIGITS : 0;
}

static void build_nats(struct lane *l, unsigned index)
{
    const struct js_job *job = l->load->job;
    bool plain = job->ask == NULL && job->body == NULL;
    char subject[256], reply[64], head[256] = "";
    size_t payload = job->size > 0 ? job->size : PAYLOAD;
    size_t body = plain ? payload : job->body != NULL ? strlen(job->body) : 0, at;
    char *end = l->request + room_of(job);

    snprintf(reply, sizeof reply, INBOX ".0000000", index);
    snprintf(subject, sizeof subject, "%s%s0000000", job->ask != NULL ? job->ask : "", job->prefix);
    if (job->ttl_s > 0 || job->head != NULL)
        snprintf(head, sizeof head, "NATS/1.0\r\n%s%.*s%s\r\n", job->head != NULL ? job->head : "",
                 job->ttl_s > 0 ? 10 : 0, "Nats-TTL: ", job->ttl_s > 0 ? "000000\r\n" : "");
    at = head[0] != '\0' ? print(l->request, end, "HPUB %s %s %zu %zu\r\n%s", subject, reply,
                                 strlen(head), strlen(head) + body, head)
                         : print(l->request, end, "PUB %s %s %zu\r\n", subject, reply, body);
    if (job->ttl_s > 0) {
        l->ttl_at = at - 4 - TTL_DIGITS; /* the digits and the two line ends */
        put_digits(l->request + l->ttl_at, job->ttl_s, TTL_DIGITS);
    }
    if (plain)
        memset(l->request + at, 'x', body);
    else
        memcpy(l->request + at, job->body != NULL ? job->body : "", body);
    memcpy(l->request + at + body, "\r\n", 2);
    l->len = at + body + 2;
    l->key_at =
        (size_t)((char *)memchr(l->request, ' ', at) - l->request) + 1 + strlen(subject) - DIGITS;
    l->reply_at = l->key_at + DIGITS + 1 + strlen(reply) - DIGITS;
}

static bool lane_open(struct load *ld, int port, unsigned i)
{
    struct lane *l = &ld->lanes[i];
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
    char subject[64];

    l->load = ld;
    l->request = malloc(room_of(ld->job));
    if (l->request == NULL)
        return false;
    if (ld->job->redis ? !js_open_redis(&l->conn, port) : !js_open(&l->conn, port))
        return false;
    ld->open = i + 1;
    if (ld->job->redis)
        build_redis(l);
    else
        build_nats(l, i);
    snprintf(subject, sizeof subject, INBOX ".*", i);
    return (ld->job->redis || js_subscribe(&l->conn, subject)) &&
           epoll_ctl(ld->epoll, EPOLL_CTL_ADD, l->conn.fd, &ev) == 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* An ack is {"stream"..., an error {"error"...; a stored message has headers without a status.
 * Answers to requests have a type before the error.  Redis says +OK, a text, or an error behind a
 * minus; :0 is a key that is not there. */
static bool is_bad(const struct lane *l, const struct js_frame *f)
{
    const struct js_job *job = l->load->job;

    if (job->redis)
        return f->body[0] == '-' || f->body[1] == '-' || memcmp(f->body, ":0", 2) == 0;
    if (f->head_len > 0)
        return f->head_len < 9 || f->body[8] == ' ';
    return f->len < 3 || f->body[2] == 'e' ||
           (job->ask != NULL && memmem(f->body, f->len, "\"error\"", 7) != NULL);
}

static void count_answer(void *arg, const struct js_frame *f)
{
    struct lane *l = arg;
    struct js_stats *s = l->load->stats;

    s->done++;
    l->waiting--;
    if (!is_bad(l, f))
        return;
    if (s->errors++ == 0)
        snprintf(s->error, sizeof s->error, "%.*s", (int)f->len, f->body);
}

/* When Redis is to drop this key: in the second that begins ttl_s after the start, or ttl_s from
 * now. */
static uint64_t deadline_ms(const struct load *ld, uint64_t key)
{
    const struct js_job *job = ld->job;
    int64_t from_ns = job->due_together ? ld->start_wall_ns : js_wall_ns();
    int64_t ms = from_ns / 1000000 + (int64_t)job->ttl_s * 1000;

    if (job->due_together)
        ms += (int64_t)(key * 1000 / job->keys);
    if (job->ttl_spread > 0)
        ms += (int64_t)(key % job->ttl_spread) * 1000;
    if (job->deadline_ns != NULL)
        job->deadline_ns[key] = ms * 1000000;
    return (uint64_t)ms;
}

static char *put_request(struct load *ld, struct lane *l, char *dst, unsigned ttl)
{
    const struct js_job *job = ld->job;
    uint64_t key = job->keys > 1 ? ld->sent * SCATTER % job->keys : 0;

    memcpy(dst, l->request, l->len);
    put_digits(dst + l->key_at, key, DIGITS);
    if (!job->redis)
        put_digits(dst + l->reply_at, ld->sent, DIGITS);
    if (job->redis && l->ttl_at > 0)
        put_digits(dst + l->ttl_at, deadline_ms(ld, key), MS_DIGITS);
    else if (l->ttl_at > 0)
        put_digits(dst + l->ttl_at, ttl + (job->ttl_spread > 0 ? key % job->ttl_spread : 0),
                   TTL_DIGITS);
    ld->sent++;
    return dst + l->len;
}

/* Tops the window up, in one write.  Waits until an eighth of it is free: a reader that finds a few
 * answers would otherwise write a few requests, and measure system calls. */
static bool lane_fill(struct load *ld, struct lane *l, uint64_t allowed)
{
    const struct js_job *job = ld->job;
    unsigned room = job->window - l->waiting, ttl = job->ttl_s;
    double now = js_now_s();
    char *end = ld->out;

    if (room < job->window / 8 && ld->sent < job->count && job->rate == 0)
        return true;
    if (ld->end_s > 0 && now > ld->end_s && ld->sent > 0) /* one at least, however busy it is */
        return true;
    if (job->due_together) {
        unsigned passed = (unsigned)(now - ld->start_s);
        if (passed + 2 > ttl) {
            ld->stats->late = true; /* for one second of deaths */
            return false;
        }
        ttl -= passed;
    }
    for (; room > 0 && ld->sent < allowed; room--, l->waiting++)
        end = put_request(ld, l, end, ttl);
    if (end == ld->out)
        return true;
    l->asked_s = now;
    return js_send(&l->conn, ld->out, (size_t)(end - ld->out));
}

static uint64_t allowed_now(const struct load *ld)
{
    const struct js_job *job = ld->job;
    uint64_t paced;

    if (job->rate == 0)
        return job->count;
    paced = (uint64_t)((js_now_s() - ld->start_s) * job->rate);
    return paced < job->count ? paced : job->count;
}

static bool lane_read(struct load *ld, struct lane *l)
{
    int n = js_read(&l->conn, count_answer, l);

    if (n > 0 && ld->latency_us != NULL && ld->nlatencies < MAX_LATENCIES)
        ld->latency_us[ld->nlatencies++] = (js_now_s() - l->asked_s) * 1e6;
    return n >= 0 && lane_fill(ld, l, allowed_now(ld));
}

static bool all_answered(const struct load *ld)
{
    bool finished =
        ld->sent >= ld->job->count || (ld->sent > 0 && ld->end_s > 0 && js_now_s() > ld->end_s);

    for (unsigned i = 0; finished && i < ld->open; i++)
        finished = ld->lanes[i].waiting == 0;
    return finished;
}

static bool run(struct load *ld)
{
    struct epoll_event ev[JS_LOAD_CONNS];
    double last_s = js_now_s();

    ld->start_s = last_s;
    ld->start_wall_ns = js_wall_ns();
    ld->end_s = ld->job->cap_s > 0 ? last_s + ld->job->cap_s : 0;
    do {
        int n = epoll_wait(ld->epoll, ev, JS_LOAD_CONNS, 1);
        double now = js_now_s();
        for (int i = 0; i < n; i++)
            if (!lane_read(ld, &ld->lanes[ev[i].data.u32]))
                return false;
        /* Idle lanes: all of them at the start, those held back by the pace later. */
        for (unsigned i = 0; n <= 0 && i < ld->open; i++)
            if (!lane_fill(ld, &ld->lanes[i], allowed_now(ld)))
                return false;
        last_s = n > 0 ? now : last_s;
        if (now - last_s > 30) {
            fprintf(stderr, "bench: no answer for 30 s\n");
            return false;
        }
    } while (!all_answered(ld));
    ld->stats->seconds = js_now_s() - ld->start_s;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double js_quantile(double *v, size_t n, double share)
{
    size_t at = (size_t)((double)n * share);

    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, by_value);
    return v[at < n ? at : n - 1];
}

bool js_load(int port, const struct js_job *job, struct js_stats *out)
{
    struct load *ld = calloc(1, sizeof *ld);
    bool ok = ld != NULL;

    *out = (struct js_stats){0};
    if (!ok)
        return false;
    ld->job = job;
    ld->stats = out;
    ld->epoll = epoll_create1(EPOLL_CLOEXEC);
    ld->out = malloc((size_t)job->window * room_of(job));
    if (job->window == 1)
        ld->latency_us = calloc(MAX_LATENCIES, sizeof *ld->latency_us);
    ok = ld->out != NULL && ld->epoll >= 0 && job->conns <= JS_LOAD_CONNS;
    for (unsigned i = 0; ok && i < job->conns; i++)
        ok = lane_open(ld, port, i);
    ok = ok && run(ld);
    if (ok && ld->nlatencies > 0) {
        out->p50_us = js_quantile(ld->latency_us, ld->nlatencies, 0.5);
        out->p99_us = js_quantile(ld->latency_us, ld->nlatencies, 0.99);
        out->max_us = js_quantile(ld->latency_us, ld->nlatencies, 1);
    }
    for (unsigned i = 0; i < ld->open; i++)
        js_close(&ld->lanes[i].conn);
    for (unsigned i = 0; i < JS_LOAD_CONNS; i++)
        free(ld->lanes[i].request);
    if (ld->epoll >= 0)
        close(ld->epoll);
    free(ld->latency_us);
    free(ld->out);
    free(ld);
    return ok;
}
