/* buf.h: growable bytes.  Appending is O(1) amortised.  Running out of memory is sticky: later
 * appends do nothing and mf_buf_failed() returns true, so a renderer checks once, at its end. */
#ifndef MAYFLY_BUF_H
#define MAYFLY_BUF_H

#include "base/base.h"

struct mf_buf {
    uint8_t *ptr;
    size_t len, cap;
    bool failed;
};
#define MF_BUF_INIT ((struct mf_buf){NULL, 0, 0, false})

void mf_buf_fini(struct mf_buf *b); /* frees; b may be used again */
static inline void mf_buf_clear(struct mf_buf *b)
{
    b->len = 0;
    b->failed = false;
}
static inline bool mf_buf_failed(const struct mf_buf *b)
{
    return b->failed;
}
/* Room for n more bytes; NULL (and sticky) when out of memory.  Then set len yourself. */
uint8_t *mf_buf_reserve_more(struct mf_buf *b, size_t n);
static inline uint8_t *mf_buf_reserve(struct mf_buf *b, size_t n)
{
    return n < b->cap - b->len && !b->failed ? b->ptr + b->len : mf_buf_reserve_more(b, n);
}
void mf_buf_append(struct mf_buf *b, const void *p, size_t n);
static inline void mf_buf_byte(struct mf_buf *b, uint8_t c)
{
    uint8_t *to = mf_buf_reserve(b, 1);

    if (to == NULL)
        return;
    *to = c;
    b->len++;
}
void mf_buf_puts(struct mf_buf *b, const char *s);
void mf_buf_u64(struct mf_buf *b, uint64_t value); /* in decimal */
void mf_buf_printf(struct mf_buf *b, const char *fmt, ...) MF_PRINTF(2, 3);
void mf_buf_vprintf(struct mf_buf *b, const char *fmt, va_list ap) MF_PRINTF(2, 0);
/* Drops the first n bytes. */
void mf_buf_consume(struct mf_buf *b, size_t n);
static inline struct mf_slice mf_buf_slice(const struct mf_buf *b)
{
    return mf_slice(b->ptr, b->len);
}
/* NUL-terminated (not counted in len); "" when out of memory. */
const char *mf_buf_cstr(struct mf_buf *b);

#endif
