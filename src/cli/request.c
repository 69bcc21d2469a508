/* request.c: requests and their answers.
 *
 * nats.c's own request waits for its whole timeout if the server refuses the publish.  So requests
 * use one subscription and look for such an error every few milliseconds. */
#include "cli/request.h"

#include "base/clock.h"

#include "cli/human.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICE_MS   10    /* between two looks at errors and Ctrl-C */
#define NO_MESSAGE 10037 /* the JetStream API's err_code */

/* --- sending ---------------------------------------------------------------------------------- */

/* The permission that covers a subject: all keys of a request of the TTL API, else the subject. */
static const char *name_permission(char *dst, size_t size, const char *subject)
{
    const char *op = strncmp(subject, "$MAYFLY.", 8) == 0 ? strstr(subject, ".TTL.") : NULL;
    const char *end = op == NULL ? NULL : strchr(op + 5, '.');

    if (end == NULL)
        return "it";
    (void)snprintf(dst, size, "%.*s.>", (int)(end - subject), subject);
    return dst;
}

/* The server's text is: Permissions Violation for Publish to "subject". */
static int refuse_permission(struct cli *c, const char *text, const char *subject)
{
    if (strcasestr(text, "permissions violation for publish") != NULL) {
        char wanted[300];

        return cli_fail(c, CLI_DENIED,
                        "not permitted: publish to \"%s\" (ask for publish permission on %s)",
                        subject, name_permission(wanted, sizeof wanted, subject));
    }
    if (strcasestr(text, "permissions violation") != NULL)
        return cli_fail(c, CLI_DENIED, "not permitted: %s", text);
    return 0;
}

/* nats.c turns the status 503 into an error and drops the message; callers look for the message. */
static int make_no_responders(struct cli *c, natsMsg **reply)
{
    natsStatus s = natsMsg_Create(reply, "_", NULL, NULL, 0);

    if (s == NATS_OK)
        s = natsMsgHeader_Set(*reply, "Status", "503");
    return s == NATS_OK ? 0 : connect_fail(c, s, "read an answer");
}

int request_wait(struct cli *c, natsSubscription *sub, const char *what, natsMsg **reply)
{
    int64_t end = clock_mono_ns() + connect_timeout_ms(c) * CLOCK_MS;
    char error[512];
    natsStatus s;
    int rc;

    for (;;) {
        s = natsSubscription_NextMsg(reply, sub, SLICE_MS);
        if (s == NATS_OK)
            return 0;
        if (s == NATS_NO_RESPONDERS)
            return make_no_responders(c, reply);
        if (s != NATS_TIMEOUT)
            return connect_fail(c, s, "request to %s", what);
        if (connect_take_error(c, error, sizeof error) &&
            (rc = refuse_permission(c, error, what)) != 0)
            return rc;
        if (cli_interrupted())
            return cli_fail(c, CLI_USAGE, "interrupted");
        if (connect_is_closed(c))
            return cli_fail(c, CLI_USAGE, "the server closed the connection");
        if (clock_mono_ns() > end)
            return cli_fail(c, CLI_USAGE, "no answer to %s in time (--timeout)", what);
    }
}

static natsStatus copy_header(natsMsg *to, natsMsg *from, const char *key)
{
    const char **values = NULL;
    int n = 0;
    natsStatus s = natsMsgHeader_Values(from, key, &values, &n);

    for (int i = 0; s == NATS_OK && i < n; i++)
        s = natsMsgHeader_Add(to, key, values[i]);
    free(values);
    return s;
}

/* Publishes m with a reply subject, which nats.c sets only when it makes a message. */
static natsStatus publish_with_reply(natsConnection *nc, natsMsg *m, const char *reply)
{
    const char **keys = NULL;
    natsMsg *copy = NULL;
    int n = 0;
    natsStatus s = natsMsg_Create(&copy, natsMsg_GetSubject(m), reply, natsMsg_GetData(m),
                                  natsMsg_GetDataLength(m));

    if (s == NATS_OK && natsMsgHeader_Keys(m, &keys, &n) != NATS_OK)
        n = 0; /* no headers */
    for (int i = 0; s == NATS_OK && i < n; i++)
        s = copy_header(copy, m, keys[i]);
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(nc, copy);
    free(keys);
    natsMsg_Destroy(copy);
    return s;
}

