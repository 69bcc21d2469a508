/* checksum.h: the checksum of everything on disk: XXH3-64 with a seed.  Writing, recovery and
 * offline verification share it. */
#ifndef MAYFLY_CHECKSUM_H
#define MAYFLY_CHECKSUM_H

#include "base/base.h"

uint64_t checksum64(const void *p, size_t n, uint64_t seed);

#endif
