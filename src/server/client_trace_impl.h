/* client_trace_impl.h: the dialog with a client as -V shows it. */
#ifndef SERVER_CLIENT_TRACE_IMPL_H
#define SERVER_CLIENT_TRACE_IMPL_H

#include "server/server_impl.h"

/* command: its bytes */
void client_trace_in(const struct client *c, const struct proto_cmd *cmd, struct mf_slice command);
void client_trace_payload(const struct client *c, const struct mf_msg *m); /* published by it */
/* A message written to its subscriber; also the end of an auto-unsubscribe (debug). */
void client_trace_delivery(const struct sub *sub, const struct mf_msg *m);
void client_trace_delsub(const struct client *c, struct mf_slice sid);
void client_trace_out(const struct client *c, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
