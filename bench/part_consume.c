/* part_consume.c: reading a stream: fetch, replay, push; watchers of a bucket; creating consumers.
 */
#include "js_consume.h"
#include "matrix.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FAN         8
#define WATCH_CONNS 4
#define MEM_STREAMS 10
/* What clients ask for when they say `ordered consumer`. */
#define ORDERED ",\"flow_control\":true,\"idle_heartbeat\":5000000000"

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

static bool run_pull(struct run *r, struct js_server *s, uint64_t n)
{
    struct js_taker t;
    struct meter m;
    bool ok = js_server_ask(s, "$JS.API.CONSUMER.DURABLE.CREATE.B.P",
                            "{\"stream_name\":\"B\",\"config\":{\"durable_name\":\"P\","
                            "\"deliver_policy\":\"all\",\"ack_policy\":\"explicit\"}}") &&
              js_taker_open(&t, s->proc.port);

    if (!ok)
        return false;
    t.one_by_one = true;
    m = meter_start(&s->proc);
    ok = js_fetch(&t, "B", "P", 100, n) && all_acknowledged(s, n);
    if (ok)
        meter_emit(r, "read.fetch", &m, js_now_s(), n);
    ok = as_promised("fetch", &t, n) && ok;
    js_taker_close(&t);
    return ok;
}

/* An ordered consumer reads the first n messages, which are all of them, of stream B. */
static bool run_replay(struct run *r, struct js_server *s, const char *row, uint64_t n)
{
    struct js_makes make = {.stream = "B",
                            .filter = "",
                            .deliver_prefix = "bench.replay",
                            .rest = ORDERED ",\"deliver_policy\":\"all\"",
                            .n = 1,
                            .window = 1};
    struct js_taker t;
    struct meter m;
    double seconds, done_s;
    bool ok = js_taker_open(&t, s->proc.port) && js_taker_subscribe(&t, "bench.replay", 1);

    if (!ok)
        return false;
    t.one_by_one = true;
    m = meter_start(&s->proc);
    ok = js_make_consumers(s->proc.port, &make, &seconds) && js_take(&t, 1, n, 0, &done_s);
    if (ok)
        meter_emit(r, row, &m, done_s, n);
    ok = ok && js_take(&t, 1, n, 0.1, &done_s); /* what comes now is too much */
    ok = as_promised(row, &t, n) && ok;
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

static bool fan_receive(struct run *r, struct js_server *s, const char *row, struct js_taker *t,
                        uint64_t n)
{
    struct publisher p = {.server = s, .n = n};
    pthread_t thread;
    struct meter m = meter_start(&s->proc);
    double done_s;
    bool ok = pthread_create(&thread, NULL, publisher_main, &p) == 0;

    if (!ok)
        return false;
    ok = js_take(t, FAN, n * FAN, 0, &done_s);
    pthread_join(thread, NULL);
    if (ok)
        meter_emit(r, row, &m, done_s, n * FAN);
    return js_take(t, FAN, n * FAN, 0.1, &done_s) && ok && p.ok;
}

bool measure_push(struct run *r, struct js_server *s, const char *row, uint64_t n)
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
    ok = ok && js_make_consumers(s->proc.port, &make, &seconds) && fan_receive(r, s, row, t, n);
    for (unsigned i = 0; i < FAN; i++) {
        ok = ok && as_promised("fan-out", &t[i], n);
        js_taker_close(&t[i]);
    }
    return ok && js_server_ask(s, "$JS.API.STREAM.DELETE.F", "");
}

bool part_read(struct run *r)
{
    const struct sizes *z = r->sizes;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_server_ask(&s, "$JS.API.STREAM.CREATE.B",
                       "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\"}") &&
         load_messages(&s, "b.", z->replay > z->pull ? z->replay : z->pull, 256) &&
         run_pull(r, &s, z->pull) && run_replay(r, &s, "read.replay", z->replay) &&
         measure_push(r, &s, "read.push", z->fan);
    js_server_stop(&s);
    return ok;
}

/* Chunks of an object store: a client that waits for each ack, one that has 4 MB under way, and the
 * ordered consumer of a reader. */
bool part_objects(struct run *r)
{
    struct js_job put = {.prefix = "b.", .keys = 1, .conns = 1, .size = 128 << 10};
    uint64_t n = r->sizes->chunks;
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = js_server_ask(&s, "$JS.API.STREAM.CREATE.B",
                       "{\"name\":\"B\",\"subjects\":[\"b.>\"],\"storage\":\"file\"}");
    put.window = 1;
    put.count = n / 8;
    ok = ok && measure_load(r, &s, "objects.put_one", &put);
    put.window = 32;
    put.count = n - n / 8;
    ok = ok && measure_load(r, &s, "objects.put", &put) && run_replay(r, &s, "objects.get", n);
    js_server_stop(&s);
    return ok;
}

