/* nats_block.h: the records of one block file of nats-server's file store, of any bytes.  Pure.
 *
 *     N.blk    records (codec/natsfile.h); or, compressed: "cmp", 1 (S2), uvarint size of all
 *              records, all but the last 8 bytes of them as an S2 stream, those 8 bytes as they are
 *
 * Damage is passed over: a record whose check is wrong, if a sound one follows where its length
 * says, otherwise all bytes up to the next sound record.  nats-server drops the rest of the block.
 */
#ifndef CLI_NATS_BLOCK_H
#define CLI_NATS_BLOCK_H

#include "base/buf.h"
#include "codec/natsfile.h"

#define NATS_BLOCK_RECORD_MAX (32u << 20) /* larger ones are damage, as in nats-server */

struct nats_block {
    struct mf_slice bytes; /* records */
    size_t at;             /* the next one */
    uint8_t key[HIGHWAY_KEY];
    uint64_t effort; /* bytes that the search for sound records may still hash */
    /* Of the damage found last: */
    size_t bad_at, bad_size;
    bool torn; /* nothing but a record that was cut off, or zeros, up to the end of the file */
    const char *why;
};

/* Is the file compressed? */
bool nats_block_packed(struct mf_slice file);
/* Appends the records of a compressed file to out.  MF_CORRUPT, MF_UNSUPPORTED (not S2), MF_NOMEM.
 */
MF_MUSTCHECK int nats_block_unpack(struct mf_slice file, struct mf_buf *out);
/* bytes: not compressed, the caller's. */
void nats_block_open(struct nats_block *b, struct mf_slice bytes, const char *stream,
                     uint32_t number);
/* 0: *r, its slices in b->bytes.  MF_AGAIN: the end.  MF_CORRUPT: damage was passed over; go on.
 * Each call but the one that ends moves forward. */
MF_MUSTCHECK int nats_block_next(struct nats_block *b, struct natsfile_record *r);

#endif
