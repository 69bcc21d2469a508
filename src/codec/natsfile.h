/* natsfile.h: files of nats-server's file store, as its folders and its backups up to 2.14 hold
 * them.  Pure, of any bytes; O(bytes).  Numbers are little endian; a uvarint is Go's.
 *
 *     msgs/N.blk       records: u32 length, bit 31: with headers     u64 sequence, bit 63: erased,
 *                      bit 62: tombstone, that message was removed     i64 timestamp
 *                      u16 length of the subject     subject, [u32 length of headers, headers],
 *                      payload     u64 check: HighwayHash of sequence and timestamp, subject,
 *                      headers and payload; key: SHA-256 of "<stream>-<N>"
 *     msgs/index.db    11, version 1..4, the state, subjects, blocks with their first and last
 *                      sequence and what is deleted between, the last block and its last check;
 *                      then HighwayHash of all of it; key: SHA-256 of the stream's name
 *     obs/X/o.dat      22, version 1..2: a consumer's state */
#ifndef MAYFLY_NATSFILE_H
#define MAYFLY_NATSFILE_H

#include "codec/highway.h"

/* Takes one off the front of *s; false: cut off, or more than 64 bits. */
bool natsfile_uvarint(struct mf_slice *s, uint64_t *out);

struct natsfile_record {
    uint64_t seq;
    int64_t ts_ns;
    bool erased, tombstone;
    struct mf_slice subject, hdr, payload;
    uint8_t check[HIGHWAY_BYTES];
    size_t size;
};
void natsfile_block_key(const char *stream, uint32_t block, uint8_t key[HIGHWAY_KEY]);
/* The record at the beginning of in.  MF_AGAIN: not all of it is there; it is less than 100 KB and
 * max_body.  MF_LIMIT: message r->seq is larger.  MF_CORRUPT: not a record.  MF_INVAL: its check is
 * wrong. */
MF_MUSTCHECK int natsfile_record(struct mf_slice in, const uint8_t key[HIGHWAY_KEY],
                                 size_t max_body, struct natsfile_record *r);

/* Sequences that are deleted in a block. */
struct natsfile_set {
    struct mf_slice left; /* nodes */
    size_t words;         /* of 64 bits in each */
    uint64_t base, bits;
    size_t at; /* words of the node that were read; 0: none */
};
bool natsfile_set_next(struct natsfile_set *x, uint64_t *seq); /* false: no more */
/* Does each of its nodes hold a sequence?  Then natsfile_set_next() is O(1).  O(bytes). */
bool natsfile_set_sound(const struct natsfile_set *x);

struct natsfile_block {
    uint32_t index;
    uint64_t bytes, first, last, ndeleted;
    struct natsfile_set deleted;
};
struct natsfile_index {
    uint8_t version;
    uint64_t msgs, bytes, first_seq, last_seq;
    int64_t last_ts_ns;
    uint64_t blocks; /* not read yet */
    struct mf_slice left;
};
/* MF_CORRUPT: not one, or damaged. */
MF_MUSTCHECK int natsfile_index_open(struct natsfile_index *x, struct mf_slice bytes,
                                     const char *stream);
/* While x->blocks > 0. */
MF_MUSTCHECK int natsfile_index_next(struct natsfile_index *x, struct natsfile_block *b);
/* Then: the last block and the check of its last record. */
MF_MUSTCHECK int natsfile_index_end(struct natsfile_index *x, uint32_t *block,
                                    uint8_t check[HIGHWAY_BYTES]);

/* A consumer's state. */
struct natsfile_consumer {
    uint64_t floor_dseq, floor_sseq, dseq, sseq; /* ack floor; delivered last */
    uint64_t pending, redelivered;               /* not read yet */
    uint8_t version;
    bool counted; /* the number of redelivered ones was read */
    int64_t base; /* of timestamps, seconds */
    struct mf_slice left;
};
/* MF_CORRUPT: not one, or cut off. */
MF_MUSTCHECK int natsfile_consumer_open(struct natsfile_consumer *x, struct mf_slice bytes);
/* Messages that wait for their ack, in no order, while x->pending > 0.  dseq: 0 in version 1. */
MF_MUSTCHECK int natsfile_consumer_pending(struct natsfile_consumer *x, uint64_t *sseq,
                                           uint64_t *dseq, int64_t *sent_ns);
/* Then, while x->redelivered > 0: deliveries - 1. */
MF_MUSTCHECK int natsfile_consumer_again(struct natsfile_consumer *x, uint64_t *sseq,
                                         uint64_t *count);

#endif
