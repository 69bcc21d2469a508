/* trace.h: the dialog with a peer as -V shows it, in nats-server's form.  label names the peer. */
#ifndef MAYFLY_SESSION_TRACE_H
#define MAYFLY_SESSION_TRACE_H

#include "proto/proto.h"

struct trace_options {
    bool headers_only; /* trace_headers: no payloads */
    int64_t max_len;   /* max_traced_msg_len; 0: no limit */
};

/* line: the bytes of the command.  Secrets of CONNECT are not shown. */
void trace_command(const char *label, const struct proto_cmd *cmd, struct mf_slice line);
/* Header and payload of a message; out: sent to the peer.  Logins of auth callouts are not shown.
 */
void trace_payload(const char *label, bool out, const struct mf_msg *m,
                   const struct trace_options *o);
void trace_msg(const char *label, struct mf_slice sid, const struct mf_msg *m,
               const struct trace_options *o); /* MSG or HMSG, and its payload */

#endif
