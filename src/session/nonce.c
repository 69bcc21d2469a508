/* nonce.c: random text of the base64 alphabet for URLs. */
#include "session/nonce.h"

#include "base/rand.h"

void nonce_make(char dst[NONCE])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t raw[NONCE - 1];

    rand_bytes(raw, sizeof raw);
    for (size_t i = 0; i < sizeof raw; i++)
        dst[i] = alphabet[raw[i] & 63];
    dst[sizeof raw] = '\0';
}
