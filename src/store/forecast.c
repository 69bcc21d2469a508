/* forecast.c: how many messages end when: a histogram of the deadlines to come, and their peaks.
 *
 * A scan visits the wheel's slots (wheel.h).  The messages of a slot are counted apart and added
 * when the slot is done, so that a scan that steps back counts nothing twice.  Slots are in the
 * order of time, so that only the cells of one slot, and the cell that it ends in, are needed at a
 * time. Few messages are visited one by one.  For many, the counts that the wheel keeps are added
 * up where their parts are short enough, and the bytes are estimated from probes of the wheel.  A
 * slot whose parts are longer than the moments of a peak is *far*: far slots that may hold the
 * fullest moment are visited in a second pass. */
#include "store/store_impl.h"

#include "wheel/wheel.h"

#include <stdlib.h>

#define CELLS   32768u                    /* of a second: nine hours */
#define PARTS   8                         /* of a bucket: shorter parts may lie across its edge */
#define PEAK_NS (4 * INT64_C(1000000000)) /* the longest part that is used for peaks */
#define FAR     4                         /* slots of the second pass */
#define VISITS  STORE_FORECAST_LOOK       /* messages visited where parts are too long */

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

/* A slot whose parts are longer than moments of a kind, and its fullest part. */
struct far {
    int64_t from_ns, end_ns;
    uint64_t entries;
    struct store_peak part;
};

