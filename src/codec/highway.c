/* highway.c: HighwayHash, 64 bits (Alakuijala, Cox, Wassenberg 2016), without vector instructions.
 */
#include "codec/highway.h"

#define PACKET 32

static uint64_t load_le64(const uint8_t *p)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t swap_halves(uint64_t v)
{
    return v >> 32 | v << 32;
}

/* Adds the bytes of v to `add`, in HighwayHash's order that spreads the well-mixed bytes of a
 * product. */
static void zip_merge_add(uint64_t v1, uint64_t v0, uint64_t *add1, uint64_t *add0)
{
    *add0 += ((v0 & 0xff000000ULL) | (v1 & 0xff00000000ULL)) >> 24 |
             ((v0 & 0xff0000000000ULL) | (v1 & 0xff000000000000ULL)) >> 16 | (v0 & 0xff0000ULL) |
             (v0 & 0xff00ULL) << 32 | (v1 & 0xff00000000000000ULL) >> 8 | v0 << 56;
    *add1 += ((v1 & 0xff000000ULL) | (v0 & 0xff00000000ULL)) >> 24 | (v1 & 0xff0000ULL) |
             (v1 & 0xff0000000000ULL) >> 16 | (v1 & 0xff00ULL) << 24 |
             (v0 & 0xff000000000000ULL) >> 8 | (v1 & 0xffULL) << 48 | (v0 & 0xff00000000000000ULL);
}

static void mix_lanes(struct highway *h, const uint64_t lane[4])
{
    for (unsigned i = 0; i < 4; i++) {
        h->v1[i] += h->mul0[i] + lane[i];
        h->mul0[i] ^= (h->v1[i] & 0xffffffff) * (h->v0[i] >> 32);
        h->v0[i] += h->mul1[i];
        h->mul1[i] ^= (h->v0[i] & 0xffffffff) * (h->v1[i] >> 32);
    }
    zip_merge_add(h->v1[1], h->v1[0], &h->v0[1], &h->v0[0]);
    zip_merge_add(h->v1[3], h->v1[2], &h->v0[3], &h->v0[2]);
    zip_merge_add(h->v0[1], h->v0[0], &h->v1[1], &h->v1[0]);
    zip_merge_add(h->v0[3], h->v0[2], &h->v1[3], &h->v1[2]);
}

static void update_packet(struct highway *h, const uint8_t packet[PACKET])
{
    uint64_t lane[4];

    for (unsigned i = 0; i < 4; i++)
        lane[i] = load_le64(packet + (size_t)8 * i);
    mix_lanes(h, lane);
}

void highway_init(struct highway *h, const uint8_t key[HIGHWAY_KEY])
{
    static const uint64_t mul0[4] = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344,
                                     0x243f6a8885a308d3};
    static const uint64_t mul1[4] = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c,
                                     0x452821e638d01377};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t k = load_le64(key + (size_t)8 * i);

        h->mul0[i] = mul0[i];
        h->mul1[i] = mul1[i];
        h->v0[i] = mul0[i] ^ k;
        h->v1[i] = mul1[i] ^ swap_halves(k);
    }
    h->n = 0;
}

void highway_add(struct highway *h, struct mf_slice bytes)
{
    while (bytes.len > 0) {
        size_t n = PACKET - h->n < bytes.len ? PACKET - h->n : bytes.len;

        memcpy(h->rest + h->n, bytes.ptr, n);
        h->n += n;
        bytes = mf_slice(bytes.ptr + n, bytes.len - n);
        if (h->n == PACKET) {
            update_packet(h, h->rest);
            h->n = 0;
        }
    }
}

/* The last bytes, less than a packet. */
static void update_rest(struct highway *h)
{
    size_t n = h->n, tail = n & 3, whole = n & ~(size_t)3;
    const uint8_t *rest = h->rest + whole;
    uint8_t packet[PACKET] = {0};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t low = h->v1[i] & 0xffffffff, high = h->v1[i] >> 32;

        h->v0[i] += ((uint64_t)n << 32) + n;
        low = (low << n | low >> (32 - n)) & 0xffffffff;
        high = (high << n | high >> (32 - n)) & 0xffffffff;
        h->v1[i] = high << 32 | low;
    }
    memcpy(packet, h->rest, whole);
    if ((n & 16) != 0) {
        memcpy(packet + 28, h->rest + n - 4, 4);
    } else if (tail != 0) {
        packet[16] = rest[0];
        packet[17] = rest[tail >> 1];
        packet[18] = rest[tail - 1];
    }
    update_packet(h, packet);
}

void highway_end(struct highway *h, uint8_t out[HIGHWAY_BYTES])
{
    uint64_t v;

    if (h->n > 0)
        update_rest(h);
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t lane[4] = {swap_halves(h->v0[2]), swap_halves(h->v0[3]),
                                  swap_halves(h->v0[0]), swap_halves(h->v0[1])};

        mix_lanes(h, lane);
    }
    v = h->v0[0] + h->v1[0] + h->mul0[0] + h->mul1[0];
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> (8 * i));
}
