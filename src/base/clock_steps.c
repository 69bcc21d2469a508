/* clock_steps.c: counts the steps of the wall clock. */
#include "base/clock_steps.h"

#define PAUSE_NS (CLOCK_STEP_LEAST_NS / 4)

bool clock_steps_look(struct clock_steps *s, int64_t before_ns, int64_t wall_ns, int64_t after_ns)
{
    int64_t offset_ns = wall_ns - after_ns, step_ns = offset_ns - s->offset_ns;
    bool stepped;

    if (after_ns - before_ns > PAUSE_NS)
        return false;
    stepped = s->looked && (step_ns > CLOCK_STEP_LEAST_NS || step_ns < -CLOCK_STEP_LEAST_NS);
    s->offset_ns = offset_ns;
    s->looked = true;
    if (stepped) {
        s->count++;
        s->last_ns = step_ns;
        s->at_ns = wall_ns;
    }
    return stepped;
}
