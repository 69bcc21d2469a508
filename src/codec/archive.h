/* archive.h: the file format of a stream's snapshot (nats-server 2.15's "NATSARC1"), inside S2
 * frames.  Pure; O(bytes).
 *
 *     "NATSARC1", then entries, one behind the other:
 *        uvarint  length of the name          varint   timestamp, ns since 1970 (zigzag)
 *        uvarint  sequence, 0: none           uvarint  bytes of headers     uvarint  bytes of
 * payload the name, the headers, the payload state.json first, then consumers/NAME, then messages
 * (name: the subject) in the order of sequences; an entry with nothing in it is the end: without it
 * the archive is cut off. */
#ifndef MAYFLY_ARCHIVE_H
#define MAYFLY_ARCHIVE_H

#include "base/buf.h"

#define ARCHIVE_STATE     "state.json"
#define ARCHIVE_CONSUMERS "consumers/"
#define ARCHIVE_NAME_MAX  65535u

struct archive_entry {
    struct mf_slice name, hdr, payload;
    int64_t ts_ns;
    uint64_t seq; /* 0: not a message */
    bool end;     /* the last one */
    bool skipped; /* not a message and too large: without its payload */
};

/* Appends to out; ask mf_buf_failed() at the end. */
void archive_begin(struct mf_buf *out);
void archive_add(struct mf_buf *out, const struct archive_entry *e);
void archive_end(struct mf_buf *out);

/* Reading: append received bytes to r->in (after archive_reader_ready()), then call archive_next()
 * until MF_AGAIN.  in never holds more than one unfinished entry and the bytes appended last. */
struct archive_reader {
    struct mf_buf in;
    size_t done;       /* of `in`: already read */
    size_t max_body;   /* of a message: headers and payload */
    size_t max_part;   /* of a state or a consumer; larger ones are read without their payload */
    uint64_t skipping; /* bytes of a body to be skipped */
    bool started, ended;
};
void archive_reader_init(struct archive_reader *r, size_t max_body, size_t max_part);
void archive_reader_fini(struct archive_reader *r);
/* Drops entries that were read; their slices end here. */
struct mf_buf *archive_reader_ready(struct archive_reader *r);
/* 0: *e, valid until archive_reader_ready().  MF_AGAIN: more bytes are needed (or it has ended).
 * MF_UNSUPPORTED: does not begin like an archive.  MF_LIMIT: message e->seq is too large.
 * MF_CORRUPT. */
MF_MUSTCHECK int archive_next(struct archive_reader *r, struct archive_entry *e);

#endif
