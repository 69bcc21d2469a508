/* record.c: the records of the log: encoding, checking, reading.
 *
 * docs/disk-format.md has the layouts.  Every reader here accepts any bytes from a disk: lengths
 * are believed only after the check over the fixed part, and that check is tested before any data
 * is hashed. */
#include "store/log/record.h"

#include "codec/checksum.h"
#include "codec/seal.h"

#include <assert.h>

enum { /* offsets inside a record */
       AT_CHECK = 0,
       AT_LENGTH = 4,
       AT_CHAIN = 8,
       AT_TYPE = 12,
       AT_BITS = 13,
       AT_FLAGS = 14,
       MESSAGE_FIXED = 56,
       MESSAGE_DATA_CHECK = 48,
       SET_FIXED = 32,
       BLOB_FIXED = 32,
       SMALL_DATA_CHECK = 24, /* of a set and a blob */
       MESSAGE_CIPHER = 46,   /* 16 bits: the cipher */
       BLOB_BITS = 22,        /* 16 bits: deleted, and the cipher */
};
#define BLOB_DELETED 1u
#define BLOB_CIPHER  8       /* a shift */
#define UNSEALED     0x8000u /* beside a cipher, in memory only: record_finish() seals it */

uint64_t record_key(const uint8_t id[STORE_ID], uint64_t segment)
{
    uint8_t both[STORE_ID + 8];

    memcpy(both, id, STORE_ID);
    put_u64(both + STORE_ID, segment);
    return checksum64(both, sizeof both, 0);
}

/* By type: where the fixed part ends, and where in it the data check is (0: such a record has no
 * data). */
static const uint8_t fixed_of[] = {
    [RECORD_MESSAGE] = MESSAGE_FIXED,
    [RECORD_COPY] = MESSAGE_FIXED,
    [RECORD_REMOVE] = RECORD_REMOVE_SIZE,
    [RECORD_RANGE] = RECORD_RANGE_SIZE,
    [RECORD_SET] = SET_FIXED,
    [RECORD_DEADLINE] = RECORD_DEADLINE_SIZE,
    [RECORD_MARK] = RECORD_MARK_SIZE,
    [RECORD_COMMIT] = RECORD_COMMIT_SIZE,
    [RECORD_SEAL] = RECORD_SEAL_SIZE,
    [RECORD_BLOB] = BLOB_FIXED,
    [RECORD_ERASE] = RECORD_ERASE_SIZE,
};
static const uint8_t data_check_of[] = {
    [RECORD_MESSAGE] = MESSAGE_DATA_CHECK,
    [RECORD_COPY] = MESSAGE_DATA_CHECK,
    [RECORD_SET] = SMALL_DATA_CHECK,
    [RECORD_BLOB] = SMALL_DATA_CHECK,
    [RECORD_ERASE] = 0,
};
_Static_assert(MF_COUNT(fixed_of) == MF_COUNT(data_check_of), "one of each for every type");

size_t record_fixed(uint8_t type)
{
    return type < MF_COUNT(fixed_of) ? fixed_of[type] : 0;
}

/* The flags that such a record may have. */
static uint16_t flags_of(uint8_t type)
{
    if (type == RECORD_MESSAGE || type == RECORD_COPY)
        return UINT16_MAX;
    return type == RECORD_DEADLINE ? RECORD_BITS : 0;
}

size_t record_message_size(size_t key, size_t head, size_t body)
{
    return record_pad(MESSAGE_FIXED + key + head + body);
}

size_t record_blob_size(size_t name, size_t body)
{
    return record_pad(BLOB_FIXED + name + body);
}

/* --- writing ---------------------------------------------------------------------------------- */

static uint8_t *put_slice(uint8_t *to, struct mf_slice s)
{
    if (s.len > 0)
        memcpy(to, s.ptr, s.len);
    return to + s.len;
}

static uint16_t cipher_bits(const struct record *r, int shift)
{
    return (uint16_t)(r->cipher << shift |
                      (r->cipher != SEAL_NONE && r->box == NULL ? UNSEALED : 0));
}

/* Key, head and body, or the box that they are in. */
static uint8_t *put_data(uint8_t *to, const struct record *r)
{
    if (r->cipher != SEAL_NONE && r->box != NULL)
        return put_slice(to, mf_slice(r->box, SEAL_ROOM + record_len(r)));
    if (r->cipher != SEAL_NONE) {
        memset(to, 0, SEAL_ROOM);
        to += SEAL_ROOM;
    }
    return put_slice(put_slice(put_slice(to, r->key), r->head), r->body);
}

