/* data.c: payloads, headers, subjects and publish acks of the data commands. */
#include "cli/data/data.h"

#include "base/clock.h"
#include "cli/data/template.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int64_t data_now(void)
{
    return clock_wall_ns();
}

/* --- payloads -------------------------------------------------------------------------------- */

static int read_stream(struct cli *c, FILE *f, const char *name, size_t limit, struct mf_buf *out)
{
    for (;;) {
        uint8_t *to = mf_buf_reserve(out, 65536);
        size_t n;

        if (to == NULL)
            return cli_fail(c, CLI_USAGE, "out of memory");
        n = fread(to, 1, 65536, f);
        out->len += n;
        if (ferror(f))
            return cli_fail(c, CLI_USAGE, "%s: %s", name, strerror(errno));
        if (out->len > limit)
            return cli_fail(c, CLI_USAGE,
                            "%s has more than the %zu bytes of the server's max_payload "
                            "(`mayfly object put` stores larger files)",
                            name, limit);
        if (n == 0)
            return 0;
    }
}

int data_read_payload(struct cli *c, const char *arg, struct mf_buf *out, bool *given)
{
    const char *path = cli_text(c, "file");
    size_t limit = (size_t)natsConnection_GetMaxPayload(connect_get(c));

    if (given != NULL)
        *given = true;
    if (path != NULL) {
        FILE *f;
        int rc;

        if (arg != NULL)
            return cli_usage(c, "give the payload or --file, not both");
        f = fopen(path, "rb");
        if (f == NULL)
            return cli_fail(c, CLI_USAGE, "%s: %s", path, strerror(errno));
        rc = read_stream(c, f, path, limit, out);
        (void)fclose(f);
        return rc;
    }
    if (arg != NULL && strcmp(arg, "-") != 0) {
        mf_buf_puts(out, arg);
        if (out->len > limit)
            return cli_fail(c, CLI_USAGE,
                            "payload has more than the %zu bytes of the server's max_payload",
                            limit);
        return 0;
    }
    if (arg != NULL || !isatty(STDIN_FILENO))
        return read_stream(c, stdin, "stdin", limit, out);
    if (given != NULL)
        *given = false;
    return 0;
}

int data_new_msg(struct cli *c, natsMsg **m, const char *subject, const char *reply,
                 struct mf_slice payload)
{
    natsStatus s = natsMsg_Create(m, subject, reply, (const char *)payload.ptr, (int)payload.len);

    return s == NATS_OK ? 0 : connect_fail(c, s, "message for %s", subject);
}

/* --- headers --------------------------------------------------------------------------------- */

static bool is_header_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] >= 127)
            return false;
    return n > 0;
}

static int add_header(struct cli *c, natsMsg *m, const char *text)
{
    const char *colon = strchr(text, ':');
    struct mf_slice value;
    char *name, *copy;
    natsStatus s;

    if (colon == NULL || !is_header_name(text, (size_t)(colon - text)))
        return cli_usage(c, "-H wants \"Name: value\", not \"%s\"", text);
    value = mf_trim(mf_str(colon + 1));
    if (memchr(value.ptr, '\n', value.len) != NULL || memchr(value.ptr, '\r', value.len) != NULL)
        return cli_usage(c, "the value of a header has no line ends");
    name = mf_slice_dup(mf_slice(text, (size_t)(colon - text)));
    copy = mf_slice_dup(value);
    s = name == NULL || copy == NULL ? NATS_NO_MEMORY : natsMsgHeader_Add(m, name, copy);
    free(name);
    free(copy);
    return s == NATS_OK ? 0 : connect_fail(c, s, "header %s", text);
}

/* Appends a text of the command line for the message of this number, its templates expanded. */
static void expand_text(struct cli *c, struct mf_slice text, uint64_t number, struct mf_buf *out)
{
    if (cli_on(c, "no-templates"))
        mf_buf_append(out, text.ptr, text.len);
    else
        template_expand(out, text, number);
}

static int add_headers(struct cli *c, natsMsg *m, uint64_t number)
{
    const char *text;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (text = cli_text_at(c, "header", i)) != NULL; i++) {
        struct mf_buf b = MF_BUF_INIT;

        expand_text(c, mf_str(text), number, &b);
        rc = add_header(c, m, mf_buf_cstr(&b));
        mf_buf_fini(&b);
    }
    return rc;
}

