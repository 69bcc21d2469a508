/* part_ttl.c: requests about a million deadlines and ten, backfills, and what another publisher has
 * to bear of them; what a key costs under a policy. */
#include "js_other.h"
#include "matrix.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD_S 86400

/* The other publisher's stream. */
static bool other_make(struct js_server *s)
{
    return js_server_ask(s, "$JS.API.STREAM.CREATE.O",
                         "{\"name\":\"O\",\"subjects\":[\"o.>\"],\"storage\":\"file\","
                         "\"num_replicas\":1,\"max_msgs_per_subject\":1}");
}

/* --- STATS, FORECAST, LIST -------------------------------------------------------------------- */

struct walk {
    const char *row, *subject, *body, *expect;
};
static const struct walk walks[] = {
    {"ttl.stats", "$MAYFLY.TTL.STATS.W", "", "items_with_ttl"},
    {"ttl.forecast", "$MAYFLY.TTL.FORECAST.W", "{\"within\":\"24h\",\"buckets\":24}", "buckets"},
    {"ttl.list", "$MAYFLY.TTL.LIST.W", "{\"limit\":100}", "items"},
};
#define WALKS (sizeof walks / sizeof walks[0])

static bool walk_ask(struct js_server *s, const struct walk *w)
{
    static char text[1 << 17];

    if (!js_request(&s->ask, w->subject, w->body, text, sizeof text) ||
        strstr(text, "\"error\"") != NULL || strstr(text, w->expect) == NULL) {
        fprintf(stderr, "bench: %s says %.200s\n", w->subject, text);
        return false;
    }
    return true;
}

static bool walk_time(struct run *r, struct js_server *s, const struct walk *w, const char *suffix)
{
    double ms[64], cpu_s = proc_cpu_s(&s->proc);
    unsigned n = r->sizes->asks;
    char row[32];

    for (unsigned i = 0; i < n; i++) {
        double start_s = js_now_s();
        if (!walk_ask(s, w))
            return false;
        ms[i] = (js_now_s() - start_s) * 1e3;
    }
    snprintf(row, sizeof row, "%s%s", w->row, suffix);
    emit(r, row, "cpu_ms", (proc_cpu_s(&s->proc) - cpu_s) * 1e3 / n);
    emit(r, row, "p50_ms", js_quantile(ms, n, 0.5));
    emit(r, row, "max_ms", js_quantile(ms, n, 1));
    return true;
}

/* Quiet for a while, then the same request over and over; and so on.  The publishes of a phase are
 * those between its marks. */
static bool walk_beside(struct run *r, struct js_server *s, const struct walk *w,
                        const char *suffix)
{
    enum { TURNS = 4 };
    unsigned mark[2 * TURNS + 1];
    struct js_other o;
    char row[32];
    bool ok = js_other_start(&o, s, "o.other");

    if (!ok)
        return false;
    js_pause(r->sizes->turn_s / 5); /* its first publishes */
    mark[0] = js_other_done(&o);
    for (unsigned i = 0; ok && i < 2 * TURNS; i++) {
        double until_s = js_now_s() + r->sizes->turn_s;
        if (i % 2 == 0)
            js_pause(r->sizes->turn_s);
        while (ok && i % 2 == 1 && js_now_s() < until_s)
            ok = walk_ask(s, w);
        mark[i + 1] = js_other_done(&o);
    }
    ok = js_other_stop(&o) && ok;
    snprintf(row, sizeof row, "%s%s", w->row, suffix);
    for (unsigned i = 0; ok && i < 2 * TURNS; i++) {
        emit(r, row, i % 2 == 0 ? "quiet_p99_us" : "other_p99_us",
             js_other_us(&o, mark[i], mark[i + 1], 0.99));
        emit(r, row, i % 2 == 0 ? "quiet_max_us" : "other_max_us",
             js_other_us(&o, mark[i], mark[i + 1], 1));
    }
    js_other_fini(&o);
    return ok;
}

