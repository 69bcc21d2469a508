/* secret.h: with MAYFLY_TEST_CIPHER=chacha or =aes the stores of a test are encrypted: the same
 * test then runs in that mode. */
#ifndef TEST_SECRET_H
#define TEST_SECRET_H

#include "store/store_secret.h"

#include <stdlib.h>
#include <string.h>

static inline const struct store_secret *test_secret(void)
{
    static struct store_secret secret = {.key = {(const uint8_t *)"a key of tests", 14}};
    const char *cipher = getenv("MAYFLY_TEST_CIPHER");

    if (cipher == NULL || cipher[0] == '\0')
        return NULL;
    secret.cipher = strcmp(cipher, "aes") == 0 ? STORE_AES : STORE_CHACHA;
    return &secret;
}
/* Are both copies of the key in these bytes of a store.key different from what they were?  Then
 * nothing can be read, and the store says so. */
static inline bool test_key_lost(const uint8_t *was, const uint8_t *now, size_t n)
{
    uint8_t bytes[4096 + 112] = {0};

    memcpy(bytes, now, n < sizeof bytes ? n : sizeof bytes);
    return memcmp(bytes, was, 112) != 0 && memcmp(bytes + 4096, was + 4096, 112) != 0;
}
/* For check and repair. */
static inline struct mf_slice test_key(void)
{
    const struct store_secret *s = test_secret();

    return s == NULL ? MF_SLICE_NONE : s->key;
}

#endif
