/* bench_consume.c: consumers, mayflyd beside nats-server in one run.
 *     bench_consume MAYFLYD NATS_SERVER [--rounds N] [--quick] [--full] [--relaxed] [--only PART]
 * PART: READ (fetch, replay, fan-out), WATCH, CREATE or GET.  Each server as it comes; --relaxed
 * gives mayflyd nats-server's `sync_interval: 2m`.  The servers take turns, part by part; medians
 * of the rounds are compared.  Only ratios mean anything.  TMPDIR must be on a real disk. */
#include "js_consume.h"
#include "js_load.h"
#include "js_report.h"
#include "js_server.h"
#include "js_wire.h"
#include "proc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAN         8
#define WATCH_CONNS 4
#define MEM_STREAMS 10
#define MEM_EACH    1000u /* nats-server's cap for a stream */
/* What clients ask for when they say `ordered consumer`. */
#define ORDERED ",\"flow_control\":true,\"idle_heartbeat\":5000000000"

enum { NATS, MAYFLY, SERVERS };
enum row { PULL, REPLAY, FANOUT, RSS, WATCH_1K, WATCH_10K, CREATE, MEMORY, GET, ROWS };

struct plan {
    const char *binary[SERVERS], *settings[SERVERS], *only;
    int rounds;
    uint64_t pull, replay, fan;
    unsigned puts;
    double get_s;
};
struct results {
    struct js_cell cell[SERVERS][ROWS][JS_ROUNDS];
    int rounds;
};
struct span {
    const struct proc *proc;
    double start_s, cpu_s;
};

static struct span span_start(const struct js_server *s)
{
    return (struct span){&s->proc, js_now_s(), proc_cpu_s(&s->proc)};
}

/* n things were done until end_s. */
static struct js_cell span_rate(const struct span *sp, double end_s, uint64_t n)
{
    return (struct js_cell){.value = (double)n / (end_s - sp->start_s),
                            .cpu_us = (proc_cpu_s(sp->proc) - sp->cpu_s) * 1e6 / (double)n,
                            .known = true};
}

/* Every message once and in order, or the row does not count. */
static bool as_promised(const char *row, const struct js_taker *t, uint64_t want)
{
    bool ok = t->got == want && t->jumps == 0 && t->strange == 0;

    if (!ok)
        fprintf(stderr, "bench: WRONG: %s: %llu of %llu messages, %llu jumps, %llu odd (%s)\n", row,
                (unsigned long long)t->got, (unsigned long long)want, (unsigned long long)t->jumps,
                (unsigned long long)t->strange, t->said);
    return ok;
}

/* --- fetch, replay, fan-out ------------------------------------------------------------------- */

static bool load_messages(struct js_server *s, const char *prefix, uint64_t n, unsigned window)
{
    struct js_job job = {.prefix = prefix, .keys = 1000, .conns = 4, .window = window, .count = n};
    struct js_stats st;

    if (!js_load(s->proc.port, &job, &st))
        return false;
    if (st.errors > 0)
        fprintf(stderr, "bench: %llu publishes failed: %s\n", (unsigned long long)st.errors,
                st.error);
    return st.errors == 0;
}

/* Until the server itself says that nothing is pending. */
static bool all_acknowledged(struct js_server *s, uint64_t want)
{
    char text[65536];
    double until_s = js_now_s() + 5;
    uint64_t pending = 1, floor = 0;
    const char *at;

    while (pending > 0 && js_now_s() < until_s) {
        if (!js_request(&s->ask, "$JS.API.CONSUMER.INFO.B.P", "", text, sizeof text))
            return false;
        pending = js_number(text, "num_ack_pending", UINT64_MAX);
        at = strstr(text, "\"ack_floor\"");
        floor = at != NULL ? js_number(at, "stream_seq", 0) : 0;
    }
    if (pending > 0 || floor != want)
        fprintf(stderr, "bench: WRONG: %llu unacknowledged, floor %llu of %llu\n",
                (unsigned long long)pending, (unsigned long long)floor, (unsigned long long)want);
    return pending == 0 && floor == want;
}

