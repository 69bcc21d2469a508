/* ttl.h: the meaning of a Nats-TTL value.  Pure; O(length).
 *
 * Both: `never` in any case, a Go duration of at least a second, or plain digits for seconds; an
 * empty value and "00" mean no TTL.
 * Ours (strict = false): fractions count, rounded up to the millisecond; "0" and "0s" mean no TTL;
 * a TTL too large for a date means never. strict = true: exactly what nats-server 2.15.1 does,
 * with its truncations and overflows. */
#ifndef MAYFLY_TTL_H
#define MAYFLY_TTL_H

#include "base/base.h"

#define TTL_NONE  0
#define TTL_NEVER (-1)

/* 0 and *ttl_ns: a duration (> 0), TTL_NEVER or TTL_NONE.  MF_INVAL: it is none of these. */
MF_MUSTCHECK int ttl_parse(struct mf_slice value, bool strict, int64_t *ttl_ns);
/* ts + ttl, absolute; 0 (never) for TTL_NONE, TTL_NEVER and, unless strict, for a deadline beyond
 * the last representable moment.  strict: wraps as int64 does, so such a message is due at once
 * (result > 0, in the past). */
int64_t ttl_deadline(int64_t ts_ns, int64_t ttl_ns, bool strict);

#endif
