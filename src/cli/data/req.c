/* req.c: `mayfly req`: sends requests, shows the replies and how long they took. */
#include "cli/data/data_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "cli/data/message.h"

#include <stdlib.h>

const struct cli_flag req_flags[] = {
    {"header", 'H', CLI_TEXTS, "K:V", "a header; may be given several times"},
    {"ttl", 0, CLI_TEXT, "TIME", "header Nats-TTL"},
    {"count", 0, CLI_NUMBER, "N", "send it N times, one after the other (1)"},
    {"replies", 0, CLI_NUMBER, "N",
     "wait for up to N replies to each request (1; 0: all within --timeout)"},
    {"file", 'f', CLI_TEXT, "FILE", "read the payload from a file"},
    {"headers", 0, CLI_SWITCH, NULL, "show the headers of replies"},
    {"raw", 'r', CLI_SWITCH, NULL, "payloads only"},
    {"no-templates", 0, CLI_SWITCH, NULL, "send {{Count}} and its like as they are"},
    {0},
};

struct times {
    int64_t *ns;
    size_t n, cap;
};

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_reply(struct cli *c, natsMsg *m, int64_t took_ns)
{
    struct mf_slice data = message_data(m);

    if (c->json) {
        json_t *doc = json_object();

        (void)json_object_set_new(doc, "headers", message_headers_json(m));
        data_bytes_to_json(doc, "data", data);
        (void)json_object_set_new(doc, "ms", json_real((double)took_ns / 1e6));
        request_print_line(c, doc);
        json_decref(doc);
        return;
    }
    if (cli_on(c, "raw")) {
        data_print_bytes(c, data);
        return;
    }
    if (cli_on(c, "headers"))
        message_print_headers(c, m, "");
    data_print_lines(c, data, "");
    if (data.len > 0 && data.ptr[data.len - 1] != '\n')
        (void)fputc('\n', c->term.out);
}

static void print_times(struct cli *c, struct times *t, int64_t requests)
{
    size_t rank = (t->n * 99 + 99) / 100; /* of the 99th percentile, from 1 on */
    double min, avg = 0, p99;

    if (t->n == 0)
        return;
    qsort(t->ns, t->n, sizeof *t->ns, compare_times);
    for (size_t i = 0; i < t->n; i++)
        avg += (double)t->ns[i] / 1e6 / (double)t->n;
    min = (double)t->ns[0] / 1e6;
    p99 = (double)t->ns[rank - 1] / 1e6;
    if (c->json && requests > 1) {
        json_t *doc =
            json_pack("{s:I, s:I, s:f, s:f, s:f}", "requests", (json_int_t)requests, "replies",
                      (json_int_t)t->n, "min_ms", min, "avg_ms", avg, "p99_ms", p99);

        request_print_line(c, doc);
        json_decref(doc);
    } else if (!c->json && (requests > 1 || c->term.tty)) {
        (void)fprintf(
            stderr, "%zu repl%s to %lld request%s: min %.3f ms, avg %.3f ms, p99 %.3f ms\n", t->n,
            t->n == 1 ? "y" : "ies", (long long)requests, requests == 1 ? "" : "s", min, avg, p99);
    }
}

/* Looks for an error that the server sent on its own.  0: there is none. */
static int check_refusal(struct cli *c)
{
    char text[512];

    if (connect_is_closed(c))
        return cli_fail(c, CLI_USAGE, "the server closed the connection");
    if (connect_take_error(c, text, sizeof text) && strcasestr(text, "permissions violation"))
        return cli_fail(c, CLI_DENIED, "not permitted: %s", text);
    return cli_interrupted() ? cli_fail(c, CLI_USAGE, "interrupted") : 0;
}

/* Waits for the replies to one request.  A second and later one may stay away. */
static int receive(struct cli *c, natsSubscription *sub, int64_t began, struct times *t)
{
    int64_t want = cli_number(c, "replies", 1), end = began + connect_timeout_ms(c) * CLOCK_MS;
    int64_t got = 0;
    int rc = 0;

    while (rc == 0 && (want == 0 || got < want) && !data_is_output_lost(c)) {
        natsMsg *m = NULL;
        natsStatus s = natsSubscription_NextMsg(&m, sub, 10);
        int64_t now = clock_mono_ns();

        if (s == NATS_NO_RESPONDERS) {
            rc = cli_fail(c, CLI_USAGE, "nobody answers requests to %s", cli_arg(c, 0));
        } else if (s == NATS_OK) {
            if (mf_array_reserve(&t->ns, &t->cap, t->n + 1, sizeof *t->ns) == 0)
                t->ns[t->n++] = now - began;
            print_reply(c, m, now - began);
            (void)fflush(c->term.out);
            got++;
            rc = check_refusal(c);
        } else if (s != NATS_TIMEOUT) {
            rc = connect_fail(c, s, "request to %s", cli_arg(c, 0));
        } else if ((rc = check_refusal(c)) == 0 && now > end && got == 0) {
            rc = cli_fail(c, CLI_USAGE, "no reply from %s in time (--timeout)", cli_arg(c, 0));
        }
        natsMsg_Destroy(m);
        if (got > 0 && now > end)
            break;
    }
    return rc;
}

static int send_one(struct cli *c, struct mf_slice payload, uint64_t number, struct times *t)
{
    char inbox[CONNECT_INBOX];
    natsSubscription *sub = NULL;
    natsMsg *m = NULL;
    natsStatus s;
    int rc;

    connect_make_inbox(c, inbox);
    rc = data_make_msg(c, inbox, payload, number, &m);
    if (rc == 0) {
        int64_t began;

        s = natsConnection_SubscribeSync(&sub, connect_get(c), inbox);
        began = clock_mono_ns();
        if (s == NATS_OK)
            s = natsConnection_PublishMsg(connect_get(c), m);
        rc = s == NATS_OK ? receive(c, sub, began, t)
                          : connect_fail(c, s, "request to %s", cli_arg(c, 0));
    }
    natsSubscription_Destroy(sub);
    natsMsg_Destroy(m);
    return rc;
}

int req_run(struct cli *c)
{
    struct mf_buf payload = MF_BUF_INIT;
    int64_t count = cli_number(c, "count", 1);
    struct times t = {NULL, 0, 0};
    int rc = data_check_msg(c);

    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = data_read_payload(c, cli_arg(c, 1), &payload, NULL);
    for (int64_t i = 0; rc == 0 && i < count && !data_is_output_lost(c); i++)
        rc = send_one(c, mf_buf_slice(&payload), (uint64_t)i + 1, &t);
    print_times(c, &t, count);
    free(t.ns);
    mf_buf_fini(&payload);
    return rc;
}