int data_make_msg(struct cli *c, const char *reply, struct mf_slice payload, uint64_t number,
                  natsMsg **m)
{
    struct mf_buf subject = MF_BUF_INIT, body = MF_BUF_INIT;
    const char *arg = cli_arg(c, 1);
    int rc;

    *m = NULL;
    expand_text(c, mf_str(cli_arg(c, 0)), number, &subject);
    if (arg != NULL && strcmp(arg, "-") != 0) {
        expand_text(c, payload, number, &body);
        payload = mf_buf_slice(&body);
    }
    rc = data_check_subject(c, mf_buf_cstr(&subject), false);
    if (rc == 0)
        rc = data_new_msg(c, m, mf_buf_cstr(&subject), reply, payload);
    if (rc == 0)
        rc = add_headers(c, *m, number);
    if (rc == 0)
        rc = data_add_ttl(c, *m);
    mf_buf_fini(&subject);
    mf_buf_fini(&body);
    return rc;
}

int data_ttl_text(const char *text, char *dst, size_t size)
{
    int64_t ns, ms;
    char *end;

    if (strcmp(text, "never") == 0) {
        (void)snprintf(dst, size, "never");
        return 0;
    }
    errno = 0;
    ms = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : 0;
    if (ms > 0 && *end == '\0' && errno == 0) { /* plain seconds, as the header allows */
        (void)snprintf(dst, size, "%llds", (long long)ms);
        return 0;
    }
    if (cli_parse_duration(text, &ns) != 0 || ns <= 0)
        return MF_INVAL;
    ms = ns / CLOCK_MS + (ns % CLOCK_MS != 0);
    if (ms % 1000 == 0)
        (void)snprintf(dst, size, "%llds", (long long)(ms / 1000));
    else
        (void)snprintf(dst, size, "%lldms", (long long)ms);
    return 0;
}

int data_add_ttl(struct cli *c, natsMsg *m)
{
    const char *text = cli_text(c, "ttl");
    char ttl[48];
    natsStatus s;

    if (text == NULL)
        return 0;
    if (data_ttl_text(text, ttl, sizeof ttl) != 0)
        return cli_usage(c, "--ttl wants a duration like 90s, 1h30m or 7d, or never; not \"%s\"",
                         text);
    s = natsMsgHeader_Set(m, "Nats-TTL", ttl);
    return s == NATS_OK ? 0 : connect_fail(c, s, "header Nats-TTL");
}

int data_check_msg(struct cli *c)
{
    natsMsg *m = NULL;
    natsStatus s = nats_Open(-1); /* which natsMsg_Destroy() needs */
    int rc =
        s == NATS_OK ? data_make_msg(c, NULL, MF_SLICE_NONE, 1, &m) : connect_fail(c, s, "nats.c");

    if (s == NATS_OK)
        natsMsg_Destroy(m);
    return rc;
}

/* --- names ----------------------------------------------------------------------------------- */

bool data_is_subject(const char *s, bool wild)
{
    bool token_empty = true, last = false; /* last: `>` was seen */

    for (size_t i = 0;; i++) {
        unsigned char ch = (unsigned char)s[i];
        bool alone = i == 0 || s[i - 1] == '.';
        bool ends = ch != '\0' && (s[i + 1] == '.' || s[i + 1] == '\0');

        if (ch == '\0' || ch == '.') {
            if (token_empty || (ch == '.' && last))
                return false;
            if (ch == '\0')
                return true;
            token_empty = true;
            continue;
        }
        if (ch <= ' ' || ch == 127)
            return false;
        if ((ch == '*' || ch == '>') && alone && ends) {
            if (!wild)
                return false;
            last = ch == '>';
        }
        token_empty = false;
    }
}

bool data_is_name(const char *s)
{
    for (size_t i = 0; s[i] != '\0'; i++)
        if ((unsigned char)s[i] <= ' ' || s[i] == 127 || strchr(".*>/\\", s[i]) != NULL)
            return false;
    return *s != '\0' && strlen(s) <= 255;
}

int data_check_subject(struct cli *c, const char *s, bool wild)
{
    if (data_is_subject(s, wild))
        return 0;
    return cli_usage(c,
                     "\"%s\" is no subject: tokens are separated by single dots and have no "
                     "blanks%s",
                     s, wild ? "" : ", and no wildcards here");
}

int data_check_name(struct cli *c, const char *kind, const char *s)
{
    if (data_is_name(s))
        return 0;
    return cli_usage(c, "\"%s\" is no name of a %s: it has no dots, blanks, slashes, * or >", s,
                     kind);
}

int data_confirm(struct cli *c, const char *fmt, ...)
{
    char question[512], answer[16];
    va_list ap;

    if (cli_on(c, "force"))
        return 0;
    va_start(ap, fmt);
    (void)vsnprintf(question, sizeof question, fmt, ap);
    va_end(ap);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_fail(c, CLI_USAGE, "%s Nobody is there to ask: add --force", question);
    (void)fprintf(stderr, "%s Type yes: ", question);
    if (fgets(answer, sizeof answer, stdin) == NULL || strcmp(answer, "yes\n") != 0)
        return cli_fail(c, CLI_USAGE, "nothing was changed");
    return 0;
}
