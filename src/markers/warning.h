/* warning.h: decides which messages earn a warning before they expire (mayfly.ttl.warn), and how
 * exact its time is.  Pure functions of facts. */
#ifndef MAYFLY_WARNING_H
#define MAYFLY_WARNING_H

#include "base/base.h"

/* A message with a deadline (0: none), and no tombstone.  Events are excluded: a stream that stores
 * warnings would warn of them. */
bool warning_wanted(struct mf_slice subject, int64_t deadline_ns, bool tombstone);

/* The TTL of the message is longer than the warning time.  A shorter one earns no warning. */
bool warning_in_time(int64_t ts_ns, int64_t deadline_ns, int64_t warn_ns);

/* A warning is sent up to this much before its exact time: warn / 64, at least one second. */
int64_t warning_grain_ns(int64_t warn_ns);

#endif
