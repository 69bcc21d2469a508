/* checkpoint_read.c: loads a checkpoint into the index.  Every block is verified as a whole
 * before its contents are used; after that only bounds are tested. */
#include "store/recover/checkpoint.h"

#include "codec/checksum.h"
#include "codec/seal.h"

#include <stdlib.h>

#define MAGIC   "MAYFLYCP"
#define VERSION 3u
#define ENTRY   CHECKPOINT_ENTRY

int checkpoint_decode_head(const uint8_t src[CHECKPOINT_HEADER], struct checkpoint_head *h)
{
    if (memcmp(src, MAGIC, 8) != 0 || checksum64(src, 120, 0) != get_u64(src + 120))
        return MF_CORRUPT;
    if (get_u32(src + 8) > VERSION)
        return MF_UNSUPPORTED;
    uint32_t cipher = get_u32(src + 52);
    if (get_u32(src + 8) == 0 || get_u32(src + 12) != CHECKPOINT_HEADER ||
        (get_u32(src + 8) < 3 ? cipher != SEAL_NONE : !seal_known(cipher)))
        return MF_CORRUPT;
    h->cipher = (uint8_t)cipher;
    h->bits = get_u32(src + 8) > 1;
    memcpy(h->id, src + 16, STORE_ID);
    h->start = (struct record_pos){get_u64(src + 32), get_u64(src + 40)};
    h->chain = get_u32(src + 48);
    h->messages = get_u64(src + 56);
    h->blobs = get_u64(src + 64);
    h->last_seq = get_u64(src + 72);
    h->mark = (struct record_mark){(int64_t)get_u64(src + 80), get_u64(src + 88)};
    h->clock_ns = (int64_t)get_u64(src + 96);
    h->first_segment = get_u64(src + 104);
    h->file_size = get_u64(src + 112);
    return 0;
}

struct plain {
    struct plain *next;
    uint8_t bytes[];
};

/* The file while it is read. */
struct reading {
    struct store_io *io;
    struct index *ix;
    const uint8_t *base;
    uint64_t size;
    bool mapped, bits;
    uint8_t cipher;
    struct seal *seal;
    struct plain *plain; /* opened blocks: keys must stay until index_bulk_end() */
    uint64_t offset;     /* of the block that is read: where the damage is, if it is */
    uint64_t messages, blobs;
    uint64_t seq; /* the last one put: they ascend over all blocks */
    int (*blob)(void *arg, struct mf_slice name, struct mf_slice bytes);
    void *arg;
};

/* The byte of bits of an entry; false: the entry is incomplete.  *fixed is its length without
 * key. */
static bool read_bits(const struct reading *r, const uint8_t *p, const uint8_t *end, uint16_t *bits,
                      size_t *fixed)
{
    bool any = (get_u64(p + 12) & CHECKPOINT_BITS) != 0;

    *fixed = ENTRY + any;
    *bits = 0;
    if (!any)
        return true;
    if (!r->bits || end - p <= (ptrdiff_t)ENTRY)
        return false;
    *bits = p[ENTRY];
    return *bits != 0 && (*bits & ~RECORD_BITS) == 0;
}

static int read_messages(struct reading *r, const uint8_t *p, const uint8_t *end, uint32_t count,
                         uint64_t base)
{
    uint64_t seq = base;

    for (uint32_t i = 0; i < count; i++) {
        if (end - p < (ptrdiff_t)ENTRY)
            return MF_CORRUPT;
        size_t key = get_u16(p + 20), fixed;
        uint64_t next = seq + get_u32(p);
        uint16_t bits;
        if (!read_bits(r, p, end, &bits, &fixed) || (size_t)(end - p) < fixed + key || next < seq ||
            next <= r->seq)
            return MF_CORRUPT;
        r->seq = seq = next;
        int rc = index_bulk_put(r->ix, seq, mf_slice(p + fixed, key), get_u64(p + 4),
                                (int64_t)(get_u64(p + 12) & ~CHECKPOINT_BITS), bits);
        if (rc != 0)
            return rc;
        p += fixed + key;
    }
    r->messages += count;
    return p == end ? 0 : MF_CORRUPT;
}

static int read_blobs(struct reading *r, const uint8_t *p, const uint8_t *end, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (end - p < 6)
            return MF_CORRUPT;
        size_t name = get_u16(p), body = get_u32(p + 2);
        p += 6;
        if ((size_t)(end - p) < name + body)
            return MF_CORRUPT;
        int rc = r->blob(r->arg, mf_slice(p, name), mf_slice(p + name, body));
        if (rc != 0)
            return rc;
        p += name + body;
    }
    r->blobs += count;
    return p == end ? 0 : MF_CORRUPT;
}

/* The entries of a sealed block.  MF_NOMEM; MF_CORRUPT: its box does not open. */
static int open_block(struct reading *r, const uint8_t *p, uint32_t length, const uint8_t **entries,
                      const uint8_t **end)
{
    uint8_t ad[CHECKPOINT_AD];
    struct plain *b;

    if (length < CHECKPOINT_BLOCK + SEAL_ROOM)
        return MF_CORRUPT;
    size_t n = length - CHECKPOINT_BLOCK - SEAL_ROOM;
    if ((b = malloc(sizeof *b + n)) == NULL)
        return MF_NOMEM;
    b->next = r->plain;
    r->plain = b;
    *entries = b->bytes;
    *end = b->bytes + n;
    return seal_open(r->seal, (enum seal_cipher)r->cipher, p + CHECKPOINT_BLOCK, n,
                     checkpoint_ad(p, r->offset, ad), b->bytes)
               ? 0
               : MF_CORRUPT;
}

