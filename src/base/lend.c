/* lend.c: the pool of scratch buffers, and the check that shared ones do not outlive a publish. */
#include "base/lend.h"

#include "base/pool.h"

#include <assert.h>
#include <stdlib.h>

#if LEND_CHECKED
#include <sanitizer/asan_interface.h>
#endif

#define POOL_MAX 16         /* deeper nesting than that takes memory each time */
#define KEEP     (1u << 20) /* a larger buffer is freed */

struct lent {
    struct mf_buf buf; /* first: lend_give() gets its address */
    struct mf_spare spare;
};

static _Thread_local struct mf_pool pool = MF_POOL_INIT(POOL_MAX);

struct mf_buf *lend_take(void)
{
    struct mf_spare *s = mf_pool_take(&pool);
    struct lent *l;

    if (s == NULL)
        return (l = calloc(1, sizeof *l)) == NULL ? NULL : &l->buf;
    l = mf_container(s, struct lent, spare);
#if LEND_CHECKED
    ASAN_UNPOISON_MEMORY_REGION(l->buf.ptr, l->buf.cap);
#endif
    return &l->buf;
}

void lend_give(struct mf_buf *b)
{
    struct lent *l;

    if (b == NULL)
        return;
    l = mf_container(b, struct lent, buf);
    mf_buf_clear(b);
    if (b->cap > KEEP)
        mf_buf_fini(b);
    if (!mf_pool_give(&pool, &l->spare)) {
        mf_buf_fini(b);
        free(l);
        return;
    }
#if LEND_CHECKED
    ASAN_POISON_MEMORY_REGION(b->ptr, b->cap);
#endif
}

void lend_fini(void)
{
    struct mf_spare *s;

    while ((s = mf_pool_take(&pool)) != NULL) {
        struct lent *l = mf_container(s, struct lent, spare);
        mf_buf_fini(&l->buf);
        free(l);
    }
}

/* --- the check -------------------------------------------------------------------------------- */

#if LEND_CHECKED

#define MARKS                                                                                      \
    64 /* shared buffers filled since the last publish; beyond, the oldest is forgotten            \
        */

static _Thread_local struct mf_slice marks[MARKS];
static _Thread_local size_t next_mark;

void lend_mark(const void *p, size_t n)
{
    if (n > 0)
        marks[next_mark++ % MARKS] = mf_slice(p, n);
}

void lend_unmark(const void *p, size_t n)
{
    const uint8_t *from = p;

    if (n == 0)
        return;
    for (size_t i = 0; i < MARKS; i++)
        if (marks[i].len > 0 && marks[i].ptr >= from && marks[i].ptr < from + n)
            marks[i] = MF_SLICE_NONE;
    ASAN_UNPOISON_MEMORY_REGION(from, n);
}

static _Thread_local size_t depth; /* of publishes that are under way */

void lend_leave(void)
{
    assert(depth > 0);
    depth--;
}

void lend_idle(void)
{
    assert(depth == 0);
}

void lend_enter(void)
{
    depth++;
    for (size_t i = 0; i < MARKS && next_mark > 0; i++) {
        if (marks[i].len > 0)
            ASAN_POISON_MEMORY_REGION(marks[i].ptr, marks[i].len);
        marks[i] = MF_SLICE_NONE;
    }
    next_mark = 0;
}

#endif
