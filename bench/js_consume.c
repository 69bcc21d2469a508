/* js_consume.c: see js_consume.h. */
#include "js_consume.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_CAP    ((size_t)1 << 20) /* one read holds fewer bytes than this of replies */
#define ANSWER_MAX 300
#define PATIENCE_S 15.0
#define MAX_TAKERS 16

/* --- frames ----------------------------------------------------------------------------------- */

/* The word behind the sid, unless it is a size: replies here begin with $ or a letter. */
static size_t frame_reply(const struct js_frame *f, const char **reply)
{
    const char *p = f->subject + f->subject_len + 1, *end;

    p = memchr(p, ' ', (size_t)(f->body - p));
    if (p == NULL || (p[1] >= '0' && p[1] <= '9'))
        return 0;
    *reply = ++p;
    end = memchr(p, ' ', (size_t)(f->body - p));
    return end != NULL ? (size_t)(end - p) : 0;
}

/* $JS.ACK...sequence.consumer_sequence.time.pending, read from its end. */
static uint64_t reply_seq(const char *reply, size_t n)
{
    uint64_t v = 0, scale = 1;

    for (int dots = 0; n > 0 && dots < 3; n--)
        dots += reply[n - 1] == '.';
    for (; n > 0 && reply[n - 1] != '.'; n--, scale *= 10)
        v += scale * (uint64_t)(reply[n - 1] - '0');
    return v;
}

static void answer(struct js_taker *t, const char *subject, size_t n, const char *rest)
{
    size_t m = strlen(rest);

    if (n == 0 || n + m + 4 > ANSWER_MAX || t->out_len + ANSWER_MAX > OUT_CAP) {
        t->strange++;
        return;
    }
    memcpy(t->out + t->out_len, "PUB ", 4);
    memcpy(t->out + t->out_len + 4, subject, n);
    memcpy(t->out + t->out_len + 4 + n, rest, m);
    t->out_len += 4 + n + m;
}

static void take_status(struct js_taker *t, const struct js_frame *f, const char *reply, size_t n)
{
    static const char stalled[] = "\r\nNats-Consumer-Stalled: ";
    const char *at;

    if (memcmp(f->body + 9, "100", 3) != 0) {
        if (t->strange++ == 0)
            snprintf(t->said, sizeof t->said, "%.*s", (int)strcspn(f->body, "\r"), f->body);
        return;
    }
    at = memmem(f->body, f->head_len, stalled, strlen(stalled));
    if (n == 0 && at != NULL) {
        reply = at + strlen(stalled);
        n = (size_t)((const char *)memchr(reply, '\r', f->head_len) - reply);
    }
    if (n == 0)
        return; /* a heartbeat */
    t->flows++;
    answer(t, reply, n, " 0\r\n\r\n");
}

static void take_frame(void *arg, const struct js_frame *f)
{
    struct js_taker *t = arg;
    const char *reply = NULL;
    size_t n = frame_reply(f, &reply);

    if (f->head_len > 12 && f->body[8] == ' ') {
        take_status(t, f, reply, n);
        return;
    }
    t->got++;
    if (t->one_by_one) {
        uint64_t seq = reply_seq(reply, n);
        t->jumps += seq != t->seq + 1;
        t->seq = seq;
    }
    if (t->ack)
        answer(t, reply, n, " 4\r\n+ACK\r\n");
}

static bool flush_answers(struct js_taker *t)
{
    size_t n = t->out_len;

    t->out_len = 0;
    return n == 0 || js_send(&t->conn, t->out, n);
}

/* --- takers ----------------------------------------------------------------------------------- */

bool js_taker_open(struct js_taker *t, int port)
{
    *t = (struct js_taker){.conn.fd = -1};
    t->out = malloc(OUT_CAP);
    if (t->out != NULL && js_open(&t->conn, port))
        return true;
    js_taker_close(t);
    return false;
}

void js_taker_close(struct js_taker *t)
{
    if (t->conn.buf != NULL)
        js_close(&t->conn);
    free(t->out);
    *t = (struct js_taker){.conn.fd = -1};
}

bool js_taker_subscribe(struct js_taker *t, const char *prefix, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int len = snprintf(t->out + t->out_len, ANSWER_MAX, "SUB %s%u %u\r\n", prefix, i, i + 10);
        t->out_len += (size_t)len;
        if (t->out_len + ANSWER_MAX > OUT_CAP && !flush_answers(t))
            return false;
    }
    return flush_answers(t) && js_subscribe(&t->conn, "bench.settled");
}

static uint64_t sum_got(const struct js_taker *t, unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += t[i].got;
    return sum;
}

