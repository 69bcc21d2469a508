/* rand.h: random bytes from the kernel, and a fast generator for choices that need not be secret.
 * Thread-local state, no locks. */
#ifndef MAYFLY_RAND_H
#define MAYFLY_RAND_H

#include "base/base.h"

void rand_bytes(void *dst, size_t n); /* cryptographic; never fails (aborts if the kernel does) */
uint64_t rand_fast(void);             /* not cryptographic */
static inline uint32_t rand_below(uint32_t n) /* 0..n-1; n > 0 */
{
    return (uint32_t)(((rand_fast() & 0xffffffffu) * (uint64_t)n) >> 32);
}
#define RAND_NUID 22
void rand_nuid(char dst[RAND_NUID + 1]); /* 22 characters of 0-9A-Za-z, NUL-terminated */

#endif
