/* checkpoint.h: the index and the blobs as bytes (docs/disk-format.md, Checkpoint). */
#ifndef STORE_CHECKPOINT_H
#define STORE_CHECKPOINT_H

#include "store/index/index.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "store/store_io.h"

#define CHECKPOINT_NAME   "checkpoint"
#define CHECKPOINT_TMP    "checkpoint.tmp"
#define CHECKPOINT_HEADER 128u
#define CHECKPOINT_BLOCK  24u                 /* head of a block */
#define CHECKPOINT_LARGE  (1u << 20)          /* a block is no larger unless one entry is */
#define CHECKPOINT_ENTRY  22u                 /* of a message, without bits and key */
#define CHECKPOINT_BITS   ((uint64_t)1 << 63) /* of a deadline: a byte with RECORD_BITS follows */

struct checkpoint_head {
    uint8_t id[STORE_ID];
    struct record_pos start; /* replay starts here */
    uint32_t chain;
    uint64_t messages, blobs, last_seq, first_segment, file_size;
    bool bits;      /* an entry may have some: version 2 */
    uint8_t cipher; /* of the blocks; not 0: version 3 */
    struct record_mark mark;
    int64_t clock_ns;
};
void checkpoint_encode_head(uint8_t dst[CHECKPOINT_HEADER], const struct checkpoint_head *h);
/* The box of a block belongs to its place, count and base. */
#define CHECKPOINT_AD 24
static inline struct mf_slice checkpoint_ad(const uint8_t *block, uint64_t offset,
                                            uint8_t ad[CHECKPOINT_AD])
{
    put_u64(ad, offset);
    memcpy(ad + 8, block + 8, 16);
    ad[8] = 'C'; /* of the length a byte suffices: the box has it, too */
    return mf_slice(ad, CHECKPOINT_AD);
}
/* 0, MF_CORRUPT, MF_UNSUPPORTED. */
MF_MUSTCHECK int checkpoint_decode_head(const uint8_t src[CHECKPOINT_HEADER],
                                        struct checkpoint_head *h);

/* Appends one block to dst, which will lie at `offset` of the file: up to max entries (and 1 MiB)
 * from *from_seq on, moving it on; entries in removal are left out.  False: no entry was left
 * (dst unchanged). h->messages is raised, h->bits set if one has any.  Out of memory shows in
 * mf_buf_failed(). */
bool checkpoint_messages(const struct index *ix, uint64_t *from_seq, size_t max, uint64_t offset,
                         struct mf_buf *dst, struct checkpoint_head *h);
/* Blob blocks: begin, add each, end (fixes count and check).  A caller starts another block when
 * one grows beyond CHECKPOINT_LARGE. */
size_t checkpoint_blobs_begin(struct mf_buf *dst,
                              const struct checkpoint_head *h); /* where the block starts in dst */
void checkpoint_blobs_add(struct mf_buf *dst, size_t start, struct mf_slice name,
                          struct mf_slice bytes);
void checkpoint_blobs_end(struct mf_buf *dst, size_t start, uint64_t offset);
/* If h->cipher is set: seals the blocks in [p, p+n), which will lie at `offset` of the file.  On a
 * worker; they are no blocks before. */
void checkpoint_seal(uint8_t *p, size_t n, uint64_t offset, struct seal *seal);

/* Reads `checkpoint`: feeds messages to index_load_put() (index_load_begin() was called), blobs
 * to blob(), whose slices are valid in the call only.  MF_NOTFOUND: none; MF_CORRUPT: damaged at
 * *bad_offset: the index may hold part of it and must be discarded.  Memory: one block, if the io
 * can map and no block is sealed; otherwise the file.  seal: opens the blocks; NULL: none is
 * sealed. */
MF_MUSTCHECK int
checkpoint_load(struct store_io *io, struct seal *seal, struct index *ix, struct checkpoint_head *h,
                int (*blob)(void *arg, struct mf_slice name, struct mf_slice bytes), void *arg,
                uint64_t *bad_offset, struct mf_error *e);
/* Only its head, checked against the file's size.  Codes as above. */
MF_MUSTCHECK int checkpoint_peek(struct store_io *io, struct checkpoint_head *h,
                                 uint64_t *bad_offset, struct mf_error *e);

#endif
