/* rand.c: random bytes from the kernel, and a fast generator seeded from them. */
#include "base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_bytes(void *dst, size_t n)
{
    uint8_t *p = dst;

    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            abort(); /* going on with guessable keys would be worse */
        }
        p += got;
        n -= (size_t)got;
    }
}

/* xoshiro256** (Blackman and Vigna): 2^256-1 states, all zero excluded. */
static _Thread_local uint64_t state[4];

static uint64_t rotate_left(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t rand_fast(void)
{
    while (MF_UNLIKELY((state[0] | state[1] | state[2] | state[3]) == 0))
        rand_bytes(state, sizeof state);
    uint64_t result = rotate_left(state[1] * 5, 7) * 9, t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate_left(state[3], 45);
    return result;
}

void rand_nuid(char dst[RAND_NUID + 1])
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = 0;

    while (n < RAND_NUID) {
        uint8_t pool[RAND_NUID];
        rand_bytes(pool, sizeof pool);
        /* 248 = 4 * 62: beyond it the first letters would come up more often. */
        for (size_t i = 0; i < sizeof pool && n < RAND_NUID; i++)
            if (pool[i] < 248)
                dst[n++] = alphabet[pool[i] % 62];
    }
    dst[n] = '\0';
}
