/* guard.h: copies whose last byte is the last one of a mapped page: reading one byte further is a
 * segmentation fault, in every build and for vectorised code too, which the heap would not show. */
#ifndef TEST_GUARD_H
#define TEST_GUARD_H

#include "base/base.h"

/* A copy of n bytes that ends at an unmapped page; valid until the next call.  Aborts the test
 * program when memory is short.  O(n); pages are mapped again only when n outgrows them. */
const uint8_t *guard_copy(const void *bytes, size_t n);
/* Unmaps the pages; a later guard_copy() maps new ones. */
void guard_free(void);

#endif