struct store_forecast {
    struct store *s;
    struct index *ix; /* alive while scan.wheel is */
    struct wheel_scan scan;
    struct store_forecast_opts o;
    int64_t width_ns;
    uint64_t seen;     /* messages, for sampling */
    uint64_t visits;   /* messages visited */
    bool done, inside; /* inside: this slot has some */
    bool begun, many;  /* many: no bytes are read in the scan */
    bool bytes_read;   /* bytes of this slot were read */
    bool scanned, estimated;
    uint32_t probes;    /* so far */
    int64_t blurred_ns; /* the longest part that was counted and lies across an edge */
    struct far far[FAR];
    unsigned far_n, far_at; /* far_at: the current one */
    int64_t scan_from_ns;
    bool looking;
    uint64_t looked; /* messages of far slots visited */
    struct wheel_scan look;
    struct cells cells[2];
    struct store_bucket *slot; /* of this slot; behind `bucket` */
    struct store_bucket *rest; /* msgs: those whose bytes are estimated */
    struct store_bucket *sample;
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

/* Keeps the one with more messages per time. */
static void note_peak(struct store_peak *p, const struct store_peak *q)
{
    if ((double)q->msgs * (double)p->width_ns > (double)p->msgs * (double)q->width_ns ||
        (p->msgs == 0 && q->msgs > 0))
        *p = *q;
}

static void cells_end(struct cells *c)
{
    if (c->used == 0)
        return;
    for (size_t i = 0; i < c->used; i++)
        note_peak(&c->peak, &(struct store_peak){(c->first + (int64_t)i) * c->width_ns, c->width_ns,
                                                 c->n[i]});
    c->carried = c->first + (int64_t)c->used - 1;
    c->carried_width_ns = c->width_ns;
    c->carry = c->n[c->used - 1];
}

/* --- one slot --------------------------------------------------------------------------------- */

/* The messages of the slot are counted in parts of `width_ns`.  A moment consists of whole parts
 * and is no longer than wished.  Moments shorter than a part are not counted. */
static void slot_begin(struct store_forecast *t, int64_t from_ns, int64_t end_ns, int64_t width_ns)
{
    t->inside = true;
    for (size_t i = 0; i < MF_COUNT(t->cells); i++) {
        int64_t wish_ns = t->o.peak_ns[i];
        t->cells[i].used = 0;
        if (wish_ns >= width_ns)
            cells_begin(&t->cells[i], wish_ns / width_ns * width_ns, from_ns, end_ns);
    }
}

static void slot_add(struct store_forecast *t)
{
    if (!t->inside)
        return;
    for (unsigned i = 0; i < t->o.buckets; i++) {
        t->bucket[i].msgs += t->slot[i].msgs;
        t->bucket[i].bytes += t->slot[i].bytes;
        t->bucket[i].flagged += t->slot[i].flagged;
        t->rest[i].msgs += t->bytes_read ? 0 : t->slot[i].msgs;
    }
    t->estimated |= !t->bytes_read;
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

static unsigned bucket_at(const struct store_forecast *t, int64_t at_ns)
{
    uint64_t part = (uint64_t)((at_ns - t->o.from_ns) / t->width_ns);

    return part < t->o.buckets ? (unsigned)part : t->o.buckets - 1;
}

static void note_peaks(struct store_forecast *t, int64_t at_ns, uint32_t n)
{
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        if (t->cells[i].used > 0)
            t->cells[i].n[at_ns / t->cells[i].width_ns - t->cells[i].first] += n;
}

/* Bytes of each message, or of one in STORE_FORECAST_EACH. */
static void sample_bytes(struct store_forecast *t, uint32_t id, struct store_bucket *b)
{
    uint64_t each = t->seen++ < t->o.exact ? 1 : STORE_FORECAST_EACH;

    if (each == 1 || t->seen % each == 0) {
        struct totals x = view_entry_totals_in(t->s, t->ix, id);
        b->bytes += each * x.bytes;
        b->flagged += each * x.flagged[1];
    }
}

static void tally_visit(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct store_forecast *t = arg;

    t->visits++;
    if (t->o.want != NULL && !t->o.want(t->o.arg, index_seq(t->ix, id)))
        return;
    struct store_bucket *b = &t->slot[bucket_at(t, deadline_ns)];

    if (!t->inside)
        slot_begin(t, t->scan.begin_ns, t->scan.end_ns < t->o.to_ns ? t->scan.end_ns : t->o.to_ns,
                   1);
    t->bytes_read = !t->many;
    b->msgs++;
    if (!t->many)
        sample_bytes(t, id, b);
    note_peaks(t, deadline_ns, 1);
}

/* --- many ------------------------------------------------------------------------------------- */

/* Whether the counts of this slot are used: its parts are short enough, or its messages are too
 * many to visit.  A part longer than a bucket is never used. */
static bool use_counts(const struct store_forecast *t, const struct wheel_cells *c)
{
    bool whole = c->from_ns >= t->scan.from_ns && c->end_ns <= t->o.to_ns &&
                 bucket_at(t, c->from_ns) == bucket_at(t, c->end_ns - 1);
    bool peaks = t->o.peak_ns[0] > 0 || t->o.peak_ns[1] > 0, fits = c->width_ns <= PEAK_NS;

    for (size_t i = 0; i < MF_COUNT(t->cells); i++) /* moments are made of whole parts */
        fits &= t->o.peak_ns[i] < c->width_ns || t->o.peak_ns[i] % c->width_ns == 0;

    if ((whole || c->width_ns <= t->width_ns / PARTS) && (!peaks || fits))
        return true;
    return t->visits + c->entries > VISITS && (whole || c->width_ns <= t->width_ns);
}

/* Up to this number of messages each is visited. */
static uint64_t few_msgs(const struct store_forecast *t)
{
    return t->o.exact > STORE_FORECAST_PROBES ? t->o.exact : STORE_FORECAST_PROBES;
}

/* For moments shorter than its parts, the fullest part stands for the slot. */
static void note_far(struct store_forecast *t, const struct far *f)
{
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        if (t->o.peak_ns[i] > 0 && t->o.peak_ns[i] < f->part.width_ns)
            note_peak(&t->cells[i].peak, &f->part);
}

/* Keeps the slots with the fullest parts, the fullest first. */
static void keep_far(struct store_forecast *t, struct far f)
{
    for (unsigned i = 0; i < t->far_n; i++)
        if (f.part.msgs > t->far[i].part.msgs) {
            struct far less = t->far[i];
            t->far[i] = f;
            f = less;
        }
    if (t->far_n < FAR)
        t->far[t->far_n++] = f;
    else
        note_far(t, &f);
}

/* Adds the n messages of a part, [from, end), where its middle lies. */
static void add_part(struct store_forecast *t, int64_t from_ns, int64_t end_ns, uint64_t n)
{
    int64_t middle_ns = from_ns + (end_ns - from_ns) / 2;
    bool in = middle_ns >= t->scan.from_ns && middle_ns < t->o.to_ns;

    if ((from_ns < t->scan.from_ns || end_ns > t->o.to_ns ||
         bucket_at(t, from_ns) != bucket_at(t, end_ns - 1)) &&
        end_ns - from_ns > t->blurred_ns)
        t->blurred_ns = end_ns - from_ns;
    if (in) {
        t->slot[bucket_at(t, middle_ns)].msgs += n;
        note_peaks(t, from_ns, (uint32_t)n);
    }
}

/* Adds a slot by its counts; false: its entries are to be visited. */
static bool tally_sum(void *arg, const struct wheel_cells *c)
{
    struct store_forecast *t = arg;
    struct far f = {.from_ns = c->from_ns, .end_ns = c->end_ns, .entries = c->entries};

    if ((!t->many && c->entries <= few_msgs(t)) || !use_counts(t, c))
        return false;
    slot_begin(t, c->from_ns, c->end_ns, c->width_ns);
    t->bytes_read = false;
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t n = c->count == NULL ? c->entries : c->count[i];
        int64_t from_ns, end_ns;
        if (n == 0)
            continue;
        wheel_part(c, i, &from_ns, &end_ns);
        add_part(t, from_ns, end_ns, n);
        if (n > f.part.msgs && from_ns < t->o.to_ns && end_ns > t->scan.from_ns)
            f.part = (struct store_peak){from_ns, c->width_ns, n};
    }
    if (f.part.msgs > 0 && ((t->o.peak_ns[0] > 0 && c->width_ns > t->o.peak_ns[0]) ||
                            (t->o.peak_ns[1] > 0 && c->width_ns > t->o.peak_ns[1])))
        keep_far(t, f);
    return true;
}

/* Chooses between visits and counts; the wheel has advanced to the present. */
static void choose_counts(struct store_forecast *t)
{
    uint64_t few = few_msgs(t);

    t->begun = true;
    if (t->o.want != NULL || t->scan.wheel == NULL || index_deadlines(t->ix) <= few)
        return;
    t->scan.sum = tally_sum;
    t->many =
        index_deadlines_between(t->ix, t->scan.from_ns, t->o.to_ns, few + 1, &t->scan.steps) > few;
}

static void probe_bytes(struct store_forecast *t)
{
    int64_t deadline_ns;
    uint32_t id = index_probe(t->ix, t->probes, STORE_FORECAST_PROBES, &deadline_ns);

    if (id == INDEX_NONE || deadline_ns < t->o.from_ns || deadline_ns >= t->o.to_ns)
        return;
    struct totals x = view_entry_totals_in(t->s, t->ix, id);
    struct store_bucket *b = &t->sample[bucket_at(t, deadline_ns)];
    b->msgs++;
    b->bytes += x.bytes;
    b->flagged += x.flagged[1];
}

static uint64_t scale_share(uint64_t of, uint64_t msgs, uint64_t n)
{
    return (uint64_t)((double)of * (double)n / (double)msgs + 0.5);
}

/* Takes for the unknown bytes the mean of the samples of the same bucket; without any the mean of
 * all samples; without any the mean of the store. */
static void estimate_rest(struct store_forecast *t)
{
    struct store_bucket all = {0};
    uint64_t last;

    for (unsigned i = 0; i < t->o.buckets; i++) {
        all.msgs += t->sample[i].msgs;
        all.bytes += t->sample[i].bytes;
        all.flagged += t->sample[i].flagged;
    }
    if (all.msgs == 0) {
        store_accepted(t->s, &all.msgs, &all.bytes, &last);
        all.flagged = store_accepted_flagged(t->s, 1);
    }
    for (unsigned i = 0; i < t->o.buckets && all.msgs > 0; i++) {
        const struct store_bucket *of = t->sample[i].msgs > 0 ? &t->sample[i] : &all;
        t->bucket[i].bytes += scale_share(of->bytes, of->msgs, t->rest[i].msgs);
        t->bucket[i].flagged += scale_share(of->flagged, of->msgs, t->rest[i].msgs);
    }
}

/* Probes the wheel for bytes after the scan; true: done. */
static bool estimate_bytes(struct store_forecast *t, uint64_t stop)
{
    if (!t->estimated)
        return true;
    for (; t->scan.wheel != NULL && t->probes < STORE_FORECAST_PROBES; t->probes++) {
        if (t->scan.steps >= stop)
            return false;
        probe_bytes(t);
        t->scan.steps++;
    }
    estimate_rest(t);
    return true;
}

/* --- the second pass -------------------------------------------------------------------------- */

static void look_visit(void *arg, uint32_t id, int64_t deadline_ns)
{
    (void)id;
    note_peaks(arg, deadline_ns, 1);
}

/* Begins a far slot: moments of the kinds that the first pass did not count. */
static void look_begin(struct store_forecast *t)
{
    const struct far *f = &t->far[t->far_at];
    int64_t from_ns = f->from_ns > t->scan_from_ns ? f->from_ns : t->scan_from_ns;
    int64_t to_ns = f->end_ns < t->o.to_ns ? f->end_ns : t->o.to_ns;

    wheel_scan_end(&t->look);
    index_scan_begin(t->ix, &t->look, from_ns, to_ns);
    for (size_t i = 0; i < MF_COUNT(t->cells); i++) {
        struct cells *c = &t->cells[i];
        c->used = 0;
        c->carry = 0;
        if (t->o.peak_ns[i] > 0 && t->o.peak_ns[i] < f->part.width_ns)
            cells_begin(c, t->o.peak_ns[i], from_ns, to_ns);
    }
    t->looking = true;
}

/* Whether the slot may hold a peak, and is within the bound. */
static bool may_hold_peak(const struct store_forecast *t, const struct far *f)
{
    bool fuller = false;

    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        fuller |= t->o.peak_ns[i] > 0 && t->o.peak_ns[i] < f->part.width_ns &&
                  f->part.msgs > t->cells[i].peak.msgs;
    return fuller && t->scan.wheel != NULL && t->looked + f->entries <= STORE_FORECAST_LOOK;
}

/* Visits a part of the far slot; true: it is done. */
static bool look_step(struct store_forecast *t, size_t steps)
{
    uint64_t before = t->look.steps;
    enum wheel_scanned how = wheel_scan_step(&t->look, steps, look_visit, t);

    t->scan.steps += t->look.steps > before ? t->look.steps - before : 1;
    if (how == WHEEL_SCAN_BACK)
        look_begin(t);
    if (how != WHEEL_SCAN_END)
        return false;
    for (size_t i = 0; i < MF_COUNT(t->cells); i++)
        cells_end(&t->cells[i]);
    return true;
}

/* True: no far slot is left. */
static bool look_again(struct store_forecast *t, uint64_t stop)
{
    while (t->far_at < t->far_n) {
        const struct far *f = &t->far[t->far_at];
        if (t->scan.steps >= stop)
            return false;
        if (!t->looking && !may_hold_peak(t, f)) {
            note_far(t, f);
            t->far_at++;
            continue;
        }
        if (!t->looking)
            look_begin(t);
        if (look_step(t, (size_t)(stop - t->scan.steps))) {
            t->looked += f->entries;
            t->looking = false;
            t->far_at++;
        }
    }
    return true;
}

/* --- all -------------------------------------------------------------------------------------- */

struct store_forecast *store_forecast_new(struct store *s, const struct store_forecast_opts *o)
{
    struct store_forecast *t = NULL;

