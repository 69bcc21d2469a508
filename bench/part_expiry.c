/* part_expiry.c: many deaths at once, deaths at a steady pace, and starting again with a million.
 */
#include "js_expiry.h"
#include "js_watched.h"
#include "matrix.h"

#include <signal.h>

/* How long the keys live that die together.  The slower the server loads, the longer they must:
 * what loads too slowly is tried again with twice the time. */
static unsigned lifetime(const struct run *r)
{
    return r->setup == NATS ? r->sizes->expiring_s * 8 / 5 : r->sizes->expiring_s;
}

bool measure_burst(struct run *r, struct js_burst *b, struct js_deaths *out)
{
    struct js_server s;
    bool ok = false, late = true;

    b->seconds = lifetime(r);
    b->settle_s = r->sizes->settle_s;
    for (; late && b->seconds < 100; b->seconds *= 2) {
        if (!js_server_start(&s, &r->kind))
            return false;
        ok = js_burst(&s, b, out, &late);
        js_server_stop(&s);
    }
    return ok;
}

static bool emit_burst(struct run *r, bool markers, const char *row)
{
    struct js_burst b = {.n = r->sizes->expiring, .notice = markers ? JS_MARKERS : JS_NO_NOTICE};
    struct js_deaths d, alone;

    if (!measure_burst(r, &b, &d))
        return false;
    b.alone = true;
    if (!measure_burst(r, &b, &alone))
        return false;
    if (d.missing > 0)
        fprintf(stderr, "bench: %llu of %u deaths were never seen\n", (unsigned long long)d.missing,
                r->sizes->expiring);
    emit(r, row, "lag_p50_s", d.lag_p50_s);
    emit(r, row, "lag_p99_s", d.lag_p99_s);
    emit(r, row, "lag_max_s", d.lag_max_s);
    emit(r, row, "other_p50_ms", d.other_p50_ms);
    emit(r, row, "other_p99_ms", d.other_p99_ms);
    emit(r, row, "other_max_ms", d.other_max_ms);
    emit(r, row, "cpu_s_per_million", alone.cpu_s_per_million);
    emit(r, row, "disk_mb", d.disk_mb);
    return d.missing == 0 && alone.missing == 0;
}

bool part_plain(struct run *r)
{
    return emit_burst(r, false, "expiry.plain");
}

bool part_marked(struct run *r)
{
    return emit_burst(r, true, "expiry.marked");
}

/* --- as a watcher sees it --------------------------------------------------------------------- */

static bool watched(struct run *r, bool busy, struct js_deaths *d)
{
    struct js_watched b = {.n = r->sizes->expiring,
                           .seconds = lifetime(r),
                           .rate = 500,
                           .settle_s = r->sizes->settle_s,
                           .busy = busy};
    struct js_server s;
    bool ok = false, late = true;

    while (late && b.seconds < 100) {
        if (!js_server_start(&s, &r->kind))
            return false;
        ok = js_watched(&s, &b, d, &late);
        b.seconds *= 2;
        js_server_stop(&s);
    }
    return ok;
}

static bool emit_watched(struct run *r, bool busy, const char *row)
{
    struct js_deaths d;

    if (!watched(r, busy, &d))
        return false;
    if (d.missing > 0)
        fprintf(stderr, "bench: the watcher never saw %llu of %u deaths\n",
                (unsigned long long)d.missing, r->sizes->expiring);
    emit(r, row, "lag_p50_ms", d.lag_p50_s * 1000);
    emit(r, row, "lag_p99_ms", d.lag_p99_s * 1000);
    emit(r, row, "lag_max_ms", d.lag_max_s * 1000);
    emit(r, row, "other_p50_ms", d.other_p50_ms);
    emit(r, row, "other_p99_ms", d.other_p99_ms);
    emit(r, row, "other_max_ms", d.other_max_ms);
    emit(r, row, "cpu_s_per_million", d.cpu_s_per_million);
    return d.missing == 0;
}

bool part_watched(struct run *r)
{
    return emit_watched(r, false, "expiry.watched");
}

bool part_busy(struct run *r)
{
    return emit_watched(r, true, "expiry.busy");
}

