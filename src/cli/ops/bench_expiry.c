/* bench_expiry.c: the time from a key's deadline to the moment when a watcher hears of it.
 *
 * The watcher is an ordered push consumer, as KV clients use it.  It sees each put with the time at
 * which the server stored it, and later the delete marker of the same key: the lag is the moment of
 * arrival here minus (stored + TTL).  The clocks of both machines must agree. */
#include "cli/ops/bench.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/bench_impl.h"
#include "cli/table.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

const struct cli_flag bench_expiry_flags[] = {
    {"keys", 0, CLI_NUMBER, "N", "keys that expire (10000)"},
    {"ttl", 0, CLI_DURATION, "TIME", "their TTL, whole seconds (2s)"},
    {"spread", 0, CLI_DURATION, "TIME", "the puts, and so the deadlines, are spread over it (1s)"},
    {"max-time", 0, CLI_DURATION, "TIME", "stop after this time (1m)"},
    {0},
};

/* The callback of the watcher runs on a thread of nats.c. */
struct watch {
    pthread_mutex_t lock;
    int64_t *stored; /* by key: when the server stored it */
    int64_t keys, ttl_ns;
    struct bench_hist lag;
    uint64_t early; /* before the deadline: the clocks disagree, or worse */
    int64_t first_ns, last_ns;
};

static void note_message(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    int64_t now = clock_wall_ns();
    struct watch *w = arg;
    const char *key = strrchr(natsMsg_GetSubject(m), '.'), *reason = NULL;
    uint64_t i; /* keys are k0, k1, ... */
    bool ours = key != NULL && key[1] == 'k' && mf_parse_u64(mf_str(key + 2), &i) == 0 &&
                i < (uint64_t)w->keys;
    jsMsgMetaData *meta = NULL;

    (void)nc;
    (void)sub;
    (void)pthread_mutex_lock(&w->lock);
    if (ours && natsMsgHeader_Get(m, "Nats-Marker-Reason", &reason) != NATS_OK) {
        if (natsMsg_GetMetaData(&meta, m) == NATS_OK)
            w->stored[i] = meta->Timestamp;
        jsMsgMetaData_Destroy(meta);
    } else if (ours && w->stored[i] != 0) {
        int64_t lag = now - w->stored[i] - w->ttl_ns;

        w->early += lag < 0;
        bench_hist_add(&w->lag, lag);
        if (w->lag.n == 1)
            w->first_ns = now;
        w->last_ns = now;
        w->stored[i] = 0;
    }
    (void)pthread_mutex_unlock(&w->lock);
    natsMsg_Destroy(m);
}

