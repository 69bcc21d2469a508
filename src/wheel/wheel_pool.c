/* wheel_pool.c: the wheel's chunks, in pages that are mapped from the system and unmapped.
 *
 * Unmapping stops all threads for a moment, so empty pages are collected first; neighbours are
 * unmapped in one call. */
#include "wheel/wheel_impl.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES (PAGE_CHUNKS * sizeof(struct chunk))
#define FIRST_CAP  4u
#define MAX_PAGES  (1u << 20) /* chunk numbers have 26 bits */

static void bit_set(uint64_t *map, uint32_t i)
{
    map[i / 64] |= UINT64_C(1) << (i % 64);
}
static void bit_clear(uint64_t *map, uint32_t i)
{
    map[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

static uint32_t count_words(uint32_t cap)
{
    return (cap + 63) / 64;
}
static size_t table_bytes(uint32_t cap)
{
    return cap * (sizeof(struct chunk *) + sizeof(uint64_t) + PAGE_CHUNKS * sizeof(uint32_t)) +
           count_words(cap) * 2 * sizeof(uint64_t);
}

/* All five tables are one block, so that growing them succeeds or fails as one. */
static bool grow_tables(struct pool *p)
{
    struct pool n = *p;
    uint8_t *block;

    n.cap = p->cap == 0 ? FIRST_CAP : p->cap * 2;
    if (n.cap > MAX_PAGES || (block = calloc(1, table_bytes(n.cap))) == NULL)
        return false;
    n.mem = (struct chunk **)(void *)block;
    n.free = (uint64_t *)(void *)(n.mem + n.cap);
    n.room = n.free + n.cap;
    n.mapped = n.room + count_words(n.cap);
    n.place = (uint32_t *)(void *)(n.mapped + count_words(n.cap));
    if (p->cap != 0) {
        memcpy(n.mem, p->mem, p->cap * sizeof *n.mem);
        memcpy(n.free, p->free, p->cap * sizeof *n.free);
        memcpy(n.room, p->room, count_words(p->cap) * sizeof *n.room);
        memcpy(n.mapped, p->mapped, count_words(p->cap) * sizeof *n.mapped);
        memcpy(n.place, p->place, (size_t)p->cap * PAGE_CHUNKS * sizeof *n.place);
    }
    free(p->mem);
    *p = n;
    return true;
}

/* Maps the lowest page that is not.  mmap() and not malloc(), so that unmapping in the middle gives
 * the memory back at once whatever else the process holds. */
static bool map_page(struct pool *p)
{
    uint32_t word = 0, page;
    void *mem;

    if (p->pages == p->cap && !grow_tables(p))
        return false;
    while (p->mapped[word] == UINT64_MAX)
        word++;
    page = word * 64 + (uint32_t)__builtin_ctzll(~p->mapped[word]);
    /* A first page may stay mostly empty; of the later ones every byte is soon used. */
    mem = p->asides > 0
              ? p->aside[--p->asides]
              : mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | (p->pages > 0 ? MAP_POPULATE : 0), -1, 0);
    if (mem == MAP_FAILED)
        return false;
    p->mem[page] = mem;
    p->free[page] = UINT64_MAX;
    bit_set(p->mapped, page);
    bit_set(p->room, page);
    p->pages++;
    if (word < p->low)
        p->low = word;
    if (word > p->high)
        p->high = word;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const uint8_t *const *x = a, *const *y = b;

    return (*x > *y) - (*x < *y);
}

/* Pages that munmap() refuses, since the table of mappings is full, stay aside. */
static void asides_give(struct pool *p)
{
    uint32_t n = p->asides, run = 1;

    qsort(p->aside, n, sizeof p->aside[0], by_address);
    p->asides = 0;
    for (uint32_t i = 0; i < n; i += run) {
        for (run = 1; i + run < n && p->aside[i + run] == p->aside[i] + run * PAGE_BYTES;)
            run++;
        if (munmap(p->aside[i], run * PAGE_BYTES) == 0)
            continue;
        memmove(&p->aside[p->asides], &p->aside[i], run * sizeof p->aside[0]);
        p->asides += run;
    }
}

void wheel_pool_unmap(struct pool *p, uint32_t page)
{
    if (p->asides == ASIDE_MAX)
        asides_give(p);
    if (p->asides == ASIDE_MAX)
        return; /* it stays, free for use */
    p->aside[p->asides++] = (uint8_t *)p->mem[page];
    p->mem[page] = NULL;
    p->free[page] = 0;
    bit_clear(p->mapped, page);
    bit_clear(p->room, page);
    p->pages--;
    if (p->asides == ASIDE_MAX || p->asides > p->pages / 4)
        asides_give(p);
}

uint32_t wheel_pool_take(struct pool *p)
{
    uint32_t page, bit;

    if (p->used == p->pages * PAGE_CHUNKS && !map_page(p))
        return NONE;
    while (p->room[p->low] == 0)
        p->low++;
    page = p->low * 64 + (uint32_t)__builtin_ctzll(p->room[p->low]);
    bit = (uint32_t)__builtin_ctzll(p->free[page]);
    p->free[page] &= p->free[page] - 1;
    if (p->free[page] == 0)
        bit_clear(p->room, page);
    p->used++;
    return page * PAGE_CHUNKS + bit;
}

/* A page's worth of free chunks is always kept, so that a load that swings around a page's edge
 * does not map and unmap all the time. */
void wheel_pool_give(struct pool *p, uint32_t no)
{
    uint32_t page = no / PAGE_CHUNKS;

    bit_set(&p->free[page], no % PAGE_CHUNKS);
    bit_set(p->room, page);
    if (page / 64 < p->low)
        p->low = page / 64;
    p->used--;
    p->owed++;
    if (p->free[page] == UINT64_MAX && p->pages * PAGE_CHUNKS - p->used >= 2 * PAGE_CHUNKS)
        wheel_pool_unmap(p, page);
}

void wheel_pool_free(struct pool *p)
{
    for (uint32_t i = 0; i < p->cap; i++)
        if (p->mem[i] != NULL)
            munmap(p->mem[i], PAGE_BYTES);
    for (uint32_t i = 0; i < p->asides; i++)
        munmap(p->aside[i], PAGE_BYTES);
    free(p->mem);
}

size_t wheel_pool_memory(const struct pool *p)
{
    return (p->pages + p->asides) * PAGE_BYTES + table_bytes(p->cap);
}
