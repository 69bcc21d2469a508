/* message.c: reads messages of streams, and shows them. */
#include "cli/data/message.h"

#include "base/clock.h"
#include "cli/human.h"
#include "codec/base64.h"

#include <stdlib.h>

#define NO_MESSAGE 10037

void message_fini(struct message *m)
{
    natsMsg_Destroy(m->msg);
    m->msg = NULL;
}

struct mf_slice message_data(natsMsg *msg)
{
    return mf_slice(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg));
}

const char *message_header(const struct message *m, const char *name)
{
    const char *value = NULL;

    return natsMsgHeader_Get(m->msg, name, &value) == NATS_OK ? value : NULL;
}

const char *message_end(const struct message *m)
{
    const char *reason = message_header(m, "Nats-Marker-Reason");
    const char *operation = message_header(m, "KV-Operation");

    if (reason != NULL && strcmp(reason, "MaxAge") == 0)
        return "expired";
    if (reason != NULL)
        return strcmp(reason, "Purge") == 0 ? "purged" : "removed";
    if (operation != NULL && strcmp(operation, "DEL") == 0)
        return "deleted";
    return operation != NULL && strcmp(operation, "PURGE") == 0 ? "purged" : NULL;
}

/* --- headers --------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the headers, sorted; free() ends them.  NULL: none. */
static const char **sort_names(natsMsg *msg, int *n)
{
    const char **names = NULL;

    *n = 0;
    if (natsMsgHeader_Keys(msg, &names, n) != NATS_OK)
        return NULL;
    qsort(names, (size_t)*n, sizeof *names, compare_names);
    return names;
}

json_t *message_headers_json(natsMsg *msg)
{
    json_t *doc = json_object();
    int n;
    const char **names = sort_names(msg, &n);

    for (int i = 0; i < n; i++) {
        const char **values = NULL;
        int count = 0;
        json_t *list = json_array();

        (void)natsMsgHeader_Values(msg, names[i], &values, &count);
        for (int v = 0; v < count; v++) {
            json_t *text = json_string(values[v]);

            if (text == NULL) { /* no UTF-8 */
                struct mf_buf b = MF_BUF_INIT;

                term_safe(&b, mf_str(values[v]));
                text = json_string(mf_buf_cstr(&b));
                mf_buf_fini(&b);
            }
            (void)json_array_append_new(list, text);
        }
        free((void *)values);
        if (json_object_set_new(doc, names[i], list) != 0)
            continue; /* a name that is no UTF-8 has no place in a document */
    }
    free((void *)names);
    return doc;
}

void message_print_headers(struct cli *c, natsMsg *msg, const char *indent)
{
    int n;
    const char **names = sort_names(msg, &n);

    for (int i = 0; i < n; i++) {
        const char **values = NULL;
        int count = 0;

        (void)natsMsgHeader_Values(msg, names[i], &values, &count);
        for (int v = 0; v < count; v++) {
            (void)fputs(indent, c->term.out);
            data_print_text(c, names[i]);
            (void)fputs(": ", c->term.out);
            data_print_text(c, values[v]);
            (void)fputc('\n', c->term.out);
        }
        free((void *)values);
    }
    free((void *)names);
}

/* Adds the lines of a block that begins with NATS/1.0. */
static int add_block(natsMsg *msg, struct mf_slice block)
{
    char *text = mf_slice_dup(block), *save = NULL, *line;
    natsStatus s = text == NULL ? NATS_NO_MEMORY : NATS_OK;

    line = text == NULL ? NULL : strtok_r(text, "\r\n", &save);
    while (s == NATS_OK && line != NULL && (line = strtok_r(NULL, "\r\n", &save)) != NULL) {
        char *colon = strchr(line, ':');

        if (colon == NULL)
            continue;
        *colon = '\0';
        s = natsMsgHeader_Add(msg, line, colon + 1 + strspn(colon + 1, " \t"));
    }
    free(text);
    return s == NATS_OK ? 0 : MF_NOMEM;
}

/* --- reading --------------------------------------------------------------------------------- */

