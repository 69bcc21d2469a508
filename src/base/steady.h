/* steady.h: a wall clock for deadlines: it follows the wall clock forward, never goes back, and
 * never stands still.
 *
 * A deadline is absolute (wall time) and an expired message stays expired, so the time that judges
 * deadlines must not go back; but a TTL given while the wall clock has been set back must still
 * last its length.
 * So: while the wall clock is behind the latest answer, this clock runs at the rate of the
 * monotonic one (which counts suspend: CLOCK_BOOTTIME) until the wall clock has caught up.  A step
 * forward and a resume after suspend are followed at once; after an inserted leap second it is a
 * second ahead.  Deadlines must be reckoned from this clock too, not from the wall clock.
 *
 * In other words it shows mono + the largest (wall - mono) seen.  Read the wall clock first and the
 * monotonic one after it: a pause between the two must not look like a step forward. */
#ifndef MAYFLY_STEADY_H
#define MAYFLY_STEADY_H

#include "base/base.h"

struct steady {
    int64_t shown_ns; /* the latest answer */
    int64_t mono_ns;  /* the monotonic clock at that moment */
    int64_t floor_ns; /* no answer is less */
};

/* floor_ns: never show less, for instance what a log says was already past; 0 for none. */
void steady_init(struct steady *s, int64_t wall_ns, int64_t mono_ns, int64_t floor_ns);
/* Pure: the two clocks are parameters.  Saturates at INT64_MAX. */
int64_t steady_now(struct steady *s, int64_t wall_ns, int64_t mono_ns);
/* Raises the floor: from now on at least floor_ns. */
void steady_raise(struct steady *s, int64_t floor_ns);
/* How far it is ahead of the wall clock; 0 when it follows it. */
int64_t steady_ahead_ns(const struct steady *s, int64_t wall_ns, int64_t mono_ns);

#endif