static uint64_t count_expired(struct watch *w)
{
    uint64_t n;

    (void)pthread_mutex_lock(&w->lock);
    n = w->lag.n;
    (void)pthread_mutex_unlock(&w->lock);
    return n;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int begin_watch(struct cli *c, const char *name, struct watch *w, jsCtx **js,
                       natsSubscription **sub)
{
    char subject[64];
    jsSubOptions so;
    jsOptions jo;
    natsStatus s;

    (void)snprintf(subject, sizeof subject, "$KV.%s.>", name + 3);
    (void)jsOptions_Init(&jo);
    (void)jsSubOptions_Init(&so);
    jo.Prefix = connect_api_prefix(c);
    jo.Wait = connect_timeout_ms(c);
    so.Stream = name;
    so.Ordered = true;
    s = natsConnection_JetStream(js, connect_get(c), &jo);
    if (s == NATS_OK)
        s = js_Subscribe(sub, *js, subject, note_message, w, NULL, &so, NULL);
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(*sub, -1, -1);
    return s == NATS_OK ? 0 : connect_fail(c, s, "watcher of %s", name);
}

static bool may_go_on(int64_t until)
{
    return !cli_interrupted() && clock_mono_ns() < until;
}

/* Puts the keys, evenly over the spread. */
static natsStatus put_keys(struct cli *c, const char *name, const struct watch *w, int64_t spread,
                           int64_t until)
{
    int64_t began = clock_mono_ns();
    natsStatus s = NATS_OK;
    char subject[80], ttl[24];

    (void)snprintf(ttl, sizeof ttl, "%llds", (long long)(w->ttl_ns / CLOCK_S));
    for (int64_t i = 0; s == NATS_OK && i < w->keys && may_go_on(until); i++) {
        int64_t due = began + (int64_t)((double)spread * (double)i / (double)w->keys);
        natsMsg *m = NULL;

        while (clock_mono_ns() < due - CLOCK_MS && may_go_on(until)) {
            (void)natsConnection_Flush(connect_get(c));
            (void)poll(NULL, 0, 1);
        }
        (void)snprintf(subject, sizeof subject, "$KV.%s.k%lld", name + 3, (long long)i);
        s = natsMsg_Create(&m, subject, NULL, "x", 1);
        if (s == NATS_OK)
            s = natsMsgHeader_Set(m, "Nats-TTL", ttl);
        if (s == NATS_OK)
            s = natsConnection_PublishMsg(connect_get(c), m);
        natsMsg_Destroy(m);
    }
    return s == NATS_OK ? natsConnection_FlushTimeout(connect_get(c), 10000) : s;
}

static int run_expiry(struct cli *c, const char *name, struct watch *w)
{
    int64_t until = clock_mono_ns() + cli_duration(c, "max-time", 60 * CLOCK_S);
    int64_t spread = cli_duration(c, "spread", CLOCK_S);
    natsSubscription *sub = NULL;
    struct term_progress p;
    jsCtx *js = NULL;
    natsStatus s;
    int rc = begin_watch(c, name, w, &js, &sub);

    if (rc == 0 && (s = put_keys(c, name, w, spread, until)) != NATS_OK)
        rc = connect_fail(c, s, "puts");
    term_progress_begin(&p, &c->term, "expired keys", (uint64_t)w->keys);
    while (rc == 0 && count_expired(w) < (uint64_t)w->keys && may_go_on(until)) {
        (void)poll(NULL, 0, 20);
        term_progress_set(&p, count_expired(w));
    }
    term_progress_end(&p);
    natsSubscription_Destroy(sub);
    jsCtx_Destroy(js);
    return rc;
}

/* --- the report ------------------------------------------------------------------------------- */

static double expired_per_second(const struct watch *w)
{
    double seconds = (double)(w->last_ns - w->first_ns) / CLOCK_S;

    return w->lag.n < 2 || seconds <= 0 ? (double)w->lag.n : (double)w->lag.n / seconds;
}

static void print_table(struct cli *c, const struct watch *w)
{
    static const char *const heads[] = {"KEYS", "EXPIRED", "RATE", "P50", "P99", "WORST", "EARLY"};
    char text[HUMAN_TEXT];
    struct table t;

    (void)fprintf(c->term.out, "Time from the deadline to the watcher, TTL %llds\n\n",
                  (long long)(w->ttl_ns / CLOCK_S));
    table_init(&t, &c->term, "rrrrrrr", heads);
    table_cell(&t, "%s", human_count(text, (uint64_t)w->keys));
    table_cell(&t, "%s", human_count(text, w->lag.n));
    table_cell(&t, "%s", human_rate(text, expired_per_second(w)));
    table_cell(&t, "%s", bench_duration(text, bench_hist_at(&w->lag, 0.5)));
    table_cell(&t, "%s", bench_duration(text, bench_hist_at(&w->lag, 0.99)));
    table_cell(&t, "%s", bench_duration(text, w->lag.worst));
    table_cell(&t, "%s", human_count(text, w->early));
    table_print(&t);
    if (w->lag.n > 0) {
        (void)fputc('\n', c->term.out);
        bench_print_histogram(c, &w->lag);
    }
}

static int report_expiry(struct cli *c, const struct watch *w)
{
    struct bench_result r = {.name = "expiry", .latency = w->lag, .done = w->lag.n};
    json_t *doc;

    if (c->json) {
        r.seconds = (double)(w->last_ns - w->first_ns) / CLOCK_S;
        doc = bench_result_json(&r);
        (void)json_object_set_new(doc, "bench", json_string("expiry"));
        (void)json_object_set_new(doc, "keys", json_integer((json_int_t)w->keys));
        (void)json_object_set_new(doc, "early", json_integer((json_int_t)w->early));
        (void)json_object_set_new(doc, "expired_per_second", json_real(expired_per_second(w)));
        request_print(c, doc);
        json_decref(doc);
    } else
        print_table(c, w);
    if (w->lag.n == (uint64_t)w->keys)
        return CLI_OK;
    return cli_fail(c, CLI_FOUND, "only %llu of %lld keys expired before the end of the run",
                    (unsigned long long)w->lag.n, (long long)w->keys);
}

int bench_expiry_run(struct cli *c)
{
    struct watch *w = calloc(1, sizeof *w);
    char name[BENCH_NAME];
    int rc = 0;

    if (w == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    (void)pthread_mutex_init(&w->lock, NULL);
    w->ttl_ns = cli_duration(c, "ttl", 2 * CLOCK_S);
    if (!bench_read_number(c, "keys", 10000, 1, BENCH_COUNT_MAX, &w->keys))
        rc = CLI_USAGE;
    else if (w->ttl_ns < CLOCK_S || w->ttl_ns % CLOCK_S != 0 || w->ttl_ns > 1800 * CLOCK_S)
        rc = cli_usage(c, "--ttl is a number of whole seconds, 1s to 30m");
    else if ((w->stored = calloc((size_t)w->keys, sizeof *w->stored)) == NULL)
        rc = cli_fail(c, CLI_USAGE, "out of memory");
    if (rc == 0)
        rc = connect_open(c);
    bench_make_name(name, "KV_bench_");
    if (rc == 0)
        rc = bench_create(c, name, bench_bucket_config(name));
    if (rc == 0) {
        rc = run_expiry(c, name, w);
        bench_remove(c, name);
        if (rc == 0)
            rc = report_expiry(c, w);
    }
    /* nats.c may still be in the callback until its threads have ended. */
    connect_close(c);
    (void)pthread_mutex_destroy(&w->lock);
    free(w->stored);
    free(w);
    return rc;
}
