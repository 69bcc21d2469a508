/* le64.h: numbers in blobs: 64 bits, little endian. */
#ifndef LE64_H
#define LE64_H

#include <stdint.h>

static inline void le64_put(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}
static inline uint64_t le64_get(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

#endif
