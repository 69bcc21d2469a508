/* nkey.c: NATS keys: base32 text with a checksum around ed25519 keys.
 *
 * A public key's text, base32 (RFC 4648 alphabet, no padding) of 35 bytes, 56 characters:
 *    0  u8   kind: 160 user 'U', 0 account 'A', 104 server 'N', 184 curve 'X'
 *    1  32   the raw key
 *   33  u16  CRC-16/XMODEM of bytes 0..32, little endian
 * Valid if and only if the length is 56, every character is of the alphabet (upper case), the bits
 * beyond byte 34 do not exist (35 * 8 = 56 * 5), and the checksum matches. */
#include "auth/auth.h"

#include "base/rand.h"

#include <sodium.h>

#define RAW  35
#define TEXT (NKEY_TEXT - 1)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

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

/* Both directions work in groups of 8 characters, 5 bytes; a key has exactly 7 groups. */
static void base32_encode(char dst[TEXT + 1], const uint8_t raw[RAW])
{
    for (size_t g = 0; g < RAW / 5; g++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 5; i++)
            bits = bits << 8 | raw[g * 5 + i];
        for (size_t i = 0; i < 8; i++)
            dst[g * 8 + i] = alphabet[bits >> (35 - 5 * i) & 31];
    }
    dst[TEXT] = '\0';
}

static int base32_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= '2' && c <= '7')
        return c - '2' + 26;
    return -1;
}

static int base32_decode(uint8_t raw[RAW], struct mf_slice text)
{
    if (text.len != TEXT)
        return MF_INVAL;
    for (size_t g = 0; g < RAW / 5; g++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < 8; i++) {
            int v = base32_value(text.ptr[g * 8 + i]);
            if (v < 0)
                return MF_INVAL;
            bits = bits << 5 | (uint64_t)v;
        }
        for (size_t i = 0; i < 5; i++)
            raw[g * 5 + i] = (uint8_t)(bits >> (32 - 8 * i));
    }
    return 0;
}

int nkey_decode(struct mf_slice text, enum nkey_kind kind, uint8_t raw[32])
{
    uint8_t all[RAW];

    if (base32_decode(all, text) != 0 || all[0] != (uint8_t)kind)
        return MF_INVAL;
    if (compute_crc16(all, 33) != (uint16_t)(all[33] | all[34] << 8))
        return MF_INVAL;
    memcpy(raw, all + 1, 32);
    return 0;
}

void nkey_encode(char dst[NKEY_TEXT], enum nkey_kind kind, const uint8_t raw[32])
{
    uint8_t all[RAW];
    uint16_t crc;

    all[0] = (uint8_t)kind;
    memcpy(all + 1, raw, 32);
    crc = compute_crc16(all, 33);
    all[33] = (uint8_t)crc;
    all[34] = (uint8_t)(crc >> 8);
    base32_encode(dst, all);
}

static bool decode_sig(uint8_t out[crypto_sign_BYTES], struct mf_slice sig)
{
    static const int variants[] = {sodium_base64_VARIANT_URLSAFE_NO_PADDING,
                                   sodium_base64_VARIANT_ORIGINAL};

    for (size_t i = 0; i < MF_COUNT(variants); i++) {
        size_t n = 0;
        if (sodium_base642bin(out, crypto_sign_BYTES, (const char *)sig.ptr, sig.len, NULL, &n,
                              NULL, variants[i]) == 0 &&
            n == crypto_sign_BYTES)
            return true;
    }
    return false;
}

bool nkey_verify(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig)
{
    uint8_t key[32], bytes[crypto_sign_BYTES];

    if (sodium_init() < 0 || sig.len == 0 || nonce.len == 0)
        return false;
    return nkey_decode(public_text, NKEY_USER, key) == 0 && decode_sig(bytes, sig) &&
           crypto_sign_verify_detached(bytes, nonce.ptr, nonce.len, key) == 0;
}

void nkey_random(char dst[NKEY_TEXT], enum nkey_kind kind)
{
    uint8_t seed[crypto_sign_SEEDBYTES], pk[crypto_sign_PUBLICKEYBYTES];
    uint8_t sk[crypto_sign_SECRETKEYBYTES];

    /* The id never signs anything, but is a real point on the curve, as tools expect. */
    rand_bytes(seed, sizeof seed);
    if (sodium_init() < 0 || crypto_sign_seed_keypair(pk, sk, seed) != 0)
        memcpy(pk, seed, sizeof pk);
    nkey_encode(dst, kind, pk);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(sk, sizeof sk);
}
