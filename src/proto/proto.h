/* proto.h: the NATS client protocol: a stateless parser and writers of lines.  Slices point into
 * the caller's buffer.  O(control line) per command; payload bytes are not read.
 *
 * The session decides on commands that make no sense from a client, as nats-server does: -ERR
 * closes the connection without an answer, and so does an INFO or CONNECT whose argument is not a
 * JSON object (or null) with the right types; +OK, PONG and a good INFO are ignored. */
#ifndef MAYFLY_PROTO_H
#define MAYFLY_PROTO_H

#include "base/base.h"

enum proto_op {
    PROTO_CONNECT,
    PROTO_PUB,
    PROTO_HPUB,
    PROTO_SUB,
    PROTO_UNSUB,
    PROTO_PING,
    PROTO_PONG,
    PROTO_INFO,
    PROTO_OK,
    PROTO_ERR,
};

/* Violations, and the session's answer to each.  All close the connection. */
enum proto_error {
    PROTO_E_UNKNOWN = -1000, /* -ERR 'Unknown Protocol Operation' */
    PROTO_E_ARGS,            /* no answer */
    PROTO_E_LINE,            /* -ERR 'maximum control line exceeded' */
    PROTO_E_PAYLOAD,         /* -ERR 'Maximum Payload Violation' */
    PROTO_E_AUTH,            /* connect_only: -ERR 'Authorization Violation' */
};

struct proto_limits {
    size_t max_control_line; /* counted from the first argument to the CR */
    size_t max_payload;      /* header and payload together */
    bool headers;            /* HPUB allowed */
    bool connect_only;       /* credentials are due: the first byte must be a C */
};

/* Fields that the command does not have are empty. */
struct proto_cmd {
    enum proto_op op;
    struct mf_slice args; /* CONNECT, INFO, -ERR: the rest of the line, blanks trimmed */
    struct mf_slice subject, reply, queue, sid;
    struct mf_slice hdr, payload;
    uint64_t max; /* UNSUB; 0: at once */
    size_t need;  /* result 0: the whole command has at least this many bytes */
};

/* Bytes consumed (> 0), 0 when incomplete, or a proto_error; out is valid only in the first case
 * (out->need in the second).  The answer does not depend on how the input was cut: a prefix of a
 * good command is incomplete, a prefix of a bad one is incomplete or already that error.  A
 * violation of a limit is an error as soon as the control line shows it, before the payload
 * arrives, so the session buffers at most verb, 2 * max_control_line and max_payload.  Reads
 * nothing behind buf + len. */
ssize_t proto_parse(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                    struct proto_cmd *out);

/* Writes "MSG <subject> <sid> [reply] <n>\r\n" (HMSG when hdr is not empty) to dst, without header
 * and payload; dst needs proto_msg_room() bytes.  Returns the bytes written. */
static inline size_t proto_msg_room(struct mf_slice subject, struct mf_slice sid,
                                    struct mf_slice reply)
{
    return 5 + subject.len + 1 + sid.len + 1 + reply.len + 1 + 20 + 1 + 20 + 2;
}
size_t proto_msg_line(uint8_t *dst, struct mf_slice subject, struct mf_slice sid,
                      struct mf_slice reply, size_t hdr_len, size_t payload_len);
/* Decimal digits of n; returns how many. */
size_t proto_put_u64(uint8_t *dst, uint64_t n);

#endif
