/* repair_log.c: see repair_log.h. */
#include "cli/check/repair_log.h"

#include "codec/checksum.h"

#define TARGET (UINT64_C(64) << 20) /* a segment is no larger, unless one record is */
#define TAIL   104u                 /* the commit and the seal at its end */

static void put_le16(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static void put_le32(uint8_t *p, uint64_t v)
{
    put_le16(p, v);
    put_le16(p + 2, v >> 16);
}
static void put_le64(uint8_t *p, uint64_t v)
{
    put_le32(p, v);
    put_le32(p + 4, v >> 32);
}

/* --- records ---------------------------------------------------------------------------------- */

static size_t pad_length(size_t n)
{
    return (n + 7) / 8 * 8;
}

/* Room for a record of this length at the end of the segment, zeroed, with its length and type;
 * NULL: no memory.  finish_record() must follow. */
static uint8_t *add_record(struct repair_log *l, uint8_t type, size_t length)
{
    uint8_t *p = mf_buf_reserve(&l->buf, pad_length(length));

    if (p == NULL)
        return NULL;
    memset(p, 0, pad_length(length));
    put_le32(p + 4, length);
    put_le32(p + 8, l->chain);
    p[12] = type;
    p[13] = type != REC_COMMIT && type != REC_SEAL; /* a batch of its own */
    return p;
}

/* fixed: where its data begins, if it has any. */
static void finish_record(struct repair_log *l, uint8_t *p, size_t fixed, bool data)
{
    size_t size = pad_length(rd32(p + 4));
    uint64_t seed = l->key + l->buf.len * UINT64_C(0x9E3779B97F4A7C15);

    if (data)
        put_le64(p + fixed - 8, checksum64(p + fixed, size - fixed, seed));
    l->chain = (uint32_t)checksum64(p + 4, fixed - 4, seed);
    put_le32(p, l->chain);
    l->buf.len += size;
}

/* synced: how far all is on disk, in this segment. */
static int add_commit(struct repair_log *l, uint64_t synced, struct mf_error *e)
{
    uint8_t *p = add_record(l, REC_COMMIT, 80);

    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a segment");
    put_le64(p + 16, ++l->group);
    put_le64(p + 24, l->number);
    put_le64(p + 32, synced);
    put_le64(p + 40, 1);
    put_le64(p + 48, l->last);
    put_le64(p + 56, (uint64_t)l->mark_t);
    put_le64(p + 64, l->mark_s);
    put_le64(p + 72, (uint64_t)l->clock);
    finish_record(l, p, 80, false);
    return 0;
}

static int add_seal(struct repair_log *l, struct mf_error *e)
{
    uint8_t *p = add_record(l, REC_SEAL, 24);

    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a segment");
    put_le64(p + 16, l->number + 1);
    finish_record(l, p, 24, false);
    return 0;
}

/* --- segments --------------------------------------------------------------------------------- */

static int begin_segment(struct repair_log *l, struct mf_error *e)
{
    uint8_t *p;

    mf_buf_clear(&l->buf);
    p = mf_buf_reserve(&l->buf, HEADER_PAGE);
    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a segment");
    memset(p, 0, HEADER_PAGE);
    l->buf.len = HEADER_PAGE;
    l->number++;
    l->key = check_rec_key(l->id, l->number);
    return 0;
}

static void write_header(const struct repair_log *l, uint64_t size)
{
    for (uint64_t at = 0; at <= HEADER_COPY; at += HEADER_COPY) {
        uint8_t *p = l->buf.ptr + at;

        memcpy(p, "MAYFLYSG", 8);
        put_le32(p + 8, l->seal != NULL ? SEALED_VERSION : FLAGS_VERSION);
        put_le32(p + 12, HEADER_PAGE);
        memcpy(p + 16, l->id, 16);
        put_le64(p + 32, l->number);
        put_le64(p + 40, size);
        put_le64(p + 48, (uint64_t)l->now_ns);
        put_le64(p + 56, checksum64(p, HEADER_BYTES - 8, at));
    }
}

static int end_segment(struct repair_log *l, struct mf_error *e)
{
    char name[24];
    uint64_t size;
    uint8_t *p;

    if (add_commit(l, l->buf.len, e) != 0 || add_seal(l, e) != 0)
        return e->code;
    size = (l->buf.len + HEADER_PAGE - 1) / HEADER_PAGE * HEADER_PAGE;
    p = mf_buf_reserve(&l->buf, (size_t)size - l->buf.len);
    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a segment");
    memset(p, 0, (size_t)size - l->buf.len);
    l->buf.len = (size_t)size;
    write_header(l, size);
    check_seg_name(name, l->number);
    l->segments++;
    l->bytes += size;
    return l->to->put(l->to->arg, name, l->buf.ptr, l->buf.len, e);
}

/* Room for a record of this length, in a new segment where it does not fit. */
static int make_room(struct repair_log *l, size_t length, struct mf_error *e)
{
    if (l->buf.len + pad_length(length) + TAIL <= TARGET || l->buf.len == HEADER_PAGE)
        return 0;
    if (end_segment(l, e) != 0 || begin_segment(l, e) != 0)
        return e->code;
    return 0;
}

/* --- the log ---------------------------------------------------------------------------------- */

int repair_log_begin(struct repair_log *l, struct mf_error *e)
{
    if (begin_segment(l, e) != 0 || add_commit(l, HEADER_PAGE, e) != 0)
        return e->code;
    return 0;
}

int repair_log_message(struct repair_log *l, const struct rec *from, int64_t deadline,
                       uint16_t flags, struct mf_error *e)
{
    /* A sealed one is copied as it is: its box does not depend on its place. */
    size_t box = l->seal != NULL && check_rec_cipher(from) == SEAL_NONE ? SEAL_ROOM : 0;
    size_t length = from->length + box;
    uint8_t *p, ad[CHECK_REC_AD];

    if (make_room(l, length, e) != 0)
        return e->code;
    p = add_record(l, REC_MESSAGE, length);
    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a message");
    put_le16(p + 14, flags);
    memcpy(p + 16, from->p + 16, from->fixed - 16);
    put_le64(p + 32, (uint64_t)deadline);
    memcpy(p + from->fixed + box, from->p + from->fixed, from->length - from->fixed);
    if (box > 0) {
        put_le16(p + 46, seal_cipher(l->seal));
        seal_shut(l->seal, p + from->fixed, from->length - from->fixed, check_rec_ad(p, ad));
    }
    finish_record(l, p, from->fixed, true);
    l->last = rd64(from->p + 16);
    return 0;
}

int repair_log_blob(struct repair_log *l, struct mf_slice name, struct mf_slice body,
                    struct mf_error *e)
{
    size_t box = l->seal != NULL ? SEAL_ROOM : 0, length = 32 + box + name.len + body.len;
    uint8_t *p, ad[CHECK_REC_AD];

    if (make_room(l, length, e) != 0)
        return e->code;
    p = add_record(l, REC_BLOB, length);
    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "write a blob");
    put_le32(p + 16, body.len);
    put_le16(p + 20, name.len);
    memcpy(p + 32 + box, name.ptr, name.len);
    if (body.len > 0)
        memcpy(p + 32 + box + name.len, body.ptr, body.len);
    if (box > 0) {
        put_le16(p + 22, (size_t)seal_cipher(l->seal) << 8);
        seal_shut(l->seal, p + 32, name.len + body.len, check_rec_ad(p, ad));
    }
    finish_record(l, p, 32, true);
    return 0;
}

int repair_log_end(struct repair_log *l, uint64_t last, struct mf_error *e)
{
    if (last > l->last)
        l->last = last;
    return end_segment(l, e);
}

void repair_log_fini(struct repair_log *l)
{
    mf_buf_fini(&l->buf);
}
