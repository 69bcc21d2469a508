/* proto.c: the stateless parser of the client protocol, and the writers of its lines.
 *
 * The rules are nats-server's, odd ones included (test/unit/proto/test_proto.c is their table):
 *   - the first byte after the blanks behind a verb always belongs to the arguments, even a CR or
 *     LF; the line ends at the first LF after it;
 *   - if a CR stands anywhere behind that first byte, the line loses its last byte (normally that
 *     very CR); all other CRs stay;
 *   - max_control_line counts from that first byte to the end so found;
 *   - PUB and HPUB split at blanks, SUB and UNSUB at CR and LF too;
 *   - PING, PONG and +OK swallow whatever follows up to the LF.
 * Mayfly differs where memory or other clients would pay: blanks in front of the arguments and the
 * junk behind PING count against the limit too (each on its own), a subject cannot begin with LF,
 * and HMSG, which a client has no reason to send, is unknown from its second letter on. */
#include "proto/proto.h"

enum { MAX_SIZE_DIGITS = 9, MAX_ARGS = 4 };

/* Separators of arguments. */
enum { BLANK = 1, BREAK = 2 };
static const uint8_t separator[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BREAK, ['\n'] = BREAK};

struct line {
    struct mf_slice args; /* empty only if no argument was needed */
    size_t size;          /* of the whole line, with its LF */
};

static uint8_t to_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* 1: buf begins with word (lower case, any case in buf); 0: too short to tell; else an error. */
static ssize_t verb_match(const uint8_t *buf, size_t len, const char *word, size_t n)
{
    size_t have = len < n ? len : n;

    for (size_t i = 1; i < have; i++) { /* the first letter chose the word */
        if (to_lower(buf[i]) != (uint8_t)word[i])
            return PROTO_E_UNKNOWN;
    }
    return have == n;
}

/* Finds the end of the line whose verb has `verb` bytes: 1 and *out, 0 when incomplete. */
static inline ssize_t line_find(const uint8_t *buf, size_t len, size_t verb, size_t max,
                                struct line *out)
{
    const uint8_t *p = buf + verb, *end = buf + len, *lf, *stop;
    size_t drop;

    while (p < end && separator[*p] == BLANK)
        p++;
    if ((size_t)(p - buf) - verb > max)
        return PROTO_E_LINE;
    if (p == end)
        return 0;
    lf = memchr(p + 1, '\n', (size_t)(end - p) - 1);
    stop = lf != NULL ? lf : end;
    drop =
        stop - p > 1 && (stop[-1] == '\r' || memchr(p + 1, '\r', (size_t)(stop - p) - 1) != NULL);
    if ((size_t)(stop - p) - drop > max)
        return PROTO_E_LINE;
    if (lf == NULL)
        return 0;
    out->args = mf_slice(p, (size_t)(stop - p) - drop);
    out->size = (size_t)(lf - buf) + 1;
    return 1;
}

/* Cuts args at separators up to class `sep`; returns how many there are, MAX_ARGS + 1 for more. */
static inline size_t args_split(struct mf_slice args, uint8_t sep, struct mf_slice tok[MAX_ARGS])
{
    const uint8_t *p = args.ptr, *end = p + args.len, *start;

    for (size_t n = 0;; n++) {
        while (p < end && separator[*p] != 0 && separator[*p] <= sep)
            p++;
        if (p == end)
            return n;
        if (n == MAX_ARGS)
            return MAX_ARGS + 1;
        start = p;
        while (p < end && (separator[*p] == 0 || separator[*p] > sep))
            p++;
        tok[n] = mf_slice(start, (size_t)(p - start));
    }
}

/* Line and arguments in one pass, for the one shape that real clients send: "a b 5\r\n" within the
 * limit.  Returns the number of arguments, or 0: take the long way, which knows all the rules. */
static inline size_t args_scan(const uint8_t *buf, size_t len, size_t verb, size_t max,
                               struct line *line, struct mf_slice tok[MAX_ARGS])
{
    const uint8_t *p = buf + verb + 1, *end = buf + len, *start;
    size_t n = 0;

    if (len - verb > max)
        end = buf + verb + max;
    while (p < end && n < MAX_ARGS) {
        for (start = p; separator[*p] == 0;) {
            if (++p == end)
                return 0;
        }
        if (p == start) /* two blanks, or nothing at all */
            return 0;
        tok[n++] = mf_slice(start, (size_t)(p - start));
        if (*p == '\r' && p + 1 < end && p[1] == '\n') {
            line->size = (size_t)(p + 2 - buf);
            return n;
        }
        if (separator[*p++] != BLANK)
            return 0;
    }
    return 0;
}

/* At most 9 digits (an argument is never empty), else -1. */
static inline long size_parse(struct mf_slice s)
{
    long n = 0;

    if (s.len > MAX_SIZE_DIGITS)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)s.ptr[i] - '0';

        if (digit > 9)
            return -1;
        n = n * 10 + (long)digit;
    }
    return n;
}

