/* js_load.c: see js_load.h. */
#include "js_load.h"

#include "js_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PAYLOAD       128
#define TEMPLATE      512
#define DIGITS        7
#define MS_DIGITS     13 /* of a wall clock's milliseconds */
#define INBOX         "_INBOX.Xh4kq0vT9aLr2mWz7bNc%02u"
#define SCATTER       7368787u /* prime to every number of keys in use */
#define MAX_LATENCIES ((size_t)1 << 20)

struct lane {
    struct js_conn conn;
    struct load *load;
    char request[TEMPLATE];
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

static void build_redis(struct lane *l)
{
    const struct js_job *job = l->load->job;
    size_t key = strlen(job->prefix) + DIGITS;
    bool ttl = job->ttl_s > 0;
    char *p = l->request, *end = p + TEMPLATE;

    if (job->get_from != NULL) {
        l->len = (size_t)snprintf(p, TEMPLATE, "*2\r\n$3\r\nGET\r\n$%zu\r\n%s0000000\r\n", key,
                                  job->prefix);
        l->key_at = l->len - 2 - DIGITS;
        return;
    }
    p += snprintf(p, TEMPLATE, "*%d\r\n$3\r\nSET\r\n$%zu\r\n%s0000000\r\n", ttl ? 5 : 3, key,
                  job->prefix);
    l->key_at = (size_t)(p - l->request) - 2 - DIGITS;
    p += snprintf(p, (size_t)(end - p), "$%d\r\n", PAYLOAD);
    memset(p, 'x', PAYLOAD);
    p += PAYLOAD;
    if (!ttl)
        p += snprintf(p, (size_t)(end - p), "\r\n");
    else if (job->deadline_ns == NULL && !job->due_together)
        p += snprintf(p, (size_t)(end - p), "\r\n$2\r\nEX\r\n$4\r\n%04u\r\n", job->ttl_s);
    else
        p += snprintf(p, (size_t)(end - p), "\r\n$4\r\nPXAT\r\n$13\r\n0000000000000\r\n");
    l->len = (size_t)(p - l->request);
    l->ttl_at = ttl ? l->len - 2 - MS_DIGITS : 0;
}

static void build_nats(struct lane *l, unsigned index)
{
    const struct js_job *job = l->load->job;
    char subject[128], reply[64], head[64] = "";
    size_t body = job->get_from != NULL ? 0 : PAYLOAD, at;
    int n;

    snprintf(reply, sizeof reply, INBOX ".0000000", index);
    snprintf(subject, sizeof subject, "%s%s%s%s0000000",
             job->get_from != NULL ? "$JS.API.DIRECT.GET." : "",
             job->get_from != NULL ? job->get_from : "", job->get_from != NULL ? "." : "",
             job->prefix);
    if (job->ttl_s > 0)
        snprintf(head, sizeof head, "NATS/1.0\r\nNats-TTL: %02u\r\n\r\n", job->ttl_s);
    n = head[0] != '\0' ? snprintf(l->request, TEMPLATE, "HPUB %s %s %zu %zu\r\n%s", subject, reply,
                                   strlen(head), strlen(head) + body, head)
                        : snprintf(l->request, TEMPLATE, "PUB %s %s %zu\r\n", subject, reply, body);
    at = (size_t)n;
    memset(l->request + at, 'x', body);
    memcpy(l->request + at + body, "\r\n", 2);
    l->len = at + body + 2;
    l->key_at = (size_t)(strchr(l->request, ' ') - l->request) + 1 + strlen(subject) - DIGITS;
    l->reply_at = l->key_at + DIGITS + 1 + strlen(reply) - DIGITS;
    if (job->due_together)
        l->ttl_at = at - 6; /* two digits and the two line ends */
}

static bool lane_open(struct load *ld, int port, unsigned i)
{
    struct lane *l = &ld->lanes[i];
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = i};
    char subject[64];

    l->load = ld;
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
 * Redis says +OK, a text, or an error behind a minus. */
static bool is_bad(const struct lane *l, const struct js_frame *f)
{
    if (l->load->job->redis)
        return f->body[0] == '-' || f->body[1] == '-';
    return f->head_len > 0 ? f->head_len < 9 || f->body[8] == ' ' : f->len < 3 || f->body[2] == 'e';
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
    if (l->ttl_at > 0 && !job->redis)
        put_digits(dst + l->ttl_at, ttl, 2);
    else if (job->due_together || job->deadline_ns != NULL)
        put_digits(dst + l->ttl_at, deadline_ms(ld, key), MS_DIGITS);
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
    ld->out = malloc((size_t)job->window * TEMPLATE);
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
    if (ld->epoll >= 0)
        close(ld->epoll);
    free(ld->latency_us);
    free(ld->out);
    free(ld);
    return ok;
}