static int decode(const json_t *doc, const char *key, struct mf_buf *out)
{
    return base64_read(out, mf_str(request_text(doc, key)), BASE64_STANDARD);
}

int message_get(struct cli *c, const char *stream, json_t *body, const char *what, bool quiet,
                struct message *m)
{
    struct mf_buf data = MF_BUF_INIT, head = MF_BUF_INIT;
    struct request_error err = {.code = 0};
    const json_t *found;
    json_t *doc = NULL;
    int rc = request_api(c, body, what, &doc, &err, "STREAM.MSG.GET.%s", stream);

    memset(m, 0, sizeof *m);
    json_decref(body);
    if (rc == 0 && err.code != 0)
        rc = quiet && err.err_code == NO_MESSAGE ? 0 : request_refused(c, &err, what);
    if (rc != 0 || err.code != 0) {
        json_decref(doc);
        return rc;
    }
    found = json_object_get(doc, "message");
    if (decode(found, "data", &data) != 0 || decode(found, "hdrs", &head) != 0)
        rc = cli_fail(c, CLI_USAGE, "the server's answer is no message");
    if (rc == 0)
        rc = data_new_msg(c, &m->msg, request_text(found, "subject"), NULL, mf_buf_slice(&data));
    if (rc == 0 && head.len > 0 && add_block(m->msg, mf_buf_slice(&head)) != 0)
        rc = cli_fail(c, CLI_USAGE, "out of memory");
    m->seq = (uint64_t)request_int(found, "seq");
    m->time_ns = request_time(found, "time");
    mf_buf_fini(&data);
    mf_buf_fini(&head);
    json_decref(doc);
    if (rc != 0)
        message_fini(m);
    return rc;
}