static uint8_t *encode_message(uint8_t *dst, const struct record *r)
{
    assert(r->key.len <= UINT16_MAX && r->head.len <= UINT32_MAX);
    put_u64(dst + 16, r->seq);
    put_u64(dst + 24, (uint64_t)r->ts_ns);
    put_u64(dst + 32, (uint64_t)r->deadline_ns);
    put_u32(dst + 40, (uint32_t)r->head.len);
    put_u16(dst + 44, (uint16_t)r->key.len);
    put_u16(dst + MESSAGE_CIPHER, cipher_bits(r, 0));
    put_u64(dst + MESSAGE_DATA_CHECK, 0);
    return put_data(dst + MESSAGE_FIXED, r);
}

static uint8_t *encode_set(uint8_t *dst, const struct record *r)
{
    assert(r->count <= RECORD_SET_MAX);
    put_u32(dst + 16, r->count);
    put_u32(dst + 20, 0);
    put_u64(dst + SMALL_DATA_CHECK, 0);
    return put_slice(dst + SET_FIXED, mf_slice(r->set, (size_t)r->count * 8));
}

static uint8_t *encode_blob(uint8_t *dst, const struct record *r)
{
    assert(r->key.len <= UINT16_MAX && r->body.len <= UINT32_MAX);
    put_u32(dst + 16, (uint32_t)r->body.len);
    put_u16(dst + 20, (uint16_t)r->key.len);
    put_u16(dst + BLOB_BITS,
            (uint16_t)(cipher_bits(r, BLOB_CIPHER) | (r->deleted ? BLOB_DELETED : 0)));
    put_u64(dst + SMALL_DATA_CHECK, 0);
    return put_data(dst + BLOB_FIXED, r);
}

static uint8_t *encode_commit(uint8_t *dst, const struct record *r)
{
    put_u64(dst + 16, r->group);
    put_u64(dst + 24, r->synced.segment);
    put_u64(dst + 32, r->synced.offset);
    put_u64(dst + 40, r->first_segment);
    put_u64(dst + 48, r->last_seq);
    put_u64(dst + 56, (uint64_t)r->mark.time_ns);
    put_u64(dst + 64, r->mark.seq);
    put_u64(dst + 72, (uint64_t)r->clock_ns);
    return dst + RECORD_COMMIT_SIZE;
}

/* Everything after the common start; returns the end. */
static uint8_t *encode_rest(uint8_t *dst, const struct record *r)
{
    switch (r->type) {
    case RECORD_MESSAGE:
    case RECORD_COPY:
        return encode_message(dst, r);
    case RECORD_SET:
        return encode_set(dst, r);
    case RECORD_BLOB:
        return encode_blob(dst, r);
    case RECORD_COMMIT:
        return encode_commit(dst, r);
    case RECORD_REMOVE:
        put_u64(dst + 16, r->seq);
        return dst + RECORD_REMOVE_SIZE;
    case RECORD_RANGE:
        put_u64(dst + 16, r->seq);
        put_u64(dst + 24, r->seq_last);
        return dst + RECORD_RANGE_SIZE;
    case RECORD_DEADLINE:
        put_u64(dst + 16, r->seq);
        put_u64(dst + 24, (uint64_t)r->deadline_ns);
        return dst + RECORD_DEADLINE_SIZE;
    case RECORD_ERASE:
        put_u64(dst + 16, r->seq);
        put_u64(dst + 24, r->victim.segment);
        put_u64(dst + 32, r->victim.offset);
        return dst + RECORD_ERASE_SIZE;
    case RECORD_MARK:
        put_u64(dst + 16, (uint64_t)r->mark.time_ns);
        put_u64(dst + 24, r->mark.seq);
        return dst + RECORD_MARK_SIZE;
    default:
        assert(r->type == RECORD_SEAL);
        put_u64(dst + 16, r->next_segment);
        return dst + RECORD_SEAL_SIZE;
    }
}

size_t record_encode(uint8_t *dst, const struct record *r)
{
    uint8_t *end = encode_rest(dst, r);
    size_t length = (size_t)(end - dst), size = record_pad(length);

    memset(end, 0, size - length);
    put_u32(dst + AT_CHECK, 0);
    put_u32(dst + AT_LENGTH, (uint32_t)length);
    put_u32(dst + AT_CHAIN, 0);
    dst[AT_TYPE] = r->type;
    dst[AT_BITS] = r->last ? RECORD_LAST : 0;
    put_u16(dst + AT_FLAGS, r->flags & flags_of(r->type));
    return size;
}

void record_set_last(uint8_t *p)
{
    p[AT_BITS] |= RECORD_LAST;
}

/* --- sealing ---------------------------------------------------------------------------------- */

/* A box belongs to these bytes: none opens as the data of another record.  Those of a copy are
 * those of its original, so that the cleaner and a repair move boxes as they are. */
#define AD_MAX 25

