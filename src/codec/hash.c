/* hash.c: XXH3, seeded once per process. */
#include "codec/hash.h"

#include "base/rand.h"

#include <stdatomic.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* 0: not chosen yet.  Threads that race for it agree on the first one's choice. */
static _Atomic uint64_t seed;

static uint64_t choose_seed(void)
{
    uint64_t mine = 0, none = 0;

    while (mine == 0)
        rand_bytes(&mine, sizeof mine);
    return atomic_compare_exchange_strong(&seed, &none, mine) ? mine : none;
}

uint64_t hash_bytes(const void *p, size_t n)
{
    uint64_t s = atomic_load_explicit(&seed, memory_order_relaxed);

    return XXH3_64bits_withSeed(p, n, MF_LIKELY(s != 0) ? s : choose_seed());
}
