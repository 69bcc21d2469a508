/* js_watched.c: see js_watched.h. */
#include "js_watched.h"

#include "js_load.h"
#include "js_watcher.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 60.0
#define ASK_S      0.01

/* What nats.js asks for in kv.create() and kv.watch(). */
static const char bucket[] =
    "{\"name\":\"KV_E\",\"subjects\":[\"$KV.E.>\"],\"max_msgs_per_subject\":1,\"storage\":\"file\","
    "\"num_replicas\":1,\"discard\":\"new\",\"deny_delete\":true,\"allow_rollup_hdrs\":true,"
    "\"allow_direct\":true,\"allow_msg_ttl\":true,\"subject_delete_marker_ttl\":3600000000000}";
static const char consumer[] =
    "{\"stream_name\":\"KV_E\",\"config\":{\"deliver_subject\":\"watcher\",\"deliver_policy\":"
    "\"last_per_subject\",\"ack_policy\":\"none\",\"max_deliver\":1,\"mem_storage\":true,"
    "\"num_replicas\":1,\"flow_control\":true,\"idle_heartbeat\":5000000000,"
    "\"filter_subject\":\"$KV.E.>\",\"replay_policy\":\"instant\"}}";

/* --- the publisher: each message has its moment, whatever became of those before -------------- */

struct steady {
    struct js_conn conn;
    pthread_t thread;
    atomic_bool stop;
    atomic_uint sent, answered;
    double start_s, gap_s;
    double *us; /* by message, from its moment to its answer */
    unsigned cap;
    bool failed;
};

static void steady_answer(struct steady *o, unsigned i)
{
    if (i < o->cap)
        o->us[i] = (js_now_s() - (o->start_s + i * o->gap_s)) * 1e6;
    atomic_fetch_add(&o->answered, 1);
}

/* NATS: the last token of the inbox is the number.  Redis answers in order. */
static void steady_frame(void *arg, const struct js_frame *f)
{
    struct steady *o = arg;
    const char *end = f->subject + f->subject_len, *at = end;

    if (o->conn.redis) {
        o->failed = o->failed || f->body[0] != '+';
        steady_answer(o, atomic_load(&o->answered));
        return;
    }
    while (at > f->subject && at[-1] != '.')
        at--;
    if (memmem(f->body, f->len, "\"error\"", 7) != NULL) {
        fprintf(stderr, "bench: the publisher: %.*s\n", (int)f->len, f->body);
        o->failed = true;
    }
    steady_answer(o, (unsigned)strtoul(at, NULL, 10));
}

static bool steady_send(struct steady *o, unsigned i)
{
    char line[400], body[129];

    memset(body, 'y', 128);
    body[128] = '\0';
    if (o->conn.redis)
        snprintf(line, sizeof line, "SET other %s\r\n", body);
    else
        snprintf(line, sizeof line, "PUB $KV.E.other _INBOX.steady.%u 128\r\n%s\r\n", i, body);
    return js_send(&o->conn, line, strlen(line));
}

static void *steady_main(void *arg)
{
    struct steady *o = arg;
    struct pollfd p = {.fd = o->conn.fd, .events = POLLIN};

    while (!o->failed && !atomic_load(&o->stop)) {
        unsigned i = atomic_load(&o->sent);
        double left_s = o->start_s + i * o->gap_s - js_now_s();
        if (left_s <= 0) {
            o->failed = !steady_send(o, i);
            atomic_store(&o->sent, i + 1);
        } else if (poll(&p, 1, left_s < 0.001 ? 0 : (int)(left_s * 1000)) > 0) {
            o->failed = o->failed || js_read(&o->conn, steady_frame, o) < 0;
        } else if (left_s < 0.001) {
            js_pause(left_s < 0.0002 ? left_s : 0.0002);
        }
    }
    return NULL;
}

static bool steady_start(struct steady *o, const struct js_server *s, unsigned rate)
{
    *o = (struct steady){.cap = 1u << 20, .conn.fd = -1, .gap_s = 1.0 / rate};
    o->us = calloc(o->cap, sizeof *o->us);
    if (o->us != NULL && js_server_dial(s, &o->conn) &&
        (o->conn.redis || js_subscribe(&o->conn, "_INBOX.steady.*"))) {
        o->start_s = js_now_s();
        if (pthread_create(&o->thread, NULL, steady_main, o) == 0)
            return true;
    }
    js_close(&o->conn);
    free(o->us);
    return false;
}

/* What it measured from its message number `from` on.  One without an answer waits still. */
static bool steady_stop(struct steady *o, unsigned from, struct js_deaths *out)
{
    double until_s = js_now_s() + 10;
    unsigned n;

    while (atomic_load(&o->answered) < atomic_load(&o->sent) && js_now_s() < until_s)
        js_pause(0.001);
    atomic_store(&o->stop, true);
    pthread_join(o->thread, NULL);
    n = atomic_load(&o->sent);
    for (unsigned i = from; i < n && i < o->cap; i++)
        if (o->us[i] == 0)
            steady_answer(o, i);
    n = n < o->cap ? n : o->cap;
    if (n > from) {
        out->other_p50_ms = js_quantile(o->us + from, n - from, 0.5) / 1000;
        out->other_p99_ms = js_quantile(o->us + from, n - from, 0.99) / 1000;
        out->other_max_ms = js_quantile(o->us + from, n - from, 1) / 1000;
    }
    js_close(&o->conn);
    free(o->us);
    return !o->failed;
}

