/* bench.c: publishes and KV operations, measured at the client. */
#include "cli/ops/bench.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/bench_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW_DEFAULT 500
#define TIME_DEFAULT   (60 * CLOCK_S)

#define FLAG_CLIENTS                                                                               \
    {                                                                                              \
        "clients", 0, CLI_NUMBER, "N", "connections that work at once, 1 to 64 (1)"                \
    }
#define FLAG_TIME                                                                                  \
    {                                                                                              \
        "max-time", 0, CLI_DURATION, "TIME", "stop after this time (1m)"                           \
    }
#define FLAG_WINDOW                                                                                \
    {                                                                                              \
        "window", 0, CLI_NUMBER, "N", "requests of a client without an answer yet (500)"           \
    }

const struct cli_flag bench_pub_flags[] = {
    {"msgs", 0, CLI_NUMBER, "N", "messages (100000)"},
    {"size", 0, CLI_SIZE, "BYTES", "of a message (128)"},
    {"subjects", 0, CLI_NUMBER, "N", "different subjects (1)"},
    {"jetstream", 'J', CLI_SWITCH, NULL, "into a stream of its own, with publish acks"},
    {"sync", 0, CLI_SWITCH, NULL, "the same, each publish after the ack of the one before"},
    FLAG_WINDOW,
    FLAG_CLIENTS,
    FLAG_TIME,
    {0},
};

const struct cli_flag bench_kv_flags[] = {
    {"puts", 0, CLI_NUMBER, "N", "puts (20000)"},
    {"gets", 0, CLI_NUMBER, "N", "gets after them (20000)"},
    {"keys", 0, CLI_NUMBER, "N", "different keys (1000)"},
    {"size", 0, CLI_SIZE, "BYTES", "of a value (128)"},
    {"ttl", 0, CLI_DURATION, "TIME", "TTL of the puts, whole seconds (none)"},
    FLAG_WINDOW,
    FLAG_CLIENTS,
    FLAG_TIME,
    {0},
};

struct shape {
    const char *subject; /* before the number: "bench_x." or "$KV.bench_x.k" */
    char ttl[24];        /* "" or "30s" */
    uint64_t subjects;
    const void *payload;
    int size;
};

static natsStatus make_message(const struct bench_load *l, uint64_t i, const char *reply,
                               natsMsg **m)
{
    const struct shape *s = l->arg;
    char subject[CONNECT_PREFIX + 100];
    natsStatus st;

    (void)snprintf(subject, sizeof subject, "%s%llu", s->subject,
                   (unsigned long long)(i % s->subjects));
    st = natsMsg_Create(m, subject, reply, s->payload, s->size);
    return st == NATS_OK && s->ttl[0] != '\0' ? natsMsgHeader_Set(*m, "Nats-TTL", s->ttl) : st;
}

/* Zeroes, as many as the server takes in one message; the caller's to free. */
static int make_payload(struct cli *c, int64_t size, void **out)
{
    int64_t most = natsConnection_GetMaxPayload(connect_get(c));

    *out = NULL;
    if (size > most)
        return cli_usage(c, "--size is above the server's max_payload of %lld", (long long)most);
    *out = calloc(1, (size_t)size + 1);
    return *out != NULL ? 0 : cli_fail(c, CLI_USAGE, "out of memory");
}

static int finish_report(struct cli *c, const char *bench, const char *title,
                         const struct bench_result *r, size_t n)
{
    uint64_t errors = 0;

    for (size_t i = 0; i < n; i++)
        errors += r[i].errors;
    if (c->json) {
        json_t *list = json_array(), *doc;

        for (size_t i = 0; i < n; i++)
            (void)json_array_append_new(list, bench_result_json(&r[i]));
        doc = json_pack("{s:s, s:s, s:o}", "bench", bench, "what", title, "results", list);
        request_print(c, doc);
        json_decref(doc);
    } else
        bench_print_results(c, title, r, n);
    return errors > 0 ? CLI_REFUSED : CLI_OK;
}

/* --- publishes -------------------------------------------------------------------------------- */

