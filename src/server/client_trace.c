/* client_trace.c: lines of the trace, with the label of the client. */
#include "server/client_trace_impl.h"

#include "base/log.h"

#include <stdio.h>

static struct trace_options trace_options(const struct client *c)
{
    return (struct trace_options){.headers_only = c->srv->opts->trace_headers,
                                  .max_len = c->srv->opts->max_traced_msg_len};
}

void client_trace_in(const struct client *c, const struct proto_cmd *cmd, struct mf_slice command)
{
    char label[256];

    trace_command(client_label(c, label, sizeof label), cmd, command);
}

void client_trace_payload(const struct client *c, const struct mf_msg *m)
{
    struct trace_options o = trace_options(c);
    char label[256];

    trace_payload(client_label(c, label, sizeof label), false, m, &o);
}

/* --- out -------------------------------------------------------------------------------------- */

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

void client_trace_delivery(const struct sub *sub, const struct mf_msg *m)
{
    char label[256];

    if (sub->max != 0 && sub->delivered >= sub->max)
        log_debug("%s - Auto-unsubscribe limit of %llu reached for sid '%.*s'",
                  client_label(sub->client, label, sizeof label), (unsigned long long)sub->max,
                  (int)sub->sid_len, (const char *)sub->sid);
    if (log_enabled(LOG_TRACE_)) {
        struct trace_options o = trace_options(sub->client);
        trace_msg(client_label(sub->client, label, sizeof label), mf_slice(sub->sid, sub->sid_len),
                  m, &o);
    }
}

void client_trace_delsub(const struct client *c, struct mf_slice sid)
{
    char label[256];

    log_trace("%s - <-> [DELSUB %.*s]", client_label(c, label, sizeof label), MF_FMT(sid));
}
