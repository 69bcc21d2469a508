/* checkpoint_write.c: encodes the index and the blobs, block by block. */
#include "store/recover/checkpoint.h"

#include "codec/checksum.h"
#include "codec/seal.h"

#define MAGIC "MAYFLYCP"
#define ENTRY CHECKPOINT_ENTRY

void checkpoint_encode_head(uint8_t dst[CHECKPOINT_HEADER], const struct checkpoint_head *h)
{
    memcpy(dst, MAGIC, 8);
    put_u32(dst + 8, h->cipher != SEAL_NONE ? 3 : h->bits ? 2 : 1);
    put_u32(dst + 12, CHECKPOINT_HEADER);
    memcpy(dst + 16, h->id, STORE_ID);
    put_u64(dst + 32, h->start.segment);
    put_u64(dst + 40, h->start.offset);
    put_u32(dst + 48, h->chain);
    put_u32(dst + 52, h->cipher);
    put_u64(dst + 56, h->messages);
    put_u64(dst + 64, h->blobs);
    put_u64(dst + 72, h->last_seq);
    put_u64(dst + 80, (uint64_t)h->mark.time_ns);
    put_u64(dst + 88, h->mark.seq);
    put_u64(dst + 96, (uint64_t)h->clock_ns);
    put_u64(dst + 104, h->first_segment);
    put_u64(dst + 112, h->file_size);
    put_u64(dst + 120, checksum64(dst, 120, 0));
}

/* Where the block starts in dst; its head is filled in by block_end(). */
static size_t block_begin(struct mf_buf *dst, const struct checkpoint_head *h)
{
    static const uint8_t none[CHECKPOINT_BLOCK + SEAL_ROOM];
    size_t start = dst->len;

    mf_buf_append(dst, none, h->cipher == SEAL_NONE ? CHECKPOINT_BLOCK : sizeof none);
    return start;
}

static void block_end(struct mf_buf *dst, size_t start, uint32_t count, uint64_t base,
                      uint64_t offset)
{
    if (mf_buf_failed(dst))
        return;
    uint8_t *p = dst->ptr + start;
    size_t n = dst->len - start;
    put_u32(p + 8, (uint32_t)n);
    put_u32(p + 12, count);
    put_u64(p + 16, base);
    put_u64(p, checksum64(p + 8, n - 8, offset));
}

/* Appends the entry; false: out of memory.  The key is put together where it belongs. */
static bool put_entry(const struct index *ix, uint32_t id, uint32_t delta, struct mf_buf *dst)
{
    uint8_t *p = mf_buf_reserve(dst, ENTRY + 1 + KEYS_MAX);
    uint16_t bits = index_bits(ix, id);
    size_t fixed = ENTRY + (bits != 0);

    if (p == NULL)
        return false;
    struct mf_slice key = keys_text(index_keys(ix), index_key(ix, id), p + fixed);
    if (key.ptr != p + fixed)
        memmove(p + fixed, key.ptr, key.len);
    put_u32(p, delta);
    put_u64(p + 4, index_place(ix, id));
    put_u64(p + 12, (uint64_t)index_deadline(ix, id) | (bits != 0 ? CHECKPOINT_BITS : 0));
    put_u16(p + 20, (uint16_t)key.len);
    if (bits != 0)
        p[ENTRY] = (uint8_t)bits;
    dst->len += fixed + key.len;
    return true;
}

/* The first entry at or after *seq that counts; INDEX_NONE: none. */
static uint32_t next_live(const struct index *ix, uint64_t seq)
{
    uint32_t id = index_next(ix, seq);

    while (id != INDEX_NONE && index_removing(ix, id))
        id = index_next(ix, index_seq(ix, id) + 1);
    return id;
}

bool checkpoint_messages(const struct index *ix, uint64_t *from_seq, size_t max, uint64_t offset,
                         struct mf_buf *dst, struct checkpoint_head *h)
{
    uint32_t id = max == 0 ? INDEX_NONE : next_live(ix, *from_seq);

    if (id == INDEX_NONE || mf_buf_failed(dst))
        return false;
    uint64_t base = index_seq(ix, id), before = base;
    size_t start = block_begin(dst, h);
    uint32_t n = 0;
    while (id != INDEX_NONE && n < max) {
        uint64_t seq = index_seq(ix, id);
        size_t len = dst->len;
        if (seq - before > UINT32_MAX || !put_entry(ix, id, (uint32_t)(seq - before), dst))
            break;
        if (n > 0 && dst->len - start > CHECKPOINT_LARGE) {
            dst->len = len; /* the next block's */
            break;
        }
        n++;
        h->bits |= index_bits(ix, id) != 0;
        before = seq;
        if (seq == UINT64_MAX)
            break;
        id = next_live(ix, seq + 1);
    }
    block_end(dst, start, n, base, offset);
    if (mf_buf_failed(dst)) {
        dst->len = start;
        return false;
    }
    *from_seq = before + 1;
    h->messages += n;
    return true;
}

size_t checkpoint_blobs_begin(struct mf_buf *dst, const struct checkpoint_head *h)
{
    return block_begin(dst, h);
}

/* The count is kept in the block's head meanwhile. */
void checkpoint_blobs_add(struct mf_buf *dst, size_t start, struct mf_slice name,
                          struct mf_slice bytes)
{
    uint8_t *p = mf_buf_reserve(dst, 6 + name.len + bytes.len);

    if (p == NULL)
        return;
    put_u16(p, (uint16_t)name.len);
    put_u32(p + 2, (uint32_t)bytes.len);
    dst->len += 6;
    mf_buf_append(dst, name.ptr, name.len);
    mf_buf_append(dst, bytes.ptr, bytes.len);
    put_u32(dst->ptr + start + 12, get_u32(dst->ptr + start + 12) + 1);
}

void checkpoint_blobs_end(struct mf_buf *dst, size_t start, uint64_t offset)
{
    if (!mf_buf_failed(dst))
        block_end(dst, start, get_u32(dst->ptr + start + 12), 0, offset);
}

void checkpoint_seal(uint8_t *p, size_t n, uint64_t offset, struct seal *seal)
{
    for (size_t at = 0; at < n;) {
        uint8_t *block = p + at, ad[CHECKPOINT_AD];
        size_t length = get_u32(block + 8);
        seal_shut(seal, block + CHECKPOINT_BLOCK, length - CHECKPOINT_BLOCK - SEAL_ROOM,
                  checkpoint_ad(block, offset + at, ad));
        put_u64(block, checksum64(block + 8, length - 8, offset + at));
        at += length;
    }
}
