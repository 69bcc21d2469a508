/* segment_page.c: the header page of a segment, which says whose it is and how large (twice). */
#include "store/log/record.h"

#include "codec/checksum.h"

#define MAGIC       "MAYFLYSG"
#define SECOND_COPY 2048u

enum { /* offsets inside a copy */
       AT_VERSION = 8,
       AT_START = 12,
       AT_ID = 16,
       AT_NUMBER = 32,
       AT_SIZE = 40,
       AT_CREATED = 48,
       AT_CHECK = 56,
};

static void encode_copy(uint8_t page[SEGMENT_PAGE], uint32_t at, uint32_t version,
                        const uint8_t id[STORE_ID], uint64_t number, uint64_t size, int64_t now_ns)
{
    uint8_t *p = page + at;

    memcpy(p, MAGIC, 8);
    put_u32(p + AT_VERSION, version);
    put_u32(p + AT_START, SEGMENT_PAGE);
    memcpy(p + AT_ID, id, STORE_ID);
    put_u64(p + AT_NUMBER, number);
    put_u64(p + AT_SIZE, size);
    put_u64(p + AT_CREATED, (uint64_t)now_ns);
    put_u64(p + AT_CHECK, checksum64(p, AT_CHECK, at));
}

void segment_page_encode(uint8_t page[SEGMENT_PAGE], uint32_t version, const uint8_t id[STORE_ID],
                         uint64_t number, uint64_t size, int64_t now_ns)
{
    memset(page, 0, SEGMENT_PAGE);
    encode_copy(page, 0, version, id, number, size, now_ns);
    encode_copy(page, SECOND_COPY, version, id, number, size, now_ns);
}

/* 0, MF_CORRUPT or MF_UNSUPPORTED. */
static int check_copy(const uint8_t *p, uint32_t at)
{
    if (memcmp(p, MAGIC, 8) != 0 || checksum64(p, AT_CHECK, at) != get_u64(p + AT_CHECK))
        return MF_CORRUPT;
    uint32_t version = get_u32(p + AT_VERSION);
    if (version > SEGMENT_VERSION)
        return MF_UNSUPPORTED;
    return version > 0 && get_u32(p + AT_START) == SEGMENT_PAGE ? 0 : MF_CORRUPT;
}

static void decode_copy(const uint8_t *p, struct segment_head *out)
{
    out->version = get_u32(p + AT_VERSION);
    memcpy(out->id, p + AT_ID, STORE_ID);
    out->number = get_u64(p + AT_NUMBER);
    out->size = get_u64(p + AT_SIZE);
    out->created_ns = (int64_t)get_u64(p + AT_CREATED);
}

int segment_page_decode(const uint8_t page[SEGMENT_PAGE], struct segment_head *out)
{
    const uint8_t *second = page + SECOND_COPY;
    int one = check_copy(page, 0), two = check_copy(second, SECOND_COPY);

    *out = (struct segment_head){0};
    if (one == MF_UNSUPPORTED || two == MF_UNSUPPORTED) {
        out->version = get_u32((one == MF_UNSUPPORTED ? page : second) + AT_VERSION);
        return MF_UNSUPPORTED;
    }
    if (one != 0 && two != 0)
        return MF_CORRUPT;
    decode_copy(one == 0 ? page : second, out);
    /* Two good copies that differ: the header was being replaced when the power failed. */
    out->damaged = one != 0 || two != 0 || memcmp(page, second, AT_CHECK) != 0;
    out->damaged_at = one != 0 ? 0 : SECOND_COPY;
    return 0;
}
