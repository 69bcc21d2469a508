/* wheel_cells.c: counts of the entries of a large bucket by parts of its time.
 *
 * A bucket of many entries keeps a count for each part of its time, its *cells*.  A forecast adds
 * up these counts and visits no entry.  Cells are whole seconds in buckets of 1, 268 ms and 69 s,
 * 4 s in those of 5 h, 20 minutes in those of 52 days, 4 days in those of 36 years: seconds and
 * minutes of the clock consist of whole cells up to 52 days ahead.
 * Adding or removing an entry costs one addition.  Cells are made when the bucket gets its 2nd, 5th
 * or 128th chunk: at most 8,064 entries are counted at once, and each entry at most once a level.
 * They then take a byte or two for each entry, and less the more entries there are.  They are freed
 * when the bucket shrinks to half of that or is split.
 * Out of memory: the bucket has no cells and is one part. */
#include "wheel/wheel_impl.h"

#include <stdlib.h>

struct wheel_cells_from wheel_cells_from = {.chunks = {2, 2, 5, 128, 128, 128}};

static void count_entries(struct wheel *w, uint32_t b, struct cells *c)
{
    for (uint32_t no = w->bucket[b].last; no != NONE; no = chunk_at(w, no)->prev) {
        const struct chunk *k = chunk_at(w, no);
        for (uint32_t i = 0; i < k->count; i++)
            ++*cell_of(c, b, k->deadline[i]);
        w->counted += k->count;
    }
}

/* Counts one bucket less with cells; the last one frees the table of the level. */
static void forget_cells(struct wheel *w, uint32_t level)
{
    if (--w->cells_n[level] == 0) {
        free(w->cells[level]);
        w->cells[level] = NULL;
    }
}

static void make_cells(struct wheel *w, uint32_t b)
{
    int64_t first = cell_number(b, tick_ns(bucket_start(w, b)));
    int64_t last = cell_number(b, tick_ns(bucket_end(w, b) + 1) - 1);
    uint32_t n = (uint32_t)(last - first + 1), level = b / SLOTS;
    struct cells *c;

    if (w->cells[level] == NULL &&
        (w->cells[level] = calloc(SLOTS, sizeof(struct cells *))) == NULL)
        return;
    w->cells_n[level]++;
    if ((c = calloc(1, sizeof *c + n * sizeof c->count[0])) == NULL) {
        forget_cells(w, level);
        return;
    }
    c->n = n;
    c->first = first;
    count_entries(w, b, c);
    w->cells[level][b % SLOTS] = c;
}

void wheel_cells_grow(struct wheel *w, uint32_t b)
{
    if (w->bucket[b].chunks == wheel_cells_from.chunks[b / SLOTS] && cells_at(w, b) == NULL)
        make_cells(w, b);
}

void wheel_cells_shrink(struct wheel *w, uint32_t b)
{
    if (w->bucket[b].chunks < (wheel_cells_from.chunks[b / SLOTS] + 1) / 2)
        wheel_cells_drop(w, b);
}

void wheel_cells_drop(struct wheel *w, uint32_t b)
{
    if (cells_at(w, b) == NULL)
        return;
    free(w->cells[b / SLOTS][b % SLOTS]);
    w->cells[b / SLOTS][b % SLOTS] = NULL;
    forget_cells(w, b / SLOTS);
}

void wheel_cells_free(struct wheel *w)
{
    for (uint32_t b = 0; b < BUCKETS; b++)
        wheel_cells_drop(w, b);
}

void wheel_cells_show(const struct wheel *w, uint32_t b, struct wheel_cells *out)
{
    const struct cells *c = cells_at(w, b);
    const struct bucket *k = &w->bucket[b];

    *out = (struct wheel_cells){.from_ns = tick_ns(bucket_start(w, b)),
                                .end_ns = tick_ns(bucket_end(w, b) + 1),
                                .width_ns = INT64_C(1) << (TICK_BITS + 8 * (b / SLOTS)),
                                .entries = (uint64_t)(k->chunks - 1) * CHUNK_ITEMS +
                                           chunk_at(w, k->last)->count,
                                .n = 1};
    out->first = out->from_ns / out->width_ns;
    if (c != NULL) {
        out->width_ns = cell_width(b);
        out->first = c->first;
        out->count = c->count;
        out->n = c->n;
    }
}

size_t wheel_cells_memory(const struct wheel *w)
{
    size_t bytes = 0;

    for (uint32_t l = 0; l < LEVELS; l++)
        bytes += w->cells[l] == NULL ? 0 : SLOTS * sizeof w->cells[l][0];
    for (uint32_t b = 0; b < BUCKETS; b++)
        if (cells_at(w, b) != NULL)
            bytes += sizeof(struct cells) + cells_at(w, b)->n * sizeof(uint32_t);
    return bytes;
}
