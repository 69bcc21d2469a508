/* matrix.c: every row of docs/performance.md, the servers taking turns.
 *     bench_matrix --mayflyd=PATH --nats=PATH [--redis=PATH] --json=FILE
 *                  [--rows=PART,...] [--setups=NAME,...] [--rounds=N] [--size=full|quick|tiny]
 *                  [--about=JSON]
 * Part by part, each server in turn; who begins changes by the round.  The figures go to FILE as
 * they come, for bench/report.mjs.  TMPDIR says where the servers write: it must be a real disk. */
#include "matrix.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 99

#define BOTH      (1u << NATS | 1u << MAYFLY)
#define WITH_SYNC (BOTH | 1u << NATS_SYNCED | 1u << MAYFLY_RELAXED | 1u << REDIS)
#define ALL_THREE (BOTH | 1u << REDIS)

static const char *const setup_names[SETUPS] = {"nats-synced", "nats", "mayfly", "mayfly-relaxed",
                                                "redis"};
static const struct part {
    const char *name, *group; /* --rows takes either */
    unsigned setups;
    bool (*run)(struct run *r);
} parts[] = {
    {"fan", "core", BOTH, part_core},
    {"idle", "core", BOTH, part_idle},
    {"subs", "core", BOTH, part_subs},
    {"tls", "wires", BOTH, part_tls},
    {"ws", "wires", BOTH, part_ws},
    {"publish", "stream", WITH_SYNC, part_publish},
    {"kv", "stream", WITH_SYNC, part_kv},
    {"streams", "stream", BOTH | 1u << NATS_SYNCED, part_streams},
    {"read", "consume", BOTH, part_read},
    {"objects", "consume", BOTH | 1u << NATS_SYNCED, part_objects},
    {"watch", "consume", BOTH, part_watch},
    {"make", "consume", BOTH, part_make},
    {"plain", "expiry", ALL_THREE, part_plain},
    {"marked", "expiry", ALL_THREE, part_marked},
    {"watched", "expiry", ALL_THREE, part_watched},
    {"busy", "expiry", ALL_THREE, part_busy},
    {"loaded", "expiry", ALL_THREE, part_loaded},
    {"spread", "expiry", ALL_THREE, part_spread},
    {"restart", "restart", ALL_THREE, part_restart},
    {"crash", "restart", BOTH, part_crash},
    {"policy", "ttl", 1u << MAYFLY, part_policy},
    {"scope", "ttl", 1u << MAYFLY, part_scope},
    {"slide", "ttl", 1u << MAYFLY, part_slide},
    {"after", "ttl", 1u << MAYFLY, part_after},
    {"touch", "ttl", 1u << MAYFLY | 1u << REDIS, part_touch},
    {"walks", "ttl", 1u << MAYFLY | 1u << REDIS, part_walks},
    {"memory", "ttl", 1u << MAYFLY, part_memory},
    {"backfill", "ttl", 1u << MAYFLY, part_backfill},
    {"warn", "ttl", 1u << MAYFLY, part_warn},
    {"letters", "ttl", 1u << MAYFLY, part_letters},
    {"link", "ttl", 1u << MAYFLY, part_link},
};
#define PARTS (sizeof parts / sizeof parts[0])

static const struct sizes full = {.fans = 1,
                                  .requests = 20000,
                                  .idle_conns = 5000,
                                  .async = 1000000,
                                  .cap_s = 3,
                                  .sync_s = 2,
                                  .keys = 1000000,
                                  .pull = 400000,
                                  .replay = 10000000,
                                  .fan = 150000,
                                  .chunks = 4000,
                                  .hellos = 3000,
                                  .subs = 1000000,
                                  .puts = 60,
                                  .watchers_few = 1000,
                                  .watchers_many = 10000,
                                  .consumers_each = 1000,
                                  .expiring = 500000,
                                  .expiring_s = 10,
                                  .spread_rate = 20000,
                                  .spread_s = 4,
                                  .spread_ttl_s = 5,
                                  .settle_s = 2,
                                  .restart_keys = 1000000,
                                  .crash_keys = 1600,
                                  .crash_kills = 3,
                                  .crash_s = 1.5,
                                  .turns = 8,
                                  .asks = 21,
                                  .turn_s = 0.3,
                                  .keys_many = 10000000,
                                  .warned = 1000000,
                                  .warned_s = 10,
                                  .letters = 100000,
                                  .trials = 10000,
                                  .buckets = 2000};
