/* sha256.h: SHA-256 (FIPS 180-4) of a few bytes or of many pieces.  O(bytes). */
#ifndef MAYFLY_SHA256_H
#define MAYFLY_SHA256_H

#include "base/base.h"

#define SHA256_BYTES 32
void sha256(struct mf_slice text, uint8_t out[SHA256_BYTES]);
/* Eight letters and digits of the digest, as in nats-server's names of sources and accounts.
 * NUL-terminated. */
#define SHA256_SHORT 9
void sha256_short(struct mf_slice text, char out[SHA256_SHORT]);

/* Piece by piece: begin, add any number of times, end. */
struct sha256_state {
    uint64_t opaque[13]; /* libsodium's state */
};
void sha256_begin(struct sha256_state *s);
void sha256_add(struct sha256_state *s, struct mf_slice piece);
void sha256_end(struct sha256_state *s, uint8_t out[SHA256_BYTES]);

#endif
