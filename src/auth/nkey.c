/* nkey.c: NATS keys at work: signatures of nonces, a fresh key.  Their texts: codec/nkey.h. */
#include "auth/auth.h"

#include "base/rand.h"

#include <sodium.h>

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

static bool verify_signature(struct mf_slice public_text, enum nkey_kind kind,
                             struct mf_slice nonce, struct mf_slice sig)
{
    uint8_t key[32], bytes[crypto_sign_BYTES];

    if (sodium_init() < 0 || sig.len == 0 || nonce.len == 0)
        return false;
    return nkey_decode(public_text, kind, key) == 0 && decode_sig(bytes, sig) &&
           crypto_sign_verify_detached(bytes, nonce.ptr, nonce.len, key) == 0;
}

bool nkey_verify(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig)
{
    return verify_signature(public_text, NKEY_USER, nonce, sig);
}

bool nkey_verify_any(struct mf_slice public_text, struct mf_slice nonce, struct mf_slice sig)
{
    enum nkey_kind kind;

    return nkey_is_public(public_text, &kind) && kind != NKEY_CURVE &&
           verify_signature(public_text, kind, nonce, sig);
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
