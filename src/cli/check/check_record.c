/* check_record.c: is this a record?  docs/disk-format.md, "Records". */
#include "cli/check/check_impl.h"

#include "codec/checksum.h"

static const struct {
    uint8_t fixed;
    bool data;
    const char *name;
} types[] = {
    [REC_MESSAGE] = {56, true, "message"},  [REC_COPY] = {56, true, "copy"},
    [REC_REMOVAL] = {24, false, "removal"}, [REC_RANGE] = {32, false, "range removal"},
    [REC_SET] = {32, true, "set removal"},  [REC_DEADLINE] = {32, false, "re-deadline"},
    [REC_MARK] = {32, false, "time mark"},  [REC_COMMIT] = {80, false, "commit"},
    [REC_SEAL] = {24, false, "seal"},       [REC_BLOB] = {32, true, "blob"},
    [REC_ERASE] = {40, false, "erase"},
};

const char *check_rec_type_text(uint8_t type)
{
    return type >= REC_MESSAGE && type <= REC_ERASE ? types[type].name : "unknown record";
}

const char *check_rec_why_text(enum rec_why why)
{
    switch (why) {
    case REC_OK:
        return "a record";
    case REC_NO_ROOM:
        return "the file ends here";
    case REC_NO_RECORD:
        return "not a record";
    case REC_BAD_CHECK:
        return "the check of a record does not match";
    case REC_BAD_DATA:
        return "the data check of a record does not match";
    case REC_OUT_OF_CHAIN:
        return "a record that does not follow the one before it";
    }
    return "?";
}

uint64_t check_rec_key(const uint8_t store_id[16], uint64_t segment)
{
    uint8_t text[24];

    memcpy(text, store_id, 16);
    for (int i = 0; i < 8; i++)
        text[16 + i] = (uint8_t)(segment >> 8 * i);
    return checksum64(text, sizeof text, 0);
}

static uint64_t seed_of(uint64_t key, uint64_t offset)
{
    return key + offset * UINT64_C(0x9E3779B97F4A7C15);
}

/* Takes from *data what a box has beside the sealed bytes. */
static bool box_ok(unsigned cipher, uint64_t *data)
{
    if (cipher == SEAL_NONE)
        return true;
    if (!seal_known(cipher) || *data < SEAL_ROOM)
        return false;
    *data -= SEAL_ROOM;
    return true;
}

/* Do the lengths inside add up, and are the reserved fields 0? */
static bool form_ok(const struct rec *r)
{
    uint64_t data = r->length - r->fixed;

    switch (r->type) {
    case REC_MESSAGE:
    case REC_COPY:
        return box_ok(rd16(r->p + 46), &data) &&
               (uint64_t)rd32(r->p + 40) + rd16(r->p + 44) <= data;
    case REC_SET:
        return rd32(r->p + 16) <= 65536 && rd32(r->p + 20) == 0 &&
               data == (uint64_t)rd32(r->p + 16) * 8;
    case REC_BLOB:
        return (rd16(r->p + 22) & 0xFEu) == 0 && box_ok(rd16(r->p + 22) >> 8, &data) &&
               data == (uint64_t)rd32(r->p + 16) + rd16(r->p + 20);
    default:
        return data == 0;
    }
}

/* The flags that a record of this type may have. */
static uint16_t flags_of(uint8_t type)
{
    if (type == REC_MESSAGE || type == REC_COPY)
        return UINT16_MAX;
    return type == REC_DEADLINE ? MSG_BITS : 0;
}

enum rec_why check_rec_fixed(const uint8_t *p, uint64_t room, uint64_t offset, uint64_t key,
                             struct rec *out)
{
    struct rec r = {.p = p, .offset = offset};

    if (room < 24)
        return REC_NO_ROOM;
    r.type = p[12];
    if (r.type < REC_MESSAGE || r.type > REC_ERASE || (p[13] & 0xfe) != 0)
        return REC_NO_RECORD;
    r.fixed = types[r.type].fixed;
    r.length = rd32(p + 4);
    r.flags = rd16(p + 14);
    if (r.length < r.fixed || ((uint64_t)r.length + 7) / 8 * 8 > room ||
        (r.flags & ~flags_of(r.type)) != 0 || !form_ok(&r))
        return REC_NO_RECORD;
    r.check = rd32(p);
    if ((uint32_t)checksum64(p + 4, r.fixed - 4, seed_of(key, offset)) != r.check)
        return REC_BAD_CHECK;
    r.padded = (r.length + 7) / 8 * 8;
    r.chain = rd32(p + 8);
    r.last = (p[13] & 1) != 0;
    *out = r;
    return REC_OK;
}

enum rec_why check_rec_data(const struct rec *r, uint64_t key)
{
    uint64_t want;

    if (!types[r->type].data)
        return REC_OK;
    /* The data check is the last field of each fixed part that has one. */
    want = rd64(r->p + r->fixed - 8);
    return checksum64(r->p + r->fixed, r->padded - r->fixed, seed_of(key, r->offset)) == want
               ? REC_OK
               : REC_BAD_DATA;
}
