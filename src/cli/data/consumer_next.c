/* consumer_next.c: `mayfly consumer next`: pulls messages and acknowledges them. */
#include "cli/data/data_impl.h"

#include "base/clock.h"
#include "cli/data/message.h"

#include <stdlib.h>

const struct cli_flag consumer_next_flags[] = {
    {"count", 0, CLI_NUMBER, "N", "up to N messages (1)"},
    {"wait", 0, CLI_DURATION, "TIME", "how long to wait for them (5s)"},
    {"ack", 0, CLI_SWITCH, NULL, "acknowledge each message (default)"},
    {"no-ack", 0, CLI_SWITCH, NULL, "do not acknowledge: it is delivered again after ack-wait"},
    {"nak", 0, CLI_SWITCH, NULL, "ask for its delivery once more, at once"},
    {"raw", 'r', CLI_SWITCH, NULL, "payloads only, each with a line end"},
    {0},
};

static void print_delivery(struct cli *c, struct message *m)
{
    if (c->json) {
        json_t *doc = message_to_json(m);

        (void)json_object_set_new(doc, "delivered", json_integer((json_int_t)m->delivered));
        (void)json_object_set_new(doc, "pending", json_integer((json_int_t)m->pending));
        request_print_line(c, doc);
        json_decref(doc);
    } else if (cli_on(c, "raw")) {
        data_print_bytes(c, message_data(m->msg));
        if (!c->term.tty)
            (void)fputc('\n', c->term.out);
    } else {
        message_print(c, m);
    }
}

static int answer_delivery(struct cli *c, natsMsg *m)
{
    natsStatus s;

    /* Printed first: what was acknowledged has reached the user. */
    (void)fflush(c->term.out);
    if (cli_on(c, "no-ack") || data_is_output_lost(c))
        return 0;
    s = natsConnection_PublishString(connect_get(c), natsMsg_GetReply(m),
                                     cli_on(c, "nak") ? "-NAK" : "+ACK");
    return s == NATS_OK ? 0 : connect_fail(c, s, "consumer ack");
}

/* One thing that came: a delivery, or the end of the pull request.  *done ends the wait. */
static int take_delivery(struct cli *c, natsMsg *msg, int64_t *got, bool *done)
{
    struct message m;
    const char *status = NULL;
    int rc = 0;

    if (message_from_delivery(msg, &m) == 0) {
        print_delivery(c, &m);
        (*got)++;
        rc = answer_delivery(c, msg);
    } else if (natsMsgHeader_Get(msg, "Status", &status) == NATS_OK) {
        if (strcmp(status, "404") == 0 || strcmp(status, "408") == 0)
            *done = true;
        else if (strcmp(status, "100") != 0)
            rc = message_refuse(c, msg, status);
    }
    return rc;
}

static int receive(struct cli *c, natsSubscription *sub, int64_t want, int64_t wait_ns)
{
    int64_t end = clock_mono_ns() + wait_ns + CLOCK_S, got = 0; /* the server ends it */
    bool done = false;
    char text[512];
    int rc = 0;

    while (rc == 0 && got < want && !done && !cli_interrupted() && !data_is_output_lost(c)) {
        natsMsg *msg = NULL;
        natsStatus s = natsSubscription_NextMsg(&msg, sub, 50);

        if (s == NATS_OK)
            rc = take_delivery(c, msg, &got, &done);
        else if (s == NATS_NO_RESPONDERS)
            rc = cli_fail(c, CLI_NOT_FOUND,
                          "no consumer %s of %s that can be pulled: `mayfly consumer ls %s`",
                          cli_arg(c, 1), cli_arg(c, 0), cli_arg(c, 0));
        else if (s != NATS_TIMEOUT || connect_is_closed(c))
            rc = connect_fail(c, s, "messages of %s", cli_arg(c, 1));
        else if (connect_take_error(c, text, sizeof text) &&
                 strcasestr(text, "permissions violation") != NULL)
            rc = cli_fail(c, CLI_DENIED, "not permitted: %s", text);
        else
            done = clock_mono_ns() > end;
        natsMsg_Destroy(msg);
    }
    if (rc == 0)
        rc = data_flush(c);
    if (rc == 0 && got == 0)
        rc =
            cli_fail(c, CLI_NOT_FOUND, "no message for %s within the time (--wait)", cli_arg(c, 1));
    return rc;
}

static int pull(struct cli *c, const char *stream)
{
    int64_t want = cli_number(c, "count", 1), wait_ns = cli_duration(c, "wait", 5 * CLOCK_S);
    struct mf_buf to = MF_BUF_INIT, body = MF_BUF_INIT;
    char inbox[CONNECT_INBOX];
    natsSubscription *sub = NULL;
    natsStatus s;
    int rc;

    connect_make_inbox(c, inbox);
    mf_buf_printf(&to, "%s.CONSUMER.MSG.NEXT.%s.%s", connect_api_prefix(c), stream, cli_arg(c, 1));
    mf_buf_printf(&body, "{\"batch\":%lld", (long long)want);
    if (wait_ns > 0)
        mf_buf_printf(&body, ",\"expires\":%lld}", (long long)wait_ns);
    else
        mf_buf_puts(&body, ",\"no_wait\":true}");
    s = natsConnection_SubscribeSync(&sub, connect_get(c), inbox);
    if (s == NATS_OK)
        s = natsConnection_PublishRequestString(connect_get(c), mf_buf_cstr(&to), inbox,
                                                mf_buf_cstr(&body));
    rc = s == NATS_OK ? receive(c, sub, want, wait_ns) : connect_fail(c, s, "pull request");
    natsSubscription_Destroy(sub);
    mf_buf_fini(&to);
    mf_buf_fini(&body);
    return rc;
}

int consumer_next_run(struct cli *c)
{
    struct request_stream s;
    int rc = data_check_name(c, "consumer", cli_arg(c, 1));

    if (rc == 0 && cli_on(c, "ack") + cli_on(c, "no-ack") + cli_on(c, "nak") > 1)
        rc = cli_usage(c, "give one of --ack, --no-ack and --nak");
    if (rc == 0 && cli_number(c, "count", 1) == 0)
        rc = cli_usage(c, "--count is at least 1");
    if (rc == 0)
        rc = request_find_stream(c, cli_arg(c, 0), &s);
    return rc != 0 ? rc : pull(c, s.name);
}