/* The payload behind the control line.  A wrong terminator is refused as soon as it shows. */
static inline ssize_t payload_take(const uint8_t *buf, size_t len, size_t line, size_t hdr,
                                   size_t size, struct proto_cmd *out)
{
    const uint8_t *p = buf + line;
    size_t have = len - line;

    if (have > size && p[size] != '\r')
        return PROTO_E_UNKNOWN;
    if (have > size + 1 && p[size + 1] != '\n')
        return PROTO_E_UNKNOWN;
    if (have < size + 2) {
        out->need = line + size + 2;
        return 0;
    }
    out->hdr = mf_slice(p, hdr);
    out->payload = mf_slice(p + hdr, size - hdr);
    return (ssize_t)(line + size + 2);
}

/* PUB <subject> [reply] <size> and HPUB <subject> [reply] <header size> <total size>. */
static inline ssize_t pub_parse(const uint8_t *buf, size_t len, size_t verb, bool with_hdr,
                                const struct proto_limits *lim, struct proto_cmd *out)
{
    struct mf_slice tok[MAX_ARGS];
    struct line line;
    size_t n, sizes = with_hdr ? 2 : 1;
    long hdr = 0, size;

    n = args_scan(buf, len, verb, lim->max_control_line, &line, tok);
    if (MF_UNLIKELY(n == 0)) {
        ssize_t rc = line_find(buf, len, verb, lim->max_control_line, &line);

        if (rc <= 0)
            return rc;
        n = args_split(line.args, BLANK, tok);
    }
    if (with_hdr && !lim->headers)
        return PROTO_E_ARGS;
    if (n != sizes + 1 && n != sizes + 2)
        return PROTO_E_ARGS;
    if (tok[0].ptr[0] == '\n') /* would break the MSG line of every subscriber */
        return PROTO_E_ARGS;
    if (with_hdr)
        hdr = size_parse(tok[n - 2]);
    size = size_parse(tok[n - 1]);
    if (hdr < 0 || size < hdr)
        return PROTO_E_ARGS;
    if ((size_t)size > lim->max_payload)
        return PROTO_E_PAYLOAD;
    out->subject = tok[0];
    if (n == sizes + 2)
        out->reply = tok[1];
    return payload_take(buf, len, line.size, (size_t)hdr, (size_t)size, out);
}

/* SUB <subject> [queue] <sid> */
static ssize_t sub_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                         struct proto_cmd *out)
{
    struct mf_slice tok[MAX_ARGS];
    struct line line;
    size_t n;
    ssize_t rc = line_find(buf, len, 3, lim->max_control_line, &line);

    if (rc <= 0)
        return rc;
    n = args_split(line.args, BREAK, tok);
    if (n != 2 && n != 3)
        return PROTO_E_ARGS;
    out->subject = tok[0];
    if (n == 3)
        out->queue = tok[1];
    out->sid = tok[n - 1];
    return (ssize_t)line.size;
}

/* UNSUB <sid> [max]; an unreadable max means "at once", as 0 does. */
static ssize_t unsub_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                           struct proto_cmd *out)
{
    struct mf_slice tok[MAX_ARGS];
    struct line line;
    size_t n;
    ssize_t rc = line_find(buf, len, 5, lim->max_control_line, &line);

    if (rc <= 0)
        return rc;
    n = args_split(line.args, BREAK, tok);
    if (n != 1 && n != 2)
        return PROTO_E_ARGS;
    out->sid = tok[0];
    if (n == 2) {
        long max = size_parse(tok[1]);

        out->max = max > 0 ? (uint64_t)max : 0;
    }
    return (ssize_t)line.size;
}

/* CONNECT, INFO and -ERR: the rest of the line is the argument. */
static ssize_t rest_parse(const uint8_t *buf, size_t len, size_t verb,
                          const struct proto_limits *lim, struct proto_cmd *out)
{
    struct line line;
    ssize_t rc = line_find(buf, len, verb, lim->max_control_line, &line);

    if (rc <= 0)
        return rc;
    while (line.args.len > 0 && separator[line.args.ptr[line.args.len - 1]] != 0)
        line.args.len--;
    while (line.args.len > 0 && separator[line.args.ptr[0]] != 0) {
        line.args.ptr++;
        line.args.len--;
    }
    out->args = line.args;
    return (ssize_t)line.size;
}

/* PING, PONG and +OK: whatever follows is skipped. */
static ssize_t bare_parse(const uint8_t *buf, size_t len, size_t verb,
                          const struct proto_limits *lim)
{
    const uint8_t *lf = memchr(buf + verb, '\n', len - verb);
    size_t junk = (lf != NULL ? (size_t)(lf - buf) : len) - verb;

    if (junk > lim->max_control_line)
        return PROTO_E_LINE;
    return lf != NULL ? (lf - buf) + 1 : 0;
}