bool part_loaded(struct run *r)
{
    struct js_watched b = {.n = r->sizes->expiring, .seconds = r->sizes->expiring_s, .rate = 500};
    struct js_deaths d;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_after_load(&s, &b, &d);
    js_server_stop(&s);
    emit(r, "loaded", "other_p50_ms", d.other_p50_ms);
    emit(r, "loaded", "other_p99_ms", d.other_p99_ms);
    emit(r, "loaded", "other_max_ms", d.other_max_ms);
    return ok;
}

bool part_spread(struct run *r)
{
    unsigned rate = r->sizes->spread_rate;
    struct js_deaths d;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_spread(&s, r->sizes->spread_s * rate, rate, r->sizes->spread_ttl_s, &d);
    js_server_stop(&s);
    if (!ok)
        return false;
    if (d.missing > 0)
        fprintf(stderr, "bench: %llu deaths were never seen\n", (unsigned long long)d.missing);
    emit(r, "expiry.spread", "lag_p50_ms", d.lag_p50_s * 1000);
    emit(r, "expiry.spread", "lag_p99_ms", d.lag_p99_s * 1000);
    emit(r, "expiry.spread", "lag_max_ms", d.lag_max_s * 1000);
    return d.missing == 0;
}

/* --- a million keys: memory and restarts ------------------------------------------------------ */

static bool load_keys(struct js_server *s, unsigned keys, unsigned ttl_s, bool together, bool *late)
{
    struct js_job job = {.redis = s->kind->redis,
                         .prefix = "b.",
                         .keys = keys,
                         .ttl_s = ttl_s,
                         .due_together = together,
                         .conns = 4,
                         .window = 256,
                         .count = keys};
    struct js_stats st;

    bool ok = js_load(s->proc.port, &job, &st);

    *late = st.late;
    if (!ok)
        return false;
    if (st.errors > 0)
        fprintf(stderr, "bench: %llu of %u keys failed: %s\n", (unsigned long long)st.errors, keys,
                st.error);
    return st.errors == 0;
}

/* Until it tells how many there are, and they are as many as there should be. */
static bool time_restart(struct run *r, struct js_server *s, int sig, uint64_t want,
                         const char *metric)
{
    uint64_t live = 0;
    double start_s, until_s;

    if (sig != 0)
        js_server_end(s, sig);
    start_s = js_now_s();
    until_s = start_s + 60;
    if (!js_server_again(s, "B", &live))
        return false;
    while (live > want && js_now_s() < until_s && js_server_live(s, "B", &live))
        js_pause(0.001);
    emit(r, "restart", metric, js_now_s() - start_s);
    if (live != want)
        fprintf(stderr, "bench: WRONG: %llu of %llu after the restart (%s)\n",
                (unsigned long long)live, (unsigned long long)want, metric);
    return live == want;
}

/* Half of the keys get a deadline that passes while the server is down. */
static bool restart_half(struct run *r, struct js_server *s)
{
    unsigned half = r->sizes->restart_keys / 2, seconds = lifetime(r);
    double due_s = 0;
    bool ok = false, late = true;

    for (; late && seconds < 100; seconds *= 2) {
        due_s = js_now_s() + seconds + 1.1; /* the deadlines' second has passed, too */
        ok = load_keys(s, half, seconds, true, &late);
    }
    if (!ok)
        return false;
    js_server_end(s, SIGKILL);
    js_pause(due_s - js_now_s());
    return time_restart(r, s, 0, r->sizes->restart_keys - half, "half_s");
}

bool part_restart(struct run *r)
{
    unsigned keys = r->sizes->restart_keys;
    struct js_server s;
    double idle_kb;
    bool ok = js_server_start(&s, &r->kind), late;

    if (!ok)
        return false;
    js_pause(0.3); /* start-up pages settle */
    idle_kb = proc_rss_kb(&s.proc);
    ok = (r->kind.redis ||
          js_server_ask(&s, "$JS.API.STREAM.CREATE.B",
                        "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\","
                        "\"num_replicas\":1,\"allow_msg_ttl\":true,\"max_msgs_per_subject\":1}")) &&
         load_keys(&s, keys, 3600, false, &late);
    js_pause(r->sizes->settle_s / 2);
    if (ok)
        emit(r, "memory", "bytes", (proc_rss_kb(&s.proc) - idle_kb) * 1024 / keys);
    ok = ok && time_restart(r, &s, SIGKILL, keys, "killed_s") &&
         time_restart(r, &s, SIGTERM, keys, "clean_s") && restart_half(r, &s);
    js_server_stop(&s);
    return ok;
}
