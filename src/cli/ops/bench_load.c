/* bench_load.c: requests by several clients, each a thread with its own connection. */
#include "cli/ops/bench_impl.h"

#include "base/clock.h"
#include "base/rand.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICE_MS   200
#define ERRORS_MAX 100 /* then a client gives up */

/* --- one client ------------------------------------------------------------------------------- */

static bool may_go_on(const struct bench_load *l)
{
    return !cli_interrupted() && clock_mono_ns() < l->until_ns && l->errors < ERRORS_MAX;
}

static void note_error(struct bench_load *l, const char *text, int len)
{
    if (l->errors++ == 0)
        (void)snprintf(l->error, sizeof l->error, "%.*s", len, text);
}

/* Answers are publish acks (JSON) or messages; a status is an error. */
static void read_answer(struct bench_load *l, natsMsg *m)
{
    const char *data = natsMsg_GetData(m), *status = NULL;
    int len = natsMsg_GetDataLength(m);

    if (natsMsg_IsNoResponders(m))
        note_error(l, "nobody answers", 14);
    else if (len > 8 && memmem(data, (size_t)len, "\"error\":{", 9) != NULL)
        note_error(l, data, len);
    else if (natsMsgHeader_Get(m, "Status", &status) == NATS_OK)
        note_error(l, status, (int)strlen(status));
    else
        l->done++;
}

/* Takes one answer; the number of its request stands behind the last dot of its subject.  False:
 * none came, or it answers no request that waits. */
static bool take_answer(struct bench_load *l, natsSubscription *sub, int64_t *sent)
{
    const char *dot;
    uint64_t i;
    natsMsg *m = NULL;
    natsStatus s = natsSubscription_NextMsg(&m, sub, SLICE_MS);
    bool known;

    if (s == NATS_TIMEOUT)
        return false;
    if (s != NATS_OK) {
        note_error(l, natsStatus_GetText(s), 100);
        l->until_ns = 0;
        return false;
    }
    dot = strrchr(natsMsg_GetSubject(m), '.');
    known = dot != NULL && mf_parse_u64(mf_str(dot + 1), &i) == 0 && i < l->count && sent[i] != 0;
    if (known) {
        bench_hist_add(&l->latency, clock_mono_ns() - sent[i]);
        sent[i] = 0;
        read_answer(l, m);
    }
    natsMsg_Destroy(m);
    return known;
}

static bool send_one(struct bench_load *l, uint64_t i, const char *inbox, int64_t *sent)
{
    char reply[CONNECT_INBOX + 24];
    natsMsg *m = NULL;
    natsStatus s;

    (void)snprintf(reply, sizeof reply, "%s.%llu", inbox, (unsigned long long)i);
    s = l->make(l, l->first + i, inbox[0] == '\0' ? NULL : reply, &m);
    if (sent != NULL)
        sent[i] = clock_mono_ns();
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(l->nc, m);
    natsMsg_Destroy(m);
    if (s != NATS_OK)
        note_error(l, natsStatus_GetText(s), 100);
    return s == NATS_OK;
}

static void run_core(struct bench_load *l)
{
    for (uint64_t i = 0; i < l->count && ((i & 255) != 0 || may_go_on(l)); i++)
        l->done += send_one(l, i, "", NULL);
    if (natsConnection_FlushTimeout(l->nc, 30000) != NATS_OK)
        note_error(l, "the last flush failed", 30);
}

static void run_requests(struct bench_load *l)
{
    int64_t *sent = calloc(l->count + 1, sizeof *sent), waiting = 0;
    char inbox[CONNECT_INBOX], all[CONNECT_INBOX + 4];
    natsSubscription *sub = NULL;
    uint64_t i = 0;

    connect_make_inbox(l->c, inbox);
    (void)snprintf(all, sizeof all, "%s.*", inbox);
    if (sent == NULL || natsConnection_SubscribeSync(&sub, l->nc, all) != NATS_OK ||
        natsSubscription_SetPendingLimits(sub, -1, -1) != NATS_OK)
        note_error(l, "no subscription for the answers", 40);
    else
        while ((i < l->count || waiting > 0) && may_go_on(l)) {
            for (; i < l->count && waiting < l->window && l->errors < ERRORS_MAX; i++)
                waiting += send_one(l, i, inbox, sent);
            if (waiting > 0)
                waiting -= take_answer(l, sub, sent);
        }
    natsSubscription_Destroy(sub);
    free(sent);
}

