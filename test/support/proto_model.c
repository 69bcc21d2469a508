/* proto_model.c: see the header.  Plain on purpose: every rule is a sentence of its own. */
#include "proto_model.h"

#include <strings.h>

struct model {
    const uint8_t *buf;
    size_t len, pos;
    const struct proto_limits *lim;
    struct proto_cmd *cmd;
    const uint8_t *args; /* the control line's arguments */
    size_t nargs;
};

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

/* Reads word case-insensitively; 1, 0 (input over) or unknown. */
static ssize_t take_word(struct model *m, const char *word)
{
    for (; *word != '\0'; word++, m->pos++) {
        char have[2] = {0, 0}, want[2] = {*word, 0};

        if (m->pos == m->len)
            return 0;
        have[0] = (char)m->buf[m->pos];
        if (strcasecmp(have, want) != 0)
            return PROTO_E_UNKNOWN;
    }
    return 1;
}

/* The arguments up to LF, as the rules above proto.c say. */
static ssize_t take_args(struct model *m)
{
    size_t blanks = 0, first, drop = 0;

    for (; m->pos < m->len && is_blank(m->buf[m->pos]); m->pos++) {
        if (++blanks > m->lim->max_control_line)
            return PROTO_E_LINE;
    }
    if (m->pos == m->len)
        return 0;
    first = m->pos++;
    for (;; m->pos++) {
        bool over = m->pos - first - drop > m->lim->max_control_line;

        if (m->pos == m->len)
            return over ? PROTO_E_LINE : 0;
        if (m->buf[m->pos] == '\r')
            drop = 1;
        if (m->buf[m->pos] == '\n') {
            m->args = m->buf + first;
            m->nargs = m->pos - first - drop;
            m->pos++;
            return m->nargs > m->lim->max_control_line ? PROTO_E_LINE : 1;
        }
    }
}

static ssize_t take_junk(struct model *m)
{
    for (size_t junk = 0; m->pos < m->len; junk++) {
        if (m->buf[m->pos++] == '\n')
            return (ssize_t)m->pos;
        if (junk >= m->lim->max_control_line)
            return PROTO_E_LINE;
    }
    return 0;
}

static size_t split(const struct model *m, const char *stops, struct mf_slice *tok, size_t max)
{
    size_t n = 0, start = 0;

    for (size_t i = 0; i <= m->nargs; i++) {
        bool stop = i == m->nargs || (m->args[i] != 0 && strchr(stops, m->args[i]) != NULL);

        if (!stop)
            continue;
        if (i > start) {
            if (n < max)
                tok[n] = mf_slice(m->args + start, i - start);
            n++;
        }
        start = i + 1;
    }
    return n;
}

static int64_t number(struct mf_slice s)
{
    int64_t n = 0;

    if (s.len < 1 || s.len > 9)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return -1;
        n = 10 * n + (s.ptr[i] - '0');
    }
    return n;
}

static ssize_t take_payload(struct model *m, int64_t hdr, int64_t size)
{
    size_t start = m->pos;

    m->cmd->need = start + (size_t)size + 2;
    for (int64_t i = 0; i < size; i++) {
        if (m->pos++ == m->len)
            return 0;
    }
    for (const char *end = "\r\n"; *end != '\0'; end++) {
        if (m->pos == m->len)
            return 0;
        if (m->buf[m->pos++] != (uint8_t)*end)
            return PROTO_E_UNKNOWN;
    }
    m->cmd->hdr = mf_slice(m->buf + start, (size_t)hdr);
    m->cmd->payload = mf_slice(m->buf + start + hdr, (size_t)(size - hdr));
    return (ssize_t)m->pos;
}

static ssize_t model_pub(struct model *m, bool headers)
{
    struct mf_slice tok[4];
    size_t n = split(m, " \t", tok, 4), want = headers ? 3 : 2;
    int64_t hdr, size;

    if ((headers && !m->lim->headers) || n < want || n > want + 1)
        return PROTO_E_ARGS;
    if (memchr(tok[0].ptr, '\n', tok[0].len) != NULL)
        return PROTO_E_ARGS;
    hdr = headers ? number(tok[n - 2]) : 0;
    size = number(tok[n - 1]);
    if (hdr < 0 || size < 0 || hdr > size)
        return PROTO_E_ARGS;
    if ((uint64_t)size > m->lim->max_payload)
        return PROTO_E_PAYLOAD;
    m->cmd->subject = tok[0];
    m->cmd->reply = n > want ? tok[1] : MF_SLICE_NONE;
    return take_payload(m, hdr, size);
}

