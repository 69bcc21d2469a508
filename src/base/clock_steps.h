/* clock_steps.h: counts the steps of the wall clock: somebody or something set it.
 *
 * Each look compares the wall clock with the monotonic one that counts suspend (CLOCK_BOOTTIME), so
 * a suspended machine makes no step.  A clock that is slewed makes none either: a step is more than
 * CLOCK_STEP_LEAST_NS between two looks. */
#ifndef MAYFLY_CLOCK_STEPS_H
#define MAYFLY_CLOCK_STEPS_H

#include "base/base.h"

#define CLOCK_STEP_LEAST_NS 100000000 /* 100 ms */

struct clock_steps {
    uint64_t count;
    int64_t last_ns;   /* how far the last one went; negative: back */
    int64_t at_ns;     /* the wall clock behind it, when it was noticed */
    int64_t offset_ns; /* the wall clock minus the monotonic one, at the last look */
    bool looked;
};
/* Pure: the wall clock, and the monotonic one before and after it was read.  A look with a long
 * pause between the two is left out: the pause would look like a step.  True: it is a step. */
bool clock_steps_look(struct clock_steps *s, int64_t before_ns, int64_t wall_ns, int64_t after_ns);

#endif
