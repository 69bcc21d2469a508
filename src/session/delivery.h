/* delivery.h: messages on their way to a peer, and whether the peer reads them. */
#ifndef MAYFLY_SESSION_DELIVERY_H
#define MAYFLY_SESSION_DELIVERY_H

#include "net/net.h"

struct delivery_output {
    uint64_t wire_bytes; /* of all messages, with their framing */
    int64_t read;        /* bytes that the peer had read at read_ns */
    int64_t read_ns;
};

/* Writes MSG or HMSG into the connection's output: no allocation of its own, no system call.  Large
 * payloads are lent (net_lend).  headers false: the peer does not understand them, they are left
 * out.  Returns the bytes of header and payload, or -1 without memory. */
ssize_t delivery_write(struct delivery_output *o, struct net_conn *conn, struct mf_slice sid,
                       const struct mf_msg *m, bool headers);
/* The same with another control line: write() fills at most `room` bytes at dst, its line end
 * included, and returns how many. */
ssize_t delivery_write_line(struct delivery_output *o, struct net_conn *conn, size_t room,
                            size_t (*write)(const void *arg, uint8_t *dst), const void *arg,
                            const struct mf_msg *m, bool headers);
/* Whether the peer has read a notable amount recently; queued: net_queued(). */
bool delivery_is_read(struct delivery_output *o, size_t queued, int64_t now_ns);

#endif
