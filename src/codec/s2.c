/* s2.c: S2 blocks.
 *
 * A block is the uncompressed length as a varint, then elements.  The two low bits of an element's
 * first byte say what it is:
 *    00  literal: length - 1 in the upper six bits, or 60..63: in the next 1..4 bytes
 *    01  copy: length 4..11 in bits 2-4, offset in 11 bits.  Offset 0 repeats the last offset, and
 *        bits 2-4 then mean: 0..4 length 4..8; 5, 6, 7: 8, 260, 65540 + the next 1, 2, 3 bytes
 *    10  copy: length 1..64, offset in 16 bits
 *    11  copy: length 1..64, offset in 32 bits
 * The writer uses plain Snappy only, which readers of either format accept. */
#include "codec/s2.h"

#define FRAGMENT   65536u /* matches are looked for inside one: offsets fit in 16 bits */
#define TABLE_BITS 14
#define TAIL       15u /* too near the end of a fragment to look for matches */

size_t s2_bound(size_t n)
{
    return 32 + n + n / 6;
}

static uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* --- compressing ---------------------------------------------------------------------------- */

static uint8_t *emit_length(uint8_t *dst, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        *dst++ = (uint8_t)(n | 0x80);
    *dst++ = (uint8_t)n;
    return dst;
}

/* At most a fragment long, so two bytes of length are enough. */
static uint8_t *emit_literal(uint8_t *dst, const uint8_t *src, size_t n)
{
    size_t x = n - 1;

    if (n == 0)
        return dst;
    if (x < 60) {
        *dst++ = (uint8_t)(x << 2);
    } else if (x < 256) {
        *dst++ = 60 << 2;
        *dst++ = (uint8_t)x;
    } else {
        *dst++ = 61 << 2;
        *dst++ = (uint8_t)x;
        *dst++ = (uint8_t)(x >> 8);
    }
    memcpy(dst, src, n);
    return dst + n;
}

static uint8_t *emit_copy2(uint8_t *dst, size_t offset, size_t n)
{
    *dst++ = (uint8_t)((n - 1) << 2 | 2);
    *dst++ = (uint8_t)offset;
    *dst++ = (uint8_t)(offset >> 8);
    return dst;
}

/* The last piece is at least 4 long, so that the short form may take it. */
static uint8_t *emit_copy(uint8_t *dst, size_t offset, size_t n)
{
    for (; n >= 68; n -= 64)
        dst = emit_copy2(dst, offset, 64);
    if (n > 64) {
        dst = emit_copy2(dst, offset, 60);
        n -= 60;
    }
    if (n >= 12 || offset >= 2048)
        return emit_copy2(dst, offset, n);
    *dst++ = (uint8_t)(offset >> 8 << 5 | (n - 4) << 2 | 1);
    *dst++ = (uint8_t)offset;
    return dst;
}

static size_t match_length(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *from = b;

    while (b < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(b - from);
}

/* Greedy: the newest place with the same four bytes wins; the longer nothing is found, the larger
 * the steps, so that bytes without any repetition cost little. */
static uint8_t *compress_fragment(uint8_t *dst, const uint8_t *src, size_t n)
{
    uint16_t table[1u << TABLE_BITS];
    unsigned bits = 8;
    size_t at = 1, emitted = 0, misses = 32;

    if (n < TAIL + 4)
        return emit_literal(dst, src, n);
    while (bits < TABLE_BITS && (1u << bits) < n)
        bits++;
    memset(table, 0, sizeof table[0] << bits);
    while (at < n - TAIL) {
        uint32_t now = load_u32(src + at), h = (now * 0x1e35a7bdu) >> (32 - bits);
        size_t seen = table[h], len;

        table[h] = (uint16_t)at;
        if (load_u32(src + seen) != now) {
            at += misses++ >> 5;
            continue;
        }
        misses = 32;
        dst = emit_literal(dst, src + emitted, at - emitted);
        len = 4 + match_length(src + seen + 4, src + at + 4, src + n);
        dst = emit_copy(dst, at - seen, len);
        at += len;
        emitted = at;
        if (at < n - TAIL) /* what was just copied often goes on behind */
            table[(load_u32(src + at - 1) * 0x1e35a7bdu) >> (32 - bits)] = (uint16_t)(at - 1);
    }
    return emit_literal(dst, src + emitted, n - emitted);
}

size_t s2_compress(uint8_t *dst, struct mf_slice src)
{
    uint8_t *to = emit_length(dst, src.len);

    for (size_t at = 0; at < src.len; at += FRAGMENT) {
        size_t n = src.len - at < FRAGMENT ? src.len - at : FRAGMENT;

        to = compress_fragment(to, src.ptr + at, n);
    }
    return (size_t)(to - dst);
}

/* --- uncompressing -------------------------------------------------------------------------- */

static int read_length(struct mf_slice *in, size_t *n)
{
    uint64_t v = 0;

    for (size_t i = 0; i < in->len && i < 5; i++) {
        v |= (uint64_t)(in->ptr[i] & 0x7f) << (7 * i);
        if (in->ptr[i] < 0x80) {
            if (v > UINT32_MAX)
                return MF_INVAL;
            in->ptr += i + 1;
            in->len -= i + 1;
            *n = (size_t)v;
            return 0;
        }
    }
    return MF_INVAL;
}

int s2_length(struct mf_slice block, size_t *n)
{
    return read_length(&block, n);
}

/* Little endian, n <= 4 bytes; the caller knows that they are there. */
static uint32_t load_le(const uint8_t *p, size_t n)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++)
        v |= (uint32_t)p[i] << (8 * i);
    return v;
}

