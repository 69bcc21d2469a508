/* s2.h: the S2 compression format (a superset of Snappy): blocks, and the framed stream of
 * nats-server's snapshots. Pure; O(bytes).  Input may be hostile: sizes are checked before memory
 * is allocated, and no access leaves the buffers. */
#ifndef MAYFLY_S2_H
#define MAYFLY_S2_H

#include "base/buf.h"

/* Blocks.  Bound of the compressed size of n bytes. */
size_t s2_bound(size_t n);
/* Compresses to dst (room for s2_bound(src.len)); returns the bytes written.  Never fails. */
size_t s2_compress(uint8_t *dst, struct mf_slice src);
/* The length an encoded block says it has; MF_INVAL. */
MF_MUSTCHECK int s2_length(struct mf_slice block, size_t *n);
/* dst has exactly that length.  MF_CORRUPT. */
MF_MUSTCHECK int s2_uncompress(uint8_t *dst, size_t n, struct mf_slice block);

/* Frames: appends to out.  begin: the stream identifier; add: chunks of at most 64 KiB with their
 * CRC32C, compressed where that saves something. */
void s2_frame_begin(struct mf_buf *out);
void s2_frame_begin_snappy(struct mf_buf *out); /* for readers that know Snappy alone */
void s2_frame_add(struct mf_buf *out, struct mf_slice bytes);
void s2_frame_add_plain(struct mf_buf *out, struct mf_slice bytes); /* never compressed */

/* Reading frames piece by piece. */
struct s2_reader {
    struct mf_buf in; /* bytes whose chunk is not complete yet, or waits for its turn */
    size_t done;      /* of `in`: read already */
    size_t chunk_max; /* of a chunk, as it comes and uncompressed; 0: S2_CHUNK_MAX, and whatever
                         length chunks to skip have */
    bool started;     /* the stream identifier was seen */
    bool more;        /* a whole chunk may be left in `in` */
};
void s2_reader_init(struct s2_reader *r);
void s2_reader_fini(struct s2_reader *r);
/* Reads the next piece of the stream and appends the uncompressed bytes to out.  A few bytes may
 * expand to many: one call appends about S2_READ_MAX at most (one chunk more, S2_CHUNK_MAX), the
 * next call continues; while s2_reader_more(), call it with an empty piece.  MF_CORRUPT: not such
 * a stream, or a wrong checksum.  MF_NOMEM.  After an error only fini is left. */
#define S2_READ_MAX  (256u << 10)
#define S2_CHUNK_MAX (4u << 20)
MF_MUSTCHECK int s2_reader_feed(struct s2_reader *r, struct mf_slice piece, struct mf_buf *out);
static inline bool s2_reader_more(const struct s2_reader *r)
{
    return r->more;
}
bool s2_reader_clean(const struct s2_reader *r); /* no chunk is cut in two here */

#endif