/* --- who asks all the time -------------------------------------------------------------------- */

struct asker {
    struct js_server *s;
    pthread_t thread;
    atomic_bool stop;
};

static void *asker_main(void *arg)
{
    struct asker *a = arg;
    uint64_t live;

    while (!atomic_load(&a->stop) && js_server_live(a->s, "KV_E", &live))
        js_pause(ASK_S);
    return NULL;
}

/* --- the neighbour ---------------------------------------------------------------------------- */

static pid_t neighbour_start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(600); /* it ends with us, or by itself */
        for (volatile unsigned i = 0;; i++)
            continue;
    }
    return pid;
}

static void neighbour_stop(pid_t pid)
{
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* --- the measurement -------------------------------------------------------------------------- */

static bool load_keys(const struct js_server *s, struct js_job *job, struct js_watcher *w,
                      bool *late)
{
    struct js_stats st;
    double until_s;
    bool ok;

    job->redis = s->kind->redis;
    job->deadline_ns = job->redis && w != NULL ? w->deadline_ns : NULL;
    ok = js_load(s->proc.port, job, &st);
    *late = st.late;
    if (ok && st.errors > 0)
        fprintf(stderr, "bench: %llu errors, the first: %s\n", (unsigned long long)st.errors,
                st.error);
    if (!ok || st.errors > 0 || w == NULL || job->redis)
        return ok && st.errors == 0;
    until_s = js_now_s() + 20;
    while (atomic_load(&w->born) < w->n && js_now_s() < until_s)
        js_pause(0.002);
    if (atomic_load(&w->born) < w->n)
        fprintf(stderr, "bench: the watcher saw %u of %u keys\n", atomic_load(&w->born), w->n);
    return atomic_load(&w->born) == w->n;
}

/* From a second before the first deadline, which says what publisher and requests cost alone. */
static bool storm(struct js_server *s, const struct js_watched *b, struct js_watcher *w,
                  double due_s, struct js_deaths *out)
{
    struct asker a = {.s = s};
    struct steady o;
    double cpu_a, cpu_b, cpu_end, at_a, at_b, at_end;
    bool asking, ok;

    js_pause(due_s - 1.5 - js_now_s());
    if (!steady_start(&o, s, b->rate))
        return false;
    asking = pthread_create(&a.thread, NULL, asker_main, &a) == 0;
    js_pause(due_s - 1.0 - js_now_s());
    cpu_a = proc_cpu_s(&s->proc), at_a = js_now_s();
    js_pause(due_s - 0.02 - js_now_s());
    cpu_b = proc_cpu_s(&s->proc), at_b = js_now_s();
    unsigned from = atomic_load(&o.sent);
    while (atomic_load(&w->died) < w->n && js_now_s() < due_s + PATIENCE_S)
        js_pause(0.003);
    js_pause(b->settle_s);
    cpu_end = proc_cpu_s(&s->proc), at_end = js_now_s();
    ok = steady_stop(&o, from, out) && asking;
    atomic_store(&a.stop, true);
    if (asking)
        pthread_join(a.thread, NULL);
    if (at_b - at_a < 0.5)
        fprintf(stderr, "bench: no time was left before the first deadline\n");
    out->cpu_s_per_million =
        (cpu_end - cpu_b - (cpu_b - cpu_a) / (at_b - at_a) * (at_end - at_b)) * 1e6 / (double)w->n;
    js_watcher_lags(w, atomic_load(&w->died), out);
    return ok && at_b - at_a >= 0.5;
}

bool js_watched(struct js_server *s, const struct js_watched *b, struct js_deaths *out, bool *late)
{
    struct js_job job = {.prefix = "$KV.E.k",
                         .keys = b->n,
                         .ttl_s = b->seconds,
                         .due_together = true,
                         .conns = 4,
                         .window = 256,
                         .count = b->n};
    struct js_watcher w;
    double start_s;
    pid_t beside = 0;
    bool ok;

    *out = (struct js_deaths){0};
    *late = false;
    if (!(s->kind->redis || js_server_ask(s, "$JS.API.STREAM.CREATE.KV_E", bucket)) ||
        !js_watcher_start(&w, s, b->n, consumer))
        return false;
    start_s = js_now_s();
    ok = load_keys(s, &job, &w, late);
    if (ok && b->busy)
        ok = (beside = neighbour_start()) > 0;
    ok = ok && storm(s, b, &w, start_s + job.ttl_s, out);
    neighbour_stop(beside);
    js_watcher_stop(&w);
    js_watcher_fini(&w);
    return ok;
}

bool js_after_load(struct js_server *s, const struct js_watched *b, struct js_deaths *out)
{
    struct js_job job = {
        .prefix = "$KV.E.k", .keys = b->n, .conns = 4, .window = 256, .count = b->n};
    struct steady o;
    bool late;

    *out = (struct js_deaths){0};
    if (!(s->kind->redis || js_server_ask(s, "$JS.API.STREAM.CREATE.KV_E", bucket)) ||
        !load_keys(s, &job, NULL, &late) || !steady_start(&o, s, b->rate))
        return false;
    js_pause(b->seconds);
    return steady_stop(&o, 0, out);
}
