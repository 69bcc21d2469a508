/* xkey.c: see xkey.h. */
#include "jwt/xkey.h"

#include "base/rand.h"

#include <sodium.h>

#define VERSION 4
#define NONCE   crypto_box_NONCEBYTES

int xkey_seal(struct mf_buf *out, struct mf_slice plain, const struct jwt_key *from,
              struct mf_slice to)
{
    uint8_t pk[32];

    if (sodium_init() < 0 || from->kind != NKEY_CURVE || nkey_decode(to, NKEY_CURVE, pk) != 0)
        return MF_INVAL;
    uint8_t *at = mf_buf_reserve(out, plain.len + XKEY_OVERHEAD);
    if (at == NULL)
        return MF_NOMEM;
    memcpy(at, "xkv1", VERSION);
    rand_bytes(at + VERSION, NONCE);
    if (crypto_box_easy(at + VERSION + NONCE, plain.ptr, plain.len, at + VERSION, pk, from->seed) !=
        0)
        return MF_INVAL; /* a public key of low order */
    out->len += plain.len + XKEY_OVERHEAD;
    return 0;
}

int xkey_open(struct mf_buf *out, struct mf_slice sealed, const struct jwt_key *us,
              struct mf_slice from)
{
    uint8_t pk[32];

    if (sodium_init() < 0 || us->kind != NKEY_CURVE || sealed.len < XKEY_OVERHEAD ||
        !mf_starts(sealed, "xkv1") || nkey_decode(from, NKEY_CURVE, pk) != 0)
        return MF_DENIED;
    uint8_t *at = mf_buf_reserve(out, sealed.len);
    if (at == NULL)
        return MF_NOMEM;
    if (crypto_box_open_easy(at, sealed.ptr + VERSION + NONCE, sealed.len - VERSION - NONCE,
                             sealed.ptr + VERSION, pk, us->seed) != 0)
        return MF_DENIED;
    out->len += sealed.len - XKEY_OVERHEAD;
    return 0;
}
