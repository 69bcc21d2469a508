/* pick.h: choices by seed: the same ones in every run (splitmix64). */
#ifndef TEST_PICK_H
#define TEST_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pick {
    uint64_t state;
};

static inline uint64_t pick_u64(struct pick *p)
{
    uint64_t z = p->state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
static inline uint32_t pick_below(struct pick *p, uint32_t n) /* 0..n-1; n > 0 */
{
    return (uint32_t)((pick_u64(p) >> 32) * n >> 32);
}
static inline bool pick_chance(struct pick *p, uint32_t percent)
{
    return pick_below(p, 100) < percent;
}
static inline void pick_bytes(struct pick *p, uint8_t *dst, size_t n)
{
    while (n > 0) {
        uint64_t v = pick_u64(p);
        for (int i = 0; i < 8 && n > 0; i++, n--, v >>= 8)
            *dst++ = (uint8_t)v;
    }
}

#endif