    if (o->buckets > 0 && o->buckets <= 1u << 20 && o->from_ns >= 0 && o->to_ns > o->from_ns)
        t = calloc(1, sizeof *t + 4 * o->buckets * sizeof t->bucket[0]);
    if (t == NULL)
        return NULL;
    t->s = s;
    t->ix = view_index(s);
    t->o = *o;
    t->slot = t->bucket + o->buckets;
    t->rest = t->slot + o->buckets;
    t->sample = t->rest + o->buckets;
    t->width_ns = (o->to_ns - o->from_ns) / o->buckets;
    t->width_ns += t->width_ns == 0;
    int64_t from = o->from_ns > s->now_ns ? o->from_ns : s->now_ns + 1;
    t->scan_from_ns = from;
    index_scan_begin(t->ix, &t->scan, from, o->to_ns);
    wheel_scan_begin(NULL, &t->look, 0, 0);
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

    if (!t->scanned && !ahead_ready(t->s, t->ix, &t->scan, steps))
        return false;
    if (!t->begun)
        choose_counts(t);
    while (!t->scanned && t->scan.steps < stop) {
        uint64_t before = t->scan.steps;
        enum wheel_scanned how = wheel_scan_step(&t->scan, (size_t)(stop - before), tally_visit, t);
        if (how == WHEEL_SCAN_SLOT || how == WHEEL_SCAN_END)
            slot_add(t);
        if (how != WHEEL_SCAN_MORE)
            slot_forget(t);
        t->scanned = how == WHEEL_SCAN_END;
        t->scan.steps += t->scan.steps == before;
    }
    t->done = t->done || (t->scanned && look_again(t, stop) && estimate_bytes(t, stop));
    return t->done;
}

void store_forecast_sum(const struct store_forecast *t, struct store_forecast_sum *out)
{
    *out = (struct store_forecast_sum){.bucket = t->bucket,
                                       .buckets = t->o.buckets,
                                       .sampled = t->estimated || t->seen > t->o.exact,
                                       .blurred_ns = t->blurred_ns,
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
    wheel_scan_end(&t->look);
    free(t->cells[0].n);
    free(t->cells[1].n);
    free(t);
}
