/* nats_block.c: reads one block file of nats-server. */
#include "cli/import/nats_block.h"

#include "base/le.h"
#include "codec/s2.h"

#define HEAD        22u
#define HEADERS_BIT 0x80000000u
/* Timestamps between 2001 and 2128: random bytes rarely look like one. */
#define TS_MIN 1000000000000000000
#define TS_MAX 5000000000000000000

/* --- compression ---------------------------------------------------------------------------- */

bool nats_block_packed(struct mf_slice file)
{
    return file.len >= 5 && memcmp(file.ptr, "cmp", 3) == 0;
}

static bool skip_size(struct mf_slice *s)
{
    for (size_t i = 0; i < s->len && i < 10; i++)
        if (s->ptr[i] < 0x80) {
            *s = mf_slice(s->ptr + i + 1, s->len - i - 1);
            return true;
        }
    return false;
}

int nats_block_unpack(struct mf_slice file, struct mf_buf *out)
{
    struct mf_slice body = mf_slice(file.ptr + 4, file.len - 4);
    struct s2_reader s2;
    int rc;

    if (file.ptr[3] != 1)
        return MF_UNSUPPORTED;
    if (!skip_size(&body) || body.len < HIGHWAY_BYTES)
        return MF_CORRUPT;
    s2_reader_init(&s2);
    rc = s2_reader_feed(&s2, mf_slice(body.ptr, body.len - HIGHWAY_BYTES), out);
    while (rc == 0 && s2_reader_more(&s2) && !mf_buf_failed(out))
        rc = s2_reader_feed(&s2, MF_SLICE_NONE, out);
    if (rc == 0 && !s2_reader_clean(&s2))
        rc = MF_CORRUPT;
    s2_reader_fini(&s2);
    mf_buf_append(out, body.ptr + body.len - HIGHWAY_BYTES, HIGHWAY_BYTES);
    return rc == 0 && mf_buf_failed(out) ? MF_NOMEM : rc;
}

/* --- records -------------------------------------------------------------------------------- */

void nats_block_open(struct nats_block *b, struct mf_slice bytes, const char *stream,
                     uint32_t number)
{
    *b = (struct nats_block){.bytes = bytes, .effort = 16 * (uint64_t)bytes.len + (1u << 20)};
    natsfile_block_key(stream, number, b->key);
}

static struct mf_slice rest_at(const struct nats_block *b, size_t at)
{
    return mf_slice(b->bytes.ptr + at, b->bytes.len - at);
}

static int read_at(const struct nats_block *b, size_t at, struct natsfile_record *r)
{
    return natsfile_record(rest_at(b, at), b->key, NATS_BLOCK_RECORD_MAX, r);
}

/* Might a record begin there?  Cheap: it is asked for every byte. */
static bool looks_like_record(struct mf_slice in)
{
    struct mf_slice s = in;
    uint64_t size, ts;

    if (in.len < HEAD + HIGHWAY_BYTES)
        return false;
    size = le_take(&s, 4) & ~HEADERS_BIT;
    (void)le_take(&s, 8);
    ts = le_take(&s, 8);
    return size >= HEAD + HIGHWAY_BYTES && size <= in.len &&
           size >= HEAD + le_take(&s, 2) + HIGHWAY_BYTES && ts >= TS_MIN && ts <= TS_MAX;
}

static bool sound_at(struct nats_block *b, size_t at)
{
    struct mf_slice in = rest_at(b, at), s = in;
    struct natsfile_record r;
    uint64_t size;

    if (!looks_like_record(in))
        return false;
    size = le_take(&s, 4) & ~HEADERS_BIT;
    if (size > b->effort)
        return false;
    b->effort -= size;
    return read_at(b, at, &r) == 0;
}

static bool all_zero(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != 0)
            return false;
    return true;
}

/* Where reading goes on behind damage at b->at. */
static size_t find_sound(struct nats_block *b, int rc, size_t size)
{
    size_t end = b->bytes.len;

    if (rc == MF_INVAL && size > 0 && size <= end - b->at &&
        (b->at + size == end || sound_at(b, b->at + size)))
        return b->at + size;
    for (size_t at = b->at + 1; at < end; at++)
        if (sound_at(b, at))
            return at;
    return end;
}

int nats_block_next(struct nats_block *b, struct natsfile_record *r)
{
    size_t to;
    int rc;

    if (b->at == b->bytes.len)
        return MF_AGAIN;
    rc = read_at(b, b->at, r);
    if (rc == 0) {
        b->at += r->size;
        return 0;
    }
    to = find_sound(b, rc, r->size);
    b->bad_at = b->at;
    b->bad_size = to - b->at;
    b->torn = to == b->bytes.len && (rc == MF_AGAIN || all_zero(rest_at(b, b->at)));
    b->why = b->torn          ? "the last record is cut off"
             : rc == MF_INVAL ? "wrong checksum"
                              : "not a record";
    b->at = to;
    return MF_CORRUPT;
}
