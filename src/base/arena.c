/* arena.c: chunks of memory with one owner. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#define CHUNK 4096

struct arena_chunk {
    struct arena_chunk *next;
    size_t cap;          /* of bytes */
    max_align_t bytes[]; /* aligned for any type */
};

void arena_fini(struct arena *a)
{
    while (a->chunks != NULL) {
        struct arena_chunk *c = a->chunks;
        a->chunks = c->next;
        free(c);
    }
    *a = (struct arena){NULL, 0, 0, false};
}

void arena_wipe(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks; c != NULL; c = c->next)
        explicit_bzero(c->bytes, c->cap);
    arena_fini(a);
}

static size_t round_up(size_t n)
{
    const size_t align = _Alignof(max_align_t);
    return n == 0 ? align : (n + align - 1) / align * align;
}

bool arena_reserve(struct arena *a, size_t n)
{
    struct arena_chunk *c;

    if (a->failed || n > SIZE_MAX / 4 || (c = malloc(sizeof *c + round_up(n))) == NULL) {
        a->failed = true;
        return false;
    }
    c->next = a->chunks;
    c->cap = round_up(n);
    a->chunks = c;
    a->used = 0;
    a->cap = c->cap;
    return true;
}

/* n is rounded.  The bytes are not initialised: zeroing whole chunks would cost a small request
 * more than the rest of its work. */
static void *take_bytes(struct arena *a, size_t n)
{
    if (a->chunks == NULL || a->cap - a->used < n) {
        size_t cap = n > CHUNK / 4 ? n : CHUNK;
        struct arena_chunk *c = malloc(sizeof *c + cap);
        if (c == NULL) {
            a->failed = true;
            return NULL;
        }
        c->cap = cap;
        if (a->chunks != NULL && cap == n && a->cap - a->used > 0) {
            /* A big one: behind the newest, whose room stays in use. */
            c->next = a->chunks->next;
            a->chunks->next = c;
            return c->bytes;
        }
        c->next = a->chunks;
        a->chunks = c;
        a->used = 0;
        a->cap = cap;
    }
    void *p = (char *)a->chunks->bytes + a->used;
    a->used += n;
    return p;
}

static void *take_checked(struct arena *a, size_t n)
{
    if (a->failed || n > SIZE_MAX / 4) {
        a->failed = true;
        return NULL;
    }
    return take_bytes(a, round_up(n));
}

void *arena_alloc(struct arena *a, size_t n)
{
    void *p = take_checked(a, n);

    return p == NULL ? NULL : memset(p, 0, round_up(n));
}

char *arena_dup(struct arena *a, struct mf_slice s)
{
    char *p = take_checked(a, s.len + 1);

    if (p == NULL)
        return NULL;
    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    p[s.len] = '\0';
    return p;
}

char *arena_str(struct arena *a, const char *s)
{
    return s == NULL ? NULL : arena_dup(a, mf_str(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
    if (p != NULL)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0)
        return array; /* not at a power of two: there is room */
    size_t cap = n == 0 ? 1 : n * 2;
    if (cap > SIZE_MAX / size) {
        a->failed = true;
        return NULL;
    }
    void *p = arena_alloc(a, cap * size);
    if (p != NULL && n > 0)
        memcpy(p, array, n * size);
    return p;
}