static int measure_pub(struct cli *c, const char *name, const struct shape *shape, int64_t msgs,
                       int64_t window)
{
    struct bench_load model = {.make = make_message, .arg = shape, .window = window};
    struct bench_result *r = calloc(1, sizeof *r);
    char title[200], count[HUMAN_TEXT], size[HUMAN_TEXT], clients[HUMAN_TEXT];
    bool js = window > 0;
    int rc;

    if (r == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    r->name = js ? "publishes" : "sent";
    r->size = (uint64_t)shape->size;
    rc = js ? bench_create(c, name,
                           json_pack("{s:s, s:[o], s:s}", "name", name, "subjects",
                                     json_sprintf("%s.>", name), "storage", "file"))
            : 0;
    if (rc == 0) {
        model.until_ns = clock_mono_ns() + cli_duration(c, "max-time", TIME_DEFAULT);
        rc = bench_run_load(c, &model, (uint64_t)msgs, r);
        if (js)
            bench_remove(c, name);
    }
    (void)snprintf(title, sizeof title, "%s messages of %s by %s client(s), %s",
                   human_count(count, (uint64_t)msgs), human_bytes(size, (uint64_t)shape->size),
                   human_count(clients, (uint64_t)cli_number(c, "clients", 1)),
                   window == 0   ? "core NATS"
                   : window == 1 ? "JetStream, one by one"
                                 : "JetStream, with a window");
    if (rc == 0)
        rc = finish_report(c, "pub", title, r, 1);
    free(r);
    return rc;
}

int bench_pub_run(struct cli *c)
{
    int64_t msgs, subjects, clients, window, size = cli_size(c, "size", 128);
    char name[BENCH_NAME], subject[BENCH_NAME + 2];
    bool js = cli_on(c, "jetstream") || cli_on(c, "sync");
    struct shape shape = {.subject = subject};
    void *payload;
    int rc;

    if (!bench_read_number(c, "msgs", 100000, 1, BENCH_COUNT_MAX, &msgs) ||
        !bench_read_number(c, "subjects", 1, 1, BENCH_COUNT_MAX, &subjects) ||
        !bench_read_number(c, "clients", 1, 1, BENCH_CLIENTS_MAX, &clients) ||
        !bench_read_number(c, "window", WINDOW_DEFAULT, 1, 100000, &window))
        return CLI_USAGE;
    rc = connect_open(c);
    if (rc != 0)
        return rc;
    rc = make_payload(c, size, &payload);
    if (rc != 0)
        return rc;
    bench_make_name(name, "bench_");
    (void)snprintf(subject, sizeof subject, "%s.", name);
    shape.subjects = (uint64_t)subjects;
    shape.payload = payload;
    shape.size = (int)size;
    rc = measure_pub(c, name, &shape, msgs, !js ? 0 : cli_on(c, "sync") ? 1 : window);
    free(payload);
    return rc;
}

/* --- KV --------------------------------------------------------------------------------------- */

struct kv_plan {
    int64_t puts, gets, window;
    struct shape put, get;
};

static int measure_kv(struct cli *c, const char *name, const struct kv_plan *p)
{
    struct bench_load model = {.make = make_message, .window = p->window};
    struct bench_result *r = calloc(2, sizeof *r);
    char title[200], count[HUMAN_TEXT], size[HUMAN_TEXT];
    int rc;

    if (r == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    r[0].name = "puts";
    r[1].name = "gets";
    r[0].size = r[1].size = (uint64_t)p->put.size;
    rc = bench_create(c, name, bench_bucket_config(name));
    if (rc == 0) {
        model.until_ns = clock_mono_ns() + cli_duration(c, "max-time", TIME_DEFAULT);
        model.arg = &p->put;
        rc = bench_run_load(c, &model, (uint64_t)p->puts, &r[0]);
        model.arg = &p->get;
        if (rc == 0 && p->gets > 0)
            rc = bench_run_load(c, &model, (uint64_t)p->gets, &r[1]);
        bench_remove(c, name);
    }
    (void)snprintf(title, sizeof title, "%s keys with values of %s%s%s",
                   human_count(count, p->put.subjects), human_bytes(size, (uint64_t)p->put.size),
                   p->put.ttl[0] == '\0' ? "" : ", TTL ", p->put.ttl);
    if (rc == 0)
        rc = finish_report(c, "kv", title, r, p->gets > 0 ? 2 : 1);
    free(r);
    return rc;
}

int bench_kv_run(struct cli *c)
{
    int64_t keys, clients, ttl = cli_duration(c, "ttl", 0), size = cli_size(c, "size", 128);
    char name[BENCH_NAME], put[64], get[CONNECT_PREFIX + 80];
    struct kv_plan p = {.put = {.subject = put}, .get = {.subject = get, .payload = ""}};
    void *payload;
    int rc;

    if (!bench_read_number(c, "puts", 20000, 1, BENCH_COUNT_MAX, &p.puts) ||
        !bench_read_number(c, "gets", 20000, 0, BENCH_COUNT_MAX, &p.gets) ||
        !bench_read_number(c, "keys", 1000, 1, BENCH_COUNT_MAX, &keys) ||
        !bench_read_number(c, "clients", 1, 1, BENCH_CLIENTS_MAX, &clients) ||
        !bench_read_number(c, "window", WINDOW_DEFAULT, 1, 100000, &p.window))
        return CLI_USAGE;
    if (ttl % CLOCK_S != 0)
        return cli_usage(c, "--ttl: a TTL is a number of whole seconds");
    rc = connect_open(c);
    if (rc == 0)
        rc = make_payload(c, size, &payload);
    if (rc != 0)
        return rc;
    bench_make_name(name, "KV_bench_");
    (void)snprintf(put, sizeof put, "$KV.%s.k", name + 3);
    (void)snprintf(get, sizeof get, "%s.DIRECT.GET.%s.$KV.%s.k", connect_api_prefix(c), name,
                   name + 3);
    if (ttl > 0)
        (void)snprintf(p.put.ttl, sizeof p.put.ttl, "%llds", (long long)(ttl / CLOCK_S));
    p.put.subjects = p.get.subjects = (uint64_t)(keys < p.puts ? keys : p.puts);
    p.put.payload = payload;
    p.put.size = (int)size;
    rc = measure_kv(c, name, &p);
    free(payload);
    return rc;
}