static ssize_t model_sub(struct model *m)
{
    struct mf_slice tok[3];
    size_t n = split(m, " \t\r\n", tok, 3);

    if (n < 2 || n > 3)
        return PROTO_E_ARGS;
    m->cmd->subject = tok[0];
    m->cmd->queue = n == 3 ? tok[1] : MF_SLICE_NONE;
    m->cmd->sid = tok[n - 1];
    return (ssize_t)m->pos;
}

static ssize_t model_unsub(struct model *m)
{
    struct mf_slice tok[2];
    size_t n = split(m, " \t\r\n", tok, 2);

    if (n < 1 || n > 2)
        return PROTO_E_ARGS;
    m->cmd->sid = tok[0];
    m->cmd->max = n == 2 && number(tok[1]) > 0 ? (uint64_t)number(tok[1]) : 0;
    return (ssize_t)m->pos;
}

static ssize_t model_rest(struct model *m)
{
    const char *blanks = " \t\r\n";

    while (m->nargs > 0 && memchr(blanks, m->args[0], 4) != NULL) {
        m->args++;
        m->nargs--;
    }
    while (m->nargs > 0 && memchr(blanks, m->args[m->nargs - 1], 4) != NULL)
        m->nargs--;
    m->cmd->args = mf_slice(m->args, m->nargs);
    return (ssize_t)m->pos;
}

static ssize_t model_op(struct model *m, enum proto_op op, const char *word, bool blank)
{
    ssize_t rc = take_word(m, word);

    if (rc <= 0)
        return rc;
    m->cmd->op = op;
    if (op == PROTO_PING || op == PROTO_PONG || op == PROTO_OK)
        return take_junk(m);
    if (blank && m->pos == m->len)
        return 0;
    if (blank && !is_blank(m->buf[m->pos]))
        return PROTO_E_UNKNOWN;
    rc = take_args(m);
    if (rc <= 0)
        return rc;
    if (op == PROTO_PUB || op == PROTO_HPUB)
        return model_pub(m, op == PROTO_HPUB);
    if (op == PROTO_SUB)
        return model_sub(m);
    return op == PROTO_UNSUB ? model_unsub(m) : model_rest(m);
}

static ssize_t model_p(struct model *m)
{
    if (m->len == 1)
        return 0;
    switch (m->buf[1]) {
    case 'U':
    case 'u':
        return model_op(m, PROTO_PUB, "PUB", true);
    case 'I':
    case 'i':
        return model_op(m, PROTO_PING, "PING", false);
    case 'O':
    case 'o':
        return model_op(m, PROTO_PONG, "PONG", false);
    default:
        return PROTO_E_UNKNOWN;
    }
}

ssize_t model_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                    struct proto_cmd *out)
{
    struct model m = {.buf = buf, .len = len, .lim = lim, .cmd = out};

    memset(out, 0, sizeof *out);
    out->need = len + 1;
    if (len == 0)
        return 0;
    if (lim->connect_only && buf[0] != 'C' && buf[0] != 'c')
        return PROTO_E_AUTH;
    switch (buf[0]) {
    case 'P':
    case 'p':
        return model_p(&m);
    case 'H':
    case 'h':
        return model_op(&m, PROTO_HPUB, "HPUB", true);
    case 'S':
    case 's':
        return model_op(&m, PROTO_SUB, "SUB", true);
    case 'U':
    case 'u':
        return model_op(&m, PROTO_UNSUB, "UNSUB", true);
    case 'C':
    case 'c':
        return model_op(&m, PROTO_CONNECT, "CONNECT", false);
    case 'I':
    case 'i':
        return model_op(&m, PROTO_INFO, "INFO", false);
    case '+':
        return model_op(&m, PROTO_OK, "+OK", false);
    case '-':
        return model_op(&m, PROTO_ERR, "-ERR", true);
    default:
        return PROTO_E_UNKNOWN;
    }
}

const char *model_differs(ssize_t rc, const struct proto_cmd *cmd, ssize_t model_rc,
                          const struct proto_cmd *model)
{
    if (rc != model_rc)
        return "result";
    if (rc < 0)
        return NULL;
    if (rc == 0)
        return cmd->need != model->need ? "need" : NULL;
    if (cmd->op != model->op)
        return "op";
    if (!mf_eq(cmd->args, model->args))
        return "args";
    if (!mf_eq(cmd->subject, model->subject) || !mf_eq(cmd->reply, model->reply))
        return "subject or reply";
    if (!mf_eq(cmd->queue, model->queue) || !mf_eq(cmd->sid, model->sid) || cmd->max != model->max)
        return "queue, sid or max";
    if (!mf_eq(cmd->hdr, model->hdr) || !mf_eq(cmd->payload, model->payload))
        return "header or payload";
    return NULL;
}
