/* bench_stream.c: streams, mayflyd beside nats-server in one run.
 *     bench_stream MAYFLYD NATS_SERVER [--rounds N] [--quick] [--only LOADS|EXPIRY|MEMORY]
 * Four setups: each server with every acknowledgement on disk (`sync_interval: always`, mayflyd's
 * default) and without (nats-server's default; mayflyd with `sync_interval: 2m`).  They take turns
 * within each round; medians of the rounds are compared.  Only ratios mean anything.
 * TMPDIR says where the data goes: it must be a real disk. */
#include "js_expiry.h"
#include "js_load.h"
#include "js_report.h"
#include "js_wire.h"
#include "proc.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plan {
    const char *binary[JS_SETUPS], *only;
    int rounds;
    unsigned expiring, memory_keys, spread_s;
    uint64_t async;
    double cap_s; /* of one load */
};
struct server {
    struct proc proc;
    struct js_conn ask;
    char data[300];
};

/* --- a server with a stream --------------------------------------------------------------------*/

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static bool server_start(struct server *s, const struct plan *plan, int setup)
{
    static const char *const sync[JS_SETUPS] = {"sync_interval: always", "", "",
                                                "sync_interval: 2m"};
    char config[512];

    snprintf(s->data, sizeof s->data, "%s/js-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(s->data) == NULL) {
        fprintf(stderr, "bench: %s: %s\n", s->data, strerror(errno));
        return false;
    }
    snprintf(config, sizeof config, "jetstream {\n  store_dir: \"%s\"\n  %s\n}\n", s->data,
             sync[setup]);
    return proc_start(&s->proc, plan->binary[setup], config) && js_open(&s->ask, s->proc.port);
}

