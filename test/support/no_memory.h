/* no_memory.h: the Nth allocation of a test program fails.  Included once, by the test; linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc.
 *
 * Defined before the include: NO_MEMORY_ALIGNED and NO_MEMORY_MMAP, where aligned_alloc or mmap are
 * wrapped too; NO_MEMORY_SPARED, an expression that is true while nothing counts and nothing fails.
 */
#ifndef TEST_NO_MEMORY_H
#define TEST_NO_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#ifdef NO_MEMORY_MMAP
#include <sys/mman.h>
#endif
#ifndef NO_MEMORY_SPARED
#define NO_MEMORY_SPARED false
#endif

static atomic_long allocations, fail_at; /* fail_at 0: none */
static atomic_long memory_also;          /* that many after it fail too */
static atomic_bool memory_hit;           /* one failed since memory_arm() */

static bool no_memory(void)
{
    if (NO_MEMORY_SPARED)
        return false;
    long n = ++allocations, first = fail_at;
    if (first == 0 || n < first || n - first > memory_also)
        return false;
    memory_hit = true;
    return true;
}

static inline void memory_disarm(void)
{
    fail_at = 0;
}

/* The one after the next nth fails; negative: none does. */
static inline void memory_arm(long nth)
{
    memory_hit = false;
    fail_at = nth < 0 ? 0 : allocations + nth + 1;
}

/* How many will be given before the one that fails; negative: none does, or it did. */
static inline long memory_left(void)
{
    return fail_at == 0 ? -1 : fail_at - allocations - 1;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

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
#ifdef NO_MEMORY_ALIGNED
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return no_memory() ? NULL : __real_aligned_alloc(align, n);
}
#endif
#ifdef NO_MEMORY_MMAP
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    return no_memory() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, off);
}
#endif
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
