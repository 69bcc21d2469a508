/* warning.c: which messages earn a warning before they expire. */
#include "markers/warning.h"

#include "base/clock.h"

#define PARTS 64

bool warning_wanted(struct mf_slice subject, int64_t deadline_ns, bool tombstone)
{
    return deadline_ns != 0 && !tombstone && !mf_starts(subject, "$MAYFLY.EVENT.");
}

bool warning_in_time(int64_t ts_ns, int64_t deadline_ns, int64_t warn_ns)
{
    return deadline_ns - ts_ns > warn_ns;
}

int64_t warning_grain_ns(int64_t warn_ns)
{
    return warn_ns / PARTS > CLOCK_S ? warn_ns / PARTS : CLOCK_S;
}
