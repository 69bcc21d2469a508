/* ages_impl.h: ages of messages from the times of a few of them, and a histogram.
 * Pure: no stream, no clock. */
#ifndef STREAM_AGES_H
#define STREAM_AGES_H

#include "base/base.h"

/* Times of some messages in the order of sequences.  Times grow with sequences, so one between two
 * of them lies between their times, and is taken from a straight line. */
struct age_point {
    uint64_t seq;
    int64_t ts_ns;
};
struct age_table {
    struct age_point *at; /* cap of them, the owner's */
    size_t n, cap;
};
/* The time of a message; 0: the table is empty.  O(log n). */
int64_t age_table_time(const struct age_table *t, uint64_t seq);

/* Seconds by size: exact below 64 s, above it 32 steps for each doubling: off by 1/32 at most. */
#define AGES_EXACT 64u
#define AGES_STEPS 32u
#define AGES_SIZES (AGES_EXACT + AGES_STEPS * 30u) /* 2^36 s, and what is more */
struct ages {
    uint64_t count;
    unsigned low, high; /* those outside of [low, high] are 0; count 0: all of them */
    uint32_t n[AGES_SIZES];
};
void ages_add(struct ages *a, int64_t seconds);
/* The q-th part of all ages is not above it; 0: there are none.  O(high - low). */
int64_t ages_at(const struct ages *a, double q);
void ages_clear(struct ages *a); /* O(high - low) */

#endif
