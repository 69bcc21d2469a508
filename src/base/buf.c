/* buf.c: growable bytes. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAP 64

void mf_buf_fini(struct mf_buf *b)
{
    free(b->ptr);
    *b = MF_BUF_INIT;
}

/* Doubling keeps appends O(1) amortised; SIZE_MAX / 2 is where doubling would wrap. */
static bool grow_to_fit(struct mf_buf *b, size_t n)
{
    if (n > SIZE_MAX / 2 - b->len)
        return false;
    size_t cap = b->cap == 0 ? FIRST_CAP : b->cap;
    while (cap < b->len + n)
        cap *= 2;
    uint8_t *ptr = realloc(b->ptr, cap);
    if (ptr == NULL)
        return false;
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

uint8_t *mf_buf_reserve_more(struct mf_buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if ((n > b->cap - b->len || b->ptr == NULL) && !grow_to_fit(b, n)) {
        b->failed = true;
        return NULL;
    }
    return b->ptr + b->len;
}

void mf_buf_append(struct mf_buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    uint8_t *to = mf_buf_reserve(b, n);
    if (to == NULL)
        return;
    memcpy(to, p, n);
    b->len += n;
}

void mf_buf_puts(struct mf_buf *b, const char *s)
{
    mf_buf_append(b, s, strlen(s));
}

void mf_buf_u64(struct mf_buf *b, uint64_t value)
{
    char text[20];
    size_t n = sizeof text;

    do {
        text[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    mf_buf_append(b, text + n, sizeof text - n);
}

void mf_buf_vprintf(struct mf_buf *b, const char *fmt, va_list ap)
{
    va_list again;

    if (b->failed)
        return;
    va_copy(again, ap);
    /* Most texts fit the room that is there already: then they are formatted once. */
    char *to = b->ptr == NULL ? NULL : (char *)b->ptr + b->len;
    int n = vsnprintf(to, b->cap - b->len, fmt, ap);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t)n < b->cap - b->len) {
        b->len += (size_t)n;
    } else {
        to = (char *)mf_buf_reserve(b, (size_t)n + 1);
        if (to != NULL) {
            vsnprintf(to, (size_t)n + 1, fmt, again);
            b->len += (size_t)n;
        }
    }
    va_end(again);
}

void mf_buf_printf(struct mf_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    mf_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void mf_buf_consume(struct mf_buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    memmove(b->ptr, b->ptr + n, b->len - n);
    b->len -= n;
}

const char *mf_buf_cstr(struct mf_buf *b)
{
    uint8_t *end = mf_buf_reserve(b, 1);

    if (end == NULL)
        return "";
    *end = '\0';
    return (const char *)b->ptr;
}
