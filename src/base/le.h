/* le.h: numbers as bytes, little endian, as they stand in blobs. */
#ifndef MAYFLY_LE_H
#define MAYFLY_LE_H

#include "base/buf.h"

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

/* The lowest n <= 8 bytes of v. */
static inline void le_append(struct mf_buf *b, uint64_t v, unsigned n)
{
    uint8_t bytes[8];

    le64_put(bytes, v);
    mf_buf_append(b, bytes, n);
}
/* Removes the first n <= 8 bytes of *s and returns their value.  A shorter *s becomes empty and
 * gives 0. */
static inline uint64_t le_take(struct mf_slice *s, unsigned n)
{
    uint8_t bytes[8] = {0};

    if (s->len < n) {
        *s = MF_SLICE_NONE;
        return 0;
    }
    memcpy(bytes, s->ptr, n);
    *s = mf_slice(s->ptr + n, s->len - n);
    return le64_get(bytes);
}

#endif
