/* secret.h: with MAYFLY_TEST_CIPHER=chacha or =aes the stores of a test are encrypted: the same
 * test then runs in that mode. */
#ifndef TEST_SECRET_H
#define TEST_SECRET_H

#include "store/store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline const char *test_cipher(void)
{
    const char *mode = getenv("MAYFLY_TEST_CIPHER");

    return mode == NULL ? "" : mode;
}

static inline bool test_has_key(struct store_io *io)
{
    struct store_file *f;
    bool has = false;

    if (io->enter(io, NULL) != 0)
        return false;
    if (io->open(io, "store.key", false, &f, NULL) == 0) {
        io->close(io, f);
        has = true;
    }
    io->leave(io);
    return has;
}

/* Of the store in io; NULL: of a new one. */
static inline const struct store_secret *test_secret_for(struct store_io *io)
{
    static struct store_secret secret;
    static unsigned opens;
    const struct mf_slice keys[] = {{(const uint8_t *)"a key of tests", 14},
                                    {(const uint8_t *)"the other key", 13}};
    bool other = strcmp(test_cipher(), "rotate") == 0 && opens++ % 2 != 0;

    if (test_cipher()[0] == '\0')
        return NULL;
    if (strcmp(test_cipher(), "convert") == 0 && io != NULL && !test_has_key(io) &&
        opens++ % 3 != 2)
        return NULL;
    secret = (struct store_secret){
        .cipher = other || strcmp(test_cipher(), "aes") == 0 ? STORE_AES : STORE_CHACHA,
        .key = keys[other]};
    if (strcmp(test_cipher(), "rotate") == 0)
        secret.prev = keys[!other];
    return &secret;
}
static inline const struct store_secret *test_secret(void)
{
    return test_secret_for(NULL);
}
/* As store_open(), in the mode of the test. */
static inline int test_open(struct store **out, const struct store_opts *opts, struct store_io *io,
                            struct mf_error *e)
{
    struct store_opts o = *opts;

    if (o.secret == NULL)
        o.secret = test_secret_for(io);
    return store_open(out, &o, io, e);
}
/* Are both copies of the key in these bytes of a store.key different from what they were?  Then
 * nothing can be read, and the store says so. */
static inline bool test_key_lost(const uint8_t *was, const uint8_t *now, size_t n)
{
    uint8_t bytes[4096 + 128] = {0};

    memcpy(bytes, now, n < sizeof bytes ? n : sizeof bytes);
    return memcmp(bytes, was, 128) != 0 && memcmp(bytes + 4096, was + 4096, 128) != 0;
}
/* For check and repair; `other`: of the mode "rotate", which leaves either. */
static inline struct mf_slice test_key_or(bool other)
{
    if (test_cipher()[0] == '\0')
        return (struct mf_slice){NULL, 0};
    return other ? (struct mf_slice){(const uint8_t *)"the other key", 13}
                 : (struct mf_slice){(const uint8_t *)"a key of tests", 14};
}
static inline struct mf_slice test_key(void)
{
    return test_key_or(false);
}

#endif
