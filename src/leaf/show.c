/* show.c: the dialog of a link as -V shows it, in nats-server's form. */
#include "leaf/leaf_impl.h"

#include "base/log.h"
#include "session/trace.h"

#include <stdio.h>
#include <stdlib.h>

static struct trace_options trace_options(const struct leaf_link *l)
{
    const struct options *o = l->leaf->options;

    return (struct trace_options){.headers_only = o->trace_headers,
                                  .max_len = o->max_traced_msg_len};
}

/* The first line of bytes, without its end. */
static struct mf_slice first_line(struct mf_slice s)
{
    const uint8_t *lf = s.len == 0 ? NULL : memchr(s.ptr, '\n', s.len);
    size_t len = lf == NULL ? s.len : (size_t)(lf - s.ptr);

    while (len > 0 && s.ptr[len - 1] == '\r')
        len--;
    return mf_slice(s.ptr, len);
}

void show_received(const struct leaf_link *l, const struct verb_cmd *cmd, struct mf_slice bytes)
{
    struct proto_cmd connect = {.op = PROTO_CONNECT, .args = cmd->args};
    struct mf_msg m = {.hdr = cmd->hdr, .payload = cmd->payload};
    struct trace_options o = trace_options(l);
    char label[LINK_LABEL];

    (void)link_label(l, label);
    if (cmd->op == VERB_CONNECT)
        trace_command(label, &connect, bytes); /* without its secrets */
    else if (cmd->op != VERB_INFO)
        log_trace("%s - <<- [%.*s]", label, MF_FMT(first_line(bytes)));
    if (cmd->op == VERB_MSG)
        trace_payload(label, false, &m, &o);
    if (cmd->op == VERB_UNSUB)
        log_trace("%s - <-> [DELSUB %.*s%s%.*s]", label, MF_FMT(cmd->subject),
                  cmd->queue.len > 0 ? " " : "", MF_FMT(cmd->queue));
}

void show_sent(const struct leaf_link *l, struct mf_slice line)
{
    char label[LINK_LABEL];

    log_trace("%s - ->> [%.*s]", link_label(l, label), MF_FMT(first_line(line)));
}

void show_message(const struct leaf_link *l, const struct verb_line *line, const struct mf_msg *msg)
{
    struct mf_msg m = {.payload = msg->payload};
    struct trace_options o = trace_options(l);
    uint8_t *text = malloc(verb_line_room(line));
    char label[LINK_LABEL];

    if (text == NULL)
        return;
    if (line->hdr > 0)
        m.hdr = msg->hdr;
    show_sent(l, mf_slice(text, verb_line_write(text, line)));
    trace_payload(link_label(l, label), true, &m, &o);
    free(text);
}
