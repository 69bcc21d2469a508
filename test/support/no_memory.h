/* no_memory.h: the Nth allocation of a test program fails.  Included once, by the test; linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#ifndef TEST_NO_MEMORY_H
#define TEST_NO_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static atomic_long allocations, fail_at; /* fail_at 0: none */

static bool no_memory(void)
{
    return ++allocations == fail_at;
}
void *__wrap_malloc(size_t n)
{
    return no_memory() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory() ? NULL : __real_realloc(p, n);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