/* A minute for all rows: shows that they run, and roughly how they stand. */
static const struct sizes quick = {.fans = 0.1,
                                   .requests = 2000,
                                   .idle_conns = 1000,
                                   .async = 100000,
                                   .cap_s = 0.3,
                                   .sync_s = 0.2,
                                   .keys = 1000000,
                                   .pull = 50000,
                                   .replay = 100000,
                                   .fan = 20000,
                                   .chunks = 400,
                                   .hellos = 300,
                                   .subs = 100000,
                                   .puts = 10,
                                   .watchers_few = 500,
                                   .watchers_many = 2000,
                                   .consumers_each = 200,
                                   .expiring = 20000,
                                   .expiring_s = 3,
                                   .spread_rate = 20000,
                                   .spread_s = 1,
                                   .spread_ttl_s = 1,
                                   .settle_s = 0.2,
                                   .restart_keys = 50000,
                                   .crash_keys = 500,
                                   .crash_kills = 1,
                                   .crash_s = 0.6,
                                   .turns = 4,
                                   .asks = 5,
                                   .turn_s = 0.1,
                                   .keys_many = 1000000,
                                   .warned = 50000,
                                   .warned_s = 2,
                                   .letters = 10000,
                                   .trials = 1000,
                                   .buckets = 200};
/* Seconds: each row runs at all. */
static const struct sizes tiny = {.fans = 0.0003,
                                  .requests = 20,
                                  .idle_conns = 20,
                                  .async = 500,
                                  .cap_s = 0.2,
                                  .sync_s = 0.02,
                                  .keys = 1000,
                                  .pull = 500,
                                  .replay = 1000,
                                  .fan = 200,
                                  .chunks = 16,
                                  .hellos = 10,
                                  .subs = 2000,
                                  .puts = 2,
                                  .watchers_few = 10,
                                  .watchers_many = 20,
                                  .consumers_each = 5,
                                  .expiring = 200,
                                  .expiring_s = 3,
                                  .spread_rate = 500,
                                  .spread_s = 1,
                                  .spread_ttl_s = 1,
                                  .settle_s = 0.02,
                                  .restart_keys = 400,
                                  .crash_keys = 100,
                                  .crash_kills = 1,
                                  .crash_s = 0.3,
                                  .turns = 2,
                                  .asks = 2,
                                  .turn_s = 0.02,
                                  .keys_many = 2000,
                                  .warned = 200,
                                  .warned_s = 1,
                                  .letters = 100,
                                  .trials = 50,
                                  .buckets = 10};

struct plan {
    const char *binary[SETUPS];
    const struct sizes *sizes;
    const char *rows, *setups, *json;
    const char *about; /* the machine and the versions, put into the file as it is */
    int rounds;
};

/* --- figures ---------------------------------------------------------------------------------- */

void emit(struct run *r, const char *row, const char *metric, double value)
{
    fprintf(r->out,
            "%s\n  {\"row\":\"%s\",\"metric\":\"%s\",\"setup\":\"%s\",\"round\":%d,\"value\":%.6g}",
            r->first ? "" : ",", row, metric, setup_names[r->setup], r->round, value);
    r->first = false;
}

static double used_s(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

struct meter meter_start(const struct proc *p)
{
    return (struct meter){p, js_now_s(), proc_cpu_s(p), used_s(RUSAGE_SELF)};
}

void meter_emit(struct run *r, const char *row, const struct meter *m, double end_s, uint64_t n)
{
    double seconds = end_s - m->start_s, cpu_s = proc_cpu_s(m->proc) - m->cpu_s;

    emit(r, row, "rate", (double)n / seconds);
    emit(r, row, "cpu_us", cpu_s * 1e6 / (double)n);
    emit(r, row, "cpu_s", cpu_s);
    emit(r, row, "rss_mb", proc_rss_kb(m->proc) / 1024);
    emit(r, row, "generator", (used_s(RUSAGE_SELF) - m->own_s) / seconds);
}

bool measure_load(struct run *r, struct js_server *s, const char *row, const struct js_job *job)
{
    struct js_job mine = *job;
    struct meter m = meter_start(&s->proc);
    struct js_stats st;

    mine.redis = s->kind->redis;
    if (!js_load(s->proc.port, &mine, &st) || st.done == 0)
        return false;
    if (st.errors > 0)
        fprintf(stderr, "bench: WRONG: %llu of %llu failed: %s\n", (unsigned long long)st.errors,
                (unsigned long long)st.done, st.error);
    meter_emit(r, row, &m, m.start_s + st.seconds, st.done);
    if (job->window == 1) {
        emit(r, row, "p50_us", st.p50_us);
        emit(r, row, "p99_us", st.p99_us);
        emit(r, row, "max_us", st.max_us);
    }
    return st.errors == 0;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* A list of names, or NULL for all. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == ','))
            return true;
    }
    return list == NULL;
}

