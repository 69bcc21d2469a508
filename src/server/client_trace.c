/* client_trace.c: what -V shows of a dialog, in nats-server's form. */
#include "server/client_trace_impl.h"

#include "base/log.h"
#include "base/utf8.h"

#include <stdio.h>

/* --- CONNECT without its secrets -------------------------------------------------------------- */

/* The end of a JSON string that begins at p[at], behind its closing quote; 0: it has none, or an
 * escape, and could be any text. */
static size_t string_end(struct mf_slice json, size_t at, bool plain)
{
    for (size_t i = at + 1; i < json.len; i++) {
        if (json.ptr[i] == '"')
            return i + 1;
        if (json.ptr[i] == '\\' && (plain || ++i == json.len))
            return 0;
    }
    return 0;
}

static bool is_secret(struct mf_slice name)
{
    static const char *const names[] = {"pass", "auth_token", "nkey", "sig", "jwt"};

    for (size_t i = 0; i < MF_COUNT(names); i++)
        if (mf_eq_nocase(name, names[i]))
            return true;
    return false;
}

static size_t skip_blanks(struct mf_slice s, size_t at)
{
    while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t'))
        at++;
    return at;
}

/* Copies json, secrets replaced.  false: it is not written as clients write it, and is not shown.
 */
static bool redact(struct mf_buf *out, struct mf_slice json)
{
    size_t at = 0, end, value;

    while (at < json.len) {
        if (json.ptr[at] != '"') {
            mf_buf_byte(out, (char)json.ptr[at++]);
            continue;
        }
        if ((end = string_end(json, at, false)) == 0)
            return false;
        struct mf_slice text = mf_slice(json.ptr + at + 1, end - at - 2);
        value = skip_blanks(json, end);
        bool name = value < json.len && json.ptr[value] == ':';
        if (name && string_end(json, at, true) == 0)
            return false; /* an escape in a name */
        mf_buf_append(out, json.ptr + at, end - at);
        at = end;
        if (!name || !is_secret(text))
            continue;
        value = skip_blanks(json, value + 1);
        if (value >= json.len || json.ptr[value] != '"' ||
            (end = string_end(json, value, false)) == 0)
            return false;
        mf_buf_append(out, json.ptr + at, value - at);
        mf_buf_puts(out, "\"[REDACTED]\"");
        at = end;
    }
    return true;
}

/* --- in --------------------------------------------------------------------------------------- */

/* The rest of the line that begins with the command's name. */
static struct mf_slice arguments(struct mf_slice command)
{
    const uint8_t *lf = memchr(command.ptr, '\n', command.len);
    size_t end = lf == NULL ? command.len : (size_t)(lf - command.ptr), at = 0;

    if (end > 0 && command.ptr[end - 1] == '\r')
        end--;
    while (at < end && command.ptr[at] != ' ' && command.ptr[at] != '\t')
        at++;
    at = skip_blanks(mf_slice(command.ptr, end), at);
    return mf_slice(command.ptr + at, end - at);
}

static void trace_connect(const char *label, struct mf_slice json)
{
    struct mf_buf text = MF_BUF_INIT;

    if (redact(&text, json) && !mf_buf_failed(&text))
        log_trace("%s - <<- [CONNECT %s]", label, mf_buf_cstr(&text));
    else
        log_trace("%s - <<- [CONNECT {...}]", label);
    mf_buf_fini(&text);
}

void client_trace_in(const struct client *c, const struct proto_cmd *cmd, struct mf_slice command)
{
    static const char *const names[] = {"CONNECT", "PUB",  "HPUB", "SUB", "UNSUB",
                                        "PING",    "PONG", "INFO", "+OK", "-ERR"};
    char label[256];

    client_label(c, label, sizeof label);
    if (cmd->op == PROTO_CONNECT)
        trace_connect(label, cmd->args);
    else if (cmd->op <= PROTO_UNSUB)
        log_trace("%s - <<- [%s %.*s]", label, names[cmd->op], MF_FMT(arguments(command)));
    else
        log_trace("%s - <<- [%s]", label, names[cmd->op]);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* Headers and payload, as far as max_traced_msg_len lets them show; with trace_headers the headers
 * alone, without the end of their block. */
void client_trace_payload(const struct client *c, bool out, const struct mf_msg *m)
{
    const struct options *o = c->srv->opts;
    struct mf_buf all = MF_BUF_INIT, text = MF_BUF_INIT;
    char label[256];

    mf_buf_append(&all, m->hdr.ptr, m->hdr.len);
    if (!o->trace_headers)
        mf_buf_append(&all, m->payload.ptr, m->payload.len);
    else if (all.len >= 4)
        all.len -= 4;
    struct mf_slice shown = mf_buf_slice(&all);
    bool cut = o->max_traced_msg_len > 0 && shown.len > (uint64_t)o->max_traced_msg_len;
    if (cut)
        shown.len = (size_t)o->max_traced_msg_len;
    utf8_quote(&text, shown);
    if (shown.len > 0 && !mf_buf_failed(&all) && !mf_buf_failed(&text))
        log_trace("%s - %s MSG_PAYLOAD: [%.*s%s]", client_label(c, label, sizeof label),
                  out ? "->>" : "<<-", (int)(text.len - cut), (const char *)text.ptr,
                  cut ? "...\"" : "");
    mf_buf_fini(&all);
    mf_buf_fini(&text);
}

/* --- out -------------------------------------------------------------------------------------- */

/* Trace of what was sent: one form for all who send. */
void client_trace_out(const struct client *c, const char *fmt, ...)
{
    char label[256], text[1024];
    va_list args;

    if (!log_enabled(LOG_TRACE_))
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_trace("%s - ->> [%s]", client_label(c, label, sizeof label), text);
}

static void trace_msg(const struct client *c, struct mf_slice sid, const struct mf_msg *m)
{
    char sizes[48];

    if (m->hdr.len > 0)
        snprintf(sizes, sizeof sizes, "%zu %zu", m->hdr.len, m->hdr.len + m->payload.len);
    else
        snprintf(sizes, sizeof sizes, "%zu", m->payload.len);
    client_trace_out(c, "%sMSG %.*s %.*s %.*s%s%s", m->hdr.len > 0 ? "H" : "", MF_FMT(m->subject),
                     MF_FMT(sid), MF_FMT(m->reply), m->reply.len > 0 ? " " : "", sizes);
    client_trace_payload(c, true, m);
}

void client_trace_delivery(const struct sub *sub, const struct mf_msg *m)
{
    char label[256];

    if (sub->max != 0 && sub->delivered >= sub->max)
        log_debug("%s - Auto-unsubscribe limit of %llu reached for sid '%.*s'",
                  client_label(sub->client, label, sizeof label), (unsigned long long)sub->max,
                  (int)sub->sid_len, (const char *)sub->sid);
    if (log_enabled(LOG_TRACE_))
        trace_msg(sub->client, mf_slice(sub->sid, sub->sid_len), m);
}

void client_trace_delsub(const struct client *c, struct mf_slice sid)
{
    char label[256];

    log_trace("%s - <-> [DELSUB %.*s]", client_label(c, label, sizeof label), MF_FMT(sid));
}