static void plain_free(struct reading *r)
{
    while (r->plain != NULL) {
        struct plain *b = r->plain;
        r->plain = b->next;
        free(b);
    }
}

/* The block at r->offset, which it moves on over it. */
static int read_block(struct reading *r)
{
    const uint8_t *p = r->base + r->offset;
    uint64_t room = r->size - r->offset;

    if (room < CHECKPOINT_BLOCK)
        return MF_CORRUPT;
    uint32_t length = get_u32(p + 8), count = get_u32(p + 12);
    uint64_t base = get_u64(p + 16);
    if (length < CHECKPOINT_BLOCK || length > room ||
        checksum64(p + 8, length - 8, r->offset) != get_u64(p))
        return MF_CORRUPT;
    const uint8_t *entries = p + CHECKPOINT_BLOCK, *end = p + length;
    int rc = r->cipher == SEAL_NONE ? 0 : open_block(r, p, length, &entries, &end);
    if (rc == 0)
        rc = base > 0 ? read_messages(r, entries, end, count, base)
                      : read_blobs(r, entries, end, count);
    if (rc == 0)
        r->offset += length;
    return rc;
}

static int read_all(struct reading *r, const struct checkpoint_head *h)
{
    /* No more than fit: a wrong number must not cost memory. */
    if (h->messages > r->size / ENTRY) {
        r->offset = 0;
        return MF_CORRUPT;
    }
    r->offset = CHECKPOINT_HEADER;
    r->bits = h->bits;
    r->cipher = h->cipher;
    int rc = index_load_expect(r->ix, (size_t)h->messages);
    if (rc == 0)
        rc = index_bulk_begin(r->ix, (size_t)h->messages);
    while (rc == 0 && r->offset < r->size)
        rc = read_block(r);
    int end = index_bulk_end(r->ix); /* in any case: the bytes of the keys are freed */
    rc = rc == 0 ? end : rc;
    if (rc == 0 && (r->messages != h->messages || r->blobs != h->blobs)) {
        r->offset = 0;
        rc = MF_CORRUPT;
    }
    return rc;
}

/* --- the file --------------------------------------------------------------------------------- */

static int bytes_get(struct reading *r, struct store_file *f, struct mf_error *e)
{
    r->base = r->io->map(r->io, f, r->size);
    r->mapped = r->base != NULL;
    if (r->mapped)
        return 0;
    uint8_t *all = malloc(r->size);
    if (all == NULL)
        return mf_fail(e, MF_NOMEM, "%s", CHECKPOINT_NAME);
    int rc = r->io->pread(r->io, f, all, r->size, 0, e);
    if (rc != 0)
        free(all);
    else
        r->base = all;
    return rc;
}

static void bytes_put(struct reading *r)
{
    if (r->mapped)
        r->io->unmap(r->io, r->base, r->size);
    else
        free((void *)r->base);
}

static int fail_version(struct mf_error *e, const uint8_t *head)
{
    return mf_fail(e, MF_UNSUPPORTED, "%s has version %u, this server reads up to %u",
                   CHECKPOINT_NAME, get_u32(head + 8), VERSION);
}

/* Opens it, reads the head and compares the sizes; on success *f is open. */
static int open_head(struct store_io *io, struct checkpoint_head *h, struct store_file **f,
                     uint64_t *bad_offset, struct mf_error *e)
{
    uint8_t head[CHECKPOINT_HEADER];
    uint64_t size;
    int rc = io->open(io, CHECKPOINT_NAME, false, f, e);

    if (rc != 0)
        return rc;
    *bad_offset = 0;
    if ((rc = io->size(io, *f, &size, e)) != 0)
        goto close;
    if (size < CHECKPOINT_HEADER) {
        *bad_offset = size;
        rc = mf_fail(e, MF_CORRUPT, "%s", CHECKPOINT_NAME);
        goto close;
    }
    if ((rc = io->pread(io, *f, head, sizeof head, 0, e)) != 0)
        goto close;
    rc = checkpoint_decode_head(head, h);
    if (rc == MF_UNSUPPORTED)
        rc = fail_version(e, head);
    else if (rc == 0 && h->file_size != size) {
        *bad_offset = size < h->file_size ? size : h->file_size;
        rc = MF_CORRUPT;
    }
    if (rc == MF_CORRUPT)
        rc = mf_fail(e, MF_CORRUPT, "%s", CHECKPOINT_NAME);
    if (rc == 0)
        return 0;
close:
    io->close(io, *f);
    return rc;
}

int checkpoint_peek(struct store_io *io, struct checkpoint_head *h, uint64_t *bad_offset,
                    struct mf_error *e)
{
    struct store_file *f;
    int rc = open_head(io, h, &f, bad_offset, e);

    if (rc == 0)
        io->close(io, f);
    return rc;
}

int checkpoint_load(struct store_io *io, struct seal *seal, struct index *ix,
                    struct checkpoint_head *h,
                    int (*blob)(void *arg, struct mf_slice name, struct mf_slice bytes), void *arg,
                    uint64_t *bad_offset, struct mf_error *e)
{
    struct reading r = {.io = io, .seal = seal, .ix = ix, .blob = blob, .arg = arg};
    struct store_file *f;
    int rc = open_head(io, h, &f, bad_offset, e);

    if (rc != 0)
        return rc;
    r.size = h->file_size;
    if ((rc = bytes_get(&r, f, e)) != 0)
        goto close;
    rc = h->cipher != SEAL_NONE && seal == NULL ? MF_CORRUPT : read_all(&r, h);
    plain_free(&r);
    *bad_offset = r.offset;
    if (rc != 0)
        mf_fail(e, rc, "%s at %llu", CHECKPOINT_NAME, (unsigned long long)r.offset);
    bytes_put(&r);
close:
    io->close(io, f);
    return rc;
}
