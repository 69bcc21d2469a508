/* keys_page.c: nodes of keys in pages of equal slots; an empty page is returned to the system. */
#include "store/keys/keys_impl.h"

#include <stdlib.h>

#define PAGE_FIRST  256u /* bytes of the first page of a class: small sets stay small */
#define PAGES_LEAST 8u

uint32_t keys_class_of(size_t bytes, uint32_t *size)
{
    uint32_t n = (uint32_t)bytes, octave, part;

    if (n <= SIZE_SMALL) {
        *size = (n + 3) & ~3u;
        return *size / 4;
    }
    if (n > SIZE_SHARED) {
        *size = (n + 3) & ~3u;
        return SIZE_ALONE;
    }
    octave = 31 - (uint32_t)__builtin_clz(n - 1);
    part = (n - 1 - (1u << octave)) >> (octave - 3);
    *size = (1u << octave) + ((part + 1) << (octave - 3));
    return 33 + (octave - 7) * 8 + part;
}

static void link_page(struct keys *k, uint32_t *head, uint32_t page)
{
    struct keys_page *p = &k->pages[page];

    p->prev = KEYS_NONE;
    p->next = *head;
    if (*head != KEYS_NONE)
        k->pages[*head].prev = page;
    *head = page;
}

static void unlink_page(struct keys *k, uint32_t *head, uint32_t page)
{
    struct keys_page *p = &k->pages[page];

    if (p->next != KEYS_NONE)
        k->pages[p->next].prev = p->prev;
    if (p->prev != KEYS_NONE)
        k->pages[p->prev].next = p->next;
    else
        *head = p->next;
}

/* Makes sure that a number is free. */
static int number_room(struct keys *k)
{
    uint32_t cap = k->cap_pages == 0 ? PAGES_LEAST : k->cap_pages * 2;
    struct keys_page *p;

    if (k->free_page != KEYS_NONE || k->npages < k->cap_pages)
        return 0;
    if (k->npages >= PAGES_MAX)
        return MF_NOMEM;
    if (cap > PAGES_MAX)
        cap = PAGES_MAX;
    p = realloc(k->pages, cap * sizeof *p);
    if (p == NULL)
        return MF_NOMEM;
    k->pages = p;
    k->cap_pages = cap;
    return 0;
}

static int page_new(struct keys *k, uint32_t class, uint32_t size)
{
    struct keys_class *c = &k->class[class];
    uint32_t most = PAGE_BYTES / size, least = PAGE_FIRST / size;
    uint32_t cap = c->slots < least ? least : c->slots, page;
    uint8_t *mem;

    cap = class / 2 == SIZE_ALONE || cap == 0 ? 1 : cap > most ? most : cap;
    if (number_room(k) != 0)
        return MF_NOMEM;
    mem = keys_block_alloc(k, (size_t)cap * size);
    if (mem == NULL)
        return MF_NOMEM;
    page = k->free_page;
    if (page != KEYS_NONE)
        unlink_page(k, &k->free_page, page);
    else
        page = k->npages++;
    k->pages[page] = (struct keys_page){.mem = mem,
                                        .size = size,
                                        .cap = (uint16_t)cap,
                                        .free = SLOT_NONE,
                                        .class = (uint16_t) class};
    link_page(k, &c->room, page);
    c->slots += cap;
    k->page_bytes += keys_block_size((size_t)cap * size);
    return 0;
}

/* Free numbers at the end are forgotten, and the array follows. */
static void numbers_trim(struct keys *k)
{
    uint32_t cap = k->cap_pages;
    struct keys_page *p;

    while (k->npages > 0 && k->pages[k->npages - 1].mem == NULL)
        unlink_page(k, &k->free_page, --k->npages);
    while (cap > PAGES_LEAST && k->npages < cap / 4)
        cap /= 2;
    p = cap == k->cap_pages ? NULL : realloc(k->pages, cap * sizeof *p);
    if (p == NULL)
        return;
    k->pages = p;
    k->cap_pages = cap;
}

static void page_drop(struct keys *k, uint32_t page)
{
    struct keys_page *p = &k->pages[page];
    struct keys_class *c = &k->class[p->class];

    unlink_page(k, &c->room, page);
    c->slots -= p->cap;
    k->page_bytes -= keys_block_size((size_t)p->cap * p->size);
    keys_block_free(k, p->mem, (size_t)p->cap * p->size);
    p->mem = NULL;
    link_page(k, &k->free_page, page);
    numbers_trim(k);
}

int keys_node_alloc(struct keys *k, bool inner, size_t len, uint32_t *id)
{
    uint32_t size, slot, page;
    uint32_t class = keys_class_of((inner ? NODE_INNER : NODE_LEAF) + len, &size) * 2 + inner;
    struct keys_class *c = &k->class[class];
    struct keys_page *p;

    if (c->room == KEYS_NONE && page_new(k, class, size) != 0)
        return MF_NOMEM;
    page = c->room;
    p = &k->pages[page];
    if (p->free != SLOT_NONE) {
        slot = p->free;
        memcpy(&p->free, p->mem + (size_t)slot * p->size, sizeof p->free);
    } else {
        slot = p->fresh++;
    }
    if (++p->used == p->cap)
        unlink_page(k, &c->room, page);
    *id = page << SLOT_BITS | slot;
    return 0;
}

int keys_leaves_take(struct keys *k, size_t len, struct keys_leaves *l)
{
    uint32_t size, class = keys_class_of(NODE_LEAF + len, &size) * 2;
    struct keys_class *c = &k->class[class];
    struct keys_page *p;

    if (c->room == KEYS_NONE && page_new(k, class, size) != 0)
        return MF_NOMEM;
    p = &k->pages[c->room];
    l->left = 1;
    if (p->free != SLOT_NONE)
        return keys_node_alloc(k, false, len, &l->id);
    l->id = c->room << SLOT_BITS | p->fresh;
    l->left = (uint32_t)p->cap - p->fresh;
    p->used = (uint16_t)(p->used + l->left);
    p->fresh = p->cap;
    unlink_page(k, &c->room, c->room);
    return 0;
}

void keys_leaves_give(struct keys *k, struct keys_leaves l)
{
    struct keys_page *p;

    if (l.left == 0)
        return;
    p = page_of(k, l.id);
    if (p->used == p->cap)
        link_page(k, &k->class[p->class].room, l.id >> SLOT_BITS);
    p->used = (uint16_t)(p->used - l.left);
    p->fresh = (uint16_t)(l.id & SLOT_MASK);
    if (p->used == 0)
        page_drop(k, l.id >> SLOT_BITS);
}

void keys_node_free(struct keys *k, uint32_t id)
{
    uint32_t page = id >> SLOT_BITS;
    struct keys_page *p = &k->pages[page];

    if (p->used-- == p->cap)
        link_page(k, &k->class[p->class].room, page);
    memcpy(node_in(p, id), &p->free, sizeof p->free);
    p->free = (uint16_t)(id & SLOT_MASK);
    if (p->used == 0)
        page_drop(k, page);
}

void keys_pages_fini(struct keys *k)
{
    for (uint32_t i = 0; i < k->npages; i++)
        keys_block_free(k, k->pages[i].mem, (size_t)k->pages[i].cap * k->pages[i].size);
    free(k->pages);
}
