/* bench_core.c: core NATS, mayflyd beside nats-server in one run.
 *     bench_core MAYFLYD NATS_SERVER [--rounds N] [--json]
 * The servers take turns within each round, so that a busy machine harms both; medians of the
 * rounds are compared.  Only the ratio means anything. */
#include "load.h"
#include "proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 9
#define IDLE_CONNS 5000

struct row {
    const char *name, *unit;
    unsigned subs;
    size_t payload;
    uint64_t msgs;
    bool lower_is_better;
};
static const struct row rows[] = {
    {"1 publisher, 1 subscriber, 16 B", "deliveries/s", 1, 16, 4000000, false},
    {"1 publisher, 1 subscriber, 1 KB", "deliveries/s", 1, 1024, 1000000, false},
    {"1 publisher, 8 subscribers, 16 B", "deliveries/s", 8, 16, 1000000, false},
    {"1 publisher, 8 subscribers, 1 KB", "deliveries/s", 8, 1024, 200000, false},
    {"1 publisher, 64 subscribers, 16 B", "deliveries/s", 64, 16, 150000, false},
    {"1 publisher, 64 subscribers, 1 KB", "deliveries/s", 64, 1024, 25000, false},
    {"request-reply, p50", "us", 0, 0, 20000, true},
    {"request-reply, p99", "us", 0, 0, 0, true},
    {"idle server, RSS", "KB", 0, 0, 0, true},
    {"idle connection, memory each", "B", 0, 0, 0, true},
};
enum { FANOUTS = 6, RR_P50 = 6, RR_P99, IDLE_RSS, IDLE_CONN, NROWS };

struct sample {
    double value[NROWS], cpu_us[NROWS]; /* cpu: per delivery */
};

static bool run_idle(const char *binary, struct sample *s)
{
    struct proc p;
    int *fds = NULL;
    const struct timespec settle = {0, 300000000};
    double before;
    bool ok;

    if (!proc_start(&p, binary, ""))
        return false;
    nanosleep(&settle, NULL); /* not for synchronisation: lets start-up pages settle */
    s->value[IDLE_RSS] = before = proc_rss_kb(&p);
    ok = load_idle(p.port, IDLE_CONNS, &fds);
    s->value[IDLE_CONN] = (proc_rss_kb(&p) - before) * 1024 / IDLE_CONNS;
    for (unsigned i = 0; fds != NULL && i < IDLE_CONNS; i++)
        if (fds[i] > 0)
            close(fds[i]);
    free(fds);
    proc_stop(&p);
    return ok;
}

static bool run_all(const char *binary, struct sample *s)
{
    struct proc p;
    struct load_latency lat = {0, 0, 0};
    bool ok = true;

    if (!run_idle(binary, s) || !proc_start(&p, binary, ""))
        return false;
    for (int i = 0; ok && i < FANOUTS; i++) {
        struct load_result r;
        double cpu = proc_cpu_s(&p);
        ok = load_fanout(p.port, rows[i].subs, rows[i].payload, rows[i].msgs, &r);
        s->value[i] = (double)r.delivered / r.seconds;
        s->cpu_us[i] = (proc_cpu_s(&p) - cpu) * 1e6 / (double)r.delivered;
    }
    ok = ok && load_request_reply(p.port, (unsigned)rows[RR_P50].msgs, &lat);
    s->value[RR_P50] = lat.p50_us;
    s->value[RR_P99] = lat.p99_us;
    proc_stop(&p);
    return ok;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(const struct sample *s, int rounds, int row, bool cpu)
{
    double v[MAX_ROUNDS];

    for (int i = 0; i < rounds; i++)
        v[i] = cpu ? s[i].cpu_us[row] : s[i].value[row];
    qsort(v, (size_t)rounds, sizeof v[0], by_value);
    return v[rounds / 2];
}

static void report(const struct sample *ours, const struct sample *theirs, int rounds, bool json)
{
    if (!json)
        printf("\n%-36s %14s %14s %8s  %s\n", "", "nats-server", "mayflyd", "ratio",
               "CPU per delivery, theirs / ours");
    for (int i = 0; i < NROWS; i++) {
        double a = median(theirs, rounds, i, false), b = median(ours, rounds, i, false);
        double ratio = rows[i].lower_is_better ? a / b : b / a;
        if (json) {
            printf("{\"row\":\"%s\",\"unit\":\"%s\",\"nats_server\":%.1f,\"mayflyd\":%.1f,"
                   "\"ratio\":%.2f}\n",
                   rows[i].name, rows[i].unit, a, b, ratio);
            continue;
        }
        printf("%-36s %14.0f %14.0f %7.2fx", rows[i].name, a, b, ratio);
        if (i < FANOUTS)
            printf("  %.2f / %.2f us", median(theirs, rounds, i, true),
                   median(ours, rounds, i, true));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static struct sample ours[MAX_ROUNDS], theirs[MAX_ROUNDS];
    struct rlimit files;
    int rounds = 3;
    bool json = false;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_core MAYFLYD NATS_SERVER [--rounds N] [--json]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        json = json || strcmp(argv[i], "--json") == 0;
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
    }
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int r = 0; r < rounds; r++) {
        fprintf(stderr, "round %d of %d\n", r + 1, rounds);
        if (!run_all(argv[2], &theirs[r]) || !run_all(argv[1], &ours[r])) {
            fprintf(stderr, "bench: a run failed\n");
            return 1;
        }
    }
    report(ours, theirs, rounds, json);
    return 0;
}
