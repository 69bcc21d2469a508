/* nkey.c: see nkey.h. */
#include "codec/nkey.h"

#define SUM        2u
#define PUBLIC_LEN (1u + 32u)
#define SEED_LEN   (2u + 32u)
#define PREFIX_S   (18u << 3)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const enum nkey_kind kinds[] = {NKEY_ACCOUNT,  NKEY_CLUSTER, NKEY_SERVER,
                                       NKEY_OPERATOR, NKEY_USER,    NKEY_CURVE};

static uint16_t compute_crc16(const uint8_t *p, size_t n)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < n; i++) {
        crc ^= (uint32_t)p[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    return (uint16_t)crc;
}

static size_t base32_length(size_t bytes)
{
    return (bytes * 8 + 4) / 5;
}

/* The last character's spare bits are zero. */
static void base32_encode(char *dst, const uint8_t *raw, size_t n)
{
    uint32_t acc = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        acc = acc << 8 | raw[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *dst++ = alphabet[acc >> (bits - 5) & 31];
    }
    if (bits > 0)
        *dst++ = alphabet[acc << (5 - bits) & 31];
    *dst = '\0';
}

static int base32_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= '2' && c <= '7')
        return c - '2' + 26;
    return -1;
}

/* Exactly n bytes. */
static int base32_decode(uint8_t *raw, size_t n, struct mf_slice text)
{
    uint32_t acc = 0;
    unsigned bits = 0;

    if (text.len != base32_length(n))
        return MF_INVAL;
    for (size_t i = 0, at = 0; i < text.len; i++) {
        int v = base32_value(text.ptr[i]);

        if (v < 0)
            return MF_INVAL;
        acc = acc << 5 | (uint32_t)v;
        bits += 5;
        if (bits >= 8) {
            bits -= 8;
            raw[at++] = (uint8_t)(acc >> bits);
        }
    }
    return 0;
}

/* n bytes and their checksum. */
static int unwrap_bytes(uint8_t *raw, size_t n, struct mf_slice text)
{
    if (base32_decode(raw, n + SUM, text) != 0)
        return MF_INVAL;
    return compute_crc16(raw, n) == (uint16_t)(raw[n] | raw[n + 1] << 8) ? 0 : MF_INVAL;
}

static void wrap_bytes(char *dst, uint8_t *raw, size_t n)
{
    uint16_t crc = compute_crc16(raw, n);

    raw[n] = (uint8_t)crc;
    raw[n + 1] = (uint8_t)(crc >> 8);
    base32_encode(dst, raw, n + SUM);
}

static bool find_kind(unsigned byte, enum nkey_kind *kind)
{
    for (size_t i = 0; i < MF_COUNT(kinds); i++)
        if ((unsigned)kinds[i] == byte) {
            *kind = kinds[i];
            return true;
        }
    return false;
}

int nkey_decode(struct mf_slice text, enum nkey_kind kind, uint8_t raw[32])
{
    uint8_t all[PUBLIC_LEN + SUM];

    if (unwrap_bytes(all, PUBLIC_LEN, text) != 0 || all[0] != (uint8_t)kind)
        return MF_INVAL;
    memcpy(raw, all + 1, 32);
    return 0;
}

void nkey_encode(char dst[NKEY_TEXT], enum nkey_kind kind, const uint8_t raw[32])
{
    uint8_t all[PUBLIC_LEN + SUM];

    all[0] = (uint8_t)kind;
    memcpy(all + 1, raw, 32);
    wrap_bytes(dst, all, PUBLIC_LEN);
}

bool nkey_is_public(struct mf_slice text, enum nkey_kind *kind)
{
    uint8_t all[PUBLIC_LEN + SUM];

    return unwrap_bytes(all, PUBLIC_LEN, text) == 0 && find_kind(all[0], kind);
}

int nkey_decode_seed(struct mf_slice text, enum nkey_kind *kind, uint8_t raw[32])
{
    uint8_t all[SEED_LEN + SUM];
    int rc = MF_INVAL;

    if (unwrap_bytes(all, SEED_LEN, text) == 0 && (all[0] & 0xf8) == PREFIX_S &&
        find_kind((all[0] & 7u) << 5 | all[1] >> 3, kind)) {
        memcpy(raw, all + 2, 32);
        rc = 0;
    }
    explicit_bzero(all, sizeof all); /* memset() before a return is left out by compilers */
    return rc;
}

void nkey_encode_seed(char dst[NKEY_SEED], enum nkey_kind kind, const uint8_t raw[32])
{
    uint8_t all[SEED_LEN + SUM];

    all[0] = (uint8_t)(PREFIX_S | (unsigned)kind >> 5);
    all[1] = (uint8_t)(((unsigned)kind & 31) << 3);
    memcpy(all + 2, raw, 32);
    wrap_bytes(dst, all, SEED_LEN);
    explicit_bzero(all, sizeof all);
}
