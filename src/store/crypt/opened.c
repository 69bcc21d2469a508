/* opened.c: memory of opened messages, freed as a whole at the end of the turn. */
#include "store/crypt/opened.h"

#include <stdlib.h>

#define CHUNK_MIN ((size_t)4 << 10)
#define CHUNK_MAX ((size_t)256 << 10)

struct opened_chunk {
    struct opened_chunk *next;
    size_t used, cap;
    uint8_t bytes[];
};

static void free_chunks(struct opened *o)
{
    while (o->chunk != NULL) {
        struct opened_chunk *c = o->chunk;
        o->chunk = c->next;
        free(c);
    }
}

static void turn_end(struct loop_defer *d)
{
    free_chunks(mf_container(d, struct opened, defer));
}

uint8_t *opened_take(struct opened *o, struct loop *loop, size_t n)
{
    struct opened_chunk *c = o->chunk;

    if (c == NULL || c->cap - c->used < n) {
        size_t cap = c == NULL ? CHUNK_MIN : 2 * c->cap;
        if (cap > CHUNK_MAX)
            cap = CHUNK_MAX;
        if (cap < n)
            cap = n;
        if ((c = malloc(sizeof *c + cap)) == NULL)
            return NULL;
        *c = (struct opened_chunk){.next = o->chunk, .cap = cap};
        o->chunk = c;
    }
    uint8_t *p = c->bytes + c->used;
    c->used += n;
    if (loop != NULL) {
        o->defer.fn = turn_end;
        loop_defer(loop, &o->defer);
    }
    return p;
}

void opened_fini(struct opened *o, struct loop *loop)
{
    if (loop != NULL)
        loop_defer_cancel(loop, &o->defer);
    free_chunks(o);
}
