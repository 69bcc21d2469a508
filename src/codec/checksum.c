/* checksum.c: XXH3, seeded by the caller. */
#include "codec/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t checksum64(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}