static bool run_pull(struct js_server *s, uint64_t n, struct js_cell *cell)
{
    struct js_taker t;
    struct span sp;
    bool ok = js_server_ask(s, "$JS.API.CONSUMER.DURABLE.CREATE.B.P",
                            "{\"stream_name\":\"B\",\"config\":{\"durable_name\":\"P\","
                            "\"deliver_policy\":\"all\",\"ack_policy\":\"explicit\"}}") &&
              js_taker_open(&t, s->proc.port);

    if (!ok)
        return false;
    t.one_by_one = true;
    sp = span_start(s);
    ok = js_fetch(&t, "B", "P", 100, n) && all_acknowledged(s, n);
    if (ok)
        *cell = span_rate(&sp, js_now_s(), n);
    ok = as_promised("fetch", &t, n) && ok;
    cell->known = ok;
    js_taker_close(&t);
    return ok;
}

static bool run_replay(struct js_server *s, uint64_t n, struct js_cell *cell)
{
    struct js_makes make = {.stream = "B",
                            .filter = "",
                            .deliver_prefix = "bench.replay",
                            .rest = ORDERED ",\"deliver_policy\":\"all\"",
                            .n = 1,
                            .window = 1};
    struct js_taker t;
    struct span sp;
    double seconds, done_s;
    bool ok = js_taker_open(&t, s->proc.port) && js_taker_subscribe(&t, "bench.replay", 1);

    if (!ok)
        return false;
    t.one_by_one = true;
    sp = span_start(s);
    ok = js_make_consumers(s->proc.port, &make, &seconds) && js_take(&t, 1, n, 0, &done_s);
    if (ok)
        *cell = span_rate(&sp, done_s, n);
    ok = ok && js_take(&t, 1, n, 0.1, &done_s); /* what comes now is too much */
    ok = as_promised("replay", &t, n) && ok;
    cell->known = ok;
    js_taker_close(&t);
    return ok;
}

struct publisher {
    struct js_server *server;
    uint64_t n;
    bool ok;
};

static void *publisher_main(void *arg)
{
    struct publisher *p = arg;

    p->ok = load_messages(p->server, "f.", p->n, 256);
    return NULL;
}

static bool fan_receive(struct js_server *s, struct js_taker *t, uint64_t n, struct js_cell *cell)
{
    struct publisher p = {.server = s, .n = n};
    pthread_t thread;
    struct span sp = span_start(s);
    double done_s;
    bool ok = pthread_create(&thread, NULL, publisher_main, &p) == 0;

    if (!ok)
        return false;
    ok = js_take(t, FAN, n * FAN, 0, &done_s);
    pthread_join(thread, NULL);
    if (ok)
        *cell = span_rate(&sp, done_s, n * FAN);
    return js_take(t, FAN, n * FAN, 0.1, &done_s) && ok && p.ok;
}

static bool run_fan(struct js_server *s, uint64_t n, struct js_cell *cell)
{
    struct js_makes make = {.stream = "F",
                            .filter = "",
                            .deliver_prefix = "bench.fan.",
                            .rest = ",\"deliver_policy\":\"all\"",
                            .n = FAN,
                            .window = 1};
    struct js_taker t[FAN] = {0};
    double seconds;
    bool ok = js_server_ask(s, "$JS.API.STREAM.CREATE.F",
                            "{\"name\":\"F\",\"subjects\":[\"f.>\"],\"storage\":\"file\"}");

    for (unsigned i = 0; ok && i < FAN; i++) {
        char line[64];
        int len = snprintf(line, sizeof line, "SUB bench.fan.%u 9\r\n", i);
        ok = js_taker_open(&t[i], s->proc.port) && js_send(&t[i].conn, line, (size_t)len) &&
             js_subscribe(&t[i].conn, "bench.settled");
        t[i].one_by_one = true;
    }
    ok = ok && js_make_consumers(s->proc.port, &make, &seconds) && fan_receive(s, t, n, cell);
    for (unsigned i = 0; i < FAN; i++) {
        ok = ok && as_promised("fan-out", &t[i], n);
        js_taker_close(&t[i]);
    }
    cell->known = ok;
    return ok && js_server_ask(s, "$JS.API.STREAM.DELETE.F", "");
}

static bool run_read(const struct plan *plan, struct js_server *s,
                     struct js_cell (*rows)[JS_ROUNDS], int round)
{
    uint64_t n = plan->replay > plan->pull ? plan->replay : plan->pull;
    bool ok = js_server_ask(s, "$JS.API.STREAM.CREATE.B",
                            "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\"}") &&
              load_messages(s, "b.", n, 256);

