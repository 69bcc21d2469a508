/* client_trace.c: what -V shows of a dialog, in nats-server's form. */
#include "server_int.h"

#include "mayfly/log.h"

#include <stdio.h>

/* The payload, as far as max_traced_msg_len lets it show; with trace_headers the headers alone. */
static void trace_payload(const struct client *c, const char *label, const struct proto_cmd *cmd)
{
    int64_t max = c->srv->opts->max_traced_msg_len;
    bool headers = c->srv->opts->trace_headers;
    struct mf_slice shown = headers ? cmd->hdr : cmd->payload;
    bool cut = max > 0 && shown.len > (uint64_t)max;

    if (headers && shown.len == 0)
        return;
    if (cut)
        shown.len = (size_t)max;
    log_trace("%s - <<- MSG_PAYLOAD: [\"%.*s%s\"]", label, MF_FMT(shown), cut ? "..." : "");
}

void client_trace_in(const struct client *c, const struct proto_cmd *cmd)
{
    static const char *const names[] = {"CONNECT", "PUB",  "HPUB", "SUB", "UNSUB",
                                        "PING",    "PONG", "INFO", "+OK", "-ERR"};
    char label[256], sizes[48] = "";

    client_label(c, label, sizeof label);
    if (cmd->op == PROTO_CONNECT) /* never the credentials */
        log_trace("%s - <<- [CONNECT {...}]", label);
    else if (cmd->op == PROTO_PUB || cmd->op == PROTO_HPUB) {
        snprintf(sizes, sizeof sizes, cmd->op == PROTO_HPUB ? " %zu %zu" : " %zu",
                 cmd->op == PROTO_HPUB ? cmd->hdr.len : cmd->payload.len,
                 cmd->hdr.len + cmd->payload.len);
        log_trace("%s - <<- [%s %.*s%s%.*s%s]", label, names[cmd->op], MF_FMT(cmd->subject),
                  cmd->reply.len ? " " : "", MF_FMT(cmd->reply), sizes);
        trace_payload(c, label, cmd);
    } else if (cmd->op == PROTO_SUB)
        log_trace("%s - <<- [SUB %.*s %.*s %.*s]", label, MF_FMT(cmd->subject), MF_FMT(cmd->queue),
                  MF_FMT(cmd->sid));
    else if (cmd->op == PROTO_UNSUB)
        log_trace("%s - <<- [UNSUB %.*s %llu]", label, MF_FMT(cmd->sid),
                  (unsigned long long)cmd->max);
    else
        log_trace("%s - <<- [%s]", label, names[cmd->op]);
}

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
