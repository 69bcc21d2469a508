/* ages.c: times of messages by their sequence, and a histogram of ages (ages_impl.h). */
#include "stream/ages_impl.h"

int64_t age_table_time(const struct age_table *t, uint64_t seq)
{
    size_t low = 0, high = t->n; /* the first point behind seq is in [low, high] */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->at[middle].seq <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (t->n == 0)
        return 0;
    if (low == 0 || low == t->n || t->at[low - 1].seq == seq)
        return t->at[low == 0 ? 0 : low - 1].ts_ns;
    const struct age_point *a = &t->at[low - 1], *b = &t->at[low];
    double part = (double)(seq - a->seq) / (double)(b->seq - a->seq);
    return a->ts_ns + (int64_t)(part * (double)(b->ts_ns - a->ts_ns));
}

/* --- the histogram ---------------------------------------------------------------------------- */

static unsigned size_of(int64_t seconds)
{
    uint64_t s = seconds < 0 ? 0 : (uint64_t)seconds;
    unsigned doubled = 0;

    if (s < AGES_EXACT)
        return (unsigned)s;
    while (s >= 2 * (uint64_t)AGES_STEPS) {
        s >>= 1;
        doubled++;
    }
    unsigned i = AGES_EXACT + (doubled - 1) * AGES_STEPS + (unsigned)(s - AGES_STEPS);
    return i < AGES_SIZES ? i : AGES_SIZES - 1;
}

static int64_t seconds_of(unsigned i)
{
    unsigned above = i < AGES_EXACT ? 0 : i - AGES_EXACT;

    if (i < AGES_EXACT)
        return (int64_t)i;
    return (int64_t)(AGES_STEPS + above % AGES_STEPS) << (above / AGES_STEPS + 1);
}

void ages_add(struct ages *a, int64_t seconds)
{
    unsigned i = size_of(seconds);

    a->low = a->count == 0 || i < a->low ? i : a->low;
    a->high = a->count == 0 || i > a->high ? i : a->high;
    a->count++;
    a->n[i]++;
}

int64_t ages_at(const struct ages *a, double q)
{
    uint64_t sum = 0;

    for (unsigned i = a->low; a->count > 0 && i <= a->high; i++) {
        sum += a->n[i];
        if ((double)sum >= q * (double)a->count)
            return seconds_of(i);
    }
    return 0;
}

void ages_clear(struct ages *a)
{
    if (a->count > 0)
        memset(a->n + a->low, 0, (a->high - a->low + 1) * sizeof a->n[0]);
    a->count = 0;
}
