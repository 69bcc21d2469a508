/* sha256.c: SHA-256 by libsodium, and nats-server's short names made of it. */
#include "codec/sha256.h"

#include <sodium.h>

_Static_assert(SHA256_BYTES == crypto_hash_sha256_BYTES, "the length of a digest");

void sha256(struct mf_slice text, uint8_t out[SHA256_BYTES])
{
    (void)crypto_hash_sha256(out, text.ptr, text.len); /* cannot fail, needs no sodium_init() */
}

void sha256_short(struct mf_slice text, char out[SHA256_SHORT])
{
    static const char letter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint8_t digest[SHA256_BYTES];

    sha256(text, digest);
    for (unsigned i = 0; i < SHA256_SHORT - 1; i++)
        out[i] = letter[digest[i] % 62];
    out[SHA256_SHORT - 1] = '\0';
}

_Static_assert(sizeof(struct sha256_state) >= sizeof(crypto_hash_sha256_state),
               "room for the state");

void sha256_begin(struct sha256_state *s)
{
    (void)crypto_hash_sha256_init((crypto_hash_sha256_state *)(void *)s);
}

void sha256_add(struct sha256_state *s, struct mf_slice piece)
{
    (void)crypto_hash_sha256_update((crypto_hash_sha256_state *)(void *)s, piece.ptr, piece.len);
}

void sha256_end(struct sha256_state *s, uint8_t out[SHA256_BYTES])
{
    (void)crypto_hash_sha256_final((crypto_hash_sha256_state *)(void *)s, out);
}
