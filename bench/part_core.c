/* part_core.c: the rows without storage: fan-out, request and reply, idle memory. */
#include "load.h"
#include "matrix.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
    const char *row;
    unsigned subs;
    size_t payload;
    double msgs;
} fans[] = {
    {"core.fan1_16", 1, 16, 3e6},     {"core.fan1_1k", 1, 1024, 1e6},
    {"core.fan10_16", 10, 16, 8e5},   {"core.fan10_1k", 10, 1024, 2e5},
    {"core.fan64_16", 64, 16, 1.5e5}, {"core.fan64_1k", 64, 1024, 3e4},
};

bool part_core(struct run *r)
{
    struct load_latency lat;
    struct proc p;
    bool ok = proc_start(&p, r->kind.binary, false, "");

    if (!ok)
        return false;
    for (size_t i = 0; ok && i < sizeof fans / sizeof fans[0]; i++) {
        struct load_result res;
        struct meter m = meter_start(&p);
        ok = load_fanout(p.port, fans[i].subs, fans[i].payload,
                         (uint64_t)(fans[i].msgs * r->sizes->fans), &res);
        if (ok)
            meter_emit(r, fans[i].row, &m, m.start_s + res.seconds, res.delivered);
    }
    ok = ok && load_request_reply(p.port, r->sizes->requests, &lat);
    if (ok) {
        emit(r, "core.request", "p50_us", lat.p50_us);
        emit(r, "core.request", "p99_us", lat.p99_us);
        emit(r, "core.request", "max_us", lat.max_us);
    }
    proc_stop(&p);
    return ok;
}

bool part_idle(struct run *r)
{
    unsigned n = r->sizes->idle_conns;
    struct rlimit files;
    struct proc p;
    int *fds = NULL;
    double before;
    bool ok;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (!proc_start(&p, r->kind.binary, false, ""))
        return false;
    js_pause(0.3); /* start-up pages settle */
    before = proc_rss_kb(&p);
    ok = load_idle(p.port, n, &fds);
    if (ok) {
        emit(r, "core.idle", "rss_mb", before / 1024);
        emit(r, "core.conn", "bytes", (proc_rss_kb(&p) - before) * 1024 / n);
    }
    for (unsigned i = 0; fds != NULL && i < n; i++)
        if (fds[i] > 0)
            close(fds[i]);
    free(fds);
    proc_stop(&p);
    return ok;
}
