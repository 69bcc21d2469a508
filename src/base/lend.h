/* lend.h: scratch memory that other code gets to see.
 *
 * A publish runs foreign code: a subscriber may publish or ask the API in turn, so that a stream, a
 * store or a function is entered again before the first call has returned.  So do the callbacks
 * done(), deliver() and stored().  Bytes that are handed to such a call, and bytes that are needed
 * after it, must belong to the caller alone.  These do:
 *   - memory on the stack, and heap memory of this one call;
 *   - a buffer of the pool: lend_take() and lend_give().  A nested call takes another one;
 *   - the buffer of an object that changes and frees it only in its own turn of the loop;
 *   - the mappings of a store: they end only in the loop's own turn, never inside a publish, which
 *     lend_idle() asserts.
 * A buffer that a stream, a store or a file keeps and fills anew in each call does not.  The
 * function that fills such a buffer calls lend_mark(); under AddressSanitizer the next publish
 * then poisons these bytes, and a later read of them fails the test.  Other builds pay nothing. */
#ifndef MAYFLY_LEND_H
#define MAYFLY_LEND_H

#include "base/buf.h"

/* An empty buffer, the caller's until lend_give().  NULL: no memory.  Takes memory only if more
 * buffers are in use than ever before. */
struct mf_buf *lend_take(void);
void lend_give(struct mf_buf *b); /* NULL: does nothing */
void lend_fini(void);             /* frees what the pool of this thread holds */

#if defined(__SANITIZE_ADDRESS__)
#define LEND_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEND_CHECKED 1
#endif
#endif
#ifndef LEND_CHECKED
#define LEND_CHECKED 0
#endif

#if LEND_CHECKED
void lend_mark(const void *p, size_t n);   /* shared bytes: not to be read after the next publish */
void lend_unmark(const void *p, size_t n); /* before they are filled anew, moved or freed */
void lend_enter(void);                     /* a publish begins */
void lend_leave(void);                     /* it ends */
void lend_idle(void); /* asserts that no publish is under way, before what others read is freed */
#else
static inline void lend_mark(const void *p, size_t n)
{
    (void)p;
    (void)n;
}
static inline void lend_unmark(const void *p, size_t n)
{
    (void)p;
    (void)n;
}
static inline void lend_enter(void)
{
}
static inline void lend_leave(void)
{
}
static inline void lend_idle(void)
{
}
#endif

/* The same for a buffer that is kept: before it is filled, and when it is filled. */
static inline void lend_clear(struct mf_buf *b)
{
    lend_unmark(b->ptr, b->cap);
    mf_buf_clear(b);
}
static inline struct mf_slice lend_slice(const struct mf_buf *b)
{
    lend_mark(b->ptr, b->len);
    return mf_buf_slice(b);
}

#endif
