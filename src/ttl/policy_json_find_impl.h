/* policy_json_find_impl.h: looks up one value in an untrusted payload.  Private to ttl. Nothing is
 * allocated, and no byte is read twice: at most POLICY_JSON_SCAN_MAX bytes, depth 8. *scanned
 * grows by the bytes that were passed. */
#ifndef POLICY_JSON_FIND_H
#define POLICY_JSON_FIND_H

#include "base/base.h"

#define JSON_FIND_DEPTH 8

/* One limit of a token bucket. */
struct limit {
    double capacity, refill, period_s;
};
/* The value at a JSON pointer, as its raw text.  The first member of a name counts; a name that is
 * written with escapes is no match.  False: absent, unreadable, or beyond a bound. */
bool policy_json_find(struct mf_slice payload, const char *pointer, struct mf_slice *value,
                      uint32_t *scanned);
/* The value at a JSON pointer is a limit or an array of limits: the one that takes longest to fill.
 * Limits with a member that is missing, not positive or not finite are skipped.  False: there is
 * none. */
bool policy_json_find_fill(struct mf_slice payload, const char *pointer, struct limit *slowest,
                           uint32_t *scanned);

/* Keeps the slower of two limits, if l is one at all. */
bool policy_limit_keep(struct limit *slowest, bool found, const struct limit *l);
/* A decimal number, all of the text. */
bool policy_limit_number(struct mf_slice text, double *out);

#endif