    if (!ok)
        return false;
    ok = run_pull(s, plan->pull, &rows[PULL][round]);
    ok = run_replay(s, plan->replay, &rows[REPLAY][round]) && ok;
    ok = run_fan(s, plan->fan, &rows[FANOUT][round]) && ok;
    rows[RSS][round] = (struct js_cell){.value = proc_rss_kb(&s->proc) / 1024, .known = true};
    return ok;
}

/* --- watchers --------------------------------------------------------------------------------- */

#define PUT(value) "PUB $KV.b.key 4\r\n" value "\r\n"

static bool put_often(struct js_server *s, struct js_taker *t, unsigned n, unsigned puts,
                      struct js_cell *cell)
{
    double ms[256], done_s = 0;
    struct span sp = span_start(s);
    uint64_t want = 0;

    for (unsigned i = 0; i <= puts && i < 256; i++) {
        if (i == 1) /* the first is a rehearsal */
            sp = span_start(s);
        double start_s = js_now_s();
        want += n;
        if (!js_send(&s->ask, PUT("next"), strlen(PUT("next"))) ||
            !js_take(t, WATCH_CONNS, want, 0, &done_s))
            return false;
        if (i > 0)
            ms[i - 1] = (done_s - start_s) * 1e3;
    }
    *cell = span_rate(&sp, done_s, (uint64_t)puts * n);
    cell->p99_us = js_quantile(ms, puts, 0.99) * 1e3;
    cell->value = js_quantile(ms, puts, 0.5);
    return js_take(t, WATCH_CONNS, want, 0.1, &done_s);
}

/* n watchers of one bucket, spread over the connections; each wants every key. */
static bool watch(struct js_server *s, unsigned n, unsigned puts, struct js_cell *cell)
{
    struct js_makes make = {.stream = "KV_b",
                            .filter = "$KV.b.>",
                            .deliver_prefix = "bench.w.",
                            .rest = ORDERED ",\"deliver_policy\":\"new\"",
                            .n = n,
                            .window = 32};
    struct js_taker t[WATCH_CONNS] = {0};
    uint64_t got = 0;
    double seconds;
    bool ok = js_server_ask(s, "$JS.API.STREAM.CREATE.KV_b",
                            "{\"name\":\"KV_b\",\"subjects\":[\"$KV.b.>\"],\"storage\":\"file\","
                            "\"max_msgs_per_subject\":1,\"allow_direct\":true,\"discard\":\"new\","
                            "\"allow_rollup_hdrs\":true,\"deny_delete\":true}");

    for (unsigned i = 0; ok && i < WATCH_CONNS; i++)
        ok = js_taker_open(&t[i], s->proc.port);
    for (unsigned i = 0; ok && i < n; i++) {
        char line[64];
        int len = snprintf(line, sizeof line, "SUB bench.w.%u %u\r\n", i, i + 10);
        ok = js_send(&t[i % WATCH_CONNS].conn, line, (size_t)len);
    }
    for (unsigned i = 0; ok && i < WATCH_CONNS; i++)
        ok = js_subscribe(&t[i].conn, "bench.settled");
    ok = ok && js_make_consumers(s->proc.port, &make, &seconds) && put_often(s, t, n, puts, cell);
    for (unsigned i = 0; i < WATCH_CONNS; i++) {
        got += t[i].got;
        js_taker_close(&t[i]);
    }
    ok = ok && got == (uint64_t)n * (puts + 1);
    cell->known = ok;
    if (!ok)
        fprintf(stderr, "bench: WRONG: %u watchers, %u puts: %llu messages\n", n, puts + 1,
                (unsigned long long)got);
    return ok && js_server_ask(s, "$JS.API.STREAM.DELETE.KV_b", "");
}

static bool run_watch(const struct plan *plan, struct js_server *s, int who,
                      struct js_cell (*rows)[JS_ROUNDS], int round)
{
    bool ok = watch(s, MEM_EACH, plan->puts, &rows[WATCH_1K][round]);

    return (who == NATS || watch(s, 10000, plan->puts, &rows[WATCH_10K][round])) && ok;
}

