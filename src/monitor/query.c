/* query.c: a request as pages see it: its path below the base path, and its parameters. */
#include "monitor/monitor_impl.h"

#include <errno.h>
#include <stdlib.h>

/* Decodes into *to and terminates; NULL for a bad escape. */
static const char *decode_part(char **to, struct mf_slice s, bool plus)
{
    char *begin = *to;
    ssize_t n = http_decode((uint8_t *)begin, s, plus);

    if (n < 0)
        return NULL;
    begin[n] = '\0';
    *to = begin + n + 1;
    return begin;
}

/* A pair that cannot be decoded, or holds a semicolon, is dropped as in Go. */
static void parse_params(struct monitor_request *q, struct mf_slice query, char *to)
{
    struct mf_slice pair;

    if (query.len == 0)
        return;
    while (q->nparams < MONITOR_PARAMS && http_next(&query, '&', &pair)) {
        const uint8_t *eq = pair.len == 0 ? NULL : memchr(pair.ptr, '=', pair.len);
        struct mf_slice name = eq == NULL ? pair : mf_slice(pair.ptr, (size_t)(eq - pair.ptr));
        struct mf_slice value =
            eq == NULL ? MF_SLICE_NONE : mf_slice(eq + 1, pair.len - name.len - 1);
        if (pair.len == 0 || memchr(pair.ptr, ';', pair.len) != NULL)
            continue;
        q->param[q->nparams].name = decode_part(&to, name, true);
        if (q->param[q->nparams].name == NULL)
            continue;
        q->param[q->nparams].value = decode_part(&to, value, true);
        if (q->param[q->nparams].value != NULL)
            q->nparams++;
    }
}

/* "//varz" is "/varz": tools glue paths together.  In place. */
static void squeeze_slashes(char *path)
{
    char *to = path;

    for (const char *from = path; *from != '\0'; from++)
        if (*from != '/' || to == path || to[-1] != '/')
            *to++ = *from;
    *to = '\0';
}

int monitor_request_init(struct monitor_request *q, const struct http_request *r,
                         const char *base_path)
{
    size_t base = strlen(base_path);
    char *to = q->text, *path = to;

    q->base_path = base_path;
    q->nparams = 0;
    if (decode_part(&to, r->path, false) == NULL)
        return MF_NOTFOUND;
    squeeze_slashes(path);
    if (strncmp(path, base_path, base) != 0 || (path[base] != '/' && path[base] != '\0'))
        return MF_NOTFOUND;
    q->bare = path[base] == '\0';
    q->path = q->bare ? "/" : path + base;
    parse_params(q, r->query, to);
    return 0;
}

const char *monitor_path(const struct monitor_request *q)
{
    return q->path;
}

const char *monitor_base_path(const struct monitor_request *q)
{
    return q->base_path;
}

bool monitor_path_is_bare(const struct monitor_request *q)
{
    return q->bare;
}

const char *monitor_param(const struct monitor_request *q, const char *name)
{
    for (size_t i = 0; i < q->nparams; i++)
        if (strcmp(q->param[i].name, name) == 0)
            return q->param[i].value;
    return NULL;
}

/* --- typed parameters ------------------------------------------------------------------------- */
/* Length of the valid UTF-8 sequence at p that Go would print as it is; 0: escape the byte. */
static size_t printable_length(const uint8_t *p)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (n == 1)
        return p[0] >= ' ' && p[0] != 0x7f;
    if (p[0] > 0xf4 || (p[0] == 0xc2 && p[1] < 0xa1) || (p[0] == 0xe0 && p[1] < 0xa0) ||
        (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0; /* also at the NUL */
    return n;
}

/* As Go quotes a string in its errors. */
static void put_quoted(struct mf_buf *out, const char *text)
{
    static const char escapes[] = "\a\b\f\n\r\t\v\"\\", letters[] = "abfnrtv\"\\";

    mf_buf_byte(out, '"');
    for (const uint8_t *p = (const uint8_t *)text; *p != 0;) {
        const char *at = strchr(escapes, *p);
        size_t n = at != NULL ? 0 : printable_length(p);
        if (at != NULL)
            mf_buf_printf(out, "\\%c", letters[at - escapes]);
        else if (n == 0)
            mf_buf_printf(out, "\\x%02x", *p);
        else
            mf_buf_append(out, p, n);
        p += n > 0 ? n : 1;
    }
    mf_buf_byte(out, '"');
}

static int refuse_value(struct monitor_reply *r, const char *type, const char *name,
                        const char *parser, const char *value, const char *cause)
{
    r->status = 400;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_clear(r->body);
    mf_buf_printf(r->body, "Error decoding %s for '%s': strconv.%s: parsing ", type, name, parser);
    put_quoted(r->body, value);
    mf_buf_printf(r->body, ": %s", cause);
    return MF_INVAL;
}

/* NULL also for an empty value: it counts as absent. */
static const char *given_value(const struct monitor_request *q, const char *name)
{
    const char *value = monitor_param(q, name);

    return value == NULL || value[0] == '\0' ? NULL : value;
}

int monitor_param_bool(const struct monitor_request *q, struct monitor_reply *r, const char *name,
                       bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    const char *value = given_value(q, name);

    if (value == NULL)
        return 0;
    for (size_t i = 0; i < MF_COUNT(yes); i++) {
        if (strcmp(value, yes[i]) != 0 && strcmp(value, no[i]) != 0)
            continue;
        *out = strcmp(value, yes[i]) == 0;
        return 0;
    }
    return refuse_value(r, "boolean", name, "ParseBool", value, "invalid syntax");
}

static bool all_digits(const char *s)
{
    return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

int monitor_param_i64(const struct monitor_request *q, struct monitor_reply *r, const char *name,
                      int64_t *out)
{
    const char *value = given_value(q, name);
    long long number;

    if (value == NULL)
        return 0;
    if (!all_digits(value[0] == '+' || value[0] == '-' ? value + 1 : value))
        return refuse_value(r, "int", name, "Atoi", value, "invalid syntax");
    errno = 0;
    number = strtoll(value, NULL, 10);
    if (errno == ERANGE)
        return refuse_value(r, "int", name, "Atoi", value, "value out of range");
    *out = number;
    return 0;
}

int monitor_param_u64(const struct monitor_request *q, struct monitor_reply *r, const char *name,
                      uint64_t *out)
{
    const char *value = given_value(q, name);
    unsigned long long number;

    if (value == NULL)
        return 0;
    if (!all_digits(value))
        return refuse_value(r, "uint64", name, "ParseUint", value, "invalid syntax");
    errno = 0;
    number = strtoull(value, NULL, 10);
    if (errno == ERANGE)
        return refuse_value(r, "uint64", name, "ParseUint", value, "value out of range");
    *out = number;
    return 0;
}