struct verb {
    const char *word; /* lower case */
    uint8_t len;
    bool blank; /* one must follow */
    enum proto_op op;
};

/* Which verb the first bytes can only be; NULL when too short to tell or unknown. */
static const struct verb *verb_find(const uint8_t *buf, size_t len)
{
    static const struct verb verbs[] = {
        {"pub", 3, true, PROTO_PUB},          {"ping", 4, false, PROTO_PING},
        {"pong", 4, false, PROTO_PONG},       {"hpub", 4, true, PROTO_HPUB},
        {"sub", 3, true, PROTO_SUB},          {"unsub", 5, true, PROTO_UNSUB},
        {"connect", 7, false, PROTO_CONNECT}, {"info", 4, false, PROTO_INFO},
        {"+ok", 3, false, PROTO_OK},          {"-err", 4, true, PROTO_ERR},
    };
    uint8_t first = to_lower(buf[0]), second = len > 1 ? to_lower(buf[1]) : 0;

    for (size_t i = 0; i < MF_COUNT(verbs); i++) {
        if ((uint8_t)verbs[i].word[0] == first &&
            (first != 'p' || (uint8_t)verbs[i].word[1] == second))
            return &verbs[i];
    }
    return NULL;
}

static ssize_t args_parse(const uint8_t *buf, size_t len, const struct verb *v,
                          const struct proto_limits *lim, struct proto_cmd *out)
{
    switch (v->op) {
    case PROTO_PUB:
        return pub_parse(buf, len, v->len, false, lim, out);
    case PROTO_HPUB:
        return pub_parse(buf, len, v->len, true, lim, out);
    case PROTO_SUB:
        return sub_parse(buf, len, lim, out);
    case PROTO_UNSUB:
        return unsub_parse(buf, len, lim, out);
    case PROTO_CONNECT:
    case PROTO_INFO:
    case PROTO_ERR:
        return rest_parse(buf, len, v->len, lim, out);
    case PROTO_PING:
    case PROTO_PONG:
    case PROTO_OK:
        break;
    }
    return bare_parse(buf, len, v->len, lim);
}

/* Field by field: compilers turn a memset of this size into `rep stos`, a third of a whole PUB. */
static inline void cmd_clear(struct proto_cmd *c)
{
    c->args = c->subject = c->reply = c->queue = c->sid = MF_SLICE_NONE;
    c->hdr = c->payload = MF_SLICE_NONE;
    c->max = 0;
}

ssize_t proto_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                    struct proto_cmd *out)
{
    const struct verb *v;
    ssize_t rc;

    cmd_clear(out);
    out->need = len + 1;
    if (len == 0)
        return 0;
    /* The one branch that matters: a publish, in capitals as all clients write it. */
    if (MF_LIKELY(len > 4 && !lim->connect_only && memcmp(buf, "PUB ", 4) == 0)) {
        out->op = PROTO_PUB;
        return pub_parse(buf, len, 3, false, lim, out);
    }
    if (lim->connect_only && to_lower(buf[0]) != 'c')
        return PROTO_E_AUTH;
    v = verb_find(buf, len);
    if (v == NULL)
        return len == 1 && to_lower(buf[0]) == 'p' ? 0 : PROTO_E_UNKNOWN;
    rc = verb_match(buf, len, v->word, v->len);
    if (rc <= 0)
        return rc;
    if (v->blank) {
        if (len == v->len)
            return 0;
        if (separator[buf[v->len]] != BLANK)
            return PROTO_E_UNKNOWN;
    }
    out->op = v->op;
    return args_parse(buf, len, v, lim, out);
}

/* --- writers ---------------------------------------------------------------------------------- */

size_t proto_put_u64(uint8_t *dst, uint64_t n)
{
    uint8_t digits[20];
    size_t i = sizeof digits, len;

    do {
        digits[--i] = (uint8_t)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    len = sizeof digits - i;
    memcpy(dst, digits + i, len);
    return len;
}

static uint8_t *put_bytes(uint8_t *dst, struct mf_slice s)
{
    if (s.len == 0)
        return dst;
    memcpy(dst, s.ptr, s.len);
    return dst + s.len;
}

size_t proto_msg_line(uint8_t *dst, struct mf_slice subject, struct mf_slice sid,
                      struct mf_slice reply, size_t hdr_len, size_t payload_len)
{
    uint8_t *p = dst;

    p = put_bytes(p, hdr_len > 0 ? MF_LIT("HMSG ") : MF_LIT("MSG "));
    p = put_bytes(p, subject);
    *p++ = ' ';
    p = put_bytes(p, sid);
    *p++ = ' ';
    if (reply.len > 0) {
        p = put_bytes(p, reply);
        *p++ = ' ';
    }
    if (hdr_len > 0) {
        p += proto_put_u64(p, hdr_len);
        *p++ = ' ';
    }
    p += proto_put_u64(p, hdr_len + payload_len);
    *p++ = '\r';
    *p++ = '\n';
    return (size_t)(p - dst);
}