static void *run_client(void *arg)
{
    struct bench_load *l = arg;

    if (l->window == 0)
        run_core(l);
    else
        run_requests(l);
    return NULL;
}

/* --- all clients ------------------------------------------------------------------------------ */

static void add_up(struct bench_result *out, const struct bench_load *l)
{
    bench_hist_merge(&out->latency, &l->latency);
    out->done += l->done;
    if (out->errors == 0 && l->errors > 0)
        memcpy(out->error, l->error, sizeof out->error);
    out->errors += l->errors;
}

int bench_run_load(struct cli *c, const struct bench_load *model, uint64_t count,
                   struct bench_result *out)
{
    size_t clients = (size_t)cli_number(c, "clients", 1), n = 0;
    struct bench_load *loads = calloc(clients, sizeof *loads);
    pthread_t threads[BENCH_CLIENTS_MAX];
    int64_t began;
    int rc = 0;

    if (loads == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    for (size_t i = 0; rc == 0 && i < clients; i++) {
        loads[i] = *model;
        loads[i].c = c;
        loads[i].first = count * i / clients;
        loads[i].count = count * (i + 1) / clients - loads[i].first;
        rc = connect_another(c, &loads[i].nc);
    }
    began = clock_mono_ns();
    for (; rc == 0 && n < clients; n++)
        if (pthread_create(&threads[n], NULL, run_client, &loads[n]) != 0) {
            rc = cli_fail(c, CLI_USAGE, "no more threads");
            break;
        }
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    out->seconds = (double)(clock_mono_ns() - began) / CLOCK_S;
    for (size_t i = 0; i < clients; i++) {
        add_up(out, &loads[i]);
        natsConnection_Destroy(loads[i].nc);
    }
    free(loads);
    return rc;
}

bool bench_read_number(struct cli *c, const char *flag, int64_t otherwise, int64_t least,
                       int64_t most, int64_t *out)
{
    *out = cli_number(c, flag, otherwise);
    if (*out >= least && *out <= most)
        return true;
    (void)cli_usage(c, "--%s is a number from %lld to %lld", flag, (long long)least,
                    (long long)most);
    return false;
}

/* --- streams of a measurement ------------------------------------------------------------------
 */

void bench_make_name(char dst[BENCH_NAME], const char *prefix)
{
    char id[RAND_NUID + 1];

    rand_nuid(id);
    (void)snprintf(dst, BENCH_NAME, "%s%.10s", prefix, id + RAND_NUID - 10);
}

int bench_create(struct cli *c, const char *name, json_t *config)
{
    json_t *doc = NULL;
    int rc = config == NULL ? cli_fail(c, CLI_USAGE, "out of memory")
                            : request_api(c, config, name, &doc, NULL, "STREAM.CREATE.%s", name);

    json_decref(config);
    json_decref(doc);
    return rc;
}

void bench_remove(struct cli *c, const char *name)
{
    natsMsg *reply = NULL;
    char subject[CONNECT_PREFIX + 100];

    (void)snprintf(subject, sizeof subject, "%s.STREAM.DELETE.%s", connect_api_prefix(c), name);
    if (natsConnection_RequestString(&reply, connect_get(c), subject, "", 10000) != NATS_OK)
        (void)cli_fail(c, 0, "stream %s could not be removed; remove it with mayfly stream rm",
                       name);
    natsMsg_Destroy(reply);
}

json_t *bench_bucket_config(const char *name)
{
    return json_pack("{s:s, s:[o], s:I, s:s, s:b, s:b, s:b, s:b, s:I, s:s, s:I}", "name", name,
                     "subjects", json_sprintf("$KV.%s.>", name + 3), "max_msgs_per_subject",
                     (json_int_t)1, "discard", "new", "allow_direct", 1, "allow_rollup_hdrs", 1,
                     "deny_delete", 1, "allow_msg_ttl", 1, "subject_delete_marker_ttl",
                     (json_int_t)(3600 * CLOCK_S), "storage", "file", "num_replicas",
                     (json_int_t)1);
}
