/* http.c: one request head, from the request line to the empty line. */
#include "http/http.h"

#include <strings.h>

#define BAD_REQUEST "400 Bad Request"

static bool is_alnum(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_token(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.ptr[i]) && (s.ptr[i] == 0 || strchr("!#$%&'*+-.^_`|~", s.ptr[i]) == NULL))
            return false;
    return s.len > 0;
}

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static struct mf_slice trim_blanks(struct mf_slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = mf_slice(s.ptr + 1, s.len - 1);
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Length up to and including the empty line that ends the head; 0: not there yet. */
static size_t head_length(const uint8_t *p, size_t n, size_t seen)
{
    size_t at = seen > 3 ? seen - 3 : 0;

    while (at < n) {
        const uint8_t *lf = memchr(p + at, '\n', n - at);
        if (lf == NULL)
            return 0;
        at = (size_t)(lf - p) + 1;
        if (at < n && p[at] == '\n')
            return at + 1;
        if (at + 1 < n && p[at] == '\r' && p[at + 1] == '\n')
            return at + 2;
    }
    return 0;
}

/* Cuts the next line off; the caller knows that the head ends with a line end. */
static struct mf_slice next_line(struct mf_slice *head)
{
    const uint8_t *lf = memchr(head->ptr, '\n', head->len);
    struct mf_slice line = mf_slice(head->ptr, (size_t)(lf - head->ptr));

    *head = mf_slice(lf + 1, head->len - line.len - 1);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

static int parse_version(struct mf_slice v, struct http_request *out, const char **fault)
{
    if (v.len != 8 || !mf_starts(v, "HTTP/") || v.ptr[6] != '.' || v.ptr[5] < '0' ||
        v.ptr[5] > '9' || v.ptr[7] < '0' || v.ptr[7] > '9')
        return MF_PROTO;
    if (v.ptr[5] != '1' || v.ptr[7] > '1') {
        *fault = "505 HTTP Version Not Supported: unsupported protocol version";
        return MF_UNSUPPORTED;
    }
    out->minor = v.ptr[7] - '0';
    return 0;
}

/* "/path?query", "http://host/path?query" or "*". */
static int parse_target(struct mf_slice t, struct http_request *out)
{
    size_t at = 0;
    const uint8_t *q;

    if (t.len >= 7 && strncasecmp((const char *)t.ptr, "http://", 7) == 0)
        at = 7;
    else if (t.len >= 8 && strncasecmp((const char *)t.ptr, "https://", 8) == 0)
        at = 8;
    if (at > 0) { /* the authority may be ignored: Host must be there and says the same */
        while (at < t.len && t.ptr[at] != '/' && t.ptr[at] != '?')
            at++;
        t = at < t.len ? mf_slice(t.ptr + at, t.len - at) : MF_LIT("/");
    }
    if (t.len == 0 || (t.ptr[0] != '/' && t.ptr[0] != '?' && !mf_eq_str(t, "*")))
        return MF_PROTO;
    q = memchr(t.ptr, '?', t.len);
    out->path = q == NULL ? t : mf_slice(t.ptr, (size_t)(q - t.ptr));
    out->query = q == NULL ? MF_SLICE_NONE : mf_slice(q + 1, t.len - out->path.len - 1);
    if (out->path.len == 0)
        out->path = MF_LIT("/");
    for (size_t i = 0; i < out->path.len; i++)
        if (out->path.ptr[i] == '%' && (i + 2 >= out->path.len || !is_hex(out->path.ptr[i + 1]) ||
                                        !is_hex(out->path.ptr[i + 2])))
            return MF_PROTO;
    return 0;
}

static int parse_request_line(struct mf_slice line, struct http_request *out, const char **fault)
{
    const uint8_t *one = line.len == 0 ? NULL : memchr(line.ptr, ' ', line.len);
    const uint8_t *two = one == NULL ? NULL : memrchr(line.ptr, ' ', line.len);
    struct mf_slice target;
    int rc;

    if (two == NULL || one == two)
        return MF_PROTO;
    out->method = mf_slice(line.ptr, (size_t)(one - line.ptr));
    target = mf_slice(one + 1, (size_t)(two - one) - 1);
    for (size_t i = 0; i < target.len; i++)
        if (target.ptr[i] <= ' ' || target.ptr[i] == 0x7f)
            return MF_PROTO;
    if (!is_token(out->method))
        return MF_PROTO;
    rc = parse_version(mf_slice(two + 1, line.len - (size_t)(two + 1 - line.ptr)), out, fault);
    return rc != 0 ? rc : parse_target(target, out);
}

static int parse_field(struct mf_slice line, struct http_request *out, const char **fault)
{
    const uint8_t *colon = memchr(line.ptr, ':', line.len);
    struct http_field *f;

    if (colon == NULL || colon == line.ptr)
        return MF_PROTO;
    if (out->nfields == HTTP_FIELDS) {
        *fault = "431 Request Header Fields Too Large";
        return MF_LIMIT;
    }
    f = &out->field[out->nfields++];
    f->name = mf_slice(line.ptr, (size_t)(colon - line.ptr));
    f->value = trim_blanks(mf_slice(colon + 1, line.len - f->name.len - 1));
    if (!is_token(f->name)) {
        *fault = "400 Bad Request: invalid header name";
        return MF_PROTO;
    }
    for (size_t i = 0; i < f->value.len; i++)
        if ((f->value.ptr[i] < ' ' && f->value.ptr[i] != '\t') || f->value.ptr[i] == 0x7f)
            return MF_PROTO;
    return 0;
}

static int check_host(struct http_request *out, const char **fault)
{
    size_t seen = 0;

    for (size_t i = 0; i < out->nfields; i++) {
        if (!mf_eq_nocase(out->field[i].name, "Host"))
            continue;
        if (seen++ > 0)
            return MF_PROTO;
        out->host = out->field[i].value;
    }
    if (seen == 0 && out->minor == 1) {
        *fault = "400 Bad Request: missing required Host header";
        return MF_PROTO;
    }
    for (size_t i = 0; i < out->host.len; i++) {
        uint8_t c = out->host.ptr[i];
        if (!is_alnum(c) && strchr("!$%&'()*+,-.:;=[]_~", c) == NULL) {
            *fault = "400 Bad Request: malformed Host header";
            return MF_PROTO;
        }
    }
    return 0;
}

/* Two lengths that differ are how requests are smuggled past a proxy. */
static int check_body(struct http_request *out)
{
    bool have = false;

    for (size_t i = 0; i < out->nfields; i++) {
        const struct http_field *f = &out->field[i];
        uint64_t length;
        if (mf_eq_nocase(f->name, "Transfer-Encoding"))
            out->chunked = true;
        if (!mf_eq_nocase(f->name, "Content-Length"))
            continue;
        if (mf_parse_u64(f->value, &length) != 0 || (have && length != out->body))
            return MF_PROTO;
        have = true;
        out->body = length;
    }
    return 0;
}

static int parse_head(struct mf_slice head, struct http_request *out, const char **fault)
{
    int rc = parse_request_line(next_line(&head), out, fault);

    for (struct mf_slice line; rc == 0 && head.len > 0;) {
        line = next_line(&head);
        if (line.len == 0)
            break;
        rc = parse_field(line, out, fault);
    }
    if (rc == 0)
        rc = check_host(out, fault);
    return rc != 0 ? rc : check_body(out);
}

/* The field table stays untouched: clearing it would cost more than parsing. */
static void clear_request(struct http_request *out)
{
    out->method = out->path = out->query = out->host = MF_SLICE_NONE;
    out->minor = 0;
    out->chunked = false;
    out->body = 0;
    out->nfields = 0;
}

ssize_t http_parse(const uint8_t *p, size_t n, size_t seen, size_t limit, struct http_request *out,
                   const char **fault)
{
    size_t length = head_length(p, n, seen);
    int rc;

    if (length > limit || (length == 0 && n >= limit)) {
        *fault = "431 Request Header Fields Too Large";
        return MF_LIMIT;
    }
    if (length == 0)
        return 0;
    *fault = BAD_REQUEST;
    clear_request(out);
    rc = parse_head(mf_slice(p, length), out, fault);
    return rc != 0 ? rc : (ssize_t)length;
}

/* "HTTP/1.1 101 Switching Protocols"; the words may be missing. */
static int parse_status_line(struct mf_slice line, struct http_request *out, int *status,
                             const char **fault)
{
    uint64_t code;

    if (line.len < 12 || line.ptr[8] != ' ' || (line.len > 12 && line.ptr[12] != ' ') ||
        mf_parse_u64(mf_slice(line.ptr + 9, 3), &code) != 0 || code < 100)
        return MF_PROTO;
    *status = (int)code;
    return parse_version(mf_slice(line.ptr, 8), out, fault);
}

ssize_t http_parse_answer(const uint8_t *p, size_t n, size_t seen, size_t limit,
                          struct http_request *out, int *status, const char **fault)
{
    size_t length = head_length(p, n, seen);
    struct mf_slice head = mf_slice(p, length), line;
    int rc;

    *fault = "the head of the answer is too long";
    if (length > limit || (length == 0 && n >= limit))
        return MF_LIMIT;
    if (length == 0)
        return 0;
    *fault = "the answer is not HTTP";
    clear_request(out);
    rc = parse_status_line(next_line(&head), out, status, fault);
    while (rc == 0 && head.len > 0) {
        line = next_line(&head);
        if (line.len == 0)
            break;
        rc = parse_field(line, out, fault);
    }
    return rc != 0 ? rc : (ssize_t)length;
}

bool http_get(const struct http_request *r, const char *name, struct mf_slice *value)
{
    for (size_t i = 0; i < r->nfields; i++)
        if (mf_eq_nocase(r->field[i].name, name)) {
            *value = r->field[i].value;
            return true;
        }
    return false;
}

bool http_next(struct mf_slice *list, char separator, struct mf_slice *element)
{
    const uint8_t *end;

    if (list->ptr == NULL)
        return false;
    end = list->len == 0 ? NULL : memchr(list->ptr, separator, list->len);
    if (end == NULL) {
        *element = trim_blanks(*list);
        *list = MF_SLICE_NONE;
        return true;
    }
    *element = trim_blanks(mf_slice(list->ptr, (size_t)(end - list->ptr)));
    *list = mf_slice(end + 1, list->len - (size_t)(end + 1 - list->ptr));
    return true;
}

bool http_has_token(const struct http_request *r, const char *name, const char *token)
{
    for (size_t i = 0; i < r->nfields; i++) {
        struct mf_slice list = r->field[i].value, element;
        if (!mf_eq_nocase(r->field[i].name, name))
            continue;
        while (http_next(&list, ',', &element))
            if (mf_eq_nocase(element, token))
                return true;
    }
    return false;
}

bool http_keep_alive(const struct http_request *r)
{
    if (http_has_token(r, "Connection", "close"))
        return false;
    return r->minor == 1 || http_has_token(r, "Connection", "keep-alive");
}

/* Only "q=0" and "q=0.000" refuse. */
static bool has_zero_weight(struct mf_slice param)
{
    if (param.len < 3 || (param.ptr[0] | 0x20) != 'q' || param.ptr[1] != '=')
        return false;
    for (size_t i = 2; i < param.len; i++)
        if (param.ptr[i] != '0' && param.ptr[i] != '.')
            return false;
    return true;
}

bool http_accepts(const struct http_request *r, const char *coding)
{
    for (size_t i = 0; i < r->nfields; i++) {
        struct mf_slice list = r->field[i].value, element, name, param;
        if (!mf_eq_nocase(r->field[i].name, "Accept-Encoding"))
            continue;
        while (http_next(&list, ',', &element)) {
            bool refused = false;
            if (!http_next(&element, ';', &name) || !mf_eq_nocase(name, coding))
                continue;
            while (http_next(&element, ';', &param))
                refused = refused || has_zero_weight(param);
            return !refused;
        }
    }
    return false;
}