int request_send(struct cli *c, natsMsg *m, natsMsg **reply)
{
    natsConnection *nc;
    natsSubscription *sub = NULL;
    char inbox[CONNECT_INBOX];
    natsStatus s;
    int rc = connect_open(c);

    *reply = NULL;
    if (rc != 0)
        return rc;
    nc = connect_get(c);
    connect_make_inbox(c, inbox);
    s = natsConnection_SubscribeSync(&sub, nc, inbox);
    if (s == NATS_OK)
        s = publish_with_reply(nc, m, inbox);
    rc = s == NATS_OK ? request_wait(c, sub, natsMsg_GetSubject(m), reply)
                      : connect_fail(c, s, "request to %s", natsMsg_GetSubject(m));
    natsSubscription_Destroy(sub);
    return rc;
}

/* --- JSON ------------------------------------------------------------------------------------- */

void request_read_error(const json_t *doc, struct request_error *err)
{
    const json_t *e = json_object_get(doc, "error");

    *err = (struct request_error){.code = 0};
    if (!json_is_object(e))
        return;
    err->code = (int)request_int(e, "code");
    err->err_code = (int)request_int(e, "err_code");
    (void)snprintf(err->text, sizeof err->text, "%s", request_text(e, "description"));
    if (err->code == 0)
        err->code = 500; /* an error without a code is one all the same */
}

static bool is_command_of(const struct cli *c, const char *group)
{
    return c->command != NULL && strncmp(c->command->name, group, strlen(group)) == 0;
}

void request_hint_absent(struct cli *c, const char *what)
{
    const char *group = is_command_of(c, "kv ")       ? "kv"
                        : is_command_of(c, "object ") ? "object"
                                                      : "";
    struct mf_buf bucket = MF_BUF_INIT;

    if (*group == '\0') {
        (void)fputs("hint: `mayfly stream ls` lists the streams of this account\n", stderr);
        return;
    }
    term_safe(&bucket, mf_slice(what, strcspn(what, "/")));
    (void)fprintf(stderr,
                  "hint: `mayfly %s create %s` makes the bucket, `mayfly %s ls` lists buckets\n",
                  group, mf_buf_cstr(&bucket), group);
    mf_buf_fini(&bucket);
}

/* A message that is not there; what: drafts/key, or ORDERS seq 7. */
static void hint_no_message(const struct cli *c, const char *what)
{
    static const struct {
        const char *group, *command, *end;
    } hints[] = {
        {"kv ", "kv keys", "lists the keys that have a value"},
        {"object ", "object ls", "lists the objects"},
        {"ttl ", "ttl ls", "lists what expires, with --state never what does not"},
        {"stream ", "stream info", "shows which sequences there are"},
    };
    struct mf_buf name = MF_BUF_INIT;

    term_safe(&name, mf_slice(what, strcspn(what, "/ ")));
    for (size_t i = 0; i < MF_COUNT(hints); i++)
        if (is_command_of(c, hints[i].group) && name.len > 0)
            (void)fprintf(stderr, "hint: `mayfly %s %s` %s\n", hints[i].command, mf_buf_cstr(&name),
                          hints[i].end);
    mf_buf_fini(&name);
}

/* Denied by the stream's policy, which its owner may change; not by the operator's. */
static bool is_denied_never(const char *text)
{
    static const char end[] = "never is not allowed here";
    size_t len = strlen(text);

    return len >= sizeof end - 1 && strcmp(text + len - (sizeof end - 1), end) == 0;
}

