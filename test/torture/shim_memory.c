/* shim_memory.c: allocations that fail, for the shim of servers without a sanitizer (glibc). */
#include "shim.h"

#include <errno.h>

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): glibc's names */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void *aligned_alloc(size_t align, size_t n);

static bool none_left(void)
{
    int error = 0;

    if (!shim_fails(SHIM_MALLOC, &error))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return none_left() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return none_left() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return none_left() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return none_left() ? NULL : __libc_memalign(align, n);
}
