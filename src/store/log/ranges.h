/* ranges.h: a list of ranges of sequences. */
#ifndef STORE_RANGES_H
#define STORE_RANGES_H

#include "base/base.h"

struct range {
    uint64_t first, last;
};
/* In the order of ranges_add(); a range that continues the one before is joined to it. */
struct ranges {
    struct range *at;
    size_t count, cap, done; /* done: number of ranges at the front that are worked off */
};

MF_MUSTCHECK int ranges_reserve(struct ranges *r, size_t n); /* the next n cannot fail */
MF_MUSTCHECK int ranges_add(struct ranges *r, uint64_t first, uint64_t last);
void ranges_fini(struct ranges *r);

#endif
