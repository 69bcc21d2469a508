/* js_expiry.c: see js_expiry.h. */
#include "js_expiry.h"

#include "js_load.h"
#include "js_other.h"
#include "js_watcher.h"
#include "js_wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_S 90.0
#define MAX_POLLS  65536

/* --- polling ---------------------------------------------------------------------------------- */

struct polls {
    struct {
        int64_t at_ns;
        uint64_t live;
    } seen[MAX_POLLS];
    unsigned n;
};

/* Until nothing but the other publisher's one message is left. */
static bool poll_deaths(struct js_server *s, struct polls *p, double until_s)
{
    uint64_t live = UINT64_MAX;

    while (live > 1 && js_now_s() < until_s && p->n < MAX_POLLS) {
        if (!js_server_live(s, "E", &live)) {
            fprintf(stderr, "bench: the server does not say how many are left\n");
            return false;
        }
        p->seen[p->n].at_ns = js_wall_ns();
        p->seen[p->n++].live = live;
        js_pause(0.005);
    }
    return true;
}

/* What polls cost goes on while what is left of the work is done. */
static bool poll_on(struct js_server *s, double until_s)
{
    uint64_t live;

    while (js_now_s() < until_s) {
        if (!js_server_live(s, "E", &live))
            return false;
        js_pause(0.005);
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The k-th death was first visible in the first poll that had at least k dead. */
static unsigned lags_from_polls(struct js_watcher *w, const struct polls *p)
{
    unsigned k = 0;

    qsort(w->deadline_ns, w->n, sizeof *w->deadline_ns, by_time);
    for (unsigned i = 0; i < p->n; i++) {
        uint64_t others = 1, live = p->seen[i].live;
        uint64_t dead = live <= others ? w->n : live - others > w->n ? 0 : w->n - (live - others);
        for (; k < dead; k++)
            w->lag_s[k] = (double)(p->seen[i].at_ns - w->deadline_ns[k]) / 1e9;
    }
    return k;
}

/* --- the two measurements --------------------------------------------------------------------- */

static bool make_stream(struct js_server *s, enum js_notice notice)
{
    static const char *const more[] = {
        "\"subjects\":[\"e.>\"],",
        "\"subjects\":[\"e.>\"],\"subject_delete_marker_ttl\":3600000000000,",
        "\"subjects\":[\"e.>\",\"dead.e.>\"],\"metadata\":{\"mayfly.ttl.on_expire\":\"dead\"},"};
    char config[512];

    if (s->kind->redis)
        return true;
    snprintf(config, sizeof config,
             "{\"name\":\"E\",\"max_msgs_per_subject\":1,\"storage\":\"file\","
             "\"num_replicas\":1,\"allow_msg_ttl\":true,%s\"republish\":{\"src\":\"%s\","
             "\"dest\":\"rp.>\",\"headers_only\":true}}",
             more[notice], notice == JS_LETTERS ? ">" : "e.k.>");
    return js_server_ask(s, "$JS.API.STREAM.CREATE.E", config);
}

/* Publishes the keys and waits until the watcher knows every deadline. */
static bool load_keys(const struct js_server *s, struct js_job *job, struct js_watcher *w,
                      bool *late)
{
    struct js_stats st;
    double until_s;
    bool ok;

    job->redis = w->redis;
    job->deadline_ns = w->redis ? w->deadline_ns : NULL;
    ok = js_load(s->proc.port, job, &st);
    *late = st.late;
    if (!ok)
        return false;
    if (st.errors > 0) {
        fprintf(stderr, "bench: %llu errors, the first: %s\n", (unsigned long long)st.errors,
                st.error);
        return false;
    }
    until_s = js_now_s() + 20;
    while (!w->redis && atomic_load(&w->born) < w->n && js_now_s() < until_s)
        js_pause(0.002);
    if (!w->redis && atomic_load(&w->born) < w->n)
        fprintf(stderr, "bench: only %u of %u messages were republished\n", atomic_load(&w->born),
                w->n);
    return w->redis || atomic_load(&w->born) == w->n;
}

struct meter {
    double cpu_s, at_s;
};

static struct meter meter_read(const struct proc *p)
{
    return (struct meter){proc_cpu_s(p), js_now_s()};
}

static bool other_fill(struct js_other *o, unsigned from, struct js_deaths *out)
{
    bool ok = js_other_stop(o);
    unsigned to = js_other_done(o);

    out->other_p50_ms = js_other_us(o, from, to, 0.5) / 1000;
    out->other_p99_ms = js_other_us(o, from, to, 0.99) / 1000;
    out->other_max_ms = js_other_us(o, from, to, 1) / 1000;
    js_other_fini(o);
    return ok;
}

/* From before the first death to after the last; the second before the first deadline says what the
 * server costs while nothing dies (polls).  With another publisher that share would be as large as
 * what is looked for, and not the same during the deaths: so CPU time has a run of its own. */
static bool watch_deaths(struct js_server *s, const struct js_burst *burst, struct js_watcher *w,
                         double due_s, struct js_deaths *out)
{
    struct polls *polls = calloc(1, sizeof *polls);
    struct js_other o;
    struct meter a, b, end;
    double until_s = due_s + PATIENCE_S;
    unsigned others = 0;
    bool ok = polls != NULL;

    js_pause(due_s - 1.1 - js_now_s());
    if (!ok || (!burst->alone && !js_other_start(&o, s, "e.other"))) {
        free(polls);
        return false;
    }
    js_pause(due_s - 1.0 - js_now_s());
    a = meter_read(&s->proc);
    if (burst->notice == JS_NO_NOTICE) /* so that the polls' cost is in what is taken off */
        ok = poll_deaths(s, polls, due_s - 0.02);
    js_pause(due_s - 0.02 - js_now_s());
    b = meter_read(&s->proc);
    if (!burst->alone)
        others = js_other_done(&o);
    if (burst->notice != JS_NO_NOTICE)
        while (atomic_load(&w->died) < w->n && js_now_s() < until_s)
            js_pause(0.003);
    else
        ok = ok && poll_deaths(s, polls, until_s);
    /* What is left of the work shows in the CPU time. */
    if (burst->notice != JS_NO_NOTICE)
        js_pause(burst->settle_s);
    else
        ok = ok && poll_on(s, js_now_s() + burst->settle_s);
    end = meter_read(&s->proc);
    if (!burst->alone)
        ok = other_fill(&o, others, out) && ok;
    if (b.at_s - a.at_s < 0.5) {
        fprintf(stderr,
                "bench: no time was left to see what the server costs while nothing dies\n");
        ok = false;
    }
    double idle = (b.cpu_s - a.cpu_s) / (b.at_s - a.at_s) * (end.at_s - b.at_s);
    out->cpu_s_per_million = (end.cpu_s - b.cpu_s - idle) * 1e6 / (double)w->n;
    js_watcher_lags(
        w, burst->notice != JS_NO_NOTICE ? atomic_load(&w->died) : lags_from_polls(w, polls), out);
    free(polls);
    return ok;
}

bool js_burst(struct js_server *s, const struct js_burst *b, struct js_deaths *out, bool *late)
{
    struct js_job job = {.prefix = "e.k.",
                         .keys = b->n,
                         .ttl_s = b->seconds,
                         .due_together = true,
                         .conns = 4,
                         .window = 256,
                         .body = b->body,
                         .count = b->n};
    struct js_watcher w;
    double start_s;
    bool ok = make_stream(s, b->notice) && js_watcher_start(&w, s, b->n, NULL);

    *out = (struct js_deaths){0};
    *late = false;
    if (!ok)
        return false;
    start_s = js_now_s();
    ok = load_keys(s, &job, &w, late) && watch_deaths(s, b, &w, start_s + job.ttl_s, out);
    js_pause(ok ? b->settle_s : 0);
    out->disk_mb = js_server_disk_mb(s);
    js_watcher_stop(&w);
    js_watcher_fini(&w);
    return ok;
}

bool js_spread(struct js_server *s, unsigned n, unsigned rate, unsigned ttl_s,
               struct js_deaths *out)
{
    struct js_job job = {.prefix = "e.k.",
                         .keys = n,
                         .ttl_s = ttl_s,
                         .conns = 1,
                         .window = 4000,
                         .rate = rate,
                         .count = n};
    struct js_watcher w;
    double until_s = js_now_s() + ttl_s + (double)n / rate + PATIENCE_S;
    bool ok = make_stream(s, JS_MARKERS) && js_watcher_start(&w, s, n, NULL), late;

    *out = (struct js_deaths){0};
    if (!ok)
        return false;
    ok = load_keys(s, &job, &w, &late);
    while (ok && atomic_load(&w.died) < n && js_now_s() < until_s)
        js_pause(0.01);
    js_watcher_stop(&w);
    js_watcher_lags(&w, atomic_load(&w.died), out);
    js_watcher_fini(&w);
    return ok;
}
