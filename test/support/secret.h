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

#endif
