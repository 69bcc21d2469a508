/* json_map.c: maps in a tree of structs: made ready for appending, and put in order again. */
#include "codec/json_read_impl.h"

#include <stdlib.h>

/* Calls visit for every map below out.  Recurses along the types only. */
static int each_map(const struct json_type *t, char *out,
                    int (*visit)(struct json_reader *r, struct json_map *m), struct json_reader *r)
{
    for (size_t i = 0; i < t->nfields; i++) {
        const struct json_field *f = &t->fields[i];
        void *at = out + f->offset;
        int err = 0;

        if (f->kind == JSON_MAP) {
            err = visit(r, at);
        } else if (f->kind == JSON_OBJECT) {
            err = each_map(f->type, at, visit, r);
        } else if (f->kind == JSON_POINTER) {
            char *p = *(char **)at;
            err = p == NULL ? 0 : each_map(f->type, p, visit, r);
        } else if (f->kind == JSON_OBJECTS || f->kind == JSON_POINTERS) {
            struct json_objects *o = at;

            for (size_t k = 0; k < o->n && err == 0; k++) {
                char *p = f->kind == JSON_OBJECTS ? (char *)o->at + k * f->type->size
                                                  : ((char **)o->at)[k];
                err = p == NULL ? 0 : each_map(f->type, p, visit, r);
            }
        }
        if (err != 0)
            return err;
    }
    return 0;
}

/* The map came from elsewhere with an exact size; arena_grow() needs a power of two. */
static int map_open(struct json_reader *r, struct json_map *m)
{
    size_t cap = 1;

    if (m->n == 0)
        return 0;
    while (cap < m->n)
        cap *= 2;
    struct json_pair *at = arena_alloc(r->mem, cap * sizeof *at);
    if (at == NULL)
        return json_nomem(r);
    memcpy(at, m->at, m->n * sizeof *at);
    m->at = at;
    return 0;
}

static bool sorts_before(const struct json_pair *a, const struct json_pair *b)
{
    return strcmp(a->key, b->key) < 0;
}

/* Merges two sorted runs; of equal keys the left one, which is older, comes first. */
static void merge_runs(const struct json_pair *from, size_t lo, size_t mid, size_t hi,
                       struct json_pair *to)
{
    size_t a = lo, b = mid;

    for (size_t i = lo; i < hi; i++)
        to[i] = b == hi || (a < mid && !sorts_before(&from[b], &from[a])) ? from[a++] : from[b++];
}

/* Stable, since the last of several equal keys must win.  tmp has room for n. */
static void sort_pairs(struct json_pair *at, struct json_pair *tmp, size_t n)
{
    struct json_pair *from = at, *to = tmp;

    for (size_t run = 1; run < n; run *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * run) {
            size_t mid = n - lo < run ? n : lo + run;
            size_t hi = n - lo < 2 * run ? n : lo + 2 * run;
            merge_runs(from, lo, mid, hi, to);
        }
        struct json_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != at)
        memcpy(at, from, n * sizeof *at);
}

/* Insertion sort, used without memory for a merge: slow, but nothing is lost. */
static void sort_in_place(struct json_pair *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct json_pair one = at[i];
        size_t k = i;

        for (; k > 0 && sorts_before(&one, &at[k - 1]); k--)
            at[k] = at[k - 1];
        at[k] = one;
    }
}

static int map_close(struct json_reader *r, struct json_map *m)
{
    size_t kept = 0;
    bool sorted = true;
    (void)r;

    for (size_t i = 1; i < m->n && sorted; i++)
        sorted = sorts_before(&m->at[i - 1], &m->at[i]);
    if (sorted)
        return 0;
    struct json_pair *tmp = malloc(m->n * sizeof *tmp);
    if (tmp != NULL)
        sort_pairs(m->at, tmp, m->n);
    else
        sort_in_place(m->at, m->n);
    free(tmp);
    for (size_t i = 0; i < m->n; i++)
        if (i + 1 == m->n || strcmp(m->at[i].key, m->at[i + 1].key) != 0)
            m->at[kept++] = m->at[i];
    m->n = kept;
    return 0;
}

int json_maps_open(struct json_reader *r, const struct json_type *t, void *out)
{
    return each_map(t, out, map_open, r);
}

void json_maps_close(const struct json_type *t, void *out)
{
    (void)each_map(t, out, map_close, NULL); /* cannot fail */
}