static struct mf_slice data_ad(const uint8_t *p, uint8_t ad[AD_MAX])
{
    if (p[AT_TYPE] == RECORD_BLOB) {
        ad[0] = 'B';
        memcpy(ad + 1, p + 16, 6);
        ad[7] = (uint8_t)(get_u16(p + BLOB_BITS) & BLOB_DELETED);
        return mf_slice(ad, 8);
    }
    ad[0] = 'M';
    memcpy(ad + 1, p + 16, 16);
    memcpy(ad + 17, p + 40, 6);
    put_u16(ad + 23, (uint16_t)(get_u16(p + AT_FLAGS) & ~RECORD_BITS)); /* these change */
    return mf_slice(ad, 25);
}

static void seal_record(uint8_t *p, struct seal *seal)
{
    bool blob = p[AT_TYPE] == RECORD_BLOB;
    uint8_t *bits = p + (blob ? BLOB_BITS : MESSAGE_CIPHER), ad[AD_MAX];

    if (!blob && !record_holds_message(p))
        return;
    if (!(get_u16(bits) & UNSEALED))
        return;
    size_t fixed = fixed_of[p[AT_TYPE]];
    put_u16(bits, (uint16_t)(get_u16(bits) & ~UNSEALED));
    seal_shut(seal, p + fixed, get_u32(p + AT_LENGTH) - fixed - SEAL_ROOM, data_ad(p, ad));
}

bool record_open(struct record *r, struct seal *seal, uint8_t *dst)
{
    uint8_t ad[AD_MAX];

    if (r->cipher == SEAL_NONE)
        return true;
    const uint8_t *p = r->box - (r->type == RECORD_BLOB ? BLOB_FIXED : MESSAGE_FIXED);
    if (seal == NULL ||
        !seal_open(seal, (enum seal_cipher)r->cipher, r->box, record_len(r), data_ad(p, ad), dst))
        return false;
    r->cipher = SEAL_NONE;
    r->key.ptr = dst;
    r->head.ptr = dst + r->key.len;
    r->body.ptr = r->head.ptr + r->head.len;
    return true;
}

void record_finish(uint8_t *p, size_t n, uint64_t key, uint64_t offset, uint32_t *chain,
                   struct seal *seal)
{
    uint32_t before = *chain;