static bool walk_keys(struct run *r, unsigned keys, const char *suffix)
{
    struct js_job fill = {.prefix = "w.",
                          .keys = keys,
                          .ttl_s = 60,
                          .ttl_spread = SPREAD_S,
                          .conns = 4,
                          .window = 256,
                          .count = keys};
    struct js_stats st;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = other_make(&s) &&
         js_server_ask(&s, "$JS.API.STREAM.CREATE.W",
                       "{\"name\":\"W\",\"subjects\":[\"w.>\"],\"storage\":\"file\","
                       "\"num_replicas\":1,\"max_msgs_per_subject\":1,\"allow_msg_ttl\":true}") &&
         js_load(s.proc.port, &fill, &st) && st.errors == 0;
    js_pause(r->sizes->settle_s); /* its checkpoint is written */
    for (unsigned i = 0; ok && i < WALKS; i++)
        ok = walk_time(r, &s, &walks[i], suffix) && walk_beside(r, &s, &walks[i], suffix);
    js_server_stop(&s);
    return ok;
}

/* What a user of Redis does to learn which keys end next: all keys, and the time left of each. */
struct scan {
    uint64_t asked, answered;
};

static void scan_count(void *arg, const struct js_frame *f)
{
    (void)f;
    ((struct scan *)arg)->answered++;
}

/* The keys in a page of SCAN are the texts that begin with their prefix; a PTTL for each. */
static bool scan_page(struct js_conn *c, const char *page, struct scan *n)
{
    static char out[1 << 17];
    size_t len = 0;

    for (const char *at = page; (at = strstr(at, "\r\nw.")) != NULL;) {
        size_t key = strcspn(at += 2, "\r");
        len += (size_t)snprintf(out + len, sizeof out - len, "PTTL %.*s\r\n", (int)key, at);
        n->asked++;
    }
    if (len > 0 && !js_send(c, out, len))
        return false;
    while (n->answered < n->asked)
        if (js_read(c, scan_count, n) < 0)
            return false;
    return true;
}

static bool scan_all(struct run *r, unsigned keys)
{
    struct js_job fill = {.prefix = "w.",
                          .redis = true,
                          .keys = keys,
                          .ttl_s = 60,
                          .ttl_spread = SPREAD_S,
                          .conns = 4,
                          .window = 256,
                          .count = keys};
    static char page[1 << 17];
    char line[64];
    unsigned long long cursor = 0;
    struct js_stats st;
    struct js_server s;
    struct scan n = {0};
    double start_s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_load(s.proc.port, &fill, &st) && st.errors == 0;
    start_s = js_now_s();
    do {
        snprintf(line, sizeof line, "SCAN %llu COUNT 1000", cursor);
        ok = ok && js_redis_ask(&s.ask, line, page, sizeof page) &&
             strncmp(page, "*2\r\n$", 5) == 0 && scan_page(&s.ask, page, &n);
        cursor = ok ? strtoull(strchr(page + 5, '\n') + 1, NULL, 10) : 0;
    } while (cursor != 0);
    ok = ok && n.asked >= keys;
    if (ok)
        emit(r, "ttl.list", "p50_ms", (js_now_s() - start_s) * 1e3);
    js_server_stop(&s);
    return ok;
}

/* Ten million take half a minute to load: in the first round only. */
bool part_walks(struct run *r)
{
    if (r->kind.redis)
        return scan_all(r, r->sizes->keys);
    return walk_keys(r, r->sizes->keys, "") &&
           (r->round > 0 || walk_keys(r, r->sizes->keys_many, "_many"));
}

/* --- memory ----------------------------------------------------------------------------------- */

bool part_memory(struct run *r)
{
    struct js_job fill = {
        .prefix = "b.", .keys = r->sizes->keys, .conns = 4, .window = 256, .count = r->sizes->keys};
    struct js_stats st;
    struct js_server s;
    double idle_kb;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    js_pause(0.3);
    idle_kb = proc_rss_kb(&s.proc);
    ok = js_server_ask(&s, "$JS.API.STREAM.CREATE.B",
                       "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\","
                       "\"num_replicas\":1,\"max_msgs_per_subject\":1,"
                       "\"metadata\":{\"mayfly.ttl.default\":\"1h\"}}") &&
         js_load(s.proc.port, &fill, &st) && st.errors == 0;
    js_pause(r->sizes->settle_s / 2);
    if (ok)
        emit(r, "ttl.memory", "bytes", (proc_rss_kb(&s.proc) - idle_kb) * 1024 / r->sizes->keys);
    js_server_stop(&s);
    return ok;
}

/* --- BACKFILL --------------------------------------------------------------------------------- */

struct pacer {
    const struct js_server *s;
    pthread_t thread;
    unsigned rate;
    atomic_bool stop;
    bool failed;
};