static bool wanted(const struct plan *plan, const struct part *p)
{
    return listed(plan->rows, p->name) || listed(plan->rows, p->group);
}

struct machine {
    double busy_s;   /* what all processes used since it started, in seconds of a core */
    double stolen_s; /* what its host gave to others while somebody here wanted it */
};

static struct machine machine_read(void)
{
    char line[256] = "", *at = line;
    FILE *f = fopen("/proc/stat", "re");
    double ticks[8] = {0}, s = (double)sysconf(_SC_CLK_TCK);

    if (f != NULL && fgets(line, sizeof line, f) != NULL)
        at += strcspn(line, " ");
    for (int i = 0; i < 8; i++)
        ticks[i] = (double)strtoull(at, &at, 10);
    if (f != NULL)
        fclose(f);
    return (struct machine){(ticks[0] + ticks[1] + ticks[2]) / s, ticks[7] / s};
}

/* What a write of a page and its sync take on this disk without any server, in microseconds. */
static void disk_measure(double *p50, double *p99)
{
    enum { SYNCS = 400, PAGE = 4096 };
    static double took[SYNCS];
    static const char page[PAGE] = {1};
    char name[512];

    *p50 = *p99 = 0;
    snprintf(name, sizeof name, "%s/probe", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int pass = 0; fd >= 0 && pass < 2; pass++)
        for (int i = 0; i < SYNCS; i++) {
            double start_s = js_now_s();
            if (pwrite(fd, page, PAGE, (off_t)i * PAGE) != PAGE ||
                (pass == 1 && fdatasync(fd) != 0))
                goto done;
            took[i] = (js_now_s() - start_s) * 1e6;
        }
    *p50 = js_quantile(took, SYNCS, 0.5);
    *p99 = js_quantile(took, SYNCS, 0.99);
done:
    if (fd >= 0)
        close(fd);
    (void)unlink(name);
}

static void run_part(const struct plan *plan, struct run *r, const struct part *p)
{
    static const char *const settings[SETUPS] = {"sync_interval: always", "", "",
                                                 "sync_interval: 2m", ""};
    double start_s = js_now_s();

    for (int turn = 0; turn < SETUPS; turn++) {
        r->setup = (enum setup)((turn + r->round) % SETUPS);
        if ((p->setups & 1u << r->setup) == 0 || plan->binary[r->setup] == NULL ||
            !listed(plan->setups, setup_names[r->setup]))
            continue;
        r->kind = (struct js_kind){.binary = plan->binary[r->setup],
                                   .settings = settings[r->setup],
                                   .redis = r->setup == REDIS};
        if (!p->run(r)) {
            fprintf(stderr, "bench: FAILED: %s on %s\n", p->name, setup_names[r->setup]);
            r->failed++;
        }
        fflush(r->out);
    }
    fprintf(stderr, "  %-8s %5.1f s\n", p->name, js_now_s() - start_s);
}

/* What others took of the machine meanwhile is the best word on how quiet it was. */
static void run_round(const struct plan *plan, struct run *r, char *text, size_t cap)
{
    double load[1] = {0}, sync_p50, sync_p99, seconds, others, stolen;

    disk_measure(&sync_p50, &sync_p99);
    getloadavg(load, 1);
    struct machine before = machine_read();
    double start_s = js_now_s(), own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN);
    fprintf(stderr, "round %d of %d, load average %.2f\n", r->round + 1, plan->rounds, load[0]);
    for (size_t i = 0; i < PARTS; i++)
        if (wanted(plan, &parts[i]))
            run_part(plan, r, &parts[i]);
    own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN) - own_s;
    struct machine after = machine_read();
    seconds = js_now_s() - start_s;
    stolen = (after.stolen_s - before.stolen_s) / seconds;
    others = (after.busy_s - before.busy_s - own_s) / seconds;
    others = others > 0 ? others : 0;
    if (others > 0.2)
        fprintf(stderr, "bench: WARNING: the machine was not quiet: others took %.2f cores\n",
                others);
    snprintf(
        text, cap,
        "%s\n  {\"round\":%d,\"load\":%.2f,\"others\":%.3f,\"stolen\":%.3f,\"sync_p50_us\":%.0f,"
        "\"sync_p99_us\":%.0f,\"seconds\":%.1f}",
        r->round > 0 ? "," : "", r->round, load[0], others, stolen, sync_p50, sync_p99, seconds);
}