/* One round of reads; false when a connection ended. */
static bool take_some(struct js_taker *t, unsigned n, int wait_ms)
{
    struct pollfd fds[MAX_TAKERS];

    for (unsigned i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = t[i].conn.fd, .events = POLLIN};
    if (poll(fds, n, wait_ms) <= 0)
        return true;
    for (unsigned i = 0; i < n; i++)
        if (fds[i].revents != 0 &&
            (js_read(&t[i].conn, take_frame, &t[i]) < 0 || !flush_answers(&t[i]))) {
            fprintf(stderr, "bench: a connection ended\n");
            return false;
        }
    return true;
}

bool js_take(struct js_taker *t, unsigned n, uint64_t want, double linger_s, double *done_s)
{
    uint64_t got = sum_got(t, n), before = got;
    double last_s = js_now_s(), now_s = last_s;

    if (n > MAX_TAKERS)
        return false;
    while (got < want && now_s - last_s < PATIENCE_S) {
        if (!take_some(t, n, 1000))
            return false;
        got = sum_got(t, n);
        now_s = js_now_s();
        last_s = got > before ? now_s : last_s;
        before = got;
    }
    *done_s = last_s;
    if (got < want)
        fprintf(stderr, "bench: STALL: %llu of %llu messages, then nothing for %.0f s\n",
                (unsigned long long)got, (unsigned long long)want, PATIENCE_S);
    for (last_s += linger_s; got >= want && js_now_s() < last_s;)
        if (!take_some(t, n, 5))
            return false;
    return got >= want;
}

bool js_fetch(struct js_taker *t, const char *stream, const char *consumer, unsigned batch,
              uint64_t want)
{
    char body[80], request[ANSWER_MAX];
    double done_s;
    int len;

    snprintf(body, sizeof body, "{\"batch\":%u,\"expires\":10000000000}", batch);
    len = snprintf(request, sizeof request,
                   "PUB $JS.API.CONSUMER.MSG.NEXT.%s.%s bench.fetch0 %zu\r\n%s\r\n", stream,
                   consumer, strlen(body), body);
    if (!js_taker_subscribe(t, "bench.fetch", 1))
        return false;
    t->ack = true;
    for (uint64_t due = 0; due < want;) {
        due = due + batch < want ? due + batch : want;
        memcpy(t->out + t->out_len, request, (size_t)len);
        t->out_len += (size_t)len;
        if (!flush_answers(t) || !js_take(t, 1, due, 0, &done_s))
            return false;
        if (t->strange > 0) {
            fprintf(stderr, "bench: a fetch was answered %s\n", t->said);
            return false;
        }
    }
    return js_subscribe(&t->conn, "bench.settled"); /* the last acknowledgements have arrived */
}

/* --- creating --------------------------------------------------------------------------------- */

struct makes {
    unsigned answered, refused;
    char said[200];
};

static void take_made(void *arg, const struct js_frame *f)
{
    struct makes *k = arg;

    k->answered++;
    if (memmem(f->body, f->len, "\"error\"", 7) != NULL && k->refused++ == 0)
        snprintf(k->said, sizeof k->said, "%.*s", (int)f->len, f->body);
}

static bool send_make(struct js_conn *c, const struct js_makes *m, unsigned i)
{
    char body[1024], text[2048];
    bool filtered = m->filter[0] != '\0';
    int n;

    snprintf(body, sizeof body,
             "{\"stream_name\":\"%s\",\"config\":{\"name\":\"w%u\",\"deliver_subject\":\"%s%u\","
             "\"ack_policy\":\"none\",\"max_deliver\":1,\"mem_storage\":true,\"num_replicas\":1,"
             "\"inactive_threshold\":300000000000,\"replay_policy\":\"instant\"%s%s%s%s},"
             "\"action\":\"create\"}",
             m->stream, i, m->deliver_prefix, i, filtered ? ",\"filter_subject\":\"" : "",
             m->filter, filtered ? "\"" : "", m->rest);
    n = snprintf(text, sizeof text,
                 "PUB $JS.API.CONSUMER.CREATE.%s.w%u%s%s bench.made %zu\r\n%s\r\n", m->stream, i,
                 filtered ? "." : "", m->filter, strlen(body), body);
    return n > 0 && (size_t)n < sizeof text && js_send(c, text, (size_t)n);
}

bool js_make_consumers(int port, const struct js_makes *m, double *seconds)
{
    struct js_conn c;
    struct makes k = {0};
    unsigned sent = 0;
    double start_s;
    bool ok = js_open(&c, port) && js_subscribe(&c, "bench.made");

    start_s = js_now_s();
    while (ok && k.answered < m->n) {
        for (; ok && sent < m->n && sent - k.answered < m->window; sent++)
            ok = send_make(&c, m, sent);
        ok = ok && js_read(&c, take_made, &k) >= 0;
    }
    *seconds = js_now_s() - start_s;
    if (k.refused > 0)
        fprintf(stderr, "bench: %u of %u consumers refused: %s\n", k.refused, m->n, k.said);
    js_close(&c);
    return ok && k.refused == 0;
}
