/* hash.h: 64 bit hash of bytes, seeded once per process so that a client cannot choose collisions.
 */
#ifndef MAYFLY_HASH_H
#define MAYFLY_HASH_H

#include "base/base.h"

uint64_t hash_bytes(const void *p, size_t n);
static inline uint64_t hash_slice(struct mf_slice s)
{
    return hash_bytes(s.ptr, s.len);
}

#endif