static bool is_direct_header(const char *name)
{
    static const char *const own[] = {"Nats-Stream",       "Nats-Subject",     "Nats-Sequence",
                                      "Nats-Time-Stamp",   "Nats-Num-Pending", "Nats-Last-Sequence",
                                      "Nats-UpTo-Sequence"};

    for (size_t i = 0; i < MF_COUNT(own); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return false;
}

/* The stored message from the answer of a DIRECT.GET, whose headers hold where it was. */
static int take_direct(struct cli *c, natsMsg *reply, struct message *m)
{
    struct message from = {.msg = reply};
    const char *subject = message_header(&from, "Nats-Subject");
    const char *seq = message_header(&from, "Nats-Sequence");
    const char *time = message_header(&from, "Nats-Time-Stamp");
    int n, rc;
    const char **names;

    if (subject == NULL || seq == NULL || time == NULL || mf_parse_u64(mf_str(seq), &m->seq) != 0 ||
        human_parse_time(time, &m->time_ns) != 0)
        return cli_fail(c, CLI_USAGE, "the server's answer is no message");
    rc = data_new_msg(c, &m->msg, subject, NULL, message_data(reply));
    names = sort_names(reply, &n);
    for (int i = 0; rc == 0 && i < n; i++) {
        const char **values = NULL;
        int count = 0;

        if (is_direct_header(names[i]))
            continue;
        (void)natsMsgHeader_Values(reply, names[i], &values, &count);
        for (int v = 0; rc == 0 && v < count; v++)
            if (natsMsgHeader_Add(m->msg, names[i], values[v]) != NATS_OK)
                rc = cli_fail(c, CLI_USAGE, "out of memory");
        free((void *)values);
    }
    free((void *)names);
    return rc;
}

int message_refuse(struct cli *c, natsMsg *m, const char *status)
{
    const char *text = NULL;

    (void)natsMsgHeader_Get(m, "Description", &text);
    return cli_fail(c, CLI_REFUSED, "refused: %s %s", status, text == NULL ? "" : text);
}

int message_get_last(struct cli *c, const char *stream, const char *subject, const char *what,
                     bool quiet, struct message *m)
{
    natsMsg *ask = NULL, *reply = NULL;
    const char *status = NULL;
    struct mf_buf to = MF_BUF_INIT;
    int rc;

    memset(m, 0, sizeof *m);
    mf_buf_printf(&to, "%s.DIRECT.GET.%s.%s", connect_api_prefix(c), stream, subject);
    rc = data_new_msg(c, &ask, mf_buf_cstr(&to), NULL, MF_SLICE_NONE);
    mf_buf_fini(&to);
    if (rc == 0)
        rc = request_send(c, ask, &reply);
    natsMsg_Destroy(ask);
    if (rc != 0)
        return rc;
    if (natsMsg_IsNoResponders(reply)) {
        rc = message_get(c, stream, json_pack("{s:s}", "last_by_subj", subject), what, quiet, m);
    } else if (natsMsgHeader_Get(reply, "Nats-Sequence", &status) != NATS_OK &&
               natsMsgHeader_Get(reply, "Status", &status) == NATS_OK) {
        struct request_error absent = {404, NO_MESSAGE, "no message found"};

        if (strcmp(status, "404") != 0)
            rc = message_refuse(c, reply, status);
        else
            rc = quiet ? 0 : request_refused(c, &absent, what);
    } else {
        rc = take_direct(c, reply, m);
    }
    natsMsg_Destroy(reply);
    if (rc != 0)
        message_fini(m);
    return rc;
}

/* $JS.ACK.<stream>.<consumer>.<delivered>.<seq>.<place>.<time>.<pending>, since 2.8 with a domain
 * and an account's hash before the stream and a token behind it all. */
int message_from_delivery(natsMsg *msg, struct message *m)
{
    const char *reply = natsMsg_GetReply(msg);
    uint64_t number[5];
    size_t dots = 0, skip;

    memset(m, 0, sizeof *m);
    if (reply == NULL || strncmp(reply, "$JS.ACK.", 8) != 0)
        return MF_INVAL;
    for (const char *p = reply; *p != '\0'; p++)
        dots += *p == '.';
    skip = dots == 8 ? 4 : 6;
    for (; skip > 0 && reply != NULL; skip--)
        reply = strchr(reply, '.') == NULL ? NULL : strchr(reply, '.') + 1;
    for (size_t i = 0; i < 5; i++) {
        size_t n = reply == NULL ? 0 : strcspn(reply, ".");

        if (n == 0 || mf_parse_u64(mf_slice(reply, n), &number[i]) != 0)
            return MF_INVAL;
        reply = reply[n] == '.' ? reply + n + 1 : NULL;
    }
    *m = (struct message){.msg = msg,
                          .delivered = number[0],
                          .seq = number[1],
                          .place = number[2],
                          .time_ns = (int64_t)number[3],
                          .pending = number[4]};
    return 0;
}

/* --- showing --------------------------------------------------------------------------------- */

json_t *message_to_json(const struct message *m)
{
    char when[CLOCK_TEXT];
    json_t *doc = json_object();
    struct mf_buf subject = MF_BUF_INIT;

    term_safe(&subject, mf_str(natsMsg_GetSubject(m->msg)));
    (void)json_object_set_new(doc, "subject", json_string(mf_buf_cstr(&subject)));
    (void)json_object_set_new(doc, "seq", json_integer((json_int_t)m->seq));
    (void)json_object_set_new(doc, "time", json_string(clock_rfc3339(when, m->time_ns)));
    (void)json_object_set_new(doc, "headers", message_headers_json(m->msg));
    data_bytes_to_json(doc, "data", message_data(m->msg));
    mf_buf_fini(&subject);
    return doc;
}

void message_print(struct cli *c, const struct message *m)
{
    char when[HUMAN_TEXT], size[HUMAN_TEXT];
    struct mf_slice data = message_data(m->msg);

    (void)fputs(term_on(&c->term, TERM_BOLD), c->term.out);
    data_print_text(c, natsMsg_GetSubject(m->msg));
    (void)fprintf(c->term.out, "%s   seq %llu   %s   %s\n", term_off(&c->term),
                  (unsigned long long)m->seq, human_time(when, m->time_ns),
                  human_bytes(size, data.len));
    message_print_headers(c, m->msg, "  ");
    data_print_lines(c, data, "");
    if (data.len > 0 && data.ptr[data.len - 1] != '\n')
        (void)fputc('\n', c->term.out);
}