/* --- creating, and what stays in memory ------------------------------------------------------- */

/* Ten streams of a thousand, so that both servers have as many. */
static bool run_create(struct js_server *s, struct js_cell (*rows)[JS_ROUNDS], int round)
{
    struct js_conn interest; /* or they would die of nobody listening */
    char stream[8], subject[64], config[128];
    struct js_makes make = {.stream = stream,
                            .filter = "",
                            .deliver_prefix = "bench.m.",
                            .rest = ",\"deliver_policy\":\"all\"",
                            .n = MEM_EACH,
                            .window = 32};
    double idle_kb, seconds;
    struct span sp;
    bool ok = js_open(&interest, s->proc.port) && js_subscribe(&interest, "bench.m.*");

    for (unsigned i = 0; ok && i < MEM_STREAMS; i++) {
        snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.M%u", i);
        snprintf(config, sizeof config, "{\"name\":\"M%u\",\"subjects\":[\"m%u.>\"]}", i, i);
        ok = js_server_ask(s, subject, config);
    }
    js_pause(0.3);
    idle_kb = proc_rss_kb(&s->proc);
    sp = span_start(s);
    for (unsigned i = 0; ok && i < MEM_STREAMS; i++) {
        snprintf(stream, sizeof stream, "M%u", i);
        ok = js_make_consumers(s->proc.port, &make, &seconds);
    }
    if (ok) {
        rows[CREATE][round] = span_rate(&sp, js_now_s(), (uint64_t)MEM_STREAMS * MEM_EACH);
        js_pause(1);
        rows[MEMORY][round] = (struct js_cell){.value = (proc_rss_kb(&s->proc) - idle_kb) * 1024 /
                                                        (MEM_STREAMS * MEM_EACH),
                                               .known = true};
    }
    js_close(&interest);
    return ok;
}

/* --- direct get ------------------------------------------------------------------------------- */

static bool run_get(const struct plan *plan, struct js_server *s, struct js_cell *cell)
{
    struct js_job job = {.prefix = "g.", .keys = 100000, .conns = 4, .window = 64, .count = 100000};
    struct js_stats st;
    struct span sp;
    bool ok = js_server_ask(s, "$JS.API.STREAM.CREATE.G",
                            "{\"name\":\"G\",\"subjects\":[\"g.>\"],\"storage\":\"file\","
                            "\"max_msgs_per_subject\":1,\"allow_direct\":true}") &&
              js_load(s->proc.port, &job, &st);

    job.get_from = "G";
    job.count = UINT64_MAX;
    job.cap_s = plan->get_s;
    sp = span_start(s);
    ok = ok && js_load(s->proc.port, &job, &st);
    if (ok && st.errors > 0)
        fprintf(stderr, "bench: WRONG: %llu gets failed: %s\n", (unsigned long long)st.errors,
                st.error);
    if (ok && st.done > 0)
        *cell = span_rate(&sp, sp.start_s + st.seconds, st.done);
    return ok && st.errors == 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *format;
} row_texts[ROWS] = {
    [PULL] = {"fetch 100, explicit ack, messages/s", "%.0f"},
    [REPLAY] = {"ordered replay, messages/s", "%.0f"},
    [FANOUT] = {"publish to 8 push consumers, deliveries/s", "%.0f"},
    [RSS] = {"RSS after these, MB", "%.1f"},
    [WATCH_1K] = {"a put to 1,000 watchers, ms", "%.2f"},
    [WATCH_10K] = {"a put to 10,000 watchers, ms", "%.2f"},
    [CREATE] = {"ephemeral push consumers created/s", "%.0f"},
    [MEMORY] = {"memory of an idle consumer, B", "%.0f"},
    [GET] = {"direct get, 4 x 64, gets/s", "%.0f"},
};

/* Negative: not measured. */
static double median(const struct results *r, int who, int row, size_t field)
{
    double v[JS_ROUNDS];
    size_t n = 0;

    for (int i = 0; i < r->rounds; i++) {
        const struct js_cell *c = &r->cell[who][row][i];
        if (c->known)
            memcpy(&v[n++], (const char *)c + field, sizeof v[0]);
    }
    return n > 0 ? js_quantile(v, n, 0.5) : -1;
}

