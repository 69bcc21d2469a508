/* sub.c: `mayfly sub`: shows messages as they come, until Ctrl-C or --count. */
#include "cli/data/data_impl.h"

#include "base/clock.h"
#include "cli/data/message.h"
#include "cli/human.h"

#define SLICE_MS 50 /* between two looks at Ctrl-C, the connection and --wait */

const struct cli_flag sub_flags[] = {
    {"queue", 0, CLI_TEXT, "NAME", "join a queue group: each message goes to one of its members"},
    {"count", 0, CLI_NUMBER, "N", "end after N messages"},
    {"wait", 0, CLI_DURATION, "TIME", "end when no message comes for TIME"},
    {"headers", 0, CLI_SWITCH, NULL, "show headers too"},
    {"raw", 'r', CLI_SWITCH, NULL, "payloads only, each with a line end"},
    {"timestamps", 't', CLI_SWITCH, NULL, "show when a message came"},
    {0},
};

static void print_json(struct cli *c, natsMsg *m, uint64_t n)
{
    char when[CLOCK_TEXT];
    struct mf_buf subject = MF_BUF_INIT;
    json_t *doc = json_object();
    const char *reply = natsMsg_GetReply(m);

    term_safe(&subject, mf_str(natsMsg_GetSubject(m)));
    (void)json_object_set_new(doc, "subject", json_string(mf_buf_cstr(&subject)));
    if (reply != NULL && *reply != '\0')
        (void)json_object_set_new(doc, "reply", data_json_text(reply));
    (void)json_object_set_new(doc, "number", json_integer((json_int_t)n));
    (void)json_object_set_new(doc, "received", json_string(clock_rfc3339(when, data_now())));
    (void)json_object_set_new(doc, "headers", message_headers_json(m));
    data_bytes_to_json(doc, "data", message_data(m));
    request_print_line(c, doc);
    json_decref(doc);
    mf_buf_fini(&subject);
}

static void print_text(struct cli *c, natsMsg *m, uint64_t n)
{
    char when[HUMAN_TEXT], size[HUMAN_TEXT];
    struct mf_slice data = message_data(m);
    const char *reply = natsMsg_GetReply(m);
    FILE *out = c->term.out;

    (void)fprintf(out, "%s#%llu ", term_on(&c->term, TERM_BOLD), (unsigned long long)n);
    if (cli_on(c, "timestamps"))
        (void)fprintf(out, "%s ", human_clock(when, data_now()));
    data_print_text(c, natsMsg_GetSubject(m));
    (void)fprintf(out, "%s  %s", term_off(&c->term), human_bytes(size, data.len));
    if (reply != NULL && *reply != '\0') {
        (void)fputs("  reply ", out);
        data_print_text(c, reply);
    }
    (void)fputc('\n', out);
    if (cli_on(c, "headers"))
        message_print_headers(c, m, "  ");
    data_print_lines(c, data, "");
    if (data.len > 0 && data.ptr[data.len - 1] != '\n')
        (void)fputc('\n', out);
}

static void print_message(struct cli *c, natsMsg *m, uint64_t n)
{
    if (c->json) {
        print_json(c, m, n);
    } else if (cli_on(c, "raw")) {
        data_print_bytes(c, message_data(m));
        if (!c->term.tty)
            (void)fputc('\n', c->term.out);
    } else {
        print_text(c, m, n);
    }
    (void)fflush(c->term.out);
}

static int receive(struct cli *c, natsSubscription *sub)
{
    uint64_t most = (uint64_t)cli_number(c, "count", 0), n = 0;
    int64_t dropped = 0, wait = cli_duration(c, "wait", INT64_MAX), heard = clock_mono_ns();
    char text[512];
    int rc = 0;

    while (rc == 0 && !cli_interrupted() && (most == 0 || n < most) && !data_is_output_lost(c) &&
           clock_mono_ns() - heard < wait) {
        natsMsg *m = NULL;
        natsStatus s = natsSubscription_NextMsg(&m, sub, SLICE_MS);

        if (s == NATS_OK) {
            print_message(c, m, ++n);
            heard = clock_mono_ns();
        } else if (connect_is_closed(c))
            rc = cli_fail(c, CLI_USAGE, "the server closed the connection");
        else if (s == NATS_TIMEOUT && connect_take_error(c, text, sizeof text) &&
                 strcasestr(text, "permissions violation") != NULL)
            rc = cli_fail(c, CLI_DENIED, "not permitted: %s", text);
        else if (s != NATS_TIMEOUT && s != NATS_SLOW_CONSUMER)
            rc = connect_fail(c, s, "subscription to %s", cli_arg(c, 0));
        natsMsg_Destroy(m);
    }
    if (natsSubscription_GetDropped(sub, &dropped) == NATS_OK && dropped > 0)
        (void)cli_fail(c, 0, "%lld messages were dropped: they came faster than they were shown",
                       (long long)dropped);
    return rc;
}

static void print_listening(const char *subject)
{
    struct mf_buf safe = MF_BUF_INIT;

    term_safe(&safe, mf_str(subject));
    (void)fprintf(stderr, "listening on %s; Ctrl-C ends\n", mf_buf_cstr(&safe));
    mf_buf_fini(&safe);
}

int sub_run(struct cli *c)
{
    const char *subject = cli_arg(c, 0), *queue = cli_text(c, "queue");
    natsSubscription *sub = NULL;
    natsStatus s;
    int rc = data_check_subject(c, subject, true);

    if (rc == 0 && queue != NULL && !data_is_subject(queue, false))
        rc = cli_usage(c, "\"%s\" is no name of a queue group", queue);
    if (rc == 0)
        rc = connect_open(c);
    if (rc != 0)
        return rc;
    s = queue == NULL ? natsConnection_SubscribeSync(&sub, connect_get(c), subject)
                      : natsConnection_QueueSubscribeSync(&sub, connect_get(c), subject, queue);
    if (s != NATS_OK)
        return connect_fail(c, s, "subscription to %s", subject);
    rc = data_flush(c);
    if (rc == 0 && c->term.tty && !c->json && !cli_on(c, "raw"))
        print_listening(subject);
    if (rc == 0)
        rc = receive(c, sub);
    natsSubscription_Destroy(sub);
    return rc;
}
