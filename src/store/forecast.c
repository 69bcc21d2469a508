/* forecast.c: how many messages end when: a histogram of the deadlines to come, and their peaks.
 *
 * A scan goes over the wheel's slots (wheel.h).  What a slot holds is counted beside and added when
 * the slot is done, so that a scan that goes back counts nothing twice.  Slots come in the order of
 * time, so that only the cells of one slot, and the cell that it ends in, are needed at a time. */
#include "store/store_impl.h"

#include "wheel/wheel.h"

#include <stdlib.h>

#define CELLS 32768u /* of a second: nine hours */

/* Equal moments of one kind within a slot. */
struct cells {
    int64_t width_ns; /* in this slot */
    int64_t first;    /* cell 0 is [first, first + 1) widths */
    size_t used;
    int64_t carried; /* the last cell of the slot before, and what it holds; not in `n` */
    int64_t carried_width_ns;
    uint32_t carry;
    uint32_t *n;
    struct store_peak peak;
};

struct store_forecast {
    struct store *s;
    struct index *ix; /* alive while scan.wheel is */
    struct wheel_scan scan;
    struct store_forecast_opts o;
    int64_t width_ns;
    uint64_t seen;     /* messages, for sampling */
    bool done, inside; /* inside: this slot has some */
    struct cells cells[2];
    struct store_bucket *slot; /* of this slot; behind `bucket` */
    struct store_bucket bucket[];
};

/* --- peaks ------------------------------------------------------------------------------------ */

static void cells_begin(struct cells *c, int64_t wish_ns, int64_t from_ns, int64_t end_ns)
{
    c->width_ns = wish_ns;
    while ((end_ns - from_ns) / c->width_ns + 2 > CELLS)
        c->width_ns *= 2;
    c->first = from_ns / c->width_ns;
    c->used = (size_t)((end_ns - 1) / c->width_ns - c->first + 1);
    memset(c->n, 0, c->used * sizeof c->n[0]);
    if (c->carry > 0 && c->carried == c->first && c->carried_width_ns == c->width_ns)
        c->n[0] = c->carry;
}

static void cells_end(struct cells *c)
{
    for (size_t i = 0; i < c->used; i++) {
        struct store_peak *p = &c->peak;
        if ((double)c->n[i] * (double)p->width_ns > (double)p->msgs * (double)c->width_ns ||
            (p->msgs == 0 && c->n[i] > 0))
            *p = (struct store_peak){(c->first + (int64_t)i) * c->width_ns, c->width_ns, c->n[i]};
    }
    c->carried = c->first + (int64_t)c->used - 1;
    c->carried_width_ns = c->width_ns;
    c->carry = c->n[c->used - 1];
}

/* --- one slot --------------------------------------------------------------------------------- */

static void slot_begin(struct store_forecast *t)
{
    int64_t end_ns = t->scan.end_ns < t->o.to_ns ? t->scan.end_ns : t->o.to_ns;

    t->inside = true;
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        if (t->o.peak_ns[i] > 0)
            cells_begin(&t->cells[i], t->o.peak_ns[i], t->scan.from_ns, end_ns);
}

static void slot_add(struct store_forecast *t)
{
    if (!t->inside)
        return;
    for (unsigned i = 0; i < t->o.buckets; i++) {
        t->bucket[i].msgs += t->slot[i].msgs;
        t->bucket[i].bytes += t->slot[i].bytes;
        t->bucket[i].flagged += t->slot[i].flagged;
    }
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        if (t->o.peak_ns[i] > 0)
            cells_end(&t->cells[i]);
}

static void slot_forget(struct store_forecast *t)
{
    if (t->inside)
        memset(t->slot, 0, t->o.buckets * sizeof t->slot[0]);
    t->inside = false;
}

static void tally_visit(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct store_forecast *t = arg;

    if (t->o.want != NULL && !t->o.want(t->o.arg, index_seq(t->ix, id)))
        return;
    uint64_t part = (uint64_t)((deadline_ns - t->o.from_ns) / t->width_ns);
    struct store_bucket *b = &t->slot[part < t->o.buckets ? part : t->o.buckets - 1];
    uint64_t each = t->seen++ < t->o.exact ? 1 : STORE_FORECAST_EACH;

    if (!t->inside)
        slot_begin(t);
    b->msgs++;
    if (each == 1 || t->seen % each == 0) {
        struct totals x = view_entry_totals_in(t->s, t->ix, id);
        b->bytes += each * x.bytes;
        b->flagged += each * x.flagged[1];
    }
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        if (t->o.peak_ns[i] > 0)
            t->cells[i].n[deadline_ns / t->cells[i].width_ns - t->cells[i].first]++;
}

/* --- all -------------------------------------------------------------------------------------- */

struct store_forecast *store_forecast_new(struct store *s, const struct store_forecast_opts *o)
{
    struct store_forecast *t = NULL;

    if (o->buckets > 0 && o->buckets <= 1u << 20 && o->from_ns >= 0 && o->to_ns > o->from_ns)
        t = calloc(1, sizeof *t + 2 * o->buckets * sizeof t->bucket[0]);
    if (t == NULL)
        return NULL;
    t->s = s;
    t->ix = view_index(s);
    t->o = *o;
    t->slot = t->bucket + o->buckets;
    t->width_ns = (o->to_ns - o->from_ns) / o->buckets;
    t->width_ns += t->width_ns == 0;
    int64_t from = o->from_ns > s->now_ns ? o->from_ns : s->now_ns + 1;
    index_scan_begin(t->ix, &t->scan, from, o->to_ns);
    for (size_t i = 0; i < MF_COUNT(t->cells); i++) {
        if (o->peak_ns[i] <= 0)
            continue;
        t->cells[i].n = malloc(CELLS * sizeof t->cells[i].n[0]);
        if (t->cells[i].n == NULL) {
            store_forecast_free(t);
            return NULL;
        }
    }
    return t;
}

bool store_forecast_step(struct store_forecast *t, size_t steps)
{
    uint64_t stop = t->scan.steps + (steps > 0 ? steps : 1);

    if (!t->done && !ahead_ready(t->s, t->ix, &t->scan, steps))
        return false;
    while (!t->done && t->scan.steps < stop) {
        uint64_t before = t->scan.steps;
        enum wheel_scanned how = wheel_scan_step(&t->scan, (size_t)(stop - before), tally_visit, t);
        if (how == WHEEL_SCAN_SLOT || how == WHEEL_SCAN_END)
            slot_add(t);
        if (how != WHEEL_SCAN_MORE)
            slot_forget(t);
        t->done = how == WHEEL_SCAN_END;
        t->scan.steps += t->scan.steps == before;
    }
    return t->done;
}

void store_forecast_sum(const struct store_forecast *t, struct store_forecast_sum *out)
{
    *out = (struct store_forecast_sum){.bucket = t->bucket,
                                       .buckets = t->o.buckets,
                                       .sampled = t->seen > t->o.exact,
                                       .peak = {t->cells[0].peak, t->cells[1].peak}};
}

uint64_t store_forecast_steps(const struct store_forecast *t)
{
    return t->scan.steps;
}

void store_forecast_free(struct store_forecast *t)
{
    if (t == NULL)
        return;
    wheel_scan_end(&t->scan);
    free(t->cells[0].n);
    free(t->cells[1].n);
    free(t);
}