static void *pacer_main(void *arg)
{
    struct pacer *p = arg;
    struct js_job job = {.prefix = "o.",
                         .keys = 1,
                         .conns = 4,
                         .window = 256,
                         .rate = p->rate,
                         .count = UINT64_MAX,
                         .cap_s = 0.1};
    struct js_stats st;

    while (!p->failed && !atomic_load(&p->stop))
        p->failed = !js_load(p->s->proc.port, &job, &st) || st.errors > 0;
    return NULL;
}

/* From the request to the end of the job.  Every message must have got its deadline. */
static bool backfill_run(struct js_server *s, const char *which, uint64_t want, double *seconds)
{
    char body[128], text[4096];
    double start_s = js_now_s(), until_s = start_s + 120;

    snprintf(body, sizeof body, "{\"action\":\"start\",\"which\":\"%s\",\"rate\":1000000}", which);
    if (!js_server_ask(s, "$MAYFLY.TTL.BACKFILL.F", body))
        return false;
    do {
        js_pause(0.002);
        if (!js_request(&s->ask, "$MAYFLY.TTL.BACKFILL.F", "{\"action\":\"status\"}", text,
                        sizeof text))
            return false;
    } while (strstr(text, "\"state\":\"running\"") != NULL && js_now_s() < until_s);
    *seconds = js_now_s() - start_s;
    if (strstr(text, "\"state\":\"done\"") != NULL && js_number(text, "set", 0) == want)
        return true;
    fprintf(stderr, "bench: WRONG: of %llu messages: %.600s\n", (unsigned long long)want, text);
    return false;
}

/* Half of what the server takes is published into another stream, by somebody who waits for each
 * acknowledgement, too: first alone, then while the job runs. */
static bool backfill_beside(struct run *r, struct js_server *s, uint64_t n)
{
    struct js_job most = {.prefix = "o.",
                          .keys = 1,
                          .conns = 4,
                          .window = 256,
                          .count = UINT64_MAX,
                          .cap_s = r->sizes->turn_s * 2};
    struct pacer p = {.s = s};
    struct js_stats st;
    struct js_other o;
    unsigned from, mid;
    double seconds = 1;
    bool ok = js_load(s->proc.port, &most, &st) && st.errors == 0;

    p.rate = (unsigned)((double)st.done / st.seconds / 2);
    if (!ok || pthread_create(&p.thread, NULL, pacer_main, &p) != 0)
        return false;
    if ((ok = js_other_start(&o, s, "o.other"))) {
        js_pause(r->sizes->turn_s);
        from = js_other_done(&o);
        js_pause(r->sizes->turn_s * 4);
        mid = js_other_done(&o);
        ok = backfill_run(s, "all", n, &seconds);
        ok = js_other_stop(&o) && ok;
        emit(r, "ttl.backfill_busy", "quiet_p99_us", js_other_us(&o, from, mid, 0.99));
        emit(r, "ttl.backfill_busy", "other_p99_us", js_other_us(&o, mid, js_other_done(&o), 0.99));
        emit(r, "ttl.backfill_busy", "rate", (double)n / seconds);
        js_other_fini(&o);
    }
    atomic_store(&p.stop, true);
    pthread_join(p.thread, NULL);
    return ok && !p.failed;
}

#define OLD "{\"name\":\"F\",\"subjects\":[\"f.>\"],\"storage\":\"file\",\"num_replicas\":1"

bool part_backfill(struct run *r)
{
    uint64_t n = r->sizes->keys;
    struct js_job fill = {.prefix = "f.", .keys = 1000, .conns = 4, .window = 256, .count = n};
    struct js_stats st;
    struct js_server s;
    struct meter m;
    double seconds;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = other_make(&s) && js_server_ask(&s, "$JS.API.STREAM.CREATE.F", OLD "}") &&
         js_load(s.proc.port, &fill, &st) && st.errors == 0 &&
         js_server_ask(&s, "$JS.API.STREAM.UPDATE.F",
                       OLD ",\"metadata\":{\"mayfly.ttl.default\":\"24h\"}}");
    js_pause(r->sizes->settle_s / 2);
    m = meter_start(&s.proc);
    ok = ok && backfill_run(&s, "without", n, &seconds);
    if (ok)
        meter_emit(r, "ttl.backfill", &m, m.start_s + seconds, n);
    ok = ok && backfill_beside(r, &s, n);
    js_server_stop(&s);
    return ok;
}
