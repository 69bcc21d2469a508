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

static void build_request(struct lane *l, unsigned index)
{
    const struct js_job *job = l->load->job;
    char subject[128], reply[64], head[64] = "";
    size_t body = job->get_from != NULL ? 0 : PAYLOAD, at;
    int n;

    snprintf(reply, sizeof reply, "_INBOX.Xh4kq0vT9aLr2mWz7bNc%02u.0000000", index);
    snprintf(subject, sizeof subject, "%s%s%s%s0000000",
             job->get_from != NULL ? "$JS.API.DIRECT.GET." : "",
             job->get_from != NULL ? job->get_from : "", job->get_from != NULL ? "." : "",
             job->prefix);
    if (job->ttl_s > 0)
        snprintf(head, sizeof head, "NATS/1.0\r\nNats-TTL: %u\r\n\r\n", job->ttl_s);
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
    if (!js_open(&l->conn, port))
        return false;
    ld->open = i + 1;
    build_request(l, i);
    snprintf(subject, sizeof subject, "_INBOX.Xh4kq0vT9aLr2mWz7bNc%02u.*", i);
    return js_subscribe(&l->conn, subject) &&
           epoll_ctl(ld->epoll, EPOLL_CTL_ADD, l->conn.fd, &ev) == 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* An ack is {"stream"..., an error {"error"...; a stored message has headers without a status. */
static void count_answer(void *arg, const struct js_frame *f)
{
    struct lane *l = arg;
    struct js_stats *s = l->load->stats;
    bool bad =
        f->head_len > 0 ? f->head_len < 9 || f->body[8] == ' ' : f->len < 3 || f->body[2] == 'e';

    s->done++;
    l->waiting--;
    if (!bad)
        return;
    if (s->errors++ == 0)
        snprintf(s->error, sizeof s->error, "%.*s", (int)f->len, f->body);
}

static char *put_request(struct load *ld, struct lane *l, char *dst, unsigned ttl)
{
    const struct js_job *job = ld->job;

    memcpy(dst, l->request, l->len);
    if (job->keys > 1)
        put_digits(dst + l->key_at, ld->sent * SCATTER % job->keys, DIGITS);
    put_digits(dst + l->reply_at, ld->sent, DIGITS);
    if (l->ttl_at > 0)
        put_digits(dst + l->ttl_at, ttl, 2);
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
    if (ld->end_s > 0 && now > ld->end_s)
        return true;
    if (job->due_together) {
        unsigned passed = (unsigned)(now - ld->start_s);
        if (passed + 10 > ttl) {
            fprintf(stderr, "bench: loading took too long for one second of deaths\n");
            return false;
        }
        ttl -= passed;
    }
    for (; room > 0 && ld->sent < allowed; room--, l->waiting++)
        end = put_request(ld, l, end, ttl);
    l->asked_s = now;
    return end == ld->out || js_send(&l->conn, ld->out, (size_t)(end - ld->out));
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
    bool finished = ld->sent >= ld->job->count || (ld->end_s > 0 && js_now_s() > ld->end_s);

    for (unsigned i = 0; finished && i < ld->open; i++)
        finished = ld->lanes[i].waiting == 0;
    return finished;
}

static bool run(struct load *ld)
{
    struct epoll_event ev[JS_LOAD_CONNS];
    double last_s = js_now_s();

    ld->start_s = last_s;
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