    for (size_t at = 0; at < n;) {
        uint8_t *r = p + at;
        uint64_t seed = record_seed(key, offset + at);
        size_t size = record_pad(get_u32(r + AT_LENGTH));
        size_t fixed = fixed_of[r[AT_TYPE]], data_check = data_check_of[r[AT_TYPE]];
        assert(size >= fixed && size <= n - at);
        if (seal != NULL)
            seal_record(r, seal);
        if (data_check != 0)
            put_u64(r + data_check, checksum64(r + fixed, size - fixed, seed));
        put_u32(r + AT_CHAIN, before);
        before = (uint32_t)checksum64(r + 4, fixed - 4, seed);
        put_u32(r + AT_CHECK, before);
        at += size;
    }
    *chain = before;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Passes over what a box has beside the data; false: no such cipher, or no room for a box. */
static bool read_box(const uint8_t **p, uint64_t *data, unsigned cipher, struct record *out)
{
    out->cipher = (uint8_t)cipher;
    if (cipher == SEAL_NONE)
        return true;
    if (!seal_known(cipher) || *data < SEAL_ROOM)
        return false;
    out->box = *p;
    *p += SEAL_ROOM;
    *data -= SEAL_ROOM;
    return true;
}

static bool read_message(const uint8_t *p, uint32_t length, struct record *out)
{
    uint64_t head = get_u32(p + 40), key = get_u16(p + 44);
    uint64_t data = length - MESSAGE_FIXED;
    const uint8_t *bytes = p + MESSAGE_FIXED;

    if (!read_box(&bytes, &data, get_u16(p + MESSAGE_CIPHER), out) || head + key > data)
        return false;
    out->seq = get_u64(p + 16);
    out->ts_ns = (int64_t)get_u64(p + 24);
    out->deadline_ns = (int64_t)get_u64(p + 32);
    out->key = mf_slice(bytes, key);
    out->head = mf_slice(bytes + key, head);
    out->body = mf_slice(bytes + key + head, data - key - head);
    return true;
}

static bool read_set(const uint8_t *p, uint32_t length, struct record *out)
{
    out->count = get_u32(p + 16);
    if (out->count > RECORD_SET_MAX || length != record_set_size(out->count) ||
        get_u32(p + 20) != 0)
        return false;
    out->set = p + SET_FIXED;
    return true;
}

static bool read_blob(const uint8_t *p, uint32_t length, struct record *out)
{
    uint64_t body = get_u32(p + 16), name = get_u16(p + 20);
    uint64_t data = length - BLOB_FIXED;
    unsigned bits = get_u16(p + BLOB_BITS);
    const uint8_t *bytes = p + BLOB_FIXED;

    if (!read_box(&bytes, &data, (bits & ~BLOB_DELETED) >> BLOB_CIPHER, out) ||
        data != name + body || (bits & 0xFEu) != 0)
        return false;
    out->deleted = bits & BLOB_DELETED;
    out->key = mf_slice(bytes, name);
    out->head = MF_SLICE_NONE;
    out->body = mf_slice(bytes + name, body);
    return true;
}

static void read_commit(const uint8_t *p, struct record *out)
{
    out->group = get_u64(p + 16);
    out->synced = (struct record_pos){get_u64(p + 24), get_u64(p + 32)};
    out->first_segment = get_u64(p + 40);
    out->last_seq = get_u64(p + 48);
    out->mark = (struct record_mark){(int64_t)get_u64(p + 56), get_u64(p + 64)};
    out->clock_ns = (int64_t)get_u64(p + 72);
}

/* Decodes a record whose fixed part is complete; false: the lengths inside do not add up. */
static bool read_rest(const uint8_t *p, uint32_t length, struct record *out)
{
    switch (out->type) {
    case RECORD_MESSAGE:
    case RECORD_COPY:
        return read_message(p, length, out);
    case RECORD_SET:
        return read_set(p, length, out);
    case RECORD_BLOB:
        return read_blob(p, length, out);
    case RECORD_COMMIT:
        read_commit(p, out);
        return true;
    case RECORD_MARK:
        out->mark = (struct record_mark){(int64_t)get_u64(p + 16), get_u64(p + 24)};
        return true;
    case RECORD_RANGE:
        out->seq = get_u64(p + 16);
        out->seq_last = get_u64(p + 24);
        return true;
    case RECORD_DEADLINE:
        out->seq = get_u64(p + 16);
        out->deadline_ns = (int64_t)get_u64(p + 24);
        return true;
    case RECORD_ERASE:
        out->seq = get_u64(p + 16);
        out->victim = (struct record_pos){get_u64(p + 24), get_u64(p + 32)};
        return true;
    case RECORD_SEAL:
        out->next_segment = get_u64(p + 16);
        return true;
    default: /* RECORD_REMOVE */
        out->seq = get_u64(p + 16);
        return true;
    }
}

/* Bits and flags as their type may have them: commit and seal belong to no batch. */
static bool start_ok(const uint8_t *p, uint8_t type)
{
    uint8_t may = type == RECORD_COMMIT || type == RECORD_SEAL ? 0 : RECORD_LAST;

    return (p[AT_BITS] & ~may) == 0 && (get_u16(p + AT_FLAGS) & ~flags_of(type)) == 0;
}

bool record_is_bare(const struct record *r)
{
    return r->cipher == SEAL_NONE &&
           (r->type == RECORD_MESSAGE || r->type == RECORD_COPY || r->type == RECORD_BLOB);
}

bool record_holds_message(const uint8_t *p)
{
    return p[AT_TYPE] == RECORD_MESSAGE || p[AT_TYPE] == RECORD_COPY;
}

bool record_read_head(const uint8_t *p, size_t n, uint64_t key, uint64_t offset, struct record *out)
{
    if (n < RECORD_REMOVE_SIZE) /* the smallest */
        return false;
    uint32_t length = get_u32(p + AT_LENGTH);
    uint8_t type = p[AT_TYPE];
    size_t fixed = record_fixed(type);
    if (fixed == 0 || length < fixed || record_pad(length) > n || !start_ok(p, type) ||
        (data_check_of[type] == 0 && length != fixed))
        return false;
    uint32_t check = get_u32(p + AT_CHECK);
    if ((uint32_t)checksum64(p + 4, fixed - 4, record_seed(key, offset)) != check)
        return false;
    out->type = type;
    out->last = p[AT_BITS] & RECORD_LAST;
    out->flags = get_u16(p + AT_FLAGS);
    out->check = check;
    out->chain = get_u32(p + AT_CHAIN);
    out->size = (uint32_t)record_pad(length);
    out->cipher = SEAL_NONE;
    out->box = NULL;
    return read_rest(p, length, out);
}

bool record_read_data(const uint8_t *p, uint64_t key, uint64_t offset, const struct record *r)
{
    size_t fixed = fixed_of[r->type], data_check = data_check_of[r->type];

    return data_check == 0 || checksum64(p + fixed, r->size - fixed, record_seed(key, offset)) ==
                                  get_u64(p + data_check);
}

bool record_read(const uint8_t *p, size_t n, uint64_t key, uint64_t offset, struct record *out)
{
    return record_read_head(p, n, key, offset, out) && record_read_data(p, key, offset, out);
}

uint64_t record_set_at(const struct record *r, uint32_t i)
{
    return get_u64(r->set + (size_t)i * 8);
}
