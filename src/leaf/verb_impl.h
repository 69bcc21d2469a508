/* verb_impl.h: the text protocol of a link: a stateless parser and writers of lines.  Slices point
 * into the caller's buffer; nothing is allocated.  O(control line); payloads are not read.
 *
 *     INFO {json}   CONNECT {json}   PING   PONG   +OK   -ERR 'text'
 *     LS+ <subject> [<queue> <weight>]            LS- <subject> [<queue>]
 *     LMSG <subject> [<reply>] <size>             HMSG <subject> [<reply>] <header> <size>
 *     LMSG <subject> | <queue>... <size>          LMSG <subject> + <reply> <queue>... <size>
 *     HMSG with queues: the same with <header> <size> at the end
 *
 * Verbs in any case.  PUB is read and has no effect, as in nats-server. */
#ifndef LEAF_VERB_IMPL_H
#define LEAF_VERB_IMPL_H

#include "base/base.h"

#define VERB_LINE_MAX   65536     /* a control line: behind the verb, up to the line end */
#define VERB_WEIGHT_MAX 999999999 /* nine digits: no number may have more */

enum verb_op {
    VERB_INFO,
    VERB_CONNECT,
    VERB_PING,
    VERB_PONG,
    VERB_OK,
    VERB_ERR,
    VERB_SUB,   /* LS+ */
    VERB_UNSUB, /* LS- */
    VERB_MSG,   /* LMSG and HMSG */
    VERB_IGNORE,
};

/* Violations, and the answer to each.  All close the link. */
enum verb_error {
    VERB_E_UNKNOWN = -2000, /* -ERR 'Unknown Protocol Operation' */
    VERB_E_ARGS,            /* no answer */
    VERB_E_LINE,            /* -ERR 'maximum control line exceeded' */
    VERB_E_PAYLOAD,         /* -ERR 'Maximum Payload Violation' */
};

/* Fields that the command does not have are empty. */
struct verb_cmd {
    enum verb_op op;
    struct mf_slice args;           /* INFO, CONNECT: the JSON; -ERR: the text without quotes */
    struct mf_slice subject, queue; /* queue: LS+ and LS- */
    struct mf_slice reply, queues;  /* queues: the names as they stand there, with blanks */
    struct mf_slice hdr, payload;
    uint32_t nqueues, weight; /* weight: of LS+ with a queue */
    /* Of a message whose payload is incomplete: the bytes of all of it.  Its line need not be
     * parsed again before they are there.  The caller zeroes it. */
    size_t whole;
};

/* Bytes consumed (> 0), 0 when incomplete, or a verb_error; out is valid only in the first case,
 * but for out->whole. Limits are refused as soon as the control line shows them, before the payload
 * arrives. max_payload: header and payload together. */
ssize_t verb_parse(const uint8_t *buf, size_t len, size_t max_payload, struct verb_cmd *out);
/* The next name in cmd.queues; first call with *rest = cmd.queues.  false: none is left. */
bool verb_next_queue(struct mf_slice *rest, struct mf_slice *name);

/* --- lines of messages ------------------------------------------------------------------------ */

/* A message line as it is sent.  shown: the subject that receivers see, if it is not the routed one
 * (a consumer's delivery); it travels behind an '@' in the reply. */
struct verb_line {
    struct mf_slice subject, reply, shown;
    const struct mf_slice *queue;
    uint32_t nqueues;
    size_t hdr, size; /* bytes of the header (0: LMSG), and of header and payload together */
};
size_t verb_line_room(const struct verb_line *l);
size_t verb_line_write(uint8_t *dst, const struct verb_line *l); /* with its line end */
/* Takes a reply apart: "$JS.ACK.….@subject" names the subject that receivers see.  false: it does
 * not, and both are unchanged. */
bool verb_split_reply(struct mf_slice *reply, struct mf_slice *shown);

#endif