/* Says what to type next, where an error of the API does not. */
static void print_hint(struct cli *c, const struct request_error *err, const char *what)
{
    static const struct {
        int err_code;
        const char *text;
    } hints[] = {
        {10014, "`mayfly consumer ls STREAM` lists the consumers of a stream"},
        {10058, "`mayfly stream edit` changes a stream; `mayfly stream info` shows it"},
        {10077, "`mayfly stream edit STREAM --max-bytes SIZE` (kv:BUCKET for a bucket) makes room, "
                "`mayfly stream purge` removes messages, and a TTL lets them end by themselves"},
        {10054, "`mayfly stream edit STREAM --max-msg-size SIZE` (kv:BUCKET for a bucket) allows "
                "larger messages"},
        {10065, "`mayfly stream ls --subject SUBJECT` finds the other stream"},
        {10148, "choose another name, or `mayfly consumer rm` the old one"},
        {10166, "`mayfly stream edit STREAM --allow-msg-ttl` allows TTLs of messages"},
    };

    if (err->err_code == 10059 && !is_command_of(c, "demo"))
        request_hint_absent(c, what);
    if (err->err_code == NO_MESSAGE)
        hint_no_message(c, what);
    if (err->err_code == 10165 && is_denied_never(err->text))
        (void)fputs("hint: `mayfly ttl policy STREAM --set never=allow` allows it\n", stderr);
    if (is_command_of(c, "ttl ") || is_command_of(c, "demo"))
        return; /* they say it themselves */
    if (err->err_code == 10165 && strcmp(err->text, "invalid per-message TTL") == 0)
        (void)fputs("hint: a TTL is at least 1s\n", stderr);
    for (size_t i = 0; i < MF_COUNT(hints); i++)
        if (hints[i].err_code == err->err_code)
            (void)fprintf(stderr, "hint: %s\n", hints[i].text);
}

int request_refused(struct cli *c, const struct request_error *err, const char *what)
{
    const char *colon = what == NULL || what[0] == '\0' ? "" : ": ", *text = err->text;
    int code = err->code == 404 ? CLI_NOT_FOUND : err->code == 403 ? CLI_DENIED : CLI_REFUSED;
    const char *kind = code == CLI_NOT_FOUND ? ""
                       : code == CLI_DENIED  ? "not permitted: "
                                             : "refused: ";

    if (what == NULL)
        what = "";
    if (err->err_code == NO_MESSAGE && is_command_of(c, "kv "))
        text = "no such key";
    else if (err->err_code == NO_MESSAGE && is_command_of(c, "object "))
        text = "no such object";
    (void)cli_fail(c, code, "%s%s%s%s (%d)", kind, text, colon, what, err->err_code);
    print_hint(c, err, what);
    return code;
}

static int refuse_silence(struct cli *c, const char *subject)
{
    if (strncmp(subject, "$MAYFLY.", 8) == 0)
        return cli_fail(c, CLI_USAGE,
                        "no TTL API there: is it a Mayfly? Then start it with -js (%s)",
                        connect_url(c));
    if (strncmp(subject, "$JS.", 4) == 0)
        return cli_fail(c, CLI_USAGE,
                        "no JetStream there: start the server with -js, or check the account and "
                        "--js-domain (%s)",
                        connect_url(c));
    return cli_fail(c, CLI_USAGE, "nobody answers requests to %s", subject);
}

/* Reads the JSON object in an answer. */
static int read_answer(struct cli *c, natsMsg *reply, const char *subject, const char *what,
                       json_t **out, struct request_error *err)
{
    struct request_error found;
    json_error_t why;
    json_t *doc;

    if (natsMsg_IsNoResponders(reply))
        return refuse_silence(c, subject);
    doc = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, &why);
    if (!json_is_object(doc)) {
        json_decref(doc);
        return cli_fail(c, CLI_USAGE, "the answer to %s is no JSON object", subject);
    }
    request_read_error(doc, &found);
    if (err != NULL)
        *err = found;
    else if (found.code != 0) {
        json_decref(doc);
        return request_refused(c, &found, what);
    }
    *out = doc;
    return 0;
}

