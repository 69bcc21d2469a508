/* archive.c: NATSARC1, out and in. */
#include "codec/archive.h"

static const char magic[] = "NATSARC1";
enum { MAGIC_LEN = sizeof magic - 1, VARINT_MAX = 10 };

/* --- writing -------------------------------------------------------------------------------- */

static void put_uvarint(struct mf_buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        mf_buf_byte(out, (uint8_t)(v | 0x80));
    mf_buf_byte(out, (uint8_t)v);
}

static uint64_t encode_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

void archive_begin(struct mf_buf *out)
{
    mf_buf_append(out, magic, MAGIC_LEN);
}

void archive_add(struct mf_buf *out, const struct archive_entry *e)
{
    put_uvarint(out, e->name.len);
    put_uvarint(out, encode_zigzag(e->ts_ns));
    put_uvarint(out, e->seq);
    put_uvarint(out, e->hdr.len);
    put_uvarint(out, e->payload.len);
    mf_buf_append(out, e->name.ptr, e->name.len);
    mf_buf_append(out, e->hdr.ptr, e->hdr.len);
    mf_buf_append(out, e->payload.ptr, e->payload.len);
}

void archive_end(struct mf_buf *out)
{
    archive_add(out, &(struct archive_entry){.seq = 0});
}

/* --- reading -------------------------------------------------------------------------------- */

void archive_reader_init(struct archive_reader *r, size_t max_body, size_t max_part)
{
    *r = (struct archive_reader){.in = MF_BUF_INIT, .max_body = max_body, .max_part = max_part};
}

void archive_reader_fini(struct archive_reader *r)
{
    mf_buf_fini(&r->in);
}

struct mf_buf *archive_reader_ready(struct archive_reader *r)
{
    mf_buf_consume(&r->in, r->done);
    r->done = 0;
    return &r->in;
}

/* 0, MF_AGAIN or MF_CORRUPT (more than 64 bits). */
static int get_uvarint(struct mf_slice *s, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < VARINT_MAX; i++) {
        uint8_t b;

        if (i >= s->len)
            return MF_AGAIN;
        b = s->ptr[i];
        if (i == VARINT_MAX - 1 && b > 1)
            return MF_CORRUPT;
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            s->ptr += i + 1;
            s->len -= i + 1;
            *out = v;
            return 0;
        }
    }
    return MF_CORRUPT;
}

/* false: not all of it is there yet. */
static bool skip_bytes(struct archive_reader *r)
{
    size_t have = r->in.len - r->done;
    size_t n = r->skipping < have ? (size_t)r->skipping : have;

    r->done += n;
    r->skipping -= n;
    return r->skipping == 0;
}

/* A message is refused before its bytes are waited for; of anything else the payload is left out.
 */
static int too_large(struct archive_reader *r, struct archive_entry *e, struct mf_slice rest,
                     uint64_t name, uint64_t body)
{
    if (e->seq != 0)
        return MF_LIMIT;
    if (name > rest.len)
        return MF_AGAIN;
    e->name = mf_slice(rest.ptr, (size_t)name);
    e->skipped = true;
    r->done = r->in.len - rest.len + (size_t)name;
    r->skipping = body;
    return 0;
}

static int next_entry(struct archive_reader *r, struct archive_entry *e)
{
    struct mf_slice rest = mf_slice(r->in.ptr + r->done, r->in.len - r->done);
    size_t max;
    uint64_t f[5]; /* name, timestamp, sequence, headers, payload */

    for (size_t i = 0; i < MF_COUNT(f); i++) {
        int rc = get_uvarint(&rest, &f[i]);

        if (rc != 0)
            return rc;
    }
    if (f[0] > ARCHIVE_NAME_MAX || f[3] > INT64_MAX || f[4] > INT64_MAX)
        return MF_CORRUPT;
    e->ts_ns = (int64_t)(f[1] >> 1 ^ (~(f[1] & 1) + 1));
    e->seq = f[2];
    max = e->seq != 0 ? r->max_body : r->max_part;
    if (f[3] > max || f[4] > max - f[3])
        return too_large(r, e, rest, f[0], f[3] + f[4]);
    if (f[0] + f[3] + f[4] > rest.len)
        return MF_AGAIN;
    e->name = mf_slice(rest.ptr, (size_t)f[0]);
    e->hdr = mf_slice(rest.ptr + f[0], (size_t)f[3]);
    e->payload = mf_slice(rest.ptr + f[0] + f[3], (size_t)f[4]);
    e->end = (f[0] | f[1] | f[2] | f[3] | f[4]) == 0;
    r->done = r->in.len - rest.len + (size_t)(f[0] + f[3] + f[4]);
    return 0;
}

int archive_next(struct archive_reader *r, struct archive_entry *e)
{
    int rc;

    *e = (struct archive_entry){.seq = 0};
    if (r->ended || !skip_bytes(r))
        return MF_AGAIN;
    if (!r->started) {
        size_t have = r->in.len - r->done;
        size_t n = have < MAGIC_LEN ? have : MAGIC_LEN;

        if (n > 0 && memcmp(r->in.ptr + r->done, magic, n) != 0)
            return MF_UNSUPPORTED;
        if (n < MAGIC_LEN)
            return MF_AGAIN;
        r->done += MAGIC_LEN;
        r->started = true;
    }
    rc = next_entry(r, e);
    r->ended = rc == 0 && e->end;
    return rc;
}
