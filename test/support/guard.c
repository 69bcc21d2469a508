/* guard.c: one block of readable pages followed by one that is not. */
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    uint8_t *base;
    size_t usable; /* [0, usable) may be touched, [usable, usable + page) may not */
    size_t page;
} area;

void guard_free(void)
{
    if (area.base != NULL)
        munmap(area.base, area.usable + area.page);
    area.base = NULL;
    area.usable = 0;
}

static void guard_map(size_t n)
{
    void *base;

    guard_free();
    area.page = (size_t)sysconf(_SC_PAGESIZE);
    area.usable = (n / area.page + 1) * area.page;
    base = mmap(NULL, area.usable + area.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    if (base == MAP_FAILED || mprotect((uint8_t *)base + area.usable, area.page, PROT_NONE) != 0) {
        perror("guard_copy");
        abort();
    }
    area.base = base;
}

const uint8_t *guard_copy(const void *bytes, size_t n)
{
    uint8_t *at;

    if (area.base == NULL || n > area.usable)
        guard_map(n);
    at = area.base + area.usable - n;
    if (n > 0)
        memcpy(at, bytes, n);
    return at;
}
