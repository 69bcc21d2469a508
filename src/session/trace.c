/* trace.c: lines of the trace. */
#include "session/trace.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/utf8.h"

#include <stdio.h>

/* --- CONNECT without its secrets -------------------------------------------------------------- */

/* The index behind the closing quote of the JSON string at p[at]; 0: no end, or an escape, which
 * could hide any text. */
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
    static const char *const names[] = {"pass", "auth_token", "nkey", "sig", "jwt", "proxy_sig"};

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

/* Copies json with secrets replaced. false: unusual JSON, which is not shown. */
static bool redact_secrets(struct mf_buf *out, struct mf_slice json)
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
static struct mf_slice arguments_of(struct mf_slice command)
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

    if (redact_secrets(&text, json) && !mf_buf_failed(&text))
        log_trace("%s - <<- [CONNECT %s]", label, mf_buf_cstr(&text));
    else
        log_trace("%s - <<- [CONNECT {...}]", label);
    mf_buf_fini(&text);
}

void trace_command(const char *label, const struct proto_cmd *cmd, struct mf_slice line)
{
    static const char *const names[] = {"CONNECT", "PUB",  "HPUB", "SUB", "UNSUB",
                                        "PING",    "PONG", "INFO", "+OK", "-ERR"};

    if (cmd->op == PROTO_CONNECT)
        trace_connect(label, cmd->args);
    else if (cmd->op <= PROTO_UNSUB)
        log_trace("%s - <<- [%s %.*s]", label, names[cmd->op], MF_FMT(arguments_of(line)));
    else
        log_trace("%s - <<- [%s]", label, names[cmd->op]);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* Requests to the service of an auth callout hold passwords; its responses, users. */
static bool is_login_subject(struct mf_slice subject)
{
    return mf_eq_str(subject, "$SYS.REQ.USER.AUTH") || mf_starts(subject, "$SYS._INBOX.");
}

/* With headers_only the end of the header block is not shown. */
void trace_payload(const char *label, bool out, const struct mf_msg *m,
                   const struct trace_options *o)
{
    struct mf_buf all = MF_BUF_INIT, text = MF_BUF_INIT;

    mf_buf_append(&all, m->hdr.ptr, m->hdr.len);
    if (is_login_subject(m->subject))
        mf_buf_puts(&all, "[REDACTED]");
    else if (!o->headers_only)
        mf_buf_append(&all, m->payload.ptr, m->payload.len);
    else if (all.len >= 4)
        all.len -= 4;
    struct mf_slice shown = mf_buf_slice(&all);
    bool cut = o->max_len > 0 && shown.len > (uint64_t)o->max_len;
    if (cut)
        shown.len = (size_t)o->max_len;
    utf8_quote(&text, shown);
    if (shown.len > 0 && !mf_buf_failed(&all) && !mf_buf_failed(&text))
        log_trace("%s - %s MSG_PAYLOAD: [%.*s%s]", label, out ? "->>" : "<<-",
                  (int)(text.len - cut), (const char *)text.ptr, cut ? "...\"" : "");
    mf_buf_fini(&all);
    mf_buf_fini(&text);
}

/* --- out -------------------------------------------------------------------------------------- */

void trace_msg(const char *label, struct mf_slice sid, const struct mf_msg *m,
               const struct trace_options *o)
{
    char text[1024], sizes[48];

    if (m->hdr.len > 0)
        snprintf(sizes, sizeof sizes, "%zu %zu", m->hdr.len, m->hdr.len + m->payload.len);
    else
        snprintf(sizes, sizeof sizes, "%zu", m->payload.len);
    snprintf(text, sizeof text, "%sMSG %.*s %.*s %.*s%s%s", m->hdr.len > 0 ? "H" : "",
             MF_FMT(m->subject), MF_FMT(sid), MF_FMT(m->reply), m->reply.len > 0 ? " " : "", sizes);
    log_trace("%s - ->> [%s]", label, text);
    trace_payload(label, true, m, o);
}
