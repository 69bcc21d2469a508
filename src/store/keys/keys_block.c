/* keys_block.c: memory of pages and chunks.  Blocks of 64 KB come from regions of our own.
 *
 * The heap would keep memory that is freed in its middle, and return all at once memory that is
 * freed at its end: hundreds of megabytes in one free(), tens of milliseconds.  A region is 2 MB,
 * aligned; its first page says which of its 31 blocks are free.  A region without used blocks is
 * unmapped.  A free block keeps its memory until an eighth of all blocks are free: each return of
 * memory stops all threads for a moment, and often the whole region is free soon. */
#include "store/keys/keys_impl.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK_BYTES   65536u
#define REGION_BYTES  ((size_t)2 << 20)
#define REGION_BLOCKS 31u /* the place of block 0 has the header */
#define REGION_EMPTY  ((1u << REGION_BLOCKS) - 1)
#define HEADER_BYTES  4096u
#define HUGE_FROM     4u  /* regions */
#define HELD_LEAST    32u /* free blocks */
#define STOCK         4u  /* regions */

struct region {
    struct mf_list room; /* keys->regions, while a block is free */
    uint32_t free;       /* bit i: block i is */
    uint32_t held;       /* of the free ones: has memory still */
};

static bool is_block(size_t n)
{
    return n > BLOCK_BYTES / 2 && n <= BLOCK_BYTES;
}

size_t keys_block_size(size_t n)
{
    return is_block(n) ? BLOCK_BYTES : (n + 63) & ~(size_t)63;
}

size_t keys_blocks_held(const struct keys *k)
{
    return (size_t)k->blocks_held * BLOCK_BYTES;
}

/* Twice as much is mapped, and what does not lie within the aligned part given back. */
static void *region_map(bool huge)
{
    uint8_t *p =
        mmap(NULL, 2 * REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (p == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)p & (REGION_BYTES - 1));
    if (before > 0)
        munmap(p, before);
    munmap(p + before + REGION_BYTES, REGION_BYTES - before);
    /* A large set is read at random: with small pages most of the time is spent on TLB misses. */
    if (huge)
        madvise(p + before, REGION_BYTES, MADV_HUGEPAGE);
    return p + before;
}

struct keys_stock {
    _Atomic(void *) region[STOCK];
};

struct keys_stock *keys_stock_new(struct keys *k)
{
    k->stock = calloc(1, sizeof *k->stock);
    return k->stock;
}

bool keys_stock_fill(struct keys_stock *t)
{
    for (unsigned i = 0; i < STOCK; i++) {
        void *p = t->region[i];
        if (p != NULL)
            continue;
        if ((p = region_map(true)) == NULL)
            return false;
        *(volatile uint8_t *)p = 0; /* the page is had and cleared now, by this thread */
        t->region[i] = p;
        return true;
    }
    return false;
}

static void *stock_take(struct keys_stock *t)
{
    void *p = NULL;

    for (unsigned i = 0; t != NULL && p == NULL && i < STOCK; i++)
        p = atomic_exchange(&t->region[i], NULL);
    return p;
}

void keys_stock_free(struct keys *k)
{
    for (void *p; (p = stock_take(k->stock)) != NULL;)
        munmap(p, REGION_BYTES);
    free(k->stock);
    k->stock = NULL;
}

static struct region *region_new(struct keys *k)
{
    struct region *r = stock_take(k->stock);

    if (r == NULL)
        r = region_map(k->region_bytes >= HUGE_FROM * HEADER_BYTES);
    if (r == NULL)
        return NULL;
    r->free = REGION_EMPTY;
    r->held = 0;
    mf_list_push(&k->regions, &r->room);
    k->region_bytes += HEADER_BYTES;
    return r;
}

static void held_forget(struct keys *k, struct region *r, uint32_t blocks)
{
    k->blocks_held -= (uint32_t)__builtin_popcount(r->held & blocks);
    r->held &= ~blocks;
}

/* O(regions with a free block), for every eighth of the blocks freed. */
static void held_give(struct keys *k)
{
    for (struct mf_list *l = k->regions.next; l != &k->regions; l = l->next) {
        struct region *r = mf_container(l, struct region, room);
        for (uint32_t m = r->held; m != 0; m &= m - 1)
            madvise((uint8_t *)r + (size_t)(__builtin_ctz(m) + 1) * BLOCK_BYTES, BLOCK_BYTES,
                    MADV_DONTNEED);
        held_forget(k, r, REGION_EMPTY);
    }
}

void *keys_block_alloc(struct keys *k, size_t n)
{
    struct mf_list *l;
    struct region *r;
    uint32_t i;

    if (!is_block(n))
        return aligned_alloc(64, keys_block_size(n));
    l = mf_list_first(&k->regions);
    r = l != NULL ? mf_container(l, struct region, room) : region_new(k);
    if (r == NULL)
        return NULL;
    i = (uint32_t)__builtin_ctz(r->free);
    r->free &= r->free - 1;
    held_forget(k, r, 1u << i);
    k->blocks++;
    if (r->free == 0)
        mf_list_del(&r->room);
    return (uint8_t *)r + (size_t)(i + 1) * BLOCK_BYTES;
}

void keys_block_free(struct keys *k, void *p, size_t n)
{
    struct region *r = (struct region *)((uintptr_t)p & ~(uintptr_t)(REGION_BYTES - 1));
    uint32_t i = (uint32_t)((size_t)((uint8_t *)p - (uint8_t *)r) / BLOCK_BYTES) - 1;

    if (p == NULL || !is_block(n)) {
        free(p);
        return;
    }
    if (r->free == 0)
        mf_list_push(&k->regions, &r->room);
    r->free |= 1u << i;
    r->held |= 1u << i;
    k->blocks--;
    if (++k->blocks_held > HELD_LEAST + k->blocks / 8)
        held_give(k);
    if (r->free != REGION_EMPTY)
        return;
    held_forget(k, r, REGION_EMPTY);
    mf_list_del(&r->room);
    k->region_bytes -= HEADER_BYTES;
    munmap(r, REGION_BYTES);
}