static void print_pair(const struct results *r, int row, size_t field, const char *format)
{
    double v[SERVERS];

    for (int who = 0; who < SERVERS; who++) {
        char text[32];
        v[who] = median(r, who, row, field);
        snprintf(text, sizeof text, format, v[who]);
        printf(" %11s", v[who] > 0 ? text : "-");
    }
    if (v[NATS] > 0 && v[MAYFLY] > 0)
        printf(" %7.2fx", v[MAYFLY] / v[NATS]);
    else
        printf(" %8s", "-");
}

static void report(const struct results *r)
{
    printf("\n%-42s %11s %11s %8s %11s %11s %8s\n", "", "nats", "mayfly", "m/n", "CPU us, n",
           "CPU us, m", "m/n");
    for (int row = 0; row < ROWS; row++) {
        if (median(r, NATS, row, 0) < 0 && median(r, MAYFLY, row, 0) < 0)
            continue;
        printf("%-42s", row_texts[row].name);
        print_pair(r, row, offsetof(struct js_cell, value), row_texts[row].format);
        print_pair(r, row, offsetof(struct js_cell, cpu_us), "%.2f");
        printf("\n");
        if (row == WATCH_1K || row == WATCH_10K) {
            printf("%-42s", "  p99, us");
            print_pair(r, row, offsetof(struct js_cell, p99_us), "%.0f");
            printf("\n");
        }
    }
    printf("CPU: the server's, for each message, delivery, create or get.\n");
}

/* ---------------------------------------------------------------------------------------------- */

static const char *const parts[] = {"READ", "WATCH", "CREATE", "GET"};
#define PARTS (sizeof parts / sizeof parts[0])

static bool run_part(const struct plan *plan, int who, size_t part, struct results *r, int round)
{
    struct js_cell(*rows)[JS_ROUNDS] = r->cell[who];
    struct js_server s;
    bool ok = js_server_start(&s, plan->binary[who], plan->settings[who]);

    if (!ok)
        return false;
    if (part == 0)
        ok = run_read(plan, &s, rows, round);
    else if (part == 1)
        ok = run_watch(plan, &s, who, rows, round);
    else if (part == 2)
        ok = run_create(&s, rows, round);
    else
        ok = run_get(plan, &s, &rows[GET][round]);
    if (!ok)
        fprintf(stderr, "bench: %s failed on %s\n", parts[part], plan->binary[who]);
    js_server_stop(&s);
    return ok;
}

static bool read_arguments(struct plan *plan, int argc, char **argv)
{
    if (argc < 3)
        return false;
    *plan = (struct plan){.binary = {argv[2], argv[1]},
                          .settings = {"", ""},
                          .rounds = 3,
                          .pull = 500000,
                          .replay = 1000000,
                          .fan = 200000,
                          .puts = 100,
                          .get_s = 4};
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            plan->rounds = 1;
            plan->pull = 100000;
            plan->replay = 200000;
            plan->fan = 50000;
            plan->puts = 20;
            plan->get_s = 1;
        } else if (strcmp(argv[i], "--full") == 0) {
            plan->replay = 10000000;
        } else if (strcmp(argv[i], "--relaxed") == 0) {
            plan->settings[MAYFLY] = "sync_interval: 2m";
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
    static struct results results;
    struct plan plan;
    double load[1] = {0};
    bool ok = true;

    if (!read_arguments(&plan, argc, argv)) {
        fprintf(stderr, "usage: bench_consume MAYFLYD NATS_SERVER [--rounds N] [--quick] [--full] "
                        "[--relaxed] [--only READ|WATCH|CREATE|GET]\n");
        return 2;
    }
    results.rounds = plan.rounds;
    for (int round = 0; round < plan.rounds; round++) {
        getloadavg(load, 1);
        fprintf(stderr, "round %d of %d, load average %.1f\n", round + 1, plan.rounds, load[0]);
        for (size_t part = 0; part < PARTS; part++)
            for (int turn = 0; turn < SERVERS; turn++) /* who begins changes by the round */
                if (plan.only == NULL || strcmp(plan.only, parts[part]) == 0)
                    ok = run_part(&plan, (turn + round) % SERVERS, part, &results, round) && ok;
    }
    report(&results);
    return ok ? 0 : 1;
}