static void server_stop(struct server *s)
{
    js_close(&s->ask);
    proc_stop(&s->proc);
    nftw(s->data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool ask(struct server *s, const char *subject, const char *body)
{
    char text[65536];

    if (!js_request(&s->ask, subject, body, text, sizeof text)) {
        fprintf(stderr, "bench: %s: no answer\n", subject);
        return false;
    }
    if (strstr(text, "\"error\"") == NULL)
        return true;
    fprintf(stderr, "bench: %s says %.300s\n", subject, text);
    return false;
}

static bool stream_make(struct server *s, bool kv, bool markers)
{
    char config[512];

    snprintf(config, sizeof config,
             "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\",\"num_replicas\":1,"
             "\"allow_msg_ttl\":true%s%s}",
             kv ? ",\"max_msgs_per_subject\":1,\"allow_direct\":true,\"discard\":\"new\","
                  "\"allow_rollup_hdrs\":true,\"deny_delete\":true"
                : "",
             markers ? ",\"subject_delete_marker_ttl\":60000000000" : "");
    return ask(s, "$JS.API.STREAM.CREATE.B", config);
}

static bool stream_drop(struct server *s)
{
    return ask(s, "$JS.API.STREAM.DELETE.B", "");
}

/* --- loads ------------------------------------------------------------------------------------ */

static bool measure(struct server *s, const struct js_job *job, struct js_cell *cell)
{
    struct js_stats st;
    double cpu = proc_cpu_s(&s->proc);

    if (!js_load(s->proc.port, job, &st) || st.done == 0)
        return false;
    if (st.errors > 0)
        fprintf(stderr, "bench: %llu of %llu failed: %s\n", (unsigned long long)st.errors,
                (unsigned long long)st.done, st.error);
    *cell = (struct js_cell){.value = (double)st.done / st.seconds,
                             .cpu_us = (proc_cpu_s(&s->proc) - cpu) * 1e6 / (double)st.done,
                             .p50_us = st.p50_us,
                             .p99_us = st.p99_us,
                             .known = st.errors == 0};
    return true;
}

/* Gets are the same whatever puts cost: not repeated for the server that takes minutes to fill. */
static bool run_get(struct server *s, const struct js_job *put, struct js_cell *cell)
{
    struct js_job fill = *put, get = *put;

    fill.count = put->keys;
    fill.cap_s = 0;
    get.get_from = "B";
    return measure(s, &fill, cell) && measure(s, &get, cell);
}

static bool run_kv(struct server *s, const struct plan *plan, int setup, struct js_results *r,
                   int round)
{
    struct js_cell(*rows)[JS_ROUNDS] = r->cell[setup];
    struct js_job put = {.prefix = "b.",
                         .keys = 100000,
                         .conns = 4,
                         .window = 64,
                         .count = plan->async,
                         .cap_s = plan->cap_s};
    bool ok = stream_make(s, true, false) && measure(s, &put, &rows[ROW_KV_PUT][round]) &&
              (setup == NATS_SYNCED || run_get(s, &put, &rows[ROW_GET][round])) && stream_drop(s);

    put.ttl_s = 3600;
    return ok && stream_make(s, true, true) && measure(s, &put, &rows[ROW_KV_PUT_TTL][round]) &&
           stream_drop(s);
}

static bool run_loads(const struct plan *plan, int setup, struct js_results *r, int round)
{
    static const unsigned clients[] = {1, 16, 64};
    struct js_cell(*rows)[JS_ROUNDS] = r->cell[setup];
    struct server s;
    bool ok = server_start(&s, plan, setup);

    for (int i = 0; ok && i < 8; i++) {
        struct js_async a = js_async_row(i);
        struct js_job job = {.prefix = "b.",
                             .keys = a.keys,
                             .ttl_s = a.ttl_s,
                             .conns = a.conns,
                             .window = a.window,
                             .count = plan->async,
                             .cap_s = plan->cap_s};
        ok = stream_make(&s, false, false) && measure(&s, &job, &rows[ROW_ASYNC + i][round]) &&
             stream_drop(&s);
    }
    for (int i = 0; ok && i < 3; i++) {
        struct js_job job = {.prefix = "b.",
                             .keys = 1,
                             .conns = clients[i],
                             .window = 1,
                             .count = UINT64_MAX,
                             .cap_s = plan->cap_s / 2};
        ok = stream_make(&s, false, false) && measure(&s, &job, &rows[ROW_SYNC_1 + i][round]) &&
             stream_drop(&s);
    }
    ok = ok && run_kv(&s, plan, setup, r, round);
    if (!ok)
        return false;
    rows[ROW_RSS_AFTER][round] =
        (struct js_cell){.value = proc_rss_kb(&s.proc) / 1024, .known = true};
    server_stop(&s);
    return true;
}

/* --- deaths ----------------------------------------------------------------------------------- */

static void keep(struct js_cell (*rows)[JS_ROUNDS], int round, int first, const double *v, int n)
{
    for (int i = 0; i < n; i++)
        rows[first + i][round] = (struct js_cell){.value = v[i], .known = true};
}

static bool run_expiry(const struct plan *plan, int setup, struct js_results *r, int round)
{
    struct js_cell(*rows)[JS_ROUNDS] = r->cell[setup];
    struct js_deaths d;
    struct server s;

    for (int marked = 0; marked <= 1; marked++) {
        if (!server_start(&s, plan, setup) ||
            !js_burst(&s.proc, s.data, plan->expiring, marked == 1, &d))
            return false;
        if (d.missing > 0)
            fprintf(stderr, "bench: %llu of %u deaths were never seen\n",
                    (unsigned long long)d.missing, plan->expiring);
        keep(rows, round, marked == 1 ? ROW_MARKED : ROW_PLAIN,
             (double[]){d.lag_p50_s, d.lag_max_s, d.other_p50_ms, d.other_p99_ms, d.other_max_ms,
                        d.cpu_s_per_million, d.disk_mb},
             7);
        server_stop(&s);
    }
    if (!server_start(&s, plan, setup) || !js_spread(&s.proc, plan->spread_s * 20000, 20000, &d))
        return false;
    if (d.missing > 0)
        fprintf(stderr, "bench: %llu markers were never seen\n", (unsigned long long)d.missing);
    keep(rows, round, ROW_SPREAD,
         (double[]){d.lag_p50_s * 1000, d.lag_p99_s * 1000, d.lag_max_s * 1000}, 3);
    server_stop(&s);
    return true;
}

/* --- memory and restart ----------------------------------------------------------------------- */

static bool time_restart(struct server *s, const struct plan *plan, int setup, int sig,
                         double *seconds)
{
    char text[65536];
    uint64_t found = 0;
    double start;

    js_close(&s->ask);
    proc_end(&s->proc, sig);
    start = js_now_s();
    if (!proc_again(&s->proc, plan->binary[setup]))
        return false;
    /* A server that listens before it has its streams is asked again. */
    while (found == 0 && js_now_s() - start < 60) {
        if (s->ask.fd < 0 && !js_open(&s->ask, s->proc.port))
            continue;
        if (!js_request(&s->ask, "$JS.API.STREAM.INFO.B", "", text, sizeof text)) {
            js_close(&s->ask);
            continue;
        }
        found = js_number(text, "messages", 0);
    }
    *seconds = js_now_s() - start;
    if (found != plan->memory_keys)
        fprintf(stderr, "bench: %llu of %u messages after the restart\n", (unsigned long long)found,
                plan->memory_keys);
    return found > 0;
}

static bool run_memory(const struct plan *plan, int setup, struct js_results *r, int round)
{
    struct js_cell(*rows)[JS_ROUNDS] = r->cell[setup];
    struct js_job job = {.prefix = "b.",
                         .keys = plan->memory_keys,
                         .ttl_s = 3600,
                         .conns = 4,
                         .window = 256,
                         .count = plan->memory_keys};
    struct js_cell load;
    struct server s;
    double idle_kb, killed, clean, full_kb;

    if (!server_start(&s, plan, setup))
        return false;
    js_pause(0.3); /* start-up pages settle */
    idle_kb = proc_rss_kb(&s.proc);
    if (!stream_make(&s, true, false) || !measure(&s, &job, &load))
        return false;
    js_pause(1);
    full_kb = proc_rss_kb(&s.proc);
    if (!time_restart(&s, plan, setup, SIGKILL, &killed) ||
        !time_restart(&s, plan, setup, SIGTERM, &clean))
        return false;
    keep(rows, round, ROW_KEY_BYTES,
         (double[]){(full_kb - idle_kb) * 1024 / plan->memory_keys, killed, clean, idle_kb / 1024},
         4);
    server_stop(&s);
    return true;
}

/* ---------------------------------------------------------------------------------------------- */

static bool wants(const struct plan *plan, const char *part)
{
    return plan->only == NULL || strcmp(plan->only, part) == 0;
}

static bool run_round(const struct plan *plan, struct js_results *r, int round)
{
    for (int setup = 0; setup < JS_SETUPS; setup++)
        if (wants(plan, "LOADS") && !run_loads(plan, setup, r, round))
            return false;
    /* Deaths and restarts: each server as it comes. */
    for (int setup = NATS_DEFAULT; setup <= MAYFLY_DEFAULT; setup++)
        if (wants(plan, "EXPIRY") && !run_expiry(plan, setup, r, round))
            return false;
    for (int setup = NATS_DEFAULT; setup <= MAYFLY_DEFAULT; setup++)
        if (wants(plan, "MEMORY") && !run_memory(plan, setup, r, round))
            return false;
    return true;
}

static bool read_arguments(struct plan *plan, int argc, char **argv)
{
    if (argc < 3)
        return false;
    *plan = (struct plan){.binary = {argv[2], argv[2], argv[1], argv[1]},
                          .rounds = 3,
                          .expiring = 500000,
                          .memory_keys = 1000000,
                          .spread_s = 5,
                          .async = 1000000,
                          .cap_s = 6};
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            plan->rounds = 1;
            plan->expiring = 50000;
            plan->spread_s = 2;
            plan->async = 300000;
            plan->cap_s = 2;
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            plan->rounds = (int)strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            plan->only = argv[++i];
        } else {
            return false;
        }
    }
    return plan->rounds >= 1 && plan->rounds <= JS_ROUNDS;
}

int main(int argc, char **argv)
{
    static struct js_results results;
    struct plan plan;
    double load[1] = {0};

    if (!read_arguments(&plan, argc, argv)) {
        fprintf(stderr, "usage: bench_stream MAYFLYD NATS_SERVER [--rounds N] [--quick] "
                        "[--only LOADS|EXPIRY|MEMORY]\n");
        return 2;
    }
    results.rounds = plan.rounds;
    for (int round = 0; round < plan.rounds; round++) {
        getloadavg(load, 1);
        fprintf(stderr, "round %d of %d, load average %.1f\n", round + 1, plan.rounds, load[0]);
        if (!run_round(&plan, &results, round)) {
            fprintf(stderr, "bench: a run failed\n");
            return 1;
        }
    }
    js_report(&results);
    return 0;
}
