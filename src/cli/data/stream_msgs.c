/* stream_msgs.c: `mayfly stream purge`, `get` and `rm-msg`: messages of a stream. */
#include "cli/data/data_impl.h"

#include "cli/data/message.h"
#include "cli/human.h"

#define SEQUENCE_NOT_FOUND 10043
#define DELETE_FAILED      10057

const struct cli_flag stream_purge_flags[] = {
    {"subject", 0, CLI_TEXT, "SUBJECT", "only messages of this subject; of a bucket: of this key"},
    {"keep", 0, CLI_NUMBER, "N", "keep the newest N"},
    {"seq", 0, CLI_NUMBER, "SEQ", "purge up to SEQ, which stays"},
    {"force", 'f', CLI_SWITCH, NULL, "do not ask"},
    {0},
};
const struct cli_flag stream_get_flags[] = {
    {"last", 0, CLI_TEXT, "SUBJECT", "the last message of a subject"},
    {"next", 0, CLI_TEXT, "SUBJECT", "the first message of a subject, from SEQ on"},
    {"raw", 'r', CLI_SWITCH, NULL, "the payload only"},
    {0},
};
const struct cli_flag stream_rm_msg_flags[] = {
    {"no-erase", 0, CLI_SWITCH, NULL, "do not overwrite its bytes on disk (faster)"},
    {0},
};

static json_t *purge_body(struct cli *c, const char *filter)
{
    json_t *body = json_object();

    if (*filter != '\0')
        (void)json_object_set_new(body, "filter", json_string(filter));
    if (cli_number(c, "keep", -1) >= 0)
        (void)json_object_set_new(body, "keep", json_integer(cli_number(c, "keep", 0)));
    if (cli_number(c, "seq", -1) >= 0)
        (void)json_object_set_new(body, "seq", json_integer(cli_number(c, "seq", 0)));
    return body;
}

int stream_purge_run(struct cli *c)
{
    const char *subject = cli_text(c, "subject");
    struct request_stream s;
    json_t *doc = NULL, *body;
    struct mf_buf filter = MF_BUF_INIT;
    char n[HUMAN_TEXT];
    int rc = 0;

    if (subject != NULL)
        rc = data_check_subject(c, subject, true);
    if (rc == 0 && cli_number(c, "keep", -1) >= 0 && cli_number(c, "seq", -1) >= 0)
        rc = cli_usage(c, "give --keep or --seq, not both");
    if (rc == 0)
        rc = request_find_stream(c, cli_arg(c, 0), &s);
    if (rc == 0 && subject != NULL)
        request_subject(&s, subject, &filter);
    if (rc == 0)
        rc = data_confirm(c, "Purge %s%s%s?", s.name, filter.len == 0 ? "" : ", subject ",
                          mf_buf_cstr(&filter));
    if (rc == 0) {
        body = purge_body(c, mf_buf_cstr(&filter));
        rc = request_api(c, body, cli_arg(c, 0), &doc, NULL, "STREAM.PURGE.%s", s.name);
        json_decref(body);
    }
    mf_buf_fini(&filter);
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "%s: %s message%s purged", s.name,
                 human_count(n, (uint64_t)request_int(doc, "purged")),
                 request_int(doc, "purged") == 1 ? "" : "s");
    json_decref(doc);
    return 0;
}

/* The last message of a subject, the first from a sequence on, or (subject "") that of a sequence.
 * NULL: printed. */
static json_t *pack_get(struct cli *c, const char *subject, bool last, uint64_t seq)
{
    json_int_t from = (json_int_t)(seq == 0 ? 1 : seq);
    json_t *body = last ? json_pack("{s:s}", "last_by_subj", subject)
                   : *subject != '\0'
                       ? json_pack("{s:I, s:s}", "seq", from, "next_by_subj", subject)
                       : json_pack("{s:I}", "seq", from);

    if (body == NULL)
        (void)cli_usage(c, "\"%s\" is no UTF-8", subject);
    return body;
}