struct element {
    bool literal;
    size_t length; /* up to 4 GiB */
    size_t offset; /* of a copy; kept for repeats */
};

/* Reads the element at s->ptr but for a literal's bytes. */
static bool read_element(struct mf_slice *s, struct element *e)
{
    static const uint32_t repeat_base[3] = {8, 260, 65540};
    uint8_t tag = s->ptr[0];
    size_t x = tag >> 2, extra;

    e->literal = (tag & 3) == 0;
    if (e->literal)
        extra = x < 60 ? 0 : x - 59;
    else if ((tag & 3) == 1)
        extra = 1;
    else
        extra = (tag & 3) == 2 ? 2 : 4;
    if (s->len <= extra)
        return false;
    if (e->literal) {
        e->length = (extra == 0 ? x : load_le(s->ptr + 1, extra)) + (size_t)1;
    } else if (extra > 1) {
        e->length = x + 1;
        e->offset = load_le(s->ptr + 1, extra);
    } else if (((tag & 0xe0u) << 3 | s->ptr[1]) != 0) {
        e->length = (x & 7) + 4;
        e->offset = (size_t)(tag & 0xe0) << 3 | s->ptr[1];
    } else if ((x & 7) < 5) {
        e->length = (x & 7) + 4;
    } else {
        size_t more = (x & 7) - 4;

        if (s->len <= extra + more)
            return false;
        e->length = repeat_base[more - 1] + (size_t)load_le(s->ptr + 2, more);
        extra += more;
    }
    s->ptr += 1 + extra;
    s->len -= 1 + extra;
    return true;
}

static void copy_back(uint8_t *dst, size_t offset, size_t n)
{
    const uint8_t *src = dst - offset;

    if (offset >= n) {
        memcpy(dst, src, n);
        return;
    }
    if (offset == 1) {
        memset(dst, src[0], n);
        return;
    }
    while (n > 0) { /* they overlap: what was just written is read again, twice as much each time */
        size_t k = n < offset ? n : offset;

        memcpy(dst, src, k);
        dst += k;
        n -= k;
        offset += k;
    }
}

int s2_uncompress(uint8_t *dst, size_t n, struct mf_slice block)
{
    struct element e = {false, 0, 0};
    size_t said, at = 0;

    if (read_length(&block, &said) != 0 || said != n)
        return MF_CORRUPT;
    while (block.len > 0) {
        if (!read_element(&block, &e) || e.length > n - at)
            return MF_CORRUPT;
        if (e.literal) {
            if (e.length > block.len)
                return MF_CORRUPT;
            memcpy(dst + at, block.ptr, e.length);
            block.ptr += e.length;
            block.len -= e.length;
        } else {
            if (e.offset == 0 || e.offset > at)
                return MF_CORRUPT;
            copy_back(dst + at, e.offset, e.length);
        }
        at += e.length;
    }
    return at == n ? 0 : MF_CORRUPT;
}
