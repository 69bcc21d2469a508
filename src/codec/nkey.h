/* nkey.h: the texts of NATS keys: base32 with a checksum around 32 bytes.  Pure; knows no
 * cryptography.
 *
 * A public key's text is base32 (RFC 4648 alphabet, no padding) of 35 bytes, 56 characters:
 *    0  u8   kind: its five high bits are the first letter
 *    1  32   the raw key
 *   33  u16  CRC-16/XMODEM of bytes 0..32, little endian
 * A seed's text, 36 bytes in 58 characters, has two bytes in front: 18 << 3 ('S') and the kind,
 * shifted right by five bits; then the 32 bytes that the key is made of.
 * Valid if and only if the length is right, every character is of the alphabet (upper case), and
 * the checksum matches. */
#ifndef MAYFLY_NKEY_H
#define MAYFLY_NKEY_H

#include "base/base.h"

#define NKEY_TEXT 57 /* with the NUL */
#define NKEY_SEED 59
enum nkey_kind {
    NKEY_ACCOUNT = 0,        /* A */
    NKEY_CLUSTER = 2 << 3,   /* C */
    NKEY_SERVER = 13 << 3,   /* N */
    NKEY_OPERATOR = 14 << 3, /* O */
    NKEY_USER = 20 << 3,     /* U */
    NKEY_CURVE = 23 << 3     /* X */
};

/* 0 and the raw key if text is a well-formed public key of this kind; MF_INVAL. */
MF_MUSTCHECK int nkey_decode(struct mf_slice text, enum nkey_kind kind, uint8_t raw[32]);
void nkey_encode(char dst[NKEY_TEXT], enum nkey_kind kind, const uint8_t raw[32]);

/* The same for seeds; *kind is one of the enum. */
MF_MUSTCHECK int nkey_decode_seed(struct mf_slice text, enum nkey_kind *kind, uint8_t raw[32]);
void nkey_encode_seed(char dst[NKEY_SEED], enum nkey_kind kind, const uint8_t raw[32]);

/* Whether text is a public key of any of these kinds; *kind is written then. */
bool nkey_is_public(struct mf_slice text, enum nkey_kind *kind);

#endif
