/* verb.c: the parser of a link's protocol, and the writer of message lines. */
#include "leaf/verb_impl.h"

#include "proto/proto.h"

enum { SIZE_DIGITS = 9, FEW_ARGS = 4 };

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static uint8_t to_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* --- verbs ------------------------------------------------------------------------------------ */

struct word {
    const char *text; /* lower case */
    uint8_t len;
    enum verb_op op;
    enum { BARE, JSON, TEXT, SUBJECT, MESSAGE, WITH_HEADER, PUBLISH, REFUSED } form;
};
static const struct word words[] = {
    {"lmsg", 4, VERB_MSG, MESSAGE},    {"hmsg", 4, VERB_MSG, WITH_HEADER},
    {"ls+", 3, VERB_SUB, SUBJECT},     {"ls-", 3, VERB_UNSUB, SUBJECT},
    {"ping", 4, VERB_PING, BARE},      {"pong", 4, VERB_PONG, BARE},
    {"info", 4, VERB_INFO, JSON},      {"connect", 7, VERB_CONNECT, JSON},
    {"+ok", 3, VERB_OK, BARE},         {"-err", 4, VERB_ERR, TEXT},
    {"pub", 3, VERB_IGNORE, PUBLISH},  {"sub", 3, VERB_IGNORE, REFUSED},
    {"unsub", 5, VERB_IGNORE, REFUSED}};

/* The verb that buf begins with.  NULL and *partial: more bytes may still make it one. */
static const struct word *word_find(const uint8_t *buf, size_t len, bool *partial)
{
    *partial = false;
    for (size_t i = 0; i < MF_COUNT(words); i++) {
        const struct word *w = &words[i];
        size_t n = 0, have = len < w->len ? len : w->len;
        while (n < have && to_lower(buf[n]) == (uint8_t)w->text[n])
            n++;
        if (n < have)
            continue;
        if (n == w->len)
            return w;
        *partial = true;
    }
    return NULL;
}

/* --- the line --------------------------------------------------------------------------------- */

struct line {
    struct mf_slice args; /* blanks at both ends removed */
    size_t size;          /* of the whole line, with its LF */
};

/* 1 and *out, 0 when incomplete. */
static ssize_t line_find(const uint8_t *buf, size_t len, size_t verb, struct line *out)
{
    size_t most = verb + VERB_LINE_MAX + 2; /* CR and LF */
    const uint8_t *lf = memchr(buf + verb, '\n', (len < most ? len : most) - verb);
    const uint8_t *p = buf + verb, *end = lf;

    if (lf == NULL)
        return len >= most ? VERB_E_LINE : 0;
    out->size = (size_t)(lf - buf) + 1;
    while (p < end && is_blank(*p))
        p++;
    while (end > p && is_blank(end[-1]))
        end--;
    out->args = mf_slice(p, (size_t)(end - p));
    return 1;
}

static bool token_next(struct mf_slice *rest, struct mf_slice *token)
{
    const uint8_t *p = rest->ptr, *end = p + rest->len, *from;

    while (p < end && is_blank(*p))
        p++;
    for (from = p; p < end && !is_blank(*p);)
        p++;
    *token = mf_slice(from, (size_t)(p - from));
    *rest = mf_slice(p, (size_t)(end - p));
    return token->len > 0;
}

bool verb_next_queue(struct mf_slice *rest, struct mf_slice *name)
{
    return rest->len > 0 && token_next(rest, name);
}

/* Cuts the last token off. */
static struct mf_slice token_last(struct mf_slice *rest)
{
    const uint8_t *end = rest->ptr + rest->len, *p = end;

    while (p > rest->ptr && is_blank(p[-1]))
        end = --p;
    while (p > rest->ptr && !is_blank(p[-1]))
        p--;
    *rest = mf_slice(rest->ptr, (size_t)(p - rest->ptr));
    return mf_slice(p, (size_t)(end - p));
}

static long size_parse(struct mf_slice s)
{
    long n = 0;

    if (s.len == 0 || s.len > SIZE_DIGITS)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)s.ptr[i] - '0';
        if (digit > 9)
            return -1;
        n = n * 10 + (long)digit;
    }
    return n;
}

/* --- interest --------------------------------------------------------------------------------- */

