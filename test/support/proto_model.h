/* proto_model.h: a second, slow parser of the client protocol to hold proto_parse() against.  It
 * takes one byte at a time, as nats-server does, and shares no code with the real one. */
#ifndef TEST_PROTO_MODEL_H
#define TEST_PROTO_MODEL_H

#include "proto/proto.h"

/* As proto_parse(), but always the answer for the first complete or refused command. */
ssize_t model_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                    struct proto_cmd *out);
/* NULL, or the name of the first thing in which the two answers differ. */
const char *model_differs(ssize_t rc, const struct proto_cmd *cmd, ssize_t model_rc,
                          const struct proto_cmd *model);

#endif
