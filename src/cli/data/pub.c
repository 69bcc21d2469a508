/* pub.c: `mayfly pub`: publishes messages, with or without waiting for the publish ack. */
#include "cli/data/data_impl.h"

#include "base/clock.h"
#include "cli/human.h"

#define SLICE_MS 50 /* between two looks at Ctrl-C */

const struct cli_flag pub_flags[] = {
    {"header", 'H', CLI_TEXTS, "K:V", "a header; may be given several times"},
    {"ttl", 0, CLI_TEXT, "TIME",
     "lifetime of the message: 90s, 1h30m, 7d, never (header Nats-TTL); means -J too"},
    {"count", 0, CLI_NUMBER, "N", "publish it N times (1)"},
    {"sleep", 0, CLI_DURATION, "TIME", "wait between two messages"},
    {"reply", 0, CLI_TEXT, "SUBJECT", "where a receiver sends an answer"},
    {"file", 'f', CLI_TEXT, "FILE", "read the payload from a file"},
    {"jetstream", 'J', CLI_SWITCH, NULL, "wait for the publish ack of the stream, and print it"},
    {"no-templates", 0, CLI_SWITCH, NULL, "send {{Count}} and its like as they are"},
    {0},
};

/* Only a stream knows a lifetime: without its publish ack a message with a TTL that no stream
 * takes, or that is refused, would be lost without a word. */
static bool is_stored(const struct cli *c)
{
    return cli_on(c, "jetstream") || cli_on(c, "ttl");
}

static void print_ack(struct cli *c, const json_t *ack)
{
    char left[HUMAN_TEXT], when[HUMAN_TEXT];
    int64_t expires = request_time(ack, "expires");
    struct mf_buf line = MF_BUF_INIT;

    mf_buf_printf(&line, "%s seq %lld", request_text(ack, "stream"),
                  (long long)request_int(ack, "seq"));
    if (request_bool(ack, "duplicate"))
        mf_buf_puts(&line, " (duplicate: not stored again)");
    if (expires != 0)
        mf_buf_printf(&line, ", expires in %s (%s)", human_duration(left, expires - data_now()),
                      human_time(when, expires));
    else if (*request_text(ack, "ttl") != '\0')
        mf_buf_printf(&line, ", TTL %s", request_text(ack, "ttl"));
    if (*request_text(ack, "decided_by") != '\0')
        mf_buf_printf(&line, ", decided by %s", request_text(ack, "decided_by"));
    data_say(c, "%s", mf_buf_cstr(&line));
    mf_buf_fini(&line);
}

static int publish_stored(struct cli *c, natsMsg *m)
{
    json_t *ack = NULL;
    int rc = data_publish(c, m, natsMsg_GetSubject(m), &ack, NULL);

    if (rc != 0)
        return rc;
    if (c->json)
        request_print_line(c, ack);
    else
        print_ack(c, ack);
    json_decref(ack);
    return 0;
}

static int publish_one(struct cli *c, struct mf_slice payload, uint64_t number)
{
    natsMsg *m = NULL;
    int rc = data_make_msg(c, cli_text(c, "reply"), payload, number, &m);

    if (rc == 0 && is_stored(c)) {
        rc = publish_stored(c, m);
    } else if (rc == 0) {
        natsStatus s = natsConnection_PublishMsg(connect_get(c), m);

        if (s != NATS_OK)
            rc = connect_fail(c, s, "publish to %s", natsMsg_GetSubject(m));
    }
    natsMsg_Destroy(m);
    return rc;
}

static void sleep_between(int64_t ns)
{
    for (int64_t end = clock_mono_ns() + ns; !cli_interrupted();) {
        int64_t left = (end - clock_mono_ns() + CLOCK_MS - 1) / CLOCK_MS;

        if (left <= 0)
            return;
        nats_Sleep(left > SLICE_MS ? SLICE_MS : left);
    }
}

static void print_published(struct cli *c, int64_t n, size_t size)
{
    char count[HUMAN_TEXT], bytes[HUMAN_TEXT];

    if (c->json) {
        json_t *doc = json_pack("{s:o, s:I, s:I}", "subject", data_json_text(cli_arg(c, 0)),
                                "published", (json_int_t)n, "bytes", (json_int_t)size);

        request_print(c, doc);
        json_decref(doc);
    } else if (c->term.tty) {
        data_say(c, "published %s message%s of %s to %s", human_count(count, (uint64_t)n),
                 n == 1 ? "" : "s", human_bytes(bytes, size), cli_arg(c, 0));
    }
}

static int publish_all(struct cli *c, struct mf_slice payload)
{
    int64_t count = cli_number(c, "count", 1), sleep_ns = cli_duration(c, "sleep", 0), n = 0;
    int rc = 0;

    while (rc == 0 && n < count && !cli_interrupted()) {
        if (n > 0 && sleep_ns > 0)
            sleep_between(sleep_ns);
        if (!cli_interrupted() && (rc = publish_one(c, payload, (uint64_t)n + 1)) == 0)
            n++;
    }
    if (rc == 0)
        rc = data_flush(c);
    if (rc == 0 && !is_stored(c))
        print_published(c, n, payload.len);
    if (rc == 0 && n < count)
        rc = cli_fail(c, CLI_USAGE, "interrupted: %lld of %lld messages are published",
                      (long long)n, (long long)count);
    return rc;
}

int pub_run(struct cli *c)
{
    struct mf_buf payload = MF_BUF_INIT;
    const char *reply = cli_text(c, "reply");
    int rc = reply == NULL ? 0 : data_check_subject(c, reply, false);

    if (rc == 0 && reply != NULL && is_stored(c))
        rc = cli_usage(c, "--%s uses the reply subject itself: leave --reply out",
                       cli_on(c, "jetstream") ? "jetstream" : "ttl");
    if (rc == 0)
        rc = data_check_msg(c);
    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = data_read_payload(c, cli_arg(c, 1), &payload, NULL);
    if (rc == 0)
        rc = publish_all(c, mf_buf_slice(&payload));
    mf_buf_fini(&payload);
    return rc;
}