/* The request of SEQ, --last or --next.  NULL: the command line is wrong, printed. */
static json_t *get_body(struct cli *c, const struct request_stream *s, struct mf_buf *what)
{
    const char *last = cli_text(c, "last"), *next = cli_text(c, "next"), *arg = cli_arg(c, 1);
    struct mf_buf subject = MF_BUF_INIT;
    json_t *body = NULL;
    uint64_t seq = 0;
    int rc = 0;

    if (arg != NULL && (mf_parse_u64(mf_str(arg), &seq) != 0 || seq == 0)) {
        (void)cli_usage(c, "\"%s\" is no sequence: a whole number from 1 on", arg);
        return NULL;
    }
    if ((last != NULL && (next != NULL || arg != NULL)) ||
        (last == NULL && next == NULL && arg == NULL)) {
        (void)cli_usage(c, "give a sequence, --last SUBJECT or --next SUBJECT [SEQ]");
        return NULL;
    }
    if (last != NULL || next != NULL) {
        request_subject(s, last != NULL ? last : next, &subject);
        rc = data_check_subject(c, mf_buf_cstr(&subject), true);
        mf_buf_printf(what, "%s %s", s->name, mf_buf_cstr(&subject));
    } else
        mf_buf_printf(what, "%s seq %s", s->name, arg);
    if (rc == 0)
        body = pack_get(c, mf_buf_cstr(&subject), last != NULL, seq);
    mf_buf_fini(&subject);
    return body;
}

int stream_get_run(struct cli *c)
{
    struct request_stream s;
    struct message m;
    struct mf_buf what = MF_BUF_INIT;
    json_t *body;
    int rc = request_find_stream(c, cli_arg(c, 0), &s);

    if (rc != 0)
        return rc;
    body = get_body(c, &s, &what);
    rc = body == NULL ? CLI_USAGE : message_get(c, s.name, body, mf_buf_cstr(&what), false, &m);
    mf_buf_fini(&what);
    if (rc != 0)
        return rc;
    if (c->json) {
        json_t *doc = message_to_json(&m);

        request_print(c, doc);
        json_decref(doc);
    } else if (cli_on(c, "raw")) {
        data_print_bytes(c, message_data(m.msg));
    } else {
        message_print(c, &m);
    }
    message_fini(&m);
    return 0;
}

/* A sequence below the last has a code of its own; others share one code, and a text says it. */
static bool is_absent(const struct request_error *err)
{
    return err->err_code == SEQUENCE_NOT_FOUND ||
           (err->err_code == DELETE_FAILED &&
            (strstr(err->text, "EOF") != NULL || strstr(err->text, "not found") != NULL ||
             strstr(err->text, "no message found") != NULL));
}

int stream_rm_msg_run(struct cli *c)
{
    struct request_error err = {.code = 0};
    struct request_stream s;
    json_t *doc = NULL, *body;
    uint64_t seq;
    int rc;

    if (mf_parse_u64(mf_str(cli_arg(c, 1)), &seq) != 0 || seq == 0)
        return cli_usage(c, "\"%s\" is no sequence: a whole number from 1 on", cli_arg(c, 1));
    rc = request_find_stream(c, cli_arg(c, 0), &s);
    if (rc != 0)
        return rc;
    body = json_pack("{s:I, s:b}", "seq", (json_int_t)seq, "no_erase", cli_on(c, "no-erase"));
    rc = request_api(c, body, cli_arg(c, 0), &doc, &err, "STREAM.MSG.DELETE.%s", s.name);
    json_decref(body);
    if (rc == 0 && is_absent(&err))
        rc = cli_fail(c, CLI_NOT_FOUND, "no message found: %s seq %s", s.name, cli_arg(c, 1));
    else if (rc == 0 && err.code != 0)
        rc = request_refused(c, &err, cli_arg(c, 0));
    if (rc != 0) {
        json_decref(doc);
        return rc;
    }
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "%s seq %llu is removed", s.name, (unsigned long long)seq);
    json_decref(doc);
    return 0;
}