/* --- watchers --------------------------------------------------------------------------------- */

#define PUT(value) "PUB $KV.b.key 4\r\n" value "\r\n"

static bool put_often(struct run *r, struct js_server *s, struct js_taker *t, unsigned n,
                      const char *row)
{
    double ms[256], done_s = 0;
    struct meter m = meter_start(&s->proc);
    unsigned puts = r->sizes->puts;
    uint64_t want = 0;

    for (unsigned i = 0; i <= puts && i < 256; i++) {
        if (i == 1) /* the first is a rehearsal */
            m = meter_start(&s->proc);
        double start_s = js_now_s();
        want += n;
        if (!js_send(&s->ask, PUT("next"), strlen(PUT("next"))) ||
            !js_take(t, WATCH_CONNS, want, 0, &done_s))
            return false;
        if (i > 0)
            ms[i - 1] = (done_s - start_s) * 1e3;
    }
    meter_emit(r, row, &m, done_s, (uint64_t)puts * n);
    emit(r, row, "p50_ms", js_quantile(ms, puts, 0.5));
    emit(r, row, "p99_ms", js_quantile(ms, puts, 0.99));
    emit(r, row, "max_ms", js_quantile(ms, puts, 1));
    return js_take(t, WATCH_CONNS, want, 0.1, &done_s);
}

/* n watchers of one bucket, spread over the connections; each wants every key. */
static bool watch(struct run *r, struct js_server *s, unsigned n, const char *row)
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
    ok = ok && js_make_consumers(s->proc.port, &make, &seconds) && put_often(r, s, t, n, row);
    for (unsigned i = 0; i < WATCH_CONNS; i++) {
        got += t[i].got;
        js_taker_close(&t[i]);
    }
    ok = ok && got == (uint64_t)n * (r->sizes->puts + 1);
    if (!ok)
        fprintf(stderr, "bench: WRONG: %u watchers, %u puts: %llu messages\n", n,
                r->sizes->puts + 1, (unsigned long long)got);
    return ok && js_server_ask(s, "$JS.API.STREAM.DELETE.KV_b", "");
}

bool part_watch(struct run *r)
{
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = watch(r, &s, r->sizes->watchers_few, "watch.few");
    if (r->setup != NATS) /* its limit is a thousand consumers for a stream */
        ok = watch(r, &s, r->sizes->watchers_many, "watch.many") && ok;
    js_server_stop(&s);
    return ok;
}

/* --- creating, and what stays in memory ------------------------------------------------------- */

static bool make_streams(struct js_server *s)
{
    char subject[64], config[128];
    bool ok = true;

    for (unsigned i = 0; ok && i < MEM_STREAMS; i++) {
        snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.M%u", i);
        snprintf(config, sizeof config, "{\"name\":\"M%u\",\"subjects\":[\"m%u.>\"]}", i, i);
        ok = js_server_ask(s, subject, config);
    }
    return ok;
}

/* Ten streams of a thousand, so that both servers have as many. */
static bool make_many(struct run *r, struct js_server *s)
{
    struct js_conn interest; /* or they would die of nobody listening */
    char stream[8];
    struct js_makes make = {.stream = stream,
                            .filter = "",
                            .deliver_prefix = "bench.m.",
                            .rest = ",\"deliver_policy\":\"all\"",
                            .n = r->sizes->consumers_each,
                            .window = 32};
    uint64_t all = (uint64_t)MEM_STREAMS * make.n;
    double idle_kb, seconds;
    struct meter m;
    bool ok = js_open(&interest, s->proc.port) && js_subscribe(&interest, "bench.m.*");

    js_pause(0.3);
    idle_kb = proc_rss_kb(&s->proc);
    m = meter_start(&s->proc);
    for (unsigned i = 0; ok && i < MEM_STREAMS; i++) {
        snprintf(stream, sizeof stream, "M%u", i);
        ok = js_make_consumers(s->proc.port, &make, &seconds);
    }
    if (ok) {
        meter_emit(r, "make.rate", &m, js_now_s(), all);
        js_pause(r->sizes->settle_s / 2);
        emit(r, "make.memory", "bytes", (proc_rss_kb(&s->proc) - idle_kb) * 1024 / (double)all);
    }
    js_close(&interest);
    return ok;
}

bool part_make(struct run *r)
{
    struct js_server s;
    bool ok = js_server_start(&s, &r->kind);

    if (!ok)
        return false;
    ok = make_streams(&s) && make_many(r, &s);
    js_server_stop(&s);
    return ok;
}