static ssize_t interest_parse(const struct line *line, struct verb_cmd *out)
{
    struct mf_slice rest = line->args, token;
    long weight;

    if (!token_next(&rest, &out->subject))
        return VERB_E_ARGS;
    if (!token_next(&rest, &out->queue))
        return (ssize_t)line->size;
    if (out->op == VERB_SUB) {
        if (!token_next(&rest, &token) || (weight = size_parse(token)) < 0)
            return VERB_E_ARGS;
        out->weight = (uint32_t)weight; /* up to VERB_WEIGHT_MAX */
    }
    return token_next(&rest, &token) ? VERB_E_ARGS : (ssize_t)line->size;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Between the subject and the sizes stands nothing, a reply, or an indicator with queues. */
static bool route_parse(struct mf_slice rest, struct verb_cmd *out)
{
    struct mf_slice first, name, walk;

    if (!token_next(&rest, &first))
        return true;
    walk = rest;
    if (!token_next(&walk, &name)) {
        out->reply = first;
        return true;
    }
    if (first.len != 1 || (first.ptr[0] != '+' && first.ptr[0] != '|'))
        return false;
    if (first.ptr[0] == '+') {
        (void)token_next(&rest, &out->reply);
        walk = rest;
        if (!token_next(&walk, &name))
            return false;
    }
    out->queues = rest;
    for (out->nqueues = 1; token_next(&walk, &name);)
        out->nqueues++;
    return true;
}

static ssize_t payload_take(const uint8_t *buf, size_t len, size_t line, size_t hdr, size_t size,
                            struct verb_cmd *out)
{
    const uint8_t *p = buf + line;
    size_t have = len - line;

    if ((have > size && p[size] != '\r') || (have > size + 1 && p[size + 1] != '\n'))
        return VERB_E_UNKNOWN;
    if (have < size + 2) {
        out->whole = line + size + 2;
        return 0;
    }
    out->hdr = mf_slice(p, hdr);
    out->payload = mf_slice(p + hdr, size - hdr);
    return (ssize_t)(line + size + 2);
}

static ssize_t message_parse(const uint8_t *buf, size_t len, const struct line *line,
                             const struct word *w, size_t max_payload, struct verb_cmd *out)
{
    struct mf_slice rest = line->args;
    long size = size_parse(token_last(&rest)), hdr = 0;

    if (w->form == WITH_HEADER)
        hdr = size_parse(token_last(&rest));
    if (hdr < 0 || size < hdr || !token_next(&rest, &out->subject))
        return VERB_E_ARGS;
    if (!route_parse(rest, out))
        return VERB_E_ARGS;
    if ((size_t)size > max_payload)
        return VERB_E_PAYLOAD;
    return payload_take(buf, len, line->size, (size_t)hdr, (size_t)size, out);
}

/* --- one command ------------------------------------------------------------------------------ */

static ssize_t text_parse(const struct line *line, struct verb_cmd *out)
{
    out->args = line->args;
    if (out->args.len >= 2 && out->args.ptr[0] == '\'' && out->args.ptr[out->args.len - 1] == '\'')
        out->args = mf_slice(out->args.ptr + 1, out->args.len - 2);
    return (ssize_t)line->size;
}

ssize_t verb_parse(const uint8_t *buf, size_t len, size_t max_payload, struct verb_cmd *out)
{
    const struct word *w;
    struct line line;
    bool partial;
    ssize_t rc;

    if (len == 0)
        return 0;
    w = word_find(buf, len, &partial);
    if (w == NULL)
        return partial ? 0 : VERB_E_UNKNOWN;
    if (w->form != BARE && len > w->len && !is_blank(buf[w->len]) && buf[w->len] != '\n')
        return VERB_E_UNKNOWN;
    rc = line_find(buf, len, w->len, &line);
    if (rc <= 0)
        return rc;
    memset(out, 0, sizeof *out);
    out->op = w->op;
    switch (w->form) {
    case BARE:
        return (ssize_t)line.size;
    case JSON:
    case TEXT:
        return text_parse(&line, out);
    case SUBJECT:
        return interest_parse(&line, out);
    case MESSAGE:
    case WITH_HEADER:
    case PUBLISH:
        return message_parse(buf, len, &line, w, max_payload, out);
    default:
        return VERB_E_ARGS;
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

size_t verb_line_room(const struct verb_line *l)
{
    size_t n = 5 + l->subject.len + 1 + 2 + l->reply.len + 1 + l->shown.len + 1 + 2 * 21 + 2;

    for (uint32_t i = 0; i < l->nqueues; i++)
        n += l->queue[i].len + 1;
    return n;
}

static uint8_t *put(uint8_t *p, struct mf_slice s)
{
    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    return p + s.len;
}

size_t verb_line_write(uint8_t *dst, const struct verb_line *l)
{
    uint8_t *p = dst;

    memcpy(p, l->hdr > 0 ? "HMSG " : "LMSG ", 5);
    p = put(p + 5, l->subject);
    *p++ = ' ';
    if (l->nqueues > 0) {
        *p++ = l->reply.len > 0 ? '+' : '|';
        *p++ = ' ';
    }
    if (l->reply.len > 0) {
        p = put(p, l->reply);
        if (l->shown.len > 0) {
            *p++ = '@';
            p = put(p, l->shown);
        }
        *p++ = ' ';
    }
    for (uint32_t i = 0; i < l->nqueues; i++) {
        p = put(p, l->queue[i]);
        *p++ = ' ';
    }
    if (l->hdr > 0) {
        p += proto_put_u64(p, l->hdr);
        *p++ = ' ';
    }
    p += proto_put_u64(p, l->size);
    *p++ = '\r';
    *p++ = '\n';
    return (size_t)(p - dst);
}

bool verb_split_reply(struct mf_slice *reply, struct mf_slice *shown)
{
    unsigned dots = 0;

    if (reply->len < 8 || memcmp(reply->ptr, "$JS.ACK.", 8) != 0)
        return false;
    for (size_t i = 0; i < reply->len; i++) {
        dots += reply->ptr[i] == '.';
        if (reply->ptr[i] != '@' || dots < 8 || i + 1 == reply->len)
            continue;
        *shown = mf_slice(reply->ptr + i + 1, reply->len - i - 1);
        *reply = mf_slice(reply->ptr, i);
        return true;
    }
    return false;
}
