/* s2_pipe.h: S2 streams in both directions of a connection, as nats-server compresses its links to
 * other servers.  Turned on in the middle of a dialog, over TLS and inside WebSocket too.
 *
 * Writing: one chunk for what leaves in one write; small ones are not compressed.
 * Reading: a chunk is read when it is whole.  The peer's chunks are bounded before their bytes are
 * kept, and a chunk that expands much is shown over several turns.
 * Memory: an idle connection holds no buffer larger than S2_PIPE_KEEP. */
#ifndef MAYFLY_S2_PIPE_H
#define MAYFLY_S2_PIPE_H

#include "net/net.h"

#define S2_PIPE_KEEP  (64u << 10)
#define S2_PIPE_SMALL 96 /* bytes that are not worth compressing */

struct s2_pipe;
struct s2_pipe_counts {
    uint64_t in_wire, in_plain, out_wire, out_plain; /* bytes */
};

/* As net_conn_set_filter(): earlier writes leave as they are, bytes that the handler has not
 * consumed are S2.  compress false: chunks without compression ("s2_uncompressed"), which every
 * reader takes.  most: the largest chunk that is taken, compressed and not; 0: what the format
 * allows (4 MiB).  NULL when the connection is closing, perhaps for lack of memory. */
struct s2_pipe *s2_pipe_start(struct net_conn *c, bool compress, size_t most);
/* The pipe is valid until closed(). */
void s2_pipe_set_level(struct s2_pipe *s, bool compress);
void s2_pipe_set_most(struct s2_pipe *s, size_t most);
const struct s2_pipe_counts *s2_pipe_counts(const struct s2_pipe *s);

#endif