/* --- arguments -------------------------------------------------------------------------------- */

static const char *value_of(const char *arg, const char *name)
{
    size_t n = strlen(name);

    return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

static bool read_argument(struct plan *plan, const char *arg)
{
    const char *v;

    if ((v = value_of(arg, "--mayflyd=")) != NULL)
        plan->binary[MAYFLY] = plan->binary[MAYFLY_RELAXED] = v;
    else if ((v = value_of(arg, "--nats=")) != NULL)
        plan->binary[NATS] = plan->binary[NATS_SYNCED] = v;
    else if ((v = value_of(arg, "--redis=")) != NULL)
        plan->binary[REDIS] = v;
    else if ((v = value_of(arg, "--json=")) != NULL)
        plan->json = v;
    else if ((v = value_of(arg, "--about=")) != NULL)
        plan->about = v;
    else if ((v = value_of(arg, "--rows=")) != NULL)
        plan->rows = v;
    else if ((v = value_of(arg, "--setups=")) != NULL)
        plan->setups = v;
    else if ((v = value_of(arg, "--rounds=")) != NULL)
        plan->rounds = (int)strtol(v, NULL, 10);
    else if (strcmp(arg, "--size=full") == 0)
        plan->sizes = &full;
    else if (strcmp(arg, "--size=quick") == 0)
        plan->sizes = &quick;
    else if (strcmp(arg, "--size=tiny") == 0)
        plan->sizes = &tiny;
    else
        return false;
    return true;
}

/* Each name of --rows must be one. */
static bool rows_known(const struct plan *plan)
{
    char name[32];

    for (const char *at = plan->rows; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");
        bool known = false;
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        for (size_t i = 0; i < PARTS; i++)
            known = known || strcmp(parts[i].name, name) == 0 || strcmp(parts[i].group, name) == 0;
        if (!known) {
            fprintf(stderr, "bench: no rows `%s'; there are:", name);
            for (size_t i = 0; i < PARTS; i++)
                fprintf(stderr, " %s", parts[i].name);
            fprintf(stderr, " core stream consume expiry restart ttl\n");
            return false;
        }
        at += n + (at[n] == ',');
    }
    return true;
}

static bool read_arguments(struct plan *plan, int argc, char **argv)
{
    *plan = (struct plan){.sizes = &full, .rounds = 3};
    for (int i = 1; i < argc; i++)
        if (!read_argument(plan, argv[i])) {
            fprintf(stderr, "bench: what is %s?\n", argv[i]);
            return false;
        }
    return plan->json != NULL && plan->rounds >= 1 && plan->rounds <= MAX_ROUNDS &&
           rows_known(plan);
}

int main(int argc, char **argv)
{
    static char rounds[MAX_ROUNDS][256];
    struct plan plan;
    struct run r = {.first = true};

    if (!read_arguments(&plan, argc, argv)) {
        fprintf(stderr,
                "usage: bench_matrix --mayflyd=PATH --nats=PATH [--redis=PATH] --json=FILE\n"
                "           [--rows=PART,...] [--setups=NAME,...] [--rounds=N] "
                "[--size=full|quick|tiny] [--about=JSON]\n");
        return 2;
    }
    r.sizes = plan.sizes;
    r.out = fopen(plan.json, "we");
    if (r.out == NULL) {
        perror(plan.json);
        return 1;
    }
    fprintf(r.out, "{\"size\":\"%s\",\"cores\":%ld,\"about\":%s,\"samples\":[",
            plan.sizes == &full    ? "full"
            : plan.sizes == &quick ? "quick"
                                   : "tiny",
            sysconf(_SC_NPROCESSORS_ONLN), plan.about != NULL ? plan.about : "{}");
    for (r.round = 0; r.round < plan.rounds; r.round++)
        run_round(&plan, &r, rounds[r.round], sizeof rounds[0]);
    fprintf(r.out, "\n],\"rounds\":[");
    for (int i = 0; i < plan.rounds; i++)
        fputs(rounds[i], r.out);
    fprintf(r.out, "\n],\"failed\":%u}\n", r.failed);
    return fclose(r.out) == 0 && r.failed == 0 ? 0 : 1;
}