int request_json(struct cli *c, const char *subject, const json_t *body, const char *what,
                 json_t **out, struct request_error *err)
{
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    natsMsg *m = NULL, *reply = NULL;
    natsStatus s;
    int rc;

    *out = NULL;
    s = natsMsg_Create(&m, subject, NULL, text, text == NULL ? 0 : (int)strlen(text));
    if (s != NATS_OK || (body != NULL && text == NULL))
        rc = cli_fail(c, CLI_USAGE, "out of memory");
    else
        rc = request_send(c, m, &reply);
    if (rc == 0)
        rc = read_answer(c, reply, subject, what, out, err);
    natsMsg_Destroy(m);
    natsMsg_Destroy(reply);
    free(text);
    return rc;
}

static int request_below(struct cli *c, const char *prefix, const char *fmt, va_list ap,
                         const json_t *body, const char *what, json_t **out,
                         struct request_error *err)
{
    struct mf_buf subject = MF_BUF_INIT;
    int rc;

    mf_buf_printf(&subject, "%s.", prefix);
    mf_buf_vprintf(&subject, fmt, ap);
    rc = request_json(c, mf_buf_cstr(&subject), body, what, out, err);
    mf_buf_fini(&subject);
    return rc;
}

int request_api(struct cli *c, const json_t *body, const char *what, json_t **out,
                struct request_error *err, const char *fmt, ...)
{
    va_list ap;
    int rc = connect_open(c);

    *out = NULL;
    if (rc != 0)
        return rc;
    va_start(ap, fmt);
    rc = request_below(c, connect_api_prefix(c), fmt, ap, body, what, out, err);
    va_end(ap);
    return rc;
}

int request_ttl(struct cli *c, const json_t *body, const char *what, json_t **out,
                struct request_error *err, const char *fmt, ...)
{
    char prefix[300] = "$MAYFLY.TTL";
    va_list ap;
    int rc = connect_open(c);

    *out = NULL;
    if (rc != 0)
        return rc;
    if (connect_domain(c) != NULL)
        (void)snprintf(prefix, sizeof prefix, "$MAYFLY.%s.TTL", connect_domain(c));
    va_start(ap, fmt);
    rc = request_below(c, prefix, fmt, ap, body, what, out, err);
    va_end(ap);
    return rc;
}

/* --- documents -------------------------------------------------------------------------------- */

static void print_document(struct cli *c, const json_t *doc, size_t flags)
{
    char *text = json_dumps(doc, flags);

    if (text != NULL && c->term.tty && !term_is_safe(mf_str(text))) {
        free(text);
        text = json_dumps(doc, flags | JSON_ENSURE_ASCII);
    }
    (void)fprintf(c->term.out, "%s\n", text == NULL ? "null" : text);
    free(text);
}

void request_print(struct cli *c, const json_t *doc)
{
    print_document(c, doc, c->term.tty ? JSON_INDENT(2) : JSON_COMPACT);
}

void request_print_line(struct cli *c, const json_t *doc)
{
    print_document(c, doc, JSON_COMPACT);
    (void)fflush(c->term.out);
}

int64_t request_int(const json_t *doc, const char *key)
{
    return json_integer_value(json_object_get(doc, key));
}

const char *request_text(const json_t *doc, const char *key)
{
    const char *s = json_string_value(json_object_get(doc, key));

    return s == NULL ? "" : s;
}

double request_real(const json_t *doc, const char *key)
{
    return json_number_value(json_object_get(doc, key));
}

bool request_add_page(json_t *all, const json_t *page)
{
    size_t n = json_array_size(page), have = json_array_size(all), same = 0;

    while (same < n && have >= n &&
           json_equal(json_array_get(all, have - n + same), json_array_get(page, same)))
        same++;
    return same < n && json_array_extend(all, (json_t *)page) == 0;
}

bool request_bool(const json_t *doc, const char *key)
{
    return json_is_true(json_object_get(doc, key));
}

int64_t request_time(const json_t *doc, const char *key)
{
    int64_t ns = 0;

    return human_parse_time(request_text(doc, key), &ns) == 0 ? ns : 0;
}
